/* Compressed sums of a fit on a device: what nodes/compression.h says of data, weights and models,
 * over all stretches and baselines of a tile. */
#ifndef GROVE_KERNELS_FIT_SUMS_H
#define GROVE_KERNELS_FIT_SUMS_H

#include "cell.h"

/* Inputs. The iteration space has times, baselines and channels. Of each group there are two, the
 * model and its flags; then may follow uvw. Where flags or weights are absent, data is NULL. */
enum {
    GROVE_FIT_DATA,
    GROVE_FIT_FLAGS,
    GROVE_FIT_WEIGHTS,
    GROVE_FIT_MODELS,
    GROVE_FIT_GROUPS = (GROVE_MAX_INPUTS - GROVE_FIT_MODELS - 1) / 2 /* at most */
};

/* The state. Output: [stretch in time, in frequency][baseline][size] doubles, the sums of each as
 * nodes/compression.h has them. The table: int64_t edges of all stretches along time, then of those
 * along frequency, cells of the whole axes; then the centres of all channels, doubles. */
typedef struct {
    int32_t full; /* four numbers for each group */
    int32_t groups;
    int32_t left_out; /* bits of correlations that do not count */
    int32_t uvw;      /* the input that has it; 0: none */
    int32_t centred;  /* the table has centres */
    int32_t axis[3];  /* time, baseline, frequency in the iteration space; -1: none */
    int32_t in_wavelengths[2];
    double limits[2]; /* min, max of the projected baseline's length: m, or wavelengths */
    int64_t stretches[2], baselines;
    int64_t edges[2]; /* in the table: the first edge of the tile's stretches */
    int64_t centres;  /* in the table: of the whole axis' first channel */
} grove_fit_state;

/* A thread adds products of number j of the models with up to so many others. */
enum { GROVE_FIT_PIECE = 4 };

GROVE_FN int64_t grove_fit_numbers(const grove_fit_state *s)
{
    return (int64_t)s->groups * (s->full ? 4 : 1);
}

/* Threads for each baseline of a stretch: correlations, numbers j, pieces. */
GROVE_FN int64_t grove_fit_items(const grove_fit_state *s)
{
    int64_t n = grove_fit_numbers(s);

    return 4 * n * ((n + GROVE_FIT_PIECE - 1) / GROVE_FIT_PIECE);
}

GROVE_FN int64_t grove_fit_sums_threads(const grove_args *args)
{
    const grove_fit_state *s = (const grove_fit_state *)(const void *)args->state.bytes;

    return s->stretches[0] * s->stretches[1] * s->baselines * grove_fit_items(s);
}

#endif
