/* An image as the direct sum over visibilities, without gridding: for small images, and as the
 * reference for faster methods. */
#ifndef GROVE_KERNELS_DIRTY_IMAGE_H
#define GROVE_KERNELS_DIRTY_IMAGE_H

#include "../simd/isa.h"
#include "cell.h"

/* Visibilities of one number each, for example Stokes I. */
typedef struct {
    int64_t rows, channels;
    const double *uvw;   /* [row] m, in Grove's sign */
    const double *freq;  /* [channel] Hz */
    const float *data;   /* [row][channel] real and imaginary part, Jy */
    const float *weight; /* [row][channel]; 0 where there are no data */
} grove_dirty_samples;

/* A square image about the phase centre. Pixel (y, x), x fastest, lies at l = (x - size / 2) cell,
 * m = (y - size / 2) cell, with the integer quotient. It is computed in tiles. */
typedef struct {
    int64_t size;
    double cell;   /* direction cosine per pixel */
    grove_isa isa; /* the instruction set to use, one that this processor has */
} grove_dirty_grid;

/* The number of tiles of an image. */
int64_t grove_dirty_image_tiles(const grove_dirty_grid *grid);

/* Adds to the pixels of tiles [first, last) of `sum`, [size][size],
 *
 *     sum over rows and channels of  weight Re(V exp(+2 pi i nu/c (u l + v m + w (n - 1)))),
 *
 * the adjoint of V = I exp(-2 pi i nu/c (u l + v m + w (n - 1))) (Thompson, Moran & Swenson, eq.
 * 3.7, both sides in direction cosines and the w term kept). Divided by the sum of the weights, a
 * point source shows its flux density. Pixels with l^2 + m^2 >= 1 get nothing. Phases are computed
 * in double at every 16th channel and stepped in single between them: the error is below 1e-5 of
 * the sum of weight |V|. Tiles are computed by themselves: any ranges give the same bits. */
void grove_dirty_image_add(const grove_dirty_samples *samples, const grove_dirty_grid *grid,
                           int64_t first, int64_t last, double *sum);

#endif
