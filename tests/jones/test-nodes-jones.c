/* Jones terms and noise: beams against tables and closed forms, random numbers by their statistics
 * and by what they may not depend on. */
#include "tests/common/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

TESTING_FIXTURE(grid_begin(&t))

static void tree(const char *definitions)
{
    char text[2048] = "obs = grid()\nS = field()\n";

    strcat(text, definitions);
    testing_tree(&t, text);
}

static testing_value value_of(const char *definitions)
{
    tree(definitions);
    return testing_evaluate(&t, "x");
}

/* Sources to the north at these angles from the phase centre. */
static void set_angles(const double *angle, int count)
{
    field_now.sources = count;
    for (int s = 0; s < count; s++) {
        field_now.radec[s][0] = grid_now.phase_centre[0];
        field_now.radec[s][1] = grid_now.phase_centre[1] + angle[s];
    }
}

/* ---- beams ---- */

/* J1 from Abramowitz & Stegun, table 9.1, and its first zero from table 9.5. */
TEST(airy_pattern)
{
    static const double x[] = {0.5, 1, 2, 3.8317059702, 5, 10};
    static const double j1_of[] = {0.2422684577, 0.4400505857, 0.5767248078, 0,
                                   -.3275791376, 0.0434727462};
    double angle[6];

    for (int s = 0; s < 6; s++)
        angle[s] = asin(x[s] * 299792458.0 / (PI * 25 * grid_now.freq[0]));
    set_angles(angle, 6);
    testing_value v = value_of("x = beam_airy(S, obs, diameter=25m)\n");
    for (int s = 0; s < 6; s++)
        ck_assert(fabs(creal(v.at[s * grid_now.channels]) - 2 * j1_of[s] / x[s]) < 1.1e-10);
}

/* The series near the axis meets the function. */
TEST(airy_near_the_axis)
{
    double scale = 299792458.0 / (PI * 25 * grid_now.freq[0]);
    double angle[] = {0, 1e-9 * scale, 0.009999 * scale, 0.010001 * scale, 2, 3};

    set_angles(angle, 6);
    testing_value v = value_of("x = beam_airy(S, obs)\n");
    int n = grid_now.channels;
    ck_assert(v.at[0] == 1 && creal(v.at[n]) == 1);
    ck_assert(fabs(creal(v.at[2 * n]) - (1 - 0.009999 * 0.009999 / 8 + 5.208e-11)) < 1e-13);
    ck_assert(fabs(creal(v.at[3 * n]) - (1 - 0.010001 * 0.010001 / 8 + 5.208e-11)) < 1e-13);
    ck_assert(v.at[4 * n] == 0 && v.at[5 * n] == 0);
}

TEST(gaussian_beam)
{
    double angle[] = {0, 0.005, 0.01, 0.02, 2};

    set_angles(angle, 5);
    testing_value v = value_of("x = beam_gaussian(S, obs, fwhm=0.02rad)\n");
    ck_assert_int_eq(v.cells, 5);
    ck_assert(v.at[0] == 1 && v.at[4] == 0);
    for (int s = 1; s < 4; s++) {
        double power = creal(v.at[s]) * creal(v.at[s]);
        ck_assert(fabs(power - pow(2, -pow(angle[s] / 0.01, 2))) < 1e-10);
    }
}

/* Half of the power at half of 1.029 lambda / D; that is where the Airy pattern has it, too. */
TEST(gaussian_beam_of_a_dish)
{
    double angle[1] = {1.029 / 2 * 299792458.0 / (25 * grid_now.freq[0])};

    set_angles(angle, 1);
    testing_value v = value_of("x = beam_gaussian(S, obs, diameter=25m)\n");
    ck_assert(fabs(creal(v.at[0]) - sqrt(0.5)) < 1e-9);
    v = value_of("x = beam_airy(S, obs, diameter=25m)\n");
    ck_assert(fabs(creal(v.at[0]) - sqrt(0.5)) < 2e-4);
}

TEST(wrong_beams_are_told)
{
    static const struct {
        const char *definition, *message;
    } cases[] = {
        {"beam_airy(S, obs, diameter=0m)", "0 m is not a diameter"},
        {"beam_airy(S, obs, diameter=25s)", "option 'diameter' must be a length, got 25"},
        {"beam_gaussian(S, obs, fwhm=-1deg)", "is not a width"},
        {"beam_gaussian(S, obs, factor=0)", "0 is not positive"},
        {"noise(obs)", "give one of sigma and sefd"},
        {"noise(obs, sefd=1Jy, sigma=1Jy)", "give one of sigma and sefd"},
        {"noise(obs, sefd=-1Jy)", "-1 Jy is negative"},
        {"gains(obs, kind=sine, period=0s)", "0 s is not a period"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        snprintf(text, sizeof(text), "obs = grid()\nS = field()\nx = %s\n", cases[i].definition);
        const char *said = testing_faults(&t, text);
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s", said);
    }
}

/* ---- gains ---- */

TEST(gains_by_kind)
{
    testing_value a = value_of("x = gains(obs, kind=constant, seed=3)\n");
    ck_assert_int_eq(a.cells, GRID_STATIONS);
    testing_value b = value_of("x = gains(obs, kind=sine, seed=3)\n");
    ck_assert_int_eq(b.cells, GRID_STATIONS * GRID_TIMES);
    testing_value c = value_of("x = gains(obs, kind=constant, seed=4)\n");
    for (int p = 0; p < GRID_STATIONS; p++) {
        ck_assert(cabs(a.at[p] - 1) > 1e-6 && a.at[p] != c.at[p]);
        for (int q = 0; q < p; q++)
            ck_assert(a.at[p] != a.at[q]);
    }
}

TEST(gains_by_jones)
{
    testing_value a = value_of("x = gains(obs, jones=diagonal, amplitude=0)\n");
    ck_assert_int_eq(a.elements, 2);
    for (int i = 0; i < 2 * GRID_STATIONS; i++)
        ck_assert(fabs(cabs(a.at[i]) - 1) < 1e-15 && cimag(a.at[i]) != 0);
    a = value_of("x = gains(obs, jones=matrix, phase=0deg, amplitude=0.01)\n");
    for (int p = 0; p < GRID_STATIONS; p++) {
        ck_assert(cimag(a.at[4 * p]) == 0 && cimag(a.at[4 * p + 3]) == 0);
        ck_assert(cabs(a.at[4 * p + 1]) < 0.06 && cabs(a.at[4 * p + 2]) < 0.06);
        ck_assert(cabs(a.at[4 * p + 1]) > 0 && a.at[4 * p + 1] != a.at[4 * p + 2]);
    }
}

/* A time has its gains whatever other times there are; only the first counts. */
TEST(gains_depend_on_their_own_time)
{
    static const char *const kinds[] = {"sine", "random_walk"};

    for (int i = 0; i < 2; i++) {
        char text[128];
        snprintf(text, sizeof(text), "x = gains(obs, kind=%s, period=100s)\n", kinds[i]);
        grid_reset();
        testing_value a = value_of(text);
        grid_now.times = 2;
        grid_now.time[1] = grid_now.time[3];
        testing_value b = value_of(text);
        for (int p = 0; p < GRID_STATIONS; p++)
            ck_assert(a.at[3 * GRID_STATIONS + p] == b.at[GRID_STATIONS + p]);
    }
}

TEST(sine_gains_have_their_period)
{
    grid_now.time[1] = grid_now.time[0] + 50;
    grid_now.time[2] = grid_now.time[0] + 100;
    testing_value x = value_of("x = gains(obs, kind=sine, phase=0deg, period=100s)\n");
    for (int p = 0; p < GRID_STATIONS; p++) {
        double first = log(creal(x.at[p])), half = log(creal(x.at[GRID_STATIONS + p]));
        ck_assert(fabs(first) <= 0.1 && fabs(first + half) < 1e-13);
        ck_assert(fabs(log(creal(x.at[2 * GRID_STATIONS + p])) - first) < 1e-13);
    }
}

/* Over many seeds: constant errors are standard normal; a walk starts at 0, its variance is the
 * time, and its increments do not depend on each other. */
TEST(statistics_of_gains)
{
    enum { SEEDS = 1500 };
    double constant[3] = {0}, walk[4] = {0};
    const double n = SEEDS * GRID_STATIONS;

    grid_now.times = 3;
    grid_now.time[1] = grid_now.time[0] + 37;
    grid_now.time[2] = grid_now.time[0] + 137;
    for (int seed = 0; seed < SEEDS; seed++) {
        char text[256];
        snprintf(text, sizeof(text),
                 "y = gains(obs, seed=%d)\n"
                 "x = gains(obs, kind=random_walk, period=1000s, amplitude=1, seed=%d)\n",
                 seed, seed);
        testing_value x = value_of(text), y = testing_evaluate(&t, "y");
        for (int p = 0; p < GRID_STATIONS; p++) {
            double a = log(cabs(y.at[p])) / 0.1, b = carg(y.at[p]) / 0.1;
            double one = log(cabs(x.at[GRID_STATIONS + p]));
            double two = log(cabs(x.at[2 * GRID_STATIONS + p])) - one;
            constant[0] += a / n;
            constant[1] += (a * a + b * b) / 2 / n;
            constant[2] += a * b / n;
            ck_assert(x.at[p] == 1);
            walk[0] += one * one / n;
            walk[1] += two * two / n;
            walk[2] += one * two / n;
        }
    }
    ck_assert(fabs(constant[0]) < 4 / sqrt(n));
    ck_assert(fabs(constant[1] - 1) < 4 / sqrt(n));
    ck_assert(fabs(constant[2]) < 4 / sqrt(n));
    ck_assert_msg(fabs(walk[0] - 0.037) < 0.037 * 6 / sqrt(n), "%g", walk[0]);
    ck_assert_msg(fabs(walk[1] - 0.1) < 0.1 * 6 / sqrt(n), "%g", walk[1]);
    ck_assert_msg(fabs(walk[2]) < sqrt(0.037 * 0.1) * 4 / sqrt(n), "%g", walk[2]);
}

/* ---- noise ---- */

TEST(statistics_of_noise)
{
    testing_value x = value_of("x = noise(obs, sigma=2Jy, seed=5)\n");
    double mean[2] = {0}, square[2] = {0}, cross = 0, fourth = 0, neighbours = 0;
    const int64_t count = x.cells * 4;
    const double n = (double)count;

    ck_assert_int_eq(x.cells, GRID_TIMES * GRID_BASELINES * 70);
    for (int64_t i = 0; i < count; i++) {
        double re = creal(x.at[i]) / 2, im = cimag(x.at[i]) / 2;
        mean[0] += re / n;
        mean[1] += im / n;
        square[0] += re * re / n;
        square[1] += im * im / n;
        cross += re * im / n;
        fourth += re * re * re * re / n;
        neighbours += re * creal(x.at[(i + 1) % count]) / 2 / n;
    }
    for (int k = 0; k < 2; k++) {
        ck_assert(fabs(mean[k]) < 4 / sqrt(n));
        ck_assert(fabs(square[k] - 1) < 4 * sqrt(2 / n));
    }
    ck_assert(fabs(cross) < 4 / sqrt(n) && fabs(neighbours) < 4 / sqrt(n));
    ck_assert(fabs(fourth - 3) < 4 * sqrt(96 / n));
}

/* sefd / sqrt(2 * 1 MHz * 60 s) = sefd / 10954.45: the same numbers with another size. */
TEST(noise_of_a_receiver)
{
    tree("x = noise(obs, sefd=420Jy, seed=5)\ny = noise(obs, sigma=1Jy, seed=5)\n"
         "z = noise(obs, sigma=1Jy, seed=6)\n");
    testing_value x = testing_evaluate(&t, "x"), y = testing_evaluate(&t, "y");
    testing_value z = testing_evaluate(&t, "z");
    for (int64_t i = 0; i < 4 * x.cells; i++) {
        ck_assert(cabs(x.at[i] - 420 / 10954.451150103322 * y.at[i]) < 1e-14);
        ck_assert(y.at[i] != z.at[i]);
    }
}

/* Known answers of Philox4x32-10 (Random123, kat_vectors). */
TEST(random_numbers_are_philox)
{
    static const uint64_t key[] = {0, UINT64_MAX, 0x299f31d0a4093822u};
    static const uint64_t counters[][4] = {
        {0, 0, 0, 0},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
    };
    static const uint64_t answer[][2] = {
        {0xe169c58d6627e8d5u, 0x9b00dbd8bc57ac4cu},
        {0x41c83b0e408f276du, 0x6d5451fda20bc7c6u},
        {0x94fdccebd16cfe09u, 0x24126ea15001e420u},
    };

    for (int i = 0; i < 3; i++) {
        const uint64_t *at = counters[i];
        uint64_t bits[2];
        grove_random_block(key[i], at[0], at[1], at[2], at[3], bits);
        ck_assert_uint_eq(bits[0], answer[i][0]);
        ck_assert_uint_eq(bits[1], answer[i][1]);
    }
}

/* Every instruction set draws the numbers that the public function does. */
TEST(noise_on_every_processor)
{
    static const char *const sets[] = {"portable", "avx2", "avx512"};
    static const char noisy[] = "obs = grid()\nx = noise(obs, sigma=1Jy)\n";

    for (int k = 0; k < 3; k++) {
        setenv("GROVE_ISA", sets[k], 1);
        if (!testing_try(&t, noisy)) /* this processor lacks it */
            continue;
        testing_value x = value_of("x = noise(obs, sigma=2Jy, seed=5)\n");
        for (int64_t i = 0; i < 4 * x.cells; i++) {
            int64_t row = i / 4 / 70;
            double normal[2];
            int p, q;
            grid_pair((int)(row % GRID_BASELINES), &p, &q);
            grove_random_normal(5, (uint64_t)(row / GRID_BASELINES), (uint64_t)p, (uint64_t)q,
                                (uint64_t)(i % (4 * 70)), normal);
            ck_assert(cabs(x.at[i] - 2 * (normal[0] + I * normal[1])) < 1e-14);
        }
    }
    setenv("GROVE_ISA", "mmx", 1);
    ck_assert(strstr(testing_faults(&t, noisy), "it takes avx512, avx2 or portable") != NULL);
    unsetenv("GROVE_ISA");
}

/* More channels or times do not change the numbers of those that were there. */
TEST(noise_depends_on_its_own_place)
{
    testing_value x = value_of("x = noise(obs, sigma=1Jy)\n");
    grid_now.channels = 20;
    grid_now.times = 2;
    testing_value y = value_of("x = noise(obs, sigma=1Jy)\n");
    for (int row = 0; row < 2 * GRID_BASELINES; row++)
        ck_assert(!memcmp(&x.at[4 * 70 * row], &y.at[4 * 20 * row], 80 * sizeof(*x.at)));
}

SUITE(120, setup, teardown)
