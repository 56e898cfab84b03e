/* Factors of shape and smearing in time on a CUDA device, for equal channels about the middle of a
 * group. */
#ifndef GROVE_KERNELS_PREDICT_SHADE_CUDA_H
#define GROVE_KERNELS_PREDICT_SHADE_CUDA_H

#include "predict_place_cuda.h"

namespace
{
// Of a source on a row, as polynomials of the distance from the middle channel, k.
template <typename real> struct shading {
    bool gaussian, moving;
    real turns, step;          // change of phase in an integration
    real square, slope, curve; // the square of the argument, for NEAR: square + slope k + curve k^2
    real extent;               // -(...) log2 e nu^2 of channel k, (a + k b)^2
    real extent_step;
};

// NEAR: the phase changes by half a turn at most, and there is no Gaussian.
template <typename real, bool NEAR>
__device__ __forceinline__ real shade(const shading<real> &s, real k)
{
    real factor = 1;

    if (NEAR) {
        const real even = s.square + k * k * s.curve; // for k and -k once
        return sinc_near(even + k * s.slope);
    }
    if (s.moving)
        factor = sinc_of(s.turns + k * s.step);
    if (s.gaussian) {
        real root = s.extent + k * s.extent_step;
        factor *= power_of_two(-(root * root));
    }
    return factor;
}

// Factors of the channels of a group.
enum factors { NONE, NEAR, ANY };

template <typename real, int FACTORS>
__device__ __forceinline__ real factor_at(const shading<real> &s, int k)
{
    return FACTORS == NONE ? (real)1 : shade<real, FACTORS == NEAR>(s, (real)k);
}

// Of source i of a chunk in shared memory, which has directions, ellipses, and the changes of the
// coordinates in an integration for each thread; moving: smeared in time.
template <typename real, typename shared>
__device__ __forceinline__ shading<real> find_shading(const double uvw[3], bool moving,
                                                      const shared &c, int i)
{
    shading<real> s = {};

    s.moving = moving;
    s.gaussian = c.gaussian[i];
    if (s.moving) {
        double change[3];
        for (int d = 0; d < 3; d++)
            change[d] = c.change[d][threadIdx.x];
        s.turns = (real)(c.freq * dot(change, c.direction[i]));
        s.step = (real)(c.step * dot(change, c.direction[i]));
        s.square = s.turns * s.turns;
        s.slope = 2 * s.turns * s.step;
        s.curve = s.step * s.step;
    }
    if (s.gaussian) {
        real extent = (real)(grove_find_extent(uvw, c.ellipse[i]) * 1.4426950408889634074);
        s.extent = (real)c.freq * sqrt(extent);
        s.extent_step = (real)c.step * sqrt(extent);
    }
    return s;
}

// Whether the phase of no channel of the group changes by more than half a turn, and there is no
// Gaussian.
template <typename real, int GROUP> __device__ __forceinline__ bool is_near(const shading<real> &s)
{
    return !s.gaussian && fabs(s.turns) + GROUP / 2 * fabs(s.step) <= (real)0.5;
}
} // namespace

#endif
