/* What a fit does tile by tile: the same bits for any tiles and threads, nothing computed or read
 * twice that does not depend on the parms; several fits in one tree. */
#include "solve-world.h"

#include "base/text.h"
#include "run/state.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static solve_world w;

static void setup(void)
{
    unsetenv("GROVE_CHECK_CACHE");
    solve_world_begin(&w);
}

static void teardown(void)
{
    solve_world_end(&w);
}

/* ---- the same bits ---- */

static const char *const fits[] = {
    "G[p] = parm(\"G\", jones=diagonal, time=4min, freq=4MHz)\n"
    "fit = solve(G[p] * M[p,q] * G[q]^H, D, batch=2%s)\n",
    "G[p] = parm(\"G\", jones=delay, time=4min) * parm(\"B\", jones=amplitude, time=4min)\n"
    "fit = solve(G[p] * M[p,q] * G[q]^H, D, batch=1, min_baseline=150m%s)\n",
    "G[p] = parm(\"G\", jones=phase, time=4min) * parm(\"B\", jones=amplitude, time=12min, "
    "freq=4MHz)\n"
    "fit = solve(G[p] * M[p,q] * G[q]^H + N[p,q], D, batch=1%s)\n",
    "G[p] = parm(\"G\", jones=full, degree=1, time=8min, freq=6MHz)\n"
    "fit = solve(G[p] * M[p,q] * G[q]^H, D, autocorrelations=true%s)\n",
};
enum { FITS = sizeof(fits) / sizeof(fits[0]) };

static char *tree_of(int fit, const char *options)
{
    char *text =
        grove_format("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                     "b = spoil(obs, share=0.2, weights=odd, nan=0.02)\n"
                     "D[p,q] = (T[p] * M[p,q] * T[q]^H + noise(obs, sigma=1Jy)) * b.value\n"
                     "%sk0 = keep(G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s)\n",
                     suite_text(fits[fit], options));

    return suite_keep(text);
}

static const grove_session_options ways[] = {
    TESTING_OPTIONS(.threads = 3),
    TESTING_OPTIONS(.threads = 1, .tile_times = 1),
    TESTING_OPTIONS(.threads = 3, .tile_times = 5, .tile_channels = 1),
    TESTING_OPTIONS(.threads = 2, .tile_times = 2, .tile_channels = 2, .tile_baselines = 3),
    TESTING_OPTIONS(.threads = 1, .tile_times = 4, .tile_channels = 5, .serial = true),
    TESTING_OPTIONS(.threads = 3, .tile_times = 6, .cache_off = true),
    TESTING_OPTIONS(.threads = 1, .memory = 8 << 20),
    TESTING_OPTIONS(.threads = 3, .memory = 8 << 20),
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static solve_kept copy_kept(const solve_kept *kept)
{
    solve_kept copy = *kept;
    size_t bytes = (size_t)(kept->cells * kept->elements) * sizeof(*kept->at);

    copy.at = malloc(bytes);
    memcpy(copy.at, kept->at, bytes);
    return copy;
}

/* Compressed and not, in both precisions. */
LOOP_TEST(same_bits, 0, 4 * FITS)
{
    bool compress = _i & 1, double_ = _i & 2;
    char *text = tree_of(_i / 4, compress ? "" : ", compress=false");
    grove_session_options options = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1);
    char said[sizeof(solve_world_said)];

    w.observe = ", autocorrelations=true";
    options.double_precision = double_;
    ck_assert_int_eq(solve_world_run(&w, text, &options), 0);
    ck_assert_msg(strstr(solve_world_said, "converged") != NULL, "%s", solve_world_said);
    memcpy(said, solve_world_said, sizeof(said));
    solve_kept first = copy_kept(&solve_world_kept[0]);
    for (int k = 0; k < WAYS; k++) {
        options = ways[k];
        options.device = "cpu";
        options.double_precision = double_;
        if (k == WAYS / 2)
            setenv("GROVE_CHECK_CACHE", "1", 1);
        memset(solve_world_kept[0].at, 0, (size_t)first.cells * sizeof(*first.at));
        ck_assert_int_eq(solve_world_run(&w, text, &options), 0);
        ck_assert_msg(!memcmp(first.at, solve_world_kept[0].at,
                              (size_t)(first.cells * first.elements) * sizeof(*first.at)),
                      "%s: way %d", text, k);
        ck_assert_str_eq(said, solve_world_said);
    }
    /* once more in the same session: from the same start */
    ck_assert_int_eq(grove_session_run(w.session), 0);
    ck_assert(!memcmp(first.at, solve_world_kept[0].at,
                      (size_t)(first.cells * first.elements) * sizeof(*first.at)));
    free(first.at);
}

/* ---- what is computed ---- */

static bool depends(const grove_node *node)
{
    if (node->kind == GROVE_NODE_MEMBER && !strcmp(node->leaf->class_->name, "parm"))
        return true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && depends(node->inputs[k].node))
            return true;
    return false;
}

static bool has_times(const grove_node *node)
{
    for (int d = 0; d < node->axis_count; d++)
        if (node->axes[d]->kind == GROVE_AXIS_TIME)
            return true;
    return false;
}

/* 3 tiles; nodes that depend on no parm run once in each, data are read once in each. */
LOOP_TEST(nothing_twice, 0, 4)
{
    static const char *const options[] = {"", ", compress=false", ", method=lm",
                                          ", method=block, max_iterations=5"};
    bool stefcal = _i == 0;
    char *text = suite_text(
        "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
        "E[p] = rotation(obs.parallactic)\n"
        "b = spoil(obs, share=0.2, weights=unequal)\n"
        "D[p,q] = (T[p] * E[p] * M[p,q] * E[q]^H * T[q]^H + noise(obs, sigma=1Jy)) * b.value\n"
        "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
        "fit = solve(G[p] * E[p] * M[p,q] * E[q]^H * G[q]^H, D, batch=2, min_baseline=90m%s)\n",
        options[_i]);
    grove_session_options how = GROVE_SESSION_OPTIONS(.device = "cpu", .double_precision = true,
                                                      .threads = 2, .tile_times = 4);
    int once = 0, often = 0;

    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    for (int k = 0; k < 3; k++)
        ck_assert_int_eq(solve_world_reads[k], 3);
    for (size_t i = 0; i < w.t.tree->node_count; i++) {
        const grove_node *node = w.t.tree->nodes[i];
        uint64_t calls = w.session->nodes[node->id].calls;
        if (!node->used || node->kind != GROVE_NODE_CLASS || !calls ||
            node->class_->kind == GROVE_CLASS_ACTION)
            continue;
        if (depends(node)) {
            often += calls > 3;
        } else {
            ck_assert_msg(calls <= 3, "'%s': %d calls", node->name, (int)calls);
            once += calls == 3 && has_times(node);
        }
    }
    ck_assert_int_gt(once, 4);
    /* StEFCal needs the tree at the start of a tile and at the end of one alone */
    ck_assert(stefcal || often > 0);
}

/* ---- starts ---- */

/* Domains start from the last solution of the batch before: far from init only the first of the 6
 * batches takes many steps, and where `once` they are one batch all do. */
TEST(starts_from_the_last)
{
    double iterations[2];

    for (int once = 0; once < 2; once++) {
        solve_world_pass(&w, suite_text("q = parm(\"q\", obs=obs, axes=none, init=1, time=4min)\n"
                                        "b = spoil(obs)\nfit = solve(q^5 * b.value, 1e8 * b.value, "
                                        "compress=false, tolerance=1e-9, batch=%d)\n"
                                        "k = keep(q + 0 * obs.time / 1s)\n",
                                        once ? 6 : 1));
        for (int64_t i = 0; i < solve_world_kept[0].cells; i++)
            ck_assert(cabs(solve_world_kept[0].at[i] - pow(1e8, 0.2)) < 1e-6);
        ck_assert_msg(strstr(solve_world_said, "6 converged; ") != NULL, "%s", solve_world_said);
        iterations[once] = atof(strstr(solve_world_said, "converged; ") + 11);
    }
    ck_assert_double_gt(iterations[1], 6);
    ck_assert_double_le(6 * iterations[0], iterations[1] + 6);
}

/* ---- what follows a fit ---- */

static int passes_of(void)
{
    grove_plan plan = GROVE_PLAN();

    return grove_session_plan(w.session, &plan) ? 0 : plan.passes;
}

/* What wants the solution of a tile alone is made as soon as it is known: tiles are read once. What
 * wants all times of something else is made later, and is the same. */
TEST(follows_in_the_tile)
{
    static const char text[] = "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                               "b = spoil(obs, share=0.2, weights=unequal)\n"
                               "D[p,q] = T[p] * M[p,q] * T[q]^H * b.value\n"
                               "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                               "fit = solve(G[p] * M[p,q] * G[q]^H, D, batch=2)\n"
                               "left[p,q] = D[p,q] - G[p] * M[p,q] * G[q]^H\n"
                               "k0 = keep(left * (2 * b.value))\n";
    static const char later[] = "k1 = keep((left + 0 * mean(M)) * (2 * b.value), number=1)\n";
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 2, .tile_times = 4);
    char *both = suite_text("%s%s", text, later);

    how.double_precision = true;
    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    ck_assert_int_eq(passes_of(), 1);
    ck_assert_int_eq(solve_world_reads[0], 3);
    solve_kept first = copy_kept(&solve_world_kept[0]);
    ck_assert_int_eq(solve_world_run(&w, both, &how), 0);
    ck_assert_int_eq(passes_of(), 3);
    for (int k = 0; k < 2; k++)
        ck_assert(!memcmp(first.at, solve_world_kept[k].at,
                          (size_t)(first.cells * first.elements) * sizeof(*first.at)));
    free(first.at);
}

/* What has no solution is no number in what follows, too, and other solutions do not know of it:
 * neither those of the tile nor those of later tiles. */
LOOP_TEST(unsolved_in_the_tile, 0, 3)
{
    static const char *const methods[] = {"", ", compress=false", ", method=lm"};
    grove_session_options how = GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 2,
                                                      .tile_times = 4, .double_precision = true);
    solve_kept keep = {0};
    int64_t missing = 0, found = 0;

    for (int nan = 0; nan < 2; nan++) {
        /* station 3 has no data */
        ck_assert_int_eq(
            solve_world_run(
                &w,
                suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                           "b = spoil(obs, station=3)\n"
                           "D[p,q] = T[p] * M[p,q] * T[q]^H * b.value\n"
                           "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                           "fit = solve(G[p] * M[p,q] * G[q]^H, D, batch=1, unsolved=%s%s)\n"
                           "k0 = keep((D[p,q] - G[p] * M[p,q] * G[q]^H) * (2 * b.value))\n",
                           nan ? "nan" : "keep", methods[_i]),
                &how),
            0);
        ck_assert_int_eq(passes_of(), 1);
        if (!nan)
            keep = copy_kept(&solve_world_kept[0]);
    }
    for (int64_t i = 0; i < keep.cells * keep.elements; i++) {
        double _Complex x = solve_world_kept[0].at[i];
        missing += isnan(creal(x));
        found += !isnan(creal(x));
        ck_assert(isnan(creal(x)) || x == keep.at[i]);
    }
    ck_assert_int_gt(missing, 0);
    ck_assert_int_gt(found, missing);
    free(keep.at);
}

/* Where a tile of both does not fit the memory, it is made later; the fit's own may then be a part
 * of the domain. */
TEST(follows_if_it_fits)
{
    static const char text[] = "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                               "D[p,q] = T[p] * M[p,q] * T[q]^H\n"
                               "G[p] = parm(\"G\", jones=diagonal)\n"
                               "fit = solve(G[p] * M[p,q] * G[q]^H, D)\n"
                               "k0 = keep(D - G[p] * M[p,q] * G[q]^H)\n";
    grove_session_options how =
        GROVE_SESSION_OPTIONS(.device = "cpu", .threads = 1, .double_precision = true);
    int found[3] = {0};

    ck_assert_int_eq(solve_world_run(&w, text, &how), 0);
    solve_kept first = copy_kept(&solve_world_kept[0]);
    for (uint64_t budget = 1 << 12; !found[1] && budget < 1 << 28; budget += budget / 16) {
        w.session->budget = w.session->memory = budget;
        int passes = passes_of();
        ck_assert_int_le(passes, 2);
        if (found[passes]++ || !passes)
            continue;
        memset(solve_world_kept[0].at, 0, (size_t)first.cells * sizeof(*first.at));
        ck_assert_int_eq(grove_session_run(w.session), 0);
        for (int64_t i = 0; i < first.cells * first.elements; i++)
            ck_assert(cabs(first.at[i] - solve_world_kept[0].at[i]) <= (passes == 1 ? 0 : 1e-9));
    }
    ck_assert_int_gt(found[2], 0);
    ck_assert_int_gt(found[1], 0);
    free(first.at);
}

/* ---- several fits ---- */

#define KEPT                                                                                       \
    "g[p] = G[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"                                       \
    "h[p] = H[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"                                       \
    "t[p] = T[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"                                       \
    "u[p] = U[p] + 0 * obs.freq / 1Hz + 0 * obs.time / 1s\n"                                       \
    "k0 = keep(g)\nk1 = keep(t, number=1)\nk2 = keep(h, number=2)\nk3 = keep(u, number=3)\n"

#define TERMS                                                                                      \
    "G[p] = parm(\"G\", jones=diagonal, time=4min)\n"                                              \
    "H[p] = parm(\"H\", jones=amplitude, time=8min)\n"                                             \
    "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"                                  \
    "U[p] = draw(obs, shape=diagonal, times=4, around=1, complex=false, seed=4).value\n"           \
    "D[p,q] = T[p] * M[p,q] * T[q]^H\n"                                                            \
    "R[p,q] = T[p] * U[p] * N[p,q] * U[q]^H * T[q]^H\n"

static const char after[] = ", tolerance=1e-13, max_iterations=200";

/* The second fit sees the first one's solution, whether it is asked for or by its parms alone. */
LOOP_TEST(one_after_the_other, 0, 4)
{
    const char *way = _i % 2 ? ", compress=false" : "";
    char *text = suite_text(
        TERMS "fit_g = solve(G[p] * M[p,q] * G[q]^H, D%s%s)\n"
              "fit_h = solve(G[p] * H[p] * N[p,q] * H[q]^H * G[q]^H, R, parms=%s%s%s)\n" KEPT,
        after, way, _i / 2 ? "H" : "[H]", after, way);

    solve_world_pass(&w, text);
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-9);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
    /* in the other order H makes up for what G is not yet */
    text =
        grove_format(TERMS "fit_h = solve(G[p] * H[p] * N[p,q] * H[q]^H * G[q]^H, R, parms=H%s%s)\n"
                           "fit_g = solve(G[p] * M[p,q] * G[q]^H, D%s%s)\n" KEPT,
                     after, way, after, way);
    solve_world_pass(&w, text);
    ck_assert_double_gt(solve_world_distance(2, 3), 1e-3);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

/* The same parms twice: what counts is the last; residuals between fits have the solution there. */
TEST(peeling)
{
    solve_world_pass(
        &w,
        TERMS "first = solve(G[p] * M[p,q] * G[q]^H, D, tolerance=1e-12)\n"
              "k0 = keep(D[p,q] - G[p] * M[p,q] * G[q]^H)\n"
              "second = solve(H[p] * N[p,q] * H[q]^H, U[p] * N[p,q] * U[q]^H, tolerance=1e-12)\n"
              "k1 = keep(N[p,q] - H[p]^-1 * (U[p] * N[p,q] * U[q]^H) * H[q]^-1^H, number=1)\n"
              "third = solve(G[p] * M[p,q] * G[q]^H, U[p] * M[p,q] * U[q]^H, tolerance=1e-12)\n"
              "k2 = keep(G[p] * M[p,q] * G[q]^H, number=2)\n"
              "k3 = keep(U[p] * M[p,q] * U[q]^H, number=3)\n");
    for (int64_t i = 0; i < solve_world_kept[0].cells * 4; i++) {
        ck_assert_double_lt(cabs(solve_world_kept[0].at[i]), 1e-8);
        ck_assert_double_lt(cabs(solve_world_kept[1].at[i]), 1e-8);
    }
    ck_assert_double_lt(solve_world_distance(2, 3), 1e-8);
}

/* ---- which parms ---- */

/* D = (G H) M (G H)^H with H known to be U: found where H is fixed, or not named. */
LOOP_TEST(chosen_parms, 0, 4)
{
    static const struct {
        const char *h, *parms;
    } cases[] = {{", fixed=true", ""}, {"", ", parms=G"}, {"", ", parms=[G]"}, {"", ", parms=J"}};
    solve_world_pass(
        &w, suite_text("%sU[p] = H[p]\n" KEPT,
                       suite_text("G[p] = parm(\"G\", jones=diagonal, time=4min)\n"
                                  "H[p] = parm(\"H\", jones=amplitude, init=2%s)\nJ[p] = G[p] * 3\n"
                                  "T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n"
                                  "fit = solve(J[p] * H[p] * M[p,q] * H[q]^H * J[q]^H, 36 * T[p] * "
                                  "M[p,q] * T[q]^H%s%s)\n",
                                  cases[_i].h, cases[_i].parms, after)));
    for (int64_t i = 0; i < solve_world_kept[2].cells * 2; i++)
        ck_assert(solve_world_kept[2].at[i] == 2);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

#define UNITY  "D[p,q] = 9 * T[p] * M[p,q] * T[q]^H\n"
#define BOTH   "V[p,q] = H[p] * G[p] * M[p,q] * G[q]^H * H[q]^H\n"
#define GAINS  "G[p] = parm(\"A\", jones=diagonal, time=4min)\n"
#define OTHER  "H[p] = parm(\"B\", jones=amplitude, init=3)\n"
#define WITHIN "template fit_of(J) {\n  X[p,q] = H[p] * J[p] * M[p,q] * J[q]^H * H[q]^H\n"

/* D = (H G) M (H G)^H: G is named, H stays 3, whatever else bears such names. */
static const char *const named[] = {
    /* a variable, not the parm that was given its name */
    "G[p] = parm(\"H\", jones=diagonal, time=4min)\nH[p] = parm(\"G\", jones=amplitude, "
    "init=3)\n" BOTH "fit = solve(V, D, parms=G%s)\n",
    "option what = G\nG[p] = parm(\"H\", jones=diagonal, time=4min)\n"
    "H[p] = parm(\"G\", jones=amplitude, init=3)\n" BOTH "fit = solve(V, D, parms=$what%s)\n",
    /* the name that the parm was given, where no variable has it */
    GAINS OTHER BOTH "fit = solve(V, D, parms=A%s)\n",
    GAINS OTHER BOTH "fit = solve(V, D, parms=[\"A\"]%s)\n",
    /* what nothing else needs, and what comes later */
    GAINS OTHER BOTH "both[p] = 2 * G[p]\nfit = solve(V, D, parms=both%s)\n",
    GAINS OTHER BOTH "fit = solve(V, D, parms=[both]%s)\nboth[p] = 2 * G[p]\n",
    GAINS OTHER BOTH "fit = solve(V, D, parms=G[p]%s)\n",
    GAINS OTHER BOTH "fit = solve(V, D, parms=choose(b, a=H, b=[G])%s)\n",
    /* parameters of templates */
    GAINS OTHER WITHIN "  fit = solve(X, D, parms=J%s)\n  last[p] = J[p]\n}\nl[p] = fit_of(G)\n",
    GAINS OTHER WITHIN "  fit = solve(X, D, parms=[J]%s)\n  last[p] = J[p]\n}\nl[p] = fit_of(G)\n",
    OTHER WITHIN "  fit = solve(X, D, parms=J%s)\n  last[p] = J[p]\n}\n"
                 "G[p] = fit_of(parm(\"A\", jones=diagonal, time=4min))\n",
    GAINS OTHER "template fit_of(what) {\n" BOTH
                "  fit = solve(V, D, parms=what%s)\n  last[p] = G[p]\n}\nl[p] = fit_of(A)\n",
    /* definitions in templates: theirs, not those of the file */
    "template fit_of(K) {\n  G[p] = parm(\"A\", jones=diagonal, time=4min)\n" BOTH
    "  fit = solve(V, D, parms=G%s)\n  last[p] = G[p]\n}\n" OTHER "G[p] = fit_of(2)\n",
};
enum { NAMED = sizeof(named) / sizeof(named[0]) };

LOOP_TEST(named_parms, 0, NAMED)
{
    solve_world_pass(&w,
                     suite_text("T[p] = draw(obs, shape=diagonal, times=2, around=1).value\n" UNITY
                                "%sU[p] = H[p]\n" KEPT,
                                suite_text(named[_i], after)));
    for (int64_t i = 0; i < solve_world_kept[2].cells * 2; i++)
        ck_assert(solve_world_kept[2].at[i] == 3);
    solve_world_align(0, 1, -1);
    ck_assert_double_lt(solve_world_distance(0, 1), 1e-9);
}

SUITE(60, setup, teardown)
