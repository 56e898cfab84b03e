/* What the parts of the vectorised sum share. */
#ifndef GROVE_KERNELS_PREDICT_PRIVATE_H
#define GROVE_KERNELS_PREDICT_PRIVATE_H

#include "predict_grid.h"
#include "predict_view.h"

#include <stdatomic.h>

enum { MOST_COEFFICIENTS = 8, PREDICT_SPARES = 8 };

/* Where a part of an element comes from: one of the real sums, or its negative, or nothing. */
typedef struct {
    int component; /* -1: zero */
    int negative;
} part_of;

struct grove_predict_sum {
    const grove_args *args;
    grove_predict_plan plan;
    const grove_predict_kernels *kernels;
    int source, freq;             /* axes, -1: none */
    int64_t *row_list, row_count; /* the rows wanted; NULL: all */
    int64_t sources, rows, origin, channels, first_block, blocks;
    int elements, components;                /* of the brightness; real sums */
    part_of coefficients[MOST_COEFFICIENTS]; /* re, im of each element */
    grove_predict_job job;
    int64_t *order; /* sources: points first */
    double *direction, *ellipse, *freqs, *widths;
    void *weight; /* [source][channel][component] */
    /* Jones terms of source and station inside the sum: */
    int jones;
    grove_predict_jones terms;
    part_of wanted_elements[PREDICT_COMPONENTS]; /* where each element of the output is */
    enum { BY_ROWS, BY_CHANNELS, BY_SOURCES } lanes_hold;
    const int32_t *station_of[2]; /* [baseline]; NULL: station 0 */
    unsigned char *unwanted;      /* [row] */
    /* Stations: */
    int stations, sides;
    int time, baseline; /* axes, -1: none */
    int64_t times, baselines, padded, piece_rows;
    double *spread;              /* [3][padded] direction */
    grove_predict_grid *grid;    /* the cells of the products */
    unsigned char *strays;       /* [row]: its coordinates are not differences of stations */
    int64_t *stray, stray_count; /* those rows */
    void *_Atomic spares[PREDICT_SPARES]; /* memory of pieces, for the next */
    atomic_int failed;
    /* With the Jones terms in the brightness: */
    grove_args apparent_args;
    double *apparent;
};

/* As many rows as the kernel has lanes, and their sums in a block of channels. */
typedef struct {
    _Alignas(64) double uvw[3 * PREDICT_MOST_LANES], change[3 * PREDICT_MOST_LANES];
    _Alignas(64) double sums[MOST_COEFFICIENTS * PREDICT_BLOCK * 2 * PREDICT_MOST_LANES];
    row rows[PREDICT_MOST_LANES];
    int count;
} grove_predict_batch;

static inline const char *at_source(const grove_predict_sum *p, int input, int64_t source)
{
    const grove_view *view = &p->args->in[input];

    return view->data ? (const char *)view->data + stride_of(view, p->source) * source : NULL;
}

/* Number k of the brightness of a source. */
static inline double coefficient(const grove_predict_sum *p, int64_t source, int64_t channel, int k)
{
    const grove_view *view = &p->args->in[GROVE_PREDICT_BRIGHTNESS];

    return number(
        view, at_source(p, GROVE_PREDICT_BRIGHTNESS, source) + stride_of(view, p->freq) * channel,
        k);
}

/* The order in which sources are taken (p->order: points first) and rows (p->row_list): with a
 * cutoff, those of which about as much is left together. 0: no memory. */
int grove_predict_order_sources(grove_predict_sum *p);
int grove_predict_order_rows(grove_predict_sum *p);

/* left * v * right in the elements of the output, v in those of the brightness. */
void grove_predict_surround(const grove_predict_sum *p, const row *r, int64_t channel,
                            grove_cplx64 v[4]);

/* Jones terms inside the sum for baselines (predict_jones.c). Packs the brightness; 0: no memory.
 */
int grove_predict_jones_pack(grove_predict_sum *p);
/* The sums of the rows in a block of channels, `job` being set for it, into the output. */
void grove_predict_jones_run(const grove_predict_sum *p, grove_predict_batch *b,
                             const grove_predict_job *job);

/* The same with a channel in each lane, where Jones terms vary with frequency or channels are
 * irregular, or a source, where channels are few (predict_channels.c): sets lanes_hold, the same
 * for all tiles of a run; packs what it needs, 0: no memory. */
void grove_predict_channels_choose(grove_predict_sum *p);
int grove_predict_channels_pack(grove_predict_sum *p);
int64_t grove_predict_channels_pieces(const grove_predict_sum *p);
void grove_predict_channels_run(grove_predict_sum *p, int64_t piece);

/* Stations (predict_station.c). Whether the sum can go by stations: the answer is the same for all
 * tiles of a run. */
int grove_predict_station_fits(const grove_predict_sum *p);
/* Packs what stations need; 0: no memory. */
int grove_predict_station_pack(grove_predict_sum *p);
void grove_predict_station_free(grove_predict_sum *p);
/* Cuts the products as so many threads profit from. */
void grove_predict_station_cut(grove_predict_sum *p, int threads);
int64_t grove_predict_station_pieces(const grove_predict_sum *p);
void grove_predict_station_run(grove_predict_sum *p, int64_t piece);

#endif
