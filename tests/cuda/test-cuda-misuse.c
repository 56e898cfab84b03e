/* What classes do wrong in calls of devices: one message each, at the node, and never a crash. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "device/array.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static int check_same(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "matrices", .handing = GROVE_AS_COMPLEX, .shapes = GROVE_MATRIX}, {0}};

/* Does one thing wrong, and goes on as if it had not. */
enum {
    NO_KERNEL,
    NO_ARGS,
    AXES,
    SIZE,
    NO_OUTPUT,
    GATHER,
    SCRATCH,
    PIECES,
    ZERO,
    TRANSFORM_NULL,
    TRANSFORM_SIZE,
    TRANSFORM_SIZES,
    TRANSFORM_SIGN,
    PRODUCT_SIZE,
    CHOLESKY_SIZE,
    SILENT,
    OTHER_THREAD,
    FAULTS
};

static const char *const messages[FAULTS] = {
    [NO_KERNEL] = "launches no kernel (NULL)",
    [NO_ARGS] = "launches 'cast' without arguments (NULL)",
    [AXES] = "launches 'cast' with 9 axes and 1 inputs; at most 8 and 16",
    [SIZE] = "launches 'cast' with size -1 of axis 0",
    [NO_OUTPUT] = "launches 'cast' with no output (NULL)",
    [GATHER] = "gathers along axis 8 of",
    [SCRATCH] = "asks for 1.0 KiB of scratch memory, but 512 B are left",
    [PIECES] = "asks for more than 16 pieces of scratch memory in a call",
    [ZERO] = "zeroes memory at NULL",
    [TRANSFORM_NULL] = "calls grove_call_transform with an array at NULL",
    [TRANSFORM_SIZE] = ": a transform has one or two sizes",
    [TRANSFORM_SIZES] = ": a transform has one or two sizes",
    [TRANSFORM_SIGN] = "and sign 1 or -1",
    [PRODUCT_SIZE] = ": a product of matrices has sizes from 1 to 2147483647",
    [CHOLESKY_SIZE] = ": a Cholesky factor has a size from 1 to 2147483647",
    [SILENT] = "evaluation failed",
    [OTHER_THREAD] = "calls grove_call_zero in a thread other than the calling one",
};

static int fault_now;

static void *zero_in_thread(void *call)
{
    grove_call_zero(call, ((const grove_call *)call)->args->out.data, 1);
    return NULL;
}

static int launch_wrong(const grove_call *call, int fault)
{
    static const int32_t order[SAMPLES_CELLS] = {0};
    grove_args args = *call->args;

    if (fault == AXES)
        args.axes = GROVE_VALUE_AXES + 1;
    if (fault == SIZE)
        args.size[0] = -1;
    if (fault == NO_OUTPUT)
        args.out.data = NULL;
    if (fault == GATHER)
        args.in[0].gather = order, args.in[0].gather_axis = GROVE_VALUE_AXES;
    return grove_call_launch(call, fault == NO_KERNEL ? NULL : &grove_array_cast,
                             fault == NO_ARGS ? NULL : &args, call->double_precision);
}

static int algebra_wrong(const grove_call *call, int fault)
{
    void *at = call->args->out.data;
    const int64_t large = (int64_t)1 << 20;
    const grove_transform transform = {.at = fault == TRANSFORM_NULL ? NULL : at,
                                       .size = {fault == TRANSFORM_SIZE ? 0 : large, large},
                                       .count = 1,
                                       .rank = fault == TRANSFORM_SIZES ? 2 : 1,
                                       .sign = fault == TRANSFORM_SIGN ? 0 : 1};
    const grove_product product = {.a = at, .b = at, .c = at, .columns = 1, .inner = 1, .count = 1};
    const grove_cholesky cholesky = {.matrix = at, .info = at};

    if (fault == PRODUCT_SIZE)
        return grove_call_product(call, &product, true);
    if (fault == CHOLESKY_SIZE)
        return grove_call_cholesky(call, &cholesky);
    return grove_call_transform(call, &transform, true);
}

static int device_wrong(const grove_call *call)
{
    pthread_t thread;
    void *at = call->args->out.data;
    int code = 0, fault = fault_now;

    if (fault < SCRATCH)
        code = launch_wrong(call, fault);
    else if (fault == SCRATCH)
        code = grove_call_scratch(call, 1024, &at);
    else if (fault == PIECES)
        for (int k = 0; k <= GROVE_MAX_SCRATCH; k++)
            code = grove_call_scratch(call, 1, &at);
    else if (fault == ZERO)
        code = grove_call_zero(call, NULL, 8);
    else if (fault < SILENT)
        code = algebra_wrong(call, fault);
    if (fault < SILENT) {
        ck_assert_int_eq(code, GROVE_INVALID);
        ck_assert_int_eq(grove_call_zero(call, call->args->out.data, 8), GROVE_INVALID);
        return 0;
    }
    if (fault == OTHER_THREAD &&
        !pthread_create(&thread, NULL, zero_in_thread, (void *)(uintptr_t)call))
        pthread_join(thread, NULL);
    return fault == SILENT ? -1 : 0;
}

static int check_wrong(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    grove_node_set_scratch(node, 512, 0);
    return 0;
}

static const grove_class class_wrong = {GROVE_CLASS_HEAD(wrong), .doc = "For tests.",
                                        .inputs = inputs,        .check = check_wrong,
                                        .device = device_wrong,  .output_doc = "nothing"};

static void nothing(void *context, int64_t first, int64_t last)
{
    (void)context, (void)first, (void)last;
    ck_abort_msg("called on a device");
}

/* Work for the host on a device. */
static int device_strict(const grove_call *call)
{
    grove_call_parallel(call, 10, nothing, NULL);
    return 0;
}

static const grove_class class_strict = {GROVE_CLASS_HEAD(strict), .doc = "For tests.",
                                         .inputs = inputs,         .check = check_same,
                                         .device = device_strict,  .output_doc = "nothing"};

/* An accumulator, which has no calls of devices. */
static int new_wrong(const grove_call *call, void **state)
{
    *state = NULL;
    return grove_call_zero(call, &fault_now, sizeof(fault_now));
}

static int add_wrong(const grove_call *call, void *state, const grove_array *const *arrays,
                     int count)
{
    (void)call, (void)state, (void)arrays, (void)count;
    return 0;
}

static int finish_wrong(const grove_call *call, void *state, grove_array *out)
{
    (void)call, (void)state, (void)out;
    return 0;
}

static void free_wrong(const grove_node *node, void *state)
{
    (void)node, (void)state;
}

static int check_place(grove_node *node)
{
    grove_node_set_memory(node, 8);
    return check_same(node);
}

static const grove_accumulator_functions functions = {
    .create = new_wrong,
    .add = add_wrong,
    .finish = finish_wrong,
    .free = free_wrong,
};

static const grove_class class_place = {
    GROVE_CLASS_HEAD(place),  .doc = "For tests.",  .kind = GROVE_CLASS_ACCUMULATOR,
    .inputs = inputs,         .check = check_place, .output_doc = "nothing",
    .accumulator = &functions};

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_wrong, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_strict, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_place, now.error), 0);
    heap_test_add();
}

/* ---- tests ---- */

static void expect_one_message(const char *device, const char *message)
{
    grove_session *session = heap_test_session(device, GROVE_SESSION_OPTIONS());

    grove_error_clear(now.error);
    ck_assert_int_lt(grove_session_run(session), 0);
    char *text = suite_messages(now.error);
    ck_assert_msg(grove_error_count(now.error) == 1 && strstr(text, message), "%s\nnot: %s", text,
                  message);
    ck_assert_ptr_nonnull(strstr(text, "t.tree:2:")); /* where the class is called */
    heap_test_close(session);
}

LOOP_TEST(misuse_is_told, 0, 2 * FAULTS)
{
    fault_now = _i / 2;
    session_test_tree("keep = heap(wrong(o.data))");
    expect_one_message(_i % 2 ? "cuda" : "cpu", messages[fault_now]);
}

TEST(places_are_told)
{
    session_test_tree("keep = heap(place(o.data))");
    expect_one_message("cpu", "the plugin calls grove_call_zero, which is for .eval, .device and "
                              "finish of accumulators");
    session_test_tree("keep = heap(strict(o.data))");
    expect_one_message("cuda", "the plugin calls grove_call_parallel on a device; it is for the "
                               "host");
}

CUDA_SUITE(120, setup, session_test_end)
