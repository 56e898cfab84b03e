/* Products of small matrices by a warp on tensor cores (PTX ISA, mma.sync), for compute 8.0 and
 * later, and their emulation for tests. All 32 lanes call together.
 *
 * The arithmetic, as far as known: inputs in TF32 have 10 bits of fraction, of single precision
 * numbers the lower 13 bits are not looked at; products of them are exact; NVIDIA documents neither
 * order nor rounding of the sum in single precision. Measured (Fasi et al. 2021, PeerJ CS 7:e330)
 * the products and the number added to are shifted to the largest exponent among them, cut, not
 * rounded, to at least 24 bits, added without error, and the sum is cut to single precision. The
 * emulation cuts to 24 bits. In double precision every product is added with one rounding to
 * nearest. */
#ifndef GROVE_KERNELS_CUDA_TENSOR_H
#define GROVE_KERNELS_CUDA_TENSOR_H

#include "number.h"

#if defined(GROVE_CUDA_EMULATED) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800)
#define GROVE_TENSOR_CORES 1
#else
#define GROVE_TENSOR_CORES 0
#endif

namespace
{
#if defined(GROVE_CUDA_EMULATED)
inline double cut(double x, int exponent)
{
    return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent);
}

inline float add_cut(const double *terms, int count)
{
    int largest = -1000, exponent;
    double sum = 0;

    for (int k = 0; k < count; k++)
        if (terms[k] != 0) {
            std::frexp(terms[k], &exponent);
            largest = exponent > largest ? exponent : largest;
        }
    for (int k = 0; k < count; k++)
        sum += cut(terms[k], largest - 24);
    if (sum == 0)
        return 0;
    std::frexp(sum, &exponent);
    return (float)cut(sum, exponent - 24);
}
#endif

/* c (16 x 8) += a (16 x 8) b (8 x 8). With g = lane / 4 and t = lane % 4 a lane has of a: [g][t],
 * [g + 8][t], [g][t + 4], [g + 8][t + 4]; of b: [t][g], [t + 4][g]; of c: [g][2 t], [g][2 t + 1],
 * [g + 8][2 t], [g + 8][2 t + 1]. */
__device__ __forceinline__ void multiply_tf32(float c[4], const float a[4], const float b[2])
{
#if defined(GROVE_CUDA_EMULATED)
    struct lane_parts {
        float a[4], b[2];
    } own, all[32];
    const uint32_t seen = 0xffffe000u;
    int lane = emulated_now->lane();

    for (int k = 0; k < 4; k++)
        own.a[k] = float_of(bits_of(a[k]) & seen);
    for (int k = 0; k < 2; k++)
        own.b[k] = float_of(bits_of(b[k]) & seen);
    emulated_now->share(&own, sizeof(own), all);
    for (int n = 0; n < 4; n++) {
        int column = lane % 4 * 2 + n % 2;
        double terms[9];
        for (int k = 0; k < 8; k++)
            terms[k] = (double)all[lane / 4 * 4 + k % 4].a[n / 2 + k / 4 * 2] *
                       (double)all[column * 4 + k % 4].b[k / 4];
        terms[8] = (double)c[n];
        c[n] = add_cut(terms, 9);
    }
#elif GROVE_TENSOR_CORES
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, "
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(bits_of(a[0])), "r"(bits_of(a[1])), "r"(bits_of(a[2])), "r"(bits_of(a[3])),
                   "r"(bits_of(b[0])), "r"(bits_of(b[1])));
#endif
}

// x = high + low, high to nearest in TF32, halves away from zero, so that `low` has either sign;
// products of two low parts are left out. Tensor cores do not look at the lower 13 bits of `low`,
// 2^-22 of x at most. Infinities and NaN have a NaN for `low` and any `high`.
struct split {
    float high, low;
};

__device__ __forceinline__ split split_of(float x)
{
    float high = float_of((bits_of(x) + 0x1000u) & 0xffffe000u);

    return {high, x - high};
}

/* Complex numbers of a (N = 4) or b (2) of multiply_tf32, each in two parts [high, low]. Number n
 * has the same place there. minus: -im. */
template <int N> struct tf32_parts {
    float re[2][N], im[2][N], minus[2][N];

    __device__ __forceinline__ void set(int n, float of_re, float of_im)
    {
        split a = split_of(of_re), b = split_of(of_im);

        re[0][n] = a.high;
        re[1][n] = a.low;
        im[0][n] = b.high;
        im[1][n] = b.low;
        minus[0][n] = -b.high;
        minus[1][n] = -b.low;
    }
    __device__ __forceinline__ void conjugate()
    {
        for (int k = 0; k < 2; k++)
            for (int n = 0; n < N; n++) {
                const float x = im[k][n];
                im[k][n] = minus[k][n];
                minus[k][n] = x;
            }
    }
};

/* sum += a b, the small products first. `minus` is taken of a, or of b where that is made less
 * often: unused numbers cost nothing. */
template <bool OF_B = false>
__device__ __forceinline__ void multiply_parts(float sum_re[4], float sum_im[4],
                                               const tf32_parts<4> &a, const tf32_parts<2> &b)
{
    const float(&im_a)[2][4] = OF_B ? a.im : a.minus;
    const float(&im_b)[2][2] = OF_B ? b.minus : b.im;

    multiply_tf32(sum_re, a.re[1], b.re[0]);
    multiply_tf32(sum_im, a.re[1], b.im[0]);
    multiply_tf32(sum_re, a.re[0], b.re[1]);
    multiply_tf32(sum_im, a.re[0], b.im[1]);
    multiply_tf32(sum_re, im_a[1], im_b[0]);
    multiply_tf32(sum_im, a.im[1], b.re[0]);
    multiply_tf32(sum_re, im_a[0], im_b[1]);
    multiply_tf32(sum_im, a.im[0], b.re[1]);
    multiply_tf32(sum_re, a.re[0], b.re[0]);
    multiply_tf32(sum_im, a.re[0], b.im[0]);
    multiply_tf32(sum_re, im_a[0], im_b[0]);
    multiply_tf32(sum_im, a.im[0], b.re[0]);
}

/* c (8 x 8) += a (8 x 4) b (4 x 8). A lane has a [g][t], b [t][g], c [g][2 t], [g][2 t + 1]. */
__device__ __forceinline__ void multiply_double(double c[2], double a, double b)
{
#if defined(GROVE_CUDA_EMULATED)
    double own[2] = {a, b}, all[32][2];
    int lane = emulated_now->lane();

    emulated_now->share(own, sizeof(own), all);
    for (int n = 0; n < 2; n++)
        for (int k = 0; k < 4; k++)
            c[n] = std::fma(all[lane / 4 * 4 + k][0], all[(lane % 4 * 2 + n) * 4 + k][1], c[n]);
#elif GROVE_TENSOR_CORES
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
#endif
}
} // namespace

#endif
