/* Measures matrix products, Fourier transforms and Cholesky factors by NVIDIA's libraries. */
#include "gpu-bench.h"
#include "machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 9 };

typedef struct {
    grove_product product;
    grove_transform transform;
    grove_cholesky cholesky;
    bool double_;
} work;

static void queue_product(const gpu_bench *b, void *context)
{
    const work *w = context;

    gpu_must(b, b->device->algebra->product(b->device, &w->product, w->double_, b->error));
}

static void queue_transform(const gpu_bench *b, void *context)
{
    const work *w = context;

    gpu_must(b, b->device->algebra->transform(b->device, &w->transform, w->double_, b->error));
}

static void queue_cholesky(const gpu_bench *b, void *context)
{
    const work *w = context;

    gpu_must(b, b->device->algebra->cholesky(b->device, &w->cholesky, b->error));
}

static void finish_row(void)
{
    printf("\n");
    fflush(stdout);
}

/* Stations by sources: 64 x 64 x 1000 for each of many channels and times. */
static void measure_product(gpu_bench *b, bool double_)
{
    int64_t n = b->tiny ? 5 : 64, inner = b->tiny ? 7 : 1000, count = b->tiny ? 2 : 2048;
    int64_t numbers = 2 * n * inner * count, out = 2 * n * n * count;
    size_t bytes = (size_t)out * (double_ ? 8 : 4);
    char name[64];

    snprintf(name, sizeof(name), "product 64 x 64 x 1000");
    if (!gpu_begins(b, name, COLUMNS))
        return;
    work w = {.product = {gpu_send_random(b, numbers, double_),
                          gpu_send_random(b, numbers, double_), gpu_make_room(b, bytes), n, n,
                          inner, count, n * inner, n * inner, n * n},
              .double_ = double_};
    double seconds = gpu_time(b, queue_product, &w);
    double operations = 4.0 * (double)(n * n * inner * count);
    gpu_print(b, name, double_, seconds,
              &(gpu_counts){.operations = operations,
                            .bytes = (double)(2 * numbers + out) * (double_ ? 8 : 4)});
    finish_row();
    grove_device_release(b->device, (void *)(uintptr_t)w.product.a, 0);
    grove_device_release(b->device, (void *)(uintptr_t)w.product.b, 0);
    grove_device_release(b->device, w.product.c, bytes);
}

/* Repeated in place: numbers overflow, which does not change the time. */
static void measure_transform(gpu_bench *b, int rank, bool double_)
{
    int64_t n = b->tiny ? 12 : 2048, count = b->tiny ? 2 : rank == 2 ? 16 : 16384;
    int64_t each = rank == 2 ? n * n : n, numbers = 2 * each * count;
    char name[64];

    snprintf(name, sizeof(name), "transform %s", rank == 2 ? "2048 x 2048" : "of 2048");
    if (!gpu_begins(b, name, COLUMNS))
        return;
    size_t bytes = (size_t)numbers * (double_ ? 8 : 4);
    work w = {
        .transform = {gpu_send_random(b, numbers, double_), {n, rank == 2 ? n : 1}, count, rank, 1},
        .double_ = double_};
    double seconds = gpu_time(b, queue_transform, &w);
    double operations = 2.5 * (double)(each * count) * log2((double)each);
    gpu_print(b, name, double_, seconds,
              &(gpu_counts){.operations = operations, .bytes = 2.0 * (double)bytes});
    finish_row();
    grove_device_release(b->device, w.transform.at, bytes);
}

/* Nearly a multiple of the unit matrix, so that each factor can be factored again. */
static void measure_cholesky(gpu_bench *b)
{
    int64_t n = b->tiny ? 9 : 2000, count = 8;
    size_t bytes = (size_t)(n * n) * 8;
    double *matrix = bench_allocate(bytes, 1);
    char name[64];

    snprintf(name, sizeof(name), "Cholesky 2000, 8 right sides");
    if (!gpu_begins(b, name, COLUMNS)) {
        free(matrix);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++)
            matrix[i * n + j] = matrix[j * n + i] = i == j ? 4 : 1e-7 * gpu_draw();
    work w = {.cholesky = {gpu_send(b, matrix, bytes), gpu_send_random(b, n * count, true),
                           gpu_make_room(b, 4), n, count},
              .double_ = true};
    double seconds = gpu_time(b, queue_cholesky, &w);
    double cube = (double)n * (double)n * (double)n;
    gpu_print(b, name, true, seconds,
              &(gpu_counts){.operations = cube / 6 + (double)(n * n * count),
                            .bytes = 2.0 * (double)bytes});
    finish_row();
    grove_device_release(b->device, w.cholesky.matrix, 0);
    grove_device_release(b->device, w.cholesky.right, 0);
    grove_device_release(b->device, w.cholesky.info, 0);
    free(matrix);
}

void gpu_measure_algebra(gpu_bench *b)
{
    char libraries[64];

    printf(GPU_HEAD("algebra") "\n" GPU_LINE "\n");
    b->device->algebra->describe(b->device, libraries, sizeof(libraries));
    for (int double_ = 0; double_ < 2; double_++) {
        if (strstr(libraries, "cuBLAS"))
            measure_product(b, double_);
        for (int rank = 1; rank <= 2 && strstr(libraries, "cuFFT"); rank++)
            measure_transform(b, rank, double_);
    }
    if (strstr(libraries, "cuSOLVER"))
        measure_cholesky(b);
}
