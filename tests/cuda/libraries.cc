// cuBLAS, cuFFT and cuSOLVER, as far as the device module uses them, by plain sums in long double.
#include "emulation.h"

#include <complex>
#include <vector>

using namespace emulated;

namespace
{
typedef std::complex<long double> wide;
enum { FAILED = 14 };

stream *blas_stream, *solver_stream;
struct plan {
    int rank, size[2], count;
    stream *where;
};
std::vector<plan> plans;

template <typename real>
int multiply(int m, int n, int k, const void *a, int lda, long long step_a, const void *b, int ldb,
             long long step_b, void *c, int ldc, long long step_c, int count)
{
    typedef std::complex<real> number;

    if (m < 1 || n < 1 || k < 1 || count < 1 || lda < k || ldb < k || ldc < m || !blas_stream)
        return FAILED;
    stream_push(blas_stream, [=] {
        opened now;
        for (int t = 0; t < count; t++)
            for (int j = 0; j < n; j++)
                for (int i = 0; i < m; i++) {
                    const number *x = (const number *)a + t * step_a + (long long)i * lda;
                    const number *y = (const number *)b + t * step_b + (long long)j * ldb;
                    wide sum = 0;
                    for (int l = 0; l < k; l++)
                        sum += std::conj(wide(x[l])) * wide(y[l]);
                    ((number *)c)[t * step_c + (long long)j * ldc + i] = number(sum);
                }
        return success;
    });
    return 0;
}

void transform_line(std::vector<wide> &x, int sign)
{
    const long double turn = 6.283185307179586476925L / (long double)x.size();
    std::vector<wide> y(x.size());

    for (size_t k = 0; k < x.size(); k++)
        for (size_t j = 0; j < x.size(); j++)
            y[k] +=
                x[j] * std::polar(1.0L, (long double)sign * turn * (long double)(j * k % x.size()));
    x = y;
}

template <typename real> int transform(int which, void *in, void *out, int sign)
{
    plan p = plans.at((size_t)which);

    if (!p.where)
        return FAILED;
    stream_push(p.where, [=] {
        opened now;
        size_t n0 = (size_t)p.size[0], n1 = p.rank == 2 ? (size_t)p.size[1] : 1;
        auto from = (const std::complex<real> *)in;
        auto to = (std::complex<real> *)out;
        for (size_t t = 0; t < (size_t)p.count; t++) {
            std::vector<wide> all(from + t * n0 * n1, from + (t + 1) * n0 * n1);
            for (size_t j = 0; j < n1; j++) {
                std::vector<wide> line(n0);
                for (size_t i = 0; i < n0; i++)
                    line[i] = all[i * n1 + j];
                transform_line(line, sign);
                for (size_t i = 0; i < n0; i++)
                    all[i * n1 + j] = line[i];
            }
            for (size_t i = 0; i < n0; i++) {
                std::vector<wide> line(all.begin() + (long)(i * n1),
                                       all.begin() + (long)((i + 1) * n1));
                transform_line(line, sign);
                for (size_t j = 0; j < n1; j++)
                    to[(t * n0 + i) * n1 + j] = std::complex<real>(line[j]);
            }
        }
        return success;
    });
    return 0;
}
} // namespace

extern "C" {
int cublasCreate_v2(void **handle)
{
    *handle = &blas_stream;
    return fails(EMULATED_OTHER) ? 3 : 0;
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
int cublasCgemmStridedBatched(void *, int how_a, int how_b, int m, int n, int k, const float *,
                              const void *a, int lda, long long step_a, const void *b, int ldb,
                              long long step_b, const float *, void *c, int ldc, long long step_c,
                              int count)
{
    return how_a != 2 || how_b != 0 || fails(EMULATED_LAUNCH)
               ? FAILED
               : multiply<float>(m, n, k, a, lda, step_a, b, ldb, step_b, c, ldc, step_c, count);
}
int cublasZgemmStridedBatched(void *, int how_a, int how_b, int m, int n, int k, const double *,
                              const void *a, int lda, long long step_a, const void *b, int ldb,
                              long long step_b, const double *, void *c, int ldc, long long step_c,
                              int count)
{
    return how_a != 2 || how_b != 0 || fails(EMULATED_LAUNCH)
               ? FAILED
               : multiply<double>(m, n, k, a, lda, step_a, b, ldb, step_b, c, ldc, step_c, count);
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
    return fails(EMULATED_LAUNCH) ? 6 : transform<float>(which, in, out, sign);
}
int cufftExecZ2Z(int which, void *in, void *out, int sign)
{
    return fails(EMULATED_LAUNCH) ? 6 : transform<double>(which, in, out, sign);
}

int cusolverDnCreate(void **handle)
{
    *handle = &solver_stream;
    return fails(EMULATED_OTHER) ? 1 : 0;
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
// The upper triangle by columns: element (i, j), i <= j, is at i + j lda.
int cusolverDnDpotrf(void *, int upper, int n, double *a, int lda, double *work, int length,
                     int *info)
{
    if (upper != 1 || length < n || fails(EMULATED_LAUNCH))
        return 3;
    stream_push(solver_stream, [=] {
        opened now;
        *info = 0;
        for (int k = 0; k < n; k++)
            work[k] = 0;
        for (int j = 0; j < n && *info == 0; j++)
            for (int i = 0; i <= j; i++) {
                long double sum = a[i + (size_t)j * lda];
                for (int k = 0; k < i; k++)
                    sum -= (long double)a[k + (size_t)i * lda] * a[k + (size_t)j * lda];
                if (i == j && !(sum > 0)) {
                    *info = j + 1;
                    break;
                }
                a[i + (size_t)j * lda] =
                    (double)(i == j ? std::sqrt(sum) : sum / a[i + (size_t)i * lda]);
            }
        return success;
    });
    return 0;
}
int cusolverDnDpotrs(void *, int upper, int n, int count, const double *a, int lda, double *b,
                     int ldb, int *info)
{
    if (upper != 1 || fails(EMULATED_LAUNCH))
        return 3;
    stream_push(solver_stream, [=] {
        opened now;
        *info = 0;
        for (int c = 0; c < count; c++) {
            double *x = b + (size_t)c * ldb;
            for (int i = 0; i < n; i++) {
                long double sum = x[i];
                for (int k = 0; k < i; k++)
                    sum -= (long double)a[k + (size_t)i * lda] * x[k];
                x[i] = (double)(sum / a[i + (size_t)i * lda]);
            }
            for (int i = n - 1; i >= 0; i--) {
                long double sum = x[i];
                for (int k = i + 1; k < n; k++)
                    sum -= (long double)a[i + (size_t)k * lda] * x[k];
                x[i] = (double)(sum / a[i + (size_t)i * lda]);
            }
        }
        return success;
    });
    return 0;
}
}
