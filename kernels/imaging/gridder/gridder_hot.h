/* The hot loops of the gridder, compiled for each precision and instruction set. */
#ifndef GROVE_KERNELS_GRIDDER_HOT_H
#define GROVE_KERNELS_GRIDDER_HOT_H

#include "gridder.h"

enum {
    GROVE_GRIDDER_TILE = 16,        /* cells along each side of a tile */
    GROVE_GRIDDER_LANES = 16,       /* numbers of a vector, at most */
    GROVE_GRIDDER_PAIR_BYTES = 128, /* two vectors, at most */
    GROVE_GRIDDER_PASSES = 24,      /* of a part of a transform, at most */
    GROVE_GRIDDER_CHUNK = 4608      /* samples that are sorted at once */
};

/* Channels [first, last) of a row, whose kernels begin in the same tile and group of planes. */
typedef struct {
    int32_t row;
    int32_t first, last;
} grove_gridder_entry;

/* The kernel's polynomials, in numbers of the plan's precision. */
typedef struct {
    int width, width_w, degree; /* width_w is at most width */
    /* [degree + 1][2 * 16]: each tap twice, as for the parts of complex numbers; 0 beyond. */
    void *pairs;
    void *taps;   /* [degree + 1][16] */
    void *taps_w; /* [degree + 1][16] */
} grove_gridder_taps;

/* A buffer of a tile: planes of (TILE + width - 1) rows of complex numbers. All strides count real
 * numbers. */
typedef struct {
    const grove_gridder_taps *taps;
    const grove_gridder_samples *samples;
    const double *wavenumber; /* [channel + padding] frequency over c */
    int polarisations;
    /* Cells for each wavelength: positions along u, v (cells), w (planes). */
    double scale[3], first_w;
    double turn[3];   /* phases in turns for each wavelength: of the image's centre, and of n */
    int64_t tiles[2]; /* of the grid */
    bool wraps[2];    /* whether positions may lie beyond the grid, which repeats itself */
    int64_t tile[2];  /* of the buffer, along u and v, within the grid */
    int64_t plane;    /* the first one of the buffer */
    int64_t planes;   /* kernels begin in [plane, plane + planes) */
    void *buffer;
    int64_t row_stride, plane_stride, polarisation_stride;
    /* Added to a product it rounds to whole quanta: the buffer has integers. 0: numbers. */
    double round;
    void *work; /* grove_gridder_work_bytes() of memory, aligned to 64 bytes */
    const grove_gridder_entry *entries;
    int64_t count;
} grove_gridder_job;

/* A part of a transform: in passes of radix 2, 3, 4 and 5. */
typedef struct {
    int64_t size;
    int passes, radix[GROVE_GRIDDER_PASSES];
    void *factor; /* of each pass [length / radix][radix - 1][2] numbers */
} grove_gridder_part;

/* Transforms of 16 lines at once, of size = part[0].size part[1].size elements, with the factors
 * between the parts: [part[1].size][part[0].size][2] numbers. Element k of a line is cell[k] of the
 * kept ones, and pixel[k] of the image; -1: neither. */
typedef struct {
    int64_t size;
    grove_gridder_part part[2];
    void *factor;
    int32_t *cell, *pixel;
} grove_gridder_fourier;

/* A row of tiles of a plane, and its pixels along l: of the strips of 16 columns, their 16 rows. */
typedef struct {
    const grove_gridder_fourier *fourier;
    void **block; /* [tiles] of one polarisation; NULL: zeros */
    int64_t tiles, strips;
    void *cells;         /* room for [tile][16][16][2] numbers, the cells of a column in a line */
    void *pixels, *work; /* room for 16 lines of pixels, and for a transform */
    void *rows;          /* [row][16][2] numbers of the first strip */
    int64_t strip;       /* numbers from strip to strip */
} grove_gridder_row;

/* Places of pixels, and factors that divide by the transforms of the kernels: along l and m, and
 * along w as a polynomial of s = 2 t - 1, t = (n - 1 - middle_n)^2 scale_t. */
typedef struct {
    double *l; /* 16 more columns have 0 */
    double first_m, step_m, middle_n;
    double *factor_l, *factor_m;
    double polynomial[GROVE_GRIDDER_MAX_DEGREE + 1];
    int degree;
    double scale_t;
} grove_gridder_sky;

/* Sixteen columns of the image, or fewer, and of some planes. */
typedef struct {
    const grove_gridder_fourier *fourier;
    const grove_gridder_sky *sky;
    int64_t planes, size; /* planes; rows of the image */
    int64_t first, count; /* columns, at most 16 */
    double w, step_w;     /* wavelengths of the first plane, and from plane to plane */
    void *rows;           /* of the grid that are kept: [row][16][2] numbers */
    int64_t rows_stride;  /* numbers from plane to plane */
    void *columns, *work; /* room for `planes` columns of the image, and for a transform */
    void *image;          /* column 0 of row 0 of the strip, real numbers */
    int64_t pixel_stride, image_stride; /* from pixel to pixel, from row to row */
    bool begin, correct; /* the image is to be overwritten; to be divided by the transforms */
} grove_gridder_strip;

/* Element k of the result is the sum of taps [k][j] times element first[k] + j. */
typedef struct {
    int64_t from, to; /* elements; elements of the result */
    int64_t taps;
    int32_t *first;
    void *tap;
} grove_gridder_resampling;

/* Sixteen rows of the result, or fewer, of a resampled image of real numbers. */
typedef struct {
    const grove_gridder_resampling *along_l, *along_m;
    const grove_gridder_sky *sky; /* of the pixels that are corrected */
    int64_t first, count;         /* rows */
    void *image;                  /* pixels that are corrected */
    int64_t pixel_stride, image_stride;
    void *coarse; /* others, one after the other */
    int64_t coarse_stride;
    void *lines, *turned, *done; /* room for 16 rows of either image, each */
    int64_t line;                /* numbers from row to row of these */
    bool begin, correct;
} grove_gridder_rows;

typedef struct {
    void (*spread)(const grove_gridder_job *job);
    void (*collect)(const grove_gridder_job *job);
    /* Adds the planes to the image: Re(value exp(2 pi i w (n - 1 - middle_n))). */
    void (*to_image)(const grove_gridder_strip *strip);
    /* The planes from the image: value = image exp(-2 pi i w (n - 1 - middle_n)). */
    void (*from_image)(const grove_gridder_strip *strip);
    /* Transforms along u. */
    void (*row_to_image)(const grove_gridder_row *row);
    void (*row_from_image)(const grove_gridder_row *row);
    /* Rows of an image from a coarse one: along m, then along l. */
    void (*refine)(const grove_gridder_rows *rows);
    /* The reverse: rows of an image along l, and rows of the coarse one from these along m. */
    void (*coarsen_rows)(const grove_gridder_rows *rows);
    void (*coarsen_columns)(const grove_gridder_rows *rows);
} grove_gridder_loops;

extern const grove_gridder_loops grove_gridder_single_portable, grove_gridder_single_avx2,
    grove_gridder_single_avx512, grove_gridder_double_portable, grove_gridder_double_avx2,
    grove_gridder_double_avx512;

/* Memory that the loops need besides the buffer: for each sample of a chunk seven numbers and the
 * other polarisations' numbers, its cell and its place; for each cell in which kernels begin how
 * many there are. */
static inline size_t grove_gridder_work_bytes(int64_t planes, int64_t polarisations, size_t real)
{
    size_t sample = (size_t)(5 + 2 * polarisations) * real + 2 * sizeof(int32_t);

    return GROVE_GRIDDER_CHUNK * sample +
           (size_t)(planes * GROVE_GRIDDER_TILE * GROVE_GRIDDER_TILE) * sizeof(int32_t);
}

/* The index of the first cell of a kernel that is centred at `position`, and how far it lies above
 * the kernel's edge, 0 to 1. */
static inline double grove_gridder_first(double position, int width)
{
    const double round = 6755399441055744.0;

    return (position - 0.5 * width + 0.5 + round) - round;
}

#endif
