/* Workloads of sums over sources: what they are given, and what they must move. */
#ifndef GROVE_BENCH_SUMS_H
#define GROVE_BENCH_SUMS_H

#include "cell.h"

#include <stdint.h>

enum {
    BENCH_SUM_STATIONS = 64,
    BENCH_SUM_BASELINES = BENCH_SUM_STATIONS * (BENCH_SUM_STATIONS - 1) / 2,
    BENCH_SUM_TIMES = 16
};

typedef struct {
    const char *name;
    int sources, channels, elements, spectra, smear;
    int jones; /* 2: they vary with frequency */
    int way;
    /* Of a source-visibility: multiply-adds (or their like) of the sum itself; those of its share
     * of phases and factors, panels with it; pairs of sine and cosine in these, 0: not counted. */
    double sum, rest, phases;
} bench_sum_workload;

extern const bench_sum_workload bench_sum_workloads[];
extern const int bench_sum_workload_count;

/* Inputs of a workload, in one precision. */
typedef struct {
    grove_args args;
    double *lmn, *uvw, *rate, *station, *freq, *width, interval;
    int32_t *left, *right;
    void *brightness, *jones, *out;
} bench_sum;

/* For numbers of so many bytes; the program ends without memory. */
bench_sum *bench_sum_new(const bench_sum_workload *workload, int bytes);
void bench_sum_free(bench_sum *sum);
/* Which instructions compute it. */
void bench_sum_set_isa(const bench_sum_workload *workload, bench_sum *sum, int isa);
/* Bytes of a source-visibility that have to be read or written at least once: sources, coordinates,
 * Jones terms, visibilities. */
double bench_sum_bytes(const bench_sum_workload *workload, int bytes);

#endif
