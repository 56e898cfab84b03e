/* Fits of data with noise: solutions scatter as the covariance of the normal equations says, and
 * are where an independent optimiser in long double finds the minimum. */
#include "solve-world.h"

#include "base/text.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 8, BASELINES = 28, CHANNELS = 6, MAX_UNKNOWNS = 2 * STATIONS, TIMES = 200 };
enum { FOUND, TRUTH, MODEL, DATA };

typedef long double number;
typedef long double complex pair;

SOLVE_WORLD_FIXTURE

/* ---- the problem, independently ---- */

/* Unknowns: amplitudes and then phases of gains, angles of rotations, or delays in ns. */
typedef enum { GAINS, ROTATIONS, DELAYS, KINDS } problem_kind;

static const char *const parms[KINDS] = {
    "G[p] = parm(\"G\", jones=scalar, time=2min)", "G[p] = parm(\"G\", jones=rotation, time=2min)",
    "x[p] = parm(\"x\", init=0ns, time=2min, step=1ns)\nG[p] = exp(2i * pi * x[p] * obs.freq)"};
#define NUMBERS "a = draw(obs, times=1, complex=false, spread=0.3).value\n"
static const char *const truths[KINDS] = {"T[p] = draw(obs, times=1, around=1).value",
                                          NUMBERS "T[p] = rotation(1rad * a[p])",
                                          NUMBERS "T[p] = exp(2i * pi * a[p] * 1ns * obs.freq)"};

typedef struct {
    problem_kind kind;
    int unknowns;
    const double complex *model, *data; /* of a time: [baseline][channel][4] */
} problem;

static void find_jones(const problem *p, const number *x, int station, int channel, pair jones[4])
{
    number freq = 150e6L + 2e6L * channel, angle = x[station];

    jones[1] = jones[2] = 0;
    if (p->kind == GAINS)
        jones[0] = x[station] * cexpl(CMPLXL(0, x[STATIONS + station]));
    else if (p->kind == ROTATIONS)
        jones[0] = cosl(angle), jones[1] = -sinl(angle), jones[2] = sinl(angle);
    else
        jones[0] = cexpl(CMPLXL(0, 2 * acosl(-1) * freq * 1e-9L * angle));
    jones[3] = jones[0];
}

/* [baseline][channel][4] */
static void predict(const problem *p, const number *x, pair *to)
{
    int baseline = 0;

    for (int a = 0; a < STATIONS; a++)
        for (int b = a + 1; b < STATIONS; b++, baseline++)
            for (int f = 0; f < CHANNELS; f++, to += 4) {
                const double complex *m = p->model + (baseline * CHANNELS + f) * 4;
                pair l[4], r[4], t[4];
                find_jones(p, x, a, f, l);
                find_jones(p, x, b, f, r);
                for (int i = 0; i < 4; i++)
                    t[i] = l[i / 2 * 2] * m[i % 2] + l[i / 2 * 2 + 1] * m[2 + i % 2];
                for (int i = 0; i < 4; i++)
                    to[i] = t[i / 2 * 2] * conjl(r[i % 2 * 2]) +
                            t[i / 2 * 2 + 1] * conjl(r[i % 2 * 2 + 1]);
            }
}

enum { CELLS = BASELINES * CHANNELS * 4 };

static number chi2_of(const problem *p, const number *x)
{
    static pair at[CELLS];
    number sum = 0;

    predict(p, x, at);
    for (int i = 0; i < CELLS; i++)
        sum += creall((p->data[i] - at[i]) * conjl(p->data[i] - at[i]));
    return sum;
}

/* The normal equations by central differences. */
static void find_normal(const problem *p, const number *x,
                        number matrix[MAX_UNKNOWNS][MAX_UNKNOWNS], number *gradient)
{
    static pair at[CELLS], columns[MAX_UNKNOWNS][CELLS];
    number y[MAX_UNKNOWNS], h = 1e-5L;

    predict(p, x, at);
    for (int j = 0; j < p->unknowns; j++) {
        static pair high[CELLS], low[CELLS];
        memcpy(y, x, sizeof(y));
        y[j] = x[j] + h;
        predict(p, y, high);
        y[j] = x[j] - h;
        predict(p, y, low);
        for (int i = 0; i < CELLS; i++)
            columns[j][i] = (high[i] - low[i]) / (2 * h);
    }
    for (int j = 0; j < p->unknowns; j++) {
        gradient[j] = 0;
        for (int i = 0; i < CELLS; i++)
            gradient[j] += creall(conjl(columns[j][i]) * (p->data[i] - at[i]));
        for (int k = 0; k < p->unknowns; k++) {
            matrix[j][k] = 0;
            for (int i = 0; i < CELLS; i++)
                matrix[j][k] += creall(conjl(columns[j][i]) * columns[k][i]);
        }
    }
}

/* The inverse without the unknown `fixed` (-1: none), by Gauss and Jordan; its row and column are
 * 0. */
static void invert(int n, int fixed, number matrix[MAX_UNKNOWNS][MAX_UNKNOWNS])
{
    if (fixed >= 0) {
        for (int k = 0; k < n; k++)
            matrix[fixed][k] = matrix[k][fixed] = 0;
        matrix[fixed][fixed] = 1;
    }
    for (int k = 0; k < n; k++) {
        number pivot = matrix[k][k];
        ck_assert(pivot > 0);
        matrix[k][k] = 1;
        for (int j = 0; j < n; j++)
            matrix[k][j] /= pivot;
        for (int i = 0; i < n; i++) {
            number factor = matrix[i][k];
            if (i == k)
                continue;
            matrix[i][k] = 0;
            for (int j = 0; j < n; j++)
                matrix[i][j] -= factor * matrix[k][j];
        }
    }
    if (fixed >= 0)
        matrix[fixed][fixed] = 0;
}

/* The unknown that data do not tell; -1: none. */
static int fixed_of(problem_kind kind)
{
    return kind == GAINS ? STATIONS : kind == DELAYS ? 0 : -1;
}

static void minimise(const problem *p, number *x)
{
    static number matrix[MAX_UNKNOWNS][MAX_UNKNOWNS];
    number gradient[MAX_UNKNOWNS];
    number y[MAX_UNKNOWNS];

    for (int step = 0; step < 40; step++) {
        number largest = 0, before = chi2_of(p, x), fraction = 1;
        find_normal(p, x, matrix, gradient);
        invert(p->unknowns, fixed_of(p->kind), matrix);
        for (;; fraction /= 2) {
            memcpy(y, x, sizeof(y));
            for (int j = 0; j < p->unknowns; j++)
                for (int k = 0; k < p->unknowns; k++)
                    y[j] += fraction * matrix[j][k] * gradient[k];
            if (chi2_of(p, y) <= before || fraction < 1e-6L)
                break;
        }
        for (int j = 0; j < p->unknowns; j++)
            largest = fmaxl(largest, fabsl(y[j] - x[j]));
        memcpy(x, y, sizeof(y));
        if (largest < 1e-11L)
            return;
    }
    ck_abort_msg("the reference does not converge");
}

/* ---- fits ---- */

static void fit(problem_kind kind, int times, const char *sigma, const char *options)
{
    char *text = suite_text("%s\n%s\nV[p,q] = G[p] * M[p,q] * G[q]^H\n"
                            "D[p,q] = T[p] * M[p,q] * T[q]^H + noise(obs, sigma=%s, seed=5)\n"
                            "fit = solve(V, D, max_iterations=200%s)\n"
                            "g[p] = G[p] + 0 * obs.freq / 1Hz\nt[p] = T[p] + 0 * obs.freq / 1Hz\n"
                            "k0 = keep(g)\nk1 = keep(t, number=1)\nk2 = keep(M, number=2)\n"
                            "k3 = keep(D, number=3)\n",
                            parms[kind], truths[kind], sigma, options);

    w.times = times + times / 200; /* sidereal ones */
    solve_world_pass(&w, text);
    ck_assert_int_eq(solve_world_kept[DATA].cells, times * BASELINES * CHANNELS);
}

static problem problem_at(problem_kind kind, int time)
{
    size_t at = (size_t)time * CELLS;

    return (problem){.kind = kind,
                     .unknowns = kind == GAINS ? 2 * STATIONS : STATIONS,
                     .model = solve_world_kept[MODEL].at + at,
                     .data = solve_world_kept[DATA].at + at};
}

/* The unknowns of a time from what keep was given; phases relative to the first station. Delays and
 * angles from the first channel: they are small. */
static void find_unknowns(problem_kind kind, int number_kept, int time, number *x)
{
    const solve_kept *kept = &solve_world_kept[number_kept];
    const double complex *at =
        kept->at + (size_t)time * STATIONS * CHANNELS * (size_t)kept->elements;
    double complex first = at[0];

    memset(x, 0, MAX_UNKNOWNS * sizeof(*x));
    for (int a = 0; a < STATIONS; a++) {
        const double complex *jones = at + (size_t)a * CHANNELS * (size_t)kept->elements;
        if (kind == GAINS) {
            x[a] = cabs(jones[0]);
            x[STATIONS + a] = carg(jones[0] / first);
        } else if (kind == ROTATIONS) {
            x[a] = atan2(creal(jones[2]), creal(jones[0]));
        } else {
            x[a] = carg(jones[0] / first) / (2 * M_PI * 0.150);
        }
    }
}

/* ---- the same minimum ---- */

LOOP_TEST(same_minimum, 0, 3 * KINDS)
{
    static const char *const ways[] = {", tolerance=1e-9", ", tolerance=1e-9, compress=false",
                                       ", tolerance=1e-9, method=lm, damping=0.1"};
    problem_kind kind = (problem_kind)(_i % KINDS);

    fit(kind, 4, "3Jy", ways[_i / KINDS]);
    for (int t = 0; t < 4; t++) {
        problem p = problem_at(kind, t);
        number found[MAX_UNKNOWNS], x[MAX_UNKNOWNS];
        find_unknowns(kind, FOUND, t, found);
        find_unknowns(kind, TRUTH, t, x);
        number off = 0, start = chi2_of(&p, x);
        minimise(&p, x);
        ck_assert(chi2_of(&p, x) < start);
        ck_assert_msg(fabsl(chi2_of(&p, found) / chi2_of(&p, x) - 1) < 1e-12L, "%Lg",
                      chi2_of(&p, found) / chi2_of(&p, x) - 1);
        for (int j = 0; j < p.unknowns; j++)
            off = fmaxl(off, fabsl(found[j] - x[j]));
        ck_assert_msg(off < 1e-7L, "time %d: %Lg", t, off);
    }
}

/* ---- pulls ---- */

/* Each time is an observation of its own; pulls of all unknowns that data tell. */
LOOP_TEST(pulls, 0, KINDS)
{
    problem_kind kind = (problem_kind)_i;
    double mean[MAX_UNKNOWNS] = {0}, square[MAX_UNKNOWNS] = {0}, all = 0;
    int count = 0, within[4] = {0}, fixed = fixed_of(kind);

    fit(kind, TIMES, "1Jy", "");
    for (int t = 0; t < TIMES; t++) {
        static number matrix[MAX_UNKNOWNS][MAX_UNKNOWNS];
        problem p = problem_at(kind, t);
        number found[MAX_UNKNOWNS], truth[MAX_UNKNOWNS], gradient[MAX_UNKNOWNS];
        find_unknowns(kind, FOUND, t, found);
        find_unknowns(kind, TRUTH, t, truth);
        find_normal(&p, found, matrix, gradient);
        invert(p.unknowns, fixed, matrix);
        for (int j = 0; j < p.unknowns; j++) {
            if (j == fixed)
                continue;
            /* Data hardly tell the rotation that is common to all: the first has it alone. */
            int from = kind == ROTATIONS && j ? 0 : j;
            number off = found[j] - truth[j] - (from != j ? found[from] - truth[from] : 0),
                   variance = matrix[j][j] + (from != j ? matrix[0][0] - 2 * matrix[0][j] : 0);
            double pull = (double)(off / sqrtl(variance));
            mean[j] += pull / TIMES;
            square[j] += pull * pull / TIMES;
            all += pull * pull;
            count++;
            for (int k = 1; k < 4; k++)
                within[k] += fabs(pull) < k;
        }
    }
    for (int j = 0; j < MAX_UNKNOWNS; j++)
        ck_assert_msg(fabs(mean[j]) < 4 / sqrt(TIMES) &&
                          (square[j] == 0 || fabs(square[j] - 1) < 4 * sqrt(2.0 / TIMES)),
                      "%d: %g %g", j, mean[j], square[j]);
    double one = (double)within[1] / count, two = (double)within[2] / count,
           three = (double)within[3] / count;
    ck_assert_msg(fabs(all / count - 1) < 0.1 && fabs(one - 0.6827) < 0.03 &&
                      fabs(two - 0.9545) < 0.015 && three > 0.99,
                  "%g %g %g %g", all / count, one, two, three);
    ck_assert_msg(strstr(solve_world_said, ": 200 converged;") != NULL, "%s", solve_world_said);
    /* chi-squared per degree of freedom: data have sigma 1 in each part, without weights */
    double chi2 = atof(strstr(solve_world_said, "freedom ") + 8);
    ck_assert_msg(fabs(chi2 - 1) < 4 * sqrt(2.0 / (TIMES * CELLS * 2)), "%s", solve_world_said);
}

/* ---- what the data do not tell ---- */

#define DIVIDED "which part of a station's factor belongs to one parm and which to another: "
#define SHARED                                                                                     \
    "the phases, delays, TEC or rotations that all stations have in common (reference= sets them " \
    "to 0 at one station): "

static const struct {
    const char *parms, *left, *right, *model, *options, *words;
} unknowns_left[] = {
    /* polarised sources tell the phase between X and Y, others do not */
    {"G[p] = parm(\"G\", jones=diagonal)", "G[p]", "G[q]^H", "M", "", SHARED "G.x with G.y"},
    {"G[p] = parm(\"G\", jones=diagonal)", "G[p]", "G[q]^H", "M", ", method=lm",
     SHARED "G.x with G.y"},
    {"G[p] = parm(\"G\", jones=diagonal)", "G[p]", "G[q]^H", "I", "", SHARED "G.x, G.y"},
    {"G[p] = parm(\"G\", jones=diagonal)", "G[p]", "G[q]^H", "I", ", method=lm, compress=false",
     SHARED "G.x, G.y"},
    {"G[p] = parm(\"G\", jones=diagonal)", "G[p]", "G[q]^H", "M", ", reference=\"2\"", ""},
    {"G[p] = parm(\"G\", jones=amplitude)", "G[p]", "G[q]^H", "M", "", ""},
    /* any unitary matrix, which has four numbers */
    {"G[p] = parm(\"G\", jones=full)", "G[p]", "G[q]^H", "I", ", method=lm",
     SHARED "G.xx with G.yx, G.xy with G.yy; nor 2 further combinations of"},
    {"K[p] = parm(\"K\", jones=delay)", "K[p]", "K[q]^H", "M", "", SHARED "K.x with K.y"},
    /* the product of two is known, each is not: a complex number of each station */
    {"a[p] = parm(\"a\", jones=scalar)\nb[p] = parm(\"b\", jones=scalar)", "a[p] * b[p]",
     "b[q]^H * a[q]^H", "M", "", SHARED "a.value, b.value; nor " DIVIDED "a.value and b.value"},
    {"a[p] = parm(\"a\", jones=scalar)\nb[p] = parm(\"b\", jones=scalar)", "a[p] * b[p]",
     "b[q]^H * a[q]^H", "M", ", reference=\"0\"",
     "the data do not determine " DIVIDED "a.value and b.value"},
};
enum { LEFT = sizeof(unknowns_left) / sizeof(unknowns_left[0]) };

LOOP_TEST(free_unknowns, 0, LEFT)
{
    const char *words = unknowns_left[_i].words;
    char *text =
        grove_format("%s\nI[p,q] = 0 * M + diagonal(select(M, element=XX), select(M, element=XX))\n"
                     "V[p,q] = %s * %s * %s\nfit = solve(V, %s%s)\n",
                     unknowns_left[_i].parms, unknowns_left[_i].left, unknowns_left[_i].model,
                     unknowns_left[_i].right, unknowns_left[_i].model, unknowns_left[_i].options);

    solve_world_pass(&w, text);
    if (words[0])
        ck_assert_msg(strstr(solve_world_free, words) != NULL, "%s%s", text, solve_world_free);
    if (!strstr(words, "combination"))
        ck_assert_msg(!strstr(solve_world_free, "combination"), "%s%s", text, solve_world_free);
    ck_assert_msg(words[0] || !solve_world_free[0], "%s%s", text, solve_world_free);
    free(text);
}

SUITE(60, setup, teardown)
