/* Sums over cells of data and models, in vectors: the hot loops of nodes/fit/compression.c and
 * nodes/fit/stefcal.c, compiled for each instruction set. */
#ifndef GROVE_KERNELS_COMPRESSION_SIMD_H
#define GROVE_KERNELS_COMPRESSION_SIMD_H

#include "compression_sums.h"

#include <stdint.h>

/* A cell is eight doubles: four complex numbers, XX XY YX YY. */
enum { GROVE_COMPRESSION_CELL = 8, GROVE_COMPRESSION_CELLS = 32 };

/* Cells that follow each other along the channels. `weight` has each weight twice, and 0 where a
 * correlation is left out. */
typedef struct {
    int32_t count, groups;
    int32_t full; /* four numbers for each group */
    double *weight, *data, *model[32];
} grove_compression_block;

/* Strided input with four elements. */
typedef struct {
    const void *data;
    int64_t step; /* bytes from one cell to the next */
    int32_t bytes, elements;
    const unsigned char *flags; /* NULL: none */
    int64_t flag_step;
} grove_compression_row;

/* Channels of rows that are added directly, at most. */
enum { GROVE_COMPRESSION_CHANNELS = 256 };

/* Rows in single precision, one for each baseline: four elements of data and model, one or four of
 * weights, with all flags at the weights. `next`: bytes from one row to the next. */
typedef struct {
    int64_t rows, count; /* count: of the cells of a row */
    int64_t size;        /* doubles of the running sums of one */
    int32_t full;
    grove_compression_row data, weights, model;
    struct {
        int64_t data, weights, model, flags;
    } next;
} grove_compression_rows;

/* Running sums of a baseline, in cells: numbers, power, then for each group products with the data
 * (two cells, or four times two: of element e + r of the model with correlation e), then for each
 * pair of groups g <= h products of m_g with m_h (two cells; in the full form four times two for
 * weights that correlations share, then conj(m_g) m_h with the weight of each: 4 x 4). Of two cells
 * with products, the first has them for the real part, the second for the imaginary part: the sum
 * of two lanes, and their difference. In the pair of a group with itself in the full form and of
 * the first group with itself, the real part without rotation is in cell 0. */
enum { GROVE_COMPRESSION_OWN = 8, GROVE_COMPRESSION_PAIR = 24 };

/* For one instruction set. */
typedef struct {
    /* Complex numbers of four elements as doubles; false: some are not finite. */
    int (*load)(const grove_compression_row *row, int64_t count, double *to);
    /* Weights of one or four elements, without elements that `flags` (bits of four elements; NULL)
     * or the weight itself leaves out. */
    void (*load_weights)(const grove_compression_row *row, int64_t count, double *to);
    /* Adds a block to running sums. */
    void (*add)(const grove_compression_block *block, double *sums);
    /* Adds rows of one group directly, and returns how many of them: it ends before one in which
     * some number that has weight is not finite, or, in the full form, weights of a cell differ. */
    int64_t (*add_rows)(const grove_compression_rows *rows, double *sums);
    /* From running sums to finished ones. */
    void (*finish)(const double *running, int groups, int full, double *sums);
} grove_compression_kernels;

extern const grove_compression_kernels grove_compression_portable, grove_compression_avx2,
    grove_compression_avx512;

/* Doubles of the equations of one side of a station's baselines for `unknowns` numbers: the upper
 * half of a normal matrix, then the right side, each number as four real and four imaginary parts,
 * one for each correlation. */
#define GROVE_STEFCAL_SIDE(unknowns) (4 * (unknowns) * ((unknowns) + 3))

/* For one instruction set. */
typedef struct grove_stefcal_kernels {
    /* Adds the normal equations of one side ('p' or 'q') of a baseline, from its finished sums, for
     * each correlation separately. coefficient: [group][1, or 2 of the row][re, im][4], conj(R) for
     * side p and L for side q. */
    void (*add)(const double *sums, const double *coefficient, int groups, int full, int side,
                double *to);
    /* The change of chi-squared of a baseline from Jones matrices `from` to others, of p (0) and q
     * (1), [group][4][re, im]; without `from`, chi-squared less the power of the data. */
    double (*change)(const double *sums, const double *const from[2], const double *const to[2],
                     int groups, int full);
} grove_stefcal_kernels;

extern const grove_stefcal_kernels grove_stefcal_portable, grove_stefcal_avx2, grove_stefcal_avx512;

#endif
