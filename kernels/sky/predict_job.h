/* Arguments of the vectorised sums over sources, packed in the units that they use. Shared by the
 * files that pack and the files that are compiled for each instruction set. */
#ifndef GROVE_KERNELS_PREDICT_JOB_H
#define GROVE_KERNELS_PREDICT_JOB_H

#include "predict.h"

#include <stdint.h>

enum {
    PREDICT_BLOCK = 64,     /* channels: phases start at absolute multiples of it */
    PREDICT_GROUP = 16,     /* channels about whose centre a phase turns both ways */
    PREDICT_COMPONENTS = 4, /* real sums per call: of each, a complex number per cell */
    PREDICT_MAX_LANES = 16,
    PREDICT_MAX_COLUMNS = 6
};

/* The sum over sources of weight[component] * phase * shape * smearing. */
typedef struct {
    int64_t points, gaussians; /* sources: points first */
    const double *direction;   /* [source][3] (l, m, n - 1) / c, s/m */
    const double *ellipse;     /* [gaussian][5], s/m: see grove_find_ellipse */
    int components;
    /* [source][channel or nothing][component], float or double as the kernel, Jy; strides in
     * numbers. With channel stride 0 the spectra are flat. Channels count from `first`. */
    const void *weight;
    int64_t weight_source, weight_channel;
    /* Channels first ... first + PREDICT_BLOCK of the whole axis; [from, to) are computed. */
    int64_t first;
    int from, to;
    int few; /* regular, and at most PREDICT_GROUP channels to the end of the axis: their number;
                else 0 */
    int regular; /* at start + step k Hz, k counted from the axis' first */
    double start, step;
    int even_shapes; /* spacing is so equal that shapes of Gaussians follow from channel to channel
                      */
    const double *freq, *width; /* [PREDICT_BLOCK] Hz; width NULL: no smearing in frequency */
    int equal_width;
    int smear_time;
    double reference; /* Hz, in the middle of the axis */
    double cutoff;    /* sources are left out if shape and smearing leave less of them; 0: none */
} grove_predict_job;

/* Sums for as many rows as the kernel has lanes: uvw and change (of uvw in an integration) are
 * [3][lanes], m; sums is [component][PREDICT_BLOCK][re, im][lanes]; channels [from, to) are set. */
typedef void grove_predict_fn(const grove_predict_job *job, const double *uvw, const double *change,
                              double *sums);

/* How many of the `left` last channels of an axis, from the first of a block on, are after whole
 * groups and so few that every phase is evaluated. */
static inline int grove_predict_channels_after(int64_t left)
{
    const int after = (int)(left % PREDICT_GROUP);

    return left > PREDICT_GROUP && left < PREDICT_BLOCK && after < GROVE_PREDICT_RECURRED ? after
                                                                                          : 0;
}

/* Jones terms on one side. */
typedef struct {
    int numbers, bytes;      /* real numbers of a cell: 8, of diagonals 4, of scalars 2, none 0 */
    int64_t source, channel; /* strides in bytes */
    const char *at[PREDICT_MAX_LANES]; /* of each row at source 0 and the tile's channel 0 */
} grove_predict_jones_side;

/* The sum over points of left * B * right * phase * smearing, all but the phase the same in all
 * channels. */
typedef struct {
    /* components: requested complex elements. weight: of B as a matrix, [source][channel or
     * nothing][4][re, im]. */
    grove_predict_job sum;
    int element[PREDICT_COMPONENTS]; /* the place of each in the matrix */
    int diagonal;                    /* left and right are diagonal */
    int varies;                      /* left or right vary with frequency */
    const int64_t *order;            /* number of each source in left and right */
    grove_predict_jones_side side[2];
} grove_predict_jones;

/* As grove_predict_fn; sums of complex elements. */
typedef void grove_predict_jones_fn(const grove_predict_jones *job, const double *uvw,
                                    const double *change, double *sums);

/* Jones terms of one side, station by station, and the stations' coordinates. */
typedef struct {
    int numbers, bytes;
    int64_t source, channel;     /* strides in bytes */
    const char **at;             /* [station] at source 0 and the tile's channel 0 */
    const double *uvw;           /* [station][3] m */
    const unsigned char *needed; /* [station] */
    const int32_t *station;      /* [row] */
} grove_predict_channels_side;

/* A chunk of sources at one time, in as many channels as the kernel has lanes, for rows [first_row,
 * end_row), with row first_row at sums[0]: sums[row][element][re, im][lane] += left * B * right *
 * phase * shape * smearing. The panel is filled where first_row is 0; other rows of the same
 * sources use it. */
typedef struct {
    int stations, rows, first_row, end_row;
    int sources, points;        /* points: of the sources, before the Gaussians */
    int64_t following;          /* sources of later chunks */
    int diagonal;               /* left and right are diagonal */
    int elements, element[4];   /* requested ones of the matrix */
    int from, to;               /* lanes that are in the tile */
    int64_t offset;             /* of lane 0 in the tile */
    const int64_t *order;       /* number of each source in left and right */
    const double *freq, *width; /* [lane] Hz; width NULL: no smearing in frequency */
    int equal_width, smear_time;
    double reference;        /* Hz */
    double highest;          /* Hz: no channel of the whole axis is above it */
    const double *direction; /* as in grove_predict_job */
    const double *ellipse;   /* [Gaussian][5] */
    const void *weight;      /* B: [source][channel or nothing][4][re, im] */
    int64_t weight_source, weight_channel;
    grove_predict_channels_side side[2];
    const double *uvw, *change, *rest; /* [row][3] m; rest: less the difference of stations */
    const unsigned char *stray;        /* [row]: has such a rest */
    void *panel;                       /* 2 * stations * span * 8 vectors */
    void *sums;                        /* float or double as the kernel */
} grove_predict_channels_job;

typedef void grove_predict_channels_fn(const grove_predict_channels_job *job);

/* The same for all rows in the first channel alone, with a source in each lane: up to span vectors
 * of them. sums[row][element][re, im] are double. */
typedef void grove_predict_sources_fn(const grove_predict_channels_job *job);

/* Rows of a product of matrices, `tile_rows` from `row` on, by some of its columns. */
typedef struct {
    int32_t row, columns, column[PREDICT_MAX_COLUMNS];
} grove_predict_tile;

/* Jones terms of one side at one time and channel. */
typedef struct {
    const char *at;          /* of source 0 and station 0; NULL: unity */
    int numbers, bytes;      /* real numbers of a cell: 8, of diagonals 4, of scalars 2 */
    int64_t source, station; /* strides in bytes */
} grove_predict_panel_side;

/* A chunk of sources at one time and channel, for stations: products of matrices of their rows, on
 * the left, and columns, on the right, with the sources between. With sides = 1 there is a product
 * for each element (i, j) of the output: of left_ii B_ij K with right_jj conj K; with sides = 2 one
 * for all, rows being (station, i) and columns (station, j). */
typedef struct {
    int sides, vectors, count; /* sources, and vectors of them, the last one perhaps not full */
    int capacity;              /* vectors for which there is memory in `work` */
    int elements;              /* products */
    int element[4];            /* the place of each in the matrix */
    int stations;              /* on either side */
    int rows[2];               /* of them left and right */
    const int32_t *place[2];   /* [station] its place among those, or -1 */
    const int32_t *row;        /* [place] the station, of those on the left */
    const double *uvw;         /* [station][3] m */
    double freq;
    /* [3][source] (l, m, n - 1) / c, s/m; the three `stride` apart */
    const double *direction;
    int64_t stride;
    /* [vector][element][re, im][lane], float or double as the kernel; all four with sides = 2 */
    const void *brightness;
    grove_predict_panel_side side[2];
    const int64_t *order; /* the number of each source in them */
    const grove_predict_tile *tiles;
    int tile_count;
    /* Aligned, in vectors: capacity (3 sides (tile_rows + sides rows[1]) + 2 stations) */
    void *work;
    /* [element][which][tile][tile_columns][tile_rows] += the products of real parts, of imaginary
     * parts and of sums of both: the real part of the result is the first without the second, the
     * imaginary part the third without both. */
    double *sums;
} grove_predict_panel;

typedef void grove_predict_station_fn(const grove_predict_panel *job);

typedef struct {
    int lanes, span; /* span: most sources of a grove_predict_channels_job */
    grove_predict_fn *baseline;
    grove_predict_channels_fn *channels;
    grove_predict_sources_fn *sources;
    grove_predict_jones_fn *jones;
    grove_predict_station_fn *station;
    int tile_rows, tile_columns;
    /* see peak.h */
    int64_t (*peak)(int64_t rounds);
    int64_t (*phases)(int64_t rounds);
    int64_t (*mixed)(int64_t rounds, int each);
    int64_t (*stream)(void *a, const void *b, const void *c, int64_t count);
} grove_predict_kernels;

extern const grove_predict_kernels grove_predict_single_portable, grove_predict_double_portable;
#if defined(__x86_64__)
extern const grove_predict_kernels grove_predict_single_avx2, grove_predict_double_avx2;
extern const grove_predict_kernels grove_predict_single_avx512, grove_predict_double_avx512;
#endif

/* Of an instruction set (grove_isa), for numbers of 4 or 8 bytes. */
const grove_predict_kernels *grove_predict_kernels_of(int isa, int bytes);

#endif
