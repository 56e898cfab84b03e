/* Gaussian sources for CUDA kernels: grove_gaussian, with the part that depends on the source alone
 * computed once. */
#ifndef GROVE_KERNELS_GAUSSIAN_CUDA_H
#define GROVE_KERNELS_GAUSSIAN_CUDA_H

#include "cell.h"

/* Visibilities fall as exp(-nu^2 ((u a0 + v a1)^2 + (u a2 + v a3)^2)). */
__device__ __forceinline__ void find_ellipse(const double shape[3], double a[4])
{
    double scale = GROVE_PI / sqrt(4 * 0.69314718055994530942) / GROVE_SPEED_OF_LIGHT;
    double sine, cosine;

    sincospi(shape[2] / GROVE_PI, &sine, &cosine);
    a[0] = scale * shape[0] * sine;
    a[1] = scale * shape[0] * cosine;
    a[2] = scale * shape[1] * cosine;
    a[3] = -scale * shape[1] * sine;
}

__device__ __forceinline__ double find_extent(const double uvw[3], const double a[4])
{
    double major = uvw[0] * a[0] + uvw[1] * a[1], minor = uvw[0] * a[2] + uvw[1] * a[3];

    return major * major + minor * minor;
}

#endif
