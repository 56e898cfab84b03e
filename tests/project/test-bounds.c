/* The bounds of bench/bounds.h against numbers by hand, and their picture. */
#include "../bench/bounds.h"

#include "base/file.h"
#include "tests/common/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 100 multiply-adds a second, a pair of sine and cosine costs 25 of them. */
static const bench_limits core = {.peak = 100, .phases = 4, .cache = 200, .memory = 20};

TEST(mixed)
{
    ck_assert_double_eq_tol(bench_mixed_bound(&core, 25), 50, 1e-12);
    ck_assert_double_eq_tol(bench_mixed_bound(&core, 75), 75, 1e-12);
    ck_assert_double_eq_tol(bench_mixed_bound(&core, 1), 100.0 / 26, 1e-12);
    ck_assert_double_eq_tol(bench_mixed_bound(&core, 17), 100 * 17.0 / 42, 1e-12);
    ck_assert(bench_mixed_bound(&core, INFINITY) == 100);
    ck_assert(bench_mixed_bound(&core, 0) == 0);
    /* the paper's: 17 multiply-adds beside a pair that costs 68 leave a fifth of the peak */
    const bench_limits paper = {.peak = 2.6e12 / 2, .phases = 2.6e12 / 2 / 68};
    ck_assert_double_eq_tol(bench_mixed_bound(&paper, 17) / paper.peak, 0.2, 1e-12);
    const bench_limits without = {.peak = 100};
    ck_assert(bench_mixed_bound(&without, 1) == 100);
}

static const struct {
    bench_work work;
    double bound;
    bench_reason reason;
} works[] = {
    {{.operations = 10}, 100, BENCH_BY_PEAK},
    {{.operations = 10, .memory = 1}, 100, BENCH_BY_PEAK},  /* 200 by memory */
    {{.operations = 10, .memory = 4}, 50, BENCH_BY_MEMORY}, /* 2.5 per byte */
    {{.operations = 10, .cache = 40}, 50, BENCH_BY_CACHE},  /* 0.25 per byte */
    {{.operations = 10, .memory = 4, .cache = 80}, 25, BENCH_BY_CACHE},
    {{.operations = 10, .memory = 8, .cache = 40}, 25, BENCH_BY_MEMORY},
    {{.operations = 150, .phases = 2}, 75, BENCH_BY_PEAK},           /* 75 for a pair */
    {{.operations = 49, .phases = 2}, 4900.0 / 99, BENCH_BY_PHASES}, /* 25 for a pair */
    {{.operations = 50, .phases = 2, .memory = 40}, 25, BENCH_BY_MEMORY},
    {{.operations = 50, .phases = 2, .memory = 10, .cache = 100}, 50, BENCH_BY_PHASES},
};
enum { WORKS = sizeof(works) / sizeof(works[0]) };

LOOP_TEST(least, 0, WORKS)
{
    const bench_limits unknown = {.peak = 100};
    bench_reason reason;

    ck_assert_double_eq_tol(bench_bound(&core, &works[_i].work, &reason), works[_i].bound, 1e-12);
    ck_assert_int_eq(reason, works[_i].reason);
    /* what was not measured bounds nothing */
    ck_assert(bench_bound(&unknown, &works[_i].work, &reason) == 100);
    ck_assert_int_eq(reason, BENCH_BY_PEAK);
}

TEST(names)
{
    ck_assert_str_eq(bench_reason_text(BENCH_BY_PEAK), "multiply-adds");
    ck_assert_str_eq(bench_reason_text(BENCH_BY_PHASES), "sines and cosines");
    ck_assert_str_eq(bench_reason_text(BENCH_BY_CACHE), "cache");
    ck_assert_str_eq(bench_reason_text(BENCH_BY_MEMORY), "memory");
}

/* One chart, and two with mixtures; labels of all that is known. */
LOOP_TEST(drawn, 0, 3)
{
    static bench_roofline r = {.title = "T", .subtitle = "S"};
    char path[] = "/tmp/grove-bounds-XXXXXX.svg";
    int file = mkstemps(path, 4);
    size_t length;

    ck_assert_int_ge(file, 0);
    close(file);
    r.limits = core;
    r.points[0] = (bench_point){"a kernel", 2, 30, 40};
    r.count = 1;
    r.mixtures[0] = (bench_mixture){1, 3};
    r.mixtures[1] = (bench_mixture){17, 30};
    r.mixture_count = _i ? 2 : 0;
    if (_i == 2)
        r.limits.phases = 0;
    int code = bench_roofline_draw(&r, path);
    char *text = suite_keep(code ? NULL : grove_file_read(path, 1 << 24, true, &length, NULL));
    unlink(path);
    if (code) /* a build without pictures */
        return;
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "a kernel"));
    ck_assert_ptr_nonnull(strstr(text, "the bound of each kernel"));
    ck_assert((strstr(text, "17 multiply-adds for each sine and cosine") != NULL) == (_i != 2));
    ck_assert((strstr(text, "bound: peak / (1 + c / r)") != NULL) == (_i > 0));
}

SUITE(60, NULL, NULL)
