/* Cholesky factors of symmetric matrices that may be singular: solutions of minimum norm, null
 * spaces and the diagonal of the pseudo-inverse. Of LAPACK where the build has it. */
#ifndef GROVE_NODES_LEAST_SQUARES_ALGEBRA_H
#define GROVE_NODES_LEAST_SQUARES_ALGEBRA_H

#include <stdbool.h>
#include <stdint.h>

/* The caller sets size and gives the memory. */
typedef struct {
    int64_t size, rank;
    double *lower;  /* [size][size]: the lower triangle by rows, first of the matrix, then of L */
    int32_t *order; /* [size]: row k of L belongs to row order[k] of the matrix */
    double *work;   /* [2 size] */
    double *null; /* [size - rank][size]: an orthonormal basis of the null space, or NULL; free() */
} grove_factor;

/* Factors without pivots. False, and the matrix is lost, when a pivot is at most `smallest`. Large
 * matrices are factored in panels, of about a second at most; these two also end with false, and
 * without a useful result, where the user asks to stop (grove_interrupted). */
bool grove_factor_plain(grove_factor *factor, double smallest);
/* Factors with pivots until the next one is at most `smallest`: that is the rank. False when memory
 * for the null space is short. */
bool grove_factor_pivoted(grove_factor *factor, double smallest);
/* b [size] becomes the solution; of a singular matrix the one of minimum norm. */
void grove_factor_solve(const grove_factor *factor, double *b);
/* A sum of up to four numbers, `by` times those `at`. */
enum { GROVE_FACTOR_SUMMED = 4 };
typedef struct {
    int32_t at[GROVE_FACTOR_SUMMED];
    double by[GROVE_FACTOR_SUMMED];
} grove_factor_sum;

/* s^T C s of each of these sums, [size], NULL: of each number, C being the (pseudo-)inverse; of no
 * use where the user asks to stop. L is lost. */
void grove_factor_variances(grove_factor *factor, const grove_factor_sum *sums, double *variances);

#endif
