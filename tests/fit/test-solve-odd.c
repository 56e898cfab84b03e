/* Fits of unusual data: stations that no baseline has, channels in falling order, flags of factors
 * that are not fitted, averaged data without weights, few data with much noise, groups of sources
 * with a reference, and parms that are fitted twice. */
#include "solve-world.h"
#include "tests/common/foreign-sets.h"

#include "base/log.h"
#include "base/text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 8, BASELINES = 28, CHANNELS = 6 };

static solve_world w;
static char *set;
static grove_text said; /* all notes and warnings of the last run */

static void hear(const char *message)
{
    grove_text_add(&said, "%s\n", message);
}

/* ---- a station term with flags ---- */

static const grove_port holes_inputs[] = {
    {"obs", GROVE_OBJECT, "whose times, stations and channels", .object = "observation"}, {0}};

static int open_holes(grove_node *node)
{
    const grove_node *obs = grove_node_object(node, "obs");
    grove_form value = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .flags = true},
               bad = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};

    grove_node_take_axis(node, obs, "time");
    grove_node_take_axis(node, obs, "station");
    grove_node_take_axis(node, obs, "freq");
    int code = grove_node_add_member(node, "value", "time station freq", &value, NULL, "1");
    return code ? code
                : grove_node_add_member(node, "bad", "time station freq", &bad, NULL, "flagged: 1");
}

/* Some channels of station 2, some times of station 5, all of station 6. */
static bool is_hole(int64_t time, int64_t station, int64_t channel)
{
    return (station == 2 && channel % 3 == 1) || (station == 5 && time % 4 == 2) || station == 6;
}

static int read_holes(const grove_call *call, const char *member, grove_array *out)
{
    double *to = out->data;

    (void)call;
    for (int64_t i = 0; i < out->cells; i++) {
        int64_t f = out->range[2].first + i % out->range[2].count;
        int64_t a = out->range[1].first + i / out->range[2].count % out->range[1].count;
        int64_t t = out->range[0].first + i / out->range[2].count / out->range[1].count;
        to[i] = member[0] == 'v' || is_hole(t, a, f);
        if (member[0] == 'v' && out->flags)
            out->flags[i] = is_hole(t, a, f);
    }
    return 0;
}

static const grove_class class_holes = {
    GROVE_CLASS_HEAD(holes),
    .doc = "For tests.",
    .inputs = holes_inputs,
    .object = "holes",
    .kind = GROVE_CLASS_DATA,
    .data = &(const grove_data_functions){.open = open_holes, .read = read_holes}};

static void setup(void)
{
    solve_world_begin(&w);
    ck_assert_int_eq(grove_classes_add(w.t.classes, &class_holes, w.t.error), 0);
    grove_log_watch(hear);
    set = grove_format("%s/sim.ms", w.t.folder);
}

static void teardown(void)
{
    solve_world_end(&w);
    free(set);
    free(said.at);
    said = (grove_text){0};
}

/* The tree of these lines, and what is said of it. */
static void pass(const char *text)
{
    free(said.at);
    said = (grove_text){0};
    solve_world_pass(&w, text);
    grove_text_add(&said, "%s", "");
}

/* Largest difference of what was found, keep(number=k), and of the truth, keep(number=l), of [time
 * station freq], but for the phase that all stations have in common. found has a station `without`
 * that does not count; where `added`, the truth does not have it. `falling`: channels of found. */
static double distance(int k, int l, int without, bool added, bool falling)
{
    const solve_kept *found = &solve_world_kept[k], *truth = &solve_world_kept[l];
    int64_t count = found->size[1], channels = found->size[2], each = found->elements;
    double largest = 0;

    ck_assert_int_eq(truth->size[1], count - added);
    ck_assert_int_eq(truth->cells / truth->size[1], found->cells / count);
    for (int64_t at = 0; at < found->size[0] * channels; at++) {
        int64_t t = at / channels, f = at % channels, g = falling ? channels - 1 - f : f;
        double complex sum = 0;
        for (int compared = 0; compared < 2; compared++)
            for (int64_t n = 0; n < count * each; n++) {
                int64_t a = n / each, b = a - (added && a > without);
                if (a == without)
                    continue;
                double complex
                    x = found->at[((t * count + a) * channels + f) * each + n % each],
                    y = truth->at[((t * truth->size[1] + b) * channels + g) * each + n % each];
                if (!compared)
                    sum += y * conj(x);
                else
                    largest = fmax(largest, cabs(x * sum / cabs(sum) - y));
            }
    }
    return isfinite(largest) ? largest : INFINITY;
}

static const char *const ways[] = {"", ", compress=false", ", method=lm"};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* ---- stations without baselines ---- */

static const struct {
    const char *spoil;
    int station;
    bool added;
    const char *name;
} lonely[] = {{", station=5", 5, false, "S005"}, {"", 3, true, "alone"}, {"", 8, true, "alone"}};
enum { LONELY = sizeof(lonely) / sizeof(lonely[0]) };

LOOP_TEST(station_without_baselines, 0, LONELY *WAYS)
{
    int station = lonely[_i / WAYS].station;
    pass(suite_text("T[p] = draw(obs, shape=diagonal, times=4, around=1).value\n"
                    "b = spoil(obs%s)\nk1 = keep(T, number=1)\n"
                    "write = sink(T[p] * M[p,q] * T[q]^H * b.value, obs, to=\"%s\")\n",
                    lonely[_i / WAYS].spoil, set));
    if (lonely[_i / WAYS].added)
        foreign_station(set, "alone", station);
    pass(suite_text("o = ms(\"%s\")\nP[p,q] = sum[s](point(S, o))\n"
                    "G[p] = parm(\"G\", obs=o, jones=diagonal, time=8min, init=0.9)\n"
                    "fit = solve(G[p] * P[p,q] * G[q]^H, o.data, tolerance=1e-10%s)\n"
                    "k0 = keep(G[p] + 0 * o.freq / 1Hz + 0 * o.time / 1s)\n",
                    set, ways[_i % WAYS]));
    const solve_kept *found = &solve_world_kept[0];
    for (int64_t i = 0; i < found->cells * 2; i++)
        ck_assert(i / 2 / CHANNELS % found->size[1] != station || found->at[i] == 0.9);
    double off = distance(0, 1, station, lonely[_i / WAYS].added, false);
    ck_assert_msg(off < 1e-5, "%g: %s", off, said.at);
    ck_assert_msg(
        strstr(said.at, suite_text("no data, start values kept: %s\n", lonely[_i / WAYS].name)) &&
            strstr(said.at, "3 solution domains: 3 converged"),
        "%s", said.at);
}

/* ---- channels in falling order ---- */

static const struct {
    const char *truth, *parm;
} falling[] = {
    /* intervals begin at the lowest channel: 4 and 2 channels */
    {"T[p] = draw(obs, shape=diagonal, times=6, channels=4, around=1).value",
     "jones=diagonal, time=12min, freq=8MHz"},
    {"T[p] = draw(obs, shape=diagonal, times=6, channels=1, around=1).value",
     "jones=diagonal, time=12min, freq=2MHz"},
    {"d = draw(obs, complex=false, spread=0.7).value\n"
     "T[p] = exp(2i * pi * d[p] * 40ns * obs.freq) * diagonal(1, 1)",
     "jones=delay"},
    {"d = draw(obs, complex=false, channels=4, spread=0.7).value\n"
     "T[p] = exp(2i * pi * d[p] * 0.5ns * obs.freq) * diagonal(1, 1)",
     "jones=delay, freq=8MHz"},
    {"d = draw(obs, shape=diagonal, spread=0.2).value\n"
     "T[p] = diagonal(1, 1) + d[p] * (obs.freq - 150MHz) / 10MHz",
     "jones=diagonal, degree=[0, 1]"},
    /* a domain with several intervals */
    {"a = draw(obs, complex=false, channels=4, around=1).value\n"
     "b = draw(obs, complex=false, spread=0.7).value\nT[p] = a[p] * exp(1i * b[p]) * diagonal(1, "
     "1)",
     "jones=amplitude, freq=8MHz) * parm(\"P\", obs=o, jones=phase"},
};
enum { FALLING = sizeof(falling) / sizeof(falling[0]) };

LOOP_TEST(falling_channels, 0, 2 * FALLING)
{
    char *text =
        suite_text("%s\nk1 = keep(T[p] + 0 * obs.time / 1s, number=1)\n"
                   "write = sink(T[p] * M[p,q] * T[q]^H * spoil(obs, share=0.1).value, obs, "
                   "to=\"%s\")\n",
                   falling[_i % FALLING].truth, set);
    pass(text);
    for (int reverse = 0; reverse < 2; reverse++) {
        if (reverse)
            foreign_reverse(set);
        pass(suite_text("o = ms(\"%s\")\nP[p,q] = sum[s](point(S, o))\n"
                        "G[p] = parm(\"G\", obs=o, %s)\n"
                        "fit = solve(G[p] * P[p,q] * G[q]^H, o.data, tolerance=1e-10%s)\n"
                        "k0 = keep(G[p] + 0 * o.freq / 1Hz + 0 * o.time / 1s)\n"
                        "k2 = keep(o.freq / 1Hz, number=2)\n",
                        set, falling[_i % FALLING].parm, _i / FALLING ? ", method=lm" : ""));
        ck_assert((creal(solve_world_kept[2].at[0]) > creal(solve_world_kept[2].at[1])) == reverse);
        double off = distance(0, 1, -1, false, reverse);
        ck_assert_msg(off < 1e-5, "%s, %d: %g: %s", falling[_i % FALLING].parm, reverse, off,
                      said.at);
    }
}

/* ---- flags of factors ---- */

static const char *const flagged[][2] = {
    /* model, data; `d` is wrong where the factor is flagged */
    {"F[p] * G[p] * M[p,q] * G[q]^H * F[q]^H", "d"},
    {"G[p] * F[p] * M[p,q] * F[q]^H * G[q]^H", "d"},
    {"G[p] * (F[p] * M[p,q] * F[q]^H) * G[q]^H", "d"},
    {"F[p] * F[q] * (G[p] * M[p,q] * G[q]^H)", "d"},
    {"G[p] * M[p,q] * G[q]^H", "F[p] * d * F[q]"},
};
enum { FLAGGED = sizeof(flagged) / sizeof(flagged[0]) };

LOOP_TEST(flagged_factors, 0, FLAGGED *WAYS)
{
    char *text =
        grove_format("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                     "h = holes(obs)\nF[p] = h.value\n"
                     "d[p,q] = T[p] * M[p,q] * T[q]^H * (1 + 50 * (h.bad[p] + h.bad[q]))\n"
                     "G[p] = parm(\"G\", jones=diagonal, time=4min, init=0.9)\n"
                     "fit = solve(%s, %s, parms=G, tolerance=1e-12, max_iterations=200%s)\n"
                     "k0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                     "k1 = keep(T, number=1)\n",
                     flagged[_i / WAYS][0], flagged[_i / WAYS][1], ways[_i % WAYS]);

    pass(text);
    for (int64_t i = 0; i < solve_world_kept[0].cells * 2; i++)
        ck_assert(i / 2 / CHANNELS % STATIONS != 6 || solve_world_kept[0].at[i] == 0.9);
    ck_assert_msg(distance(0, 1, 6, false, false) < 1e-8, "%s%g: %s", text,
                  distance(0, 1, 6, false, false), said.at);
    free(text);
}

/* ---- averaged data ---- */

static void fit_average(const char *over, const char *data, const char *options, int number)
{
    char *text =
        grove_format("T[p] = draw(obs, shape=diagonal, around=1).value\n"
                     "b = spoil(obs, weights=unequal, share=0.2)\n"
                     "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=2Jy)) * b.value\n"
                     "G[p] = parm(\"G\", jones=diagonal)\n"
                     "V[p,q] = G[p] * mean(M[p,q], over=%s) * G[q]^H\nA[p,q] = %s\n"
                     "fit = solve(V, A, tolerance=1e-12, max_iterations=300, reference=\"0\"%s)\n"
                     "k = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s, number=%d)\n"
                     "k2 = keep(V, number=2)\nk3 = keep(A, number=3)\n",
                     over, data, options, number);

    pass(text);
    free(text);
}

LOOP_TEST(averaged_data, 0, 6)
{
    static const char *const overs[] = {"freq", "time", "[time, freq]"};
    const char *over = overs[_i % 3], *way = _i / 3 ? ", compress=false" : "";
    char *data = suite_text("mean(D[p,q], over=%s)", over),
         *ones = suite_text(", weights=1%s", way),
         *means = suite_text(", weights=mean(b.weight, over=%s)%s", over, way);
    static const char words[] = "the set's weights do not match these data";
    double chi2 = 0;
    int64_t count = 0;

    fit_average(over, data, way, 0);
    char *messages = suite_messages(w.t.error);
    ck_assert_msg(strstr(messages, words) != NULL, "%s%s", messages, said.at);
    const solve_kept *model = &solve_world_kept[2], *average = &solve_world_kept[3];
    ck_assert_int_eq(model->cells, average->cells);
    for (int64_t i = 0; i < average->cells * 4; i++)
        if (!average->flags[i / 4]) {
            chi2 += pow(cabs(average->at[i] - model->at[i]), 2);
            count += 2;
        }
    /* a complex number for X and Y of each station is fitted */
    ck_assert_int_ge(count, 4 * BASELINES);
    double told = atof(strstr(said.at, "freedom ") + 8),
           expected = chi2 / (double)(count - 4 * STATIONS);
    ck_assert_msg(fabs(told / expected - 1) < 1e-3, "%g, not %g: %s", told, expected, said.at);
    fit_average(over, data, ones, 1);
    ck_assert(!strstr(suite_messages(w.t.error), words));
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-7);
    fit_average(over, data, means, 1);
    ck_assert_double_gt(solve_world_distance(0, 1), 1e-4);
}

/* ---- few data ---- */

static double chi2_of(int k, int64_t time, int64_t channel)
{
    const solve_kept *model = &solve_world_kept[k], *data = &solve_world_kept[3];
    double sum = 0;

    for (int64_t b = 0; b < BASELINES; b++)
        for (int e = 0; e < 4; e++) {
            int64_t at = ((time * BASELINES + b) * CHANNELS + channel) * 4 + e;
            sum += pow(cabs(data->at[at] - model->at[at]), 2);
        }
    return sum;
}

/* Domains of a time and a channel each, many of which have several minima. `most`: domains
 * that may end in a higher one than a fit that starts at the truth; without other starts there are
 * two to six times as many. */
static const struct {
    const char *jones, *sigma, *options;
    int most;
} few[] = {{"diagonal", "20Jy", ", batch=1", 16},
           {"phase", "10Jy", ", batch=1", 12},
           {"phase", "10Jy", "", 4},
           {"phase", "5Jy", "", 4}};
enum { FEW = sizeof(few) / sizeof(few[0]), FEW_TIMES = 24 };

LOOP_TEST(few_data, 0, FEW)
{
    int above = 0;

    w.times = FEW_TIMES;
    for (int k = 0; k < 2; k++) {
        char *text =
            grove_format("a = draw(obs, times=1, channels=1, complex=false, spread=2).value\n"
                         "T[p] = exp(1i * a[p]) * diagonal(1, 1)\n"
                         "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=%s, seed=5)\n"
                         "G[p] = parm(\"G\", jones=%s, time=2min, freq=2MHz)\n"
                         "J[p] = %s\nV[p,q] = J[p] * M[p,q] * J[q]^H\n"
                         "fit = solve(V, D, tolerance=1e-8, max_iterations=1000%s)\n"
                         "k = keep(V, number=%d)\nk3 = keep(D, number=3)\n",
                         few[_i].sigma, few[_i].jones, k ? "T[p] * G[p]" : "G[p]",
                         k ? ", method=lm" : few[_i].options, k);
        pass(text);
        free(text);
    }
    ck_assert_int_eq(solve_world_kept[3].cells, FEW_TIMES * BASELINES * CHANNELS);
    for (int64_t t = 0; t < FEW_TIMES; t++)
        for (int64_t f = 0; f < CHANNELS; f++)
            above += chi2_of(0, t, f) > chi2_of(1, t, f) * (1 + 1e-5);
    ck_assert_msg(above <= few[_i].most, "%s, %s%s: %d", few[_i].jones, few[_i].sigma,
                  few[_i].options, above);
}

/* ---- groups of sources ---- */

#define PATCHES                                                                                    \
    "T[p] * sum[s](S.patch(\"A\") * point(S, obs)) * T[q]^H + "                                    \
    "U[p] * sum[s](S.patch(\"B\") * point(S, obs)) * U[q]^H"

/* Sources a, b, c are of the patches A, B, A. Only A is polarised, and tells the phase between X
 * and Y. */
LOOP_TEST(reference_of_groups, 0, WAYS)
{
    enum { REFERENCE = 2 };
    char *text =
        grove_format("T[p] = draw(obs, shape=diagonal, times=4, around=1).value\n"
                     "U[p] = draw(obs, shape=diagonal, times=4, around=1, seed=2).value\n"
                     "D[p,q] = " PATCHES "\n"
                     "E[s,p] = parm(\"E\", jones=diagonal, time=8min, groups=patch, sky=S)\n"
                     "V[p,q] = sum[s](E[s,p] * point(S, obs) * E[s,q]^H)\n"
                     "fit = solve(V, D, tolerance=1e-13, max_iterations=500, "
                     "reference=\"%d\"%s)\n"
                     "k0 = keep(E[s,p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                     "k1 = keep(T, number=1)\nk2 = keep(U, number=2)\n",
                     REFERENCE, ways[_i]);

    pass(text);
    free(text);
    const solve_kept *found = &solve_world_kept[0];
    ck_assert_int_eq(found->axes, 4);
    int place[16] = {0};
    for (int d = 0; d < 4; d++)
        place[found->kind[d]] = d;
    for (int64_t i = 0; i < found->cells; i++) {
        int64_t index[4], own = 0, reference = 0, rest = i;
        for (int d = 3; d >= 0; d--) {
            index[d] = rest % found->size[d];
            rest /= found->size[d];
        }
        for (int d = 0; d < 4; d++) {
            bool station = d == place[GROVE_AXIS_STATION];
            own = own * found->size[d] + index[d];
            reference = reference * found->size[d] + (station ? REFERENCE : index[d]);
        }
        ck_assert_int_eq(own, i);
        bool second = index[place[GROVE_AXIS_SOURCE]] == 1;
        const solve_kept *truth = &solve_world_kept[second ? 2 : 1];
        int64_t cells = index[place[GROVE_AXIS_TIME]] * STATIONS;
        const double complex
            *t = &truth->at[((cells + index[place[GROVE_AXIS_STATION]]) * CHANNELS) * 2],
            *r = &truth->at[(cells + REFERENCE) * CHANNELS * 2];
        for (int e = 0; e < 2; e++) {
            double complex lead = second ? r[e] : r[0], expected = t[e] * conj(lead) / cabs(lead),
                           at_reference = found->at[reference * 2 + e];
            if (!e || second)
                ck_assert_msg(cimag(at_reference) == 0 && creal(at_reference) > 0, "%g",
                              cimag(at_reference));
            ck_assert_msg(cabs(found->at[i * 2 + e] - expected) < 1e-7,
                          "source %d: %g%+gi %g%+gi: %s", (int)index[place[GROVE_AXIS_SOURCE]],
                          creal(found->at[i * 2 + e]), cimag(found->at[i * 2 + e]), creal(expected),
                          cimag(expected), said.at);
        }
    }
}

/* The reference station has no data: it is said, and the phase of the next one is 0. */
LOOP_TEST(reference_without_data, 0, WAYS)
{
    enum { REFERENCE = 2 };
    pass(suite_text("T[p] = draw(obs, shape=diagonal, around=1).value\n"
                    "b = spoil(obs, station=%d)\nD[p,q] = T[p] * M[p,q] * T[q]^H\n"
                    "G[p] = parm(\"G\", jones=diagonal, init=0.9)\n"
                    "fit = solve(G[p] * M[p,q] * G[q]^H, D * b.value, tolerance=1e-13, "
                    "max_iterations=300, reference=\"%d\"%s)\n"
                    "k0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                    "k1 = keep(T, number=1)\n",
                    REFERENCE, REFERENCE, ways[_i]));
    ck_assert_msg(strstr(said.at, "the reference station has no data; the next station that has "
                                  "data takes its place") != NULL,
                  "%s", said.at);
    ck_assert(cimag(solve_world_kept[0].at[2 * CHANNELS * (REFERENCE + 1)]) == 0);
    ck_assert(solve_world_kept[0].at[2 * CHANNELS * REFERENCE] == 0.9);
    ck_assert_msg(distance(0, 1, REFERENCE, false, false) < 1e-8, "%s", said.at);
}

/* ---- data that are 0 ---- */

static const struct {
    const char *parm, *options;
    bool numbers; /* which the truth are */
} silent[] = {
    {"jones=diagonal", "", true},
    {"jones=diagonal", ", compress=false", true},
    {"jones=diagonal", ", method=lm", true},
    {"jones=diagonal", ", robust=student_t, tolerance=1e-9", true},
    {"jones=phase", "", false},
    {"jones=full", "", false},
};
enum { SILENT = sizeof(silent) / sizeof(silent[0]) };

/* A station all of whose data are 0, and not flagged, has no solution, and is no reference. */
LOOP_TEST(station_of_zeros, 0, SILENT)
{
    enum { STATION = 2 };
    char *text = suite_text("T[p] = draw(obs, shape=diagonal, around=1).value\n"
                            "a[p] = 1 - exp(-1e4 * (obs.station_index - %d)^2)\n"
                            "G[p] = parm(\"G\", %s%s)\n"
                            "fit = solve(G[p] * M[p,q] * G[q]^H, a[p] * T[p] * M[p,q] * T[q]^H * "
                            "a[q], max_iterations=300, reference=\"%d\"%s%s)\n"
                            "k0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                            "k1 = keep(T, number=1)\n",
                            STATION, silent[_i].parm, silent[_i].numbers ? ", init=0.9" : "",
                            STATION, silent[_i].options,
                            strstr(silent[_i].options, "tolerance") ? "" : ", tolerance=1e-13");
    const solve_kept *found = &solve_world_kept[0];

    pass(text);
    ck_assert_msg(strstr(said.at, "all data are exactly 0, as of a station that did not observe; "
                                  "start values kept: S002\n") &&
                      strstr(said.at, "the reference station has no data; the next station") &&
                      !strstr(said.at, "no data, "),
                  "%s", said.at);
    const double complex *own = &found->at[(int64_t)found->elements * CHANNELS * STATION],
                         *next = own + (int64_t)found->elements * CHANNELS;
    ck_assert(own[0] == (silent[_i].numbers ? 0.9 : 1) &&
              own[found->elements - 1] == (silent[_i].numbers ? 0.9 : 1));
    ck_assert_msg(fabs(carg(next[0])) < 1e-12, "%g", carg(next[0]));
    if (silent[_i].numbers)
        ck_assert_msg(distance(0, 1, STATION, false, false) < 1e-6, "%s", said.at);
}

/* Where all are 0 there is nothing; a factor that is not a station's is 0. */
TEST(all_zeros)
{
    solve_world_refuse(&w,
                       "G[p] = parm(\"G\", jones=diagonal)\n"
                       "fit = solve(G[p] * M[p,q] * G[q]^H, 0 * M)\n",
                       "there is nothing to fit to: of 1 solution domains 1 not enough data");
    pass("x = parm(\"x\", init=1)\nfit = solve(x * M[p,q], 0 * M)\n"
         "k0 = keep(x + 0 * obs.freq / 1Hz)\n");
    ck_assert_msg(cabs(solve_world_kept[0].at[0]) < 1e-9 && !strstr(said.at, "exactly 0"), "%s",
                  said.at);
}

/* ---- the same parm in two fits ---- */

/* Station 3 has no data in the second fit: it keeps what the first has found. */
LOOP_TEST(fitted_twice, 0, 4 * WAYS)
{
    static const char *const names[] = {"G", "[G]", "K", "[G, G]"};
    char *text = suite_text(
        "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
        "U[p] = draw(obs, shape=diagonal, times=2, around=1, seed=3).value\n"
        "b = spoil(obs, station=3)\n"
        "G[p] = parm(\"K\", jones=diagonal, time=4min)\n"
        "H[p] = parm(\"H\", jones=amplitude, init=2)\n"
        "first = solve(G[p] * M[p,q] * G[q]^H, T[p] * M[p,q] * T[q]^H, parms=G, "
        "tolerance=1e-13%s)\n"
        "k0 = keep(G[p] + 0 * obs.freq / 1Hz)\n"
        "second = solve(H[p] * G[p] * N[p,q] * G[q]^H * H[q]^H, "
        "4 * U[p] * N[p,q] * U[q]^H * b.value, parms=%s, tolerance=1e-13, max_iterations=300%s)\n"
        "k1 = keep(G[p] + 0 * obs.freq / 1Hz, number=1)\n"
        "k2 = keep(T, number=2)\nk3 = keep(U, number=3)\n",
        ways[_i % WAYS], names[_i / WAYS], ways[_i % WAYS]);

    pass(text);
    for (int64_t i = 0; i < solve_world_kept[0].cells * 2; i++)
        if (i / 2 / CHANNELS % STATIONS == 3)
            ck_assert(solve_world_kept[0].at[i] == solve_world_kept[1].at[i]);
    ck_assert_msg(distance(0, 2, -1, false, false) < 1e-9, "%s%s", text, said.at);
    ck_assert_msg(distance(1, 3, 3, false, false) < 1e-9, "%s%g\n%s", text,
                  distance(1, 3, 3, false, false), said.at);
}

SUITE(60, setup, teardown)
