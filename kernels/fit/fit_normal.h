/* Normal equations of a fit on a device: for each baseline and stretch, over its cells and
 * correlations,
 *     H_ab = sum w conj(dV_a) dV_b,  b_a = sum w conj(dV_a) (d - V),  chi^2 = sum w |d - V|^2
 * for the derivatives dV_a of the model V. Samples that are flagged, not finite or without weight
 * are left out. */
#ifndef GROVE_KERNELS_FIT_NORMAL_H
#define GROVE_KERNELS_FIT_NORMAL_H

#include "fit_tile.h"

/* Inputs. Then may follow uvw. Where flags or weights are absent, data is NULL. */
enum {
    GROVE_NORMAL_MODEL,
    GROVE_NORMAL_MODEL_FLAGS,
    GROVE_NORMAL_DATA,
    GROVE_NORMAL_DATA_FLAGS,
    GROVE_NORMAL_WEIGHTS,
    GROVE_NORMAL_WEIGHT_FLAGS,
    GROVE_NORMAL_SLOTS,
    GROVE_NORMAL_COLUMNS = GROVE_MAX_INPUTS - GROVE_NORMAL_SLOTS - 1 /* at most */
};

typedef struct {
    grove_fit_tile tile;
    int32_t columns;
    int32_t elements; /* of a cell that are compared */
    int32_t of_model[4], of_data[4];
} grove_normal_state;

/* Output: [stretch in time, in frequency][baseline] of these doubles: */
enum {
    GROVE_NORMAL_CHI2,
    GROVE_NORMAL_POWER,  /* sum w |d|^2 */
    GROVE_NORMAL_VALUES, /* sum w |V|^2 */
    GROVE_NORMAL_USED,   /* real numbers that count */
    GROVE_NORMAL_ALL,    /* ... flagged or not */
    GROVE_NORMAL_SUMS /* [columns][columns + 1] complex: H_ab for b >= a, b_a at column `columns` */
};

GROVE_FN int64_t grove_normal_size(int64_t columns)
{
    return GROVE_NORMAL_SUMS + 2 * columns * (columns + 1);
}

/* For each baseline of a stretch: columns and the residual, pieces of partners. */
GROVE_FN int64_t grove_normal_items(const grove_normal_state *s)
{
    int64_t n = s->columns + 1;

    return n * ((n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE);
}

GROVE_FN int64_t grove_fit_normal_threads(const grove_args *args)
{
    const grove_normal_state *s = (const grove_normal_state *)(const void *)args->state.bytes;

    return grove_fit_rows(&s->tile) * grove_fit_share_of(grove_normal_items(s)).threads;
}

#if defined(GROVE_CUDA) || defined(GROVE_OPENCL)
/* Sums of a thread: products of a column, or the residual, with GROVE_FIT_PIECE others. */
typedef struct {
    double power, values, used, all;
    grove_cplx64 pair[GROVE_FIT_PIECE];
} grove_normal_sums;

/* Writes sums of column a and columns from `first` on to the output of a baseline. */
GROVE_FN void grove_normal_put(double *out, int64_t columns, int64_t a, int64_t first,
                               const grove_normal_sums *from)
{
#pragma unroll
    for (int k = 0; k < GROVE_FIT_PIECE; k++) {
        const int64_t b = first + k;
        if (b < a || b > columns)
            continue;
        if (a == columns) {
            out[GROVE_NORMAL_CHI2] = from->pair[k].re;
            out[GROVE_NORMAL_POWER] = from->power;
            out[GROVE_NORMAL_VALUES] = from->values;
            out[GROVE_NORMAL_USED] = from->used;
            out[GROVE_NORMAL_ALL] = from->all;
        } else {
            double *to = out + GROVE_NORMAL_SUMS + 2 * (a * (columns + 1) + b);
            to[0] = from->pair[k].re;
            to[1] = from->pair[k].im;
        }
    }
}
#endif

#endif
