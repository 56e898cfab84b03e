/* What counts in a fit: flags, weights, data that are no numbers, baselines that are left out, and
 * a share of data that is too small. */
#include "solve-world.h"

#include "base/text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

/* Fits gains to data with the factor spoil(obs, SPOIL), with more options of solve. */
static void fit(const char *parm, const char *truth, const char *spoil, const char *options)
{
    solve_world_pass(&w, suite_text("%s\n%s\nb = spoil(obs%s)\nV[p,q] = G[p] * M[p,q] * G[q]^H\n"
                                    "D[p,q] = T[p] * M[p,q] * T[q]^H * b.value\n"
                                    "fit = solve(V, D, tolerance=1e-13, max_iterations=300%s)\n"
                                    "g[p] = G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"
                                    "t[p] = T[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"
                                    "k0 = keep(g)\nk1 = keep(t, number=1)\nk2 = keep(V, "
                                    "number=2)\nk3 = keep(D, number=3)\n",
                                    parm, truth, spoil, options));
}

static const char diagonal[] = "G[p] = parm(\"G\", jones=diagonal, time=4min, init=0.9)";
static const char full[] = "G[p] = parm(\"G\", jones=full, time=4min, init=0.9)";
static const char phase[] = "G[p] = parm(\"G\", jones=phase, time=4min)";
static const char scalar[] = "G[p] = parm(\"G\", jones=scalar, time=4min, init=0.9)";
static const char diagonal_truth[] = "T[p] = draw(obs, shape=diagonal, times=2, around=1).value";
static const char full_truth[] = "T[p] = draw(obs, shape=matrix, times=2, around=1).value";
static const char phase_truth[] =
    "a = draw(obs, times=2, complex=false, spread=0.7).value\n"
    "b2 = draw(obs, times=2, complex=false, spread=0.7, seed=2).value\n"
    "T[p] = diagonal(exp(1i * a[p]), exp(1i * b2[p]))";

static const char scalar_truth[] = "T[p] = draw(obs, times=2, around=1).value";

static const struct {
    const char *parm, *truth;
} terms[] = {
    {diagonal, diagonal_truth}, {full, full_truth}, {phase, phase_truth}, {scalar, scalar_truth}};
enum { FULL = 1, PHASE, SCALAR, TERMS = sizeof(terms) / sizeof(terms[0]) };

/* Blocks converge slowly where few data tell what stations have in common, such as the phase
 * between X and Y: the last term has none. */
static const char *const ways[] = {"", ", compress=false", ", method=lm", ", method=block",
                                   ", method=block, compress=false"};
enum { WAYS = sizeof(ways) / sizeof(ways[0]), BLOCKS = 2 };

/* ---- flags, weights and NaN: the truth all the same ---- */

static const struct {
    const char *options;
    int station;
} spoils[] = {
    {", share=0.3", -1},
    {", share=0.3, shape=diagonal", -1},
    {", share=0.2, station=3, channel=2", 3},
    {", station=0", 0},
    {", share=0.1, nan=0.1", -1},
    {", weights=unequal", -1},
    {", weights=odd, share=0.1, nan=0.02", -1},
};
enum { SPOILS = sizeof(spoils) / sizeof(spoils[0]) };

LOOP_TEST(spoilt_data, 0, TERMS *SPOILS *WAYS)
{
    int term = _i / SPOILS / WAYS, without = spoils[_i % SPOILS].station;
    const char *way = ways[_i / SPOILS % WAYS];
    const solve_kept *found = &solve_world_kept[0];

    if (term != SCALAR && _i / SPOILS % WAYS >= WAYS - BLOCKS)
        return;
    fit(terms[term].parm, terms[term].truth, spoils[_i % SPOILS].options, way);
    for (int64_t i = 0; without >= 0 && i < found->cells; i++)
        if (i / found->size[2] % found->size[1] == without)
            for (int e = 0; e < found->elements; e++) {
                double kept = term == PHASE ? 1 : term == FULL && e % 3 ? 0 : 0.9;
                ck_assert(found->at[i * found->elements + e] == kept);
            }
    solve_world_align(0, 1, without);
    double distance = solve_world_distance_without(0, 1, without);
    ck_assert_msg(distance < 1e-9, "%g of %s%s%s: %s", distance, terms[term].parm,
                  spoils[_i % SPOILS].options, way, solve_world_said);
}

/* Some cells of the model are NaN or infinite: they do not count. */
LOOP_TEST(spoilt_model, 0, WAYS)
{
    solve_world_pass(&w, suite_text("%s\n%s\nb = spoil(obs, nan=0.2)\n"
                                    "V[p,q] = G[p] * (M[p,q] * b.value) * G[q]^H\n"
                                    "D[p,q] = T[p] * M[p,q] * T[q]^H\n"
                                    "fit = solve(V, D, tolerance=1e-13, max_iterations=300%s)\n"
                                    "k0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n"
                                    "k1 = keep(T, number=1)\n",
                                    scalar, scalar_truth, ways[_i]));
    ck_assert_msg(strstr(solve_world_said, "6 converged") != NULL, "%s", solve_world_said);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* Data of one number for each baseline count for XX and for YY of a model of matrices. */
LOOP_TEST(data_of_one_number, 0, WAYS)
{
    solve_world_pass(&w, suite_text("%s\n%s\nm[p,q] = trace(M[p,q])\n"
                                    "D[p,q] = T[p] * m[p,q] * conj(T[q])\n"
                                    "V[p,q] = G[p] * m[p,q] * G[q]^H\n"
                                    "fit = solve(V, D, tolerance=1e-13, max_iterations=300%s)\n"
                                    "k0 = keep(trace(V[p,q]) / 2)\nk1 = keep(D, number=1)\n",
                                    diagonal, scalar_truth, ways[_i]));
    ck_assert_msg(strstr(solve_world_said, "6 converged") != NULL, "%s", solve_world_said);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* ---- what counts, on a model that the data do not have ---- */

/* The data have another sky than the model, so that solutions depend on each datum and its weight.
 */
static void fit_wrong(const char *jones, const char *spoil, const char *options, int number)
{
    char *text =
        grove_format("G[p] = parm(\"G\", jones=%s, time=4min)\n"
                     "T[p] = draw(obs, shape=diagonal, around=1, times=1).value\n"
                     "b = spoil(obs%s)\nV[p,q] = G[p] * M[p,q] * G[q]^H\n"
                     "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=2Jy)) * b.value\n"
                     "fit = solve(V, D, tolerance=1e-12%s%s)\n"
                     "g[p] = G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"
                     "k0 = keep(g, number=%d)\n",
                     jones, spoil, strstr(options, "max_iterations") ? "" : ", max_iterations=500",
                     options, number);

    solve_world_pass(&w, text);
    free(text);
}

static const struct {
    const char *spoil, *options, *same_spoil, *same_options;
    bool differs; /* from a fit to all */
} same[] = {
    /* what is left out is as if flagged */
    {"", ", min_baseline=150m", ", shorter=150", "", true},
    {"", ", max_baseline=450m", ", longer=450", "", true},
    {"", ", min_baseline=150m, max_baseline=450m", ", shorter=150, longer=450", "", true},
    {"", ", min_baseline=75", ", shorter=75, waves=true", "", true},
    {"", ", max_baseline=231.5", ", longer=231.5, waves=true", "", true},
    {"", ", min_baseline=0m, max_baseline=0.0002km + 300m", ", longer=300.2", "", true},
    /* baselines of exactly these lengths are in */
    {"", ", min_baseline=100m, max_baseline=700m", "", "", false},
    /* the set's own weights and given ones */
    {", weights=unequal", "", ", weights=unequal", ", weights=b.weight", true},
    {", weights=unequal", ", weights=1", "", "", false},
    {", weights=unequal", ", weights=b.weight", ", weights=unequal", ", weights=1000 * b.weight",
     true},
    /* a quota that is met changes nothing */
    {", share=0.3", ", quota=0.6", ", share=0.3", "", true},
};
enum { SAMES = sizeof(same) / sizeof(same[0]) };

LOOP_TEST(the_same, 0, 2 * SAMES)
{
    const char *way = _i / SAMES ? ", compress=false" : "";
    char *options = suite_text("%s%s", same[_i % SAMES].options, way);
    char *same_options = suite_text("%s%s", same[_i % SAMES].same_options, way);

    fit_wrong("diagonal", same[_i % SAMES].spoil, options, 0);
    fit_wrong("diagonal", same[_i % SAMES].same_spoil, same_options, 1);
    fit_wrong("diagonal", "", way, 2);
    solve_world_align(0, 2, -1);
    solve_world_align(1, 2, -1);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-7, "%s: %g", options, solve_world_distance(0, 1));
    if (same[_i % SAMES].differs)
        ck_assert_msg(solve_world_distance(0, 2) > 1e-4, "%s", options);
    else
        ck_assert_double_lt(solve_world_distance(0, 2), 1e-7);
}

/* Compressed or not, with any method: the same minimum. */
LOOP_TEST(ways_agree, 0, 8)
{
    const char *jones = _i % 4 > 1 ? "scalar" : "diagonal";
    const char *spoil = _i / 4 ? ", weights=odd, share=0.2, nan=0.05" : "";
    static const char *const others[] = {", method=stefcal", ", method=lm", ", method=block",
                                         ", method=block, compress=false"};
    char first[sizeof(solve_world_said)], *at, *of;

    fit_wrong(jones, spoil, ", compress=false, method=lm", 0);
    snprintf(first, sizeof(first), "%s", solve_world_said);
    fit_wrong(jones, spoil, others[_i % 4], 1);
    solve_world_align(1, 0, -1);
    ck_assert_msg(solve_world_distance(0, 1) < 1e-7, "%s: %g", others[_i % 4],
                  solve_world_distance(0, 1));
    /* chi-squared, too */
    at = strstr(first, "freedom "), of = strstr(solve_world_said, "freedom ");
    ck_assert_msg(at && of && fabs(atof(at + 8) / atof(of + 8) - 1) < 1e-3, "%s %s\n%s",
                  others[_i % 4], first, solve_world_said);
}

/* Each step, too. */
LOOP_TEST(steps_agree, 0, 16)
{
    static const char *const jones[] = {"diagonal", "full", "phase", "amplitude"};
    char *least[2];

    for (int k = 0; k < 2; k++) {
        fit_wrong(
            jones[_i % 4], ", weights=odd, share=0.2, nan=0.05",
            suite_text(", method=lm, max_iterations=%d%s", 1 + _i / 4, k ? ", compress=false" : ""),
            k);
        least[k] = strdup(solve_world_said);
    }
    ck_assert_str_eq(least[0], least[1]); /* chi-squared, to four digits */
    ck_assert_msg(solve_world_distance(0, 1) < 1e-9, "%g", solve_world_distance(0, 1));
    free(least[0]);
    free(least[1]);
}

/* ---- autocorrelations ---- */

/* Those of the data are a hundred times too bright: they count only if asked for. */
LOOP_TEST(autocorrelations, 0, 2 * TERMS)
{
    const char *way = _i % 2 ? ", compress=false" : "";
    char *asked = suite_text(", autocorrelations=true%s", way);

    w.observe = ", autocorrelations=true";
    fit(terms[_i / 2].parm, terms[_i / 2].truth, ", autocorrelations=100", way);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
    fit(terms[_i / 2].parm, terms[_i / 2].truth, "", asked);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
    fit(terms[_i / 2].parm, terms[_i / 2].truth, ", autocorrelations=100", asked);
    solve_world_align(0, 1, -1);
    ck_assert(_i / 2 == PHASE || solve_world_distance(0, 1) > 1e-3); /* those have no phase */
}

/* ---- quota ---- */

/* Of 6 solution domains the last 4 are flagged; they keep the start value. */
LOOP_TEST(too_few_data, 0, 2)
{
    const char *way = _i ? ", compress=false" : "";
    char *options = suite_text(", quota=0.5%s", way);
    const solve_kept *found = &solve_world_kept[0];
    int64_t count = found->cells;

    fit(diagonal, diagonal_truth, ", first_time=4", options);
    ck_assert_msg(strstr(solve_world_said, "2 converged") &&
                      strstr(solve_world_said, "4 not enough data"),
                  "%s", solve_world_said);
    count = found->cells * found->elements;
    ck_assert_int_gt(count, 0);
    for (int64_t i = 0; i < count; i++)
        ck_assert((found->at[i] == 0.9) == (i >= count / 3));
}

LOOP_TEST(below_quota, 0, 2)
{
    const char *way = _i ? ", compress=false" : "";
    solve_world_refuse(&w,
                       suite_text("%s\nb = spoil(obs, share=0.3)\nV[p,q] = G[p] * M[p,q] * G[q]^H\n"
                                  "fit = solve(V, M * b.value, quota=0.8%s)\n",
                                  diagonal, way),
                       "there is nothing to fit to: of 6 solution domains 6 not enough data");
}

SUITE(60, setup, teardown)
