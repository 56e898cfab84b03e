/* Actions that give a leaf new content in the middle of a run: what stands before them has values
 * of the content before, what stands after them of that after; nothing else is computed again. */
#include "tests/common/cuda-testing.h"
#include "tests/common/session-testing.h"

#include "run/pipeline.h"

#include <complex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINKS = 5, GENERATIONS = 3 };

/* ---- classes ---- */

static int running;    /* dials that were started */
static int prepares;   /* calls of it */
static int fail_write; /* of the sink with this number, from 1 on */

static int open_dial(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .complex_ = true};

    return grove_node_add_member(node, "gain", "", &form, NULL, "a number that changes");
}

static int start_dial(const grove_node *node, void **run)
{
    double *number = malloc(sizeof(*number));

    (void)node;
    *number = 1.5;
    *run = number;
    running++;
    return 0;
}

static void stop_dial(const grove_node *node, void *run)
{
    (void)node;
    free(run);
    running--;
}

static int read_dial(const grove_call *call, const char *member, grove_array *out)
{
    double number = *(const double *)call->run;

    (void)member;
    if (out->form->precision == GROVE_PRECISION_DOUBLE)
        ((double *)out->data)[0] = number, ((double *)out->data)[1] = -number;
    else
        ((float *)out->data)[0] = (float)number, ((float *)out->data)[1] = -(float)number;
    return 0;
}

static const grove_class class_dial = {
    GROVE_CLASS_HEAD(dial),
    .doc = "For tests.",
    .kind = GROVE_CLASS_DATA,
    .object = "dial",
    .data = &(const grove_data_functions){.open = open_dial, .read = read_dial},
    .start = start_dial,
    .stop = stop_dial};

static int open_fixed(grove_node *node)
{
    const float one[2] = {1, 0};
    grove_form form = {
        .shape = GROVE_SCALAR, .complex_ = true, .precision = GROVE_PRECISION_SINGLE};

    return grove_node_add_member(node, "gain", "", &form, one, "one");
}

static const grove_class class_fixed = {GROVE_CLASS_HEAD(fixed), .doc = "For tests.",
                                        .kind = GROVE_CLASS_DATA, .object = "dial",
                                        .data = &(const grove_data_functions){.open = open_fixed}};

static int check_turn(grove_node *node)
{
    return grove_node_renews(node, grove_node_text(node, "renews"));
}

static int prepare_turn(const grove_call *call)
{
    double *number = grove_call_object_run(call, "k");

    *number = 2 * *number + 1;
    prepares++;
    return 0;
}

static const grove_port turn_inputs[] = {
    {"k", GROVE_OBJECT, "what is turned", .object = "dial"},
    {"x", GROVE_VALUE, "anything", .shapes = GROVE_ANY_SHAPE, .handing = GROVE_AS_COMPLEX},
    {0}};
static const grove_port turn_options[] = {{"renews", GROVE_TEXT, "which", .initial = "k"}, {0}};

/* What each sink, by the last letter of its name, was given. */
static struct {
    int count; /* cells */
    double complex numbers[SAMPLES_CELLS][4];
    unsigned char flags[SAMPLES_CELLS];
} sinks[SINKS];

static int write_sink(const grove_call *call, const grove_array *const *inputs, int count)
{
    const grove_node *node = call->node;
    const char *name = grove_node_name(node);
    int sink = name[strlen(name) - 1] - '0';
    const grove_array *in = inputs[0];

    (void)count;
    if (fail_write == sink + 1)
        return grove_node_fail(node, -5, "it is full");
    for (int64_t cell = 0; cell < in->cells; cell++) {
        int64_t at = 0, rest = cell, place[3];
        for (int d = 2; d >= 0; d--) {
            place[d] = in->range[d].first + rest % in->range[d].count;
            rest /= in->range[d].count;
        }
        for (int d = 0; d < 3; d++)
            at = at * in->range[d].axis->size + place[d];
        for (int e = 0; e < 4; e++) {
            const float *single = (const float *)in->data + 8 * cell + 2 * e;
            const double *both = (const double *)in->data + 8 * cell + 2 * e;
            sinks[sink].numbers[at][e] = in->form->precision == GROVE_PRECISION_DOUBLE
                                             ? CMPLX(both[0], both[1])
                                             : CMPLX(single[0], single[1]);
        }
        sinks[sink].flags[at] = in->flags ? in->flags[cell] : 0;
        sinks[sink].count++;
    }
    return 0;
}

static const grove_class class_turn = {
    GROVE_CLASS_HEAD(turn),
    .doc = "For tests.",
    .inputs = turn_inputs,
    .options = turn_options,
    .kind = GROVE_CLASS_ACTION,
    .check = check_turn,
    .action = &(const grove_action_functions){.write = write_sink, .prepare = prepare_turn}};

static const grove_class class_sink = {
    GROVE_CLASS_HEAD(sink), .doc = "For tests.", .inputs = turn_inputs + 1,
    .kind = GROVE_CLASS_ACTION, .action = &(const grove_action_functions){.write = write_sink}};
static void setup(void)
{
    unsetenv("GROVE_CHECK_CACHE");
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_dial, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_fixed, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_turn, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_sink, now.error), 0);
    memset(sinks, 0, sizeof(sinks));
    running = fail_write = 0;
}

static void teardown(void)
{
    ck_assert_int_eq(running, 0);
    session_test_end();
}

/* ---- the truth ---- */

static double complex sample(int64_t t, int64_t b, int64_t f, int e)
{
    return CMPLX(samples_number(0, t, b, f, e, 0), samples_number(0, t, b, f, e, 1));
}

/* Of data that are not flagged; how many there are. */
static int mean_over_time(int64_t b, int64_t f, int e, double complex *mean)
{
    int count = 0;

    *mean = 0;
    for (int64_t t = 0; t < SAMPLES_TIMES; t++)
        if (!samples_flagged(t, b, f, e)) {
            *mean += sample(t, b, f, e);
            count++;
        }
    *mean /= count ? count : 1;
    return count;
}

/* The sink has exp(gain) data dial - mean(data dial), of the dial in that generation. */
static void check_sink(int sink, int generation, bool double_)
{
    double dial = 1.5;

    for (int g = 0; g < generation; g++)
        dial = 2 * dial + 1;
    ck_assert_int_eq(sinks[sink].count, SAMPLES_CELLS);
    for (int cell = 0; cell < SAMPLES_CELLS; cell++)
        for (int e = 0; e < 4; e++) {
            int64_t f = cell % SAMPLES_CHANNELS, b = cell / SAMPLES_CHANNELS % SAMPLES_BASELINES;
            int64_t t = cell / SAMPLES_CHANNELS / SAMPLES_BASELINES;
            double complex mean,
                gain = CMPLX(samples_number(3, f, 0, 0, 0, 0), samples_number(3, f, 0, 0, 0, 1));
            bool flagged = !mean_over_time(b, f, e, &mean) || samples_flagged(t, b, f, e);
            double complex factor = CMPLX(dial, -dial);
            double complex want = cexp(gain) * sample(t, b, f, e) * factor - mean * factor;
            double scale = cabs(want) + cabs(mean * factor) + 1;
            ck_assert_int_eq(sinks[sink].flags[cell] >> e & 1, flagged);
            ck_assert_msg(flagged || cabs(sinks[sink].numbers[cell][e] - want) <=
                                         (double_ ? 1e-13 : 1e-5) * scale,
                          "sink %d, cell %d, element %d: %g%+gi, not %g%+gi", sink, cell, e,
                          creal(sinks[sink].numbers[cell][e]), cimag(sinks[sink].numbers[cell][e]),
                          creal(want), cimag(want));
        }
}

/* ---- tests ---- */

/* Three generations. What the second action takes that turns the dial does not depend on it. */
static const char tree[] = "k = dial()\n"
                           "base = exp(o.gain) * o.data\n"
                           "x = base * k.gain - mean(o.data * k.gain, over=time)\n"
                           "a0 = sink(x)\n"
                           "t1 = turn(k, x)\n"
                           "a2 = sink(x)\n"
                           "t4 = turn(k, base)\n"
                           "a3 = sink(x)\n";

static bool depends(const grove_node *node)
{
    if (node->kind == GROVE_NODE_MEMBER)
        return !strcmp(node->leaf->name, "k");
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && depends(node->inputs[k].node))
            return true;
    return false;
}

/* So often is a node computed: for each tile along its axes, again for each generation. */
static void check_calls(const grove_session *session, const grove_session_options *o)
{
    for (size_t i = 0; i < now.tree->node_count; i++) {
        const grove_node *node = now.tree->nodes[i];
        uint64_t wanted = 1;
        bool computed = node->kind == GROVE_NODE_CLASS &&
                        node->class_->kind != GROVE_CLASS_ACTION && !node->consumed_count;
        if (!node->used || !(computed || node->kind == GROVE_NODE_MEMBER))
            continue;
        for (int d = 0; d < node->axis_count; d++) {
            int64_t size = node->axes[d]->kind == GROVE_AXIS_TIME   ? o->tile_times
                           : node->axes[d]->kind == GROVE_AXIS_FREQ ? o->tile_channels
                                                                    : 0;
            wanted *= size ? (uint64_t)((node->axes[d]->size + size - 1) / size) : 1;
        }
        if (depends(node))
            wanted *= GENERATIONS;
        ck_assert_msg(session->nodes[node->id].calls == wanted, "'%s': %d calls, not %d",
                      node->name, (int)session->nodes[node->id].calls, (int)wanted);
    }
}

static const grove_session_options ways[] = {
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .double_precision = true),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .tile_times = 2),
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .tile_times = 3, .tile_channels = 2,
                    .serial = true),
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .tile_times = 2, .cache_off = true),
    TESTING_OPTIONS(.threads = 1, .device = "cuda", .double_precision = true, .tile_times = 2),
    TESTING_OPTIONS(.threads = 2, .device = "cuda:all", .tile_times = 1),
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void check_run(grove_session *session, const grove_session_options *options)
{
    static const int generations[] = {0, 0, 1, 2};

    for (int k = 0; k < SINKS; k++)
        sinks[k].count = 0;
    prepares = 0;
    int code = grove_session_run(session);
    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    for (int k = 0; k < 4; k++)
        check_sink(k, generations[k], options->double_precision);
    ck_assert_int_eq(prepares, GENERATIONS - 1);
}

/* In a second run the dial is as in the first; as in one that has failed. */
LOOP_TEST(each_sink_has_its_generation, 0, 2 * WAYS)
{
    const grove_session_options *options = &ways[_i % WAYS];

    if (_i >= WAYS)
        setenv("GROVE_CHECK_CACHE", "1", 1);
    if (cuda_testing_control())
        cuda_testing_control()->devices = 2;
    session_test_tree(tree);
    grove_session *session = session_test_session(options);
    check_run(session, options);
    if (_i < WAYS && !options->cache_off)
        check_calls(session, options);
    check_run(session, options);
    fail_write = 4; /* after the dial has been turned */
    ck_assert_int_ne(grove_session_run(session), 0);
    fail_write = 0;
    grove_error_clear(now.error);
    check_run(session, options);
    grove_session_free(session);
}

/* What is wanted again and does not fit the cache is computed again, and all is right. */
TEST(little_memory)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = 1, .double_precision = true, .tile_times = 1);
    grove_plan plan = GROVE_PLAN();

    options.device = "cpu";
    session_test_tree(tree);
    grove_session *session = session_test_session(&options);
    session->budget = 50000;
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    ck_assert_int_eq(plan.passes, 2 * GENERATIONS);
    int before = now.reads;
    check_run(session, &options);
    ck_assert_int_gt(now.reads - before, 3 * SAMPLES_TIMES);
    grove_session_free(session);
}

LOOP_TEST(what_cannot_be_renewed, 0, 3)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"k = dial()\nt = turn(k, o.data, renews=\"x\")", "that it renews 'x'; only actions can"},
        {"k = dial()\nt = turn(k, o.data, renews=\"y\")", "that it renews 'y'; only actions can"},
        {"k = fixed()\nt = turn(k, o.data)", "'k' cannot have new content: all its members are"},
    };
    static const char *const none[] = {NULL};
    char text[256];

    snprintf(text, sizeof(text), "o = samples()\n%s\n", cases[_i].line);
    ck_assert_ptr_null(
        grove_lang_parse(text, "t.tree", now.classes, NULL, 0, NULL, none, now.error));
    char *messages = suite_messages(now.error);
    ck_assert_msg(strstr(messages, cases[_i].says) != NULL, "%s", messages);
}

CUDA_SUITE(120, setup, teardown)
