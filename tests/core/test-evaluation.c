/* Repeated evaluations after the content of a leaf has changed: exactly what depends on it is
 * recomputed, kept values are never stale, and errors that a class reports fail the run. */
#include "tests/common/session-testing.h"

#include "run/pipeline.h"
#include "unstable/fit.h"

#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- classes ---- */

static double dial_now;  /* what `dial` reads */
static bool dial_slips;  /* ... which is another number each time */
static int loud_in_pool; /* `loud` reports a fault in one of its pieces, and succeeds */

static int open_dial(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .complex_ = true};

    return grove_node_add_member(node, "gain", "", &form, NULL, "a number that changes");
}

static int read_dial(const grove_call *call, const char *member, grove_array *out)
{
    (void)call, (void)member;
    dial_now += dial_slips;
    if (out->form->precision == GROVE_PRECISION_DOUBLE)
        ((double *)out->data)[0] = dial_now, ((double *)out->data)[1] = -dial_now;
    else
        ((float *)out->data)[0] = (float)dial_now, ((float *)out->data)[1] = -(float)dial_now;
    return 0;
}

static const grove_class class_dial = {
    GROVE_CLASS_HEAD(dial), .doc = "For tests.", .kind = GROVE_CLASS_DATA, .object = "observation",
    .data = &(const grove_data_functions){.open = open_dial, .read = read_dial}};

static void piece(void *context, int64_t first, int64_t last)
{
    const grove_call *call = context;

    if (loud_in_pool && first <= 7 && last > 7)
        grove_node_fail(call->node, -5, "piece 7 is bad");
}

static int eval_loud(const grove_call *call)
{
    const grove_view *out = &call->args->out;

    memset(out->data, 0, (size_t)(grove_args_cells(call->args) * out->elements * out->bytes));
    grove_call_parallel(call, 64, piece, (void *)call);
    return 0;
}

static int check_loud(grove_node *node)
{
    grove_node_set_output(node, grove_node_input_form(node, 0));
    return 0;
}

static const grove_port loud_inputs[] = {{"x", GROVE_VALUE, "anything", .shapes = GROVE_ANY_SHAPE},
                                         {0}};
static const grove_class class_loud = {GROVE_CLASS_HEAD(loud), .doc = "For tests.",
                                       .inputs = loud_inputs,  .eval = eval_loud,
                                       .check = check_loud,    .output_doc = "zeros"};

static void setup(void)
{
    unsetenv("GROVE_CHECK_CACHE");
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_dial, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_loud, now.error), 0);
    dial_now = 1;
    dial_slips = false;
    loud_in_pool = 0;
}

/* ---- what is computed again ---- */

static bool depends(const grove_node *node, const grove_node *leaf)
{
    if (node == leaf || node->leaf == leaf)
        return true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && depends(node->inputs[k].node, leaf))
            return true;
    return false;
}

static bool is_counted(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS || node->kind == GROVE_NODE_CAST ||
           (node->kind == GROVE_NODE_MEMBER && !node->leaf->members[node->member].data);
}

static bool is_below(const grove_node *node, const grove_node *root)
{
    if (node == root)
        return true;
    for (int k = 0; k < root->input_count; k++)
        if (root->inputs[k].node && is_below(node, root->inputs[k].node))
            return true;
    return false;
}

/* Whether a node that depends on the leaf reads this one. */
static bool is_read(const grove_node *node, const grove_node *root, const grove_node *leaf)
{
    for (size_t i = 0; i < now.tree->node_count; i++) {
        const grove_node *user = now.tree->nodes[i];
        for (int k = 0; k < user->input_count; k++)
            if (user->inputs[k].node == node && depends(user, leaf) && is_below(user, root))
                return true;
    }
    return false;
}

static const char formula[] = "k = dial()\na = exp(o.gain)\nx = a * o.data * (k.gain * 2) + o.data";

static void check_numbers(grove_value *value, double dial, bool double_)
{
    double tolerance = double_ ? 1e-13 : 2e-6;

    for (int64_t t = 0; t < SAMPLES_TIMES; t++)
        for (int64_t b = 0; b < SAMPLES_BASELINES; b++)
            for (int64_t f = 0; f < SAMPLES_CHANNELS; f++)
                for (int e = 0; e < 4; e++) {
                    double complex data =
                        CMPLX(samples_number(0, t, b, f, e, 0), samples_number(0, t, b, f, e, 1));
                    double complex gain =
                        CMPLX(samples_number(3, f, 0, 0, 0, 0), samples_number(3, f, 0, 0, 0, 1));
                    double complex want = cexp(gain) * data * 2 * CMPLX(dial, -dial) + data;
                    double got[2];
                    grove_value_number(value, (int64_t[]){t, b, f}, e, &got[0], &got[1]);
                    double scale = cabs(want) + 1;
                    ck_assert_double_le(fabs(got[0] - creal(want)), tolerance * scale);
                    ck_assert_double_le(fabs(got[1] - cimag(want)), tolerance * scale);
                }
}

typedef struct {
    uint64_t calls[64], hits[64];
} counts;

static counts counts_of(const grove_session *session)
{
    counts c = {{0}, {0}};

    ck_assert_uint_le(now.tree->node_count, 64);
    for (size_t i = 0; i < now.tree->node_count; i++) {
        c.calls[i] = session->nodes[now.tree->nodes[i]->id].calls;
        c.hits[i] = session->nodes[now.tree->nodes[i]->id].hits;
    }
    return c;
}

/* The same program again: the plan, and so the evaluation, is made once. */
LOOP_TEST(what_depends_is_computed_again, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 2, .double_precision = _i % 2);
    grove_evaluation *evaluation = NULL;

    session_test_tree(formula);
    grove_session *session = session_test_session(&options);
    const grove_node *leaf = session_test_node("k");
    grove_node *x = session_test_node("x");
    ck_assert_int_eq(grove_evaluation_new(session, &x, 1, NULL, 0, &evaluation), 0);
    for (int i = 0; i < 4; i++) {
        grove_value *value = NULL;
        counts before = counts_of(session);
        dial_now = 1 + i;
        if (i)
            grove_session_renew(session, leaf);
        ck_assert_int_eq(grove_evaluation_run(evaluation, &value), 0);
        check_numbers(value, dial_now, options.double_precision);
        counts after = counts_of(session);
        for (size_t n = 0; n < now.tree->node_count; n++) {
            const grove_node *node = now.tree->nodes[n];
            if (!i || !is_counted(node) || !is_below(node, x))
                continue;
            bool again = depends(node, leaf);
            ck_assert_msg(after.calls[n] - before.calls[n] == again, "%s: %d calls", node->name,
                          (int)(after.calls[n] - before.calls[n]));
            ck_assert_msg(after.hits[n] - before.hits[n] == (!again && is_read(node, x, leaf)),
                          "%s: %d hits", node->name, (int)(after.hits[n] - before.hits[n]));
        }
        grove_value_unref(value);
    }
    grove_evaluation_free(evaluation);
    grove_session_free(session);
}

/* What was computed from some content is there when that comes back; and values never mix. */
TEST(content_that_comes_back)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true);
    static const double turns[] = {1, 2, 1, 3, 2};
    grove_evaluation *evaluation = NULL;

    session_test_tree(formula);
    grove_session *session = session_test_session(&options);
    grove_node *x = session_test_node("x");
    ck_assert_int_eq(grove_evaluation_new(session, &x, 1, NULL, 0, &evaluation), 0);
    for (int i = 0; i < 5; i++) {
        grove_value *value = NULL;
        uint64_t before = grove_session_counters(session)->evaluations;
        dial_now = turns[i];
        grove_session_set_content(session, session_test_node("k"),
                                  grove_hash_number(grove_hash_start(), dial_now));
        ck_assert_int_eq(grove_evaluation_run(evaluation, &value), 0);
        check_numbers(value, dial_now, true);
        bool seen = i == 2 || i == 4;
        ck_assert(seen == (grove_session_counters(session)->evaluations == before));
        grove_value_unref(value);
    }
    grove_evaluation_free(evaluation);
    grove_session_free(session);
}

/* With many tiles, whose values are not all kept; and a pass whose result is known already, from an
 * evaluation of its own before. */
LOOP_TEST(again_in_tiles, 0, 4)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 2, .double_precision = true, .tile_times = 2,
                              .tile_channels = 1 + 2 * (_i % 2));
    grove_evaluation *evaluation = NULL;

    options.serial = _i / 2;
    session_test_tree("k = dial()\nm = mean(o.data, over=time)\nx = o.data * k.gain - m\n"
                      "y = exp(o.gain) * o.data * (k.gain * 2) + o.data");
    grove_session *session = session_test_session(&options);
    grove_node *x = session_test_node("x"), *y = session_test_node("y");
    grove_value *value = NULL, *mean = NULL;
    ck_assert_int_eq(grove_session_evaluate(session, session_test_node("m"), NULL, 0, &mean), 0);
    ck_assert_int_eq(grove_evaluation_new(session, &x, 1, NULL, 0, &evaluation), 0);
    ck_assert_int_eq(evaluation->schedule->count, 2);
    int tiles = 4 * (options.tile_channels == 1 ? SAMPLES_CHANNELS : 2);
    for (int i = 0; i < 3; i++) {
        int reads = now.reads;
        dial_now = 1 + i;
        grove_session_renew(session, session_test_node("k"));
        ck_assert_int_eq(grove_evaluation_run(evaluation, &value), 0);
        ck_assert_int_eq(now.reads - reads, tiles);
        for (int64_t t = 0; t < SAMPLES_TIMES; t++) {
            double got[2], m[2];
            grove_value_number(value, (int64_t[]){t, 4, 2}, 3, &got[0], &got[1]);
            grove_value_number(mean, (int64_t[]){4, 2}, 3, &m[0], &m[1]);
            double complex data =
                CMPLX(samples_number(0, t, 4, 2, 3, 0), samples_number(0, t, 4, 2, 3, 1));
            double complex want = data * CMPLX(dial_now, -dial_now) - CMPLX(m[0], m[1]);
            ck_assert_double_eq_tol(got[0], creal(want), 1e-13);
            ck_assert_double_eq_tol(got[1], cimag(want), 1e-13);
        }
        grove_value_unref(value);
    }
    grove_evaluation_free(evaluation);
    ck_assert_int_eq(grove_evaluation_new(session, &y, 1, NULL, 0, &evaluation), 0);
    for (int i = 0; i < 3; i++) {
        dial_now = 5 - i;
        grove_session_renew(session, session_test_node("k"));
        ck_assert_int_eq(grove_evaluation_run(evaluation, &value), 0);
        check_numbers(value, dial_now, true);
        grove_value_unref(value);
    }
    grove_evaluation_free(evaluation);
    grove_value_unref(mean);
    grove_session_free(session);
}

/* An action has the new numbers though what does not follow the tiles is kept from run to run. */
TEST(actions_again)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true, .tile_times = 3);
    grove_evaluation *evaluation = NULL;

    session_test_tree("k = dial()\nw = record(o.data * (k.gain * 2) * exp(o.gain))");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_evaluation_new(session, now.tree->actions, now.tree->action_count, NULL,
                                          0, &evaluation),
                     0);
    for (int i = 0; i < 3; i++) {
        int reads = now.reads;
        dial_now = 1 + i;
        grove_session_renew(session, session_test_node("k"));
        ck_assert_int_eq(grove_evaluation_run(evaluation, NULL), 0);
        ck_assert_int_eq(now.reads - reads, i ? 3 : 4); /* data for each tile, gain once */
        double complex gain =
            CMPLX(samples_number(3, 0, 0, 0, 0, 0), samples_number(3, 0, 0, 0, 0, 1));
        double complex data =
            CMPLX(samples_number(0, 0, 0, 0, 1, 0), samples_number(0, 0, 0, 0, 1, 1));
        double complex want = data * 2 * CMPLX(dial_now, -dial_now) * cexp(gain);
        ck_assert_double_eq_tol(now.numbers[0][2], creal(want), 1e-13 * cabs(want));
        ck_assert_double_eq_tol(now.numbers[0][3], cimag(want), 1e-13 * cabs(want));
    }
    grove_evaluation_free(evaluation);
    grove_session_free(session);
}

/* ---- stale values ---- */

static bool has_message(const char *part)
{
    char *text = suite_messages(now.error);
    bool found = strstr(text, part) != NULL;

    if (!found)
        printf("wanted: %s\ngot: %s\n", part, text);
    return found;
}

/* A value in the cache is changed behind the session's back. */
TEST(a_stale_value_is_found)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1);

    setenv("GROVE_CHECK_CACHE", "1", 1);
    session_test_tree(formula);
    grove_session *session = session_test_session(&options);
    grove_value *a = NULL, *x = NULL;
    ck_assert_int_eq(grove_session_evaluate(session, session_test_node("a"), NULL, 0, &a), 0);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(grove_session_evaluate(session, session_test_node("x"), NULL, 0, &x), 0);
        check_numbers(x, dial_now, false);
        grove_value_unref(x);
    }
    float *numbers = grove_buffer_host(a->data, now.error);
    numbers[3] = nextafterf(numbers[3], 100);
    int code = grove_session_evaluate(session, session_test_node("x"), NULL, 0, &x);
    ck_assert_int_eq(code, GROVE_INTERNAL);
    ck_assert(has_message("a kept value of 'a' differs from the recomputed one"));
    grove_value_unref(a);
    grove_session_free(session);
}

/* A leaf whose numbers change though nobody says so: between evaluations, and between tiles. */
LOOP_TEST(a_leaf_that_slips_is_found, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 1, .tile_times = _i);

    setenv("GROVE_CHECK_CACHE", "1", 1);
    dial_slips = true;
    session_test_tree(formula);
    grove_session *session = session_test_session(&options);
    grove_value *x = NULL;
    int code = grove_session_evaluate(session, session_test_node("x"), NULL, 0, &x);
    if (!_i) {
        ck_assert_int_eq(code, 0);
        grove_value_unref(x);
        code = grove_session_evaluate(session, session_test_node("x"), NULL, 0, &x);
    }
    ck_assert_int_eq(code, GROVE_INTERNAL);
    ck_assert(has_message("a kept value of 'k.gain' differs from the recomputed one"));
    grove_session_free(session);
}

/* ---- faults that are reported, but not returned ---- */

static int report(const grove_call *call)
{
    grove_node_fail(call->node, -5, "said, not returned");
    return 0;
}

static int write_and_report(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)inputs;
    (void)count;
    return report(call);
}

static int write_nothing(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)call;
    (void)inputs;
    (void)count;
    return 0;
}

static int succeed(const grove_call *call)
{
    (void)call;
    return 0;
}

LOOP_TEST(what_is_reported_fails, 0, 8)
{
    static const grove_port inputs[] = {{"x", GROVE_VALUE, "anything", .shapes = GROVE_ANY_SHAPE},
                                        {0}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 3, .serial = _i % 2);
    const grove_action_functions functions = {.begin = _i / 2 == 0 ? report : succeed,
                                              .write =
                                                  _i / 2 == 1 ? write_and_report : write_nothing,
                                              .prepare = _i / 2 == 2 ? report : succeed};
    const grove_class says = {GROVE_CLASS_HEAD(says), .doc = "For tests.", .inputs = inputs,
                              .kind = GROVE_CLASS_ACTION, .action = &functions};

    loud_in_pool = _i / 2 == 3;
    ck_assert_int_eq(grove_classes_add(now.classes, &says, now.error), 0);
    session_test_tree("w = says(loud(o.data))");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), -5);
    ck_assert(has_message(loud_in_pool ? "loud: piece 7 is bad" : "says: said, not returned"));
    ck_assert_int_eq(grove_error_count(now.error), 1);
    grove_session_free(session);
}

static int write_as_drive(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)inputs, (void)count;
    return grove_call_fetch_input(call, 0);
}

static void *fetch(void *call)
{
    return grove_call_fetch_input(call, 0) == GROVE_INVALID ? call : NULL;
}

static int drive_by_two(const grove_call *call, const grove_array *const *inputs, int count,
                        bool *again)
{
    pthread_t other;
    void *refused = NULL;

    (void)inputs, (void)count, (void)again;
    ck_assert_int_eq(pthread_create(&other, NULL, fetch, (void *)call), 0);
    pthread_join(other, &refused);
    return refused ? grove_node_fail(call->node, GROVE_INVALID, "refused in another thread") : 0;
}

/* What is for drive and its thread alone, in another function, and in another thread. */
LOOP_TEST(not_in_a_drive, 0, 2)
{
    static const grove_port inputs[] = {{"x", GROVE_VALUE, "anything", .shapes = GROVE_ANY_SHAPE},
                                        {0}};
    const grove_class says = {
        GROVE_CLASS_HEAD(says), .doc = "For tests.", .inputs = inputs, .kind = GROVE_CLASS_ACTION,
        .action = &(const grove_action_functions){.write = _i ? NULL : write_as_drive,
                                                  .drive = _i ? drive_by_two : NULL}};
    grove_session_options options = GROVE_SESSION_OPTIONS(.threads = 2);

    ck_assert_int_eq(grove_classes_add(now.classes, &says, now.error), 0);
    session_test_tree("w = says(o.data)");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), GROVE_INVALID);
    ck_assert(
        has_message(_i ? "says: refused in another thread"
                       : "says: the plugin calls grove_call_fetch_input, which is for drive"));
    grove_session_free(session);
}

SUITE(120, setup, session_test_end)
