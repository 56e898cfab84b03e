/* What every node class is held to in sessions: the same bits whatever the tiles, threads and
 * cache, those of the plain evaluation, and flags by the rule that it declares. The device is the
 * first argument, or GROVE_TEST_DEVICE; cpu if there is none. */
#include "example.h"
#include "flag-rule.h"

#include "base/file.h"
#include "base/text.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative difference of norms from the plain evaluation: of sums, which are taken in another
 * order, and on another device than the cpu; in double and in single precision. */
static const double tolerance[2] = {1e-11, 1e-5};

enum { MOST_NODES = 64 };

static testing t;
static const char *device = "cpu";
static const grove_class *class_;
static grove_node *nodes[MOST_NODES];
static int node_count;

/* The first is what the others are compared with. */
static const grove_session_options variants[] = {
    {.threads = 1, .serial = true, .cache_off = true},
    {.threads = 3},
    {.threads = 2, .tile_times = 1},
    {.threads = 1, .tile_channels = 1, .cache_off = true},
    {.threads = 3, .tile_baselines = 1, .serial = true},
    {.threads = 2, .tile_times = 2, .tile_channels = 3, .tile_baselines = 4},
    {.threads = 1, .tile_times = 1, .tile_channels = 1, .tile_baselines = 1, .cache_off = true},
};
enum { VARIANTS = sizeof(variants) / sizeof(variants[0]) };

static grove_session_options variant(int i, bool single)
{
    grove_session_options options = variants[i];

    options.double_precision = !single;
    ck_assert_int_eq(grove_session_option(&options, "device", device, t.error), 0);
    return options;
}

static void setup(void)
{
    example_begin(&t);
}

static void teardown(void)
{
    example_end(&t);
}

static void take(int i)
{
    class_ = example_class(&t, example_classes(&t, NULL)[i]);
    example_tree(&t, class_, NULL);
    node_count = example_nodes(&t, class_, nodes, MOST_NODES);
}

static bool has_value(void)
{
    return class_->kind != GROVE_CLASS_DATA && class_->kind != GROVE_CLASS_ACTION;
}

/* ---- values ---- */

static bool sums(const grove_node *node)
{
    if (node->class_ && node->class_->kind == GROVE_CLASS_REDUCTION)
        return true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && sums(node->inputs[k].node))
            return true;
    return false;
}

static bool no_flags(const unsigned char *flags, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (flags[i])
            return false;
    return true;
}

/* Where nothing is flagged; the plain evaluation does not know of flags. */
static void check_plain(const grove_node *node, const testing_value *x, const unsigned char *flags,
                        bool single)
{
    int64_t numbers = x->cells * x->elements;
    bool exact = !sums(node) && !strcmp(device, "cpu");

    if (sums(node) && !no_flags(flags, numbers))
        return;
    t.double_precision = !single;
    testing_value y = testing_evaluate(&t, node->name);
    double error = testing_distance(x, &y);
    ck_assert_msg(
        exact ? !memcmp(x->at, y.at, (size_t)numbers * sizeof(*y.at)) : error <= tolerance[single],
        "%s (%s): a session's value is %g from the plain one", class_->name, node->name, error);
    testing_free(&y);
}

static void check_values(const grove_node *node, bool single)
{
    grove_session_options options = variant(0, single);
    unsigned char *flags[2];
    testing_value x = probe_session(&t, node->name, &options, &flags[0]);
    size_t numbers = (size_t)(x.cells * x.elements);

    for (size_t i = 0; i < numbers; i++)
        ck_assert_msg(isfinite(creal(x.at[i])) && isfinite(cimag(x.at[i])), "%s (%s): not finite",
                      class_->name, node->name);
    if (!(class_->kind == GROVE_CLASS_REDUCTION))
        check_plain(node, &x, flags[0], single);
    for (int i = 1; i < VARIANTS; i++) {
        options = variant(i, single);
        testing_value y = probe_session(&t, node->name, &options, &flags[1]);
        ck_assert_int_eq(y.cells * y.elements, (int64_t)numbers);
        ck_assert_msg(!memcmp(x.at, y.at, numbers * sizeof(*x.at)),
                      "%s (%s): other numbers with variant %d", class_->name, node->name, i);
        ck_assert_msg(!memcmp(flags[0], flags[1], numbers), "%s (%s): other flags with variant %d",
                      class_->name, node->name, i);
        free(flags[1]);
        testing_free(&y);
    }
    free(flags[0]);
    testing_free(&x);
}

START_TEST(tiles_threads_and_cache_change_nothing)
{
    take(_i);
    for (int n = 0; n < node_count && has_value(); n++)
        for (int single = 0; single < 2; single++)
            check_values(nodes[n], single);
}
END_TEST

/* ---- flags ---- */

/* Flags of a cell of an input, as bits. */
static unsigned bits_at(const testing_call *call, int k, const unsigned char *flags,
                        const int64_t *index)
{
    const testing_array *in = &call->in[k];
    const char *at = grove_view_at(&call->args.in[k], index, call->args.axes);
    int64_t cell = (at - (char *)in->data) / ((int64_t)in->elements * in->parts * in->bytes);
    unsigned bits = 0;

    for (int e = 0; e < in->elements; e++)
        bits |= (unsigned)flags[cell * in->elements + e] << (e < 7 ? e : 7);
    return bits;
}

static void check_flags(grove_node *node)
{
    grove_session_options options = variant(1, false);
    unsigned char *flags, *of[GROVE_MAX_INPUTS] = {0};
    testing_call call;
    testing_value x = probe_session(&t, node->name, &options, &flags);
    unsigned *wanted = calloc((size_t)x.cells + 1, sizeof(unsigned));

    testing_call_begin(&t, node, &call);
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node) {
            testing_value in = probe_session(&t, node->inputs[k].node->name, &options, &of[k]);
            testing_free(&in);
        }
    for (int64_t i = 0; i < grove_args_cells(&call.args); i++) {
        int64_t index[GROVE_MAX_AXES], rest = i;
        for (int d = call.args.axes - 1; d >= 0; d--) {
            index[d] = rest % call.args.size[d];
            rest /= call.args.size[d];
        }
        int64_t cell =
            (grove_view_at(&call.args.out, index, call.args.axes) - (char *)call.out.data) /
            ((int64_t)call.out.elements * call.out.parts * call.out.bytes);
        unsigned bits = 0;
        for (int k = 0; k < node->input_count; k++) {
            unsigned in = of[k] ? bits_at(&call, k, of[k], index) : 0;
            for (int e = 0; e < 8; e++)
                if (in >> e & 1)
                    bits |= flag_rule(class_, &call, k, 1U << e);
        }
        wanted[cell] |= bits;
    }
    for (int64_t i = 0; i < x.cells * x.elements; i++) {
        int e = (int)(i % x.elements);
        ck_assert_msg(flags[i] == (wanted[i / x.elements] >> (e < 7 ? e : 7) & 1),
                      "%s (%s): flag of element %d of cell %ld is %d", class_->name, node->name, e,
                      (long)(i / x.elements), flags[i]);
    }
    for (int k = 0; k < node->input_count; k++)
        free(of[k]);
    free(wanted);
    free(flags);
    testing_free(&x);
    testing_call_end(&call);
}

static const char *const flag_takers[] = {"add", "hermitian", "multiply", "power", "transpose"};

START_TEST(flags_follow_the_rule)
{
    bool done = false, must = false;

    take(_i);
    if (!has_value() || class_->kind != GROVE_CLASS_VALUE)
        return;
    for (int n = 0; n < node_count; n++)
        check_flags(nodes[n]);
    for (size_t i = 0; i < sizeof(flag_takers) / sizeof(flag_takers[0]); i++)
        must = must || !strcmp(flag_takers[i], class_->name);
    char *call = example_call(class_, "flagged", NULL);
    if (example_try(&t, call)) {
        for (size_t i = 0; i < t.tree->node_count; i++)
            if (t.tree->nodes[i]->class_ == class_ && !strcmp(t.tree->nodes[i]->name, "flagged")) {
                check_flags(t.tree->nodes[i]);
                done = true;
            }
    }
    ck_assert_msg(done || !must, "%s: %s", class_->name, call);
    free(call);
}
END_TEST

/* ---- actions ---- */

/* Runs the tree without what it prints. */
static void run_quietly(const grove_session_options *options, int number)
{
    fflush(stdout);
    int kept = dup(1), nothing = open("/dev/null", O_WRONLY);

    ck_assert(kept >= 0 && nothing >= 0 && dup2(nothing, 1) == 1);
    int code = probe_run(&t, options);
    fflush(stdout);
    ck_assert(dup2(kept, 1) == 1);
    close(kept);
    close(nothing);
    char *said = grove_error_text(t.error);
    ck_assert_msg(code == 0, "%s: variant %d: %s", class_->name, number, said);
    free(said);
}

/* What an action has written, if it writes sets: data with flags, as they are read back. */
static testing_value written(unsigned char **flags)
{
    testing_tree(&t, "obs = ms(\"simulated.ms\")\nx = 1 * obs.data\ny = 1 * obs.uvw\n");
    testing_value x = probe_session(&t, "x", NULL, flags);
    return x;
}

START_TEST(actions_run_in_any_tiles)
{
    testing_value first = {0};
    unsigned char *flags[2] = {NULL, NULL};

    class_ = example_class(&t, example_classes(&t, NULL)[_i]);
    for (int i = 0; i < 2 * VARIANTS && class_->kind == GROVE_CLASS_ACTION; i++) {
        grove_session_options options = variant(i % VARIANTS, i >= VARIANTS);
        take(_i);
        ck_assert_msg(t.tree->action_count == 1, "%s: its example has no action", class_->name);
        run_quietly(&options, i);
        if (!grove_path_exists("simulated.ms"))
            continue;
        testing_value x = written(&flags[i > 0]);
        size_t numbers = (size_t)(x.cells * x.elements);
        ck_assert_int_eq(grove_path_remove("simulated.ms", NULL), 0);
        if (!i) {
            first = x;
            ck_assert(numbers > 0 && !no_flags(flags[0], (int64_t)numbers));
            continue;
        }
        ck_assert_msg(!memcmp(first.at, x.at, numbers * sizeof(*x.at)) &&
                          !memcmp(flags[0], flags[1], numbers),
                      "%s: variant %d writes something else", class_->name, i);
        free(flags[1]);
        testing_free(&x);
    }
    free(flags[0]);
    testing_free(&first);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("conformance-sessions");
    TCase *test = tcase_create("all");
    grove_classes *classes = grove_classes_new(NULL);
    const char *wanted = argc > 1 ? argv[1] : getenv("GROVE_TEST_DEVICE");
    size_t count;

    device = wanted ? wanted : device;
    grove_classes_names(classes, &count);
    count++; /* and probe */
    grove_classes_free(classes);
    tcase_add_checked_fixture(test, setup, teardown);
    tcase_set_timeout(test, 120);
    tcase_add_loop_test(test, tiles_threads_and_cache_change_nothing, 0, (int)count);
    tcase_add_loop_test(test, flags_follow_the_rule, 0, (int)count);
    tcase_add_loop_test(test, actions_run_in_any_tiles, 0, (int)count);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0 || count < 2;
}
