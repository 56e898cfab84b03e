/* Images: dirty images against direct Fourier sums, and predictions against sums over sources.
 */
#include "image-testing.h"
#include "tests/common/grid.h"
#include "tests/common/probe.h"

#include "base/text.h"
#include "run/phase.h"
#include "run/pipeline.h"
#include "run/session.h"
#include "unstable/hash.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIGHT 299792458.0
#define PI    3.14159265358979323846

TESTING_FIXTURE(grid_begin(&t), probe_begin(&t), plane_begin(&t), grid_now.channels = 5)

/* Stations are `scale` times as far from each other. */
static void scale_grid(double scale)
{
    for (int p = 0; p < GRID_STATIONS; p++)
        for (int k = 0; k < 3; k++)
            grid_now.start[p][k] *= scale;
}

/* A point source of flat spectrum at (l, m) from the phase centre. */
static void put_source(int s, double l, double m, const double stokes[4])
{
    const double n = sqrt(1 - l * l - m * m), dec = grid_now.phase_centre[1];

    field_now.radec[s][0] = grid_now.phase_centre[0] + atan2(l, n * cos(dec) - m * sin(dec));
    field_now.radec[s][1] = asin(m * cos(dec) + n * sin(dec));
    for (int k = 0; k < 4; k++)
        field_now.stokes[s][k] = stokes[k];
    field_now.reference[s] = field_now.measure[s] = 0;
    memset(field_now.shape[s], 0, sizeof(field_now.shape[s]));
}

/* Polarised sources, the first of them away from the middle; `side` is the image's. */
static void put_sources(double side)
{
    static const double stokes[3][4] = {
        {2, 0.3, -0.4, 0.2}, {1, -0.1, 0.2, 0.3}, {0.5, 0, 0.1, -0.1}};
    static const double places[3][2] = {{0.31, -0.22}, {-0.12, 0.4}, {0.013, 0.008}};

    field_now.sources = 3;
    for (int s = 0; s < 3; s++)
        put_source(s, places[s][0] * side, places[s][1] * side, stokes[s]);
}

#define POINTS                                                                                     \
    "obs = grid()\nS = field()\nV = sum[s](point(S, obs))\n"                                       \
    "u = 1 * obs.uvw\nf = 1 * obs.freq\n"

static void tree(const char *lines, const char *image)
{
    testing_tree(&t, suite_text("%sx = %s\n", lines, image));
}

/* ---- dirty images against sums ---- */

typedef struct {
    const char *options, *stokes;
    double epsilon;
    int size[2];
    double cell[2], scale; /* of the stations' distances */
    bool double_precision, circular, without_w;
} one_image;

static const one_image images[] = {
    {"", "I", 1e-1, {32, 32}, {1e-5, 1e-5}, 1, false, false, false},
    {"", "I", 1e-3, {32, 32}, {1e-5, 1e-5}, 1, false, false, false},
    {"", "IQUV", 1e-4, {40, 40}, {1e-5, 1e-5}, 1, false, false, false},
    {"", "IQUV", 1e-4, {40, 40}, {1e-5, 1e-5}, 1, false, true, false},
    {"", "VU", 1e-7, {26, 30}, {1.1e-5, 0.9e-5}, 1, true, true, false},
    {"", "I", 1e-5, {33, 27}, {1e-5, 1e-5}, 1, false, false, false},
    {"", "QI", 1e-10, {31, 16}, {1e-5, 2e-5}, 1, true, false, false},
    {"", "I", 1e-12, {20, 24}, {1e-5, 1e-5}, 1, true, false, false},
    {"", "I", 1e-4, {1, 1}, {1e-5, 1e-5}, 1, false, false, false},
    {"", "I", 1e-6, {1, 9}, {1e-5, 1e-5}, 1, true, false, false},
    /* wide: w matters much */
    {"", "I", 1e-4, {48, 48}, {5e-3, 5e-3}, 0.002, false, false, false},
    {"", "IV", 1e-8, {48, 40}, {5e-3, 6e-3}, 0.002, true, false, false},
    {"centre=\"85.7deg 49.8deg\",", "I", 1e-5, {30, 30}, {1e-5, 1e-5}, 1, false, false, false},
    {"centre=\"92deg 45deg\",", "IQUV", 1e-9, {25, 30}, {3e-3, 3e-3}, 0.003, true, true, false},
    {"w_terms=false,", "I", 1e-5, {30, 30}, {1e-5, 1e-5}, 1, false, false, true},
    {"w_terms=false,", "I", 1e-9, {48, 48}, {5e-3, 5e-3}, 0.002, true, false, true},
};

LOOP_TEST(pixels_are_fourier_sums, 0, sizeof(images) / sizeof(images[0]))
{
    const one_image *c = &images[_i];
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = c->double_precision);
    char text[400];

    grid_now.feed = c->circular;
    scale_grid(c->scale);
    put_sources(c->size[1] * c->cell[1]);
    snprintf(text, sizeof(text),
             "dirty_image(V, obs, %s stokes=\"%s\", epsilon=%g, size=[%d, %d], cell=[%grad, "
             "%grad])",
             c->options, c->stokes, c->epsilon, c->size[0], c->size[1], c->cell[0], c->cell[1]);
    tree(POINTS, text);
    image_data d = image_data_read(&t, c->circular);
    testing_value x = probe_session(&t, "x", &options, NULL);
    d.without_w = c->without_w;
    ck_assert_int_eq(x.cells, c->size[0] * c->size[1]);
    ck_assert_int_eq(x.axis[1]->size, c->size[0]);
    ck_assert_int_eq(x.elements, strlen(c->stokes));
    for (int e = 0; e < x.elements; e++) {
        int parameter = (int)(strchr("IQUV", c->stokes[e]) - "IQUV");
        double off = image_data_distance(&d, &x, e, parameter);
        ck_assert_msg(off <= c->epsilon, "%c is off by %g, not %g", c->stokes[e], off, c->epsilon);
    }
}

/* Numbers and diagonals count as the matrices that they stand for. */
LOOP_TEST(shapes_of_data, 0, 2)
{
    static const char *const lines[] = {
        "obs = grid()\nD[p,q] = gains(obs, seed=1)[p] * gains(obs, seed=2)[q]^H\n",
        "obs = grid()\nG[p] = gains(obs, jones=diagonal, seed=1)\nD[p,q] = G[p] * G[q]^H\n"};
    tree(suite_text("%sV = D * constant([1, 0, 0, 1], shape=matrix)\n"
                    "y = dirty_image(V, obs, size=20, cell=1e-5rad, epsilon=1e-9, stokes=\"%s\")\n",
                    lines[_i], _i ? "IQ" : "I"),
         suite_text("dirty_image(D, obs, size=20, cell=1e-5rad, epsilon=1e-9, stokes=\"%s\")",
                    _i ? "IQ" : "I"));
    ck_assert_int_eq(testing_node(&t, "D")->form.shape, _i ? GROVE_DIAGONAL : GROVE_SCALAR);
    testing_value x = probe_session(&t, "x", NULL, NULL), y = probe_session(&t, "y", NULL, NULL);
    ck_assert_double_lt(testing_distance(&x, &y), 1e-13);
    for (int e = 0; e < x.elements; e++)
        ck_assert_double_gt(cabs(x.at[(10 * 20 + 10) * x.elements + e]), 1e-4);
}

/* Where `centre` lies: the pixel (size - 1) / 2 along l, size / 2 along m looks at a source there.
 */
TEST(the_centre_is_a_direction)
{
    static const double stokes[4] = {3, 0, 0, 0};

    field_now.sources = 1;
    put_source(0, 0, 0, stokes);
    field_now.radec[0][0] = 85.75 * PI / 180;
    field_now.radec[0][1] = 49.8 * PI / 180;
    tree(POINTS, "dirty_image(V, obs, size=[12, 15], cell=1e-5rad, epsilon=1e-9, "
                 "centre=\"85.75deg 49.8deg\")");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    ck_assert_double_eq_tol(creal(x.at[7 * 12 + 5]), 3, 1e-8);
}

/* l grows to the east with x, m to the north with y; a source shows its flux there. */
LOOP_TEST(a_source_on_its_pixel, 0, 2)
{
    static const double stokes[4] = {2.5, -0.5, 0.25, 0.125};
    const double cell = 1e-5;

    grid_now.feed = _i;
    field_now.sources = 1;
    put_source(0, 7 * cell, -5 * cell, stokes);
    ck_assert(field_now.radec[0][0] > grid_now.phase_centre[0]);
    ck_assert(field_now.radec[0][1] < grid_now.phase_centre[1]);
    tree(POINTS, "dirty_image(V, obs, stokes=\"IQUV\", size=[32, 24], cell=1e-5rad, epsilon=1e-8)");
    testing_value x = probe_session(&t, "x", NULL, NULL);
    const int64_t at = (12 - 5) * 32 + 15 + 7;
    for (int e = 0; e < 4; e++) {
        ck_assert_double_eq_tol(creal(x.at[4 * at + e]), stokes[e], 1e-7);
        for (int64_t i = 0; i < x.cells; i++)
            ck_assert(i == at || cabs(x.at[4 * i + e]) < fabs(stokes[e]));
    }
}

/* Without `cell` four pixels to the narrowest fringe, of the longest baseline in the layout and a
 * thousandth. */
TEST(cells_by_default)
{
    double longest = 0;

    tree(PROBE, "dirty_image(V, obs, size=[20, 30])");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    for (int64_t row = 0; row < d.uvw.cells; row++) {
        const double complex *uvw = d.uvw.at + 3 * row;
        longest = fmax(longest, sqrt(creal(uvw[0] * uvw[0] + uvw[1] * uvw[1] + uvw[2] * uvw[2])));
    }
    double cell = 0.25 * LIGHT / (1.001 * longest * creal(d.freq.at[PROBE_CHANNELS - 1]));
    for (int a = 0; a < 2; a++)
        ck_assert_double_eq_tol(x.axis[a]->width[0] / cell, 1, 1e-6);
}

/* ---- weights and flags ---- */

/* 1 over the variance of the sum of the elements, but for a factor, of the weights less a number
 * times the identity. */
static double harmonic(int64_t time, int64_t baseline, int64_t channel, unsigned elements,
                       double less)
{
    double sum = 0;

    for (int e = 0; e < 4; e++)
        if (elements >> e & 1) {
            double w = probe_weight(time, baseline, channel, e) - (e % 3 ? 0 : less);
            sum += w > 0 ? 1 / w : INFINITY;
        }
    return 1 / sum;
}

static void weigh(image_data *d, int kind, unsigned elements)
{
    for (int64_t i = 0; i < d->samples; i++) {
        int64_t k = i % PROBE_CHANNELS, b = i / PROBE_CHANNELS % PROBE_BASELINES,
                time = i / PROBE_CHANNELS / PROBE_BASELINES;
        double freq = creal(d->freq.at[k]);
        d->weight[i] = kind == 0   ? harmonic(time, b, k, elements, 0)
                       : kind == 1 ? harmonic(time, b, k, elements, 1)
                       : kind == 2 ? fmax(0, freq / 1e6 - 1403)
                                   : 1;
        for (int e = 0; e < 4; e++)
            if (elements >> e & 1 && d->flags[4 * i + e])
                d->weight[i] = 0;
    }
}

static const struct {
    const char *weights;
    int kind;
} weightings[] = {{"", 0},
                  {", weights=obs.weight", 0},
                  {", weights=obs.weight - 1", 1},
                  {", weights=obs.freq / 1MHz - 1403", 2},
                  {", weights=1", 3}};

LOOP_TEST(weights_and_flags_count, 0, 10)
{
    const bool all = _i % 2;
    char text[400];

    snprintf(text, sizeof(text),
             "dirty_image(V, obs, size=24, cell=3e-5rad, epsilon=1e-9, stokes=\"%s\"%s)",
             all ? "IQUV" : "I", weightings[_i / 2].weights);
    tree(PROBE, text);
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    weigh(&d, weightings[_i / 2].kind, all ? 15 : 9);
    for (int e = 0; e < x.elements; e++)
        ck_assert_double_lt(image_data_distance(&d, &x, e, e), 1e-9);
}

/* Where weights are flagged, visibilities do not count. */
TEST(flagged_weights)
{
    tree("obs = probe()\nV = noise(obs, sigma=1Jy)\nu = 1 * obs.uvw\nf = 1 * obs.freq\n",
         "dirty_image(V, obs, size=24, cell=3e-5rad, epsilon=1e-9, weights=real(obs.data))");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    for (int64_t i = 0; i < d.samples; i++) {
        double sum = 0;
        for (int e = 0; e < 4; e += 3) {
            int64_t k = i % PROBE_CHANNELS, b = i / PROBE_CHANNELS % PROBE_BASELINES,
                    time = i / PROBE_CHANNELS / PROBE_BASELINES;
            double w = probe_flagged(time, b, k, e) ? 0 : creal(probe_data(time, b, k, e));
            sum += w > 0 ? 1 / w : INFINITY;
        }
        d.weight[i] = 1 / sum;
    }
    ck_assert_double_lt(image_data_distance(&d, &x, 0, 0), 1e-9);
}

/* One visibility less, and a warning. */
TEST(numbers_that_are_not)
{
    tree("obs = probe(spoil=true, flags=false)\nV = 1 * obs.data\nu = 1 * obs.uvw\nf = 1 * "
         "obs.freq\n",
         "dirty_image(V, obs, size=24, cell=3e-5rad, epsilon=1e-9, weights=1)");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", NULL, NULL);
    char *said = suite_messages(t.error);
    ck_assert_msg(strstr(said, "1 visibilities are not numbers") ||
                      strstr(said, "1 visibility is not a number"),
                  "%s", said);
    d.weight[0] = 0;
    ck_assert_double_lt(image_data_distance(&d, &x, 0, 0), 1e-9);
}

/* A run in single precision reaches any epsilon, of numbers that are exact in it. */
TEST(double_precision_where_epsilon_asks)
{
    grove_session_options single = GROVE_SESSION_OPTIONS(.double_precision = false);

    tree(PROBE, "dirty_image(V, obs, size=24, cell=3e-5rad, epsilon=1e-10)");
    image_data d = image_data_read(&t, false);
    testing_value x = probe_session(&t, "x", &single, NULL);
    weigh(&d, 0, 9);
    ck_assert_double_lt(image_data_distance(&d, &x, 0, 0), 1e-10);
}

/* ---- tiles and threads ---- */

LOOP_TEST(tiles_and_threads, 0, 2)
{
    static const int tiles[][3] = {{0, 0, 0}, {1, 0, 0}, {2, 3, 0}, {3, 0, 4}, {0, 2, 5}};
    const double epsilon = _i ? 1e-8 : 1e-4;
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = _i, .threads = 1);
    testing_value first = {0};
    char text[200];

    snprintf(text, sizeof(text),
             "dirty_image(V, obs, size=40, cell=3e-5rad, epsilon=%g, stokes=\"IV\")", epsilon);
    tree(PROBE, text);
    for (int i = 0; i < 5; i++) {
        testing_value kept = {0};
        options.tile_times = tiles[i][0];
        options.tile_channels = tiles[i][1];
        options.tile_baselines = tiles[i][2];
        for (options.threads = 1; options.threads < 4; options.threads++) {
            testing_value x = probe_session(&t, "x", &options, NULL);
            if (options.threads > 1)
                ck_assert_mem_eq(x.at, kept.at, (size_t)x.cells * 2 * sizeof(*x.at));
            if (options.threads == 1)
                kept = x;
        }
        if (i == 0) {
            first = kept;
        } else {
            ck_assert_double_lt(testing_distance(&kept, &first), epsilon / 10);
        }
    }
}

/* ---- predictions ---- */

static void set_plane(int nl, int nm, double cell)
{
    plane_now = (plane){.size = {nl, nm}, .cell = {cell, cell}};
}

/* Bright pixels, and sources there: with all Stokes parameters, or I alone. */
static void put_pixels(bool polarised)
{
    static const int places[4][2] = {{3, 4}, {-10, 7}, {0, 0}, {11, -9}};
    static const double stokes[4][4] = {
        {1, 0.2, -0.3, 0.4}, {2.5, -1, 0.5, 0.1}, {-0.5, 0, 0.2, 0}, {0.75, 0.1, 0.1, -0.1}};

    field_now.sources = 4;
    for (int s = 0; s < 4; s++) {
        const int x = places[s][0] + plane_now.size[0] / 2,
                  y = places[s][1] + plane_now.size[1] / 2;
        double only[4] = {stokes[s][0]};
        put_source(s, places[s][0] * plane_now.cell[0], places[s][1] * plane_now.cell[1],
                   polarised ? stokes[s] : only);
        memcpy(plane_now.stokes[y * plane_now.size[0] + x], field_now.stokes[s], sizeof(only));
    }
}

static double predicted_distance(double epsilon, bool double_precision, const char *image)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = double_precision);
    char text[200];

    snprintf(text, sizeof(text), "predict_image(%s, obs, epsilon=%g)", image, epsilon);
    tree("im = plane()\n" POINTS, text);
    testing_value v = probe_session(&t, "V", NULL, NULL);
    testing_value x = probe_session(&t, "x", &options, NULL);
    ck_assert_int_eq(x.elements, 4);
    double off = testing_distance(&x, &v);
    return off;
}

LOOP_TEST(pixels_are_sources, 0, 7)
{
    static const struct {
        double epsilon, cell, scale;
        int size[2];
        bool double_precision, polarised, circular;
    } cases[] = {
        {1e-2, 1e-5, 1, {32, 32}, false, false, false},
        {1e-5, 1e-5, 1, {32, 32}, false, false, true},
        {1e-4, 1e-5, 1, {33, 27}, false, true, false},
        {1e-8, 1e-5, 1, {33, 27}, true, true, true},
        {1e-11, 1e-5, 1, {40, 26}, true, true, false},
        {1e-5, 8e-3, 0.002, {40, 40}, false, true, false},
        {1e-9, 8e-3, 0.002, {41, 40}, true, false, true},
    };
    grid_now.feed = cases[_i].circular;
    scale_grid(cases[_i].scale);
    set_plane(cases[_i].size[0], cases[_i].size[1], cases[_i].cell);
    put_pixels(cases[_i].polarised);
    double off = predicted_distance(cases[_i].epsilon, cases[_i].double_precision,
                                    cases[_i].polarised ? "im.stokes" : "im.pixels");
    ck_assert_msg(off <= cases[_i].epsilon, "off by %g", off);
}

/* <dirty_image(V), X> = <V, predict_image(X)>, with weights of 1: half the sum over elements, since
 * B = I + Q and so on. */
LOOP_TEST(adjoint, 0, 2)
{
    double left = 0, right = 0, size = 0;

    grid_now.feed = _i;
    set_plane(28, 35, 1e-5);
    plane_now.centre[0] = plane_now.cell[0]; /* of pixel 14; the image's middle is pixel 13 */
    for (int i = 0; i < 28 * 35; i++)
        for (int e = 0; e < 4; e++) {
            double pair[2];
            grove_random_normal(1, (uint64_t)i, (uint64_t)e, 0, 0, pair);
            plane_now.stokes[i][e] = pair[0];
        }
    tree("im = plane()\nobs = grid()\nV = noise(obs, sigma=1Jy)\n"
         "p = predict_image(im.stokes, obs, epsilon=1e-11)\n",
         "dirty_image(V, obs, stokes=\"IQUV\", size=[28, 35], cell=1e-5rad, epsilon=1e-11)");
    testing_value v = probe_session(&t, "V", NULL, NULL), p = probe_session(&t, "p", NULL, NULL),
                  x = probe_session(&t, "x", NULL, NULL);
    for (int i = 0; i < 28 * 35; i++)
        for (int e = 0; e < 4; e++)
            left += creal(x.at[4 * i + e]) * plane_now.stokes[i][e] * (double)v.cells;
    ck_assert_int_eq(p.cells, v.cells);
    for (int64_t i = 0; i < 4 * v.cells; i++) {
        right += creal(conj(v.at[i]) * p.at[i]) / 2;
        size += cabs(v.at[i]) * cabs(p.at[i]) / 2;
    }
    ck_assert_double_gt(fabs(left), 1e-4 * size);
    ck_assert_double_eq_tol(left, right, 1e-11 * size);
}

/* Two images of the same pixels, and of others. */
TEST(images_meet)
{
    tree("obs = grid()\nV = noise(obs, sigma=1Jy)\n"
         "a = dirty_image(V, obs, size=[24, 30], cell=1e-5rad, epsilon=1e-9)\n"
         "b = dirty_image(3 * V, obs, size=[24, 30], cell=1e-5rad, epsilon=1e-9)\n"
         "p = psf_image(obs, size=[24, 30], cell=1e-5rad, epsilon=1e-9)\n",
         "b - a + 0Jy * p");
    testing_value a = probe_session(&t, "a", NULL, NULL), x = probe_session(&t, "x", NULL, NULL);
    ck_assert_int_eq(x.cells, (int64_t)24 * 30);
    for (int64_t i = 0; i < x.cells; i++)
        ck_assert_double_eq_tol(creal(x.at[i]), 2 * creal(a.at[i]), 1e-6);

    const char *faults =
        testing_faults(&t, "obs = grid()\nV = noise(obs, sigma=1Jy)\n"
                           "a = dirty_image(V, obs, size=24, cell=1e-5rad)\n"
                           "b = dirty_image(V, obs, size=24, cell=2e-5rad)\nx = b - a\n");
    ck_assert_msg(
        strstr(faults, "they differ: m 0 is at -0.00012 in one, at -0.00024 in the other"), "%s",
        faults);
    faults = testing_faults(&t, "obs = grid()\na = uv_density(obs, size=24, cell=1e-5rad)\n"
                                "b = uv_density(obs, size=24, cell=2e-5rad)\nx = b - a\n");
    ck_assert_msg(strstr(faults, "they differ: they have no coordinates"), "%s", faults);
}

/* An image that changes between two evaluations of a session, and comes back. */
TEST(an_image_that_changes)
{
    static const double fluxes[] = {1, 3, 3, 1};
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = true);

    set_plane(24, 24, 1e-5);
    tree("im = plane()\nobs = grid()\n", "predict_image(im.pixels, obs, epsilon=1e-9)");
    grove_session *session = grove_session_new(t.tree, &options, t.error);
    ck_assert_ptr_nonnull(session);
    grove_node *x = testing_node(&t, "x");
    grove_evaluation *evaluation = NULL;
    ck_assert_int_eq(grove_phase_start(session, &x, 1), 0);
    ck_assert_int_eq(grove_evaluation_new(session, &x, 1, NULL, 0, &evaluation), 0);
    for (int i = 0; i < 4; i++) {
        grove_value *value = NULL;
        int64_t count;
        plane_now.stokes[12 * 24 + 12][0] = fluxes[i];
        grove_session_set_content(session, testing_node(&t, "im"),
                                  grove_hash_number(grove_hash_start(), fluxes[i]));
        ck_assert_int_eq(grove_evaluation_run(evaluation, &value), 0);
        double *numbers = suite_keep(grove_value_numbers(value, &count, t.error));
        for (int64_t k = 0; k < count; k++) {
            ck_assert_double_eq_tol(numbers[2 * k], k % 4 % 3 ? 0 : fluxes[i], 1e-8);
            ck_assert_double_eq_tol(numbers[2 * k + 1], 0, 1e-8);
        }
        grove_value_unref(value);
    }
    grove_evaluation_free(evaluation);
    grove_phase_stop(session);
    grove_session_free(session);
}

SUITE(240, setup, teardown)
