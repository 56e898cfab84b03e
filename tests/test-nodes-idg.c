/* Image-domain gridding by grid, degrid, dirty_image and predict_image: images against direct
 * Fourier sums; pixels against points that are seen through the same Jones terms; the adjoint; the
 * same for any tiles and threads; what is wrong. */
#include "image-testing.h"
#include "probe.h"

#include "base/text.h"

#include <check.h>
#include <math.h>
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
} images[] = {
    {"I", "size=24, cell=3e-5rad", 1e-4, {24, 24}, false, false},
    {"I", "size=24, cell=3e-5rad, layers=3", 1e-9, {24, 24}, true, false},
    {"Q", "size=[21, 32], cell=[3e-5rad, 2e-5rad], subgrid=24", 1e-6, {21, 32}, true, false},
    {"U", "size=20, cell=3e-5rad, centre=\"280.9deg 45.7deg\"", 1e-5, {20, 20}, true, false},
    {"V", "size=[20, 23], cell=2e-3rad, w_terms=false, subgrid=32", 1e-7, {20, 23}, true, true},
};

START_TEST(images_are_sums)
{
    const int parameter = (int)(strchr("IQUV", images[_i].stokes[0]) - "IQUV");
    grove_session_options options = {.double_precision = images[_i].double_precision};
    char *text = grove_format(
        "obs = probe(flags=false)\nV = 1 * obs.data\nu = 1 * obs.uvw\nf = 1 * obs.freq\n"
        "x = dirty_image(V, obs, weights=1, stokes=\"%s\", method=idg, "
        "epsilon=%g, %s)\n",
        images[_i].stokes, images[_i].epsilon, images[_i].options);

    testing_tree(&t, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL);
    d.without_w = images[_i].without_w;
    ck_assert_int_eq(x.cells, images[_i].size[0] * images[_i].size[1]);
    const double off = image_data_distance(&d, &x, 0, parameter);
    ck_assert_msg(off <= images[_i].epsilon, "off by %g", off);
    testing_free(&x);
    image_data_free(&d);
    free(text);
}
END_TEST

/* ---- points ---- */

/* X of tree_of is smooth: its visibilities are weaker than those of pixels at random, of which
 * epsilon is. A tree with terms J on the image's pixels R, and E on a raster Q, of the same text.
 */
static const struct {
    const char *terms; /* of directions %s */
    const char *left, *right, *options;
    double bound;
} beams[] = {
    {"1 + 0 * beam_airy(%s, obs, diameter=25m)", "J", "J", "", 2e-5},
    {"beam_airy(%s, obs, diameter=25m)", "J", "J", "", 2e-5},
    {"(1 + 2000 * select(lmn(%s, obs), element=\"x\") * (gains(obs, amplitude=0.3) - 1)) * "
     "beam_airy(%s, obs, diameter=25m)",
     "J[p]", "J[q]", "", 2e-5},
    {"gains(obs, kind=sine, jones=scalar) * beam_airy(%s, obs, diameter=25m)", "J[p]", "J[q]", "",
     2e-5},
};

static char *tree_of(int i, const char *more)
{
    char *fine = grove_format(beams[i].terms, "R", "R"),
         *raster = grove_format(beams[i].terms, "Q", "Q");
    char *text =
        grove_format("obs = probe(flags=false)\nV = obs.data\nim = plane()\n"
                     "R = sky_grid(obs, size=[24, 27], cell=3e-5rad)\n"
                     "Q = sky_grid(obs, size=33, cell=3e-5rad)\n"
                     "J = %s\nE = %s\nl = select(lmn(R, obs), element=\"x\")\n"
                     "m = select(lmn(R, obs), element=\"y\")\n"
                     "X = cos(2e9rad * l * m) + sin(3e9rad * m * m - 2e9rad * l * l + 3e4rad * l)\n"
                     "%s",
                     fine, raster, more);

    free(fine);
    free(raster);
    return text;
}

START_TEST(pixels_are_points)
{
    grove_session_options options = {.double_precision = true};
    char *more = grove_format(
        "d = predict_image(X * 1Jy, obs, epsilon=1e-5, method=idg, jones=E%s)\n"
        "x[p,q] = sum(%s * point(R, obs, brightness=X * 1Jy * constant([1, 0, 0, 1], "
        "shape=matrix), shape=constant([0rad, 0rad, 0rad], shape=vector)) * %s^H, over=[l, m])\n",
        beams[_i].options, beams[_i].left, beams[_i].right);
    char *text = tree_of(_i, more);

    testing_tree(&t, text);
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    const double off = testing_distance(&d, &x);
    ck_assert_msg(off < beams[_i].bound, "off by %g, not %g", off, beams[_i].bound);
    testing_free(&d);
    testing_free(&x);
    free(more);
    free(text);
}
END_TEST

/* The same as by w-stacking, without terms, of several layers and of one. */
START_TEST(as_by_w_stacking)
{
    grove_session_options options = {.double_precision = true};
    const char *const layers[] = {"", ", layers=1, subgrid=48", ", layers=5"};
    char *more = grove_format("d = predict_image(im.pixels, obs, epsilon=1e-5, method=idg%s)\n"
                              "x = predict_image(im.pixels, obs, epsilon=1e-9, method=w_stack)\n",
                              layers[_i]);
    char *text = tree_of(0, more);

    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}, .centre = {3e-5, 0}};
    for (int k = 0; k < 24 * 27; k++)
        plane_now.stokes[k][0] = sin(k * k + 1);

    testing_tree(&t, text);
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    const double off = testing_distance(&d, &x);
    ck_assert_msg(off < 1e-5, "off by %g", off);
    testing_free(&d);
    testing_free(&x);
    free(more);
    free(text);
}
END_TEST

/* ---- adjoints ---- */

static double inner(const testing_value *a, const testing_value *b, double *size)
{
    double sum = 0;

    ck_assert_int_eq(a->cells * a->elements, b->cells * b->elements);
    for (int64_t i = 0; i < a->cells * a->elements; i++) {
        sum += creal(conj(a->at[i]) * b->at[i]);
        *size += cabs(a->at[i]) * cabs(b->at[i]);
    }
    return sum;
}

/* <grid(V), P> = <V, degrid(P)>, with terms of each station, for planes of anything. */
START_TEST(adjoints)
{
    double size = 0;
    char *text = tree_of(_i, "T = trace(V) / 2\n"
                             "g = grid(T" IMAGE ", method=idg, jones=E, weights=1)\n"
                             "P = g * exp(1i * abs(g) / 1Jy)\n"
                             "d = degrid(P" IMAGE ", method=idg, jones=E)\n");

    testing_tree(&t, text);
    testing_value g = probe_session(&t, "g", NULL, NULL), p = probe_session(&t, "P", NULL, NULL),
                  v = probe_session(&t, "T", NULL, NULL), d = probe_session(&t, "d", NULL, NULL);
    const double left = inner(&g, &p, &size), right = inner(&v, &d, &size);
    ck_assert_double_gt(fabs(left), 1e-8 * size);
    ck_assert_double_eq_tol(left, right, 1e-12 * size);
    testing_value *all[] = {&g, &p, &v, &d};
    for (int i = 0; i < 4; i++)
        testing_free(all[i]);
    free(text);
}
END_TEST

/* The same bits for any number of threads; other tiles differ by rounding, and by subgrids that end
 * elsewhere. */
START_TEST(tiles_and_threads)
{
    testing_value first[2] = {{0}};
    char *text = tree_of(2, "g = grid(V" IMAGE ", method=idg, jones=E)\n"
                            "d = degrid(g" IMAGE ", method=idg, jones=E)\n"
                            "b = dirty_image(V" IMAGE ", method=idg, jones=E)\n");

    testing_tree(&t, text);
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            grove_session_options options = {.threads = 1 + 2 * (i & 1),
                                             .double_precision = true,
                                             .tile_times = i > 1 ? 2 : 0,
                                             .tile_channels = i > 1 ? 3 : 0};
            testing_value x = probe_session(&t, k ? "d" : "b", &options, NULL);
            if (i == 1)
                ck_assert_mem_eq(x.at, first[k].at, (size_t)x.cells * sizeof(*x.at));
            else if (i)
                ck_assert_double_lt(testing_distance(&x, &first[k]), 3e-5);
            if (i)
                testing_free(&x);
            else
                first[k] = x;
        }
    testing_free(&first[0]);
    testing_free(&first[1]);
    free(text);
}
END_TEST

/* ---- what is wrong ---- */

START_TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"grid(V" IMAGE ", method=idg, subgrid=20)", "20 is none of 16, 24"},
        {"grid(V, obs, size=64, cell=1e-3rad, epsilon=1e-9, method=idg, subgrid=16)",
         "are too small for the support"},
        {"grid(V" IMAGE ", method=idg, layers=0)", "0 is not from 1 to"},
        {"grid(V" IMAGE ", subgrid=32)", "subgrid: goes with method=idg only"},
        {"dirty_image(V" IMAGE ", layers=2)", "layers: goes with method=idg only"},
        {"grid(V" IMAGE ", method=idg, exact=true)", "exact: goes with method=w_stack only"},
        {"grid(V, obs, size=60, cell=3e-5rad, method=idg, jones=E)", "it does not cover the image"},
        {"grid(V" IMAGE ", method=idg, jones=E * constant([1, 1], shape=diagonal))",
         "takes numbers, not matrices"},
        {"grid(V" IMAGE ", method=idg, jones=trace(V) / 2Jy)", "varies with baseline"},
        {"grid(V" IMAGE ", method=idg, jones=E, times=0)", "0 is not at least 1"},
        {"grid_correction(fft(grid(V" IMAGE ", method=idg))" IMAGE ")", "differ"},
        {"degrid(grid(V" IMAGE ")" IMAGE ", method=idg)", "differ"},
        {"dirty_image(V" IMAGE ", method=idg, bands=2)", "idg has no bands"},
        {"grid(V" IMAGE ", method=idg, bands=2)", "bands: method=idg has none"},
        {"dirty_image(V" IMAGE ", method=idg, stokes=\"IQ\")", "is for one Stokes parameter"},
        {"dirty_image(V" IMAGE ", method=idg, oversampling=9)", "goes with method=aw only"},
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
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes-idg");
    TCase *test = tcase_create("all");

    tcase_set_timeout(test, 120);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_loop_test(test, images_are_sums, 0, sizeof(images) / sizeof(images[0]));
    tcase_add_loop_test(test, pixels_are_points, 0, sizeof(beams) / sizeof(beams[0]));
    tcase_add_loop_test(test, as_by_w_stacking, 0, 3);
    tcase_add_loop_test(test, adjoints, 0, sizeof(beams) / sizeof(beams[0]));
    tcase_add_test(test, tiles_and_threads);
    tcase_add_test(test, wrong_calls);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
