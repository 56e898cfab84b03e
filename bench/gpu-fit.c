/* Measures what fits do on a device, for full Jones matrices of stations. Sums of the data and
 * models of baselines: normal equations over one time and 16 channels, compressed sums over 10
 * times and 16 channels; normal equations gathered to the matrix of a domain, and its solution. */
#include "gpu-bench.h"

#include "../kernels/fit/compression_simd.h"
#include "../kernels/fit/fit_solve.h"
#include "../kernels/fit/fit_sums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 8, CHANNELS = 16, TIMES = 10, ELEMENTS = 4, EACH = 8 /* unknowns */ };

static const grove_kernel
    normal = {"fit_normal", NULL, NULL, "fit_normal.cu", grove_fit_normal_threads, 0, 0},
    compressed = {"fit_sums", NULL, NULL, "fit_sums.cu", grove_fit_sums_threads, 0, 0},
    gather = {"fit_gather", NULL, NULL, "fit_gather.cu", grove_fit_gather_threads, 0, 2},
    solve_small = {"fit_solve",       NULL, NULL, "fit_solve.cu", grove_fit_solve_threads,
                   GROVE_SOLVE_SMALL, 1},
    solve_large = {"fit_solve",       NULL, NULL, "fit_solve.cu", grove_fit_solve_threads,
                   GROVE_SOLVE_LARGE, 1};

static double *make(int64_t numbers)
{
    double *at = malloc((size_t)numbers * sizeof(*at));

    gpu_must_have(at);
    for (int64_t k = 0; k < numbers; k++)
        at[k] = gpu_draw();
    return at;
}

/* ---- sums over cells ---- */

static int64_t cells_of(const grove_args *args)
{
    return args->size[0] * args->size[1] * args->size[2];
}

/* 2x2 matrices of random numbers. */
static grove_view matrices(const gpu_bench *b, const grove_args *args, int complex_, bool double_)
{
    const int bytes = double_ ? 8 : 4;
    const int64_t each = ELEMENTS * (complex_ ? 2 : 1), cell = each * bytes;

    return (grove_view){
        .data = gpu_send_random(b, cells_of(args) * each, double_),
        .stride = {cell * args->size[2] * args->size[1], cell * args->size[2], cell},
        .elements = ELEMENTS,
        .shape = GROVE_MATRIX,
        .complex_ = complex_,
        .bytes = bytes};
}

/* No cell is flagged. */
static grove_view flags(const gpu_bench *b, const grove_args *args)
{
    const size_t cells = (size_t)cells_of(args);
    unsigned char *zero = calloc(cells, 1);

    gpu_must_have(zero);
    grove_view view = {.data = gpu_send(b, zero, cells),
                       .stride = {args->size[2] * args->size[1], args->size[2], 1},
                       .elements = 1,
                       .bytes = 1};
    free(zero);
    return view;
}

/* All weights are 1. */
static grove_view weights(const gpu_bench *b, const grove_args *args, bool double_)
{
    const int64_t numbers = cells_of(args) * ELEMENTS;
    const int bytes = double_ ? 8 : 4;
    const int64_t cell = (int64_t)ELEMENTS * bytes;
    char *one = malloc((size_t)(numbers * bytes));

    gpu_must_have(one);
    for (int64_t k = 0; k < numbers; k++)
        if (double_)
            ((double *)(void *)one)[k] = 1;
        else
            ((float *)(void *)one)[k] = 1;
    grove_view view = {.data = gpu_send(b, one, (size_t)(numbers * bytes)),
                       .stride = {cell * args->size[2] * args->size[1], cell * args->size[2], cell},
                       .elements = ELEMENTS,
                       .shape = GROVE_MATRIX,
                       .bytes = bytes};
    free(one);
    return view;
}

/* One stretch of all times and channels. */
static grove_fit_tile begin(const gpu_bench *b, grove_args *args, int64_t times, int inputs)
{
    const int64_t baselines = b->tiny ? 3 : b->counted ? 16 * b->scale : 2016 * 16;
    const int64_t edges[] = {0, times, 0, CHANNELS};

    *args = (grove_args){.axes = 3,
                         .inputs = inputs,
                         .axis = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ},
                         .size = {times, baselines, CHANNELS},
                         .table = gpu_send(b, edges, sizeof(edges))};
    return (grove_fit_tile){
        .axis = {0, 1, 2}, .stretches = {1, 1}, .baselines = baselines, .edges = {0, 2}};
}

/* The numbers that a cell has, of so many complex matrices, with weights and flags; and sums. */
static double bytes_of(const grove_args *args, int count, bool double_, int64_t sums)
{
    return (double)cells_of(args) * (ELEMENTS * (2 * count + 1) * (double_ ? 8 : 4) + 1) +
           (double)(args->size[1] * sums) * sizeof(double);
}

static void measure_normal(gpu_bench *b, bool double_)
{
    const int64_t size = grove_normal_size(SLOTS);
    grove_args args;

    if (!gpu_begins(b, "normal equations"))
        return;
    grove_normal_state state = {.tile = begin(b, &args, 1, GROVE_NORMAL_SLOTS + SLOTS),
                                .columns = SLOTS,
                                .elements = ELEMENTS,
                                .of_model = {0, 1, 2, 3},
                                .of_data = {0, 1, 2, 3}};
    args.in[GROVE_NORMAL_MODEL] = matrices(b, &args, 1, double_);
    args.in[GROVE_NORMAL_DATA] = matrices(b, &args, 1, double_);
    args.in[GROVE_NORMAL_DATA_FLAGS] = flags(b, &args);
    args.in[GROVE_NORMAL_WEIGHTS] = weights(b, &args, double_);
    for (int k = 0; k < SLOTS; k++)
        args.in[GROVE_NORMAL_SLOTS + k] = matrices(b, &args, 1, double_);
    args.out.data = gpu_make_room(b, (size_t)(state.tile.baselines * size) * sizeof(double));
    memcpy(args.state.bytes, &state, sizeof(state));
    gpu_print(b, "normal equations", double_, gpu_time_launches(b, &normal, &args, true),
              &(gpu_counts){.in_double =
                                (double)cells_of(&args) * ELEMENTS * 2 * (SLOTS + 1) * (SLOTS + 2),
                            .bytes = bytes_of(&args, 2 + SLOTS, double_, size),
                            .cells = (double)cells_of(&args)});
    gpu_finish(b, &args);
}

/* Of a model of four numbers, and the data. */
static void measure_sums(gpu_bench *b, bool double_)
{
    const int64_t size = GROVE_SUMS_SIZE(ELEMENTS);
    grove_args args;

    if (!gpu_begins(b, "compressed sums"))
        return;
    grove_fit_state state = {
        .tile = begin(b, &args, TIMES, GROVE_FIT_MODELS + 2), .full = 1, .groups = 1};
    args.in[GROVE_FIT_DATA] = matrices(b, &args, 1, double_);
    args.in[GROVE_FIT_FLAGS] = flags(b, &args);
    args.in[GROVE_FIT_WEIGHTS] = weights(b, &args, double_);
    args.in[GROVE_FIT_MODELS] = matrices(b, &args, 1, double_);
    args.out.data = gpu_make_room(b, (size_t)(state.tile.baselines * size) * sizeof(double));
    memcpy(args.state.bytes, &state, sizeof(state));
    gpu_print(b, "compressed sums", double_, gpu_time_launches(b, &compressed, &args, true),
              &(gpu_counts){.in_double = (double)cells_of(&args) * ELEMENTS * 4 *
                                         (ELEMENTS + ELEMENTS * (ELEMENTS + 1) / 2.0),
                            .bytes = bytes_of(&args, 2, double_, size),
                            .cells = (double)cells_of(&args)});
    gpu_finish(b, &args);
}

/* ---- matrices of domains ---- */

/* Lists of a domain (fit_solve.h) whose baselines are all pairs of stations; *count: of numbers. */
static int32_t *make_lists(int stations, int64_t *count)
{
    const int items = stations * (stations - 1) / 2, n = EACH * stations;
    const int64_t entries = (int64_t)items * SLOTS;
    int32_t *at = malloc((size_t)(items + entries + n + 1 + 2 * entries) * sizeof(*at));
    int32_t *unknown = at + items, *first = unknown + entries, *entry = first + n + 1;
    int item = 0;

    gpu_must_have(at);
    for (int p = 0; p < stations; p++)
        for (int q = p + 1; q < stations; q++, item++) {
            at[item] = item;
            for (int k = 0; k < SLOTS; k++)
                unknown[item * SLOTS + k] = EACH * (k < 4 ? p : q) + 2 * (k % 4);
        }
    for (int j = 0; j <= n; j++)
        first[j] = j * (stations - 1);
    int32_t *next = malloc((size_t)n * sizeof(*next));
    gpu_must_have(next);
    memcpy(next, first, (size_t)n * sizeof(*next));
    for (int k = 0; k < entries; k++)
        for (int part = 0; part < 2; part++)
            entry[next[unknown[k] + part]++] = k;
    free(next);
    *count = entry + 2 * entries - at;
    return at;
}

static void fill_gather(const gpu_bench *b, grove_args *args, int stations, int64_t domains)
{
    const int64_t items = (int64_t)stations * (stations - 1) / 2, n = (int64_t)EACH * stations,
                  size = grove_normal_size(SLOTS);
    grove_gather_domain *of = calloc((size_t)domains, sizeof(*of));
    int64_t count;
    int32_t *lists = make_lists(stations, &count);
    double *sums = make(domains * items * size);

    gpu_must_have(of);
    for (int64_t k = 0; k < domains * items; k++)
        sums[k * size + GROVE_NORMAL_USED] = 100;
    for (int64_t k = 0; k < domains; k++)
        of[k] = (grove_gather_domain){.point = k * grove_point_size(n),
                                      .result = k * grove_point_head(n),
                                      .row = k * items,
                                      .unknowns = (int32_t)n,
                                      .items = (int32_t)items};
    args->in[0].data = gpu_send(b, sums, (size_t)(domains * items * size) * sizeof(*sums));
    args->in[1].data = gpu_make_room(b, (size_t)(domains * grove_point_size(n)) * sizeof(double));
    args->in[2].data = gpu_send(b, lists, (size_t)count * sizeof(*lists));
    args->in[3].data = gpu_send(b, of, (size_t)domains * sizeof(*of));
    args->out.data = gpu_make_room(b, (size_t)(domains * grove_point_head(n)) * sizeof(double));
    free(of);
    free(lists);
    free(sums);
}

static void measure_gather(gpu_bench *b)
{
    const int stations = b->tiny ? 5 : 64;
    const int64_t domains = b->tiny      ? 1
                            : b->counted ? b->scale
                                         : 16,
                  n = (int64_t)EACH * stations, items = (int64_t)stations * (stations - 1) / 2;
    grove_gather_state state = {
        .domains = (int32_t)domains, .unknowns = (int32_t)n, .columns = SLOTS};
    grove_args args = {.axes = 1, .size = {1}, .inputs = 4};

    if (!gpu_begins(b, "matrix of a domain"))
        return;
    for (int k = 0; k < SLOTS; k++)
        state.part[k] = k < 4 ? GROVE_GATHER_BOTH : GROVE_GATHER_CONJUGATE;
    memcpy(args.state.bytes, &state, sizeof(state));
    fill_gather(b, &args, stations, domains);
    gpu_print(b, "matrix of a domain", true, gpu_time_launches(b, &gather, &args, true),
              &(gpu_counts){.in_double = (double)(domains * items) * 4 * SLOTS * SLOTS,
                            .bytes = (double)(domains * (items * grove_normal_size(SLOTS) +
                                                         grove_point_size(n))) *
                                     sizeof(double),
                            .cells = (double)(domains * n * n)});
    gpu_finish(b, &args);
}

/* Points of matrices that are far from singular: unit diagonals, and elsewhere at most 1 / 2n. */
static void fill_systems(const gpu_bench *b, grove_args *args, int64_t n, int64_t systems)
{
    const int64_t slot = grove_point_size(n) + n + n * n;
    grove_solve_system *of = calloc((size_t)systems, sizeof(*of));
    double *points = make(systems * slot);

    gpu_must_have(of);
    for (int64_t k = 0; k < systems; k++) {
        double *point = points + k * slot, *matrix = point + grove_point_head(n);
        of[k] = (grove_solve_system){.point = k * slot,
                                     .sizes = k * slot + grove_point_size(n),
                                     .work = k * slot + grove_point_size(n) + n,
                                     .result = k * (GROVE_SOLVE_STEP + n),
                                     .damping = 1e-3,
                                     .unknowns = n};
        point[GROVE_POINT_VALUES] = 1;
        for (int64_t i = 0; i < n; i++) {
            point[GROVE_POINT_SUMS + n + i] = 1;
            for (int64_t j = 0; j < i; j++)
                matrix[i * n + j] = matrix[j * n + i] = matrix[j * n + i] / (double)n;
            matrix[i * n + i] = 1;
        }
    }
    args->in[0].data = gpu_send(b, points, (size_t)(systems * slot) * sizeof(*points));
    args->in[1].data = gpu_send(b, of, (size_t)systems * sizeof(*of));
    args->out.data = gpu_make_room(b, (size_t)(systems * (GROVE_SOLVE_STEP + n)) * sizeof(double));
    free(of);
    free(points);
}

static void measure_solution(gpu_bench *b, const char *name, const grove_kernel *kernel, int64_t n)
{
    const int64_t systems = b->tiny ? 1 : b->counted ? b->scale : 512;
    const grove_solve_state state = {systems, kernel->block};
    grove_args args = {.axes = 1, .size = {1}, .inputs = 2};

    if (!gpu_begins(b, name))
        return;
    memcpy(args.state.bytes, &state, sizeof(state));
    fill_systems(b, &args, n, systems);
    const double cells = (double)(systems * n * n);
    gpu_print(
        b, name, true, gpu_time_launches(b, kernel, &args, true),
        &(gpu_counts){.in_double = cells * (double)n / 6, .bytes = 16 * cells, .cells = cells});
    gpu_finish(b, &args);
}

void gpu_measure_fit(gpu_bench *b)
{
    if (!b->counted)
        printf(GPU_HEAD("fit") "\n" GPU_LINE "\n");
    for (int double_ = 0; double_ < 2; double_++) {
        measure_normal(b, double_);
        measure_sums(b, double_);
    }
    measure_gather(b);
    measure_solution(b, "solution of 64 unknowns", &solve_small, GROVE_SOLVE_FEW);
    measure_solution(b, "solution of 128 unknowns", &solve_large, (int64_t)2 * GROVE_SOLVE_FEW);
}
