/* g2g and its diagonal: images and grids against degrid and grid of the same functions, and against
 * the Fourier sums with w; made once for many images; what grove check foretells; messages. */
#include "image-testing.h"
#include "probe.h"

#include "base/text.h"
#include "run/session.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

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

START_TEST(as_degrid_and_grid)
{
    for (int k = 0; k < 2; k++) {
        const char *max = strstr(calls[_i], "max_uvw");
        char *text = grove_format(
            "%sP = fft(grid_correction(im.pixels" STAGE ", w_terms=false%s%s))\n"
            "x = g2g(P" STAGE ", method=g2g, %s)\ny = g2g(P" STAGE ", method=degrid, %s)\n",
            begin_tree(), max ? ", " : "", max ? max : "", calls[_i], calls[_i]);
        const grove_session_options options = {.double_precision = k};
        testing_tree(&t, text);
        testing_value x = probe_session(&t, "x", &options, NULL),
                      y = probe_session(&t, "y", &options, NULL);
        ck_assert_int_eq(x.cells, y.cells);
        ck_assert_double_lt(testing_distance(&x, &y), k ? 1e-13 : 2e-6);
        testing_free(&x);
        testing_free(&y);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("nodes-g2g");
    TCase *test = tcase_create("g2g");

    tcase_set_timeout(test, 300);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_add_loop_test(test, as_degrid_and_grid, 0, sizeof(calls) / sizeof(*calls));
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
