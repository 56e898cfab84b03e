/* Constant tables of nodes on the host and on emulated devices. */
#include "tests/common/cuda-testing.h"
#include "tests/common/heap-testing.h"

#include "run/state.h"

#include <stdlib.h>
#include <string.h>

#define GROVE_KERNEL_SOURCE "../tests/cuda/lookup.h"
#include "kernel.h"

static const grove_kernel kernel = GROVE_KERNEL(lookup);
static bool empty;

static double entry(int64_t k)
{
    return 1 + (double)(k * k % 1009) / 7;
}

static int check_lookup(grove_node *node)
{
    double *table = malloc(LOOKUP_COUNT * sizeof(*table));

    for (int64_t k = 0; k < LOOKUP_COUNT; k++)
        table[k] = entry(k);
    int code = grove_node_set_table(node, table, empty ? 0 : LOOKUP_COUNT * sizeof(*table));
    free(table); /* it was copied */
    grove_node_set_output(node, grove_node_input_form(node, 0));
    grove_node_set_kernel(node, &kernel);
    return code;
}

static const grove_port inputs[] = {{"x", GROVE_VALUE, "a complex number", .shapes = GROVE_SCALAR},
                                    {0}};
static const grove_class class_lookup = {GROVE_CLASS_HEAD(lookup), .doc = "For tests.",
                                         .inputs = inputs, .check = check_lookup,
                                         .output_doc = "a product"};

static void setup(void)
{
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_lookup, now.error), 0);
    heap_test_add();
}

/* Loop index: 0: on the host; 1, 2: on so many devices. */
LOOP_TEST(test_tables, 0, 3)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = 2, .double_precision = true);
    grove_counters c = {0};
    const char *device = !_i ? "cpu" : _i == 1 ? "cuda" : "cuda:all";

    if (_i && cuda_testing_control())
        cuda_testing_control()->devices = _i;
    session_test_tree("keep = heap(select(o.data, element=XX))");
    heap truth = heap_test_run("cpu", options, NULL);
    session_test_tree("keep = heap(lookup(select(o.data, element=XX)))");
    heap got = heap_test_run(device, options, &c);
    ck_assert_uint_eq(got.count, SAMPLES_CELLS);
    for (int64_t k = 0; k < SAMPLES_CELLS; k++) {
        int64_t time = k / (SAMPLES_BASELINES * SAMPLES_CHANNELS), channel = k % SAMPLES_CHANNELS;
        double factor = entry((time * 7001 + channel * 1237) % LOOKUP_COUNT);
        for (int part = 0; part < 2; part++)
            ck_assert_double_eq_tol(got.numbers[2 * k + part], factor * truth.numbers[2 * k + part],
                                    1e-9);
    }
    ck_assert_int_eq(c.tiles, 4);
    if (_i && cuda_testing_control()) {
        uint64_t bytes = LOOKUP_COUNT * sizeof(double) * (uint64_t)_i;
        ck_assert(!heap_test_helped());
        ck_assert_uint_gt(c.launches, 0);
        ck_assert_uint_ge(c.bytes_up, bytes); /* once per device, not per tile */
        ck_assert_uint_lt(c.bytes_up, bytes + 10000);
    }
}

TEST(test_an_empty_table_is_refused)
{
    static const char *const none[] = {NULL};

    empty = true;
    ck_assert_ptr_null(grove_lang_parse("o = samples()\nkeep = heap(lookup(o.gain))\n", "t.tree",
                                        now.classes, NULL, 0, NULL, none, now.error));
    ck_assert_ptr_ne(strstr(suite_messages(now.error), "the plugin's table is empty"), NULL);
    empty = false;
}

CUDA_SUITE(120, setup, session_test_end)
