/* Fits: solution domains, their unknowns, and the normal equations of a tile. */
#ifndef GROVE_NODES_SOLVE_H
#define GROVE_NODES_SOLVE_H

#include "nodes/least_squares.h"
#include "nodes/parm.h"

#include <complex.h>

enum { SOLVE_MODEL, SOLVE_DATA, SOLVE_WEIGHTS };
enum { SOLVE_TIME, SOLVE_FREQ, SOLVE_CUTS };

/* ---- what is fitted: known when the tree is built ---- */

/* A parm, and the real numbers of each of its coefficients: 1 or 2. */
typedef struct {
    const grove_node *leaf;
    const grove_parm *parm;
    int parts;
} solve_parm;

/* A derivative of the model. Each term of the parm's polynomials makes a column of the normal
 * equations. */
typedef struct {
    int parm, member; /* numbers in solve.parms, and of the parm's member */
    int terms, first; /* the first of its columns */
    char side;        /* these three as in grove_fit_slot */
    const grove_axis *axis;
    int64_t index;
    grove_part part;
    int input;
} solve_slot;

/* Solution domains along time or frequency: the smallest ranges of cells that the intervals of all
 * parms tile. Segments are the ranges in which no parm changes its interval. */
typedef struct {
    const grove_axis *axis; /* NULL: there is one domain */
    int64_t count, *first;  /* [count + 1] the first cell of each */
    int64_t *segments;      /* [count + 1] the first segment of each */
    int64_t *edge;          /* [segments of all + 1] the first cell of each segment */
} solve_cut;

/* grove_node_user of the action. */
typedef struct {
    solve_parm *parms;
    int parm_count;
    solve_slot *slots;
    int slot_count, columns;
    solve_cut cut[SOLVE_CUTS];
    int elements;                /* of a cell that are compared */
    int of_model[4], of_data[4]; /* where they are */
    int uvw;                     /* number of the input; -1: none */
    int weights;
    int64_t batch; /* domains along time that start together */
    bool autocorrelations, min_in_wavelengths, max_in_wavelengths, blocks;
    double min_baseline, max_baseline, quota, tolerance, damping;
    int32_t max_iterations;
} solve;

int solve_find_domains(grove_node *node, solve *s);
int solve_find_slots(const grove_node *node, solve *s);
void solve_free(solve *s);

/* ---- one solution domain ---- */

typedef struct {
    int64_t number[SOLVE_CUTS];
    int64_t unknowns, *base;       /* [parms] the first unknown of each parm */
    grove_least_squares *fit;
    grove_least_squares_outcome outcome;
    grove_least_squares_sums sums; /* at the point just evaluated */
    int64_t all;                   /* real numbers, flagged or not */
} solve_domain;

/* The intervals of a parm in the domain. */
typedef struct {
    int64_t first, count;
} solve_span;

solve_span solve_intervals(const solve *s, const solve_domain *d, int parm, int cut);
void solve_domain_begin(const solve *s, solve_domain *d, int64_t time, int64_t freq);
void solve_domain_end(solve_domain *d);
/* The unknowns from the parms' coefficients, or into them. `runs`: [parms]. */
void solve_get(const solve *s, const solve_domain *d, grove_parm_run *const *runs, double *x);
void solve_put(const solve *s, const solve_domain *d, grove_parm_run *const *runs, const double *x);

/* ---- a tile ---- */

/* An input as the fit reads it. */
typedef struct {
    const char *data; /* NULL: not given */
    const unsigned char *flags;
    int64_t stride[GROVE_MAX_AXES]; /* cells, along the axes of the tile; 0: it does not vary */
    int elements;
    bool complex_, double_;
} solve_view;

typedef struct {
    const solve *solve;
    int axes;
    const grove_range *range;
    solve_view *views;   /* of all inputs */
    int cut[SOLVE_CUTS]; /* which axis is time, which frequency; -1: none */
    int baseline;        /* ... baseline */
    int64_t rows;        /* combinations of the other axes */
} solve_tile;

void solve_tile_begin(solve_tile *tile, const solve *s, const grove_array *const *inputs,
                      int count);
void solve_tile_end(solve_tile *tile);

/* Adds up the normal equations of a domain, as grove_least_squares_matrix and _gradient want them,
 * and fills in its sums. */
void solve_normal(const solve_tile *tile, solve_domain *domain, double *matrix, double *gradient);

/* ---- a run ---- */

/* Of the action: start, drive, prepare, stop. */
int solve_start(const grove_node *node, void **run);
int solve_drive(const grove_node *node, void *run, const grove_array *const *inputs, int count,
                bool *again);
int solve_prepare(const grove_node *node, void *run);
void solve_stop(const grove_node *node, void *run);

#endif
