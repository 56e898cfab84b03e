/* TuneBench (Sclocco 2017, 7.3): five kernels, from those that memory binds to those that
 * arithmetic does, tuned on any device by the tuner of `grove tune`, each with five sizes. The
 * default configuration is compared with a direct sum first. */
#include "options.h"

#include "device/tuned.h"
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "bench/tune/triad.h"
#include "kernel.h"
#undef GROVE_KERNEL_SOURCE
#define GROVE_KERNEL_SOURCE "bench/tune/reduction.h"
#include "kernel.h"
#undef GROVE_KERNEL_SOURCE
#define GROVE_KERNEL_SOURCE "bench/tune/stencil.h"
#include "kernel.h"
#undef GROVE_KERNEL_SOURCE
#define GROVE_KERNEL_SOURCE "bench/tune/dynamics.h"
#include "kernel.h"
#undef GROVE_KERNEL_SOURCE
#define GROVE_KERNEL_SOURCE "bench/tune/correlator.h"
#include "kernel.h"

#define BLOCKS                                                                                     \
    {                                                                                              \
        "BLOCK", "device", 6,                                                                      \
        {                                                                                          \
            128, 32, 64, 256, 512, 1024                                                            \
        }                                                                                          \
    }
#define SINGLE                                                                                     \
    {                                                                                              \
        1e-5, 0                                                                                    \
    }
#define ITEM_KERNEL(name, threads)                                                                 \
    {                                                                                              \
#name, name##_items_single, name##_items_double, "bench/" #name ".cl", threads, 128, 0,    \
            &name##_tunables                                                                       \
    }

/* ---- the kernels ---- */

static bool triad_allows(const grove_args *args)
{
    const int32_t *t = args->tuned;

    return args->size[0] % ((int64_t)t[TRIAD_BLOCK] * t[TRIAD_WIDTH] * t[TRIAD_LENGTH]) == 0;
}

static void triad_work(const grove_args *args, double *operations, double *bytes)
{
    *operations = 2 * (double)args->size[0];
    *bytes = 12 * (double)args->size[0];
}

static const grove_tunables triad_tunables = {
    .tunable = {BLOCKS,
                {"WIDTH", NULL, 5, {1, 2, 4, 8, 16}},
                {"LENGTH", NULL, 6, {1, 2, 4, 8, 16, 64}}},
    .allows = triad_allows,
    .work = triad_work};

static bool reduction_allows(const grove_args *args)
{
    const int32_t *t = args->tuned;

    return args->size[1] % ((int64_t)t[REDUCTION_BLOCK] * t[REDUCTION_SUMS] * t[REDUCTION_STEP]) ==
           0;
}

static void reduction_work(const grove_args *args, double *operations, double *bytes)
{
    *operations = (double)grove_args_cells(args);
    *bytes = 4 * *operations;
}

static int64_t reduction_threads(const grove_args *args)
{
    return args->size[0] * args->tuned[REDUCTION_BLOCK];
}

static const grove_tunables reduction_tunables = {
    .tunable = {BLOCKS, {"SUMS", NULL, 5, {1, 2, 4, 8, 16}}, {"STEP", NULL, 4, {1, 2, 4, 8}}},
    .allows = reduction_allows,
    .work = reduction_work,
    .tolerance = SINGLE};

static bool stencil_allows(const grove_args *args)
{
    const int32_t *t = args->tuned;
    const int high = t[STENCIL_BLOCK] / t[STENCIL_WIDE];

    return t[STENCIL_BLOCK] % t[STENCIL_WIDE] == 0 &&
           args->size[0] % ((int64_t)high * t[STENCIL_Y]) == 0 &&
           args->size[1] % ((int64_t)t[STENCIL_WIDE] * t[STENCIL_X]) == 0;
}

static void stencil_work(const grove_args *args, double *operations, double *bytes)
{
    *operations = 17 * (double)grove_args_cells(args);
    *bytes = 8 * (double)grove_args_cells(args);
}

static const grove_tunables stencil_tunables = {.tunable = {BLOCKS,
                                                            {"WIDE", NULL, 5, {16, 1, 8, 32, 64}},
                                                            {"ITEMS_X", NULL, 5, {1, 2, 4, 8, 16}},
                                                            {"ITEMS_Y", NULL, 4, {1, 2, 4, 8}}},
                                                .allows = stencil_allows,
                                                .work = stencil_work,
                                                .tolerance = SINGLE};

static bool dynamics_allows(const grove_args *args)
{
    return args->size[0] % args->tuned[DYNAMICS_ITEMS] == 0;
}

static void dynamics_work(const grove_args *args, double *operations, double *bytes)
{
    *operations = 22 * (double)grove_args_cells(args);
    *bytes = 16 * (double)grove_args_cells(args) / args->tuned[DYNAMICS_ITEMS];
}

static const grove_tunables dynamics_tunables = {
    .tunable = {BLOCKS, {"ATOMS", NULL, 5, {1, 2, 4, 8, 16}}, {"UNROLL", NULL, 4, {1, 2, 4, 8}}},
    .allows = dynamics_allows,
    .work = dynamics_work,
    .tolerance = SINGLE};

static bool correlator_allows(const grove_args *args)
{
    const int receivers = correlator_receivers(args);

    return receivers % args->tuned[CORRELATOR_WIDE] == 0 &&
           receivers % args->tuned[CORRELATOR_HIGH] == 0;
}

static void correlator_work(const grove_args *args, double *operations, double *bytes)
{
    const double wide = args->tuned[CORRELATOR_WIDE], high = args->tuned[CORRELATOR_HIGH];

    *operations = 32 * (double)grove_args_cells(args);
    *bytes = 16 * (wide + high) / (wide * high) * (double)grove_args_cells(args);
}

static const grove_tunables correlator_tunables = {.tunable = {BLOCKS,
                                                               {"WIDE", NULL, 3, {1, 2, 4}},
                                                               {"HIGH", NULL, 3, {1, 2, 4}},
                                                               {"UNROLL", NULL, 4, {1, 2, 4, 8}}},
                                                   .allows = correlator_allows,
                                                   .work = correlator_work,
                                                   .tolerance = SINGLE};

/* ---- sizes and arrays ---- */

enum { SIZES = 5, CHANNELS = 16, SAMPLES = 256 };

typedef struct {
    grove_kernel kernel;
    int64_t sizes[SIZES]; /* elements, elements, edge, atoms, receivers */
    /* Sizes, numbers of the inputs and of the output. */
    void (*set)(grove_args *args, int64_t size, int64_t numbers[3]);
    float (*number)(int64_t n); /* of an input */
    /* Number k of the output, by a direct sum. */
    double (*direct)(const grove_args *args, float *const in[2], int64_t k);
} benchmark;

/* From 0 to 1, with little structure. */
static float scattered(int64_t n)
{
    return (float)((uint32_t)n * 2654435761U) / 4294967296.0F;
}

/* Coordinates of atoms near the points of a lattice. */
static float near_lattice(int64_t n)
{
    const int64_t atom = n / 4;
    const int64_t point[] = {atom % 16, atom / 16 % 16, atom / 256, 0};

    return (float)point[n % 4] + 0.3F * scattered(n);
}

static void set_triad(grove_args *args, int64_t size, int64_t numbers[3])
{
    *args = (grove_args){.axes = 1, .inputs = 2, .size = {size}};
    numbers[0] = numbers[1] = numbers[2] = size;
}

static double triad(const grove_args *args, float *const in[2], int64_t k)
{
    (void)args;
    return (double)in[0][k] + TRIAD_FACTOR * (double)in[1][k];
}

static void set_reduction(grove_args *args, int64_t size, int64_t numbers[3])
{
    *args = (grove_args){.axes = 2, .inputs = 1, .size = {64, size / 64}};
    numbers[0] = size;
    numbers[2] = 64;
}

static double reduction(const grove_args *args, float *const in[2], int64_t k)
{
    double sum = 0;

    for (int64_t at = 0; at < args->size[1]; at++)
        sum += (double)in[0][k * args->size[1] + at];
    return sum;
}

static void set_stencil(grove_args *args, int64_t size, int64_t numbers[3])
{
    *args = (grove_args){.axes = 2, .inputs = 1, .size = {size, size}};
    numbers[0] = (size + 2) * (size + 2);
    numbers[2] = size * size;
}

static double stencil(const grove_args *args, float *const in[2], int64_t k)
{
    static const double weight[] = {0.25, 0.15, 0.05};
    const int64_t y = k / args->size[1], x = k % args->size[1], row = args->size[1] + 2;
    double sum = 0;

    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += weight[abs(i) + abs(j)] * (double)in[0][(y + 1 + j) * row + x + 1 + i];
    return sum;
}

static void set_dynamics(grove_args *args, int64_t size, int64_t numbers[3])
{
    *args = (grove_args){.axes = 2, .inputs = 1, .size = {size, size}};
    numbers[0] = numbers[2] = 4 * size;
}

static double dynamics(const grove_args *args, float *const in[2], int64_t k)
{
    double sum = 0;

    for (int64_t by = 0; by < args->size[1] && k % 4 < 3; by++) {
        double square = 0;
        for (int e = 0; e < 3; e++)
            square += pow((double)in[0][4 * by + e] - (double)in[0][k / 4 * 4 + e], 2);
        if (by != k / 4)
            sum += (1.5 * pow(square, -3) - 2) * pow(square, -4) *
                   ((double)in[0][4 * by + k % 4] - (double)in[0][k]);
    }
    return sum;
}

static void set_correlator(grove_args *args, int64_t size, int64_t numbers[3])
{
    *args =
        (grove_args){.axes = 3, .inputs = 1, .size = {CHANNELS, size * (size + 1) / 2, SAMPLES}};
    numbers[0] = CHANNELS * SAMPLES * size * 4;
    numbers[2] = args->size[0] * args->size[1] * 8;
}

static double correlator(const grove_args *args, float *const in[2], int64_t k)
{
    const int64_t pair = k / 8 % args->size[1], channel = k / 8 / args->size[1];
    const int receivers = correlator_receivers(args), imaginary = (int)(k % 2);
    double sum = 0;
    int64_t y = 0;

    while ((y + 1) * (y + 2) / 2 <= pair)
        y++;
    const int64_t x = pair - y * (y + 1) / 2;
    for (int64_t s = 0; s < args->size[2]; s++) {
        const float *at = in[0] + (channel * args->size[2] + s) * receivers * 4;
        const float *a = at + 4 * y + k % 8 / 4 * 2, *b = at + 4 * x + k % 4 / 2 * 2;
        sum += imaginary ? (double)a[1] * (double)b[0] - (double)a[0] * (double)b[1]
                         : (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1];
    }
    return sum;
}

#define MILLION ((int64_t)1 << 20)
static const benchmark benchmarks[] = {
    {ITEM_KERNEL(triad, triad_count),
     {MILLION / 16, MILLION / 4, MILLION, 4 * MILLION, 16 * MILLION},
     set_triad,
     scattered,
     triad},
    {ITEM_KERNEL(reduction, reduction_threads),
     {MILLION / 8, MILLION / 2, 2 * MILLION, 8 * MILLION, 32 * MILLION},
     set_reduction,
     scattered,
     reduction},
    {ITEM_KERNEL(stencil, stencil_count),
     {128, 256, 512, 1024, 2048},
     set_stencil,
     scattered,
     stencil},
    {ITEM_KERNEL(dynamics, dynamics_count),
     {256, 512, 1024, 2048, 4096},
     set_dynamics,
     near_lattice,
     dynamics},
    {ITEM_KERNEL(correlator, correlator_count),
     {8, 16, 32, 64, 128},
     set_correlator,
     scattered,
     correlator},
};
enum { BENCHMARKS = sizeof(benchmarks) / sizeof(benchmarks[0]) };

/* ---- running ---- */

typedef struct {
    grove_device *device;
    const char *only; /* kernel, or NULL */
    int sizes;
} bench;

static int check(const benchmark *of, const grove_args *args, float *const in[2], const float *out,
                 int64_t numbers, grove_error *error)
{
    double largest = 0;

    for (int64_t k = 0; k < numbers; k++)
        largest = fmax(largest, fabs((double)out[k]));
    for (int64_t k = 0; k < numbers; k += 1 + numbers / 1000) {
        const double expected = of->direct(args, in, k);
        if (!(fabs((double)out[k] - expected) <= 1e-4 * largest))
            return grove_fail(error, GROVE_INTERNAL, "%s: number %lld of the output is %g, not %g",
                              of->kernel.name, (long long)k, (double)out[k], expected);
    }
    return 0;
}

/* Launches a kernel with one size, and compares the output with direct sums. */
static int launch(const bench *b, const benchmark *of, int64_t size, grove_error *error)
{
    grove_args args;
    int64_t numbers[3] = {0};
    float *host[3] = {0};
    void *at[3] = {0};
    int code = 0;

    of->set(&args, size, numbers);
    for (int k = 0; k < 3 && !code; k++) {
        const size_t bytes = (size_t)numbers[k] * sizeof(float);
        host[k] = calloc((size_t)numbers[k] + 1, sizeof(float));
        for (int64_t n = 0; n < numbers[k] && host[k] && k < 2; n++)
            host[k][n] = of->number(n);
        code =
            host[k] ? grove_device_allocate(b->device, bytes + 1, &at[k], error) : GROVE_NO_MEMORY;
        if (!code && bytes)
            code = grove_device_upload(b->device, at[k], host[k], bytes, error);
        if (!code)
            code = grove_device_ready(b->device, at[k], error);
    }
    for (int k = 0; k < 2; k++)
        args.in[k] = (grove_view){.data = at[k], .elements = 1, .bytes = sizeof(float)};
    args.out = (grove_view){.data = at[2], .elements = (int32_t)numbers[2], .bytes = sizeof(float)};
    if (!code)
        code = grove_device_launch(b->device, &of->kernel, &args, false, error);
    if (!code)
        code = grove_device_download(b->device, host[2], at[2], (size_t)numbers[2] * sizeof(float),
                                     error);
    if (!code)
        code = check(of, &args, host, host[2], numbers[2], error);
    for (int k = 0; k < 3; k++) {
        grove_device_release(b->device, at[k], (size_t)numbers[k] * sizeof(float) + 1);
        free(host[k]);
    }
    return code;
}

static int run(void *context, const grove_tuner *tuner, grove_error *error)
{
    const bench *b = context;
    int code = 0;

    b->device->tuner = tuner;
    for (int k = 0; k < BENCHMARKS && !code; k++)
        for (int s = 0; s < b->sizes && !code; s++)
            if (!b->only || !strcmp(b->only, benchmarks[k].kernel.name))
                code = launch(b, &benchmarks[k], benchmarks[k].sizes[s], error);
    b->device->tuner = NULL;
    return code;
}

int main(int count, char **words)
{
    tune_options options = {.guard = -1, .budget = 60, .patience = 30, .quiet = true};
    const char *device = "cpu", *strategy = "exhaustive";
    bench b = {.sizes = SIZES};
    const bench_option list[] = {
        {"device", "KIND", "cpu (the default), opencl or cuda", BENCH_TEXT, &device, 0},
        {"kernel", "NAME", "triad, reduction, stencil, dynamics or correlator (default: all)",
         BENCH_TEXT, &b.only, 0},
        {"sizes", "N", "the N smallest of five (default 5)", BENCH_COUNT, &b.sizes, SIZES},
        {"budget", "SECONDS", "how long to try configurations (default 60)", BENCH_SECONDS,
         &options.budget, 0},
        {"strategy", "WORD", "exhaustive (the default), random, local or counted", BENCH_TEXT,
         &strategy, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};
    grove_error *error = grove_error_new();
    tune_report report = {0};

    bench_read(list, "grove bench tuning [OPTIONS]", count - 1, words + 1);
    if (!tune_strategy_named(strategy, &options.strategy)) {
        fprintf(stderr, "grove bench tuning: --strategy %s: must be %s\n", strategy,
                tune_strategy_list);
        return 2;
    }
    b.device = grove_device_open(device, 0, 0, error);
    int code = b.device ? tune_kernels(run, &b, &options, &report, error) : GROVE_MISSING;
    if (code)
        fprintf(stderr, "grove bench tuning: %s\n", grove_error_message(error, 0));
    else
        tune_report_print(&report);
    tune_report_free(&report);
    grove_device_free(b.device);
    grove_error_free(error);
    return code != 0;
}
