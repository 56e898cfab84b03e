/* g2g and its diagonal: images and grids against degrid and grid of the same functions, and against
 * the Fourier sums with w; what grove check foretells; the example reconstruct; messages. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/log.h"
#include "base/text.h"
#include "run/session.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

extern const grove_class grove_class_sought_image,
    grove_class_reconstruct; /* examples/reconstruct */

static void begin_example(testing *to)
{
    ck_assert_int_eq(grove_classes_add(to->classes, &grove_class_sought_image, to->error), 0);
    ck_assert_int_eq(grove_classes_add(to->classes, &grove_class_reconstruct, to->error), 0);
}

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t), begin_example(&t))

#define STAGE ", obs, size=[24, 27], cell=3e-5rad"

static const char *const calls[] = {
    "functions=C",
    "functions=C, weights=abs(select(obs.data, element=\"XX\")) / 1Jy",
    "functions=W",
    "functions=E",
    "oversampling=6",
    "oversampling=5, support=9, w_planes=3",
    "oversampling=6, w_terms=false, max_uvw=[900m, 800m, 700m]",
    "functions=C, uvw=obs.uvw * 0.7",
    "functions=C, data=V",
    "functions=C, data=select(obs.data, element=\"XX\"), weights=2",
};

/* Some lines that all trees begin with; plane_now is set. */
static const char *begin_tree(void)
{
    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}, .centre = {3e-5, 0}};
    for (int k = 0; k < 24 * 27; k++)
        plane_now.stokes[k][0] = sin(k * k + 1);
    return "im = plane()\nobs = probe()\nV = 2 * obs.data\n"
           "R = sky_grid(obs, size=33, cell=3e-5rad)\nB = beam_airy(R, obs, diameter=25m)\n"
           "C = convolution_functions(1" STAGE ", oversampling=8, samples=nearest)\n"
           "W = convolution_functions(1" STAGE ", oversampling=4, w_planes=5, samples=nearest)\n"
           "E = convolution_functions(B" STAGE ", oversampling=4, samples=nearest, times=2)\n";
}

LOOP_TEST(as_degrid_and_grid, 0, sizeof(calls) / sizeof(*calls))
{
    for (int k = 0; k < 2; k++) {
        const char *max = strstr(calls[_i], "max_uvw");
        char *text = suite_text(
            "%sP = fft(grid_correction(im.pixels" STAGE ", w_terms=false%s%s))\n"
            "x = g2g(P" STAGE ", method=g2g, %s)\ny = g2g(P" STAGE ", method=degrid, %s)\n",
            begin_tree(), max ? ", " : "", max ? max : "", calls[_i], calls[_i]);
        const grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = k);
        testing_tree(&t, text);
        testing_value x = probe_session(&t, "x", &options, NULL),
                      y = probe_session(&t, "y", &options, NULL);
        ck_assert_int_eq(x.cells, y.cells);
        ck_assert_double_lt(testing_distance(&x, &y), k ? 1e-13 : 2e-6);
    }
}

/* ---- against Fourier sums ---- */

static const long double turn = 2 * 3.14159265358979323846264338327950288L, light = 299792458.0L;

/* u l + v m + w (n - 1) in turns, of a visibility and a pixel. */
static long double turns_of(const testing_value *uvw, int64_t i, const double at[2])
{
    const double complex *b = uvw->at + 3 * (i / PROBE_CHANNELS);
    const long double l = at[0], m = at[1], n = sqrtl(1 - l * l - m * m) - 1,
                      freq = 1.4e9L + 2e6L * (long double)(i % PROBE_CHANNELS);

    return (creal(b[0]) * l + creal(b[1]) * m + creal(b[2]) * n) * freq / light;
}

/* ||image - sums|| / ||sums||, of what the visibilities of plane_now give again. */
static double distance_to_sums(const testing_value *image, const testing_value *uvw)
{
    enum { SAMPLES = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS };
    const int pixels = plane_now.size[0] * plane_now.size[1];
    long double complex visibility[SAMPLES] = {0};
    double off = 0, size = 0;

    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < pixels; k++) {
            const double at[2] = {image->axis[1]->centre[k % plane_now.size[0]],
                                  image->axis[0]->centre[k / plane_now.size[0]]};
            long double sum = 0;
            for (int64_t i = 0; i < SAMPLES; i++) {
                const long double phase = turn * turns_of(uvw, i, at);
                if (pass)
                    sum += creall(visibility[i] * cexpl(I * phase)) / SAMPLES;
                else
                    visibility[i] += plane_now.stokes[k][0] * cexpl(-I * phase);
            }
            off += pass ? pow(creal(image->at[k]) - (double)sum, 2) : 0;
            size += (double)(sum * sum);
        }
    return sqrt(off / size);
}

/* The first note with these words. */
static const char *note_of(const char *words)
{
    for (size_t i = 0; i < t.tree->node_count; i++)
        if (t.tree->nodes[i]->note && strstr(t.tree->nodes[i]->note, words))
            return t.tree->nodes[i]->note;
    ck_abort_msg("no note has '%s'", words);
    return NULL;
}

/* The number after some words. */
static double number_after(const char *text, const char *words)
{
    const char *at = strstr(text, words);

    ck_assert_msg(at != NULL, "%s", text);
    return strtod(at + strlen(words), NULL);
}

/* With w, within what convolution_functions tells, for both ways. */
LOOP_TEST(as_fourier_sums, 0, 2)
{
    const int oversampling = _i ? 128 : 16;
    const grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    testing_tree(&t, suite_text("%su = 1 * obs.uvw\n"
                                "H = convolution_functions(1" STAGE
                                ", oversampling=%d, support=12, samples=nearest)\n"
                                "P = fft(grid_correction(im.pixels" STAGE ", w_terms=false))\n"
                                "x = grid_correction(fft(g2g(P" STAGE
                                ", functions=H, data=constant(1Jy), weights=1, method=g2g))" STAGE
                                ", w_terms=false) / %d\n",
                                begin_tree(), oversampling,
                                PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS));
    const double told = number_after(note_of("x 12 cells"), "nearest ones ");
    testing_value x = probe_session(&t, "x", &options, NULL),
                  u = probe_session(&t, "u", &options, NULL);
    const double off = distance_to_sums(&x, &u);
    ck_assert_msg(off < 2 * told && off > 0.01 * told, "%g, told %g", off, told);
}

/* ---- what is kept ---- */

/* The same bits for any number of threads; other tiles differ by rounding. */
TEST(tiles_and_threads)
{
    testing_tree(&t, suite_text("%sP = grid(obs.data" STAGE ", functions=W)\n"
                                "x = g2g(P" STAGE ", functions=W, method=g2g)\n",
                                begin_tree()));
    testing_tiles_and_threads(&t, "x", false, 1e-5);
}

/* ---- what is foretold ---- */

/* Of real tracks; what auto takes. */
LOOP_TEST(foretold, 0, 2)
{
    static const struct {
        const char *obs, *options, *method;
    } cases[] = {
        {"vla-d\", phase_centre=\"2h 21d\", hour_angle=-1h..1h, integration=2s",
         "oversampling=8, w_terms=false", "method: g2g, which takes less time"},
        {"kat-7\", phase_centre=\"2h -31d\", hour_angle=-3h..2h, integration=10s, channels=8",
         "oversampling=16, w_planes=4", "method: g2g, which takes less time"},
    };
    testing_tree(&t, suite_text("obs = observe(array=\"%s)\n"
                                "V = select(obs.uvw, element=\"x\") * obs.freq / 1Hz\n"
                                "P = grid(V, obs, size=300, cell=8arcsec, w_terms=false)\n"
                                "x = g2g(P, obs, size=300, cell=8arcsec, %s)\n"
                                "C = convolution_functions(1, obs, size=300, cell=8arcsec, "
                                "samples=nearest, %s)\n"
                                "d = g2g_diagonal(obs, size=300, cell=8arcsec, functions=C)\n",
                                cases[_i].obs, cases[_i].options, cases[_i].options));
    note_of(cases[_i].method);
    const double told = number_after(note_of("method: "), "the diagonal has ");
    testing_value d = probe_session(&t, "d", NULL, NULL);
    double entries = 0, weights = 0;
    for (int64_t k = 0; k < d.cells; k++) {
        entries += creal(d.at[2 * k]) >= 0;
        weights += creal(d.at[2 * k + 1]);
    }
    ck_assert_double_eq_tol(weights, number_after(note_of("method: "), "entries for "),
                            weights / 100);
    ck_assert_double_eq_tol(told, entries, 0.02 * entries);
    ck_assert_double_lt(entries, (double)d.cells + 1);
}

/* ---- what is told, and kept ---- */

static int told;
static double told_entries, told_samples, told_foretold;

static void hear(const char *message)
{
    const char *at = strstr(message, "the diagonal has ");

    if (!at)
        return;
    told++;
    told_entries = number_after(at, "has ");
    told_samples = number_after(at, "entries for ");
    told_foretold = strstr(at, "the estimate was ") ? number_after(at, "the estimate was ") : -1;
}

/* What a run tells is what the diagonal has. A second run of the same content makes it no more. */
TEST(told_once)
{
    char *text =
        grove_format("obs = observe(array=\"kat-7\", phase_centre=\"2h -31d\", hour_angle=-1h..1h, "
                     "integration=60s, channels=4)\n"
                     "V = select(obs.uvw, element=\"x\") * obs.freq / 1Hz\n"
                     "C = convolution_functions(1, obs, size=64, cell=30arcsec, oversampling=4, "
                     "samples=nearest)\n"
                     "d = g2g_diagonal(obs, size=64, cell=30arcsec, functions=C)\n"
                     "P = grid(V, obs, size=64, cell=30arcsec, functions=C)\n"
                     "x = g2g(P, obs, size=64, cell=30arcsec, functions=C, method=g2g)\n");
    const grove_session_options options = GROVE_SESSION_OPTIONS();

    testing_tree(&t, text);
    testing_value d = probe_session(&t, "d", NULL, NULL);
    double entries = 0;
    for (int64_t k = 0; k < d.cells; k++)
        entries += creal(d.at[2 * k]) >= 0;
    told = 0;
    unsetenv("GROVE_CHECK_CACHE"); /* it would be made again, to compare */
    grove_log_watch(hear);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    for (int run = 0; run < 2; run++) {
        grove_value *value = NULL;
        ck_assert_int_eq(grove_session_value(session, "x", &value), 0);
        grove_value_unref(value);
    }
    grove_session_free(session);
    grove_log_watch(NULL);
    ck_assert_int_eq(told, 1);
    ck_assert_double_eq_tol(told_entries, entries, 1e-3 * entries);
    ck_assert_double_eq_tol(told_samples, 120 * 21 * 4, 1);
    ck_assert_double_eq_tol(told_foretold, entries, 0.1 * entries);
    free(text);
}

/* Few visibilities of a large image: a pass over all cells would take longer than they do. */
TEST(degrids_where_cheaper)
{
    char *text = suite_text(
        "obs = probe()\nC = convolution_functions(1, obs, size=400, cell=3e-5rad, oversampling=8, "
        "samples=nearest)\nP = grid(obs.data, obs, size=400, cell=3e-5rad, functions=C)\n"
        "x = g2g(P, obs, size=400, cell=3e-5rad, functions=C)\n"
        "y = g2g(P, obs, size=400, cell=3e-5rad, functions=C, method=g2g)\n");
    const grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);

    testing_tree(&t, text);
    note_of("method: degrid, which takes less time");
    told = 0;
    grove_log_watch(hear);
    testing_value x = probe_session(&t, "x", &options, NULL);
    ck_assert_int_eq(told, 0);
    testing_value y = probe_session(&t, "y", &options, NULL);
    grove_log_watch(NULL);
    ck_assert_int_eq(told, 1);
    ck_assert_double_lt(testing_distance(&x, &y), 1e-13);
}

/* ---- reconstruct ---- */

#define FIELD ", obs, size=[24, 24], cell=1arcmin"

/* A few sources on pixels. */
static void make_sky(void)
{
    plane_now =
        (plane){.size = {24, 24}, .cell = {PI / 10800, PI / 10800}, .centre = {PI / 10800, 0}};
    plane_now.stokes[24 * 12 + 12][0] = 1;
    plane_now.stokes[24 * 7 + 15][0] = 0.5;
    plane_now.stokes[24 * 8 + 15][0] = 0.4;
    plane_now.stokes[24 * 18 + 6][0] = 0.3;
}

static const char *const field =
    "im = plane()\nobs = observe(array=\"kat-7\", phase_centre=\"2h -31d\", hour_angle=-3h..3h, "
    "integration=600s, channels=4, channel_width=40MHz)\n"
    "C = convolution_functions(1" FIELD ", oversampling=64, samples=nearest)\n"
    "P = fft(grid_correction(%s" FIELD ", w_terms=false))\n"
    "again = grid_correction(fft(g2g(P" FIELD ", functions=C, method=%s))" FIELD
    ", w_terms=false) / %d\n%s";
enum { FIELD_SAMPLES = 36 * 21 * 4, FIELD_PIXELS = 24 * 24, STEPS = 8, POWER_STEPS = 15 };

/* What visibilities of plane_now give, by degridding and gridding each. */
static testing_value slow_again(const double *x)
{
    char *text = suite_text(field, "im.pixels", "degrid", FIELD_SAMPLES, "");

    for (int k = 0; k < FIELD_PIXELS; k++)
        plane_now.stokes[k][0] = x[k];
    testing_tree(&t, text);
    testing_value again = probe_session(&t, "again", NULL, NULL);
    return again;
}

/* Chi-squared of each step, without the example's code and without a diagonal. */
static void descend_slowly(const double *dirty, double largest, double power, double chi[STEPS])
{
    double x[FIELD_PIXELS] = {0}, y[FIELD_PIXELS] = {0}, momentum = 1;

    for (int step = 0; step < STEPS; step++) {
        const double next = (1 + sqrt(1 + 4 * momentum * momentum)) / 2;
        testing_value again = slow_again(y);
        chi[step] = power;
        for (int k = 0; k < FIELD_PIXELS; k++)
            chi[step] += y[k] * (creal(again.at[k]) - 2 * dirty[k]);
        for (int k = 0; k < FIELD_PIXELS; k++) {
            const double old = x[k];
            x[k] = fmax(y[k] + (dirty[k] - creal(again.at[k])) / (1.05 * largest), 0);
            y[k] = x[k] + (momentum - 1) / next * (x[k] - old);
        }
        momentum = next;
    }
}

static double size_of(const testing_value *x)
{
    double sum = 0;

    for (int64_t k = 0; k < x->cells; k++)
        sum += creal(x->at[k]) * creal(x->at[k]);
    return sqrt(sum);
}

/* The power method from the same image as the example's. */
static double find_largest(void)
{
    double x[FIELD_PIXELS], largest = 0, first = 0;
    uint64_t bits = 1;

    for (int k = 0; k < FIELD_PIXELS; k++) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        x[k] = (double)(bits >> 11) / 9007199254740992.0 - 0.5;
        first += x[k] * x[k];
    }
    for (int k = 0; k < FIELD_PIXELS; k++)
        x[k] /= sqrt(first);
    for (int step = 0; step < POWER_STEPS; step++) {
        testing_value again = slow_again(x);
        largest = size_of(&again);
        for (int k = 0; k < FIELD_PIXELS; k++)
            x[k] = creal(again.at[k]) / largest;
    }
    return largest;
}

/* The example's steps, and how far from the sky its image is, relative. */
static double reconstruct(int steps, double chi[], testing_value *dirty)
{
    char said[16384],
        *more = suite_text("V = predict_image(im.pixels, obs, epsilon=1e-6)\n"
                           "dirty = grid_correction(fft(grid(V" FIELD ", functions=C))" FIELD
                           ", w_terms=false) / %d\n"
                           "v = select(V, element=\"XX\")\n"
                           "empty = sum(real(v * conj(v)), over=[time, baseline, freq]) / %d\n"
                           "x = sought_image(sky_grid(obs, size=[24, 24], cell=1arcmin))\n"
                           "found = reconstruct(x, dirty, again, empty, steps=%d)\n"
                           "after = compare(x.value, im.pixels)\n",
                           FIELD_SAMPLES, FIELD_SAMPLES, steps);
    char *text = suite_text(field, "x.value", "g2g", FIELD_SAMPLES, more);
    const grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);

    make_sky();
    testing_tree(&t, text);
    ck_assert_int_eq(probe_run_said(&t, &options, said, sizeof(said)), 0);
    const char *at = said;
    for (int k = 0; k < steps; k++) {
        at = strstr(at, "chi-squared ");
        ck_assert_msg(at != NULL, "%s", said);
        at += strlen("chi-squared ");
        chi[k] = strtod(at, NULL);
    }
    if (dirty)
        *dirty = probe_session(&t, "dirty", NULL, NULL);
    return number_after(said, "relative ");
}

/* The same chi-squared as the slow way, step by step. */
TEST(descends_as_slowly)
{
    double chi[STEPS], slow[STEPS], dirty[FIELD_PIXELS];
    testing_value image;

    reconstruct(STEPS, chi, &image);
    for (int k = 0; k < FIELD_PIXELS; k++)
        dirty[k] = creal(image.at[k]);
    descend_slowly(dirty, find_largest(), chi[0], slow);
    for (int k = 0; k < STEPS; k++)
        ck_assert_msg(fabs(chi[k] - slow[k]) < 1e-7 * chi[0], "step %d: %.10g %.10g", k, chi[k],
                      slow[k]);
}

/* A better image than the dirty one, at its best scale. */
TEST(finds_the_sky)
{
    enum { MANY = 100 };
    double chi[MANY], product = 0, sky = 0;
    testing_value dirty;
    const double off = reconstruct(MANY, chi, &dirty);

    for (int k = 0; k < FIELD_PIXELS; k++) {
        product += plane_now.stokes[k][0] * creal(dirty.at[k]);
        sky += plane_now.stokes[k][0] * plane_now.stokes[k][0];
    }
    const double of_dirty = sqrt(1 - product * product / (sky * size_of(&dirty) * size_of(&dirty)));
    ck_assert_msg(off < 0.5 * of_dirty, "%g, dirty %g", off, of_dirty);
    ck_assert_double_lt(chi[MANY - 1], 1e-3 * chi[0]);
}

/* ---- what is wrong ---- */

TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"g2g(P" STAGE ", functions=convolution_functions(1" STAGE ", samples=linear))",
         "functions: are interpolated linearly"},
        {"g2g(P" STAGE ", functions=J)", "functions: are of Jones matrices"},
        {"g2g(P" STAGE ", functions=im.pixels / 1Jy)",
         "is not a whole value of convolution_functions"},
        {"g2g(P, obs, size=25, cell=3e-5rad, functions=C)", "the size differ"},
        {"g2g(im.pixels" STAGE ", functions=C, method=g2g)", "its input is not of 1 planes"},
        {"g2g(P" STAGE ", functions=C, support=7)", "support: is not possible with functions"},
        {"g2g(P" STAGE ", diagonal=D)", "diagonal: requires its functions"},
        {"g2g(P" STAGE ", functions=C, diagonal=D, method=degrid)",
         "method: degrid is not possible with a diagonal"},
        {"g2g(P" STAGE ", functions=C, diagonal=D, weights=2)",
         "weights: is not possible with a diagonal"},
        {"g2g(P" STAGE ", functions=W, diagonal=D)", "diagonal: was made with "},
        {"g2g(P" STAGE ", functions=C, diagonal=obs.uvw)", "diagonal"},
        {"g2g(P" STAGE ", functions=C, oversampling=9)",
         "oversampling: 9 differs from the functions"},
        {"g2g(P" STAGE ", oversampling=0)", "oversampling: 0 is not from 1"},
        {"g2g(P" STAGE ", functions=C, weights=constant([1, 2], shape=diagonal), method=g2g)",
         "they must be numbers, or of the shape of the visibilities"},
        {"g2g_diagonal(obs, size=[24, 27], cell=3e-5rad, functions=C, weights=im.pixels / 1Jy)",
         "varies with m; it may vary with times"},
        {"g2g_diagonal(obs, size=24)", "functions: must be given"},
        {"g2g_diagonal(obs, size=[24, 27], cell=3e-5rad, functions=C, entries=0)",
         "entries: 0 is not at least 1"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text =
            grove_format("%sJ = convolution_functions(constant([1, 1], shape=diagonal)" STAGE
                         ", oversampling=8, samples=nearest)\n"
                         "D = g2g_diagonal(obs, size=[24, 27], cell=3e-5rad, functions=C)\n"
                         "P = fft(grid_correction(im.pixels" STAGE ", w_terms=false))\nx = %s\n",
                         begin_tree(), cases[i].call);
        const char *said = testing_faults(&t, text);
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
        free(text);
    }
}

/* Faults that only a run finds. */
LOOP_TEST(faults_of_runs, 0, 4)
{
    static const struct {
        const char *options, *message;
        int code;
    } cases[] = {
        {"functions=C, entries=3", "entries: there are ", GROVE_INVALID},
        {"functions=C, weights=-1", "there is nothing to image", GROVE_INVALID},
        {"functions=C, uvw=obs.uvw * 1e6", "the baselines of ", GROVE_INVALID},
        {"functions=C, uvw=obs.uvw * 3, max_uvw=30km", "leave the grid", 0},
    };
    const grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    const char *max = strstr(cases[_i].options, "max_uvw");
    testing_tree(&t, suite_text("obs = probe()\nC = convolution_functions(1" STAGE
                                ", oversampling=8, samples=nearest%s%s)\n"
                                "x = g2g_diagonal(obs, size=[24, 27], cell=3e-5rad, %s)\n",
                                max ? ", " : "", max ? max : "", cases[_i].options));
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), cases[_i].code);
    grove_value_unref(value);
    grove_session_free(session);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, cases[_i].message) != NULL, "%s", said);
}

SUITE(300, setup, teardown)
