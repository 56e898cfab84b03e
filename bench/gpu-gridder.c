/* Measures the default gridder's kernels: samples to planes and back, planes to an image and back.
 * The field is that of G1 (bench/gridder.c): 4096 x 4096 pixels of 4.26e-6 rad, w up to 5.8 km, 32
 * channels from 1.0 to 1.1 GHz; the baselines are some 1.2 km long, as MeerKAT's are in the mean,
 * and alike, so that their tiles hold many samples. */
#include "gpu-bench.h"

#include "../kernels/imaging/gridder/gridder_device.h"

#include "unstable/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 32, ITEMS = 1 << 13 };

static int64_t spread_threads(const grove_args *args)
{
    const grove_gridder_state *s = grove_gridder_state_of(args);

    return (int64_t)s->pieces * s->polarisations * GROVE_GRIDDER_BLOCK;
}

#define SPREAD(name)                                                                               \
    {                                                                                              \
        name, NULL, NULL, "gridder_spread.cu", spread_threads, GROVE_GRIDDER_BLOCK, 0              \
    }
#define IMAGE(name)                                                                                \
    {                                                                                              \
        name, NULL, NULL, "gridder_image.cu", NULL, 0, 0                                           \
    }
static const grove_kernel spread = SPREAD("gridder_spread"), collect = SPREAD("gridder_collect");
static const grove_kernel items[] = {IMAGE("gridder_unfold"), IMAGE("gridder_to_image"),
                                     IMAGE("gridder_from_image"), IMAGE("gridder_fold")};
enum { TO_IMAGE = 1, FOLD = 3 };
static const char *const item_names[] = {"plane's whole grid", "plane to image", "image to plane",
                                         "plane's cells"};
/* Numbers per cell or pixel that memory gives and takes; of cells that have none, fewer. */
static const double item_numbers[] = {4, 4, 3, 4};

typedef struct {
    gpu_bench *b;
    bool double_;
    grove_gridder_plan plan;
    grove_gridder_device *gridder;
    grove_gridder_work work;
    grove_args args;
    int64_t rows;
} field;

static void choose(field *f, int64_t size, double longest)
{
    const grove_gridder_image image = {{size, size}, {4.26e-6, 4.26e-6}, {0, 0}};
    const double highest = 1.1e9 / GROVE_SPEED_OF_LIGHT;
    const grove_gridder_bounds bounds = {.max_u = longest * highest,
                                         .max_v = longest * highest,
                                         .max_w = 5769 * highest,
                                         .samples = 20.6e6,
                                         .polarisations = 1,
                                         .double_precision = f->double_};

    if (grove_gridder_plan_choose(&image, &bounds, f->double_ ? 1e-7 : 1e-4, &f->plan))
        exit(1);
    f->gridder = grove_gridder_device_new(&f->plan);
    if (!f->gridder)
        exit(1);
}

/* ---- samples ---- */

static double *draw_rows(int64_t rows)
{
    static const double centre[3] = {960, 720, 1000};
    double *uvw = malloc((size_t)rows * 3 * sizeof(*uvw));

    for (int64_t k = 0; uvw && k < rows; k++)
        for (int d = 0; d < 3; d++)
            uvw[3 * k + d] = centre[d] + 300 * gpu_draw();
    return uvw;
}

static void give(field *f, int k, const void *from, size_t bytes)
{
    f->args.in[k].data = bytes ? gpu_send(f->b, from, bytes) : NULL;
}

/* What is constant, samples, and memory. */
static void fill_inputs(field *f, const double *uvw)
{
    const int bytes = f->double_ ? 8 : 4;
    const int32_t pieces = f->work.begin[f->work.launches];
    const double stokes[32] = {0.5, 0, 0, 0, 0, 0, 0.5, 0};
    const grove_gridder_table taps = grove_gridder_device_taps(f->gridder);
    const grove_gridder_device_bytes sizes = grove_gridder_device_sizes(f->gridder);
    const int64_t samples = f->rows * CHANNELS;

    f->args.in[GROVE_GRIDDER_DATA] =
        (grove_view){.data = gpu_send_random(f->b, 8 * samples, f->double_),
                     .stride = {0, 8 * bytes * CHANNELS, 8 * bytes},
                     .elements = 4,
                     .shape = GROVE_MATRIX,
                     .complex_ = 1,
                     .bytes = bytes};
    f->args.in[GROVE_GRIDDER_UVW] =
        (grove_view){.stride = {0, 24, 0}, .elements = 3, .shape = GROVE_VECTOR, .bytes = 8};
    give(f, GROVE_GRIDDER_UVW, uvw, (size_t)f->rows * 24);
    give(f, GROVE_GRIDDER_WAVENUMBERS, f->work.wavenumber, CHANNELS * sizeof(double));
    give(f, GROVE_GRIDDER_RUNS, f->work.run, (size_t)f->work.runs * sizeof(*f->work.run));
    give(f, GROVE_GRIDDER_PIECE_LIST, f->work.piece, (size_t)pieces * sizeof(*f->work.piece));
    give(f, GROVE_GRIDDER_TAPS, taps.at, taps.bytes);
    give(f, GROVE_GRIDDER_STOKES, stokes, sizeof(stokes));
    f->args.in[GROVE_GRIDDER_SUMS].data = gpu_make_room(f->b, (size_t)pieces * 16);
    f->args.in[GROVE_GRIDDER_BUFFERS].data = gpu_make_room(f->b, sizes.slots);
    f->args.in[GROVE_GRIDDER_SAMPLES].data =
        gpu_make_room(f->b, (size_t)samples * 2 * (size_t)bytes);
    f->args.out.data = gpu_make_room(f->b, sizes.planes);
}

static void fill_state(field *f)
{
    grove_gridder_state state = grove_gridder_device_state(f->gridder);

    state.axis[0] = -1;
    state.axis[1] = 1;
    state.axis[2] = 2;
    state.channels = CHANNELS;
    state.baselines = (int32_t)f->rows;
    state.elements = 4;
    state.used = 9;
    state.runs = f->work.runs;
    state.pieces = f->work.begin[f->work.launches];
    memcpy(f->args.state.bytes, &state, sizeof(state));
}

/* All pieces in one launch: those of one colour after the other take as long. */
static void measure_samples(gpu_bench *b, const char *name, const grove_kernel *kernel,
                            bool collects, bool double_)
{
    field f = {.b = b,
               .double_ = double_,
               .rows = b->tiny      ? 20
                       : b->counted ? 96 * b->scale
                                    : 1 << 16};
    double freq[CHANNELS];

    if (!gpu_begins(b, name))
        return;
    choose(&f, 4096, b->tiny ? 3000 : 7700);
    for (int k = 0; k < CHANNELS; k++)
        freq[k] = 1e9 + 3.125e6 * k;
    double *uvw = draw_rows(f.rows);
    if (!uvw || grove_gridder_device_sort(
                    f.gridder,
                    &(grove_gridder_samples){
                        .rows = f.rows, .channels = CHANNELS, .uvw = uvw, .freq = freq},
                    &(grove_gridder_threads){grove_parallel_items, NULL}, collects, &f.work))
        exit(1);
    f.args = (grove_args){.axes = 3,
                          .inputs = GROVE_GRIDDER_INPUTS,
                          .axis = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ},
                          .size = {1, f.rows, CHANNELS}};
    fill_inputs(&f, uvw);
    fill_state(&f);
    const double samples = (double)(f.rows * CHANNELS), width = f.plan.kernel.width;
    gpu_print(b, name, double_, gpu_time_launches(b, kernel, &f.args, double_),
              &(gpu_counts){.operations = samples * (2 * width * width * f.plan.kernel_w.width +
                                                     3 * width * (width + 1)),
                            .cells = samples,
                            .bytes = samples * (collects ? 2 : 8) * (double_ ? 8 : 4)});
    gpu_finish(b, &f.args);
    grove_gridder_work_free(&f.work);
    grove_gridder_device_free(f.gridder);
    free(uvw);
}

/* ---- images ---- */

static void measure_items(gpu_bench *b, int which, bool double_)
{
    const int64_t size = b->counted || b->tiny ? 256 : 4096, bytes = double_ ? 8 : 4;
    field f = {.b = b, .double_ = double_};

    if (!gpu_begins(b, item_names[which]))
        return;
    choose(&f, size, 7700);
    grove_gridder_image_state state = grove_gridder_device_image(f.gridder, 1);
    const grove_gridder_table factors = grove_gridder_device_factors(f.gridder);
    const int64_t cells[] = {(int64_t)state.size[0] * state.size[1], size * size,
                             (int64_t)state.size[0] * state.size[1],
                             (int64_t)state.cells[0] * state.cells[1]};
    const int64_t count = b->counted ? ITEMS * b->scale : cells[which];
    const bool from_plane = which == TO_IMAGE || which == FOLD;
    const int32_t row[] = {state.size[0], state.pixels[0], state.size[0], state.cells[0]};
    state.row = grove_gridder_divide_by(row[which]);
    state.step[0] = from_plane ? 2 * bytes : bytes;
    state.step[1] = (from_plane ? state.size[0] : size) * state.step[0];
    f.args = (grove_args){.axes = 1, .inputs = GROVE_GRIDDER_IMAGE_INPUTS, .size = {count}};
    f.args.in[GROVE_GRIDDER_FROM].data = gpu_send_random(b, 2 * cells[0], double_);
    f.args.in[GROVE_GRIDDER_TABLE].data = gpu_send(b, factors.at, factors.bytes);
    f.args.out.data = gpu_send_random(b, 2 * cells[0], double_);
    memcpy(f.args.state.bytes, &state, sizeof(state));
    gpu_print(b, item_names[which], double_, gpu_time_launches(b, &items[which], &f.args, double_),
              &(gpu_counts){.cells = (double)count,
                            .bytes = item_numbers[which] * (double)(count * bytes)});
    gpu_finish(b, &f.args);
    grove_gridder_device_free(f.gridder);
}

void gpu_measure_gridder(gpu_bench *b)
{
    if (!b->counted)
        printf(GPU_HEAD("gridder") "\n" GPU_LINE "\n");
    for (int double_ = 0; double_ < 2; double_++) {
        measure_samples(b, "visibilities to planes", &spread, false, double_);
        measure_samples(b, "planes to visibilities", &collect, true, double_);
        for (int k = 0; k < 4; k++)
            measure_items(b, k, double_);
    }
}
