/* sky_grid: directions of pixels against vectors in long double, and beams as images. */
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE(grid_begin(&t))

static void tree(const char *definitions)
{
    char text[1024] = "obs = grid()\nS = field()\n";

    strcat(text, definitions);
    testing_tree(&t, text);
}

/* Pixels of a raster: vectors along the east, the north and the centre, and lmn the other way. */
LOOP_TEST(pixels_are_directions, 0, 3)
{
    static const struct {
        const char *options;
        double centre[2], cell[2];
        int size[2], middle[2]; /* where the phase centre is */
    } cases[] = {
        {"size=[5, 4], cell=[1e-3rad, 2e-3rad]", {1.4, 0.87}, {1e-3, 2e-3}, {5, 4}, {2, 2}},
        {"size=[8, 9], cell=0.15rad", {6.2, -1.5}, {0.15, 0.15}, {8, 9}, {3, 4}},
        /* the pole is in the field */
        {"size=7, cell=1e-8rad", {3, 1.5707963}, {1e-8, 1e-8}, {7, 7}, {3, 3}},
    };
    char text[200];

    memcpy(grid_now.phase_centre, cases[_i].centre, sizeof(grid_now.phase_centre));
    snprintf(text, sizeof(text), "R = sky_grid(obs, %s)\nx = 1 * R.radec\ny = lmn(R, obs)\n",
             cases[_i].options);
    tree(text);
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    const int nl = cases[_i].size[0], nm = cases[_i].size[1];
    ck_assert_str_eq(x.axis[0]->name, "m");
    ck_assert_str_eq(x.axis[1]->name, "l");
    ck_assert_int_eq(x.cells, (int64_t)nl * nm);
    long double sa = sinl(cases[_i].centre[0]), ca = cosl(cases[_i].centre[0]),
                sd = sinl(cases[_i].centre[1]), cd = cosl(cases[_i].centre[1]);
    for (int64_t i = 0; i < x.cells; i++) {
        long double l = (i % nl - cases[_i].middle[0]) * (long double)cases[_i].cell[0],
                    m = (i / nl - cases[_i].middle[1]) * (long double)cases[_i].cell[1],
                    n = sqrtl(1 - l * l - m * m);
        long double to[3] = {-sa * l - sd * ca * m + cd * ca * n,
                             ca * l - sd * sa * m + cd * sa * n, cd * m + sd * n};
        double ra = creal(x.at[2 * i]), dec = creal(x.at[2 * i + 1]);
        ck_assert_double_eq_tol(cos(dec) * cos(ra), to[0], 1e-15);
        ck_assert_double_eq_tol(cos(dec) * sin(ra), to[1], 1e-15);
        ck_assert_double_eq_tol(sin(dec), to[2], 1e-15);
        ck_assert_double_eq_tol(creal(y.at[3 * i]), l, 1e-15);
        ck_assert_double_eq_tol(creal(y.at[3 * i + 1]), m, 1e-15);
        ck_assert_double_eq_tol(creal(y.at[3 * i + 2]), n - 1, 1e-15);
        ck_assert_double_eq_tol(x.axis[1]->centre[i % nl], l, 1e-16);
        ck_assert_double_eq_tol(x.axis[0]->centre[i / nl], m, 1e-16);
    }
}

/* A beam on the pixels of an image is that towards sources there, and meets the image. */
TEST(beams_are_images)
{
    const double centre[] = {1.2, 0.5}, cell = 2e-3;

    memcpy(grid_now.phase_centre, centre, sizeof(centre));
    grid_now.channels = 3;
    field_now.sources = 3;
    for (int s = 0; s < 3; s++) {
        field_now.radec[s][0] = centre[0];
        field_now.radec[s][1] = centre[1] + asin((s - 1) * cell);
    }
    tree("R = sky_grid(obs, size=[4, 3], cell=2e-3rad)\nE[p] = beam_airy(R, obs, diameter=25m)\n"
         "T[s,p] = beam_airy(S, obs, diameter=25m)\n"
         "D = dirty_image(noise(obs, sigma=1Jy), obs, size=[4, 3], cell=2e-3rad)\n"
         "x = D / mean(E * E, over=freq)\n");
    testing_value e = probe_session(&t, "E", NULL, NULL), s = probe_session(&t, "T", NULL, NULL),
                  d = probe_session(&t, "D", NULL, NULL), x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(e.cells, 3 * 3 * 4);
    ck_assert_int_eq(s.cells, 3 * 3);
    const int freq = !strcmp(e.axis[0]->name, "freq") ? 12 : 1, pixel = freq == 1 ? 3 : 1,
              freq_s = !strcmp(s.axis[0]->name, "freq") ? 3 : 1, source = freq_s == 1 ? 3 : 1;
    for (int k = 0; k < 3; k++)
        for (int f = 0; f < 3; f++)
            ck_assert_double_eq_tol(creal(e.at[pixel * (4 * k + 1) + freq * f]),
                                    creal(s.at[source * k + freq_s * f]), 1e-13);
    ck_assert_int_eq(x.cells, 12);
    for (int i = 0; i < 12; i++) {
        double mean = 0;
        for (int f = 0; f < 3; f++)
            mean += pow(creal(e.at[pixel * i + freq * f]), 2) / 3;
        ck_assert_double_eq_tol(creal(x.at[i]) * mean, creal(d.at[i]), 1e-6 * fabs(creal(d.at[i])));
    }
}

TEST(pixels_beyond_the_horizon)
{
    const char *said =
        testing_faults(&t, "obs = grid()\nR = sky_grid(obs, size=100, cell=0.02rad)\n"
                           "x = 1 * R.radec\n");
    ck_assert_msg(strstr(said, "beyond the horizon of the phase centre") != NULL, "%s", said);
    said = testing_faults(&t, "obs = grid()\nR = sky_grid(obs, size=0, cell=0.02rad)\n");
    ck_assert_msg(strstr(said, "0 is not a whole number from 1") != NULL, "%s", said);
}

SUITE(60, setup, teardown)
