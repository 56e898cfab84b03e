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

/* exp(2 pi i turns), reduced in double, evaluated in `real`. The sum of `turns` below 2^51 and 1.5
 * 2^52 has no fraction: it rounds to the nearest whole number. */
template <typename real> __device__ __forceinline__ complex_number<real> phasor(double turns)
{
    const double whole = (turns + 6755399441055744.0) - 6755399441055744.0;
    complex_number<real> z;

    sine_cosine((real)(2 * (turns - whole)), &z.im, &z.re);
    return z;
}

__device__ __forceinline__ float power_of_two(float x)
{
    return exp2f(x);
}

__device__ __forceinline__ double power_of_two(double x)
{
    return exp2(x);
}

/* sin x / x for |x| up to pi / 2, y = x^2: to 4e-8, in double 1e-16. */
template <typename real> __device__ __forceinline__ real sinc_near(real y)
{
    real sum = 0;

    if (sizeof(real) == sizeof(double)) {
        sum = (real)(1.0 / 51090942171709440000.0);
        sum = sum * y + (real)(-1.0 / 121645100408832000.0);
        sum = sum * y + (real)(1.0 / 355687428096000.0);
        sum = sum * y + (real)(-1.0 / 1307674368000.0);
        sum = sum * y + (real)(1.0 / 6227020800.0);
    }
    sum = sum * y + (real)(-1.0 / 39916800);
    sum = sum * y + (real)(1.0 / 362880);
    sum = sum * y + (real)(-1.0 / 5040);
    sum = sum * y + (real)(1.0 / 120);
    sum = sum * y + (real)(-1.0 / 6);
    return sum * y + 1;
}

/* sin x / x, x = pi turns. */
template <typename real> __device__ __forceinline__ real sinc_of(real turns)
{
    real x = (real)GROVE_PI * turns, sine, cosine;

    if (fabs(turns) <= (real)0.5)
        return sinc_near(x * x);
    sine_cosine(turns, &sine, &cosine);
    return sine / x;
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
