/* The outputs of a fit: the solution table, once all has gone well, and until then a checkpoint. */
#include "nodes/common/report.h"
#include "nodes/fit/solve_checkpoint.h"
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
    solve_checkpoint checkpoint;
    int64_t cycle;  /* of the run, from 1 on */
    int64_t found;  /* domains of the cycle that were in the checkpoint */
    bool ends_well; /* as far as it has come */
};

solve_output *solve_output_new(const solve *s)
{
    solve_output *out = grove_alloc(sizeof(*out));
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;

    out->solve = out->checkpoint.solve = s;
    out->results.results = grove_alloc((size_t)domains * sizeof(*out->results.results));
    out->results.known = grove_alloc((size_t)s->parm_count * sizeof(*out->results.known));
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        out->results.known[i] = grove_alloc((size_t)(p->members * grove_parm_count(p)) + 1);
    }
    return out;
}

void solve_output_free(solve_output *out)
{
    solve_checkpoint_end(&out->checkpoint, out->ends_well);
    for (int i = 0; i < out->solve->parm_count; i++)
        free(out->results.known[i]);
    free(out->dropped);
    free(out->place);
    free(out->results.known);
    free(out->results.results);
    free(out);
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
    int64_t at = d->number[SOLVE_TIME] * s->cut[SOLVE_FREQ].count + d->number[SOLVE_FREQ];

    out->results.results[at] =
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

/* Finds existing solutions of the cycle that begins, and reports them; returns the number of
 * domains. */
static int64_t find_solutions(solve_output *out, const grove_call *call)
{
    const solve *s = out->solve;
    int64_t found = solve_checkpoint_find(&out->checkpoint, ++out->cycle),
            domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;

    if (found)
        grove_log(GROVE_LOG_NOTE, "%s: %lld of %lld solution domains are taken from %s.checkpoint",
                  grove_node_name(call->node), (long long)found, (long long)domains, out->place);
    else if (out->cycle == 1 && grove_call_resumes(call))
        grove_log(GROVE_LOG_NOTE,
                  "%s: there is nothing to resume, no %s.checkpoint with solutions; the fit begins "
                  "from the start",
                  grove_node_name(call->node), out->place);
    return found;
}

static int open_checkpoint(solve_output *out, const grove_call *call, grove_error *error)
{
    char *path = grove_format("%s.checkpoint", out->place), *run = grove_call_run_key(call);
    char *key = grove_format("the fit: %s\n%s", grove_node_name(call->node), run);

    grove_checkpoint_use use = grove_call_resumes(call)                   ? GROVE_CHECKPOINT_RESUME
                               : grove_node_bool(call->node, "overwrite") ? GROVE_CHECKPOINT_REPLACE
                                                                          : GROVE_CHECKPOINT_KEEP;
    out->checkpoint.file = grove_checkpoint_open(path, key, use, error);
    int64_t lost = out->checkpoint.file ? grove_checkpoint_dropped(out->checkpoint.file) : 0;
    if (lost)
        grove_log(GROVE_LOG_NOTE,
                  "%s: %lld solution domains in %s, of another run that did not end, are discarded",
                  grove_node_name(call->node), (long long)lost, path);
    free(key);
    free(run);
    free(path);
    return out->checkpoint.file ? 0 : GROVE_IO;
}

bool solve_output_has(const solve_output *out, const solve_domain *d)
{
    return solve_checkpoint_has(&out->checkpoint, d);
}

bool solve_output_restore(const solve_output *out, solve_domain *d, grove_parm_run *const *runs)
{
    return solve_checkpoint_restore(&out->checkpoint, d, runs);
}

int solve_output_keep(solve_output *out, const grove_node *node, const solve_domain *domains,
                      int64_t count, grove_parm_run *const *runs)
{
    grove_error *error = grove_error_new();

    if (solve_checkpoint_keep(&out->checkpoint, domains, count, runs, error))
        return report_output(node, error);
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
    return grove_node_bool(node, "overwrite") || grove_checkpoint_has_output(out->checkpoint.file);
}

static int check_path(const solve_output *out, const grove_node *node, grove_error *error)
{
    const char *path = grove_node_text(node, "to");
    grove_output_kind kind = grove_output_look(path, NULL, error);

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
        grove_output_look(grove_node_text(call->node, "to"), &out->place, NULL);
    int code = out->cycle ? 0 : open_checkpoint(out, call, error);
    bool ended = !code && grove_checkpoint_has_ended(out->checkpoint.file);
    out->found = code || ended ? 0 : find_solutions(out, call);
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
    if (out->checkpoint.kept || out->found)
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

    if (grove_output_look(path, NULL, NULL) == GROVE_OUTPUT_STREAM) {
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
            grove_checkpoint_complete(out->checkpoint.file, out->cycle,
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
    out->checkpoint.kept = out->found = 0;
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
