#include "heap-testing.h"
#include "cuda-testing.h"

#include "run/state.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

heap kept;
void (*heap_written)(grove_session *session);
static grove_session *running;
static bool helped;

static int write_heap(const grove_call *call, const grove_array *const *inputs, int count)
{
    const grove_array *in = inputs[0];
    size_t all = (size_t)in->elements;

    (void)call, (void)count;
    for (int d = 0; d < in->axes; d++)
        all *= (size_t)in->range[d].axis->size;
    if (!kept.numbers)
        kept = (heap){suite_keep(calloc(all + 1, 2 * sizeof(double))), all};
    ck_assert_uint_eq(kept.count, all);
    for (int64_t cell = 0; cell < in->cells; cell++) {
        int64_t to = 0, rest = cell, step = 1;
        for (int d = in->axes - 1; d >= 0; d--) {
            to += (in->range[d].first + rest % in->range[d].count) * step;
            rest /= in->range[d].count;
            step *= in->range[d].axis->size;
        }
        int parts = in->form->complex_ ? 2 : 1;
        for (int k = 0; k < in->elements * parts; k++) {
            int64_t from = cell * in->elements * parts + k;
            kept.numbers[2 * (to * in->elements + k / parts) + k % parts] +=
                in->form->precision == GROVE_PRECISION_DOUBLE ? ((double *)in->data)[from]
                                                              : (double)((float *)in->data)[from];
        }
    }
    if (heap_written)
        heap_written(running);
    return 0;
}

static const grove_port heap_inputs[] = {
    {"x", GROVE_VALUE, "what is kept", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_class class_heap = {
    GROVE_CLASS_HEAD(heap), .doc = "For tests.", .inputs = heap_inputs, .kind = GROVE_CLASS_ACTION,
    .action = &(const grove_action_functions){.write = write_heap}};

void heap_test_add(void)
{
    ck_assert_int_eq(grove_classes_add(now.classes, &class_heap, now.error), 0);
    kept = (heap){0};
    heap_written = NULL;
}

grove_session *heap_test_session(const char *device, grove_session_options options)
{
    options.device = cuda_testing_device(device);
    grove_session *session = grove_session_new(now.tree, &options, now.error);
    if (!session)
        ck_abort_msg("%s", grove_error_message(now.error, 0));
    return session;
}

void heap_test_close(grove_session *session)
{
    const emulated_control *c = cuda_testing_control();

    grove_session_free(session);
    if (!c)
        return;
    ck_assert_int_eq(c->blocks, 0);
    ck_assert_int_eq(c->pinned, 0);
    ck_assert_int_eq(c->streams, 0);
    ck_assert_int_eq(c->events, 0);
    ck_assert_int_eq(c->contexts, 0);
    ck_assert_int_eq(c->host_addresses, 0);
}

bool heap_test_helped(void)
{
    return helped;
}

heap heap_test_run(const char *device, grove_session_options options, grove_counters *counters)
{
    grove_session *session = heap_test_session(device, options);

    running = session;
    int code = grove_session_run(session);
    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    if (counters)
        *counters = *grove_session_counters(session);
    helped = session->fallen_back;
    heap_test_close(session);
    heap result = kept;
    kept = (heap){0};
    return result;
}

double heap_distance(const heap *a, const heap *b)
{
    double sum = 0, norm = 0;

    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < 2 * a->count; i++) {
        double d = a->numbers[i] - b->numbers[i];
        sum += d * d;
        norm += b->numbers[i] * b->numbers[i];
    }
    ck_assert(isfinite(sum) && norm > 0);
    return sqrt(sum / norm);
}

bool heap_equal(const heap *a, const heap *b)
{
    return a->count == b->count &&
           !memcmp(a->numbers, b->numbers, 2 * a->count * sizeof(*a->numbers));
}

void heap_test_sources(const char *path, int sources)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs("format = Name, Type, Ra, Dec, I\n", file);
    for (int k = 0; k < sources; k++)
        fprintf(file, "s%d, POINT, %d:%d:%d.0, 49.%02d.%02d.0, %g\n", k, 5, 42 + k % 3, k % 60,
                30 + k / 60 % 25, k % 53, 1 + 0.001 * k);
    fclose(file);
}

static bool failed_late;

bool heap_test_failed_late(void)
{
    return failed_late;
}

void heap_test_each_fault(int kind, grove_session_options options, const heap *truth, int *failed,
                          int *worked)
{
    emulated_control *control = cuda_testing_control();
    const int step = getenv("GROVE_ALL_FAULTS") ? 1 : 3;
    bool reached = true;

    options.device = "cuda";
    *failed = *worked = 0;
    failed_late = false;
    for (int n = 1; n < 2000 && reached; n += n < 10 ? 1 : step) {
        cuda_testing_reset((uint64_t)(n % 5));
        control->fault = kind;
        control->fault_at = n;
        grove_error_clear(now.error);
        grove_session *session = grove_session_new(now.tree, &options, now.error);
        int code = session ? grove_session_run(session) : grove_error_code(now.error);
        reached = control->calls[kind] >= n;
        if (code) {
            ++*failed;
            ck_assert_int_eq(grove_error_count(now.error), 1);
            ck_assert(code == GROVE_DEVICE || code == GROVE_NO_MEMORY);
            const char *said = grove_error_message(now.error, 0);
            const bool late = strstr(said, "the device failed after it had added") != NULL;
            ck_assert(late || strstr(said, "cuda:0: "));
            failed_late = failed_late || late;
        } else {
            ++*worked;
            ck_assert_double_lt(heap_distance(&kept, truth), 1e-5);
        }
        heap_test_close(session);
        kept = (heap){0};
    }
}
