/* Measures the limits of a device: copies, memory, multiply-adds, sines. */
#include "gpu-bench.h"
#include "machine.h"

#include "../kernels/limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 99 };

static const grove_kernel multiply_add = {"multiply_add",       NULL, NULL, "limits.cu",
                                          grove_limits_threads, 0,    0};
static const grove_kernel sines = {"sines", NULL, NULL, "limits.cu", grove_limits_threads, 0, 0};
static const grove_kernel tensor = {"tensor", NULL, NULL, "limits.cu", grove_limits_threads, 0, 0};
static const grove_kernel stream = {"stream", NULL, NULL, "limits.cu", grove_limits_threads, 0, 0};

static void print_limit(const char *name, double seconds, double operations, double bytes)
{
    printf("| %s | %.3g | ", name, 1e3 * seconds);
    if (operations > 0)
        printf("%.3g | | %.4g 1e9/s |\n", operations, operations / seconds / 1e9);
    else
        printf("| %.3g | %.4g GB/s |\n", bytes, bytes / seconds / 1e9);
    fflush(stdout);
}

/* Copies both ways with memory that is not pinned: by the host's clock, and the time that the
 * device itself was copying (busy). */
static void measure_copies(gpu_bench *b)
{
    size_t bytes = b->tiny ? 1 << 16 : 1 << 28;
    void *host = bench_allocate(bytes, 1), *there = gpu_send(b, host, bytes);
    double up[MAX_ROUNDS], down[MAX_ROUNDS];
    grove_device *device = b->device;

    memset(host, 1, bytes);
    gpu_must(b, grove_timing_collect(device, b->error));
    grove_busy before = device->timing.busy;
    device->timing.enabled = true;
    for (int round = 0; round < b->rounds; round++) {
        double start = bench_wall_seconds();
        gpu_must(b, grove_device_upload(device, there, host, bytes, b->error));
        gpu_must(b, grove_device_ready(device, there, b->error));
        gpu_must(b, grove_device_wait(device, b->error));
        up[round] = bench_wall_seconds() - start;
        start = bench_wall_seconds();
        gpu_must(b, grove_device_download(device, host, there, bytes, b->error));
        down[round] = bench_wall_seconds() - start;
    }
    gpu_must(b, grove_timing_collect(device, b->error));
    device->timing.enabled = false;
    double up_busy = (device->timing.busy.up - before.up) / b->rounds;
    double down_busy = (device->timing.busy.down - before.down) / b->rounds;
    b->up = (double)bytes / bench_median(up, b->rounds);
    b->down = (double)bytes / bench_median(down, b->rounds);
    print_limit("copy to the device, pageable", (double)bytes / b->up, 0, (double)bytes);
    print_limit("the same, the device alone (pinned)", up_busy, 0, (double)bytes);
    print_limit("copy from the device, pageable", (double)bytes / b->down, 0, (double)bytes);
    print_limit("the same, the device alone (pinned)", down_busy, 0, (double)bytes);
    grove_device_release(device, there, bytes);
    free(host);
}

static void measure_memory(gpu_bench *b)
{
    size_t bytes = b->tiny ? 1 << 14 : 1 << 30;
    grove_limits_state state = {(int64_t)bytes / 16, 0, 0, 0};
    grove_args args = {.axes = 1, .inputs = 1, .size = {state.threads}};

    memcpy(args.state.bytes, &state, sizeof(state));
    args.out.data = gpu_make_room(b, bytes);
    args.in[0].data = gpu_send_random(b, (int64_t)bytes / 8, true);
    double seconds = gpu_time_launches(b, &stream, &args, true);
    b->memory = 2 * (double)bytes / seconds;
    print_limit("memory, read and written", seconds, 0, 2 * (double)bytes);
    grove_device_release(b->device, args.out.data, bytes);
    grove_device_release(b->device, args.in[0].data, bytes);
}

static double measure_chains(const gpu_bench *b, const grove_kernel *kernel, const char *name,
                             bool double_)
{
    grove_limits_state state = {b->tiny ? 128 : 1 << 20, b->tiny ? 16 : 2048, 0.999, 1e-3};
    size_t bytes = (size_t)state.threads * 8;
    double operations = (double)state.threads * (double)state.rounds * LIMITS_CHAINS;
    grove_args args = {.axes = 1, .size = {state.threads}};

    if (kernel == &tensor) {
        state.rounds = b->tiny ? 2 : 512;
        operations = (double)state.threads / 32 * (double)state.rounds * LIMITS_CHAINS *
                     (double_ ? LIMITS_TENSOR_DOUBLE : LIMITS_TENSOR_SINGLE);
    }
    memcpy(args.state.bytes, &state, sizeof(state));
    args.out.data = gpu_make_room(b, bytes);
    double seconds = gpu_time_launches(b, kernel, &args, double_);
    print_limit(name, seconds, operations, 0);
    grove_device_release(b->device, args.out.data, bytes);
    return operations / seconds;
}

void gpu_measure_limits(gpu_bench *b)
{
    printf("| limit | ms | operations | bytes | rate |\n| --- | --: | --: | --: | --: |\n");
    measure_copies(b);
    measure_memory(b);
    b->multiply_adds[0] = measure_chains(b, &multiply_add, "multiply-adds, single", false);
    b->multiply_adds[1] = measure_chains(b, &multiply_add, "multiply-adds, double", true);
    b->sines[0] = measure_chains(b, &sines, "sines, single", false);
    b->sines[1] = measure_chains(b, &sines, "sines, double", true);
    const char *compute = strstr(b->device->description, "compute ");
    if (!compute || atoi(compute + strlen("compute ")) < 8)
        return; /* none that are used */
    b->tensor[0] = measure_chains(b, &tensor, "multiply-adds on tensor cores, TF32", false);
    b->tensor[1] = measure_chains(b, &tensor, "multiply-adds on tensor cores, double", true);
}
