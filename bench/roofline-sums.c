/* Sums over sources. */
#include "roofline.h"
#include "sums.h"

#include "machine.h"

#include "../kernels/sky/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Multiply-adds and their like of a sine and cosine, which workloads count among their own. */
enum { OF_PHASE = 16 };

typedef struct {
    const bench_sum_workload *workload;
    bench_sum *sum;
    double count;
} state;

void *bench_begin_sum(const bench_kernel *kernel, const bench_setup *setup, bench_work *work)
{
    const bench_sum_workload *w = bench_sum_workloads;
    state *s = bench_allocate(1, sizeof(*s));

    while (strcmp(w->name, kernel->workload))
        w++;
    *work = (bench_work){.operations = w->sum + w->rest - OF_PHASE * w->phases,
                         .phases = w->phases,
                         .memory = bench_sum_bytes(w, setup->bytes)};
    *s = (state){w, bench_sum_new(w, setup->bytes),
                 (double)BENCH_SUM_TIMES * BENCH_SUM_BASELINES * w->sources * w->channels};
    bench_sum_set_isa(w, s->sum, setup->isa);
    return s;
}

double bench_run_sum(void *context)
{
    const state *s = context;
    grove_predict_sum *sum = grove_predict_sum_new(&s->sum->args);

    if (!sum) {
        fprintf(stderr, "grove bench roofline: no memory\n");
        exit(1);
    }
    grove_predict_sum_cut(sum, 1);
    grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
    grove_predict_sum_free(sum);
    return s->count;
}

void bench_end_sum(void *context)
{
    state *s = context;

    bench_sum_free(s->sum);
    free(s);
}
