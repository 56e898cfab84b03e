/* Weights of visibilities for images against loops over all pairs of them, point-spread functions
 * with these weights, and beams fitted to Gaussians. */
#include "image-testing.h"
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIGHT 299792458.0
#define PI    3.14159265358979323846

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t), plane_begin(&t))

static void tree(const char *lines, const char *image)
{
    testing_tree(&t, suite_text("%sx = %s\n", lines, image));
}

/* ---- truth ---- */

static double natural(int64_t sample, int e)
{
    return probe_weight(sample / PROBE_CHANNELS / PROBE_BASELINES,
                        sample / PROBE_CHANNELS % PROBE_BASELINES, sample % PROBE_CHANNELS, e);
}

/* That of Stokes I: the weights of XX and YY, 0 where one is flagged or has none. */
static double weight_of_i(const image_data *d, int64_t sample)
{
    double xx = natural(sample, 0), yy = natural(sample, 3);

    if (d->flags[4 * sample] || d->flags[4 * sample + 3] || xx == 0 || yy == 0)
        return 0;
    return 4 / (1 / xx + 1 / yy);
}

/* u and v in wavelengths, times `scale`. */
static void place_of(const image_data *d, int64_t sample, const double scale[2], double place[2])
{
    for (int k = 0; k < 2; k++)
        place[k] = creal(d->uvw.at[3 * (sample / d->channels) + k]) *
                   creal(d->freq.at[sample % d->channels]) / LIGHT * scale[k];
}

/* Two samples share a cell of the widths 1 / scale, or one and the other's conjugate. */
static bool together(const image_data *d, int64_t i, int64_t j, const double scale[2])
{
    double a[2], b[2];

    place_of(d, i, scale, a);
    place_of(d, j, scale, b);
    double du = rint(a[0]) - rint(b[0]), dv = rint(a[1]) - rint(b[1]);
    double su = rint(a[0]) + rint(b[0]), sv = rint(a[1]) + rint(b[1]);
    return (du == 0 && dv == 0) || (su == 0 && sv == 0);
}

static bool within(const image_data *d, int64_t i, const int size[2], const double scale[2])
{
    double a[2];

    place_of(d, i, scale, a);
    for (int k = 0; k < 2; k++)
        if (fabs(rint(a[k])) > (size[k] - 1) / 2)
            return false;
    return true;
}

/* Of each sample the sum of the weights in its cell. */
static double *densities(const image_data *d, const int size[2], const double cell[2])
{
    const double scale[2] = {size[0] * cell[0], size[1] * cell[1]};
    double *sum = calloc((size_t)d->samples, sizeof(*sum));

    for (int64_t i = 0; i < d->samples; i++) {
        ck_assert(within(d, i, size, scale));
        for (int64_t j = 0; j < d->samples; j++)
            sum[i] += together(d, i, j, scale) ? d->weight[j] : 0;
    }
    return suite_keep(sum);
}

/* ---- densities and weights ---- */

static const int sides[][2] = {{64, 64}, {41, 41}, {60, 37}, {15, 200}};
static const double angles[][2] = {{2e-5, 2e-5}, {2e-5, 2e-5}, {2e-5, 2e-5}, {2e-5, 2.5e-5}};

LOOP_TEST(density_of_samples, 0, 4)
{
    const int *side = sides[_i];
    const double *cell = angles[_i], scale[2] = {side[0] * cell[0], side[1] * cell[1]};
    double *truth = calloc((size_t)(side[0] * (side[1] / 2 + 1)), sizeof(*truth)), off = 0;
    char text[200];

    snprintf(text, sizeof(text), "uv_density(obs, size=[%d, %d], cell=[%grad, %grad])", side[0],
             side[1], cell[0], cell[1]);
    tree(PROBE, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(x.cells, side[0] * (side[1] / 2 + 1));
    ck_assert_str_eq(x.axis[0]->name, "v");
    for (int64_t i = 0; i < d.samples; i++) {
        double at[2];
        place_of(&d, i, scale, at);
        int u = (int)rint(at[0]), v = (int)rint(at[1]);
        if (v < 0 || (v == 0 && u < 0))
            u = -u, v = -v;
        truth[v * side[0] + side[0] / 2 + u] += weight_of_i(&d, i);
    }
    for (int64_t i = 0; i < x.cells; i++)
        off = fmax(off, fabs(creal(x.at[i]) - truth[i]));
    ck_assert_double_lt(off, 1e-12);
    free(truth);
}

/* What does not vary with frequency counts once, however other values are cut. */
TEST(density_beside_other_values)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);
    double first = 0;

    grid_now.channels = 6;
    tree("obs = grid()\nV = noise(obs, sigma=1Jy) / 1Jy\n",
         "sum(uv_density(obs, size=200, cell=1e-5rad), over=[v, u]) + mean(real(trace(V)))");
    for (options.tile_channels = 0; options.tile_channels < 4; options.tile_channels++)
        for (options.tile_times = 0; options.tile_times < 3; options.tile_times++) {
            testing_value x = probe_session(&t, "x", &options, NULL);
            ck_assert_int_eq(x.cells, 1);
            if (options.tile_channels + options.tile_times == 0)
                first = creal(x.at[0]);
            ck_assert_double_eq_tol(creal(x.at[0]), first, 1e-12 * first);
        }
    ck_assert_double_eq_tol(first, GRID_TIMES * GRID_BASELINES * 6, 1);
}

typedef struct {
    const char *options;
    int kind; /* 0: natural, 1: uniform, 2: briggs */
    double robust, taper;
} scheme;

static const scheme schemes[] = {{"kind=natural", 0, 0, 0},
                                 {"kind=natural, taper=20arcsec", 0, 0, 20},
                                 {"kind=uniform", 1, 0, 0},
                                 {"kind=uniform, taper=3arcsec", 1, 0, 3},
                                 {"", 2, 0, 0},
                                 {"robust=-2", 2, -2, 0},
                                 {"robust=0.5", 2, 0.5, 0},
                                 {"kind=briggs, robust=2, taper=10arcsec", 2, 2, 10}};
enum { SCHEMES = sizeof(schemes) / sizeof(schemes[0]) };

/* What a scheme multiplies the weights of each sample by; d->weight are those before. */
static double *factors(const image_data *d, const scheme *s, const int size[2],
                       const double cell[2])
{
    double *factor = densities(d, size, cell), squares = 0, sum = 0;

    for (int64_t i = 0; i < d->samples; i++) {
        squares += d->weight[i] * factor[i]; /* sum W^2 over cells = sum w W over samples */
        sum += d->weight[i];
    }
    const double f2 = pow(5 * pow(10, -s->robust), 2) / (squares / sum);
    for (int64_t i = 0; i < d->samples; i++) {
        double at[2], in = factor[i];
        factor[i] = s->kind == 0 ? 1 : s->kind == 1 ? (in > 0 ? 1 / in : 0) : 1 / (1 + in * f2);
        place_of(d, i, (const double[]){1, 1}, at);
        const double taper = s->taper * PI / 180 / 3600;
        factor[i] *= exp(-pow(PI * taper, 2) * (at[0] * at[0] + at[1] * at[1]) / (4 * log(2)));
    }
    return suite_keep(factor);
}

static char *weighting_of(const scheme *s, int k)
{
    return suite_text("weighting(obs, %s%ssize=[%d, %d], cell=[%grad, %grad])", s->options,
                      s->options[0] ? ", " : "", sides[k][0], sides[k][1], angles[k][0],
                      angles[k][1]);
}

LOOP_TEST(weights_by_formula, 0, 4 * SCHEMES)
{
    const scheme *s = &schemes[_i / 4];
    const int k = _i % 4;
    grove_session_options cut =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_times = 2, .tile_channels = 3);
    char *text = weighting_of(s, k);

    tree(PROBE, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL), y = probe_session(&t, "x", &cut, NULL);
    for (int64_t i = 0; i < d.samples; i++)
        d.weight[i] = weight_of_i(&d, i);
    double *factor = factors(&d, s, sides[k], angles[k]);
    ck_assert_int_eq(x.elements, 4);
    ck_assert_int_eq(x.cells, d.samples);
    for (int64_t i = 0; i < d.samples; i++)
        for (int e = 0; e < 4; e++) {
            double wanted = natural(i, e) * factor[i];
            ck_assert_msg(fabs(creal(x.at[4 * i + e]) - wanted) <= 1e-11 * wanted,
                          "%s: sample %d: %g, not %g", text, (int)i, creal(x.at[4 * i + e]),
                          wanted);
        }
    ck_assert_double_lt(testing_distance(&y, &x), 1e-14); /* sums of tiles are rounded */
}

/* A set without weights has weights of 1, of the shape of numbers; and others can be given. */
LOOP_TEST(weights_to_start_from, 0, 2)
{
    static const char *const given[] = {"", ", weights=obs.freq / 1GHz"};
    const int side[2] = {50, 50};
    const double cell[2] = {1e-5, 1e-5};
    char text[200];

    grid_now.channels = 5;
    snprintf(text, sizeof(text), "weighting(obs, kind=uniform, size=50, cell=1e-5rad%s)",
             given[_i]);
    tree("obs = grid()\nV = noise(obs, sigma=1Jy)\nu = 1 * obs.uvw\nf = 1 * obs.freq\n", text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(x.elements, 1);
    for (int64_t i = 0; i < d.samples && _i; i++)
        d.weight[i] = grid_now.freq[i % 5] / 1e9;
    double *density = densities(&d, side, cell);
    for (int64_t i = 0; i < d.samples; i++)
        ck_assert_double_eq_tol(creal(x.at[i]), d.weight[i] / density[i], 1e-13);
}

/* Visibilities of baselines that the cells do not reach have no density, and no weight. */
LOOP_TEST(weights_beyond_the_cells, 0, 2)
{
    static const char *const kinds[] = {"uniform", "briggs"};
    const int side[2] = {15, 15};
    const double cell = 1e-4, scale[2] = {side[0] * cell, side[1] * cell};
    char text[200];
    int beyond = 0;

    grid_now.channels = 5;
    snprintf(text, sizeof(text), "weighting(obs, kind=%s, size=15, cell=%grad)", kinds[_i], cell);
    tree("obs = grid()\nV = noise(obs, sigma=1Jy)\nu = 1 * obs.uvw\nf = 1 * obs.freq\n", text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    for (int64_t i = 0; i < d.samples; i++) {
        bool is_within = within(&d, i, side, scale);
        beyond += !is_within;
        ck_assert_msg((creal(x.at[i]) > 0) == is_within, "sample %d: %g", (int)i, creal(x.at[i]));
    }
    ck_assert(beyond > 0 && beyond < d.samples);
}

/* ---- point-spread functions ---- */

/* 1 at its centre; all pixels are sums of the weights' fringes, of visibilities without flags. */
LOOP_TEST(spread_of_a_point, 0, SCHEMES)
{
    const scheme *s = &schemes[_i];
    char *of = weighting_of(s, 0);
    tree(PROBE, suite_text("psf_image(obs, size=[30, 25], cell=2e-5rad, epsilon=1e-8, "
                           "weights=%s)",
                           of));
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    for (int64_t i = 0; i < d.samples; i++)
        d.weight[i] = weight_of_i(&d, i);
    double *factor = factors(&d, s, sides[0], angles[0]);
    for (int64_t i = 0; i < d.samples; i++) {
        d.weight[i] *= factor[i];
        for (int e = 0; e < 4; e++)
            d.v.at[4 * i + e] = e % 3 ? 0 : 1;
    }
    ck_assert_double_eq_tol(creal(x.at[12 * 30 + 14]), 1, 1e-8);
    ck_assert_double_lt(image_data_distance(&d, &x, 0, 0), 1e-8);
}

/* ---- beams ---- */

/* A Gaussian of these full widths, the major axis at that position angle. */
static void put_gaussian(double major, double minor, double angle)
{
    const double four_ln_2 = 4 * log(2);

    for (int y = 0; y < plane_now.size[1]; y++)
        for (int x = 0; x < plane_now.size[0]; x++) {
            double l = (x - plane_now.size[0] / 2) * plane_now.cell[0],
                   m = (y - plane_now.size[1] / 2) * plane_now.cell[1];
            double along = (l * sin(angle) + m * cos(angle)) / major,
                   across = (l * cos(angle) - m * sin(angle)) / minor;
            plane_now.stokes[y * plane_now.size[0] + x][0] =
                exp(-four_ln_2 * (along * along + across * across));
        }
}

static const double beams[][3] = {{10, 6, 0},    {10, 6, 0.3},   {10, 6, 0.8}, {10, 6, -0.5},
                                  {10, 6, -1.2}, {10, 6, 1.57},  {9, 9, 0},    {6, 5.5, 0.7},
                                  {14, 3, 1.1},  {3.1, 2.4, 0.4}};

LOOP_TEST(beam_of_a_gaussian, 0, 20)
{
    const double *beam = beams[_i % 10], unit = 1e-5;
    const bool wide = _i / 10; /* cells are not square, and sides not even */

    plane_now =
        (plane){.size = {wide ? 51 : 64, wide ? 64 : 60}, .cell = {unit, wide ? 0.7 * unit : unit}};
    put_gaussian(beam[0] * unit, beam[1] * unit, beam[2]);
    tree("im = plane()\n", "fit_beam(im.pixels)");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(x.cells, 1);
    ck_assert_int_eq(x.elements, 3);
    ck_assert_double_eq_tol(creal(x.at[0]) / unit, beam[0], 1e-7);
    ck_assert_double_eq_tol(creal(x.at[1]) / unit, beam[1], 1e-7);
    if (beam[0] > beam[1])
        ck_assert_double_eq_tol(sin(creal(x.at[2]) - beam[2]), 0, 1e-7);
}

/* Sidelobes do not count: bright rings around a Gaussian leave its beam as it is. */
TEST(sidelobes_do_not_count)
{
    plane_now = (plane){.size = {64, 64}, .cell = {1e-5, 1e-5}};
    put_gaussian(8e-5, 5e-5, 0.6);
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < 64; x++)
            if (hypot(x - 32, y - 32) > 18)
                plane_now.stokes[y * 64 + x][0] = 0.5;
    tree("im = plane()\n", "fit_beam(im.pixels)");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_double_eq_tol(creal(x.at[0]) * 1e5, 8, 1e-7);
    ck_assert_double_eq_tol(creal(x.at[1]) * 1e5, 5, 1e-7);
    ck_assert_double_eq_tol(creal(x.at[2]), 0.6, 1e-7);
}

/* Noise, a lone bright pixel, nothing, all the same, a single pixel, what is no number. */
LOOP_TEST(no_beam, 0, 6)
{
    plane_now = (plane){.size = {_i == 4 ? 1 : 32, _i == 4 ? 1 : 32}, .cell = {1e-5, 1e-5}};
    for (int i = 0; i < 32 * 32; i++) {
        double pair[2];
        grove_random_normal(3, (uint64_t)i, 0, 0, 0, pair);
        plane_now.stokes[i][0] = _i == 0 ? 0.1 * pair[0] : _i == 3 ? 1 : _i == 5 ? NAN : 0;
    }
    if (_i < 2)
        plane_now.stokes[16 * 32 + 16][0] = 1;
    if (_i == 4)
        plane_now.stokes[0][0] = 1;
    tree("im = plane()\n", "fit_beam(im.pixels)");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    char *said = suite_messages(t.error);
    for (int k = 0; k < 3; k++)
        ck_assert(isnan(creal(x.at[k])));
    ck_assert_msg(strstr(said, "no Gaussian fits to the middle of the point-spread function"), "%s",
                  said);
}

SUITE(240, setup, teardown)
