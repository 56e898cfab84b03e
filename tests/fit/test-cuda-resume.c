/* Fits on emulated devices that are interrupted and resumed there: the same table to the last bit,
 * with less work; on another device they are not resumed. */
#include "solve-world.h"
#include "tests/common/cuda-testing.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "nodes/fit/checkpoint.h"
#include "run/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static solve_world w;
static char *path, *checkpoint;

static void setup(void)
{
    solve_world_begin(&w);
    cuda_testing_begin(); /* watches messages */
    cuda_testing_reset(0);
    path = grove_format("%s/gains.h5", w.t.folder);
    checkpoint = grove_format("%s.checkpoint", path);
}

static void teardown(void)
{
    free(path);
    free(checkpoint);
    solve_world_end(&w);
}

static const char *const fits[] = {
    "\"G\", jones=diagonal, time=4min)|", /* StEFCal */
    "\"G\", jones=diagonal, time=4min)|, method=lm, errors=true",
    "\"G\", jones=full, time=4min, freq=4MHz)|, compress=false",
    "\"G\", jones=delay, time=4min)|, compress=false",
};
enum { FITS = sizeof(fits) / sizeof(fits[0]) };
static const char *const devices[] = {"cuda", "cuda:all"};
enum { DEVICES = sizeof(devices) / sizeof(devices[0]) };

static char *make_tree(const char *fit)
{
    const char *options = strchr(fit, '|');

    return suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                      "G[p] = parm(%.*s\nV[p,q] = G[p] * M[p,q] * G[q]^H\n"
                      "b = spoil(obs)\n"
                      "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)) * b.value\n"
                      "fit = solve(V, D, batch=1, to=\"%s\", overwrite=true%s)\n",
                      (int)(options - fit), fit, path, options + 1);
}

static char *table(size_t *length)
{
    char *bytes = grove_file_read(path, 1 << 28, false, length, w.t.error);

    ck_assert(bytes && !grove_path_exists(checkpoint));
    return suite_keep(bytes);
}

/* The same tree again: its files are the same. */
static int run_again(const grove_session_options *options)
{
    grove_session_free(w.session);
    w.session = grove_session_new(w.t.tree, options, w.t.error);
    return w.session ? grove_session_run(w.session) : GROVE_INVALID;
}

static int64_t launches(void)
{
    return (int64_t)grove_session_counters(w.session)->launches;
}

LOOP_TEST(the_same_table, 0, FITS *DEVICES)
{
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.device = devices[_i % DEVICES], .double_precision = true,
                              .threads = 1, .tile_times = 2);
    char *tree = make_tree(fits[_i / DEVICES]);
    size_t length, now;
    int domains = 0;

    if (cuda_testing_control())
        cuda_testing_control()->devices = 2;
    ck_assert_int_eq(solve_world_run(&w, tree, &options), 0);
    int64_t whole = launches();
    char *before = table(&length);
    ck_assert(!unlink(path));

    solve_world_interrupt = solve_world_reads[0] + 4;
    ck_assert_int_eq(run_again(&options), GROVE_INTERRUPTED);
    grove_interrupt_set(false);
    solve_world_interrupt = 0;
    ck_assert(!grove_path_exists(path));
    grove_error_clear(w.t.error);
    char *text = suite_keep(grove_checkpoint_describe(checkpoint, w.t.error));
    ck_assert(text && sscanf(text, "checkpoint of gains.h5: %d solution", &domains) == 1);
    ck_assert_int_gt(domains, 0);

    options.resume = true;
    options.device = "cpu";
    ck_assert_int_ne(run_again(&options), 0);
    text = suite_messages(w.t.error);
    ck_assert_msg(strstr(text, "differs in the device, and") != NULL, "%s", text);
    grove_error_clear(w.t.error);

    options.device = devices[_i % DEVICES];
    if (cuda_testing_control())
        cuda_testing_control()->seed = 7; /* streams run in another order */
    ck_assert_int_eq(run_again(&options), 0);
    ck_assert_int_gt(launches(), 0);
    ck_assert_int_lt(launches(), whole);
    char *after = table(&now);
    ck_assert(now == length && !memcmp(after, before, now));
}

CUDA_SUITE(120, setup, teardown)
