#include "numerics.h"

#include <cblas.h>
#include <fftw3.h>

extern "C" {
void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info);
void dpotrs_(const char *triangle, const int *n, const int *count, const double *a, const int *lda,
             double *b, const int *ldb, int *info);
}

namespace emulated
{
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
} // namespace emulated
