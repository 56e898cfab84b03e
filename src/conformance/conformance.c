#include "conformance/conformance.h"

#include "base/text.h"
#include "device/device.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*check)(grove_conformance *c);
} checks[] = {
    {"every text is there", grove_conformance_texts},
    {"defaults can be written in a tree", grove_conformance_defaults},
    {"all of the output is written, and nothing else", grove_conformance_storage},
    {"a block is that part of the whole", grove_conformance_blocks},
    {"axes that no input has change nothing", grove_conformance_axes},
    {"inputs that are declared linear are", grove_conformance_linear},
    {"flags reach what a flagged element changes", grove_conformance_spoilt},
    {"flags follow the declared rule", grove_conformance_flags},
    {"tiles, threads and cache change nothing", grove_conformance_tiles},
    {"single precision is near double", grove_conformance_precision},
    {"a GPU gives what the CPU gives", grove_conformance_device},
    {"members are read in any blocks", grove_conformance_members},
    {"an action writes the same in any tiles", grove_conformance_actions},
    {"a run that fails leaves everything as it was", grove_conformance_aborts},
};
enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

void grove_conformance_fail(grove_conformance *c, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    if (!c->faults++) {
        va_start(args, format);
        grove_text_add_v(&text, format, args);
        va_end(args);
        c->fault = text.at;
    }
}

void grove_conformance_skip(grove_conformance *c, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    if (!c->reason) {
        va_start(args, format);
        grove_text_add_v(&text, format, args);
        va_end(args);
        c->reason = text.at;
    }
}

bool grove_conformance_done(grove_conformance *c, int code, const char *what)
{
    const grove_error *error = c->fixture->error;

    if (code)
        grove_conformance_fail(c, "%s: %s", what,
                               grove_error_count(error) ? grove_error_message(error, 0)
                                                        : "failed without a message");
    return !code;
}

static void print(const grove_class_test *test, const char *word, const char *name,
                  const char *reason)
{
    char *line = grove_format("%-4s %s%s%s", word, name, reason ? ": " : "", reason ? reason : "");

    if (test && test->print)
        test->print(test->context, line);
    free(line);
}

int grove_conformance_report(const grove_class_test *test, const char *name, const char *fault)
{
    print(test, fault ? "FAIL" : "ok", name, fault);
    return fault != NULL;
}

/* True when the check failed. */
static bool make_check(grove_conformance *c, int i)
{
    c->fault = c->reason = NULL;
    c->faults = 0;
    c->made = false;
    checks[i].check(c);
    bool failed = c->faults > 0;
    if (failed) {
        char *more =
            c->faults > 1 ? grove_format("%s (and %d more)", c->fault, c->faults - 1) : NULL;
        print(c->test, "FAIL", checks[i].name, more ? more : c->fault);
        free(more);
    } else if (c->reason) {
        print(c->test, "skip", checks[i].name, c->reason);
    } else if (c->made) {
        print(c->test, "ok", checks[i].name, NULL);
    }
    free(c->fault);
    free(c->reason);
    return failed;
}

/* The device that the test is to compare with the cpu; NULL: none. */
static const char *device_of(const grove_class_test *test)
{
    const char *wanted = test && test->device ? test->device : "auto";
    grove_error *error = grove_error_new();

    if (!strcmp(wanted, "cpu"))
        wanted = NULL;
    else if (!strcmp(wanted, "auto"))
        wanted = grove_device_count("cuda", error) > 0 ? "cuda" : NULL;
    grove_error_free(error);
    return wanted;
}

/* The tree is built, and has the class. */
static bool check_tree(grove_conformance *c)
{
    grove_fixture *fixture = c->fixture;
    int code = grove_fixture_take(fixture, c->class_, NULL);
    const char *what = fixture->text ? "the tree uses the class" : "the example uses the class";

    if (code || !fixture->node_count) {
        char *said = code ? grove_error_text(fixture->error) : NULL;
        size_t length = said ? strlen(said) : 0;
        if (length && said[length - 1] == '\n')
            said[length - 1] = 0;
        print(c->test, "FAIL", what,
              said ? said : "it is built without a node of the class; a statement must call it");
        free(said);
        return false;
    }
    print(c->test, "ok", what, NULL);
    return true;
}

static int test_class(grove_fixture *fixture, const grove_class *class_,
                      const grove_class_test *test)
{
    grove_conformance c = {fixture, class_, test, device_of(test), NULL, 0, NULL, false};
    int failed = 0;

    if (!check_tree(&c))
        return 1;
    for (int i = 0; i < CHECKS; i++)
        failed += make_check(&c, i);
    return failed;
}

int grove_conformance_test(const char *const *plugin_folders, const char *const *data_folders,
                           const char *name, const grove_class_test *test, grove_error *error)
{
    grove_fixture *fixture = grove_fixture_new(plugin_folders, data_folders, test, error);

    if (!fixture)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_IO;
    const grove_class *class_ = grove_classes_find(fixture->classes, name, error);
    int result = class_ ? test_class(fixture, class_, test) : GROVE_MISSING;
    grove_fixture_free(fixture);
    return result;
}
