/* Functions of Jones terms of any shape, of each station, that vary with time and frequency:
 * predictions against sums of point with the same terms, adjoints for every set of polarisations,
 * tiles. */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "run/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

#define SIZE  ", size=[24, 27], cell=3e-5rad, epsilon=1e-5"
#define IMAGE ", obs" SIZE
#define AIRY  "beam_airy(RASTER, obs, diameter=50m, freq=1.4GHz)"

/* Terms with RASTER in place of a sky; `jones` of it in the Fourier sum. */
static const struct {
    const char *terms, *left, *right, *stokes;
    int oversampling;
    bool scalar;
} cases[] = {
    {"constant([1, 0.2i, -0.1, 0.8 + 0.1i], shape=matrix) * " AIRY, "J", "J", "IQUV", 32, false},
    {"constant([1, 0.2i, -0.1, 0.8 + 0.1i], shape=matrix) * " AIRY, "J", "J", "I", 32, false},
    {"constant([1, 0.6 - 0.5i], shape=diagonal) * beam_airy(RASTER, obs, diameter=50m)", "J", "J",
     "IQUV", 16, false},
    {"constant([1, 0.6 - 0.5i], shape=diagonal) * " AIRY, "J", "J", "QV", 32, false},
    {"gains(obs, kind=sine, jones=matrix, amplitude=0.3, seed=3) * " AIRY, "J[p]", "J[q]", "I", 9,
     false},
    {"gains(obs, kind=sine, jones=diagonal, amplitude=0.3, seed=3) * " AIRY, "J[p]", "J[q]", "UI",
     9, false},
    {"gains(obs, amplitude=0.3, seed=3) * " AIRY, "J[p]", "J[q]", "I", 24, true},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* The terms of a raster of that name. */
static char *terms_of(int i, const char *raster)
{
    const char *at = strstr(cases[i].terms, "RASTER");

    return suite_text("%.*s%s%s", (int)(at - cases[i].terms), cases[i].terms, raster,
                      at + strlen("RASTER"));
}

static const double parameters[4] = {1, 0.3, -0.2, 0.1};

/* Stokes parameters of the image as a vector, or a matrix, in the text of a tree. */
static char *put_stokes(const char *stokes, bool matrix)
{
    double s[4] = {0};
    char *text = grove_format("constant([");

    for (int k = 0; stokes[k]; k++) {
        const int i = (int)(strchr("IQUV", stokes[k]) - "IQUV");
        s[i] = parameters[i];
        char *longer = grove_format("%s%s%gJy", text, k ? ", " : "", s[i]);
        free(text);
        text = longer;
    }
    char *all = matrix ? grove_format("1Jy * constant([%g, %g + %gi, %g - %gi, %g], shape=matrix)",
                                      s[0] + s[1], s[2], s[3], s[2], s[3], s[0] - s[1])
                : stokes[1] ? grove_format("%s], shape=vector)", text)
                            : grove_format("%gJy", s[strchr("IQUV", stokes[0]) - "IQUV"]);
    free(text);
    return suite_keep(all);
}

/* A tree with terms J on the image's pixels R, E on a raster, functions C of E, and sky planes S.
 */
static char *tree_of(int i, const char *more)
{
    char *fine = terms_of(i, "R"), *raster = terms_of(i, "Q"),
         *vector = put_stokes(cases[i].stokes, false), *matrix = put_stokes(cases[i].stokes, true);
    char *text =
        grove_format("obs = probe()\nR = sky_grid(obs, size=[24, 27], cell=3e-5rad)\n"
                     "Q = sky_grid(obs, size=33, cell=3e-5rad)\n"
                     "J = %s\nE = %s\nl = select(lmn(R, obs), element=\"x\")\n"
                     "m = select(lmn(R, obs), element=\"y\")\n"
                     "X = cos(2e9rad * l * m) + sin(3e9rad * m * m - 2e9rad * l * l + 3e4rad * l)\n"
                     "C = convolution_functions(E" IMAGE ", oversampling=%d, stokes=\"%s\")\n"
                     "S = fft(grid_correction(X * %s" IMAGE ", w_terms=false))\nB = %s\n%s",
                     fine, raster, cases[i].oversampling, cases[i].stokes, vector, matrix, more);

    return suite_keep(text);
}

/* Relative, root mean square: of the nearest fine sample, and as much of w. 210 visibilities have a
 * part of the offsets that there are. */
static double bound_of(int i)
{
    return sqrt(2) * PI * hypot(24. / 64, 27. / 64) / (6 * cases[i].oversampling);
}

/* ---- points ---- */

/* Every pixel is a point. */
LOOP_TEST(pixels_are_points, 0, CASES)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *more =
        grove_format("d = degrid(S, obs, functions=C%s)%s\n"
                     "x[p,q] = sum(%s * point(R, obs, brightness=X * B, shape=constant([0rad, "
                     "0rad, 0rad], shape=vector)) * %s^H, over=[l, m])\n",
                     SIZE, cases[_i].scalar ? " * constant([1, 0, 0, 1], shape=matrix)" : "",
                     cases[_i].left, cases[_i].right);
    testing_tree(&t, tree_of(_i, more));
    testing_value d = probe_session(&t, "d", &options, NULL),
                  x = probe_session(&t, "x", &options, NULL);
    const double off = testing_distance(&d, &x);
    ck_assert_msg(off < 1.3 * bound_of(_i), "off by %g, not %g", off, bound_of(_i));
    ck_assert_double_gt(off, 0.1 * bound_of(_i));
    free(more);
}

/* ---- adjoints ---- */

/* <grid(V), S> is half of <V, degrid(S)>, real parts; of numbers it is all of it. */
LOOP_TEST(adjoints, 0, CASES)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *more = suite_text("T = %s\nd = degrid(S, obs, functions=C%s)\n"
                            "g = grid(T" IMAGE ", functions=C, weights=1)\n",
                            cases[_i].scalar ? "trace(obs.data)" : "1 * obs.data", SIZE),
         *text = tree_of(_i, more), *data = strstr(text, "probe()");
    char *whole =
        suite_text("%.*sprobe(flags=false)%s", (int)(data - text), text, data + strlen("probe()"));
    double size = 0;

    testing_tree(&t, whole);
    testing_value g = probe_session(&t, "g", &options, NULL),
                  s = probe_session(&t, "S", &options, NULL),
                  v = probe_session(&t, "T", &options, NULL),
                  d = probe_session(&t, "d", &options, NULL);
    const double left = testing_inner(&g, &s, &size) * (cases[_i].scalar ? 1 : 2),
                 right = testing_inner(&v, &d, &size);
    ck_assert_double_gt(fabs(left), 1e-6 * size);
    ck_assert_double_eq_tol(left, right, 1e-13 * size);
}

/* ---- tiles ---- */

/* Blocks of times and channels, and tiles that do not begin with them: the same but for rounding.
 * The block's middle has the terms of all. */
TEST(tiles)
{
    static const char tree[] =
        "obs = probe()\nQ = sky_grid(obs, size=33, cell=3e-5rad)\n"
        "G = gains(obs, kind=sine, jones=diagonal, amplitude=0.3, period=2000s)\n"
        "E = G * beam_airy(Q, obs, diameter=50m)\n"
        "C = convolution_functions(E" IMAGE
        ", oversampling=4, stokes=\"IU\", times=2, channels=3)\n"
        "g = grid(1 * obs.data" IMAGE ", functions=C)\nd = degrid(g" IMAGE ", functions=C)\n";
    testing_value first[2];

    testing_tree(&t, tree);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            grove_session_options options =
                GROVE_SESSION_OPTIONS(.threads = 1 + i, .double_precision = true,
                                      .tile_times = i ? 4 - i : 0, .tile_channels = 2 * i);
            testing_value x = probe_session(&t, k ? "d" : "g", &options, NULL);
            if (!i) {
                first[k] = x;
                continue;
            }
            ck_assert_double_lt(testing_distance(&x, &first[k]), 1e-12);
        }
}

/* Stations that are said to be alike share functions, and have to be. */
LOOP_TEST(alike_stations, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    grove_value *value = NULL;
    testing_tree(&t, suite_text("obs = probe(dishes=2)\nQ = sky_grid(obs, size=33, cell=3e-5rad)\n"
                                "E = %sbeam_airy(Q, obs, freq=1.4GHz)\n"
                                "C = convolution_functions(E" IMAGE
                                ", oversampling=4, alike=obs.station_diameter)\n"
                                "D = convolution_functions(E" IMAGE ", oversampling=4)\n"
                                "a = degrid(S" IMAGE ", functions=C)\nb = degrid(S" IMAGE
                                ", functions=D)\n"
                                "S = grid(obs.data" IMAGE ", functions=D)\n",
                                _i ? "gains(obs) * " : ""));
    if (_i) {
        grove_session *session = grove_session_new(t.tree, &options, t.error);
        ck_assert_int_ne(grove_session_value(session, "C", &value), 0);
        grove_session_free(session);
        char *said = suite_messages(t.error);
        ck_assert_msg(strstr(said, "has other terms than the first station with the same number") !=
                          NULL,
                      "%s", said);
    } else {
        testing_value a = probe_session(&t, "a", &options, NULL),
                      b = probe_session(&t, "b", &options, NULL),
                      c = probe_session(&t, "C", &options, NULL),
                      d = probe_session(&t, "D", &options, NULL);
        ck_assert_int_eq(d.cells, 4 * c.cells);
        ck_assert_double_lt(testing_distance(&a, &b), 1e-14);
    }
}

/* ---- index sets ---- */

/* The index sets of functions as they have made them give the same bits; half of an adjoint. */
TEST(own_index_sets)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *text = tree_of(1, "U = \"\"\n");
    char *whole =
        grove_format("%.*sV = 1 * obs.data\nM = constant([0, 1, 2, 3], shape=vector)\n"
                     "N = constant([0, 2, 1, 3], shape=vector)\n"
                     "a = degrid(S, obs, functions=C%s)\n"
                     "b = degrid(S, obs, functions=C, mueller=M, mueller_conjugate=N%s)\n"
                     "e = degrid(S, obs, functions=C, mueller=M%s)\n"
                     "c = grid(V" IMAGE ", functions=C)\n"
                     "d = 0.5 * grid(V" IMAGE ", functions=C, mueller=M, mueller_conjugate=N)\n",
                     (int)(strstr(text, "U = ") - text), text, SIZE, SIZE, SIZE);

    testing_tree(&t, whole);
    testing_value a = probe_session(&t, "a", &options, NULL),
                  b = probe_session(&t, "b", &options, NULL),
                  c = probe_session(&t, "c", &options, NULL),
                  d = probe_session(&t, "d", &options, NULL),
                  e = probe_session(&t, "e", &options, NULL);
    ck_assert_mem_eq(a.at, b.at, (size_t)(a.cells * a.elements) * sizeof(*a.at));
    ck_assert_double_lt(testing_distance(&d, &c), 1e-15);
    ck_assert_double_gt(testing_distance(&e, &a), 1e-2);
    free(whole);
}

/* A gradient shifts the sky of functions: by a pixel, as a beam that is a pixel off; what is left
 * is the kernel, which moves with it. */
TEST(gradients)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    char *more = suite_text(
             "j = select(lmn(Q, obs), element=\"x\")\nk = select(lmn(Q, obs), element=\"y\")\n"
             "P = exp(-6e6 * (j * j + k * k))\n"
             "O = exp(-6e6 * ((j - 3e-5) * (j - 3e-5) + (k + 6e-5) * (k + 6e-5)))\n"
             "F = convolution_functions(P" IMAGE ", oversampling=32, w_planes=10)\n"
             "H = convolution_functions(O" IMAGE ", oversampling=32, w_planes=10)\n"
             "a = degrid(S, obs, functions=F%s)\nb = degrid(S, obs, functions=H%s)\n"
             "c = degrid(S, obs, functions=F, gradient=constant([3e-5, -6e-5], shape=vector)%s)\n",
             SIZE, SIZE, SIZE),
         *text = tree_of(6, more);

    testing_tree(&t, text);
    testing_value a = probe_session(&t, "a", &options, NULL),
                  b = probe_session(&t, "b", &options, NULL),
                  c = probe_session(&t, "c", &options, NULL);
    ck_assert_double_gt(testing_distance(&a, &b), 0.1);
    ck_assert_double_lt(testing_distance(&c, &b), 0.35 * testing_distance(&a, &b));
}

SUITE(120, setup, teardown)
