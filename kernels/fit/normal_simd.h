/* Normal equations over samples, in vectors: the hot loops of nodes/solve_samples.c, compiled for
 * each instruction set. */
#ifndef GROVE_KERNELS_NORMAL_SIMD_H
#define GROVE_KERNELS_NORMAL_SIMD_H

#include <stdint.h>

/* Complex samples in double. A sample that does not count has weight 0, and is finite. */
typedef struct {
    int64_t count;   /* of samples, in fours */
    int64_t stride;  /* doubles from one column to the next */
    int32_t columns; /* derivatives; the residual follows them */
    const double *column, *measured;
    const double *weight; /* [count] each twice */
} grove_normal_block;

/* Running sums: how many samples count, sum w |measured|^2, then for columns a <= b, rows of the
 * upper half, conj(a) b w: each is GROVE_NORMAL_SUM doubles, of which products have two. Of
 * products the first are added up to the real part, and of the second those of even places are
 * subtracted from those of odd places for the imaginary part. */
enum { GROVE_NORMAL_SUM = 8 };

/* For one instruction set. */
typedef struct {
    /* Numbers as doubles; false: some are not finite. */
    int (*widen)(const float *from, int64_t count, double *to);
    int (*copy)(const double *from, int64_t count, double *to);
    /* from - minus in the place of minus; false as above. */
    int (*subtract)(const double *from, int64_t count, double *minus);
    /* Weights, each twice: 0 where one is no positive number, or left out. */
    void (*weigh)(const double *weight, const unsigned char *left_out, int64_t count, double *to);
    void (*add)(const grove_normal_block *block, double *sums);
} grove_normal_kernels;

extern const grove_normal_kernels grove_normal_portable, grove_normal_avx2, grove_normal_avx512;

#endif
