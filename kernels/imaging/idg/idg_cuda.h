/* Arguments of the kernels of image-domain gridding for devices, for C and CUDA alike:
 * kernels/imaging/idg/idg.h describes their results. */
#ifndef GROVE_KERNELS_IDG_CUDA_H
#define GROVE_KERNELS_IDG_CUDA_H

#include "../gridder/gridder_cuda.h"

enum {
    GROVE_IDG_BLOCK = 64,   /* threads of a block */
    GROVE_IDG_TILE = 16,    /* cells along each side of a tile of the grid, which has whole ones */
    GROVE_IDG_RESTART = 16, /* channels from one exact phase to the next */
    GROVE_IDG_SLAB_SINGLE = 32, /* visibilities that a block takes together */
    GROVE_IDG_SLAB_DOUBLE = 16
};

/* Times and channels of a baseline that share a subgrid. */
typedef struct {
    int64_t row; /* the first one; it grows by the number of baselines from time to time */
    int32_t times, first, channels;
    int32_t layer, sign; /* sign: of w, by which uvw are multiplied, and data conjugated */
    int32_t cell[2];     /* the middle, from the middle of the grid */
    int32_t start[2];    /* the cell of the plane, which repeats itself, in which it begins */
    int32_t plane;       /* the plane of its layer, through all bands, or of its w-tile */
    int64_t term[2];     /* numbers before the terms of its stations */
    double w;            /* of its middle, wavelengths */
} grove_idg_subgrid;

/* A tile of the grid and the entries of the list of subgrids, in their order, that touch it; of one
 * launch, whose first subgrid is `base`. */
typedef struct {
    int32_t plane, column, row; /* of tiles */
    int32_t first, last, base;
} grove_idg_tile;

/* Inputs of the kernels; visibilities, flags, weights, baselines and wavenumbers are the same as in
 * gridder_spread.cu, GROVE_GRIDDER_STOKES too. */
enum {
    GROVE_IDG_SUBGRIDS = GROVE_GRIDDER_RUNS,
    GROVE_IDG_TILES = GROVE_GRIDDER_PIECE_LIST,
    GROVE_IDG_TABLE = GROVE_GRIDDER_TAPS,
    GROVE_IDG_TERMS = GROVE_GRIDDER_SUMS,
    GROVE_IDG_PIXELS = GROVE_GRIDDER_BUFFERS,
    GROVE_IDG_LIST = GROVE_GRIDDER_SAMPLES, /* numbers of subgrids, of tile after tile */
    GROVE_IDG_SHARE = GROVE_GRIDDER_WEIGHTS /* [channel]: the share that is predicted; NULL: all */
};

/* The table, doubles: p along x and y, n [x][y], the taper [x][y], and the mix: factors
 * [image][number][re, im], and element [number]. Rows of x have `side` numbers. */
GROVE_FN int32_t grove_idg_table_n(int32_t side)
{
    return 2 * side;
}

GROVE_FN int32_t grove_idg_table_taper(int32_t side)
{
    return (2 + side) * side;
}

GROVE_FN int32_t grove_idg_table_mix(int32_t side)
{
    return (2 + 2 * side) * side;
}

enum { GROVE_IDG_MIX_NUMBERS = 32 + 4 };

GROVE_FN int32_t grove_idg_table_numbers(int32_t side)
{
    return grove_idg_table_mix(side) + GROVE_IDG_MIX_NUMBERS;
}

/* The state of all. Pixels are [subgrid of the launch][x][y] complex numbers for each number of a
 * visibility, or for each image; cells [u][v]. */
typedef struct {
    grove_gridder_state samples; /* the parts for reading weights and visibilities; scale, turn,
                                    first_w; polarisations: numbers of a visibility; planes: through
                                    all bands, for split of one */
    double longest[3];           /* of |u|, |v|, |w| times frequency */
    double step_w;
    int32_t side, line; /* pixels; numbers of a line of the terms */
    int32_t images;
    int32_t first, last;   /* subgrids; of gather tiles */
    int32_t elements;      /* of terms; 0: none */
    int16_t limited, even; /* samples may be beyond `longest`; wavenumbers are evenly spaced */
    int32_t size[2];       /* of the grid */
    int32_t adjoint;       /* weigh: from images to numbers */
    int32_t without_w, spare;
    grove_gridder_divisor pixels, row; /* of a subgrid, of its rows */
} grove_idg_state;

GROVE_FN const grove_idg_state *grove_idg_state_of(const grove_args *args)
{
    return (const grove_idg_state *)(const void *)args->state.bytes;
}

/* How much a pixel has of directions of a raster along l or m: `count` of them, in their order. */
enum { GROVE_IDG_TAPS = 12 };
typedef struct {
    int32_t count, at[GROVE_IDG_TAPS];
    double factor[GROVE_IDG_TAPS];
} grove_idg_taps;

/* Inputs of `terms`: the raster's numbers, complex; taps [l, m][pixel]; bytes from there to the
 * times of the blocks, and after these bytes to the channels of the blocks, int64_t. Its result are
 * terms, as weigh takes them, and after them an int32_t, which becomes 1 where numbers are not
 * finite. */
enum { GROVE_IDG_RASTER, GROVE_IDG_RASTER_TAPS, GROVE_IDG_RASTER_CELLS, GROVE_IDG_RASTER_INPUTS };
typedef struct {
    grove_gridder_divisor side, elements, channels, stations; /* blocks of channels */
    int64_t step[3]; /* bytes from direction to direction along l and m, from station to station */
    int64_t numbers; /* real ones of all terms */
    int32_t size[2]; /* of the raster */
    int32_t times;   /* blocks */
    int32_t line;    /* numbers */
} grove_idg_sampling;

GROVE_FN const grove_idg_sampling *grove_idg_sampling_of(const grove_args *args)
{
    return (const grove_idg_sampling *)(const void *)args->state.bytes;
}

#endif
