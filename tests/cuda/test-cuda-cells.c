/* How threads of a CUDA device find their cells: shapes, constant and gathered inputs, sizes beyond
 * 32 bits, numbers that are not aligned. */
#include "tests/common/cuda-testing.h"

#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "../kernels/arithmetic/arithmetic.h"
#include "kernel.h"

enum { NUMBERS = 20000, INDICES = 16, MOST = 16, ITEMS = 10 };

/* `varies`: bits of the axes along which an input does; `gathered`: the axis, -1: none. */
typedef struct {
    int axes;
    int64_t size[GROVE_VALUE_AXES];
    unsigned varies[2];
    int gathered[2];
} shape;

static const shape shapes[] = {
    {0, {0}, {0, 0}, {-1, -1}},
    {1, {1}, {1, 0}, {-1, -1}},
    {1, {7}, {1, 1}, {-1, -1}},
    {1, {7}, {1, 1}, {-1, 0}},
    {1, {1}, {1, 1}, {0, -1}},
    {3, {1, 1, 1}, {7, 7}, {-1, 1}},
    {3, {5, 6, 7}, {7, 7}, {-1, -1}},
    {3, {5, 6, 7}, {7, 0}, {-1, -1}},
    {3, {5, 6, 7}, {3, 6}, {-1, -1}},
    {3, {5, 6, 7}, {5, 2}, {-1, -1}},
    {3, {5, 6, 7}, {7, 7}, {0, 2}},
    {3, {5, 6, 7}, {7, 7}, {1, -1}},
    {4, {3, 1, 6, 1}, {15, 9}, {-1, -1}},
    {4, {1, 6, 1, 9}, {15, 15}, {2, 0}},
    {8, {2, 3, 2, 1, 2, 3, 2, 2}, {255, 165}, {-1, -1}},
    {8, {2, 3, 2, 1, 2, 3, 2, 2}, {255, 255}, {5, 3}},
    {2, {1024, 131}, {3, 1}, {-1, -1}},
    {2, {1100, 1024}, {1, 2}, {-1, -1}}, /* several cells a thread */
};
enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

static const grove_kernel product = GROVE_KERNEL(multiply_reals);
static int32_t indices[INDICES];

static grove_view view_of(const shape *s, int k)
{
    grove_view view = {.elements = 1, .shape = GROVE_SCALAR, .bytes = 8};
    int64_t step = 8;

    for (int d = s->axes - 1; d >= 0; d--) {
        if (k >= 0 && !(s->varies[k] >> d & 1))
            continue;
        view.stride[d] = step;
        if (k >= 0 && s->gathered[k] == d) {
            view.gather = indices;
            view.gather_axis = d;
            step *= INDICES;
        } else {
            step *= s->size[d];
        }
    }
    return view;
}

static void *send(grove_device *device, const void *from, size_t bytes, grove_error *error)
{
    void *to = NULL;

    ck_assert_int_eq(grove_device_allocate(device, bytes, &to, error), 0);
    ck_assert_int_eq(grove_device_upload(device, to, from, bytes, error), 0);
    ck_assert_int_eq(grove_device_ready(device, to, error), 0);
    return to;
}

LOOP_TEST(cells_have_their_inputs, 0, SHAPES)
{
    const shape *s = &shapes[_i];
    grove_error *error = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    grove_args args = {.axes = s->axes, .inputs = 2};
    double *numbers = malloc(NUMBERS * 8 * sizeof(double)), *found;

    for (int n = 0; n < 8 * NUMBERS; n++)
        numbers[n] = n + 3;
    for (int n = 0; n < INDICES; n++)
        indices[n] = (n * 7 + 5) % INDICES;
    memcpy(args.size, s->size, sizeof(s->size));
    const size_t bytes = (size_t)grove_args_cells(&args) * 8, all = NUMBERS * 8 * sizeof(double);
    args.out = view_of(s, -1);
    found = calloc(1, bytes);
    args.out.data = send(device, found, bytes, error);
    for (int k = 0; k < 2; k++) {
        args.in[k] = view_of(s, k);
        args.in[k].data = send(device, numbers, all, error);
    }
    ck_assert_int_eq(grove_device_launch(device, &product, &args, true, error), 0);
    ck_assert_int_eq(grove_device_download(device, found, args.out.data, bytes, error), 0);
    for (int64_t at = 0; at < (int64_t)bytes / 8; at++) {
        int64_t index[GROVE_MAX_AXES], rest = at;
        for (int d = s->axes - 1; d >= 0; d--) {
            index[d] = rest % s->size[d];
            rest /= s->size[d];
        }
        double wanted = 1;
        for (int k = 0; k < 2; k++) {
            const grove_view *view = &args.in[k];
            int64_t offset = 0;
            for (int d = 0; d < s->axes; d++)
                offset +=
                    view->stride[d] * (s->gathered[k] == d ? indices[index[d]] : index[d]) / 8;
            wanted *= numbers[offset];
        }
        ck_assert_msg(found[at] == wanted, "shape %d, cell %ld: %g, not %g", _i, (long)at,
                      found[at], wanted);
    }
    for (int k = 0; k < 2; k++)
        grove_device_release(device, args.in[k].data, all);
    grove_device_release(device, args.out.data, bytes);
    ck_assert_uint_eq(grove_error_count(error), 0);
    cuda_testing_close(device);
    free(numbers);
    free(found);
    grove_error_free(error);
}

/* ---- places in spaces that are not there ---- */

static int64_t places(const grove_args *args)
{
    (void)args;
    return MOST;
}

static const int64_t large[][4] = {
    {3, 5, 7, 11},
    {1 << 20, 3, 1 << 10, 5},
    {1 << 10, 1, 3000017, 3},
    {7, (int64_t)5 << 40, 3, 2},
    {3, 2, 5, ((int64_t)1 << 31) + 9},
    {1, 1, 1, ((int64_t)1 << 31) - 1},
};
enum { LARGE = sizeof(large) / sizeof(*large) };

LOOP_TEST(places_are_found_in_64_bits, 0, 2 * LARGE)
{
    static const grove_kernel where = {"where", NULL, NULL, "probe.cu", places, 0, 0};
    const int64_t *size = large[_i % LARGE];
    grove_error *error = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    grove_args args = {.axes = 4, .inputs = 2};
    int64_t found[MOST * ITEMS], at[MOST], cells;

    memcpy(args.size, size, sizeof(large[0]));
    cells = grove_args_cells(&args);
    for (int n = 0; n < MOST; n++)
        at[n] = n < 3 ? n : n < 6 ? cells - n + 2 : cells / MOST * n + n;
    memcpy(args.state.bytes, at, sizeof(at));
    /* The first input is dense but for its second axis; steps of the second one are long. */
    grove_view_set_dense(&args.out, &args, 1, 0, 8);
    args.in[0] = args.out;
    args.in[0].stride[1] = 0;
    args.in[1].stride[0] = _i < LARGE ? 24 : (int64_t)3 << 31;
    args.in[1].stride[3] = _i < LARGE ? 16 : ((int64_t)1 << 31) + 8;
    memset(found, 0, sizeof(found));
    args.out.data = args.in[0].data = args.in[1].data = send(device, found, sizeof(found), error);
    ck_assert_int_eq(grove_device_launch(device, &where, &args, true, error), 0);
    ck_assert_int_eq(grove_device_download(device, found, args.out.data, sizeof(found), error), 0);
    for (int n = 0; n < MOST; n++) {
        int64_t rest = at[n] < 0 ? 0 : at[n] < cells ? at[n] : cells - 1, offset[2] = {0, 0};
        for (int d = 3; d >= 0; d--) {
            int64_t index = rest % size[d];
            rest /= size[d];
            ck_assert_int_eq(found[n * ITEMS + d], index);
            for (int k = 0; k < 2; k++)
                offset[k] += args.in[k].stride[d] * index;
        }
        ck_assert_int_eq(found[n * ITEMS + 8], offset[0]);
        ck_assert_int_eq(found[n * ITEMS + 9], offset[1]);
    }
    grove_device_release(device, args.out.data, sizeof(found));
    cuda_testing_close(device);
    grove_error_free(error);
}

static uint64_t draw(void)
{
    static uint64_t x = 88172645463325252u;

    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

TEST(dividers_divide)
{
    for (int n = 0; n < 20000; n++) {
        int64_t size = n < 1000 ? n + 1
                       : n % 2  ? ((int64_t)1 << draw() % 62) + (int64_t)(draw() % 3) - 1
                                : (int64_t)(draw() >> (2 + draw() % 62));
        size = size < 1 ? 1 : size;
        const grove_divider by = grove_divider_of(size);
        const int64_t most = INT64_MAX / size * size, any = (int64_t)(draw() >> (1 + draw() % 63)),
                      wide[] = {0, INT64_MAX, most, most - 1, any, any / size * size};
        const uint32_t whole = 0x7fffffff / (uint32_t)(size >> 31 ? 1 : size),
                       some = (uint32_t)(draw() & 0x7fffffff);
        for (size_t k = 0; k < sizeof(wide) / sizeof(*wide); k++)
            ck_assert_int_eq(grove_wide_quotient(&by, wide[k]), wide[k] / size);
        if (size >> 31)
            continue;
        const uint32_t few[] = {0, 0x7fffffff, whole * (uint32_t)size, whole * (uint32_t)size - 1,
                                some};
        for (size_t k = 0; k < sizeof(few) / sizeof(*few); k++)
            ck_assert_uint_eq(grove_quotient(&by, few[k]), few[k] / (uint32_t)size);
    }
}

/* ---- alignment ---- */

LOOP_TEST(complex_numbers_must_be_aligned, 0, 2)
{
    static const grove_kernel sum = GROVE_KERNEL(add_elements);
    static const double zeros[16];
    grove_error *error = grove_error_new();
    cuda_testing_reset(0);
    grove_device *device = cuda_testing_open(0);
    grove_args args = {.axes = 1, .inputs = 2, .size = {4}};
    char *at = send(device, zeros, sizeof(zeros), error);

    grove_view_set_dense(&args.out, &args, 1, 1, 4);
    args.in[0] = args.in[1] = args.out;
    args.out.data = args.in[0].data = at;
    args.in[1].data = at + (_i ? 4 : 8);
    int code = grove_device_launch(device, &sum, &args, false, error);
    ck_assert_int_eq(code, _i ? GROVE_MISSING : 0);
    ck_assert_uint_eq(grove_error_count(error), _i ? 1 : 0);
    if (_i)
        ck_assert_msg(
            strstr(
                grove_error_message(error, 0),
                "add_elements: addresses of complex numbers in input 1 are not multiples of 8") !=
                NULL,
            "%s", grove_error_message(error, 0));
    ck_assert_int_eq(grove_device_wait(device, error), 0);
    grove_device_release(device, at, sizeof(zeros));
    cuda_testing_close(device);
    grove_error_free(error);
}

CUDA_SUITE(60, NULL, NULL)
