/* For tests of fits: `draw`, a Jones term of random numbers that are constant in intervals;
 * `spoil`, factors of data with flags, NaN and weights; and `keep`, an action that keeps the whole
 * of a value. */
#ifndef GROVE_TESTS_SOLVE_WORLD_H
#define GROVE_TESTS_SOLVE_WORLD_H

#include "tests/common/testing.h"

#include "run/session.h"

enum { SOLVE_WORLD_KEPT = 4 };

typedef struct {
    testing t;
    grove_session *session;
    int times;           /* 12; of 2 sidereal minutes */
    const char *observe; /* more options of observe, such as ", autocorrelations=true" */
} solve_world;

/* The values that keep(x, number=k) was given in the last run, dense; elements of a cell fastest.
 */
typedef struct {
    int axes, elements;
    int kind[GROVE_MAX_AXES]; /* of the axes */
    int64_t size[GROVE_MAX_AXES];
    int64_t cells;
    double complex *at;
    unsigned char *flags; /* a byte per cell */
} solve_kept;

/* Reads of `spoil`, by member: value, weight, uvw. */
extern int solve_world_reads[3];
/* The read of spoil.value, from 1 on, at which the user presses Ctrl-C; 0: never. */
extern int solve_world_interrupt;
/* The last note or warning that was printed. */
extern char solve_world_said[1000];
/* What the data leave free, as the last fit said. */
extern char solve_world_free[1000];
extern solve_kept solve_world_kept[SOLVE_WORLD_KEPT];

void solve_world_begin(solve_world *w);
void solve_world_end(solve_world *w);
/* Runs the tree of these lines after those that say what is observed: obs, and M[p,q] and
 * N[p,q], the visibilities of some sources, of the skies S and S2. Returns the code; messages are
 * in w->t.error. */
int solve_world_run(solve_world *w, const char *text, const grove_session_options *options);
/* The same, which must succeed. */
void solve_world_pass(solve_world *w, const char *text);
/* The same, which must fail with these words among its messages. */
void solve_world_refuse(solve_world *w, const char *text, const char *words);
/* Turns keep(number=k), of [time station freq], by the phase that is common to all stations in a
 * cell of time and freq so that it is nearest to keep(number=l): data do not tell that phase.
 * `without`: a station that does not count; -1: none. */
void solve_world_align(int k, int l, int without);
/* Largest |a - b| between what keep(number=k) and keep(number=l) were given. Of station
 * `without` there is none. */
double solve_world_distance(int k, int l);
double solve_world_distance_without(int k, int l, int without);
/* The length of the baseline of two stations in `spoil`, m. */
double solve_world_length(int left, int right);

/* The world `w` of a test program, with setup and teardown. */
#define SOLVE_WORLD_FIXTURE                                                                        \
    static solve_world w;                                                                          \
                                                                                                   \
    static void setup(void)                                                                        \
    {                                                                                              \
        solve_world_begin(&w);                                                                     \
    }                                                                                              \
                                                                                                   \
    static void teardown(void)                                                                     \
    {                                                                                              \
        solve_world_end(&w);                                                                       \
    }

#endif
