#include "numerics.h"

#include <cmath>
#include <complex>
#include <vector>

#ifdef GROVE_HAVE_CBLAS
#include <cblas.h>
#endif
#ifdef GROVE_HAVE_FFTW
#include <fftw3.h>
#endif
#ifdef GROVE_HAVE_LAPACK
extern "C" {
void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info);
void dpotrs_(const char *triangle, const int *n, const int *count, const double *a, const int *lda,
             double *b, const int *ldb, int *info);
}
#endif

namespace emulated
{
#ifdef GROVE_HAVE_CBLAS
static CBLAS_TRANSPOSE way_of(int how)
{
    return how == conjugated ? CblasConjTrans : how == transposed ? CblasTrans : CblasNoTrans;
}

void multiply(const product &p)
{
    (p.double_ ? cblas_zgemm : cblas_cgemm)(CblasColMajor, way_of(p.how_a), way_of(p.how_b), p.m,
                                            p.n, p.k, p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c,
                                            p.ldc);
}
#else
typedef std::complex<long double> wide;

template <typename real> static wide element(const void *of, int ld, int how, int i, int j)
{
    auto all = (const std::complex<real> *)of;
    wide x = how == as_it_is ? all[i + (long)j * ld] : all[j + (long)i * ld];

    return how == conjugated ? std::conj(x) : x;
}

template <typename real> static void multiply_plainly(const product &p)
{
    wide alpha = *(const std::complex<real> *)p.alpha, beta = *(const std::complex<real> *)p.beta;

    for (int j = 0; j < p.n; j++)
        for (int i = 0; i < p.m; i++) {
            std::complex<real> &c = ((std::complex<real> *)p.c)[i + (long)j * p.ldc];
            wide sum = 0;
            for (int l = 0; l < p.k; l++)
                sum += element<real>(p.a, p.lda, p.how_a, i, l) *
                       element<real>(p.b, p.ldb, p.how_b, l, j);
            // what is there may be no number where it is not to be added
            c = std::complex<real>(alpha * sum + (beta == wide(0) ? wide(0) : beta * wide(c)));
        }
}

void multiply(const product &p)
{
    p.double_ ? multiply_plainly<double>(p) : multiply_plainly<float>(p);
}
#endif

#ifdef GROVE_HAVE_FFTW
void transform(bool double_, int rank, const int *size, int count, const void *in, void *out,
               int sign)
{
    int each = size[0] * (rank == 2 ? size[1] : 1);

    if (double_) {
        fftw_plan plan =
            fftw_plan_many_dft(rank, size, count, (fftw_complex *)in, nullptr, 1, each,
                               (fftw_complex *)out, nullptr, 1, each, sign, FFTW_ESTIMATE);
        fftw_execute(plan);
        fftw_destroy_plan(plan);
    } else {
        fftwf_plan plan =
            fftwf_plan_many_dft(rank, size, count, (fftwf_complex *)in, nullptr, 1, each,
                                (fftwf_complex *)out, nullptr, 1, each, sign, FFTW_ESTIMATE);
        fftwf_execute(plan);
        fftwf_destroy_plan(plan);
    }
}
#else
typedef std::vector<std::complex<long double>> numbers;

static void transform_line(numbers &x, int sign)
{
    const long double turn = 6.283185307179586476925L / (long double)x.size();
    numbers y(x.size());

    for (size_t k = 0; k < x.size(); k++)
        for (size_t j = 0; j < x.size(); j++)
            y[k] +=
                x[j] * std::polar(1.0L, (long double)sign * turn * (long double)(j * k % x.size()));
    x = y;
}

static void transform_array(numbers &all, size_t n0, size_t n1, int sign)
{
    for (size_t j = 0; j < n1; j++) {
        numbers line(n0);
        for (size_t i = 0; i < n0; i++)
            line[i] = all[i * n1 + j];
        transform_line(line, sign);
        for (size_t i = 0; i < n0; i++)
            all[i * n1 + j] = line[i];
    }
    for (size_t i = 0; i < n0; i++) {
        numbers line(all.begin() + (long)(i * n1), all.begin() + (long)((i + 1) * n1));
        transform_line(line, sign);
        for (size_t j = 0; j < n1; j++)
            all[i * n1 + j] = line[j];
    }
}

template <typename real>
static void transform_plainly(size_t n0, size_t n1, int count, const void *in, void *out, int sign)
{
    auto from = (const std::complex<real> *)in;
    auto to = (std::complex<real> *)out;

    for (size_t t = 0; t < (size_t)count; t++) {
        numbers all(from + t * n0 * n1, from + (t + 1) * n0 * n1);
        transform_array(all, n0, n1, sign);
        for (size_t k = 0; k < n0 * n1; k++)
            to[t * n0 * n1 + k] = std::complex<real>(all[k]);
    }
}

void transform(bool double_, int rank, const int *size, int count, const void *in, void *out,
               int sign)
{
    size_t n0 = (size_t)size[0], n1 = rank == 2 ? (size_t)size[1] : 1;

    (double_ ? transform_plainly<double> : transform_plainly<float>)(n0, n1, count, in, out, sign);
}
#endif

#ifdef GROVE_HAVE_LAPACK
int factorize(bool upper, int n, double *a, int lda)
{
    int info = 0;

    dpotrf_(upper ? "U" : "L", &n, a, &lda, &info);
    return info;
}

void solve(bool upper, int n, int count, const double *a, int lda, double *b, int ldb)
{
    int info = 0;

    dpotrs_(upper ? "U" : "L", &n, &count, a, &lda, b, &ldb, &info);
}
#else
// Element (i, j), i <= j, of the factor u that m = u^T u has: of the lower one its mirror.
static double &factor(bool upper, double *a, int lda, int i, int j)
{
    return upper ? a[i + (long)j * lda] : a[j + (long)i * lda];
}

int factorize(bool upper, int n, double *a, int lda)
{
    for (int j = 0; j < n; j++)
        for (int i = 0; i <= j; i++) {
            long double sum = factor(upper, a, lda, i, j);
            for (int k = 0; k < i; k++)
                sum -= (long double)factor(upper, a, lda, k, i) * factor(upper, a, lda, k, j);
            if (i == j && !(sum > 0))
                return j + 1;
            factor(upper, a, lda, i, j) =
                (double)(i == j ? std::sqrt(sum) : sum / factor(upper, a, lda, i, i));
        }
    return 0;
}

void solve(bool upper, int n, int count, const double *from, int lda, double *b, int ldb)
{
    double *a = const_cast<double *>(from);

    for (int c = 0; c < count; c++) {
        double *x = b + (long)c * ldb;
        for (int i = 0; i < n; i++) {
            long double sum = x[i];
            for (int k = 0; k < i; k++)
                sum -= (long double)factor(upper, a, lda, k, i) * x[k];
            x[i] = (double)(sum / factor(upper, a, lda, i, i));
        }
        for (int i = n - 1; i >= 0; i--) {
            long double sum = x[i];
            for (int k = i + 1; k < n; k++)
                sum -= (long double)factor(upper, a, lda, i, k) * x[k];
            x[i] = (double)(sum / factor(upper, a, lda, i, i));
        }
    }
}
#endif
} // namespace emulated
