/* Shared by the files that pack the inputs of a sum, cut it into pieces and store its results. */
#ifndef GROVE_KERNELS_PREDICT_PRIVATE_H
#define GROVE_KERNELS_PREDICT_PRIVATE_H

#include "predict_grid.h"
#include "predict_view.h"

#include <stdatomic.h>

enum { MAX_COEFFICIENTS = 8, PREDICT_SPARES = 8 };

/* Where a part of an element comes from: one of the real sums, its negative, or nothing. */
typedef struct {
    int component; /* -1: zero */
    int negative;
} part_of;

struct grove_predict_sum {
    const grove_args *args;
    grove_predict_plan plan;
    const grove_predict_kernels *kernels;
    /* The axis in the lanes, or products of stations; the same for all tiles of a run. Rows that do
     * not fit the stations' coordinates are the next sum, by baselines. */
    enum { BY_ROWS, BY_CHANNELS, BY_SOURCES, BY_STATIONS } form;
    int source, freq, time, baseline; /* axes, -1: none */
    int64_t sources, rows, times, baselines;
    grove_predict_sum *next;     /* the sum over sources of another kind, or of strays */
    int64_t *chosen;             /* the numbers of the sources; NULL: all */
    int adds;                    /* to the output, instead of storing */
    int64_t origin, channels;    /* of the tile */
    int64_t first_block, blocks; /* of PREDICT_BLOCK channels, that the tile lies in */
    int64_t *row_list;           /* the rows that are computed by this form; NULL: all */
    int64_t row_count;
    int64_t *even, even_count; /* rows in which channels count as equally spaced: BY_ROWS */
    atomic_int failed;

    /* Packed (predict_pack.c, predict_order.c): */
    grove_predict_job job;
    int64_t *order; /* sources: points first */
    double *direction, *ellipse, *freqs, *widths;
    double largest_direction;               /* s/m: of all components */
    void *weight;                           /* [source][channel][component] */
    int elements;                           /* of the brightness */
    int components;                         /* real sums */
    part_of coefficients[MAX_COEFFICIENTS]; /* re, im of each element */
    int component_source[MAX_COEFFICIENTS]; /* the coefficient that each component is of */
    /* Jones terms in the brightness (predict_apparent.c): */
    grove_args apparent_args;
    double *apparent;
    /* Jones terms inside the sum (predict_jones.c): */
    int jones;
    grove_predict_jones terms;
    part_of output_elements[PREDICT_COMPONENTS]; /* where each element of the output is */

    /* BY_CHANNELS, BY_SOURCES (predict_channels.c): */
    const int32_t *station_of[2]; /* [baseline]; NULL: station 0 */
    int own_stations;             /* each baseline has its own, since terms vary with it */
    unsigned char *skipped;       /* [row] */

    /* BY_STATIONS (predict_station.c, predict_station_piece.c): */
    int stations;    /* BY_CHANNELS and BY_SOURCES, too */
    int sides;       /* rows or columns of a product that a station has: 2 for matrices, else 1 */
    int64_t at_once; /* channels of a piece, at most */
    int64_t padded;
    double *padded_direction;    /* [3][padded] */
    grove_predict_grid *grid;    /* the cells of the products */
    unsigned char *is_stray;     /* [row]: its coordinates are not differences of stations */
    int64_t *stray, stray_count; /* those rows; the next sum's row_list */

    /* BY_CHANNELS, BY_SOURCES, BY_STATIONS: memory of pieces, for the next */
    void *_Atomic spares[PREDICT_SPARES];
};

/* As many rows as the kernel has lanes, and their sums in a block of channels. */
typedef struct {
    _Alignas(64) double uvw[3 * PREDICT_MAX_LANES], change[3 * PREDICT_MAX_LANES];
    _Alignas(64) double sums[MAX_COEFFICIENTS * PREDICT_BLOCK * 2 * PREDICT_MAX_LANES];
    row rows[PREDICT_MAX_LANES];
    int count;
} grove_predict_batch;

static inline const grove_view *input_of(const grove_predict_sum *p, int input)
{
    return &p->args->in[input];
}

static inline const char *at_source(const grove_predict_sum *p, int input, int64_t source)
{
    const grove_view *view = input_of(p, input);

    return view->data ? (const char *)view->data + stride_of(view, p->source) * source : NULL;
}

static inline const double *doubles_at(const grove_predict_sum *p, int input, int64_t source)
{
    return (const double *)(const void *)at_source(p, input, source);
}

/* Number k of the brightness of a source. */
static inline double coefficient(const grove_predict_sum *p, int64_t source, int64_t channel, int k)
{
    const grove_view *view = input_of(p, GROVE_PREDICT_BRIGHTNESS);

    return number(
        view, at_source(p, GROVE_PREDICT_BRIGHTNESS, source) + stride_of(view, p->freq) * channel,
        k);
}

/* Stores element e of the output, or adds to it. */
static inline void deliver(const grove_predict_sum *p, char *at, int e, double re, double im)
{
    const grove_view *out = &p->args->out;

    if (p->adds) {
        re += number(out, at, 2 * e);
        im += number(out, at, 2 * e + 1);
    }
    put_number(out, at, e, re, im);
}

/* Coordinates of a station, or of a baseline of its own, in an input. */
static inline const double *station_uvw(const grove_predict_sum *p, int input, int64_t time,
                                        int64_t station)
{
    const grove_view *view = input_of(p, input);

    return (const double *)(const void *)((const char *)view->data +
                                          stride_of(view, p->time) * time +
                                          view->stride[p->baseline] * station);
}

/* Whether a few channels have a recurrence of their own. */
static inline int few_recur(const grove_predict_sum *p)
{
    return !p->jones && (!p->plan.smear_freq || p->plan.equal_width);
}

/* The least number of channels for a recurrence. */
static inline int64_t recurred(const grove_predict_sum *p)
{
    return few_recur(p) ? GROVE_PREDICT_RECURRED : GROVE_PREDICT_RECURRED_BLOCK;
}

/* Turns of a phase that do not matter. */
static inline double tolerance_of(const grove_predict_sum *p)
{
    return p->args->out.bytes == 4 ? 1e-7 : 3e-13;
}

/* Whether coordinates differ from u less v, the stations' coordinates, by a phase that matters;
 * `rest` gets the difference. A difference in the last bits of coordinates is rounding, however
 * large the phase. */
static inline int is_stray(const grove_predict_sum *p, const double uvw[3], const double u[3],
                           const double v[3], double rest[3])
{
    double difference = 0, size = 0;

    for (int k = 0; k < 3; k++) {
        rest[k] = uvw[k] - (u[k] - v[k]);
        difference += fabs(rest[k]);
        size += fabs(u[k]) + fabs(v[k]);
    }
    return !(difference * p->largest_direction * p->plan.reference * 2 <= tolerance_of(p) ||
             difference <= 4e-16 * size);
}

/* Functions that return int return 0 where memory is refused, unless they say otherwise. */

/* Splits a sum that is not packed yet by kinds of sources, where a separate sum of one kind is
 * faster. The kind of a source depends on its shape and brightness; whether kinds are split, on
 * their numbers alone. Of spectra the channels of the tile count: where a source is polarised in
 * some channels and not in others, how channels are cut into tiles may change last bits. */
int grove_predict_split(grove_predict_sum *p);

/* The order of sources (p->order: points first) and rows (p->row_list). With a cutoff, sources and
 * rows of about the same size follow each other. */
int grove_predict_order_sources(grove_predict_sum *p);
int grove_predict_order_rows(grove_predict_sum *p);
/* Moves rows in which nearly equal spacing of the channels moves no phase that matters from a list
 * to p->even. */
int grove_predict_move_even(grove_predict_sum *p, int64_t *list, int64_t *count);
/* Makes p->row_list a list, of all rows if it is none. */
int grove_predict_list_rows(grove_predict_sum *p);

/* Packs everything but the weights, which depend on the form. */
int grove_predict_pack(grove_predict_sum *p);
/* Packs the weights of sources for sums for rows. */
int grove_predict_pack_weights(grove_predict_sum *p);

/* Memory of a piece, `bytes` for each of a sum: an earlier piece's, or new memory, aligned to lines
 * of the cache; NULL where it is refused. It is given back, not freed. */
void *grove_predict_take_memory(grove_predict_sum *p, size_t bytes);
void grove_predict_return_memory(grove_predict_sum *p, void *memory);

/* Replaces B by left B right for all sources. */
int grove_predict_apparent_pack(grove_predict_sum *p);

/* Jones terms inside the sum: packs the brightness as matrices. */
int grove_predict_jones_pack(grove_predict_sum *p);
/* Jones terms around the sum: left * v * right in the elements of the output, v in the elements of
 * the brightness. */
void grove_predict_jones_around(const grove_predict_sum *p, const row *r, int64_t channel,
                                grove_cplx64 v[4]);

/* A row in each lane: as many rows as there are lanes, from number `first` of all, or of the
 * `count` in `list`. regular: channels count as equally spaced. */
void grove_predict_rows_run(const grove_predict_sum *p, const int64_t *list, int64_t count,
                            int64_t first, int regular);

/* Jones terms inside the sum with a channel in each lane, or a source, where that leaves fewer of
 * them idle: BY_CHANNELS, BY_SOURCES; BY_ROWS where all channels share a matrix. */
int grove_predict_channels_form(const grove_predict_sum *p);
/* Whether all channels share the product of a point's Jones terms and brightness, and its phases
 * are found by recurrence. */
int grove_predict_shares_matrices(const grove_predict_sum *p);
/* Whether a sum without Jones terms goes that way, with unity in their place. */
int grove_predict_channels_bare(const grove_predict_sum *p);
int grove_predict_channels_pack(grove_predict_sum *p);
int64_t grove_predict_channels_pieces(const grove_predict_sum *p);
void grove_predict_channels_run(grove_predict_sum *p, int64_t piece);

/* Whether the sum can be computed by stations. */
int grove_predict_station_fits(const grove_predict_sum *p);
int grove_predict_station_pack(grove_predict_sum *p);
void grove_predict_station_free(grove_predict_sum *p);
/* Cuts the products into parts that serve this number of threads best. */
void grove_predict_station_cut(grove_predict_sum *p, int threads);
/* Groups of channels that are computed and stored together. */
int64_t grove_predict_station_groups(const grove_predict_sum *p);
int64_t grove_predict_station_pieces(const grove_predict_sum *p);
void grove_predict_station_run(grove_predict_sum *p, int64_t piece);

#endif
