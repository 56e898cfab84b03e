/* The stages of images: grid, fft, grid_correction, sum_of_weights and degrid, alone and as chains.
 */
#include "image-testing.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

TESTING_FIXTURE(probe_begin(&t), plane_begin(&t))

/* ---- images ---- */

static const struct {
    const char *stokes, *options;
    double epsilon;
    int size[2];
    bool double_precision, without_w;
} images[] = {
    {"I", "size=24, cell=3e-5rad", 1e-4, {24, 24}, false, false},
    {"I", "size=24, cell=3e-5rad", 1e-11, {24, 24}, true, false},
    {"Q", "size=[21, 32], cell=[3e-5rad, 2e-5rad]", 1e-8, {21, 32}, true, false},
    {"V", "size=[33, 18], cell=2e-3rad", 1e-6, {33, 18}, false, false},
    {"U", "size=20, cell=3e-5rad, centre=\"280.9deg 45.7deg\"", 1e-9, {20, 20}, true, false},
    {"I", "size=[20, 23], cell=2e-3rad, w_terms=false", 1e-9, {20, 23}, true, true},
};

/* 1 / variance of half the sum, or difference, of two elements, but for a factor. */
static double weight_of(const image_data *d, int64_t sample, unsigned elements)
{
    double sum = 0;

    for (int e = 0; e < 4; e++)
        if (elements >> e & 1)
            sum += d->flags[4 * sample + e]
                       ? INFINITY
                       : 1 / probe_weight(sample / PROBE_CHANNELS / PROBE_BASELINES,
                                          sample / PROBE_CHANNELS % PROBE_BASELINES,
                                          sample % PROBE_CHANNELS, e);
    return 4 / sum;
}

/* Against the direct Fourier sum, and the sum of the weights against that of the samples'. */
LOOP_TEST(the_chain_makes_the_image, 0, 6)
{
    const int parameter = (int)(strchr("IQUV", images[_i].stokes[0]) - "IQUV");
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = images[_i].double_precision);
    char *text = suite_text("%sp = grid(V, obs, stokes=\"%s\", epsilon=%g, %s)\n"
                            "s = sum_of_weights(V, obs, weights=obs.weight, stokes=\"%s\")\n"
                            "x = grid_correction(fft(p), obs, epsilon=%g, %s) / s\n",
                            PROBE, images[_i].stokes, images[_i].epsilon, images[_i].options,
                            images[_i].stokes, images[_i].epsilon, images[_i].options);
    double sum = 0;

    testing_tree(&t, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL),
                  s = probe_session(&t, "s", &options, NULL);
    d.without_w = images[_i].without_w;
    ck_assert_int_eq(x.cells, images[_i].size[0] * images[_i].size[1]);
    for (int64_t i = 0; i < d.samples; i++) {
        d.weight[i] = weight_of(&d, i, parameter < 2 ? 9 : 6);
        sum += d.weight[i];
    }
    double off = image_data_distance(&d, &x, 0, parameter);
    ck_assert_msg(off <= images[_i].epsilon, "off by %g", off);
    ck_assert_double_eq_tol(creal(s.at[0]), sum, 1e-6 * sum);
}

/* ---- visibilities ---- */

static void fill_plane(void)
{
    plane_now = (plane){.size = {20, 25}, .cell = {3e-5, 3e-5}};
    plane_now.centre[0] = plane_now.cell[0]; /* of pixel 10; the middle is pixel 9 */
    for (int i = 0; i < 20 * 25; i++) {
        double pair[2];
        grove_random_normal(3, (uint64_t)i, 0, 0, 0, pair);
        plane_now.stokes[i][0] = pair[0];
    }
}

/* ||visibilities - sum over pixels|| / ||sums||, of the first element, at so many times the
 * frequencies. */
static double distance(const image_data *d, const testing_value *x, double times)
{
    double off = 0, size = 0;

    ck_assert_int_eq(x->cells, d->samples);
    for (int64_t i = 0; i < d->samples; i++) {
        const double complex *uvw = d->uvw.at + 3 * (i / d->channels);
        double complex truth = 0;
        for (int k = 0; k < 20 * 25; k++) {
            double l = (k % 20 - 9) * 3e-5, m = (k / 20 - 12) * 3e-5,
                   n = sqrt(1 - l * l - m * m) - 1;
            double phase = 2 * PI / 299792458.0 * times * creal(d->freq.at[i % d->channels]) *
                           (creal(uvw[0]) * l + creal(uvw[1]) * m + creal(uvw[2]) * n);
            truth += plane_now.stokes[k][0] * cexp(-I * phase);
        }
        off += pow(cabs(x->at[i * x->elements] - truth), 2);
        size += pow(cabs(truth), 2);
    }
    return sqrt(off / size);
}

LOOP_TEST(the_chain_predicts, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = _i);

    fill_plane();
    testing_tree(&t, "im = plane()\n" PROBE
                     "x = degrid(fft(grid_correction(im.pixels, obs, size=[20, 25], cell=3e-5rad, "
                     "epsilon=1e-5)), obs, size=[20, 25], cell=3e-5rad, epsilon=1e-5)\n");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL);
    ck_assert_int_eq(x.elements, 1);
    ck_assert_double_lt(distance(&d, &x, 1), 1e-5);
}

/* Frequencies above those of the channels, whatever the tiles, of predict_image. */
LOOP_TEST(other_frequencies, 0, 3)
{
    static const int channels[] = {0, 1, 2};
    grove_session_options options = GROVE_SESSION_OPTIONS(.tile_channels = channels[_i]);

    fill_plane();
    testing_tree(&t, "im = plane()\n" PROBE
                     "x = predict_image(im.pixels, obs, epsilon=1e-9, freq=2 * obs.freq)\n");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &options, NULL);
    ck_assert_double_lt(distance(&d, &x, 2), 1e-6); /* the pixels are in single precision */
}

/* <grid(V), P> = <V, degrid(P)>, and <correction(P), X> = <P, correction(X)>, real parts. */
TEST(adjoints)
{
#define OPTIONS ", obs, size=[20, 25], cell=3e-5rad, epsilon=1e-6)\n"
    double size = 0;

    fill_plane();
    testing_tree(&t, "im = plane()\nobs = probe(flags=false)\nT = trace(obs.data)\n"
                     "g = grid(T" OPTIONS "c = grid_correction(im.pixels" OPTIONS "P = fft(c)\n"
                     "d = degrid(P" OPTIONS "s = fft(g)\nx = grid_correction(s" OPTIONS
                     "X = 1 * im.pixels\n");
    testing_value g = probe_session(&t, "g", NULL, NULL), p = probe_session(&t, "P", NULL, NULL),
                  v = probe_session(&t, "T", NULL, NULL), d = probe_session(&t, "d", NULL, NULL),
                  s = probe_session(&t, "s", NULL, NULL), c = probe_session(&t, "c", NULL, NULL),
                  x = probe_session(&t, "x", NULL, NULL), y = probe_session(&t, "X", NULL, NULL);
    ck_assert_str_eq(g.axis[0]->name, "w_plane");
    ck_assert_str_eq(g.axis[1]->name, "v");
    ck_assert_str_eq(g.axis[2]->name, "u");
    double left = testing_inner(&g, &p, &size), right = testing_inner(&v, &d, &size);
    ck_assert_double_gt(fabs(left), 1e-6 * size);
    ck_assert_double_eq_tol(left, right, 1e-12 * size);
    size = 0;
    left = testing_inner(&x, &y, &size);
    right = testing_inner(&s, &c, &size);
    ck_assert_double_gt(fabs(left), 1e-6 * size);
    ck_assert_double_eq_tol(left, right, 1e-12 * size);
}

/* ---- transforms ---- */

/* sum over v, u of x exp(sign 2 pi i (u l + v m)), of plane `at`. */
static double complex transformed(const testing_value *p, int64_t at, double l, double m, int sign)
{
    const grove_axis *v = p->axis[1], *u = p->axis[2];
    double complex sum = 0;

    for (int64_t y = 0; y < v->size; y++)
        for (int64_t x = 0; x < u->size; x++)
            sum += p->at[(at * v->size + y) * u->size + x] *
                   cexp(sign * 2 * PI * I * (u->centre[x] * l + v->centre[y] * m));
    return sum;
}

TEST(transforms_are_sums)
{
    double size = 0;

    testing_tree(&t, PROBE "p = grid(V, obs, size=[9, 20], cell=[3e-5rad, 2e-5rad])\n"
                           "a = fft(p)\nb = fft(p, sign=-1)\nc = fft(a)\n");
    testing_value p = probe_session(&t, "p", NULL, NULL), a = probe_session(&t, "a", NULL, NULL),
                  b = probe_session(&t, "b", NULL, NULL), c = probe_session(&t, "c", NULL, NULL);
    const int64_t nm = p.axis[1]->size, nl = p.axis[2]->size;
    for (int64_t i = 0; i < p.cells; i++)
        size = fmax(size, cabs(a.at[i]));
    ck_assert_double_gt(size, 0);
    for (int64_t i = 0; i < a.cells; i += 61) {
        double l = a.axis[2]->centre[i % nl], m = a.axis[1]->centre[i / nl % nm];
        ck_assert_double_lt(cabs(a.at[i] - transformed(&p, i / nl / nm, l, m, 1)), 1e-12 * size);
        ck_assert_double_lt(cabs(b.at[i] - transformed(&p, i / nl / nm, l, m, -1)), 1e-12 * size);
    }
    /* there and back */
    for (int d = 0; d < 3; d++)
        ck_assert_ptr_eq(c.axis[d], p.axis[d]);
    for (int64_t i = 0; i < p.cells; i++)
        ck_assert_double_lt(cabs(c.at[i] / (double)(nl * nm) - p.at[i]), 1e-13 * size);
}

/* ---- what does not count ---- */

/* Pixels of 4 degrees: as dirty_image, and its adjoint as predict_image, the chain has nothing
 * beyond the horizon. */
TEST(nothing_is_beyond_the_horizon)
{
    double largest = 0;

    plane_now = (plane){.size = {28, 28}, .cell = {PI / 45, PI / 45}};
    plane_now.centre[0] = plane_now.cell[0];
    for (int i = 0; i < 28 * 28; i++)
        plane_now.stokes[i][0] = 1;
    testing_tree(&t, "im = plane()\n" PROBE
                     "x = grid_correction(fft(grid(V, obs, size=28, cell=4deg)), obs, size=28, "
                     "cell=4deg)\n"
                     "y = grid_correction(im.pixels, obs, size=28, cell=4deg)\n");
    testing_value x = probe_session(&t, "x", NULL, NULL), y = probe_session(&t, "y", NULL, NULL);
    int64_t beyond = 0;
    for (int64_t i = 0; i < x.cells; i++) {
        double l = x.axis[1]->centre[i % 28], m = x.axis[0]->centre[i / 28];
        largest = fmax(largest, cabs(x.at[i]));
        if (l * l + m * m < 1)
            continue;
        beyond++;
        ck_assert_double_eq(creal(x.at[i]), 0);
    }
    ck_assert_int_gt(beyond, 100);
    ck_assert_double_gt(largest, 0);
    /* the planes have numbers where the image has pixels above the horizon */
    const int64_t ny = y.axis[1]->size, nx = y.axis[2]->size;
    int64_t filled = 0;
    for (int64_t i = 0; i < nx * ny; i++)
        filled += cabs(y.at[i]) > 0;
    ck_assert_int_eq(filled, 28 * 28 - beyond);
}

/* The longest baseline that the antennas have at the highest frequency, wavelengths. */
static double find_longest(const image_data *d)
{
    testing_value p = probe_session(&t, "P", NULL, NULL);
    double longest = 0, highest = 0;

    for (int64_t i = 0; i < p.cells * p.cells; i++) {
        const double complex *a = p.at + 3 * (i / p.cells), *b = p.at + 3 * (i % p.cells);
        longest = fmax(longest, sqrt(pow(creal(a[0] - b[0]), 2) + pow(creal(a[1] - b[1]), 2) +
                                     pow(creal(a[2] - b[2]), 2)));
    }
    for (int64_t k = 0; k < d->channels; k++)
        highest = fmax(highest, creal(d->freq.at[k]));
    return longest * highest / 299792458.0;
}

/* Baselines that are no numbers, or beyond the antennas, or max_uvw: they count neither in grid nor
 * in the sum nor in dirty_image, and degrid and predict_image have 0 there. */
LOOP_TEST(stages_leave_out_the_same, 0, 3)
{
    static const char *const uvw[] = {"1.5 * obs.uvw", "obs.uvw * (s / s)", "1 * obs.uvw"};
    static const char *const options[] = {"uvw=u", "uvw=u", "uvw=u, max_uvw=[900m, 700m, 500m]"};
    static const double most[3] = {900, 700, 500};
    char *text = suite_text(
        "im = plane()\nobs = probe()\nV = 1 * obs.data\nf = 1 * obs.freq\nP = 1 * obs.position\n"
        "s = obs.time - select(obs.time, axis=time, index=1)\nu = %s\n"
        "k = sum_of_weights(V, obs, %s)\n"
        "x = grid_correction(fft(grid(V, obs, size=24, cell=3e-5rad, %s)), obs, size=24, "
        "cell=3e-5rad%s) / k\n"
        "y = degrid(fft(grid_correction(im.pixels, obs, size=[20, 25], cell=3e-5rad%s)), obs, "
        "size=[20, 25], cell=3e-5rad, %s)\n"
        "D = dirty_image(V, obs, size=24, cell=3e-5rad, %s)\n"
        "Y = predict_image(im.pixels, obs, %s)\n",
        uvw[_i], options[_i], options[_i], options[_i] + 5, options[_i] + 5, options[_i],
        options[_i], options[_i]);
    double sum = 0;
    int64_t outside = 0;

    fill_plane();
    testing_tree(&t, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL), k = probe_session(&t, "k", NULL, NULL),
                  y = probe_session(&t, "y", NULL, NULL);
    const double longest = 1.001 * find_longest(&d);
    ck_assert_int_eq(y.cells, d.samples);
    for (int64_t i = 0; i < d.samples; i++) {
        const double complex *b = d.uvw.at + 3 * (i / d.channels);
        double freq = creal(d.freq.at[i % d.channels]);
        double factor = freq / creal(d.freq.at[d.channels - 1]);
        bool within = true;
        for (int c = 0; c < 3; c++)
            within = within && (_i == 2 ? fabs(creal(b[c])) * factor <= most[c]
                                        : fabs(creal(b[c])) * freq / 299792458.0 <= longest);
        d.weight[i] = within ? weight_of(&d, i, 9) : 0;
        sum += d.weight[i];
        outside += !within;
        ck_assert_int_eq(cabs(y.at[i]) > 0, within);
    }
    ck_assert_int_gt(outside, 0);
    ck_assert_int_lt(outside, d.samples);
    ck_assert_double_eq_tol(creal(k.at[0]), sum, 1e-6 * sum);
    ck_assert_double_lt(image_data_distance(&d, &x, 0, 0), 1e-4);
    testing_value image = probe_session(&t, "D", NULL, NULL),
                  v = probe_session(&t, "Y", NULL, NULL);
    ck_assert_double_lt(image_data_distance(&d, &image, 0, 0), 1e-4);
    for (int64_t i = 0; i < d.samples; i++)
        ck_assert_int_eq(cabs(v.at[4 * i]) > 0, cabs(y.at[i]) > 0);
}

/* ---- what is told ---- */

static char *run_says(const char *call, int code)
{
    grove_session_options options = GROVE_SESSION_OPTIONS();
    grove_value *value = NULL;
    testing_tree(&t, suite_text("obs = probe()\nV = 1 * obs.data\nx = %s\n", call));
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_value(session, "x", &value), code);
    grove_value_unref(value);
    grove_session_free(session);
    return suite_messages(t.error);
}

LOOP_TEST(runs_tell_what_is_wrong, 0, 7)
{
    static const struct {
        const char *call, *message;
        int code;
    } cases[] = {
        {"sum_of_weights(V, obs, weights=0)", "there is nothing to image", GROVE_INVALID},
        {"sum_of_weights(V, obs, uvw=1e9 * obs.uvw)", "there is nothing to image", GROVE_INVALID},
        {"grid(V, obs, size=8, cell=1deg)", "pixels of 3.6e+03 arcsec are too large", 0},
        {"grid(V, obs, size=8, uvw=1e9 * obs.uvw)",
         "longer than the largest distance between antennas, and are left out", 0},
        {"grid(V, obs, size=8, uvw=1e9 * obs.uvw, max_uvw=2km)",
         "longer than max_uvw, and are left out", 0},
        {"grid(sqrt(-1) * V, obs, size=8)", "are not numbers, and left out", 0},
        {"grid(V, obs, size=8)", "", 0},
    };

    char *said = run_says(cases[_i].call, cases[_i].code);
    if (!cases[_i].message[0])
        ck_assert_msg(!strstr(said, "t.tree:3:"), "%s", said);
    else
        ck_assert_msg(strstr(said, cases[_i].message) && strstr(said, "t.tree:3:"), "%s: %s",
                      cases[_i].call, said);
}

static uint64_t peak_of(const char *call)
{
    const grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    grove_plan plan = GROVE_PLAN();
    char *text =
        grove_format("im = plane()\nobs = probe()\nx = %s\nshown = print(max(abs(x), over=[%s]))\n",
                     call, call[0] == 'f' ? "u, v" : "l, m");

    testing_tree(&t, text);
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    grove_session_free(session);
    free(text);
    return plan.peak_bytes;
}

/* What a run is said to take: a transform has a plane of its own beside its result. */
TEST(memory_is_told)
{
#define PLANES "grid_correction(im.pixels, obs, size=64, cell=3e-5rad, w_terms=false)"
    plane_now = (plane){.size = {64, 64}, .cell = {3e-5, 3e-5}};
    plane_now.centre[0] = plane_now.cell[0];
    testing_tree(&t, "im = plane()\nobs = probe()\nx = " PLANES "\n");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    const uint64_t plane_bytes = 16 * (uint64_t)x.cells;
    ck_assert_int_eq(x.axis[0]->size, 1);
    ck_assert_uint_ge(peak_of("fft(" PLANES ")"), peak_of(PLANES) + 2 * plane_bytes);
}

/* ---- tables ---- */

/* A table over the last two axes of a value: 1 + i + 100 j of cell (j, i). */
static const char *write_table(const testing_value *x)
{
    const grove_axis *slow = x->axis[x->axes - 2], *fast = x->axis[x->axes - 1];
    grove_text text = {0};

    grove_text_add(&text, "%s,%s,value\n", slow->name, fast->name);
    for (int64_t j = 0; j < slow->size; j++)
        for (int64_t i = 0; i < fast->size; i++)
            grove_text_add(&text, "%.12g,%.12g,%lld\n", slow->centre[j], fast->centre[i],
                           (long long)(1 + i + 100 * j));
    const char *path = testing_file(&t, "x.csv", text.at);
    free(text.at);
    return path;
}

/* A table over the same pixels, or cells of the grid, is a factor, whichever comes first. */
LOOP_TEST(tables_meet, 0, 4)
{
    static const char *const values[] = {"dirty_image(V, obs, size=[12, 10], cell=3e-5rad)",
                                         "grid(V, obs, size=[12, 10], cell=3e-5rad)"};
    char *first = suite_text(PROBE "x = %s\n", values[_i / 2]);

    testing_tree(&t, first);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    const int64_t columns = x.axis[x.axes - 1]->size, rows = x.axis[x.axes - 2]->size;
    char *table =
        grove_format("T = table(\"%s\", axes=\"%s\")\n", write_table(&x), _i / 2 ? "u v" : "l m");
    char *second =
        grove_format("%s%s%sy = x * T.value\n", _i % 2 ? table : "", first, _i % 2 ? "" : table);
    testing_tree(&t, second);
    testing_value y = probe_session(&t, "y", NULL, NULL);
    ck_assert_int_eq(y.cells, x.cells);
    ck_assert_int_eq(y.axes, x.axes);
    for (int64_t k = 0; k < x.cells; k++) {
        double factor = (double)(1 + k % columns + 100 * (k / columns % rows));
        ck_assert_double_le(cabs(y.at[k] - factor * x.at[k]), 1e-6 * cabs(y.at[k]));
    }
    free(second);
    free(table);
}

/* A table over evenly spaced pixels is an image. */
TEST(tables_are_images)
{
    plane_now = (plane){.size = {8, 9}, .cell = {3e-5, 2e-5}};
    for (int k = 0; k < 8 * 9; k++)
        plane_now.stokes[k][0] = 1 + k % 8 + 100 * (k / 8);
    testing_tree(&t, "im = plane()\nobs = probe()\ni = 1 * im.pixels\n"
                     "x = predict_image(im.pixels, obs)\n");
    testing_value image = probe_session(&t, "i", NULL, NULL);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    testing_tree(&t, suite_text("T = table(\"%s\", axes=\"l m\")\nobs = probe()\n"
                                "y = predict_image(1Jy * T.value, obs)\n",
                                write_table(&image)));
    testing_value y = probe_session(&t, "y", NULL, NULL);
    ck_assert_double_lt(testing_distance(&y, &x), 1e-6);
    const char *said =
        testing_faults(&t, suite_text("T = table(\"%s\", axes=\"l m\")\nobs = probe()\n"
                                      "y = predict_image(1Jy * T.value, obs)\n",
                                      testing_file(&t, "uneven.csv",
                                                   "l,m,value\n0,0,1\n1e-3,0,2\n3e-3,0,1\n"
                                                   "0,1e-3,1\n1e-3,1e-3,1\n3e-3,1e-3,1\n")));
    ck_assert_msg(strstr(said, "its pixels are not equally spaced, ascending, along l") != NULL,
                  "%s", said);
}

/* ---- wrong calls ---- */

TEST(wrong_calls)
{
    static const struct {
        const char *call, *message;
    } cases[] = {
        {"grid(V, obs, size=8, stokes=\"IQ\")", "is one letter of IQUV"},
        {"grid(V, obs, size=8, epsilon=1e-14)", "1e-14 is not from 1e-12 to 1"},
        {"grid(mean(V, over=time), obs, size=8)", "do not vary with the time"},
        {"grid(V, obs, size=8, weights=vector(1, 2, 3))", "weights"},
        {"fft(obs.freq)", "over u and v, or over l and m"},
        {"fft(grid(V, obs, size=8), sign=2)", "is 1 or -1"},
        {"fft(grid(V, obs, size=8), sign=4294967297)", "is 1 or -1"},
        {"grid(V, obs, size=8, epsilon=2)", "2 is not from 1e-12 to 1"},
        {"grid_correction(fft(grid(V, obs, size=8)), obs, size=80)", "give all stages the same"},
        {"grid_correction(fft(grid(V, obs, size=66)), obs, size=67)",
         "made with size=[66,66], but this stage has size=[67,67]: the size differ"},
        {"degrid(grid(V, obs, size=64), obs, size=65)", "the size differ"},
        {"degrid(grid(V, obs, size=8, cell=2e-5rad), obs, size=8, cell=2.001e-5rad)",
         "the cell differ"},
        {"degrid(grid(V, obs, size=8, w_terms=false), obs, size=8, w_terms=false, "
         "centre=\"280.9deg 45.7deg\")",
         "the centre differ"},
        {"degrid(grid(V, obs, size=8, w_terms=false), obs, size=8)", "the w_terms differ"},
        {"grid_correction(fft(grid(V, obs, size=8, epsilon=1e-2)), obs, size=8, epsilon=1.3e-2)",
         "made with epsilon=0.01, but this stage has epsilon=0.013"},
        {"grid_correction(grid(V, obs, size=8), obs, size=8)", "(l, m)"},
        {"grid_correction(dirty_image(V, obs, size=8), obs, size=9)", "do not match the options"},
        {"degrid(fft(grid(V, obs, size=8)), obs, size=8)", "(u, v)"},
        {"degrid(grid(V, obs, size=8), obs, size=80)", "give all stages the same options"},
        {"grid(V, obs, size=8, max_uvw=[1km, 2km])", "is one length, or three"},
        {"grid(V, obs, size=8, max_uvw=-3m)", "is not a length above 0"},
        {"degrid(grid(V, obs, size=8, max_uvw=900m), obs, size=8)", "the max_uvw differ"},
        {"sum_of_weights(V, obs, stokes=\"W\")", "is not made of the letters"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said =
            testing_faults(&t, suite_text("obs = probe()\nV = obs.data\nx = %s\n", cases[i].call));
        ck_assert_msg(strstr(said, cases[i].message) != NULL, "%s: %s", cases[i].call, said);
        ck_assert_msg(strstr(said, "t.tree:3:") != NULL, "%s: %s", cases[i].call, said);
    }
}

SUITE(240, setup, teardown)
