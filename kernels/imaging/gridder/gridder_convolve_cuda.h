/* Arguments of the kernels of gridding by convolution functions, for C and CUDA alike:
 * kernels/imaging/convolution/convolution.h describes their results. */
#ifndef GROVE_KERNELS_GRIDDER_CONVOLVE_CUDA_H
#define GROVE_KERNELS_GRIDDER_CONVOLVE_CUDA_H

#include "gridder_cuda.h"

enum {
    GROVE_CONVOLVE_BLOCK = 64,  /* threads of a block */
    GROVE_CONVOLVE_PIECE = 128, /* samples of a block, a multiple of it */
    GROVE_CONVOLVE_MOST = 4,    /* polarisations of visibilities, and of images */
    GROVE_CONVOLVE_CORNERS = 8  /* functions that linear interpolation takes the mean of */
};

/* Inputs of spread and collect. Inputs of visibilities have the same numbers as in the default
 * gridder's kernels, and so do GROVE_GRIDDER_UVW, _STOKES and _SUMS. `out` of spread are grids,
 * [image][v][u] complex numbers, to which it adds; of collect the result's view. */
enum {
    GROVE_CONVOLVE_FREQ = 5,  /* [channel] doubles */
    GROVE_CONVOLVE_FUNCTIONS, /* [function][plane][q v][q u][Y][X] complex numbers */
    GROVE_CONVOLVE_INDEX,     /* [set][way][visibility][image]; NULL: function 0 for all */
    GROVE_CONVOLVE_ROW,       /* [row], and [channel]: a sample's set is the sum of both */
    GROVE_CONVOLVE_CHANNEL = 11,
    GROVE_CONVOLVE_GRADIENT, /* a view of two direction cosines; NULL: none */
    GROVE_CONVOLVE_NORMS, /* [function][plane][q v][q u] sum of the numbers, of doubles, or NULL */
    GROVE_CONVOLVE_GRIDS, /* collect: as `out` of spread */
    GROVE_CONVOLVE_INPUTS,
    /* collect: [channel][2] doubles: a factor of the result, 0: it is unchanged; and whether it is
     * added to the present value */
    GROVE_CONVOLVE_SHARE = GROVE_GRIDDER_WEIGHTS
};

/* Sums by spread, for each piece: [piece][GROVE_CONVOLVE_TOTALS] doubles. The first are the same as
 * in GROVE_GRIDDER_TOTALS. */
enum {
    GROVE_CONVOLVE_LEFT_OUT = GROVE_GRIDDER_TOTALS, /* samples whose function leaves the grid */
    GROVE_CONVOLVE_SUMS,                            /* weights times norms, of each image */
    GROVE_CONVOLVE_TOTALS = GROVE_CONVOLVE_SUMS + GROVE_CONVOLVE_MOST
};

/* The state of spread and collect. Of `samples` are meant: pieces, channels, baselines,
 * polarisations (of visibilities), elements, used, width (the support), planes, axis, cells (of the
 * grid), scale of u and v, turn. */
typedef struct {
    grove_gridder_state samples;
    int32_t times, images, oversampling, linear;
    int32_t limited, spare;    /* limited: `longest` holds */
    double step_w, longest[3]; /* of |u|, |v|, |w| times frequency */
} grove_convolve_state;

/* The state of arrange, from functions as a value, a view with steps in bytes, and of norms. */
typedef struct {
    int64_t planes; /* of all functions */
    int64_t step[2];
    int32_t support, stride; /* fine samples from one cell to the next */
} grove_convolve_arrange_state;

/* The state of mix: each of to[count[1]] is a sum over from[count[0]] of a matrix [to][from] of
 * complex doubles, GROVE_GRIDDER_TABLE. Steps in bytes from cell to cell, row to row, and from
 * number to number. */
typedef struct {
    grove_gridder_divisor row;
    int32_t count[2], spare;
    int64_t from_step[3], to_step[3];
} grove_convolve_mix_state;

GROVE_FN const grove_convolve_state *grove_convolve_state_of(const grove_args *args)
{
    return (const grove_convolve_state *)(const void *)args->state.bytes;
}

#endif
