/* Nonlinear least squares of one solution domain, by reverse communication: the caller evaluates
 * the model where grove_least_squares_point says, the machine judges and says where next. Pure C:
 * it knows no node. */
#ifndef GROVE_NODES_LEAST_SQUARES_H
#define GROVE_NODES_LEAST_SQUARES_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    GROVE_LEAST_SQUARES_RUNNING,   /* the sums at grove_least_squares_point are needed */
    GROVE_LEAST_SQUARES_CONVERGED, /* by increment, or by the expected fall of chi-squared */
    GROVE_LEAST_SQUARES_STALLED, /* no step, however short, lowers chi-squared, or none by more than
                                    rounding */
    GROVE_LEAST_SQUARES_NO_DATA, /* no unknowns, or no number with weight */
    GROVE_LEAST_SQUARES_SINGULAR,   /* all derivatives are zero and chi-squared is not */
    GROVE_LEAST_SQUARES_LIMIT,      /* max_iterations steps were tried */
    GROVE_LEAST_SQUARES_NOT_FINITE, /* NaN or infinity at the start */
    /* Of `remote` fits: the step of grove_least_squares_solving is needed. */
    GROVE_LEAST_SQUARES_SOLVING
} grove_least_squares_outcome;

/* Arrays have a number for each unknown, are copied, and may be NULL. */
typedef struct {
    int32_t max_iterations; /* steps tried at most; of alternating ones, rounds with theirs */
    /* Relative. Converged when an undamped step changes the model by less than this times the
     * unknowns' contribution (root mean square over unknowns of |x_j| sqrt(N_jj)), when the step
     * could lower chi-squared by less than its square times chi-squared (the gradient, in units of
     * the residual: Bates and Watts' relative offset). Or when rounding hides the effect of steps
     * and the last one would bring the unknowns closer to the minimum by no more than 1 % of their
     * standard deviations, or than the effect of rounding on an exact model. Or when several
     * undamped steps have changed chi-squared by less than grove_least_squares_negligible, and none
     * by more meanwhile. */
    double tolerance;
    /* Of the model's values, relative: FLT_EPSILON where it is computed in single precision.
     * Where changes of chi-squared may be that, gradients judge the steps. 0: DBL_EPSILON. */
    double rounding;
    double damping; /* first lambda, relative to the diagonal; 0: the first step is undamped */
    /* Levenberg-Marquardt on the whole matrix, or Gauss-Newton on its diagonal blocks, which
     * converges linearly. Where all blocks correct the same thing, a point that does not lower
     * chi-squared is averaged with the next one, as in StEFCal (Salvini and Wijnholds 2014). */
    bool blocks;
    /* The block of each unknown, from 0; NULL: all are in one. Only pairs within a block have a
     * place in the matrix. */
    const int32_t *block_of;
    /* Alternating steps: the subset of each unknown, from 0; NULL: all step together. The unknowns
     * of one subset step while the others stay, by Levenberg-Marquardt on their blocks, which must
     * not depend on each other within a subset. Not with `blocks`. A round of all subsets is
     * extrapolated from the rounds before (Anderson 1965, J. ACM 12, 547). Convergence is then
     * judged for a whole round, whose subsets all have no more to gain, and counts the rest of a
     * series of steps that shrink as the last ones did. */
    const int32_t *subset_of;
    const double *lower, *upper; /* bounds; -INFINITY, INFINITY: none */
    /* Priors add ((x - mean) / sigma)^2 to chi-squared; inverse_sigma 0: none. Both or neither. */
    const double *mean, *inverse_sigma;
    /* A usual change of the unknown. One whose usual change does nothing to the model but rounding,
     * 2 `rounding` of the data's root mean square, such as a phase that cancels, counts as one
     * without data. */
    const double *size;
    /* True for the real part of a complex factor, such as a gain, whose imaginary part is the next
     * unknown; neither has bounds. A step d from z then leads to z exp(d / z), which is z + d to
     * first order: where the data hardly determine a phase, long steps turn z and do not stretch
     * it. */
    const bool *pairs;
    /* The caller has the matrices and solves. It adds to the diagonal, [unknowns], only; priors,
     * bounds, blocks and subsets are not given. */
    bool remote;
} grove_least_squares_settings;

/* The caller's sums at the point, without priors. */
typedef struct {
    double chi2;   /* sum w |d - V|^2 */
    double power;  /* sum w |d|^2: distinguishes rounding from a poor fit where the unknowns are
                      about zero; 0: not known */
    double values; /* sum w |V|^2: derivatives smaller than its rounding are ignored */
    int64_t data;  /* real numbers with weight: two for each complex one */
    /* change is chi2 minus its value at the best point so far (grove_least_squares_best), computed
     * without cancellation; it decides in place of the two chi2. Not at the first point. */
    bool has_change;
    double change;
} grove_least_squares_sums;

typedef struct grove_least_squares grove_least_squares;

/* Takes grove_least_squares_bytes and some vectors; NULL when memory is short. A start
 * outside the bounds is moved onto them. Free with grove_least_squares_free. */
grove_least_squares *grove_least_squares_new(int64_t unknowns,
                                             const grove_least_squares_settings *settings,
                                             const double *start);
void grove_least_squares_free(grove_least_squares *fit);

/* [unknowns]: the next point for sums, gradient and matrix; after the end, the best point. */
const double *grove_least_squares_point(const grove_least_squares *fit);
/* [unknowns]: for the caller to add sum w Re(conj(dV_j) (d - V)) to: a Gauss-Newton step is N^-1 g.
 * All zero after grove_least_squares_new and after each step, like the matrix. The pointers of both
 * change with each step. */
double *grove_least_squares_gradient(grove_least_squares *fit);
/* N_jk, k <= j, for the caller to add sum w Re(conj(dV_j) dV_k) to, where grove_least_squares_find
 * says. The rest is not read. */
double *grove_least_squares_matrix(grove_least_squares *fit);
/* Where N_jk is: row[j] + column[k] for unknowns of one block. */
typedef struct {
    const int64_t *row;
    const int32_t *column, *block;
} grove_least_squares_layout;
const grove_least_squares_layout *grove_least_squares_layout_of(const grove_least_squares *fit);
/* The place of N_jk, k <= j, in the matrix; -1: it has none. */
static inline int64_t grove_least_squares_find(const grove_least_squares_layout *layout, int64_t j,
                                               int64_t k)
{
    return layout->block[j] == layout->block[k] ? layout->row[j] + layout->column[k] : -1;
}
/* Bytes that a fit takes, but for some vectors, if its blocks have these numbers of unknowns. */
double grove_least_squares_bytes(const int64_t *unknowns, int64_t blocks);
/* Judges the point just evaluated and chooses the next one. A point with NaN or infinity is
 * rejected. After any outcome but running, nothing changes any more. Where the user asks to stop
 * (grove_interrupted), factorisations end soon and outcomes are of no use. */
grove_least_squares_outcome grove_least_squares_step(grove_least_squares *fit,
                                                     const grove_least_squares_sums *sums);

/* Of `remote` fits, as long as the outcome is GROVE_LEAST_SQUARES_SOLVING: the damping lambda of
 * the system (S N S + lambda) S^-1 step = S g at the best point, where S_jj = 1 / sqrt(N_jj), or 0
 * where that is less than DBL_MIN, or does nothing but rounding (settings.size). Its step of
 * minimum |S^-1 step| is handed over with step^T N step, and the outcome is as of
 * grove_least_squares_step.
 */
double grove_least_squares_solving(const grove_least_squares *fit);
grove_least_squares_outcome grove_least_squares_solved(grove_least_squares *fit, const double *step,
                                                       double square);
/* Whether the point judged last has become the best one. */
bool grove_least_squares_is_best(const grove_least_squares *fit);
/* After the end: the matrix at the best point, [unknowns][unknowns]; only k <= j is read. Without
 * it nothing is known of rank and errors. False when memory is short. */
bool grove_least_squares_set_matrix(grove_least_squares *fit, const double *matrix);

/* By how much chi-squared may still fall at the end of a fit: tolerance^2 of it, or where there are
 * many data, by so little that the unknowns are within 1000 tolerance, at most 0.01, of their
 * standard deviations of the minimum (root mean square; Bates and Watts 1981, Technometrics 23,
 * 179). `data`, `unknowns`: how many real numbers. */
double grove_least_squares_negligible(double tolerance, double chi2, double unknowns, double data);

/* "converged", "stalled", "not enough data", "singular", "iteration limit", "not finite",
 * "running", "solving". */
const char *grove_least_squares_words(grove_least_squares_outcome outcome);

/* The best point so far, [unknowns], and its chi-squared with priors; NaN before the first step. */
const double *grove_least_squares_best(const grove_least_squares *fit);
double grove_least_squares_chi2(const grove_least_squares *fit);
/* Steps tried. */
int32_t grove_least_squares_iterations(const grove_least_squares *fit);
/* Of the best point: does no datum depend on the unknown? It then keeps its value, regardless of
 * its prior. */
bool grove_least_squares_has_no_data(const grove_least_squares *fit, int64_t unknown);

/* After the end only. They factor the matrix of the best point once, on first use. */

/* Of the matrix, priors included, over unknowns with data. */
int64_t grove_least_squares_rank(grove_least_squares *fit);
/* A sum of up to four unknowns of a block, `by` times those `at`; such as the amplitude of a
 * complex number, to first order. */
typedef struct {
    int64_t at[4];
    double by[4];
} grove_least_squares_sum;
/* [unknowns]: one standard deviation each, sqrt(C_jj chi2 / (data - rank)), C being the
 * pseudo-inverse of the matrix scaled to a diagonal of one; a prior counts as one datum. Of these
 * sums, [unknowns], or NULL, of each unknown. NaN where the unknown of the same number has no data,
 * and for all when data <= rank; other unknowns without data do not count in a sum. Other blocks
 * are taken as known. Bounds are not regarded. */
const double *grove_least_squares_errors(grove_least_squares *fit,
                                         const grove_least_squares_sum *sums);
/* An orthonormal basis of the null space of each block, of unknowns with data, each in units of 1 /
 * sqrt(N_jj), so that the square of an entry is the unknown's share in a direction that the data do
 * not determine: *count vectors, each of the unknowns of its block. NULL when *count is 0. */
const double *grove_least_squares_null_space(grove_least_squares *fit, int64_t *count);
/* Which part of a direction, [unknowns], lies in the null spaces: of the sum of squares in these
 * units. */
double grove_least_squares_free_share(grove_least_squares *fit, const double *direction);

#endif
