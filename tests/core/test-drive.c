/* Actions that fit: they see a tile again after they changed what an object reads, and whole
 * domains only. Nothing but what depends on the object is computed or read again. */
#include "tests/common/cuda-testing.h"
#include "tests/common/session-testing.h"

#include "device/array.h"
#include "run/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DOMAINS = 3 };

static const int64_t domains[DOMAINS + 1] = {0, 3, 4, SAMPLES_TIMES};

/* ---- classes ---- */

static int drives, max_domains; /* calls of drive; domains it saw at once at most */
static int fail_drive;          /* the call that fails, from 1 on */
static bool never_ends;
static double complex fitted[SAMPLES_TIMES];

static int domain_of(int64_t time)
{
    int k = 0;

    while (domains[k + 1] <= time)
        k++;
    return k;
}

/* What the square of the gain is to be. */
static double complex truth(int64_t time)
{
    return CMPLX(1.5, 0.25 * domain_of(time) - 0.1);
}

static int open_gains(grove_node *node)
{
    double numbers[SAMPLES_TIMES][2];
    grove_form form = {
        .shape = GROVE_SCALAR, .complex_ = true, .precision = GROVE_PRECISION_DOUBLE};
    bool constant = grove_node_bool(node, "true_ones");

    for (int t = 0; t < SAMPLES_TIMES; t++)
        numbers[t][0] = creal(truth(t)), numbers[t][1] = cimag(truth(t));
    int code = grove_node_take_axis(node, grove_node_object(node, "obs"), "time");
    return code ? code
                : grove_node_add_member(node, "gain", "time", &form, constant ? numbers : NULL,
                                        "a number for each time");
}

static int start_gains(const grove_node *node, void **run)
{
    double complex *gains = malloc(SAMPLES_TIMES * sizeof(*gains));

    (void)node;
    for (int t = 0; t < SAMPLES_TIMES; t++)
        gains[t] = 1;
    *run = gains;
    return 0;
}

static void stop_gains(const grove_node *node, void *run)
{
    memcpy(fitted, run, sizeof(fitted));
    (void)node;
    free(run);
}

static int read_gains(const grove_call *call, const char *member, grove_array *out)
{
    (void)member;
    memcpy(out->data, (double complex *)call->run + out->range[0].first,
           (size_t)out->range[0].count * sizeof(double complex));
    return 0;
}

static const grove_port gains_inputs[] = {
    {"obs", GROVE_OBJECT, "whose times", .object = "observation"}, {0}};
static const grove_port gains_options[] = {
    {"true_ones", GROVE_BOOL, "those to be found", .initial = "false"}, {0}};
static const grove_data_functions gains_functions = {.open = open_gains, .read = read_gains};
static const grove_class class_gain = {
    GROVE_CLASS_HEAD(gain),   .doc = "For tests.",  .inputs = gains_inputs,
    .options = gains_options, .object = "gain",     .kind = GROVE_CLASS_DATA,
    .data = &gains_functions, .start = start_gains, .stop = stop_gains};

static int check_fit(grove_node *node)
{
    static const int64_t whole = 0;
    int code = grove_node_renews(node, "k");

    if (!code)
        code = grove_node_set_domains(node, "time", domains, DOMAINS);
    return code ? code : grove_node_set_domains(node, "baseline", &whole, 1);
}

static double complex number(const grove_array *in, int64_t at)
{
    const float *single = in->data;
    const double *both = in->data;

    return in->form->precision == GROVE_PRECISION_DOUBLE
               ? CMPLX(both[2 * at], both[2 * at + 1])
               : CMPLX(single[2 * at], single[2 * at + 1]);
}

/* One step of Newton's method for a domain: how far the square of its gain is off. */
static double improve(double complex *gains, const grove_array *const *in, int64_t first,
                      int64_t count)
{
    const grove_range *range = in[0]->range;
    int64_t each = range[1].count * range[2].count * in[0]->elements;
    double complex sum = 0;
    double norm = 0;

    for (int64_t i = first * each; i < (first + count) * each; i++) {
        double complex model = number(in[0], i);
        sum += conj(model) * number(in[1], i);
        norm += creal(model * conj(model));
    }
    double complex off = sum / norm - 1;
    for (int64_t t = first; t < first + count; t++)
        gains[range[0].first + t] *= 1 + off / 2;
    return cabs(off);
}

static int drive_fit(const grove_call *call, const grove_array *const *inputs, int count,
                     bool *again)
{
    static bool done[DOMAINS];
    double complex *gains = grove_call_object_run(call, "k");
    int64_t first = inputs[0]->range[0].first, end = first + inputs[0]->range[0].count;
    double enough = inputs[0]->form->precision == GROVE_PRECISION_DOUBLE ? 1e-12 : 1e-5;

    ck_assert_int_eq(count, 2);
    ck_assert_int_eq(inputs[0]->range[1].count, SAMPLES_BASELINES);
    if (++drives == fail_drive)
        return grove_node_fail(call->node, -5, "it has no solution");
    int from = domain_of(first), to = domain_of(end - 1) + 1;
    ck_assert(domains[from] == first && domains[to] == end);
    max_domains = to - from > max_domains ? to - from : max_domains;
    for (int k = from; k < to; k++) {
        done[k] = gains[domains[k]] != 1 && done[k];
        if (!done[k])
            done[k] =
                improve(gains, inputs, domains[k] - first, domains[k + 1] - domains[k]) <= enough;
        *again = *again || !done[k] || never_ends;
    }
    return 0;
}

static const grove_port fit_inputs[] = {{"k", GROVE_OBJECT, "what is fitted", .object = "gain"},
                                        {"model", GROVE_VALUE, "what depends on it",
                                         .shapes = GROVE_ANY_SHAPE, .handing = GROVE_AS_COMPLEX},
                                        {"data", GROVE_VALUE, "what it is to be",
                                         .shapes = GROVE_ANY_SHAPE, .handing = GROVE_AS_COMPLEX},
                                        {0}};
static const grove_action_functions fit_functions = {.drive = drive_fit};
static const grove_class class_fit = {GROVE_CLASS_HEAD(fit), .doc = "For tests.",
                                      .inputs = fit_inputs,  .kind = GROVE_CLASS_ACTION,
                                      .check = check_fit,    .action = &fit_functions};

/* The same with inputs that are left where they are, and a copy of the model made there. */
static int looks, copies; /* calls of drive, and those in which the device made the copy */
static int computations;
static int mistake; /* of the plugin; 0: none */

static int check_look(grove_node *node)
{
    grove_node_leave_inputs(node);
    grove_node_set_scratch(node, 0, 4 * sizeof(double complex));
    return check_fit(node);
}

static const grove_kernel without_code = {"nothing", NULL, NULL, "nothing.cu", NULL, 0, 0};

static int copy_model(const grove_call *call, void *context)
{
    grove_args args = *call->args;
    const grove_view *in = &args.in[0];

    ck_assert(call->on_device && context == &looks);
    ck_assert(args.in[1].data && args.in[2].data);
    void *at = args.out.data;
    grove_view_set_dense(&args.out, &args, in->elements, 1, in->bytes);
    args.out.data = at;
    computations++;
    return grove_call_launch(call,
                             mistake == 3   ? NULL
                             : mistake == 4 ? &without_code
                                            : &grove_array_cast,
                             &args, in->bytes == 8);
}

static int drive_look(const grove_call *call, const grove_array *const *inputs, int count,
                      bool *again)
{
    const grove_array *model = inputs[0];
    bool double_ = model->form->precision == GROVE_PRECISION_DOUBLE;
    size_t bytes = (size_t)(model->cells * model->elements) * (double_ ? 16 : 8);
    grove_computation what = {.inputs = {0, ~0, ~1},
                              .count = 3,
                              .compute = copy_model,
                              .context = &looks,
                              .result = malloc(5 * bytes),
                              .bytes = mistake == 2 ? 5 * bytes : bytes};
    int code = grove_call_compute(call, &what);

    looks++;
    copies += !code;
    for (int k = 0; k < count; k++)
        ck_assert(!inputs[k]->data && !inputs[k]->flags && inputs[k]->cells > 0);
    if (!code || code == GROVE_MISSING) {
        int fetched = grove_call_fetch_input(call, mistake == 1 ? 2 : 0);
        ck_assert(fetched || code || !memcmp(what.result, model->data, bytes));
        code = fetched ? fetched : grove_call_fetch_input(call, 1);
    }
    free(what.result);
    return code ? code : drive_fit(call, inputs, count, again);
}

static const grove_class class_look = {
    GROVE_CLASS_HEAD(look), .doc = "For tests.",
    .inputs = fit_inputs,   .kind = GROVE_CLASS_ACTION,
    .check = check_look,    .action = &(const grove_action_functions){.drive = drive_look}};

static int write_never(const grove_call *call, const grove_array *const *inputs, int count)
{
    (void)call, (void)inputs, (void)count;
    return 0;
}

static const grove_class class_unchanging = {GROVE_CLASS_HEAD(unchanging), .doc = "For tests.",
                                             .inputs = fit_inputs, .kind = GROVE_CLASS_ACTION,
                                             .action = &fit_functions};

/* Descriptors and calls that do not fit. */
static const grove_class class_drive_and_write = {
    GROVE_CLASS_HEAD(drive_and_write), .doc = "For tests.", .inputs = fit_inputs,
    .kind = GROVE_CLASS_ACTION,
    .action = &(const grove_action_functions){.write = write_never, .drive = drive_fit}};

static int check_misfit(grove_node *node)
{
    static const int64_t falling[] = {0, 4, 2}, late[] = {1}, beyond[] = {0, SAMPLES_TIMES};

    switch (grove_node_integer(node, "fault")) {
    case 0:
        return grove_node_set_domains(node, "time", falling, 3);
    case 1:
        return grove_node_set_domains(node, "time", late, 1);
    case 2:
        return grove_node_set_domains(node, "time", beyond, 2);
    default:
        return grove_node_set_domains(node, "source", domains, 1);
    }
}
static const grove_port misfit_options[] = {{"fault", GROVE_INTEGER, "which"}, {0}};
static const grove_class class_misfit = {GROVE_CLASS_HEAD(misfit),   .doc = "For tests.",
                                         .inputs = fit_inputs,       .options = misfit_options,
                                         .kind = GROVE_CLASS_ACTION, .check = check_misfit,
                                         .action = &fit_functions};

static void setup(void)
{
    unsetenv("GROVE_CHECK_CACHE");
    cuda_testing_reset(0);
    session_test_begin();
    ck_assert_int_eq(grove_classes_add(now.classes, &class_gain, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_fit, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_look, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_unchanging, now.error), 0);
    ck_assert_int_eq(grove_classes_add(now.classes, &class_misfit, now.error), 0);
    drives = max_domains = fail_drive = looks = copies = computations = mistake = 0;
    never_ends = false;
}

/* ---- tests ---- */

/* The action before has the content before, that after has what was fitted. */
static const char tree[] = "k = gain(o)\n"
                           "known = gain(o, true_ones=true)\n"
                           "base = exp(o.gain) * o.data\n"
                           "before = record(base * k.gain * k.gain)\n"
                           "fitted = fit(k, base * k.gain * k.gain, base * known.gain)\n"
                           "rest = record(base * k.gain * k.gain - base * known.gain)\n";

static const grove_session_options ways[] = {
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .double_precision = true),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .double_precision = true, .tile_times = 1),
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .double_precision = true, .tile_times = 4,
                    .serial = true),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .double_precision = true, .tile_times = 3,
                    .tile_baselines = 2),
    TESTING_OPTIONS(.threads = 2, .device = "cpu", .double_precision = true, .tile_times = 3,
                    .cache_off = true),
    TESTING_OPTIONS(.threads = 1, .device = "cpu", .tile_times = 2),
    TESTING_OPTIONS(.threads = 1, .device = "cuda", .double_precision = true, .tile_times = 2),
    TESTING_OPTIONS(.threads = 2, .device = "cuda:all", .tile_times = 1),
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static bool depends(const grove_node *node)
{
    if (node->kind == GROVE_NODE_MEMBER)
        return !strcmp(node->leaf->name, "k");
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && depends(node->inputs[k].node))
            return true;
    return false;
}

static int64_t times_of(const grove_node *node)
{
    for (int d = 0; d < node->axis_count; d++)
        if (node->axes[d]->kind == GROVE_AXIS_TIME)
            return node->axes[d]->size;
    return 1;
}

/* What does not depend on the gains is computed once for each tile; what does, each time that the
 * fit looks at it. The fit is the only action, with a tile for each domain. */
static void check_calls(const grove_session *session)
{
    int kept = 0, repeated = 0;

    for (size_t i = 0; i < now.tree->node_count; i++) {
        const grove_node *node = now.tree->nodes[i];
        int calls = (int)session->nodes[node->id].calls;
        if (!node->used || node->kind != GROVE_NODE_CLASS ||
            node->class_->kind == GROVE_CLASS_ACTION || times_of(node) == 1)
            continue;
        int wanted = depends(node) ? drives : DOMAINS;
        ck_assert_msg(calls == wanted, "'%s': %d calls, not %d", node->name, calls, wanted);
        kept += !depends(node);
        repeated += depends(node);
    }
    ck_assert(kept > 0 && repeated > 0);
}

static void check_fitted(bool double_)
{
    for (int t = 0; t < SAMPLES_TIMES; t++) {
        double complex square = fitted[t] * fitted[t];
        ck_assert_msg(cabs(square - truth(t)) < (double_ ? 1e-12 : 1e-5), "time %d: %g%+gi", t,
                      creal(square), cimag(square));
    }
}

LOOP_TEST(each_domain_is_fitted, 0, 2 * WAYS)
{
    static double complex first[SAMPLES_TIMES];
    const grove_session_options *options = &ways[_i % WAYS];
    grove_session_options whole = ways[0];

    if (cuda_testing_control())
        cuda_testing_control()->devices = 2;
    session_test_tree(tree);
    grove_session *session = session_test_session(&whole);
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_eq(max_domains, DOMAINS);
    memcpy(first, fitted, sizeof(first));
    grove_session_free(session);

    if (_i >= WAYS)
        setenv("GROVE_CHECK_CACHE", "1", 1);
    drives = max_domains = now.reads = 0;
    session = session_test_session(options);
    int code = grove_session_run(session);
    ck_assert_msg(!code, "%s", code ? grove_error_message(now.error, 0) : "");
    check_fitted(options->double_precision);
    ck_assert_int_gt(drives, options->double_precision ? 4 : 2);
    if (options->tile_times)
        ck_assert_int_lt(max_domains, DOMAINS);
    if (options->double_precision && !strcmp(options->device, "cpu"))
        ck_assert_int_eq(memcmp(first, fitted, sizeof(first)), 0);
    /* once more: from the same start */
    memcpy(first, fitted, sizeof(first));
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_eq(memcmp(first, fitted, sizeof(first)), 0);
    grove_session_free(session);
}

/* Data are read once for each pass, however often the fit looks at them. */
LOOP_TEST(data_are_read_once, 0, 3)
{
    grove_session_options options = ways[0];

    options.tile_times = 1;
    options.serial = _i == 1;
    options.device = _i == 2 ? "cuda" : "cpu";
    session_test_tree("k = gain(o)\n"
                      "known = gain(o, true_ones=true)\n"
                      "base = exp(o.gain) * o.data\n"
                      "fitted = fit(k, base * k.gain * k.gain, base * known.gain)\n");
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), 0);
    ck_assert_int_gt(drives, DOMAINS);
    ck_assert_int_eq(now.reads, DOMAINS + 1); /* and o.gain, which has no times */
    check_calls(session);
    grove_session_free(session);
}

static const grove_session_options on_gpu =
    TESTING_OPTIONS(.threads = 1, .device = "cuda", .double_precision = true);

/* A device that lacks memory in the middle of a fit: the rest is done on the host. */
TEST(device_runs_out)
{
    if (!cuda_testing_control())
        return;
    session_test_tree(tree);
    for (int fail = 1; fail < 30; fail++) {
        cuda_testing_reset(0);
        grove_session *session = session_test_session(&on_gpu);
        ck_assert_ptr_nonnull(session);
        cuda_testing_control()->fault = EMULATED_ALLOCATION;
        cuda_testing_control()->fault_at = fail;
        int code = grove_session_run(session);
        ck_assert_msg(!code, "%d: %s", fail, code ? grove_error_message(now.error, 0) : "");
        grove_session_free(session);
        check_fitted(true);
    }
}

static const char look_tree[] = "k = gain(o)\n"
                                "known = gain(o, true_ones=true)\n"
                                "fitted = look(k, o.data * k.gain * k.gain, o.data * known.gain)\n";

/* What stays on the device until it is asked for, and is computed there. */
LOOP_TEST(inputs_are_left, 0, WAYS)
{
    const grove_session_options *options = &ways[_i];
    bool on_device = strcmp(options->device, "cpu") != 0;

    session_test_tree(look_tree);
    grove_session *session = session_test_session(options);
    ck_assert_int_eq(grove_session_run(session), 0);
    check_fitted(options->double_precision);
    ck_assert_int_gt(looks, 2);
    ck_assert_int_eq(copies, on_device ? looks : 0);
    grove_plan plan = GROVE_PLAN(), less = GROVE_PLAN();
    ck_assert_int_eq(grove_session_plan(session, &plan), 0);
    grove_session_free(session);
    session_test_tree("k = gain(o)\nknown = gain(o, true_ones=true)\n"
                      "fitted = fit(k, o.data * k.gain * k.gain, o.data * known.gain)\n");
    session = session_test_session(options);
    ck_assert_int_eq(grove_session_plan(session, &less), 0);
    ck_assert_uint_gt(plan.peak_bytes, less.peak_bytes);
    grove_session_free(session);
}

/* The device lacks code: it is tried once, and the host does it. */
TEST(devices_may_lack_code)
{
    cuda_testing_may_fall_back();
    session_test_tree(look_tree);
    grove_session *session = session_test_session(&on_gpu);
    mistake = 4;
    ck_assert_int_eq(grove_session_run(session), 0);
    check_fitted(true);
    ck_assert_int_gt(looks, 2);
    ck_assert_int_eq(copies, 0);
    ck_assert_int_eq(computations, 1);
    grove_session_free(session);
}

LOOP_TEST(mistakes, 0, 3)
{
    static const char *const says[] = {"calls grove_call_fetch_input for input 2 of 2",
                                       "more scratch memory than it has declared",
                                       "launches no kernel"};

    session_test_tree(look_tree);
    grove_session *session = session_test_session(&on_gpu);
    mistake = _i + 1;
    ck_assert_int_ne(grove_session_run(session), 0);
    char *messages = suite_messages(now.error);
    ck_assert_msg(strstr(messages, says[_i]) != NULL, "%s", messages);
    grove_session_free(session);
}

LOOP_TEST(faults, 0, 2)
{
    static const struct {
        const char *tree, *says;
        int fail;
    } cases[] = {
        {tree, "it has no solution", 3},
        {"k = gain(o)\nfitted = unchanging(k, o.data, o.data)\n", "gives no object new content", 0},
    };
    grove_session_options options = ways[0];

    session_test_tree(cases[_i].tree);
    grove_session *session = session_test_session(&options);
    fail_drive = cases[_i].fail;
    never_ends = true;
    ck_assert_int_ne(grove_session_run(session), 0);
    char *messages = suite_messages(now.error);
    ck_assert_msg(strstr(messages, cases[_i].says) != NULL, "%s", messages);
    grove_session_free(session);
}

/* What a fit changes must not come back by way of what is known after the last tile only. */
TEST(known_too_late)
{
    static const char late[] =
        "k = gain(o)\nknown = gain(o, true_ones=true)\n"
        "f = fit(k, o.data * k.gain * k.gain + 0 * mean(o.data * k.gain, over=freq), "
        "o.data * known.gain)\n";
    grove_session_options options = ways[0];

    session_test_tree(late);
    grove_session *session = session_test_session(&options);
    ck_assert_int_eq(grove_session_run(session), 0); /* one tile */
    check_fitted(true);
    grove_session_free(session);
    options.tile_channels = 2;
    session = session_test_session(&options);
    ck_assert_int_ne(grove_session_run(session), 0);
    char *messages = suite_messages(now.error);
    ck_assert_msg(strstr(messages, "depends on fitted parms, but is known only after") != NULL,
                  "%s", messages);
    grove_session_free(session);
}

LOOP_TEST(misfits, 0, 4)
{
    static const char *const says[] = {
        "domains along 'time' that do not begin at 0 and ascend within its 7 cells",
        "domains along 'time' that do not begin at 0 and ascend within its 7 cells",
        "domains along 'time' that do not begin at 0 and ascend within its 7 cells",
        "domains along 'source', an axis that no input has",
    };
    static const char *const none[] = {NULL};
    char text[256];

    snprintf(text, sizeof(text),
             "o = samples()\nk = gain(o)\nx = misfit(k, o.data, o.data, fault=%d)\n", _i);
    ck_assert_ptr_null(
        grove_lang_parse(text, "t.tree", now.classes, NULL, 0, NULL, none, now.error));
    char *messages = suite_messages(now.error);
    ck_assert_msg(strstr(messages, says[_i]) != NULL, "%s", messages);
}

TEST(write_beside_drive)
{
    ck_assert_int_ne(grove_classes_add(now.classes, &class_drive_and_write, now.error), 0);
    ck_assert_str_eq(grove_error_message(now.error, 0),
                     "class drive_and_write: .action must have a write or a drive, not both");
}

CUDA_SUITE(120, setup, session_test_end)
