/* Image-domain gridding (van der Tol, Veenboer & Offringa 2018; Veenboer 2021): visibilities that
 * are near each other on the uv plane make a small image, a subgrid, by a direct sum; terms of the
 * image plane multiply its pixels, and its Fourier transform is added to the grid. Prediction is
 * the exact adjoint.
 *
 * A subgrid has N x N pixels over the whole field of the grid, pixel j at x = (j - N / 2) / N
 * cycles per cell. Visibilities at (a, b) cells from its middle and at w make
 *
 *     S(x, y) = t(x) t(y) exp(2 pi i (w_s - w_k) n) sum V exp(2 pi i (a x + b y + (w - w_s) n)),
 *
 * with n - 1 less its middle as n, w_k of the plane, w_s of the subgrid, and the taper t, which is
 * the transform of a Kaiser-Bessel kernel. w - w_s is small enough for n to be p(x) + q(y), so that
 * phases are products of N along x and N along y, and the sum is a product of two thin matrices
 * with the visibilities between them: 4 multiply-adds for each pixel and visibility, in place of
 * 4 and those and the sine and cosine of its phase. */
#ifndef GROVE_KERNELS_IDG_H
#define GROVE_KERNELS_IDG_H

#include "../gridder/gridder.h"

enum { GROVE_IDG_MAX_SIDE = 64 };

/* The relation of a visibility's numbers V_c to images: image r is the sum over c of factor[r][c]
 * (J_p^H V J_q)_c, with J of stations p and q from the terms. With numbers as terms, or none, c is
 * any number that is seen through them; with Jones matrices, diagonal or whole, V_c is element[c],
 * 0 to 3, of XX XY YX YY, and missing ones are 0. Prediction is the adjoint. */
typedef struct {
    int visibilities, images; /* 1 to 4 */
    int element[4];
    double factor[4][4][2]; /* [image][number] */
} grove_idg_mix;

/* `grid`: kernel.width is the taper's, in cells; kernel_w has none; planes are the w-layers, or
 * one, where w-tiles have these: tiles of the grid, each with the layers of its visibilities, that
 * are brought onto the plane by a transform, exp(2 pi i (w_k - w_0) n), and one back. */
typedef struct {
    grove_gridder_plan grid;
    int64_t layers;         /* of subgrids; as planes where there are no tiles */
    double first_w, step_w; /* and their w */
    int tile;               /* cells along a side of a w-tile; 0: there are none */
    int padded;             /* cells of the transform of a tile and its margin */
    int64_t blocks;         /* estimated by the caller: tiles that are occupied, of all layers */
    int side;               /* pixels of a subgrid along x and y: N, a multiple of 8 */
    double reach;           /* cells from the middle of a subgrid that its visibilities may have */
    double reach_w;         /* the same of w, wavelengths, from the middle of its visibilities */
    double far_w;           /* and from that to the layer */
    double error;           /* predicted, relative, root mean square over the image */
    double seconds;         /* estimated cost with one thread, with transforms of the layers */
    grove_idg_mix mix;
    int bands; /* of channels, each with planes of its own; 0: one */
} grove_idg_plan;

/* Requests; 0: chosen by epsilon. */
typedef struct {
    int side;
    int support;        /* cells that terms of the image plane need besides the taper, both sides */
    int64_t layers;     /* minimum */
    bool tiles, planes; /* w-tiles, or w-layers as planes; neither: the faster ones */
    /* Number of visibilities that share a square of the uv plane, and its side in wavelengths,
     * counted for two squares; 0: as in tracks of hours and bands of a fifth of a frequency
     */
    double share_side[2], share[2];
} grove_idg_request;

/* Chooses subgrids, taper, grid and layers of the least estimated cost whose error is at most
 * epsilon, for one number and image. 0, or -1 where none reaches it; GROVE_IDG_LAYERS: only other
 * layers would; GROVE_IDG_NO_TILES: planes would; `reason`: why, with a remedy. */
enum { GROVE_IDG_LAYERS = -2, GROVE_IDG_NO_TILES = -3 };
int grove_idg_plan_choose(const grove_gridder_image *image, const grove_gridder_bounds *bounds,
                          const grove_idg_request *request, double epsilon, grove_idg_plan *plan,
                          char reason[200]);
/* A square of the uv plane alone, the first or the second by which `share` is counted: samples are
 * divided by it, grove_idg_count. Its side, wavelengths. */
grove_idg_plan grove_idg_square(const grove_gridder_image *image, int second, double *side);
uint64_t grove_idg_bytes(const grove_idg_plan *plan); /* of planes and all else */
/* Estimated seconds with one thread: of `samples` samples on `subgrids` subgrids, seen through
 * terms of `elements` elements (0: none), and of the transforms of the layers of a band. */
double grove_idg_seconds(const grove_idg_plan *plan, double samples, double subgrids, int elements);
/* The same of an H100, as counted, with as many channels in a subgrid; the host brings w-tiles onto
 * planes. */
double grove_idg_device_seconds(const grove_idg_plan *plan, double samples, double subgrids,
                                int elements, double channels);

/* The direction cosines of pixel j along l (d = 0) or m (d = 1). */
double grove_idg_direction(const grove_idg_plan *plan, int d, int j);

/* How samples were divided. */
typedef struct {
    int64_t subgrids, visibilities;
} grove_idg_counts;

/* Terms of the image plane, such as beams, of each station: a visibility of stations p and q sees
 * pixels as J_p B J_q^H; of numbers as a_p conj(a_q) B. */
typedef struct {
    /* [block of times][station][block of channels][element][x][2][line]: real and imaginary parts
       of N pixels, at grove_idg_direction, of the plan's precision; lines of grove_idg_line()
       numbers */
    const void *numbers;
    int elements; /* 1: numbers; 2: diagonals; 4: matrices, row by row */
    int64_t stations, channel_blocks;
    const int32_t *time_block, *channel_block; /* [time of the rows], [channel] */
    const int32_t *left, *right;               /* [baseline] stations */
} grove_idg_terms;

int64_t grove_idg_line(const grove_idg_plan *plan);

typedef struct grove_idg grove_idg;

/* `isa`: an instruction set that this processor has. NULL: no memory. */
grove_idg *grove_idg_new(const grove_idg_plan *plan, grove_isa isa);
void grove_idg_free(grove_idg *idg); /* NULL is fine */
/* To which band samples are added, and whose planes they are predicted from: at first 0. */
void grove_idg_choose_band(grove_idg *idg, int band);
/* The planes of the band, [image][plane][v][u] complex numbers of the plan's precision, to read and
 * to write; NULL: no memory, if there are w-tiles. grove_idg_fold adds w-tiles to the planes; after
 * writing, grove_idg_unfold lets w-tiles be made anew.
 */
void *grove_idg_planes(grove_idg *idg);
/* 0, or -1 without memory. */
int grove_idg_fold(grove_idg *idg, const grove_gridder_threads *threads);
void grove_idg_unfold(grove_idg *idg);
/* Adds a device's sums of a w-tile, by its number: one image [v][u], with half a subgrid around it.
 * And all w-tiles of another one, of all bands. 0, or -1 without memory. */
int grove_idg_add_tile(grove_idg *idg, int64_t tile, int image, const void *numbers);
int grove_idg_add_tiles(grove_idg *idg, const grove_idg *from);
/* Makes w-tiles, by their numbers, from the planes, where that is not done yet; they stay until
 * unfold. 0, or -1 without memory. The images [image][v][u] of one of them. */
int grove_idg_make_tiles(grove_idg *idg, const int64_t *tile, int64_t count,
                         const grove_gridder_threads *threads);
const void *grove_idg_tile_images(const grove_idg *idg, int64_t tile);
/* How many w-tiles samples occupy, of all layers. 0, or -1 without memory. */
int grove_idg_count_blocks(const grove_idg_plan *plan, const grove_gridder_samples *samples,
                           int64_t *blocks);

/* How samples would be divided: added to *counts. 0, or -1 without memory. */
int grove_idg_count(const grove_idg_plan *plan, const grove_gridder_samples *samples,
                    int64_t baselines, const grove_idg_terms *terms, grove_idg_counts *counts);
/* Rows are times, each with `baselines` baselines; data are [row][channel][number of the mix]. Adds
 * samples to the planes, weights times data; samples beyond the plan's bounds, or whose baselines
 * are no numbers, are left out and added to *outside. The same calls give the same bits, for any
 * threads. `terms`: NULL: 1. `counts`: NULL, or added to. 0, or -1 without memory. */
int grove_idg_add(grove_idg *idg, const grove_gridder_samples *samples, int64_t baselines,
                  const grove_idg_terms *terms, const grove_gridder_threads *threads,
                  grove_gridder_outside *outside, grove_idg_counts *counts);
/* Samples from the planes: data are overwritten, omitted samples with 0. */
int grove_idg_predict(grove_idg *idg, const grove_gridder_samples *samples, int64_t baselines,
                      const grove_idg_terms *terms, const grove_gridder_threads *threads,
                      grove_gridder_outside *outside, grove_idg_counts *counts);

#endif
