/* Arguments of the gridder's kernels for devices, for C and CUDA alike. */
#ifndef GROVE_KERNELS_GRIDDER_CUDA_H
#define GROVE_KERNELS_GRIDDER_CUDA_H

#include "cell.h"

enum {
    GROVE_GRIDDER_SIDE = 16,  /* cells along each side of a tile */
    GROVE_GRIDDER_NARROW = 8, /* cells of kernels that are spread by way of registers */
    GROVE_GRIDDER_BLOCK = 64, /* threads of a block: NARROW squared */
    /* Pieces of tiles besides the first of each, in all: an H100 has room for 660 blocks. */
    GROVE_GRIDDER_SLOTS = 1024,
    GROVE_GRIDDER_FACTORS = 16, /* room for the taps of an axis */
    /* Cells of a tile's buffer that shared memory has room for. */
    GROVE_GRIDDER_CELLS_SINGLE = 4960,
    GROVE_GRIDDER_CELLS_DOUBLE = 2320
};

/* Channels from `first` on of a row, up to the `start` of the next run; `start` counts samples in
 * the order of runs. */
typedef struct {
    int32_t row, first, start;
    int32_t w; /* the plane in which their kernels begin; -1: it is to be computed */
} grove_gridder_run;

/* Samples [first, last) of a tile and of some planes, for one block of threads. */
typedef struct {
    int32_t column[2]; /* of the tile, along u and v */
    int32_t chunk;     /* planes [chunk, chunk + 1) chunk_planes */
    int32_t run;       /* which has sample `first` */
    int32_t first, last;
    int32_t slot;  /* the buffer goes there; -1: to the planes ... */
    int32_t slots; /* ... number of slots with them, from `first_slot` on */
    int32_t first_slot;
    int32_t spare;
} grove_gridder_piece;

/* Inputs of spread and collect. Rows are times and baselines, in this order. */
enum {
    GROVE_GRIDDER_DATA, /* visibilities; collect: not given */
    GROVE_GRIDDER_FLAGS,
    GROVE_GRIDDER_WEIGHTS, /* collect: how much channels have of the image, doubles; NULL: all */
    GROVE_GRIDDER_WEIGHT_FLAGS,
    GROVE_GRIDDER_UVW,
    GROVE_GRIDDER_WAVENUMBERS, /* [channel] frequency over c */
    GROVE_GRIDDER_RUNS,
    GROVE_GRIDDER_PIECE_LIST,
    GROVE_GRIDDER_TAPS,    /* [u and v; w][degree + 1][16] of the precision */
    GROVE_GRIDDER_STOKES,  /* [parameter][4 elements][2] doubles */
    GROVE_GRIDDER_SUMS,    /* [piece][2] doubles: of weights, of samples that are no numbers */
    GROVE_GRIDDER_BUFFERS, /* [slot][polarisation][plane][row][column] complex numbers */
    GROVE_GRIDDER_SAMPLES, /* collect: [row][channel][polarisation] complex numbers, added to */
    GROVE_GRIDDER_INPUTS
};

/* The state of spread and collect. `out`: [polarisation][plane][cells[1]][cells[0]] complex
 * numbers. */
typedef struct {
    int32_t pieces, runs, channels, baselines;
    int32_t polarisations, elements, used; /* bits of elements that must not be flagged */
    int32_t as_ones;                       /* visibilities count as 1 */
    int32_t width, width_w, degree, planes, chunk_planes;
    int32_t axis[3]; /* of time, baseline and frequency in the views; -1 */
    int32_t cells[2], first_tile[2], tiles[2], wraps[2];
    double scale[3], first_w, turn[3];
} grove_gridder_state;

/* i / size is i multiplier >> shift, for i < 2^31 (Granlund & Montgomery 1994): divisions take
 * dozens of instructions. */
typedef struct {
    int32_t size, shift;
    uint32_t multiplier;
} grove_gridder_divisor;

GROVE_FN grove_gridder_divisor grove_gridder_divide_by(int32_t size)
{
    grove_gridder_divisor d = {size, 31, 0};

    while ((uint64_t)1 << (d.shift - 31) < (uint64_t)size)
        d.shift++;
    d.multiplier = (uint32_t)((((uint64_t)1 << d.shift) + (uint64_t)size - 1) / (uint64_t)size);
    return d;
}

/* Row y and number x in it of item i, of fewer than 2^31. */
GROVE_FN void grove_gridder_divide(int64_t i, const grove_gridder_divisor *by, int32_t *y,
                                   int32_t *x)
{
    *y = (int32_t)(((uint64_t)(uint32_t)i * by->multiplier) >> by->shift);
    *x = (int32_t)i - *y * by->size;
}

/* The state of the kernels of images. The grid has size[1] rows of size[0] cells; cells[1] times
 * cells[0] are kept from `first` on, counted from the zero of u and v. */
typedef struct {
    grove_gridder_divisor row; /* items of a row of the launch; first in each state of one */
    int32_t size[2], cells[2], first[2];
    int32_t pixels[2]; /* along l and m */
    int32_t middle[2]; /* of planes of the sky: the cell that has the image's centre */
    int32_t begin, finish;
    int32_t degree;
    int32_t axis[3]; /* as above */
    int32_t polarisations, channels, baselines, pieces, spare;
    int64_t step[2]; /* bytes from pixel to pixel along l and m, or from cell to cell of a plane */
    double cell[2], centre[2], w, middle_n, scale_t;
} grove_gridder_image_state;

/* Inputs of the kernels of images; the channels' samples to visibilities, and sums of pieces. */
enum { GROVE_GRIDDER_FROM, GROVE_GRIDDER_TABLE, GROVE_GRIDDER_IMAGE_INPUTS };

/* The state of window: cell (x, y) of the result is cell (x, y) + skip of the input, which repeats
 * itself where it wraps, and else is 0 outside. Along u or l, and v or m; steps in bytes. */
typedef struct {
    grove_gridder_divisor row;
    int32_t size[2], from_size[2], skip[2];
    int32_t wraps, numbers; /* real numbers of a cell */
    int32_t spare;
    int64_t from_step[2], to_step[2];
} grove_gridder_window;

/* The state of weigh, whose result are sums for each 32 threads: [warp][GROVE_GRIDDER_TOTALS]. Its
 * inputs are spread's; GROVE_GRIDDER_WAVENUMBERS are frequencies. */
enum {
    GROVE_GRIDDER_WEIGHT_TOTAL, /* of samples that count */
    GROVE_GRIDDER_NO_NUMBERS,   /* samples with a weight that are no numbers */
    GROVE_GRIDDER_BEYOND,       /* samples with a weight beyond `longest` */
    GROVE_GRIDDER_TOTALS
};
typedef struct {
    grove_gridder_state samples; /* the parts for reading weights and visibilities */
    int64_t rows, threads;
    double longest[3]; /* of |u|, |v|, |w| times frequency */
    int32_t limited;   /* 0: all samples are within */
    int32_t spare;
} grove_gridder_weighing;

GROVE_FN const grove_gridder_state *grove_gridder_state_of(const grove_args *args)
{
    return (const grove_gridder_state *)(const void *)args->state.bytes;
}

GROVE_FN const grove_gridder_image_state *grove_gridder_image_state_of(const grove_args *args)
{
    return (const grove_gridder_image_state *)(const void *)args->state.bytes;
}

/* Number of a row or column of the grid among the kept ones, or size - 1 at most; and back. */
GROVE_FN int32_t grove_gridder_image_kept_index(const grove_gridder_image_state *g, int d,
                                                int32_t at)
{
    const int32_t number = at - g->first[d]; /* `first` is from -size to 0 */

    return number >= g->size[d] ? number - g->size[d] : number;
}

GROVE_FN int32_t grove_gridder_image_grid_index(const grove_gridder_image_state *g, int d,
                                                int32_t number)
{
    const int32_t at = g->first[d] + number;

    return at < 0 ? at + g->size[d] : at;
}

/* l^2 + m^2 of a pixel. */
GROVE_FN double grove_gridder_image_square(const grove_gridder_image_state *g, int32_t x, int32_t y)
{
    const double l = g->centre[0] + (double)(x - g->pixels[0] / 2) * g->cell[0];
    const double m = g->centre[1] + (double)(y - g->pixels[1] / 2) * g->cell[1];

    return l * l + m * m;
}

/* The factor that divides by the transforms of the kernels: along l, m, and a polynomial along w.
 */
GROVE_FN double grove_gridder_image_correction(const grove_args *args,
                                               const grove_gridder_image_state *g, int32_t x,
                                               int32_t y, double n)
{
    const double *along_l = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    const double *along_m = along_l + g->pixels[0], *polynomial = along_m + g->pixels[1];
    const double t = 2 * g->scale_t * (n * n) - 1;
    double sum = polynomial[g->degree];

    for (int d = g->degree - 1; d >= 0; d--)
        sum = sum * t + polynomial[d];
    return sum * along_l[x] * along_m[y];
}

#endif
