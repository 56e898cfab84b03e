// Functions with more cells than the registers of lanes hold: a warp has a piece, up to four
// entries of a cell at once; its lanes have each 32nd cell of their functions, and load these once
// more to spread.
#ifndef GROVE_KERNELS_G2G_WIDE_CUDA_H
#define GROVE_KERNELS_G2G_WIDE_CUDA_H

#include "g2g_job_cuda.h"

namespace
{
enum {
    MOST = GROVE_G2G_TOGETHER,
    STEPS = 4 // cells of a lane in a turn of its loop
};

template <typename real, int COUNT> struct alignas(16) numbers {
    real x[COUNT];
};

// The cells of a function that a lane has: each 32nd, in the order of rows, in an array of other
// steps.
struct walk {
    int x, offset;
    int row, columns;  // of functions; columns: least step from cell to cell along u
    int across, carry; // from cell to cell; the same if that is in the row beyond

    __device__ __forceinline__ walk(int support, int step_u, int step_v)
    {
        x = lane_of() % support;
        offset = lane_of() / support * step_v + x * step_u;
        row = support;
        columns = 32 % support;
        across = 32 / support * step_v + columns * step_u;
        carry = across + step_v - support * step_u;
    }
    __device__ __forceinline__ void go_on()
    {
        x += columns;
        offset += x >= row ? carry : across;
        x -= x >= row ? row : 0;
    }
};

// Sums over a warp, which all lanes have: half of the numbers to each half of the lanes, until each
// lane has one.
template <typename real, int COUNT>
__device__ __forceinline__ void sum_over_lanes(real x[COUNT], real *shared)
{
    enum { OWN = 32 / COUNT };
    int by = 16;

#pragma unroll
    for (int n = COUNT / 2; n > 0; n /= 2, by /= 2)
        for (int k = 0; k < n; k++) {
            const bool upper = lane_of() & by;
            const real other = __shfl_xor_sync(ALL, upper ? x[k] : x[k + n], by);
            x[k] = (upper ? x[k + n] : x[k]) + other;
        }
#pragma unroll
    for (int to = OWN / 2; to > 0; to /= 2)
        x[0] += __shfl_xor_sync(ALL, x[0], to);
    if (lane_of() % OWN == 0)
        shared[lane_of() / OWN] = x[0];
    __syncwarp();
    const numbers<real, COUNT> all = *(const numbers<real, COUNT> *)(const void *)shared;
    for (int k = 0; k < COUNT; k++)
        x[k] = all.x[k];
    __syncwarp();
}

// Calls visit(offset, numbers) for the cells of a lane, with the numbers of each function there:
// several in a turn while all lanes have some, then the last ones.
template <typename number, int COUNT, typename action>
__device__ __forceinline__ void each_cell(int cells, walk w, const number *const function[COUNT],
                                          action visit)
{
    const number *from[COUNT];
    number k[COUNT];

    for (int n = 0; n < COUNT; n++)
        from[n] = function[n] + lane_of();
#pragma unroll 1
    for (int turn = cells / (32 * STEPS); turn > 0; turn--) {
        for (int step = 0; step < STEPS; step++, w.go_on()) {
            for (int n = 0; n < COUNT; n++)
                k[n] = from[n][32 * step];
            visit(w.offset, k);
        }
        for (int n = 0; n < COUNT; n++)
            from[n] += 32 * STEPS;
    }
#pragma unroll 1
    for (int left = cells % (32 * STEPS) - lane_of(); left > 0; left -= 32, w.go_on()) {
        for (int n = 0; n < COUNT; n++, from[n - 1] += 32)
            k[n] = *from[n];
        visit(w.offset, k);
    }
}

// `count` entries of a cell, as COUNT. Where their cells are read, and where they are added.
// `shared`: 2 MOST numbers, of the warp.
template <typename real, bool REAL, int COUNT>
__device__ __forceinline__ void do_cell(const job<real> &j, int first, int count, const walk &in,
                                        const walk &out, real *shared)
{
    typedef typename number_type<real, REAL>::type number;
    const number *function[COUNT];
    pair_of<real> sum[COUNT] = {};
    real weight[COUNT], x[2 * COUNT];
    int32_t place = 0;

    for (int n = 0; n < COUNT; n++) {
        const entry<real> e = j.entries[first + (n < count ? n : 0)];
        function[n] = (const number *)(const void *)go_on<real>(j.functions, e.function);
        weight[n] = n < count ? e.weight : 0;
        place = e.place;
    }
    const pair_of<real> *from = source_of<real>(j, place);
    pair_of<real> *to = target_of<real>(j, place);
    const int cells = j.support * j.support;
    each_cell<number, COUNT>(cells, in, function, [&](int at, const number *k) {
        const pair_of<real> z = from[at];
        for (int n = 0; n < COUNT; n++)
            add_conjugate<real>(&sum[n], k[n], z);
    });
    for (int n = 0; n < COUNT; n++) {
        x[2 * n] = sum[n].re;
        x[2 * n + 1] = sum[n].im;
    }
    sum_over_lanes<real, 2 * COUNT>(x, shared);
    for (int n = 0; n < COUNT; n++)
        sum[n] = {weight[n] * x[2 * n], weight[n] * x[2 * n + 1]};
    each_cell<number, COUNT>(cells, out, function, [&](int at, const number *k) {
        pair_of<real> z = to[at];
        for (int n = 0; n < COUNT; n++)
            add_product<real>(&z, k[n], sum[n]);
        to[at] = z;
    });
    __syncwarp();
}

template <typename real, bool REAL>
__device__ __forceinline__ void do_wide(const job<real> &j, int all, real *shared)
{
    enum { EACH = sizeof(pair_of<real>) };
    const walk in(j.support, j.step[0] / EACH, j.step[1] / EACH), out(j.support, 1, j.pitch);

#pragma unroll 1
    for (int at = 0; at < all;) {
        int count = j.entries[at].place >> 24;
        count = count < all - at ? count : all - at;
        if (count == 1)
            do_cell<real, REAL, 1>(j, at, 1, in, out, shared);
        else
            do_cell<real, REAL, MOST>(j, at, count, in, out, shared);
        at += count;
    }
}
} // namespace

#endif
