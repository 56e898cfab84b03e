// From grid to grid (kernels/g2g/g2g.h).
//
// A warp takes some entries of a tile, one cell after the other. For up to four entries of a cell
// at once it collects conj(function) x grid, sums that over its lanes by shuffles, and spreads
// function x sum to a slot of its own: the tile with what its functions reach. Then each cell of
// the result takes the sum of its slots, in the order of tiles and pieces. So no operation is
// atomic, and the bits are the same each time.
//
// Of functions of up to 8 cells eight lanes take an entry, a column each. The cells that are read
// and the sums stay in registers while the cell stays, and each number of a function is loaded
// once. Of wider ones all lanes take the cells of a function, for each of the entries, and load it
// once more to spread.
//
// What an entry costs is counted in bench/RESULTS-gpu-counted.md.
#include "g2g_cuda.h"

#include "../cuda/number.h"

namespace
{
enum {
    BLOCK = GROVE_G2G_BLOCK,
    WARPS = BLOCK / 32,
    NARROW = GROVE_G2G_NARROW,
    MOST = GROVE_G2G_TOGETHER,
    CELL = (1 << 24) - 1 // bits of an entry's place
};
#define ALL 0xffffffffu

template <typename real> struct alignas(2 * sizeof(real)) pair_of {
    real re, im;
};

template <typename real> struct alignas(16) entry {
    int32_t place, function;
    real weight;
};
static_assert(sizeof(entry<float>) == GROVE_G2G_ENTRY_BYTES, "as counted by the host");
static_assert(sizeof(entry<double>) == GROVE_G2G_ENTRY_BYTES, "as counted by the host");

template <typename real, int COUNT> struct alignas(16) numbers {
    real x[COUNT];
};

// What a warp's piece is done with.
template <typename real> struct job {
    const pair_of<real> *in; // the tile's first cell
    pair_of<real> *out;      // its slot
    const real *functions;
    const entry<real> *entries;
    int32_t support, side;
    int32_t step[2]; // along u and v of what is read, in cells
    real *shared;    // 2 MOST numbers of the warp
};

__device__ __forceinline__ int lane_of()
{
    return (int)threadIdx.x % 32;
}

__device__ __forceinline__ int u_of(int32_t place)
{
    return place & 4095;
}

__device__ __forceinline__ int v_of(int32_t place)
{
    return place >> 12 & 4095;
}

template <typename real>
__device__ __forceinline__ const pair_of<real> *source_of(const job<real> &j, int32_t place)
{
    return j.in + ((int64_t)v_of(place) * j.step[1] + (int64_t)u_of(place) * j.step[0]);
}

template <typename real>
__device__ __forceinline__ pair_of<real> *target_of(const job<real> &j, int32_t place)
{
    return j.out + (v_of(place) * j.side + u_of(place));
}

/* ---- narrow functions ---- */

// The cells that functions at a place read, a column of a lane.
template <typename real, int ROWS>
__device__ __forceinline__ void get_column(const job<real> &j, int32_t place,
                                           pair_of<real> cell[ROWS])
{
    const int x = lane_of() % NARROW;
    const pair_of<real> *from = source_of<real>(j, place) + x * j.step[0];

    for (int y = 0; y < ROWS; y++, from += j.step[1]) {
        cell[y] = {0, 0};
        if (x < j.support && y < j.support)
            cell[y] = *from;
    }
}

// What this lane keeps of two rows, of which it gives one to the lane at `by`.
template <typename real>
__device__ __forceinline__ pair_of<real> exchange(bool upper, int by, pair_of<real> low,
                                                  pair_of<real> high)
{
    const real re = __shfl_xor_sync(ALL, upper ? low.re : high.re, by),
               im = __shfl_xor_sync(ALL, upper ? low.im : high.im, by);

    return {(upper ? high.re : low.re) + re, (upper ? high.im : low.im) + im};
}

// Adds the sums that the four groups of lanes have of the cells at a place, two rows of a lane.
template <typename real, int ROWS>
__device__ __forceinline__ void put_columns(const job<real> &j, int32_t place,
                                            const pair_of<real> sum[ROWS])
{
    const int x = lane_of() % NARROW;
    const bool upper = lane_of() & 16, odd = lane_of() & 8;
    const pair_of<real> none = {0, 0};
    const int first = (upper ? 4 : 0) + (odd ? 2 : 0);
    pair_of<real> half[4], *to = target_of<real>(j, place) + (first * j.side + x);

    for (int r = 0; r < 4; r++)
        half[r] = exchange<real>(upper, 16, sum[r], r + 4 < ROWS ? sum[r + 4] : none);
    for (int r = 0; r < 2; r++, to += j.side) {
        const pair_of<real> all = exchange<real>(odd, 8, half[r], half[r + 2]);
        if (x < j.support && first + r < j.support)
            *to = {to->re + all.re, to->im + all.im};
    }
    __syncwarp();
}

// One entry of each group of eight lanes, of one cell. Those without one have weight 0.
template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void add_column(const job<real> &j, int32_t function, real weight,
                                           const pair_of<real> cell[ROWS], pair_of<real> sum[ROWS])
{
    const real *from = j.functions + function + lane_of() % NARROW;
    real re[ROWS], im[REAL ? 1 : ROWS];
    pair_of<real> all = {0, 0};

    for (int y = 0; y < ROWS; y++) {
        re[y] = from[NARROW * y];
        if (!REAL)
            im[y] = from[NARROW * (ROWS + y)];
    }
    for (int y = 0; y < ROWS; y++) {
        all.re += re[y] * cell[y].re;
        all.im += re[y] * cell[y].im;
        if (!REAL) {
            all.re += im[y] * cell[y].im;
            all.im -= im[y] * cell[y].re;
        }
    }
    for (int by = NARROW / 2; by > 0; by /= 2) {
        all.re += __shfl_xor_sync(ALL, all.re, by);
        all.im += __shfl_xor_sync(ALL, all.im, by);
    }
    all = {weight * all.re, weight * all.im};
    for (int y = 0; y < ROWS; y++) {
        sum[y].re += re[y] * all.re;
        sum[y].im += re[y] * all.im;
        if (!REAL) {
            sum[y].re -= im[y] * all.im;
            sum[y].im += im[y] * all.re;
        }
    }
}

template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void do_narrow(const job<real> &j, int first, int last)
{
    const int group = lane_of() / NARROW;
    pair_of<real> cell[ROWS] = {}, sum[ROWS] = {};
    int32_t place = -1;

#pragma unroll 1
    for (int at = first; at < last;) {
        const entry<real> e = j.entries[at + group < last ? at + group : last - 1];
        const int32_t head = __shfl_sync(ALL, e.place, 0);
        const int count = head >> 24;
        if ((head & CELL) != place) {
            if (place >= 0)
                put_columns<real, ROWS>(j, place, sum);
            place = head & CELL;
            get_column<real, ROWS>(j, place, cell);
            for (int y = 0; y < ROWS; y++)
                sum[y] = {0, 0};
        }
        const bool counts = group < count && at + group < last;
        add_column<real, REAL, ROWS>(j, e.function, counts ? e.weight : 0, cell, sum);
        at += count;
    }
    put_columns<real, ROWS>(j, place, sum);
}

template <typename real, bool REAL>
__device__ __forceinline__ void do_any_narrow(const job<real> &j, int first, int last)
{
    switch (grove_g2g_rows(j.support)) {
    case 4:
        do_narrow<real, REAL, 4>(j, first, last);
        break;
    case 6:
        do_narrow<real, REAL, 6>(j, first, last);
        break;
    case 7:
        do_narrow<real, REAL, 7>(j, first, last);
        break;
    default:
        do_narrow<real, REAL, 8>(j, first, last);
    }
}

/* ---- wide functions ---- */

// The cells of a function that a lane has: each 32nd, in the order of rows; with where they are in
// an array of other steps.
struct walk {
    int at, x, offset;
    int across, carry, row; // from cell to cell; the same if it is in the row beyond; of x

    __device__ __forceinline__ walk(int support, int step_u, int step_v)
    {
        const int rows = 32 / support, columns = 32 % support;
        at = lane_of();
        x = at % support;
        offset = at / support * step_v + x * step_u;
        row = support;
        across = rows * step_v + columns * step_u;
        carry = across + step_v - support * step_u;
    }
    __device__ __forceinline__ void go_on()
    {
        at += 32;
        x += 32 % row;
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

// Sums of conj(function) x cells, of each entry; a lane's part.
template <typename real, bool REAL, int COUNT>
__device__ __forceinline__ void collect(const job<real> &j, const pair_of<real> *in,
                                        const real *const function[COUNT], real sum[2 * COUNT])
{
    const int cells = j.support * j.support;
    walk w(j.support, j.step[0], j.step[1]);

#pragma unroll 1
    for (; w.at < cells; w.go_on()) {
        const pair_of<real> z = in[w.offset];
        for (int n = 0; n < COUNT; n++) {
            const real re = function[n][w.at];
            sum[2 * n] += re * z.re;
            sum[2 * n + 1] += re * z.im;
            if (!REAL) {
                const real im = function[n][cells + w.at];
                sum[2 * n] += im * z.im;
                sum[2 * n + 1] -= im * z.re;
            }
        }
    }
}

// cells += functions x these sums
template <typename real, bool REAL, int COUNT>
__device__ __forceinline__ void spread(const job<real> &j, pair_of<real> *out,
                                       const real *const function[COUNT], const real sum[2 * COUNT])
{
    const int cells = j.support * j.support;
    walk w(j.support, 1, j.side);

#pragma unroll 1
    for (; w.at < cells; w.go_on()) {
        pair_of<real> z = out[w.offset];
        for (int n = 0; n < COUNT; n++) {
            const real re = function[n][w.at];
            z.re += re * sum[2 * n];
            z.im += re * sum[2 * n + 1];
            if (!REAL) {
                const real im = function[n][cells + w.at];
                z.re -= im * sum[2 * n + 1];
                z.im += im * sum[2 * n];
            }
        }
        out[w.offset] = z;
    }
    __syncwarp();
}

// `count` entries of a cell, as COUNT.
template <typename real, bool REAL, int COUNT>
__device__ __forceinline__ void do_cell(const job<real> &j, int first, int count)
{
    const real *function[COUNT];
    real weight[COUNT], sum[2 * COUNT] = {};
    int32_t place = 0;

    for (int n = 0; n < COUNT; n++) {
        const entry<real> e = j.entries[first + (n < count ? n : 0)];
        function[n] = j.functions + e.function;
        weight[n] = n < count ? e.weight : 0;
        place = e.place;
    }
    collect<real, REAL, COUNT>(j, source_of<real>(j, place), function, sum);
    sum_over_lanes<real, 2 * COUNT>(sum, j.shared);
    for (int n = 0; n < COUNT; n++) {
        sum[2 * n] *= weight[n];
        sum[2 * n + 1] *= weight[n];
    }
    spread<real, REAL, COUNT>(j, target_of<real>(j, place), function, sum);
}

template <typename real, bool REAL>
__device__ __forceinline__ void do_wide(const job<real> &j, int first, int last)
{
#pragma unroll 1
    for (int at = first; at < last;) {
        int count = j.entries[at].place >> 24;
        count = count < last - at ? count : last - at;
        if (count == 1)
            do_cell<real, REAL, 1>(j, at, 1);
        else
            do_cell<real, REAL, MOST>(j, at, count);
        at += count;
    }
}

/* ---- pieces ---- */

template <typename real, bool REAL>
__device__ void apply_piece(const grove_args *args, const grove_g2g_state *g, int32_t number,
                            real *shared)
{
    const grove_g2g_piece p =
        ((const grove_g2g_piece *)args->in[GROVE_G2G_PIECES].data)[g->first + number];
    const int32_t side = grove_g2g_side(g);
    const int32_t step[2] = {(int32_t)(g->step[0] / (int64_t)sizeof(pair_of<real>)),
                             (int32_t)(g->step[1] / (int64_t)sizeof(pair_of<real>))};
    const int32_t u = p.tile % g->tiles[0] * g->tile, v = p.tile / g->tiles[0] * g->tile;
    const job<real> j = {(const pair_of<real> *)args->in[GROVE_G2G_IN].data +
                             ((int64_t)v * step[1] + (int64_t)u * step[0]),
                         (pair_of<real> *)args->out.data + (int64_t)number * side * side,
                         (const real *)args->in[GROVE_G2G_FUNCTIONS].data,
                         (const entry<real> *)args->in[GROVE_G2G_ENTRIES].data,
                         g->support,
                         side,
                         {step[0], step[1]},
                         shared};

#pragma unroll 1
    for (int i = p.row * side + lane_of(); i < p.end * side; i += 32)
        j.out[i] = {0, 0};
    __syncwarp();
    if (g->support <= NARROW)
        do_any_narrow<real, REAL>(j, p.first, p.last);
    else
        do_wide<real, REAL>(j, p.first, p.last);
    __syncwarp();
}

// Adds what the pieces of a tile have of a cell at (x, y) from its first one on.
template <typename real>
__device__ __forceinline__ void add_tile(const grove_args *args, const grove_g2g_state *g, int tile,
                                         int x, int y, pair_of<real> *sum)
{
    const int32_t *begin = (const int32_t *)args->in[GROVE_G2G_ENTRIES].data + tile;
    const grove_g2g_piece *pieces = (const grove_g2g_piece *)args->in[GROVE_G2G_PIECES].data;
    const int32_t side = grove_g2g_side(g), first = begin[0] > g->first ? begin[0] : g->first,
                  last = begin[1] < g->last ? begin[1] : g->last;

#pragma unroll 1
    for (int32_t k = first; k < last; k++) {
        if (y < pieces[k].row || y >= pieces[k].end)
            continue;
        const pair_of<real> z = ((const pair_of<real> *)args->in[GROVE_G2G_IN]
                                     .data)[((int64_t)(k - g->first) * side + y) * side + x];
        sum->re += z.re;
        sum->im += z.im;
    }
}

// Cell i of the result.
template <typename real> __device__ void gather(const grove_args *args, int64_t i)
{
    const grove_g2g_state *g = grove_g2g_state_of(args);
    const uint32_t row =
        (uint32_t)(((uint64_t)(uint32_t)i * g->row.multiplier) >> (uint32_t)g->row.shift);
    const int32_t column = (int32_t)i - (int32_t)row * g->row.size;
    const int32_t u = g->origin[0] + column, v = g->origin[1] + (int32_t)row;
    const int32_t x = u & (g->tile - 1), y = v & (g->tile - 1), side = grove_g2g_side(g);
    const int32_t tile = v / g->tile * g->tiles[0] + u / g->tile;
    const bool left = u >= g->tile && x + g->tile < side,
               above = v >= g->tile && y + g->tile < side;
    pair_of<real> *to = (pair_of<real> *)(void *)((char *)args->out.data +
                                                  (row * g->step[1] + column * g->step[0]));
    pair_of<real> sum = {0, 0};

    if (g->adds)
        sum = *to;
    if (above && left)
        add_tile<real>(args, g, tile - g->tiles[0] - 1, x + g->tile, y + g->tile, &sum);
    if (above)
        add_tile<real>(args, g, tile - g->tiles[0], x, y + g->tile, &sum);
    if (left)
        add_tile<real>(args, g, tile - 1, x + g->tile, y, &sum);
    add_tile<real>(args, g, tile, x, y, &sum);
    *to = sum;
}

/* ---- functions and entries ---- */

// Number i of the functions.
template <typename real> __device__ void arrange(const grove_args *args, int64_t i)
{
    const grove_g2g_arrange_state *g =
        (const grove_g2g_arrange_state *)(const void *)args->state.bytes;
    const int32_t width = grove_g2g_width(g->support), stride = g->oversampling,
                  each = grove_g2g_rows(g->support) * width, parts = g->are_real ? 1 : 2;
    const int32_t all = (int32_t)(i / each), cell = (int32_t)(i % each), x = cell % width,
                  y = cell / width, part = all % parts, block = all / parts;
    const int32_t plane = block / (stride * stride), q = block % (stride * stride);
    const int64_t fine =
        ((int64_t)stride * y + q / stride) * stride * g->support + (int64_t)stride * x + q % stride;
    real number = 0;

    if (x < g->support && y < g->support)
        number = ((const real *)(const void *)((const char *)args->in[GROVE_GRIDDER_FROM].data +
                                               plane * g->step[0] + fine * g->step[1]))[part];
    ((real *)args->out.data)[i] = number;
}

// Entry i, from a point and a weight.
template <typename real> __device__ void pack(const grove_args *args, int64_t i)
{
    const grove_g2g_pack_state *g = (const grove_g2g_pack_state *)(const void *)args->state.bytes;
    const double2 *from = (const double2 *)args->in[GROVE_GRIDDER_FROM].data + i;
    const int64_t point = (int64_t)from->x, cell = point / g->blocks, last = (cell + 1) * g->blocks;
    const int32_t place = (int32_t)(cell % ((int64_t)g->tile * g->tile));
    int32_t count = 1;

    if (point < 0)
        return;
    while (count < MOST && i + count < g->count && (int64_t)from[count].x >= 0 &&
           (int64_t)from[count].x < last)
        count++;
    ((entry<real> *)args->out.data)[i] = {
        count << 24 | place / g->tile << 12 | place % g->tile,
        (int32_t)(point % g->blocks) * grove_g2g_numbers(g->support, g->are_real), (real)from->y};
}
} // namespace

#define APPLY(name, is_real, precision, real)                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        g2g_apply_##name##_##precision(const __grid_constant__ grove_args args)                    \
    {                                                                                              \
        __shared__ numbers<real, 2 * MOST> memory_##name##_##precision[WARPS];                     \
        const grove_g2g_state *g = grove_g2g_state_of(&args);                                      \
        const int warp = (int)threadIdx.x / 32;                                                    \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * WARPS + warp;                   \
                                 i < g->last - g->first; i += (int64_t)gridDim.x * WARPS)          \
            apply_piece<real, is_real>(&args, g, (int32_t)i, memory_##name##_##precision[warp].x); \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_apply_##name##_##precision)

#define ITEMS(name, precision, real)                                                               \
    extern "C" __global__ void g2g_##name##_##precision(const __grid_constant__ grove_args args)   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_##name##_##precision)

APPLY(real, true, single, float)
APPLY(real, true, double, double)
APPLY(complex, false, single, float)
APPLY(complex, false, double, double)
ITEMS(gather, single, float)
ITEMS(gather, double, double)
ITEMS(arrange, single, float)
ITEMS(arrange, double, double)
ITEMS(pack, single, float)
ITEMS(pack, double, double)
