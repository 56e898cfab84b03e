/* solve: parms of every kind are found again from noise-free data; flags, weights and baselines that
 * are left out; intervals that differ; the same bits for any tiles and threads; faults. */
#include "solve-world.h"

#include "base/text.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

static solve_world w;

static void setup(void)
{
    solve_world_begin(&w);
}

static void teardown(void)
{
    solve_world_end(&w);
}

/* ---- noise-free ---- */

/* keep 0: what was found, keep 1: the truth, of [time station freq]; the data do not tell the phase
 * that is common to all stations. */
static void align(void)
{
    solve_kept *found = &solve_world_kept[0];
    const solve_kept *truth = &solve_world_kept[1];
    int64_t times = found->axis[0]->size, stations = found->axis[1]->size,
            channels = found->axis[2]->size;

    ck_assert_int_eq(found->cells, times * stations * channels);
    for (int64_t t = 0; t < times; t++)
        for (int64_t f = 0; f < channels; f++) {
            double complex sum = 0;
            for (int64_t n = 0; n < stations * found->elements; n++) {
                int64_t at = ((t * stations + n / found->elements) * channels + f) * found->elements;
                sum += truth->at[at + n % found->elements] *
                       conj(found->at[at + n % found->elements]);
            }
            for (int64_t n = 0; n < stations * found->elements; n++) {
                int64_t at = ((t * stations + n / found->elements) * channels + f) * found->elements;
                found->at[at + n % found->elements] *= sum / cabs(sum);
            }
        }
}

static const struct {
    const char *parms, *truth;
} kinds[] = {
    {"G[p] = parm(\"G\", jones=diagonal, time=4min)",
     "T[p] = draw(obs, shape=diagonal, times=2, around=1).value + 0 * obs.freq / 1Hz"},
    {"G[p] = parm(\"G\", jones=scalar, time=4min, freq=4MHz)",
     "T[p] = draw(obs, times=2, channels=2, around=1).value"},
    {"G[p] = parm(\"G\", jones=full, freq=6MHz)",
     "T[p] = draw(obs, shape=matrix, channels=3, around=1).value + 0 * obs.time / 1s"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

START_TEST(found_again)
{
    char *text = grove_format("%s\n%s\nV[p,q] = G[p] * M[p,q] * G[q]^H\nD[p,q] = T[p] * M[p,q] * "
                              "T[q]^H\nfit = solve(V, D, parms=G, tolerance=1e-12)\n"
                              "g[p] = G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"
                              "a = keep(g)\nb = keep(T, number=1)\nc = keep(V, number=2)\nd = "
                              "keep(D, number=3)\n",
                              kinds[_i].parms, kinds[_i].truth);
    solve_world_pass(&w, text);
    free(text);
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-9);
    align();
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("solve");
    TCase *fits = tcase_create("noise-free");

    tcase_add_checked_fixture(fits, setup, teardown);
    tcase_add_loop_test(fits, found_again, 0, KINDS);
    suite_add_tcase(suite, fits);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
