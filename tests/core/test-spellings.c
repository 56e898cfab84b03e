/* Equal equations, equal plans: one sum over sources in many spellings, by random brackets, names,
 * templates, hermitians of products, scalars anywhere, and phases written out. Each becomes the
 * same predict with the same inputs, and has the value of the sum in long double.
 * GROVE_TEST_CONFIGURATIONS is how many spellings of each equation there are, GROVE_TEST_SEED where
 * they begin. */
#include "tests/common/grid.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t))

static uint64_t state;

static int draw(int count)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)count);
}

/* ---- the equation: c w d f sum_s x z G P Q D E V E^H D^H Q^H P^H G^H z^H x^H, Q D = D Q ---- */

static const char definitions[] =
    "obs = grid()\nS = field()\n"
    "template pair(a, b) = a * b\n"
    "H = shape(S, obs, shape=0 * S.shape, absolute_angle=0)\n"
    "G[p] = diagonal(complex(1, 0.1 * obs.station_index), 2)\n"
    "G1[p] = matrix(complex(1, 0.1 * obs.station_index), 0, 0, 2)\n"
    "P[p] = rotation(0.3rad * obs.station_index)\n"
    "Q[p] = diagonal(2, complex(1, 0.2 * obs.station_index))\n"
    "D[s,p] = diagonal(1 + 0.2 * S.absolute_angle, complex(1, 0.1 * obs.station_index))\n"
    "D1[s,p] = matrix(1 + 0.2 * S.absolute_angle, 0, 0, complex(1, 0.1 * obs.station_index))\n"
    "E[s,p] = matrix(complex(1 + 0.1 * S.absolute_angle, 0.05 * obs.station_index), "
    "0.1i * obs.station_index, 0.3, 2 + obs.freq / 1GHz)\n"
    "y[s,p] = complex(1 - 0.1 * S.absolute_angle, 0.2 * obs.station_index)\n"
    "z[s,p] = y[s,p]^2\n"
    "g[p] = complex(0.5, obs.station_index)\n"
    "f[s] = 1 + 0.5 * S.absolute_angle\n"
    "h[s] = complex(1, 0.2 * S.absolute_angle)\n"
    "w = obs.interval / 10s\n"
    "d[p,q] = 1 + norm(obs.uvw) / 1km\n"
    "n = obs.freq / 1GHz\n"
    "a[s,p] = obs.station_index * (0.1 + 0.2 * S.absolute_angle)\n"
    "x[s,p] = exp(1i * a[s,p] / n)\n"
    "K[s,p] = phase(S, obs)\nB[s] = brightness(S, obs)\n";

typedef long double complex matrix[4];

static void adjoint(matrix to, const matrix a)
{
    const matrix out = {conjl(a[0]), conjl(a[2]), conjl(a[1]), conjl(a[3])};

    memcpy(to, out, sizeof(out));
}

/* x z g G P Q D E of a station. */
static void chain(int s, int station, int channel, matrix to)
{
    long double complex y = CMPLXL(1 - 0.1L * s, 0.2L * station);
    long double complex z = y * y * CMPLXL(0.5L, station);
    long double turn = 0.3L * station;
    long double angle = station * (0.1L + 0.2L * s) / ((long double)grid_now.freq[channel] / 1e9L);
    const matrix g = {CMPLXL(1, 0.1L * station), 0, 0, 2};
    const matrix p = {cosl(turn), -sinl(turn), sinl(turn), cosl(turn)};
    const matrix e = {CMPLXL(1 + 0.1L * s, 0.05L * station), CMPLXL(0, 0.1L * station), 0.3L,
                      2 + (long double)grid_now.freq[channel] / 1e9L};
    const matrix q = {2, 0, 0, CMPLXL(1, 0.2L * station)};
    const matrix d = {1 + 0.2L * s, 0, 0, CMPLXL(1, 0.1L * station)};

    grid_multiply(to, g, p);
    grid_multiply(to, to, q);
    grid_multiply(to, to, d);
    grid_multiply(to, to, e);
    for (int i = 0; i < 4; i++)
        to[i] *= z * cexpl(CMPLXL(0, angle));
}

static void truth(int smear, testing_value *to)
{
    int64_t at = 0;

    for (int time = 0; time < grid_now.times; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++, at++) {
                matrix sum = {0};
                double uvw[3], rate[3];
                int p, q;
                grid_pair(b, &p, &q);
                grid_uvw(time, b, uvw, rate);
                long double d = 1 + hypotl(hypotl(uvw[0], uvw[1]), uvw[2]) / 1000;
                long double w = -3 * d * (long double)grid_now.interval[time] / 10;
                for (int s = 0; s < field_now.sources; s++) {
                    matrix v, left, right;
                    grid_visibility(s, time, b, k, smear, v);
                    chain(s, p, k, left);
                    chain(s, q, k, right);
                    adjoint(right, right);
                    grid_multiply(v, left, v);
                    grid_multiply(v, v, right);
                    for (int e = 0; e < 4; e++)
                        sum[e] += w * (1 + 0.5L * s) * CMPLXL(1, 0.2L * s) * v[e];
                }
                for (int e = 0; e < 4; e++)
                    to->at[4 * at + e] = (double complex)sum[e];
            }
    ck_assert_int_eq(at, to->cells);
}

/* ---- spellings ---- */

/* A factor: seen from 'p' or 'q' (then the hermitian of what is given), of 'n'o station, or of a
 * baseline, 'b'. */
typedef struct {
    const char *name;
    char side;
    bool source, scalar;
} factor;

enum { MOST = 24 };

typedef struct {
    char *definitions;
    int names;
    factor at[MOST];
    int count;
} spelling;

/* left * right in one of five forms; frees both. */
static char *join(char *left, char *right, int form)
{
    char *text;

    switch (form) {
    case 0:
        text = grove_format("%s * (%s)", left, right);
        break;
    case 1:
        text = grove_format("(%s) * %s", left, right);
        break;
    case 2:
        text = grove_format("pair(%s, %s)", left, right);
        break;
    case 3:
        text = grove_format("-((%s) * -(%s))", left, right);
        break;
    default:
        text = grove_format("((%s) * (4 * (%s)) / 4)", left, right);
    }
    free(left);
    free(right);
    return text;
}

static const char *indices(bool source, char side)
{
    return source        ? side == 'n'   ? "[s]"
                           : side == 'q' ? "[s,q]"
                                         : "[s,p]"
           : side == 'n' ? ""
           : side == 'q' ? "[q]"
                         : "[p]";
}

static char *spell_factor(const factor *f, bool mirrored)
{
    char side = mirrored ? 'p' : f->side;
    const char *hermitian =
        side == 'q' || (f->side == 'n' && mirrored && strchr("hB", *f->name) != NULL) ? "^H" : "";

    if (f->side == 'b')
        return grove_format("%s", f->name);
    if (f->scalar && side == 'q' && draw(2))
        return grove_format("conj(%s%s)", f->name, indices(f->source, side));
    if (*f->name == 'K' && side == 'q' && draw(2))
        return grove_format("K[s,q]^-1");
    if (f->side == 'n' && !f->source)
        return grove_format("%s", f->name);
    const char *name = !strcmp(f->name, "G") && draw(2)   ? "G1"
                       : !strcmp(f->name, "D") && draw(2) ? "D1"
                                                          : f->name,
               *index = indices(f->source, f->side == 'n' ? 'n' : side);
    if (*hermitian && !f->scalar && f->side == 'q' && draw(2))
        return grove_format(draw(2) ? "conj(%s%s)^T" : "conj(%s%s^T)", name, index);
    return grove_format("%s%s%s", name, index, hermitian);
}

/* The side of a product of these factors, and whether it varies with source. */
static char side_of(const factor *f, int count, bool *source)
{
    char side = 'n';

    *source = false;
    for (int i = 0; i < count; i++) {
        *source = *source || f[i].source;
        if (f[i].side == 'b' || (f[i].side != 'n' && side != 'n' && side != f[i].side))
            side = 'b';
        else if (f[i].side != 'n' && side != 'b')
            side = f[i].side;
    }
    return side;
}

static char *spell(spelling *to, const factor *f, int count, bool mirrored);

/* A product as a name of its own; of station q as the hermitian of one of p. */
static char *name_it(spelling *to, const factor *f, int count, char side, bool source)
{
    bool mirrored = side == 'q';
    char *text = spell(to, f, count, mirrored);
    char defined = mirrored ? 'p' : side;
    int number = to->names++;
    char *more =
        grove_format("%sJ%d%s = %s\n", to->definitions, number, indices(source, defined), text);

    free(text);
    free(to->definitions);
    to->definitions = more;
    return grove_format("J%d%s%s", number, indices(source, side), mirrored ? "^H" : "");
}

/* A random binary tree over the factors; mirrored: of their hermitians, in reverse. */
static char *spell(spelling *to, const factor *f, int count, bool mirrored)
{
    bool source;

    if (count == 1)
        return spell_factor(f, mirrored);
    int cut = 1 + draw(count - 1);
    char *part[2];
    for (int k = 0; k < 2; k++) {
        const factor *from = k ? f + cut : f;
        int size = k ? count - cut : cut;
        char side = side_of(from, size, &source);
        bool names =
            size > 1 && !mirrored && draw(3) == 0 && side != 'b' && (side != 'n' || source);
        part[k] = names ? name_it(to, from, size, side, source) : spell(to, from, size, mirrored);
    }
    return join(part[mirrored], part[!mirrored], draw(5));
}

static void insert(spelling *to, int at, factor f)
{
    memmove(&to->at[at + 1], &to->at[at], (size_t)(to->count - at) * sizeof(factor));
    to->at[at] = f;
    to->count++;
}

/* Of two diagonals that follow each other. */
static void swap(spelling *to, int at)
{
    factor kept = to->at[at];

    to->at[at] = to->at[at + 1];
    to->at[at + 1] = kept;
}

/* x[s,p] conj(x[s,q]) */
static const char *const differences[] = {
    "exp(1i * (a[s,p] - a[s,q]) / n)",
    "exp((a[s,p] - a[s,q]) * (1i / n))",
    "exp(1i * a[s,p] / n - 1i / n * a[s,q])",
    "exp(-1i * -(a[s,p] - a[s,q]) / n)",
    "exp(1i * a[s,p] / n) * exp(-1i * a[s,q] / n)",
    "(cos((a[s,p] - a[s,q]) / n) + 1i * sin((a[s,p] - a[s,q]) / n))",
    "(1i * sin(a[s,p] / n - a[s,q] / n) + cos(a[s,p] / n - a[s,q] / n))",
    "(cos((a[s,q] - a[s,p]) / n) - 1i * sin((a[s,q] - a[s,p]) / n))",
    "conj(cos((a[s,p] - a[s,q]) / n) - 1i * sin((a[s,p] - a[s,q]) / n))",
    "(cos(a[s,p] / n) + 1i * sin(a[s,p] / n)) / (cos(a[s,q] / n) + sin(a[s,q] / n) * 1i)",
    "complex(cos((a[s,p] - a[s,q]) / n), sin((a[s,p] - a[s,q]) / n))",
    "conj(1 / complex(cos((a[s,p] - a[s,q]) / n), -sin((a[s,p] - a[s,q]) / n)))^-1",
    "complex(cos(a[s,p] / n), sin(a[s,p] / n)) * exp(complex(0, -a[s,q] / n))",
    "conj(conj(x[s,p])) * conj(conj(conj(x[s,q])))",
    "scalar(exp(1i * (a[s,p] - a[s,q]) / n))"};
enum { DIFFERENCES = sizeof(differences) / sizeof(differences[0]) };

/* The factors inside the sum; the first and last `out` matrices of stations stand around it. */
static void set_factors(spelling *to, const char *point, bool phases, int out)
{
    static const factor left[] = {{"G", 'p', false, false},
                                  {"P", 'p', false, false},
                                  {"Q", 'p', false, false},
                                  {"D", 'p', true, false},
                                  {"E", 'p', true, false}};
    static const factor right[] = {{"E", 'q', true, false},
                                   {"D", 'q', true, false},
                                   {"Q", 'q', false, false},
                                   {"P", 'q', false, false},
                                   {"G", 'q', false, false}};
    static const factor scalars[] = {{"g", 'p', false, true},   {"g", 'q', false, true},
                                     {"f", 'n', true, true},    {"h", 'n', true, true},
                                     {"w", 'n', false, true},   {"d[p,q]", 'b', false, true},
                                     {"(-3)", 'n', false, true}};

    to->count = 0;
    for (int i = out; i < 5; i++)
        insert(to, to->count, left[i]);
    if (out < 3 && draw(2))
        swap(to, 2 - out);
    insert(to, to->count,
           phases ? (factor){"B", 'n', true, false} : (factor){point, 'b', true, false});
    for (int i = 0; i < 5 - out; i++)
        insert(to, to->count, right[i]);
    if (out < 3 && draw(2))
        swap(to, to->count - 4 + out);
    for (size_t i = 0; i < sizeof(scalars) / sizeof(scalars[0]); i++)
        insert(to, draw(to->count + 1), scalars[i]);
    insert(to, draw(to->count + 1), (factor){"z", 'p', true, true});
    insert(to, draw(to->count + 1), (factor){"z", 'q', true, true});
    if (!draw(2)) {
        insert(to, draw(to->count + 1), (factor){"x", 'p', true, true});
        insert(to, draw(to->count + 1), (factor){"x", 'q', true, true});
    } else {
        insert(to, draw(to->count + 1), (factor){differences[draw(DIFFERENCES)], 'b', true, true});
    }
    if (phases) {
        insert(to, draw(to->count + 1), (factor){"K", 'p', true, true});
        insert(to, draw(to->count + 1), (factor){"K", 'q', true, true});
    }
}

static char *spelled(const char *point, bool phases, int out)
{
    static const char *const before[] = {"", "G[p] * ", "G[p] * P[p] * ", "G[p] * P[p] * Q[p] * "};
    static const char *const after[] = {"", " * G[q]^H", " * (G[q] * P[q])^H",
                                        " * Q[q]^H * (G[q] * P[q])^H"};
    spelling to = {.definitions = grove_format("%s", "")};

    set_factors(&to, point, phases, out);
    char *body = spell(&to, to.at, to.count, false);
    char *text = grove_format("%s%sV[p,q] = %ssum[s](%s)%s\n", definitions, to.definitions,
                              before[out], body, after[out]);

    free(body);
    free(to.definitions);
    return suite_keep(text);
}

/* ---- plans ---- */

/* The predict in a value, or NULL. */
static const grove_node *find_predict(const grove_node *node)
{
    const grove_node *found = node->class_ && !strcmp(node->class_->name, "predict") ? node : NULL;

    for (int k = 0; k < node->input_count && !found; k++)
        if (node->inputs[k].node)
            found = find_predict(node->inputs[k].node);
    return found;
}

/* Its inputs left, brightness and right, and the node itself, which depends on all else, too. */
typedef struct {
    grove_hash input[3], predict, whole;
} plan;

static plan plan_of(const char *text)
{
    static const char *const names[] = {"left", "brightness", "right"};
    const grove_node *root = testing_node(&t, "V"), *predict = find_predict(root);
    plan found = {.whole = root->key};

    ck_assert_msg(predict != NULL, "not fused: %s\n%s", root->note ? root->note : "", text);
    found.predict = predict->key;
    for (int k = 0; k < 3; k++)
        found.input[k] = predict->inputs[grove_node_input(predict, names[k])].node->key;
    return found;
}

/* All spellings of one equation: the same plan as the first, and the value of the sum. */
static void check_spellings(const char *point, int smear, bool phases, int count, plan *first)
{
    for (int i = 0; i < count; i++) {
        int out = i % 4;
        char *text = spelled(point, phases, out);
        testing_tree(&t, text);
        plan found = plan_of(text);
        if (!i)
            *first = found;
        ck_assert_msg(grove_hash_equal(found.predict, first->predict), "another sum:\n%s", text);
        ck_assert_msg(out || grove_hash_equal(found.whole, first->whole), "another plan:\n%s",
                      text);
        testing_value x = testing_evaluate(&t, "V"), y = testing_evaluate(&t, "V");
        truth(smear, &y);
        double error = testing_distance(&x, &y);
        ck_assert_msg(error < 1e-11, "%g:\n%s", error, text);
    }
}

TEST(spellings_have_one_plan)
{
    const char *configurations = getenv("GROVE_TEST_CONFIGURATIONS"),
               *seed = getenv("GROVE_TEST_SEED");
    int count = configurations ? atoi(configurations) : 30;
    plan points, smeared, phases;

    state = seed ? strtoull(seed, NULL, 10) : 1;
    grid_now.channels = 5;
    t.double_precision = true;
    for (int s = 0; s < field_now.sources; s++) {
        field_now.absolute[s] = s;
        memset(field_now.shape[s], 0, sizeof(field_now.shape[s]));
    }
    check_spellings("point(S, obs, shape=H)", 0, false, count, &points);
    check_spellings("point(S, obs, shape=H, smear=both)", 3, false, count, &smeared);
    check_spellings("", 0, true, count, &phases);
    for (int k = 0; k < 3; k++) {
        ck_assert(grove_hash_equal(points.input[k], smeared.input[k]));
        ck_assert(grove_hash_equal(points.input[k], phases.input[k]));
    }
}

SUITE(600, setup, teardown)
