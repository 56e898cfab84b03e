#include "nodes/fit/solve_checkpoint.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* A record: its head, and of each domain this entry, then its unknowns, the errors of the
 * coefficients if the fit finds them, and a byte for each unknown: whether it is known. */
typedef struct {
    int64_t time, freq, unknowns, outcome, iterations, data, determined, unflagged, kept, has_known;
    double chi2;
} entry;

static size_t bytes_of(const solve *s, int64_t unknowns)
{
    size_t n = (size_t)unknowns;

    return sizeof(entry) + n * sizeof(double) * (s->errors ? 2 : 1) + n;
}

static int64_t number_of(const solve *s, int64_t time, int64_t freq)
{
    return time * s->cut[SOLVE_FREQ].count + freq;
}

/* ---- finding ---- */

/* Whether it is an entry of this fit: the file's hashes say that it is as it was written. */
static bool is_entry(const solve *s, const entry *e, size_t left)
{
    return e->time >= 0 && e->time < s->cut[SOLVE_TIME].count && e->freq >= 0 &&
           e->freq < s->cut[SOLVE_FREQ].count && e->unknowns >= 0 &&
           (size_t)e->unknowns <= left / sizeof(double) && bytes_of(s, e->unknowns) <= left;
}

static void find_in(solve_checkpoint *c, const char *at, size_t length)
{
    grove_checkpoint_head head;
    entry e;

    if (length < sizeof(head))
        return;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    length -= sizeof(head);
    for (int64_t i = 0; head.cycle == c->cycle && i < head.domains && length >= sizeof(e); i++) {
        memcpy(&e, at, sizeof(e));
        if (!is_entry(c->solve, &e, length))
            return;
        c->found[number_of(c->solve, e.time, e.freq)] = at;
        at += bytes_of(c->solve, e.unknowns);
        length -= bytes_of(c->solve, e.unknowns);
    }
}

int64_t solve_checkpoint_find(solve_checkpoint *c, int64_t cycle)
{
    const solve *s = c->solve;
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count, count = 0;

    c->cycle = cycle;
    free(c->found);
    c->found = grove_alloc((size_t)domains * sizeof(*c->found));
    for (int64_t i = 0; c->file && i < grove_checkpoint_count(c->file); i++) {
        size_t length;
        const char *at = grove_checkpoint_record(c->file, i, &length);
        find_in(c, at, length);
    }
    for (int64_t i = 0; i < domains; i++)
        count += c->found[i] != NULL;
    return count;
}

static const char *find(const solve_checkpoint *c, const solve_domain *d, entry *e)
{
    const char *at =
        c->found ? c->found[number_of(c->solve, d->number[SOLVE_TIME], d->number[SOLVE_FREQ])]
                 : NULL;

    if (!at)
        return NULL;
    memcpy(e, at, sizeof(*e));
    return e->unknowns == d->unknowns ? at + sizeof(*e) : NULL;
}

bool solve_checkpoint_has(const solve_checkpoint *c, const solve_domain *d)
{
    entry e;

    return find(c, d, &e) != NULL;
}

bool solve_checkpoint_restore(const solve_checkpoint *c, solve_domain *d,
                              grove_parm_run *const *runs)
{
    entry e;
    const char *at = find(c, d, &e);
    size_t n = (size_t)d->unknowns;

    if (!at)
        return false;
    double *x = grove_alloc((n + 1) * sizeof(*x));
    memcpy(x, at, n * sizeof(*x));
    solve_put(c->solve, d, runs, x);
    at += n * sizeof(*x);
    if (c->solve->errors) {
        memcpy(x, at, n * sizeof(*x));
        solve_put_errors(c->solve, d, runs, x);
        at += n * sizeof(*x);
    }
    free(x);
    if (e.has_known) {
        d->known = grove_realloc(d->known, n + 1);
        for (size_t i = 0; i < n; i++)
            d->known[i] = at[i] != 0;
    }
    d->outcome = (grove_least_squares_outcome)e.outcome;
    d->iterations = (int32_t)e.iterations;
    d->chi2 = e.chi2;
    d->determined = e.determined;
    d->sums.data = e.data;
    d->unflagged = e.unflagged;
    d->kept = e.kept;
    d->restored = true;
    return true;
}

/* ---- keeping ---- */

static void add_entry(const solve_checkpoint *c, const solve_domain *d, grove_parm_run *const *runs,
                      grove_text *to)
{
    size_t n = (size_t)d->unknowns;
    double *x = grove_alloc((n + 1) * sizeof(*x));
    char *known = grove_alloc(n + 1);
    entry e = {.time = d->number[SOLVE_TIME],
               .freq = d->number[SOLVE_FREQ],
               .unknowns = d->unknowns,
               .outcome = (int64_t)d->outcome,
               .iterations = d->iterations,
               .data = d->sums.data,
               .determined = d->determined,
               .unflagged = d->unflagged,
               .kept = d->kept,
               .has_known = d->known != NULL,
               .chi2 = d->chi2};

    for (size_t i = 0; i < n; i++)
        known[i] = d->known && d->known[i];
    grove_text_append(to, (const char *)&e, sizeof(e));
    solve_get(c->solve, d, runs, x);
    grove_text_append(to, (const char *)x, n * sizeof(*x));
    if (c->solve->errors) {
        memset(x, 0, n * sizeof(*x));
        solve_get_errors(c->solve, d, runs, x);
        grove_text_append(to, (const char *)x, n * sizeof(*x));
    }
    grove_text_append(to, known, n);
    free(known);
    free(x);
}

int solve_checkpoint_keep(solve_checkpoint *c, const solve_domain *domains, int64_t count,
                          grove_parm_run *const *runs, grove_error *error)
{
    grove_checkpoint_head head = {.cycle = c->cycle};
    grove_text text = {0};
    int code = 0;

    for (int64_t i = 0; c->file && i < count; i++)
        head.domains += !domains[i].restored;
    if (!head.domains)
        return 0;
    grove_text_append(&text, (const char *)&head, sizeof(head));
    for (int64_t i = 0; i < count; i++)
        if (!domains[i].restored)
            add_entry(c, &domains[i], runs, &text);
    code = grove_checkpoint_append(c->file, text.at, text.length, error);
    c->kept += code ? 0 : head.domains;
    free(text.at);
    return code;
}

void solve_checkpoint_end(solve_checkpoint *c, bool ended_well)
{
    grove_checkpoint_close(c->file, ended_well);
    c->file = NULL;
    free(c->found);
    c->found = NULL;
}
