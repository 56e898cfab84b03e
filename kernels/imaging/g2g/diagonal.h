/* The compressed diagonal of a grid-to-grid operator: visibilities that the same convolution
 * function takes at the same cells of the grid count as one, with the sum of their weights (Monnier
 * et al. 2023, "Fast Grid to Grid Interpolation for Radio Interferometric Imaging", section 3.2;
 * eq. 9 for the points, 16 for the diagonal). Points are the same as in kernels/convolution: the
 * nearest fine sample along u and v, the nearest plane of w, and the function; samples with w < 0
 * are at (-u, -v, -w). Weights take the place of the paper's counts. */
#ifndef GROVE_KERNELS_DIAGONAL_H
#define GROVE_KERNELS_DIAGONAL_H

#include "../convolution/convolution.h"

/* One visibility and one image, the nearest sample: plan->linear is false. */
typedef struct {
    grove_convolution_plan plan;
    int64_t tile;     /* cells along each side of a tile; functions reach into the next one only */
    int64_t tiles[2]; /* along u, v */
    int64_t blocks;   /* functions x planes x fine samples of a cell */
} grove_lattice;

/* An entry. The point is (cell x blocks + block), cells counted tile by tile, u fastest in both;
 * block is ((function x planes + plane) x oversampling + q v) x oversampling + q u. Of an entry
 * that is not used the weight is 0. */
typedef struct {
    double point, weight;
} grove_diagonal_entry;

/* False where the points are too many for whole numbers in double precision. */
bool grove_lattice_make(const grove_convolution_plan *plan, grove_lattice *lattice);

typedef struct grove_diagonal grove_diagonal;

/* Bytes of one that has `entries` entries, at most; and of adding `samples` samples at once. */
uint64_t grove_diagonal_bytes(int64_t entries);
uint64_t grove_diagonal_add_bytes(int64_t samples);
/* `most`: maximum of entries that are all kept; beyond it a share of them, by their points alone,
 * from which grove_diagonal_count estimates the number of all; 0: all are kept. NULL: no memory. */
grove_diagonal *grove_diagonal_new(const grove_lattice *lattice, int64_t most);
void grove_diagonal_free(grove_diagonal *diagonal); /* NULL is fine */

/* Adds the weights of samples, whose numbers are not read; of plan->double_precision. `mueller`:
 * index sets of one number, or NULL: function 0. Samples whose function does not lie in the grid,
 * or that have no plane, are left out and added to *outside; samples without weight, or beyond
 * samples->longest, do not count. The same calls give the same bits, for any threads. 0, or -1
 * without memory. */
int grove_diagonal_add(grove_diagonal *diagonal, const grove_gridder_samples *samples,
                       const grove_convolution_mueller *mueller,
                       const grove_gridder_threads *threads, grove_gridder_outside *outside);

/* Entries; of a share, a multiple of its own. Samples that they are made of. */
int64_t grove_diagonal_count(const grove_diagonal *diagonal);
int64_t grove_diagonal_samples(const grove_diagonal *diagonal);
/* All entries in ascending order of points; the diagonal keeps all. */
void grove_diagonal_write(const grove_diagonal *diagonal, const grove_gridder_threads *threads,
                          grove_diagonal_entry *to);
/* Of ascending entries [low, high), the first of a point or of a higher one; `high`: there is none.
 */
int64_t grove_diagonal_find(const grove_diagonal_entry *entries, int64_t low, int64_t high,
                            double point);

#endif
