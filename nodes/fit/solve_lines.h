/* Lines of a tile: channels of a row and time that follow each other, each to be taken as one. */
#ifndef GROVE_NODES_SOLVE_LINES_H
#define GROVE_NODES_SOLVE_LINES_H

#include "nodes/fit/solve.h"

enum { SOLVE_LINE = 128 }; /* cells, at most */

/* Cells of a domain: their baseline and stretch (numbered in the domain), and where they are in
 * each input. */
typedef struct {
    int64_t baseline, stretch, count;
    const int64_t *at, *step; /* [inputs] cells: of the first one; from one to the next */
} solve_line;

typedef void (*solve_line_visitor)(void *context, const solve_line *cells);

/* Visits the cells of a domain in the tile, in rows that are there and baselines that count; NULL:
 * of all. model_only: the visitor needs the place of the model alone. */
void solve_visit_lines(const solve_tile *tile, const solve_domain *d, bool model_only,
                       solve_line_visitor function, void *context);
/* re and im [count] of an element in cells from `at` on, `step` apart. im may be NULL. */
void solve_load_line(const solve_view *view, int64_t at, int64_t step, int element, int64_t count,
                     double *re, double *im);

#endif
