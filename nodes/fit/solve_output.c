/* The outputs of a fit: the solution table, once all has gone well, and until then a checkpoint. */
#include "nodes/common/report.h"
#include "nodes/fit/checkpoint.h"
#include "nodes/fit/solve_table.h"

#include "unstable/output.h"
#include "unstable/record.h"
#include "util.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A coefficient without a solution, and its number before it became NaN. */
typedef struct {
    int parm;
    bool is_nan; /* it has become so */
    int64_t at;
    double before[2];
} dropped;

struct solve_output {
    const solve *solve;
    solve_results results;
    dropped *
        dropped; /* with unsolved=nan: coefficients without a solution, of the tile or of the run */
    int64_t dropped_count, dropped_room;
    char *place;      /* the table's path, or the target of a link there; from the first begin on */
    const char *work; /* the folder with the table, once it is prepared */
    grove_checkpoint *checkpoint; /* NULL: there is none */
    const char **entry; /* [domains along time][along frequency] in it, of this cycle; or NULL */
    int64_t cycle;      /* of the run, from 1 on */
    int64_t found;      /* domains of the cycle that were in the checkpoint, */
    int64_t kept;       /* and that were appended */
    bool ends_well;     /* as far as it has come */
};

solve_output *solve_output_new(const solve *s)
{
    solve_output *out = grove_alloc(sizeof(*out));
    size_t domains = (size_t)(s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count);

    out->solve = s;
    out->entry = grove_alloc(domains * sizeof(*out->entry));
    out->results.results = grove_alloc(domains * sizeof(*out->results.results));
    out->results.known = grove_alloc((size_t)s->parm_count * sizeof(*out->results.known));
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        out->results.known[i] = grove_alloc((size_t)(p->members * grove_parm_count(p)) + 1);
    }
    return out;
}

void solve_output_free(solve_output *out)
{
    grove_checkpoint_close(out->checkpoint, out->ends_well);
    free(out->entry);
    for (int i = 0; i < out->solve->parm_count; i++)
        free(out->results.known[i]);
    free(out->dropped);
    free(out->place);
    free(out->results.known);
    free(out->results.results);
    free(out);
}

static int64_t number_of(const solve *s, int64_t time, int64_t freq)
{
    return time * s->cut[SOLVE_FREQ].count + freq;
}

static void append(solve_output *out, int parm, int64_t at)
{
    if (out->dropped_count == out->dropped_room) {
        out->dropped_room = out->dropped_room ? 2 * out->dropped_room : 256;
        out->dropped =
            grove_realloc(out->dropped, (size_t)out->dropped_room * sizeof(*out->dropped));
    }
    out->dropped[out->dropped_count++] = (dropped){.parm = parm, .at = at};
}

/* Whether another source or group has a solution for that station and interval. Then there are
 * data, and the model has nothing of this one: its gains make no difference. */
static bool is_of_no_flux(const solve_output *out, int parm, int64_t at)
{
    const solve_parm *own = &out->solve->parms[parm];
    int64_t count = grove_parm_count(own->parm),
            step = count / (own->parm->groups ? own->sources * own->stations : own->sources),
            first = at - at % count / step % own->sources * step;

    for (int64_t g = 0; g < own->sources; g++)
        if (out->results.known[parm][first + g * step])
            return true;
    return false;
}

void solve_output_add(solve_output *out, const solve_domain *d)
{
    const solve *s = out->solve;

    out->results.results[number_of(s, d->number[SOLVE_TIME], d->number[SOLVE_FREQ])] =
        (solve_result){d->outcome, d->iterations, d->chi2, d->sums.data - d->determined};
    solve_put_known(s, d, out->results.known);
    for (int i = 0; i < s->parm_count && s->drops_unsolved; i++) {
        int64_t count = solve_list_unsolved(s, d, i, NULL);
        int64_t *places = grove_alloc((size_t)count * sizeof(*places) + 1);
        solve_list_unsolved(s, d, i, places);
        for (int64_t k = 0; k < count; k++)
            if (!is_of_no_flux(out, i, places[k]))
                append(out, i, places[k]);
        free(places);
    }
}

/* ---- coefficients without a solution ---- */

void solve_output_drop_unsolved(solve_output *out, grove_parm_run *const *runs)
{
    for (int64_t k = 0; k < out->dropped_count; k++) {
        dropped *d = &out->dropped[k];
        double *number = runs[d->parm]->numbers + 2 * d->at;
        if (d->is_nan)
            continue;
        memcpy(d->before, number, sizeof(d->before));
        number[0] = number[1] = NAN;
        d->is_nan = true;
    }
}

void solve_output_drop_all_unsolved(solve_output *out, grove_parm_run *const *runs)
{
    const solve *s = out->solve;

    solve_output_take_back(out, runs);
    out->dropped_count = 0;
    for (int i = 0; i < s->parm_count && s->drops_unsolved; i++)
        for (int64_t k = 0; k < (int64_t)s->parms[i].parm->members * runs[i]->count; k++)
            if (!out->results.known[i][k] && !is_of_no_flux(out, i, k))
                append(out, i, k);
    solve_output_drop_unsolved(out, runs);
}

void solve_output_take_back(solve_output *out, grove_parm_run *const *runs)
{
    int64_t kept = 0;

    for (int64_t k = 0; k < out->dropped_count; k++) {
        const dropped *d = &out->dropped[k];
        if (d->is_nan)
            memcpy(runs[d->parm]->numbers + 2 * d->at, d->before, sizeof(d->before));
        else /* of the tile that is being fitted */
            out->dropped[kept++] = *d;
    }
    out->dropped_count = kept;
}

/* ---- the checkpoint ---- */

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

/* Whether it is an entry of this fit: the file's hashes say that it is as it was written. */
static bool is_entry(const solve *s, const entry *e, size_t left)
{
    return e->time >= 0 && e->time < s->cut[SOLVE_TIME].count && e->freq >= 0 &&
           e->freq < s->cut[SOLVE_FREQ].count && e->unknowns >= 0 &&
           (size_t)e->unknowns <= left / sizeof(double) && bytes_of(s, e->unknowns) <= left;
}

static void find_in(solve_output *out, const char *at, size_t length)
{
    grove_checkpoint_head head;
    entry e;

    if (length < sizeof(head))
        return;
    memcpy(&head, at, sizeof(head));
    at += sizeof(head);
    length -= sizeof(head);
    for (int64_t i = 0; head.cycle == out->cycle && i < head.domains && length >= sizeof(e); i++) {
        memcpy(&e, at, sizeof(e));
        if (!is_entry(out->solve, &e, length))
            return;
        out->entry[number_of(out->solve, e.time, e.freq)] = at;
        at += bytes_of(out->solve, e.unknowns);
        length -= bytes_of(out->solve, e.unknowns);
    }
}

/* Finds existing solutions of the cycle that begins, and reports them. */
static void find_solutions(solve_output *out, const grove_call *call)
{
    const solve *s = out->solve;
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;

    out->cycle++;
    out->found = 0;
    memset(out->entry, 0, (size_t)domains * sizeof(*out->entry));
    for (int64_t i = 0; i < grove_checkpoint_count(out->checkpoint); i++) {
        size_t length;
        const char *at = grove_checkpoint_record(out->checkpoint, i, &length);
        find_in(out, at, length);
    }
    for (int64_t i = 0; i < domains; i++)
        out->found += out->entry[i] != NULL;
    if (out->found)
        grove_log(GROVE_LOG_NOTE, "%s: %lld of %lld solution domains are taken from %s.checkpoint",
                  grove_node_name(call->node), (long long)out->found, (long long)domains,
                  out->place);
    else if (out->cycle == 1 && grove_call_resumes(call))
        grove_log(GROVE_LOG_NOTE,
                  "%s: there is nothing to resume, no %s.checkpoint with solutions; the fit begins "
                  "from the start",
                  grove_node_name(call->node), out->place);
}

static int open_checkpoint(solve_output *out, const grove_call *call, grove_error *error)
{
    char *path = grove_format("%s.checkpoint", out->place), *run = grove_call_run_key(call);
    char *key = grove_format("the fit: %s\n%s", grove_node_name(call->node), run);

    grove_checkpoint_use use = grove_call_resumes(call)                   ? GROVE_CHECKPOINT_RESUME
                               : grove_node_bool(call->node, "overwrite") ? GROVE_CHECKPOINT_REPLACE
                                                                          : GROVE_CHECKPOINT_KEEP;
    out->checkpoint = grove_checkpoint_open(path, key, use, error);
    int64_t lost = out->checkpoint ? grove_checkpoint_dropped(out->checkpoint) : 0;
    if (lost)
        grove_log(GROVE_LOG_NOTE,
                  "%s: %lld solution domains in %s, of another run that did not end, are discarded",
                  grove_node_name(call->node), (long long)lost, path);
    free(key);
    free(run);
    free(path);
    return out->checkpoint ? 0 : GROVE_IO;
}

static const char *find(const solve_output *out, const solve_domain *d, entry *e)
{
    const char *at =
        out->entry[number_of(out->solve, d->number[SOLVE_TIME], d->number[SOLVE_FREQ])];

    if (!at)
        return NULL;
    memcpy(e, at, sizeof(*e));
    return e->unknowns == d->unknowns ? at + sizeof(*e) : NULL;
}

bool solve_output_has(const solve_output *out, const solve_domain *d)
{
    entry e;

    return find(out, d, &e) != NULL;
}

bool solve_output_restore(const solve_output *out, solve_domain *d, grove_parm_run *const *runs)
{
    entry e;
    const char *at = find(out, d, &e);
    size_t n = (size_t)d->unknowns;

    if (!at)
        return false;
    double *x = grove_alloc((n + 1) * sizeof(*x));
    memcpy(x, at, n * sizeof(*x));
    solve_put(out->solve, d, runs, x);
    at += n * sizeof(*x);
    if (out->solve->errors) {
        memcpy(x, at, n * sizeof(*x));
        solve_put_errors(out->solve, d, runs, x);
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
    d->stage = SOLVE_RESTORED;
    return true;
}

static void add_entry(const solve_output *out, const solve_domain *d, grove_parm_run *const *runs,
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
    solve_get(out->solve, d, runs, x);
    grove_text_append(to, (const char *)x, n * sizeof(*x));
    if (out->solve->errors) {
        memset(x, 0, n * sizeof(*x));
        solve_get_errors(out->solve, d, runs, x);
        grove_text_append(to, (const char *)x, n * sizeof(*x));
    }
    grove_text_append(to, known, n);
    free(known);
    free(x);
}

int solve_output_keep(solve_output *out, const grove_node *node, const solve_domain *domains,
                      int64_t count, grove_parm_run *const *runs)
{
    grove_checkpoint_head head = {.cycle = out->cycle};
    grove_error *error = NULL;
    grove_text text = {0};

    for (int64_t i = 0; out->checkpoint && i < count; i++)
        head.domains += domains[i].stage != SOLVE_RESTORED;
    if (!head.domains)
        return 0;
    grove_text_append(&text, (const char *)&head, sizeof(head));
    for (int64_t i = 0; i < count; i++)
        if (domains[i].stage != SOLVE_RESTORED)
            add_entry(out, &domains[i], runs, &text);
    error = grove_error_new();
    int code = grove_checkpoint_append(out->checkpoint, text.at, text.length, error);
    free(text.at);
    if (code)
        return report_output(node, error);
    out->kept += head.domains;
    grove_error_free(error);
    return 0;
}

/* ---- the phases of a run ---- */

static void end_run(const grove_call *call)
{
    grove_log(
        GROVE_LOG_NOTE,
        "%s: the run to resume had ended: %s, and the sets that it wrote, are complete; nothing "
        "is left to do",
        grove_node_name(call->node), grove_node_text(call->node, "to"));
    grove_call_end_run(call);
}

/* Whether a table that is there is replaced: also a table of an earlier cycle, of this run or of
 * the one that it continues. */
static bool is_replaced(const solve_output *out, const grove_node *node)
{
    return grove_node_bool(node, "overwrite") || grove_checkpoint_has_output(out->checkpoint);
}

static int check_path(const solve_output *out, const grove_node *node, grove_error *error)
{
    const char *path = grove_node_text(node, "to");
    grove_output_kind kind = grove_output_examine(path, NULL, error);

    if (kind == GROVE_OUTPUT_UNKNOWN)
        return GROVE_IO;
    if (kind == GROVE_OUTPUT_FOLDER)
        return grove_fail(error, GROVE_INVALID, "%s: is a folder, not a file", path);
    if (kind != GROVE_OUTPUT_FILE || is_replaced(out, node))
        return 0;
    return grove_fail(error, GROVE_INVALID,
                      out->found || out->cycle > 1
                          ? "%s: exists, and this run has not written it; move it away"
                          : "%s: exists already; give overwrite=true to replace it",
                      path);
}

/* Cycles of a run share a checkpoint. */
int solve_output_begin(solve_output *out, const grove_call *call)
{
    if (!grove_node_given(call->node, "to"))
        return 0;
    grove_error *error = grove_error_new();
    if (!out->place)
        grove_output_examine(grove_node_text(call->node, "to"), &out->place, NULL);
    int code = out->cycle ? 0 : open_checkpoint(out, call, error);
    bool ended = !code && grove_checkpoint_has_ended(out->checkpoint);
    if (!code && !ended)
        find_solutions(out, call);
    out->ends_well = ended;
    out->work = NULL;
    if (!code && !ended)
        code = check_path(out, call->node, error);
    if (code)
        return report_output(call->node, error);
    grove_error_free(error);
    if (ended)
        end_run(call);
    return 0;
}

void solve_output_abort(solve_output *out, const grove_node *node)
{
    if (out->kept || out->found)
        grove_log(GROVE_LOG_NOTE,
                  "%s: its solutions so far are in %s.checkpoint; grove run --resume continues "
                  "from there",
                  grove_node_name(node), out->place);
    out->work = NULL;
}

static int write_all(const char *path, const char *bytes, size_t length)
{
    FILE *to = fopen(path, "wb");
    bool failed = !to || fwrite(bytes, 1, length, to) != length;
    int reason = errno;

    if (to && fclose(to) && !failed) {
        failed = true;
        reason = errno;
    }
    errno = reason;
    return failed ? -1 : 0;
}

static int send_table(const char *path, const char *bytes, size_t length, grove_error *error)
{
    grove_file *file = grove_file_create(path, error);

    if (!file)
        return GROVE_IO;
    (void)fwrite(bytes, 1, length, grove_file_stream(file)); /* a fault is found at the end */
    return grove_file_commit(file, error);
}

/* A file is put in place with the sets that the run writes; a stream gets it now. */
static int write_table(solve_output *out, const grove_call *call, const char *bytes, size_t length)
{
    const char *path = out->place;
    grove_record *record = grove_call_record(call);
    grove_error *error = grove_error_new();

    if (grove_output_examine(path, NULL, NULL) == GROVE_OUTPUT_STREAM) {
        if (send_table(path, bytes, length, error))
            return report_output(call->node, error);
        grove_error_free(error);
        return 0;
    }
    char *folder = grove_path_folder(path), *prefix = grove_record_prefix(path);

    if (out->work)
        grove_record_drop(record, out->work);
    out->work = grove_record_work(record, folder, prefix, error);
    char *prepared = out->work ? grove_path_join(out->work, GROVE_RECORD_TABLE) : NULL;
    int code = out->work ? 0 : GROVE_IO;
    if (!code && write_all(prepared, bytes, length))
        code = grove_fail(error, GROVE_IO, "%s: cannot write: %s", path, strerror(errno));
    if (!code) {
        bool replaces = is_replaced(out, call->node);
        code =
            grove_checkpoint_complete(out->checkpoint, out->cycle,
                                      out->cycle == grove_call_run_cycles(call), prepared, error);
        grove_record_add_path(record, out->work, path, replaces);
    }
    free(prepared);
    free(prefix);
    free(folder);
    if (code)
        return report_output(call->node, error);
    grove_error_free(error);
    return 0;
}

void solve_output_discard(solve_output *out)
{
    out->ends_well = true;
    out->kept = out->found = 0;
}

int solve_output_prepare(solve_output *out, const grove_call *call, grove_parm_run *const *runs)
{
    size_t length = 0;

    if (!grove_node_given(call->node, "to"))
        return 0;
    char *bytes = solve_table_bytes(call->node, out->solve, runs, &out->results, &length);
    int code = bytes ? write_table(out, call, bytes, length) : GROVE_NO_MEMORY;
    free(bytes);
    return code;
}

void solve_output_commit(solve_output *out)
{
    out->ends_well = true;
    out->work = NULL;
}
