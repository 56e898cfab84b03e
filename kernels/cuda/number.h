/* Complex numbers, matrices and cells of views for CUDA kernels that are templates of `real`. */
#ifndef GROVE_KERNELS_CUDA_NUMBER_H
#define GROVE_KERNELS_CUDA_NUMBER_H

#include "cell.h"

template <typename real> struct complex_number {
    real re, im;
};

#pragma push_macro("GROVE_FN")
#undef GROVE_FN
#define GROVE_FN      template <typename real> __device__ __forceinline__
#define GROVE_NAME(x) x
#define cplx          complex_number<real>
#define GROVE_JONES_BY_STEPS
#include "cell_jones.h"
#undef GROVE_JONES_BY_STEPS
#undef cplx
#undef GROVE_NAME
#pragma pop_macro("GROVE_FN")

template <typename real>
__device__ __forceinline__ complex_number<real> operator*(complex_number<real> a,
                                                          complex_number<real> b)
{
    return grove_cx_mul(a, b);
}

/* sum += a b */
template <typename real>
__device__ __forceinline__ void add_product(complex_number<real> *sum, complex_number<real> a,
                                            complex_number<real> b)
{
    *sum = grove_cx_mul_add(*sum, a, b);
}

/* 2x2: XX XY YX YY. */
template <typename real> struct matrix_number {
    complex_number<real> element[4];
};

template <typename real>
__device__ __forceinline__ matrix_number<real> operator*(const matrix_number<real> &a,
                                                         const matrix_number<real> &b)
{
    matrix_number<real> m;

    grove_mat_mul(m.element, a.element, b.element);
    return m;
}

template <typename real>
__device__ __forceinline__ complex_number<real> element_at(const grove_view *view, const char *at,
                                                           int e)
{
    if (view->bytes == 8) {
        double2 z = *(const double2 *)(const void *)(at + 16 * e);
        return {(real)z.x, (real)z.y};
    }
    float2 z = *(const float2 *)(const void *)(at + 8 * e);
    return {(real)z.x, (real)z.y};
}

/* A complex scalar, diagonal or matrix cell as a matrix; unity for NULL. */
template <typename real>
__device__ __forceinline__ matrix_number<real> matrix_at(const grove_view *view, const char *at)
{
    matrix_number<real> m = {};

    if (!at) {
        m.element[0].re = m.element[3].re = 1;
        return m;
    }
    m.element[0] = element_at<real>(view, at, 0);
    if (view->shape == GROVE_MATRIX) {
        m.element[1] = element_at<real>(view, at, 1);
        m.element[2] = element_at<real>(view, at, 2);
        m.element[3] = element_at<real>(view, at, 3);
    } else {
        m.element[3] = view->shape == GROVE_DIAGONAL ? element_at<real>(view, at, 1) : m.element[0];
    }
    return m;
}

/* Writes the elements of a matrix that the view's shape has, in the view's precision. */
template <typename real>
__device__ __forceinline__ void put_matrix(const grove_view *view, char *at,
                                           const matrix_number<real> &m)
{
    for (int e = 0; e < view->elements; e++) {
        complex_number<real> z = m.element[view->shape == GROVE_DIAGONAL ? 3 * e : e];
        if (view->bytes == 8)
            *(double2 *)(void *)(at + 16 * e) = make_double2((double)z.re, (double)z.im);
        else
            *(float2 *)(void *)(at + 8 * e) = make_float2((float)z.re, (float)z.im);
    }
}

__device__ __forceinline__ void sine_cosine(float half_turns, float *sine, float *cosine)
{
    sincospif(half_turns, sine, cosine);
}

__device__ __forceinline__ void sine_cosine(double half_turns, double *sine, double *cosine)
{
    sincospi(half_turns, sine, cosine);
}

__device__ __forceinline__ uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    return bits;
}

__device__ __forceinline__ float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* -x if the last bit of `odd` is set, else x. A sum, not an exclusive or: it is one instruction. */
__device__ __forceinline__ float negate_if(uint32_t odd, float x)
{
    return float_of(bits_of(x) + (odd << 31));
}

__device__ __forceinline__ double negate_if(uint32_t odd, double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits += (uint64_t)odd << 63;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* exp(pi i y), |y| <= 1/2: the polynomials of the CPU (kernels/simd/vector.h), which have no bias
 * that would add up over sources. */
__device__ __forceinline__ complex_number<float> half_turn(float y)
{
    const float t = y * y;
    float s = t * 0.07814113050699234f - 0.5985610485076904f;
    float c = t * -0.024395931512117386f + 0.23493707180023193f;

    s = s * t + 2.5501296520233154f;
    s = s * t - 5.1677141189575195f;
    s = s * t + 3.1415927410125732f;
    c = c * t - 1.335211992263794f;
    c = c * t + 4.058709144592285f;
    c = c * t - 4.934802055358887f;
    return {c * t + 1.0f, s * y};
}

__device__ __forceinline__ complex_number<double> half_turn(double y)
{
    const double t = y * y;
    double s = t * 7.697826768224191e-07 - 2.1903497074626018e-05;
    double c = t * -1.34352129509532e-07 + 4.300724172734847e-06;

    s = s * t + 0.0004662998161898394;
    s = s * t - 0.007370430505916944;
    s = s * t + 0.0821458865731029;
    s = s * t - 0.5992645293189447;
    s = s * t + 2.5501640398773007;
    s = s * t - 5.167712780049969;
    s = s * t + 3.141592653589793;
    c = c * t - 0.00010463741681752138;
    c = c * t + 0.0019295741872812349;
    c = c * t - 0.025806891376592964;
    c = c * t + 0.235330630357995;
    c = c * t - 1.3352627688545549;
    c = c * t + 4.058712126416768;
    c = c * t - 4.934802200544679;
    return {c * t + 1.0, s * y};
}

/* An angle in half turns less the nearest whole number, whose last bit is the last bit of `odd`. */
struct reduced_angle {
    double rest;
    uint64_t odd;
};

/* a b, reduced. The sum of a b, below 2^51, and 1.5 2^52 has no fraction: it rounds to the nearest
 * whole number, whose last bit is its. */
__device__ __forceinline__ reduced_angle reduced(double a, double b)
{
    const double moved = fma(a, b, 6755399441055744.0);
    reduced_angle y = {fma(a, b, 6755399441055744.0 - moved), 0};

    memcpy(&y.odd, &moved, sizeof(y.odd));
    return y;
}

/* exp(pi i y), evaluated in `real` */
template <typename real> __device__ __forceinline__ complex_number<real> phasor_of(reduced_angle y)
{
    const complex_number<real> z = half_turn((real)y.rest);

    return {negate_if((uint32_t)y.odd, z.re), negate_if((uint32_t)y.odd, z.im)};
}

/* exp(pi i a b), reduced in double, evaluated in `real` */
template <typename real>
__device__ __forceinline__ complex_number<real> phasor_of_half_turns(double a, double b)
{
    return phasor_of<real>(reduced(a, b));
}

/* exp(2 pi i turns) */
template <typename real> __device__ __forceinline__ complex_number<real> phasor(double turns)
{
    return phasor_of_half_turns<real>(2, turns);
}

__device__ __forceinline__ float power_of_two(float x)
{
    return exp2f(x);
}

__device__ __forceinline__ double power_of_two(double x)
{
    return exp2(x);
}

/* sin x / x, x = pi turns, |turns| <= 1/2, t = turns^2: the polynomials of the CPU
 * (kernels/sky/predict_sincs.h). */
__device__ __forceinline__ float sinc_near(float t)
{
    float s = t * 0.02471864459807641f - 0.19044175272048114f;

    s = s * t + 0.8117148426658763f;
    s = s * t - 1.6449332063351194f;
    return s * t + 1.0f;
}

__device__ __forceinline__ double sinc_near(double t)
{
    double s = t * -6.7270425170826265e-06 + 0.00014832827396380304;

    s = s * t - 0.002346059829910968;
    s = s * t + 0.026147845336487233;
    s = s * t - 0.19075182396433998;
    s = s * t + 0.811742425278427;
    s = s * t - 1.6449340668481678;
    return s * t + 1.0;
}

/* sin x / x, x = pi turns. */
template <typename real> __device__ __forceinline__ real sinc_of(real turns)
{
    real sine, cosine;

    if (fabs(turns) <= (real)0.5)
        return sinc_near(turns * turns);
    sine_cosine(turns, &sine, &cosine);
    return sine / ((real)GROVE_PI * turns);
}

/* sin x / x, x = pi turns, for any turns. */
template <typename real> __device__ __forceinline__ real sinc_of_turns(double turns)
{
    real x = (real)(GROVE_PI * turns), y = x * x, sine, cosine;

    if (y < (real)0.25)
        return 1 + y * ((real)(-1.0 / 6) +
                        y * ((real)(1.0 / 120) + y * ((real)(-1.0 / 5040) +
                                                      y * ((real)(1.0 / 362880) +
                                                           y * ((real)(-1.0 / 39916800) +
                                                                y * (real)(1.0 / 6227020800.0))))));
    sine_cosine((real)(turns - 2 * rint(turns / 2)), &sine, &cosine);
    return sine / x;
}

#endif
