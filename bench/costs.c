/* Measures what sums over sources cost on this machine's GPU, if there is one, and keeps it in the
 * user's cache folder. `grove tune` runs it. */
#include "gpu-bench.h"
#include "options.h"

#include "nodes/sky/predict_cost.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether there is a GPU. */
static bool measure_gpu(gpu_bench *b, grove_predict_cuda_costs *costs)
{
    if (grove_device_count("cuda", b->error) <= 0) {
        printf("cuda    none%s%s\n", grove_error_count(b->error) ? ": " : "",
               grove_error_count(b->error) ? grove_error_message(b->error, 0) : "");
        grove_error_clear(b->error);
        return false;
    }
    b->device = grove_device_open("cuda", 0, 0, b->error);
    gpu_must(b, !b->device);
    printf("cuda:0  %s\n", b->device->description);
    *costs = gpu_predict_costs(b);
    grove_device_free(b->device);
    return true;
}

int main(int count, char **words)
{
    gpu_bench b = {.program = "tune", .error = grove_error_new(), .min = 0.1, .rounds = 3};
    const char *size = "whole";
    const bench_option options[] = {
        {"size", "WORD", "whole, or tiny: only whether it runs on a GPU (default whole)",
         BENCH_TEXT, &size, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};
    grove_predict_cuda_costs costs;
    char *path = NULL;

    bench_read(options, "grove tune [OPTIONS]", count - 1, words + 1);
    b.tiny = !strcmp(size, "tiny");
    if (b.tiny)
        b.min = 1e-3;
    if (measure_gpu(&b, &costs)) {
        const grove_tuning entry = predict_cuda_costs_entry(&costs);
        gpu_must(&b, grove_tuning_store(NULL, &entry, 1, &path, b.error));
        printf("kept in %s\n", path);
    }
    free(path);
    grove_error_free(b.error);
    return 0;
}
