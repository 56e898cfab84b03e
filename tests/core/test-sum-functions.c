/* Sums over sources of functions that are linear in the product, such as its conjugate, means, and
 * phases that are written out: what leaves the sum, what stays inside, and values in long double.
 */
#include "tests/common/grid.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t))

static const char definitions[] =
    "obs = grid()\nS = field()\n"
    "H = shape(S, obs, shape=0 * S.shape, absolute_angle=0)\n"
    "f[s] = 1 + 0.5 * S.absolute_angle\n"
    "K[s,p] = phase(S, obs)\nB[s] = brightness(S, obs)\n"
    "L[s] = lmn(S, obs)\nU[p] = obs.station_uvw\n"
    "t[s,p] = (select(U, element=\"x\") * select(L, element=\"x\") + select(U, element=\"y\") * "
    "select(L, element=\"y\") + select(U, element=\"z\") * select(L, element=\"z\")) / (299792458 "
    "m/s)\n"
    "M[s] = 0.5 * L\n"
    "r[s,p] = (select(U, element=\"x\") * select(M, element=\"x\") + select(U, element=\"y\") * "
    "select(M, element=\"y\") + select(U, element=\"z\") * select(M, element=\"z\")) / (299792458 "
    "m/s)\n"
    "k[s,p] = exp(-2i * pi * obs.freq * t[s,p])\n"
    "i[s,p] = exp(-2i * pi * obs.freq * select(U, element=\"x\") * select(L, element=\"x\") / "
    "(299792458 m/s))\n"
    "j[s,p] = exp(-2i * pi * (select(U, element=\"y\") * select(L, element=\"y\") + select(U, "
    "element=\"z\") * select(L, element=\"z\")) * (obs.freq / (299792458 m/s)))\n"
    "h[s,p] = exp(-2i * pi * 1.001 * obs.freq * t[s,p])\n"
    "a[s,p] = obs.station_index * S.absolute_angle\nx[s,p] = exp(1i * a[s,p])\n";

#define ANGLE "(2 * pi * obs.freq * (t[s,p] - t[s,q]))"
#define DIFFERENCE(uvw)                                                                            \
    "(select(" uvw ", element=\"x\") * select(L, element=\"x\") + select(" uvw                     \
    ", element=\"y\") * select(L, element=\"y\") + select(" uvw                                    \
    ", element=\"z\") * select(L, element=\"z\"))"
#define UVW                                                                                        \
    "(select(obs.uvw, element=\"x\") * select(L, element=\"x\") + select(obs.uvw, element=\"y\") " \
    "* select(L, element=\"y\") + select(obs.uvw, element=\"z\") * select(L, element=\"z\"))"

#define PART(element)                                                                              \
    "select(obs.uvw, element=\"" element "\") * select(L, element=\"" element                      \
    "\") / (299792458 m/s) * obs.freq"

typedef long double complex matrix[4];

static void adjoint(matrix to, const matrix a)
{
    const matrix out = {conjl(a[0]), conjl(a[2]), conjl(a[1]), conjl(a[3])};

    memcpy(to, out, sizeof(out));
}

/* The predict in a value, or NULL. */
static const grove_node *find_predict(const grove_node *node)
{
    const grove_node *found = node->class_ && !strcmp(node->class_->name, "predict") ? node : NULL;

    for (int k = 0; k < node->input_count && !found; k++)
        if (node->inputs[k].node)
            found = find_predict(node->inputs[k].node);
    return found;
}

/* ---- functions of a product ---- */

/* A matrix from the sum of the sources' visibilities, in place; the number of its elements. */
typedef int truth_fn(matrix v);

static int same(matrix v)
{
    (void)v;
    return 4;
}

static int conjugate(matrix v)
{
    for (int e = 0; e < 4; e++)
        v[e] = conjl(v[e]);
    return 4;
}

static int mirror(matrix v)
{
    adjoint(v, v);
    return 4;
}

static int mirror_turned(matrix v)
{
    adjoint(v, v);
    for (int e = 0; e < 4; e++)
        v[e] *= CMPLXL(0, 2);
    return 4;
}

static int six_conjugates(matrix v)
{
    for (int e = 0; e < 4; e++)
        v[e] = 6 * conjl(v[e]);
    return 4;
}

static int real_parts(matrix v)
{
    for (int e = 0; e < 4; e++)
        v[e] = creall(v[e]);
    return 4;
}

static int second(matrix v)
{
    v[0] = v[1];
    return 1;
}

static int trace(matrix v)
{
    v[0] += v[3];
    return 1;
}

static int average(matrix v)
{
    for (int e = 0; e < 4; e++)
        v[e] /= field_now.sources;
    return 4;
}

static int less_unit(matrix v)
{
    v[0] -= 0.5L * field_now.sources;
    v[3] -= 0.5L * field_now.sources;
    return 4;
}

static int average_more(matrix v)
{
    average(v);
    v[0] += 2;
    v[3] += 2;
    return 4;
}

static const struct {
    const char *text;
    truth_fn *truth;
    bool inside; /* it is computed as it is written, in chunks */
} functions[] = {
    {"sum[s](point(S, obs, shape=H) + 0)", same},
    {"sum[s](conj(point(S, obs, shape=H)))", conjugate},
    {"sum[s](conj(2 * conj(point(S, obs, shape=H)) / 2))", same},
    {"sum[s](point(S, obs, shape=H)^H)", mirror},
    {"sum[s](K[s,q] * B * K[s,p]^H)", mirror},
    {"sum[s](K[s,p] * B / K[s,q])", same},
    {"sum[s](k[s,p] * B * k[s,q]^H)", same},
    {"sum[s](B * exp(-2i * pi * obs.freq * (t[s,p] - t[s,q])))", same},
    {"sum[s](B * exp(-2i * pi * obs.freq / (299792458 m/s) * " UVW "))", same},
    {"sum[s](B * exp(2i * pi * obs.freq / (299792458 m/s) * " UVW "))", mirror},
    {"sum[s](B * exp(-4i * pi * obs.freq * (r[s,p] - r[s,q])))", same},
    {"sum[s](k[s,q] * B * conj(k[s,p]))", mirror},
    {"sum[s](conj(point(S, obs, shape=H))^T)", mirror},
    {"sum[s](B * complex(cos(" ANGLE "), -sin(" ANGLE ")))", same},
    {"sum[s](B * complex(cos(" ANGLE ") / 2, sin(" ANGLE ") / 2) * 2)", mirror, true},
    {"sum[s](3 * B / complex(3 * cos(" ANGLE "), 3 * sin(" ANGLE ")))", same, true},
    {"sum[s](conj(B / complex(cos(" ANGLE "), sin(" ANGLE ")))^T)", mirror},
    {"sum[s](1i * B * complex(sin(" ANGLE "), cos(" ANGLE ")) / -1)", same, true},
    {"sum[s](exp(complex(0, -" ANGLE " / 3))^3 * B)", same, true},
    {"sum[s]((k[s,p] / k[s,q])^2 * B * conj(k[s,p]) * k[s,q])", same, true},
    {"sum[s](conj(exp(complex(0, " ANGLE "))) * B)", same},
    {"sum[s](B * exp(-2i * pi * obs.freq / (299792458 m/s) * " DIFFERENCE("U[p] - U[q]") "))", same,
     true},
    {"sum[s](B * exp(2i * pi * " DIFFERENCE("-(obs.uvw * obs.freq / (299792458 m/s))") "))", same,
     true},
    {"sum[s](trace(k[s,p] * B) * conj(k[s,q]))", trace},
    {"sum[s](i[s,p] * B * conj(i[s,q]) * j[s,p] / j[s,q])", same},
    {"sum[s](exp(2i * pi * " PART("x") ") * B * exp(2i * pi * " PART(
         "y") ") / exp(-2i * pi * " PART("z") "))",
     mirror, true},
    {"sum[s](conj(conj(point(S, obs, shape=H))))", same},
    {"sum[s]((point(S, obs, shape=H)^T)^T)", same},
    {"sum[s](real(point(S, obs, shape=H)) - 1i * imag(point(S, obs, shape=H)))", conjugate},
    {"sum[s](B * (cos(" ANGLE ") + 1i * sin(-" ANGLE ")))", same, true},
    {"sum[s](B * (real(k[s,p] / k[s,q]) - 1i * imag(conj(k[s,q]) * k[s,p])))", mirror, true},
    {"sum[s](2i * point(S, obs, shape=H)^H)", mirror_turned},
    {"sum[s](2i * (3i * conj(point(S, obs, shape=H)^H))^H)", six_conjugates},
    {"sum[s](real(-point(S, obs, shape=H)) * -1)", real_parts},
    {"sum[s](select(point(S, obs, shape=H), element=XY))", second},
    {"sum[s](trace(point(S, obs, shape=H)))", trace},
    {"mean[s](point(S, obs, shape=H))", average},
    {"sum[s](point(S, obs, shape=H) - 0.5Jy)", less_unit},
    {"mean[s](2Jy + point(S, obs, shape=H))", average_more},
};

static void function_truth(truth_fn *function, testing_value *to)
{
    int64_t at = 0;

    for (int time = 0; time < grid_now.times; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++) {
                matrix sum = {0}, v;
                for (int s = 0; s < field_now.sources; s++) {
                    grid_visibility(s, time, b, k, 0, v);
                    for (int e = 0; e < 4; e++)
                        sum[e] += v[e];
                }
                int elements = function(sum);
                ck_assert_int_eq(elements, to->elements);
                for (int e = 0; e < elements; e++)
                    to->at[at++] = (double complex)sum[e];
            }
    ck_assert_int_eq(at, to->cells * to->elements);
}

TEST(linear_functions_leave_the_sum)
{
    double error;

    grid_now.channels = 3;
    t.double_precision = true;
    for (int s = 0; s < field_now.sources; s++)
        memset(field_now.shape[s], 0, sizeof(field_now.shape[s]));
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        testing_tree(&t, suite_text("%sV[p,q] = %s\n", definitions, functions[i].text));
        ck_assert_msg(!find_predict(testing_node(&t, "V")) == functions[i].inside, "%s",
                      functions[i].text);
        testing_value x = testing_evaluate(&t, "V"), y = testing_evaluate(&t, "V");
        function_truth(functions[i].truth, &y);
        error = testing_distance(&x, &y);
        ck_assert_msg(error < 1e-11, "%g:\n%s", error, functions[i].text);
    }
}

/* No such function: a message, and the sum as it is written. */
TEST(other_functions_stay_inside)
{
    static const char *const inside[] = {
        "sum[s](abs(point(S, obs)))",
        "sum[s](conj(point(S, obs)) * f[s])",
        "sum[s](conj(point(S, obs) * point(S, obs)))",
        "sum[s](exp(trace(point(S, obs)) / 100Jy))",
        "sum[s](exp(a[s,p] - a[s,q])^30 * point(S, obs))",
    };

    for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++) {
        testing_tree(&t, suite_text("%sV[p,q] = %s\n", definitions, inside[i]));
        const grove_node *root = testing_node(&t, "V");
        ck_assert_msg(!find_predict(root) && root->note, "%s", inside[i]);
    }
}

/* ---- phases that are written out ---- */

/* The first is written by phase or point, the others are the same predict. */
static const struct {
    const char *by_class, *written[14];
} phases[] = {
    {"sum[s](K[s,p] * B * K[s,q]^H)",
     {"sum[s](k[s,p] * B * k[s,q]^H)", "sum[s](B * exp(-2i * pi * obs.freq * (t[s,p] - t[s,q])))",
      "sum[s](B / exp(2i * pi * (t[s,p] - t[s,q]) * obs.freq))", "sum[s](k[s,p] * B / k[s,q])",
      "sum[s](B * complex(cos(" ANGLE "), -sin(" ANGLE ")))",
      "sum[s](B * exp(complex(0, -" ANGLE ")))"}},
    {"sum[s](x[s,p] * K[s,p] * B * K[s,q]^H * x[s,q]^H)",
     {"sum[s](B * exp(-2i * pi * obs.freq * (t[s,p] - t[s,q]) + 1i * (a[s,p] - a[s,q])))"}},
    {"sum[s](point(S, obs, shape=[0rad, 0rad, 0rad]))",
     {"sum[s](exp(-2i * pi * obs.freq / (299792458 m/s) * " UVW ") * B)",
      "sum[s](B * conj(exp(2i * pi * (" UVW " / (299792458 m/s)) * obs.freq)))"}},
};

static grove_hash predict_of(const char *equation)
{
    testing_tree(&t, suite_text("%sV[p,q] = %s\n", definitions, equation));
    const grove_node *found = find_predict(testing_node(&t, "V"));
    ck_assert_msg(found != NULL, "%s", equation);
    return found->key;
}

TEST(written_phases_are_phases)
{
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        grove_hash first = predict_of(phases[i].by_class);
        for (int k = 0; k < 14 && phases[i].written[k]; k++)
            ck_assert_msg(grove_hash_equal(predict_of(phases[i].written[k]), first), "%s",
                          phases[i].written[k]);
    }
    ck_assert(!grove_hash_equal(predict_of("sum[s](k[s,p] * B * h[s,q]^H)"),
                                predict_of("sum[s](K[s,p] * B * K[s,q]^H)")));
}

/* ---- precision ---- */

/* The sum is single, and what it becomes double, since fluxes are: users take what the sum was. */
TEST(fused_sums_have_the_precision_of_the_sum)
{
    int64_t at = 0;

    grid_now.channels = 3;
    t.double_precision = false;
    for (int s = 0; s < field_now.sources; s++) {
        field_now.absolute[s] = s;
        memset(field_now.shape[s], 0, sizeof(field_now.shape[s]));
    }
    char *text =
        grove_format("%sV[p,q] = sum[s](f[s] * K[s,p] * K[s,q]^H)\nA[p,q] = abs(V)\n", definitions);
    testing_tree(&t, text);
    ck_assert(find_predict(testing_node(&t, "A")) != NULL);
    testing_value x = testing_evaluate(&t, "A"), y = testing_evaluate(&t, "A");
    for (int time = 0; time < grid_now.times; time++)
        for (int b = 0; b < GRID_BASELINES; b++)
            for (int k = 0; k < grid_now.channels; k++) {
                long double complex sum = 0;
                for (int s = 0; s < field_now.sources; s++)
                    sum += (1 + 0.5L * s) * grid_factor(s, time, b, k, 0);
                y.at[at++] = (double)cabsl(sum);
            }
    ck_assert_int_eq(at, y.cells);
    double error = testing_distance(&x, &y);
    ck_assert_msg(error < 1e-5, "%g", error);
    free(text);
}

/* ---- classes that take arrays ---- */

static int run_nothing(const grove_call *call)
{
    (void)call;
    return 0;
}

static const grove_port linear_matrix[] = {
    {"x", GROVE_VALUE, "any", .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR}, {0}};

static int keep_form(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_class class_neighbours = {
    GROVE_CLASS_HEAD(neighbours), .doc = "Sums of neighbouring sources.", .inputs = linear_matrix,
    .check = keep_form, .eval = run_nothing};

/* It may mix sources: then sum(f(x)) is not f(sum(x)). */
TEST(classes_of_arrays_stay_inside)
{
    ck_assert_int_eq(grove_classes_add(t.classes, &class_neighbours, t.error), 0);
    char *text =
        grove_format("%sV[p,q] = sum[s](neighbours(point(S, obs, shape=H)))\n", definitions);
    testing_tree(&t, text);
    const grove_node *root = testing_node(&t, "V");
    ck_assert(!find_predict(root) && root->note);
    free(text);
}

/* Each value has the one before twice: opened in all its places it would take 2^60 steps. */
LOOP_TEST(values_in_values, 0, 7)
{
    static const char *const formats[] = {
        "%sE%d[s,p] = 0.5 * E%d[s,p] + E%d[s,p] * x[s,p]\n",
        "%sE%d[s,p] = cos(a[s,p]) * E%d[s,p] + 2i * sin(a[s,p]) * E%d[s,p]\n",
        "%sE%d[s,p] = cos(a[s,p]) * E%d[s,p] + 1i * sin(a[s,p]) * E%d[s,p]\n",
        "%sE%d[s,p] = cos(a[s,p]) * E%d[s,p] + 1i * sin(-a[s,p]) * E%d[s,p]\n",
        "%sE%d[s,p] = real(E%d[s,p]) + 1i * imag(-E%d[s,p])\n",
        "%sE%d[s,p] = cos(imag(E%d[s,p])) + 1i * sin(-imag(E%d[s,p]))\n",
        "%sE%d[s,p] = exp(0.01i * (cos(a[s,p]) * E%d[s,p] + 1i * sin(a[s,p]) * E%d[s,p]))\n",
    };
    char *text = grove_format("%sE0[s,p] = x\n", definitions);

    for (int k = 1; k <= 60; k++) {
        char *more = grove_format(formats[_i], text, k, k - 1, k - 1);
        free(text);
        text = more;
    }
    testing_tree(&t,
                 suite_text("%sV[p,q] = sum[s](E60[s,p] * point(S, obs) * E60[s,q]^H)\n", text));
    ck_assert(find_predict(testing_node(&t, "V")) != NULL);
    free(text);
}

SUITE(600, setup, teardown)
