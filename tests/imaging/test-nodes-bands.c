/* Bands as stages of images: planes of each band with w, and visibilities of planes at several
 * frequencies, are those of dirty_image and predict_image, which test-nodes-cubes compares with
 * Fourier sums. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "run/session.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t))

#define STAGE ", obs, size=24, cell=3e-5rad, epsilon=1e-9"

/* ||a - b|| / ||b||; of each cell of b only its first element counts. */
static double distance(const testing_value *a, const testing_value *b)
{
    double off = 0, all = 0;

    ck_assert_int_eq(a->cells, b->cells);
    ck_assert_int_eq(a->elements, 1);
    for (int64_t i = 0; i < a->cells; i++) {
        off += pow(cabs(a->at[i] - b->at[i * b->elements]), 2);
        all += pow(cabs(b->at[i * b->elements]), 2);
    }
    ck_assert_double_gt(all, 0);
    return sqrt(off / all);
}

/* Of a tree, the value a against b. */
static void check_same(const char *text, int tile_channels)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_channels = tile_channels);

    testing_tree(&t, text);
    testing_value a = probe_session(&t, "a", &options, NULL),
                  b = probe_session(&t, "b", &options, NULL);
    const double off = distance(&a, &b);
    ck_assert_msg(off < 2e-9, "off by %g:\n%s", off, text);
}

LOOP_TEST(bands_are_images, 0, 9)
{
    static const int bands[] = {1, 3, PROBE_CHANNELS};
    const int count = bands[_i % 3];
    check_same(suite_text(PROBE "g = grid(V" STAGE ", weights=obs.weight, bands=%d, exact=%s)\n"
                                "s = sum_of_weights(V, obs, weights=obs.weight, bands=%d)\n"
                                "a = grid_correction(fft(g)" STAGE ") / s\n"
                                "b = dirty_image(V" STAGE ", weights=obs.weight, bands=%d)\n",
                          count, _i / 6 ? "true" : "false", count, count),
               _i / 3 % 2 ? 2 : 0);
}

/* Of two bands, the nearest or both; of one for each channel; of the channels themselves. */
LOOP_TEST(cubes_are_predicted, 0, 8)
{
    static const struct {
        int bands;
        const char *cube, *interpolate;
    } cases[] = {{2, "x", "nearest"},
                 {2, "x", "linear"},
                 {PROBE_CHANNELS, "x", "nearest"},
                 {2, "obs.freq / 1GHz * select(x, axis=freq, index=0)", "nearest"}};
    const char *interpolate = cases[_i % 4].interpolate;
    check_same(suite_text(PROBE "x = dirty_image(V" STAGE ", bands=%d)\nc = %s\n"
                                "p = fft(grid_correction(c" STAGE "))\n"
                                "a = degrid(p" STAGE ", interpolate=%s)\n"
                                "b = predict_image(c, obs, epsilon=1e-9, interpolate=%s)\n",
                          cases[_i % 4].bands, cases[_i % 4].cube, interpolate, interpolate),
               _i / 4 ? 2 : 0);
}

/* <grid(V), P> = <V, degrid(P)> for the planes of all bands. */
TEST(adjoint)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    double complex left = 0, right = 0;
    double size = 0;

    testing_tree(&t, "obs = probe(flags=false)\nV = trace(obs.data)\n"
                     "g = grid(V" STAGE ", weights=1, bands=3)\np = (0.6 + 0.8i) * g\n"
                     "d = degrid(p" STAGE ")\n");
    testing_value g = probe_session(&t, "g", &options, NULL),
                  p = probe_session(&t, "p", &options, NULL),
                  v = probe_session(&t, "V", &options, NULL),
                  d = probe_session(&t, "d", &options, NULL);
    for (int64_t i = 0; i < g.cells; i++)
        left += conj(g.at[i]) * p.at[i];
    for (int64_t i = 0; i < v.cells; i++) {
        right += conj(v.at[i]) * d.at[i];
        size += cabs(v.at[i]) * cabs(d.at[i]);
    }
    ck_assert_double_gt(fabs(creal(left)), 1e-6 * size);
    ck_assert_double_lt(fabs(creal(left) - creal(right)), 1e-12 * size);
}

SUITE(120, setup, teardown)
