/* The sum over sources for baselines on a CUDA device. The kernels' argument is the same as for
 * grove_predict_cells, with a whole grove_predict_plan in its state. */
#ifndef GROVE_KERNELS_PREDICT_CUDA_H
#define GROVE_KERNELS_PREDICT_CUDA_H

#include "predict.h"

#if !defined(GROVE_CUDA) && !defined(GROVE_OPENCL)
#include <string.h>
#endif

/* A thread computes one row (baseline and time) and a group of channels that begins at an absolute
 * multiple of its size, so that no result depends on where a tile begins. A block has ROWS rows.
 * predict_jones_ sums its group in smaller ones where channels are no pairs. */
enum {
    PREDICT_CUDA_ROWS = 128,
    PREDICT_OPENCL_GROUP = 8,
    PREDICT_CUDA_GROUP = 4,        /* predict_irregular_, predict_plain_ */
    PREDICT_CUDA_WIDE_SINGLE = 32, /* predict_wide_ */
    PREDICT_CUDA_WIDE_DOUBLE = 16,
    PREDICT_CUDA_NARROW = 8,        /* predict_narrow_ */
    PREDICT_CUDA_PAIRS_SINGLE = 16, /* predict_jones_ */
    PREDICT_CUDA_PAIRS_DOUBLE = 6,
    PREDICT_CUDA_EDGE = 64, /* predict_station_: rows and columns of a tile of sums */
    PREDICT_CUDA_BUSY = 256 /* with fewer times and channels products would leave multiprocessors
                               idle */
};

/* Groups of `group` that the channels of the evaluation lie in; *first counts from the axis' start.
 */
GROVE_FN int64_t grove_predict_groups(const grove_args *args, int group, int64_t *first)
{
    int d = grove_args_axis(args, GROVE_AXIS_FREQ);

    *first = d < 0 ? 0 : args->origin[d] / group;
    if (d < 0)
        return 1;
    if (args->size[d] < 1)
        return 0;
    return (args->origin[d] + args->size[d] - 1) / group - *first + 1;
}

GROVE_FN int64_t grove_predict_row_count(const grove_args *args)
{
    int64_t rows = 1;

    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] != GROVE_AXIS_SOURCE && args->axis[d] != GROVE_AXIS_FREQ)
            rows *= args->size[d];
    return rows;
}

/* The kernel of an evaluation, by the axes along which its inputs vary. */
enum {
    GROVE_PREDICT_CUDA_WIDE,      /* recurrence along channels; Jones terms around the sum */
    GROVE_PREDICT_CUDA_NARROW,    /* the same with smaller groups, for few channels */
    GROVE_PREDICT_CUDA_CHANNEL,   /* a single channel */
    GROVE_PREDICT_CUDA_IRREGULAR, /* every phase evaluated */
    GROVE_PREDICT_CUDA_JONES,     /* Jones terms vary with the source */
    GROVE_PREDICT_CUDA_PLAIN      /* anything, every phase evaluated in double */
};

GROVE_FN int grove_predict_varies(const grove_args *args, int input, int axis)
{
    return axis >= 0 && input < args->inputs && args->in[input].data &&
           args->in[input].stride[axis] != 0;
}

/* Of the sums without Jones terms inside the fastest for the whole axis: a group of 8 takes 2.4
 * times as long for a channel as one of 32 in single precision, 1.7 times as long as one of 16 in
 * double precision (measured on an H100; counted, with spectra and smearing, it is up to a sixth
 * less). */
GROVE_FN int grove_predict_cuda_direct(const grove_args *args)
{
    const grove_predict_plan *plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    const int double_ = args->out.bytes == 8;
    const int64_t group = double_ ? PREDICT_CUDA_WIDE_DOUBLE : PREDICT_CUDA_WIDE_SINGLE;
    int64_t wide = (plan->count + group - 1) / group * group, narrow = (plan->count + 7) / 8 * 8;

    if (plan->count <= 2)
        return GROVE_PREDICT_CUDA_CHANNEL;
    if (!plan->channels.regular || (args->in[GROVE_PREDICT_WIDTH].data && !plan->equal_width))
        return GROVE_PREDICT_CUDA_IRREGULAR;
    return 10 * wide <= (double_ ? 15 : 21) * narrow ? GROVE_PREDICT_CUDA_WIDE
                                                     : GROVE_PREDICT_CUDA_NARROW;
}

GROVE_FN int grove_predict_cuda_way(const grove_args *args)
{
    int source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ), plain = 0;

    for (int d = 0; d < args->axes; d++)
        if (d != source && d != freq)
            plain |= grove_predict_varies(args, GROVE_PREDICT_BRIGHTNESS, d) |
                     grove_predict_varies(args, GROVE_PREDICT_LMN, d) |
                     grove_predict_varies(args, GROVE_PREDICT_SHAPE, d) |
                     grove_predict_varies(args, GROVE_PREDICT_FREQ, d) |
                     grove_predict_varies(args, GROVE_PREDICT_WIDTH, d);
    plain |= grove_predict_varies(args, GROVE_PREDICT_UVW, source) |
             grove_predict_varies(args, GROVE_PREDICT_RATE, source) |
             grove_predict_varies(args, GROVE_PREDICT_INTERVAL, source) |
             grove_predict_varies(args, GROVE_PREDICT_FREQ, source) |
             grove_predict_varies(args, GROVE_PREDICT_WIDTH, source);
    for (int k = GROVE_PREDICT_LMN; k <= GROVE_PREDICT_INTERVAL; k++)
        plain |= k != GROVE_PREDICT_FREQ && grove_predict_varies(args, k, freq);
    if (plain)
        return GROVE_PREDICT_CUDA_PLAIN;
    if (grove_predict_varies(args, GROVE_PREDICT_LEFT, source) ||
        grove_predict_varies(args, GROVE_PREDICT_RIGHT, source))
        return GROVE_PREDICT_CUDA_JONES;
    return grove_predict_cuda_direct(args);
}

/* Channels of a group with Jones terms inside: fewer where they are smeared in time, in double
 * precision. */
GROVE_FN int grove_predict_cuda_jones_group(const grove_args *args)
{
    if (args->out.bytes == 8)
        return args->in[GROVE_PREDICT_RATE].data ? PREDICT_CUDA_GROUP : PREDICT_CUDA_PAIRS_DOUBLE;
    return PREDICT_CUDA_PAIRS_SINGLE;
}

enum { GROVE_PREDICT_BLOCK, GROVE_PREDICT_CHANNELS, GROVE_PREDICT_RESIDENT };

/* Channels of a group. */
GROVE_FN int grove_predict_cuda_group(const grove_args *args, int way)
{
    if (args->tuned[GROVE_PREDICT_CHANNELS] > 0 &&
        (way == GROVE_PREDICT_CUDA_WIDE || way == GROVE_PREDICT_CUDA_NARROW))
        return args->tuned[GROVE_PREDICT_CHANNELS];
    return way == GROVE_PREDICT_CUDA_WIDE
               ? args->out.bytes == 8 ? PREDICT_CUDA_WIDE_DOUBLE : PREDICT_CUDA_WIDE_SINGLE
           : way == GROVE_PREDICT_CUDA_JONES   ? grove_predict_cuda_jones_group(args)
           : way == GROVE_PREDICT_CUDA_NARROW  ? PREDICT_CUDA_NARROW
           : way == GROVE_PREDICT_CUDA_CHANNEL ? 1
                                               : PREDICT_CUDA_GROUP;
}

/* Tiles of the products of stations by sources, at most: with four rows for a station there are
 * more of them than as 2 x 2 matrices where stations are few. */
GROVE_FN int64_t grove_predict_station_tiles(const grove_args *args)
{
    const grove_predict_plan *plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    int64_t one = (plan->stations + PREDICT_CUDA_EDGE - 1) / PREDICT_CUDA_EDGE;
    int64_t two = (2 * plan->stations + PREDICT_CUDA_EDGE - 1) / PREDICT_CUDA_EDGE;
    int64_t four = (4 * plan->stations + PREDICT_CUDA_EDGE - 1) / PREDICT_CUDA_EDGE;

    return two * two > four * one ? two * two : four * one;
}

#if !defined(GROVE_CUDA) && !defined(GROVE_OPENCL)
/* How many threads to launch. */
static int64_t grove_predict_device_threads(const grove_args *args)
{
    int64_t first, groups = grove_predict_groups(
                       args, grove_predict_cuda_group(args, grove_predict_cuda_way(args)), &first);
    int64_t blocks = (grove_predict_row_count(args) + PREDICT_CUDA_ROWS - 1) / PREDICT_CUDA_ROWS;

    return blocks * groups * PREDICT_CUDA_ROWS;
}

static bool grove_predict_allows(const grove_args *args)
{
    const int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    const int64_t channels = freq < 0 ? 1 : args->size[freq];

    return args->tuned[GROVE_PREDICT_CHANNELS] < 2 * channels;
}

/* Of a source, channel and row: a phase by recurrence and, for 4 elements, the sum of products. Of
 * a source, a row and each group of channels: a delay, and two sines and cosines. */
static void grove_predict_work(const grove_args *args, double *operations, double *bytes)
{
    enum { EACH = 40, OF_A_GROUP = 90 };
    const int channels = args->tuned[GROVE_PREDICT_CHANNELS];

    *operations = (double)grove_args_cells(args) *
                  (EACH + (double)OF_A_GROUP / (channels ? channels : PREDICT_OPENCL_GROUP));
    *bytes = (double)grove_predict_row_count(args) * args->out.elements * 2 * args->out.bytes;
}

/* BLOCK: rows of a block. CHANNELS: channels of a thread; 0: the kernel's own number. RESIDENT:
 * threads of a multiprocessor for which registers must be enough; 0: the kernel's own number. */
#define GROVE_PREDICT_TUNABLES(block, channels, resident)                                          \
    {                                                                                              \
        .tunable =                                                                                 \
            {[GROVE_PREDICT_BLOCK] = {"BLOCK", block, 4, {PREDICT_CUDA_ROWS, 32, 64, 256}},        \
             [GROVE_PREDICT_CHANNELS] = {"CHANNELS", channels, 7, {0, 1, 2, 4, 8, 16, 32}},        \
             [GROVE_PREDICT_RESIDENT] = {"RESIDENT", resident, 5, {0, 256, 512, 768, 1024}}},      \
        .allows = grove_predict_allows, .work = grove_predict_work, .tolerance = {                 \
            2e-6,                                                                                  \
            1e-13                                                                                  \
        }                                                                                          \
    }
static const grove_tunables grove_predict_direct_tunables =
                                GROVE_PREDICT_TUNABLES("compiled", "compiled", "cuda"),
                            grove_predict_other_tunables =
                                GROVE_PREDICT_TUNABLES("compiled", "opencl", "cuda"),
                            grove_predict_station_tunables =
                                GROVE_PREDICT_TUNABLES("opencl", "opencl", "cuda");

#define GROVE_PREDICT_KERNEL(name, file, tunables)                                                 \
    {                                                                                              \
        name, 0, 0, file, grove_predict_device_threads, PREDICT_CUDA_ROWS, 0, &(tunables)          \
    }

static int64_t grove_predict_station_threads(const grove_args *args)
{
    int time = grove_args_axis(args, GROVE_AXIS_TIME);
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);

    return (time < 0 ? 1 : args->size[time]) * (freq < 0 ? 1 : args->size[freq]) *
           grove_predict_station_tiles(args) * PREDICT_CUDA_ROWS;
}

/* Whether Jones terms are of the same stations as the coordinates. */
static inline int grove_predict_same_stations(const grove_args *args, int jones, int uvw)
{
    const grove_view *a = &args->in[jones], *b = &args->in[uvw];
    int baseline = grove_args_axis(args, GROVE_AXIS_BASELINE);

    if (!a->data || (!a->gather && !a->stride[baseline]))
        return 1;
    return a->gather && a->gather_axis == baseline &&
           !memcmp(a->gather, b->gather, sizeof(*a->gather) * (size_t)args->size[baseline]);
}

/* Whether an evaluation, its index arrays on the host, sums by stations: if its plan does, and its
 * axes and Jones terms suit rows of two stations. The same for all tiles of a run. */
static inline int grove_predict_goes_by_stations(const grove_args *args)
{
    const grove_predict_plan *plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    const grove_view *left = &args->in[GROVE_PREDICT_UVW_LEFT];
    const grove_view *right = &args->in[GROVE_PREDICT_UVW_RIGHT];
    int baseline = grove_args_axis(args, GROVE_AXIS_BASELINE);

    if (!plan->products || plan->stations < 1 || baseline < 0 ||
        args->inputs <= GROVE_PREDICT_UVW_RIGHT || !left->data || !right->data ||
        grove_predict_cuda_way(args) == GROVE_PREDICT_CUDA_PLAIN)
        return 0;
    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] == GROVE_AXIS_STATION || args->axis[d] >= GROVE_AXIS_OTHER)
            return 0;
    return left->gather && right->gather && left->gather_axis == baseline &&
           right->gather_axis == baseline && !args->in[GROVE_PREDICT_RATE].data &&
           !args->in[GROVE_PREDICT_WIDTH].data &&
           grove_predict_same_stations(args, GROVE_PREDICT_LEFT, GROVE_PREDICT_UVW_LEFT) &&
           grove_predict_same_stations(args, GROVE_PREDICT_RIGHT, GROVE_PREDICT_UVW_RIGHT);
}

/* Products of stations by sources, with tensor cores where the device has them, and without. */
static const grove_kernel grove_predict_station_kernel = {"predict_station",
                                                          0,
                                                          0,
                                                          "predict_station.cu",
                                                          grove_predict_station_threads,
                                                          PREDICT_CUDA_ROWS,
                                                          0,
                                                          &grove_predict_station_tunables};
static const grove_kernel grove_predict_station_vector_kernel = {"predict_station_vector",
                                                                 0,
                                                                 0,
                                                                 "predict_station.cu",
                                                                 grove_predict_station_threads,
                                                                 PREDICT_CUDA_ROWS,
                                                                 0,
                                                                 &grove_predict_station_tunables};

/* The kernel for an evaluation. */
static inline const grove_kernel *grove_predict_device(const grove_args *args)
{
    static const grove_kernel kernels[] = {
        [GROVE_PREDICT_CUDA_WIDE] = GROVE_PREDICT_KERNEL("predict_wide", "predict_direct.cu",
                                                         grove_predict_direct_tunables),
        [GROVE_PREDICT_CUDA_NARROW] = GROVE_PREDICT_KERNEL("predict_narrow", "predict_direct.cu",
                                                           grove_predict_direct_tunables),
        [GROVE_PREDICT_CUDA_CHANNEL] = GROVE_PREDICT_KERNEL("predict_channel", "predict_direct.cu",
                                                            grove_predict_direct_tunables),
        [GROVE_PREDICT_CUDA_IRREGULAR] =
            GROVE_PREDICT_KERNEL("predict_irregular", "predict.cu", grove_predict_other_tunables),
        [GROVE_PREDICT_CUDA_JONES] =
            GROVE_PREDICT_KERNEL("predict_jones", "predict.cu", grove_predict_other_tunables),
        [GROVE_PREDICT_CUDA_PLAIN] =
            GROVE_PREDICT_KERNEL("predict_plain", "predict.cu", grove_predict_other_tunables),
    };

    return grove_predict_goes_by_stations(args) ? &grove_predict_station_kernel
                                                : &kernels[grove_predict_cuda_way(args)];
}
#endif

#endif
