/* Measures the sum over sources on the device, in all its ways, beside the limits and the cpu's
 * plain sum. */
#include "gpu-bench.h"
#include "machine.h"

#include "../kernels/sky/predict_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STATIONS = 64, MAX_BASELINES = MAX_STATIONS * (MAX_STATIONS - 1) / 2 };
enum { INPUTS = GROVE_PREDICT_UVW_RIGHT + 1, COMPARED = 4 };
enum { COUNTED = 2048 };         /* sources times channels of a launch for its counts */
enum { ROWS, PRODUCTS, TENSOR }; /* by rows; by stations, on vector units and on tensor cores */

typedef struct {
    const char *name;
    int sources, times, channels, elements;
    bool smear, jones;
    int way;
    /* For a source-visibility; for a source, row and group of channels that the kernel takes
     * together, and of those the ones that are in double always. */
    double each, group, in_double;
    double aim; /* 1e12 source-visibilities per second on an H200, single */
    bool spectra;
} workload;

/* Operations as kernels/predict/ counts them, a multiply-add being one. By rows: recurrence and sum
 * 3.3 where channels are pairs, 4 with spectra, 9 polarised or with Jones terms; smeared in time
 * 10, with Jones terms 28. For a group phases and their steps 33 and 9, four times that where it is
 * polarised; 11 a second step where channels are no pairs, 12 smearing in frequency; without steps
 * 18 and 5; products of Jones terms 2 x 32. By stations: `each` of the half of the square of
 * baselines that is wanted, and for a source and station (`group`) phases or their products with
 * Jones terms; on tensor cores three products in TF32 for each in single. */
static const workload workloads[] = {
    {"P1 I", 1000, 16, 64, 1, false, false, ROWS, 3.3, 33, 9, 0},
    {"P1 I, smeared", 1000, 16, 64, 1, true, false, ROWS, 10, 56, 9, 0},
    {"P1 IQUV", 1000, 16, 64, 4, false, false, ROWS, 9, 132, 36, 0},
    {"P1 2x2 Jones", 1000, 16, 64, 4, false, true, ROWS, 9, 97, 9, 0},
    {"P1 2x2 Jones, smeared", 1000, 16, 64, 4, true, true, ROWS, 28, 109, 9, 0},
    {"P2 I", 10000, 16, 1, 1, false, false, ROWS, 2, 18, 5, 0},
    {"P2 I, stations, tensor cores", 10000, 16, 1, 1, false, false, TENSOR, 4, 37, 8, 0},
    {"P2 2x2 Jones, smeared", 10000, 16, 1, 4, true, true, ROWS, 16, 94, 5, 0},
    {"P3 I", 10000, 480, 64, 1, false, false, ROWS, 3.3, 33, 9, 3},
    {"P3 I, stations", 10000, 480, 64, 1, false, false, PRODUCTS, 4, 37, 8, 8},
    {"P3 I, stations, tensor cores", 10000, 480, 64, 1, false, false, TENSOR, 4, 37, 8, 8},
    {"P3 I, smeared", 10000, 480, 64, 1, true, false, ROWS, 10, 56, 9, 1},
    {"P3 I, 8 channels", 10000, 480, 8, 1, false, false, ROWS, 3.3, 33, 9, 0},
    {"P3 I, spectra", 10000, 480, 64, 1, false, false, ROWS, 4, 44, 9, 0, .spectra = true},
    {"P3 2x2 Jones", 10000, 480, 64, 4, false, true, ROWS, 9, 97, 9, 0.8},
    {"P3 2x2 Jones, stations", 10000, 480, 64, 4, false, true, PRODUCTS, 32, 102, 8, 0.8},
    {"P3 2x2 Jones, stations, tensor cores", 10000, 480, 64, 4, false, true, TENSOR, 32, 102, 8,
     1.5},
};
enum { WORKLOADS = sizeof(workloads) / sizeof(*workloads) };

static int32_t left[MAX_BASELINES], right[MAX_BASELINES];

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
    const bool jones = k == GROVE_PREDICT_LEFT || k == GROVE_PREDICT_RIGHT;
    const bool complex_ = k == GROVE_PREDICT_BRIGHTNESS || jones;
    grove_view *view = &args->in[k];
    int64_t step = (int64_t)elements * (complex_ ? 2 : 1) * bytes;

    *view = (grove_view){.elements = elements,
                         .shape = elements == 3 ? GROVE_VECTOR : elements,
                         .complex_ = complex_,
                         .bytes = bytes};
    if (k >= GROVE_PREDICT_LEFT) {
        view->gather_axis = 2;
        view->gather = k == GROVE_PREDICT_LEFT || k == GROVE_PREDICT_UVW_LEFT ? left : right;
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

/* Coordinates of stations that rotate with the sky, and of baselines as their differences. */
static void fill_coordinates(grove_args *args, int stations)
{
    double at[MAX_STATIONS][3], *uvw = args->in[GROVE_PREDICT_UVW].data;
    double *sides[] = {args->in[GROVE_PREDICT_UVW_LEFT].data,
                       args->in[GROVE_PREDICT_UVW_RIGHT].data};

    for (int k = 0; k < stations; k++)
        for (int d = 0; d < 3; d++)
            at[k][d] = (d == 2 ? 1e2 : 4e3) * gpu_draw();
    for (int64_t t = 0; t < args->size[1]; t++) {
        double c = cos(7.27e-4 * (double)t), s = sin(7.27e-4 * (double)t);
        for (int k = 0; k < stations; k++)
            for (int side = 0; side < 2; side++)
                memcpy(
                    sides[side] + 3 * (t * stations + k),
                    (double[]){c * at[k][0] + s * at[k][1], c * at[k][1] - s * at[k][0], at[k][2]},
                    24);
        for (int64_t n = 0; n < args->size[2]; n++)
            for (int d = 0; d < 3; d++)
                uvw[3 * (t * args->size[2] + n) + d] = sides[0][3 * (t * stations + left[n]) + d] -
                                                       sides[1][3 * (t * stations + right[n]) + d];
    }
}

static void fill_inputs(const workload *w, grove_args *args, int stations)
{
    double *lmn = args->in[GROVE_PREDICT_LMN].data, *freq = args->in[GROVE_PREDICT_FREQ].data;
    const double *uvw = args->in[GROVE_PREDICT_UVW].data;

    for (int64_t s = 0; s < args->size[0]; s++) {
        double l = 0.034 * gpu_draw(), m = 0.034 * gpu_draw();
        double i = gpu_draw() + 0.6, q = 0.1 * gpu_draw(), u = 0.1 * gpu_draw(),
               v = 0.1 * gpu_draw();
        double b8[8] = {i + q, 0, u, v, u, -v, i - q, 0};
        memcpy(lmn + 3 * s, (double[]){l, m, sqrt(1 - l * l - m * m) - 1}, 24);
        const int64_t each = w->spectra ? args->size[3] : 1;
        for (int64_t n = 0; n < 2 * w->elements * each; n++)
            put(&args->in[GROVE_PREDICT_BRIGHTNESS], 2 * w->elements * each * s + n,
                b8[n % (2 * w->elements)] * (1 + 0.001 * (double)(n / (2 * w->elements))));
    }
    fill_coordinates(args, stations);
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
            put(&args->in[k], n, 0.2 * gpu_draw() + (n % 8 == 0 || n % 8 == 6));
}

static void add_inputs(const workload *w, grove_args *args, int bytes, int stations)
{
    enum { SOURCE = 1, TIME = 2, BASELINE = 4, FREQ = 8 };

    add_input(args, GROVE_PREDICT_BRIGHTNESS, w->spectra ? SOURCE | FREQ : SOURCE, w->elements,
              bytes, stations);
    add_input(args, GROVE_PREDICT_LMN, SOURCE, 3, 8, stations);
    add_input(args, GROVE_PREDICT_UVW, TIME | BASELINE, 3, 8, stations);
    add_input(args, GROVE_PREDICT_FREQ, FREQ, 1, 8, stations);
    add_input(args, GROVE_PREDICT_UVW_LEFT, TIME | BASELINE, 3, 8, stations);
    add_input(args, GROVE_PREDICT_UVW_RIGHT, TIME | BASELINE, 3, 8, stations);
    if (w->smear) {
        add_input(args, GROVE_PREDICT_RATE, TIME | BASELINE, 3, 8, stations);
        add_input(args, GROVE_PREDICT_INTERVAL, TIME, 1, 8, stations);
        add_input(args, GROVE_PREDICT_WIDTH, FREQ, 1, 8, stations);
    }
    for (int k = GROVE_PREDICT_LEFT; w->jones && k <= GROVE_PREDICT_RIGHT; k++)
        add_input(args, k, SOURCE | BASELINE, 4, bytes, stations);
}

static grove_args make_args(const gpu_bench *b, const workload *w, int bytes, int *stations)
{
    grove_args args = {
        .axes = 4,
        .inputs = INPUTS,
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    int n = 0;

    *stations = b->tiny ? 5 : MAX_STATIONS;
    for (int p = 0; p < *stations; p++)
        for (int q = p + 1; q < *stations; q++, n++) {
            left[n] = p;
            right[n] = q;
        }
    args.size[0] = b->tiny      ? w->sources / 100
                   : b->counted ? b->scale * COUNTED / w->channels
                                : w->sources;
    args.size[1] = b->tiny ? 2 : b->counted ? 1 : w->times;
    args.size[2] = n;
    args.size[3] = b->tiny && w->channels > 1 ? 9 : w->channels;
    add_inputs(w, &args, bytes, *stations);
    grove_predict_plan plan = {.channels = {1, 0, 1e9, 7.8125e6},
                               .way =
                                   w->way == ROWS ? GROVE_PREDICT_BASELINE : GROVE_PREDICT_STATION,
                               .stations = *stations,
                               .products = w->way != ROWS,
                               .flat = !w->spectra,
                               .count = args.size[3],
                               .equal_width = 1,
                               .width = 7.8125e6,
                               .reference = 1.25e9,
                               .smear_time = w->smear,
                               .smear_freq = w->smear,
                               .jones = w->jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND};
    memcpy(args.state.bytes, &plan, sizeof(plan));
    fill_inputs(w, &args, *stations);
    args.out =
        (grove_view){.elements = w->elements, .shape = w->elements, .complex_ = 1, .bytes = bytes};
    args.out.stride[3] = (int64_t)w->elements * 2 * bytes;
    args.out.stride[2] = args.out.stride[3] * args.size[3];
    args.out.stride[1] = args.out.stride[2] * n;
    return args;
}

/* Relative difference between the device's result and the cpu's plain sum, on some rows. */
static double difference(const gpu_bench *b, grove_args *args, const void *there)
{
    int64_t rows = args->size[1] * args->size[2], step = rows / COMPARED;
    int64_t each = args->out.stride[2] / args->out.bytes;
    void *result = bench_allocate((size_t)args->out.stride[2], 1);
    double error = 0, size = 0;

    for (int64_t row = 0; row < rows; row += step) {
        grove_predict_cells(args, row, row + 1);
        gpu_must(b, grove_device_download(b->device, result,
                                          (const char *)there + row * args->out.stride[2],
                                          (size_t)args->out.stride[2], b->error));
        for (int64_t n = 0; n < each; n++) {
            bool double_ = args->out.bytes == 8;
            double x = double_ ? ((double *)args->out.data)[row * each + n]
                               : (double)((float *)args->out.data)[row * each + n];
            double y = double_ ? ((const double *)result)[n] : (double)((const float *)result)[n];
            error += (x - y) * (x - y);
            size += x * x;
        }
    }
    free(result);
    return sqrt(error / size);
}

/* The kernel for the workload's way: NULL if the device has none. */
static const grove_kernel *kernel_of(const gpu_bench *b, const workload *w, const grove_args *args,
                                     bool double_)
{
    const grove_kernel *kernel = grove_predict_device(args);

    if (w->way != ROWS && kernel != &grove_predict_station_kernel)
        return NULL;
    if (w->way == TENSOR && b->tensor[double_] <= 0)
        return NULL;
    if (w->way == PRODUCTS)
        kernel = &grove_predict_station_vector_kernel;
    return grove_device_prepare(b->device, kernel, double_, NULL) ? NULL : kernel;
}

static gpu_counts count(const workload *w, const grove_args *args, int stations, double sum,
                        bool double_)
{
    gpu_counts c = {0};
    double each = sum * w->each, groups = sum / (double)args->size[2] * stations;

    if (w->way == ROWS)
        groups = sum / grove_predict_cuda_group(args, grove_predict_cuda_way(args));
    c.in_double = groups * w->in_double;
    c.operations = groups * w->group + (w->way == TENSOR ? 0 : each);
    c.on_tensor = w->way != TENSOR ? 0 : double_ ? each : 3 * each;
    return c;
}

static void free_inputs(const gpu_bench *b, const grove_args *args, const grove_args *there)
{
    for (int k = 0; k < INPUTS; k++) {
        if (args->in[k].data)
            grove_device_release(b->device, there->in[k].data, 0);
        free(args->in[k].data);
    }
}

static void print_rate(const workload *w, bool double_, double wrong)
{
    printf(" ");
    if (w->aim > 0 && !double_)
        printf("%.0f | ", 1e3 * w->aim);
    else
        printf("| ");
    printf("%.1e |\n", wrong);
    fflush(stdout);
}

static void measure(gpu_bench *b, const workload *w, bool double_)
{
    int stations;
    grove_args args = make_args(b, w, double_ ? 8 : 4, &stations), there = args;
    size_t bytes = (size_t)(args.out.stride[1] * args.size[1]);
    double moved = (double)bytes, sum;
    const grove_kernel *kernel = kernel_of(b, w, &args, double_);

    for (int k = 0; k < INPUTS; k++)
        if (args.in[k].data) {
            size_t size = (size_t)view_bytes(&args, k, stations);
            there.in[k].data = gpu_send(b, args.in[k].data, size);
            moved += k < GROVE_PREDICT_UVW_LEFT ? (double)size : 0;
        }
    if (!kernel) {
        if (!b->counted)
            printf("| %s | %s | - | | | | | | | | |\n", w->name, double_ ? "double" : "single");
        free_inputs(b, &args, &there);
        return;
    }
    there.out.data = gpu_make_room(b, bytes);
    double seconds = gpu_time_launches(b, kernel, &there, double_);
    args.out.data = bench_allocate(bytes, 1);
    sum = (double)args.size[0] * (double)args.size[1] * (double)args.size[2] * (double)args.size[3];
    gpu_counts counts = count(w, &args, stations, sum, double_);
    counts.bytes = moved;
    counts.cells = sum;
    counts.aim = double_ ? 0 : 1e12 * w->aim;
    gpu_print(b, w->name, double_, seconds, &counts);
    if (!b->counted)
        print_rate(w, double_, difference(b, &args, there.out.data));
    free_inputs(b, &args, &there);
    grove_device_release(b->device, there.out.data, bytes);
    free(args.out.data);
}

/* At the size of counts P1 and P3 are the same, where both have a row of that name. */
static bool is_repeated(const workload *w)
{
    for (int k = 0; k < WORKLOADS; k++)
        if (!strncmp(w->name, "P1", 2) && !strncmp(workloads[k].name, "P3", 2) &&
            !strcmp(w->name + 2, workloads[k].name + 2))
            return true;
    return false;
}

void gpu_measure_predict(gpu_bench *b)
{
    if (!b->counted)
        printf(GPU_HEAD("sum over sources") " aim (H200) | difference from the cpu "
                                            "|\n" GPU_LINE " --: | --: |\n");
    for (int double_ = 0; double_ < 2; double_++)
        for (int k = WORKLOADS - 1; k >= 0; k--) /* most important first */
            if (!(b->counted && is_repeated(&workloads[k])) && gpu_begins(b, workloads[k].name))
                measure(b, &workloads[k], double_);
}

/* Picoseconds for a source and time; `shape` gets what was summed. */
static double time_shape(const gpu_bench *b, const workload *w, grove_predict_cuda_shape *shape)
{
    int stations;
    grove_args args = make_args(b, w, 4, &stations), there = args;
    size_t bytes = (size_t)(args.out.stride[1] * args.size[1]);

    for (int k = 0; k < INPUTS; k++)
        if (args.in[k].data)
            there.in[k].data = gpu_send(b, args.in[k].data, (size_t)view_bytes(&args, k, stations));
    there.out.data = gpu_make_room(b, bytes);
    double seconds = gpu_time_launches(b, grove_predict_device(&args), &there, false);
    *shape = (grove_predict_cuda_shape){.flat = 1,
                                        .baselines = args.size[2],
                                        .stations = stations,
                                        .channels = args.size[3],
                                        .regular = 1,
                                        .jones = w->jones};
    free_inputs(b, &args, &there);
    grove_device_release(b->device, there.out.data, bytes);
    return 1e12 * seconds / ((double)args.size[0] * (double)args.size[1]);
}

grove_predict_cuda_costs gpu_predict_costs(const gpu_bench *b)
{
    /* many waves of blocks each */
    static const workload ways[] = {
        {"recurrence", 500, 200, 64, 1, false, false, ROWS, 0, 0, 0, 0},
        {"every phase", 500, 2000, 1, 1, false, false, ROWS, 0, 0, 0, 0},
        {"Jones terms", 500, 100, 64, 4, false, true, ROWS, 0, 0, 0, 0},
        {"stations", 500, 200, 64, 1, false, false, TENSOR, 0, 0, 0, 0},
        {"stations, Jones terms", 500, 100, 64, 4, false, true, TENSOR, 0, 0, 0, 0}};
    enum { RECURRENCE, DIRECT, JONES, STATIONS, FACTORS, COUNT };
    grove_predict_cuda_costs costs = grove_predict_cuda_measured(), model = costs;
    double longer[COUNT];

    for (int k = 0; k < COUNT; k++) {
        grove_predict_cuda_shape shape;
        double taken = time_shape(b, &ways[k], &shape);
        longer[k] = taken / (ways[k].way == ROWS ? grove_predict_cuda_by_baselines(&model, &shape)
                                                 : grove_predict_cuda_by_stations(&model, &shape));
    }
    costs.recurrence *= longer[RECURRENCE];
    costs.direct *= longer[DIRECT];
    costs.jones *= longer[JONES];
    costs.varying *= longer[JONES];
    costs.phasor *= longer[STATIONS];
    costs.product *= longer[STATIONS];
    costs.factor *= longer[FACTORS];
    costs.jones_product *= longer[FACTORS];
    return costs;
}
