/* Functions and index sets of the user's own, what images are divided by, messages. */
#include "tests/common/probe.h"

#include "base/text.h"
#include "run/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t))

#define IMAGE ", obs, size=[24, 27], cell=3e-5rad, epsilon=1e-5"
#define ODD   ", obs, size=25, cell=3e-5rad, epsilon=1e-3"
#define LINES                                                                                      \
    "obs = probe(flags=false)\nV = 1 * obs.data\nF = table(\"%s/functions.csv\", "                 \
    "axes=\"w_function "                                                                           \
    "fine\")\n"

/* ---- sums of weights ---- */

/* Of terms that are 1 in all directions those of sum_of_weights; a factor of the terms is one of
 * the image. */
TEST(normalised)
{
    static const char *const tree =
        "obs = probe(flags=false)\nV = 1 * obs.data\n"
        "C = convolution_functions(1" IMAGE ", oversampling=16)\n"
        "D = convolution_functions(2" IMAGE ", oversampling=16)\n"
        "a = grid_correction(fft(grid(V" IMAGE ", functions=C, weights=1))" IMAGE
        ", w_terms=false) / sum_of_weights(V, obs, weights=1)\n"
        "b = grid_correction(fft(grid(V" IMAGE ", functions=C, weights=1, normalise=true))" IMAGE
        ", w_terms=false)\n"
        "c = grid_correction(fft(grid(V" IMAGE ", functions=D, weights=1, normalise=true))" IMAGE
        ", w_terms=false)\n";
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);

    testing_tree(&t, tree);
    testing_value a = probe_session(&t, "a", &options, NULL),
                  b = probe_session(&t, "b", &options, NULL),
                  c = probe_session(&t, "c", &options, NULL);
    ck_assert_double_lt(testing_distance(&b, &a), 2e-2);
    ck_assert_double_lt(testing_distance(&c, &b), 1e-12);
}

/* Of a sample: twice the harmonic mean of correlations that count, 0 where one of them is flagged.
 */
static double weight_of(int64_t sample, int mask)
{
    const int64_t time = sample / PROBE_CHANNELS / PROBE_BASELINES,
                  baseline = sample / PROBE_CHANNELS % PROBE_BASELINES,
                  channel = sample % PROBE_CHANNELS;
    double sum = 0;
    int count = 0;

    for (int e = 0; e < 4; e++)
        if (mask >> e & 1) {
            const double weight = probe_weight(time, baseline, channel, e);
            if (probe_flagged(time, baseline, channel, e) || weight == 0)
                return 0;
            sum += 1 / weight;
            count++;
        }
    return 2 * count / sum;
}

enum { SAMPLES = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS };

/* With terms that do nothing the image is that of the default method, divided by the weights of all
 * correlations that the terms join. */
LOOP_TEST(weights_of_terms, 0, 6)
{
    static const struct {
        const char *terms, *stokes, *all;
        int mask;
    } terms[] = {{"constant([1, 0, 0, 1], shape=matrix)", "I", "IQUV", 15},
                 {"constant([1, 0, 0, 1], shape=matrix)", "UI", "UIQV", 15},
                 {"constant([1, 1], shape=diagonal)", "U", "U", 6},
                 {"constant([1, 1], shape=diagonal)", "QV", "QV", 15},
                 {"1", "I", "I", 9},
                 {"1", "V", "V", 6}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *text = suite_text("obs = probe()\nV = 1 * obs.data\nW = obs.weight\n"
                            "x = dirty_image(V" IMAGE ", weights=W, jones=%s, stokes=\"%s\")\n"
                            "y = dirty_image(V" IMAGE ", weights=W, stokes=\"%s\")\n"
                            "s = sum_of_weights(V, obs, weights=W, stokes=\"%s\")\n",
                            terms[_i].terms, terms[_i].stokes, terms[_i].all, terms[_i].all);
    double sum = 0, off = 0, size = 0;

    testing_tree(&t, text);
    testing_value x = probe_session(&t, "x", &options, NULL),
                  y = probe_session(&t, "y", &options, NULL),
                  s = probe_session(&t, "s", &options, NULL);
    for (int64_t i = 0; i < SAMPLES; i++)
        sum += weight_of(i, terms[_i].mask);
    ck_assert_double_eq_tol(creal(s.at[0]), sum, 1e-6 * sum);
    for (int64_t i = 0; i < x.cells * x.elements; i++) {
        const double complex other = y.at[i / x.elements * y.elements + i % x.elements];
        off += cabs(x.at[i] - other) * cabs(x.at[i] - other);
        size += cabs(other) * cabs(other);
    }
    ck_assert_double_lt(sqrt(off / size), 2e-5);
}

/* Functions of 2 x 2 cells that add up to 2, -3 and 0. */
static void put_sums(void)
{
    static const double cell[] = {0.5, -0.75, 1};
    FILE *file = fopen(suite_text("%s/sums.csv", t.folder), "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "w_function, fine, value\n");
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 36; i++)
            fprintf(file, "%d, %d, %g\n", k, i, k == 2 && i % 6 < 3 ? -cell[k] : cell[k]);
    fclose(file);
}

/* `normalise` divides each image by the sum over visibilities and correlations of weight times
 * |sum of the function's numbers|, times the same for all images and sets. */
TEST(sums_of_functions)
{
    static const int sets[][2][8] = {{{0, -1, 1, 0, -1, 2, 1, 1}, {1, 0, 2, -1, -1, 1, 0, 0}},
                                     {{2, 0, -1, -1, -1, 1, -1, 0}, {0, 2, -1, 1, -1, -1, 1, -1}}};
    static const double modulus[] = {2, 3, 0};
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    double factor = 0;

    put_sums();
    for (int n = 0; n < 2; n++) {
        char *set[2];
        for (int way = 0; way < 2; way++) {
            const int *k = sets[n][way];
            set[way] = grove_format("constant([%d, %d, %d, %d, %d, %d, %d, %d], shape=vector)",
                                    k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]);
        }
        char *text =
            grove_format("obs = probe()\nV = 1 * obs.data\nu = 1 * obs.uvw\n"
                         "F = table(\"%s/sums.csv\", axes=\"w_function fine\")\n"
                         "g = grid(V, obs, size=25, cell=3e-5rad, epsilon=1e-3, functions=F.value, "
                         "oversampling=3, weights=obs.weight, mueller=%s, mueller_conjugate=%s)\n"
                         "h = grid(V, obs, size=25, cell=3e-5rad, epsilon=1e-3, functions=F.value, "
                         "oversampling=3, weights=obs.weight, mueller=%s, mueller_conjugate=%s, "
                         "normalise=true)\n",
                         t.folder, set[0], set[1], set[0], set[1]);
        double sum[2] = {0};
        testing_tree(&t, text);
        testing_value g = probe_session(&t, "g", &options, NULL),
                      h = probe_session(&t, "h", &options, NULL),
                      u = probe_session(&t, "u", &options, NULL);
        for (int64_t i = 0; i < SAMPLES; i++)
            for (int k = 0; k < 8; k++) {
                const int f = sets[n][creal(u.at[i / PROBE_CHANNELS * 3 + 2]) < 0][k];
                sum[k % 2] += f < 0 ? 0 : weight_of(i, 15) * modulus[f];
            }
        for (int64_t i = 0; i < g.cells * 2; i++) {
            factor = factor > 0 || g.at[i] == 0 ? factor : creal(h.at[i] / g.at[i]) * sum[i % 2];
            ck_assert_double_lt(cabs(h.at[i] * sum[i % 2] - factor * g.at[i]),
                                1e-6 * cabs(factor * g.at[i]) + 1e-12);
        }
        ck_assert_double_gt(factor, 0);
        free(text);
        free(set[0]);
        free(set[1]);
    }
}

/* ---- functions of the user's ---- */

/* Functions of a table, K x K cells with Q samples each, all of them `number` x 1. */
static void put_functions(int planes, int fine, const char *number)
{
    FILE *file = fopen(suite_text("%s/functions.csv", t.folder), "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "w_function, fine, value\n");
    for (int k = 0; k < planes; k++)
        for (int i = 0; i < fine; i++)
            fprintf(file, "%d, %d, %s\n", k, i, number);
    fclose(file);
}

/* Of functions that are 1 in 2 x 2 cells each visibility is found in four; -1 leaves out others. */
LOOP_TEST(own_functions, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *text = suite_text(LINES "g = grid(V" ODD
                                  ", functions=F.value, oversampling=3, weights=1, mueller=%s)\n",
                            t.folder,
                            _i ? "constant([-1, 0, -1, -1, 1, -1, 0, -1], shape=vector)"
                               : "constant([0, -1, -1, -1], shape=vector)");
    double sum[4] = {0}, of_cells[2] = {0};

    put_functions(2, 36, "1");
    testing_tree(&t, text);
    testing_value g = probe_session(&t, "g", &options, NULL),
                  v = probe_session(&t, "V", &options, NULL);
    for (int64_t i = 0; i < 4 * v.cells; i++)
        sum[i % 4] += creal(v.at[i]);
    ck_assert_int_eq(g.elements, 1 + _i);
    for (int64_t i = 0; i < g.elements * g.cells; i++)
        of_cells[i % g.elements] += creal(g.at[i]);
    ck_assert_double_eq_tol(of_cells[0], 4 * (_i ? sum[2] + sum[3] : sum[0]), 1e-8);
    if (_i)
        ck_assert_double_eq_tol(of_cells[1], 4 * sum[0], 1e-8);
}

/* ---- what is wrong ---- */

TEST(wrong_functions)
{
    static const struct {
        int planes, fine;
        const char *call, *message, *number;
    } wrong[] = {
        {2, 36, "grid(V" ODD ", functions=F.value)", "the square of support x oversampling"},
        {2, 36, "grid(V" ODD ", functions=F.value, oversampling=5)", "have 2 cells of w_function"},
        {2, 35, "grid(V" ODD ", functions=F.value, oversampling=3)", "35 of fine"},
        {3, 36, "grid(V" ODD ", functions=F.value, oversampling=3, w_planes=2)",
         "multiple of w_planes"},
        {2, 36, "grid(V" ODD ", functions=F.value, oversampling=3)", "there are 2 functions"},
        {1, 4900, "grid(V" ODD ", functions=F.value, oversampling=1)", "a support of 70 cells"},
        {2, 36,
         "grid(V" ODD
         ", functions=F.value, oversampling=3, mueller=constant([0, 1], shape=vector))",
         "one for each of 1 to 4 images and each of 4 correlations"},
        {2, 36, "grid(V" ODD ", functions=F.value, oversampling=3, mueller_conjugate=1)",
         "requires mueller"},
        {2, 36,
         "degrid(grid(V" ODD ", functions=F.value, oversampling=3, mueller=constant([0, 1, 0, 1], "
         "shape=vector))" ODD
         ", functions=F.value, oversampling=3, mueller=constant([0, 1, 0], shape=vector))",
         "1, 2 or 4 correlations"},
        {2, 36,
         "degrid(grid(V" ODD ", functions=F.value, oversampling=3, mueller=constant([0, 1, 0, 1], "
         "shape=vector)) * constant([1, 1, 1, 1, 1], shape=vector)" ODD
         ", functions=F.value, oversampling=3, mueller=constant([0, 1, 0, 1, 0], shape=vector))",
         "1 to 4 images"},
        {2, 36, "grid(V" ODD ", mueller=0)", "requires functions"},
        {2, 36, "degrid(grid(V" ODD ")" ODD ", gradient=constant([1, 2], shape=vector))",
         "requires functions"},
        {2, 36,
         "grid(V" ODD ", functions=convolution_functions(constant([1, 1], shape=diagonal)" ODD
         ", oversampling=3), normalise=true)",
         "requires functions of numbers"},
        {2, 36,
         "grid(constant([1, 1], shape=diagonal) * trace(V)" ODD
         ", functions=convolution_functions(constant([1, 1], shape=diagonal)" ODD
         ", oversampling=3, stokes=\"U\"))",
         "that do not contribute to the data's correlations"},
        {2, 36,
         "grid(V" ODD ", functions=F.value, oversampling=3, mueller=constant([0, -1, -1, 1], "
         "shape=vector))",
         "functions: has flagged numbers", "nan"},
        {2, 36,
         "degrid(grid(V" ODD ", w_terms=false)" ODD
         ", functions=F.value, oversampling=3, mueller=0)",
         "functions: has flagged numbers", "nan"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char *text = suite_text(LINES "x = %s\n", t.folder, wrong[i].call);
        put_functions(wrong[i].planes, wrong[i].fine, wrong[i].number ? wrong[i].number : "1");
        const char *said = testing_faults(&t, text);
        ck_assert_msg(strstr(said, wrong[i].message) != NULL, "%s: %s", wrong[i].call, said);
    }
}

/* What is found in a run. */
LOOP_TEST(wrong_numbers, 0, 9)
{
    static const struct {
        const char *options, *message, *number, *functions;
    } wrong[] = {
        {"mueller=constant([0, 1, 2, -1], shape=vector)",
         "correlation 2 of image 0 has 2, which is"},
        {"mueller=constant([0, 1, 0.5, -1], shape=vector)", "from 0 to 1, and -1 means none"},
        {"mueller=constant([0, 1, -2, -1], shape=vector)", "correlation 2 of image 0 has -2"},
        {"mueller=sqrt(-1 * constant([0, 0, 0, 1], shape=vector))",
         "correlation 3 of image 0 has "},
        {"mueller=constant([0, 1, 0, 0], shape=vector), gradient=log(-1 * constant([1, 1], "
         "shape=vector))",
         "is not a direction cosine"},
        {"mueller=constant([-1, -1, -1, -1], shape=vector)",
         "mueller: is -1, no function, for each correlation and image"},
        {"mueller=constant([0, 1, 0, -1], shape=vector)", "functions: has flagged numbers", "nan",
         "2 * F.value"},
        {"mueller=constant([0, 1, 0, -1], shape=vector)", "functions: have inf", "1",
         "F.value / (F.value - F.value)"},
        {"mueller=constant([0, 1, 0, -1], shape=vector) * (1 + 0 * abs(trace(V)) / 1Jy)",
         "mueller: has flagged numbers"},
    };
    grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    char *text = suite_text("obs = probe()\nV = 1 * obs.data\n"
                            "F = table(\"%s/functions.csv\", axes=\"w_function fine\")\n"
                            "x = grid(V" ODD ", functions=%s, oversampling=3, %s)\n",
                            t.folder, wrong[_i].functions ? wrong[_i].functions : "F.value",
                            wrong[_i].options);

    put_functions(2, 36, wrong[_i].number ? wrong[_i].number : "1");
    testing_tree(&t, text);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_ne(grove_session_value(session, "x", &value), 0);
    grove_session_free(session);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, wrong[_i].message) != NULL, "%s", said);
}

SUITE(120, setup, teardown)
