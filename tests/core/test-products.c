/* Products of values of baselines outside of sums: however they are written, each term takes one
 * operation for a baseline, and has the value of the equation in long double. */
#include "tests/common/grid.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t))

static const char definitions[] =
    "obs = grid()\n"
    "G[p] = diagonal(complex(1, 0.1 * obs.station_index), 2)\n"
    "P[p] = rotation(0.3rad * obs.station_index)\n"
    "g[p] = complex(0.5, obs.station_index)\n"
    "w = obs.interval / 10s\n"
    "d[p,q] = 1 + norm(obs.uvw) / 1km\n"
    "M[p,q] = matrix(d, complex(2, 1), 0.5i, complex(obs.freq / 1GHz, d))\n"
    "N[p,q] = matrix(d, 2i, 0.25, complex(d, obs.freq / 1GHz))\n"
    "Y = matrix(1, 2, 3i, 4)\nZ = matrix(2, 1i, 0, 1)\n"
    "J[p] = g[p] * G[p] * P[p]\n";

typedef long double complex matrix[4];

static void jones(int station, matrix to)
{
    long double turn = 0.3L * station;
    const matrix p = {cosl(turn), -sinl(turn), sinl(turn), cosl(turn)};
    const matrix g = {CMPLXL(1, 0.1L * station), 0, 0, 2};

    grid_multiply(to, g, p);
    for (int e = 0; e < 4; e++)
        to[e] *= CMPLXL(0.5L, station);
}

/* -2 w d J_p M J_q^H. */
static void truth(testing_value *to)
{
    int64_t at = 0;

    for (int time = 0; time < grid_now.times; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++, at++) {
                double uvw[3], rate[3];
                matrix left, right, adjoint;
                int p, q;
                grid_pair(b, &p, &q);
                grid_uvw(time, b, uvw, rate);
                long double d = 1 + hypotl(hypotl(uvw[0], uvw[1]), uvw[2]) / 1000;
                long double factor = -2 * d * (long double)grid_now.interval[time] / 10;
                matrix v = {d, CMPLXL(2, 1), CMPLXL(0, 0.5L),
                            CMPLXL((long double)grid_now.freq[k] / 1e9L, d)};
                jones(p, left);
                jones(q, right);
                for (int e = 0; e < 4; e++)
                    adjoint[e] = conjl(right[e % 2 * 2 + e / 2]);
                grid_multiply(v, left, v);
                grid_multiply(v, v, adjoint);
                for (int e = 0; e < 4; e++)
                    to->at[4 * at + e] = (double complex)(factor * v[e]);
            }
    ck_assert_int_eq(at, to->cells);
}

static bool is_operation(const grove_node *node)
{
    static const grove_role roles[] = {GROVE_ROLE_PRODUCT, GROVE_ROLE_QUOTIENT, GROVE_ROLE_NEGATIVE,
                                       GROVE_ROLE_HERMITIAN, GROVE_ROLE_CONJUGATE};
    bool found = false;

    for (size_t k = 0; k < sizeof(roles) / sizeof(roles[0]); k++)
        found = found || grove_node_has_role(node, roles[k]);
    return found && grove_node_varies(node, GROVE_AXIS_BASELINE);
}

/* Operations on values of baselines in a value, each node once, down to `end`. */
static int count_operations(const grove_node *node, const grove_node *end, bool *seen)
{
    if (node == end || seen[node->id])
        return 0;
    seen[node->id] = true;
    int count = is_operation(node);
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            count += count_operations(node->inputs[k].node, end, seen);
    return count;
}

/* The tree of a text, in which what was replaced has no name any more. */
static void make_tree(const char *text)
{
    testing_tree(&t, text);
    for (size_t i = 0; i < t.tree->node_count; i++)
        if (!t.tree->nodes[i]->used)
            t.tree->nodes[i]->name = "";
}

static int operations_of(const char *name, const char *end)
{
    bool *seen = calloc(t.tree->node_count, sizeof(*seen));
    int count = count_operations(testing_node(&t, name), testing_node(&t, end), seen);

    free(seen);
    return count;
}

static const struct {
    const char *text;
    int operations; /* 0: one for each term */
} spellings[] = {
    {"-2 * w * d * g[p] * conj(g[q]) * G[p] * P[p] * M * P[q]^H * G[q]^H", 0},
    {"-(w * g[p] * G[p] * (P[p] * (d * M * 2) * P[q]^H) * G[q]^H * g[q]^H)", 0},
    {"(g[q] * G[q] * P[q] * (-2 * d * M^H) * P[p]^H * w * G[p]^H * conj(g[p]))^H", 0},
    {"J[p] * (M * J[q]^H) * -d * w * 2", 0},
    {"((((-1 * G[p]) * P[p]) * M) * P[q]^H) * G[q]^H * d * (4 * w) * g[p] * g[q]^H / 2", 0},
    {"-2 * (G[q] * P[q] * (G[p] * P[p] * w * d * M)^H)^H * g[p] * conj(g[q])", 0},
    {"-(J[p] * w * (2 * (d * M))) * (g[q] * G[q] * P[q])^H", 0},
    /* sums: each term by itself */
    {"-(w * J[p] * (d * M) * J[q]^H) - w * J[p] * d * M * J[q]^H", 7},
    {"w * J[p] * (d * M) * J[q]^H - 3 * w * (J[q] * (d * M)^H * J[p]^H)^H", 6},
    {"-(g[p] * conj(g[q]) * G[p] * w * (P[p] * d * M * P[q]^H) * G[q]^H - w * d * J[p] * N * "
     "J[q]^H) - w * g[p] * G[p] * P[p] * ((M + N) * d) * (J[q])^H",
     11},
    {"-(w * J[p] * (d * M) * J[q]^H) + w * J[p] * N * G[q]^H - J[p] * (d * w * M) * J[q]^H - w * "
     "(J[p] * N) * G[q]^H",
     8},
    {"G[p] * Y * G[q]^H - w * J[p] * (d * M) * J[q]^H + G[p] * Z * G[q]^H - w * J[p] * d * M * "
     "J[q]^H - G[p] * (Y + Z) * G[q]^H",
     10},
};
enum { SPELLINGS = sizeof(spellings) / sizeof(spellings[0]) };

/* In both precisions: numbers of one may not fit the other. */
LOOP_TEST(one_operation_for_a_term, 0, 2 * SPELLINGS)
{
    const char *spelling = spellings[_i % SPELLINGS].text;
    char *text = suite_text("%sV[p,q] = %s\nshown = print(V)\n", definitions, spelling);

    t.double_precision = _i < SPELLINGS;
    make_tree(text);
    /* one of them is in d */
    int wanted = spellings[_i % SPELLINGS].operations ? spellings[_i % SPELLINGS].operations : 4;
    ck_assert_msg(operations_of("V", "M") == wanted, "%d operations: %s", operations_of("V", "M"),
                  spelling);
    testing_value x = testing_evaluate(&t, "V"), y = testing_evaluate(&t, "V");
    truth(&y);
    ck_assert_msg(testing_distance(&x, &y) < (t.double_precision ? 1e-13 : 1e-5), "%g: %s",
                  testing_distance(&x, &y), spelling);
}

/* What others use is computed once, and what does not depend on parms is not mixed with what does.
 */
LOOP_TEST(parts_stay, 0, 2)
{
    static const char *const trees[] = {
        "A[p,q] = P[p] * M * P[q]^H\nV[p,q] = G[p] * A * G[q]^H + trace(A)\n",
        "K[p] = parm(\"K\", obs, jones=full)\nA[p,q] = P[p] * M * P[q]^H\n"
        "V[p,q] = K[p] * A * K[q]^H\n"};
    make_tree(suite_text("%s%sshown = print(V)\n", definitions, trees[_i]));
    ck_assert_int_eq(operations_of("A", "M"), 2);
    ck_assert_int_eq(operations_of("V", "A"), 2);
    ck_assert_int_eq(operations_of("V", "M"), 4);
}

SUITE(60, setup, teardown)
