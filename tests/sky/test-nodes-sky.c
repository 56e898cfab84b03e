/* Sources: directions, brightness, phases, shapes and smearing against long double sums. */
#include "tests/common/grid.h"

#include "nodes/common/coordinates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846L

TESTING_FIXTURE(grid_begin(&t))

static void tree(const char *definitions)
{
    char text[2048] = "obs = grid()\nS = field()\n";

    strcat(text, definitions);
    testing_tree(&t, text);
}

/* ---- coordinates ---- */

TEST(direction_cosines)
{
    tree("x = lmn(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.cells * x.elements, 3 * field_now.sources);
    for (int s = 0; s < field_now.sources; s++) {
        long double wanted[3];
        grid_lmn(s, wanted);
        for (int k = 0; k < 3; k++)
            ck_assert(fabsl(creal(x.at[3 * s + k]) - wanted[k]) < 2e-17L);
    }
    for (int k = 0; k < 3; k++)
        ck_assert(x.at[k] == 0);
}

TEST(directions_far_away)
{
    field_now.radec[1][0] = grid_now.phase_centre[0] + 3;
    field_now.radec[1][1] = -0.2;
    tree("x = lmn(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(creal(x.at[5]) < -1);
}

/* Closer to the centre than the root of 1 - l^2 - m^2 could tell. */
TEST(directions_very_near)
{
    field_now.radec[1][0] = grid_now.phase_centre[0];
    field_now.radec[1][1] = grid_now.phase_centre[1] + 1e-9;
    long double offset = (long double)field_now.radec[1][1] - grid_now.phase_centre[1];
    tree("x = lmn(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(fabsl(creal(x.at[4]) / offset - 1) < 1e-15L);
    ck_assert(fabsl(creal(x.at[5]) / (-offset * offset / 2) - 1) < 1e-15L);
}

/* The great circle from the phase centre leaves it at an angle from the m axis, which it keeps from
 * what that becomes, and arrives at another from north. */
TEST(absolute_angles)
{
    const double *centre = grid_now.phase_centre, *there = field_now.radec[2];
    double east = there[0] - centre[0];
    double arrives =
        atan2(-sin(east) * cos(centre[1]),
              cos(there[1]) * sin(centre[1]) - sin(there[1]) * cos(centre[1]) * cos(east));
    long double lmn[3];

    grid_lmn(2, lmn);
    double turn = remainder((double)atan2l(lmn[0], lmn[1]) - arrives - (double)PI, 2 * (double)PI);
    ck_assert(fabs(turn) > 1e-3);
    field_now.absolute[2] = 1;
    tree("x = shape(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.elements, 6);
    ck_assert(creal(x.at[12]) == 4e-5 && creal(x.at[13]) == 1e-5);
    ck_assert(fabs(creal(x.at[14]) - 0.6 - turn) < 1e-13);
    for (int d = 0; d < 3; d++) {
        ck_assert(fabsl(creal(x.at[15 + d]) - lmn[d]) < 2e-17L);
        ck_assert(x.at[27 + d] == 0);
    }
    ck_assert(creal(x.at[26]) == -1.1);
}

/* A unit vector, and those to the east and to the north of it. */
static void find_axes(const double radec[2], double axes[3][3])
{
    const double a = radec[0], d = radec[1];
    const double found[3][3] = {{cos(d) * cos(a), cos(d) * sin(a), sin(d)},
                                {-sin(a), cos(a), 0},
                                {-sin(d) * cos(a), -sin(d) * sin(a), cos(d)}};

    memcpy(axes, found, sizeof(found));
}

/* The sum over many points on the sky, whose weights are a Gaussian's, over that of their centre.
 */
static double complex sum_points(const double *uvw, double freq, const double *radec,
                                 const double shape[3])
{
    double centre[3][3], there[3][3], w[3], weights = 0;
    double complex sum = 0;

    find_axes(grid_now.phase_centre, centre);
    find_axes(radec, there);
    for (int d = 0; d < 3; d++) /* uvw along the axes of the equator */
        w[d] = uvw[0] * centre[1][d] + uvw[1] * centre[2][d] + uvw[2] * centre[0][d];
    for (int i = -40; i <= 40; i++)
        for (int j = -40; j <= 40; j++) {
            double x = shape[0] * i / 20, y = shape[1] * j / 20, turns = 0;
            double north = x * cos(shape[2]) - y * sin(shape[2]);
            double east = x * sin(shape[2]) + y * cos(shape[2]);
            double inward = -(east * east + north * north) / 2;
            double weight = exp2(-(i * i + j * j) / 100.0);
            for (int d = 0; d < 3; d++)
                turns += w[d] * (east * there[1][d] + north * there[2][d] + inward * there[0][d]) *
                         freq / 299792458.0;
            sum += weight * cexp(-2 * (double)PI * I * turns);
            weights += weight;
        }
    return sum / weights;
}

/* Gaussians whose angle counts from north are on the sky, wherever that is: near the phase centre,
 * far from it, at the pole, beyond the horizon. */
LOOP_TEST(gaussians_on_the_sky, 0, 5)
{
    static const double centres[][2] = {{1, 0.5}, {1, 0.5}, {1, 0.5}, {1, -1.2}, {2, 1.5707963}};
    static const double away[][2] = {{0.01, 0.01}, {0.2, -0.5}, {1, 0.3}, {2, 1.5}, {1.5, -0.9}};

    memcpy(grid_now.phase_centre, centres[_i], sizeof(centres[_i]));
    for (int d = 0; d < 2; d++)
        field_now.radec[2][d] = centres[_i][d] + away[_i][d];
    memcpy(field_now.shape[2], (double[]){4e-5, 1.3e-5, 0.6}, sizeof(field_now.shape[2]));
    field_now.absolute[2] = 1;
    tree("x = point(S, obs)\ny = point(S, obs, shape=0 * S.shape)\n"
         "z = predict(S, obs) - predict(S, obs, shape=0 * S.shape) - sum[s](x - y)\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    testing_value z = testing_evaluate(&t, "z");
    double least = 1;
    for (int b = 0; b < GRID_BASELINES; b++) {
        double uvw[3], rate[3];
        grid_uvw(1, b, uvw, rate);
        const int64_t at = 4 * ((2 * GRID_TIMES + 1) * GRID_BASELINES + b) * grid_now.channels;
        double complex wanted =
            sum_points(uvw, grid_now.freq[0], field_now.radec[2], field_now.shape[2]);
        ck_assert_msg(cabs(x.at[at] / y.at[at] - wanted) < 2e-4, "baseline %d: %g%+gi, not %g%+gi",
                      b, creal(x.at[at] / y.at[at]), cimag(x.at[at] / y.at[at]), creal(wanted),
                      cimag(wanted));
        least = fmin(least, cabs(wanted));
    }
    ck_assert_double_lt(least, 0.8); /* something is resolved */
    for (int64_t i = 0; i < z.cells * z.elements; i++)
        ck_assert(cabs(z.at[i]) < 1e-11);
}

TEST(shapes_of_a_wrong_length)
{
    const char *said = testing_faults(&t, "obs = grid()\nS = field()\nx = point(S, obs, "
                                          "shape=constant([0rad, 0rad], shape=vector))\n");

    ck_assert_msg(strstr(said, "a vector of 2; a shape has 3 elements, major, minor, angle, or 6, "
                               "with l, m, n - 1"),
                  "%s", said);
}

TEST(members_as_values)
{
    tree("a = 1 * obs.time\nb = 1 * obs.freq\nc = 1 * obs.uvw\nd = wavelength(obs)\n");
    testing_value a = testing_evaluate(&t, "a"), b = testing_evaluate(&t, "b");
    testing_value c = testing_evaluate(&t, "c"), d = testing_evaluate(&t, "d");
    double uvw[3], rate[3];
    grid_uvw(2, 5, uvw, rate);
    ck_assert(a.at[1] == grid_now.time[1] && b.at[7] == grid_now.freq[7]);
    for (int k = 0; k < 3; k++)
        ck_assert(c.at[3 * (2 * GRID_BASELINES + 5) + k] == uvw[k]);
    ck_assert(fabs(creal(d.at[7]) * grid_now.freq[7] / 299792458.0 - 1) < 1e-15);
}

/* ---- brightness ---- */

static void check_brightness(void)
{
    tree("x = brightness(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    for (int s = 0; s < field_now.sources; s++)
        for (int k = 0; k < grid_now.channels; k++) {
            long double complex wanted[4];
            grid_brightness(s, k, wanted);
            for (int e = 0; e < 4; e++)
                ck_assert(cabsl(x.at[4 * (s * grid_now.channels + k) + e] - wanted[e]) < 2e-15L);
        }
}

TEST(brightness_of_linear_and_circular_feeds)
{
    check_brightness();
    grid_now.feed = 1;
    check_brightness();
}

TEST(brightness_of_one_jansky)
{
    tree("x = brightness(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(x.at[0] == 1 && x.at[1] == 0 && x.at[2] == 0 && x.at[3] == 1);
}

/* An ordinary spectrum adds to an I of nothing; what is polarised stays. */
TEST(spectrum_of_nothing)
{
    field_now.stokes[5][0] = 0;
    tree("x = brightness(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    long double y = grid_now.freq[9] / 1e9L - 1, i = 0.1L * y + 0.2L * y * y;
    double complex *at = x.at + 4 * (5 * grid_now.channels + 9);
    ck_assert(fabsl(creal(at[0] + at[3]) - 2 * i) < 1e-15L);
    ck_assert(fabs(hypot(creal(at[0] - at[3]) / 2, creal(at[1])) - 0.1) < 1e-15);
}

/* At one frequency sources follow each other, each with its own spectrum and rotation. */
TEST(brightness_at_one_frequency)
{
    tree("x = brightness(S, obs, freq=1409MHz)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert(x.axes == 1 && grid_now.freq[9] == 1409e6);
    for (int s = 0; s < field_now.sources; s++) {
        long double complex wanted[4];
        grid_brightness(s, 9, wanted);
        for (int e = 0; e < 4; e++)
            ck_assert(cabsl(x.at[4 * s + e] - wanted[e]) < 2e-15L);
    }
}

/* Spectra beyond the range of numbers, and turns of which no digit is left. */
TEST(brightness_of_extreme_numbers)
{
    memset(field_now.measure, 0, sizeof(field_now.measure));
    tree("u = brightness(S, obs, logarithmic=1, spectrum=1e4, reference_frequency=1GHz)\n"
         "x = brightness(S, obs, logarithmic=1, spectrum=-1e4, reference_frequency=1GHz)\n"
         "y = brightness(S, obs, logarithmic=1, spectrum=-0.7, reference_frequency=1e-300Hz)\n"
         "z = brightness(S, obs, spectrum=0Jy, rotation_measure=5e17)\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    testing_value z = testing_evaluate(&t, "z"), u = testing_evaluate(&t, "u");
    for (int s = 0; s < field_now.sources; s++)
        for (int k = 0; k < grid_now.channels; k++) {
            int64_t at = 4 * (s * grid_now.channels + k);
            const double *stokes = field_now.stokes[s];
            ck_assert(!isfinite(creal(u.at[at])) && x.at[at] == 0 && x.at[at + 3] == 0);
            ck_assert(y.at[at] == 0 && y.at[at + 3] == 0);
            ck_assert_double_eq_tol(hypot(creal(z.at[at] - z.at[at + 3]) / 2, creal(z.at[at + 1])),
                                    hypot(stokes[1], stokes[2]), 1e-14);
        }
}

/* ---- phase and point ---- */

/* Flat spectra need no frequency axis; one that turns with frequency brings it back. */
TEST(brightness_that_is_flat)
{
    memset(field_now.spectrum, 0, sizeof(field_now.spectrum));
    memset(field_now.measure, 0, sizeof(field_now.measure));
    tree("x = brightness(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.axes, 1);
    for (int s = 0; s < field_now.sources; s++) {
        long double complex wanted[4];
        grid_brightness(s, grid_now.channels - 1, wanted);
        for (int e = 0; e < 4; e++)
            ck_assert(cabsl(x.at[4 * s + e] - wanted[e]) < 1e-15L);
    }
    field_now.measure[2] = 3;
    tree("x = brightness(S, obs)\n");
    x = testing_evaluate(&t, "x");
    ck_assert_int_eq(x.axes, 2);
}

TEST(phase_of_stations)
{
    tree("K[s,p] = phase(S, obs)\nx = K[s,p] * K[s,q]^H\n");
    for (int s = 0; s < field_now.sources; s++)
        field_now.shape[s][0] = field_now.shape[s][1] = 0;
    testing_value x = testing_evaluate(&t, "x");
    int64_t i = 0;
    for (int s = 0; s < field_now.sources; s++)
        for (int time = 0; time < GRID_TIMES; time++)
            for (int b = 0; b < GRID_BASELINES; b++)
                for (int k = 0; k < grid_now.channels; k++, i++)
                    ck_assert(cabsl(x.at[i] - grid_factor(s, time, b, k, 0)) < 2e-11L);
    ck_assert_int_eq(i, x.cells);
}

static void fill_truth(int smear, testing_value *x)
{
    int64_t i = 0;

    for (int s = 0; s < field_now.sources; s++)
        for (int time = 0; time < grid_now.times; time++)
            for (int b = 0; b < GRID_BASELINES; b++)
                for (int k = 0; k < grid_now.channels; k++, i++) {
                    long double complex v[4];
                    grid_visibility(s, time, b, k, smear, v);
                    for (int e = 0; e < 4; e++)
                        x->at[4 * i + e] = (double complex)v[e];
                }
    ck_assert_int_eq(i, x->cells);
}

static const char *const smears[] = {"none", "time", "freq", "both"};

TEST(point_against_long_double)
{
    for (int smear = 0; smear < 4; smear++)
        for (int way = 0; way < 4; way++) {
            char text[64];
            bool single = way & 1;
            grid_now.channels = way & 2 ? 1 : 70;
            snprintf(text, sizeof(text), "x = point(S, obs, smear=%s)\n", smears[smear]);
            t.double_precision = !single;
            tree(text);
            testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "x");
            fill_truth(smear, &y);
            double error = testing_distance(&x, &y);
            ck_assert_msg(error < (single ? 1e-7 : 1e-12), "%s: %g", smears[smear], error);
        }
}

/* What smearing does not need is neither read nor an axis of the result. */
TEST(smearing_not_wanted)
{
    tree("x = point(S, obs)\n");
    grove_node *x = testing_node(&t, "x");
    for (int k = 5; k < 8; k++)
        ck_assert_ptr_null(x->inputs[k].node);
    ck_assert_int_eq(x->axis_count, 4);
}

/* Exactly 1 at the phase centre and on baselines of nothing. */
TEST(point_where_nothing_turns)
{
    tree("x = point(S, obs, smear=both)\n");
    testing_value x = testing_evaluate(&t, "x");
    int64_t row = 4 * (int64_t)grid_now.channels;
    for (int64_t i = 0; i < GRID_TIMES * GRID_BASELINES * row; i++)
        ck_assert(x.at[i] == (i % 4 == 0 || i % 4 == 3));
    double complex *zero = x.at + 4 * GRID_TIMES * GRID_BASELINES * row; /* source 4, Gaussian */
    ck_assert(fabs(creal(zero[0]) - 0.71) < 1e-15 && fabs(creal(zero[3]) - 0.69) < 1e-15);
}

/* Test A: the mean over a cell of a phase that changes linearly, by sub-sampling it. Large
 * smearing: the phase turns several times. */
TEST(smearing_is_the_mean_of_a_linear_phase)
{
    enum { STEPS = 300 };
    field_now.radec[5][0] = grid_now.phase_centre[0] + 0.3;
    for (int k = 0; k < grid_now.channels; k++)
        grid_now.width[k] = 2e6;
    tree("x = point(S, obs, smear=both)\ny = point(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    for (int s = 1; s < 6; s += 4)
        for (int b = 1; b < 4; b++) {
            double uvw[3], rate[3];
            long double lmn[3], delay = 0, drift = 0;
            grid_uvw(1, b, uvw, rate);
            grid_lmn(s, lmn);
            for (int k = 0; k < 3; k++) {
                delay += uvw[k] * lmn[k] / 299792458.0L;
                drift += rate[k] * lmn[k] / 299792458.0L;
            }
            long double complex mean = 0;
            for (int i = 0; i < STEPS; i++)
                for (int j = 0; j < STEPS; j++) {
                    long double dt = ((i + 0.5L) / STEPS - 0.5L) * 60;
                    long double df = ((j + 0.5L) / STEPS - 0.5L) * 2e6L;
                    mean += cexpl(-2 * I * PI * (1.403e9L * drift * dt + delay * df));
                }
            mean /= STEPS * STEPS;
            int64_t at = 4 * (((s * GRID_TIMES + 1) * GRID_BASELINES + b) * 70LL + 3);
            long double complex got = (long double complex)x.at[at] / y.at[at];
            ck_assert_msg(cabsl(got - mean) < 1e-4L, "source %d baseline %d: %Lg, %Lg", s, b,
                          cabsl(got), cabsl(mean));
        }
}

/* Test B: the mean over the cell of the phase itself, in which time and frequency multiply: apart
 * by less than the largest neglected term. */
TEST(smearing_against_the_true_track)
{
    enum { STEPS = 200 };
    tree("x = point(S, obs, smear=both, shape=[0rad, 0rad, 0rad])\n");
    testing_value x = testing_evaluate(&t, "x");
    for (int b = 1; b < 4; b++) {
        double uvw[3], rate[3];
        long double lmn[3], delay = 0, drift = 0;
        long double complex mean = 0, brightness[4];
        grid_uvw(2, b, uvw, rate);
        grid_lmn(3, lmn);
        grid_brightness(3, 3, brightness);
        for (int k = 0; k < 3; k++) {
            delay += uvw[k] * lmn[k] / 299792458.0L;
            drift += rate[k] * lmn[k] / 299792458.0L;
        }
        for (int i = 0; i < STEPS; i++)
            for (int j = 0; j < STEPS; j++) {
                long double dt = ((i + 0.5L) / STEPS - 0.5L) * 60;
                long double nu = grid_now.freq[3] + ((j + 0.5L) / STEPS - 0.5L) * 1e6L;
                mean += cexpl(-2 * I * PI * nu * (delay + drift * dt));
            }
        mean *= brightness[0] / (STEPS * STEPS);
        long double bound = 2 * PI * fabsl(drift) * 30 * 0.5e6L + 1e-4L;
        int64_t at = 4 * (((3LL * GRID_TIMES + 2) * GRID_BASELINES + b) * 70 + 3);
        ck_assert(cabsl(x.at[at] - mean) < bound * cabsl(brightness[0]));
        ck_assert(bound < 0.01L);
    }
}

/* A source that is long from north to south is resolved by baselines along v. */
TEST(shape_lies_along_its_angle)
{
    field_now.shape[0][0] = 4e-5;
    memset(grid_now.start, 0, sizeof(grid_now.start));
    memset(grid_now.rate, 0, sizeof(grid_now.rate));
    grid_now.start[0][0] = 3000; /* baseline 0-1 lies along u */
    grid_now.start[2][1] = 3000; /* baseline 1-2 along v */
    tree("x = point(S, obs)\n");
    testing_value x = testing_evaluate(&t, "x");
    long double y = 3000 / (299792458.0L / 1.4e9L) * 4e-5L;
    long double resolved = expl(-PI * PI / (4 * logl(2)) * y * y);
    ck_assert(fabsl(creal(x.at[4 * 70 * 1]) - 1) < 1e-15L);
    ck_assert(fabsl(creal(x.at[4 * 70 * 5]) - resolved) < 1e-15L);
    ck_assert(resolved < 0.7L);
}

SUITE(120, setup, teardown)
