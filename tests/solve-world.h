/* For tests of fits: `draw`, a Jones term of random numbers that are constant in intervals, and
 * `keep`, an action that keeps the whole of a value. */
#ifndef GROVE_TESTS_SOLVE_WORLD_H
#define GROVE_TESTS_SOLVE_WORLD_H

#include "testing.h"

#include "run/session.h"

enum { SOLVE_WORLD_KEPT = 4 };

typedef struct {
    testing t;
    grove_session *session;
} solve_world;

/* The values that keep(x, number=k) was given in the last run, dense; elements of a cell fastest.
 */
typedef struct {
    int axes, elements;
    const grove_axis *axis[GROVE_MAX_AXES];
    int64_t cells;
    double complex *at;
    unsigned char *flags; /* a byte per cell */
} solve_kept;

extern solve_kept solve_world_kept[SOLVE_WORLD_KEPT];

void solve_world_begin(solve_world *w);
void solve_world_end(solve_world *w);
/* Runs the tree of these lines after those that say what is observed: obs, and M[p,q], the
 * visibilities of some sources. Returns the code; messages are in w->t.error. */
int solve_world_run(solve_world *w, const char *text, const grove_session_options *options);
/* The same, which must succeed. */
void solve_world_pass(solve_world *w, const char *text);
/* Largest |a - b| between what keep(number=k) and keep(number=l) were given. */
double solve_world_distance(int k, int l);

#endif
