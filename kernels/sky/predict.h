/* The sum over sources of left * (brightness, phase, shape, smearing) * right, for baselines, on
 * CPUs: the plain way, one source and block of channels after the other, for anything; and vector
 * code for each instruction set.
 *
 * The files, predict_NAME: .c packs, cuts into pieces and stores; .h is compiled for each
 * instruction set and precision (isa.h; the interface of the two is job.h).
 *     plain.c          the plain way
 *     sum.c            the vector code: splits the sky (kinds.c), chooses one of four forms for
 * each part of it, packs (pack.c, order.c), runs
 *     rows*.c, .h      form 1, a row (baseline and time) in each lane: rows_flat.h for flat
 * spectra, rows_jones.h for these between Jones terms that channels share, rows_spectra.h for a
 * weight for each channel, all with the phases of rows_phases.h; rows_direct.h for one
 * or two channels, or irregular ones
 *     channels.c, .h   form 2, Jones terms inside the sum: a channel in each lane
 *     sources.h        form 3, a source in each lane: the same for few channels; without Jones
 * terms, too, where channels are few and smeared
 *     station*.c, .h   form 4, products of matrices of stations by sources; grid.c: their tiles
 *     jones.c, .h      Jones terms inside the sum or around it; apparent.c: in the brightness
 *     sincs.h          smearing, where every phase is evaluated
 *     skip.c, cost.c   rows that are not needed; the cost of the forms on this machine
 *     *.cu, *cuda.h    the same sum on CUDA devices */
#ifndef GROVE_KERNELS_PREDICT_H
#define GROVE_KERNELS_PREDICT_H

#include "cell.h"

/* Numbers of the inputs. */
enum {
    GROVE_PREDICT_BRIGHTNESS, /* [source, freq, ...] Jy, complex */
    GROVE_PREDICT_LMN,        /* [source] l, m, n - 1 */
    GROVE_PREDICT_SHAPE,      /* [source] see grove_find_ellipse, or absent */
    GROVE_PREDICT_UVW,        /* [time, baseline] m */
    GROVE_PREDICT_FREQ,       /* [freq] Hz */
    GROVE_PREDICT_RATE,       /* [time, baseline] m/s; absent: no smearing in time */
    GROVE_PREDICT_INTERVAL,   /* [time] s, with the rate */
    GROVE_PREDICT_WIDTH,      /* [freq] Hz; absent: no smearing in frequency */
    GROVE_PREDICT_LEFT,       /* [source, time, baseline, freq, ...] Jones, complex, or absent */
    GROVE_PREDICT_RIGHT,      /* the same */
    GROVE_PREDICT_UVW_LEFT,   /* [time, station p] m, for sums by stations */
    GROVE_PREDICT_UVW_RIGHT,  /* [time, station q] m */
    GROVE_PREDICT_SKIP        /* [time, baseline, freq] flags: cells to omit, or absent */
};

/* The state in grove_args. Channels of equal spacing: channel k of the whole axis is at first +
 * step k (Hz). Others within a hundredth of a step of that have a deviation, their largest distance
 * from it (Hz), which moves no phase that matters in rows that are short enough. */
typedef struct {
    int32_t regular, spare;
    double first, step, deviation;
} grove_predict_channels;

/* Whether `count` frequencies are equally spaced as far as doubles can say, or nearly; fills
 * `channels`. */
void grove_predict_channels_of(const double *freq, int64_t count, grove_predict_channels *channels);

/* Ways to the sum. */
enum {
    GROVE_PREDICT_PLAIN,    /* grove_predict_cells */
    GROVE_PREDICT_BASELINE, /* rows in the lanes */
    GROVE_PREDICT_STATION /* products of matrices of stations by sources; rows whose coordinates are
                             not differences of stations' are computed by the other ways */
};

/* With fewer channels, in all or in the last block of 64, every phase is evaluated, which then
 * takes less time than a recurrence; more are needed where phases are computed for a whole block,
 * with widths that differ. SHARED: the same between Jones terms that channels share. */
enum { GROVE_PREDICT_RECURRED = 3, GROVE_PREDICT_RECURRED_BLOCK = 7, GROVE_PREDICT_SHARED = 24 };
/* With fewer points, or unpolarised sources, a sum of their own does not pay for going through the
 * output again. */
enum { GROVE_PREDICT_SPLIT = 64 };
/* The treatment of Jones terms. */
enum {
    GROVE_PREDICT_AROUND, /* none, or the same for all sources: around the sum */
    GROVE_PREDICT_WITHIN, /* of source and station: inside the sum */
    GROVE_PREDICT_FOLDED  /* of the source, the same for all stations and times: apparent fluxes */
};

/* The state in grove_args, chosen for a run and not for a tile: `channels` for the plain way, all
 * of it for the others. */
typedef struct {
    grove_predict_channels channels;
    int32_t way, isa; /* grove_isa */
    int32_t flat;     /* the brightness does not vary with frequency */
    int32_t equal_width, smear_time, smear_freq;
    int32_t jones;    /* left or right vary with the source */
    int32_t stations; /* of the station axis */
    int32_t products; /* on a CUDA device sums are by stations */
    int32_t factors;  /* without Jones terms phases are products of both stations' phases where
                         channels are few and smeared */
    int64_t count;    /* channels of the whole axis */
    double width, reference; /* Hz: of all channels if equal; about the middle of the axis */
    double cutoff; /* a fraction: sources may be left out of a row if shape and smearing leave less
                      of them */
} grove_predict_plan;

/* Rows of the output: its cells without the frequency axis. */
int64_t grove_predict_rows(const grove_args *args);
/* Computes all channels of rows [first, last). The order of all sums, and where recurrences start,
 * depend on absolute indices only: any cut into rows and tiles gives the same bits, but where
 * sources are polarised in some channels only (predict_private.h, grove_predict_split). Numbers are
 * computed in double; inputs and output are single or double as their views say. */
void grove_predict_cells(const grove_args *args, int64_t first, int64_t last);

/* Whether a sum by stations with Jones terms of 1, 2 or 4 elements takes one product of matrices
 * instead of one for each of `sums` elements. Diagonals with more than two requested elements would
 * be loaded too often; with many stations loads matter less than that the product takes more
 * operations. */
int grove_predict_by_matrices(int elements, int sums, int64_t stations);

/* The sum in vector code for one evaluation, by the way and instruction set of its plan: inputs
 * that all rows share are packed once. Lives as long as `args`. NULL: no memory. */
typedef struct grove_predict_sum grove_predict_sum;
grove_predict_sum *grove_predict_sum_new(const grove_args *args);
void grove_predict_sum_free(grove_predict_sum *sum);
/* A separate sum over sources of another kind, which is faster and adds to the output, or of rows
 * that are not summed by stations: it is run after `sum`. NULL: none. `sum` owns it. */
grove_predict_sum *grove_predict_sum_next(const grove_predict_sum *sum);
/* These are of `sum` without the next.
 * Cuts the work finer where that many threads would find too few pieces; before their number is
 * asked for. The same bits. */
void grove_predict_sum_cut(grove_predict_sum *sum, int threads);
/* Pieces of the work, each as many rows as a vector has lanes or so. Any order, any threads: the
 * same bits. */
int64_t grove_predict_sum_pieces(const grove_predict_sum *sum);
/* Computes pieces [first, last). */
void grove_predict_sum_run(grove_predict_sum *sum, int64_t first, int64_t last);
/* Whether a piece ran out of memory. */
int grove_predict_sum_failed(const grove_predict_sum *sum);

#endif
