/* The report at the end of a fit: outcomes of all domains, and stations without data. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_NAMED = 8 };

/* Counts stations without data for any unknown, or with data of 0 only. */
static void count_missing(solve_summary *sum, const solve *s, const solve_domain *d)
{
    bool *any = NULL;

    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        if (!p->station || (sum->stations && p->station != sum->stations))
            continue;
        sum->stations = p->station;
        if (!sum->missing) {
            sum->missing = grove_alloc((size_t)p->station->size * sizeof(*sum->missing));
            sum->silent = grove_alloc((size_t)p->station->size * sizeof(*sum->silent));
        }
        any = any ? any : grove_alloc((size_t)p->station->size);
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u++)
            if (d->known[u])
                any[solve_find_place(s, d, i, u).station] = true;
    }
    for (int64_t a = 0; any && a < sum->stations->size; a++)
        if (!any[a])
            ++(solve_is_silent(s, d, a) ? sum->silent : sum->missing)[a];
    free(any);
}

void solve_summary_end(solve_summary *sum)
{
    free(sum->missing);
    free(sum->silent);
    free(sum->free_words);
    *sum = (solve_summary){.stations = NULL};
}

void solve_summary_add(solve_summary *sum, const solve *s, const solve_domain *d)
{
    sum->outcomes[d->outcome]++;
    sum->unflagged += d->unflagged;
    sum->kept += d->kept;
    if (d->outcome == GROVE_LEAST_SQUARES_NO_DATA || d->outcome == GROVE_LEAST_SQUARES_NOT_FINITE)
        return;
    if (d->known)
        count_missing(sum, s, d);
    if (d->describe && d->stage != SOLVE_RESTORED && !sum->described) {
        sum->described = true;
        sum->free_words = d->free_words ? grove_strdup(d->free_words) : NULL;
    }
    sum->iterations += d->iterations;
    sum->chi2 += d->chi2;
    sum->data += d->sums.data - d->determined;
}

/* The stations with counted domains, at most MAX_NAMED of them; NULL: none. The caller frees. */
static char *name_stations(const solve_summary *sum, const int64_t *domains, int64_t fitted)
{
    grove_text text = {0};
    int64_t count = 0;

    for (int64_t a = 0; sum->stations && a < sum->stations->size; a++) {
        const char *label = sum->stations->labels ? sum->stations->labels[a] : NULL;
        if (!domains[a] || count++ >= MAX_NAMED)
            continue;
        grove_text_add(&text, "%s", count > 1 ? ", " : "");
        if (label)
            grove_text_add(&text, "%s", label);
        else
            grove_text_add(&text, "%lld", (long long)a);
        if (domains[a] < fitted)
            grove_text_add(&text, " (in %lld)", (long long)domains[a]);
    }
    if (count > MAX_NAMED)
        grove_text_add(&text, " and %lld more", (long long)(count - MAX_NAMED));
    return text.at;
}

/* Stations that keep start values. */
static void report_missing(const solve_summary *sum, const grove_node *node, int64_t fitted)
{
    const char *what = grove_node_choice(node, "unsolved") ? "no solution" : "start values kept";
    char *missing = name_stations(sum, sum->missing, fitted),
         *silent = name_stations(sum, sum->silent, fitted);

    if (missing)
        grove_log(GROVE_LOG_NOTE, "%s: no data, %s: %s", grove_node_name(node), what, missing);
    if (silent)
        grove_log(GROVE_LOG_WARNING,
                  "%s: all data are exactly 0, as of a station that did not observe; %s: %s",
                  grove_node_name(node), what, silent);
    free(missing);
    free(silent);
}

static void report_reference(const solve_summary *sum, const grove_node *node, int64_t fitted)
{
    const solve *s = grove_node_user(node);

    if (s->reference < 0 || !sum->stations || s->reference >= sum->stations->size)
        return;
    int64_t missing = sum->missing[s->reference] + sum->silent[s->reference];
    if (!missing)
        return;
    char *in =
        missing < fitted ? grove_format(" in %lld domains", (long long)missing) : grove_strdup("");
    grove_log(
        GROVE_LOG_NOTE,
        "%s: the reference station has no data%s; the next station that has data takes its place",
        grove_node_name(node), in);
    free(in);
}

/* Whether as many data keep a solution as are to. */
static int judge_kept(const solve_summary *sum, const grove_node *node, int64_t all,
                      const char *outcomes)
{
    const double keep = ((const solve *)grove_node_user(node))->keep,
                 share = (double)sum->kept / fmax((double)sum->unflagged, 1);

    if (!sum->kept)
        return grove_node_fail(node, GROVE_INVALID,
                               "there is no solution: of %lld solution domain%s %s; a model that "
                               "is 0, or does not depend on these parms, has none",
                               (long long)all, all == 1 ? "" : "s", outcomes);
    if (share < keep)
        return grove_node_fail(node, GROVE_INVALID,
                               "%.3g %% of the unflagged data would keep a solution, less than "
                               "keep=%g requires: of %lld solution domain%s %s; check whether the "
                               "model is 0 in some of them, or give keep=0",
                               100 * share, keep, (long long)all, all == 1 ? "" : "s", outcomes);
    if (share < 0.5)
        grove_log(GROVE_LOG_WARNING, "%s: %.3g %% of the unflagged data keep a solution",
                  grove_node_name(node), 100 * share);
    return 0;
}

int solve_summary_report(const solve_summary *sum, const grove_node *node)
{
    int64_t all = 0, fitted = 0;
    char text[256];
    size_t at = 0;

    for (int k = 0; k < SOLVE_OUTCOMES; k++) {
        bool none = k == GROVE_LEAST_SQUARES_NO_DATA || k == GROVE_LEAST_SQUARES_NOT_FINITE;
        all += sum->outcomes[k];
        fitted += none ? 0 : sum->outcomes[k];
        if (sum->outcomes[k] && at < sizeof(text))
            at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%lld %s", at ? ", " : "",
                                   (long long)sum->outcomes[k],
                                   grove_least_squares_words((grove_least_squares_outcome)k));
    }
    if (!fitted)
        return grove_node_fail(node, GROVE_INVALID,
                               "there is nothing to fit to: of %lld solution domains %s (data are "
                               "flagged, without weight, left out or 0, or data or model are not "
                               "finite)",
                               (long long)all, text);
    int code = judge_kept(sum, node, all, text);
    if (code)
        return code;
    report_missing(sum, node, fitted);
    report_reference(sum, node, fitted);
    if (sum->free_words)
        grove_log(GROVE_LOG_NOTE, "%s: %s", grove_node_name(node), sum->free_words);
    bool free = sum->data > 0;
    grove_log(GROVE_LOG_NOTE,
              "%s: %lld solution domain%s: %s; %.1f iterations on average, chi-squared %s%.4g%s",
              grove_node_name(node), (long long)all, all == 1 ? "" : "s", text,
              (double)sum->iterations / (double)fitted, free ? "per degree of freedom " : "",
              free ? sum->chi2 / (double)sum->data : sum->chi2,
              free ? "" : ": there are no more data than unknowns");
    return 0;
}
