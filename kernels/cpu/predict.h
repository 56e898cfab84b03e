/* The sum over sources of left * (brightness, phase, shape, smearing) * right, for baselines: the
 * plain way on a CPU, one source and block of channels after the other. */
#ifndef GROVE_KERNELS_CPU_PREDICT_H
#define GROVE_KERNELS_CPU_PREDICT_H

#include "cell.h"

/* Numbers of the inputs. */
enum {
    GROVE_PREDICT_BRIGHTNESS, /* [source, freq, ...] Jy, complex */
    GROVE_PREDICT_LMN,        /* [source] l, m, n - 1 */
    GROVE_PREDICT_SHAPE,      /* [source] FWHM axes and angle, rad, or absent */
    GROVE_PREDICT_UVW,        /* [time, baseline] m */
    GROVE_PREDICT_FREQ,       /* [freq] Hz */
    GROVE_PREDICT_RATE,       /* [time, baseline] m/s; absent: no smearing in time */
    GROVE_PREDICT_INTERVAL,   /* [time] s, with the rate */
    GROVE_PREDICT_WIDTH,      /* [freq] Hz; absent: no smearing in frequency */
    GROVE_PREDICT_LEFT,       /* [source, time, baseline, freq, ...] Jones, complex, or absent */
    GROVE_PREDICT_RIGHT       /* the same */
};

/* The state in grove_args. Channels of equal spacing: channel k of the whole axis is at first +
 * step k (Hz). */
typedef struct {
    int32_t regular, spare;
    double first, step;
} grove_predict_channels;

/* Whether `count` frequencies are equally spaced as far as doubles can say; fills `channels`. */
void grove_predict_channels_of(const double *freq, int64_t count, grove_predict_channels *channels);

/* Rows of the output: its cells without the frequency axis. */
int64_t grove_predict_rows(const grove_args *args);
/* Computes all channels of rows [first, last). The order of all sums, and where recurrences start,
 * depend on absolute indices only: any cut into rows and tiles gives the same bits. Numbers are
 * computed in double; inputs and output are single or double as their views say. */
void grove_predict_cells(const grove_args *args, int64_t first, int64_t last);

#endif
