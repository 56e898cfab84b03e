/* Phases and products of a block of cells, for one precision and instruction set. */
#include "point_simd.h"
#include "predict_sincs.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#if GROVE_REAL_SINGLE
#define COMPUTE JOIN(grove_point_single_, GROVE_ISA_SUFFIX)
#else
#define COMPUTE JOIN(grove_point_double_, GROVE_ISA_SUFFIX)
#endif

static vec load(const double *from)
{
    doubles x[PARTS];

    memcpy(x, from, sizeof(x));
    return narrow(x);
}

static void set_phasors(const grove_point_block *block, real *cosine, real *sine)
{
    for (int64_t k = 0; k < block->count; k += LANES) {
        doubles turns[PARTS];
        vec c, s, factor = splat(1);
        memcpy(turns, &block->turns[k], sizeof(turns));
        phasor(fractional_turns(turns, 1), &c, &s);
        if (block->smears[0] || block->smears[1]) {
            vec x = block->smears[0] ? load(&block->growth[0][k]) : splat(0);
            vec y = block->smears[1] ? load(&block->growth[1][k]) : splat(0);
            sincs_of(&x, &y, 1);
            factor = x;
        }
        if (block->decays)
            factor *= decay(load(&block->decay[k]));
        c *= factor;
        s *= factor;
        memcpy(&cosine[k], &c, sizeof(c));
        memcpy(&sine[k], &s, sizeof(s));
    }
}

INLINE void multiply(const grove_point_block *block, int elements, const real *cosine,
                     const real *sine)
{
    for (int64_t k = 0; k < block->count; k++) {
        const real *b = (const real *)(const void *)block->brightness[k];
        real *out = (real *)(void *)block->out[k];
        for (int e = 0; e < 2 * elements; e += 2) {
            out[e] = cosine[k] * b[e] - sine[k] * b[e + 1];
            out[e + 1] = cosine[k] * b[e + 1] + sine[k] * b[e];
        }
    }
}

void COMPUTE(grove_point_block *block)
{
    real cosine[GROVE_POINT_CELLS], sine[GROVE_POINT_CELLS];

    set_phasors(block, cosine, sine);
    if (block->elements == 4)
        multiply(block, 4, cosine, sine);
    else
        multiply(block, block->elements, cosine, sine);
    block->count = 0;
    block->decays = 0;
}
