/* Measures the kernels of image-domain gridding: subgrids of one number, with 32 times and 16
 * channels each, or 512 times of a single channel. */
#include "gpu-bench.h"

#include "../kernels/imaging/idg/idg_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VISIBILITIES = 512 };

typedef struct {
    const char *name;
    int side, channels;
    enum { SUM, PREDICT, WEIGH } what;
} workload;

static const workload workloads[] = {{"to subgrids of 32 x 32", 32, 16, SUM},
                                     {"to subgrids of 64 x 64", 64, 16, SUM},
                                     {"to subgrids of 32 x 32, one channel", 32, 1, SUM},
                                     {"from subgrids of 32 x 32", 32, 16, PREDICT},
                                     {"from subgrids of 64 x 64", 64, 16, PREDICT},
                                     {"from subgrids of 32 x 32, one channel", 32, 1, PREDICT},
                                     {"pixels of subgrids", 32, 16, WEIGH}};

typedef struct {
    gpu_bench *b;
    const workload *of;
    grove_idg_plan plan;
    int32_t count; /* subgrids, each of a baseline of its own */
    grove_args args;
} field;

static void choose_plan(field *f, bool double_)
{
    const grove_gridder_image image = {{512, 512}, {5e-5, 5e-5}, {0, 0}};
    const grove_gridder_bounds bounds = {.max_u = 9000,
                                         .max_v = 9000,
                                         .max_w = 500,
                                         .samples = 1e6,
                                         .polarisations = 1,
                                         .double_precision = double_};
    const grove_idg_request request = {.side = f->of->side};
    char said[200];

    gpu_must_have(
        !grove_idg_plan_choose(&image, &bounds, &request, double_ ? 1e-6 : 1e-4, &f->plan, said));
}

static void send_subgrids(field *f)
{
    const int32_t times = VISIBILITIES / f->of->channels;
    grove_idg_subgrid *subgrid = calloc((size_t)f->count, sizeof(*subgrid));
    double *wavenumber = malloc((size_t)(2 * f->of->channels) * sizeof(*wavenumber)),
           *table = grove_idg_device_table(&f->plan);

    gpu_must_have(subgrid && wavenumber && table);
    for (int32_t k = 0; k < f->count; k++)
        subgrid[k] = (grove_idg_subgrid){.row = k,
                                         .times = times,
                                         .channels = f->of->channels,
                                         .sign = 1,
                                         .cell = {k % 100, k / 100 % 100}};
    for (int k = 0; k < 2 * f->of->channels; k++)
        wavenumber[k] = 4.7 + 0.01 * k;
    f->args.in[GROVE_IDG_SUBGRIDS].data =
        gpu_send(f->b, subgrid, (size_t)f->count * sizeof(*subgrid));
    f->args.in[GROVE_GRIDDER_WAVENUMBERS].data =
        gpu_send(f->b, wavenumber, (size_t)(2 * f->of->channels) * sizeof(*wavenumber));
    f->args.in[GROVE_IDG_TABLE].data =
        gpu_send(f->b, table, (size_t)grove_idg_table_numbers(f->of->side) * sizeof(*table));
    free(subgrid);
    free(wavenumber);
    free(table);
}

/* A view of numbers [time][baseline][channel]. */
static grove_view view_of(const field *f, void *at, int64_t bytes, int channels, int real)
{
    return (grove_view){.data = at,
                        .stride = {f->count * channels * bytes, channels * bytes, bytes},
                        .elements = 1,
                        .shape = GROVE_SCALAR,
                        .complex_ = 1,
                        .bytes = real};
}

static void fill(field *f, bool double_)
{
    static const double stokes[4][4][2] = {{{1, 0}}};
    const workload *w = f->of;
    const int real = double_ ? sizeof(double) : sizeof(float);
    const int64_t visibilities = (int64_t)f->count * VISIBILITIES,
                  pixels = (int64_t)f->count * w->side * w->side;
    grove_idg_state state = grove_idg_device_state(&f->plan);
    void *of_pixels = gpu_send_random(f->b, 2 * pixels, double_),
         *data = w->what == WEIGH ? NULL : gpu_send_random(f->b, 2 * visibilities, double_);

    f->args = (grove_args){.axes = 1, .inputs = GROVE_GRIDDER_INPUTS};
    send_subgrids(f);
    f->args.in[GROVE_GRIDDER_UVW] =
        view_of(f, gpu_send_random(f->b, 3 * visibilities / w->channels, true), 3 * sizeof(double),
                1, sizeof(double));
    f->args.in[GROVE_GRIDDER_STOKES].data = gpu_send(f->b, stokes, sizeof(stokes));
    state.samples.axis[1] = 1;
    state.samples.axis[2] = 2;
    state.samples.channels = w->channels;
    state.samples.baselines = f->count;
    state.samples.elements = state.samples.used = 1;
    state.even = 1;
    state.last = f->count;
    f->args.out.data = of_pixels;
    if (w->what == SUM)
        f->args.in[GROVE_GRIDDER_DATA] = view_of(f, data, 2 * real, w->channels, real);
    else
        f->args.in[GROVE_IDG_PIXELS].data = of_pixels;
    if (w->what == PREDICT)
        f->args.out = view_of(f, data, 2 * real, w->channels, real);
    if (w->what == WEIGH)
        f->args.out.data = gpu_make_room(f->b, (size_t)(2 * pixels * real));
    f->args.size[0] =
        w->what == WEIGH ? pixels : grove_idg_threads(&f->plan, f->count, w->what == PREDICT);
    memcpy(f->args.state.bytes, &state, sizeof(state));
}

/* Pixels once, and visibilities with their baselines. */
static double bytes_of(const field *f, bool double_)
{
    const double pair = double_ ? 16 : 8, pixels = (double)f->count * f->of->side * f->of->side;

    return f->of->what == WEIGH
               ? 2 * pair * pixels
               : pair * pixels + f->count * VISIBILITIES * (pair + 24.0 / f->of->channels);
}

static void measure(gpu_bench *b, const workload *of, bool double_)
{
    field f = {.b = b, .of = of};

    if (!gpu_begins(b, of->name))
        return;
    f.count = (int32_t)(b->tiny ? 2 : b->counted ? 2 * b->scale : 4096);
    choose_plan(&f, double_);
    fill(&f, double_);
    const double pixels = (double)of->side * of->side,
                 cells = f.count * (of->what == WEIGH ? pixels : VISIBILITIES);
    const grove_kernel *kernel = of->what == SUM       ? grove_idg_sum_kernel(of->side)
                                 : of->what == PREDICT ? grove_idg_predict_kernel(of->side)
                                                       : &grove_idg_weigh;
    gpu_print(b, of->name, double_, gpu_time_launches(b, kernel, &f.args, double_),
              &(gpu_counts){.operations = of->what == WEIGH ? 0 : 4 * pixels * cells,
                            .cells = cells,
                            .bytes = bytes_of(&f, double_)});
    gpu_finish(b, &f.args);
}

/* ---- terms: 2 x 2 matrices of stations, from rasters of 64 x 64 directions ---- */

enum { RASTER = 64, ELEMENTS = 4, TAPS = 6 };
static const char TERMS[] = "terms of stations, 32 x 32";

/* Along l, then m: as many neighbours for each pixel as it has inside a raster. */
static void send_taps(field *f)
{
    static const int64_t cells[2]; /* of the one time and channel */
    const int side = f->plan.side;
    grove_idg_taps *taps = calloc((size_t)(2 * side), sizeof(*taps));

    gpu_must_have(taps);
    for (int k = 0; k < 2 * side; k++)
        for (int i = 0; i < TAPS; i++) {
            taps[k].at[i] = k % side * (RASTER - TAPS) / (side - 1) + i;
            taps[k].factor[i] = 1.0 / TAPS;
            taps[k].count++;
        }
    f->args.in[GROVE_IDG_RASTER_TAPS].data =
        gpu_send(f->b, taps, (size_t)(2 * side) * sizeof(*taps));
    f->args.in[GROVE_IDG_RASTER_CELLS].data = gpu_send(f->b, cells, sizeof(cells));
    free(taps);
}

static void fill_terms(field *f, int64_t numbers, bool double_)
{
    const int64_t pair = double_ ? 16 : 8, matrix = ELEMENTS * pair;
    const grove_idg_sampling state = {.side = grove_gridder_divide_by(f->plan.side),
                                      .elements = grove_gridder_divide_by(ELEMENTS),
                                      .channels = grove_gridder_divide_by(1),
                                      .stations = grove_gridder_divide_by(f->count),
                                      .step = {matrix, RASTER * matrix, RASTER * RASTER * matrix},
                                      .numbers = numbers,
                                      .size = {RASTER, RASTER},
                                      .times = 1,
                                      .line = (int32_t)grove_idg_line(&f->plan)};

    f->args = (grove_args){.axes = 1,
                           .inputs = GROVE_IDG_RASTER_INPUTS,
                           .size = {f->count * ELEMENTS * f->plan.side * GROVE_IDG_BLOCK}};
    f->args.in[GROVE_IDG_RASTER].data =
        gpu_send_random(f->b, f->count * RASTER * RASTER * ELEMENTS * 2, double_);
    send_taps(f);
    f->args.out.data = gpu_make_room(f->b, (size_t)(numbers * pair / 2) + sizeof(int32_t));
    memcpy(f->args.state.bytes, &state, sizeof(state));
}

static void measure_terms(gpu_bench *b, bool double_)
{
    static const workload of = {TERMS, 32, 1, WEIGH};
    field f = {.b = b, .of = &of};

    if (!gpu_begins(b, TERMS))
        return;
    f.count = (int32_t)(b->tiny ? 2 : b->counted ? 2 * b->scale : 64);
    choose_plan(&f, double_);
    const int64_t lines = (int64_t)f.count * ELEMENTS * of.side,
                  numbers = lines * 2 * grove_idg_line(&f.plan);
    fill_terms(&f, numbers, double_);
    const double cells = (double)lines * of.side, raster = (double)f.count * RASTER * RASTER,
                 pair = double_ ? 16 : 8;
    gpu_print(b, TERMS, double_, gpu_time_launches(b, &grove_idg_terms_kernel, &f.args, double_),
              &(gpu_counts){.cells = cells, .bytes = pair * (cells + ELEMENTS * raster)});
    gpu_finish(b, &f.args);
}

void gpu_measure_idg(gpu_bench *b)
{
    for (int double_ = 0; double_ < 2; double_++) {
        for (size_t k = 0; k < sizeof(workloads) / sizeof(*workloads); k++)
            measure(b, &workloads[k], double_);
        measure_terms(b, double_);
    }
}
