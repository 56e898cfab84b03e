/* Gridding by convolution functions that are given: visibilities on a uv grid and back, each by the
 * function of its plane of w and of its place between the cells (Pokorny 2021, "High performance
 * gridding", with the corrections of its indices that are below).
 *
 * A function has oversampling Q fine samples for each cell and a support of K cells: numbers j in
 * [0, K Q) along u and v, at (j - H) / Q cells from the visibility, H = K Q / 2 rounded down. A
 * visibility at fine sample F (the nearest one) touches the K cells from a = ceil((F - H) / Q) on,
 * cell a + X by number Q X + q, q = Q a - F + H. So a pair of q, of u and v, chooses K x K numbers;
 * they are kept together. Gridding adds c V at each cell; prediction sums conj(c) times the cells,
 * the exact adjoint. Samples with w < 0 are taken at (-u, -v, -w) with the conjugate V. */
#ifndef GROVE_KERNELS_CONVOLUTION_H
#define GROVE_KERNELS_CONVOLUTION_H

#include "../gridder/gridder.h"

typedef struct {
    int64_t grid[2]; /* cells along u, v, which are 0 at cell grid / 2 */
    double scale[2]; /* cells for each wavelength */
    double turn[3];  /* phases in turns for each wavelength of u, v, w: of the image's centre, l and
                        m, and of the middle of n - 1 */
    int support, oversampling;
    int64_t planes;
    double step_w; /* plane k has |w| = k step_w wavelengths; 0: a single plane for all w */
    bool double_precision;
} grove_convolution_plan;

enum { GROVE_CONVOLUTION_MAX_SUPPORT = 256 };

typedef struct grove_convolution grove_convolution;

/* Bytes that one of this plan takes at most. */
uint64_t grove_convolution_bytes(const grove_convolution_plan *plan);
/* `functions`: [plane][v][u] complex numbers of the plan's precision; they are copied. The grid is
 * 0. `isa`: an instruction set that this processor has. NULL: no memory. */
grove_convolution *grove_convolution_new(const grove_convolution_plan *plan, const void *functions,
                                         grove_isa isa);
void grove_convolution_free(grove_convolution *convolution); /* NULL is fine */

/* The grid, [v][u] complex numbers of the plan's precision, to read and to write. */
void *grove_convolution_grid(grove_convolution *convolution);

/* Adds samples of one polarisation to the grid. Those whose function does not lie in the grid, or
 * that have no plane, are left out and added to *outside. The same calls give the same bits,
 * whatever the threads. 0, or -1 without memory. */
int grove_convolution_add(grove_convolution *convolution, const grove_gridder_samples *samples,
                          const grove_gridder_threads *threads, grove_gridder_outside *outside);
/* Samples from the grid: data are overwritten, those that are left out with 0. */
int grove_convolution_predict(grove_convolution *convolution, const grove_gridder_samples *samples,
                              const grove_gridder_threads *threads, grove_gridder_outside *outside);

#endif
