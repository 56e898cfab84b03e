/* sum, mean, min, max and select against direct loops over flagged data; and invalid calls. */
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t))

static void tree(const char *expression)
{
    testing_tree(&t, suite_text("obs = probe()\nx = %s\n", expression));
}

static void refused(const char *expression, const char *message)
{
    const char *said = testing_faults(&t, suite_text("obs = probe()\nx = %s\n", expression));

    ck_assert_msg(strstr(said, message) != NULL, "%s: %s", expression, said);
    ck_assert_msg(!strstr(strstr(said, "error:") + 1, "error:"), "more than one error: %s", said);
}

/* ---- reductions ---- */

enum { SIZE0 = PROBE_TIMES, SIZE1 = PROBE_BASELINES, SIZE2 = PROBE_CHANNELS };
static const int size[3] = {SIZE0, SIZE1, SIZE2};
static const char *const axis_names[3] = {"time", "baseline", "freq"};

typedef struct {
    const char *class_, *of;
    double complex (*value)(int64_t time, int64_t baseline, int64_t channel, int e);
    bool flagged;
} reduction;

static double complex real_data(int64_t i, int64_t b, int64_t k, int e)
{
    return creal(probe_data(i, b, k, e));
}

static double complex weight(int64_t i, int64_t b, int64_t k, int e)
{
    return probe_weight(i, b, k, e);
}

static double complex negative(int64_t i, int64_t b, int64_t k, int e)
{
    return -probe_weight(i, b, k, e);
}

static const reduction reductions[] = {
    {"sum", "obs.data", probe_data, true},       {"sum", "obs.weight", weight, false},
    {"sum", "real(obs.data)", real_data, true},  {"mean", "obs.data", probe_data, true},
    {"mean", "real(obs.data)", real_data, true}, {"mean", "obs.weight", weight, false},
    {"min", "real(obs.data)", real_data, true},  {"min", "obs.weight", weight, false},
    {"max", "real(obs.data)", real_data, true},  {"max", "obs.weight", weight, false},
    {"max", "-obs.weight", negative, false},     {"min", "-obs.weight", negative, false},
};

/* One number of the result: over the axes with a bit in `over`, from `at`; how many it is made of.
 */
static int64_t reduce(const reduction *r, unsigned over, const int at[3], int e,
                      double complex *result)
{
    int64_t count = 0, from[3], to[3];

    *result = 0;
    for (int d = 0; d < 3; d++) {
        from[d] = over >> d & 1 ? 0 : at[d];
        to[d] = over >> d & 1 ? size[d] : at[d] + 1;
    }
    for (int64_t i = from[0]; i < to[0]; i++)
        for (int64_t b = from[1]; b < to[1]; b++)
            for (int64_t k = from[2]; k < to[2]; k++) {
                if (r->flagged && probe_flagged(i, b, k, e))
                    continue;
                double complex v = r->value(i, b, k, e);
                bool first = count++ == 0;
                if (r->class_[0] == 's' || !strcmp(r->class_, "mean"))
                    *result += v;
                else if (first || (creal(v) < creal(*result)) == (r->class_[1] == 'i'))
                    *result = v;
            }
    if (!strcmp(r->class_, "mean") && count)
        *result /= (double)count;
    return count;
}

static void check_reduction(const reduction *r, unsigned over, const testing_value *x,
                            const unsigned char *flags)
{
    int at[3] = {0}, n = 0;

    ck_assert_int_eq(x->elements, 4);
    for (at[0] = 0; at[0] < (over & 1 ? 1 : SIZE0); at[0]++)
        for (at[1] = 0; at[1] < (over & 2 ? 1 : SIZE1); at[1]++)
            for (at[2] = 0; at[2] < (over & 4 ? 1 : SIZE2); at[2]++)
                for (int e = 0; e < 4; e++, n++) {
                    double complex wanted;
                    int64_t count = reduce(r, over, at, e, &wanted);
                    ck_assert_msg(cabs(x->at[n] - wanted) <= 1e-15 * cabs(wanted),
                                  "%s(%s) over %u at %d %d %d %d: %g%+gi, not %g%+gi", r->class_,
                                  r->of, over, at[0], at[1], at[2], e, creal(x->at[n]),
                                  cimag(x->at[n]), creal(wanted), cimag(wanted));
                    ck_assert_int_eq(flags[n], count == 0);
                }
    ck_assert_int_eq(n, x->cells * 4);
}

LOOP_TEST(reductions_of_flagged_data, 0, sizeof(reductions) / sizeof(reductions[0]))
{
    const reduction *r = &reductions[_i];

    for (unsigned over = 1; over < 8; over++) {
        char names[64] = "";
        for (int d = 0; d < 3; d++)
            if (over >> d & 1) {
                strcat(names, names[0] ? ", " : "");
                strcat(names, axis_names[d]);
            }
        char *text = suite_text("%s(%s, over=[%s])", r->class_, r->of, names);
        unsigned char *flags;
        tree(text);
        testing_value x = probe_session(&t, "x", NULL, &flags);
        check_reduction(r, over, &x, flags);
        if (!r->flagged) {
            testing_value y = testing_evaluate(&t, "x");
            ck_assert(testing_distance(&x, &y) < 1e-15);
        }
    }
}

/* Without `over` all axes go; one name needs no list. */
TEST(axes_that_go)
{
    unsigned char *flags;

    tree("sum(obs.data)");
    testing_value x = probe_session(&t, "x", NULL, &flags);
    ck_assert_int_eq(x.axes, 0);
    check_reduction(&reductions[0], 7, &x, flags);
    tree("sum(obs.data, over=time)");
    x = probe_session(&t, "x", NULL, &flags);
    check_reduction(&reductions[0], 1, &x, flags);
    refused("sum(obs.data, over=source)", "'obs.data' does not vary along 'source'; it has time, "
                                          "baseline, freq");
    refused("min(obs.data)", "'x' must be a real value, got a complex one");
    refused("max(obs.data)", "'x' must be a real value, got a complex one");
}

/* In single precision the sums are still taken in double. */
TEST(sums_in_single_precision)
{
    grove_session_options single = GROVE_SESSION_OPTIONS();
    unsigned char *flags;
    double complex wanted;

    tree("sum(obs.data)");
    testing_value x = probe_session(&t, "x", &single, &flags);
    for (int e = 0; e < 4; e++) {
        reduce(&reductions[0], 7, (int[3]){0}, e, &wanted);
        ck_assert((float)creal(wanted) == creal(x.at[e]) && (float)cimag(wanted) == cimag(x.at[e]));
    }
}

/* ---- few sources ---- */

TEST(one_source_is_its_own_reduction)
{
    static const char *const classes[] = {"sum", "mean", "min", "max"};

    field_now.sources = 1;
    for (int i = 0; i < 4; i++) {
        char *text = suite_text("S = field()\nx = %s(-S.stokes, over=source)\n", classes[i]);
        unsigned char *flags;
        testing_tree(&t, text);
        testing_value x = probe_session(&t, "x", NULL, &flags);
        ck_assert(x.cells == 1 && x.at[0] == -1 && x.at[1] == 0 && !flags[0]);
    }
}

/* A sum of nothing is 0 and good. */
TEST(no_sources)
{
    static const char *const classes[] = {"sum", "mean", "min", "max"};

    field_now.sources = 0;
    for (int i = 0; i < 4; i++) {
        char *text = suite_text("S = field()\nx = %s(S.stokes, over=source)\n", classes[i]);
        unsigned char *flags;
        testing_tree(&t, text);
        testing_value x = probe_session(&t, "x", NULL, &flags);
        ck_assert_int_eq(x.cells, 1);
        for (int e = 0; e < 4; e++) {
            ck_assert_msg(x.at[e] == 0, "%s: %g", classes[i], creal(x.at[e]));
            ck_assert(i > 0 || !flags[e]);
        }
    }
}

/* ---- select ---- */

/* Elements and indices that stay when one index (-1: all) and one element (-1: all) are taken. */
static void check_selection(const char *expression, const int index[3], int element)
{
    unsigned char *flags;
    int64_t n = 0;

    tree(expression);
    testing_value x = probe_session(&t, "x", NULL, &flags), y = testing_evaluate(&t, "x");
    ck_assert(testing_distance(&x, &y) == 0);
    for (int i = 0; i < SIZE0; i++)
        for (int b = 0; b < SIZE1; b++)
            for (int k = 0; k < SIZE2; k++)
                for (int e = 0; e < 4; e++) {
                    if ((index[0] >= 0 && index[0] != i) || (index[1] >= 0 && index[1] != b) ||
                        (index[2] >= 0 && index[2] != k) || (element >= 0 && element != e))
                        continue;
                    bool flagged = probe_flagged(i, b, k, e);
                    ck_assert_msg(flags[n] == flagged, "%s: flag %ld", expression, (long)n);
                    ck_assert_msg(flagged || x.at[n] == probe_data(i, b, k, e), "%s: number %ld",
                                  expression, (long)n);
                    n++;
                }
    ck_assert_int_eq(n, x.cells * x.elements);
}

TEST(selections)
{
    check_selection("select(obs.data, axis=time, index=2)", (int[]){2, -1, -1}, -1);
    check_selection("select(obs.data, axis=baseline, index=-1)", (int[]){-1, 5, -1}, -1);
    check_selection("select(obs.data, axis=freq, index=-7)", (int[]){-1, -1, 0}, -1);
    check_selection("select(obs.data, axis=freq)", (int[]){-1, -1, 0}, -1);
    check_selection("select(obs.data, element=YX)", (int[]){-1, -1, -1}, 2);
    check_selection("select(obs.data, element=RL)", (int[]){-1, -1, -1}, 1);
    check_selection("select(obs.data, element=\"3\")", (int[]){-1, -1, -1}, 3);
    check_selection("select(obs.data, axis=freq, index=6, element=XY)", (int[]){-1, -1, 6}, 1);
    check_selection("select(select(obs.data, axis=freq, index=3), axis=time, index=4, element=YY)",
                    (int[]){4, -1, 3}, 3);
}

TEST(selections_from_vectors_and_diagonals)
{
    tree("select(obs.position, axis=station, index=3, element=z)");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert(x.cells == 1 && x.elements == 1 && x.at[0] == 5064892 - 350 * 3);
    tree("select(diagonal(obs.freq, 2 * obs.freq), element=YY, axis=freq, index=1)");
    x = probe_session(&t, "x", NULL, NULL);
    ck_assert(x.cells == 1 && x.at[0] == 2 * 1.402e9);
    tree("select(obs.freq / 1Hz)");
    x = probe_session(&t, "x", NULL, NULL);
    ck_assert(x.cells == SIZE2 && x.at[2] == 1.404e9);
}

TEST(selections_that_are_refused)
{
    refused("select(obs.data, axis=time, index=5)", "axis time has 5 cells, counted from 0");
    refused("select(obs.data, axis=time, index=-6)", "axis time has 5 cells, counted from 0");
    refused("select(obs.data, axis=station)", "'obs.data' does not vary along 'station'");
    refused("select(obs.data, axis=[time, freq])", "selects along one axis");
    refused("select(obs.data, element=XZ)", "'XZ' is not an element of 'obs.data'; it has XX, XY, "
                                            "YX, YY (or RR, RL, LR, LL)");
    refused("select(obs.data, element=\"4\")", "'4' is not an element");
    refused("select(obs.data, element=\"1x\")", "'1x' is not an element");
    refused("select(diagonal(1, 2), element=XY)", "'XY' is not an element");
    refused("select(obs.data, axis=time, index=1.5)", "option 'index' must be a whole number");
}

/* The largest baseline is known before an image is made, but little is made again for it: there are
 * tiles. Where a mean is subtracted, all data would be. */
LOOP_TEST(tiles_where_little_is_made_again, 0, 2)
{
    static const char *const actions[] = {
        "D = dirty_image(V, obs, size=64, cell=60arcsec)\nw = print(D, rows=2)\n",
        "m = mean(V, over=time)\nw = print(sum(norm(V - m), over=[time, baseline, freq]))\n",
    };
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    const grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .device = "cpu");
    char *text =
        grove_format("obs = observe(array=\"%s/data/arrays/kat-7.array\", hour_angle=-3h..3h, "
                     "integration=1s, phase_centre=\"0deg -30deg\", frequency=1.4GHz, channels=8, "
                     "channel_width=1MHz)\nV[p,q] = noise(obs, sigma=1Jy)\n%s",
                     source, actions[_i]);
    grove_plan plan = GROVE_PLAN();

    testing_tree(&t, text);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert(session && !grove_session_plan(session, &plan));
    ck_assert_int_eq(plan.tiles >= 8, _i == 0);
    ck_assert(_i == 0 || plan.tiles == 1);
    grove_session_free(session);
    free(text);
}

SUITE(60, setup, teardown)
