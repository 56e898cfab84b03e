/* Image-domain gridding by grid, degrid, dirty_image and predict_image: images against direct
 * Fourier sums; pixels against points that are seen through the same Jones terms; the adjoint; the
 * same for any tiles and threads; what is wrong. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/log.h"
#include "base/text.h"
#include "run/session.h"
#include "unstable/tuning.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

#define IMAGE ", obs, size=[24, 27], cell=3e-5rad, epsilon=1e-5"

/* ---- images ---- */

static const struct {
    const char *stokes, *options;
    double epsilon;
    int size[2];
    bool double_precision, without_w;
    int bands; /* 0: none */
} images[] = {
    {"I", "size=24, cell=3e-5rad", 1e-4, {24, 24}, false, false},
    {"I", "size=24, cell=3e-5rad, layers=3", 1e-9, {24, 24}, true, false},
    {"Q", "size=[21, 32], cell=[3e-5rad, 2e-5rad], subgrid=24", 1e-6, {21, 32}, true, false},
    {"U", "size=20, cell=3e-5rad, centre=\"280.9deg 45.7deg\"", 1e-5, {20, 20}, true, false},
    {"V", "size=[20, 23], cell=2e-3rad, w_terms=false, subgrid=32", 1e-7, {20, 23}, true, true},
    {"Q", "size=24, cell=3e-5rad", 1e-9, {24, 24}, true, false, 3},
    {"V", "size=[20, 21], cell=3e-5rad, layers=2", 1e-7, {20, 21}, true, false, PROBE_CHANNELS},
};

/* The image of a band, of which only the samples count. */
static testing_value take_band(image_data *d, const testing_value *x, int band, int bands)
{
    testing_value image = *x;

    for (int64_t i = 0; i < d->samples; i++) {
        const int channel = (int)(i % PROBE_CHANNELS);
        d->weight[i] = channel >= PROBE_CHANNELS * band / bands &&
                       channel < PROBE_CHANNELS * (band + 1) / bands;
    }
    image.axis[0] = x->axis[x->axes - 2];
    image.axis[1] = x->axis[x->axes - 1];
    image.axes = 2;
    image.cells /= bands;
    image.at += band * image.cells;
    return image;
}

LOOP_TEST(images_are_sums, 0, sizeof(images) / sizeof(images[0]))
{
    const int parameter = (int)(strchr("IQUV", images[_i].stokes[0]) - "IQUV");
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = images[_i].double_precision);
    char *text =
        suite_text("obs = probe(flags=false)\nV = 1 * obs.data\nu = 1 * obs.uvw\nf = 1 * obs.freq\n"
                   "x = dirty_image(V, obs, weights=1, stokes=\"%s\", method=idg, "
                   "epsilon=%g, %s%.*s)\n",
                   images[_i].stokes, images[_i].epsilon, images[_i].options,
                   images[_i].bands ? 9 : 0, images[_i].bands == 3 ? ", bands=3" : ", bands=7");
    const int bands = images[_i].bands ? images[_i].bands : 1;

    testing_tree(&t, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL);
    d.without_w = images[_i].without_w;
    ck_assert_int_eq(x.cells, bands * images[_i].size[0] * images[_i].size[1]);
    for (int band = 0; band < bands; band++) {
        const testing_value image = take_band(&d, &x, band, bands);
        const double off = image_data_distance(&d, &image, 0, parameter);
        ck_assert_msg(off <= images[_i].epsilon, "band %d is off by %g", band, off);
    }
}

/* ---- points ---- */

/* X and Y of tree_of are smooth: their visibilities are weaker than those of pixels at random, of
 * which epsilon is. A tree with terms J on the image's pixels R, and E on a raster Q, of the same
 * text. Images are of Stokes parameters, with the brightness that these make.
 */
#define OF_I                                                                                       \
    .stokes = "I", .image = "X * 1Jy",                                                             \
    .brightness = "X * 1Jy * constant([1, 0, 0, 1], shape=matrix)"
#define OF_IQUV                                                                                    \
    .stokes = "IQUV", .image = "vector(X, 0.5 * Y, -0.3 * X, 0.2 * Y) * 1Jy",                      \
    .brightness = "X * 1Jy * constant([1, -0.3, -0.3, 1], shape=matrix) + Y * 1Jy * "              \
                  "constant([0.5, 0, 0, -0.5], shape=matrix) + 0.2i * Y * 1Jy * "                  \
                  "constant([0, 1, -1, 0], shape=matrix)"
#define OF_QV                                                                                      \
    .stokes = "QV", .image = "vector(X, Y) * 1Jy",                                                 \
    .brightness = "X * 1Jy * constant([1, 0, 0, -1], shape=matrix) + 1i * Y * 1Jy * "              \
                  "constant([0, 1, -1, 0], shape=matrix)"

static const struct {
    const char *terms; /* of directions %s, three times at most */
    const char *left, *right, *options, *stokes, *image, *brightness;
    double bound;
    bool scalar;
    const char *bands; /* of the planes whose adjoints are looked at */
} beams[] = {
    {"1 + 0 * beam_airy(%s, obs, diameter=25m)", "J", "J", "", OF_I, 2e-5, true},
    {"beam_airy(%s, obs, diameter=25m)", "J", "J", "", OF_I, 2e-5, true},
    {"(1 + 2000 * select(lmn(%s, obs), element=\"x\") * (gains(obs, amplitude=0.3) - 1)) * "
     "beam_airy(%s, obs, diameter=25m)",
     "J[p]", "J[q]", "", OF_I, 2e-5, true},
    {"gains(obs, kind=sine, jones=scalar) * beam_airy(%s, obs, diameter=25m)", "J[p]", "J[q]", "",
     OF_IQUV, 2e-5, true},
    {"beam_airy(%s, obs, diameter=25m) * diagonal(1 + 900 * select(lmn(%s, obs), "
     "element=\"x\"), 1 - 0.3i - 700 * select(lmn(%s, obs), element=\"y\")) * gains(obs, "
     "kind=sine, jones=diagonal)",
     "J[p]", "J[q]", "", OF_QV, 2e-5, false},
    {"beam_airy(%s, obs, diameter=25m) * (constant([1, 0.2, -0.1, 0.8], shape=matrix) + 900 * "
     "select(lmn(%s, obs), element=\"x\") * gains(obs, amplitude=0.4, jones=matrix))",
     "J[p]", "J[q]", ", layers=3", OF_IQUV, 4e-5, false},
    {"beam_airy(%s, obs, diameter=25m) * (constant([1, 0.2, -0.1, 0.8], shape=matrix) + 900 * "
     "select(lmn(%s, obs), element=\"y\") * gains(obs, amplitude=0.4, jones=matrix))",
     "J[p]", "J[q]", "", OF_I, 4e-5, false},
    /* a cube, of a plane for each channel */
    {"beam_airy(%s, obs, diameter=25m) * (constant([1, 0.2, -0.1, 0.8], shape=matrix) + 900 * "
     "select(lmn(%s, obs), element=\"y\") * gains(obs, amplitude=0.4, jones=matrix))",
     "J[p]", "J[q]", ", channels=1", .stokes = "I", .image = "H * X * 1Jy",
     .brightness = "H * X * 1Jy * constant([1, 0, 0, 1], shape=matrix)", 4e-5, false, ", bands=3"},
};
enum { MATRICES = 5, BEAMS = sizeof(beams) / sizeof(beams[0]) };

static char *tree_of(int i, const char *more)
{
    char *fine = suite_text(beams[i].terms, "R", "R", "R"),
         *raster = suite_text(beams[i].terms, "Q", "Q", "Q");
    char *text =
        grove_format("obs = probe(flags=false)\nV = obs.data\nim = plane()\n"
                     "R = sky_grid(obs, size=[24, 27], cell=3e-5rad)\n"
                     "Q = sky_grid(obs, size=33, cell=3e-5rad)\n"
                     "J = %s\nE = %s\nl = select(lmn(R, obs), element=\"x\")\n"
                     "m = select(lmn(R, obs), element=\"y\")\n"
                     "X = cos(2e9rad * l * m) + sin(3e9rad * m * m - 2e9rad * l * l + 3e4rad * l)\n"
                     "Y = cos(3e9rad * l * l - 1e9rad * l * m) - sin(2e4rad * (l - m))\n"
                     "H = obs.freq * obs.freq / (1.4GHz * 1.4GHz) - 0.9\n"
                     "%s",
                     fine, raster, more);

    return suite_keep(text);
}

LOOP_TEST(pixels_are_points, 0, BEAMS)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    testing_tree(
        &t,
        tree_of(
            _i,
            suite_text(
                "d = predict_image(%s, obs, epsilon=1e-5, method=idg, jones=E, stokes=%s%s)\n"
                "x[p,q] = sum(%s * point(R, obs, brightness=%s, shape=constant([0rad, 0rad, 0rad], "
                "shape=vector)) * %s^H, over=[l, m])\n",
                beams[_i].image, beams[_i].stokes, beams[_i].options, beams[_i].left,
                beams[_i].brightness, beams[_i].right)));
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    const double off = testing_distance(&d, &x);
    ck_assert_msg(off < beams[_i].bound, "off by %g, not %g", off, beams[_i].bound);
}

/* The same as by w-stacking, without terms, of several layers and of one. */
LOOP_TEST(as_by_w_stacking, 0, 4)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    const char *const layers[] = {"", ", layers=1, subgrid=48", ", layers=5",
                                  ", layers=5, w_tiles=yes, subgrid=16"};
    char *text =
        tree_of(0, suite_text("d = predict_image(im.pixels, obs, epsilon=1e-5, method=idg%s)\n"
                              "x = predict_image(im.pixels, obs, epsilon=1e-9, method=w_stack)\n",
                              layers[_i]));

    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}, .centre = {3e-5, 0}};
    for (int k = 0; k < 24 * 27; k++)
        plane_now.stokes[k][0] = sin(k * k + 1);

    testing_tree(&t, text);
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    const double off = testing_distance(&d, &x);
    ck_assert_msg(off < 1e-5, "off by %g", off);
}

/* Images in all Stokes parameters, of several layers and of one, against w-stacking, which has no
 * terms, and against functions, which have them, interpolated. */
#define LINEAR ", samples=linear, oversampling=10, w_planes=2"
static const struct {
    int beam;
    const char *idg, *other;
    double bound;
} others[] = {
    {0, "stokes=IQUV, epsilon=1e-5, method=idg", "stokes=IQUV, epsilon=1e-9, method=w_stack", 2e-5},
    {0, "stokes=UV, epsilon=1e-5, method=idg, layers=4", "stokes=UV, epsilon=1e-9, method=w_stack",
     2e-5},
    {3, "stokes=IQUV, jones=E, times=5", "stokes=IQUV, jones=E, times=5" LINEAR, 4e-4},
    {6, "stokes=I, jones=E", "stokes=I, jones=E" LINEAR, 4e-4},
    {4, "stokes=QV, jones=E, times=5, bands=3", "stokes=QV, jones=E, times=5, bands=3" LINEAR,
     4e-4},
    {5, "stokes=IQUV, jones=E, epsilon=1e-5, method=idg, layers=1, subgrid=48",
     "stokes=IQUV, jones=E, epsilon=1e-5, method=idg, layers=5", 4e-5},
    {5, "stokes=IQUV, jones=E, epsilon=1e-5, method=idg, layers=4, subgrid=24, w_tiles=yes",
     "stokes=IQUV, jones=E, epsilon=1e-5, method=idg, layers=1, subgrid=48", 4e-5},
};

static char *method_of(const char *options, const char *otherwise)
{
    return suite_text("%s%s", options, strstr(options, "method") ? "" : otherwise);
}

LOOP_TEST(as_others, 0, sizeof(others) / sizeof(others[0]))
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *idg = method_of(others[_i].idg, ", epsilon=1e-4, method=idg"),
         *other = method_of(others[_i].other, ", epsilon=1e-4, method=aw"),
         *more = suite_text("d = dirty_image(V, obs, size=[24, 27], cell=3e-5rad, %s)\n"
                            "x = dirty_image(V, obs, size=[24, 27], cell=3e-5rad, %s)\n",
                            idg, other),
         *text = tree_of(others[_i].beam, more);

    testing_tree(&t, text);
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    ck_assert_int_eq(d.elements, x.elements);
    const double off = testing_distance(&d, &x);
    if (getenv("IDG_TELL"))
        printf("%s: off by %.2e of %.0e\n", others[_i].other, off, others[_i].bound);
    ck_assert_msg(off < others[_i].bound, "off by %g", off);
}

/* ---- adjoints ---- */

/* <grid(V), P> = <V, degrid(P)>, with terms of each station, for planes of anything; of
 * correlations twice that, as I = (XX + YY) / 2. */
LOOP_TEST(adjoints, 0, BEAMS)
{
    const bool one = beams[_i].scalar && !strcmp(beams[_i].stokes, "I");
    const char *bands = beams[_i].bands ? beams[_i].bands : "";
    double size = 0;
    testing_tree(
        &t,
        tree_of(_i, suite_text("T = %s\n"
                               "g = grid(T" IMAGE ", method=idg, jones=E, weights=1, stokes=%s%s)\n"
                               "o = grid(trace(V)" IMAGE ", method=idg%s)\nP = %s\n"
                               "d = degrid(P" IMAGE ", method=idg, jones=E, stokes=%s)\n",
                               one ? "trace(V) / 2" : "1 * V", beams[_i].stokes, bands, bands,
                               one ? "g * exp(1i * abs(g) / 1Jy)" : "g * exp(1i * abs(o) / 1Jy)",
                               beams[_i].stokes)));
    testing_value g = probe_session(&t, "g", NULL, NULL), p = probe_session(&t, "P", NULL, NULL),
                  v = probe_session(&t, "T", NULL, NULL), d = probe_session(&t, "d", NULL, NULL);
    const double left = (one ? 1 : 2) * testing_inner(&g, &p, &size),
                 right = testing_inner(&v, &d, &size);
    ck_assert_double_gt(fabs(left), 1e-8 * size);
    ck_assert_double_eq_tol(left, right, 1e-12 * size);
}

/* The same bits for any number of threads; other tiles differ by rounding, and by subgrids that end
 * elsewhere. */
LOOP_TEST(tiles_and_threads, 0, 2)
{
    testing_tree(&t,
                 tree_of(_i ? MATRICES : 2, "g = grid(V" IMAGE ", method=idg, jones=E)\n"
                                            "d = degrid(g" IMAGE ", method=idg, jones=E)\n"
                                            "b = dirty_image(V" IMAGE ", method=idg, jones=E)\n"));
    testing_tiles_and_threads(&t, "b", true, 3e-5);
    testing_tiles_and_threads(&t, "d", true, 3e-5);
}

/* ---- what is wrong ---- */

TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"grid(V" IMAGE ", method=idg, subgrid=20)", "20 is not one of 16, 24"},
        {"grid(V" IMAGE ", method=idg, subgrid=4294967312)", "4294967312 is not one of 16, 24"},
        {"grid(V, obs, size=64, cell=1e-3rad, epsilon=1e-9, method=idg, subgrid=16)",
         "are too small for the support"},
        {"grid(V" IMAGE ", method=idg, layers=0)", "0 is not from 1 to"},
        {"grid(V" IMAGE ", subgrid=32)", "subgrid: requires method=idg"},
        {"dirty_image(V" IMAGE ", layers=2)", "layers: requires method=idg"},
        {"grid(V" IMAGE ", w_tiles=yes)", "w_tiles: requires method=idg"},
        {"grid(V" IMAGE ", method=idg, exact=true)", "exact: requires method=w_stack"},
        {"grid(V, obs, size=60, cell=3e-5rad, method=idg, jones=E)", "it does not cover the image"},
        {"grid(select(V, element=XX)" IMAGE ", method=idg, jones=E * constant([1, 1], "
         "shape=diagonal))",
         "need visibilities of 2 or 4 correlations"},
        {"grid(V, obs, size=300, cell=2e-3rad, method=idg, layers=1)",
         "layers: w reaches 7870 wavelengths, more than 1 w-layer allows"},
        {"grid(V, obs, size=300, cell=2e-3rad, method=idg, w_tiles=yes)",
         "w_tiles: w moves the sky by more cells than w-tiles of this grid have room for"},
        {"degrid(grid(V" IMAGE ", method=idg)" IMAGE ", method=idg, stokes=IQ)",
         "'IQ' is not of 1 letter"},
        {"degrid(grid(V" IMAGE ")" IMAGE ", stokes=I)", "stokes: requires method=idg"},
        {"grid(V" IMAGE ", method=idg, jones=trace(V) / 2Jy)", "varies with baseline"},
        {"grid(V" IMAGE ", method=idg, jones=E, times=0)", "0 is not at least 1"},
        {"grid_correction(fft(grid(V" IMAGE ", method=idg))" IMAGE ")", "differ"},
        {"degrid(grid(V" IMAGE ")" IMAGE ", method=idg)", "differ"},
        {"grid(V" IMAGE ", method=idg, bands=99)", "bands: 99 is not from 1 to"},
        {"dirty_image(V" IMAGE ", method=idg, stokes=\"IX\")", "is not made of the letters"},
        {"dirty_image(V" IMAGE ", method=idg, oversampling=9)", "requires method=aw"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text =
            grove_format("obs = probe()\nV = obs.data\nR = sky_grid(obs, size=33, cell=3e-5rad)\n"
                         "E = beam_airy(R, obs, diameter=25m, freq=1.4GHz)\nx = %s\n",
                         cases[i].call);
        const char *said = testing_faults(&t, text);
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
        free(text);
    }
}

/* By estimated cost of a core; test-cuda-idg.c has a GPU's. Terms of each station take too many
 * functions, and one beam of many visibilities takes longer by them; options that others have
 * decide, and small ones are not worth it. */
LOOP_TEST(choices, 0, 7)
{
    static const struct {
        const char *integration, *call, *method, *others;
    } cases[] = {
        {"10s", "dirty_image(V, obs, size=64, cell=1arcmin, jones=B * G, times=30)",
         "method: idg, which takes less time; error ", "s on a core (w_stack "},
        {"10s", "predict_image(X, obs, jones=B * G, times=30)",
         "method: idg, which takes less time; error ", "s on a core (w_stack "},
        {"1s", "dirty_image(V, obs, size=64, cell=1arcmin, jones=B)",
         "method: idg, which takes less time; error ", ", aw "},
        {"1s", "dirty_image(V, obs, size=64, cell=1arcmin, jones=B, w_planes=7)",
         "method: aw, functions of ", ", idg 0."},
        {"60s", "dirty_image(V, obs, size=64, cell=1arcmin, jones=B, epsilon=1e-2)",
         "planes of w; since jones is given", ", idg more than "},
        {"1s", "dirty_image(V, obs, size=64, cell=1arcmin)", "method: w-stacking, ",
         ", idg more than "},
        {"60s", "dirty_image(V, obs, size=64, cell=1arcmin, bands=4, method=idg)",
         "method: idg, as asked for; error ", ", aw "},
    };
    bool found = grove_tuning_has_gpu();
    testing_tree(
        &t,
        suite_text(
            "obs = observe(array=\"kat-7\", phase_centre=\"2h -31d\", hour_angle=-1h..1h, "
            "integration=%s, channels=16, channel_width=1MHz)\n"
            "V = select(obs.uvw, element=\"x\") * obs.freq / 1Hz\nG = gains(obs, kind=sine)\n"
            "X = 1Jy * select(lmn(sky_grid(obs, size=64, cell=1arcmin), obs), element=\"x\")\n"
            "B = beam_airy(sky_grid(obs, size=70, cell=1arcmin), obs, diameter=12m, freq=1.4GHz)\n"
            "x = %s\n",
            cases[_i].integration, cases[_i].call));
    for (size_t i = 0; i < t.tree->node_count && !found; i++) {
        const char *note = t.tree->nodes[i]->note;
        found = note && strstr(note, cases[_i].method) && strstr(note, cases[_i].others);
    }
    ck_assert_msg(found, "%s", cases[_i].call);
}

/* Of what only a run finds: w beyond the layers, in both directions. */
static char heard[4096];

static void hear(const char *message)
{
    strncat(heard, message, sizeof(heard) - strlen(heard) - 2);
    strcat(heard, "\n");
}

static const struct {
    const char *call, *message;
} runs[] = {
    {"grid(V" IMAGE ", method=idg, max_uvw=[2km, 2km, 50m])",
     "visibilities have w beyond the layers, which reach to"},
    {"degrid(grid(V" IMAGE ", method=idg, max_uvw=[2km, 2km, 50m])" IMAGE
     ", method=idg, max_uvw=[2km, 2km, 50m])",
     "w beyond the layers"},
    {"grid(V" IMAGE ", method=idg)", " subgrids, "},
    {"degrid(grid(V" IMAGE ", method=idg)" IMAGE ", method=idg)", "x: "},
};

LOOP_TEST(told_by_runs, 0, sizeof(runs) / sizeof(runs[0]))
{
    const grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    testing_tree(&t, suite_text("obs = probe()\nV = obs.data\nx = %s\n", runs[_i].call));
    heard[0] = 0;
    grove_log_watch(hear);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), 0);
    grove_value_unref(value);
    grove_session_free(session);
    grove_log_watch(NULL);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, runs[_i].message) || strstr(heard, runs[_i].message), "%s%s", said,
                  heard);
}

/* What is foretold is what is told: tracks of an array, terms in blocks of times, bands. */
LOOP_TEST(foretold, 0, 3)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    double said = 0;
    testing_tree(
        &t,
        suite_text(
            "obs = observe(array=\"kat-7\", phase_centre=\"2h -31d\", hour_angle=-1h..1h, "
            "integration=30s, channels=16, channel_width=10MHz)\n"
            "V = select(obs.uvw, element=\"x\") * obs.freq / 1Hz\n"
            "G = gains(obs, kind=sine) + 0 * beam_airy(sky_grid(obs, size=70, cell=1arcmin), obs, "
            "diameter=12m, freq=1.4GHz)\n"
            "x = grid(V, obs, size=64, cell=1arcmin, method=idg%s)\n",
            _i == 1 ? ", jones=G, times=4"
            : _i    ? ", bands=5"
                    : ""));
    for (size_t i = 0; i < t.tree->node_count && said == 0; i++) {
        const char *note = t.tree->nodes[i]->note, *at = note ? strstr(note, "about ") : NULL;
        said = at ? strtod(at + strlen("about "), NULL) : 0;
    }
    heard[0] = 0;
    grove_log_watch(hear);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), 0);
    grove_value_unref(value);
    grove_session_free(session);
    grove_log_watch(NULL);
    const char *at = strstr(heard, "subgrids, ");
    ck_assert_msg(at != NULL, "%s", heard);
    const double each = strtod(at + strlen("subgrids, "), NULL);
    ck_assert_msg(each > 1 && fabs(said - each) < 0.05 * each, "%g, foretold %g", each, said);
}

SUITE(120, setup, teardown)
