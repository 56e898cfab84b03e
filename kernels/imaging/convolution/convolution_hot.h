/* The hot loops, compiled for each precision and instruction set. */
#ifndef GROVE_KERNELS_CONVOLUTION_HOT_H
#define GROVE_KERNELS_CONVOLUTION_HOT_H

#include "convolution.h"

#include <math.h>

enum { GROVE_CONVOLUTION_LANES = 8 }; /* rows of functions are whole multiples of it */

/* Channels [first, last) of a row, whose functions begin in the same tile. */
typedef struct {
    int32_t row, first, last;
} grove_convolution_entry;

/* A buffer of a tile: of each image rows of real parts, then of imaginary parts. */
typedef struct {
    const grove_convolution_plan *plan;
    const void *functions; /* [function][plane][q v][q u][Y][2][width] */
    const void *sums;      /* [function][plane][q v][q u] |sum over X, Y|; NULL: not needed */
    double sum[4];         /* of each image */
    int64_t width;         /* the support with the room of whole vectors */
    const grove_gridder_samples *samples;
    const grove_convolution_mueller *mueller;
    void *turned;             /* room for 4 functions */
    const double *wavenumber; /* [channel] */
    const grove_convolution_entry *entries;
    int64_t count;
    int64_t origin[2]; /* cell of the grid in which the buffer begins, along u, v */
    void *buffer;
    int64_t row, imaginary; /* numbers from row to row; to the imaginary parts */
} grove_convolution_job;

typedef struct {
    void (*spread)(grove_convolution_job *job);
    void (*collect)(grove_convolution_job *job);
} grove_convolution_loops;

extern const grove_convolution_loops grove_convolution_single_portable,
    grove_convolution_single_avx2, grove_convolution_single_avx512,
    grove_convolution_double_portable, grove_convolution_double_avx2,
    grove_convolution_double_avx512;

/* Where the function of a sample begins, cells of the grid along u and v; which of the oversampled
 * ones it is, q; its plane. With linear interpolation the parts of q - 1, along u and v, and of the
 * next plane. */
typedef struct {
    double cell[2], offset[2], plane;
    double part[3];
} grove_convolution_place;

/* uvw with w of 0 or more. False where the function leaves the grid, there is no plane, or uvw are
 * no numbers. Products only, so that all compilations give the same. */
static inline bool grove_convolution_find(const grove_convolution_plan *p, const double uvw[3],
                                          double wavenumber, grove_convolution_place *at)
{
    const double oversampling = p->oversampling;
    const double half = (double)((int64_t)p->support * p->oversampling / 2);
    bool good = true;

    for (int d = 0; d < 2; d++) {
        const double place = uvw[d] * wavenumber * p->scale[d] * oversampling;
        double fine = p->linear ? floor(place) : rint(place),
               first = ceil((fine - half) / oversampling);
        at->part[d] = place - fine;
        at->offset[d] = oversampling * first - (fine - half);
        at->cell[d] = first + (double)(p->grid[d] / 2);
        good = good && at->cell[d] >= 0 && at->cell[d] + p->support <= (double)p->grid[d];
    }
    const double plane = p->step_w > 0 ? uvw[2] * wavenumber / p->step_w : 0;
    at->plane = p->linear ? fmin(floor(plane), fmax((double)(p->planes - 2), 0)) : rint(plane);
    at->part[2] = plane - at->plane;
    return good &&
           (p->linear && p->planes > 1 ? at->part[2] <= 1 + 1e-9 : at->plane < (double)p->planes);
}

#endif
