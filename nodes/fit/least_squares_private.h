/* Shared by the files of least squares. */
#ifndef GROVE_NODES_LEAST_SQUARES_PRIVATE_H
#define GROVE_NODES_LEAST_SQUARES_PRIVATE_H

#include "nodes/fit/least_squares.h"
#include "nodes/fit/least_squares_algebra.h"

#include <stddef.h>

/* Of lambda, relative to the diagonal: below it a step counts as undamped, and is. */
#define DAMPING_ZERO 1e-6
/* The damping after the first undamped step that is rejected; after later ones, the last damping of
 * an accepted step.
 */
#define DAMPING_FIRST 1e-3
/* A rejected step multiplies the damping by this; the next one by twice this. */
#define DAMPING_GROWTH 3

typedef struct grove_least_squares_rounds grove_least_squares_rounds;

/* A point with the caller's sums there. */
typedef struct {
    double *x, *gradient, *matrix;
} grove_least_squares_at;

/* The state of unknowns that step together; level: lambda of the last damped step that was
 * accepted; last_predicted: of their last step. */
typedef struct {
    double damping, growth, level, last_increment, last_predicted;
    bool undamped_tried;
} grove_least_squares_subset;

struct grove_least_squares {
    int64_t n;
    void *memory;                     /* of all vectors */
    grove_least_squares_settings set; /* its arrays are copies */
    grove_least_squares_outcome outcome;
    int32_t iterations;
    grove_least_squares_at best, trial;
    double chi2, power;
    int64_t data;

    /* Unknowns by block, [n], each block's ascending, and where blocks begin, [groups + 1]. */
    int32_t *member, *begin;
    int64_t groups;
    int64_t *row; /* these three are the layout */
    int32_t *column, *block_of;
    grove_least_squares_layout layout;
    uint64_t size; /* of a matrix */

    /* Alternating steps. */
    int32_t subsets, subset, idle; /* idle: number of subsets in a row that had nothing to gain */
    int32_t *subset_of;            /* [n]; NULL: all step together */
    bool any_stalled, extrapolated;
    double rate; /* the part of the subset's last gain that its next step gains */
    grove_least_squares_subset now, *others; /* others: [subsets] */
    grove_least_squares_rounds *rounds;

    /* The step to the trial point. */
    int32_t quiet;                /* number of points in a row that hardly changed chi-squared */
    double *step, *scale, *right; /* scale: sqrt(N_jj), or 0 without data */
    bool *held;                   /* at a bound that the step would cross */
    bool half, cut, deficient, by_change;
    bool accepted;         /* the last point */
    bool given;            /* remote: the matrix at the end */
    bool solved, stalling; /* remote: the step is the best point's; a stalled fit is judged */
    double square;         /* ... step^T N step */
    double predicted, increment, reference, values, floor, rounding;

    grove_factor factor;
    int32_t *list; /* the unknowns of a group that the step changes */
    double *block; /* memory for the factors of blocks */

    bool analysed;
    double variance; /* chi^2 per degree of freedom; NAN: not known */
    int64_t rank, null_count;
    double *errors;
    double *null;        /* each of the unknowns of one block */
    int32_t *null_group; /* [null_count] which */
    size_t null_size;
};

/* The diagonal of a matrix. */
static inline double *grove_least_squares_diagonal(const grove_least_squares *fit, double *matrix,
                                                   int64_t unknown)
{
    return matrix + fit->row[unknown] + fit->column[unknown];
}

/* The next subset; true: it begins a round. */
bool grove_least_squares_next_subset(grove_least_squares *fit);
/* NULL when memory is short. */
grove_least_squares_rounds *grove_least_squares_rounds_new(int64_t unknowns);
void grove_least_squares_rounds_free(grove_least_squares_rounds *rounds);
/* Forgets all earlier rounds. The next one begins at x. */
void grove_least_squares_rounds_begin(grove_least_squares_rounds *rounds, const double *x);
/* A round has ended at `x`; false: no other has, from which `to` can be extrapolated. `scale`:
 * of unknowns. */
bool grove_least_squares_rounds_extrapolate(grove_least_squares_rounds *rounds, const double *x,
                                            const double *scale, double *to);
/* The next round begins at x. */
void grove_least_squares_rounds_start(grove_least_squares_rounds *rounds, const double *x);

/* x of an unknown, moved into its bounds. */
double grove_least_squares_clamp(const grove_least_squares *fit, int64_t unknown, double x);
/* Lists the unknowns of a group that have data and are not held. */
void grove_least_squares_list(grove_least_squares *fit, int64_t group);
/* Factors the scaled and damped matrix of the unknowns listed. False when memory is short, or the
 * user asks to stop. */
bool grove_least_squares_factor(grove_least_squares *fit, const grove_least_squares_at *from,
                                double damping);
/* The trial point from there with the present damping. False when there is none, or the step of a
 * remote fit is not known yet. */
bool grove_least_squares_try(grove_least_squares *fit, const grove_least_squares_at *from);

#endif
