#include "convolution_fit.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

static double complex turned(double turns)
{
    return cexp(2 * acos(-1) * I * (turns - rint(turns)));
}

/* Solves m x = b for `columns` right sides, in place: by Cholesky, m Hermitian, [size][size]. */
static void solve(double complex *m, int size, double complex *b, int64_t columns)
{
    for (int i = 0; i < size; i++)
        for (int j = 0; j <= i; j++) {
            double complex sum = m[i * size + j];
            for (int k = 0; k < j; k++)
                sum -= m[i * size + k] * conj(m[j * size + k]);
            m[i * size + j] = i == j ? sqrt(fmax(creal(sum), 1e-300)) : sum / m[j * size + j];
        }
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < size; n++) {
            const int i = pass ? size - 1 - n : n;
            for (int k = pass ? i + 1 : 0; k < (pass ? size : i); k++) {
                const double complex f = pass ? conj(m[k * size + i]) : m[i * size + k];
                for (int64_t x = 0; x < columns; x++)
                    b[i * columns + x] -= f * b[k * columns + x];
            }
            for (int64_t x = 0; x < columns; x++)
                b[i * columns + x] /= creal(m[i * size + i]);
        }
}

/* With B_xX = exp(2 pi i X x) / t(x): (B^H B)^-1 B^H / t, which f turns. */
int grove_convolution_fit(const grove_gridder_kernel *kernel, int support, const double *f,
                          int offsets, const double *x, int64_t count, double *fit)
{
    double complex *normal = malloc((size_t)(support * support) * sizeof(*normal)),
                   *base = malloc((size_t)(support * count) * sizeof(*base)),
                   *to = (double complex *)fit;

    for (int64_t k = 0; k < count && normal && base; k++) {
        const double factor = 1 / grove_gridder_kernel_transform(kernel, x[k]);
        for (int i = 0; i < support; i++)
            base[i * count + k] = factor * turned(-i * x[k]);
    }
    for (int i = 0; i < support && normal && base; i++)
        for (int j = 0; j < support; j++) {
            double complex sum = 0;
            for (int64_t k = 0; k < count; k++)
                sum += base[i * count + k] * conj(base[j * count + k]);
            normal[i * support + j] = i == j ? sum * (1 + 1e-11) : sum;
        }
    const int code = normal && base ? 0 : -1;
    if (!code)
        solve(normal, support, base, count);
    for (int q = 0; q < offsets && !code; q++)
        for (int64_t k = 0; k < count; k++) {
            const double complex phase = turned(-f[q] * x[k]);
            for (int64_t i = 0; i < support; i++)
                to[(i * offsets + q) * count + k] = base[i * count + k] * phase;
        }
    free(normal);
    free(base);
    return code;
}

double grove_convolution_unsmear(double cycles)
{
    const double x = acos(-1) * cycles, sinc = fabs(x) > 1e-4 ? sin(x) / x : 1 - x * x / 6;

    return 1 / (sinc * sinc);
}

double grove_convolution_offset(int support, int oversampling, int q)
{
    return (double)(q - (int64_t)support * oversampling / 2) / oversampling;
}

void grove_convolution_see(const grove_gridder_kernel *kernel, int support, int oversampling,
                           double x, double *seen)
{
    const double factor = 1 / grove_gridder_kernel_transform(kernel, x),
                 offset = grove_convolution_offset(support, oversampling, 0);

    for (int i = 0; i < support; i++) {
        double complex number = factor * turned(x * (i + offset));
        seen[2 * i] = creal(number);
        seen[2 * i + 1] = cimag(number);
    }
}
