/* Amplitudes and phases that StEFCal finds as one complex number, or phases of their own, and
 * models with a term without parms: each parm is what Levenberg-Marquardt makes of it from the same
 * start, with flags, weights and errors. */
#include "solve-world.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

SOLVE_WORLD_FIXTURE

/* m and x: amplitude and phase; `m` and `x`: their numbers, or errors, that are compared. */
static const struct {
    const char *parms, *model, *sky, *m, *x;
} cases[] = {
#define MEMBER(name) name ".value%1$s"
#define PAIR(name)   "diagonal(" name ".x%1$s, " name ".y%1$s)"
    {"m[p] = parm(\"m\", init=1, time=6min)\nx[p] = parm(\"x\", init=0, time=6min)\n",
     "m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H", "J[p] * M[p,q] * J[q]^H",
     MEMBER("m"), MEMBER("x")},
    /* from a phase far from the principal branch, and a negative amplitude */
    {"m[p] = parm(\"m\", init=-1, time=6min)\nx[p] = parm(\"x\", init=9.5, time=6min)\n",
     "m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H", "J[p] * M[p,q] * J[q]^H",
     MEMBER("m"), MEMBER("x")},
    {"m[p] = parm(\"m\", init=1, time=6min)\nx[p] = parm(\"x\", init=-6deg, time=6min)\n",
     "m[p] * m[q] * exp(1i * (x[p] - x[q]) / 1rad) * M[p,q] + N[p,q] * c.value",
     "J[p] * M[p,q] * J[q]^H + N[p,q]", MEMBER("m"), MEMBER("x")},
    {"m[p] = parm(\"m\", jones=amplitude, time=6min)\n"
     "x[p] = parm(\"x\", jones=phase, time=6min)\n",
     "m[p] * x[p] * M[p,q] * (m[q] * x[q])^H", "J[p] * M[p,q] * J[q]^H", PAIR("m"), PAIR("x")},
    {"m[p] = parm(\"m\", jones=amplitude, time=6min)\n"
     "x[p] = parm(\"x\", jones=phase, time=6min)\n",
     "N[p,q] * c.value - x[p] * m[p] * M[p,q] * x[q]^H * m[q]^H", "N[p,q] - J[p] * M[p,q] * J[q]^H",
     PAIR("m"), PAIR("x")},
    {"x[p] = parm(\"x\", init=0.5, time=6min)\n",
     "exp(1i * x[p]) * M[p,q] * exp(1i * x[q])^H + N[p,q] * c.value",
     "Y[p] * M[p,q] * Y[q]^H + N[p,q]", MEMBER("x"), NULL},
    {"m[p] = parm(\"m\", init=1.5, time=6min)\n", "m[p] * M[p,q] * m[q] - N[p,q] * c.value",
     "e[p] * M[p,q] * e[q] - N[p,q]", MEMBER("m"), NULL},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static const char *const options[] = {"", ", errors=true", ", robust=student_t",
                                      ", quota=0.2, batch=1"};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

/* The data have noise, flags, odd weights, and nothing of station 5. */
static void run(int k, const char *more, const char *method, int to)
{
    const char *suffix = strstr(more, "errors") ? "_error" : "";
    char *m = suite_text(cases[k].m, suffix),
         *x = suite_text(cases[k].x ? cases[k].x : cases[k].m, suffix);
    solve_world_pass(
        &w,
        suite_text("%sb = spoil(obs, share=0.2, weights=odd, nan=0.02, station=5)\n"
                   "c = spoil(obs, share=0.1, nan=0.02, seed=4)\n"
                   "a = draw(obs, times=3, complex=false, spread=0.3).value\n"
                   "e = draw(obs, times=3, complex=false, spread=0.3, around=1, seed=2).value\n"
                   "Y[p] = exp(1i * a[p])\nJ[p] = e[p] * Y[p]\n"
                   "V[p,q] = %s\n"
                   "D[p,q] = (%s + noise(obs, sigma=0.5Jy)) * b.value\n"
                   "fit = solve(V, D, reference=\"0\", tolerance=1e-10, max_iterations=1000%s%s)\n"
                   "k0 = keep(%s, number=%d)\nk1 = keep(%s, number=%d)\n",
                   cases[k].parms, cases[k].model, cases[k].sky, more, method, m, to, x, to + 1));
}

LOOP_TEST(as_lm, 0, CASES *OPTIONS)
{
    int k = _i / OPTIONS;

    run(k, options[_i % OPTIONS], "", 0);
    char *notes = grove_tree_show(w.t.tree);
    ck_assert_msg(strstr(notes, "method: stefcal") != NULL, "%s", strstr(notes, "fit = "));
    free(notes);
    char *first = suite_text("%s", solve_world_said);
    run(k, options[_i % OPTIONS], ", method=lm", 2);
    /* not in as many iterations */
    ck_assert(_i % OPTIONS || strcmp(first, solve_world_said) != 0);
    for (int n = 0; n < 2; n++) {
        const solve_kept *a = &solve_world_kept[n], *b = &solve_world_kept[n + 2];
        ck_assert_int_gt(a->cells, 8);
        ck_assert_int_eq(a->cells, b->cells);
        for (int64_t i = 0; i < a->cells * a->elements; i++)
            ck_assert_msg((isnan(creal(a->at[i])) && isnan(creal(b->at[i]))) ||
                              cabs(a->at[i] - b->at[i]) < 1e-5,
                          "%s: %g and %g\n%s", cases[k].model, creal(a->at[i]), creal(b->at[i]),
                          solve_world_said);
    }
}

/* The same is said of what the data leave free. */
LOOP_TEST(free_words, 0, CASES)
{
    char *said[2];

    for (int k = 0; k < 2; k++) {
        char *text = suite_text("%sD[p,q] = M[p,q] + noise(obs, sigma=0.5Jy)\nV[p,q] = %s\n"
                                "c = spoil(obs)\nfit = solve(V, D%s)\n",
                                cases[_i].parms, cases[_i].model, k ? ", method=lm" : "");
        solve_world_free[0] = 0;
        solve_world_pass(&w, text);
        said[k] = grove_format("%s", solve_world_free);
    }
    ck_assert_str_eq(said[0], said[1]);
    ck_assert_msg(!strstr(cases[_i].parms, "x[p]") == !strstr(said[0], "x"), "%s", said[0]);
    free(said[0]);
    free(said[1]);
}

/* Without noise the truth is found, to what the reference leaves. */
TEST(truth)
{
    solve_world_pass(&w,
                     "a = draw(obs, times=3, complex=false, spread=0.6).value\n"
                     "e = draw(obs, times=3, complex=false, spread=0.3, around=1, seed=2).value\n"
                     "J[p] = e[p] * exp(1i * a[p])\n"
                     "m[p] = parm(\"m\", init=1, time=6min)\n"
                     "x[p] = parm(\"x\", init=6.5, time=6min)\n"
                     "V[p,q] = m[p] * exp(1i * x[p]) * M[p,q] * (m[q] * exp(1i * x[q]))^H + N\n"
                     "fit = solve(V, J[p] * M[p,q] * J[q]^H + N, reference=\"0\", "
                     "tolerance=1e-12, method=stefcal)\n"
                     "k0 = keep(m)\nk1 = keep(e, number=1)\n"
                     "k2 = keep(x, number=2)\nk3 = keep(a, number=3)\n");
    const solve_kept *kept = solve_world_kept;
    int64_t stations = kept[0].size[1];
    ck_assert_int_eq(kept[0].axes, 2);
    for (int64_t t = 0; t < kept[0].size[0]; t++)
        for (int64_t p = 0; p < stations; p++) {
            /* a and e have channels, too */
            int64_t i = t * stations + p, at = i * kept[1].size[2];
            double phase = creal(kept[3].at[at] - kept[3].at[t * stations * kept[1].size[2]]);
            ck_assert_double_eq_tol(creal(kept[0].at[i]), creal(kept[1].at[at]), 1e-7);
            ck_assert_double_eq_tol(creal(kept[2].at[i]), phase, 1e-7);
        }
}

SUITE(60, setup, teardown)
