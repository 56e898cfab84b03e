/* The index of a folder of modules: classes found by it, and messages about invalid indices. */
#include "tests/common/testing.h"

#include "base/text.h"
#include "unstable/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static testing t;
static grove_library *library;

static void setup(void)
{
    testing_begin(&t);
}

static void teardown(void)
{
    grove_library_free(library);
    library = NULL;
    testing_end(&t);
}

/* Puts the module nodes/.libs/MODULE.so of the build into the test's folder, by the name `name`. */
static void add_module(const char *module, const char *name)
{
    const char *build = getenv("GROVE_BUILD");
    char *from = suite_text("%s/nodes/.libs/%s.so", build ? build : ".", module);
    char *to = suite_text("%s/%s.so", t.folder, name);
    char *absolute = realpath(from, NULL);

    ck_assert_msg(absolute && !symlink(absolute, to), "%s", from);
    free(absolute);
}

/* A library of nothing but the test's folder, with this index. */
static void open_library(const char *index)
{
    const char *const folders[] = {t.folder, NULL};

    setenv("GROVE_PLUGIN_PATH", t.folder, 1); /* a second time: nothing changes */
    testing_file(&t, "classes.index", index);
    library = grove_library_new(folders);
}

static const char *path_of(const char *class_)
{
    const char *path = NULL;

    ck_assert_ptr_nonnull(grove_library_summary(library, class_, NULL, &path, t.error));
    return path + strlen(t.folder) + 1;
}

/* Whether the library knows a class of this name. */
static bool has(const char *class_)
{
    size_t count;
    const char *const *names = grove_library_classes(library, &count);
    int found = 0;

    for (size_t i = 0; i < count; i++)
        found += !strcmp(names[i], class_);
    ck_assert_int_le(found, 1);
    return found == 1;
}

/* The one message, which begins with the test's folder where `wanted` begins with "%". */
static void ck_message(const char *wanted)
{
    ck_assert_int_eq(grove_error_count(t.error), 1);
    const char *said = grove_error_message(t.error, 0);
    if (*wanted == '%') {
        ck_assert_msg(!strncmp(said, t.folder, strlen(t.folder)), "%s", said);
        said += strlen(t.folder);
        wanted++;
    }
    ck_assert_str_eq(said, wanted);
}

TEST(families_and_single_classes)
{
    add_module("arithmetic", "arithmetic");
    add_module("sky", "lmn");
    open_library("sin arithmetic\n\n  cos \t arithmetic");
    ck_assert_int_eq(grove_library_ready(library, t.error), 0);
    ck_assert_str_eq(path_of("sin"), "arithmetic.so");
    ck_assert_str_eq(path_of("cos"), "arithmetic.so");
    ck_assert_str_eq(path_of("lmn"), "lmn.so");
    ck_assert(has("sin") && has("cos") && has("lmn"));
    /* of a module that the index names, no other classes */
    ck_assert(!has("arithmetic") && !has("tan"));
    ck_assert_int_ne(grove_library_check(library, "arithmetic", t.error), 0);
    ck_message(
        "no class 'arithmetic'; if it is a plugin, build its module and name its folder with -p");
}

/* A module of a single class that an older installation left behind. */
TEST(index_comes_before_modules)
{
    add_module("arithmetic", "arithmetic");
    add_module("sky", "sin");
    open_library("sin arithmetic\n");
    ck_assert_str_eq(path_of("sin"), "arithmetic.so");
}

TEST(module_lacks_the_class)
{
    add_module("arithmetic", "arithmetic");
    open_library("sin arithmetic\nsine arithmetic\n");
    ck_assert_str_eq(path_of("sin"), "arithmetic.so");
    ck_assert_int_ne(grove_library_check(library, "sine", t.error), 0);
    ck_message(suite_text("class sine: %s/arithmetic.so does not export grove_class_sine; is "
                          "the descriptor GROVE_CLASS(sine)?",
                          t.folder));
}

/* Lines of endings are no classes; the module of one must have what it offers for files. */
TEST(endings_of_files)
{
    add_module("arithmetic", "arithmetic");
    open_library("sin arithmetic\n.data arithmetic\n/ nothing\n@sum arithmetic\n");
    ck_assert(has("sin") && !has(".data") && !has("/") && !has("@sum"));
    testing_file(&t, "some.data", "");
    ck_assert_ptr_null(grove_library_info(library, suite_text("%s/some.data", t.folder), t.error));
    const char *said = grove_error_message(t.error, 0);
    ck_assert_msg(strstr(said, "/arithmetic.so: cannot be opened: ") &&
                      strstr(said, "grove_files_api"),
                  "%s", said);
    ck_assert_int_eq(grove_library_check(library, ".data", t.error), GROVE_ABI);
    ck_assert_ptr_nonnull(strstr(grove_error_message(t.error, 1), "no class '.data'"));
    ck_assert_ptr_null(grove_service_open("none", 1, t.error));
    ck_assert_ptr_nonnull(strstr(grove_error_message(t.error, 2), "no module has 'none'"));
    ck_assert_ptr_null(grove_service_open("sum", 1, t.error));
    ck_assert_ptr_nonnull(strstr(grove_error_message(t.error, 3), "grove_sum_api"));
}

TEST(module_is_missing)
{
    open_library("sin nothing\n");
    ck_assert_int_ne(grove_library_check(library, "sin", t.error), 0);
    const char *said = grove_error_message(t.error, 0);
    ck_assert_msg(!strncmp(said, "class sin: cannot load its module: ", 35) &&
                      strstr(said, "/nothing.so"),
                  "%s", said);
}

static const struct {
    const char *index, *message;
} faults[] = {
    {"sin arithmetic\nsine\n",
     "%/classes.index:2: the line of 'sine' is not CLASS MODULE, such as: sin arithmetic"},
    {"\nsin arithmetic cos\ncos\n",
     "%/classes.index:2: the line of 'sin' is not CLASS MODULE, such as: sin arithmetic"},
    {"sin ../elementary\n",
     "%/classes.index:1: the line of 'sin' is not CLASS MODULE, such as: sin arithmetic"},
};

/* Told once, before any tree is read. */
LOOP_TEST(lines_at_fault, 0, (int)(sizeof(faults) / sizeof(faults[0])))
{
    add_module("arithmetic", "arithmetic");
    open_library(faults[_i].index);
    ck_assert_int_ne(grove_library_ready(library, t.error), 0);
    ck_message(faults[_i].message);
    ck_assert_ptr_null(
        grove_library_parse(library, "y = nothing(1) + none(2)\n", "text", NULL, 0, t.error));
}

SUITE(60, setup, teardown)
