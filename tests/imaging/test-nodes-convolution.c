/* convolution_functions, and grid and degrid with them: predictions against the Fourier sum over
 * points seen through the same beams, images against the sum over visibilities, adjoints, messages.
 */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "run/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI    3.14159265358979323846
#define LIGHT 299792458.0

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

/* ---- points ---- */

static const struct {
    const char *options, *functions; /* of all stages; of convolution_functions */
    const char *beam;                /* of the sky R */
    int size[2];
    double cell, diameter;
    int oversampling;
    double least; /* what the support leaves */
    bool offset, without_w;
} points[] = {
    {"size=48, cell=3e-5rad, epsilon=1e-4",
     "oversampling=64",
     "beam_airy(R, obs, diameter=80m, freq=1.4GHz)",
     {48, 48},
     3e-5,
     80,
     64,
     1e-4,
     false,
     false},
    {"size=[31, 48], cell=3e-5rad, epsilon=1e-6, centre=\"281.9deg 45.5deg\"",
     "oversampling=21, w_planes=30",
     "1 + 0.5i * beam_airy(R, obs, diameter=40m, freq=1.4GHz)",
     {31, 48},
     3e-5,
     40,
     21,
     1e-3,
     true,
     false},
    {"size=[32, 30], cell=3e-5rad, epsilon=1e-3, centre=\"281.9deg 45.5deg\"",
     "oversampling=128, w_terms=false",
     "1",
     {32, 30},
     3e-5,
     0,
     128,
     2e-3,
     true,
     true},
    {"size=40, cell=3e-5rad, epsilon=1e-7",
     "oversampling=200, w_planes=2, support=12",
     "1",
     {40, 40},
     3e-5,
     0,
     200,
     1e-5,
     false,
     false},
    /* epsilon chooses all: its error, root mean square over visibilities, is `least` */
    {"size=48, cell=3e-5rad, epsilon=1e-2",
     "times=1",
     "beam_airy(R, obs, diameter=80m, freq=1.4GHz)",
     {48, 48},
     3e-5,
     80,
     0,
     1e-2,
     false,
     false},
    {"size=[31, 48], cell=3e-5rad, epsilon=1e-4, centre=\"281.9deg 45.5deg\"",
     "times=1",
     "1 + 0.5i * beam_airy(R, obs, diameter=40m, freq=1.4GHz)",
     {31, 48},
     3e-5,
     40,
     0,
     1e-4,
     true,
     false},
    {"size=[32, 30], cell=3e-5rad, epsilon=1e-3",
     "samples=nearest",
     "1",
     {32, 30},
     3e-5,
     0,
     0,
     1e-3,
     false,
     false},
};

/* The beam towards a direction, |E|^2. */
static double power_of(int i, double sine)
{
    const double x = PI * points[i].diameter * sine * 1.4e9 / LIGHT,
                 airy = x > 0 ? 2 * j1(x) / x : 1;

    return points[i].diameter == 0    ? 1
           : points[i].beam[0] == '1' ? 1 + 0.25 * airy * airy
                                      : airy * airy;
}

/* l and m of the middle of the image, from a raster about it. */
static void find_centre(int i, double centre[2])
{
    centre[0] = centre[1] = 0;
    if (points[i].offset) {
        testing_tree(&t, "obs = probe()\nR = sky_grid(obs, size=3, cell=1e-5rad, "
                         "centre=\"281.9deg 45.5deg\")\nx = 1 * R.radec\n");
        testing_value x = testing_evaluate(&t, "x");
        centre[0] = x.axis[1]->centre[1];
        centre[1] = x.axis[0]->centre[1];
        ck_assert_double_gt(hypot(centre[0], centre[1]), 5e-3);
    }
    centre[0] += points[i].size[0] % 2 ? 0 : points[i].cell;
}

typedef struct {
    double l, m, n, flux;
} point;

/* Points on pixels, at the edges too. */
static int put_points(int i, point *to)
{
    double centre[2], least = 0, most = -1;

    find_centre(i, centre);
    plane_now = (plane){.size = {points[i].size[0], points[i].size[1]},
                        .cell = {points[i].cell, points[i].cell},
                        .centre = {centre[0], centre[1]}};
    for (int y = 0; y < plane_now.size[1]; y++)
        for (int x = 0; x < plane_now.size[0]; x++) {
            const double l = centre[0] + (x - plane_now.size[0] / 2) * points[i].cell,
                         m = centre[1] + (y - plane_now.size[1] / 2) * points[i].cell,
                         n = -(l * l + m * m) / (1 + sqrt(1 - l * l - m * m));
            least = fmin(least, n);
            most = fmax(most, n);
        }
    for (int s = 0; s < 4; s++) {
        const int x = s == 0   ? 0
                      : s == 1 ? plane_now.size[0] - 1
                               : 4 * s,
                  y = s == 2 ? 0 : 5 + 7 * s;
        point p = {centre[0] + (x - plane_now.size[0] / 2) * points[i].cell,
                   centre[1] + (y - plane_now.size[1] / 2) * points[i].cell, 0, 1 + 0.5 * s};
        p.n = -(p.l * p.l + p.m * p.m) / (1 + sqrt(1 - p.l * p.l - p.m * p.m));
        plane_now.stokes[y * plane_now.size[0] + x][0] = p.flux;
        p.flux *= power_of(i, hypot(p.l, p.m));
        to[s] = p;
    }
    to[4].n = (least + most) / 2;
    return 4;
}

/* Errors of each point: half an offset along u and v, half a plane; and a small one of the
 * support. */
LOOP_TEST(points_are_seen_through_beams, 0, sizeof(points) / sizeof(points[0]))
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    point all[5];
    const int count = put_points(_i, all);
    const char *of = points[_i].options;
    double worst = 0, off = 0, size = 0;
    char *text =
        grove_format("im = plane()\nobs = probe()\nR = sky_grid(obs, size=65, cell=3e-5rad%s)\n"
                     "E = %s\nC = convolution_functions(E, obs, %s, %s)\n"
                     "G = fft(grid_correction(im.pixels, obs, %s, w_terms=false))\n"
                     "x = degrid(G, obs, functions=C, %s)\nu = 1 * obs.uvw\n",
                     points[_i].offset ? ", centre=\"281.9deg 45.5deg\"" : "", points[_i].beam, of,
                     points[_i].functions, of, of);

    testing_tree(&t, text);
    testing_value x = probe_session(&t, "x", &options, NULL),
                  g = probe_session(&t, "G", &options, NULL),
                  c = probe_session(&t, "C", &options, NULL),
                  u = probe_session(&t, "u", &options, NULL);
    const double step = c.axis[0]->size > 1 ? c.axis[0]->centre[1] : 0;
    ck_assert_int_eq(x.cells, PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS);
    for (int64_t i = 0; i < x.cells; i++) {
        const double complex *at = u.at + 3 * (i / PROBE_CHANNELS);
        const double wave = (1.4e9 + 2e6 * (double)(i % PROBE_CHANNELS)) / LIGHT;
        double complex wanted = 0;
        double bound = 0,
               whole = points[_i].without_w ? 0 : step; /* a single one: w of all of it */
        if (whole == 0 && !points[_i].without_w)
            whole = 2 * fabs(creal(at[2])) * wave;
        for (int s = 0; s < count; s++) {
            const point *p = &all[s];
            long double turns = creal(at[0]) * (long double)p->l +
                                creal(at[1]) * (long double)p->m +
                                (points[_i].without_w ? 0 : creal(at[2]) * (long double)p->n);
            turns *= wave;
            turns -= rintl(turns);
            wanted += p->flux * cexp(-2 * PI * I * (double)turns);
            bound += p->flux * (PI / points[_i].oversampling / points[_i].cell *
                                    (fabs(p->l - plane_now.centre[0]) / (double)g.axis[2]->size +
                                     fabs(p->m - plane_now.centre[1]) / (double)g.axis[1]->size) +
                                PI * whole * fabs(p->n - all[4].n) + points[_i].least);
        }
        off += pow(cabs(x.at[i] - wanted), 2);
        size += pow(cabs(wanted), 2);
        if (!points[_i].oversampling)
            continue;
        ck_assert_msg(cabs(x.at[i] - wanted) <= bound, "visibility %ld: off by %g, not %g", (long)i,
                      cabs(x.at[i] - wanted), bound);
        worst = fmax(worst, cabs(x.at[i] - wanted) / bound);
    }
    if (points[_i].oversampling) {
        ck_assert_double_gt(worst, 0.2);
    } else {
        ck_assert_double_le(sqrt(off / size), points[_i].least);
        ck_assert_double_gt(sqrt(off / size), 0.02 * points[_i].least);
    }
    free(text);
}

/* ---- images ---- */

#define IMAGE ", obs, size=[24, 27], cell=3e-5rad, epsilon=1e-5"

/* Against the Fourier sum over visibilities; w within half a plane, a tenth of a degree here. */
TEST(images_are_sums)
{
    testing_tree(&t, "obs = probe()\nV = 1 * obs.data\nu = 1 * obs.uvw\nf = 1 * obs.freq\n"
                     "C = convolution_functions(1" IMAGE ", oversampling=128)\n"
                     "x = grid_correction(fft(grid(V" IMAGE ", functions=C))" IMAGE
                     ", w_terms=false) / sum_of_weights(V, obs)\n"
                     "y = dirty_image(V" IMAGE ")\n");
    testing_value x = probe_session(&t, "x", NULL, NULL), y = probe_session(&t, "y", NULL, NULL);
    double off = testing_distance(&x, &y);
    ck_assert_double_lt(off, PI * hypot(24. / 64, 27. / 64) / (6 * 128) + 1e-3);
    ck_assert_double_gt(off, 1e-5);
}

/* <grid(V), X> = <V, degrid(X)>, real parts, for planes X of an image and of anything. */
TEST(adjoints)
{
    double size = 0;

    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}, .centre = {3e-5, 0}};
    for (int k = 0; k < 24 * 27; k++)
        plane_now.stokes[k][0] = sin(k * k + 1);
    testing_tree(&t, "im = plane()\nobs = probe(flags=false)\nT = trace(obs.data)\n"
                     "R = sky_grid(obs, size=33, cell=3e-5rad)\n"
                     "E = exp(1i * 2000 * select(lmn(R, obs), element=\"x\")) * "
                     "beam_airy(R, obs, diameter=50m, freq=1.4GHz)\n"
                     "C = convolution_functions(E" IMAGE ", oversampling=8, support=9)\n"
                     "g = grid(T" IMAGE ", functions=C)\n"
                     "X = fft(grid_correction(im.pixels" IMAGE ", w_terms=false))\n"
                     "d = degrid(X" IMAGE ", functions=C)\n"
                     "e = degrid(g" IMAGE ", functions=C)\n");
    testing_value g = probe_session(&t, "g", NULL, NULL), x = probe_session(&t, "X", NULL, NULL),
                  v = probe_session(&t, "T", NULL, NULL), d = probe_session(&t, "d", NULL, NULL),
                  e = probe_session(&t, "e", NULL, NULL);
    double left = testing_inner(&g, &x, &size), right = testing_inner(&v, &d, &size);
    ck_assert_double_gt(fabs(left), 1e-6 * size);
    ck_assert_double_eq_tol(left, right, 1e-12 * size);
    size = 0;
    left = testing_inner(&g, &g, &size);
    ck_assert_double_eq_tol(left, testing_inner(&v, &e, &size), 1e-12 * size);
}

/* The same bits for any number of threads; other tiles differ by rounding. */
TEST(tiles_and_threads)
{
    testing_tree(&t, "obs = probe()\nC = convolution_functions(1" IMAGE ", oversampling=8)\n"
                     "g = grid(obs.data" IMAGE ", functions=C)\n"
                     "d = degrid(g" IMAGE ", functions=C)\n");
    testing_tiles_and_threads(&t, "g", false, 1e-5);
    testing_tiles_and_threads(&t, "d", false, 1e-5);
}

/* ---- methods ---- */

/* Calls with method=aw are the chain of stages, which `by hand` writes. */
LOOP_TEST(calls_are_chains, 0, 8)
{
    static const struct {
        const char *call, *hand;
        double off;
    } cases[] = {
        {"dirty_image(V" IMAGE ", jones=E, oversampling=9)",
         "grid_correction(fft(grid(V" IMAGE ", functions=C))" IMAGE
         ", w_terms=false) / sum_of_weights(V, obs)",
         0},
        {"dirty_image(V" IMAGE ", jones=J, oversampling=9, stokes=\"IQ\", times=2)",
         "grid_correction(fft(grid(V" IMAGE ", functions=D))" IMAGE
         ", w_terms=false) / sum_of_weights(V, obs)",
         0},
        {"grid(V" IMAGE ", jones=E, oversampling=9, weights=2)",
         "grid(V" IMAGE ", functions=C, weights=2)", 0},
        {"degrid(P" IMAGE ", jones=E, oversampling=9)", "degrid(P" IMAGE ", functions=C)", 0},
        {"predict_image(im.pixels, obs, epsilon=1e-5, jones=E, oversampling=9)",
         "degrid(P" IMAGE ", functions=C) * constant([1, 0, 0, 1], shape=matrix)", 0},
        {"dirty_image(V" IMAGE ", method=w_stack)", "dirty_image(V" IMAGE ")", 0},
        {"dirty_image(V" IMAGE ", method=aw, stokes=\"IV\", weights=2)",
         "dirty_image(V" IMAGE ", method=w_stack, stokes=\"IV\", weights=2)", 1e-5},
        {"dirty_image(V - predict_image(im.pixels, obs, epsilon=1e-5, method=aw)" IMAGE
         ", method=aw)",
         "dirty_image(V - predict_image(im.pixels, obs, epsilon=1e-5)" IMAGE ")", 1e-5},
    };

    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}, .centre = {3e-5, 0}};
    for (int k = 0; k < 24 * 27; k++)
        plane_now.stokes[k][0] = sin(k * k + 1);
    char *text =
        suite_text("im = plane()\nobs = probe(flags=false)\nV = obs.data\n"
                   "R = sky_grid(obs, size=33, cell=3e-5rad)\nE = beam_airy(R, obs, diameter=25m)\n"
                   "J = E * constant([1, 0.9], shape=diagonal)\n"
                   "C = convolution_functions(E" IMAGE ", oversampling=9)\n"
                   "D = convolution_functions(J" IMAGE ", oversampling=9, stokes=\"IQ\", times=2)\n"
                   "P = fft(grid_correction(im.pixels" IMAGE ", w_terms=false))\n"
                   "x = %s\ny = 2 * (%s)\n", /* else they are one node */
                   cases[_i].call, cases[_i].hand);
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    testing_tree(&t, text);
    testing_value x = probe_session(&t, "x", &options, NULL),
                  y = probe_session(&t, "y", &options, NULL);
    ck_assert_int_eq(x.cells, y.cells);
    for (int64_t i = 0; i < y.cells * y.elements; i++)
        y.at[i] /= 2;
    if (cases[_i].off > 0)
        ck_assert_double_lt(testing_distance(&x, &y), cases[_i].off);
    else
        ck_assert_double_eq(testing_distance(&x, &y), 0);
}

/* ---- what is wrong ---- */

/* The time that is told of functions counts those of all blocks and pairs. */
TEST(times_that_are_told)
{
    const char *const jones[] = {"E, channels=99", "E", "gains(obs, jones=scalar) * E"};
    double seconds[3];

    for (int k = 0; k < 3; k++) {
        testing_tree(&t, suite_text("obs = probe()\n"
                                    "R = sky_grid(obs, size=33, cell=3e-5rad)\n"
                                    "E = beam_airy(R, obs, diameter=25m)\n"
                                    "y = dirty_image(obs.data, obs, size=[24, 27], cell=3e-5rad, "
                                    "epsilon=1e-4, method=aw, jones=%s)\n",
                                    jones[k]));
        const char *note = NULL;
        for (size_t i = 0; i < t.tree->node_count; i++)
            note = t.tree->nodes[i]->note && strstr(t.tree->nodes[i]->note, "method: aw")
                       ? t.tree->nodes[i]->note
                       : note;
        ck_assert_msg(note && strstr(note, "about "), "%s", note ? note : "no note");
        seconds[k] = strtod(strstr(note, "about ") + strlen("about "), NULL);
    }
    ck_assert_msg(seconds[1] > 3 * seconds[0] && seconds[2] > 5 * seconds[1], "%g %g %g",
                  seconds[0], seconds[1], seconds[2]);
}

TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"convolution_functions(E" IMAGE ", support=20)", "functions of 20 cells need at least 40"},
        {"convolution_functions(E, obs, size=60, cell=3e-5rad)", "it does not cover the image"},
        {"convolution_functions(lmn(R, obs)" IMAGE ")", "or a 2x2 matrix, got a vector of 3"},
        {"convolution_functions(V" IMAGE ")", "'x' must be a plain number, got 'obs.data', a flux"},
        {"convolution_functions(V / 1Jy" IMAGE ")", "varies with baseline"},
        {"convolution_functions(E" IMAGE ", times=0)", "0 is not at least 1"},
        {"convolution_functions(E" IMAGE ", stokes=\"XX\")", "is not made of the letters"},
        {"convolution_functions(gains(obs)" IMAGE ", alike=obs.freq)", "a number for each station"},
        {"convolution_functions(gains(obs, kind=sine, jones=matrix)" IMAGE ", oversampling=200)",
         "stations that are alike require less"},
        {"grid(trace(V)" IMAGE ", functions=D)", "which need visibilities of 2 or 4"},
        {"grid(V" IMAGE ", functions=D, stokes=\"Q\")", "is an option of convolution_functions"},
        {"degrid(grid(V" IMAGE ", functions=C)" IMAGE ", functions=D)",
         "the functions are for 2 Stokes parameters"},
        {"convolution_functions(E" IMAGE ", oversampling=0)", "0 is not from 1 to"},
        {"convolution_functions(E" IMAGE ", support=0)", "0 cells are not from 1 to"},
        {"convolution_functions(1" IMAGE ", support=70)", "as the grid of 64 x 64 cells allows"},
        {"convolution_functions(1" IMAGE ", w_planes=0)", "0 is not from 1 to"},
        {"convolution_functions(1" IMAGE ", w_planes=2, w_terms=false)",
         "without w_terms there is"},
        {"convolution_functions(1" IMAGE ", oversampling=4000)", "a lower oversampling"},
        {"convolution_functions(1, obs, size=90, cell=0.02rad)", "beyond the horizon"},
        {"grid(V" IMAGE ", functions=C, oversampling=9)", "which were made with 8"},
        {"degrid(grid(V" IMAGE ", functions=C)" IMAGE ", functions=C, w_planes=77)",
         "77 differs from the functions"},
        {"grid(V" IMAGE ", functions=C, jones=E)", "jones: is not possible with functions"},
        {"grid(V" IMAGE ", functions=C, method=w_stack)", "w_stack is not possible with functions"},
        {"grid(V" IMAGE ", support=9)", "support: requires method=aw"},
        {"grid(V" IMAGE ", jones=E, exact=true)", "exact: requires method=w_stack"},
        {"dirty_image(V" IMAGE ", jones=E, method=w_stack)", "jones: requires method=aw"},
        {"grid(V" IMAGE ", bands=99)", "bands: 99 is not from 1 to"},
        {"grid(V" IMAGE ", functions=C, bands=99)", "bands: 99 is not from 1 to"},
        {"dirty_image(V" IMAGE ", oversampling=9)", "oversampling: requires method=aw"},
        {"predict_image(im.pixels, obs, jones=E, exact=true)", "exact: requires method=w_stack"},
        {"dirty_image(V, obs, size=60, cell=3e-5rad, jones=E)", "it does not cover the image"},
        {"grid(V" IMAGE ", functions=V)", "functions"},
        {"grid(V" IMAGE ", functions=im.pixels)", "must be a plain number"},
        {"grid(V" IMAGE ", functions=im.pixels / 1Jy)",
         "is not a whole value of convolution_functions"},
        {"grid(V" IMAGE ", functions=C, gradient=constant([1Jy, 2Jy], shape=vector))",
         "'gradient' must be an angle"},
        {"grid(V" IMAGE ", functions=select(C, axis=w_function, index=0))", "not a whole value"},
        {"grid(V, obs, size=25, cell=3e-5rad, functions=C)", "the size differ"},
        {"degrid(grid(V" IMAGE ")" IMAGE ", functions=C)", "the w_terms differ"},
        {"degrid(grid(V" IMAGE ", functions=C)" IMAGE ")", "the w_terms differ"},
    };

    plane_now = (plane){.size = {24, 27}, .cell = {3e-5, 3e-5}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = testing_faults(
            &t, suite_text("obs = probe()\nV = obs.data\nR = sky_grid(obs, size=33, "
                           "cell=3e-5rad)\nim = plane()\n"
                           "E = beam_airy(R, obs, diameter=25m, freq=1.4GHz)\n"
                           "C = convolution_functions(1" IMAGE ", oversampling=8)\n"
                           "D = convolution_functions(constant([1, 1], shape=diagonal)" IMAGE
                           ", oversampling=8, stokes=\"IQ\")\nx = %s\n",
                           cases[i].call));
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
        ck_assert_msg(strstr(said, "t.tree:8:") != NULL, "%s: %s", cases[i].call, said);
    }
}

/* What a run says of a tree that is right. */
LOOP_TEST(runs_tell, 0, 4)
{
    static const struct {
        const char *lines, *message;
        int code;
    } cases[] = {
        {"x = convolution_functions(E / (E - E)" IMAGE ", oversampling=4)\n",
         "numbers that are not finite", GROVE_INVALID},
        {"b = select(lmn(R, obs), element=\"x\")\nG = gains(obs)\n"
         "x = convolution_functions(G * (1 / (b - b))" IMAGE ", oversampling=4)\n",
         "as at l = -0.00033, m = -0.00039 of station P0", GROVE_INVALID},
        {"x = convolution_functions(cos(10000rad * select(lmn(R, obs), element=\"x\")) * E" IMAGE
         ", oversampling=64, support=4)\n",
         "a support of 4 cells leaves an error", 0},
        {"x = grid(1 * obs.data" IMAGE ", functions=convolution_functions(1" IMAGE
         ", oversampling=4), uvw=obs.uvw * 3)\n",
         "left out", 0},
    };
    grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    testing_tree(&t, suite_text("obs = probe()\nR = sky_grid(obs, size=33, cell=3e-5rad)\n"
                                "E = beam_airy(R, obs, diameter=25m, freq=1.4GHz)\n%s",
                                cases[_i].lines));
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), cases[_i].code);
    grove_value_unref(value);
    grove_session_free(session);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, cases[_i].message) != NULL, "%s", said);
}

SUITE(120, setup, teardown)
