/* Normal equations and chi-squared from compressed sums. With k a row of L (x) conj(R) and e_a a
 * row of a derivative: b_a = conj(e_a (S1 - S2 k^H)), H_ab = e_b S2 e_a^H. */
#include "nodes/fit/compression.h"

#include "../../kernels/fit/compression_simd.h"
#include "../../kernels/simd/isa.h"

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

static bool is_zero(const complex_ *numbers, int count)
{
    bool zero = true;

    for (int k = 0; k < count; k++)
        zero = zero && creal(numbers[k]) == 0 && cimag(numbers[k]) == 0;
    return zero;
}

/* Adds the contribution of correlation c to the columns. `rest` is S1 - S2 k^H. Many columns do not
 * change this correlation: of diagonal Jones terms, half. */
static void add_columns(grove_compression_form form, int groups, const complex_ *square,
                        const complex_ (*e)[4], const grove_compression_column *column, int columns,
                        const complex_ *rest, complex_ *normal, complex_ *gradient)
{
    const int n = (int)form * groups, each = (int)form;
    int changing[columns > 0 ? columns : 1], count = 0;

    for (int a = 0; a < columns; a++)
        if (!is_zero(e[a], each))
            changing[count++] = a;
    for (int i = 0; i < count; i++) {
        const int a = changing[i], own = each * column[a].group;
        complex_ applied[NUMBERS];

        gradient[a] += conj(dot(e[a], rest + own, each));
        apply(square, n, e[a], own, each, applied);
        for (int k = i; k < count; k++) {
            const int b = changing[k];
            normal[a * columns + b] += dot(e[b], applied + each * column[b].group, each);
        }
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
            const grove_compression_column *from = &column[a];
            bool p = from->side == 'p';
            row_of(form, p ? from->matrix : left + 4 * from->group,
                   p ? right + 4 * from->group : from->matrix, c, e[a]);
        }
        add_columns(form, groups, square, (const complex_(*)[4])e, column, columns, rest, normal,
                    gradient);
    }
    for (int a = 0; a < columns; a++)
        for (int b = 0; b < a; b++)
            normal[a * columns + b] = conj(normal[b * columns + a]);
    return chi2;
}

/* ---- chi-squared alone ---- */

const grove_stefcal_kernels *grove_compression_kernels_now(void)
{
    static const grove_stefcal_kernels *const kernels[GROVE_ISAS] = {
        &grove_stefcal_portable, &grove_stefcal_avx2, &grove_stefcal_avx512};

    return kernels[grove_isa_usable()];
}

double grove_compression_chi2(const grove_stefcal_kernels *kernels, grove_compression_form form,
                              int groups, const double *sums, grove_compression_sides sides)
{
    const double *const to[2] = {(const double *)sides.left, (const double *)sides.right};

    return grove_compression_power(sums) +
           kernels->change(sums, NULL, to, groups, form == GROVE_COMPRESSION_FULL);
}

double grove_compression_change(const grove_stefcal_kernels *kernels, grove_compression_form form,
                                int groups, const double *sums, grove_compression_sides from,
                                grove_compression_sides to)
{
    const double *const before[2] = {(const double *)from.left, (const double *)from.right};
    const double *const after[2] = {(const double *)to.left, (const double *)to.right};

    return kernels->change(sums, before, after, groups, form == GROVE_COMPRESSION_FULL);
}
