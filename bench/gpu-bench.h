/* What the parts of gpu-kernels share: a device, its measured limits, and rows of tables. */
#ifndef GROVE_BENCH_GPU_BENCH_H
#define GROVE_BENCH_GPU_BENCH_H

#include "device/device.h"

#include "../kernels/sky/predict_cost_cuda.h"

typedef struct {
    const char *program; /* its name in messages */
    const char *part;    /* rows with it in their names alone; NULL: all */
    grove_device *device;
    grove_error *error;
    double min;       /* s, of a measurement */
    double ends;      /* bench_wall_seconds() after which no row is begun; 0: no limit */
    int rounds, late; /* late: rows left out for lack of time */
    bool tiny;
    int64_t counted; /* launch the kernel of this row only, once, for its counts; 0: measure all */
    int64_t row;     /* so many rows have begun */
    int64_t scale;   /* of what is counted: times as many sources, or times */
    /* per second; [1]: double; of tensor cores 0 where there are none */
    double up, down, memory, multiply_adds[2], sines[2], tensor[2];
} gpu_bench;

/* The work of a kernel: operations in its precision, those always in double, those of tensor cores;
 * bytes to and from the device's memory; cells of its result, or terms of its sum, and how many of
 * them a second are the aim on an H200 (0: none). */
typedef struct {
    double operations, in_double, on_tensor, bytes, cells, aim;
} gpu_counts;

/* Ends the program with the device's message when `code` is not 0. */
void gpu_must(const gpu_bench *b, int code);
void *gpu_make_room(const gpu_bench *b, size_t bytes);
void *gpu_send(const gpu_bench *b, const void *from, size_t bytes);
/* Numbers in (-0.5, 0.5), and the device's memory filled with complex or real ones. */
double gpu_draw(void);
void *gpu_send_random(const gpu_bench *b, int64_t numbers, bool double_);

/* Median seconds of the work that `queue` queues; long work is repeated less often. */
double gpu_time(const gpu_bench *b, void (*queue)(const gpu_bench *b, void *context),
                void *context);
double gpu_time_launches(const gpu_bench *b, const grove_kernel *kernel, const grove_args *args,
                         bool double_);
/* Ends the program if there is no memory for what was made. */
void gpu_must_have(bool there);

/* Whether the row is to be run: it is asked for, there is time for it (if not, prints that in its
 * place), and it is the one that is counted. */
bool gpu_begins(gpu_bench *b, const char *name);
/* "| name | precision | ms | operations | of them always double | on tensor cores | bytes | share
 * of the limit that binds |". For the row that is counted "name <tab> precision <tab> cells <tab>
 * bytes <tab> aim". */
void gpu_print(const gpu_bench *b, const char *name, bool double_, double seconds,
               const gpu_counts *counts);
/* Ends the row, and releases the memory of inputs, output and table. */
void gpu_finish(const gpu_bench *b, const grove_args *args);
#define GPU_HEAD(title)                                                                            \
    "\n| " title                                                                                   \
    " | precision | ms | operations | always double | on tensor cores | bytes | share of "         \
    "the binding limit | 1e9/s |"
#define GPU_LINE "| --- | --- | --: | --: | --: | --: | --: | --: | --: |"

void gpu_measure_limits(gpu_bench *b);  /* gpu-limits.c: fills the rates */
void gpu_measure_predict(gpu_bench *b); /* gpu-predict.c */
/* The costs of sums over sources, in ps, as the built-in model has them: those of each way are
 * multiplied by how much longer it takes here. */
grove_predict_cuda_costs gpu_predict_costs(const gpu_bench *b);
void gpu_measure_arrays(gpu_bench *b);    /* gpu-arrays.c */
void gpu_measure_gridder(gpu_bench *b);   /* gpu-gridder.c */
void gpu_measure_functions(gpu_bench *b); /* gpu-functions.c */
void gpu_measure_g2g(gpu_bench *b);       /* gpu-g2g.c */
void gpu_measure_idg(gpu_bench *b);       /* gpu-idg.c */
void gpu_measure_fit(gpu_bench *b);       /* gpu-fit.c */

#endif
