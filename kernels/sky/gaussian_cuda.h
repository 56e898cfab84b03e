/* Gaussian sources for CUDA kernels: the part that depends on the source alone. */
#ifndef GROVE_KERNELS_GAUSSIAN_CUDA_H
#define GROVE_KERNELS_GAUSSIAN_CUDA_H

#include "../common/visibility.h"
#include "predict.h"

__device__ __forceinline__ void find_ellipse(const grove_args *args, const double *shape, double *a)
{
    double sine, cosine;

    sincospi(shape[2] / GROVE_PI, &sine, &cosine);
    grove_find_ellipse(shape, args->in[GROVE_PREDICT_SHAPE].elements, sine, cosine, a);
}

#endif
