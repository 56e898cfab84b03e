/* One compilation of the hot loops: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "gridder_hot.h"

#include "../simd/vector.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define LOOPS JOIN(grove_gridder_single_, GROVE_ISA_SUFFIX)
#else
#define LOOPS JOIN(grove_gridder_double_, GROVE_ISA_SUFFIX)
#endif

enum { TILE = GROVE_GRIDDER_TILE, MAX_POL = 4, FACTORS = 16 };

typedef int64_t longs __attribute__((vector_size(VECTOR_BYTES)));

/* Up to LANES samples of one entry: where their kernels begin in the buffer, how far from the
 * kernels' edges they lie, s = 2 f - 1, and what is spread. Unused lanes hold anything. */
typedef struct {
    int count;
    integer u[LANES], v[LANES], w[LANES];
    real su[LANES], sv[LANES], sw[LANES];
    real re[MAX_POL][LANES], im[MAX_POL][LANES];
    vec cosine, sine;
    real sign;
} run;

INLINE vec load(const real *from)
{
    vec x;

    memcpy(&x, from, sizeof(x));
    return x;
}

INLINE void store(real *to, vec x)
{
    memcpy(to, &x, sizeof(x));
}

INLINE doubles choose(longs mask, doubles yes, doubles no)
{
    return (doubles)(((longs)yes & mask) | ((longs)no & ~mask));
}

/* Positions along one axis: `origin` is the first cell of the buffer, kernels begin in cells 0 to
 * `last`; rounding may lead one cell beyond. */
INLINE void place(const doubles wavenumber[PARTS], double scale, double origin, int width,
                  double last, integer *cell, real *s)
{
    doubles first[PARTS], rest[PARTS];
    const doubles zero = {0}, limit = last - zero;

    for (int i = 0; i < PARTS; i++) {
        doubles position = wavenumber[i] * scale - origin;
        first[i] = ((position + (0.5 - 0.5 * width)) + ROUND_DOUBLE) - ROUND_DOUBLE;
        first[i] = choose(first[i] < zero, zero, first[i]);
        first[i] = choose(first[i] > limit, limit, first[i]);
        rest[i] = 2 * (first[i] - position) + (width - 1.0);
    }
    store(s, narrow(rest));
    integers cells = __builtin_convertvector(narrow(first), integers);
    memcpy(cell, &cells, sizeof(cells));
}

/* The first cell of the buffer in the coordinate of this row, which the grid may wrap. */
INLINE double origin_of(const grove_gridder_job *job, int d, double position)
{
    double tile = (double)job->tile[d];

    if (job->wraps[d]) {
        double tiles = (double)job->tiles[d];
        double turns =
            (grove_gridder_first(position, job->taps->width) / TILE - 0.5 - tile) / tiles;
        tile += ((turns + ROUND_DOUBLE) - ROUND_DOUBLE) * tiles;
    }
    return tile * TILE;
}

/* What the next entries need is on its way. */
INLINE void prefetch(const grove_gridder_job *job, int64_t entry, int pols)
{
    enum { UVW_AHEAD = 16, DATA_AHEAD = 8 };
    const grove_gridder_samples *samples = job->samples;

    if (entry + UVW_AHEAD < job->count)
        __builtin_prefetch(samples->uvw + 3 * (int64_t)job->entries[entry + UVW_AHEAD].row);
    if (entry + DATA_AHEAD < job->count) {
        const grove_gridder_entry *next = &job->entries[entry + DATA_AHEAD];
        int64_t at = (int64_t)next->row * samples->channels + next->first;
        const char *data = (const char *)((const real *)samples->data + 2 * pols * at);
        int64_t bytes = (next->last - next->first) * 2 * pols * (int64_t)sizeof(real);
        for (int64_t k = 0; k < bytes + 63 && k < 512; k += 64)
            __builtin_prefetch(data + k);
        if (samples->weight)
            __builtin_prefetch((const real *)samples->weight + at);
    }
}

/* Places and phases of `count` channels from `first` on. */
INLINE void prepare(const grove_gridder_job *job, const grove_gridder_entry *entry, int first,
                    int count, run *r)
{
    const double *uvw = job->samples->uvw + 3 * (int64_t)entry->row;
    const double sign = uvw[2] < 0 ? -1 : 1, start = job->wavenumber[first];
    const int width = job->taps->width;
    double scale[3], turns = 0;
    doubles wavenumber[PARTS];

    memcpy(wavenumber, job->wavenumber + first, sizeof(wavenumber));
    r->count = count;
    r->sign = (real)sign;
    for (int d = 0; d < 3; d++) {
        scale[d] = sign * uvw[d] * job->scale[d];
        turns += sign * uvw[d] * job->turn[d];
    }
    place(wavenumber, scale[0], origin_of(job, 0, start * scale[0]), width, TILE - 1, r->u, r->su);
    place(wavenumber, scale[1], origin_of(job, 1, start * scale[1]), width, TILE - 1, r->v, r->sv);
    place(wavenumber, scale[2], job->first_w + (double)job->plane, job->taps->width_w,
          (double)(job->planes - 1), r->w, r->sw);
    /* exp(2 pi i (u l0 + v m0 + w middle_n)) */
    phasor(fractional_turns(wavenumber, turns), &r->cosine, &r->sine);
}

/* Weighted samples, conjugate where w < 0, turned to the image's centre. */
INLINE void take(const grove_gridder_job *job, const grove_gridder_entry *entry, int first,
                 int pols, run *r)
{
    const grove_gridder_samples *samples = job->samples;
    const int64_t at = (int64_t)entry->row * samples->channels + first;
    const real *data = (const real *)samples->data + 2 * pols * at;
    const real *weight = samples->weight ? (const real *)samples->weight + at : NULL;

    for (int pol = 0; pol < pols; pol++) {
        for (int k = 0; k < r->count; k++) {
            real factor = weight ? weight[k] : R(1.0);
            r->re[pol][k] = factor != 0 ? data[2 * (pols * k + pol)] * factor : 0;
            r->im[pol][k] = factor != 0 ? data[2 * (pols * k + pol) + 1] * factor : 0;
        }
        vec re = load(r->re[pol]), im = load(r->im[pol]) * r->sign;
        store(r->re[pol], re * r->cosine - im * r->sine);
        store(r->im[pol], re * r->sine + im * r->cosine);
    }
}

/* Adds to samples what the planes give. */
INLINE void give(const grove_gridder_job *job, const grove_gridder_entry *entry, int first,
                 int pols, run *r)
{
    const grove_gridder_samples *samples = job->samples;
    real *data =
        (real *)samples->data + 2 * pols * ((int64_t)entry->row * samples->channels + first);

    for (int pol = 0; pol < pols; pol++) {
        vec re = load(r->re[pol]), im = load(r->im[pol]);
        store(r->re[pol], re * r->cosine + im * r->sine);
        store(r->im[pol], (im * r->cosine - re * r->sine) * r->sign);
        for (int k = 0; k < r->count; k++) {
            data[2 * (pols * k + pol)] += r->re[pol][k];
            data[2 * (pols * k + pol) + 1] += r->im[pol][k];
        }
    }
}

/* A pair (re, im) in all lanes. */
INLINE vec splat_pair(real re, real im)
{
#if GROVE_REAL_SINGLE
    float pair[2] = {re, im};
    double both;
    memcpy(&both, pair, sizeof(both));
    doubles x = both - (doubles){0};
    return (vec)x;
#else
    vec x = {0};
    for (int i = 0; i < LANES; i++)
        x[i] = i % 2 ? im : re;
    return x;
#endif
}

/* The polynomials of LANES taps. */
INLINE vec taps_at(const real *coefficient, int stride, int degree, real s)
{
    vec sum = load(coefficient + degree * stride), x = splat(s);

    for (int d = degree - 1; d >= 0; d--)
        sum = sum * x + load(coefficient + d * stride);
    return sum;
}

/* Factors of each row of the buffer that a sample touches: taps along w times taps along v,
 * [width_w][FACTORS]. */
INLINE void row_factors(const grove_gridder_taps *taps, int width, real sv, real sw, real *factor)
{
    const int vectors = (width + LANES - 1) / LANES;
    real along_w[FACTORS] = {0};
    vec along_v[FACTORS / LANES];

    for (int i = 0; i < vectors; i++) {
        along_v[i] = taps_at((const real *)taps->taps + i * LANES, FACTORS, width + 1, sv);
        store(along_w + i * LANES,
              taps_at((const real *)taps->taps_w + i * LANES, FACTORS, width + 1, sw));
    }
    for (int p = 0; p < taps->width_w; p++)
        for (int i = 0; i < vectors; i++)
            store(factor + p * FACTORS + i * LANES, along_v[i] * along_w[p]);
}

/* Adds factor[p][y] value to width_w planes of `width` rows. */
INLINE void add_rows(real *plane, int64_t plane_stride, int64_t row_stride, const vec *value,
                     const real *factor, int width, int width_w, int vectors)
{
    for (int p = 0; p < width_w; p++, plane += plane_stride, factor += FACTORS) {
        real *row = plane;
        for (int y = 0; y < width; y++, row += row_stride)
            for (int i = 0; i < vectors; i++)
                store(row + i * LANES, load(row + i * LANES) + value[i] * splat(factor[y]));
    }
}

INLINE void spread_run(const grove_gridder_job *job, const run *r, int width, int pols)
{
    enum { ROOM = 2 * FACTORS / LANES };
    const int vectors = (2 * width + LANES - 1) / LANES, width_w = job->taps->width_w;
    const int64_t row_stride = job->row_stride, plane_stride = job->plane_stride;
    const real *pairs = job->taps->pairs;
    real factor[FACTORS * FACTORS];

    for (int k = 0; k < r->count; k++) {
        vec along_u[ROOM], value[ROOM];
        real *at =
            (real *)job->buffer + r->w[k] * plane_stride + r->v[k] * row_stride + 2 * r->u[k];
        bool used = false;
        for (int pol = 0; pol < pols; pol++)
            used = used || r->re[pol][k] != 0 || r->im[pol][k] != 0;
        if (!used)
            continue;
        for (int i = 0; i < vectors; i++)
            along_u[i] = taps_at(pairs + i * LANES, 2 * FACTORS, width + 1, r->su[k]);
        row_factors(job->taps, width, r->sv[k], r->sw[k], factor);
        for (int pol = 0; pol < pols; pol++, at += job->polarisation_stride) {
            for (int i = 0; i < vectors; i++)
                value[i] = along_u[i] * splat_pair(r->re[pol][k], r->im[pol][k]);
            add_rows(at, plane_stride, row_stride, value, factor, width, width_w, vectors);
        }
    }
}

INLINE void collect_run(const grove_gridder_job *job, run *r, int width, int pols)
{
    enum { ROOM = 2 * FACTORS / LANES };
    const int vectors = (2 * width + LANES - 1) / LANES, width_w = job->taps->width_w;
    const int64_t row_stride = job->row_stride, plane_stride = job->plane_stride;
    const real *pairs = job->taps->pairs;
    real factor[FACTORS * FACTORS];

    for (int k = 0; k < r->count; k++) {
        const real *at =
            (const real *)job->buffer + r->w[k] * plane_stride + r->v[k] * row_stride + 2 * r->u[k];
        row_factors(job->taps, width, r->sv[k], r->sw[k], factor);
        for (int pol = 0; pol < pols; pol++, at += job->polarisation_stride) {
            vec sum[ROOM], product = splat(0);
            const real *plane = at, *f = factor;
            real re = 0, im = 0;
            for (int i = 0; i < vectors; i++)
                sum[i] = splat(0);
            for (int p = 0; p < width_w; p++, plane += plane_stride, f += FACTORS)
                for (int y = 0; y < width; y++)
                    for (int i = 0; i < vectors; i++)
                        sum[i] += load(plane + y * row_stride + i * LANES) * splat(f[y]);
            for (int i = 0; i < vectors; i++)
                product += sum[i] * taps_at(pairs + i * LANES, 2 * FACTORS, width + 1, r->su[k]);
            for (int i = 0; i < LANES; i += 2) {
                re += product[i];
                im += product[i + 1];
            }
            r->re[pol][k] = re;
            r->im[pol][k] = im;
        }
    }
}

INLINE void spread_all(const grove_gridder_job *job, int width, int pols)
{
    run r;

    memset(&r, 0, sizeof(r));
    for (int64_t e = 0; e < job->count; e++) {
        const grove_gridder_entry entry = job->entries[e];
        prefetch(job, e, pols);
        for (int first = entry.first; first < entry.last; first += LANES) {
            int left = entry.last - first;
            prepare(job, &entry, first, left < LANES ? left : LANES, &r);
            take(job, &entry, first, pols, &r);
            spread_run(job, &r, width, pols);
        }
    }
}

INLINE void collect_all(const grove_gridder_job *job, int width, int pols)
{
    run r;

    memset(&r, 0, sizeof(r));
    for (int64_t e = 0; e < job->count; e++) {
        const grove_gridder_entry entry = job->entries[e];
        prefetch(job, e, pols);
        for (int first = entry.first; first < entry.last; first += LANES) {
            int left = entry.last - first;
            prepare(job, &entry, first, left < LANES ? left : LANES, &r);
            collect_run(job, &r, width, pols);
            give(job, &entry, first, pols, &r);
        }
    }
}

/* A function for each width; in single precision one for a single polarisation, too. */
#define FUNCTIONS(width)                                                                           \
    static void spread_##width(const grove_gridder_job *job)                                       \
    {                                                                                              \
        if (GROVE_REAL_SINGLE && job->polarisations == 1)                                          \
            spread_all(job, width, 1);                                                             \
        else                                                                                       \
            spread_all(job, width, job->polarisations);                                            \
    }                                                                                              \
    static void collect_##width(const grove_gridder_job *job)                                      \
    {                                                                                              \
        if (GROVE_REAL_SINGLE && job->polarisations == 1)                                          \
            collect_all(job, width, 1);                                                            \
        else                                                                                       \
            collect_all(job, width, job->polarisations);                                           \
    }

FUNCTIONS(2)
FUNCTIONS(3)
FUNCTIONS(4)
FUNCTIONS(5)
FUNCTIONS(6)
FUNCTIONS(7)
FUNCTIONS(8)
#if !GROVE_REAL_SINGLE
FUNCTIONS(10)
FUNCTIONS(12)
FUNCTIONS(14)
FUNCTIONS(16)
#define WIDER(what) , NULL, what##_10, NULL, what##_12, NULL, what##_14, NULL, what##_16
#else
#define WIDER(what)
#endif

typedef void loop(const grove_gridder_job *job);
static loop *const spread_functions[] = {
    spread_2, spread_3, spread_4, spread_5, spread_6, spread_7, spread_8 WIDER(spread)};
static loop *const collect_functions[] = {
    collect_2, collect_3, collect_4, collect_5, collect_6, collect_7, collect_8 WIDER(collect)};

static void spread(const grove_gridder_job *job)
{
    spread_functions[job->taps->width - GROVE_GRIDDER_MIN_WIDTH](job);
}

static void collect(const grove_gridder_job *job)
{
    collect_functions[job->taps->width - GROVE_GRIDDER_MIN_WIDTH](job);
}

/* ---- images ---- */

enum { COLUMNS = GROVE_GRIDDER_LANES };

/* n - 1 - middle_n of LANES pixels of a row, and 0 beyond the horizon for `above`, else 1. */
INLINE void directions(const grove_gridder_strip *s, int first, double m, doubles n[PARTS],
                       doubles above[PARTS])
{
    for (int i = 0; i < PARTS; i++) {
        doubles l, rest;
        double root[PART];
        const doubles zero = {0}, one = 1 - zero;
        memcpy(&l, s->l + first + i * PART, sizeof(l));
        rest = 1 - (l * l + m * m);
        above[i] = choose(rest > zero, one, zero);
        rest = choose(rest > zero, rest, zero);
        memcpy(root, &rest, sizeof(root));
        for (int k = 0; k < PART; k++)
            root[k] = __builtin_sqrt(root[k]);
        memcpy(&l, root, sizeof(l));
        n[i] = (rest - 1) / (1 + l) - s->middle_n;
    }
}

/* What divides by the transforms of the kernels. */
INLINE vec correction(const grove_gridder_strip *s, int first, int64_t y, const doubles n[PARTS],
                      const doubles above[PARTS])
{
    doubles factor[PARTS];

    for (int i = 0; i < PARTS; i++) {
        doubles t = 2 * s->scale_t * (n[i] * n[i]) - 1,
                sum = s->polynomial[s->degree] - (doubles){0};
        for (int d = s->degree - 1; d >= 0; d--)
            sum = sum * t + s->polynomial[d];
        memcpy(&t, s->factor_l + first + i * PART, sizeof(t));
        factor[i] = sum * t * s->factor_m[y] * above[i];
    }
    return narrow(factor);
}

INLINE void phasors(const doubles n[PARTS], double w, vec *cosine, vec *sine)
{
    phasor(fractional_turns(n, w), cosine, sine);
}

/* Rows of a strip, which most often has all of its columns, one after the other: then it is copied
 * by vectors. */
INLINE void exchange_row(real *pixels, real *row, const grove_gridder_strip *s, bool to_row)
{
    const int64_t stride = s->pixel_stride;

    if (stride == 1 && s->count == COLUMNS && to_row)
        memcpy(row, pixels, COLUMNS * sizeof(real));
    else if (stride == 1 && s->count == COLUMNS)
        memcpy(pixels, row, COLUMNS * sizeof(real));
    else
        for (int64_t k = 0; k < s->count; k++)
            *(to_row ? &row[k * stride] : &pixels[k]) = to_row ? pixels[k] : row[k * stride];
}

static void to_image(const grove_gridder_strip *s)
{
    const int64_t stride = s->stride, plane_stride = s->plane_stride, planes = s->planes;
    const real *columns = s->columns;

    for (int64_t y = 0; y < s->size; y++) {
        int64_t element = y - s->half + (y < s->half ? s->transform : 0);
        real *row = (real *)s->image + y * s->image_stride, pixels[COLUMNS] = {0};
        if (!s->begin)
            exchange_row(pixels, row, s, false);
        for (int first = 0; first < COLUMNS; first += LANES) {
            doubles n[PARTS], above[PARTS];
            vec cosine, sine, step_cosine, step_sine, sum_re = splat(0), sum_im = splat(0);
            directions(s, first, s->first_m + (double)y * s->step_m, n, above);
            phasors(n, s->w, &cosine, &sine);
            phasors(n, s->step_w, &step_cosine, &step_sine);
            for (int64_t p = planes - 1; p >= 0; p--) {
                const real *at = columns + 2 * (p * plane_stride + first * stride + element);
                real re[LANES], im[LANES];
                for (int k = 0; k < LANES; k++, at += 2 * stride) {
                    re[k] = at[0];
                    im[k] = at[1];
                }
                vec old = sum_re;
                sum_re = old * step_cosine - sum_im * step_sine + load(re);
                sum_im = old * step_sine + sum_im * step_cosine + load(im);
            }
            vec pixel = load(pixels + first) + sum_re * cosine - sum_im * sine;
            if (s->finish)
                pixel *= correction(s, first, y, n, above);
            store(pixels + first, pixel);
        }
        exchange_row(pixels, row, s, true);
    }
}

static void from_image(const grove_gridder_strip *s)
{
    const int64_t stride = s->stride, plane_stride = s->plane_stride, planes = s->planes;
    real *columns = s->columns;

    for (int64_t y = 0; y < s->size; y++) {
        int64_t element = y - s->half + (y < s->half ? s->transform : 0);
        real pixels[COLUMNS] = {0};
        exchange_row(pixels, (real *)s->image + y * s->image_stride, s, false);
        for (int first = 0; first < COLUMNS; first += LANES) {
            doubles n[PARTS], above[PARTS];
            vec cosine, sine, step_cosine, step_sine;
            directions(s, first, s->first_m + (double)y * s->step_m, n, above);
            phasors(n, s->w, &cosine, &sine);
            phasors(n, s->step_w, &step_cosine, &step_sine);
            vec pixel = load(pixels + first) * correction(s, first, y, n, above);
            vec value_re = pixel * cosine, value_im = -pixel * sine;
            for (int64_t p = 0; p < planes; p++) {
                real *at = columns + 2 * (p * plane_stride + first * stride + element);
                real re[LANES], im[LANES];
                store(re, value_re);
                store(im, value_im);
                for (int k = 0; k < LANES; k++, at += 2 * stride) {
                    at[0] = re[k];
                    at[1] = im[k];
                }
                vec old = value_re;
                value_re = old * step_cosine + value_im * step_sine;
                value_im = value_im * step_cosine - old * step_sine;
            }
        }
    }
}

const grove_gridder_loops LOOPS = {
    .spread = spread, .collect = collect, .to_image = to_image, .from_image = from_image};
