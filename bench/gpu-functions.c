/* Measures gridding by convolution functions and back: tracks of some 1.2 km in a field of 4096 x
 * 4096 pixels of 4.26e-6 rad, 32 channels from 1.0 to 1.1 GHz, times of 90 s (G1 of
 * bench/gridder.c). Functions of 7 x 7 cells with 8 fine samples for each: of one correlation and
 * one image, also with linear interpolation, and the 16 of four correlations and four images. */
#include "gpu-bench.h"

#include "../kernels/imaging/gridder/gridder_convolve_cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHANNELS = 32, TIMES = 8, SUPPORT = 7, OVERSAMPLING = 8, SETS = 16 };

static int64_t sample_threads(const grove_args *args)
{
    return (int64_t)grove_convolve_state_of(args)->samples.pieces * GROVE_CONVOLVE_BLOCK;
}

#define SAMPLES(name)                                                                              \
    {                                                                                              \
        name, NULL, NULL, "gridder_convolve.cu", sample_threads, GROVE_CONVOLVE_BLOCK, 0           \
    }
static const grove_kernel spread = SAMPLES("gridder_convolve_spread"),
                          collect = SAMPLES("gridder_convolve_collect");

typedef struct {
    const char *name;
    bool collects;
    int polarisations; /* of visibilities and of images */
    bool linear;       /* interpolation between 4 fine samples */
} workload;

static const workload workloads[] = {{"visibilities by a function", false, 1, false},
                                     {"visibilities by 16 functions", false, 4, false},
                                     {"a function to visibilities", true, 1, false},
                                     {"16 functions to visibilities", true, 4, false},
                                     {"visibilities, interpolated", false, 1, true},
                                     {"interpolated to visibilities", true, 1, true}};

/* [time][baseline]: baselines turn with the Earth. */
static double *draw_rows(int64_t baselines)
{
    double *uvw = malloc((size_t)(TIMES * baselines) * 3 * sizeof(*uvw));

    for (int64_t b = 0; uvw && b < baselines; b++) {
        const double u = 960 + 300 * gpu_draw(), v = 720 + 300 * gpu_draw();
        for (int t = 0; t < TIMES; t++) {
            const double angle = 90 * 2 * GROVE_PI / 86164 * t;
            double *to = uvw + 3 * (t * baselines + b);
            to[0] = u * cos(angle) + v * sin(angle);
            to[1] = v * cos(angle) - u * sin(angle);
            to[2] = 1;
        }
    }
    return uvw;
}

static grove_convolve_state state_of(const workload *w, int64_t baselines, int32_t cells)
{
    const double scale = 1.5 * 4096 * 4.26e-6; /* cells for each wavelength, of any grid */
    const int64_t samples = TIMES * baselines * CHANNELS;

    return (grove_convolve_state){
        .samples = {.pieces =
                        (int32_t)((samples + GROVE_CONVOLVE_PIECE - 1) / GROVE_CONVOLVE_PIECE),
                    .channels = CHANNELS,
                    .baselines = (int32_t)baselines,
                    .polarisations = w->polarisations,
                    .elements = 4,
                    .used = w->polarisations == 1 ? 9 : 15,
                    .width = SUPPORT,
                    .planes = 1,
                    .axis = {0, 1, 2},
                    .cells = {cells, cells},
                    .scale = {scale, scale}},
        .times = TIMES,
        .images = w->polarisations,
        .oversampling = OVERSAMPLING,
        .linear = w->linear};
}

/* Visibilities, and where they lie. */
static void fill_samples(gpu_bench *b, grove_args *args, const double *uvw, int64_t baselines,
                         const workload *w, bool double_)
{
    const int64_t bytes = double_ ? 8 : 4, cell = 2 * bytes * (w->collects ? w->polarisations : 4);
    double freq[CHANNELS], share[CHANNELS][2], stokes[32] = {0};
    const grove_view view = {.data = gpu_send_random(b, 8 * TIMES * baselines * CHANNELS, double_),
                             .stride = {cell * CHANNELS * baselines, cell * CHANNELS, cell},
                             .elements = w->collects ? w->polarisations : 4,
                             .complex_ = 1,
                             .bytes = (int32_t)bytes};

    for (int k = 0; k < CHANNELS; k++) {
        freq[k] = 1e9 + 3.125e6 * k;
        share[k][0] = 1; /* of one grid for all channels */
        share[k][1] = 0;
    }
    for (int k = 0; k < 4; k++)
        stokes[w->polarisations == 1 ? 2 * k : 10 * k] = w->polarisations == 4 ? 1
                                                         : k % 3 == 0          ? 0.5
                                                                               : 0;
    *(w->collects ? &args->out : &args->in[GROVE_GRIDDER_DATA]) = view;
    args->in[GROVE_GRIDDER_UVW] =
        (grove_view){.data = gpu_send(b, uvw, (size_t)(TIMES * baselines) * 24),
                     .stride = {24 * baselines, 24, 0},
                     .elements = 3,
                     .bytes = 8};
    args->in[GROVE_CONVOLVE_FREQ].data = gpu_send(b, freq, sizeof(freq));
    args->in[GROVE_GRIDDER_STOKES].data = gpu_send(b, stokes, sizeof(stokes));
    if (w->collects)
        args->in[GROVE_CONVOLVE_SHARE].data = gpu_send(b, share, sizeof(share));
}

/* Functions, which joins which, and grids. */
static void fill_functions(gpu_bench *b, grove_args *args, const grove_convolve_state *state,
                           const workload *w, bool double_)
{
    const int64_t stride = OVERSAMPLING + w->linear, blocks = SETS * stride * stride,
                  cells = (int64_t)state->samples.cells[0] * state->samples.cells[1];
    const size_t pair = double_ ? 16 : 8, rows = (size_t)(TIMES * state->samples.baselines);
    int32_t index[2 * SETS], *zero = calloc(rows + CHANNELS, sizeof(*zero));
    void *grids = gpu_make_room(b, (size_t)(w->polarisations * cells) * pair);

    for (int k = 0; k < 2 * SETS; k++)
        index[k] = k % SETS;
    gpu_must_have(zero);
    args->in[GROVE_CONVOLVE_FUNCTIONS].data =
        gpu_send_random(b, 2 * blocks * SUPPORT * SUPPORT, double_);
    if (w->polarisations > 1) {
        args->in[GROVE_CONVOLVE_INDEX].data = gpu_send(b, index, sizeof(index));
        args->in[GROVE_CONVOLVE_ROW].data = gpu_send(b, zero, rows * sizeof(*zero));
        args->in[GROVE_CONVOLVE_CHANNEL].data = gpu_send(b, zero, CHANNELS * sizeof(*zero));
    }
    args->in[GROVE_GRIDDER_SUMS].data =
        gpu_make_room(b, (size_t)state->samples.pieces * GROVE_CONVOLVE_TOTALS * sizeof(double));
    *(w->collects ? &args->in[GROVE_CONVOLVE_GRIDS].data : &args->out.data) = grids;
    free(zero);
}

static void measure(gpu_bench *b, const workload *w, bool double_)
{
    const int64_t baselines = b->tiny ? 4 : b->counted ? 12 * b->scale : 1 << 13;
    const grove_convolve_state state = state_of(w, baselines, b->counted || b->tiny ? 512 : 6144);
    grove_args args = {.axes = 3,
                       .inputs = GROVE_CONVOLVE_INPUTS,
                       .axis = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ},
                       .size = {TIMES, baselines, CHANNELS}};

    if (!gpu_begins(b, w->name))
        return;
    double *uvw = draw_rows(baselines);
    gpu_must_have(uvw);
    fill_samples(b, &args, uvw, baselines, w, double_);
    fill_functions(b, &args, &state, w, double_);
    memcpy(args.state.bytes, &state, sizeof(state));
    const double samples = (double)(TIMES * baselines * CHANNELS);
    gpu_print(
        b, w->name, double_, gpu_time_launches(b, w->collects ? &collect : &spread, &args, double_),
        &(gpu_counts){
            .operations = samples * 8 * SUPPORT * SUPPORT * w->polarisations * w->polarisations,
            .cells = samples,
            .bytes = samples * (w->collects ? 2 * w->polarisations : 8) * (double_ ? 8 : 4)});
    gpu_finish(b, &args);
    free(uvw);
}

void gpu_measure_functions(gpu_bench *b)
{
    for (int double_ = 0; double_ < 2; double_++)
        for (size_t k = 0; k < sizeof(workloads) / sizeof(*workloads); k++)
            measure(b, &workloads[k], double_);
}
