/* The sum over sources with Jones terms inside on a CUDA device, where only phase, shape and
 * smearing vary with the channel. Where only the phase does, a pair of sums A and B is kept of
 * channels at the same distance from the middle of a group, and their visibilities are A - iB
 * before and A + iB after the middle. */
#ifndef GROVE_KERNELS_PREDICT_PAIRS_CUDA_H
#define GROVE_KERNELS_PREDICT_PAIRS_CUDA_H

#include "predict_shade_cuda.h"
#include "predict_turns_cuda.h"

namespace
{
enum {
    PAIR_CHUNK = 64,             // sources in shared memory
    PAIR_FLUSH = 8 * PAIR_CHUNK, // number of sources after which a thread's sums go to double
};

// Sources in shared memory, as all rows of a block need them.
template <typename real> struct pair_chunk {
    double direction[PAIR_CHUNK][3]; // -2 (l, m, n - 1) / c: half turns for m and Hz
    double ellipse[PAIR_CHUNK][6];
    int gaussian[PAIR_CHUNK];
    complex_number<real> weight[PAIR_CHUNK][4];
    int general;            // some brightness of the chunk is not a real number times unity
    int differ;             // something but phase, shape and smearing varies with the channel
    int shaded;             // some source is a Gaussian
    double change[3][ROWS]; // of the coordinates in an integration, m, -1/2 of it
    // Hz: of the middle of the group, between channels, half of a channel for smearing or 0.
    double freq, step, width;
};

// The Jones term of a row.
struct jones_side {
    const grove_view *view;
    const char *at; // at the first source of a chunk; NULL: unity
    int64_t stride; // bytes from source to source
    bool plain;     // aligned matrices in the kernel's precision, less than 2 GiB apart
};

// A thread's row.
struct pair_frame {
    double uvw[3];     // m
    bool moving, wide; // smeared in time; channels in frequency
    jones_side left, right;
};

template <typename real, int GROUP> struct pair_sums {
    complex_number<real> element[4][GROUP];
};

template <int GROUP> struct totals {
    complex_number<double> element[4][GROUP];
};

template <int GROUP>
__device__ __forceinline__ matrix_number<double> total_of(const totals<GROUP> &total, int k)
{
    return {{total.element[0][k], total.element[1][k], total.element[2][k], total.element[3][k]}};
}

template <int GROUP>
__device__ __forceinline__ void put_totals(const place &p, const totals<GROUP> &total)
{
    for (int k = p.first; k < p.last && p.row; k++)
        put_channel(p, k, total_of(total, k));
}

// Whether a matrix is a real number times unity.
template <typename real> __device__ __forceinline__ bool is_number(const matrix_number<real> &b)
{
    const complex_number<real> *e = b.element;

    return e[0].re == e[3].re && e[0].im == 0 && e[3].im == 0 && e[1].re == 0 && e[1].im == 0 &&
           e[2].re == 0 && e[2].im == 0;
}

// Whether an input varies with the channel.
__device__ __forceinline__ bool varies(const place &p, int input)
{
    return p.in[input] && stride_of(&p.args->in[input], p.freq) != 0;
}

// Whether the frequency or width of channel k differs from equal channels'.
__device__ __forceinline__ bool is_irregular(const place &p, int k)
{
    const grove_predict_channels *channels = &p.plan->channels;
    const double *width = doubles_at(p, GROVE_PREDICT_WIDTH, 0, k);
    double freq = *doubles_at(p, GROVE_PREDICT_FREQ, 0, k);
    double equal = channels->first + channels->step * (double)(p.channel + k);

    return !(fabs(freq - equal) <= 1e-15 * fabs(equal)) ||
           (width && (!p.plan->equal_width || *width != p.plan->width));
}

// Whether only phase, shape and smearing vary with the channel, for all sources and all rows of the
// block.
template <typename real> __device__ bool are_equal_channels(const place &p, pair_chunk<real> *c)
{
    bool differ = !p.plan->channels.regular || p.freq < 0 || varies(p, GROVE_PREDICT_LEFT) ||
                  varies(p, GROVE_PREDICT_RIGHT) || varies(p, GROVE_PREDICT_BRIGHTNESS);

    __syncthreads();
    if (threadIdx.x == 0) {
        c->differ = differ;
        c->shaded = 0;
    }
    __syncthreads();
    for (int k = p.first + (int)threadIdx.x; !differ && k < p.last; k += ROWS)
        if (is_irregular(p, k))
            atomicExch(&c->differ, 1);
    for (int64_t n = threadIdx.x; !differ && p.in[GROVE_PREDICT_SHAPE] && n < p.sources; n += ROWS)
        if (grove_is_gaussian(doubles_at(p, GROVE_PREDICT_SHAPE, n, 0)))
            atomicExch(&c->shaded, 1);
    __syncthreads();
    return !c->differ;
}

template <typename real, bool SHADED>
__device__ void load_pairs(const place &p, pair_chunk<real> *c, int64_t source, int count)
{
    __syncthreads();
    if (threadIdx.x == 0)
        c->general = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += ROWS) {
        const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, source + i, 0);
        matrix_number<real> b =
            matrix_at<real>(&p.args->in[GROVE_PREDICT_BRIGHTNESS],
                            cell_at(p, GROVE_PREDICT_BRIGHTNESS, source + i, 0));
        const double *shape = SHADED ? doubles_at(p, GROVE_PREDICT_SHAPE, source + i, 0) : nullptr;
        for (int d = 0; d < 3; d++)
            c->direction[i][d] = -2 / GROVE_SPEED_OF_LIGHT * lmn[d];
        c->gaussian[i] = shape && grove_is_gaussian(shape);
        if (c->gaussian[i])
            find_ellipse(p.args, shape, c->ellipse[i]);
        for (int e = 0; e < 4; e++)
            c->weight[i][e] = b.element[e];
        if (!is_number(b))
            atomicExch(&c->general, 1);
    }
    __syncthreads();
}

template <typename real> __device__ jones_side find_side(const place &p, int input)
{
    const grove_view *view = &p.args->in[input];
    const int64_t stride = stride_of(view, p.source);
    const uint64_t bits = (uint64_t)(uintptr_t)p.in[input] | (uint64_t)stride;

    return {view, p.in[input], stride,
            p.in[input] && view->shape == GROVE_MATRIX && view->bytes == sizeof(real) &&
                bits % 16 == 0 && stride == (int)stride};
}

__device__ __forceinline__ float4 load_four(const char *at)
{
#if defined(__CUDA_ARCH__)
    float4 of;

    // volatile: the load stays where it is, ahead of the instructions that cover its latency
    asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(of.x), "=f"(of.y), "=f"(of.z), "=f"(of.w)
                 : "l"(__cvta_generic_to_global(at)));
    return of;
#else
    return *(const float4 *)(const void *)at;
#endif
}

__device__ __forceinline__ void load_matrix(const char *at, matrix_number<float> *m)
{
    const float4 a = load_four(at), b = load_four(at + sizeof(a));

    *m = {{{a.x, a.y}, {a.z, a.w}, {b.x, b.y}, {b.z, b.w}}};
}

__device__ __forceinline__ void load_matrix(const char *at, matrix_number<double> *m)
{
    const double2 *from = (const double2 *)(const void *)at;

#pragma unroll
    for (int e = 0; e < 4; e++)
        m->element[e] = {from[e].x, from[e].y};
}

// Of source i of the chunk.
template <typename real>
__device__ __forceinline__ matrix_number<real> side_at(const jones_side &side, int i)
{
    matrix_number<real> m;

    if (side.plain)
        load_matrix(side.at + (int64_t)i * (int)side.stride, &m);
    else
        m = matrix_at<real>(side.view, side.at ? side.at + i * side.stride : nullptr);
    return m;
}

// To the source after `count` more.
__device__ __forceinline__ void advance(jones_side *side, int count)
{
    if (side->at)
        side->at += count * side->stride;
}

// left * brightness * right of a source, without the real number of an unpolarised one.
template <typename real>
__device__ __forceinline__ matrix_number<real> terms_between(matrix_number<real> left,
                                                             const matrix_number<real> &right,
                                                             const pair_chunk<real> &c, int i)
{
    if (c.general) {
        const complex_number<real> *w = c.weight[i];
        left = left * matrix_number<real>{{w[0], w[1], w[2], w[3]}};
    }
    return left * right;
}

// The first channel of a group has no partner, nor has the middle one.
template <typename real, int GROUP>
__device__ __forceinline__ void add_pairs(matrix_number<real> m, complex_number<real> z,
                                          complex_number<real> step, pair_sums<real, GROUP> *sum)
{
    const int middle = GROUP / 2;
    complex_number<real> turn[GROUP > 1 ? middle + 1 : 2] = {{1, 0}, step};

#pragma unroll
    for (int e = 0; e < 4; e++) {
        m.element[e] = z * m.element[e];
        sum->element[e][middle].re += m.element[e].re;
        sum->element[e][middle].im += m.element[e].im;
    }
#pragma unroll
    for (int k = 1; k <= middle; k++) {
        if (k > 1)
            find_turn<real, GROUP>(turn, k);
#pragma unroll
        for (int e = 0; k < middle && e < 4; e++) {
            complex_number<real> *a = &sum->element[e][middle + k];
            complex_number<real> *b = &sum->element[e][middle - k];
            a->re += m.element[e].re * turn[k].re;
            a->im += m.element[e].im * turn[k].re;
            b->re += m.element[e].re * turn[k].im;
            b->im += m.element[e].im * turn[k].im;
        }
    }
#pragma unroll
    for (int e = 0; GROUP > 1 && e < 4; e++)
        add_product(&sum->element[e][0], m.element[e], turn_at(turn, -middle));
}

// Adds the product of m, a phasor and its factor to the sums of channel k.
template <typename real, int GROUP>
__device__ __forceinline__ void add_turned(const matrix_number<real> &m, complex_number<real> turn,
                                           real factor, int k, pair_sums<real, GROUP> *sum)
{
    const complex_number<real> z = {turn.re * factor, turn.im * factor};

#pragma unroll
    for (int e = 0; e < 4; e++)
        add_product(&sum->element[e][k], m.element[e], z);
}

// Where channels have factors, each has its own sum: a pair would take as many operations.
template <typename real, int GROUP, int FACTORS>
__device__ __forceinline__ void add_channels(const matrix_number<real> &m,
                                             complex_number<real> step, const shading<real> &s,
                                             pair_sums<real, GROUP> *sum)
{
    const int middle = GROUP / 2;
    const real factor = factor_at<real, FACTORS>(s, 0);
    complex_number<real> turn[GROUP > 1 ? middle + 1 : 2] = {{1, 0}, step};

#pragma unroll
    for (int e = 0; e < 4; e++) {
        sum->element[e][middle].re += m.element[e].re * factor;
        sum->element[e][middle].im += m.element[e].im * factor;
    }
#pragma unroll
    for (int k = 1; k <= middle; k++) {
        if (k > 1)
            find_turn<real, GROUP>(turn, k);
        if (k < middle)
            add_turned(m, turn[k], factor_at<real, FACTORS>(s, k), middle + k, sum);
        add_turned(m, turn_at(turn, -k), factor_at<real, FACTORS>(s, -k), middle - k, sum);
    }
}

template <typename real, int GROUP, bool SHADED>
__device__ __forceinline__ void add_terms(const pair_frame &f, const pair_chunk<real> &c, int i,
                                          pair_sums<real, GROUP> *sum)
{
    // Loaded first: the phases are found while they come.
    const matrix_number<real> left = side_at<real>(f.left, i), right = side_at<real>(f.right, i);
    const double half_turns = dot(f.uvw, c.direction[i]); // for Hz
    complex_number<real> z = phasor_of_half_turns<real>(c.freq, half_turns);
    complex_number<real> step =
        GROUP > 1 ? phasor_of_half_turns<real>(c.step, half_turns) : complex_number<real>{1, 0};
    matrix_number<real> m = terms_between(left, right, c, i);
    real scale = c.general ? (real)1 : c.weight[i][0].re;

    if (f.wide)
        scale *= sinc_of<real>((real)(c.width * half_turns));
    z = {z.re * scale, z.im * scale};
    if constexpr (SHADED) {
#pragma unroll
        for (int e = 0; e < 4; e++)
            m.element[e] = z * m.element[e];
        const shading<real> s = find_shading<real>(f.uvw, f.moving, c, i);
        if (is_near<real, GROUP>(s))
            add_channels<real, GROUP, NEAR>(m, step, s, sum);
        else
            add_channels<real, GROUP, ANY>(m, step, s, sum);
    } else {
        add_pairs<real, GROUP>(m, z, step, sum);
    }
}

// Sums go to totals, which lie in memory and leave the registers to the sums.
template <typename real, int GROUP>
__device__ __forceinline__ void flush(const pair_sums<real, GROUP> &sum, totals<GROUP> *total)
{
    volatile real staged[8 * GROUP];

#pragma unroll
    for (int n = 0; n < 4 * GROUP; n++) {
        staged[2 * n] = sum.element[n / GROUP][n % GROUP].re;
        staged[2 * n + 1] = sum.element[n / GROUP][n % GROUP].im;
    }
    add_to_totals<8 * GROUP>(&total->element[0][0].re, staged);
}

// Totals of pairs become totals of channels.
template <int GROUP> __device__ __forceinline__ void part_pairs(totals<GROUP> *total)
{
    const int middle = GROUP / 2;

#pragma unroll 1
    for (int n = 0; n < 4 * (middle - 1); n++) {
        complex_number<double> *of = total->element[n % 4];
        int k = n / 4 + 1;
        complex_number<double> a = of[middle + k], b = of[middle - k];
        of[middle + k] = {a.re - b.im, a.im + b.re};
        of[middle - k] = {a.re + b.im, a.im - b.re};
    }
}

// For channels p.first to p.last of a place whose group has at least GROUP channels, and that ends
// within GROUP. SHADED: there are Gaussians, or smearing in time.
template <typename real, int GROUP, bool SHADED>
__device__ __forceinline__ void sum_group(const place &p, pair_chunk<real> *c)
{
    const grove_predict_channels *channels = &p.plan->channels;
    const coordinates x = find_coordinates(p);
    pair_frame f = {{x.uvw[0], x.uvw[1], x.uvw[2]},
                    p.in[GROVE_PREDICT_RATE] != nullptr,
                    p.in[GROVE_PREDICT_WIDTH] != nullptr,
                    find_side<real>(p, GROVE_PREDICT_LEFT),
                    find_side<real>(p, GROVE_PREDICT_RIGHT)};
    totals<GROUP> total = {};

    for (int d = 0; SHADED && d < 3; d++)
        c->change[d][threadIdx.x] = -0.5 * x.change[d];
    if (threadIdx.x == 0) {
        c->freq = channels->first + channels->step * (double)(p.channel + GROUP / 2);
        c->step = channels->step;
        c->width = p.in[GROVE_PREDICT_WIDTH] ? p.plan->width / 2 : 0;
    }
#pragma unroll 1
    for (int64_t first = 0; first < p.sources; first += PAIR_FLUSH) {
        int64_t end = first + PAIR_FLUSH < p.sources ? first + PAIR_FLUSH : p.sources;
        pair_sums<real, GROUP> sum = {};
#pragma unroll 1
        for (int64_t source = first; source < end; source += PAIR_CHUNK) {
            int count = end - source < PAIR_CHUNK ? (int)(end - source) : (int)PAIR_CHUNK;
            load_pairs<real, SHADED>(p, c, source, count);
#pragma unroll 1
            for (int i = 0; i < count && p.row; i++)
                add_terms<real, GROUP, SHADED>(f, *c, i, &sum);
            advance(&f.left, count);
            advance(&f.right, count);
        }
        flush(sum, &total);
    }
    if (!SHADED)
        part_pairs(&total);
    put_totals(p, total);
}
} // namespace

#endif
