/* The search for start values of delays and TEC. */
#ifndef GROVE_NODES_SOLVE_SEARCH_H
#define GROVE_NODES_SOLVE_SEARCH_H

#include "nodes/fit/solve.h"

#define SOLVE_TEC_PHASE -8.44797245e9 /* rad Hz for a TECU */

enum { SOLVE_CORRELATIONS = 4 };

/* Data times the conjugate of the model, summed over the times of a domain. */
typedef struct {
    const solve_tile *tile;
    const solve_compressed *c;
    solve_domain *d;
    int64_t f[2], channels;
    const double *freq;   /* [channels] of the domain, Hz */
    double complex *sums; /* [baseline + 1][correlation][channel]; the last: of some baselines */
    double *angle;        /* [channels] rad for a unit of the unknown */
    double step, range;   /* of the search */
} solve_spectra;

/* The angles of delays (s) or TEC (TECU), and the grid of the search. */
void solve_set_grid(solve_spectra *w, bool tec);
/* The unknown that turns the sums of a baseline back best. correlations: bits of the correlations
 * that share it. */
double solve_find_peak(const solve_spectra *w, int64_t baseline, unsigned correlations);
double solve_strength(const solve_spectra *w, int64_t baseline, unsigned correlations);
/* The strongest baseline between a station that is done and one that is not; -1: none. If none is
 * done, the strongest of all. strengths: [baseline]. */
int64_t solve_next_baseline(const solve_spectra *w, const bool *done, bool any,
                            const double *strengths);
/* XX and YY do not determine the common difference between the delays of x and of y; XY and YX do,
 * where the sky is polarised. [station]; phases: these are fitted, too. */
void solve_search_between(const solve_spectra *w, bool phases, const double *x, double *y,
                          const double *phase_x, double *phase_y);
/* Adds found[station] to a member of a parm in all of its intervals. */
void solve_add_to_parm(const solve *s, const solve_domain *d, int parm, int member,
                       const double *found, double *x);

/* Whether a parm is a delay or TEC to search for. */
bool solve_is_searched(const solve *s, int parm, bool *tec);
/* Whether a delay and TEC are searched for together: one of each, without a phase. */
bool solve_finds_pair(const solve *s, int *delay, int *tec);
/* Their start values, added to the unknowns x where data agree better with them. */
void solve_search_pair(solve_spectra *w, int delay, int tec, double *x);

#endif
