/* Measures what sums over sources cost on this machine, on the cpu and on a GPU if there is one,
 * and keeps it in the user's cache folder. `grove tune` runs it. */
#include "gpu-bench.h"
#include "options.h"

#include "../kernels/simd/isa.h"
#include "nodes/sky/predict_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = PREDICT_COSTS_KINDS, MAX_ENTRIES = KINDS + 1 };

typedef struct {
    grove_predict_costs cpu[KINDS];
    grove_predict_cuda_costs gpu;
    char what[KINDS][PREDICT_COSTS_WORDS];
    grove_tuning entries[MAX_ENTRIES];
    int count;
} measured;

static void fail(const char *why)
{
    fflush(stdout);
    fprintf(stderr, "grove tune: %s\n", why);
    exit(1);
}

static void measure_cpu(measured *m)
{
    char why[160];
    grove_isa isa;

    if (grove_isa_choose(&isa, why))
        fail(why);
    for (int jones = 0; jones < KINDS; jones++) {
        if (!grove_predict_measure((int)isa, 4, jones, &m->cpu[jones]))
            fail("no memory for the measurement");
        m->entries[m->count++] =
            predict_costs_entry(&m->cpu[jones], (int)isa, jones, m->what[jones]);
    }
    printf("cpu     %s\n", grove_isa_name(isa));
}

static void measure_gpu(measured *m, gpu_bench *b)
{
    if (grove_device_count("cuda", b->error) <= 0) {
        printf("cuda    none%s%s\n", grove_error_count(b->error) ? ": " : "",
               grove_error_count(b->error) ? grove_error_message(b->error, 0) : "");
        grove_error_clear(b->error);
        return;
    }
    b->device = grove_device_open("cuda", 0, 0, b->error);
    gpu_must(b, !b->device);
    printf("cuda:0  %s\n", b->device->description);
    m->gpu = gpu_predict_costs(b);
    grove_device_free(b->device);
    m->entries[m->count++] = predict_cuda_costs_entry(&m->gpu);
}

int main(int count, char **words)
{
    gpu_bench b = {.program = "tune", .error = grove_error_new(), .min = 0.1, .rounds = 3};
    const char *size = "whole";
    const bench_option options[] = {
        {"size", "WORD", "whole, or tiny: only whether it runs on a GPU (default whole)",
         BENCH_TEXT, &size, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};
    measured m = {.count = 0};
    char *path = NULL;

    bench_read(options, "grove tune [OPTIONS]", count - 1, words + 1);
    b.tiny = !strcmp(size, "tiny");
    if (b.tiny)
        b.min = 1e-3;
    measure_cpu(&m);
    gpu_must(&b, grove_tuning_store(m.entries, m.count, &path, b.error));
    free(path); /* kept whatever becomes of the GPU */
    measure_gpu(&m, &b);
    gpu_must(&b, grove_tuning_store(m.entries, m.count, &path, b.error));
    printf("kept in %s\n", path);
    free(path);
    grove_error_free(b.error);
    return 0;
}
