/* Gridding by convolution functions that are given: visibilities on a uv grid and back, each by the
 * function of its plane of w and of its place between the cells (Pokorny 2021, "High performance
 * gridding", with the corrections of its indices that are below).
 *
 * A function has oversampling Q fine samples for each cell and a support of K cells: numbers j in
 * [0, K Q) along u and v, at (j - H) / Q cells from the visibility, H = K Q / 2 rounded down. A
 * visibility at fine sample F (the nearest one) touches the K cells from a = ceil((F - H) / Q) on,
 * cell a + X by number Q X + q, q = Q a - F + H. So a pair of q, of u and v, chooses K x K numbers;
 * they are kept together. With linear interpolation F is the sample at or below the visibility, and
 * it takes the mean of q and q - 1, that is F and F + 1, along u and v, and of two planes, at the
 * same cells. A function then has Q + 1 numbers for each cell, q = -1 first: number (Q + 1) X + q +
 * 1. Gridding adds c V at each cell; prediction sums conj(c) times the cells, the exact adjoint.
 * Samples with w < 0 are taken at (-u, -v, -w) with the conjugate V.
 *
 * Of 1 to 4 polarisations of visibilities and 1 to 4 of images, each with a grid, a sparse Mueller
 * matrix gives the function for each pair: gridding sums over polarisations of visibilities,
 * prediction over polarisations of images. */
#ifndef GROVE_KERNELS_CONVOLUTION_H
#define GROVE_KERNELS_CONVOLUTION_H

#include "../gridder/gridder.h"

typedef struct {
    int64_t grid[2]; /* cells along u, v, which are 0 at cell grid / 2 */
    double scale[2]; /* cells for each wavelength */
    double turn[3];  /* phases in turns for each wavelength of u, v, w: of the image's centre, l and
                        m, and of the middle of n - 1 */
    int support, oversampling;
    int64_t functions; /* each with all planes */
    int64_t planes;
    double step_w; /* plane k has |w| = k step_w wavelengths; 0: a single one for all w */
    int visibilities, images; /* polarisations of both, 1 to 4 */
    int64_t bands;            /* number of sets of grids; 0: one */
    bool double_precision;
    bool linear; /* a mean of the samples, and planes, about a visibility */
} grove_convolution_plan;

/* Samples of a function from one cell to the next, and along u or v. */
static inline int64_t grove_convolution_stride(const grove_convolution_plan *plan)
{
    return plan->oversampling + (plan->linear ? 1 : 0);
}
static inline int64_t grove_convolution_side(const grove_convolution_plan *plan)
{
    return plan->support * grove_convolution_stride(plan);
}

static inline int64_t grove_convolution_bands(const grove_convolution_plan *plan)
{
    return plan->bands ? plan->bands : 1;
}
/* Complex numbers of the grids of a band. */
static inline int64_t grove_convolution_cells(const grove_convolution_plan *plan)
{
    return plan->images * plan->grid[0] * plan->grid[1];
}

enum { GROVE_CONVOLUTION_MAX_SUPPORT = 256 };

typedef struct grove_convolution grove_convolution;

/* Bytes that one of this plan takes at most. */
uint64_t grove_convolution_bytes(const grove_convolution_plan *plan);
/* `functions`: [function][plane][v][u] complex numbers of the plan's precision; they are copied.
 * The grid is 0. `isa`: an instruction set that this processor has. NULL: no memory. */
grove_convolution *grove_convolution_new(const grove_convolution_plan *plan, const void *functions,
                                         grove_isa isa);
void grove_convolution_free(grove_convolution *convolution); /* NULL is fine */

/* Samples are then added to the grids of a band, and predicted from them; of band 0 before. */
void grove_convolution_choose_band(grove_convolution *convolution, int64_t band);
/* The grids, [band][image][v][u] complex numbers of the plan's precision, to read and to write. */
void *grove_convolution_grid(grove_convolution *convolution);

/* Which functions join which polarisations of samples. */
typedef struct {
    /* [set][way][visibility][image] the number of a function, or -1: none. Way 1 is of samples with
     * w < 0, whose conjugates are taken: it has the functions of conjugate Mueller elements. */
    const int32_t *index;
    const int32_t *row, *channel; /* a sample's set is the sum of its row's and its channel's */
    /* [row][channel][2] cycles per cell along u and v, or NULL: the number at d cells from the
     * visibility is turned by - 2 pi d x gradient, so that a function of S(x) is one of
     * S(x - gradient), but for the kernel, which moves with it. */
    const double *gradient;
} grove_convolution_mueller;

/* Adds samples to the grids, [row][channel][visibility] numbers with a weight for all of them.
 * `mueller`: NULL where there are one polarisation of each and one function. `sums`: NULL, or a
 * number for each image, to which is added, over polarisations of visibilities, the weight times
 * |sum of the function's numbers|, without the gradient. Samples whose function does not lie in the
 * grid, or that have no plane, are left out and added to *outside. The same calls give the same
 * bits, for any threads. 0, or -1 without memory. */
int grove_convolution_add(grove_convolution *convolution, const grove_gridder_samples *samples,
                          const grove_convolution_mueller *mueller,
                          const grove_gridder_threads *threads, grove_gridder_outside *outside,
                          double *sums);
/* Samples from the grids: data are overwritten, omitted samples with 0. */
int grove_convolution_predict(grove_convolution *convolution, const grove_gridder_samples *samples,
                              const grove_convolution_mueller *mueller,
                              const grove_gridder_threads *threads, grove_gridder_outside *outside);

#endif
