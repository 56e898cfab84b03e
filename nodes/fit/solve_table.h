/* The solution table of a fit: results kept of each domain, and the file made of them. */
#ifndef GROVE_NODES_SOLVE_TABLE_H
#define GROVE_NODES_SOLVE_TABLE_H

#include "nodes/fit/solve.h"

/* How the fit of a domain ended. */
typedef struct {
    grove_least_squares_outcome outcome;
    int32_t iterations;
    double chi2;
    int64_t freedom; /* degrees of it: data less the unknowns that they determine */
} solve_result;

typedef struct {
    solve_result *results; /* [domains along time][along frequency] */
    /* [parms]: of each coefficient, [member][grove_parm_index]: whether the data determine it. */
    unsigned char **known;
} solve_results;

/* In check, once domains are known: whether the file of the option `to` can be written. */
int solve_table_check(grove_node *node, const solve *s);
/* The bytes of the file; the caller frees. NULL with a message of the node. */
char *solve_table_bytes(const grove_node *node, const solve *s, grove_parm_run *const *runs,
                        const solve_results *r, size_t *length);

/* ---- outputs of a run ---- */

typedef struct solve_output solve_output;

/* Of the action: begin, prepare, commit, abort. `runs`: [parms]. From begin on there is a
 * checkpoint, the file PATH.checkpoint, which stays where the run does not end well. */
solve_output *solve_output_new(const solve *s);
/* Removes the checkpoint, if all cycles have ended well. */
void solve_output_free(solve_output *out);
int solve_output_begin(solve_output *out, const grove_call *call);
/* A domain is done. */
void solve_output_add(solve_output *out, const solve_domain *d);
/* Whether the checkpoint of a run before has the domain; puts its solution into the coefficients,
 * and how its fit ended into the domain. */
bool solve_output_has(const solve_output *out, const solve_domain *d);
bool solve_output_restore(const solve_output *out, solve_domain *d, grove_parm_run *const *runs);
/* These domains are done: into the checkpoint, but for those restored. 0, or a code with a message.
 */
int solve_output_keep(solve_output *out, const grove_node *node, const solve_domain *domains,
                      int64_t count, grove_parm_run *const *runs);
/* With unsolved=nan: coefficients without a solution become NaN, of domains done since the last
 * call of take_back, or all of the run; take_back restores them. */
void solve_output_drop_unsolved(solve_output *out, grove_parm_run *const *runs);
void solve_output_drop_all_unsolved(solve_output *out, grove_parm_run *const *runs);
void solve_output_take_back(solve_output *out, grove_parm_run *const *runs);
/* The run fails, and would again: nothing of it is of use. */
void solve_output_discard(solve_output *out);
int solve_output_prepare(solve_output *out, const grove_call *call, grove_parm_run *const *runs);
void solve_output_commit(solve_output *out);
void solve_output_abort(solve_output *out, const grove_node *node);

#endif
