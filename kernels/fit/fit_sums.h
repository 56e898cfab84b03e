/* Compressed sums of a fit on a device: sums of data, weights and models as in
 * nodes/fit/compression.h, over all stretches and baselines of a tile. */
#ifndef GROVE_KERNELS_FIT_SUMS_H
#define GROVE_KERNELS_FIT_SUMS_H

#include "compression_sums.h"
#include "fit_tile.h"

/* Inputs. The iteration space has times, baselines and channels. Of each group there are two, the
 * model and its flags; then may follow uvw. Where flags or weights are absent, data is NULL. */
enum {
    GROVE_FIT_DATA,
    GROVE_FIT_FLAGS,
    GROVE_FIT_WEIGHTS,
    GROVE_FIT_MODELS,
    GROVE_FIT_GROUPS = (GROVE_MAX_INPUTS - GROVE_FIT_MODELS - 1) / 2 /* at most */
};

/* The state. Output: [stretch in time, in frequency][baseline][size] doubles, the sums of each as
 * nodes/fit/compression.h has them. */
typedef struct {
    grove_fit_tile tile;
    int32_t full; /* four numbers for each group */
    int32_t groups;
    int32_t left_out; /* bits of correlations that do not count */
    int32_t spare;
} grove_fit_state;

GROVE_FN int64_t grove_fit_numbers(const grove_fit_state *s)
{
    return (int64_t)s->groups * (s->full ? 4 : 1);
}

/* For each baseline of a stretch: correlations, numbers j, pieces. */
GROVE_FN int64_t grove_fit_items(const grove_fit_state *s)
{
    int64_t n = grove_fit_numbers(s);

    return 4 * n * ((n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE);
}

GROVE_FN int64_t grove_fit_sums_threads(const grove_args *args)
{
    const grove_fit_state *s = (const grove_fit_state *)(const void *)args->state.bytes;

    return grove_fit_rows(&s->tile) * grove_fit_share_of(grove_fit_items(s)).threads;
}

#if defined(GROVE_CUDA) || defined(GROVE_OPENCL)
/* Sums of a thread for one correlation: products of a number with GROVE_FIT_PIECE others. */
typedef struct {
    double count, power;
    grove_cplx64 data, pair[GROVE_FIT_PIECE];
} grove_fit_sums;

/* Writes sums of number j, of n, and numbers from `first` on to the sums of a baseline. */
GROVE_FN void grove_fit_sums_put(double *out, int64_t n, int c, int64_t j, int64_t first,
                                 const grove_fit_sums *from)
{
    if (j == 0 && first == 0) {
        out[GROVE_SUMS_NUMBERS + c] = from->count;
        out[GROVE_SUMS_POWER + c] = from->power;
    }
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        const int64_t other = first + k;
        if (other == j) {
            out[GROVE_SUMS_DATA(j) + c] = from->data.re;
            out[GROVE_SUMS_DATA(j) + 4 + c] = from->data.im;
            out[GROVE_SUMS_SQUARE(n, j) + c] = from->pair[k].re;
        } else if (other > j && other < n) {
            out[GROVE_SUMS_PAIR(n, j, other) + c] = from->pair[k].re;
            out[GROVE_SUMS_PAIR(n, j, other) + 4 + c] = from->pair[k].im;
        }
    }
}
#endif

#endif
