/* Every node class passes the conformance checks (src/conformance). The device is the first
 * argument, or GROVE_TEST_DEVICE; else cpu. */
#include "conformance/conformance.h"

#include "base/file.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *device = "cpu";
static grove_library *library;
static grove_error *error;
static const char *const *names;
static grove_text lines;

static void setup(void)
{
    library = grove_library_new(NULL);
    error = grove_error_new();
    names = grove_library_classes(library, NULL);
}

static void teardown(void)
{
    grove_library_free(library);
    grove_error_free(error);
    free(lines.at);
    lines = (grove_text){0};
}

static void keep_line(void *context, const char *line)
{
    (void)context;
    grove_text_add(&lines, "%s\n", line);
}

static int test_class(const char *name)
{
    const grove_class_test test = GROVE_CLASS_TEST(.device = device, .print = keep_line);

    return grove_library_test_class(library, name, &test, error);
}

/* A tree is built and at least four checks are made of each class. */
START_TEST(classes_conform)
{
    int failed = test_class(names[_i]), made = 0;

    ck_assert_msg(failed == 0, "%s:\n%s", names[_i], lines.at ? lines.at : "");
    for (const char *at = lines.at; (at = strstr(at, "ok ")); at += 3)
        made++;
    ck_assert_msg(made >= 4, "%s:\n%s", names[_i], lines.at);
    ck_assert_ptr_null(strstr(lines.at, "FAIL"));
    /* a device without code for the class is reported; nothing else is skipped */
    const char *skipped = strstr(lines.at, "skip ");
    ck_assert_msg(!skipped || !strncmp(skipped, "skip a GPU gives the same as the CPU: ", 37), "%s",
                  lines.at);
}
END_TEST

TEST(no_such_class)
{
    ck_assert_int_lt(test_class("beam_airi"), 0);
    ck_assert_str_eq(grove_error_message(error, 0),
                     "no class 'beam_airi'; did you mean 'beam_airy'?");
    ck_assert_ptr_null(lines.at);
}

/* ---- the trees of the checks ---- */

static grove_fixture *new_fixture(void)
{
    const char *data = getenv("GROVE_DATA_PATH");
    const char *const folders[] = {suite_keep(grove_path_join(data ? data : "data", "arrays")),
                                   NULL};
    grove_fixture *fixture = grove_fixture_new(NULL, folders, NULL, error);

    ck_assert_ptr_nonnull(fixture);
    return fixture;
}

/* Classes whose flags are tested on partly flagged data. */
TEST(flagged_data_are_taken)
{
    static const char *const takers[] = {"add", "hermitian", "multiply", "power", "transpose"};
    grove_fixture *fixture = new_fixture();

    for (size_t i = 0; i < sizeof(takers) / sizeof(takers[0]); i++) {
        const grove_class *class_ = grove_classes_find(fixture->classes, takers[i], error);
        ck_assert_ptr_nonnull(class_);
        ck_assert_msg(grove_fixture_take_flagged(fixture, class_), "%s: %s", takers[i],
                      grove_error_message(fixture->error, 0));
    }
    grove_fixture_free(fixture);
}

/* Calls with the words of a choice are built where they can be: all four of smear. */
TEST(words_are_tried)
{
    grove_fixture *fixture = new_fixture();
    const grove_class *class_ = grove_classes_find(fixture->classes, "point", error);
    int count = 0;

    ck_assert_ptr_nonnull(class_);
    for (int number = 0; grove_fixture_next(fixture, class_, &number);)
        count++;
    ck_assert_int_ge(count, 5);
    grove_fixture_free(fixture);
}

/* Classes that tests/value-tests.txt names have all their members there. */
START_TEST(members_have_value_tests)
{
    const char *source = getenv("GROVE_SOURCE");
    char *path = suite_keep(grove_path_join(source ? source : ".", "tests/value-tests.txt"));
    char *list = suite_keep(grove_file_read(path, 1 << 20, true, NULL, error));
    char *line = suite_text("\n%s ", names[_i]);
    grove_fixture *fixture = new_fixture();
    const grove_class *class_ = grove_classes_find(fixture->classes, names[_i], error);

    ck_assert(class_ && list);
    ck_assert_int_eq(grove_fixture_take(fixture, class_, NULL), 0);
    for (int n = 0; n < fixture->node_count && strstr(list, line); n++)
        for (size_t i = 0; i < fixture->nodes[n]->member_count; i++) {
            const char *name = fixture->nodes[n]->members[i].name;
            char *member = suite_text("\n%s.%s ", names[_i], name);
            ck_assert_msg(strstr(list, member) != NULL, "%s: no value test of %s", path,
                          member + 1);
        }
    grove_fixture_free(fixture);
}
END_TEST

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : getenv("GROVE_TEST_DEVICE");
    size_t count;

    device = wanted ? wanted : device;
    setup();
    grove_library_classes(library, &count);
    teardown();
    printf("%zu classes on %s\n", count, device);
    tcase_add_loop_test(suite_case("classes_conform"), classes_conform, 0, (int)count);
    tcase_add_loop_test(suite_case("members_have_value_tests"), members_have_value_tests, 0,
                        (int)count);
    return suite_run(__FILE__, 240, setup, teardown) || count < 2;
}
