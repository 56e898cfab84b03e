/* Other fits than of gains: positions and fluxes of sources, with their errors; classes of plugins
 * that say nothing of derivatives. */
#include "solve-world.h"

#include "base/text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "solve-plugin.h"
#include "kernel.h"

extern const grove_class grove_class_beam_cos3; /* examples/plugin */

static solve_world w;

/* ---- a plugin that declares nothing ---- */

static const grove_port saturate_inputs[] = {
    {"x", GROVE_VALUE, "a number", .handing = GROVE_AS_COMPLEX}, {0}};
static const grove_kernel saturate_kernel = GROVE_KERNEL(solve_saturate);
static const grove_class class_saturate = {
    GROVE_CLASS_HEAD(saturate), .doc = "For tests.", .inputs = saturate_inputs,
    .output = GROVE_FORM(.shape = GROVE_SCALAR, .complex_ = true), .kernel = &saturate_kernel};

static void setup(void)
{
    solve_world_begin(&w);
    ck_assert_int_eq(grove_classes_add(w.t.classes, &class_saturate, w.t.error), 0);
    ck_assert_int_eq(grove_classes_add(w.t.classes, &grove_class_beam_cos3, w.t.error), 0);
}

static void teardown(void)
{
    solve_world_end(&w);
}

static const char *const ways[] = {"", ", compress=false", ", method=lm"};

/* Gains of stations that saturate, of either side of the model. */
LOOP_TEST(undeclared, 0, 3)
{
    solve_world_pass(&w,
                     suite_text("x[p] = parm(\"x\", init=0.8, complex=true, time=4min)\n"
                                "y[p] = draw(obs, times=2, around=0.7).value\n"
                                "V[p,q] = saturate(x[p]) * M[p,q] * saturate(x[q])^H\n"
                                "D[p,q] = saturate(y[p]) * M[p,q] * saturate(y[q])^H\n"
                                "fit = solve(V, D, tolerance=1e-12, max_iterations=200%s)\n"
                                "k0 = keep(x + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                                "k1 = keep(y + 0 * obs.freq / 1Hz + 0 * obs.time / 1s, number=1)\n"
                                "k2 = keep(V, number=2)\nk3 = keep(D, number=3)\n",
                                ways[_i]));
    ck_assert_msg(strstr(solve_world_said, "6 converged") != NULL, "%s", solve_world_said);
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-8);
}

/* The plugin of the examples in the model of a fit, and what it depends on. */
LOOP_TEST(example_plugin, 0, 3)
{
    solve_world_pass(
        &w, suite_text("k = parm(\"k\", init=1, step=0.1)\n"
                       "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                       "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                       "E[s,p] = beam_cos3(S, obs, freq=k * obs.freq)\nF[s,p] = "
                       "beam_cos3(S, obs, freq=1.7 * obs.freq)\n"
                       "V[p,q] = G[p] * sum[s](E[s,p] * point(S, obs) * E[s,q]^H) * G[q]^H\n"
                       "D[p,q] = T[p] * sum[s](F[s,p] * point(S, obs) * F[s,q]^H) * T[q]^H\n"
                       "fit = solve(V, D, tolerance=1e-12, max_iterations=200%s)\n"
                       "k0 = keep(G + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                       "k1 = keep(T + 0 * obs.freq / 1Hz + 0 * obs.time / 1s, number=1)\n"
                       "k2 = keep(k + 0 * obs.freq / 1Hz, number=2)\n",
                       ways[_i]));
    ck_assert_msg(fabs(creal(solve_world_kept[2].at[0]) - 1.7) < 1e-8, "%.12g",
                  creal(solve_world_kept[2].at[0]));
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-8);
}

/* ---- positions and fluxes ---- */

enum { SOURCES = 3, TIMES = 12, BASELINES = 28, CHANNELS = 6, UNKNOWNS = 3 * SOURCES };
enum { FLUX, RIGHT, DECLINATION }; /* of a source; angles in rad */

static const char catalogue[] = "FORMAT = Name, Type, Ra, Dec, I\n"
                                "a, POINT, 05:00:00, +45.00.00, 5\n"
                                "b, POINT, 05:02:40, +45.25.00, 5\n"
                                "c, POINT, 04:57:10, +44.31.00, 5\n";
static const double hour = M_PI / 12, degree = M_PI / 180, arcsec = M_PI / 180 / 3600;

/* Where the sources are, from the catalogue, and how bright. */
static const double offsets[SOURCES][3] = {{8, 12, -7}, {3, -15, 20}, {4, 9, 14}};

static void find_truth(double x[UNKNOWNS])
{
    const double right[] = {5 * hour, (5 + 2 / 60.0 + 40 / 3600.0) * hour,
                            (4 + 57 / 60.0 + 10 / 3600.0) * hour},
                 declination[] = {45 * degree, (45 + 25 / 60.0) * degree,
                                  (44 + 31 / 60.0) * degree};

    for (int s = 0; s < SOURCES; s++) {
        x[3 * s + FLUX] = offsets[s][FLUX];
        x[3 * s + RIGHT] = right[s] + offsets[s][RIGHT] * arcsec;
        x[3 * s + DECLINATION] = declination[s] + offsets[s][DECLINATION] * arcsec;
    }
}

/* XX = YY of a baseline with these coordinates in wavelengths (Thompson, Moran and Swenson, 3.1).
 */
static double complex visibility(const double x[UNKNOWNS], const double uvw[3])
{
    double complex sum = 0;

    for (int s = 0; s < SOURCES; s++) {
        double a = x[3 * s + RIGHT] - 5 * hour, d = x[3 * s + DECLINATION], d0 = 45 * degree;
        double l = cos(d) * sin(a), m = sin(d) * cos(d0) - cos(d) * sin(d0) * cos(a);
        double n = sqrt(1 - l * l - m * m);
        sum += x[3 * s + FLUX] *
               cexp(CMPLX(0, -2 * M_PI * (uvw[0] * l + uvw[1] * m + uvw[2] * (n - 1))));
    }
    return sum;
}

/* The covariance of the unknowns for noise of 1 in real and imaginary parts of XX and YY, at times
 * [first, end); uvw: keep(number=1). By central differences, and Gauss and Jordan. */
static void find_covariance(const double x[UNKNOWNS], int first, int end,
                            double matrix[UNKNOWNS][UNKNOWNS])
{
    memset(matrix, 0, UNKNOWNS * sizeof(matrix[0]));
    for (int cell = first * BASELINES; cell < end * BASELINES; cell++)
        for (int f = 0; f < CHANNELS; f++) {
            double complex slope[UNKNOWNS];
            double uvw[3];
            for (int i = 0; i < 3; i++)
                uvw[i] =
                    creal(solve_world_kept[1].at[3 * cell + i]) * (150e6 + 2e6 * f) / 299792458.0;
            for (int j = 0; j < UNKNOWNS; j++) {
                double y[UNKNOWNS], h = j % 3 == FLUX ? 1e-3 : 0.1 * arcsec;
                memcpy(y, x, sizeof(y));
                y[j] = x[j] + h;
                slope[j] = visibility(y, uvw);
                y[j] = x[j] - h;
                slope[j] = (slope[j] - visibility(y, uvw)) / (2 * h);
            }
            for (int j = 0; j < UNKNOWNS; j++)
                for (int k = 0; k < UNKNOWNS; k++)
                    matrix[j][k] += 2 * creal(conj(slope[j]) * slope[k]);
        }
    for (int k = 0; k < UNKNOWNS; k++) {
        double pivot = matrix[k][k];
        matrix[k][k] = 1;
        for (int j = 0; j < UNKNOWNS; j++)
            matrix[k][j] /= pivot;
        for (int i = 0; i < UNKNOWNS; i++) {
            double factor = matrix[i][k];
            if (i == k)
                continue;
            matrix[i][k] = 0;
            for (int j = 0; j < UNKNOWNS; j++)
                matrix[i][j] -= factor * matrix[k][j];
        }
    }
}

static const struct {
    const char *intervals, *steps;
    int each; /* times */
} observations[] = {
    {"", "", TIMES}, {", time=2min", ", step=10arcsec", 1}, {", time=8min", ", step=1arcsec", 4}};

/* keep 0 has what was found, of [source time], keep 1 the baselines' coordinates. */
static void fit_sources(const double truth[UNKNOWNS], const char *intervals, const char *steps,
                        const char *noise)
{
    char *lines = strdup("FORMAT = Name, Type, Ra, Dec, I\n");

    for (int s = 0; s < SOURCES; s++) {
        char *more = grove_format("%ss%d, POINT, %.12fdeg, %.12fdeg, %g\n", lines, s,
                                  truth[3 * s + RIGHT] / degree,
                                  truth[3 * s + DECLINATION] / degree, truth[3 * s]);
        free(lines);
        lines = more;
    }
    const char *start = testing_file(&w.t, "catalogue.txt", catalogue);
    const char *real_sky = testing_file(&w.t, "truth.txt", lines);
    char *text =
        grove_format("A = sky_model(\"%s\")\nR = sky_model(\"%s\")\n"
                     "I[s] = parm(\"I\", sky=A, obs=obs, init=5Jy%s)\n"
                     "ra[s] = parm(\"ra\", sky=A, obs=obs, init=0rad%s%s)\n"
                     "dec[s] = parm(\"dec\", sky=A, obs=obs, init=0rad%s%s)\n"
                     "place = lmn(A, obs, radec=A.radec + vector(ra, dec))\n"
                     "bright = brightness(A, obs, stokes=vector(I, 0, 0, 0))\n"
                     "V[p,q] = sum[s](point(A, obs, brightness=bright, lmn=place))\n"
                     "D[p,q] = sum[s](point(R, obs))%s\n"
                     "fit = solve(V, D, tolerance=1e-9)\n"
                     "k0 = keep(vector(I / 1Jy + 0 * obs.time / 1s, ra / 1rad, dec / 1rad))\n"
                     "k1 = keep(obs.uvw / 1m, number=1)\n",
                     start, real_sky, intervals, intervals, steps, intervals, steps, noise);
    solve_world_pass(&w, text);
    free(text);
    free(lines);
}

LOOP_TEST(sources, 0, 6)
{
    int each = observations[_i % 3].each;
    bool noise = _i / 3;
    double truth[UNKNOWNS], square = 0;

    find_truth(truth);
    fit_sources(truth, observations[_i % 3].intervals, observations[_i % 3].steps,
                noise ? " + noise(obs, sigma=1Jy)" : "");
    const solve_kept *found = &solve_world_kept[0];
    ck_assert_int_eq(found->cells, SOURCES * TIMES);
    ck_assert_int_eq(found->elements, 3);
    ck_assert_int_eq(found->kind[0], GROVE_AXIS_SOURCE);
    for (int t = 0; t < TIMES; t += each) {
        double covariance[UNKNOWNS][UNKNOWNS];
        find_covariance(truth, t, t + each, covariance);
        for (int s = 0; s < SOURCES; s++)
            for (int i = 0; i < 3; i++) {
                double off = creal(found->at[(s * TIMES + t) * 3 + i]) -
                             offsets[s][i] * (i == FLUX ? 1 : arcsec);
                double pull = off / sqrt(covariance[3 * s + i][3 * s + i]);
                ck_assert_msg(fabs(pull) < (noise ? 4 : 1e-4), "source %d, %d: %g of %g", s, i,
                              pull, off);
                square += pull * pull * each / (UNKNOWNS * TIMES);
            }
    }
    double scatter = sqrt(2.0 * each / (UNKNOWNS * TIMES));
    ck_assert_msg(!noise || fabs(square - 1) < 4 * scatter, "%g, %g", square, scatter);
}

SUITE(60, setup, teardown)
