/* Slabs of visibilities for the kernels of idg.cu: which belong together, their values, and their
 * phases along x and y. For CUDA alone. */
#ifndef GROVE_KERNELS_IDG_SLAB_CUDA_H
#define GROVE_KERNELS_IDG_SLAB_CUDA_H

#include "idg_cuda.h"

#include "../gridder/gridder_load_cuda.h"

namespace
{
enum { THREADS = GROVE_IDG_BLOCK, EIGHT = 8 };
#define ALL 0xffffffffu

template <typename real> __device__ __forceinline__ pair_of<real> zero()
{
    return {0, 0};
}

// sum += a b
template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, pair_of<real> a, pair_of<real> b)
{
    sum->re += a.re * b.re;
    sum->im += a.re * b.im;
    sum->re -= a.im * b.im;
    sum->im += a.im * b.re;
}

// sum += conj(a) b
template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, pair_of<real> a, pair_of<real> b)
{
    sum->re += a.re * b.re;
    sum->im += a.re * b.im;
    sum->re += a.im * b.im;
    sum->im -= a.im * b.re;
}

template <typename real>
__device__ __forceinline__ pair_of<real> product(pair_of<real> a, pair_of<real> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename real> __device__ __forceinline__ pair_of<real> phase(double turns)
{
    const complex_number<real> z = phasor<real>(turns);

    return {z.re, z.im};
}

/* ---- slabs ---- */

// Visibilities of a subgrid that are taken together: some times, and some channels that follow.
struct piece {
    int32_t time, times, channel, channels;
    uint32_t by; // k / channels is k by >> 16
};

// Times and channels of a piece, at most; the time and baseline of the subgrid's first row.
struct piece_limits {
    int32_t times, channels;
    uint32_t time, baseline;
};

__device__ __forceinline__ piece_limits limits_of_pieces(const grove_idg_state *g,
                                                         const grove_idg_subgrid *s, int slab)
{
    const int32_t parts = (s->channels + GROVE_IDG_RESTART - 1) / GROVE_IDG_RESTART,
                  channels = (s->channels + parts - 1) / parts;
    const uint32_t baselines = (uint32_t)g->samples.baselines, row = (uint32_t)s->row;

    return {slab / channels, channels, row / baselines, row % baselines};
}

__device__ __forceinline__ bool next_piece(const grove_idg_subgrid *s, const piece_limits &c,
                                           piece *p)
{
    p->channel += p->channels;
    if (p->channel >= s->channels) {
        p->channel = 0;
        p->time += p->times;
    }
    p->times = s->times - p->time < c.times ? s->times - p->time : c.times;
    const int32_t channels =
        s->channels - p->channel < c.channels ? s->channels - p->channel : c.channels;
    if (channels != p->channels)
        p->by = (1 << 16) / (uint32_t)channels + 1;
    p->channels = channels;
    return p->time < s->times;
}

// The time of visibility k of a piece; k is less than the number in a slab.
__device__ __forceinline__ int32_t time_of(const piece &p, int k)
{
    return (int32_t)((uint32_t)k * p.by >> 16);
}

// The place of a visibility in the call.
__device__ __forceinline__ place place_of(const grove_idg_subgrid *s, const piece_limits &c,
                                          const piece &p, int k)
{
    const int32_t time = time_of(p, k);

    return {c.time + (uint32_t)(p.time + time), c.baseline,
            s->first + p.channel + k - time * p.channels};
}

// nodes/imaging/image_plane.h: image_is_within().
__device__ __forceinline__ bool counts(const grove_args *args, const grove_idg_state *g,
                                       const double *uvw, int64_t channel)
{
    const double freq =
        ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[g->samples.channels + channel];
    bool within = true;

    for (int d = 0; d < 3 && g->limited; d++)
        within = within && fabs(uvw[d]) * freq <= g->longest[d];
    return within;
}

// The phase of the image's centre.
template <typename real>
__device__ __forceinline__ pair_of<real> centre_phase(const grove_args *args,
                                                      const grove_idg_state *g, const double *uvw,
                                                      int32_t sign, int64_t channel)
{
    const double k = ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[channel] * sign;

    return phase<real>(k * (uvw[0] * g->samples.turn[0] + uvw[1] * g->samples.turn[1] +
                            uvw[2] * g->samples.turn[2]));
}

// Turns of a pixel's phase along x (0) or y: wavenumber slope - offset.
template <int SIDE> struct line {
    double x, p, offset;

    __device__ __forceinline__ line(const grove_args *args, const grove_idg_state *g,
                                    const grove_idg_subgrid *s, int along, int k)
    {
        x = (k - SIDE / 2) * (1.0 / SIDE);
        p = ((const double *)args->in[GROVE_IDG_TABLE].data)[along * SIDE + k];
        offset = x * s->cell[along] + p * s->w;
        x *= g->samples.scale[along] * s->sign;
        p *= s->sign;
    }
};

// Baselines of a piece.
__device__ __forceinline__ void load_baselines(const grove_args *args, const grove_idg_state *g,
                                               const piece_limits &c, const piece &p, double *uvw)
{
    const grove_view *view = &args->in[GROVE_GRIDDER_UVW];
    const int t = (int)threadIdx.x;

    if (t >= p.times)
        return;
    const double *from =
        (const double *)(const void *)((const char *)view->data +
                                       offset_of(view, g->samples.axis,
                                                 c.time + (uint32_t)(p.time + t), c.baseline, 0));
    for (int d = 0; d < 3; d++)
        uvw[3 * t + d] = from[d];
}

// Phases of a line in all channels of a time, STEP apart; with WEIGHED each times a value.
template <typename real, int STEP, bool WEIGHED>
__device__ __forceinline__ void fill_channels(const double *wavenumber, int32_t channels, bool even,
                                              double slope, double offset,
                                              const pair_of<real> *value, pair_of<real> *to)
{
    pair_of<real> z = phase<real>(wavenumber[0] * slope - offset);

    if (channels == 1) {
        *to = WEIGHED ? product(z, *value) : z;
    } else if (even) {
        const pair_of<real> by = phase<real>((wavenumber[1] - wavenumber[0]) * slope);
#pragma unroll 4
        for (int32_t c = 0; c < channels; c++) {
            to[c * STEP] = WEIGHED ? product(z, value[c]) : z;
            z = product(z, by);
        }
    } else {
#pragma unroll 1
        for (int32_t c = 0; c < channels; c++) {
            z = phase<real>(wavenumber[c] * slope - offset);
            to[c * STEP] = WEIGHED ? product(z, value[c]) : z;
        }
    }
}

// Phases along x or y, of pixel k, in all visibilities of a piece.
template <typename real, int SIDE, int STEP, bool WEIGHED>
__device__ __forceinline__ void fill_line(const grove_args *args, const grove_idg_state *g,
                                          const grove_idg_subgrid *s, const piece &p, int along,
                                          int k, const double *uvw, const pair_of<real> *value,
                                          pair_of<real> *to)
{
    const double *wavenumber =
        (const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data + s->first + p.channel;
    const line<SIDE> of(args, g, s, along, k);

#pragma unroll 1
    for (int32_t t = 0; t < p.times; t++, uvw += 3) {
        fill_channels<real, STEP, WEIGHED>(wavenumber, p.channels, g->even,
                                           of.x * uvw[along] + of.p * uvw[2], of.offset, value, to);
        to += p.channels * STEP;
        value += p.channels;
    }
}

// Of pixels along y COLUMNS from the first one on; with WEIGHED phases along x are times values.
template <typename real, int SIZE, int COLUMNS, int LINE, int LINE_Y, bool WEIGHED>
__device__ __forceinline__ void fill_phases(const grove_args *args, const grove_idg_state *g,
                                            const grove_idg_subgrid *s, const piece &p, int first_y,
                                            const double *uvw, const pair_of<real> *value,
                                            pair_of<real> *x, pair_of<real> *y)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < SIZE + COLUMNS; k += THREADS)
        if (k < SIZE)
            fill_line<real, SIZE, LINE, WEIGHED>(args, g, s, p, 0, k, uvw, value, x + k);
        else
            fill_line<real, SIZE, LINE_Y, false>(args, g, s, p, 1, first_y + k - SIZE, uvw, value,
                                                 y + k - SIZE);
}

// Visibilities of a piece, times weights and the phase of the centre.
template <typename real>
__device__ __forceinline__ void load_values(const grove_args *args, const grove_idg_state *g,
                                            const grove_idg_subgrid *s, const piece_limits &c,
                                            const piece &p, int number, const double *uvw,
                                            pair_of<real> *value)
{
    const int k = (int)threadIdx.x;

    if (k >= p.times * p.channels)
        return;
    const place at = place_of(s, c, p, k);
    uvw += 3 * time_of(p, k);
    const real weight =
        counts(args, g, uvw, at.channel) ? (real)weight_at(args, &g->samples, &at) : 0;
    complex_number<real> z = {0, 0};
    if (!(weight > 0) || !mix<real>(args, &g->samples, at, number, &z))
        z = {0, 0};
    value[k] = product<real>(centre_phase<real>(args, g, uvw, s->sign, at.channel),
                             {weight * z.re, weight * z.im * (real)s->sign});
}

// With a share of each channel they are added to other planes' contributions.
template <typename real>
__device__ __forceinline__ void store_values(const grove_args *args, const grove_idg_state *g,
                                             const grove_idg_subgrid *s, const piece_limits &c,
                                             const piece &p, int number, const double *uvw,
                                             const pair_of<real> *value)
{
    const int k = (int)threadIdx.x;

    if (k >= p.times * p.channels)
        return;
    const place at = place_of(s, c, p, k);
    uvw += 3 * time_of(p, k);
    if (!counts(args, g, uvw, at.channel))
        return;
    pair_of<real> z = zero<real>();
    add_conjugate(&z, centre_phase<real>(args, g, uvw, s->sign, at.channel), value[k]);
    const double *share = (const double *)args->in[GROVE_IDG_SHARE].data;
    pair_of<real> *to = (pair_of<real> *)(void *)((char *)args->out.data +
                                                  offset_of(&args->out, g->samples.axis, at.time,
                                                            at.baseline, at.channel)) +
                        number;
    z.im *= (real)s->sign;
    if (share) {
        const real by = (real)share[at.channel];
        z = {to->re + by * z.re, to->im + by * z.im};
    }
    *to = z;
}

// Sums of LANES neighbours: each has one of the numbers, or two lanes the same.
template <typename real, int LANES, int COUNT>
__device__ __forceinline__ real sum_of_lanes(real x[COUNT])
{
#pragma unroll
    for (int by = LANES / 2, n = COUNT / 2; by > 0; by /= 2, n /= 2) {
        const bool upper = threadIdx.x & by;
        for (int k = 0; k < n; k++) {
            const real other = __shfl_xor_sync(ALL, upper ? x[k] : x[k + n], by);
            x[k] = (upper ? x[k + n] : x[k]) + other;
        }
        if (n == 0)
            x[0] += __shfl_xor_sync(ALL, x[0], by);
    }
    return x[0];
}
} // namespace

#endif
