/* Sources of a chunk in shared memory, and the kinds of brightness among them, for the sums by
 * recurrence along channels. */
#ifndef GROVE_KERNELS_PREDICT_SOURCES_CUDA_H
#define GROVE_KERNELS_PREDICT_SOURCES_CUDA_H

#include "predict_place_cuda.h"

namespace
{
enum { CHUNK = 64 };

// Sources of a chunk as all rows of a block need them.
template <typename real, int NUMBERS> struct chunk {
    double direction[CHUNK][4]; // -2 (l, m, n - 1) / c: half turns for m and Hz
    double ellipse[CHUNK][6];
    int gaussian[CHUNK];
    alignas(16) real weight[CHUNK][NUMBERS]; // [channel][component], or [component] if it is flat
    int kind;                                // bits: see find_kind
    int any;                                 // of has_rows
    double change[3][ROWS];                  // of the coordinates in an integration, m, -1/2 of it
    // The same for all rows: Hz of the group's middle channel, between channels, half of a channel
    // for smearing or 0.
    double freq, step, width;
};

// Parts of the brightness that a pass over the sources sums: numbers 0 to 7 of a matrix.
struct pass {
    int part[4];
};

enum { NOT_UNITY = 1, NOT_HERMITIAN = 2, HAS_GAUSSIAN = 4 };

template <typename stored> __device__ int kind_of(const matrix_number<stored> &b)
{
    const complex_number<stored> *e = b.element;
    bool real = e[0].im == 0 && e[3].im == 0;
    bool unity =
        real && e[0].re == e[3].re && e[1].re == 0 && e[1].im == 0 && e[2].re == 0 && e[2].im == 0;
    bool hermitian = real && e[1].re == e[2].re && e[1].im == -e[2].im;

    return unity ? 0 : hermitian ? NOT_UNITY : NOT_UNITY | NOT_HERMITIAN;
}

__device__ __forceinline__ bool is_flat(const group_place &p)
{
    return stride_of(&p.args->in[GROVE_PREDICT_BRIGHTNESS], p.freq) == 0;
}

__device__ __forceinline__ bool is_gaussian(const group_place &p, int64_t source)
{
    const char *shape = common_at(p, GROVE_PREDICT_SHAPE, source, 0);

    return shape && grove_is_gaussian((const double *)(const void *)shape);
}

// The brightnesses that a thread reads of a group of channels: its first source, how far the next
// one is, and its channel.
struct reader {
    int source, next, channel;
};

template <int GROUP> __device__ __forceinline__ reader find_reader(const group_place &p)
{
    const int thread = (int)threadIdx.x;

    return is_flat(p) ? reader{thread, ROWS, 0}
                      : reader{thread / GROUP, ROWS / GROUP, thread % GROUP};
}

// A view of cells whose precision, and shape where it is a constant, the compiler knows.
template <typename stored> __device__ __forceinline__ grove_view stored_as(int shape)
{
    grove_view own = {};

    own.shape = shape;
    own.bytes = (int)sizeof(stored);
    return own;
}

// The kinds of `count` cells, one after the other at a distance of `step` bytes.
template <typename stored>
__device__ __forceinline__ int kinds_of(const grove_view &view, const char *at, int64_t step,
                                        int count)
{
    int kinds = 0;

    for (int n = 0; n < count; n++, at += step)
        kinds |= kind_of(matrix_at<stored>(&view, at));
    return kinds;
}
template <typename stored>
__device__ int kinds_in(int shape, const char *at, int64_t step, int count)
{
    return shape == GROVE_SCALAR
               ? kinds_of<stored>(stored_as<stored>(GROVE_SCALAR), at, step, count)
               : kinds_of<stored>(stored_as<stored>(shape), at, step, count);
}

// Whether the block's brightnesses are real numbers times unity, or Hermitian; whether there are
// Gaussians.
template <int GROUP, typename shared> __device__ int find_kind(const group_place &p, shared *c)
{
    const grove_view *view = &p.args->in[GROVE_PREDICT_BRIGHTNESS];
    const reader r = find_reader<GROUP>(p);
    const int k = is_flat(p) ? p.first : r.channel;
    const char *at = common_at(p, GROVE_PREDICT_BRIGHTNESS, r.source, k);
    const int64_t step = stride_of(view, p.source) * r.next;
    const int count =
        k < p.first || k >= p.last ? 0 : (int)((p.sources - r.source + r.next - 1) / r.next);
    int kind = 0;

    __syncthreads();
    if (threadIdx.x == 0)
        c->kind = 0;
    __syncthreads();
    if (at)
        kind = view->bytes == 8 ? kinds_in<double>(view->shape, at, step, count)
                                : kinds_in<float>(view->shape, at, step, count);
    for (int64_t n = threadIdx.x; n < p.sources; n += ROWS)
        kind |= is_gaussian(p, n) ? HAS_GAUSSIAN : 0;
    if (kind)
        atomicOr(&c->kind, kind);
    __syncthreads();
    return c->kind;
}

// Numbers of a source's brightness at a channel as weights.
template <typename real, int PARTS, typename stored>
__device__ __forceinline__ void put_weights(const grove_view *view, const char *at,
                                            const pass &what, real *weight)
{
    if (PARTS == 1) {
        *weight = (real)element_at<stored>(view, at, 0).re;
        return;
    }
    const matrix_number<stored> b = matrix_at<stored>(view, at);
    for (int part = 0; part < PARTS; part++) {
        const complex_number<stored> e = b.element[what.part[part] / 2];
        weight[part] = (real)(what.part[part] % 2 ? e.im : e.re);
    }
}

// The weights that a thread reads of `count` sources from `source` on at channel k, or zeros.
template <typename stored, typename real, int PARTS, typename shared>
__device__ void load_weights(const group_place &p, shared *c, int64_t source, int count,
                             const reader &r, int k, const pass &what)
{
    const grove_view *view = &p.args->in[GROVE_PREDICT_BRIGHTNESS],
                     own = stored_as<stored>(view->shape);
    const char *at = common_at(p, GROVE_PREDICT_BRIGHTNESS, source + r.source, k);
    const int64_t step = stride_of(view, p.source) * r.next;
    const bool inside = k >= p.first && k < p.last;

    for (int i = r.source; i < count; i += r.next, at += step) {
        real *weight = &c->weight[i][r.channel * PARTS];
        if (inside)
            put_weights<real, PARTS, stored>(&own, at, what, weight);
        else
            for (int part = 0; part < PARTS; part++)
                weight[part] = 0;
    }
}

template <typename real, int GROUP, int PARTS, typename shared>
__device__ void load_chunk(const group_place &p, shared *c, int64_t source, int count, int base,
                           const pass &what)
{
    const reader r = find_reader<GROUP>(p);
    const int k = is_flat(p) ? p.first : base + r.channel;

    __syncthreads();
    for (int i = threadIdx.x; i < count; i += ROWS) {
        const double *lmn =
            (const double *)(const void *)common_at(p, GROVE_PREDICT_LMN, source + i, 0);
        const double *shape =
            (const double *)(const void *)common_at(p, GROVE_PREDICT_SHAPE, source + i, 0);
        for (int d = 0; d < 3; d++)
            c->direction[i][d] = -2 / GROVE_SPEED_OF_LIGHT * lmn[d];
        c->gaussian[i] = is_gaussian(p, source + i);
        if (c->gaussian[i])
            find_ellipse(p.args, shape, c->ellipse[i]);
    }
    if (p.args->in[GROVE_PREDICT_BRIGHTNESS].bytes == 8)
        load_weights<double, real, PARTS>(p, c, source, count, r, k, what);
    else
        load_weights<float, real, PARTS>(p, c, source, count, r, k, what);
    __syncthreads();
}
} // namespace

#endif
