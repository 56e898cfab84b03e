/* Kernels that `grove bench roofline` measures. */
#ifndef GROVE_BENCH_ROOFLINE_H
#define GROVE_BENCH_ROOFLINE_H

#include "bounds.h"

#include <stdbool.h>

typedef struct {
    int isa, bytes;      /* grove_isa; of a real number */
    int times, channels; /* of the gridders' 64 stations */
    int size;            /* of their image, pixels */
    double epsilon;      /* their accuracy */
} bench_setup;

/* One way to make visibilities, or an image of them. */
typedef struct bench_kernel {
    const char *name;
    const char *workload; /* of sums over sources */
    bool degrids;
    int functions; /* that are given, of method=aw; 0: none */
    /* Inputs, and what a visibility (of sums, of a source) takes: operations and bytes. The program
     * ends without memory. */
    void *(*begin)(const struct bench_kernel *kernel, const bench_setup *setup, bench_work *work);
    double (*run)(void *state); /* once; returns how many visibilities */
    void (*end)(void *state);
} bench_kernel;

void *bench_begin_sum(const bench_kernel *kernel, const bench_setup *setup, bench_work *work);
double bench_run_sum(void *state);
void bench_end_sum(void *state);

void *bench_begin_w_stack(const bench_kernel *kernel, const bench_setup *setup, bench_work *work);
double bench_run_w_stack(void *state);
void bench_end_gridder(void *state);

void *bench_begin_functions(const bench_kernel *kernel, const bench_setup *setup, bench_work *work);
double bench_run_functions(void *state);

void *bench_begin_idg(const bench_kernel *kernel, const bench_setup *setup, bench_work *work);
double bench_run_idg(void *state);

#endif
