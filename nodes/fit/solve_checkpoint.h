/* Solutions of domains in a checkpoint. */
#ifndef GROVE_NODES_SOLVE_CHECKPOINT_H
#define GROVE_NODES_SOLVE_CHECKPOINT_H

#include "nodes/fit/checkpoint.h"
#include "nodes/fit/solve.h"

typedef struct {
    const solve *solve;
    grove_checkpoint *file; /* NULL: there is none */
    int64_t cycle;          /* of the run */
    const char **found;     /* [domains along time][along frequency] of this cycle, or NULL */
    int64_t kept;           /* domains appended */
} solve_checkpoint;

/* Finds the solutions of the cycle in the file; returns the number of domains. */
int64_t solve_checkpoint_find(solve_checkpoint *c, int64_t cycle);
bool solve_checkpoint_has(const solve_checkpoint *c, const solve_domain *d);
bool solve_checkpoint_restore(const solve_checkpoint *c, solve_domain *d,
                              grove_parm_run *const *runs);
/* Appends the domains that were not restored. 0, or a code with a message. */
int solve_checkpoint_keep(solve_checkpoint *c, const solve_domain *domains, int64_t count,
                          grove_parm_run *const *runs, grove_error *error);
void solve_checkpoint_end(solve_checkpoint *c, bool ended_well);

#endif
