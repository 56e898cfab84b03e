/* Shared by the tests of sky models. */
#ifndef GROVE_TESTS_SKY_H
#define GROVE_TESTS_SKY_H

#include "base/text.h"
#include "base/unit.h"
#include "nodes/sky/sky.h"
#include "tests/common/suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEGREE      (M_PI / 180)
#define ARCSEC      (DEGREE / 3600)
#define LIGHT_SPEED 299792458.0

static inline void near(double value, double expected)
{
    ck_assert_double_le(fabs(value - expected), 4e-16 * fabs(expected));
}

static inline grove_sky *parsed(const char *text)
{
    grove_error *error = grove_error_new();
    grove_sky *sky = grove_sky_parse(text, "s.txt", error);
    ck_assert_str_eq(suite_messages(error), "");
    grove_error_free(error);
    ck_assert_ptr_nonnull(sky);
    return sky;
}

/* The whole message about an invalid text. */
static inline char *refusal(const char *text)
{
    grove_error *error = grove_error_new();
    grove_sky *sky = grove_sky_parse(text, "s.txt", error);
    ck_assert_msg(!sky, "accepted:\n%s", text);
    char *message = grove_error_text(error);
    grove_error_free(error);
    return suite_keep(message);
}

static inline void refused(const char *text, const char *expected)
{
    ck_assert_str_eq(refusal(text), expected);
}

/* Checks that "LINE:COLUMN: error: MESSAGE" is the only error. */
static inline void refused_with(const char *text, const char *expected)
{
    char *message = refusal(text), *full = suite_text("s.txt:%s\n", expected);
    char *end = strchr(message, '\n');
    ck_assert_ptr_nonnull(end);
    ck_assert_msg(!strstr(end, "error: "), "%s", message);
    end[1] = 0;
    ck_assert_str_eq(message, full);
}

static inline char *data_file(const char *name)
{
    const char *given = getenv("GROVE_TEST_DATA"), *source = getenv("GROVE_SOURCE");
    char *path = given ? suite_text("%s/sky/%s", given, name)
                       : suite_text("%s/../shared/data/sky/%s", source ? source : ".", name);
    if (access(path, R_OK) != 0) {
        printf("%s is not there: skipped\n", path);
        return NULL;
    }
    return path;
}

#endif
