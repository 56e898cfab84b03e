/* A parm in a solution table: its quantities, places along time and frequency, numbers. */
#ifndef GROVE_NODES_SOLVE_QUANTITY_H
#define GROVE_NODES_SOLVE_QUANTITY_H

#include "nodes/fit/solve_table.h"

/* The middles of intervals; of polynomials the cells of the data, in ascending order. */
typedef struct {
    bool varies;
    int64_t count;
    double *at, *x; /* [count] the coordinate, and the place in its interval, from -1 to 1 */
    double *width;  /* [count] of the interval, or the cell; NULL: not known */
    double *whole;  /* [count] the coordinate; a short last interval has a whole one's */
    int64_t *interval, *domain;
} solve_places;

typedef enum { SOLVE_REAL, SOLVE_AMPLITUDE, SOLVE_PHASE } solve_part;

typedef struct {
    const char *type; /* of the soltab */
    solve_part part;  /* of the parm's numbers */
    bool placed; /* it has axes of time and freq even where the parm does not vary along them */
} solve_quantity;

enum { SOLVE_MAX_QUANTITIES = 2, SOLVE_MAX_ELEMENTS = 4, SOLVE_UNITY = -1 };

typedef struct {
    solve_quantity quantity[SOLVE_MAX_QUANTITIES];
    int quantities;
    int member[SOLVE_MAX_ELEMENTS]; /* of each element; SOLVE_UNITY: it is 1 */
    int elements;                   /* 1: there is no axis pol */
} solve_meaning;

/* A parm that is written. */
typedef struct {
    const solve_parm *own;
    const grove_parm_run *run;
    const unsigned char *known;
    const solve_results *results;
    int64_t bands; /* domains along frequency */
    solve_meaning meaning;
    solve_places time, freq;
    int64_t stations, sources;
    char **station, **source; /* their names; NULL: there is no such axis */
} solve_written;

bool solve_is_found(grove_least_squares_outcome outcome);
solve_meaning solve_meaning_of(const solve_parm *own);
solve_places solve_find_places(const grove_parm_intervals *own, const solve_cut *cut);
void solve_free_places(solve_places *p);
int64_t solve_numbers_of(const solve_written *w);
/* Number n of a soltab, [time][freq][ant][dir][pol]; `error` may be NULL. */
void solve_put_number(const solve_written *w, solve_part which, int64_t n, double *value,
                      float *weight, double *error);

#endif
