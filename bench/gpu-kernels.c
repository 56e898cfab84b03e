/* How fast the kernels are on a CUDA device, beside the limits of that device measured in the same
 * run: copies, memory, multiply-adds, sines. Wall times, medians of rounds, of launches that
 * follow each other. `grove bench gpu-kernels --help` lists the options; bench/gpu runs it.
 *
 * Workloads: P1 = 64 stations, 16 times, 64 channels 1.0-1.5 GHz, 1000 sources within a degree; P2
 * = the same with one channel and 10000 sources; P3/20 = 24 times, 64 channels, 10000 sources.
 */
#include "machine.h"
#include "options.h"

#include "device/array.h"
#include "device/device.h"

#include "../kernels/cuda/fold.h"
#include "../kernels/cuda/limits.h"
#include "../kernels/cuda/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STATIONS = 64, MOST_BASELINES = MOST_STATIONS * (MOST_STATIONS - 1) / 2 };
enum { INPUTS = 10, MOST_ROUNDS = 99, COMPARED = 4 };

typedef struct {
    grove_device *device;
    grove_error *error;
    double least; /* s, of a measurement */
    int rounds;
    bool tiny;
    double up, down, memory, multiply_adds[2], sines[2]; /* per second; [1]: double */
} bench;

typedef struct {
    const char *name;
    int sources, times, channels, elements;
    bool smear, jones;
    double operations, in_double; /* for a source-visibility: in the kernel's precision, and those
                                     that are in double always */
} workload;

/* Operations: v = z factor 2, z step 4, the sums 2 for each real weight or 4 for each complex one,
 * products of Jones terms 2 x 32; phases of a group of eight channels about 2 x 16 and 2 x 4 + 3
 * in double; a factor of smearing 16 and 5. */
static const workload workloads[] = {
    {"P1 I", 1000, 16, 64, 1, false, false, 8 + 4, 1.4},
    {"P1 I, smeared", 1000, 16, 64, 1, true, false, 8 + 4 + 18, 7},
    {"P1 IQUV", 1000, 16, 64, 4, false, false, 22 + 4, 1.4},
    {"P1 2x2 Jones", 1000, 16, 64, 4, false, true, 86 + 4, 1.4},
    {"P1 2x2 Jones, smeared", 1000, 16, 64, 4, true, true, 86 + 4 + 18, 7},
    {"P2 I", 10000, 16, 1, 1, false, false, 64 + 32, 11},
    {"P2 2x2 Jones, smeared", 10000, 16, 1, 4, true, true, 688 + 32 + 144, 56},
    {"P3/20 I", 10000, 24, 64, 1, false, false, 8 + 4, 1.4},
};
enum { WORKLOADS = sizeof(workloads) / sizeof(*workloads) };

static const grove_kernel multiply_add = {"multiply_add",       NULL, NULL, "limits.cu",
                                          grove_limits_threads, 0,    0};
static const grove_kernel sines = {"sines", NULL, NULL, "limits.cu", grove_limits_threads, 0, 0};
static const grove_kernel stream = {"stream", NULL, NULL, "limits.cu", grove_limits_threads, 0, 0};

static int32_t left[MOST_BASELINES], right[MOST_BASELINES];
static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(3, counter++, 0, 0, 0)) - 0.5;
}

/* Ends the program when `code` is not 0. */
static void must(const bench *b, int code)
{
    if (!code)
        return;
    fprintf(stderr, "grove bench gpu-kernels: %s\n", grove_error_message(b->error, 0));
    exit(1);
}

static void *make_room(const bench *b, size_t bytes)
{
    void *at = NULL;

    must(b, b->device->allocate(b->device, bytes, &at, b->error));
    return at;
}

static void *send(const bench *b, const void *from, size_t bytes)
{
    void *at = make_room(b, bytes);

    must(b, b->device->upload(b->device, at, from, bytes, b->error));
    must(b, b->device->ready(b->device, at, b->error));
    return at;
}

/* Median seconds of a launch. */
static double time_launches(const bench *b, const grove_kernel *kernel, const grove_args *args,
                            bool double_)
{
    grove_device *device = b->device;
    double seconds[MOST_ROUNDS];

    must(b, device->launch(device, kernel, args, double_, b->error));
    must(b, device->wait(device, b->error));
    for (int round = 0; round < b->rounds; round++) {
        int64_t done = 0, next = 1;
        double start = bench_wall_seconds(), taken = 0;
        while (taken < b->least) {
            for (int64_t k = 0; k < next; k++)
                must(b, device->launch(device, kernel, args, double_, b->error));
            must(b, device->wait(device, b->error));
            done += next;
            next = done;
            taken = bench_wall_seconds() - start;
        }
        seconds[round] = taken / (double)done;
    }
    return bench_median(seconds, b->rounds);
}

static void print_limit(const char *name, double seconds, double operations, double bytes)
{
    printf("| %s | %.3g | ", name, 1e3 * seconds);
    if (operations > 0)
        printf("%.3g | | %.4g 1e9/s |\n", operations, operations / seconds / 1e9);
    else
        printf("| %.3g | %.4g GB/s |\n", bytes, bytes / seconds / 1e9);
    fflush(stdout);
}

static void measure_copies(bench *b)
{
    size_t bytes = b->tiny ? 1 << 16 : 1 << 28;
    void *host = bench_allocate(bytes, 1), *there = send(b, host, bytes);
    double up[MOST_ROUNDS], down[MOST_ROUNDS];
    grove_device *device = b->device;

    memset(host, 1, bytes);
    must(b, device->wait(device, b->error));
    for (int round = 0; round < b->rounds; round++) {
        double start = bench_wall_seconds();
        must(b, device->upload(device, there, host, bytes, b->error));
        must(b, device->ready(device, there, b->error));
        must(b, device->wait(device, b->error));
        up[round] = bench_wall_seconds() - start;
        start = bench_wall_seconds();
        must(b, device->download(device, host, there, bytes, b->error));
        down[round] = bench_wall_seconds() - start;
    }
    b->up = (double)bytes / bench_median(up, b->rounds);
    b->down = (double)bytes / bench_median(down, b->rounds);
    print_limit("copy to the device, pageable", (double)bytes / b->up, 0, (double)bytes);
    print_limit("copy from the device, pageable", (double)bytes / b->down, 0, (double)bytes);
    device->release(device, there, bytes);
    free(host);
}

static void measure_memory(bench *b)
{
    size_t bytes = b->tiny ? 1 << 14 : 1 << 29;
    grove_limits_state state = {(int64_t)bytes / 16, 0, 0, 0};
    grove_args args = {.axes = 1, .inputs = 1, .size = {state.threads}};

    memcpy(args.state.bytes, &state, sizeof(state));
    args.out.data = make_room(b, bytes);
    args.in[0].data = make_room(b, bytes);
    must(b, b->device->clear(b->device, args.in[0].data, bytes, b->error));
    double seconds = time_launches(b, &stream, &args, true);
    b->memory = 2 * (double)bytes / seconds;
    print_limit("memory, read and written", seconds, 0, 2 * (double)bytes);
    b->device->release(b->device, args.out.data, bytes);
    b->device->release(b->device, args.in[0].data, bytes);
}

static double measure_chains(const bench *b, const grove_kernel *kernel, const char *name,
                             bool double_)
{
    grove_limits_state state = {b->tiny ? 128 : 1 << 20, b->tiny ? 16 : 2048, 0.999, 1e-3};
    size_t bytes = (size_t)state.threads * 8;
    double operations = (double)state.threads * (double)state.rounds * LIMITS_CHAINS;
    grove_args args = {.axes = 1, .size = {state.threads}};

    memcpy(args.state.bytes, &state, sizeof(state));
    args.out.data = make_room(b, bytes);
    double seconds = time_launches(b, kernel, &args, double_);
    print_limit(name, seconds, operations, 0);
    b->device->release(b->device, args.out.data, bytes);
    return operations / seconds;
}

static void measure_limits(bench *b)
{
    printf("| limit | ms | operations | bytes | rate |\n| --- | --: | --: | --: | --: |\n");
    measure_copies(b);
    measure_memory(b);
    b->multiply_adds[0] = measure_chains(b, &multiply_add, "multiply-adds, single", false);
    b->multiply_adds[1] = measure_chains(b, &multiply_add, "multiply-adds, double", true);
    b->sines[0] = measure_chains(b, &sines, "sines, single", false);
    b->sines[1] = measure_chains(b, &sines, "sines, double", true);
}

/* ---- the sum over sources ---- */

static int64_t view_bytes(const grove_args *args, int k, int stations)
{
    const grove_view *view = &args->in[k];
    int64_t bytes = (int64_t)view->elements * (view->complex_ ? 2 : 1) * view->bytes;

    for (int d = 0; d < args->axes; d++)
        if (view->stride[d])
            bytes *= view->gather && d == view->gather_axis ? stations : args->size[d];
    return bytes;
}

/* A dense view of `elements` numbers that vary along axes (bits); of stations with `index`. */
static void add_input(grove_args *args, int k, int varies, int elements, int bytes, int stations)
{
    const bool complex_ = k == GROVE_PREDICT_BRIGHTNESS || k >= GROVE_PREDICT_LEFT;
    grove_view *view = &args->in[k];
    int64_t step = (int64_t)elements * (complex_ ? 2 : 1) * bytes;

    *view = (grove_view){.elements = elements,
                         .shape = elements == 3 ? GROVE_VECTOR : elements,
                         .complex_ = complex_,
                         .bytes = bytes};
    if (k >= GROVE_PREDICT_LEFT) {
        view->gather_axis = 2;
        view->gather = k == GROVE_PREDICT_LEFT ? left : right;
    }
    for (int d = 3; d >= 0; d--)
        if (varies >> d & 1) {
            view->stride[d] = step;
            step *= view->gather && d == 2 ? stations : args->size[d];
        }
    view->data = bench_allocate((size_t)view_bytes(args, k, stations), 1);
}

static void put(const grove_view *view, int64_t at, double x)
{
    if (view->bytes == 8)
        ((double *)view->data)[at] = x;
    else
        ((float *)view->data)[at] = (float)x;
}

static void fill_inputs(const workload *w, grove_args *args, int stations)
{
    double *lmn = args->in[GROVE_PREDICT_LMN].data, *freq = args->in[GROVE_PREDICT_FREQ].data;
    double *uvw = args->in[GROVE_PREDICT_UVW].data;

    for (int64_t s = 0; s < args->size[0]; s++) {
        double l = 0.034 * draw(), m = 0.034 * draw();
        double i = draw() + 0.6, q = 0.1 * draw(), u = 0.1 * draw(), v = 0.1 * draw();
        double b8[8] = {i + q, 0, u, v, u, -v, i - q, 0};
        memcpy(lmn + 3 * s, (double[]){l, m, sqrt(1 - l * l - m * m) - 1}, 24);
        for (int e = 0; e < 2 * w->elements; e++)
            put(&args->in[GROVE_PREDICT_BRIGHTNESS], 2 * w->elements * s + e, b8[e]);
    }
    for (int64_t n = 0; n < 3 * args->size[1] * args->size[2]; n++)
        uvw[n] = (n % 3 == 2 ? 1e2 : 4e3) * draw();
    for (int64_t k = 0; k < args->size[3]; k++)
        freq[k] = 1e9 + 7.8125e6 * (double)k;
    if (w->smear) {
        double *rate = args->in[GROVE_PREDICT_RATE].data;
        for (int64_t n = 0; n < 3 * args->size[1] * args->size[2]; n++)
            rate[n] = 7.27e-5 * uvw[n / 3 * 3 + (n + 1) % 3];
        for (int64_t t = 0; t < args->size[1]; t++)
            ((double *)args->in[GROVE_PREDICT_INTERVAL].data)[t] = 10;
        for (int64_t k = 0; k < args->size[3]; k++)
            ((double *)args->in[GROVE_PREDICT_WIDTH].data)[k] = 7.8125e6;
    }
    for (int k = GROVE_PREDICT_LEFT; w->jones && k <= GROVE_PREDICT_RIGHT; k++)
        for (int64_t n = 0; n < args->size[0] * stations * 8; n++)
            put(&args->in[k], n, 0.2 * draw() + (n % 8 == 0 || n % 8 == 6));
}

static grove_args make_args(const bench *b, const workload *w, int bytes, int *stations)
{
    enum { SOURCE = 1, TIME = 2, BASELINE = 4, FREQ = 8 };
    grove_args args = {
        .axes = 4,
        .inputs = INPUTS,
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    int n = 0;

    *stations = b->tiny ? 5 : MOST_STATIONS;
    for (int p = 0; p < *stations; p++)
        for (int q = p + 1; q < *stations; q++, n++) {
            left[n] = p;
            right[n] = q;
        }
    args.size[0] = b->tiny ? w->sources / 100 : w->sources;
    args.size[1] = b->tiny ? 2 : w->times;
    args.size[2] = n;
    args.size[3] = b->tiny && w->channels > 1 ? 9 : w->channels;
    add_input(&args, GROVE_PREDICT_BRIGHTNESS, SOURCE, w->elements, bytes, *stations);
    add_input(&args, GROVE_PREDICT_LMN, SOURCE, 3, 8, *stations);
    add_input(&args, GROVE_PREDICT_UVW, TIME | BASELINE, 3, 8, *stations);
    add_input(&args, GROVE_PREDICT_FREQ, FREQ, 1, 8, *stations);
    if (w->smear) {
        add_input(&args, GROVE_PREDICT_RATE, TIME | BASELINE, 3, 8, *stations);
        add_input(&args, GROVE_PREDICT_INTERVAL, TIME, 1, 8, *stations);
        add_input(&args, GROVE_PREDICT_WIDTH, FREQ, 1, 8, *stations);
    }
    for (int k = GROVE_PREDICT_LEFT; w->jones && k <= GROVE_PREDICT_RIGHT; k++)
        add_input(&args, k, SOURCE | BASELINE, 4, bytes, *stations);
    grove_predict_plan plan = {.channels = {1, 0, 1e9, 7.8125e6},
                               .count = args.size[3],
                               .equal_width = 1,
                               .width = 7.8125e6,
                               .reference = 1.25e9,
                               .smear_time = w->smear,
                               .smear_freq = w->smear};
    memcpy(args.state.bytes, &plan, sizeof(plan));
    fill_inputs(w, &args, *stations);
    args.out =
        (grove_view){.elements = w->elements, .shape = w->elements, .complex_ = 1, .bytes = bytes};
    args.out.stride[3] = (int64_t)w->elements * 2 * bytes;
    args.out.stride[2] = args.out.stride[3] * args.size[3];
    args.out.stride[1] = args.out.stride[2] * n;
    return args;
}

/* Relative difference of `result` from the plain way of the cpu on some rows. */
static double difference(grove_args *args, const void *result)
{
    int64_t rows = args->size[1] * args->size[2], step = rows / COMPARED;
    int64_t each = args->out.stride[2] / args->out.bytes;
    double error = 0, size = 0;

    for (int64_t row = 0; row < rows; row += step) {
        grove_predict_cells(args, row, row + 1);
        for (int64_t n = row * each; n < (row + 1) * each; n++) {
            bool double_ = args->out.bytes == 8;
            double x =
                double_ ? ((double *)args->out.data)[n] : (double)((float *)args->out.data)[n];
            double y = double_ ? ((const double *)result)[n] : (double)((const float *)result)[n];
            error += (x - y) * (x - y);
            size += x * x;
        }
    }
    return sqrt(error / size);
}

/* The time that the binding limit alone would take. */
static double bound(const bench *b, double operations, double in_double, double bytes, bool double_,
                    const char **name)
{
    double in_single = double_ ? 0 : operations / b->multiply_adds[0];
    double doubles = ((double_ ? operations : 0) + in_double) / b->multiply_adds[1];
    double memory = bytes / b->memory, most = fmax(in_single, fmax(doubles, memory));

    *name = most == memory ? "memory" : most == doubles ? "double" : "single";
    return most;
}

static void print_kernel(const bench *b, const char *name, bool double_, double seconds,
                         double operations, double in_double, double bytes)
{
    const char *limit;
    double least = bound(b, operations, in_double, bytes, double_, &limit);

    printf("| %s | %s | %.4g | %.3g | %.3g | %.3g | %.0f %% of %s |", name,
           double_ ? "double" : "single", 1e3 * seconds, operations, in_double, bytes,
           100 * least / seconds, limit);
}

static void measure_predict(const bench *b, const workload *w, bool double_)
{
    int stations;
    grove_args args = make_args(b, w, double_ ? 8 : 4, &stations), there = args;
    size_t bytes = (size_t)(args.out.stride[1] * args.size[1]);
    double moved = (double)bytes, sum;
    void *result = bench_allocate(bytes, 1);

    for (int k = 0; k < INPUTS; k++)
        if (args.in[k].data) {
            size_t size = (size_t)view_bytes(&args, k, stations);
            there.in[k].data = send(b, args.in[k].data, size);
            moved += (double)size;
        }
    there.out.data = make_room(b, bytes);
    double seconds = time_launches(b, grove_predict_device(&args), &there, double_);
    must(b, b->device->download(b->device, result, there.out.data, bytes, b->error));
    args.out.data = bench_allocate(bytes, 1);
    sum = (double)args.size[0] * (double)args.size[1] * (double)args.size[2] * (double)args.size[3];
    print_kernel(b, w->name, double_, seconds, sum * w->operations, sum * w->in_double, moved);
    printf(" %.4g | %.1e |\n", sum / seconds / 1e9, difference(&args, result));
    fflush(stdout);
    for (int k = 0; k < INPUTS; k++) {
        if (args.in[k].data)
            b->device->release(b->device, there.in[k].data, 0);
        free(args.in[k].data);
    }
    b->device->release(b->device, there.out.data, bytes);
    free(args.out.data);
    free(result);
}

/* Complex numbers in single [time, baseline, freq], summed over the axes that are not kept. */
static void measure_fold(const bench *b, const char *name, int kept)
{
    grove_args args = {.axes = 3, .inputs = 4};
    grove_fold_state state = {GROVE_FOLD_SUM, -1, 0};
    int64_t numbers = 1, outputs = 1;

    memcpy(args.size, b->tiny ? (int64_t[]){3, 10, 4} : (int64_t[]){64, 2016, 64}, 24);
    args.axis[0] = GROVE_AXIS_TIME;
    args.axis[1] = GROVE_AXIS_BASELINE;
    args.axis[2] = GROVE_AXIS_FREQ;
    args.out = (grove_view){.elements = 1, .shape = GROVE_SCALAR, .complex_ = 1, .bytes = 8};
    args.in[0] = (grove_view){.elements = 1, .shape = GROVE_SCALAR, .complex_ = 1, .bytes = 4};
    for (int d = 2; d >= 0; d--) {
        args.in[0].stride[d] = 8 * numbers;
        numbers *= args.size[d];
        args.out.stride[d] = kept >> d & 1 ? 16 * outputs : 0;
        outputs *= kept >> d & 1 ? args.size[d] : 1;
    }
    memcpy(args.state.bytes, &state, sizeof(state));
    size_t in = (size_t)numbers * 8, out = (size_t)outputs * 16;
    args.in[0].data = make_room(b, in);
    args.out.data = make_room(b, out);
    must(b, b->device->clear(b->device, args.in[0].data, in, b->error));
    must(b, b->device->clear(b->device, args.out.data, out, b->error));
    double seconds = time_launches(b, &grove_array_fold, &args, false);
    print_kernel(b, name, false, seconds, 0, 2 * (double)numbers, (double)(in + 2 * out));
    printf(" | |\n");
    fflush(stdout);
    b->device->release(b->device, args.in[0].data, in);
    b->device->release(b->device, args.out.data, out);
}

static void measure_kernels(const bench *b, const char *words)
{
    printf(
        "\n| kernel | precision | ms | operations | of them always double | bytes | share of the "
        "binding limit | 1e9 source-vis/s | difference from the cpu |\n"
        "| --- | --- | --: | --: | --: | --: | --: | --: | --: |\n");
    for (int k = 0; k < WORKLOADS; k++)
        for (int double_ = 0; double_ < 2; double_++)
            if (strstr(workloads[k].name, words))
                measure_predict(b, &workloads[k], double_);
    if (*words)
        return;
    measure_fold(b, "sum over time", 4 | 2);
    measure_fold(b, "sum over baselines", 4 | 1);
    measure_fold(b, "sum over time and baselines", 4);
}

int main(int count, char **words)
{
    bench b = {.error = grove_error_new(), .least = 0.2, .rounds = 5};
    const char *part = "", *size = "whole";
    const bench_option options[] = {
        {"rounds", "N", "rounds, of which medians are taken (default 5)", BENCH_COUNT, &b.rounds,
         MOST_ROUNDS},
        {"seconds", "S", "at least so long for each number in a round (default 0.2)", BENCH_SECONDS,
         &b.least, 0},
        {"workload", "TEXT", "sums with TEXT in their names (default: all, and reductions)",
         BENCH_TEXT, &part, 0},
        {"size", "WORD", "whole, or tiny: only whether it runs (default whole)", BENCH_TEXT, &size,
         0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench gpu-kernels [OPTIONS]", count - 1, words + 1);
    b.tiny = !strcmp(size, "tiny");
    b.device = grove_device_open("cuda", 0, 0, b.error);
    must(&b, !b.device);
    printf("Device: %s. Libraries: %s. Medians of %d rounds.\n\n", b.device->description,
           b.device->libraries, b.rounds);
    measure_limits(&b);
    measure_kernels(&b, part);
    grove_device_free(b.device);
    grove_error_free(b.error);
    return 0;
}
