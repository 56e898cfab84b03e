/* The sum over sources for baselines on a CUDA device: kernels whose argument is that of
 * grove_predict_cells with a whole grove_predict_plan in its state. */
#ifndef GROVE_KERNELS_CUDA_PREDICT_H
#define GROVE_KERNELS_CUDA_PREDICT_H

#include "../cpu/predict.h"

/* A thread takes one row (baseline and time) and a group of channels, which begins at an absolute
 * multiple of GROUP: no result depends on where a tile begins. A block takes ROWS rows. */
enum { PREDICT_CUDA_ROWS = 128, PREDICT_CUDA_GROUP = 8 };

/* Groups that the channels of the evaluation lie in; *first counts from the axis' start. */
GROVE_FN int64_t grove_predict_groups(const grove_args *args, int64_t *first)
{
    int d = grove_args_axis(args, GROVE_AXIS_FREQ);

    *first = d < 0 ? 0 : args->origin[d] / PREDICT_CUDA_GROUP;
    if (d < 0)
        return 1;
    if (args->size[d] < 1)
        return 0;
    return (args->origin[d] + args->size[d] - 1) / PREDICT_CUDA_GROUP - *first + 1;
}

GROVE_FN int64_t grove_predict_row_count(const grove_args *args)
{
    int64_t rows = 1;

    for (int d = 0; d < args->axes; d++)
        if (args->axis[d] != GROVE_AXIS_SOURCE && args->axis[d] != GROVE_AXIS_FREQ)
            rows *= args->size[d];
    return rows;
}

/* How many threads to launch, in blocks of PREDICT_CUDA_ROWS. */
GROVE_FN int64_t grove_predict_cuda_threads(const grove_args *args)
{
    int64_t first, groups = grove_predict_groups(args, &first);
    int64_t blocks = (grove_predict_row_count(args) + PREDICT_CUDA_ROWS - 1) / PREDICT_CUDA_ROWS;

    return blocks * groups * PREDICT_CUDA_ROWS;
}

/* Which of them an evaluation takes, by what its inputs vary with. */
enum {
    GROVE_PREDICT_CUDA,       /* predict_: Jones terms, if any, stand around the sum */
    GROVE_PREDICT_CUDA_JONES, /* predict_jones_: Jones terms vary with the source */
    GROVE_PREDICT_CUDA_PLAIN  /* predict_plain_: anything, every phase evaluated in double */
};

GROVE_FN int grove_predict_varies(const grove_args *args, int input, int axis)
{
    return axis >= 0 && input < args->inputs && args->in[input].data &&
           args->in[input].stride[axis] != 0;
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
    return grove_predict_varies(args, GROVE_PREDICT_LEFT, source) ||
                   grove_predict_varies(args, GROVE_PREDICT_RIGHT, source)
               ? GROVE_PREDICT_CUDA_JONES
               : GROVE_PREDICT_CUDA;
}

#ifndef GROVE_CUDA
static int64_t grove_predict_device_threads(const grove_args *args)
{
    return grove_predict_cuda_threads(args);
}

/* The kernel for an evaluation; for grove_class.device. */
static inline const grove_kernel *grove_predict_device(const grove_args *args)
{
    enum { BLOCK = PREDICT_CUDA_ROWS };
    static const grove_kernel kernels[] = {
        [GROVE_PREDICT_CUDA] = {"predict", 0, 0, "predict.cu", grove_predict_device_threads, BLOCK,
                                0},
        [GROVE_PREDICT_CUDA_JONES] = {"predict_jones", 0, 0, "predict.cu",
                                      grove_predict_device_threads, BLOCK, 0},
        [GROVE_PREDICT_CUDA_PLAIN] = {"predict_plain", 0, 0, "predict.cu",
                                      grove_predict_device_threads, BLOCK, 0},
    };

    return &kernels[grove_predict_cuda_way(args)];
}
#endif

#endif
