/* Faulty modules: each is refused, or fails when it is used, with a message that says what is
 * wrong, and without harm to anything else. */
#include "tests/common/testing.h"

#include "base/file.h"
#include "base/text.h"
#include "run/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static testing t;
static char modules[512];
static grove_library *library;
static grove_session *session_now; /* of session_value */

#define COUNT(list) ((int)(sizeof(list) / sizeof(list[0])))

static void setup(void)
{
    const char *build = getenv("GROVE_BUILD"), *classes = getenv("GROVE_PLUGIN_PATH");
    char path[2048];

    snprintf(modules, sizeof(modules), "%s/tests/core/plugins/.libs", build ? build : ".");
    snprintf(path, sizeof(path), "%s:%s", modules, classes ? classes : "");
    setenv("GROVE_PLUGIN_PATH", path, 1);
    unsetenv("GROVE_TEST_ABORTS");
    testing_begin(&t);
    library = grove_library_new(NULL);
}

static void teardown(void)
{
    grove_session_free(session_now);
    session_now = NULL;
    grove_library_free(library);
    testing_end(&t);
}

/* %s in `wanted` is the folder of the modules. */
static void is(const char *got, const char *wanted)
{
    grove_text text = {0};

    for (const char *at = wanted; *at; at++)
        if (at[0] == '%' && at[1] == 's') {
            grove_text_add(&text, "%s", modules);
            at++;
        } else {
            grove_text_add(&text, "%c", *at);
        }
    ck_assert_msg(got && !strcmp(got, text.at), "'%s', not '%s'", got, text.at);
    free(text.at);
}

/* ---- what does not load ---- */

static const struct {
    const char *class_, *message;
} misfits[] = {
    {"wrong_major", "class wrong_major: built for plugin ABI 1.0, this Grove has 0.11; build it "
                    "again with the headers of this Grove (docs/plugins.md, \"Versions\", says "
                    "what changed)"},
    {"newer_minor", "class newer_minor: built for plugin ABI 0.12, this Grove has 0.11; build it "
                    "again with the headers of this Grove (docs/plugins.md, \"Versions\", says "
                    "what changed)"},
    {"no_symbol", "class no_symbol: %s/no_symbol.so does not export grove_class_no_symbol; is the "
                  "descriptor GROVE_CLASS(no_symbol)?"},
    {"other_name", "class other_name: its descriptor is named 'othername'"},
    {"no_text", "class no_text: has no text"},
    {"no_option_text", "class no_option_text: option 'mute' has no text"},
    {"no_kernel", "class no_kernel: its kernel, eval or device is missing"},
    {"no_example", "class no_example: its example is missing"},
    {"bad_handing", "class bad_handing: input 'x' has the unknown handing 17"},
    {"bad_shapes",
     "class bad_shapes: input 'x' accepts the unknown shapes 32; they are GROVE_SCALAR, "
     "GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR or several of them"},
    {"bad_vector",
     "class bad_vector: option 'list' must be a vector of 65; a vector has 1 to 64 elements"},
    {"bad_group", "class bad_group: input 'x' is in group 1, but is not linear"},
    {"bad_output", "class bad_output: its output has the unknown shape 3"},
    {"bad_role", "class bad_role: it has 1 inputs with values; its role requires 2"},
    {"bad_rule", "class bad_rule: has the unknown flag rule 9"},
    {"bad_tangent", "class bad_tangent: its rule of derivatives ' x : dx' is not for one of its "
                    "values; a rule is 'INPUT: expression', with ';' between rules"},
    {"tangent_names", "class tangent_names: its input or option 'value' has a name with another "
                      "meaning in rules of derivatives"},
    {"half_kernel", "class half_kernel: its kernel 'half' has no function for double precision"},
    {"no_object", "class no_object: input 'obs' does not name its kind of object, such as .object "
                  "= \"observation\""},
    {"same_names", "class same_names: two of its inputs and options are named 'x'"},
    {"not_reducing",
     "class not_reducing: .reduce is for classes of the kind GROVE_CLASS_REDUCTION, "
     "which must have it"},
    {"kernel_and_device",
     "class kernel_and_device: it has a kernel and a device; a device launches "
     "its kernels itself"},
    {"no_add", "class no_add: .accumulator has no add"},
    {"adds_only", "class adds_only: .accumulator is for classes of the kind "
                  "GROVE_CLASS_ACCUMULATOR, which must have it"},
    {"two_ways",
     "class two_ways: it has a kernel, eval or device, which an accumulator must not have"},
};

LOOP_TEST(misfits_are_reported, 0, COUNT(misfits))
{
    ck_assert_int_ne(grove_library_check(library, misfits[_i].class_, t.error), 0);
    ck_assert_int_eq(grove_error_count(t.error), 1);
    is(grove_error_message(t.error, 0), misfits[_i].message);
}

/* In a tree the message stands at the call, and all other faults are told too. */
TEST(misfits_in_trees)
{
    const char *said = testing_faults(&t, "y = newer_minor(1)\nz = no_symbol(1)\nx = sin(1m)\n");

    ck_assert_msg(strstr(said, "class newer_minor: built for plugin ABI 0.12") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "class no_symbol: ") != NULL, "%s", said);
    ck_assert_msg(strstr(said, "'x' must be an angle or a plain number") != NULL, "%s", said);
}

TEST(what_is_no_module)
{
    const char *path = testing_file(&t, "text.so", "not a module\n");
    const char *const folders[] = {t.folder, NULL};
    grove_library *other = grove_library_new(folders);

    ck_assert_int_ne(grove_library_check(other, "text", t.error), 0);
    const char *said = grove_error_message(t.error, 0);
    ck_assert_msg(!strncmp(said, "class text: cannot load its module: ", 36) &&
                      strstr(said, path) != NULL,
                  "%s", said);
    grove_library_free(other);
}

/* Of a plugin that was compiled with other headers. */
static const struct {
    const char *class_, *what;
    size_t size, ours;
} lengths[] = {
    {"longer", "class", sizeof(grove_class) + 32, sizeof(grove_class)},
    {"no_sizes", "port", 0, sizeof(grove_port)},
};

LOOP_TEST(other_sizes_are_refused, 0, COUNT(lengths))
{
    char *call = suite_text("y = %s(1)\n", lengths[_i].class_);
    char *message = suite_text(
        "class %s: its grove_%s has %zu bytes, but %zu in this Grove; build it again with the "
        "headers of this Grove, and begin its descriptor with GROVE_CLASS_HEAD(%s)",
        lengths[_i].class_, lengths[_i].what, lengths[_i].size, lengths[_i].ours,
        lengths[_i].class_);

    ck_assert_int_ne(grove_library_check(library, lengths[_i].class_, t.error), 0);
    is(grove_error_message(t.error, 0), message);
    const char *said = testing_faults(&t, call);
    ck_assert_msg(strstr(said, message) != NULL, "%s", said);
}

/* ---- axes ---- */

/* The value of y as a session makes it, until the next. Free with grove_value_unref. */
static grove_value *session_value(const char *text, const grove_session_options *options)
{
    grove_value *value = NULL;

    grove_session_free(session_now);
    session_now = NULL;
    testing_tree(&t, text);
    session_now = grove_session_new(t.tree, options, t.error);
    ck_assert_msg(!grove_session_value(session_now, "y", &value), "%s",
                  grove_error_message(t.error, 0));
    return value;
}

static double number_of(grove_value *value, int64_t i)
{
    return ((const double *)grove_buffer_host(value->data, t.error))[i];
}

TEST(classes_make_axes)
{
    static const char text[] = "a = spread(2, axis=\"power\", count=2)\n"
                               "y = spread(a, axis=\"beam\", count=3)\n";
    grove_value *y = session_value(text, NULL);

    ck_assert_int_eq(y->axes, 2);
    ck_assert_str_eq(y->range[0].axis->name, "power");
    ck_assert_str_eq(y->range[1].axis->name, "beam");
    for (int64_t i = 0; i < 6; i++)
        ck_assert_double_eq(number_of(y, i), (double)(2 * (i / 3 + 1) * (i % 3 + 1)));
    grove_value_unref(y);
    testing_value plain = testing_evaluate(&t, "y");
    ck_assert(plain.cells == 6 && plain.at[5] == 12);
}

/* A cell knows of two axes of foreign names which is which, in whatever order they came. */
LOOP_TEST(cells_tell_axes_apart, 0, 2)
{
    static const char *const texts[] = {
        "y = places(spread(spread(2, axis=\"power\", count=2), axis=\"beam\", count=3))\n",
        "y = places(spread(spread(2, axis=\"beam\", count=3), axis=\"power\", count=2))\n"};
    grove_value *y = session_value(texts[_i], NULL);

    for (int64_t i = 0; i < 6; i++)
        ck_assert_double_eq(number_of(y, i),
                            (double)(_i ? 10 * (i / 2) + i % 2 : 10 * (i % 3) + i / 3));
    grove_value_unref(y);
}

TEST(axes_that_were_made_can_go)
{
    static const char text[] = "b = spread(spread(2, axis=\"power\", count=2))\n"
                               "y = sum(select(b, axis=beam, index=1), over=power)\n";
    grove_value *y = session_value(text, NULL);

    ck_assert_int_eq(y->axes, 0);
    ck_assert_double_eq(number_of(y, 0), 4 + 8);
    grove_value_unref(y);
}

static const grove_axis *beam_of(const char *name)
{
    const grove_axis *axis = NULL;

    ck_assert_int_eq(
        grove_node_axes_of_kind(testing_node(&t, name), grove_axis_kind("beam"), &axis, 1), 1);
    return axis;
}

/* Axes of two values with the same coordinates are one; not that which a value replaces. */
TEST(equal_axes_are_one)
{
    static const char text[] = "a = spread(2, step=0.5)\nb = spread(3, step=0.5)\n"
                               "c = spread(a, step=0.5, anew=true)\ny = a * b\n";
    grove_value *y = session_value(text, NULL);

    ck_assert_int_eq(y->axes, 1);
    for (int64_t i = 0; i < 3; i++)
        ck_assert_double_eq(number_of(y, i), (double)(6 * (i + 1) * (i + 1)));
    grove_value_unref(y);
    ck_assert_ptr_eq(beam_of("a"), beam_of("b"));
    ck_assert_ptr_ne(beam_of("a"), beam_of("c"));
    const char *said = testing_faults(&t, "y = spread(2, step=0.5) * spread(3, step=0.6)\n");
    ck_assert_msg(strstr(said, "they differ: beam 1 is at 0.6 in one, at 0.5 in the other"), "%s",
                  said);
}

/* A table along the axes of its observation goes together with that: from p and q, in any tiles. */
LOOP_TEST(leaves_take_axes, 0, 2)
{
    static const char text[] =
        "obs = observe(array=\"vla-d\", phase_centre=\"05h42m36.1s 49d51m07s\", "
        "hour_angle=0h..0.01h, integration=6s, frequency=1.4GHz, channels=2, channel_width=1MHz)\n"
        "T = table(obs)\ny = (T.gain[p] - 1000 * T.gain[q]) * obs.freq / 1Hz\n";
    grove_session_options cut = GROVE_SESSION_OPTIONS(.threads = 2, .tile_times = 1);
    grove_value *y = session_value(text, _i ? &cut : NULL);
    const grove_axis *baseline = y->range[1].axis, *freq = y->range[2].axis;

    ck_assert_int_eq(y->axes, 3);
    ck_assert_str_eq(y->range[0].axis->owner->name, "obs");
    ck_assert_int_gt(y->range[0].count, 3);
    for (int64_t i = 0, at = 0; i < y->range[0].count; i++)
        for (int64_t b = 0; b < baseline->size; b++)
            for (int64_t f = 0; f < freq->size; f++, at++)
                ck_assert_double_eq(number_of(y, at),
                                    ((double)(100 * i + baseline->left[b]) -
                                     1000 * (double)(100 * i + baseline->right[b])) *
                                        freq->centre[f]);
    grove_value_unref(y);
}

/* ---- precision ---- */

/* A double result from a single input, in a run of single precision: the double function makes it,
 * and nothing is written past its end (the sanitizers see to that). */
#define GAINS                                                                                      \
    "obs = observe(array=\"vla-d\", phase_centre=\"05h42m36.1s 49d51m07s\", "                      \
    "hour_angle=0h..0.01h, "                                                                       \
    "integration=6s, frequency=1.4GHz, channels=2, channel_width=1MHz)\nG = real(gains(obs))\n"

LOOP_TEST(double_results, 0, 2)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.double_precision = _i);
    grove_value *value = session_value(GAINS "y = 1 * G\n", &options);
    double gain[27];

    ck_assert(value->double_ == _i && value->range[0].count == 27);
    const void *numbers = grove_buffer_host(value->data, t.error);
    for (int p = 0; p < 27; p++)
        gain[p] = _i ? ((const double *)numbers)[p] : (double)((const float *)numbers)[p];
    grove_value_unref(value);
    value = session_value(GAINS "y = double_output(G)\n", &options);
    ck_assert(value->double_);
    for (int p = 0; p < 27; p++)
        ck_assert_double_eq_tol(number_of(value, p), 3 * gain[p], 1e-6);
    grove_value_unref(value);
}

/* ---- what fails when a tree is built ---- */

static const struct {
    const char *call, *message;
} builds[] = {
    {"spread(spread(2))", "spread: the result has the axis 'beam' of 'spread#1' already"},
    {"spread(spread(2, axis=csyeo), axis=dmzea)", /* of one hash */
     "spread: axes called 'csyeo' and 'dmzea' cannot be in one tree; rename one of them"},
    {"bad_default(1)", "in the default of option 'width', 25 furlongs(: it is not an expression; "
                       "this is an error in the plugin"},
    {"unknown_default(1)", "unknown_default: option 'width' must be a length, got 25 s"},
    {"own_default()", "in the default of option 'width', tower: unknown name 'tower'"},
    {"check_says(1)", "check_says: 3 is one too many"},
    {"check_tangent(1)", "check_tangent: the plugin's rule of derivatives 'y: dy' is not for one "
                         "of its values; a rule is 'INPUT: expression', with ';' between rules"},
    {"check_silent(1)", "check_silent: the plugin's check failed without a message"},
    {"wrong_option(1)", "wrong_option: the plugin asks for its option 'width', which it does not "
                        "declare with this kind"},
    {"open_fails()", "open_fails: there is nothing to open"},
    {"check_output(1)", "check_output: the plugin's output is a vector of 0; a vector has 1 to 64 "
                        "elements"},
    {"check_precision(1)", "check_precision: the plugin's output has the unknown precision 5"},
    {"check_kernel(1)", "check_kernel: the plugin's kernel 'none' has no function for single "
                        "precision"},
    {"check_handing(1)", "check_handing: the plugin sets handing 1 of input 3; it has 1 inputs"},
    {"check_goes_on(1)", "check_goes_on: not in this weather"},
    {"cell_consumes(read_fails().says)", "cell_consumes: the plugin consumes axes, which a cell "
                                         "function cannot; it needs .eval or .device"},
    {"cell_adds(1)",
     "cell_adds: the plugin adds the axis 'beam' to its result; this requires .eval or .device"},
    {"cell_scratch(1)", "cell_scratch: the plugin sets scratch memory, which a cell function "
                        "cannot have; it needs .eval, .device or .drive"},
    {"far_baseline()", "far_baseline: the plugin's baseline 1 has the stations 0 and 2; there are "
                       "2 stations, counted from 0"},
    {"same_members()", "same_members: the plugin adds member 'gain' twice"},
    {"same_axes()", "same_axes: the plugin adds axis 'time' twice"},
    {"no_bytes(1)", "no_bytes: the plugin's check does not say how many bytes it keeps: "
                    "grove_node_set_memory"},
    {"bad_member()", "bad_member: the plugin's member 'gain' has the unknown shape 12"},
    {"takes_nothing(read_fails())", "takes_nothing: the plugin takes the axis 'weather' of "
                                    "'read_fails#0', which does not have it"},
    {"foreign_default(1)", "in the default of option 'height', tower(3): no class or template "
                           "'tower'; did you mean 'power'?"},
};

LOOP_TEST(trees_are_not_built, 0, COUNT(builds))
{
    testing_faults(&t, suite_text("y = %s\n", builds[_i].call));
    is(grove_error_message(t.error, 0), builds[_i].message);
    ck_assert_int_eq(grove_error_count(t.error), 1);
}

/* ---- what fails when a tree is run ---- */

static const struct {
    const char *value, *message;
} evaluations[] = {
    {"eval_says(1)", "eval_says: the numbers ran out"},
    {"eval_silent(1)", "eval_silent: evaluation failed"},
    {"says_in_eval(1)", "says_in_eval: the well is dry"},
    {"1 + read_fails().says", "read_fails: the tape is torn"},
    {"1 + read_fails().silent", "read_fails: reading 'silent' failed"},
};

LOOP_TEST(values_are_not_evaluated, 0, COUNT(evaluations))
{
    char *text = suite_text("leaf = read_fails()\ny = %s\n", evaluations[_i].value);
    grove_value *value = NULL;

    testing_tree(&t, text);
    grove_session *session = grove_session_new(t.tree, NULL, t.error);
    ck_assert_int_lt(grove_session_value(session, "y", &value), 0);
    ck_assert_ptr_null(value);
    ck_assert_int_eq(grove_error_count(t.error), 1);
    is(grove_error_message(t.error, 0), evaluations[_i].message);
    grove_session_free(session);
}

static const struct {
    const char *options, *message, *aborts;
} runs[] = {
    {"at=start", "write_fails: the shop is shut", ""},
    {"at=begin", "write_fails: the ink is dry", ""},
    {"at=write", "write_fails: the pen broke", "1"},
    {"at=prepare", "write_fails: the paper burnt", "1"},
    {"at=commit", "write_fails: the post is late", "1"},
    {"at=start, mute=true", "write_fails: cannot start", ""},
    {"at=begin, mute=true", "write_fails: cannot begin", ""},
    {"at=write, mute=true", "write_fails: writing failed", "1"},
    {"at=prepare, mute=true", "write_fails: cannot finish", "1"},
    {"at=commit, mute=true", "write_fails: cannot finish", "1"},
};

LOOP_TEST(runs_fail, 0, COUNT(runs))
{
    testing_tree(&t, suite_text("w = write_fails(sqrt(2), %s)\n", runs[_i].options));
    grove_session *session = grove_session_new(t.tree, NULL, t.error);
    ck_assert_int_lt(grove_session_run(session), 0);
    ck_assert_int_eq(grove_error_count(t.error), 1);
    is(grove_error_message(t.error, 0), runs[_i].message);
    const char *aborts = getenv("GROVE_TEST_ABORTS");
    ck_assert_str_eq(aborts ? aborts : "", runs[_i].aborts);
    grove_session_free(session);
}

/* Those begun before are aborted too: once each. */
TEST(all_actions_are_aborted)
{
    testing_tree(&t, "a = write_fails(sqrt(2), at=commit)\nb = write_fails(sqrt(3), at=begin)\n");
    grove_session *session = grove_session_new(t.tree, NULL, t.error);
    ck_assert_int_lt(grove_session_run(session), 0);
    is(grove_error_message(t.error, 0), "write_fails: the ink is dry");
    ck_assert_str_eq(getenv("GROVE_TEST_ABORTS"), "1");
    grove_session_free(session);
}

/* Of several outputs all change or none: what cannot be prepared keeps the others from committing.
 */
TEST(all_prepare_before_one_commits)
{
    testing_tree(&t, "a = write_fails(sqrt(2), at=commit)\nb = write_fails(sqrt(3), at=prepare)\n");
    grove_session *session = grove_session_new(t.tree, NULL, t.error);
    ck_assert_int_lt(grove_session_run(session), 0);
    is(grove_error_message(t.error, 0), "write_fails: the paper burnt");
    ck_assert_int_eq(grove_error_count(t.error), 1);
    ck_assert_str_eq(getenv("GROVE_TEST_ABORTS"), "2");
    grove_session_free(session);
}

/* What start makes belongs to one run: others of the same tree have their own. */
TEST(runs_keep_apart)
{
    grove_session_options options = GROVE_SESSION_OPTIONS(.cache_off = true);
    grove_session *sessions[2];
    grove_value *value;

    unsetenv("GROVE_TEST_STOPS");
    testing_tree(&t, "y = keeps_run(1)\n");
    for (int i = 0; i < 2; i++) {
        sessions[i] = grove_session_new(t.tree, &options, t.error);
        ck_assert_int_eq(grove_session_value(sessions[i], "y", &value), 0);
        ck_assert_double_eq(number_of(value, 0), 1);
        ck_assert_str_eq(getenv("GROVE_TEST_STOPS"), i ? "2" : "1");
        grove_value_unref(value);
    }
    grove_session_free(sessions[0]);
    grove_session_free(sessions[1]);
}

/* ---- grove test-node ---- */

static void add_line(void *context, const char *line)
{
    grove_text_add(context, "%s\n", line);
}

/* A check in which the class crashes has failed; the next ones are made. */
TEST(crashes_are_failed_checks)
{
    grove_text lines = {0};
    grove_class_test how = GROVE_CLASS_TEST(.device = "cpu", .print = add_line, .context = &lines);
    int failed = grove_library_test_class(library, "crashes", &how, t.error);
    const char *storage = strstr(lines.at, "\nFAIL all of the output is written, and nothing else: "
                                           "crashes with signal 6 (Aborted)\n");

    ck_assert_msg(storage != NULL, "%s", lines.at);
    ck_assert_ptr_nonnull(strstr(lines.at, "\nok   every text is there\n"));
    ck_assert_ptr_nonnull(
        strstr(storage, "\nFAIL tiles, threads and cache change nothing: crashes "));
    ck_assert_int_ge(failed, 2);
    free(lines.at);
}

/* Linear in x, but sums over sources of it are not the same of the sum. */
TEST(numbers_of_sources_are_noticed)
{
    grove_text lines = {0};
    grove_class_test how = GROVE_CLASS_TEST(.device = "cpu", .print = add_line, .context = &lines);

    ck_assert_int_eq(grove_library_test_class(library, "numbers_sources", &how, t.error), 1);
    ck_assert_msg(strstr(lines.at, "f(x) of sources with other numbers deviates by ") != NULL, "%s",
                  lines.at);
    free(lines.at);
}

TEST(checks_that_do_not_return_have_failed)
{
    grove_text lines = {0};
    const grove_class_test how =
        GROVE_CLASS_TEST(.device = "cpu", .print = add_line, .context = &lines, .seconds = 5);

    ck_assert_int_eq(grove_library_test_class(library, "no_return", &how, t.error), 1);
    ck_assert_str_eq(lines.at,
                     "ok   the class loads\n"
                     "FAIL the example uses the class: does not return within 5 seconds\n");
    free(lines.at);
}

/* What a module does while it is loaded is a failed check. Others than the endless loop may take
 * seconds on a busy machine. */
static const struct {
    const char *does, *said;
    int seconds;
} loads[] = {
    {"crash", "crashes with signal 6 (Aborted)\n"},
    {"recurse", ""}, /* a signal, or what a sanitizer makes of it */
    {"loop", "does not return within 2 seconds\n", .seconds = 2},
    {"exit", "ends the process with exit status 0\n"},
    {"close", "closes file descriptors that it did not open\n"},
    {"allocate", "takes more than 512 MiB of memory\n"},
    {"spawn", NULL},
};

LOOP_TEST(what_loading_does_is_guarded, 0, COUNT(loads))
{
    grove_text lines = {0};
    grove_class_test how = GROVE_CLASS_TEST(.device = "cpu", .print = add_line, .context = &lines);
    how.seconds = loads[_i].seconds ? loads[_i].seconds : 50;
    how.memory = 512 << 20;
    char *wanted =
        suite_keep(loads[_i].said ? grove_format("FAIL the class loads: %s", loads[_i].said)
                                  : grove_strdup("ok   the class loads\n"));

    setenv("GROVE_TEST_LOADING", loads[_i].does, 1);
    int failed = grove_library_test_class(library, "loading", &how, t.error);
    unsetenv("GROVE_TEST_LOADING");
    ck_assert_int_eq(failed, loads[_i].said != NULL);
    ck_assert_msg(!strncmp(lines.at, wanted, strlen(wanted)), "%s", lines.at);
    free(lines.at);
}

SUITE(60, setup, teardown)
