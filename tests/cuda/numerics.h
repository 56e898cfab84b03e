// What the emulated cuBLAS, cuFFT and cuSOLVER compute with: BLAS, FFTW and LAPACK.
// Matrices are stored by columns, as those libraries have them. For tests only.
#ifndef GROVE_TESTS_CUDA_NUMERICS_H
#define GROVE_TESTS_CUDA_NUMERICS_H

namespace emulated
{
enum operation_on { as_it_is, transposed, conjugated }; // as cuBLAS numbers them

// c = alpha op(a) op(b) + beta c, complex: op(a) is m x k, op(b) k x n.
struct product {
    bool double_;
    int how_a, how_b, m, n, k;
    const void *alpha, *a;
    int lda;
    const void *b;
    int ldb;
    const void *beta;
    void *c;
    int ldc;
};
void multiply(const product &p);

// `count` arrays that follow each other, not normalised.
void transform(bool double_, int rank, const int *size, int count, const void *in, void *out,
               int sign);

// The factor in the upper or lower triangle: 0, or the number of the leading minor that is not
// positive. Then the solutions of `count` right sides, in place.
int factorize(bool upper, int n, double *a, int lda);
void solve(bool upper, int n, int count, const double *a, int lda, double *b, int ldb);
} // namespace emulated

#endif
