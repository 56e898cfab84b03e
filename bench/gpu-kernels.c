/* How fast the kernels are on a CUDA device, beside the limits of that device measured in the same
 * run: copies, memory, multiply-adds, sines. Wall times, medians of rounds, of launches that
 * follow each other. `grove bench gpu-kernels --help` lists the options; bench/gpu runs it.
 *
 * Workloads: P1 = 64 stations, 16 times, 64 channels 1.0-1.5 GHz, 1000 sources within a degree; P2
 * = the same with one channel and 10000 sources; P3 = 480 times, 64 channels, 10000 sources.
 */
#include "gpu-bench.h"
#include "machine.h"
#include "options.h"

#include <stdio.h>
#include <string.h>

static void measure_kernels(gpu_bench *b)
{
    gpu_measure_predict(b);
    gpu_measure_arrays(b);
    gpu_measure_gridder(b);
    gpu_measure_functions(b);
    gpu_measure_g2g(b);
    gpu_measure_idg(b);
    gpu_measure_fit(b);
}

int main(int count, char **words)
{
    gpu_bench b = {.program = "bench gpu-kernels",
                   .part = "",
                   .error = grove_error_new(),
                   .min = 0.2,
                   .rounds = 5};
    const char *size = "whole";
    double limit = 0;
    int counted = 0, scale = 1;
    const bench_option options[] = {
        {"rounds", "N", "rounds; results are medians (default 5)", BENCH_COUNT, &b.rounds, 99},
        {"seconds", "S", "at least so long for each number in a round (default 0.2)", BENCH_SECONDS,
         &b.min, 0},
        {"limit", "S", "begin no row after this number of seconds (default: no limit)",
         BENCH_SECONDS, &limit, 0},
        {"workload", "TEXT", "rows with TEXT in their names (default: all)", BENCH_TEXT, &b.part,
         0},
        {"size", "WORD", "whole, or tiny: only whether it runs (default whole)", BENCH_TEXT, &size,
         0},
        {"count", "N", "launch the kernel of row N once, at a small size (see bench/gpu-counted)",
         BENCH_COUNT, &counted, 999},
        {"scale", "K", "with --count: K times as many sources, of arrays times (default 1)",
         BENCH_COUNT, &scale, 9},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench gpu-kernels [OPTIONS]", count - 1, words + 1);
    b.tiny = !strcmp(size, "tiny");
    b.counted = counted;
    b.scale = scale;
    b.ends = limit > 0 ? bench_wall_seconds() + limit : 0;
    b.device = grove_device_open("cuda", 0, 0, b.error);
    gpu_must(&b, !b.device);
    if (counted) {
        b.tensor[0] = b.tensor[1] = 1; /* there are some, whatever their rate */
        measure_kernels(&b);
        grove_device_free(b.device);
        grove_error_free(b.error);
        return b.row < counted ? 3 : 0; /* there is no such row */
    }
    char libraries[64];
    b.device->algebra->describe(b.device, libraries, sizeof(libraries));
    printf("Device: %s. Libraries: %s. Medians of %d rounds. A multiply-add is one operation.\n\n",
           b.device->description, libraries, b.rounds);
    gpu_measure_limits(&b);
    measure_kernels(&b);
    grove_device_free(b.device);
    grove_error_free(b.error);
    return 0;
}
