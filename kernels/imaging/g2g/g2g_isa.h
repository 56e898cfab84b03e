/* One compilation of the hot loop: for one precision and instruction set. The file that includes
 * this defines GROVE_REAL_SINGLE; the compiler's flags define GROVE_ISA_SUFFIX. */
#include "g2g_hot.h"

#include "../../simd/vector.h"

#include <math.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define LOOP JOIN(grove_g2g_single_, GROVE_ISA_SUFFIX)
#else
#define LOOP JOIN(grove_g2g_double_, GROVE_ISA_SUFFIX)
#endif

enum { EIGHT = GROVE_G2G_LANES, MOST = 4 };

/* Eight numbers, one vector or as many as the instruction set needs, at any address. */
typedef real eight __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real)), may_alias));

/* Entries of one cell, so that its neighbours are read and written once for all of them. */
typedef struct {
    const real *function[MOST];
    real weight[MOST];
    real re[MOST], im[MOST];
    const real *in;
    real *out;
    int count;
} bundle;

INLINE real sum_of(const eight *x)
{
    const real *a = (const real *)x;

    return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

/* weight x sum of conj(function) x cells, of each; `count`, `width` and `is_real` are constants
 * where it matters. */
INLINE void collect(const grove_g2g_job *job, bundle *b, int count, int64_t width, bool is_real)
{
    eight re[MOST] = {{0}}, im[MOST] = {{0}};
    const int64_t step = is_real ? width : 2 * width;
    const real *in = b->in;

    for (int64_t y = 0, f = 0; y < job->support; y++, f += step, in += job->row)
        for (int64_t x = 0; x < width; x += EIGHT) {
            const eight c = *(const eight *)(in + x), d = *(const eight *)(in + job->imaginary + x);
            for (int n = 0; n < count; n++) {
                const eight k = *(const eight *)(b->function[n] + f + x);
                re[n] += k * c;
                im[n] += k * d;
                if (!is_real) {
                    const eight l = *(const eight *)(b->function[n] + f + width + x);
                    re[n] += l * d;
                    im[n] -= l * c;
                }
            }
        }
    for (int n = 0; n < count; n++) {
        b->re[n] = b->weight[n] * sum_of(&re[n]);
        b->im[n] = b->weight[n] * sum_of(&im[n]);
    }
}

/* cells += sum of functions x these */
INLINE void spread(const grove_g2g_job *job, const bundle *b, int count, int64_t width,
                   bool is_real)
{
    const int64_t step = is_real ? width : 2 * width;
    real *out = b->out;

    for (int64_t y = 0, f = 0; y < job->support; y++, f += step, out += job->row)
        for (int64_t x = 0; x < width; x += EIGHT) {
            eight *re = (eight *)(out + x), *im = (eight *)(out + job->imaginary + x), c = *re,
                  d = *im;
            for (int n = 0; n < count; n++) {
                const eight k = *(const eight *)(b->function[n] + f + x);
                c += k * b->re[n];
                d += k * b->im[n];
                if (!is_real) {
                    const eight l = *(const eight *)(b->function[n] + f + width + x);
                    c -= l * b->im[n];
                    d += l * b->re[n];
                }
            }
            *re = c;
            *im = d;
        }
}

INLINE void apply(const grove_g2g_job *job, bundle *b, int count, int64_t width, bool is_real)
{
    collect(job, b, count, width, is_real);
    spread(job, b, count, width, is_real);
}

INLINE void apply_counted(const grove_g2g_job *job, bundle *b, int64_t width, bool is_real)
{
    switch (b->count) {
    case 1:
        apply(job, b, 1, width, is_real);
        break;
    case 2:
        apply(job, b, 2, width, is_real);
        break;
    case 3:
        apply(job, b, 3, width, is_real);
        break;
    default:
        apply(job, b, MOST, width, is_real);
    }
}

/* Takes entries of one cell, from `at` on. */
INLINE int64_t gather(const grove_g2g_job *job, int64_t at, int64_t size, bundle *b)
{
    const double blocks = (double)job->blocks,
                 cell = floor((job->entries[at].point - job->first) / blocks),
                 begin = job->first + cell * blocks;
    const int64_t place = (int64_t)cell / job->tile * job->row + (int64_t)cell % job->tile;

    b->in = (const real *)job->in + place;
    b->out = (real *)job->out + place;
    for (b->count = 0; b->count < MOST && at < job->count; at++, b->count++) {
        const double block = job->entries[at].point - begin;
        if (block >= blocks)
            break;
        b->function[b->count] = (const real *)job->functions + (int64_t)block * size;
        b->weight[b->count] = (real)job->entries[at].weight;
    }
    return at;
}

INLINE void apply_all(const grove_g2g_job *job, int64_t width, bool is_real)
{
    const int64_t size = (is_real ? width : 2 * width) * job->support;
    bundle b = {.count = 0};

    for (int64_t at = 0; at < job->count;) {
        at = gather(job, at, size, &b);
        apply_counted(job, &b, width, is_real);
    }
}

void LOOP(const grove_g2g_job *job)
{
    if (job->is_real && job->width == EIGHT)
        apply_all(job, EIGHT, true);
    else if (job->is_real)
        apply_all(job, job->width, true);
    else if (job->width == EIGHT)
        apply_all(job, EIGHT, false);
    else
        apply_all(job, job->width, false);
}
