/* The default gridder: visibilities to an image and back by improved w-stacking (Ye, Gull, Tan &
 * Nikolic 2022; Arras et al. 2021), with a Kaiser-Bessel kernel in u, v and w.
 *
 * Each visibility is spread over width x width cells of a uv grid, on width_w planes of constant w.
 * A Fourier transform of each plane, a phase for its w, and a division by the kernel's transform
 * make the image
 *
 *     D(l, m) = sum over samples of  weight Re(V exp(+2 pi i (u l + v m + w (n - 1)))),
 *
 * u, v, w in wavelengths and in Grove's sign, the adjoint of V = I exp(-2 pi i (u l + v m + w (n -
 * 1))). Prediction is the exact adjoint of gridding with weight 1. Samples with w < 0 are taken at
 * (-u, -v, -w) with the conjugate V, which the real part does not change. */
#ifndef GROVE_KERNELS_GRIDDER_H
#define GROVE_KERNELS_GRIDDER_H

#include "../../simd/isa.h"
#include "gridder_kernel.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pixel (y, x) lies at l = centre[0] + (x - size[0] / 2) cell[0], m = centre[1] + (y - size[1] / 2)
 * cell[1], with the integer quotient; x is fastest. */
typedef struct {
    int64_t size[2];
    double cell[2]; /* direction cosines per pixel, along l and m */
    double centre[2];
} grove_gridder_image;

/* Bounds of all samples, in wavelengths, and how many there are. */
typedef struct {
    double max_u, max_v;   /* of |u|, |v| */
    double min_w, max_w;   /* of |w| */
    double samples;        /* for the choice of the least cost; at least 1 */
    int64_t polarisations; /* images of the same samples, 1 to 4 */
    bool double_precision;
    bool without_w; /* w counts as 0 */
    bool exact;     /* planes become part of the image one by one, without a coarse image */
} grove_gridder_bounds;

typedef struct {
    grove_gridder_image image;
    grove_gridder_bounds bounds;
    grove_gridder_kernel kernel, kernel_w; /* kernel_w.width 1: a single plane without w */
    double error;                          /* predicted, at most the requested one */
    int64_t grid[2];                       /* cells along u, v: multiples of 32 */
    int64_t planes;
    double first_w, step_w; /* plane k has w = first_w + k step_w wavelengths */
    double middle_n;        /* n - 1 is counted from here */
    double half_n;          /* and reaches so far */
    /* Elements of the transforms that make images of planes: the grid's, or fewer and pixels that
     * are interpolated by `taps` taps, with errors of `ripple` of the image. */
    int64_t transform[2];
    int64_t taps; /* 0: none */
    double ripple;
    double seconds; /* estimated cost of an image with one thread */
} grove_gridder_plan;

/* Chooses the cheapest kernels, grid and planes with an error of at most epsilon, relative to the
 * image, root mean square (over the image, and over its outer twentieth). Returns 0, or -1 when no
 * choice reaches epsilon: single precision goes down to 1e-5, double to 1e-12. */
int grove_gridder_plan_choose(const grove_gridder_image *image, const grove_gridder_bounds *bounds,
                              double epsilon, grove_gridder_plan *plan);

/* Bytes that the planes of a gridder take at most; and besides them its own, for adding samples,
 * and for making an image from it. */
uint64_t grove_gridder_plan_planes_bytes(const grove_gridder_plan *plan);
uint64_t grove_gridder_plan_own_bytes(const grove_gridder_plan *plan);
uint64_t grove_gridder_plan_index_bytes(const grove_gridder_plan *plan);
uint64_t grove_gridder_plan_image_bytes(const grove_gridder_plan *plan);

/* n - 1 at a direction; -1 beyond the horizon. */
double grove_gridder_n_less_1(double l, double m);

/* ---- provided by the caller ---- */

/* Runs fn(context, i) for each i in [0, count), on any threads in any order; fn gives the same
 * result in all cases. */
typedef struct {
    void (*run)(void *pool, int64_t count, void (*fn)(void *context, int64_t i), void *context);
    void *pool;
} grove_gridder_threads;

/* ---- visibilities ---- */

typedef struct {
    int64_t rows, channels;
    const double *uvw;  /* [row][3] m, in Grove's sign */
    const double *freq; /* [channel] Hz */
    /* [row][channel][polarisation] complex numbers of the plan's precision. */
    void *data;
    /* [row][channel] of the plan's precision; NULL: 1. Samples of weight 0 are not read. */
    const void *weight;
    /* |u|, |v| and |w|, wavelengths: samples beyond are left out, too; NULL: only those beyond the
     * plan's bounds, which count by tiles. */
    const double *longest;
    /* [channel] true: there are no samples of it; NULL: of all there are. */
    const bool *empty;
} grove_gridder_samples;

typedef struct grove_gridder grove_gridder;

/* `isa`: an instruction set that this processor has. NULL: no memory. */
grove_gridder *grove_gridder_new(const grove_gridder_plan *plan, grove_isa isa);
void grove_gridder_free(grove_gridder *gridder);            /* NULL is fine */
uint64_t grove_gridder_bytes(const grove_gridder *gridder); /* now */

/* Samples beyond the plan's bounds or `longest`, which are left out, and the sum of their weights;
 * samples of weight 0 do not count. */
typedef struct {
    int64_t samples;
    double weight;
} grove_gridder_outside;

/* Adds samples to the planes; samples beyond the plan's bounds are added to *outside. The same
 * calls give the same bits, for any threads. 0, or -1 without memory. */
int grove_gridder_add(grove_gridder *gridder, const grove_gridder_samples *samples,
                      const grove_gridder_threads *threads, grove_gridder_outside *outside);

/* Pixels, numbers of the plan's precision: from one to the next along l and along m. */
typedef struct {
    void *at;
    int64_t pixel, row;
} grove_gridder_pixels;

/* The image of one polarisation from the planes. The planes stay. 0, or -1 without memory. */
int grove_gridder_to_image(grove_gridder *gridder, int polarisation,
                           const grove_gridder_pixels *image, const grove_gridder_threads *threads);

/* The other way: planes of one polarisation from an image, in place of the old ones, and samples
 * from the planes, which are added to the data. */
int grove_gridder_from_image(grove_gridder *gridder, int polarisation,
                             const grove_gridder_pixels *image,
                             const grove_gridder_threads *threads);
int grove_gridder_predict(grove_gridder *gridder, const grove_gridder_samples *samples,
                          const grove_gridder_threads *threads, grove_gridder_outside *outside);
/* Before grove_gridder_from_image, of a gridder or window without samples yet: planes are made and
 * kept where these samples, and samples of other such calls, need them only; else wherever the
 * bounds allow. Only baselines and frequencies count. Predicting other samples then fails. 0, or -1
 * without memory. */
int grove_gridder_expect(grove_gridder *gridder, const grove_gridder_samples *samples,
                         const grove_gridder_threads *threads);

/* ---- some planes at a time ---- */

/* Keeps the planes [first, end) only, beginning with zeros; a new gridder keeps all. Other planes
 * get nothing from samples, and give nothing: windows follow each other, and each gets all samples.
 * Images are sums over all windows from plane 0 on: each adds to the image of the one before, and
 * the image after the last one is final. Samples are predicted by all in turn.
 *
 * While samples are added, the window loses planes from its end as long as they take more than
 * `limit` bytes, down to one: grove_gridder_window_end is where the next one has to begin. */
void grove_gridder_set_window(grove_gridder *gridder, int64_t first, int64_t end, uint64_t limit);
int64_t grove_gridder_window_end(const grove_gridder *gridder);

/* The memory of planes, before there are any: marks the blocks that samples like these would touch,
 * by their baselines and frequencies; then bytes of a plane. The gridder is of no other use before
 * grove_gridder_set_window. 0, or -1 without memory. */
int grove_gridder_mark(grove_gridder *gridder, const grove_gridder_samples *samples);
uint64_t grove_gridder_marked(const grove_gridder *gridder, int64_t plane);

/* ---- the same bits in any order ---- */

/* Of a gridder of double precision, before anything is added. Products of samples and kernels are
 * then rounded to whole multiples of a quantum and added as integers of 64 bits: planes and images
 * have the same bits for any order of samples, calls that add them, threads and windows. `largest`:
 * of weight |V|, a polarisation of a sample; `sum`: of all samples that will be added. The error of
 * each product is at most largest / 2^50 or, of many samples, sum / 2^62. The first image, or
 * planes that are taken, are the end of adding, until the next window.
 *
 * Samples are predicted plane by plane, with the same bits for any calls, threads and windows. */
void grove_gridder_set_exact(grove_gridder *gridder, double largest, double sum);

/* ---- planes as arrays ---- */

/* The planes of one polarisation, [plane][v][u] complex numbers of the plan's precision: u and v
 * are 0 at cell grid / 2. `set` replaces them: 0, or -1 without memory. */
void grove_gridder_get_planes(grove_gridder *gridder, int polarisation, void *planes);
int grove_gridder_set_planes(grove_gridder *gridder, int polarisation, const void *planes);

#endif
