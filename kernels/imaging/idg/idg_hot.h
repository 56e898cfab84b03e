/* The hot loops of image-domain gridding, compiled for each precision and instruction set. */
#ifndef GROVE_KERNELS_IDG_HOT_H
#define GROVE_KERNELS_IDG_HOT_H

#include "../gridder/gridder_hot.h"
#include "idg.h"
#include "idg_cuda.h"

enum { GROVE_IDG_SLAB = 32 /* visibilities whose phases are kept together */ };

/* Shared by all subgrids. Lines of `line` numbers, a multiple of 16: N pixels, and zeros. */
typedef struct {
    const grove_idg_plan *plan;
    int64_t line;
    double *x;     /* places of pixels, the same along both axes */
    double *p[2];  /* the parts of n along both: n(x, y) = p[0][x] + p[1][y] */
    double *n;     /* [x][y] */
    bool mirrored; /* n at x = j equals n at N - j */
    void *taper;   /* [x][y] with the signs of the transform, over N^2 */
    void *sign;    /* 1, -1, 1 ... of cells; one more than a line */
    grove_gridder_part fourier;
    double scale[2], turn[3];
} grove_idg_tables;

typedef struct {
    const grove_idg_tables *tables;
    const grove_gridder_samples *samples;
    int64_t baselines;
    const double *wavenumber;
    bool even; /* wavenumbers are evenly spaced */
    const grove_idg_subgrid *subgrid;
    const void *terms; /* NULL: 1 */
    int elements;      /* of a term */
    void *pixels;      /* [number, or image][x][2][line]: of a subgrid */
    void *work;        /* grove_idg_work_bytes() */
} grove_idg_job;

static inline size_t grove_idg_subgrid_bytes(int64_t side, int64_t line, size_t real)
{
    return (size_t)(side * 2 * line) * real;
}
/* Of the numbers of its visibilities, and of its images, whichever are more. */
static inline int grove_idg_most(const grove_idg_mix *mix)
{
    return mix->visibilities > mix->images ? mix->visibilities : mix->images;
}
/* Two panels of phases, one of products, and lines of transforms. */
static inline size_t grove_idg_work_bytes(int64_t side, int64_t line, size_t real)
{
    return 3 * GROVE_IDG_SLAB * 2 * (size_t)line * real +
           2 * (size_t)side * GROVE_GRIDDER_PAIR_BYTES;
}

/* Rows [first, last) of an image's plane, from a subgrid's cells or to them, with the signs of its
 * transform. The plane repeats itself. */
typedef struct {
    void *plane;
    int64_t size[2], start[2]; /* of the plane; the cell in which the subgrid begins */
    void *cells;               /* [v][2][u] */
    int64_t first, last;
    bool to_grid;
} grove_idg_move;

typedef struct {
    /* pixels: the sum over visibilities, of each of their numbers; then images of these times taper
     * and w, and transformed: cells [image][v][2][u], in place. */
    void (*sum)(const grove_idg_job *job);
    void (*to_cells)(const grove_idg_job *job);
    /* The adjoints: pixels from cells, visibilities from pixels. */
    void (*from_cells)(const grove_idg_job *job);
    void (*predict)(const grove_idg_job *job);
    void (*move)(const grove_idg_tables *tables, const grove_idg_move *move);
    /* Of w-tiles, with tables of their padded size: cells of a block [v][u] from or to the middle
     * of cells [v][2][u], with the signs of the transform, added to the block; cells to pixels
     * (positive) and back, in place; pixels times exp(2 pi i w n) / N^2, added to `sum`. */
    void (*block)(const grove_idg_tables *tables, void *cells, void *block, int64_t size,
                  bool to_block);
    void (*transform)(const grove_idg_job *job, bool positive);
    void (*turn)(const grove_idg_job *job, double w, void *sum);
} grove_idg_loops;

extern const grove_idg_loops grove_idg_single_portable, grove_idg_single_avx2,
    grove_idg_single_avx512, grove_idg_double_portable, grove_idg_double_avx2,
    grove_idg_double_avx512;

/* The subgrids of samples, baseline by baseline, in *subgrids, to be freed; also where it fails. 0,
 * or -1 without memory. */
int grove_idg_divide(const grove_idg_plan *plan, const grove_gridder_samples *samples,
                     int64_t baselines, const grove_idg_terms *terms, grove_idg_subgrid **subgrids,
                     int64_t *count, grove_gridder_outside *outside);

/* Tables of subgrids, or of w-tiles, whose plan has their padded size as side, and which need no
 * taper. 0, or -1 without memory. */
int grove_idg_tables_make(grove_idg_tables *tables, const grove_idg_plan *plan, bool of_tiles);
void grove_idg_tables_free(grove_idg_tables *tables);
static inline size_t grove_idg_real(const grove_idg_plan *plan)
{
    return plan->grid.bounds.double_precision ? sizeof(double) : sizeof(float);
}

/* Whether these are evenly spaced. */
bool grove_idg_are_even(const double *wavenumber, int64_t count);
/* The taper at a pixel with the signs of the transform, over N^2. */
double grove_idg_taper(const grove_idg_plan *plan, int x, int y);
/* n(x, y) as p(x) + q(y): p and q of N pixels; returns how far that is off in the image. */
double grove_idg_separate(const grove_idg_plan *plan, double *p, double *q);
/* n - 1 less its middle at a pixel. */
double grove_idg_n(const grove_idg_plan *plan, int x, int y);

#endif
