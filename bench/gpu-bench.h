/* What the parts of gpu-kernels share: a device, the limits measured on it, and rows of tables. */
#ifndef GROVE_BENCH_GPU_BENCH_H
#define GROVE_BENCH_GPU_BENCH_H

#include "device/device.h"

typedef struct {
    grove_device *device;
    grove_error *error;
    double least;     /* s, of a measurement */
    double ends;      /* bench_wall_seconds() after which nothing new is begun; 0: never */
    int rounds, late; /* late: rows for which there was no time */
    bool tiny;
    double up, down, memory, multiply_adds[2], sines[2]; /* per second; [1]: double */
} gpu_bench;

/* Ends the program with the device's message when `code` is not 0. */
void gpu_must(const gpu_bench *b, int code);
void *gpu_make_room(const gpu_bench *b, size_t bytes);
void *gpu_send(const gpu_bench *b, const void *from, size_t bytes);
/* Numbers in (-0.5, 0.5), and complex or real ones in the device's memory. */
double gpu_draw(void);
void *gpu_send_random(const gpu_bench *b, int64_t numbers, bool double_);

/* Median seconds of what `queue` has the device do; a thing that takes long is done fewer times. */
double gpu_time(const gpu_bench *b, void (*queue)(const gpu_bench *b, void *context),
                void *context);
double gpu_time_launches(const gpu_bench *b, const grove_kernel *kernel, const grove_args *args,
                         bool double_);

/* Whether there is time for another row; says so in its place where there is none. */
bool gpu_begins(gpu_bench *b, const char *name, int columns);
/* "| name | precision | ms | operations | ... | share of limit |": operations in the kernel's
 * precision, those that are always double, bytes that have to be moved. */
void gpu_print(const gpu_bench *b, const char *name, bool double_, double seconds,
               double operations, double in_double, double bytes);

void gpu_measure_limits(gpu_bench *b);                     /* gpu-limits.c: fills the rates */
void gpu_measure_predict(gpu_bench *b, const char *words); /* gpu-predict.c */
void gpu_measure_arrays(gpu_bench *b);                     /* gpu-arrays.c */
void gpu_measure_algebra(gpu_bench *b); /* gpu-algebra.c: with libraries or own kernels */

#endif
