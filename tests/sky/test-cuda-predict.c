/* The sum over sources on the CUDA device against the plain sum of the cpu, in double precision:
 * every kernel, random geometry, and the same bits for any tile. */
#include "tests/common/cuda-testing.h"

#include "../kernels/sky/predict_cuda.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 13, AXES = 4, STATIONS = 6, PAIRS = 15 };
enum { SOURCE = 1, TIME = 2, BASELINE = 4, FREQ = 8 }; /* what an input varies with */

typedef struct {
    const char *name;
    int sources, times, channels, origin;
    int shape, brightness, jones; /* cells; and what the others vary with; jones 0: none */
    int spectra;                  /* what the brightness varies with */
    bool gaussians, smear_time, smear_freq, irregular, unequal_widths, unpolarised, long_interval;
    int way, whole; /* whole: channels of the axis, 1000 if 0 */
} setup;

static const setup setups[] = {
    {.name = "points", .sources = 70, .times = 10, .channels = 24, .unpolarised = true},
    {.name = "tile", .sources = 33, .times = 3, .channels = 19, .origin = 13},
    {.name = "one channel", .sources = 5, .times = 2, .channels = 1, .origin = 3},
    {.name = "narrow",
     .sources = 40,
     .times = 2,
     .channels = 7,
     .origin = 1,
     .smear_time = true,
     .smear_freq = true,
     .gaussians = true,
     .whole = 8,
     .way = GROVE_PREDICT_CUDA_NARROW},
    {.name = "two channels",
     .sources = 40,
     .times = 2,
     .channels = 2,
     .smear_time = true,
     .smear_freq = true,
     .gaussians = true,
     .irregular = true,
     .unequal_widths = true,
     .whole = 2,
     .way = GROVE_PREDICT_CUDA_CHANNEL},
    {.name = "strong smearing",
     .sources = 40,
     .times = 2,
     .channels = 34,
     .smear_time = true,
     .smear_freq = true,
     .unpolarised = true,
     .long_interval = true},
    {.name = "one source", .sources = 1, .times = 1, .channels = 8},
    {.name = "no sources", .sources = 0, .times = 2, .channels = 9},
    {.name = "many", .sources = 1100, .times = 1, .channels = 8, .unpolarised = true},
    {.name = "spectra", .sources = 40, .times = 2, .channels = 17, .spectra = FREQ},
    {.name = "scalar", .sources = 40, .times = 2, .channels = 9, .brightness = GROVE_SCALAR},
    {.name = "diagonal", .sources = 40, .times = 2, .channels = 9, .brightness = GROVE_DIAGONAL},
    {.name = "gaussians", .sources = 40, .times = 2, .channels = 16, .gaussians = true},
    {.name = "time", .sources = 40, .times = 2, .channels = 16, .smear_time = true},
    {.name = "freq", .sources = 40, .times = 2, .channels = 16, .smear_freq = true},
    {.name = "all",
     .sources = 40,
     .times = 3,
     .channels = 21,
     .origin = 5,
     .gaussians = true,
     .smear_time = true,
     .smear_freq = true,
     .unequal_widths = true,
     .irregular = true,
     .way = GROVE_PREDICT_CUDA_IRREGULAR},
    {.name = "jones", .sources = 20, .times = 2, .channels = 10, .jones = TIME | BASELINE | FREQ},
    {.name = "jones of scalars",
     .sources = 20,
     .times = 2,
     .channels = 10,
     .jones = TIME | BASELINE,
     .brightness = GROVE_SCALAR,
     .shape = GROVE_DIAGONAL},
    {.name = "jones by source",
     .sources = 37,
     .times = 2,
     .channels = 10,
     .origin = 6,
     .jones = SOURCE | BASELINE | FREQ,
     .gaussians = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones of stations",
     .sources = 37,
     .times = 2,
     .channels = 20,
     .origin = 6,
     .jones = SOURCE | BASELINE,
     .smear_time = true,
     .smear_freq = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones of stations, unpolarised",
     .sources = 37,
     .times = 2,
     .channels = 20,
     .origin = 6,
     .jones = SOURCE | BASELINE,
     .spectra = FREQ,
     .unpolarised = true,
     .gaussians = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones of stations, spectra",
     .sources = 37,
     .times = 2,
     .channels = 5,
     .origin = 6,
     .jones = SOURCE | TIME | BASELINE,
     .spectra = FREQ,
     .irregular = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones in pairs of channels",
     .sources = 70,
     .times = 2,
     .channels = 27,
     .origin = 6,
     .jones = SOURCE | BASELINE,
     .smear_freq = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones in pairs, unpolarised",
     .sources = 530,
     .times = 1,
     .channels = 18,
     .jones = SOURCE | TIME | BASELINE,
     .shape = GROVE_DIAGONAL,
     .unpolarised = true,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "jones in pairs, few channels",
     .sources = 20,
     .times = 2,
     .channels = 3,
     .origin = 1,
     .jones = SOURCE | BASELINE,
     .whole = 4,
     .way = GROVE_PREDICT_CUDA_JONES},
    {.name = "variable",
     .sources = 20,
     .times = 3,
     .channels = 10,
     .spectra = TIME,
     .smear_time = true,
     .smear_freq = true,
     .gaussians = true,
     .jones = SOURCE | BASELINE,
     .way = GROVE_PREDICT_CUDA_PLAIN},
    {.name = "unpolarised spectra",
     .sources = 40,
     .times = 2,
     .channels = 34,
     .spectra = FREQ,
     .unpolarised = true},
};
enum { SETUPS = sizeof(setups) / sizeof(*setups), ALL = 15 };

static int32_t left[PAIRS], right[PAIRS];
static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(3, counter++, 0, 0, 0)) - 0.5;
}

/* A view of cells of `elements` that vary along some axes; `scale` times random numbers. */
static void add_input(grove_args *args, int k, int varies, int shape, int elements, bool complex_,
                      bool double_, double scale)
{
    grove_view *view = &args->in[k];
    int64_t numbers = (int64_t)elements * (complex_ ? 2 : 1), step = numbers * (double_ ? 8 : 4);

    *view = (grove_view){
        .elements = elements, .shape = shape, .complex_ = complex_, .bytes = double_ ? 8 : 4};
    for (int d = AXES - 1; d >= 0; d--) {
        if (!(varies >> d & 1))
            continue;
        bool stations = d == 2 && (k == GROVE_PREDICT_LEFT || k == GROVE_PREDICT_RIGHT);
        view->stride[d] = step;
        if (stations) {
            view->gather_axis = d;
            view->gather = k == GROVE_PREDICT_LEFT ? left : right;
        }
        step *= stations ? STATIONS : args->size[d];
    }
    view->data = calloc(1, (size_t)step + 8);
    for (int64_t n = 0; n < step / view->bytes; n++) {
        double x = scale * (draw() + (complex_ && n % numbers == 0));
        if (double_)
            ((double *)view->data)[n] = x;
        else
            ((float *)view->data)[n] = (float)x;
    }
}

/* Channels of the whole axis from 0, whose part from `origin` is the evaluation's. */
static void set_channels(const setup *s, grove_args *args)
{
    double *freq = args->in[GROVE_PREDICT_FREQ].data, *width = args->in[GROVE_PREDICT_WIDTH].data;
    grove_predict_plan plan = {.channels = {!s->irregular, 0, 1e9, 5e6},
                               .count = s->whole ? s->whole : 1000,
                               .equal_width = !s->unequal_widths,
                               .width = 5e6,
                               .reference = 1e9,
                               .smear_time = s->smear_time,
                               .smear_freq = s->smear_freq};

    for (int k = 0; k < s->channels; k++) {
        freq[k] = 1e9 + 5e6 * (k + s->origin) + (s->irregular ? 1e6 * draw() : 0);
        if (width)
            width[k] = s->unequal_widths ? 5e6 * (1 + draw()) : 5e6;
    }
    memcpy(args->state.bytes, &plan, sizeof(plan));
}

static void set_sky(const setup *s, grove_args *args)
{
    double *lmn = args->in[GROVE_PREDICT_LMN].data, *shape = args->in[GROVE_PREDICT_SHAPE].data;
    const grove_view *view = &args->in[GROVE_PREDICT_BRIGHTNESS];
    int64_t cells =
        s->sources * (s->spectra & TIME ? s->times : 1) * (s->spectra & FREQ ? s->channels : 1);

    for (int k = 0; k < s->sources; k++) {
        lmn[3 * k + 2] = sqrt(1 - lmn[3 * k] * lmn[3 * k] - lmn[3 * k + 1] * lmn[3 * k + 1]) - 1;
        for (int d = 0; shape && d < 2; d++)
            shape[6 * k + d] = k % 3 ? fabs(shape[6 * k + d]) : 0;
        for (int d = 0; shape && d < 3; d++)
            shape[6 * k + 3 + d] = k % 2 ? lmn[3 * k + d] : 0;
    }
    for (int64_t n = 0; s->unpolarised && n < cells * 8; n++) {
        int e = (int)(n % 8);
        double x = e == 0 || e == 6 ? 1 + (double)(n / 8 % 7) : 0;
        if (view->bytes == 8)
            ((double *)view->data)[n] = x;
        else
            ((float *)view->data)[n] = (float)x;
    }
}

static grove_args make_args(const setup *s, bool double_)
{
    int brightness = s->brightness ? s->brightness : GROVE_MATRIX;
    int shape = s->shape ? s->shape : brightness;
    grove_args args = {
        .axes = AXES,
        .inputs = INPUTS,
        .size = {s->sources, s->times, PAIRS, s->channels},
        .origin = {0, 20, 30, s->origin},
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    int row = TIME | BASELINE;

    counter = 0;
    add_input(&args, GROVE_PREDICT_BRIGHTNESS, SOURCE | s->spectra, brightness, brightness, true,
              double_, 1);
    add_input(&args, GROVE_PREDICT_LMN, SOURCE, GROVE_VECTOR, 3, false, true, 0.2);
    if (s->gaussians)
        add_input(&args, GROVE_PREDICT_SHAPE, SOURCE, GROVE_VECTOR, 6, false, true, 1e-4);
    add_input(&args, GROVE_PREDICT_UVW, row, GROVE_VECTOR, 3, false, true, 5e3);
    add_input(&args, GROVE_PREDICT_FREQ, FREQ, GROVE_SCALAR, 1, false, true, 1);
    if (s->smear_time) {
        add_input(&args, GROVE_PREDICT_RATE, row, GROVE_VECTOR, 3, false, true, 1);
        add_input(&args, GROVE_PREDICT_INTERVAL, TIME, GROVE_SCALAR, 1, false, true,
                  s->long_interval ? 2000 : 20);
    }
    if (s->smear_freq)
        add_input(&args, GROVE_PREDICT_WIDTH, FREQ, GROVE_SCALAR, 1, false, true, 5e6);
    for (int k = GROVE_PREDICT_LEFT; s->jones && k <= GROVE_PREDICT_RIGHT; k++)
        add_input(&args, k, s->jones, k == GROVE_PREDICT_LEFT ? shape : GROVE_SCALAR,
                  k == GROVE_PREDICT_LEFT ? shape : 1, true, double_, 1);
    set_channels(s, &args);
    set_sky(s, &args);
    args.out =
        (grove_view){.elements = shape, .shape = shape, .complex_ = 1, .bytes = double_ ? 8 : 4};
    args.out.stride[3] = (int64_t)shape * 2 * args.out.bytes;
    args.out.stride[2] = args.out.stride[3] * s->channels;
    args.out.stride[1] = args.out.stride[2] * PAIRS;
    return args;
}

static int64_t input_bytes(const grove_args *args, int k)
{
    const grove_view *view = &args->in[k];
    int64_t bytes = (int64_t)view->elements * (view->complex_ ? 2 : 1) * view->bytes;

    for (int d = 0; d < AXES; d++)
        if (view->stride[d])
            bytes *= view->gather && d == view->gather_axis ? STATIONS : args->size[d];
    return bytes;
}

/* Everything goes up, what the result holds, too, the kernel runs, and the result of `bytes` comes
 * down. */
static void run(grove_device *device, const setup *s, const grove_args *args, bool double_,
                void *result, size_t bytes)
{
    grove_error *error = grove_error_new();
    grove_args there = *args;

    for (int k = 0; k < INPUTS; k++)
        if (args->in[k].data) {
            size_t size = (size_t)input_bytes(args, k);
            grove_device_allocate(device, size, &there.in[k].data, error);
            grove_device_upload(device, there.in[k].data, args->in[k].data, size, error);
            grove_device_ready(device, there.in[k].data, error);
        }
    ck_assert_int_eq(grove_predict_cuda_way(args), s->way);
    grove_device_allocate(device, bytes, &there.out.data, error);
    grove_device_upload(device, there.out.data, result, bytes, error);
    grove_device_ready(device, there.out.data, error);
    grove_device_launch(device, grove_predict_device(args), &there, double_, error);
    grove_device_download(device, result, there.out.data, bytes, error);
    ck_assert_msg(grove_error_count(error) == 0, "%s", grove_error_message(error, 0));
    for (int k = 0; k < INPUTS; k++)
        grove_device_release(device, there.in[k].data, 0);
    grove_device_release(device, there.out.data, bytes);
    grove_error_free(error);
}

static double number(const void *at, size_t n, bool double_)
{
    return double_ ? ((const double *)at)[n] : (double)((const float *)at)[n];
}

static void check(grove_device *device, const setup *s, bool double_)
{
    grove_args args = make_args(s, double_);
    size_t numbers = (size_t)s->times * PAIRS * (size_t)s->channels * 2 * (size_t)args.out.elements;
    size_t bytes = numbers * (size_t)args.out.bytes;
    void *result = calloc(1, bytes);
    double error = 0, size = 0;

    args.out.data = malloc(bytes);
    grove_predict_cells(&args, 0, grove_predict_rows(&args));
    run(device, s, &args, double_, result, bytes);
    for (size_t n = 0; n < numbers; n++) {
        double x = number(args.out.data, n, double_), y = number(result, n, double_);
        error += (x - y) * (x - y);
        size += x * x;
    }
    ck_assert_msg(sqrt(error) <= (double_ ? 1e-12 : 2e-6) * sqrt(size), "%s: %g of %g", s->name,
                  sqrt(error), sqrt(size));
    ck_assert(size > 0 || s->sources == 0);
    for (int k = 0; k < INPUTS; k++)
        free(args.in[k].data);
    free(args.out.data);
    free(result);
}

static void set_baselines(void)
{
    int n = 0;

    for (int p = 0; p < STATIONS; p++)
        for (int q = p + 1; q < STATIONS; q++, n++) {
            left[n] = p;
            right[n] = q;
        }
}

LOOP_TEST(test_sums, 0, 2 * SETUPS)
{
    set_baselines();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(cuda_testing_room(64 << 20));
    if (!device)
        return;
    check(device, &setups[_i / 2], _i % 2);
    cuda_testing_close(device);
}

/* Flags of rows: of every second one of the first time, of all of the others; for each channel, or
 * one for all. The other elements of a matrix are not flagged, or are of no row. */
static void add_flags(grove_args *args, bool channels)
{
    const int64_t each = channels ? args->size[3] : 1;
    grove_view *view = &args->in[GROVE_PREDICT_SKIP];
    unsigned char *flags = calloc((size_t)(args->size[1] * PAIRS * each) + 1, 4);

    *view = (grove_view){.data = flags, .elements = 4, .shape = GROVE_MATRIX, .bytes = 1};
    view->stride[1] = PAIRS * each;
    view->stride[2] = each;
    view->stride[3] = channels;
    for (int64_t i = 0; i < args->size[1] * PAIRS * each; i++)
        flags[i] = i / each >= PAIRS || i / each % 2 ? 15 : i % 15;
}

/* Rows that are skipped are left as they are, the others have the bits that they have among all. */
LOOP_TEST(test_skipped_rows_are_left, 0, 2 * SETUPS)
{
    const setup *s = &setups[_i / 2];
    const bool double_ = _i % 2;

    set_baselines();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    grove_args args = make_args(s, double_);
    const size_t row = (size_t)args.out.stride[2], bytes = row * PAIRS * (size_t)s->times;
    unsigned char *all = calloc(1, bytes), *some = malloc(bytes), *before = malloc(bytes);
    memset(before, 0x5a, bytes);
    memcpy(some, before, bytes);
    run(device, s, &args, double_, all, bytes);
    add_flags(&args, _i / 2 % 2);
    run(device, s, &args, double_, some, bytes);
    for (size_t i = 0; i < (size_t)s->times * PAIRS; i++)
        ck_assert_msg(!memcmp(some + row * i, (i >= PAIRS || i % 2 ? before : all) + row * i, row),
                      "%s: row %zu", s->name, i);
    for (int k = 0; k < INPUTS; k++)
        free(args.in[k].data);
    free(all);
    free(some);
    free(before);
    cuda_testing_close(device);
}

/* Channels 3 to 17 by themselves have the bits that they have among all. */
TEST(test_any_tile_gives_the_same_bits)
{
    enum { FIRST = 3, COUNT = 14 };
    const setup *s = &setups[ALL];

    ck_assert_str_eq(s->name, "all");
    float all[3][PAIRS][21][8] = {0}, part[3][PAIRS][COUNT][8] = {0};

    cuda_testing_reset(9);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    grove_args args = make_args(s, false), tile = args;
    run(device, s, &args, false, all, sizeof(all));
    tile.size[3] = COUNT;
    tile.origin[3] += FIRST;
    tile.in[GROVE_PREDICT_FREQ].data = (double *)args.in[GROVE_PREDICT_FREQ].data + FIRST;
    tile.in[GROVE_PREDICT_WIDTH].data = (double *)args.in[GROVE_PREDICT_WIDTH].data + FIRST;
    tile.out.stride[2] = tile.out.stride[3] * COUNT;
    tile.out.stride[1] = tile.out.stride[2] * PAIRS;
    run(device, s, &tile, false, part, sizeof(part));
    for (int t = 0; t < 3; t++)
        for (int b = 0; b < PAIRS; b++)
            ck_assert_int_eq(memcmp(all[t][b][FIRST], part[t][b][0], sizeof(part[t][b])), 0);
    for (int k = 0; k < INPUTS; k++)
        free(args.in[k].data);
    cuda_testing_close(device);
}

/* The sum of `channels` in the precision of `bytes` goes by groups of so many. */
TEST(test_groups)
{
    static const struct {
        int channels, bytes, group;
    } rows[] = {{1, 4, 1},   {3, 4, 8}, {8, 4, 8}, {9, 4, 32}, {17, 4, 32}, {33, 4, 32},
                {65, 4, 32}, {2, 8, 1}, {8, 8, 8}, {9, 8, 16}, {17, 8, 16}};

    for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
        const grove_predict_plan plan = {.channels.regular = 1, .count = rows[k].channels};
        grove_args args = {.out.bytes = rows[k].bytes};
        memcpy(args.state.bytes, &plan, sizeof(plan));
        int group = grove_predict_cuda_group(&args, grove_predict_cuda_way(&args));
        ck_assert_msg(group == rows[k].group, "%zu: %d", k, group);
    }
}

CUDA_SUITE(120, NULL, NULL)
