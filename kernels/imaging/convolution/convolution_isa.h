/* One compilation of the hot loops: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "convolution_hot.h"

#include "../../simd/vector.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define LOOPS JOIN(grove_convolution_single_, GROVE_ISA_SUFFIX)
#else
#define LOOPS JOIN(grove_convolution_double_, GROVE_ISA_SUFFIX)
#endif

enum { EIGHT = GROVE_CONVOLUTION_LANES };

/* Eight numbers, one vector or as many as the instruction set needs, at any address. */
typedef real eight __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));

/* A sample in the form for gridding: with w of 0 or more, about the middle of the image. */
typedef struct {
    int64_t block; /* of the functions' numbers, of function 0 */
    double part[3];
    int64_t cell; /* number in the buffer */
    double offset[2];
    const int32_t *index;   /* [visibility][image] */
    const double *gradient; /* NULL: none */
    double cosine, sine;
    real sign; /* of w */
} sample;

/* Functions that join a polarisation with others: their numbers, the cells, factors. */
typedef struct {
    const real *function[4];
    real *cells[4];
    real re[4], im[4];
    double sum; /* of |sum of the numbers| of all of them, where it is needed */
    int count;
} mixture;

INLINE const int32_t *find_index(const grove_convolution_job *job, int32_t row, int64_t channel,
                                 double sign)
{
    static const int32_t first[1] = {0};
    const grove_convolution_mueller *m = job->mueller;
    const int64_t elements = (int64_t)job->plan->visibilities * job->plan->images;

    if (!m)
        return first;
    return m->index + (2 * ((int64_t)m->row[row] + m->channel[channel]) + (sign < 0)) * elements;
}

INLINE sample find(const grove_convolution_job *job, const double uvw[3], double sign, int32_t row,
                   int64_t channel)
{
    const grove_convolution_plan *p = job->plan;
    const double wavenumber = job->wavenumber[channel];
    const double at[3] = {sign * uvw[0], sign * uvw[1], sign * uvw[2]};
    const int64_t stride = grove_convolution_stride(p), i = row * job->samples->channels + channel;
    grove_convolution_place place;
    sample s = {.index = find_index(job, row, channel, sign), .cosine = 1, .sign = (real)sign};

    grove_convolution_find(p, at, wavenumber, &place);
    s.block = ((int64_t)place.plane * stride + (int64_t)place.offset[1]) * stride +
              (int64_t)place.offset[0];
    for (int d = 0; d < 3 && p->linear; d++)
        s.part[d] = place.part[d];
    s.cell = ((int64_t)place.cell[1] - job->origin[1]) * job->row + (int64_t)place.cell[0] -
             job->origin[0];
    if (job->mueller && job->mueller->gradient) {
        const double *g = job->mueller->gradient + 2 * i;
        s.gradient = g[0] != 0 || g[1] != 0 ? g : NULL;
        for (int d = 0; d < 2; d++)
            s.offset[d] = place.offset[d] - (p->linear ? place.part[d] : 0);
    }
    if (p->turn[0] != 0 || p->turn[1] != 0 || p->turn[2] != 0) {
        double turns = wavenumber * (at[0] * p->turn[0] + at[1] * p->turn[1] + at[2] * p->turn[2]);
        double angle = 6.283185307179586477 * (turns - rint(turns));
        s.cosine = cos(angle);
        s.sine = sin(angle);
    }
    return s;
}

INLINE int64_t block_of(const grove_convolution_job *job, const sample *s, int32_t function)
{
    const grove_convolution_plan *p = job->plan;

    return (int64_t)function * p->planes * grove_convolution_stride(p) *
               grove_convolution_stride(p) +
           s->block;
}

/* Linear interpolation: blocks about a sample, from the block of its q, and their parts. */
typedef struct {
    int64_t block[8];
    real part[8];
    int count;
} blend;

INLINE blend find_blend(const grove_convolution_job *job, const sample *s, int64_t block)
{
    const int64_t stride = grove_convolution_stride(job->plan);
    blend b = {.count = job->plan->planes > 1 ? 8 : 4};

    /* q - 1 comes before q, which is number q + 1 */
    for (int k = 0; k < b.count; k++) {
        const int u = k & 1, v = k >> 1 & 1, w = k >> 2;
        b.block[k] = block + (w * stride + 1 - v) * stride + 1 - u;
        b.part[k] = (real)((u ? s->part[0] : 1 - s->part[0]) * (v ? s->part[1] : 1 - s->part[1]) *
                           (b.count == 4 ? 1
                            : w          ? s->part[2]
                                         : 1 - s->part[2]));
    }
    return b;
}

/* Function n of a mixture. */
static const real *blend_blocks(const grove_convolution_job *job, const blend *b, int n)
{
    const int64_t size = 2 * job->width * job->plan->support;
    const real *from[8];
    real *to = (real *)job->turned + n * size;

    for (int k = 0; k < b->count; k++)
        from[k] = (const real *)job->functions + b->block[k] * size;
    for (int64_t x = 0; x < size; x += EIGHT) {
        eight sum = *(const eight *)(from[0] + x) * b->part[0];
        for (int k = 1; k < 4; k++)
            sum += *(const eight *)(from[k] + x) * b->part[k];
        if (b->count == 8)
            for (int k = 4; k < 8; k++)
                sum += *(const eight *)(from[k] + x) * b->part[k];
        *(eight *)(to + x) = sum;
    }
    return to;
}

/* Function n of a mixture as the gradient turns it, maybe in place: by cos and sin of each row and
 * column. */
static const real *turn(const grove_convolution_job *job, const sample *s, const real *from, int n)
{
    const grove_convolution_plan *p = job->plan;
    const int64_t size = 2 * job->width * p->support;
    const double half = (double)((int64_t)p->support * p->oversampling / 2);
    real *to = (real *)job->turned + n * size;
    double along[2][GROVE_CONVOLUTION_MAX_SUPPORT][2];

    for (int d = 0; d < 2; d++)
        for (int x = 0; x < p->support; x++) {
            double turns = -s->gradient[d] * (x + (s->offset[d] - half) / p->oversampling);
            double angle = 6.283185307179586477 * (turns - rint(turns));
            along[d][x][0] = cos(angle);
            along[d][x][1] = sin(angle);
        }
    for (int y = 0; y < p->support; y++)
        for (int x = 0; x < p->support; x++) {
            const int64_t at = 2 * y * job->width + x;
            const double *a = along[0][x], *b = along[1][y];
            double re = a[0] * b[0] - a[1] * b[1], im = a[0] * b[1] + a[1] * b[0];
            const double numbers[2] = {(double)from[at], (double)from[at + job->width]};
            to[at] = (real)(numbers[0] * re - numbers[1] * im);
            to[at + job->width] = (real)(numbers[0] * im + numbers[1] * re);
        }
    return to;
}

/* |sum of the numbers|. */
static double sum_of(const grove_convolution_job *job, const real *numbers)
{
    double sum[2] = {0, 0};

    for (int64_t k = 0; k < 2 * job->width * job->plan->support; k++)
        sum[k / job->width % 2] += (double)numbers[k];
    return hypot(sum[0], sum[1]);
}

INLINE void append(const grove_convolution_job *job, const sample *s, int32_t function, int image,
                   mixture *m)
{
    const int n = m->count++;
    const int64_t block = block_of(job, s, function);

    m->function[n] = (const real *)job->functions + block * 2 * job->width * job->plan->support;
    if (job->plan->linear) {
        const blend b = find_blend(job, s, block);
        m->function[n] = blend_blocks(job, &b, n);
    }
    if (job->sums)
        m->sum += job->plan->linear ? sum_of(job, m->function[n])
                                    : (double)((const real *)job->sums)[block];
    m->cells[n] = (real *)job->buffer + 2 * image * job->imaginary + s->cell;
    if (s->gradient)
        m->function[n] = turn(job, s, m->function[n], n);
}

/* cells of one image += sum of functions x values; `count` and `width` are constants where it
 * matters. */
INLINE void add_functions(const grove_convolution_job *job, const mixture *m, int count,
                          int64_t width)
{
    real *to = m->cells[0];

    for (int64_t y = 0, f = 0; y < job->plan->support; y++, f += 2 * width, to += job->row)
        for (int64_t x = 0; x < width; x += EIGHT) {
            eight *re = (eight *)(to + x), *im = (eight *)(to + job->imaginary + x), c = *re,
                  d = *im;
            for (int n = 0; n < count; n++) {
                const eight a = *(const eight *)(m->function[n] + f + x),
                            b = *(const eight *)(m->function[n] + f + width + x);
                c = c + a * m->re[n] - b * m->im[n];
                d = d + a * m->im[n] + b * m->re[n];
            }
            *re = c;
            *im = d;
        }
}

/* sum over images of conj(function) x cells */
INLINE void sum_cells(const grove_convolution_job *job, const mixture *m, real sum[2], int count,
                      int64_t width)
{
    eight re = {0}, im = {0};

    for (int64_t y = 0, f = 0, at = 0; y < job->plan->support; y++, f += 2 * width, at += job->row)
        for (int64_t x = 0; x < width; x += EIGHT)
            for (int n = 0; n < count; n++) {
                const eight a = *(const eight *)(m->function[n] + f + x),
                            b = *(const eight *)(m->function[n] + f + width + x);
                const eight c = *(const eight *)(m->cells[n] + at + x),
                            d = *(const eight *)(m->cells[n] + job->imaginary + at + x);
                re += a * c + b * d;
                im += a * d - b * c;
            }
    sum[0] = sum[1] = 0;
    for (int k = 0; k < EIGHT; k++) {
        sum[0] += re[k];
        sum[1] += im[k];
    }
}

#define WITH_COUNT(function, ...)                                                                  \
    switch (job->width == EIGHT ? m->count : 4 + m->count) {                                       \
    case 1:                                                                                        \
        function(__VA_ARGS__, 1, EIGHT);                                                           \
        break;                                                                                     \
    case 2:                                                                                        \
        function(__VA_ARGS__, 2, EIGHT);                                                           \
        break;                                                                                     \
    case 3:                                                                                        \
        function(__VA_ARGS__, 3, EIGHT);                                                           \
        break;                                                                                     \
    case 4:                                                                                        \
        function(__VA_ARGS__, 4, EIGHT);                                                           \
        break;                                                                                     \
    default:                                                                                       \
        function(__VA_ARGS__, m->count, job->width);                                               \
    }

static void add_mixture(const grove_convolution_job *job, const mixture *m)
{
    WITH_COUNT(add_functions, job, m)
}

static void sum_mixture(const grove_convolution_job *job, const mixture *m, real sum[2])
{
    WITH_COUNT(sum_cells, job, m, sum)
}

static void spread_sample(grove_convolution_job *job, const sample *s, const real *value,
                          real weight)
{
    const int visibilities = job->plan->visibilities, images = job->plan->images;
    real v[4][2];

    for (int j = 0; j < visibilities; j++) {
        double re = (double)(weight * value[2 * j]),
               im = (double)(weight * s->sign * value[2 * j + 1]);
        v[j][0] = (real)(re * s->cosine - im * s->sine);
        v[j][1] = (real)(re * s->sine + im * s->cosine);
    }
    for (int r = 0; r < images; r++) {
        mixture m = {.count = 0};
        for (int j = 0; j < visibilities; j++) {
            const int32_t function = s->index[j * images + r];
            if (function < 0)
                continue;
            m.re[m.count] = v[j][0];
            m.im[m.count] = v[j][1];
            append(job, s, function, r, &m);
        }
        job->sum[r] += (double)weight * m.sum;
        if (m.count)
            add_mixture(job, &m);
    }
}

static void spread(grove_convolution_job *job)
{
    const grove_gridder_samples *all = job->samples;

    for (const grove_convolution_entry *e = job->entries; e < job->entries + job->count; e++) {
        const double *uvw = all->uvw + 3 * (int64_t)e->row, sign = uvw[2] < 0 ? -1 : 1;
        for (int64_t k = e->first; k < e->last; k++) {
            const int64_t i = e->row * all->channels + k;
            const real weight = all->weight ? ((const real *)all->weight)[i] : 1;
            if (weight == 0)
                continue;
            const sample s = find(job, uvw, sign, e->row, k);
            spread_sample(job, &s, (const real *)all->data + 2 * job->plan->visibilities * i,
                          weight);
        }
    }
}

static void collect_sample(const grove_convolution_job *job, const sample *s, real *value)
{
    const int images = job->plan->images;

    for (int j = 0; j < job->plan->visibilities; j++) {
        mixture m = {.count = 0};
        real sum[2] = {0, 0};
        for (int r = 0; r < images; r++)
            if (s->index[j * images + r] >= 0)
                append(job, s, s->index[j * images + r], r, &m);
        if (m.count)
            sum_mixture(job, &m, sum);
        value[2 * j] = (real)((double)sum[0] * s->cosine + (double)sum[1] * s->sine);
        value[2 * j + 1] = s->sign * (real)((double)sum[1] * s->cosine - (double)sum[0] * s->sine);
    }
}

static void collect(grove_convolution_job *job)
{
    const grove_gridder_samples *all = job->samples;

    for (const grove_convolution_entry *e = job->entries; e < job->entries + job->count; e++) {
        const double *uvw = all->uvw + 3 * (int64_t)e->row, sign = uvw[2] < 0 ? -1 : 1;
        for (int64_t k = e->first; k < e->last; k++) {
            const sample s = find(job, uvw, sign, e->row, k);
            collect_sample(job, &s,
                           (real *)all->data +
                               2 * job->plan->visibilities * (e->row * all->channels + k));
        }
    }
}

const grove_convolution_loops LOOPS = {spread, collect};
