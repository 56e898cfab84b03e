/* Samples of a fit on their way into normal equations: of a row, in boxes of times and channels. */
#ifndef GROVE_NODES_SOLVE_SAMPLES_H
#define GROVE_NODES_SOLVE_SAMPLES_H

#include "nodes/fit/solve.h"

#include "../../kernels/fit/normal_simd.h"

enum { SOLVE_SAMPLES = 256 }; /* that are added at a time */

/* Cells of an input along the channels. */
typedef struct {
    const solve_view *view;
    int64_t at, start; /* the first one; and the first one of the present box */
    int64_t step, time_step;
    int elements;  /* that are compared, */
    const int *of; /* and where they are */
    bool all;      /* all elements of the input, in their order */
} solve_run;

typedef struct {
    const solve_tile *tile;
    const grove_normal_kernels *kernels;
    solve_run *runs;       /* [inputs + 1]: the last one is weights */
    solve_view robust;     /* ... of a robust fit */
    unsigned char *looked; /* [slots] which elements of the last run were not 0 */
    void *memory;
    double *column, *measured, *weight; /* as in grove_normal_block */
    double *leading;                    /* as a column: a polynomial's leading term */
    double *loaded[2];                  /* [SOLVE_SAMPLES] complex, as they lie in an input */
    unsigned char *which;               /* [columns] as in grove_normal_block */
    double *sums;                       /* since they were last taken */
    int64_t size, plane, capacity;      /* doubles of the sums, and of a plane; cells of a plane, */
    int64_t count;                      /* number of cells that wait */
    unsigned char flags[SOLVE_SAMPLES];
    float ones[SOLVE_SAMPLES]; /* weights where there are none */
    int64_t all;               /* numbers of cells added since then */
} solve_samples;

void solve_samples_begin(solve_samples *samples, const solve_tile *tile);
void solve_samples_end(solve_samples *samples);
/* Adds a box of a row: `index` as solve_find_row has it, cells of the whole axes of time and
 * frequency, all in the tile. */
void solve_samples_add(solve_samples *samples, const int64_t index[GROVE_MAX_AXES],
                       int64_t (*box)[2]);
/* The sums of cells added since the last call; false where no sample counts: columns are not
 * written. */
bool solve_samples_take(solve_samples *samples, solve_local *to);

#endif
