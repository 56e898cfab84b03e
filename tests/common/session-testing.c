#include "session-testing.h"
#include "real-cuda.h"

#include "base/log.h"
#include "base/memory.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

session_test now;

static const int32_t left[] = {0, 0, 0, 1, 1, 2}, right[] = {1, 2, 3, 2, 3, 3};

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t place(int member, int64_t i, int64_t j, int64_t k, int element)
{
    return mix((uint64_t)(((((member + 1) * 64 + i) * 64 + j) * 64 + k) * 8 + element));
}

/* Numbers with few bits, so that single precision holds them. */
double samples_number(int member, int64_t i, int64_t j, int64_t k, int element, int part)
{
    return (double)(int)(mix(place(member, i, j, k, element) + (uint64_t)part) % 2048) / 512 -
           2.1875;
}

bool samples_flagged(int64_t time, int64_t baseline, int64_t channel, int element)
{
    /* one cell of all times is bad throughout */
    return place(9, time, baseline, channel, element) % 5 == 0 || (baseline == 2 && channel == 3);
}

static const char *const names[] = {"data", "jones", "flux", "gain"};

static int open_samples(grove_node *node)
{
    const double time[] = {10, 20, 30, 40, 50, 60, 70}, freq[] = {1e9, 2e9, 3e9, 4e9, 5e9};
    const double width[] = {10, 10, 10, 10, 10, 10, 10};
    grove_axis axes[] = {{.name = "source", .size = SAMPLES_SOURCES},
                         {.name = "time", .size = 7, .centre = time, .width = width},
                         {.name = "station", .size = SAMPLES_STATIONS},
                         {.name = "baseline", .size = 6, .left = left, .right = right},
                         {.name = "freq", .size = 5, .centre = freq, .width = width}};
    static const char *const along[] = {"time baseline freq", "time station", "source freq",
                                        "freq"};
    grove_form form = {.shape = GROVE_MATRIX, .complex_ = true};

    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(grove_node_add_axis(node, &axes[i]), 0);
    for (int i = 0; i < 4; i++) {
        form.flags = i == 0;
        form.shape = i < 2 ? GROVE_MATRIX : GROVE_SCALAR;
        form.complex_ = i != 2;
        ck_assert_int_eq(grove_node_add_member(node, names[i], along[i], &form, NULL, "a sample"),
                         0);
    }
    return 0;
}

static void put(const grove_array *out, int64_t number, double x)
{
    if (out->form->precision == GROVE_PRECISION_DOUBLE)
        ((double *)out->data)[number] = x;
    else
        ((float *)out->data)[number] = (float)x;
}

static int read_samples(const grove_call *call, const char *member, grove_array *out)
{
    int which = 0, parts = out->form->complex_ ? 2 : 1;
    int read = __atomic_add_fetch(&now.reads, 1, __ATOMIC_RELAXED);

    if (now.read)
        now.read();
    if (read == now.fail_read)
        return grove_node_fail(call->node, -5, "the disk is gone");
    while (strcmp(member, names[which]))
        which++;
    for (int64_t cell = 0; cell < out->cells; cell++) {
        int64_t at[3] = {0}, rest = cell;
        for (int d = out->axes - 1; d >= 0; d--) {
            at[d] = out->range[d].first + rest % out->range[d].count;
            rest /= out->range[d].count;
        }
        for (int e = 0; e < out->elements; e++)
            for (int k = 0; k < parts; k++)
                put(out, (cell * out->elements + e) * parts + k,
                    samples_number(which, at[0], at[1], at[2], e, k));
        for (int e = 0; out->flags && e < out->elements; e++)
            if (samples_flagged(at[0], at[1], at[2], e))
                out->flags[cell] |= (unsigned char)(1 << e);
    }
    return 0;
}

static const grove_class class_samples = {
    GROVE_CLASS_HEAD(samples), .doc = "For tests.", .kind = GROVE_CLASS_DATA,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_samples, .read = read_samples}};

/* ---- record ---- */

static int begin(const grove_call *call)
{
    return ++now.begins == now.fail_begin ? grove_node_fail(call->node, -5, "cannot begin so") : 0;
}

static int commit(const grove_call *call)
{
    return ++now.finishes == now.fail_finish ? grove_node_fail(call->node, -5, "cannot finish so")
                                             : 0;
}

static void abort_record(const grove_call *call)
{
    (void)call;
    now.aborts++;
}

static void keep(const grove_array *in, int64_t cell, int64_t to)
{
    int parts = in->form->complex_ ? 2 : 1;

    now.places[to]++;
    now.flags[to] = in->flags ? in->flags[cell] : 0;
    for (int e = 0; e < in->elements; e++)
        for (int k = 0; k < parts; k++) {
            int64_t number = (cell * in->elements + e) * parts + k;
            now.numbers[to][2 * e + k] = in->form->precision == GROVE_PRECISION_DOUBLE
                                             ? ((double *)in->data)[number]
                                             : (double)((float *)in->data)[number];
        }
}

static int write_record(const grove_call *call, const grove_array *const *inputs, int count)
{
    const grove_array *in = inputs[0];

    (void)count;
    if (++now.writes == now.fail_write)
        return grove_node_fail(call->node, -5, "the disk is full");
    if (now.writes == now.interrupt_write)
        grove_interrupt_set(true);
    for (int64_t cell = 0; cell < in->cells; cell++) {
        int64_t to = 0, rest = cell, step = 1;
        for (int d = in->axes - 1; d >= 0; d--) {
            to += (in->range[d].first + rest % in->range[d].count) * step;
            rest /= in->range[d].count;
            step *= in->range[d].axis->size;
        }
        keep(in, cell, to);
    }
    now.cells_written += in->cells;
    return 0;
}

static const grove_port record_inputs[] = {
    {"x", GROVE_VALUE, "what is kept", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_port record_options[] = {
    {"y", GROVE_VALUE, "more of it", .initial = "none", .shapes = GROVE_ANY_SHAPE}, {0}};
static const grove_action_functions functions = {
    .begin = begin,
    .write = write_record,
    .commit = commit,
    .abort = abort_record,
};

static const grove_class class_record = {GROVE_CLASS_HEAD(record),   .doc = "For tests.",
                                         .inputs = record_inputs,    .options = record_options,
                                         .kind = GROVE_CLASS_ACTION, .action = &functions};

/* ---- tests ---- */

void session_test_begin(void)
{
    memset(&now, 0, sizeof(now));
    grove_interrupt_set(false);
    now.classes = grove_classes_new(NULL);
    now.error = grove_error_new();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_samples, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_record, now.error), 0);
}

void session_test_end(void)
{
    grove_tree_free(now.tree);
    grove_error_free(now.error);
    grove_classes_free(now.classes);
    grove_interrupt_set(false);
}

void session_test_tree(const char *text)
{
    static const char *const none[] = {NULL};
    char whole[4096];

    snprintf(whole, sizeof(whole), "o = samples()\n%s\n", text);
    grove_tree_free(now.tree);
    grove_error_clear(now.error);
    now.tree = grove_lang_parse(whole, "t.tree", now.classes, NULL, 0, NULL, none, now.error);
    if (!now.tree) {
        char *messages = grove_error_text(now.error);
        ck_abort_msg("%s\n%s", whole, messages);
    }
}

grove_session *session_test_session(const grove_session_options *options)
{
    const char *device = getenv("GROVE_TEST_DEVICE");
    grove_session_options own = options ? *options : GROVE_SESSION_OPTIONS();

    if (!own.device)
        own.device = device ? device : "cpu";
    if (!strncmp(own.device, "cuda", 4))
        real_cuda_keep();
    return grove_session_new(now.tree, &own, now.error);
}

grove_node *session_test_node(const char *name)
{
    for (size_t i = now.tree->node_count; i-- > 0;)
        if (!strcmp(now.tree->nodes[i]->name, name))
            return now.tree->nodes[i];
    ck_abort_msg("no node '%s'", name);
    return NULL;
}
