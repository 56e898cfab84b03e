/* parm: the Jones terms that it makes against formulas; intervals and polynomials coefficient by
 * coefficient; what its definition implies; faults. */
#include "tests/common/probe.h"

#include "conformance/fixture.h"
#include "nodes/fit/parm.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static testing t;

static void setup(void)
{
    testing_begin(&t);
    probe_begin(&t);
    ck_assert_int_eq(grove_probe_register(t.classes, t.error), 0);
    *grove_probe_of_parms() = (grove_probe_change){.at = -2};
}

static void teardown(void)
{
    testing_end(&t);
}

static testing_value value_of(const char *name)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true, .tile_times = 2,
                              .tile_channels = 3);
    unsigned char *flags = NULL;
    testing_value value = probe_session(&t, name, &options, &flags);

    return value;
}

/* ---- Jones terms ---- */

#define PHASOR(x) (cos(x) + I * sin(x))

/* Element e of the term made of the start value, at a frequency. */
static double complex phase(double freq, int e)
{
    (void)freq, (void)e;
    return PHASOR(0.3);
}

static double complex delay(double freq, int e)
{
    (void)e;
    return PHASOR(2 * GROVE_PI * freq * 2e-9);
}

static double complex tec(double freq, int e)
{
    (void)e;
    return PHASOR(-8.44797245e9 * 0.05 / freq);
}

static double complex rotation(double freq, int e)
{
    (void)freq;
    return e == 0 || e == 3 ? cos(0.3) : e == 1 ? -sin(0.3) : sin(0.3);
}

static double complex leakage(double freq, int e)
{
    (void)freq;
    return e == 0 || e == 3 ? 1 : 0.1 + 0.2 * I;
}

static double complex full(double freq, int e)
{
    (void)freq;
    return e == 0 || e == 3 ? 2 + I : 0;
}

static double complex number(double freq, int e)
{
    (void)freq, (void)e;
    return 2 + I;
}

static double complex real_number(double freq, int e)
{
    (void)freq, (void)e;
    return 2;
}

static double complex unity(double freq, int e)
{
    (void)freq;
    return e == 0 || e == 3 ? 1 : 0;
}

static const struct {
    const char *options;
    int elements;
    double complex (*formula)(double freq, int e);
} terms[] = {
    {"jones=phase, init=0.3rad", 2, phase},
    {"jones=delay, init=2ns", 2, delay},
    {"jones=tec, init=0.05", 1, tec},
    {"jones=rotation, init=0.3rad", 4, rotation},
    {"jones=leakage, init=0.1+0.2i", 4, leakage},
    {"jones=full, init=2+1i", 4, full},
    {"jones=full, time=1min, freq=1MHz, degree=[3, 2], init=2+1i", 4, full},
    {"jones=full", 4, unity},
    {"jones=diagonal, init=2+1i", 2, number},
    {"jones=scalar, init=2+1i", 1, number},
    {"jones=amplitude, init=2", 2, real_number},
    {"init=2+1i", 1, number},
    {"init=2Jy", 1, real_number},
};
enum { TERMS = sizeof(terms) / sizeof(terms[0]) };

/* At every station, time and channel. */
LOOP_TEST(jones_terms, 0, TERMS)
{
    testing_tree(&t, suite_text("obs = probe()\nJ[p] = parm(\"J\", %s)\n"
                                "x[p,q] = J[p] * (0 * select(obs.data, element=XX) / 1Jy + 1)\n",
                                terms[_i].options));
    testing_value x = value_of("x");
    ck_assert_int_eq(x.elements, terms[_i].elements);
    ck_assert_int_eq(x.cells, PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS);
    for (int64_t i = 0; i < x.cells; i++)
        for (int e = 0; e < x.elements; e++) {
            double freq = x.axis[2]->centre[i % PROBE_CHANNELS];
            double complex wanted = terms[_i].formula(freq, e);
            double complex found = x.at[i * x.elements + e];
            ck_assert_msg(cabs(found - wanted) < 1e-12, "%s: %g%+gi, not %g%+gi", terms[_i].options,
                          creal(found), cimag(found), creal(wanted), cimag(wanted));
        }
}

/* ---- coefficients ---- */

/* The place of cell i in an interval from `low` on, which ends with the axis at most. */
static double place(const grove_axis *axis, int64_t i, double low, double length)
{
    int64_t last = axis->size - 1;
    double end = fmin(low + length, axis->centre[last] + axis->width[last] / 2);

    return 2 * (axis->centre[i] - low) / (end - low) - 1;
}

/* Intervals of two times and three channels, the last ones shorter: the one coefficient that is 1
 * shows the polynomial of its term in its intervals, for its station. */
LOOP_TEST(coefficients, 0, 54)
{
    enum { STATION = 2, INTERVALS = 3, BANDS = 3, TIME_TERMS = 3, FREQ_TERMS = 2 };
    const int interval = _i % INTERVALS, band = _i / INTERVALS % BANDS,
              i = _i / (INTERVALS * BANDS) % TIME_TERMS,
              j = _i / (INTERVALS * BANDS * TIME_TERMS) % FREQ_TERMS;
    testing_tree(&t, "obs = probe()\nx = obs.freq\ny = obs.time\nz = obs.interval\n");
    const grove_node *obs = testing_node(&t, "obs");
    const grove_axis *time = grove_node_axis(obs, "time"), *freq = grove_node_axis(obs, "freq");
    double dt = 2 * time->width[0], df = 3 * freq->width[0];
    double start = time->centre[0] - time->width[0] / 2, low = freq->centre[0] - freq->width[0] / 2;
    char *text = suite_text("obs = probe()\n"
                            "J[p] = test_parm(\"J\", init=0, complex=true, time=%.17gs, "
                            "freq=%.17gHz, degree=[2, 1])\n",
                            dt, df);
    *grove_probe_of_parms() = (grove_probe_change){
        .parm = "J",
        .member = "value",
        .number = {1, -2},
        .at =
            (((STATION * INTERVALS + interval) * BANDS + band) * TIME_TERMS + i) * FREQ_TERMS + j};
    testing_tree(&t, text);
    ck_assert_int_eq(grove_parm_index(grove_node_user(testing_node(&t, "J")->inputs[0].node->leaf),
                                      0, STATION, interval, band, i * FREQ_TERMS + j),
                     grove_probe_of_parms()->at);
    time = grove_node_axis(testing_node(&t, "obs"), "time");
    freq = grove_node_axis(testing_node(&t, "obs"), "freq");
    testing_value x = value_of("J");
    ck_assert_int_eq(x.axes, 3);
    ck_assert_int_eq(x.cells, PROBE_TIMES * PROBE_STATIONS * PROBE_CHANNELS);
    for (int64_t cell = 0; cell < x.cells; cell++) {
        int64_t c = cell % PROBE_CHANNELS, p = cell / PROBE_CHANNELS % PROBE_STATIONS;
        int64_t k = cell / PROBE_CHANNELS / PROBE_STATIONS;
        bool there = p == STATION && k / 2 == interval && c / 3 == band;
        double u = place(time, k, start + interval * dt, dt);
        double v = place(freq, c, low + band * df, df);
        double complex wanted = there ? (1 - 2 * I) * pow(u, i) * pow(v, j) : 0;
        ck_assert_msg(cabs(x.at[cell] - wanted) < 1e-6, "%g, not %g at time %d, channel %d",
                      creal(x.at[cell]), creal(wanted), (int)k, (int)c);
    }
}

/* ---- groups ---- */

/* Sources of two patches and of none; the group of the one station's coefficient that changes. */
LOOP_TEST(groups, 0, 3)
{
    enum { SOURCES = 4, GROUPS = 3, STATION = 2 };
    static const int group[SOURCES] = {0, 1, 0, 2};
    const char *path = testing_file(&t, "my.skymodel",
                                    "format = Name, Type, Patch, Ra, Dec, I\n"
                                    "a, POINT, west, 01:00:00, +10.00.00, 1\n"
                                    "b, POINT, east, 02:00:00, +10.00.00, 1\n"
                                    "c, POINT, west, 03:00:00, +10.00.00, 1\n"
                                    "d, POINT, , 04:00:00, +10.00.00, 1\n");
    char *text = suite_text("S = sky_model(\"%s\")\nobs = probe()\n"
                            "J[s,p] = test_parm(\"J\", init=2+1i, groups=patch, time=20min)\n",
                            path);
    *grove_probe_of_parms() = (grove_probe_change){
        .parm = "J", .member = "value", .number = {1, -2}, .at = (STATION * GROUPS + _i) * 3 + 1};
    testing_tree(&t, text);
    const grove_parm *p = grove_node_user(testing_node(&t, "J")->inputs[0].node->leaf);
    ck_assert_int_eq(grove_parm_index(p, _i, STATION, 1, 0, 0), grove_probe_of_parms()->at);
    ck_assert_int_eq(grove_parm_count(p), GROUPS * PROBE_STATIONS * 3);
    testing_value x = value_of("J");
    ck_assert_int_eq(x.axes, 3);
    ck_assert_int_eq(x.cells, SOURCES * PROBE_TIMES * PROBE_STATIONS);
    for (int64_t cell = 0; cell < x.cells; cell++) {
        int64_t station = cell % PROBE_STATIONS, time = cell / PROBE_STATIONS % PROBE_TIMES;
        int64_t source = cell / PROBE_STATIONS / PROBE_TIMES;
        bool there = station == STATION && time / 2 == 1 && group[source] == _i;
        ck_assert(p->group[source] == group[source]);
        ck_assert(x.at[cell] == (there ? 3 - I : 2 + I));
    }
}

TEST(no_groups)
{
    static const struct {
        const char *parm, *said;
    } wrong[] = {{"J[s,p] = parm(\"J\", init=1, groups=patch)\n",
                  "no source of 'S' belongs to a patch; with groups=none"},
                 {"J[p] = parm(\"J\", init=1, groups=patch)\n", "it does not vary with source"}};
    const char *path = testing_file(&t, "my.skymodel",
                                    "format = Name, Type, Ra, Dec, I\n"
                                    "a, POINT, 01:00:00, +10.00.00, 1\n");

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *said = testing_faults(
            &t, suite_text("S = sky_model(\"%s\")\nobs = probe()\n%s", path, wrong[i].parm));
        ck_assert_msg(strstr(said, wrong[i].said) != NULL, "%s", said);
    }
}

static int open_odd_sky(grove_node *node)
{
    static const grove_form plain = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    const grove_axis source = {.name = "source", .size = 2}, patch = {.name = "patch", .size = 2};
    const double number[] = {1, 2};

    ck_assert_int_eq(grove_node_add_axis(node, &source), 0);
    ck_assert_int_eq(grove_node_add_axis(node, &patch), 0);
    return grove_node_add_member(node, "patch", "source", &plain, number, "for tests");
}

/* A plugin's sky with a patch that is none. */
TEST(odd_groups)
{
    const grove_class sky = {GROVE_CLASS_HEAD(odd_sky), .doc = "For tests.",
                             .kind = GROVE_CLASS_DATA, .object = "sky",
                             .data = &(const grove_data_functions){.open = open_odd_sky}};

    ck_assert_int_eq(grove_classes_add(t.classes, &sky, t.error), 0);
    const char *said =
        testing_faults(&t, "S = odd_sky()\nJ[s] = parm(\"J\", init=1, groups=patch)\n");
    ck_assert_msg(strstr(said, "source 1 of 'S' belongs to patch 2; there are 2 patches") != NULL,
                  "%s", said);
}

/* ---- intervals ---- */

static const grove_parm *parm_of(const char *text)
{
    testing_tree(&t, text);
    return grove_node_user(testing_node(&t, "J")->inputs[0].node->leaf);
}

enum { MOST = 5 };

static const struct {
    const char *observation, *options;
    int number[MOST]; /* the interval of each time */
    int count;
    double start[MOST], width[MOST]; /* s after the first time slot begins */
} cuts[] = {
    {"", "time=20min", {0, 0, 1, 1, 2}, 3, {0, 1200, 2400}, {1200, 1200, 600}},
    {"", "time=50min", {0, 0, 0, 0, 0}, 1, {0}, {3000}},
    {"", "time=100s", {0, 1, 2, 3, 4}, 5, {0, 600, 1200, 1800, 2400}, {600, 600, 600, 600, 600}},
    {"", "time=1e-300s", {0, 1, 2, 3, 4}, 5, {0, 600, 1200, 1800, 2400}, {600, 600, 600, 600, 600}},
    /* the second centre is on the edge */
    {"", "time=15min", {0, 1, 1, 2, 3}, 4, {0, 900, 1800, 2700}, {900, 900, 900, 300}},
    {"slots=3, scans=true", "time=20min", {0, 0, 1, 2, 2}, 3, {0, 1200, 1800}, {1200, 600, 1200}},
    {"slots=2, scans=true", "time=1h", {0, 0, 1, 1, 2}, 3, {0, 1200, 2400}, {1200, 1200, 600}},
    {"slots=2, scans=true", "degree=1", {0, 0, 0, 0, 0}, 1, {0}, {3000}},
    {"slots=2, scans=true, gap=900s",
     "time=30min",
     {0, 0, 1, 1, 2},
     3,
     {0, 2100, 4200},
     {1200, 1200, 600}},
    {"slots=2, gap=1d", "time=20min", {0, 0, 1, 1, 2}, 3, {0, 87600, 175200}, {1200, 1200, 600}},
    {"slots=2, gap=10min", "time=30min", {0, 0, 1, 1, 2}, 3, {0, 1800, 3600}, {1800, 1800, 600}},
};
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

LOOP_TEST(intervals, 0, CUTS)
{
    const grove_parm *p = parm_of(suite_text("obs = probe(%s)\nJ = parm(\"J\", init=1, %s)\n",
                                             cuts[_i].observation, cuts[_i].options));
    const grove_axis *axis =
        grove_node_axis(testing_node(&t, "J")->inputs[0].node->leaf, "interval");
    double begin = 51544.5 * 86400 - 300;

    ck_assert_int_eq(axis->size, cuts[_i].count);
    for (int i = 0; i < cuts[_i].count; i++) {
        double start = axis->centre[i] - axis->width[i] / 2 - begin;
        ck_assert_msg(fabs(start - cuts[_i].start[i]) < 1e-4, "interval %d from %g s", i, start);
        ck_assert_msg(fabs(axis->width[i] - cuts[_i].width[i]) < 1e-4, "%g s", axis->width[i]);
    }
    for (int i = 0; i < PROBE_TIMES; i++) {
        double x, wanted;
        int number = cuts[_i].number[i];
        ck_assert_int_eq(grove_parm_find(&p->time, i, &x), number);
        wanted = 2 * (p->time.axis->centre[i] - axis->centre[number]) / axis->width[number];
        ck_assert(fabs(x - wanted) < 1e-9);
    }
}

/* Coefficients as the header says: what is read of the leaf is in that order. */
TEST(order)
{
    const grove_parm *p = parm_of("obs = probe()\nJ = parm(\"J\", init=1, axes=station, "
                                  "time=20min, freq=4MHz, degree=[1, 2])\nx = J[p]\n");

    ck_assert_int_eq(grove_parm_count(p), 4 * 3 * 4 * 6);
    ck_assert_int_eq(grove_parm_index(p, 7, 3, 2, 1, 5), ((3 * 3 + 2) * 4 + 1) * 6 + 5);
}

static const struct {
    const char *init;
    bool complex_;
} inits[] = {
    {"2", false},   {"2Jy", false},           {"2i", true},  {"2+1i", true},   {"1+0i", true},
    {"0i", true},   {"1Jy * (1 - 0i)", true}, {"-0i", true}, {"2i / 2", true}, {"(-4)^0.5", true},
    {"1^2", false},
};
enum { INITS = sizeof(inits) / sizeof(inits[0]) };

LOOP_TEST(complex_by_init, 0, INITS)
{
    ck_assert_msg(parm_of(suite_text("obs = probe()\nJ = parm(\"J\", init=%s)\n", inits[_i].init))
                          ->complex_ == inits[_i].complex_,
                  "init=%s", inits[_i].init);
}

/* ---- bounds and priors ---- */

TEST(knowledge)
{
    const grove_parm *p = parm_of("obs = probe()\nJ = parm(\"J\", init=2Jy)\n");
    ck_assert(p->bounds[0] == -INFINITY && p->bounds[1] == INFINITY && p->prior_sigma == INFINITY);
    p = parm_of("obs = probe()\nJ = parm(\"J\", init=2Jy, bounds=[0, 3mJy * 1000], prior=10mJy)\n");
    ck_assert(p->bounds[0] == 0 && fabs(p->bounds[1] - 3) < 1e-12);
    ck_assert(p->prior_mean[0][0] == 2 && fabs(p->prior_sigma - 0.01) < 1e-12);
    p = parm_of("obs = probe()\nJ = parm(\"J\", init=2, bounds=[none, 2], prior=[0, 3])\n");
    ck_assert(p->bounds[0] == -INFINITY && p->bounds[1] == 2);
    ck_assert(p->prior_mean[0][0] == 0 && p->prior_sigma == 3);
    p = parm_of("obs = probe()\nJ = parm(\"J\", init=2+1i, prior=3)\n");
    ck_assert(p->prior_mean[0][0] == 2 && p->prior_mean[0][1] == 1 && p->prior_sigma == 3);
}

/* ---- what is implied, and faults ---- */

static void has_axes(const char *text, const char *axes)
{
    testing_tree(&t, text);
    const grove_node *node = testing_node(&t, "J");
    grove_text found = {0};

    for (int d = 0; d < node->axis_count; d++)
        grove_text_add(&found, "%s%s", d ? " " : "", node->axes[d]->name);
    ck_assert_str_eq(found.at ? found.at : "", axes);
    free(found.at);
}

TEST(implied)
{
    has_axes("obs = probe()\nJ[p] = parm(\"J\", init=1)\n", "station");
    has_axes("obs = probe()\nJ[p] = 2 * parm(\"J\", init=1)\n", "station");
    has_axes("obs = probe()\nJ = parm(\"J\", init=1)\n", "");
    has_axes("obs = probe()\nJ[p] = parm(\"J\", init=1, axes=none)\n", "");
    has_axes("obs = probe()\nJ = parm(\"J\", init=1, axes=station)\nx = J[p]\n", "station");
    has_axes("obs = probe()\no2 = obs\nx = mean(o2.freq)\nJ[p] = parm(\"J\", init=1)\n", "station");
    has_axes("J = parm(\"J\", init=1)\n", "");
    has_axes("obs = probe()\no2 = probe(scale=2)\nJ[p] = parm(\"J\", obs=o2, init=1)\n", "station");
    has_axes("obs = probe()\nJ[p] = parm(\"J\", jones=phase, time=1min, freq=1MHz)\n",
             "time station freq");
}

/* A template has the indices of the definition that calls it; in a block they are those there. */
TEST(templates)
{
#define CALLED "\nJ[p] = T(\"J\")\n"
    has_axes("obs = probe()\ntemplate T(n) = parm(n, jones=diagonal)" CALLED, "station");
    has_axes("obs = probe()\ntemplate T(n, x=1) = parm(n, init=x)" CALLED, "station");
    has_axes("obs = probe()\nk = 2\ntemplate T(n, x=k) = parm(n, init=2)" CALLED, "station");
    has_axes("obs = probe()\ntemplate U(n) = parm(n, init=1)\ntemplate T(n) = U(n)" CALLED,
             "station");
    has_axes("obs = probe()\ntemplate T() = parm(\"J\", init=1)\nJ[p] = T()\n", "station");
    has_axes("obs = probe()\ntemplate T(n) = parm(n, init=1)\nJ = T(\"J\")\n", "");
    has_axes("obs = probe()\ntemplate T(n, x=1) {\n    a[p] = parm(n, init=x)\n    b = 2 * "
             "a[p]\n}" CALLED,
             "station");
#undef CALLED
}

static const struct {
    const char *text, *said;
} bad[] = {
    {"J[p] = parm(\"J\", init=1)\n", "its observation is not given; write obs=..."},
    {"obs = probe()\no2 = probe(scale=2)\nJ[p] = parm(\"J\", init=1)\n",
     "its observation is not given; write obs=..."},
    {"obs = probe()\nJ[s] = parm(\"J\", init=1)\n", "its sky is not given; write sky=..."},
    {"obs = probe()\nJ[p,q] = parm(\"J\", init=1)\n", "not along 'baseline'"},
    {"J = parm(\"J\", init=1, time=1s)\n", "no observation gives the times"},
    {"J = parm(\"J\", jones=tec)\n", "no observation gives the channels"},
    {"J = parm(\"J\")\n", "init: a start value must be given"},
    {"J = parm(\"J\", jones=phase, init=1s)\n", "init: must be an angle"},
    {"J = parm(\"J\", jones=phase, init=1i)\n", "init: this parm is real"},
    {"J = parm(\"J\", init=1Jy, step=1)\n", "step: must be a flux density above 0"},
    {"J = parm(\"J\", init=1, step=-1)\n", "step: must be a plain number above 0"},
    {"J = parm(\"J\", init=1Jy, bounds=[0, 2])\n", "bounds: must be a flux density"},
    {"J = parm(\"J\", init=1Jy, bounds=[0Jy, 2s])\n", "'bounds' must be a number, or a list"},
    {"J = parm(\"J\", init=1, bounds=2)\n", "bounds: must be [low, high], a plain number"},
    {"J = parm(\"J\", init=1, bounds=[1, 1])\n", "bounds: 1 is not below 1"},
    {"J = parm(\"J\", init=1Jy, bounds=[2Jy, none])\n",
     "bounds: the start value 1 is not between 2 and inf"},
    {"J = parm(\"J\", init=1Jy, bounds=[none, 0])\n",
     "bounds: the start value 1 is not between -inf and 0"},
    {"J = parm(\"J\", jones=phase, bounds=[1deg, 2deg])\n", "the start value 0 is not between"},
    {"J = parm(\"J\", jones=scalar, bounds=[0, 2])\n",
     "a complex parm has no bounds; fit its amplitude and its phase"},
    {"J = parm(\"J\", init=1Jy, prior=0.1)\n", "prior: must be a flux density"},
    {"J = parm(\"J\", init=1Jy, prior=[1Jy, 0Jy])\n",
     "prior: 0 is not a sigma, which must be above 0"},
    {"J = parm(\"J\", init=1, prior=-1)\n", "prior: -1 is not a sigma"},
    {"J = parm(\"J\", init=1, prior=[none, 1])\n", "prior: must be sigma or [mean, sigma]"},
    {"J = parm(\"J\", init=1, prior=[1, 2, 3])\n", "prior: must be sigma or [mean, sigma]"},
    {"J = parm(\"J\", jones=full, prior=[1, 2])\n",
     "the mean of a complex parm is its start value; give only sigma"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=[1i])\n",
     "'degree' must be a number, or a list"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=0.5)\n", "degree: 0.5 is not a whole number"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=1e300)\n",
     "1e+300 is not a whole number from 0 to 63"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=[0, 64])\n",
     "64 is not a whole number from 0 to 63"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=[0, 1, 2])\n", "one or two whole numbers"},
    {"obs = probe()\nJ = parm(\"J\", init=1, axes=[station, station])\n",
     "axes: 'station' is given twice"},
    {"obs = probe()\nJ = parm(\"J\", init=1, degree=-1)\n", "-1 is not a whole number"},
    {"obs = probe()\nJ = parm(\"J\", init=1, time=0s)\n", "is not a length of an interval"},
    {"obs = observe(array=\"meerkat\", phase_centre=\"0h 0d\", hour_angle=-1h..1h, "
     "channels=1000)\nJ[p] = parm(\"J\", init=1, time=1s, freq=1Hz)\n",
     "e+07 coefficients are too many; at most 1e+07"},
    {"J = parm(\"J\", init=1)\nK = parm(\"J\", init=2)\n", "has another one with the name \"J\""},
};

LOOP_TEST(faults, 0, sizeof(bad) / sizeof(bad[0]))
{
    const char *said = testing_faults(&t, bad[_i].text);

    ck_assert_msg(strstr(said, bad[_i].said) != NULL, "%s: %s", bad[_i].text, said);
}

/* An observation that cannot be made is all that is wrong, however many parms are of it. */
TEST(one_fault)
{
    const char *said = testing_faults(&t, "obs = probe(scale=many)\nJ[p] = parm(\"J\", init=1)\n"
                                          "K[p] = parm(\"K\", init=1)\nx = J[p] * K[p]\n");

    ck_assert_msg(strstr(said, "scale") && !strstr(said, "is not given"), "%s", said);
}

static const char *express_other(const grove_node *leaf)
{
    (void)leaf;
    return "parm_value(parm, parm.value, time=1s)";
}

/* A plugin's parm, at another time than those of the observation. */
TEST(other_times)
{
    grove_class other = *grove_classes_find(t.classes, "parm", t.error);

    other.name = "other_parm";
    other.expression = express_other;
    ck_assert_int_eq(grove_classes_add(t.classes, &other, t.error), 0);
    const char *said = testing_faults(
        &t, "obs = probe()\nJ = other_parm(\"J\", obs=obs, init=1, time=1min, axes=none)\n");
    ck_assert_msg(strstr(said, "must be the time of the parm's own observation") != NULL, "%s",
                  said);
}

SUITE(60, setup, teardown)
