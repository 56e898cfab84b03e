/* The tests of a program, each added where it is defined, in this order; CK_RUN_CASE=NAME in the
 * environment runs one alone. */
#ifndef GROVE_TESTS_SUITE_H
#define GROVE_TESTS_SUITE_H

#include "base/error.h"
#include "base/text.h"

#include <check.h>
#include <stdlib.h>

enum { SUITE_TESTS = 100 };

static TCase *suite_cases[SUITE_TESTS];
static int suite_count;

static inline TCase *suite_case(const char *name)
{
    if (suite_count == SUITE_TESTS)
        abort();
    return suite_cases[suite_count++] = tcase_create(name);
}

/* Defines a test; its body follows. That of LOOP_TEST runs with each _i from first to last - 1. */
#define TEST(name) LOOP_TEST(name, 0, 1)
#define LOOP_TEST(name, first, last)                                                               \
    static void name##_body(int _i);                                                               \
    START_TEST(name)                                                                               \
    {                                                                                              \
        name##_body(_i);                                                                           \
    }                                                                                              \
    END_TEST                                                                                       \
    __attribute__((constructor)) static void name##_add(void)                                      \
    {                                                                                              \
        tcase_add_loop_test(suite_case(#name), name, first, last);                                 \
    }                                                                                              \
    static void name##_body(int _i __attribute__((unused)))

/* Runs all tests, each between `before` and `after` (may be NULL) and for at most `timeout`
 * seconds; `name` is for messages. Returns the exit status. */
static inline int suite_run(const char *name, double timeout, void (*before)(void),
                            void (*after)(void))
{
    Suite *suite = suite_create(name);
    SRunner *runner = srunner_create(suite);

    for (int k = 0; k < suite_count; k++) {
        tcase_set_timeout(suite_cases[k], timeout);
        tcase_add_checked_fixture(suite_cases[k], before, after);
        suite_add_tcase(suite, suite_cases[k]);
    }
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}

/* The main function of a program of tests. */
#define SUITE(timeout, setup, teardown)                                                            \
    int main(void)                                                                                 \
    {                                                                                              \
        return suite_run(__FILE__, timeout, setup, teardown);                                      \
    }

/* ---- memory and texts, which live as long as the program ---- */

static inline void *suite_keep(void *memory)
{
    static void **kept; /* leak checkers find it here */
    static size_t count;

    kept = realloc(kept, (count + 1) * sizeof(*kept));
    if (!kept)
        abort();
    return kept[count++] = memory;
}

static inline __attribute__((format(printf, 1, 2))) char *suite_text(const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    return suite_keep(text.at);
}

/* All messages, a line each. */
static inline char *suite_messages(const grove_error *of)
{
    return suite_keep(grove_error_text(of));
}

#endif
