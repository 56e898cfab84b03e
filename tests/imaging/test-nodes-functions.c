/* grid and degrid with functions in random configurations: dirty images against the Fourier sum of
 * M^H V over visibilities in long double, within the stated error of the nearest samples and
 * planes; <grid(V), X> = <V, degrid(X)>. Sizes, pixels, fields from narrow to wide, supports,
 * oversampling, planes of w, terms of all shapes that vary with stations, times and channels, sets
 * of correlations, of images, index sets with none; one image, or one of each band of channels.
 * Mueller matrices are products of Jones matrices here. GROVE_TEST_CONFIGURATIONS is 10 times how
 * many configurations there are, GROVE_TEST_SEED where they begin. */
#include "image-testing.h"
#include "random-numbers.h"
#include "tests/common/probe.h"

#include "base/memory.h"
#include "base/text.h"
#include "run/session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PI    3.14159265358979323846264338327950288L
#define LIGHT 299792458.0L

TESTING_FIXTURE(probe_begin(&t))

enum { SAMPLES = PROBE_TIMES * PROBE_BASELINES * PROBE_CHANNELS };
enum { LONGEST = 2000 /* m; the antennas of `probe` are within 1.8 km */ };

static int pick(int low, int high)
{
    return (int)floor(uniform(low, high + 1 - 1e-9));
}

/* ---- configurations ---- */

typedef enum { NUMBER, STATION_NUMBERS, DIAGONAL, MATRIX, SET } terms_kind;

typedef struct {
    uint64_t seed;
    terms_kind kind;  /* SET: numbers for each station, and index sets of their functions */
    int shape;        /* of the terms: 1, 2, 4 */
    int correlations; /* of the data: 1, 2, 4 */
    int images;
    char stokes[5];
    bool stations, varies;                      /* terms vary with station, with time and station */
    int times, channels;                        /* that share functions */
    int bands;                                  /* 0: none are asked for */
    int size[2], oversampling, support, planes; /* 0: those that it chooses */
    double scale, cell[2], epsilon;             /* baselines are `scale` times those of `probe` */
    bool flat, double_precision;
    int index[2][16]; /* [way][correlation][image] */
    char *text;
} configuration;

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* Index sets into functions of 16 pairs of stations. */
static void draw_set(configuration *c)
{
    c->images = pick(1, 4);
    for (int way = 0; way < 2; way++)
        for (int k = 0; k < 16; k++)
            c->index[way][k] = pick(0, 2) ? pick(0, 15) : -1;
    c->index[0][0] = c->index[1][0] = 5;
}

/* Letters of IQUV in any order, each at most once. */
static void draw_stokes(configuration *c)
{
    char all[] = "IQUV";

    c->images = pick(1, 4);
    for (int k = 0; k < c->images; k++) {
        const int other = pick(k, 3);
        const char letter = all[other];
        all[other] = all[k];
        c->stokes[k] = all[k] = letter;
    }
    if (c->correlations == 2 && !strpbrk(c->stokes, "IQ"))
        c->stokes[0] = 'Q';
}

static void draw(configuration *c, uint64_t seed)
{
    *c = (configuration){.seed = seed};
    state = seed;
    uniform(0, 1);
    c->kind = (terms_kind)pick(0, SET);
    c->shape = c->kind == DIAGONAL ? 2 : c->kind == MATRIX ? 4 : 1;
    c->correlations = c->shape > 1 ? 1 << pick(1, 2) : c->kind == SET ? 1 << pick(0, 2) : 1;
    c->images = 1;
    if (c->kind == SET)
        draw_set(c);
    else if (c->shape > 1)
        draw_stokes(c);
    c->stations = c->kind == SET || c->kind == STATION_NUMBERS || (c->shape > 1 && pick(0, 2) == 0);
    c->varies = c->kind != NUMBER && c->kind != SET && c->stations && pick(0, 1);
    c->times = pick(2, PROBE_TIMES);
    c->channels = pick(3, PROBE_CHANNELS);
    c->scale = exp(uniform(log(2e-3), 0));
    for (int d = 0; d < 2; d++) {
        c->size[d] = pick(11, 40);
        c->cell[d] = uniform(0.8e-5, 1.8e-5) / c->scale;
    }
    c->epsilon = pow(10, -pick(3, 6));
    c->support = pick(0, 2) ? 0 : pick(7, 11);
    c->planes = pick(0, 2) ? 0 : pick(1, 6);
    c->flat = pick(0, 4) == 0;
    c->planes = c->flat ? 0 : c->planes;
    c->double_precision = pick(0, 3) > 0;
    const int functions = (c->stations ? 16 : 1) * (c->varies ? 6 : 1) * (c->shape > 1 ? 8 : 1);
    c->oversampling = most(2, pick(2, (int)(40 / sqrt(functions))));
    c->bands = pick(0, 1) ? pick(1, PROBE_CHANNELS) : 0;
}

/* ---- trees ---- */

static char *set_text(const configuration *c, const char *option, int way)
{
    char *text = grove_format(", %s=constant([", option);

    for (int k = 0; k < c->correlations * c->images; k++) {
        char *longer = grove_format("%s%s%d", text, k ? ", " : "", c->index[way][k]);
        free(text);
        text = longer;
    }
    char *all = c->correlations * c->images == 1 ? grove_format(", %s=%d", option, c->index[way][0])
                                                 : grove_format("%s], shape=vector)", text);
    free(text);
    return all;
}

static char *terms_text(const configuration *c, const char *raster)
{
    static const char *const plain[] = {"(1 + 0.3i)", "",
                                        "constant([1, 0.6 - 0.5i], shape=diagonal)",
                                        "constant([1, 0.2i, -0.1, 0.8 + 0.1i], shape=matrix)"};
    const double field = fmax(c->size[0] * c->cell[0], c->size[1] * c->cell[1]);
    char *beam = suite_text("beam_airy(%s, obs, diameter=%.9gm%s)", raster, 0.18 / field,
                            c->seed % 3 || c->kind == SET ? ", freq=1.4GHz" : ""),
         *gains = suite_text("gains(obs, jones=%s, amplitude=0.3, seed=%d%s)",
                             c->shape == 1   ? "scalar"
                             : c->shape == 2 ? "diagonal"
                                             : "matrix",
                             (int)c->seed, c->varies ? ", kind=sine, period=2000s" : "");
    char *text = grove_format("%s * %s", c->stations ? gains : plain[c->kind], beam);

    return text;
}

/* Terms J of the image's pixels, E of a raster, functions C, visibilities T, planes g and h, an
 * image, visibilities d. */
static void write_tree(configuration *c)
{
    static const char *const data[] = {"", "trace(obs.data)",
                                       "constant([1, 0], shape=diagonal) * select(obs.data, "
                                       "element=XX) + constant([0, 1], shape=diagonal) * "
                                       "select(obs.data, element=YY)",
                                       "", "1 * obs.data"};
    char *image = grove_format(", obs, size=[%d, %d], cell=[%.17grad, %.17grad], epsilon=%g, "
                               "max_uvw=%.17gm",
                               c->size[0], c->size[1], c->cell[0], c->cell[1], c->epsilon,
                               LONGEST * c->scale),
         *fine = terms_text(c, "R"), *raster = terms_text(c, "Q"),
         *support = c->support ? grove_format(", support=%d", c->support) : grove_strdup(""),
         *planes = c->planes ? grove_format(", w_planes=%d", c->planes) : grove_strdup(""),
         *way[] = {c->kind == SET ? set_text(c, "mueller", 0) : grove_strdup(""),
                   c->kind == SET ? set_text(c, "mueller_conjugate", 1) : grove_strdup("")},
         *bands = c->bands ? grove_format(", bands=%d", c->bands) : grove_strdup("");
    char *functions = grove_format("%s, functions=C%s%s, uvw=U", image, way[0], way[1]);

    c->text = grove_format(
        "obs = probe()\nU = %.17g * obs.uvw\n"
        "R = sky_grid(obs, size=[%d, %d], cell=[%.17grad, %.17grad])\n"
        "Q = sky_grid(obs, size=61, cell=[%.17grad, %.17grad])\n"
        "J = %s\nE = %s\n"
        "C = convolution_functions(E%s, oversampling=%d%s%s, times=%d, channels=%d%s%s%s%s)\n"
        "T = %s\nG = gains(obs, amplitude=0.5, seed=5)\nW[p,q] = abs(G[p] * G[q])\n"
        "g = grid(T%s, weights=W%s)\nh = grid(0.5i * T%s, weights=1%s)\nd = degrid(h%s)\n"
        "x = grid_correction(fft(g)%s, w_terms=false)\n",
        c->scale, c->size[0], c->size[1], c->cell[0], c->cell[1], c->size[0] * c->cell[0] / 56,
        c->size[1] * c->cell[1] / 56, fine, raster, image, c->oversampling, support, planes,
        c->times, c->channels, c->flat ? ", w_terms=false" : "", c->shape > 1 ? ", stokes=\"" : "",
        c->stokes, c->shape > 1 ? "\"" : "", data[c->correlations], functions, bands, functions,
        bands, functions, image);
    char *all[] = {image, fine, raster, support, planes, way[0], way[1], functions, bands};
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++)
        free(all[k]);
}

/* ---- the Fourier sum ---- */

typedef struct {
    long double uvw[3];  /* wavelengths */
    double complex v[4]; /* times the weight */
    int64_t time, p, q, channel;
    bool counts;
} sample;

typedef struct {
    configuration c;
    testing_value j, v, uvw, weight, functions, g, h, d, x;
    unsigned char *flags; /* of elements of v */
    sample sample[SAMPLES];
    double stated, off; /* relative errors: of the nearest samples and planes; of the support */
    double step_w, middle_n, half_n;
} world;

/* The first number of a cell; 0 for axes that the value does not vary with. */
static const double complex *cell_of(const testing_value *x, int64_t time, int64_t station,
                                     int64_t channel, int64_t m, int64_t l)
{
    static const char *const names[] = {"time", "station", "freq", "m", "l", "baseline"};
    const int64_t place[] = {time, station, channel, m, l, station};
    int64_t at = 0;

    for (int d = 0; d < x->axes; d++)
        for (int k = 0; k < 6; k++)
            if (!strcmp(x->axis[d]->name, names[k]))
                at = at * x->axis[d]->size + place[k];
    return x->at + at * x->elements;
}

/* Cells of the grid along u (0) or v. */
static int64_t grid_size(const world *w, int d)
{
    return w->g.axis[w->g.axes - 1 - d]->size;
}

static int band_of(const configuration *c, int64_t channel)
{
    int band = 0;

    while (c->bands && channel >= PROBE_CHANNELS * (band + 1) / c->bands)
        band++;
    return band;
}

/* The middle of the block of `size` cells that a cell lies in. */
static int64_t middle(int64_t cell, int64_t size, int64_t all)
{
    const int64_t first = cell / size * size, end = first + size < all ? first + size : all;

    return (first + end) / 2;
}

/* Whether a sample's function lies within the grid; where rounding decides it, whether it was seen.
 */
static bool is_inside(const world *w, const sample *s, int64_t i)
{
    const double support = sqrt((double)w->functions.axis[1]->size) / (double)w->c.oversampling;
    bool inside = true, seen = false;

    for (int e = 0; e < w->d.elements; e++)
        seen = seen || w->d.at[i * w->d.elements + e] != 0;
    for (int d = 0; d < 2; d++) {
        const double cells = (double)grid_size(w, d),
                     far = fabs((double)s->uvw[d]) * cells * w->c.cell[d] + support / 2 - cells / 2;
        ck_assert_msg(far < 1 || !seen, "a sample beyond the grid is predicted");
        inside = inside && far < -2;
        seen = seen && far < 1;
    }
    return inside || seen;
}

static void read_samples(world *w)
{
    const testing_value *v = &w->v;
    int used = 0;

    for (int e = 0; e < v->elements; e++)
        used |=
            w->c.kind != DIAGONAL || v->elements < 4 || strpbrk(w->c.stokes, e % 3 ? "UV" : "IQ")
                ? 1 << e
                : 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        sample *s = &w->sample[i];
        const int64_t b = i / PROBE_CHANNELS % PROBE_BASELINES;
        *s = (sample){.time = i / PROBE_CHANNELS / PROBE_BASELINES,
                      .channel = i % PROBE_CHANNELS,
                      .counts = true};
        for (int64_t p = 0, k = 0; p < PROBE_STATIONS; p++)
            for (int64_t q = p + 1; q < PROBE_STATIONS; q++, k++)
                if (k == b) {
                    s->p = p;
                    s->q = q;
                }
        for (int d = 0; d < 3; d++)
            s->uvw[d] = creal(cell_of(&w->uvw, s->time, b, 0, 0, 0)[d]) *
                        (1.4e9L + 2e6L * s->channel) / LIGHT;
        const double weight = creal(*cell_of(&w->weight, s->time, b, s->channel, 0, 0));
        for (int e = 0; e < v->elements; e++) {
            s->v[e] = weight * v->at[i * v->elements + e];
            s->counts = s->counts && !(used >> e & 1 && w->flags[i * v->elements + e]);
        }
        s->counts = s->counts && is_inside(w, s, i);
    }
}

/* J_p,ac conj(J_q,bd) of correlation ab of visibilities and cd of the sky. */
static double complex product(const world *w, const sample *s, int64_t p, int64_t q, int ab, int cd,
                              int64_t m, int64_t l)
{
    const configuration *c = &w->c;
    const int64_t time = middle(s->time, c->times, PROBE_TIMES),
                  channel = middle(s->channel, c->channels, PROBE_CHANNELS);
    const double complex *a = cell_of(&w->j, time, p, channel, m, l),
                         *b = cell_of(&w->j, time, q, channel, m, l);

    if (c->shape == 1)
        return *a * conj(*b);
    if (c->shape == 2)
        return ab == cd ? a[ab / 2] * conj(b[ab % 2]) : 0;
    return a[2 * (ab / 2) + cd / 2] * conj(b[2 * (ab % 2) + cd % 2]);
}

/* Correlation j of the data of a source of 1 in image r. */
static double complex mueller(const world *w, const sample *s, int j, int r, int64_t m, int64_t l)
{
    static const double complex stokes[4][4] = {
        {1, 0, 0, 1}, {1, 0, 0, -1}, {0, 1, 1, 0}, {0, I, -I, 0}};
    const configuration *c = &w->c;
    double complex sum = 0;

    if (c->kind == SET) {
        const int way = s->uvw[2] < 0, k = c->index[way][j * c->images + r];
        sum = k < 0 ? 0 : product(w, s, k / PROBE_STATIONS, k % PROBE_STATIONS, 0, 0, m, l);
        return way ? conj(sum) : sum;
    }
    if (c->shape == 1)
        return product(w, s, s->p, s->q, 0, 0, m, l);
    for (int cd = 0; cd < 4; cd++)
        sum += product(w, s, s->p, s->q, c->correlations == 2 ? 3 * j : j, cd, m, l) *
               stokes[strchr("IQUV", c->stokes[r]) - "IQUV"][cd];
    return sum;
}

/* Image r of a band at a pixel, and by how much it may be off there. */
static double sum_at(const world *w, int band, int r, int64_t m, int64_t l, double *bound)
{
    const configuration *c = &w->c;
    const long double x = (l - (c->size[0] - 1) / 2) * (long double)c->cell[0],
                      y = (m - c->size[1] / 2) * (long double)c->cell[1],
                      n = c->flat ? 0 : -(x * x + y * y) / (1 + sqrtl(1 - x * x - y * y));
    const double far = (double)(PI / c->oversampling *
                                    (fabsl(x) / (grid_size(w, 0) * c->cell[0]) +
                                     fabsl(y) / (grid_size(w, 1) * c->cell[1])) +
                                PI * w->step_w * fabsl(n - w->middle_n));
    long double sum = 0, all = 0;

    for (const sample *s = w->sample; s < w->sample + SAMPLES; s++) {
        const long double turns = s->uvw[0] * x + s->uvw[1] * y + s->uvw[2] * n;
        const long double complex phase = cexpl(2 * PI * I * (turns - rintl(turns)));
        const bool counts = s->counts && band_of(c, s->channel) == band;
        long double complex one = 0;
        for (int j = 0; j < c->correlations && counts; j++)
            one += conj(mueller(w, s, j, r, m, l)) * s->v[j];
        sum += creall(one * phase);
        all += cabsl(one);
    }
    const double half = c->shape > 1 ? 0.5 : 1;
    *bound = half * (double)all * (far + 3 * fmax(w->off, c->epsilon));
    return half * (double)sum;
}

/* ---- checks ---- */

static void find_errors(world *w)
{
    const configuration *c = &w->c;
    const double x = c->size[0] / 2 * c->cell[0], y = c->size[1] / 2 * c->cell[1],
                 least = sqrt(1 - x * x - y * y) - 1;

    w->middle_n = w->half_n = c->flat ? 0 : least / 2;
    w->step_w = w->functions.axis[0]->width[0];
    if (w->step_w == 0 && !c->flat)
        w->step_w = 2 * LONGEST * c->scale * 1.412e9 / (double)LIGHT;
    w->stated = hypot((double)PI / 6 / c->oversampling *
                          hypot((double)c->size[0] / (double)grid_size(w, 0),
                                (double)c->size[1] / (double)grid_size(w, 1)),
                      (double)PI / 3 * w->step_w * fabs(w->half_n));
    const char *warning = strstr(suite_messages(t.error), "leaves an error of ");
    w->off = warning ? strtod(warning + strlen("leaves an error of "), NULL) : w->stated;
}

/* Some of the pixels, and the corners. */
static void check_image(const world *w)
{
    enum { PIXELS = 100 };
    const configuration *c = &w->c;
    double off = 0, all = 0;

    ck_assert_int_eq(w->x.elements, c->images);
    ck_assert_int_eq(w->x.axes, c->bands ? 3 : 2);
    for (int k = 0; k < PIXELS; k++) {
        const int64_t l = k < 4 ? k % 2 * (c->size[0] - 1) : pick(0, c->size[0] - 1),
                      m = k < 4 ? k / 2 * (c->size[1] - 1) : pick(0, c->size[1] - 1);
        const int band = c->bands ? k % c->bands : 0;
        for (int r = 0; r < c->images; r++) {
            double bound, wanted = sum_at(w, band, r, m, l, &bound);
            const double less = creal(cell_of(&w->x, 0, 0, band, m, l)[r]) - wanted;
            off += less * less;
            all += wanted * wanted;
            ck_assert_msg(fabs(less) <= bound,
                          "seed %llu, pixel %d, %d of image %d: off by %g, not %g\n%s",
                          (unsigned long long)c->seed, (int)l, (int)m, r, less, bound, c->text);
        }
    }
    off = sqrt(off / all);
    ck_assert_msg(off <= 2 * hypot(w->stated, fmax(w->off, c->epsilon)),
                  "seed %llu: off by %g, not %g, and %g of the support\n%s",
                  (unsigned long long)c->seed, off, w->stated, w->off, c->text);
}

/* Real parts; with terms of two receptors grid is half of the adjoint. */
static void check_adjoint(const world *w)
{
    const configuration *c = &w->c;
    double left = 0, right = 0, size = 0;

    ck_assert_int_eq(w->g.cells * w->g.elements, w->h.cells * w->h.elements);
    for (int64_t k = 0; k < w->g.cells * w->g.elements; k++)
        left += creal(conj(w->g.at[k]) * w->h.at[k]);
    for (int64_t i = 0; i < SAMPLES; i++)
        for (int e = 0; e < c->correlations && w->sample[i].counts; e++) {
            const int of = c->shape > 1 && c->correlations == 2 ? 3 * e : e;
            const double complex a = w->sample[i].v[e], b = w->d.at[i * w->d.elements + of];
            right += creal(conj(a) * b);
            size += cabs(a) * cabs(b);
        }
    left *= c->shape > 1 ? 2 : 1;
    ck_assert_double_gt(size, 0);
    ck_assert_msg(fabs(left - right) <= (c->double_precision ? 1e-13 : 1e-5) * size,
                  "seed %llu: %.17g is not %.17g, of %g\n%s", (unsigned long long)c->seed, left,
                  right, size, c->text);
}

/* ---- the test ---- */

static uint64_t seed_of(int i)
{
    const char *seed = getenv("GROVE_TEST_SEED");

    return (seed ? strtoull(seed, NULL, 10) : 1) + (uint64_t)i;
}

static int configurations(void)
{
    const char *count = getenv("GROVE_TEST_CONFIGURATIONS");

    return count ? atoi(count) / 10 : 30;
}

LOOP_TEST(random_configurations, 0, configurations())
{
    world w = {0};

    draw(&w.c, seed_of(_i));
    write_tree(&w.c);
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = w.c.double_precision);
    const struct {
        const char *name;
        testing_value *to;
    } all[] = {{"J", &w.j}, {"T", &w.v}, {"U", &w.uvw}, {"W", &w.weight}, {"C", &w.functions},
               {"g", &w.g}, {"h", &w.h}, {"d", &w.d},   {"x", &w.x}};
    enum { VALUES = sizeof(all) / sizeof(all[0]) };

    testing_tree(&t, w.c.text);
    for (int k = 0; k < VALUES; k++)
        *all[k].to = probe_session(&t, all[k].name, &options, k == 1 ? &w.flags : NULL);
    find_errors(&w);
    read_samples(&w);
    check_image(&w);
    check_adjoint(&w);
    free(w.flags);
    free(w.c.text);
}

/* ---- cubes ---- */

/* Of numbers that are not flagged. */
static double distance(const testing_value *a, const testing_value *b, const unsigned char *flags)
{
    double off = 0, all = 0;

    ck_assert_int_eq(a->cells * a->elements, b->cells * b->elements);
    for (int64_t k = 0; k < a->cells * a->elements; k++) {
        if (flags[k])
            continue;
        off += pow(cabs(a->at[k] - b->at[k]), 2);
        all += pow(cabs(b->at[k]), 2);
    }
    ck_assert_double_gt(all, 0);
    return sqrt(off / all);
}

/* By both methods: images of bands, one of them empty, of the bands together with beams, of each
 * by itself; visibilities of cubes. */
LOOP_TEST(cubes, 0, 5)
{
#define IMAGE ", obs, size=[24, 20], cell=8arcsec, epsilon=1e-4"
    static const struct {
        const char *a, *b;
        double within;
    } all[] = {
        {"dirty_image(V, weights=W" IMAGE ", bands=3, method=aw)",
         "dirty_image(V, weights=W" IMAGE ", bands=3, method=w_stack)", 2e-4},
        {"select(dirty_image(V, weights=W" IMAGE ", bands=3, jones=E), axis=freq, index=1)",
         "dirty_image(V, weights=W * own" IMAGE ", jones=E)", 1e-6},
        {"predict_image(cube, obs, method=aw)", "predict_image(cube, obs, method=w_stack)", 2e-4},
        {"predict_image(cube, obs, method=aw, interpolate=linear)",
         "predict_image(cube, obs, method=w_stack, interpolate=linear)", 2e-4},
        {"grid(Q - predict_image(cube, obs, jones=E)" IMAGE ", method=aw, bands=4)",
         "grid(Q" IMAGE ", method=aw, bands=4) - grid(predict_image(cube, obs, jones=E)" IMAGE
         ", method=aw, bands=4)",
         1e-11}};
#undef IMAGE
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.double_precision = true, .tile_channels = _i % 2 ? 2 : 0);

    testing_tree(
        &t,
        suite_text(
            "obs = probe()\nV = 1 * obs.data\nfirst = 1.4GHz - 1MHz\nf = (obs.freq - first) / "
            "2MHz\n"
            "W = (1 + (f - %d) / abs(f - %d)) / 2\nown = W * (1 + (%d - f) / abs(%d - f)) / 2\n"
            "E = beam_airy(sky_grid(obs, size=31, cell=8arcsec), obs, diameter=90m, freq=1.4GHz)\n"
            "cube = dirty_image(V, obs, size=[24, 20], cell=8arcsec, bands=3, epsilon=1e-6)\n"
            "Q = predict_image(cube, obs)\na = %s\nb = %s\n",
            PROBE_CHANNELS / 3, PROBE_CHANNELS / 3, PROBE_CHANNELS * 2 / 3, PROBE_CHANNELS * 2 / 3,
            all[_i].a, all[_i].b));
    unsigned char *flags[2];
    testing_value a = probe_session(&t, "a", &options, &flags[0]),
                  b = probe_session(&t, "b", &options, &flags[1]);
    const double off = distance(&a, &b, flags[0]);
    ck_assert_msg(off < all[_i].within, "%s: off by %g", all[_i].a, off);
    ck_assert_mem_eq(flags[0], flags[1], (size_t)(a.cells * a.elements));
    ck_assert(_i || (flags[0][0] && !flags[0][a.cells - 1])); /* the first band is empty */
    for (int k = 0; k < 2; k++)
        free(flags[k]);
}

SUITE(120, setup, teardown)
