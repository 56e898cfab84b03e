/* What a run of a fit writes: the solution table, once all has gone well. */
#include "nodes/solve_table.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct solve_output {
    const solve *solve;
    solve_results results;
    grove_file *file; /* NULL: none is written */
};

solve_output *solve_output_new(const solve *s)
{
    solve_output *out = grove_alloc(sizeof(*out));
    int64_t domains = s->cut[SOLVE_TIME].count * s->cut[SOLVE_FREQ].count;

    out->solve = s;
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
    for (int i = 0; i < out->solve->parm_count; i++)
        free(out->results.known[i]);
    free(out->results.known);
    free(out->results.results);
    free(out);
}

void solve_output_add(solve_output *out, const solve_domain *d)
{
    const solve *s = out->solve;
    int64_t at = d->number[SOLVE_TIME] * s->cut[SOLVE_FREQ].count + d->number[SOLVE_FREQ];

    out->results.results[at] = (solve_result){d->outcome, d->iterations, d->chi2};
    solve_put_known(s, d, out->results.known);
}

static int fail_with(const grove_node *node, grove_error *error)
{
    int code = grove_error_code(error);

    grove_node_fail_option(node, "to", "%s", grove_error_message(error, 0));
    grove_error_free(error);
    return code < 0 ? code : GROVE_IO;
}

int solve_output_begin(solve_output *out, const grove_node *node)
{
    const char *path = grove_node_text(node, "to");

    if (!grove_node_given(node, "to"))
        return 0;
    grove_error *error = grove_error_new();
    if (grove_path_exists(path) && !grove_node_bool(node, "overwrite"))
        grove_fail(error, GROVE_INVALID, "%s: exists already; give overwrite=true to replace it",
                   path);
    else if ((out->file = grove_file_create(path, error))) {
        grove_error_free(error);
        return 0;
    }
    return fail_with(node, error);
}

void solve_output_abort(solve_output *out)
{
    grove_file_discard(out->file);
    out->file = NULL;
}

/* Of a run with several cycles the last one counts. */
int solve_output_prepare(solve_output *out, const grove_node *node, grove_parm_run *const *runs)
{
    size_t length = 0;

    if (!out->file)
        return 0;
    char *bytes = solve_table_bytes(node, out->solve, runs, &out->results, &length);
    if (!bytes)
        return GROVE_NO_MEMORY;
    FILE *to = grove_file_stream(out->file);
    bool written = !fseeko(to, 0, SEEK_SET) && !ftruncate(fileno(to), 0) &&
                   fwrite(bytes, 1, length, to) == length && !fflush(to);
    int reason = errno;
    free(bytes);
    return written ? 0
                   : grove_node_fail_option(node, "to", "%s: cannot write: %s",
                                            grove_node_text(node, "to"), strerror(reason));
}

int solve_output_commit(solve_output *out, const grove_node *node)
{
    grove_file *file = out->file;

    out->file = NULL;
    if (!file)
        return 0;
    grove_error *error = grove_error_new();
    if (grove_file_commit(file, error))
        return fail_with(node, error);
    grove_error_free(error);
    return 0;
}
