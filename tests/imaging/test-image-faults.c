/* What is said of wrong calls of the classes of images, when the tree is read and when it runs. */
#include "image-testing.h"
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include "base/error.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t), plane_begin(&t))

static void set_plane(void)
{
    plane_now = (plane){.size = {8, 8}, .cell = {1e-5, 1e-5}};
}

static void tree(const char *lines, const char *image)
{
    testing_tree(&t, suite_text("%sx = %s\n", lines, image));
}

TEST(wrong_calls_are_told)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"dirty_image(V, obs, size=0)", "0 is not a whole number from 1 to 1048576"},
        {"dirty_image(V, obs, size=1.5)", "1.5 is not a whole number from 1"},
        {"dirty_image(V, obs, size=1e9)", "1e+09 is not a whole number from 1 to 1048576"},
        {"dirty_image(V, obs, size=[8, 8, 8])", "one number, or two"},
        {"dirty_image(V, obs, size=8m)", "a number of pixels, without a unit"},
        {"dirty_image(V, obs)", "size"},
        {"dirty_image(V, obs, size=8, cell=2m)", "is an angle, such as 2arcsec"},
        {"dirty_image(V, obs, size=8, cell=0rad)", "0 rad is not between 0 and 1"},
        {"dirty_image(V, obs, size=8, cell=-1arcsec)", "is not between 0 and 1"},
        {"dirty_image(V, obs, size=8, stokes=\"X\")", "'X' is not made of the letters I, Q, U, V"},
        {"dirty_image(V, obs, size=8, stokes=\"II\")", "'II' has I twice"},
        {"dirty_image(trace(V), obs, size=8, stokes=\"Q\")", "Q cannot be made of numbers"},
        {"dirty_image(gains(obs, jones=diagonal), obs, size=8)", "station"},
        {"dirty_image(obs.freq / 1Hz * diagonal(1, 1), obs, size=8, stokes=\"U\")",
         "U needs XY and YX, which the data do not have"},
        {"dirty_image(V, obs, size=8, epsilon=1e-14)", "1e-14 is not from 1e-12 to 1"},
        {"dirty_image(mean(V, over=time), obs, size=8)",
         "the visibilities no longer vary with time"},
        {"dirty_image(point(field(), obs), obs, size=8)", "sum over sources first: sum[s](...)"},
        {"dirty_image(V, obs, size=8, centre=\"284deg -46deg\")", "90 degrees or more"},
        {"dirty_image(V, obs, size=8, weights=field().absolute_angle)",
         "the weights vary with source"},
        {"dirty_image(V, obs, size=8, weights=vector(1, 2, 3))", "weights"},
        {"dirty_image(V, grid(), size=8)", "has the time axis of 'grid"},
        {"psf_image(grid(), size=8)", "must be given"},
        {"psf_image(obs, size=0)", "0 is not a whole number"},
        {"predict_image(obs.freq / 1Hz, obs)", "does not vary with l"},
        {"predict_image(1Jy, obs)", "it requires an image, which varies with l and m"},
        {"predict_image(im.stokes, obs, stokes=\"IQ\")", "'IQ' is not of 4 letters"},
        {"predict_image(im.pixels, obs, stokes=\"Z\")", "'Z' is not made of the letters"},
        {"predict_image(im.pixels * obs.time, obs)", "varies with time, too"},
        {"predict_image(im.pixels, obs, epsilon=1e-13)", "is not from 1e-12 to 1"},
        {"fit_beam(obs.freq)", "it requires an image"},
        {"weighting(obs)", "size"},
        {"weighting(obs, kind=natural, robust=11)", "11 is not from -10 to 10"},
        {"weighting(obs, kind=natural, taper=-1arcsec)", "is negative"},
        {"uv_density(obs, size=0)", "0 is not a whole number"},
    };

    set_plane();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        snprintf(text, sizeof(text), "im = plane()\nobs = probe()\nV = obs.data\nx = %s\n",
                 cases[i].call);
        const char *said = testing_faults(&t, text);
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
        ck_assert_msg(strstr(said, "t.tree:4:") != NULL, "%s: %s", cases[i].call, said);
    }
}

/* What a run in single precision says: a failure, or a warning. */
static char *run_says(const char *lines, const char *call, int code)
{
    grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;

    tree(lines, call);
    grove_error_clear(t.error);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), code);
    grove_value_unref(value);
    grove_session_free(session);
    return suite_messages(t.error);
}

LOOP_TEST(runs_tell_what_is_wrong, 0, 4)
{
    static const struct {
        const char *call, *message;
        int code;
    } cases[] = {
        {"dirty_image(V, obs, size=8, weights=0)", "there is nothing to image", GROVE_INVALID},
        {"dirty_image(V / (obs.freq - obs.freq), obs, size=8)", "there is nothing to image",
         GROVE_INVALID},
        {"psf_image(obs, size=8, weights=-1)", "there is nothing to image", GROVE_INVALID},
        {"dirty_image(V, obs, size=8, cell=1deg)", "pixels of 3.6e+03 arcsec are too large", 0},
    };

    set_plane();
    char *said = run_says("im = plane()\n" PROBE, cases[_i].call, cases[_i].code);
    ck_assert_msg(strstr(said, cases[_i].message) != NULL, "%s: %s", cases[_i].call, said);
    ck_assert_msg(strstr(said, "t.tree:6:") != NULL, "%s: %s", cases[_i].call, said);
}

/* All stations' gains are missing. */
TEST(all_is_flagged)
{
    const char *path =
        testing_file(&t, "gains.csv", "station,value_re,value_im\nP0,,\nP1,,\nP2,,\nP3,,\n");
    char *said = run_says(
        suite_text("obs = probe()\nT = table(\"%s\", obs=obs)\nV[p,q] = T.value[p] * obs.data\n",
                   path),
        "dirty_image(V, obs, size=8)", GROVE_INVALID);

    ck_assert_msg(strstr(said, "there is nothing to image: all visibilities are flagged"), "%s",
                  said);
}

/* The cell that the warning names gives none, and is not much smaller than it has to be. */
LOOP_TEST(the_cell_named_would_do, 0, 3)
{
    static const char *const calls[] = {"dirty_image(V, obs, size=8, cell=90arcsec)",
                                        "dirty_image(V, obs, size=8, cell=[1arcsec, 90arcsec])",
                                        "dirty_image(V, obs, size=8, cell=[90arcsec, 1arcsec])"};
    char *said = run_says(PROBE, calls[_i], 0), call[100];
    const char *cell = strstr(said, "; cell=");

    ck_assert_msg(cell != NULL, "%s", said);
    ck_assert_msg(strstr(said, "pixels of 90 arcsec are too large") != NULL, "%s", said);
    ck_assert_msg(strtod(cell + 7, NULL) > 2, "%s", said);
    snprintf(call, sizeof(call), "dirty_image(V, obs, size=8, %.*s)", (int)strcspn(cell + 2, " "),
             cell + 2);
    ck_assert_str_eq(run_says(PROBE, call, 0), "");
}

SUITE(240, setup, teardown)
