/* Visibilities of single sources, several channels at once, in vectors: the same as
 * kernels/sky/point.h, but for rounding. */
#ifndef GROVE_KERNELS_POINT_SIMD_H
#define GROVE_KERNELS_POINT_SIMD_H

#include "../simd/isa.h"
#include "cell.h"

/* Cells [first, last) of an evaluation. */
void grove_point_single(const grove_args *args, int64_t first, int64_t last);
void grove_point_double(const grove_args *args, int64_t first, int64_t last);

/* Cells at once; a whole number of vectors. */
enum { GROVE_POINT_CELLS = 64 };

/* Cells to be computed. Without averaging or damping its arrays are unused. */
typedef struct {
    int64_t count;
    double turns[GROVE_POINT_CELLS]; /* the phase */
    double growth[2]
                 [GROVE_POINT_CELLS]; /* turns over which it is averaged: in time, in frequency */
    double decay[GROVE_POINT_CELLS];  /* visibilities are multiplied by exp(-decay), >= 0 */
    const char *brightness[GROVE_POINT_CELLS];
    char *out[GROVE_POINT_CELLS];
    int32_t smears[2], decays; /* whether it is averaged, and whether any cell is damped */
    int32_t elements;          /* of a cell: complex numbers */
} grove_point_block;

/* Computes the cells of a block, which has none afterwards; for one instruction set. */
typedef void grove_point_fn(grove_point_block *block);

extern grove_point_fn grove_point_single_portable, grove_point_double_portable;
extern grove_point_fn grove_point_single_avx2, grove_point_double_avx2;
extern grove_point_fn grove_point_single_avx512, grove_point_double_avx512;

#endif
