/* Image-domain gridding on an emulated device: the numbers of the host, and of direct sums; the
 * same bits in any order of streams; what is copied. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void setup(void)
{
    cuda_testing_reset(0);
    cuda_testing_libraries(true);
    session_test_begin();
    heap_test_add();
}

/* Visibilities V, a term E of a kind on a raster Q, which is J on the pixels R of the image, and
 * further lines. */
static const char *const terms[] = {
    "1 + 0 * beam_airy(%s, obs, diameter=25m)",
    "beam_airy(%s, obs, diameter=25m) * gains(obs, amplitude=0.3, jones=scalar)",
    "beam_airy(%s, obs, diameter=25m) * diagonal(1 + 900 * select(lmn(%s, obs), element=\"x\"), 1 "
    "- 0.3i - 700 * select(lmn(%s, obs), element=\"y\")) * gains(obs, kind=sine, jones=diagonal)",
    "beam_airy(%s, obs, diameter=25m) * (constant([1, 0.2, -0.1, 0.8], shape=matrix) + 900 * "
    "select(lmn(%s, obs), element=\"x\") * gains(obs, amplitude=0.4, jones=matrix))"};

static void simulate(int term, int channels, const char *lines)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".";
    char *fine = suite_text(terms[term], "R", "R", "R"),
         *raster = suite_text(terms[term], "Q", "Q", "Q");
    char *text =
        grove_format("obs = observe(array=\"%s/data/arrays/kat-7.array\",\n"
                     "  phase_centre=\"05h42m36.1s 49d51m07s\", hour_angle=-0.1h..0.1h,\n"
                     "  integration=360s, frequency=1.4GHz, channels=%d, channel_width=4MHz)\n"
                     "S = sky_model(\"%s/examples/quickstart/3C147.skymodel\")\n"
                     "V[p,q] = sum[s](point(S, obs))\n"
                     "R = sky_grid(obs, size=[12, 13], cell=3e-5rad)\n"
                     "Q = sky_grid(obs, size=23, cell=3e-5rad)\nJ = %s\nE = %s\n"
                     "l = select(lmn(R, obs), element=\"x\")\n"
                     "m = select(lmn(R, obs), element=\"y\")\n"
                     "X = (cos(2e9rad * l * m) + sin(3e4rad * l - 2e4rad * m)) * 1Jy\n"
                     "half = (obs.freq - mean(obs.freq, over=freq)) / 1MHz\n"
                     "near = grid(V, obs, size=20, cell=5arcsec, method=idg, max_uvw=[1km, 800m, "
                     "3km])\nnear_bands = dirty_image(V, obs, size=[12, 13], cell=3e-5rad, "
                     "bands=2)\n%s",
                     source, channels, source, fine, raster, lines);

    session_test_tree(text);
    free(text);
}

/* ---- the numbers of the host ---- */

static const struct {
    const char *line;
    int term;
    double epsilon;
    int channels, tile_times;
    bool double_precision;
    int tile_channels;
} cases[] = {
    {"grid(V, obs, size=[40, 33], cell=5arcsec, method=idg)", 0, 1e-4, 4, 1, false},
    /* Subgrids that wrap around each side of a grid that is not square. */
    {"grid(V, obs, size=[40, 33], cell=2arcmin, method=idg)", 0, 1e-4, 4, 0, false},
    {"grid(V, obs, size=32, cell=5arcsec, method=idg, subgrid=16, epsilon=1e-2, stokes=\"IQUV\")",
     0, 1e-2, 18, 0, false},
    {"grid(V, obs, size=32, cell=5arcsec, method=idg, subgrid=24, weights=half)", 0, 1e-4, 5, 4,
     false},
    {"grid(V, obs, size=32, cell=5arcmin, method=idg, subgrid=40, layers=9, stokes=\"IV\")", 0,
     1e-4, 3, 0, false},
    {"grid(V, obs, size=32, cell=3e-5rad, method=idg, subgrid=48, epsilon=1e-5)", 0, 1e-5, 2, 0,
     false},
    {"grid(V, obs, size=32, cell=5arcsec, method=idg, subgrid=64, w_terms=false)", 0, 1e-4, 4, 0,
     false},
    {"grid(V, obs, size=20, cell=3e-5rad, method=idg, subgrid=64, epsilon=1e-8)", 0, 1e-8, 4, 0,
     true},
    {"grid(V, obs, size=20, cell=3e-5rad, method=idg, subgrid=32, epsilon=1e-5, layers=3)", 0, 1e-5,
     20, 3, true},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E)", 1, 1e-4, 4, 1, false},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E, stokes=\"QV\")", 2, 1e-4, 4, 0,
     false},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E, stokes=\"IQUV\")", 3, 1e-4, 4,
     1, false},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E)", 3, 1e-4, 4, 0, false},
    /* baselines beyond a limit, in some channels of a row */
    {"grid(V, obs, size=40, cell=5arcsec, method=idg, max_uvw=[1km, 800m, 3km])", 0, 1e-4, 4, 2,
     false},
    /* w-tiles, of several calls; more of them than the antennas' positions foretell */
    {"grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, layers=6, w_tiles=yes)", 0,
     1e-4, 4, 1, false},
    {"grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, layers=6, w_tiles=yes, "
     "stokes=\"IQ\", uvw=6 * obs.uvw, max_uvw=[5km, 5km, 5km])",
     0, 1e-4, 4, 2, true},
    {"degrid(grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, layers=6, "
     "w_tiles=yes, stokes=\"IV\"), obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, "
     "layers=6, w_tiles=yes, stokes=\"IV\", uvw=6 * obs.uvw)",
     0, 1e-4, 3, 2, false},
    {"predict_image(X, obs, method=idg)", 0, 1e-4, 4, 1, false},
    {"predict_image(X, obs, method=idg, subgrid=16, epsilon=1e-2)", 0, 1e-2, 18, 0, false},
    {"predict_image(X, obs, method=idg, subgrid=24)", 0, 1e-4, 3, 0, false},
    {"predict_image(vector(X, 0.1 * X, X, 0.3 * X), obs, method=idg, subgrid=40, layers=5)", 0,
     1e-4, 3, 2, false},
    {"predict_image(X, obs, method=idg, subgrid=48, w_terms=false)", 0, 1e-4, 4, 1, false},
    {"degrid(near, obs, size=20, cell=5arcsec, method=idg, max_uvw=[1km, 800m, 3km])", 0, 1e-4, 4,
     1, false},
    {"predict_image(X, obs, method=idg, subgrid=64, epsilon=1e-5)", 0, 1e-5, 4, 0, false},
    {"predict_image(X, obs, method=idg, subgrid=64, epsilon=1e-9)", 0, 1e-9, 3, 0, true},
    {"predict_image(X, obs, method=idg, jones=E)", 1, 1e-4, 4, 1, false},
    {"predict_image(vector(X, 0.1 * X), obs, method=idg, jones=E, stokes=\"QV\")", 2, 1e-4, 4, 0,
     false},
    {"predict_image(vector(X, 0.1 * X, X, 0.3 * X), obs, method=idg, jones=E)", 3, 1e-4, 4, 2,
     false},
    {"dirty_image(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E, stokes=\"IQUV\")", 3,
     1e-4, 4, 1, false},
    /* bands, which cut blocks of channels of the terms, and cubes */
    {"grid(V, obs, size=[40, 33], cell=5arcsec, method=idg, bands=2, stokes=\"IV\")", 0, 1e-4, 5, 1,
     false},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, jones=E * obs.freq / 1.4GHz, bands=3, "
     "channels=4)",
     2, 1e-4, 8, 0, true, 3},
    {"grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, layers=6, w_tiles=yes, "
     "bands=4, uvw=6 * obs.uvw, max_uvw=[5km, 5km, 5km])",
     0, 1e-4, 4, 2, false, 3},
    {"dirty_image(V, obs, size=20, cell=5arcsec, method=idg, bands=2)", 0, 1e-4, 3, 0, false},
    {"predict_image(X * obs.freq / 1GHz, obs, method=idg)", 0, 1e-4, 4, 0, false, 3},
    {"predict_image(vector(X, 0.1 * X, X, 0.3 * X) * obs.freq / 1GHz, obs, method=idg, jones=E)", 3,
     1e-4, 3, 2, true},
    {"predict_image(near_bands, obs, method=idg, layers=3)", 0, 1e-4, 7, 1, false},
    {"predict_image(near_bands, obs, method=idg, interpolate=linear, jones=E)", 2, 1e-4, 7, 1,
     true},
    /* terms whose raster is that of the image, so that many pixels are beyond it; of more
       directions along m than a block of threads takes together; of none; of blocks that tiles cut
     */
    {"predict_image(X, obs, method=idg, jones=J, subgrid=64)", 3, 1e-4, 3, 1, false},
    {"grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, times=2, channels=2, "
     "jones=beam_airy(sky_grid(obs, size=[14, 300], cell=3e-5rad), obs, diameter=25m) * (1 + 900 * "
     "select(lmn(sky_grid(obs, size=[14, 300], cell=3e-5rad), obs), element=\"y\")))",
     0, 1e-4, 5, 1, false, 3},
    {"predict_image(X, obs, method=idg, channels=3, jones=gains(obs, kind=sine, jones=diagonal))",
     0, 1e-4, 4, 1, true},
    {"degrid(grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, layers=6, "
     "w_tiles=yes, bands=3, max_uvw=[5km, 5km, 5km]), obs, size=[90, 80], cell=5arcsec, "
     "method=idg, subgrid=16, "
     "layers=6, w_tiles=yes, uvw=6 * obs.uvw, interpolate=linear, max_uvw=[5km, 5km, 5km])",
     0, 1e-4, 5, 2, false, 2},
};
enum { CASES = sizeof(cases) / sizeof(*cases) };

LOOP_TEST(numbers_are_those_of_the_host, 0, CASES)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = cases[_i].tile_times,
                              .tile_channels = cases[_i].tile_channels,
                              .double_precision = cases[_i].double_precision);
    grove_counters counters = {0};
    simulate(cases[_i].term, cases[_i].channels, suite_text("keep = heap(%s)\n", cases[_i].line));
    heap truth = heap_test_run("cpu", options, NULL),
         got = heap_test_run("cuda", options, &counters);
    const double off = heap_distance(&got, &truth);
    ck_assert_msg(off < cases[_i].epsilon / 10, "off by %g", off);
    ck_assert(!heap_test_helped());
    ck_assert_uint_gt(counters.launches, 0);
    if (_i % 3 == 0) {
        cuda_testing_reset(7);
        heap again = heap_test_run("cuda", options, NULL);
        ck_assert(heap_equal(&got, &again));
    }
}

/* ---- direct sums ---- */

/* The left and right terms of points, whose brightness is X in I. */
static const char *const seen[][2] = {
    {"J", "J"}, {"J[p]", "J[q]"}, {"J[p]", "J[q]"}, {"J[p]", "J[q]"}};

LOOP_TEST(pixels_are_points, 0, 4)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i % 2);
    char *sums =
             suite_text("x[p,q] = sum(%s * point(R, obs, brightness=X * constant([1, 0, 0, 1], "
                        "shape=matrix), shape=constant([0rad, 0rad, 0rad], shape=vector)) * %s^H, "
                        "over=[l, m])\nkeep = heap(x)\n",
                        seen[_i][0], seen[_i][1]),
         *lines = suite_text("keep = heap(predict_image(vector(X, 0 * X, 0 * X, 0 * X), obs, "
                             "epsilon=1e-5, method=idg, jones=E))\n");

    simulate(_i, 3, sums);
    heap truth = heap_test_run("cpu", options, NULL);
    simulate(_i, 3, lines);
    heap got = heap_test_run("cuda", options, NULL);
    const double off = heap_distance(&got, &truth);
    ck_assert_msg(off < 4e-5, "off by %g", off);
    ck_assert(!heap_test_helped());
}

/* Visibilities that are one point's make an image that is the sum over all of them. */
LOOP_TEST(images_are_sums, 0, 2)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1, .double_precision = _i);

    simulate(0, 3,
             "P[p,q] = point(R, obs, brightness=1Jy * constant([1, 0, 0, 1], shape=matrix), "
             "shape=constant([0rad, 0rad, 0rad], shape=vector))\n"
             "F = select(P, element=\"XX\") / 1Jy\nG = 0.5 * (select(V, element=\"XX\") + "
             "select(V, element=\"YY\"))\n"
             "keep = heap(sum(real(conj(F) * G), over=[time, baseline, freq]))\n");
    heap truth = heap_test_run("cpu", options, NULL);
    simulate(0, 3,
             "planes = grid(V, obs, size=[12, 13], cell=3e-5rad, method=idg, epsilon=1e-5)\n"
             "keep = heap(grid_correction(fft(planes), obs, size=[12, 13], cell=3e-5rad, "
             "method=idg, epsilon=1e-5))\n");
    heap got = heap_test_run("cuda", options, NULL);
    const double off = heap_distance(&got, &truth);
    ck_assert_msg(off < 2e-5, "off by %g", off);
}

/* Bands are gridded, and cubes predicted, without the host. */
LOOP_TEST(visibilities_stay_on_the_device, 0, 2)
{
    enum { CHANNELS = 64, BYTES = 21 * 2 * CHANNELS * 4 * 8 };
    static const char *const lines[] = {
        "planes = grid(V, obs, size=20, cell=5arcsec, method=idg, bands=2)\n"
        "keep = heap(sum(real(planes), over=[w_plane, v, u]))\n",
        "seen = predict_image(vector(near_bands, near_bands, near_bands, near_bands), obs, "
        "method=idg)\nkeep = heap(sum(real(seen), over=[time, baseline, freq]))\n"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters counters;

    simulate(0, CHANNELS, lines[_i]);
    heap_test_run("cuda", options, &counters);
    ck_assert_uint_lt(counters.bytes_down, BYTES / 4);
}

/* Terms that were made on the device stay there, and their pixels are made there: beside subgrids
 * what goes up for them are taps and lists, what comes back a word for each call. Numbers,
 * diagonals and matrices, of 8 blocks and 7 stations: pixels and rasters take more than 200 kB. */
LOOP_TEST(terms_stay_on_the_device, 1, 4)
{
    enum { CHANNELS = 4, LITTLE = 1 << 16 };
    static const char *const given[] = {"", ", jones=E"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    grove_counters counters[2];

    for (int k = 0; k < 2; k++) {
        simulate(_i, CHANNELS,
                 suite_text("seen = predict_image(vector(X, X, X, X), obs, method=idg, "
                            "subgrid=32%s)\n"
                            "keep = heap(sum(real(seen), over=[time, baseline, freq]))\n",
                            given[k]));
        heap_test_run("cuda", options, &counters[k]);
        ck_assert(!heap_test_helped());
    }
    ck_assert_uint_lt(counters[1].bytes_up, counters[0].bytes_up + LITTLE);
    ck_assert_uint_lt(counters[1].bytes_down, counters[0].bytes_down + 100);
}

/* Numbers that are not finite are told as the host tells them, also where no pixel has some of
 * them. */
LOOP_TEST(terms_have_to_be_finite, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = _i);

    simulate(0, 2,
             "far = select(lmn(sky_grid(obs, size=61, cell=3e-5rad), obs), element=\"x\")\n"
             "keep = heap(predict_image(X, obs, method=idg, jones=sqrt(8.85e-4 - far)))\n");
    for (int k = 0; k < 2; k++) {
        grove_session *session = heap_test_session(k ? "cuda" : "cpu", options);
        ck_assert_int_ne(grove_session_run(session), 0);
        ck_assert_ptr_nonnull(strstr(grove_error_message(now.error, 0), "not finite"));
        heap_test_close(session);
        grove_error_clear(now.error);
    }
}

/* Of grids the last launches are those of the weights, whose planes have their visibilities then.
 */
static const char *const faulty[] = {
    ("keep = heap(sum(real(grid(V, obs, size=20, cell=5arcsec, method=idg)), over=[w_plane, v, "
     "u]))\n"),
    "keep = heap(predict_image(X, obs, method=idg, subgrid=16, epsilon=1e-2))\n",
    "keep = heap(predict_image(X, obs, method=idg, subgrid=16, epsilon=1e-2, jones=E))\n"};
enum { FAULTY = sizeof(faulty) / sizeof(*faulty) };

LOOP_TEST(each_fault, 0, 3 * FAULTY)
{
    static const int kinds[] = {EMULATED_ALLOCATION, EMULATED_COPY, EMULATED_LAUNCH};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 1);
    int failed, worked;

    if (!cuda_testing_control())
        return;
    simulate(0, 2, faulty[_i % FAULTY]);
    heap truth = heap_test_run("cpu", options, NULL);
    heap_test_each_fault(kinds[_i / FAULTY], options, &truth, &failed, &worked);
    ck_assert_int_gt(failed, 0);
    ck_assert_int_gt(worked, 0);
    ck_assert(_i > 0 || heap_test_failed_late()); /* no memory for the sums of weights */
}

/* Slots are filled again and again, and take memory once. */
TEST(slots_are_used_again)
{
    enum { LITTLE = 1 << 16 }; /* less than a w-tile */
    static const char *const uvw[] = {"obs.uvw", "6 * obs.uvw"};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    grove_counters counters[2];

    for (int k = 0; k < 2; k++) {
        char *lines =
            grove_format("flat = grid(V, obs, size=[90, 80], cell=5arcsec, method=idg, subgrid=16, "
                         "layers=6, w_tiles=yes, max_uvw=[5km, 5km, 5km])\n"
                         "keep = heap(degrid(flat, obs, size=[90, 80], cell=5arcsec, method=idg, "
                         "subgrid=16, layers=6, w_tiles=yes, max_uvw=[5km, 5km, 5km], uvw=%s))\n",
                         uvw[k]);
        simulate(0, 4, lines);
        heap_test_run("cuda", options, &counters[k]);
        free(lines);
    }
    ck_assert_uint_lt(counters[1].device_peak_bytes, counters[0].device_peak_bytes + LITTLE);
}

/* A core takes longer to grid so many visibilities by functions than on subgrids, to make the
 * functions not; a GPU only has to wait for these. */
TEST(gpus_choose_by_their_own_costs)
{
    const char *source = getenv("GROVE_SOURCE") ? getenv("GROVE_SOURCE") : ".", *note = NULL;
    session_test_tree(suite_text(
        "obs = observe(array=\"%s/data/arrays/kat-7.array\", phase_centre=\"2h -31d\", "
        "hour_angle=-1h..1h, integration=1s, channels=16, channel_width=1MHz)\n"
        "V = select(obs.uvw, element=\"x\") * obs.freq / 1Hz\n"
        "B = beam_airy(sky_grid(obs, size=70, cell=1arcmin), obs, diameter=12m, freq=1.4GHz)\n"
        "x = heap(dirty_image(V, obs, size=64, cell=1arcmin, jones=B))\n",
        source));
    for (size_t k = 0; k < now.tree->node_count && !note; k++)
        note = now.tree->nodes[k]->note ? strstr(now.tree->nodes[k]->note, "method: ") : NULL;
    ck_assert_ptr_nonnull(note);
    ck_assert_msg(strstr(note, "method: aw, "), "%s", note);
    ck_assert_msg(strstr(note, " s on a GPU such as an H100 (w_stack "), "%s", note);
}

CUDA_SUITE(600, setup, session_test_end)
