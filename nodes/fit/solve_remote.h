/* Fits whose matrices stay on a device: shared by their files. */
#ifndef GROVE_NODES_SOLVE_REMOTE_H
#define GROVE_NODES_SOLVE_REMOTE_H

#include "nodes/fit/solve.h"

#include "../../kernels/fit/fit_solve.h"

/* Memory of a device, in doubles: for each domain both points, room for factors and the sizes of
 * unknowns; then the lists. */
typedef struct {
    char *at;
    uint64_t bytes;
} solve_remote_memory;

/* Where the unknowns of domains are in the sums of a tile. */
typedef struct {
    int32_t *at;
    int64_t count;
} solve_lists;

enum { SOLVE_REMOTE_DEVICES = 64 };

struct solve_remote {
    solve_remote_memory device[SOLVE_REMOTE_DEVICES];
    int now; /* the device that has the batch; -1: none */
    int64_t unknowns, domains;
    grove_gather_domain *domain; /* [domains], but for the points */
    solve_lists lists;
};

/* The memory of a domain, in doubles. */
static inline int64_t solve_remote_slot(int64_t unknowns)
{
    return 2 * grove_point_size(unknowns) + unknowns * unknowns + unknowns;
}

static inline int64_t solve_remote_point(const solve_remote *r, const solve_domain *d, int point)
{
    return d->slot * solve_remote_slot(r->unknowns) + point * grove_point_size(r->unknowns);
}

static inline int64_t solve_remote_work(const solve_remote *r, const solve_domain *d)
{
    return solve_remote_point(r, d, 2);
}

static inline int64_t solve_remote_sizes(const solve_remote *r, const solve_domain *d)
{
    return solve_remote_work(r, d) + r->unknowns * r->unknowns;
}

/* Forgets the batch. */
void solve_remote_drop(solve_remote *remote);

#endif
