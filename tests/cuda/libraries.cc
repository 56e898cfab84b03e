// cuBLAS, cuFFT and cuSOLVER, as far as the device module uses them: arguments are checked as the
// real libraries do, and the work is queued on the stream.
#include "numerics.h"
#include "tests/common/emulation.h"

#include <complex>
#include <vector>

using namespace emulated;

namespace
{
enum { FAILED = 14 };

stream *blas_stream, *solver_stream;
struct plan {
    int rank, size[2], count;
    stream *where;
};
std::vector<plan> plans;

// Scalars lie on the host, and are read when the call is made.
template <typename number>
int multiply_batch(product p, long long step_a, long long step_b, long long step_c, int count)
{
    bool blas = p.m >= 1 && p.n >= 1 && p.k >= 1 && count >= 1 && blas_stream;

    if (!blas || p.lda < (p.how_a == as_it_is ? p.m : p.k) ||
        p.ldb < (p.how_b == as_it_is ? p.k : p.n) || p.ldc < p.m)
        return FAILED;
    number alpha = *(const number *)p.alpha, beta = *(const number *)p.beta;
    stream_push(blas_stream, [=] {
        opened now;
        product each = p;
        each.alpha = &alpha;
        each.beta = &beta;
        for (int t = 0; t < count; t++) {
            each.a = (const number *)p.a + t * step_a;
            each.b = (const number *)p.b + t * step_b;
            each.c = (number *)p.c + t * step_c;
            multiply(each);
        }
        return success;
    });
    return 0;
}

int execute(bool double_, int which, void *in, void *out, int sign)
{
    plan p = plans.at((size_t)which);

    if (!p.where || (sign != 1 && sign != -1))
        return FAILED;
    stream_push(p.where, [=] {
        opened now;
        transform(double_, p.rank, p.size, p.count, in, out, sign);
        return success;
    });
    return 0;
}
} // namespace

extern "C" {
int cublasCreate_v2(void **handle)
{
    *handle = &blas_stream;
    return fails(EMULATED_HANDLE) ? 3 : 0;
}
int cublasDestroy_v2(void *)
{
    blas_stream = nullptr;
    return 0;
}
int cublasSetStream_v2(void *, void *where)
{
    blas_stream = (stream *)where;
    return stream_is(where) ? 0 : FAILED;
}
int cublasCgemmStridedBatched(void *, int how_a, int how_b, int m, int n, int k, const void *alpha,
                              const void *a, int lda, long long step_a, const void *b, int ldb,
                              long long step_b, const void *beta, void *c, int ldc,
                              long long step_c, int count)
{
    product p = {false, how_a, how_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};

    return fails(EMULATED_LAUNCH)
               ? FAILED
               : multiply_batch<std::complex<float>>(p, step_a, step_b, step_c, count);
}
int cublasZgemmStridedBatched(void *, int how_a, int how_b, int m, int n, int k, const void *alpha,
                              const void *a, int lda, long long step_a, const void *b, int ldb,
                              long long step_b, const void *beta, void *c, int ldc,
                              long long step_c, int count)
{
    product p = {true, how_a, how_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc};

    return fails(EMULATED_LAUNCH)
               ? FAILED
               : multiply_batch<std::complex<double>>(p, step_a, step_b, step_c, count);
}

int cufftPlanMany(int *which, int rank, int *size, int *, int, int, int *, int, int, int, int count)
{
    if (rank < 1 || rank > 2 || size[0] < 1 || count < 1 || fails(EMULATED_ALLOCATION))
        return 2;
    *which = (int)plans.size();
    plans.push_back({rank, {size[0], rank == 2 ? size[1] : 1}, count, nullptr});
    return 0;
}
int cufftDestroy(int which)
{
    plans.at((size_t)which).where = nullptr;
    return 0;
}
int cufftSetStream(int which, void *where)
{
    plans.at((size_t)which).where = (stream *)where;
    return 0;
}
int cufftExecC2C(int which, void *in, void *out, int sign)
{
    return fails(EMULATED_LAUNCH) ? 6 : execute(false, which, in, out, sign);
}
int cufftExecZ2Z(int which, void *in, void *out, int sign)
{
    return fails(EMULATED_LAUNCH) ? 6 : execute(true, which, in, out, sign);
}

int cusolverDnCreate(void **handle)
{
    *handle = &solver_stream;
    return fails(EMULATED_HANDLE) ? 1 : 0;
}
int cusolverDnDestroy(void *)
{
    solver_stream = nullptr;
    return 0;
}
int cusolverDnSetStream(void *, void *where)
{
    solver_stream = (stream *)where;
    return 0;
}
int cusolverDnDpotrf_bufferSize(void *, int, int n, double *, int, int *length)
{
    *length = n;
    return 0;
}
int cusolverDnDpotrf(void *, int upper, int n, double *a, int lda, double *work, int length,
                     int *info)
{
    if ((upper != 0 && upper != 1) || lda < n || length < n || fails(EMULATED_LAUNCH))
        return 3;
    stream_push(solver_stream, [=] {
        opened now;
        for (int k = 0; k < length; k++)
            work[k] = 0;
        *info = factorize(upper == 1, n, a, lda);
        return success;
    });
    return 0;
}
int cusolverDnDpotrs(void *, int upper, int n, int count, const double *a, int lda, double *b,
                     int ldb, int *info)
{
    if ((upper != 0 && upper != 1) || lda < n || ldb < n || fails(EMULATED_LAUNCH))
        return 3;
    stream_push(solver_stream, [=] {
        opened now;
        *info = 0;
        solve(upper == 1, n, count, a, lda, b, ldb);
        return success;
    });
    return 0;
}
}
