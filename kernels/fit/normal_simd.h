/* Normal equations over samples, in vectors: the hot loops of nodes/fit/solve_samples.c, compiled
 * for each instruction set. */
#ifndef GROVE_KERNELS_NORMAL_SIMD_H
#define GROVE_KERNELS_NORMAL_SIMD_H

#include <stdint.h>

/* Complex samples in double, element by element ("planes": first element 0 of all cells). A sample
 * that does not count has weight 0, and is finite. */
typedef struct {
    int64_t cells;   /* in fours */
    int64_t plane;   /* doubles from one element to the next */
    int64_t stride;  /* doubles from one column to the next */
    int32_t columns; /* derivatives; the residual follows them */
    int32_t elements;
    const double *column, *measured;
    const double *weight;       /* each twice */
    const unsigned char *which; /* [columns] bit e: there is a plane of element e; else all is 0 */
} grove_normal_block;

/* Running sums: how many samples count, sum w |measured|^2, then for columns a <= b, rows of the
 * upper half, conj(a) b w, at last products of the residual and of the model (measured less
 * residual) with themselves: each sum is GROVE_NORMAL_SUM doubles; products have two sums. The
 * first is added up to the real part; of the second, doubles in even places are subtracted from
 * doubles in odd places for the imaginary part. */
enum {
    GROVE_NORMAL_SUM = 8,
    GROVE_NORMAL_PARTNERS = 64, /* that are multiplied with one at a time, at most */
    GROVE_NORMAL_SPARE = 4,     /* cells that a plane has room for behind its last */
    GROVE_NORMAL_NOT_FINITE = 256
};

/* For one instruction set. `elements` of a cell: 1 to 4. */
typedef struct {
    /* Complex numbers [cells][elements]: elements of `which` into their planes; `minus`, if there
     * is any, gives minus - from instead. May write SPARE cells too many. Returns bit e: element e
     * is not always 0, of `which` or not; NOT_FINITE: some are not. */
    int (*split_single)(const float *from, int64_t cells, int elements, int which,
                        const double *minus, double *to, int64_t plane);
    int (*split_double)(const double *from, int64_t cells, int elements, int which,
                        const double *minus, double *to, int64_t plane);
    /* Weights [cells][elements] into planes, each twice: 0 where one is no positive number, or
     * flagged (bit e of a cell). May write SPARE cells too many. */
    void (*weigh_single)(const float *weight, const unsigned char *flags, int64_t cells,
                         int elements, double *to, int64_t plane);
    void (*weigh_double)(const double *weight, const unsigned char *flags, int64_t cells,
                         int elements, double *to, int64_t plane);
    void (*add)(const grove_normal_block *block, double *sums);
} grove_normal_kernels;

extern const grove_normal_kernels grove_normal_portable, grove_normal_avx2, grove_normal_avx512;

#endif
