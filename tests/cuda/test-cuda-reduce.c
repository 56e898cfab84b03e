/* The reduction kernel, on the host and on a CUDA device: both have the bits of blocks and trees
 * that are written down here once more, wherever the axis is cut. */
#include "device/array.h"
#include "tests/common/cuda-testing.h"

#include "../kernels/core/reduce.h"

#include <stdlib.h>
#include <string.h>

enum { AXES = 4, CELLS = 3 * 330 * 2 * 5 };

static const int kinds[AXES] = {GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE,
                                GROVE_AXIS_FREQ};

typedef struct {
    int how;
    int64_t size[AXES];
    unsigned kept; /* bit d: axis d stays */
    int axis;      /* in blocks; -1: none */
    int elements, parts;
    bool double_, flagged;
} setup;

static const setup setups[] = {
    {GROVE_HOW_SUM, {3, 330, 2, 5}, 12, 1, 1, 2, false, false},
    {GROVE_HOW_SUM, {3, 330, 2, 5}, 13, 1, 2, 2, true, true},
    {GROVE_HOW_SUM, {1, 330, 2, 5}, 13, 1, 4, 2, false, true},
    {GROVE_HOW_SUM, {2, 2, 3, 330}, 6, 3, 4, 2, false, false},
    {GROVE_HOW_SUM, {2, 2, 3, 330}, 7, 3, 3, 1, true, true},
    {GROVE_HOW_MEAN, {2, 3, 128, 5}, 8, 2, 1, 1, true, true},
    {GROVE_HOW_MEAN, {2, 2, 65, 5}, 2, 2, 1, 2, false, false},
    {GROVE_HOW_MEAN, {3, 64, 2, 5}, 13, 1, 1, 1, false, false},
    {GROVE_HOW_SUM, {1, 1, 2100, 2}, 8, 2, 1, 2, false, true},
    {GROVE_HOW_SUM, {3, 20, 2, 5}, 10, -1, 4, 2, false, true},
    {GROVE_HOW_MIN, {3, 20, 2, 5}, 8, -1, 4, 1, true, true},
    {GROVE_HOW_MAX, {3, 20, 2, 5}, 0, -1, 1, 1, false, false},
};
enum { SETUPS = sizeof(setups) / sizeof(*setups) };

static grove_error *errors;

/* Numbers, flags, and what is made of them. */
typedef struct {
    const setup *s;
    int64_t cells, out_cells;
    int64_t stride[AXES], out_stride[AXES]; /* cells */
    double *numbers;
    float *singles;
    unsigned char *flags;
    double *sum;
    int64_t *count;
} problem;

static void begin(problem *p, const setup *s)
{
    *p = (problem){.s = s, .cells = 1, .out_cells = 1};
    for (int d = AXES - 1; d >= 0; d--) {
        p->stride[d] = p->cells;
        p->cells *= s->size[d];
        p->out_stride[d] = s->kept >> d & 1 ? p->out_cells : 0;
        p->out_cells *= s->kept >> d & 1 ? s->size[d] : 1;
    }
    size_t numbers = (size_t)(p->cells * s->elements * s->parts);
    p->numbers = malloc(numbers * 8);
    p->singles = malloc(numbers * 4);
    p->flags = calloc((size_t)p->cells, 1);
    p->sum = malloc((size_t)(p->out_cells * s->elements * s->parts) * 8);
    p->count = malloc((size_t)(p->out_cells * s->elements) * 8);
    for (size_t n = 0; n < numbers; n++) {
        p->numbers[n] = 1e3 * grove_random_uniform(grove_random_bits(1, n, 0, 0, 0)) - 400;
        p->singles[n] = (float)p->numbers[n];
        if (!s->double_)
            p->numbers[n] = (double)p->singles[n];
    }
    for (int64_t n = 0; s->flagged && n < p->cells; n++) /* one channel is bad as a whole */
        p->flags[n] =
            n % s->size[3] == 4 ? 255 : (unsigned char)grove_random_bits(2, (uint64_t)n, 0, 0, 0);
}

static void end(problem *p)
{
    free(p->numbers);
    free(p->singles);
    free(p->flags);
    free(p->sum);
    free(p->count);
}

/* ---- the truth ---- */

static double join(int how, double a, double b)
{
    if (how == GROVE_HOW_MIN)
        return b < a ? b : a;
    return how == GROVE_HOW_MAX ? (b > a ? b : a) : a + b;
}

static double node(const double *block, int64_t blocks, int level, int64_t k)
{
    if (!level)
        return block[k];
    double left = node(block, blocks, level - 1, 2 * k);
    if ((2 * k + 1) << (level - 1) >= blocks)
        return left;
    return left + node(block, blocks, level - 1, 2 * k + 1);
}

static double zero_of(int how)
{
    return how == GROVE_HOW_MIN ? HUGE_VAL : how == GROVE_HOW_MAX ? -HUGE_VAL : 0;
}

/* One number, of what has index `at` along all axes but those that are reduced; for each cell of
 * the axis in blocks what comes first is added to zero. */
static double truth(const problem *p, const int64_t at[AXES], int e, int part, int64_t *count)
{
    const setup *s = p->s;
    double block[40], inner;
    int64_t from[AXES], to[AXES], size = s->axis < 0 ? 1 : s->size[s->axis];

    *count = 0;
    for (int d = 0; d < AXES; d++) {
        from[d] = s->kept >> d & 1 ? at[d] : 0;
        to[d] = s->kept >> d & 1 ? at[d] + 1 : s->size[d];
    }
    for (int64_t i = 0; i < size; i++) {
        inner = zero_of(s->how);
        if (s->axis >= 0) {
            from[s->axis] = i;
            to[s->axis] = i + 1;
        }
        for (int64_t a = from[0]; a < to[0]; a++)
            for (int64_t b = from[1]; b < to[1]; b++)
                for (int64_t c = from[2]; c < to[2]; c++)
                    for (int64_t d = from[3]; d < to[3]; d++) {
                        int64_t cell = a * p->stride[0] + b * p->stride[1] + c * p->stride[2] + d;
                        if (p->flags[cell] >> (e < 7 ? e : 7) & 1)
                            continue;
                        ++*count;
                        inner = join(s->how, inner,
                                     p->numbers[(cell * s->elements + e) * s->parts + part]);
                    }
        if (s->axis >= 0)
            block[i / 64] = (i % 64 ? block[i / 64] : 0) + inner;
    }
    return s->axis < 0 ? inner : node(block, (size + 63) / 64, 6, 0);
}

static void compare(const problem *p)
{
    const setup *s = p->s;

    for (int64_t n = 0; n < p->out_cells; n++) {
        int64_t at[AXES] = {0}, count;
        for (int d = 0; d < AXES; d++)
            if (s->kept >> d & 1)
                at[d] = n / p->out_stride[d] % s->size[d];
        for (int e = 0; e < s->elements; e++) {
            for (int k = 0; k < s->parts; k++) {
                double x = p->sum[(n * s->elements + e) * s->parts + k];
                double wanted = truth(p, at, e, k, &count);
                ck_assert_msg(!memcmp(&x, &wanted, 8), "cell %ld, element %d: %.17g, not %.17g",
                              (long)n, e, x, wanted);
            }
            if (s->flagged)
                ck_assert_int_eq(p->count[n * s->elements + e], count);
        }
    }
}

/* ---- the kernel ---- */

static void set_dense(grove_view *view, const int64_t stride[AXES], int64_t cell, void *data)
{
    view->data = data;
    for (int d = 0; d < AXES; d++)
        view->stride[d] = stride[d] * cell;
}

/* In pieces along the axis that goes in blocks; cut[0] is 0, the last its size. */
typedef struct {
    void *numbers, *flags, *sum, *count, *nodes;
} memory;

static grove_args arguments(const problem *p, const memory *m, int64_t first, int64_t last,
                            bool whole)
{
    const setup *s = p->s;
    grove_args args = {.axes = AXES, .inputs = GROVE_REDUCE_NODES + 1};
    int64_t number = 8 * s->elements * s->parts;
    grove_reduce_state state = {.how = s->how, .axis = s->axis, .fresh = first == 0};

    for (int d = 0; d < AXES; d++) {
        args.size[d] = d == s->axis ? last - first : s->size[d];
        args.origin[d] = d == s->axis ? first : 0;
        args.axis[d] = kinds[d];
    }
    args.out.elements = args.in[0].elements = s->elements;
    args.out.complex_ = args.in[0].complex_ = s->parts == 2;
    args.in[0].bytes = s->double_ ? 8 : 4;
    set_dense(&args.out, p->out_stride, number, m->sum);
    int64_t bytes = (int64_t)args.in[0].bytes * s->elements * s->parts;
    set_dense(&args.in[GROVE_REDUCE_NUMBERS], p->stride, bytes, m->numbers);
    if (s->axis >= 0) {
        state.end = s->size[s->axis];
        state.levels = grove_reduce_levels(state.end);
        args.in[0].data = (char *)args.in[0].data + first * p->stride[s->axis] * bytes;
        if (!whole)
            set_dense(&args.in[GROVE_REDUCE_NODES], p->out_stride, number, m->nodes);
        state.distance = p->out_cells * s->elements * s->parts;
    }
    if (s->flagged) {
        set_dense(&args.in[GROVE_REDUCE_FLAGS], p->stride, 1, m->flags);
        if (s->axis >= 0)
            args.in[GROVE_REDUCE_FLAGS].data = (char *)m->flags + first * p->stride[s->axis];
        set_dense(&args.in[GROVE_REDUCE_COUNT], p->out_stride, 8 * s->elements, m->count);
    }
    memcpy(args.state.bytes, &state, sizeof(state));
    return args;
}

static const int64_t cuts[][7] = {
    {0, 10000}, {0, 100, 101, 256, 10000}, {0, 64, 320, 10000}, {0, 1, 2, 63, 65, 200, 10000}};
enum { CUTS = sizeof(cuts) / sizeof(*cuts) };

/* Each piece of the axis, by `launch`. */
static void in_pieces(const problem *p, const memory *m, const int64_t *cut,
                      void (*launch)(grove_device *device, const grove_args *args),
                      grove_device *device)
{
    int64_t size = p->s->axis < 0 ? 1 : p->s->size[p->s->axis];

    for (int i = 0; cut[i] < size; i++) {
        int64_t last = cut[i + 1] < size ? cut[i + 1] : size;
        grove_args args = arguments(p, m, cut[i], last, cut[i] == 0 && last == size);
        launch(device, &args);
    }
}

static void by_host(grove_device *device, const grove_args *args)
{
    int64_t items = grove_reduce_threads(args);

    (void)device; /* as threads would cut it */
    for (int64_t n = 0; n < items; n += 7)
        grove_reduce_cells(args, n, n + 7 < items ? n + 7 : items);
}

static void by_device(grove_device *device, const grove_args *args)
{
    ck_assert_int_eq(grove_device_launch(device, &grove_array_reduce, args, false, errors), 0);
}

LOOP_TEST(the_host_has_the_bits_of_the_tree, 0, CUTS *SETUPS)
{
    problem p;

    begin(&p, &setups[_i % SETUPS]);
    size_t sums = (size_t)(p.out_cells * p.s->elements * p.s->parts) * 8;
    memory m = {p.s->double_ ? (void *)p.numbers : (void *)p.singles, p.flags, p.sum, p.count,
                malloc(6 * sums)};
    in_pieces(&p, &m, cuts[_i / SETUPS], by_host, NULL);
    compare(&p);
    free(m.nodes);
    end(&p);
}

static void *send(grove_device *device, const void *from, size_t bytes)
{
    void *to;

    ck_assert_int_eq(grove_device_allocate(device, bytes, &to, errors), 0);
    ck_assert_int_eq(grove_device_upload(device, to, from, bytes, errors), 0);
    ck_assert_int_eq(grove_device_ready(device, to, errors), 0);
    return to;
}

LOOP_TEST(the_device_has_the_bits_of_the_tree, 0, CUTS *SETUPS)
{
    problem p;
    grove_device *device;

    errors = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    device = cuda_testing_open(0);
    begin(&p, &setups[_i % SETUPS]);
    size_t numbers = (size_t)(p.cells * p.s->elements * p.s->parts) * (p.s->double_ ? 8 : 4);
    size_t sums = (size_t)(p.out_cells * p.s->elements * p.s->parts) * 8;
    size_t counts = (size_t)(p.out_cells * p.s->elements) * 8;
    double *junk = malloc(6 * sums);
    memset(junk, 77, 6 * sums); /* what is there before does not matter */
    memory m = {send(device, p.s->double_ ? (void *)p.numbers : (void *)p.singles, numbers),
                send(device, p.flags, (size_t)p.cells), send(device, junk, sums),
                send(device, junk, counts), send(device, junk, 6 * sums)};
    in_pieces(&p, &m, cuts[_i / SETUPS], by_device, device);
    ck_assert_int_eq(grove_device_download(device, p.sum, m.sum, sums, errors), 0);
    ck_assert_int_eq(grove_device_download(device, p.count, m.count, counts, errors), 0);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    compare(&p);
    ck_assert_uint_eq(grove_error_count(errors), 0);
    grove_device_release(device, m.numbers, numbers);
    grove_device_release(device, m.flags, (size_t)p.cells);
    grove_device_release(device, m.sum, sums);
    grove_device_release(device, m.count, counts);
    grove_device_release(device, m.nodes, 6 * sums);
    free(junk);
    end(&p);
    cuda_testing_close(device);
    grove_error_free(errors);
}

/* ---- sums that begin within the axis ---- */

enum { BEGIN = 3, LEVELS = 8, WHOLE = 64 << LEVELS };

/* Cells [64 BEGIN + first, 64 BEGIN + last) of an axis that goes on. */
static grove_args later(const problem *p, const memory *m, int64_t first, int64_t last)
{
    grove_args args = arguments(p, m, first, last, false);
    grove_reduce_state state;

    memcpy(&state, args.state.bytes, sizeof(state));
    args.origin[p->s->axis] += 64 * BEGIN;
    state.begin = BEGIN;
    state.end = WHOLE;
    state.levels = LEVELS;
    memcpy(args.state.bytes, &state, sizeof(state));
    return args;
}

/* The sum of the open block, and the nodes that wait for others. */
LOOP_TEST(the_device_keeps_the_nodes_of_the_host, 0, CUTS *SETUPS)
{
    const setup *s = &setups[_i % SETUPS];
    const int64_t *cut = cuts[_i / SETUPS];
    problem p;

    if (s->axis < 0)
        return;
    errors = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    grove_device *device = cuda_testing_open(0);
    begin(&p, s);
    const size_t numbers = (size_t)(p.cells * s->elements * s->parts) * (s->double_ ? 8 : 4);
    const size_t sums = (size_t)(p.out_cells * s->elements * s->parts) * 8;
    const size_t counts = (size_t)(p.out_cells * s->elements) * 8, all = 2 * LEVELS * sums;
    double *nodes = calloc(1, all), *sum = malloc(sums), *found = malloc(all);
    memory host = {s->double_ ? (void *)p.numbers : (void *)p.singles, p.flags, p.sum, p.count,
                   nodes},
           there = {send(device, host.numbers, numbers), send(device, p.flags, (size_t)p.cells),
                    send(device, p.sum, sums), send(device, p.count, counts),
                    send(device, nodes, all)};
    for (int i = 0; cut[i] < s->size[s->axis]; i++) {
        int64_t last = cut[i + 1] < s->size[s->axis] ? cut[i + 1] : s->size[s->axis];
        grove_args args = later(&p, &host, cut[i], last);
        by_host(NULL, &args);
        args = later(&p, &there, cut[i], last);
        by_device(device, &args);
    }
    ck_assert_int_eq(grove_device_download(device, sum, there.sum, sums, errors), 0);
    ck_assert_int_eq(grove_device_download(device, found, there.nodes, all, errors), 0);
    ck_assert_mem_eq(sum, p.sum, sums);
    int64_t low = BEGIN, high = BEGIN + s->size[s->axis] / 64;
    for (int l = 0; low < high; l++, low = (low + 1) >> 1, high >>= 1) {
        size_t left = (size_t)l * sums / 8, right = (size_t)(LEVELS + l) * sums / 8;
        if (high & 1)
            ck_assert_mem_eq(found + left, nodes + left, sums);
        if (low & 1)
            ck_assert_mem_eq(found + right, nodes + right, sums);
    }
    grove_device_release(device, there.numbers, numbers);
    grove_device_release(device, there.flags, (size_t)p.cells);
    grove_device_release(device, there.sum, sums);
    grove_device_release(device, there.count, counts);
    grove_device_release(device, there.nodes, all);
    free(nodes);
    free(sum);
    free(found);
    end(&p);
    cuda_testing_close(device);
    grove_error_free(errors);
}

CUDA_SUITE(120, NULL, NULL)
