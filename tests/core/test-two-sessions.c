/* Several sessions evaluate one tree at the same time, each in its own thread: the bits of a single
 * session, errors only where they occur, and classes with serial_io one at a time. */
#include "tests/common/session-testing.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS = 3, ROUNDS = 4 };

/* ---- classes ---- */

static int inside, met, reads, worst; /* in `serial`; worst: how many at once */

static int open_serial(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR};

    return grove_node_add_member(node, "number", "", &form, NULL, "a number");
}

static int read_serial(const grove_call *call, const char *member, grove_array *out)
{
    (void)call, (void)member;
    int many = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    if (many > __atomic_load_n(&worst, __ATOMIC_SEQ_CST))
        __atomic_store_n(&worst, many, __ATOMIC_SEQ_CST);
    met++; /* not atomic: the lock has to do */
    for (int i = 0; i < 100; i++)
        sched_yield();
    ((float *)out->data)[0] = 2;
    __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
    return 0;
}

static const grove_class class_serial = {
    GROVE_CLASS_HEAD(serial),
    .doc = "For tests.",
    .kind = GROVE_CLASS_DATA,
    .serial_io = true,
    .object = "observation",
    .data = &(const grove_data_functions){.open = open_serial, .read = read_serial}};

/* Each third read fails, in whatever session. */
static int read_moody(const grove_call *call, const char *member, grove_array *out)
{
    (void)member;
    if (__atomic_add_fetch(&reads, 1, __ATOMIC_SEQ_CST) % 3 == 0)
        return grove_node_fail(call->node, -5, "not now");
    ((float *)out->data)[0] = 3;
    return 0;
}

static const grove_class class_moody = {
    GROVE_CLASS_HEAD(moody), .doc = "For tests.", .kind = GROVE_CLASS_DATA, .object = "observation",
    .data = &(const grove_data_functions){.open = open_serial, .read = read_moody}};

static void setup(void)
{
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_serial, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_moody, now.error), 0);
    inside = met = reads = worst = 0;
}

/* ---- threads ---- */

typedef struct {
    pthread_t thread;
    int number;
    int codes[ROUNDS];
    size_t errors[ROUNDS];
    unsigned char *bytes[ROUNDS];
    size_t size;
} worker;

static void *work(void *context)
{
    worker *w = context;
    grove_error *error = grove_error_new();
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 1 + w->number, .device = "cpu");
    grove_session *session = grove_session_new(now.tree, &options, error);

    for (int i = 0; i < ROUNDS && session; i++) {
        grove_value *value = NULL;
        size_t before = grove_error_count(error);
        for (size_t n = 0; n < now.tree->node_count; n++)
            if (now.tree->nodes[n]->kind == GROVE_NODE_LEAF)
                grove_session_renew(session, now.tree->nodes[n]);
        w->codes[i] = grove_session_evaluate(session, session_test_node("x"), NULL, 0, &value);
        w->errors[i] = grove_error_count(error) - before;
        if (!value)
            continue;
        w->size = (size_t)grove_value_cells(value) * grove_value_cell_bytes(value);
        w->bytes[i] = malloc(w->size);
        memcpy(w->bytes[i], grove_buffer_host(value->data, NULL), w->size);
        grove_value_unref(value);
    }
    grove_session_free(session);
    grove_error_free(error);
    return NULL;
}

static void work_together(worker *workers, int count)
{
    for (int k = 0; k < count; k++) {
        workers[k] = (worker){.number = k};
        ck_assert_int_eq(pthread_create(&workers[k].thread, NULL, work, &workers[k]), 0);
    }
    for (int k = 0; k < count; k++)
        pthread_join(workers[k].thread, NULL);
}

static void drop(worker *workers, int count)
{
    for (int k = 0; k < count; k++)
        for (int i = 0; i < ROUNDS; i++)
            free(workers[k].bytes[i]);
}

LOOP_TEST(same_bits, 0, 3)
{
    static const char *const definitions[] = {
        "s = serial()\nJ[p] = o.jones\nx = J[p] * o.data * s.number * J[q]^H",
        "s = serial()\nx = mean(o.data * s.number, over=[time, baseline])",
        ("s = serial()\nm = mean(o.data, over=time)\n"
         "x = sum(o.flux * (o.data - m) * s.number, over=source)")};
    worker alone, together[SESSIONS];

    session_test_tree(definitions[_i]);
    work_together(&alone, 1);
    work_together(together, SESSIONS);
    for (int k = 0; k < SESSIONS; k++)
        for (int i = 0; i < ROUNDS; i++) {
            ck_assert_int_eq(together[k].codes[i], 0);
            ck_assert_uint_eq(together[k].size, alone.size);
            ck_assert_int_eq(memcmp(together[k].bytes[i], alone.bytes[0], alone.size), 0);
        }
    ck_assert_int_eq(worst, 1);
    ck_assert_int_ge(met, (SESSIONS + 1) * ROUNDS);
    drop(&alone, 1);
    drop(together, SESSIONS);
}

/* The error of a session says what went wrong there, and nothing else. */
TEST(faults_stay_where_they_are)
{
    worker workers[SESSIONS];
    int failed = 0;

    session_test_tree("m = moody()\nx = o.data * m.number");
    work_together(workers, SESSIONS);
    for (int k = 0; k < SESSIONS; k++)
        for (int i = 0; i < ROUNDS; i++) {
            ck_assert_int_eq(workers[k].codes[i], workers[k].errors[i] ? -5 : 0);
            ck_assert_uint_le(workers[k].errors[i], 1);
            failed += workers[k].codes[i] != 0;
        }
    ck_assert_int_eq(failed, reads / 3);
    ck_assert_int_gt(failed, 0);
    ck_assert_int_eq(grove_error_count(now.error), 0);
    drop(workers, SESSIONS);
}

SUITE(120, setup, session_test_end)
