/* Products of stations by sources on the CUDA device against sums in long double: kinds of
 * brightness and Jones terms, few and many stations, baselines that are missing, reversed or a
 * station with itself, coordinates that are not of the stations; and the same bits for any tile. */
#include "tests/common/cuda-testing.h"

#include "../kernels/sky/predict_cuda.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 13, AXES = 4, MOST = 70 * 71 };
enum { FIRST_CHANNEL = 5, CHANNELS = 40 };

typedef struct {
    const char *name;
    int stations, sources, times, channels, brightness, left, right;
    bool unpolarised, crossed, strays, outside, flat, gaussians;
} setup;

static const setup setups[] = {
    {"points", 7, 70, 3, 2, 4, 0, 0, .unpolarised = true},
    {"scalars", 20, 33, 1, 3, 1, 0, 0, .flat = true},
    {"polarised", 9, 40, 2, 2, 4, 0, 0},
    {"three stations", 3, 5, 2, 2, 4, 4, 4},
    {"seventy stations", 70, 40, 1, 1, 4, 0, 0, .unpolarised = true},
    {"matrices", 7, 40, 2, 2, 4, 4, 4, .crossed = true},
    {"many matrices", 40, 20, 1, 1, 4, 4, 4, .flat = true},
    {"scalar terms", 7, 40, 1, 2, 4, 1, 1, .unpolarised = true},
    {"scalar terms, polarised", 17, 40, 1, 2, 4, 1, 1, .crossed = true},
    {"a term to the right", 7, 20, 1, 2, 1, 0, 2},
    {"diagonals", 7, 20, 1, 2, 2, 2, 4, .crossed = true},
    {"terms around", 7, 40, 2, 2, 4, 4, 4, .unpolarised = true, .outside = true},
    {"strays", 9, 40, 2, 2, 4, 4, 4, .strays = true, .crossed = true},
    {"strays, points", 9, 40, 2, 2, 4, 0, 0, .strays = true, .unpolarised = true},
    {"crossed", 20, 40, 1, 1, 4, 0, 0, .unpolarised = true, .crossed = true},
    {"no sources", 3, 0, 1, 1, 4, 0, 0, .unpolarised = true},
    {"gaussians", 7, 40, 1, 2, 4, 0, 0, .gaussians = true},
    {"points by shape", 7, 40, 1, 2, 4, 4, 0, .gaussians = true, .flat = true},
    {"many sources", 5, 3000, 1, 1, 1, 0, 0, .unpolarised = true},
};
enum { SETUPS = sizeof(setups) / sizeof(*setups) };

static int32_t left[MOST], right[MOST];
static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(5, counter++, 0, 0, 0)) - 0.5;
}

/* Every second one is left out; crossed: also with the stations exchanged or equal. */
static int64_t make_baselines(const setup *s)
{
    int64_t count = 0;

    for (int p = 0; p < s->stations; p++)
        for (int q = s->crossed ? 0 : p + 1; q < s->stations; q++) {
            if (s->crossed && (p + 3 * q) % 4 == 1)
                continue;
            left[count] = p;
            right[count++] = q;
        }
    return count;
}

static void put(const grove_view *view, int64_t n, double x)
{
    if (view->bytes == 8)
        ((double *)view->data)[n] = x;
    else
        ((float *)view->data)[n] = (float)x;
}

static double get(const void *at, int64_t n, int bytes)
{
    return bytes == 8 ? ((const double *)at)[n] : (double)((const float *)at)[n];
}

static int64_t numbers_of(const grove_view *view)
{
    return (int64_t)view->elements * (view->complex_ ? 2 : 1);
}

/* A dense view that varies along axes (bits), `along` cells along axis 2. */
static int64_t add_input(grove_args *args, int k, int varies, int elements, bool complex_,
                         int bytes, int64_t along)
{
    grove_view *view = &args->in[k];
    int64_t cells = 1;

    *view = (grove_view){.elements = elements,
                         .shape = elements == 3 ? GROVE_VECTOR : elements,
                         .complex_ = complex_,
                         .bytes = bytes};
    for (int d = AXES - 1; d >= 0; d--)
        if (varies >> d & 1) {
            view->stride[d] = cells * numbers_of(view) * bytes;
            cells *= d == 2 ? along : args->size[d];
        }
    view->data = calloc((size_t)(cells * numbers_of(view)) + 1, (size_t)bytes);
    for (int64_t n = 0; n < cells * numbers_of(view); n++)
        put(view, n, draw() + (complex_ && n % numbers_of(view) == 0));
    return cells * numbers_of(view) * bytes;
}

static void set_geometry(const setup *s, grove_args *args, double *stations)
{
    double *lmn = args->in[GROVE_PREDICT_LMN].data, *uvw = args->in[GROVE_PREDICT_UVW].data;
    double *freq = args->in[GROVE_PREDICT_FREQ].data;
    int64_t baselines = args->size[2];

    for (int k = 0; k < s->sources; k++) {
        lmn[3 * k] *= 0.2;
        lmn[3 * k + 1] *= 0.2;
        lmn[3 * k + 2] = sqrt(1 - lmn[3 * k] * lmn[3 * k] - lmn[3 * k + 1] * lmn[3 * k + 1]) - 1;
    }
    for (int64_t n = 0; s->gaussians && n < 3 * (int64_t)s->sources; n++)
        ((double *)args->in[GROVE_PREDICT_SHAPE].data)[n] *= s->flat || n / 3 % 4 ? 0
                                                             : n % 3 < 2          ? 2e-5
                                                                                  : 1;
    for (int64_t n = 0; n < 3 * (int64_t)s->stations * s->times; n++)
        stations[n] *= n % 3 == 2 ? 100 : 5000;
    for (int64_t t = 0; t < s->times; t++)
        for (int64_t b = 0; b < baselines; b++)
            for (int d = 0; d < 3; d++)
                uvw[3 * (t * baselines + b) + d] = stations[3 * (t * s->stations + left[b]) + d] -
                                                   stations[3 * (t * s->stations + right[b]) + d] +
                                                   (s->strays && (b + t) % 5 == 2 ? 0.01 : 0);
    for (int k = 0; k < s->channels; k++)
        freq[k] = 1e9 + 5e6 * (k + FIRST_CHANNEL);
}

static void set_brightness(const setup *s, grove_args *args, int64_t bytes)
{
    const grove_view *view = &args->in[GROVE_PREDICT_BRIGHTNESS];

    for (int64_t n = 0; s->unpolarised && n < bytes / view->bytes; n++) {
        int64_t e = n % numbers_of(view), cell = n / numbers_of(view);
        put(view, n, e % 2 == 0 && (e == 0 || e == 6) ? 0.5 + (double)(cell % 9) : 0);
    }
}

typedef struct {
    grove_args args;
    int64_t bytes[INPUTS]; /* of the inputs */
    size_t result;         /* bytes */
    bool together;         /* coordinates of left and right stations are one array */
} problem;

static void make_problem(const setup *s, int bytes, problem *p)
{
    enum { SOURCE = 1, TIME = 2, BASELINE = 4, FREQ = 8 };
    int64_t baselines = make_baselines(s);
    int inside = (s->outside ? 0 : SOURCE) | TIME | BASELINE | FREQ;
    grove_predict_plan plan = {.channels = {1, 0, 1e9, 5e6},
                               .way = GROVE_PREDICT_STATION,
                               .count = CHANNELS,
                               .reference = 1.2e9,
                               .stations = s->stations,
                               .products = 1};
    grove_args *args = &p->args;

    memset(p, 0, sizeof(*p));
    *args = (grove_args){
        .axes = AXES,
        .inputs = INPUTS,
        .size = {s->sources, s->times, baselines, s->channels},
        .origin = {0, 20, 0, FIRST_CHANNEL},
        .axis = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ}};
    counter = 0;
    for (int k = 0; k < GROVE_PREDICT_SKIP; k++) {
        int terms = k == GROVE_PREDICT_LEFT ? s->left : s->right;
        if (k == GROVE_PREDICT_BRIGHTNESS)
            p->bytes[k] =
                add_input(args, k, SOURCE | (s->flat ? 0 : FREQ), s->brightness, true, bytes, 0);
        else if (k == GROVE_PREDICT_LMN)
            p->bytes[k] = add_input(args, k, SOURCE, 3, false, 8, 0);
        else if (k == GROVE_PREDICT_SHAPE && s->gaussians)
            p->bytes[k] = add_input(args, k, SOURCE, 3, false, 8, 0);
        else if (k == GROVE_PREDICT_UVW)
            p->bytes[k] = add_input(args, k, TIME | BASELINE, 3, false, 8, baselines);
        else if (k == GROVE_PREDICT_FREQ)
            p->bytes[k] = add_input(args, k, FREQ, 1, false, 8, 0);
        else if (k >= GROVE_PREDICT_UVW_LEFT)
            p->bytes[k] = add_input(args, k, TIME | BASELINE, 3, false, 8, s->stations);
        else if (k >= GROVE_PREDICT_LEFT && terms)
            p->bytes[k] = add_input(args, k, inside, terms, true, bytes, s->stations);
        if (k >= GROVE_PREDICT_LEFT) {
            args->in[k].gather_axis = 2;
            args->in[k].gather = k % 2 ? right : left;
        }
    }
    set_geometry(s, args, args->in[GROVE_PREDICT_UVW_LEFT].data);
    memcpy(args->in[GROVE_PREDICT_UVW_RIGHT].data, args->in[GROVE_PREDICT_UVW_LEFT].data,
           (size_t)p->bytes[GROVE_PREDICT_UVW_LEFT]);
    set_brightness(s, args, p->bytes[GROVE_PREDICT_BRIGHTNESS]);
    memcpy(args->state.bytes, &plan, sizeof(plan));
    int elements = s->brightness > s->left ? s->brightness : s->left;
    elements = s->right > elements ? s->right : elements;
    args->out =
        (grove_view){.elements = elements, .shape = elements, .complex_ = 1, .bytes = bytes};
    args->out.stride[3] = (int64_t)elements * 2 * bytes;
    args->out.stride[2] = args->out.stride[3] * s->channels;
    args->out.stride[1] = args->out.stride[2] * baselines;
    p->result = (size_t)(args->out.stride[1] * s->times);
}

static void free_problem(problem *p)
{
    for (int k = 0; k < INPUTS; k++)
        free(p->args.in[k].data);
}

/* Everything goes up, what the result holds, too, the kernel runs, and the result comes down. */
static void run(grove_device *device, const grove_kernel *kernel, const problem *p, void *result)
{
    grove_error *error = grove_error_new();
    grove_args there = p->args;

    for (int k = 0; k < INPUTS; k++)
        if (there.in[k].data) {
            size_t size = (size_t)p->bytes[k] + 8;
            void *at = NULL;
            grove_device_allocate(device, size, &at, error);
            grove_device_upload(device, at, there.in[k].data, (size_t)p->bytes[k], error);
            grove_device_ready(device, at, error);
            there.in[k].data = at;
        }
    void *own = there.in[GROVE_PREDICT_UVW_RIGHT].data;
    if (p->together)
        there.in[GROVE_PREDICT_UVW_RIGHT].data = there.in[GROVE_PREDICT_UVW_LEFT].data;
    grove_device_allocate(device, p->result, &there.out.data, error);
    grove_device_upload(device, there.out.data, result, p->result, error);
    grove_device_ready(device, there.out.data, error);
    grove_device_launch(device, kernel, &there, p->args.out.bytes == 8, error);
    grove_device_download(device, result, there.out.data, p->result, error);
    ck_assert_msg(grove_error_count(error) == 0, "%s", grove_error_message(error, 0));
    there.in[GROVE_PREDICT_UVW_RIGHT].data = own;
    for (int k = 0; k < INPUTS; k++)
        if (there.in[k].data)
            grove_device_release(device, there.in[k].data, 0);
    grove_device_release(device, there.out.data, p->result);
    grove_error_free(error);
}

/* Cell (source, time, baseline, freq) of input k as a matrix. */
static void take_matrix(const grove_args *args, int k, const int64_t index[4],
                        long double complex m[4])
{
    const grove_view *view = &args->in[k];

    m[0] = m[3] = 1;
    m[1] = m[2] = 0;
    if (!view->data)
        return;
    const void *at = grove_view_at(view, index, AXES);
    for (int e = 0; e < 4; e++) {
        int from = view->elements == 4 ? e : e % 3 != 0 ? -1 : view->elements == 2 ? e / 3 : 0;
        m[e] = from < 0 ? 0
                        : (long double)get(at, 2 * from, view->bytes) +
                              (long double)get(at, 2 * from + 1, view->bytes) * I;
    }
}

static void multiply(const long double complex a[4], const long double complex b[4],
                     long double complex c[4])
{
    for (int e = 0; e < 4; e++)
        c[e] = a[e & 2] * b[e & 1] + a[(e & 2) + 1] * b[(e & 1) + 2];
}

static void sum_exactly(const grove_args *args, const int64_t at[4], long double complex sum[4])
{
    int64_t index[4] = {0, at[1], at[2], at[3]};
    const double *uvw =
        (const double *)(void *)grove_view_at(&args->in[GROVE_PREDICT_UVW], index, AXES);
    const double *freq = args->in[GROVE_PREDICT_FREQ].data;

    memset(sum, 0, 4 * sizeof(*sum));
    for (index[0] = 0; index[0] < args->size[0]; index[0]++) {
        const double *lmn = (const double *)args->in[GROVE_PREDICT_LMN].data + 3 * index[0];
        long double turns = 0;
        long double complex b[4], l[4], r[4], lb[4], v[4];
        for (int d = 0; d < 3; d++)
            turns -= (long double)uvw[d] * lmn[d];
        turns *= (long double)freq[at[3]] / GROVE_SPEED_OF_LIGHT;
        const double *shape = args->in[GROVE_PREDICT_SHAPE].data;
        long double factor = 1;
        if (shape) {
            const double *a = shape + 3 * index[0];
            long double x = uvw[0] * (long double)freq[at[3]] / GROVE_SPEED_OF_LIGHT;
            long double y = uvw[1] * (long double)freq[at[3]] / GROVE_SPEED_OF_LIGHT;
            long double major = a[0] * (x * sinl(a[2]) + y * cosl(a[2]));
            long double minor = a[1] * (x * cosl(a[2]) - y * sinl(a[2]));
            factor = expl(-3.14159265358979323846264338L * 3.14159265358979323846264338L /
                          (4 * logl(2)) * (major * major + minor * minor));
        }
        take_matrix(args, GROVE_PREDICT_BRIGHTNESS, index, b);
        take_matrix(args, GROVE_PREDICT_LEFT, index, l);
        take_matrix(args, GROVE_PREDICT_RIGHT, index, r);
        multiply(l, b, lb);
        multiply(lb, r, v);
        for (int e = 0; e < 4; e++)
            sum[e] += factor * v[e] * cexpl(2 * 3.14159265358979323846264338L * I * turns);
    }
}

/* Relative error of a result. */
static double error_of(const problem *p, const void *result)
{
    const grove_args *args = &p->args;
    long double error = 0, size = 0;
    int64_t n = 0, at[4] = {0};

    for (at[1] = 0; at[1] < args->size[1]; at[1]++)
        for (at[2] = 0; at[2] < args->size[2]; at[2]++)
            for (at[3] = 0; at[3] < args->size[3]; at[3]++) {
                long double complex sum[4];
                sum_exactly(args, at, sum);
                for (int e = 0; e < args->out.elements; e++, n += 2) {
                    long double complex x = sum[args->out.elements == 2 ? 3 * e : e];
                    long double complex y = (long double)get(result, n, args->out.bytes) +
                                            (long double)get(result, n + 1, args->out.bytes) * I;
                    error += creall((x - y) * conjl(x - y));
                    size += creall(x * conjl(x));
                }
            }
    return size > 0 ? (double)sqrtl(error / size) : (double)error;
}

LOOP_TEST(test_products, 0, 2 * SETUPS)
{
    const setup *s = &setups[_i / 2];
    const grove_kernel *kernels[] = {&grove_predict_station_kernel,
                                     &grove_predict_station_vector_kernel};
    problem p;

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    make_problem(s, _i % 2 ? 8 : 4, &p);
    ck_assert_ptr_eq(grove_predict_device(&p.args), &grove_predict_station_kernel);
    void *result = malloc(p.result);
    for (int k = 0; k < 4; k++) {
        memset(result, 0xff, p.result);
        p.together = k / 2;
        run(device, kernels[k % 2], &p, result);
        double error = error_of(&p, result);
        ck_assert_msg(error <= (_i % 2 ? 1e-12 : 1e-6), "%s, %s: %g", s->name, kernels[k % 2]->name,
                      error);
    }
    free(result);
    free_problem(&p);
    cuda_testing_close(device);
}

/* Baselines that are skipped are left as they are, the others have the bits that they have among
 * all. Of the last time all are skipped. */
LOOP_TEST(test_skipped_rows_are_left, 0, 2 * SETUPS)
{
    problem p;

    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    make_problem(&setups[_i / 2], _i % 2 ? 8 : 4, &p);
    const int64_t times = p.args.size[1], baselines = p.args.size[2];
    const size_t row = (size_t)p.args.out.stride[2];
    unsigned char *all = calloc(1, p.result), *some = malloc(p.result), *before = malloc(p.result);
    unsigned char *flags = calloc((size_t)(times * baselines), 1);
    memset(before, 0x5a, p.result);
    memcpy(some, before, p.result);
    run(device, grove_predict_device(&p.args), &p, all);
    grove_view *view = &p.args.in[GROVE_PREDICT_SKIP];
    *view = (grove_view){.data = flags, .elements = 1, .shape = GROVE_SCALAR, .bytes = 1};
    view->stride[1] = baselines;
    view->stride[2] = 1;
    p.bytes[GROVE_PREDICT_SKIP] = times * baselines;
    for (int64_t i = 0; i < times * baselines; i++)
        flags[i] = i / baselines == times - 1 || i % 3 == 0;
    run(device, grove_predict_device(&p.args), &p, some);
    for (int64_t i = 0; i < times * baselines; i++)
        ck_assert_msg(
            !memcmp(some + row * (size_t)i, (flags[i] ? before : all) + row * (size_t)i, row),
            "%s: row %d", setups[_i / 2].name, (int)i);
    free(all);
    free(some);
    free(before);
    free_problem(&p);
    cuda_testing_close(device);
}

/* What is no number makes none, whatever its bits: those are what GPUs make. */
TEST(test_no_number_stays_none)
{
    static const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7f800001};
    problem p;

    cuda_testing_reset(3);
    grove_device *device = cuda_testing_open(0);
    for (size_t k = 0; device && k < sizeof(bits) / sizeof(*bits); k++) {
        make_problem(&setups[0], 4, &p);
        ck_assert_int_eq(p.args.in[GROVE_PREDICT_BRIGHTNESS].bytes, 4);
        memcpy(p.args.in[GROVE_PREDICT_BRIGHTNESS].data, &bits[k], sizeof(bits[k]));
        float *result = calloc(1, p.result);
        run(device, grove_predict_device(&p.args), &p, result);
        ck_assert_msg(isnan(result[0]), "%g", (double)result[0]);
        free(result);
        free_problem(&p);
    }
    if (device)
        cuda_testing_close(device);
}

/* One time, one channel and the second half of the baselines have the bits that they have among
 * all. */
TEST(test_any_tile_gives_the_same_bits)
{
    const setup *s = &setups[5];
    problem all, part;
    int32_t *shifted[2];

    cuda_testing_reset(7);
    grove_device *device = cuda_testing_open(0);
    if (!device)
        return;
    make_problem(s, 4, &all);
    part = all;
    int64_t half = all.args.size[2] / 2, rest = all.args.size[2] - half;
    for (int k = 0; k < 2; k++)
        shifted[k] = (k ? right : left) + half;
    part.args.size[1] = part.args.size[3] = 1;
    part.args.size[2] = rest;
    part.args.origin[1]++;
    part.args.origin[2] += half;
    part.args.origin[3]++;
    for (int k = 0; k < INPUTS; k++) {
        grove_view *view = &part.args.in[k];
        if (!view->data)
            continue;
        int64_t skip =
            view->stride[1] + view->stride[3] + (view->gather ? 0 : half * view->stride[2]);
        view->data = (char *)view->data + skip;
        part.bytes[k] -= skip;
        view->gather = view->gather ? shifted[k % 2] : NULL;
    }
    part.args.out.stride[2] = part.args.out.stride[3];
    part.args.out.stride[1] = part.args.out.stride[2] * rest;
    part.result = (size_t)part.args.out.stride[1];
    char *whole = calloc(1, all.result), *piece = calloc(1, part.result);
    run(device, grove_predict_device(&all.args), &all, whole);
    ck_assert_ptr_eq(grove_predict_device(&part.args), &grove_predict_station_kernel);
    run(device, grove_predict_device(&part.args), &part, piece);
    size_t cell = (size_t)all.args.out.stride[3];
    for (int64_t b = 0; b < rest; b++)
        ck_assert_int_eq(memcmp(piece + (size_t)b * cell,
                                whole + all.args.out.stride[1] +
                                    (b + half) * all.args.out.stride[2] + all.args.out.stride[3],
                                cell),
                         0);
    free(whole);
    free(piece);
    free_problem(&all);
    cuda_testing_close(device);
}

/* Smearing, other index arrays of Jones terms: by baselines. */
TEST(test_others_go_by_baselines)
{
    static const int32_t others[MOST] = {1};
    problem p;

    make_problem(&setups[5], 8, &p);
    grove_args args = p.args;
    ck_assert(grove_predict_goes_by_stations(&args));
    args.in[GROVE_PREDICT_WIDTH] = args.in[GROVE_PREDICT_FREQ];
    ck_assert(!grove_predict_goes_by_stations(&args));
    args = p.args;
    args.in[GROVE_PREDICT_LEFT].gather = others;
    ck_assert(!grove_predict_goes_by_stations(&args));
    args = p.args;
    args.in[GROVE_PREDICT_UVW_RIGHT].data = NULL;
    ck_assert(!grove_predict_goes_by_stations(&args));
    args = p.args;
    ((grove_predict_plan *)(void *)args.state.bytes)->products = 0;
    ck_assert(!grove_predict_goes_by_stations(&args));
    free_problem(&p);
}

CUDA_SUITE(120, NULL, NULL)
