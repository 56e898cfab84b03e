/* exact=true: images, planes of the grid, densities of weights and predictions have the same bits
 * for any tiles, memory and threads, and are those that they are without it. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

static void put_plane(void)
{
    plane_now = (plane){.size = {20, 25}, .cell = {3e-5, 3e-5}};
    for (int k = 0; k < 20 * 25; k++)
        plane_now.stokes[k][0] = sin(1.7 * k * k);
}

#define WEIGHTS(exact) "weights=weighting(obs, kind=briggs, size=40, cell=3e-5rad, exact=" exact ")"

static const struct {
    const char *call; /* %s: the options */
    const char *exact, *usual;
    double tolerance;
    bool in_parts; /* with less memory it is made in parts */
} values[] = {
    {"dirty_image(V, obs, size=40, cell=3e-5rad, stokes=\"IV\", %s)", "exact=true", "", 1e-5, true},
    {"dirty_image(V, obs, size=[31, 40], cell=[3e-5rad, 2e-5rad], bands=2, epsilon=1e-10, "
     "max_uvw=[5km, 5km, 5km], %s)",
     "exact=true", "", 1e-10, true},
    {"psf_image(obs, size=40, cell=2e-3rad, %s)", "exact=true, " WEIGHTS("true"), WEIGHTS("false"),
     1e-5, true},
    {"grid(V, obs, size=24, cell=3e-5rad, %s)", "exact=true", "", 1e-5, false},
    {"weighting(obs, kind=uniform, size=24, cell=3e-5rad, %s)", "exact=true", "", 1e-6, false},
    {"predict_image(im.pixels, obs, %s)", "exact=true", "", 1e-5, true},
    /* frequencies above the channels', and baselines of which some are too long */
    {"predict_image(im.pixels, obs, uvw=1.5 * obs.uvw, freq=(obs.freq / 1GHz)^2 * 1GHz, %s)",
     "exact=true", "", 1e-5, true},
};

LOOP_TEST(same_bits, 0, sizeof(values) / sizeof(*values))
{
    static const int tiles[][3] = {{0, 0, 0}, {1, 0, 0}, {2, 3, 0}, {3, 0, 4}, {1, 2, 5}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);
    char *call = suite_text(values[_i].call, values[_i].exact),
         *usual = suite_text(values[_i].call, values[_i].usual),
         *text = suite_text("obs = probe()\nim = plane()\nV = 1 * obs.data\nx = %s\ny = %s\n", call,
                            usual);

    put_plane();
    testing_tree(&t, text);
    testing_value first = probe_session(&t, "x", &options, NULL),
                  other = probe_session(&t, "y", &options, NULL);
    ck_assert_double_lt(testing_distance(&first, &other), values[_i].tolerance);
    for (int i = 1; i < 10; i++) {
        options.tile_times = tiles[i % 5][0];
        options.tile_channels = tiles[i % 5][1];
        options.tile_baselines = tiles[i % 5][2];
        options.threads = 1 + i % 3;
        options.memory = values[_i].in_parts && i > 4 ? 3 << 20 : 0;
        other = probe_session(&t, "x", &options, NULL);
        ck_assert_msg(
            !memcmp(first.at, other.at, (size_t)(first.cells * first.elements) * sizeof(*first.at)),
            "%s: other bits with tiles %d", call, i);
    }
}

/* Numbers of any size. */
LOOP_TEST(very_small_and_very_large, 0, 4)
{
    static const char *const sizes[] = {"1e-290", "1e-200", "1e160", "1e290"};
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true);
    char *text =
        grove_format("obs = probe()\nV = 1 * obs.data\n"
                     "x = dirty_image(%s * V, obs, size=20, cell=3e-5rad, exact=true) / %s\n"
                     "y = dirty_image(V, obs, size=20, cell=3e-5rad, exact=true)\n",
                     sizes[_i], sizes[_i]);

    testing_tree(&t, text);
    testing_value found = probe_session(&t, "x", &options, NULL),
                  truth = probe_session(&t, "y", &options, NULL);
    ck_assert_double_lt(testing_distance(&found, &truth), 1e-9);
    free(text);
}

TEST(functions_are_not_exact)
{
    const char *said = testing_faults(
        &t, "obs = probe()\nV = 1 * obs.data\nR = sky_grid(obs, size=49, cell=3e-5rad)\n"
            "C = convolution_functions(beam_airy(R, obs, diameter=80m, freq=1.4GHz), obs, size=24, "
            "cell=3e-5rad)\n"
            "x = grid(V, obs, size=24, cell=3e-5rad, functions=C, exact=true)\n");

    ck_assert_msg(strstr(said, "exact") && strstr(said, "is not possible with functions"), "%s",
                  said);
}

SUITE(240, setup, teardown)
