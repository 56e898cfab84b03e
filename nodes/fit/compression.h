/* Compressed sums: where V_pq = sum_g L_gp M_g,pq R_gq^H with L and R constant over a box of times
 * and channels (a stretch), chi-squared of a baseline there is a quadratic form in the numbers
 * k = L (x) conj(R). Its coefficients are sums over the cells, in double:
 *
 *     S0_c = sum w |d_c|^2,  S1_c = sum w conj(d_c) m,  S2_c = sum w m m^H
 *     chi^2 = sum_c S0_c - 2 Re(k_c S1_c) + k_c S2_c k_c^H
 *
 * c is a correlation (XX XY YX YY, row-wise) and V_c = k_c m. In the diagonal form (L and R scalar
 * or diagonal) m has a number for each group, in the full form four: the matrix M row-wise. */
#ifndef GROVE_NODES_COMPRESSION_H
#define GROVE_NODES_COMPRESSION_H

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>

enum { GROVE_COMPRESSION_MAX_GROUPS = 32 };

/* The form, by the numbers of m for each group. */
typedef enum { GROVE_COMPRESSION_DIAGONAL = 1, GROVE_COMPRESSION_FULL = 4 } grove_compression_form;

/* Numbers [time][baseline][freq][element], `element` adjacent, seen through strides in bytes (0
 * where they do not vary). Addresses are of cell (0, 0, 0). Complex numbers for data and models,
 * real ones for weights. */
typedef struct {
    const void *data;
    int64_t stride[3];          /* time, baseline, freq */
    const unsigned char *flags; /* a byte for each cell, bit k: element k; NULL: none */
    int64_t flag_stride[3];
    int32_t elements; /* 1 (of data and models: times the identity), 2 (diagonal) or 4 (2x2) */
    int32_t bytes;    /* of a real number: 4 or 8 */
} grove_compression_array;

typedef struct {
    grove_compression_form form;
    int32_t groups;                  /* at least 1 */
    bool scalar_is_both;             /* data of one element are XX and YY, not XX alone */
    grove_compression_array data;    /* elements: how many correlations count */
    grove_compression_array weights; /* data NULL: all are 1 */
    grove_compression_array model[GROVE_COMPRESSION_MAX_GROUPS];
    /* A byte for each time and baseline, not 0 where nothing is read; NULL: all is. */
    const unsigned char *missing;
    int64_t missing_stride[2];
} grove_compression_input;

/* A box of cells: times [time[0], time[1]) and channels [freq[0], freq[1]). */
typedef struct {
    int64_t time[2], freq[2];
} grove_compression_stretch;

/* Doubles of the sums of one baseline and stretch. Sums of the same baseline, or of two ranges of
 * cells, are added by adding these doubles. */
int64_t grove_compression_size(grove_compression_form form, int groups);

/* Sums of baselines [first, last) over a stretch; `sums` begins with the sums of baseline `first`.
 * A correlation of a cell is left out where its data or model are flagged, NaN or infinite, or its
 * weight is not a finite number above 0; in the full form, where any element of a model is. Weights
 * of one element count for all correlations. Weights of two elements count for XX and YY; XY and YX
 * are left out. Data of two elements have XX and YY, data of one have XX (diagonal form only), or
 * both. Baselines do not depend on each other: the bits are the same for any split into ranges.
 * Several threads may call it. Non-zero when memory is short. */
int grove_compression_sum(const grove_compression_input *input,
                          const grove_compression_stretch *stretch, int64_t first, int64_t last,
                          double *sums);

/* Adds `count` doubles of sums. */
void grove_compression_add(double *to, const double *from, int64_t count);

/* Sums of all groups except the last one, whose L and R are 1: it is subtracted from the data. The
 * power has the rounding errors of the original one. */
void grove_compression_subtract_last(grove_compression_form form, int groups, const double *sums,
                                     double *to);

/* Real numbers that were summed: two for each correlation of a cell. */
double grove_compression_count(const double *sums);
/* sum w |d|^2 */
double grove_compression_power(const double *sums);

/* A column of the local normal equations: V changes by dL M R^H (side 'p') or by L M dR^H (side
 * 'q') of its group. `matrix` is dL or dR (not dR^H). */
typedef struct {
    int32_t group;
    char side;
    double _Complex matrix[4];
} grove_compression_column;

/* Below, Jones matrices are 2x2 and row-wise, [group][4]. In the diagonal form only elements 0 and
 * 3 are read, for data of one element only element 0. */

/* The local normal equations of one baseline and stretch:
 *     gradient[a] = sum w conj(dV_a) (d - V),  normal[a * columns + b] = sum w conj(dV_a) dV_b
 * (overwritten; both halves). Returns chi^2 = sum w |d - V|^2 with the rounding errors of
 * sum w |d|^2: where the fit is good, it cancels. Steps are judged by grove_compression_change. */
double grove_compression_normal(grove_compression_form form, int groups, const double *sums,
                                const double _Complex *left, const double _Complex *right,
                                const grove_compression_column *column, int columns,
                                double _Complex *normal, double _Complex *gradient);

/* The functions below have code for each instruction set: this is the one in use. */
struct grove_stefcal_kernels;
const struct grove_stefcal_kernels *grove_compression_kernels_now(void);

/* The Jones matrices of both sides of a baseline. */
typedef struct {
    const double _Complex *left, *right;
} grove_compression_sides;

/* chi^2 alone, with the same errors. */
double grove_compression_chi2(const struct grove_stefcal_kernels *kernels,
                              grove_compression_form form, int groups, const double *sums,
                              grove_compression_sides sides);

/* chi^2 of `to` less chi^2 of `from`, -2 Re(e (S1 - S2 k^H)) + e S2 e^H with e the difference of
 * the two k, which does not cancel. */
double grove_compression_change(const struct grove_stefcal_kernels *kernels,
                                grove_compression_form form, int groups, const double *sums,
                                grove_compression_sides from, grove_compression_sides to);

#endif
