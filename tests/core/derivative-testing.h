/* Shared by tests of derivatives: trees of the fixture's names, their derivatives and values. */
#ifndef GROVE_TESTS_DERIVATIVE_TESTING_H
#define GROVE_TESTS_DERIVATIVE_TESTING_H

#include "conformance/fixture.h"
#include "graph/derivative.h"
#include "run/session.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "tests/common/suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *device = "cpu";
static grove_fixture *fixture;
static grove_error *error;
static grove_session *session;

static inline void setup(void)
{
    const char *data = getenv("GROVE_DATA_PATH");
    const char *const folders[] = {suite_keep(grove_path_join(data ? data : "data", "arrays")),
                                   NULL};

    error = grove_error_new();
    fixture = grove_fixture_new(NULL, folders, NULL, error);
    ck_assert_ptr_nonnull(fixture);
    *grove_probe_of_parms() = (grove_probe_change){.at = -2};
}

static inline void teardown(void)
{
    grove_session_free(session);
    session = NULL;
    grove_fixture_free(fixture);
    grove_error_free(error);
}

/* ---- values ---- */

/* Builds statements that may use the names of the fixture's preamble. */
static inline void build(const char *statements)
{
    int code = grove_fixture_try(fixture, statements, NULL);

    if (code) {
        char *text = grove_error_text(fixture->error);
        ck_abort_msg("%s", text);
    }
}

static inline grove_node *node_of(const char *name)
{
    for (size_t i = 0; i < fixture->tree->node_count; i++)
        if (!strcmp(fixture->tree->nodes[i]->name, name))
            return fixture->tree->nodes[i];
    ck_abort_msg("there is no node %s", name);
    return NULL;
}

static inline grove_derivatives derive(const char *name)
{
    grove_derivatives all;
    int code = grove_tree_derive(fixture->tree, node_of(name), NULL, 0, &all, error);

    ck_assert_msg(!code, "%s: %s", name, code ? grove_error_message(error, 0) : "");
    return all;
}

static inline void open_session(bool single, int tile)
{
    const grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = device, .threads = 2, .double_precision = !single,
                              .tile_times = tile);

    grove_session_free(session);
    session = grove_session_new(fixture->tree, &options, fixture->error);
    ck_assert_ptr_nonnull(session);
}

static inline double complex *value_of(grove_node *node, int64_t *count)
{
    grove_value *value = grove_fixture_value(session, node);

    ck_assert_msg(value != NULL, "%s: %s", node->name,
                  grove_error_count(fixture->error) ? grove_error_message(fixture->error, 0) : "");
    double complex *numbers =
        (double complex *)(void *)grove_value_numbers(value, count, fixture->error);
    grove_value_unref(value);
    return numbers;
}

static inline int elements_of(const grove_node *node)
{
    return node->form.shape == GROVE_VECTOR ? node->form.vector : node->form.shape;
}

static inline double norm_of(const double complex *x, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += creal(x[i] * conj(x[i]));
    return sqrt(sum);
}

static inline double distance(const double complex *a, const double complex *b, int64_t count)
{
    double sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += creal((a[i] - b[i]) * conj(a[i] - b[i]));
    return sqrt(sum);
}

/* Runs the tests on the device that is the first argument, or GROVE_TEST_DEVICE; else the cpu. */
static inline int run_tests(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : getenv("GROVE_TEST_DEVICE");

    device = wanted ? wanted : device;
    return suite_run(__FILE__, 120, setup, teardown);
}

#endif
