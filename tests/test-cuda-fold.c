/* Reductions on the CUDA device have the bits of those on the cpu. */
#include "cuda-testing.h"
#include "device/array.h"
#include "run/partial_sums.h"

#include "../kernels/reduce/reduce.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { AXES = 4 };

static const grove_axis axes[AXES] = {{"source", GROVE_AXIS_SOURCE, 5},
                                      {"time", GROVE_AXIS_TIME, 6},
                                      {"baseline", GROVE_AXIS_BASELINE, 7},
                                      {"freq", GROVE_AXIS_FREQ, 9}};

typedef struct {
    grove_reduce how;
    unsigned kept; /* bit d: axis d stays */
    int outer, elements;
    bool complex_, double_, flagged;
} setup;

static const setup setups[] = {
    {GROVE_REDUCE_SUM, 14, -1, 4, true, false, true},
    {GROVE_REDUCE_SUM, 6, 3, 4, true, true, true},
    {GROVE_REDUCE_SUM, 0, 1, 2, true, false, false},
    {GROVE_REDUCE_MEAN, 7, -1, 1, false, false, true},
    {GROVE_REDUCE_MEAN, 9, 1, 3, false, true, false},
    {GROVE_REDUCE_MIN, 12, -1, 1, false, false, true},
    {GROVE_REDUCE_MAX, 0, -1, 4, false, true, true},
    {GROVE_REDUCE_MAX, 1, 3, 1, false, false, false},
};
enum { SETUPS = sizeof(setups) / sizeof(*setups) };

static grove_error *errors;

static grove_value *make_value(grove_device *cpu, const setup *s)
{
    grove_range range[AXES];

    for (int d = 0; d < AXES; d++)
        range[d] = (grove_range){&axes[d], 0, axes[d].size};
    grove_value *value =
        grove_value_new(cpu, range, AXES, s->elements == 1 ? GROVE_SCALAR : GROVE_VECTOR,
                        s->elements, s->complex_, s->double_, s->flagged, errors);
    int64_t cells = grove_value_cells(value), numbers = cells * s->elements * (s->complex_ ? 2 : 1);
    void *data = grove_buffer_host(value->data, errors);
    for (int64_t n = 0; n < numbers; n++) {
        double x = 1e3 * grove_random_uniform(grove_random_bits(1, (uint64_t)n, 0, 0, 0)) - 400;
        if (s->double_)
            ((double *)data)[n] = x;
        else
            ((float *)data)[n] = (float)x;
    }
    unsigned char *flags = s->flagged ? grove_buffer_host(value->flags, errors) : NULL;
    for (int64_t n = 0; flags && n < cells; n++) /* the last channel is bad as a whole */
        flags[n] = n % 9 == 8 ? 255 : (unsigned char)grove_random_bits(2, (uint64_t)n, 0, 0, 0);
    return value;
}

/* Strides of a dense array over the axes in `kept`. */
static void set_dense(grove_view *view, unsigned kept, int64_t cell, void *data)
{
    int64_t step = cell;

    view->data = data;
    for (int d = AXES - 1; d >= 0; d--)
        if (kept >> d & 1) {
            view->stride[d] = step;
            step *= axes[d].size;
        }
}

/* Sums and counts on the device, then the value and its flags; twice what there is is added. */
static void fold(grove_device *device, const setup *s, grove_value *value, grove_value *to,
                 const double *first_sums)
{
    int parts = s->complex_ ? 2 : 1;
    int64_t cells = grove_value_cells(to), numbers = cells * s->elements;
    size_t bytes = (size_t)(numbers * parts) * 8;
    grove_args args = {.axes = AXES, .inputs = 4}, finish;
    grove_fold_state state = {(int32_t)s->how, s->outer, 0};
    void *sums, *counts = NULL;

    for (int d = 0; d < AXES; d++) {
        args.size[d] = axes[d].size;
        args.axis[d] = axes[d].kind;
        state.samples = (state.samples ? state.samples : 2) * (s->kept >> d & 1 ? 1 : axes[d].size);
    }
    grove_device_allocate(device, bytes, &sums, errors);
    grove_device_upload(device, sums, first_sums, bytes, errors);
    grove_device_ready(device, sums, errors);
    if (s->flagged) {
        grove_device_allocate(device, (size_t)numbers * 8, &counts, errors);
        grove_device_clear(device, counts, (size_t)numbers * 8, errors);
    }
    memcpy(args.state.bytes, &state, sizeof(state));
    args.out.elements = s->elements;
    args.out.complex_ = args.in[0].complex_ = s->complex_;
    args.in[0].bytes = s->double_ ? 8 : 4;
    args.in[0].elements = s->elements;
    set_dense(&args.out, s->kept, 8 * s->elements * parts, sums);
    set_dense(&args.in[GROVE_FOLD_NUMBERS], 15, (int64_t)grove_value_cell_bytes(value),
              grove_buffer_at(value->data, device, errors));
    set_dense(&args.in[GROVE_FOLD_FLAGS], 15, 1,
              s->flagged ? grove_buffer_at(value->flags, device, errors) : NULL);
    set_dense(&args.in[GROVE_FOLD_COUNT], s->kept, 8 * s->elements, counts);
    for (int again = 0; again < 2; again++)
        ck_assert_int_eq(grove_device_launch(device, &grove_array_fold, &args, false, errors), 0);

    finish = (grove_args){.axes = 1, .inputs = 3, .size = {cells}};
    memcpy(finish.state.bytes, &state, sizeof(state));
    finish.out = args.out;
    memset(finish.out.stride, 0, sizeof(finish.out.stride));
    finish.out.data = grove_buffer_write(to->data, device, errors);
    finish.out.bytes = s->double_ ? 8 : 4;
    finish.out.stride[0] = (int64_t)grove_value_cell_bytes(to);
    finish.in[GROVE_FINISH_SUMS].data = sums;
    finish.in[GROVE_FINISH_SUMS].stride[0] = 8 * s->elements * parts;
    finish.in[GROVE_FINISH_COUNTS].data = counts;
    finish.in[GROVE_FINISH_COUNTS].stride[0] = 8 * s->elements;
    finish.in[GROVE_FINISH_FLAGS].data =
        to->flags ? grove_buffer_write(to->flags, device, errors) : NULL;
    finish.in[GROVE_FINISH_FLAGS].stride[0] = 1;
    ck_assert_int_eq(grove_device_launch(device, &grove_array_fold_finish, &finish, false, errors),
                     0);
    ck_assert_int_eq(grove_device_wait(device, errors), 0);
    grove_device_release(device, sums, bytes);
    grove_device_release(device, counts, 0);
}

static void compare(const grove_value *a, const grove_value *b)
{
    size_t bytes = grove_buffer_bytes(a->data);

    ck_assert_uint_eq(bytes, grove_buffer_bytes(b->data));
    ck_assert_int_eq(
        memcmp(grove_buffer_host(a->data, errors), grove_buffer_host(b->data, errors), bytes), 0);
    if (a->flags)
        ck_assert_int_eq(memcmp(grove_buffer_host(a->flags, errors),
                                grove_buffer_host(b->flags, errors), grove_buffer_bytes(a->flags)),
                         0);
}

START_TEST(test_same_bits_as_on_the_cpu)
{
    const setup *s = &setups[_i % SETUPS];
    grove_device *cpu = grove_device_cpu(1), *device;
    grove_range kept[AXES];
    int n = 0;

    errors = grove_error_new();
    cuda_testing_reset((uint64_t)_i);
    device = cuda_testing_open(0);
    for (int d = 0; d < AXES; d++)
        if (s->kept >> d & 1)
            kept[n++] = (grove_range){&axes[d], 0, axes[d].size};
    if (device) {
        grove_value *value = make_value(cpu, s);
        grove_sums *sums = grove_sums_new(cpu, s->how, kept, n, s->elements, s->complex_ ? 2 : 1,
                                          s->flagged, errors);
        grove_value *truth = grove_value_new(cpu, kept, n, value->shape, s->elements, s->complex_,
                                             s->double_, s->flagged, errors);
        grove_value *result = grove_value_new(cpu, kept, n, value->shape, s->elements, s->complex_,
                                              s->double_, s->flagged, errors);
        int64_t cells = grove_value_cells(value) / grove_value_cells(truth);
        fold(device, s, value, result, sums->sum);
        for (int again = 0; again < 2; again++)
            ck_assert_int_eq(grove_sums_add_value(sums, value, value->range, AXES,
                                                  s->outer < 0 ? NULL : &axes[s->outer], NULL,
                                                  errors),
                             0);
        ck_assert_int_eq(grove_sums_finish(sums, 2 * cells, truth, errors), 0);
        compare(truth, result);
        ck_assert_uint_eq(grove_error_count(errors), 0);
        grove_sums_free(sums);
        grove_value_unref(value);
        grove_value_unref(truth);
        grove_value_unref(result);
        cuda_testing_close(device);
    }
    grove_device_free(cpu);
    grove_error_free(errors);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda fold");
    TCase *tests = tcase_create("cuda fold");
    SRunner *runner = srunner_create(suite);

    cuda_testing_begin();
    tcase_set_timeout(tests, 120);
    tcase_add_loop_test(tests, test_same_bits_as_on_the_cpu, 0, 2 * SETUPS);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
