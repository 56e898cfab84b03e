/* Measures reductions, noise, and gathers from stations to baselines, which are bound by memory. */
#include "gpu-bench.h"

#include "device/array.h"

#include "../kernels/core/reduce.h"

#include <stdio.h>
#include <string.h>

enum { STATIONS = 64 };

/* A dense view along the axes in `varies` (bits); *numbers becomes its size. */
static grove_view dense(const grove_args *args, int varies, int elements, int complex_, int bytes,
                        int64_t *numbers)
{
    grove_view view = {
        .elements = elements, .shape = elements, .complex_ = complex_, .bytes = bytes};
    int64_t cells = 1;

    for (int d = args->axes - 1; d >= 0; d--)
        if (varies >> d & 1) {
            view.stride[d] = cells * elements * (complex_ ? 2 : 1) * bytes;
            cells *= args->size[d];
        }
    *numbers = cells * elements * (complex_ ? 2 : 1);
    return view;
}

static grove_args space(const gpu_bench *b, int inputs)
{
    grove_args args = {.axes = 3,
                       .inputs = inputs,
                       .axis = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};

    const int64_t sizes[][3] = {{64, 2016, 64}, {3, 10, 4}, {8 * b->scale, 2016, 8}};

    memcpy(args.size, sizes[b->tiny ? 1 : b->counted ? 2 : 0], 24);
    return args;
}

/* Complex numbers in single [time, baseline, freq], summed over the axes that are not kept, of
 * which `axis` goes in blocks. */
static void measure_reduction(gpu_bench *b, const char *name, int kept, int axis)
{
    grove_args args = space(b, GROVE_REDUCE_NODES + 1);
    grove_reduce_state state = {
        .how = GROVE_HOW_SUM, .axis = axis, .fresh = 1, .end = args.size[axis]};
    int64_t in, out;

    if (!gpu_begins(b, name))
        return;
    memcpy(args.state.bytes, &state, sizeof(state));
    args.in[0] = dense(&args, 7, 1, 1, 4, &in);
    args.out = dense(&args, kept, 1, 1, 8, &out);
    args.in[0].data = gpu_send_random(b, in, false);
    args.out.data = gpu_send_random(b, out, true);
    gpu_print(b, name, false, gpu_time_launches(b, &grove_array_reduce, &args, false),
              &(gpu_counts){.in_double = (double)in,
                            .cells = (double)in / 2,
                            .bytes = 4.0 * (double)in + 16.0 * (double)out});
    gpu_finish(b, &args);
}

/* 2x2 matrices of noise: for each complex number a draw of ten rounds of integers, a logarithm, a
 * root, a sine and a cosine in double, counted as 60 operations. */
static void measure_noise(gpu_bench *b, bool double_)
{
    static const grove_kernel noise = {"noise", NULL, NULL, "../kernels/jones/noise.h", NULL, 0, 0};
    grove_args args = space(b, 5);
    const double ten = 10, width = 1e6, stations[2] = {0, 1}, sefd = 400;
    const double *const numbers[] = {&ten, &width, stations, NULL, &sefd};
    int64_t out;

    if (!gpu_begins(b, "noise"))
        return;
    args.out = dense(&args, 7, 4, 1, double_ ? 8 : 4, &out);
    args.out.data = gpu_make_room(b, (size_t)out * (double_ ? 8 : 4));
    for (int k = 0; k < 5; k++)
        if (numbers[k])
            args.in[k] = (grove_view){.data = gpu_send(b, numbers[k], k == 2 ? 16 : 8),
                                      .elements = k == 2 ? 2 : 1,
                                      .shape = k == 2 ? GROVE_VECTOR : GROVE_SCALAR,
                                      .bytes = 8};
    gpu_print(b, "noise, 2x2", double_, gpu_time_launches(b, &noise, &args, double_),
              &(gpu_counts){.in_double = 30.0 * (double)out,
                            .cells = (double)out / 8,
                            .bytes = (double)out * (double_ ? 8 : 4)});
    gpu_finish(b, &args);
}

/* 2x2 matrices [time, station, freq] as seen from baselines. */
static void measure_gather(gpu_bench *b, bool double_)
{
    static int32_t index[STATIONS * (STATIONS - 1) / 2];
    int stations = b->tiny ? 5 : STATIONS, bytes = double_ ? 8 : 4, n = 0;
    grove_args args = space(b, 1);
    int64_t in, out;

    if (!gpu_begins(b, "gather"))
        return;
    for (int p = 0; p < stations; p++)
        for (int q = p + 1; q < stations; q++)
            index[n++] = p;
    args.out = dense(&args, 7, 4, 1, bytes, &out);
    args.size[1] = stations;
    args.in[0] = dense(&args, 7, 4, 1, bytes, &in);
    args.size[1] = n;
    args.in[0].gather = index;
    args.in[0].gather_axis = 1;
    args.in[0].data = gpu_send_random(b, in, double_);
    args.out.data = gpu_make_room(b, (size_t)out * (size_t)bytes);
    gpu_print(b, "gather of stations, 2x2", double_,
              gpu_time_launches(b, &grove_array_cast, &args, double_),
              &(gpu_counts){.bytes = (double)(in + out) * bytes, .cells = (double)out / 8});
    gpu_finish(b, &args);
}

/* Products, cell by cell: of 2x2 matrices, or of scalars, complex or real. */
static void measure_product(gpu_bench *b, const char *name, int elements, int complex_,
                            bool double_)
{
    static const grove_kernel
        matrices =
            {"multiply_matrices", NULL, NULL, "../kernels/arithmetic/arithmetic.h", NULL, 0, 0},
        scalars =
            {"multiply_elements", NULL, NULL, "../kernels/arithmetic/arithmetic.h", NULL, 0, 0},
        reals = {"multiply_reals", NULL, NULL, "../kernels/arithmetic/arithmetic.h", NULL, 0, 0};
    grove_args args = space(b, 2);
    int bytes = double_ ? 8 : 4;
    int64_t each;

    if (!gpu_begins(b, name))
        return;
    args.out = dense(&args, 7, elements, complex_, bytes, &each);
    for (int k = 0; k < 2; k++) {
        args.in[k] = args.out;
        args.in[k].data = gpu_send_random(b, each, double_);
    }
    args.out.data = gpu_make_room(b, (size_t)each * (size_t)bytes);
    gpu_print(b, name, double_,
              gpu_time_launches(b,
                                elements > 1 ? &matrices
                                : complex_   ? &scalars
                                             : &reals,
                                &args, double_),
              &(gpu_counts){.operations = (elements > 1 ? 4.0
                                           : complex_   ? 2.0
                                                        : 1.0) *
                                          (double)each,
                            .bytes = 3.0 * (double)each * bytes,
                            .cells = (double)each / (elements * (complex_ ? 2 : 1))});
    gpu_finish(b, &args);
}

void gpu_measure_arrays(gpu_bench *b)
{
    if (!b->counted)
        printf(GPU_HEAD("array") "\n" GPU_LINE "\n");
    measure_reduction(b, "sum over time", 4 | 2, 0);
    measure_reduction(b, "sum over baselines", 4 | 1, 1);
    measure_reduction(b, "sum over time and baselines", 4, 1);
    for (int double_ = 0; double_ < 2; double_++) {
        measure_noise(b, double_);
        measure_gather(b, double_);
        measure_product(b, "cellwise product, 2x2", 4, 1, double_);
        measure_product(b, "cellwise product, complex", 1, 1, double_);
        measure_product(b, "cellwise product, real", 1, 0, double_);
    }
}
