#include "conformance/conformance.h"

#include "base/text.h"
#include "conformance/child.h"
#include "device/device.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    void (*check)(grove_conformance *c);
    bool device; /* it looks for a GPU */
} checks[] = {
    {"every text is there", grove_conformance_texts, false},
    {"defaults can be written in a tree", grove_conformance_defaults, false},
    {"all of the output is written, and nothing else", grove_conformance_storage, false},
    {"a block equals that part of the whole", grove_conformance_blocks, false},
    {"axes that no input has change nothing", grove_conformance_axes, false},
    {"inputs that are declared linear are linear", grove_conformance_linear, false},
    {"derivatives agree with differences", grove_conformance_derivatives, false},
    {"flags reach all elements that a flagged one changes", grove_conformance_spoilt, false},
    {"flags follow the declared rule", grove_conformance_flags, false},
    {"tiles, threads and cache change nothing", grove_conformance_tiles, false},
    {"single precision agrees with double", grove_conformance_precision, false},
    {"a GPU gives the same as the CPU", grove_conformance_device, true},
    {"members are read in any blocks", grove_conformance_members, false},
    {"an action writes the same in any tiles", grove_conformance_actions, true},
    {"a run that fails leaves everything unchanged", grove_conformance_aborts, false},
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

bool grove_conformance_done(grove_conformance *c, int code, const char *subject)
{
    const grove_error *error = c->fixture->error;

    if (code)
        grove_conformance_fail(c, "%s: %s", subject,
                               grove_error_count(error) ? grove_error_message(error, 0)
                                                        : "failed without a message");
    return !code;
}

static void print(const grove_class_test *test, const char *word, const char *name,
                  const char *reason)
{
    char *line = grove_format("%-4s %s%s%s", word, name, reason ? ": " : "", reason ? reason : "");

    if (test->print)
        test->print(test->context, line);
    free(line);
}

/* The device to compare with the cpu; NULL: none. */
static const char *device_of(const grove_class_test *test)
{
    const char *device = test->device ? test->device : "auto";
    grove_error *error = grove_error_new();
    int k = 0;

    if (!strcmp(device, "cpu"))
        device = NULL;
    else if (!strcmp(device, "auto")) {
        while (grove_device_kinds[k] && grove_device_first_gpu(grove_device_kinds[k], error) < 0)
            k++;
        device = grove_device_kinds[k];
    }
    grove_error_free(error);
    return device;
}

/* ---- each check in a process of its own ---- */

/* A check's result as a text: a word ("FAIL", "ok", "skip", or "-" where there is nothing to
 * check), a space, and the reason. */
static char *result_of(grove_conformance *c)
{
    if (c->faults > 1)
        return grove_format("FAIL %s (and %d more)", c->fault, c->faults - 1);
    if (c->faults)
        return grove_format("FAIL %s", c->fault);
    if (c->reason)
        return grove_format("skip %s", c->reason);
    return grove_format("%s ", c->made ? "ok" : "-");
}

typedef struct {
    grove_conformance *c;
    grove_library *library;
    const char *name; /* of the class */
    int number;
} job;

/* "ok ", or "FAIL " with the messages, or with `otherwise` where there are none. */
static char *result_of_errors(bool good, const grove_error *error, const char *otherwise)
{
    char *message = grove_error_count(error) ? grove_error_text(error) : NULL;
    size_t length = message ? strlen(message) : 0;

    if (length && message[length - 1] == '\n')
        message[length - 1] = 0;
    char *result =
        good ? grove_strdup("ok ") : grove_format("FAIL %s", message ? message : otherwise);
    free(message);
    return result;
}

/* Code of a module runs when it is loaded, so that the parent never does this. */
static char *check_loading(void *context)
{
    const job *j = context;
    grove_error *error = grove_error_new();
    bool good = grove_library_check(j->library, j->name, error) == 0;
    const char *message =
        grove_error_count(error) ? grove_error_message(error, 0) : "it does not load";
    char *result = good ? grove_strdup("ok ") : grove_format("FAIL %s", message);

    grove_error_free(error);
    return result;
}

static char *make_check(void *context)
{
    const job *j = context;
    grove_conformance *c = j->c;

    c->class_ = grove_classes_find(c->fixture->classes, j->name, c->fixture->error);
    /* not earlier, because a child process cannot use a GPU that its parent has opened */
    c->device = checks[j->number].device ? device_of(c->test) : NULL;
    checks[j->number].check(c);
    char *result = result_of(c);
    free(c->fault);
    free(c->reason);
    return result;
}

/* Checks that the tree can be built and uses the class. */
static char *check_tree(void *context)
{
    const job *j = context;
    grove_fixture *fixture = j->c->fixture;
    const grove_class *class_ = grove_classes_find(fixture->classes, j->name, fixture->error);
    int code = class_ ? grove_fixture_take(fixture, class_, NULL) : GROVE_MISSING;

    return result_of_errors(!code && fixture->node_count, fixture->error,
                            "it is built without a node of the class; a statement must call it");
}

/* Prints a check's line. True when it failed. */
static bool run_check(char *(*check)(void *context), job *j, const char *name)
{
    const grove_class_test *test = j->c->test;
    const grove_child_limits limits = {
        test->seconds > 0 ? test->seconds : GROVE_CONFORMANCE_SECONDS, test->memory};
    char *fault = NULL, *result = grove_child_run(check, j, limits, &fault);
    char *text = result ? strchr(result, ' ') : NULL;
    bool failed = !text || !strncmp(result, "FAIL", 4);

    if (text)
        *text++ = 0;
    if (!text)
        print(test, "FAIL", name, fault);
    else if (strcmp(result, "-") != 0)
        print(test, result, name, *text ? text : NULL);
    free(result);
    free(fault);
    return failed;
}

static int test_class(job *j)
{
    int failed = 0;

    if (run_check(check_tree, j,
                  j->c->fixture->text ? "the tree uses the class" : "the example uses the class"))
        return 1;
    for (j->number = 0; j->number < CHECKS; j->number++)
        failed += run_check(make_check, j, checks[j->number].name);
    return failed;
}

int grove_conformance_test(grove_library *library, const char *const *plugin_folders,
                           const char *const *data_folders, const char *name,
                           const grove_class_test *test, grove_error *error)
{
    grove_conformance c = {.test = test};
    job j = {&c, library, name, 0};

    if (run_check(check_loading, &j, "the class loads"))
        return 1;
    c.fixture = grove_fixture_new(plugin_folders, data_folders, test, error);
    if (!c.fixture)
        return grove_error_code(error) ? grove_error_code(error) : GROVE_IO;
    int failed = test_class(&j);
    grove_fixture_free(c.fixture);
    return failed;
}
