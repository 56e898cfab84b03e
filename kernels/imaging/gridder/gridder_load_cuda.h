/* Samples of a tile for the kernels of gridder_spread.cu: where their kernels lie, their weights
 * and values. For CUDA alone. */
#ifndef GROVE_KERNELS_GRIDDER_LOAD_CUDA_H
#define GROVE_KERNELS_GRIDDER_LOAD_CUDA_H

#include "gridder_sample_cuda.h"

#include "../../cuda/number.h"

enum { SIDE = GROVE_GRIDDER_SIDE, BLOCK = GROVE_GRIDDER_BLOCK, FACTORS = GROVE_GRIDDER_FACTORS };
enum {
    NARROW = GROVE_GRIDDER_NARROW,
    SOME = 32, /* samples whose taps are in shared memory; of kernels wider than 8 half of that */
    TAPS = SOME * 3 * NARROW,
    WARPS = BLOCK / 32
};

template <typename real> struct limits_of {
    enum { cells = GROVE_GRIDDER_CELLS_SINGLE };
};
template <> struct limits_of<double> {
    enum { cells = GROVE_GRIDDER_CELLS_DOUBLE };
};

// Whether narrow kernels have more planes than a chunk: threads sum in the planes of the chunk.
__device__ __forceinline__ bool takes_chunks(const grove_gridder_state *g)
{
    return g->width <= NARROW && g->width_w > g->chunk_planes;
}

template <typename real> struct alignas(16) four_numbers {
    real x[4];
};

// A complex number that is read at once.
template <typename real> struct alignas(2 * sizeof(real)) pair_of {
    real re, im;
};

template <typename real> struct shared {
    pair_of<real> cell[limits_of<real>::cells]; // [row][column][plane]
    /* Of a thread's sample: its value to spread, or the phase; where its kernel begins: u, v in
     * four bits each, u and v modulo W in four each, planes in the others; s = 2 f - 1 along u, v,
     * w; its number, or ~number of a sample with w < 0. */
    pair_of<real> value[BLOCK];
    int32_t place[BLOCK], at[BLOCK], plane[BLOCK];
    real s[3][BLOCK];
    alignas(16) real tap[TAPS]; // [sample][u, v, w][NARROW or FACTORS]
    complex_number<real> got[SOME];
    double sum[WARPS];
    int32_t run;
};

template <typename real>
__device__ __forceinline__ bool mix(const grove_args *args, const grove_gridder_state *g,
                                    const place &p, int pol, complex_number<real> *value)
{
    double z[2] = {0, 0};
    const bool finite = mix_parts(args, g, &p, pol, z);

    *value = {(real)z[0], (real)z[1]};
    return finite;
}

template <typename real>
__device__ __forceinline__ int place_along(double position, int width, double last, real *s)
{
    double exact;
    const int first = place_kernel(position, width, last, &exact);

    *s = (real)exact;
    return first;
}

// Places of `count` samples from number n on; and for spreading their values, and sums.
template <typename real>
__device__ void load(const grove_args *args, const grove_gridder_state *g,
                     const grove_gridder_piece *piece, int pol, bool spreads, int32_t n,
                     int32_t count, shared<real> *sh, double sum[2])
{
    const grove_gridder_run *runs = (const grove_gridder_run *)args->in[GROVE_GRIDDER_RUNS].data;
    const grove_view *baselines = &args->in[GROVE_GRIDDER_UVW];
    const int t = (int)threadIdx.x;

    if (t >= count)
        return;
    const int32_t found = find_run(runs, g->runs, sh->run, n + t);
    const grove_gridder_run run = runs[found];
    const place p = {run.row / g->baselines, run.row % g->baselines,
                     run.first + (n + t - run.start)};
    const double *uvw =
        (const double *)(const void *)((const char *)baselines->data +
                                       offset_of(baselines, g->axis, p.time, p.baseline, 0));
    const double k = ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[p.channel];
    const double sign = uvw[2] < 0 ? -1 : 1;
    double turns = 0;
    int cell[2];

    for (int d = 0; d < 3; d++)
        turns += sign * uvw[d] * g->turn[d];
    for (int d = 0; d < 2; d++) {
        double position = sign * uvw[d] * g->scale[d] * k;
        position -= origin_of(g, d, piece->column[d], position);
        cell[d] = place_along<real>(position, g->width, SIDE - 1, &sh->s[d][t]);
    }
    const double w = g->scale[2] > 0 ? sign * uvw[2] * g->scale[2] * k - g->first_w : 0.5;
    int plane = place_along<real>(w, g->width_w, g->planes - g->width_w, &sh->s[2][t]);
    if (run.w >= 0) {
        sh->s[2][t] = (real)(2 * (run.w - w) + (g->width_w - 1.0));
        plane = run.w;
    }
    plane -= piece->chunk * g->chunk_planes;
    sh->plane[t] = plane;
    sh->place[t] = cell[0] | cell[1] << 4 | cell[0] % g->width << 8 | cell[1] % g->width << 12 |
                   (takes_chunks(g) ? 0 : (int32_t)((uint32_t)plane << 16));
    const int32_t number = run.row * g->channels + (int32_t)p.channel;
    sh->at[t] = sign < 0 ? ~number : number;
    complex_number<real> phase = phasor<real>(turns * k), value = {1, 0};
    if (spreads) {
        double weight = weight_at(args, g, &p);
        bool finite = !(weight > 0) || g->as_ones || mix<real>(args, g, p, pol, &value);
        real factor = finite ? (real)weight : 0;
        // each sample counts in the piece that has the first of its planes
        if (pol == 0 && plane >= 0) {
            sum[0] += finite ? weight : 0;
            sum[1] += !finite;
        }
        value = {factor != 0 ? value.re * factor : 0,
                 factor != 0 ? value.im * factor * (real)sign : 0};
        phase = {value.re * phase.re - value.im * phase.im,
                 value.re * phase.im + value.im * phase.re};
    }
    sh->value[t] = {phase.re, phase.im};
}

// After a barrier: the run with which the next samples begin.
template <typename real>
__device__ __forceinline__ void pass_on(const grove_args *args, const grove_gridder_state *g,
                                        int32_t n, shared<real> *sh)
{
    if (threadIdx.x == 0)
        sh->run = find_run((const grove_gridder_run *)args->in[GROVE_GRIDDER_RUNS].data, g->runs,
                           sh->run, n);
}

// The sums over a warp of four samples' numbers re, im, re, ...: lane k has the sum of number k /
// 4.
template <typename real> __device__ __forceinline__ real sum_of_warp(const real x[8])
{
    const bool upper = threadIdx.x & 16, middle = threadIdx.x & 8, lower = threadIdx.x & 4;
    real y[4], z[2];

    for (int k = 0; k < 4; k++)
        y[k] =
            (upper ? x[k + 4] : x[k]) + __shfl_xor_sync(0xffffffffu, upper ? x[k] : x[k + 4], 16);
    for (int k = 0; k < 2; k++)
        z[k] =
            (middle ? y[k + 2] : y[k]) + __shfl_xor_sync(0xffffffffu, middle ? y[k] : y[k + 2], 8);
    real sum = (lower ? z[1] : z[0]) + __shfl_xor_sync(0xffffffffu, lower ? z[0] : z[1], 4);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    return sum + __shfl_xor_sync(0xffffffffu, sum, 1);
}

#endif
