/* Reductions on a CUDA device: partial sums (or least, greatest) of numbers in double, with counts
 * of good samples, in the order that the cpu takes. */
#ifndef GROVE_KERNELS_REDUCE_H
#define GROVE_KERNELS_REDUCE_H

#include "cell.h"

enum { GROVE_FOLD_SUM = 1, GROVE_FOLD_MEAN, GROVE_FOLD_LEAST, GROVE_FOLD_GREATEST };

/* Inputs of `fold`. The output is the sums so far, double, dense, to which is added: its strides
 * are 0 along the axes that are reduced. Where there are no counts all samples are good. */
enum {
    GROVE_FOLD_NUMBERS, /* float or double */
    GROVE_FOLD_FLAGS,   /* a byte per cell, bit k (at most 7): element k is bad; or absent */
    GROVE_FOLD_COUNTS,  /* instead of flags: how many samples the numbers stand for, int64_t */
    GROVE_FOLD_COUNT    /* out, int64_t, laid out as the sums without their parts; or absent */
};

/* Inputs of `fold_finish`, whose output is the value: sums, double; counts, or absent; and flags,
 * written, or absent. */
enum { GROVE_FINISH_SUMS, GROVE_FINISH_COUNTS, GROVE_FINISH_FLAGS };

/* The state of both. */
typedef struct {
    int32_t how;     /* GROVE_FOLD_... */
    int32_t outer;   /* fold: the others are first reduced to a number that starts from nothing, for
                        each index of this axis; -1: none */
    int64_t samples; /* fold_finish: what was added to each number where nothing is counted */
} grove_fold_state;

/* One thread for each element of each output cell. */
GROVE_FN int64_t grove_fold_threads(const grove_args *args)
{
    int64_t n = args->out.elements;

    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] != 0)
            n *= args->size[d];
    return n;
}

#endif
