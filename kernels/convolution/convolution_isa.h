/* One compilation of the hot loops: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "convolution_hot.h"

#include "../simd/vector.h"

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

/* A sample as it is gridded: with w of 0 or more, about the middle of the image. */
typedef struct {
    const real *function;
    real *cells; /* the buffer's, of the real part */
    double cosine, sine;
    real sign; /* of w */
} sample;

INLINE sample find(const grove_convolution_job *job, const double uvw[3], double sign,
                   int64_t channel)
{
    const grove_convolution_plan *p = job->plan;
    const double wavenumber = job->wavenumber[channel];
    const double at[3] = {sign * uvw[0], sign * uvw[1], sign * uvw[2]};
    const int64_t oversampling = p->oversampling;
    grove_convolution_place place;
    sample s = {.cosine = 1, .sine = 0, .sign = (real)sign};

    grove_convolution_find(p, at, wavenumber, &place);
    int64_t number =
        ((int64_t)place.plane * oversampling + (int64_t)place.offset[1]) * oversampling +
        (int64_t)place.offset[0];
    s.function = (const real *)job->functions + number * 2 * job->width * p->support;
    s.cells = (real *)job->buffer + ((int64_t)place.cell[1] - job->origin[1]) * job->row +
              (int64_t)place.cell[0] - job->origin[0];
    if (p->turn[0] != 0 || p->turn[1] != 0 || p->turn[2] != 0) {
        double turns = wavenumber * (at[0] * p->turn[0] + at[1] * p->turn[1] + at[2] * p->turn[2]);
        double angle = 6.283185307179586477 * (turns - rint(turns));
        s.cosine = cos(angle);
        s.sine = sin(angle);
    }
    return s;
}

/* cells += function x value; `width` is a constant where it matters. */
INLINE void add_function(const grove_convolution_job *job, const sample *s, real re, real im,
                         int64_t width)
{
    const real *f = s->function;
    real *to = s->cells;

    for (int y = 0; y < job->plan->support; y++, f += 2 * width, to += job->row)
        for (int64_t x = 0; x < width; x += EIGHT) {
            const eight a = *(const eight *)(f + x), b = *(const eight *)(f + width + x);
            eight *c = (eight *)(to + x), *d = (eight *)(to + job->imaginary + x);
            *c = *c + a * re - b * im;
            *d = *d + a * im + b * re;
        }
}

/* sum of conj(function) x cells */
INLINE void sum_cells(const grove_convolution_job *job, const sample *s, real *re, real *im,
                      int64_t width)
{
    const real *f = s->function, *from = s->cells;
    eight sum_re = {0}, sum_im = {0};

    for (int y = 0; y < job->plan->support; y++, f += 2 * width, from += job->row)
        for (int64_t x = 0; x < width; x += EIGHT) {
            const eight a = *(const eight *)(f + x), b = *(const eight *)(f + width + x);
            const eight c = *(const eight *)(from + x),
                        d = *(const eight *)(from + job->imaginary + x);
            sum_re += a * c + b * d;
            sum_im += a * d - b * c;
        }
    *re = *im = 0;
    for (int k = 0; k < EIGHT; k++) {
        *re += sum_re[k];
        *im += sum_im[k];
    }
}

static void spread(const grove_convolution_job *job)
{
    const grove_gridder_samples *all = job->samples;

    for (const grove_convolution_entry *e = job->entries; e < job->entries + job->count; e++) {
        const double *uvw = all->uvw + 3 * (int64_t)e->row, sign = uvw[2] < 0 ? -1 : 1;
        for (int64_t k = e->first; k < e->last; k++) {
            const int64_t i = e->row * all->channels + k;
            const real weight = all->weight ? ((const real *)all->weight)[i] : 1;
            if (weight == 0)
                continue;
            sample s = find(job, uvw, sign, k);
            const real *value = (const real *)all->data + 2 * i;
            double re = (double)(weight * value[0]), im = (double)(weight * s.sign * value[1]);
            real a = (real)(re * s.cosine - im * s.sine), b = (real)(re * s.sine + im * s.cosine);
            if (job->width == EIGHT)
                add_function(job, &s, a, b, EIGHT);
            else
                add_function(job, &s, a, b, job->width);
        }
    }
}

static void collect(const grove_convolution_job *job)
{
    const grove_gridder_samples *all = job->samples;

    for (const grove_convolution_entry *e = job->entries; e < job->entries + job->count; e++) {
        const double *uvw = all->uvw + 3 * (int64_t)e->row, sign = uvw[2] < 0 ? -1 : 1;
        for (int64_t k = e->first; k < e->last; k++) {
            real *value = (real *)all->data + 2 * (e->row * all->channels + k), a, b;
            sample s = find(job, uvw, sign, k);
            if (job->width == EIGHT)
                sum_cells(job, &s, &a, &b, EIGHT);
            else
                sum_cells(job, &s, &a, &b, job->width);
            value[0] = (real)((double)a * s.cosine + (double)b * s.sine);
            value[1] = s.sign * (real)((double)b * s.cosine - (double)a * s.sine);
        }
    }
}

const grove_convolution_loops LOOPS = {spread, collect};
