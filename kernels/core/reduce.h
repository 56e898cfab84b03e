/* Reductions: sums (or min, max) of numbers in double, with counts of good samples, in an order
 * that depends on nothing but the axes.
 *
 * Along the axis `axis` the cells of a block of 64 are added in the order of the index, to a sum
 * that starts from zero; blocks are numbered from the axis' first cell. Sums of blocks are added
 * along a binary tree: node k of level l is node 2k of the level below plus node 2k + 1 (if there
 * is one); level 0 are the blocks. The other axes that are reduced come first: for each index of
 * `axis`, in the order of storage, to a number that starts from zero.
 *
 * Between two calls are kept: the sum of the open block, which is the last; and the nodes whose
 * partner is still to come. */
#ifndef GROVE_KERNELS_REDUCE_H
#define GROVE_KERNELS_REDUCE_H

#include "cell.h"

enum { GROVE_HOW_SUM = 1, GROVE_HOW_MEAN, GROVE_HOW_MIN, GROVE_HOW_MAX };

enum {
    GROVE_REDUCE_BLOCK = 64,
    GROVE_REDUCE_LEVELS = 32 /* for axes of up to 64 * 2^32 cells */
};

/* Inputs of `reduce`. The output is the sum of the open block, double; its strides are 0 along the
 * axes that are reduced. Where there are no counts all samples are good. */
enum {
    GROVE_REDUCE_NUMBERS, /* float or double */
    GROVE_REDUCE_FLAGS,   /* a byte per cell, bit k (at most 7): element k is bad; or absent */
    GROVE_REDUCE_COUNTS,  /* instead of flags: the number of samples in each number, int64_t */
    GROVE_REDUCE_COUNT, /* written: int64_t, laid out as the output without its parts; or absent */
    GROVE_REDUCE_NODES, /* written: the nodes, each laid out as the output; absent: kept for this
                           call */
    GROVE_REDUCE_ROWS   /* a byte per row, not 0: its cells count as flagged; CPU only; or absent */
};

/* Inputs of `reduce_finish`, whose output is the value: sums, double; counts, or absent; and flags,
 * written, or absent. */
enum { GROVE_FINISH_SUMS, GROVE_FINISH_COUNTS, GROVE_FINISH_FLAGS };

/* The state of both. */
typedef struct {
    int32_t how;    /* GROVE_HOW_... */
    int32_t axis;   /* that goes in blocks; -1: none, all samples are added to the output */
    int32_t fresh;  /* nothing was added yet: the output and the count start from zero */
    int32_t levels; /* levels of nodes that may have to wait */
    int64_t begin;  /* the block with which all that is added begins; its first cell is the first */
    int64_t end;    /* cells of the whole axis: once all were added, the output is their sum */
    int64_t distance; /* doubles from a node to the next */
    int64_t samples;  /* reduce_finish: samples added to each number where none are counted */
} grove_reduce_state;

/* How many levels of nodes may have to wait along an axis of `cells` cells. */
GROVE_FN int grove_reduce_levels(int64_t cells)
{
    int64_t last = cells > 0 ? (cells - 1) / GROVE_REDUCE_BLOCK : 0;
    int levels = 0;

    for (; last; last >>= 1)
        levels++;
    return levels;
}

/* The numbers of the output, without their parts. */
GROVE_FN int64_t grove_reduce_numbers(const grove_args *args)
{
    int64_t n = args->out.elements;

    for (int d = 0; d < args->axes; d++)
        if (args->out.stride[d] != 0)
            n *= args->size[d];
    return n;
}

/* Threads that share a number on a device, a power of two: each takes blocks of the axis. More
 * where there are few numbers. */
enum { GROVE_REDUCE_THREADS = 128, GROVE_REDUCE_TEAM = 32, GROVE_REDUCE_ENOUGH = 1 << 17 };
GROVE_FN int grove_reduce_team(const grove_args *args)
{
    const grove_reduce_state *s = (const grove_reduce_state *)(const void *)args->state.bytes;
    int64_t numbers = grove_reduce_numbers(args), blocks, first;
    int team = 1;

    if (s->axis < 0 || args->size[s->axis] <= 0)
        return 1;
    first = args->origin[s->axis];
    blocks =
        (first + args->size[s->axis] - 1) / GROVE_REDUCE_BLOCK - first / GROVE_REDUCE_BLOCK + 1;
    while (team < GROVE_REDUCE_TEAM && 2 * team <= blocks &&
           2 * team * numbers <= GROVE_REDUCE_ENOUGH)
        team *= 2;
    return team;
}

/* Threads on a device; on the host items: the first one of each team computes its number. */
GROVE_FN int64_t grove_reduce_threads(const grove_args *args)
{
    return grove_reduce_numbers(args) * grove_reduce_team(args);
}

GROVE_FN double grove_reduce_zero(int how)
{
    return how == GROVE_HOW_MIN ? HUGE_VAL : how == GROVE_HOW_MAX ? -HUGE_VAL : 0;
}

/* Adds the later of two partial results to the earlier one. */
GROVE_FN double grove_reduce_add(int how, double before, double x)
{
    return how == GROVE_HOW_MIN   ? (x < before ? x : before)
           : how == GROVE_HOW_MAX ? (x > before ? x : before)
                                  : before + x;
}

/* Puts node `k` of level `l`, `count` numbers side by side, into the tree; they change. Nodes whose
 * partner comes later are the first `levels`; those whose partner is not of this accumulator, which
 * begins between both, come behind. */
GROVE_FN void grove_reduce_push(const grove_reduce_state *s, double *nodes, double *sum,
                                int64_t count, int l, int64_t k)
{
    while ((k & 1) && (k - 1) << l >= s->begin) {
        const double *left = nodes + l * s->distance;
        for (int i = 0; i < count; i++)
            sum[i] = grove_reduce_add(s->how, left[i], sum[i]);
        k >>= 1;
        l++;
    }
    double *to = nodes + ((k & 1) ? s->levels + l : l) * s->distance;
    for (int i = 0; i < count; i++)
        to[i] = sum[i];
}

/* Makes the sum of the last block, number `k`, the sum of all blocks. */
GROVE_FN void grove_reduce_close(const grove_reduce_state *s, const double *nodes, double *sum,
                                 int64_t count, int64_t k)
{
    for (int l = 0; k; l++, k >>= 1) {
        const double *left = nodes + l * s->distance;
        for (int i = 0; (k & 1) && i < count; i++)
            sum[i] = grove_reduce_add(s->how, left[i], sum[i]);
    }
}

/* How many of the `count` cells from `index` on belong to one block. */
GROVE_FN int64_t grove_reduce_within(int64_t index, int64_t count)
{
    int64_t rest = GROVE_REDUCE_BLOCK - index % GROVE_REDUCE_BLOCK;

    return rest < count ? rest : count;
}

#if !defined(GROVE_CUDA) && !defined(GROVE_OPENCL)
/* Items [first, last) of grove_reduce_threads; the precision of numbers is in their views. */
void grove_reduce_cells(const grove_args *args, int64_t first, int64_t last);
/* Cells [first, last) of the value. */
void grove_reduce_finish_cells(const grove_args *args, int64_t first, int64_t last);
#endif

#endif
