/* Sessions agree with the plain evaluation of tests/common/testing.c for the example of every node
 * class: casts, selections, members and sums, which are not part of classes. The device is the
 * first argument, or GROVE_TEST_DEVICE; else cpu. */
#include "tests/common/testing.h"

#include "conformance/fixture.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tolerated relative difference of norms, for sums (in another order) and other devices than the
 * cpu; in double and in single precision. */
static const double tolerance[2] = {1e-11, 1e-5};

static const char *device = "cpu";
static testing t;
static grove_fixture *fixture;

static void setup(void)
{
    const char *data = getenv("GROVE_DATA_PATH");
    const char *const folders[] = {suite_keep(grove_path_join(data ? data : "data", "arrays")),
                                   NULL};

    memset(&t, 0, sizeof(t));
    t.error = grove_error_new();
    fixture = grove_fixture_new(NULL, folders, NULL, t.error);
    ck_assert_ptr_nonnull(fixture);
    grove_error_free(t.error);
    t.error = fixture->error;
    t.classes = fixture->classes;
}

static void teardown(void)
{
    grove_fixture_free(fixture);
}

static bool sums(const grove_node *node)
{
    if (node->class_ && grove_class_is_reduction(node->class_))
        return true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && sums(node->inputs[k].node))
            return true;
    return false;
}

static bool accumulates(const grove_node *node)
{
    bool found = grove_node_accumulates(node);

    for (int k = 0; k < node->input_count && !found; k++)
        found = node->inputs[k].node && accumulates(node->inputs[k].node);
    return found;
}

static bool no_flags(const unsigned char *flags, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (flags[i])
            return false;
    return true;
}

/* Sums are compared if nothing is flagged: the plain evaluation ignores flags, and has no
 * accumulators. */
static void check_node(grove_node *node, bool single)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = device, .threads = 3, .tile_times = 2,
                              .double_precision = !single);
    grove_session *session = grove_fixture_session(fixture, &options);
    grove_value *value = session ? grove_fixture_value(session, node) : NULL;
    testing_value x = {.elements = 1};

    ck_assert_msg(value != NULL, "%s: %s", node->name, grove_error_message(t.error, 0));
    x.elements = grove_value_elements(value);
    x.at = suite_keep(grove_value_numbers(value, &x.cells, t.error));
    unsigned char *flags = suite_keep(grove_value_flagged(value, t.error));
    int64_t numbers = x.cells;
    x.cells /= x.elements;
    t.double_precision = !single;
    t.tree = fixture->tree;
    if (!accumulates(node) && (!sums(node) || no_flags(flags, numbers))) {
        testing_value y = testing_evaluate(&t, node->name);
        bool exact = !sums(node) && !strcmp(device, "cpu");
        double far = testing_distance(&x, &y);
        ck_assert_msg(exact ? !memcmp(x.at, y.at, (size_t)numbers * sizeof(*y.at))
                            : far <= tolerance[single],
                      "%s: a session's value is %g from the plain one", node->name, far);
    }
    grove_value_unref(value);
    grove_session_free(session);
}

START_TEST(sessions_give_the_plain_value)
{
    const char *name = grove_classes_names(fixture->classes, NULL)[_i];
    const grove_class *class_ = grove_classes_find(fixture->classes, name, t.error);

    ck_assert_msg(class_ && !grove_fixture_take(fixture, class_, NULL), "%s: %s", name,
                  grove_error_message(t.error, 0));
    if (grove_class_is_data(class_) || grove_class_is_action(class_) ||
        grove_class_is_reduction(class_))
        return;
    ck_assert_int_gt(fixture->node_count, 0);
    for (int n = 0; n < 2 * fixture->node_count; n++)
        check_node(fixture->nodes[n / 2], n % 2);
}
END_TEST

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : getenv("GROVE_TEST_DEVICE");
    grove_classes *classes = grove_classes_new(NULL);
    size_t count;

    device = wanted ? wanted : device;
    grove_classes_names(classes, &count);
    grove_classes_free(classes);
    tcase_add_loop_test(suite_case("all"), sessions_give_the_plain_value, 0, (int)count);
    return suite_run(__FILE__, 120, setup, teardown) || count < 2;
}
