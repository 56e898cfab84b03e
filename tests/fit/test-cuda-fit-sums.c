/* Compressed sums on a device: the numbers of the host for each form, shape and precision, whatever
 * is flagged, not finite, without weight or on a baseline that is too long. And systems that are
 * solved there. */
#include "tests/common/cuda-testing.h"

#include "nodes/fit/compression.h"

#include "../kernels/fit/fit_solve.h"
#include "../kernels/fit/fit_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 5, BASELINES = 3, CHANNELS = 4, CELLS = TIMES * BASELINES * CHANNELS };
enum { ORIGIN = 7, GROUPS = GROVE_FIT_GROUPS, ARRAYS = 2 + GROUPS };

static const int64_t size[3] = {TIMES, BASELINES, CHANNELS};
/* Edges of stretches along time, with one that lies before the tile, and frequency; then centres.
 */
static const int64_t edges[] = {0, ORIGIN, ORIGIN + 2, ORIGIN + TIMES, 0, 1, CHANNELS};
static const double centres[CHANNELS] = {1e8, 1.1e8, 1.2e8, 1.3e8};

typedef struct {
    grove_compression_form form;
    int groups, data, weights, model; /* elements; weights 0: none */
    int bytes;
    bool flagged, limited;
} shape;

static const shape shapes[] = {
    {GROVE_COMPRESSION_DIAGONAL, 1, 4, 4, 4, 4, true, false},
    {GROVE_COMPRESSION_DIAGONAL, 3, 4, 1, 4, 8, true, true},
    {GROVE_COMPRESSION_DIAGONAL, 6, 2, 2, 2, 8, true, false},
    {GROVE_COMPRESSION_DIAGONAL, 2, 1, 0, 1, 4, false, true},
    {GROVE_COMPRESSION_DIAGONAL, 1, 4, 0, 1, 8, true, false},
    {GROVE_COMPRESSION_FULL, 1, 4, 4, 4, 4, true, false},
    {GROVE_COMPRESSION_FULL, 2, 4, 1, 4, 8, true, true},
    {GROVE_COMPRESSION_FULL, 1, 4, 2, 2, 8, true, false},
    {GROVE_COMPRESSION_FULL, 2, 2, 0, 1, 4, false, false},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static grove_error *errors;

/* ---- numbers ---- */

typedef struct {
    unsigned char numbers[CELLS * 4 * 2 * 8], flags[CELLS];
    int elements, parts, bytes;
} array;

static array arrays[ARRAYS]; /* data, weights, models */
static double uvw[TIMES * BASELINES * 3];

static double draw(uint64_t k, uint64_t n, uint64_t e)
{
    return grove_random_uniform(grove_random_bits(3, k, n, e, 0)) - 0.4;
}

static void put(array *to, int64_t k, double x)
{
    if (to->bytes == 8)
        ((double *)(void *)to->numbers)[k] = x;
    else
        ((float *)(void *)to->numbers)[k] = (float)x;
}

/* Weights from -0.4 on; some numbers are not finite. */
static void fill(array *to, uint64_t which, const shape *s, int elements, int parts)
{
    to->elements = elements;
    to->parts = parts;
    to->bytes = s->bytes;
    for (uint64_t n = 0; n < CELLS; n++) {
        double x = draw(which, n, 77);
        to->flags[n] = s->flagged && x > 0.3 ? (unsigned char)(1000 * x) & 15 : 0;
        for (int k = 0; k < elements * parts; k++)
            put(to, (int64_t)n * elements * parts + k,
                s->flagged && (n + which) % 17 == (uint64_t)k ? n % 2 ? NAN : INFINITY
                                                              : draw(which, n, (uint64_t)k));
    }
}

static void fill_all(const shape *s)
{
    fill(&arrays[0], 0, s, s->data, 2);
    fill(&arrays[1], 1, s, s->weights, 1);
    for (int g = 0; g < s->groups; g++)
        fill(&arrays[2 + g], (uint64_t)(2 + g), s, s->model, 2);
    for (int k = 0; k < TIMES * BASELINES; k++) {
        uvw[3 * k] = 100.0 * k;
        uvw[3 * k + 1] = 50;
        uvw[3 * k + 2] = 1e9;
    }
}

static grove_fit_state state_of(const shape *s)
{
    grove_fit_state state = {.tile = {.uvw = s->limited ? GROVE_FIT_MODELS + 2 * s->groups : 0,
                                      .centred = 1,
                                      .axis = {0, 1, 2},
                                      .in_wavelengths = {0, 1},
                                      .limits = {150, 400},
                                      .stretches = {2, 2},
                                      .baselines = BASELINES,
                                      .edges = {1, 4},
                                      .centres = 7},
                             .full = s->form == GROVE_COMPRESSION_FULL,
                             .groups = s->groups};

    state.left_out = s->data == 1 ? 14 : s->data == 2 || s->weights == 2 ? 6 : 0;
    return state;
}

/* ---- the truth ---- */

static void set_array(const array *from, bool flagged, grove_compression_array *to)
{
    int64_t stride = (int64_t)from->elements * from->parts * from->bytes;

    *to = (grove_compression_array){.data = from->numbers,
                                    .flags = flagged ? from->flags : NULL,
                                    .elements = from->elements,
                                    .bytes = from->bytes};
    for (int d = 2; d >= 0; d--) {
        to->stride[d] = d == 2 ? stride : to->stride[d + 1] * size[d + 1];
        to->flag_stride[d] = d == 2 ? 1 : to->flag_stride[d + 1] * size[d + 1];
    }
}

/* On the host what is out of range is flagged. */
static void flag_lengths(void)
{
    for (int n = 0; n < CELLS; n++) {
        const double *at = uvw + (ptrdiff_t)3 * (n / CHANNELS);
        double length = sqrt(at[0] * at[0] + at[1] * at[1]);
        if (length < 150 || length * centres[n % CHANNELS] / GROVE_SPEED_OF_LIGHT > 400)
            arrays[0].flags[n] |= 15;
    }
}

static void sum_on_host(const shape *s, double *sums)
{
    grove_compression_input input = {.form = s->form, .groups = s->groups};
    int64_t each = BASELINES * grove_compression_size(s->form, s->groups);

    if (s->limited)
        flag_lengths();
    set_array(&arrays[0], s->flagged || s->limited, &input.data);
    if (s->weights)
        set_array(&arrays[1], false, &input.weights);
    for (int g = 0; g < s->groups; g++)
        set_array(&arrays[2 + g], s->flagged, &input.model[g]);
    for (int k = 0; k < 4; k++) {
        const int64_t *time = edges + 1 + k / 2, *freq = edges + 4 + k % 2;
        grove_compression_stretch stretch = {{time[0] - ORIGIN, time[1] - ORIGIN},
                                             {freq[0], freq[1]}};
        ck_assert_int_eq(grove_compression_sum(&input, &stretch, 0, BASELINES, sums + k * each), 0);
    }
}

/* ---- the device ---- */

static void *send(grove_device *device, const void *from, size_t bytes)
{
    void *to;

    ck_assert_int_eq(grove_device_allocate(device, bytes, &to, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, to, from, bytes, errors), 0);
    ck_assert_int_eq(grove_device_ready(device, to, errors), 0);
    return to;
}

static void send_array(grove_device *device, const array *from, bool flagged, grove_view *numbers,
                       grove_view *flags, const grove_args *args)
{
    grove_view_set_dense(numbers, args, from->elements, from->parts == 2, from->bytes);
    numbers->data = send(device, from->numbers, sizeof(from->numbers));
    if (!flagged)
        return;
    grove_view_set_dense(flags, args, 1, 0, 1);
    flags->data = send(device, from->flags, sizeof(from->flags));
}

static void sum_on_device(grove_device *device, const shape *s, double *sums, size_t bytes)
{
    static const grove_kernel kernel = {
        "fit_sums", NULL, NULL, "fit_sums.cu", grove_fit_sums_threads, 0, 0};
    grove_fit_state state = state_of(s);
    grove_args args = {.axes = 3, .inputs = GROVE_FIT_MODELS + 2 * s->groups + s->limited};
    grove_view none;
    unsigned char table[sizeof(edges) + sizeof(centres)];

    memcpy(table, edges, sizeof(edges));
    memcpy(table + sizeof(edges), centres, sizeof(centres));
    for (int d = 0; d < 3; d++)
        args.size[d] = size[d];
    args.origin[0] = ORIGIN;
    send_array(device, &arrays[0], s->flagged, &args.in[GROVE_FIT_DATA], &args.in[GROVE_FIT_FLAGS],
               &args);
    if (s->weights)
        send_array(device, &arrays[1], false, &args.in[GROVE_FIT_WEIGHTS], &none, &args);
    for (int g = 0; g < s->groups; g++)
        send_array(device, &arrays[2 + g], s->flagged, &args.in[GROVE_FIT_MODELS + 2 * g],
                   &args.in[GROVE_FIT_MODELS + 2 * g + 1], &args);
    if (s->limited)
        args.in[state.tile.uvw] = (grove_view){.data = send(device, uvw, sizeof(uvw)),
                                               .stride = {BASELINES * 24, 24, 0},
                                               .elements = 3,
                                               .bytes = 8};
    memcpy(args.state.bytes, &state, sizeof(state));
    args.table = send(device, table, sizeof(table));
    memset(sums, 77, bytes);
    args.out.data = send(device, sums, bytes);
    ck_assert_int_eq(grove_device_prepare(device, &kernel, true, errors), 0);
    ck_assert_int_eq(grove_device_launch(device, &kernel, &args, true, errors), 0);
    ck_assert_int_eq(grove_device_download(device, sums, args.out.data, bytes, errors), 0);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    grove_device_release(device, args.out.data, bytes);
    grove_device_release(device, (void *)(uintptr_t)args.table, sizeof(table));
    for (int k = 0; k < args.inputs; k++)
        if (args.in[k].data)
            grove_device_release(device, args.in[k].data,
                                 k == state.tile.uvw && k ? sizeof(uvw)
                                 : args.in[k].bytes == 1  ? sizeof(arrays[0].flags)
                                                          : sizeof(arrays[0].numbers));
}

/* ---- */

LOOP_TEST(sums_are_those_of_the_host, 0, SHAPES)
{
    const shape *s = &shapes[_i];
    size_t count = 4 * BASELINES * (size_t)grove_compression_size(s->form, s->groups);
    double *truth = calloc(count, sizeof(double)), *sums = calloc(count, sizeof(double));
    double largest = 0;

    errors = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    fill_all(s);
    sum_on_device(device, s, sums, count * sizeof(double));
    cuda_testing_close(device);
    sum_on_host(s, truth);
    for (size_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(truth[k]));
    ck_assert_double_gt(largest, 1);
    for (size_t k = 0; k < count; k++)
        ck_assert_msg(fabs(sums[k] - truth[k]) <= 1e-14 * largest, "%zu: %.17g, not %.17g", k,
                      sums[k], truth[k]);
    ck_assert_int_eq(grove_error_count(errors), 0);
    grove_error_free(errors);
    free(truth);
    free(sums);
}

/* ---- systems ---- */

/* `null`: known dimensions of the null space; `dropped`: unknowns without data, and such as only
 * rounding shows of. */
static const struct {
    int n, null, dropped;
    double damping;
} systems[] = {{1, 0, 0, 0},  {2, 1, 0, 0},     {16, 0, 0, 0},   {17, 2, 0, 0},
               {33, 0, 2, 0}, {64, 5, 0, 0},    {40, 0, 2, 0.1}, {30, 28, 0, 0},
               {30, 3, 0, 1}, {70, 4, 2, 1e-3}, {81, 2, 0, 0}};
enum {
    SYSTEMS = sizeof(systems) / sizeof(systems[0]),
    MOST = 81,
    SLOT = 3 * MOST * MOST + 4 * MOST
};

static double slots[SYSTEMS][SLOT], null_space[SYSTEMS][MOST][MOST];

static int64_t work_of(int k)
{
    return grove_point_size(systems[k].n);
}

/* N = B^T B of n + 3 rows that are orthogonal to the null space, with units from 1e-3 to 1e3. */
static void fill_system(int k)
{
    int n = systems[k].n, free_ = systems[k].null;
    double *g = slots[k] + GROVE_POINT_SUMS, *diagonal = g + n, *matrix = diagonal + n;
    double *sizes = slots[k] + work_of(k) + n * n, row[MOST], truth[MOST];

    memset(slots[k], 0, sizeof(slots[k]));
    for (int z = 0; z < free_; z++) { /* disjoint */
        double norm = 0;
        for (int j = z; j < n; j += free_)
            norm += pow(null_space[k][z][j] = draw(5, (uint64_t)(100 * k + z), (uint64_t)j) + 1, 2);
        for (int j = z; j < n; j += free_)
            null_space[k][z][j] /= sqrt(norm);
    }
    for (int r = 0; r < n + 3; r++) {
        for (int j = 0; j < n; j++)
            row[j] = draw(6, (uint64_t)(1000 * k + r), (uint64_t)j);
        for (int z = 0; z < free_; z++) {
            double product = 0;
            for (int j = 0; j < n; j++)
                product += row[j] * null_space[k][z][j];
            for (int j = 0; j < n; j++)
                row[j] -= product * null_space[k][z][j];
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                matrix[i * n + j] += row[i] * row[j];
    }
    for (int j = 0; j < n; j++) {
        double unit = pow(10, j % 7 - 3);
        truth[j] = draw(7, (uint64_t)k, (uint64_t)j) / unit;
        sizes[j] = 1 / unit;
        for (int i = 0; i < n; i++) {
            matrix[i * n + j] *= unit;
            matrix[j * n + i] *= unit;
        }
        for (int z = 0; z < free_; z++)
            null_space[k][z][j] /= unit;
    }
    for (int j = 0; j < systems[k].dropped; j++) /* the second only if it is small */
        for (int i = 0; i < n; i++)
            matrix[(j + 1) * n + i] *= j ? 1e-13 : 0, matrix[i * n + j + 1] *= j ? 1e-13 : 0;
    slots[k][GROVE_POINT_VALUES] = 1e3;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            g[i] += matrix[i * n + j] * truth[j];
        diagonal[i] = matrix[i * n + i];
    }
}

static void solve_on_device(grove_device *device, int first, int count, double *result)
{
    static const grove_kernel kernels[2] = {
        {"fit_solve", NULL, NULL, "fit_solve.cu", grove_fit_solve_threads, GROVE_SOLVE_SMALL, 1},
        {"fit_solve", NULL, NULL, "fit_solve.cu", grove_fit_solve_threads, GROVE_SOLVE_LARGE, 1}};
    const grove_kernel *kernel = &kernels[systems[first].n > GROVE_SOLVE_FEW];
    grove_solve_system own[SYSTEMS];
    grove_solve_state state = {count, kernel->block};
    grove_args args = {.axes = 1, .inputs = 2, .size = {1}};
    size_t bytes = (size_t)count * (MOST + GROVE_SOLVE_STEP) * sizeof(double);

    for (int i = 0; i < count; i++)
        own[i] = (grove_solve_system){.point = (first + i) * SLOT,
                                      .work = (first + i) * SLOT + work_of(first + i),
                                      .sizes = (first + i) * SLOT + work_of(first + i) +
                                               (int64_t)systems[first + i].n * systems[first + i].n,
                                      .result = i * (MOST + GROVE_SOLVE_STEP),
                                      .damping = systems[first + i].damping,
                                      .negligible = 1e-24,
                                      .unknowns = systems[first + i].n};
    args.in[0].data = send(device, slots, sizeof(slots));
    args.in[1].data = send(device, own, sizeof(own));
    args.out.data = send(device, result, bytes);
    memcpy(args.state.bytes, &state, sizeof(state));
    ck_assert_int_eq(grove_device_prepare(device, kernel, true, errors), 0);
    ck_assert_int_eq(grove_device_launch(device, kernel, &args, true, errors), 0);
    ck_assert_int_eq(grove_device_download(device, result, args.out.data, bytes, errors), 0);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    grove_device_release(device, args.in[0].data, sizeof(slots));
    grove_device_release(device, args.in[1].data, sizeof(own));
    grove_device_release(device, args.out.data, bytes);
}

/* What the solution has to do: (S N S + damping) S^-1 x = S g, and nothing along the null space. */
static void check_solution(int k, const double *result)
{
    int n = systems[k].n;
    const double *g = slots[k] + GROVE_POINT_SUMS, *matrix = g + 2 * n,
                 *x = result + GROVE_SOLVE_STEP;
    long double square = 0;

    ck_assert_double_eq(result[GROVE_SOLVE_RANK],
                        n - systems[k].dropped - (systems[k].damping > 0 ? 0 : systems[k].null));
    for (int i = 0; i < n; i++) {
        bool out = (i > 0 && i <= systems[k].dropped) || matrix[i * n + i] == 0;
        double scale = sqrt(matrix[i * n + i]);
        long double left = out ? 0 : -g[i] / scale;
        for (int j = 0; j < n; j++) {
            left += out ? 0 : (long double)matrix[i * n + j] * x[j] / scale;
            square += (long double)matrix[i * n + j] * x[i] * x[j];
        }
        left += systems[k].damping * scale * x[i];
        ck_assert_msg(out ? x[i] == 0 : fabs((double)left) < 1e-9, "%d: %d: %g, %Lg", k, i, x[i],
                      left);
    }
    ck_assert_double_eq_tol(result[GROVE_SOLVE_SQUARE] / (double)square, 1, 1e-10);
    for (int z = 0; z < systems[k].null && systems[k].damping == 0 && !systems[k].dropped; z++) {
        double along = 0, norm = 0, all = 0;
        for (int j = 0; j < n; j++) {
            along += x[j] * matrix[j * n + j] * null_space[k][z][j];
            norm += matrix[j * n + j] * null_space[k][z][j] * null_space[k][z][j];
            all += matrix[j * n + j] * x[j] * x[j];
        }
        ck_assert_double_le(fabs(along), 1e-10 * sqrt(norm * all));
    }
}

/* Several in a launch: those that small blocks solve, and the others. */
LOOP_TEST(systems_are_solved, 0, 2)
{
    static double result[SYSTEMS * (MOST + GROVE_SOLVE_STEP)];
    int first = _i ? SYSTEMS - 2 : 0, count = _i ? 2 : SYSTEMS - 2;

    errors = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    for (int k = 0; k < SYSTEMS; k++)
        fill_system(k);
    solve_on_device(device, first, count, result);
    cuda_testing_close(device);
    for (int i = 0; i < count; i++)
        check_solution(first + i, result + (ptrdiff_t)i * (MOST + GROVE_SOLVE_STEP));
    ck_assert_int_eq(grove_error_count(errors), 0);
    grove_error_free(errors);
}

CUDA_SUITE(120, NULL, NULL)
