/* Normal equations and chi-squared from compressed sums. With k a row of L (x) conj(R) and e_a that
 * of a derivative: b_a = conj(e_a (S1 - S2 k^H)), H_ab = e_b S2 e_a^H. */
#include "compression.h"

#include "../kernels/compression/compression_simd.h"

#include <stdbool.h>
#include <string.h>

enum { NUMBERS = 4 * GROVE_COMPRESSION_MAX_GROUPS };

typedef double _Complex complex_;

/* Products without the checks for infinity that C asks for. */
static complex_ times(complex_ a, complex_ b)
{
    return __builtin_complex(creal(a) * creal(b) - cimag(a) * cimag(b),
                             creal(a) * cimag(b) + cimag(a) * creal(b));
}

static complex_ times_conjugate(complex_ a, complex_ b)
{
    return __builtin_complex(creal(a) * creal(b) + cimag(a) * cimag(b),
                             cimag(a) * creal(b) - creal(a) * cimag(b));
}

static complex_ number_at(const double *at, int c)
{
    return __builtin_complex(at[c], at[4 + c]);
}

/* S2 of correlation c, [n][n]. */
static void unpack(const double *sums, int n, int c, complex_ *square)
{
    const double *pair = sums + GROVE_SUMS_PAIR(n, 0, 1);

    for (int j = 0; j < n; j++) {
        square[j * n + j] = sums[GROVE_SUMS_SQUARE(n, j) + c];
        for (int k = j + 1; k < n; k++, pair += 8) {
            square[j * n + k] = number_at(pair, c);
            square[k * n + j] = conj(square[j * n + k]);
        }
    }
}

/* Correlation c of L (x) conj(R): one number, or four. */
static void row_of(int form, const complex_ *left, const complex_ *right, int c, complex_ *row)
{
    const int i = c / 2, j = c % 2;

    if (form == GROVE_COMPRESSION_DIAGONAL) {
        row[0] = times_conjugate(left[3 * i], right[3 * j]);
        return;
    }
    for (int a = 0; a < 4; a++)
        row[a] = times_conjugate(left[2 * i + a / 2], right[2 * j + a % 2]);
}

static void rows_of(int form, int groups, const complex_ *left, const complex_ *right, int c,
                    complex_ *row)
{
    for (int g = 0; g < groups; g++)
        row_of(form, left + 4 * g, right + 4 * g, c, row + form * g);
}

/* to_j = sum_k S2_jk conj(row_k), the row being `count` numbers from `first` on. */
static void apply(const complex_ *square, int n, const complex_ *row, int first, int count,
                  complex_ *to)
{
    for (int j = 0; j < n; j++) {
        complex_ sum = 0;
        for (int k = 0; k < count; k++)
            sum += times_conjugate(square[j * n + first + k], row[k]);
        to[j] = sum;
    }
}

static complex_ dot(const complex_ *a, const complex_ *b, int n)
{
    complex_ sum = 0;

    for (int k = 0; k < n; k++)
        sum += times(a[k], b[k]);
    return sum;
}

/* Whether any data of a correlation were summed. */
static bool has_data(const double *sums, int c)
{
    return sums[GROVE_SUMS_NUMBERS + c] > 0;
}

/* Adds what correlation c says of the columns. `rest` is S1 - S2 k^H. */
static void add_columns(grove_compression_form form, int groups, const complex_ *square,
                        const complex_ (*e)[4], const grove_compression_column *column, int columns,
                        const complex_ *rest, complex_ *normal, complex_ *gradient)
{
    const int n = (int)form * groups, each = (int)form;

    for (int a = 0; a < columns; a++) {
        const int own = each * column[a].group;
        complex_ applied[NUMBERS];

        gradient[a] += conj(dot(e[a], rest + own, each));
        apply(square, n, e[a], own, each, applied);
        for (int b = a; b < columns; b++)
            normal[a * columns + b] += dot(e[b], applied + each * column[b].group, each);
    }
}

double grove_compression_normal(grove_compression_form form, int groups, const double *sums,
                                const complex_ *left, const complex_ *right,
                                const grove_compression_column *column, int columns,
                                complex_ *normal, complex_ *gradient)
{
    const int n = (int)form * groups;
    complex_ row[NUMBERS], rest[NUMBERS], square[n * n], e[columns > 0 ? columns : 1][4];
    double chi2 = 0;

    memset(normal, 0, sizeof(*normal) * (size_t)columns * (size_t)columns);
    memset(gradient, 0, sizeof(*gradient) * (size_t)columns);
    for (int c = 0; c < 4; c++) {
        if (!has_data(sums, c))
            continue;
        rows_of((int)form, groups, left, right, c, row);
        unpack(sums, n, c, square);
        apply(square, n, row, 0, n, rest);
        chi2 += sums[GROVE_SUMS_POWER + c];
        for (int j = 0; j < n; j++) {
            complex_ data = number_at(sums + GROVE_SUMS_DATA(j), c);
            chi2 += creal(times(row[j], rest[j])) - 2 * creal(times(row[j], data));
            rest[j] = data - rest[j];
        }
        for (int a = 0; a < columns; a++) {
            const grove_compression_column *of = &column[a];
            bool p = of->side == 'p';
            row_of(form, p ? of->matrix : left + 4 * of->group,
                   p ? right + 4 * of->group : of->matrix, c, e[a]);
        }
        add_columns(form, groups, square, (const complex_(*)[4])e, column, columns, rest, normal,
                    gradient);
    }
    for (int a = 0; a < columns; a++)
        for (int b = 0; b < a; b++)
            normal[a * columns + b] = conj(normal[b * columns + a]);
    return chi2;
}

/* ---- chi-squared alone: all correlations at once, as the sums have them ---- */

enum { LANES = 4 };

typedef struct {
    double re[LANES], im[LANES];
} lanes;

/* Adds the rows L (x) conj(R) of all correlations; those without data stay 0. */
static void add_rows(int form, const double *sums, const complex_ *left, const complex_ *right,
                     lanes *row)
{
    complex_ one[4];

    for (int c = 0; c < LANES; c++) {
        if (!has_data(sums, c))
            continue;
        row_of(form, left, right, c, one);
        for (int a = 0; a < form; a++) {
            row[a].re[c] += creal(one[a]);
            row[a].im[c] += cimag(one[a]);
        }
    }
}

/* Re(e S2 u^H) + Re(u S2 e^H) over 2, of Hermitian S2, and `data` Re(e S1), over all correlations.
 */
static double quadratic(const double *sums, int n, const lanes *e, const lanes *u, double data)
{
    const double *pair = sums + GROVE_SUMS_PAIR(n, 0, 1);
    double sum[LANES] = {0};

    for (int j = 0; j < n; j++) {
        const double *own = sums + GROVE_SUMS_SQUARE(n, j), *linear = sums + GROVE_SUMS_DATA(j);
        for (int c = 0; c < LANES; c++)
            sum[c] += own[c] * (e[j].re[c] * u[j].re[c] + e[j].im[c] * u[j].im[c]) +
                      data * (e[j].re[c] * linear[c] - e[j].im[c] * linear[4 + c]);
        for (int k = j + 1; k < n; k++, pair += 8)
            for (int c = 0; c < LANES; c++) {
                double re = e[j].re[c] * u[k].re[c] + e[j].im[c] * u[k].im[c] +
                            u[j].re[c] * e[k].re[c] + u[j].im[c] * e[k].im[c];
                double im = e[j].im[c] * u[k].re[c] - e[j].re[c] * u[k].im[c] +
                            u[j].im[c] * e[k].re[c] - u[j].re[c] * e[k].im[c];
                sum[c] += pair[c] * re - pair[4 + c] * im;
            }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

double grove_compression_chi2(grove_compression_form form, int groups, const double *sums,
                              const complex_ *left, const complex_ *right)
{
    const int n = (int)form * groups;
    lanes row[NUMBERS];
    double chi2 = 0;

    memset(row, 0, (size_t)n * sizeof(*row));
    for (int g = 0; g < groups; g++)
        add_rows((int)form, sums, left + 4 * g, right + 4 * g, row + (int)form * g);
    for (int c = 0; c < LANES; c++)
        chi2 += has_data(sums, c) ? sums[GROVE_SUMS_POWER + c] : 0;
    return chi2 + quadratic(sums, n, row, row, -2);
}

/* With e = k' - k = (L' - L) (x) conj(R') + L (x) conj(R' - R) the change is
 * e S2 (e + 2 k)^H - 2 Re(e S1). */
double grove_compression_change(grove_compression_form form, int groups, const double *sums,
                                grove_compression_sides from, grove_compression_sides to)
{
    const int n = (int)form * groups;
    lanes e[NUMBERS], u[NUMBERS];

    memset(e, 0, (size_t)n * sizeof(*e));
    memset(u, 0, (size_t)n * sizeof(*u));
    for (int g = 0; g < groups; g++) {
        complex_ left[4], right[4];
        int at = (int)form * g;
        for (int k = 0; k < 4; k++) {
            left[k] = to.left[4 * g + k] - from.left[4 * g + k];
            right[k] = to.right[4 * g + k] - from.right[4 * g + k];
        }
        add_rows((int)form, sums, left, to.right + 4 * g, e + at);
        add_rows((int)form, sums, from.left + 4 * g, right, e + at);
        add_rows((int)form, sums, from.left + 4 * g, from.right + 4 * g, u + at);
    }
    for (int j = 0; j < n; j++)
        for (int c = 0; c < LANES; c++) {
            u[j].re[c] = 2 * u[j].re[c] + e[j].re[c];
            u[j].im[c] = 2 * u[j].im[c] + e[j].im[c];
        }
    return quadratic(sums, n, e, u, -2);
}
