// From grid to grid (kernels/g2g/g2g.h).
//
// Entries of a tile that follow each other are a piece. Of each entry conj(function) x grid is
// collected, summed over lanes by shuffles, and function x sum is spread to the piece's slot: the
// tile with what its functions reach. Then each cell of the result takes the sum of its slots, in
// the order of tiles and pieces. So no operation is atomic, and the bits are the same each time.
//
// Of functions of up to 8 cells eight lanes take a piece, a column each. The cells that are read
// and the sums stay in registers while the cell stays, and each number of a function is loaded
// once. Of wider ones a warp takes a piece, up to four entries of a cell at once; its lanes have
// each 32nd cell of their functions, and load these once more to spread.
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
    STEPS = 4,           // cells of a lane in a turn of its loop
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

// A number of a function.
template <typename real, bool REAL> struct number_type {
    typedef real type;
};
template <typename real> struct number_type<real, false> {
    typedef pair_of<real> type;
};

// sum += conj(k) z
template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, real k, pair_of<real> z)
{
    sum->re += k * z.re;
    sum->im += k * z.im;
}

template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, pair_of<real> k, pair_of<real> z)
{
    sum->re += k.re * z.re;
    sum->im += k.re * z.im;
    sum->re += k.im * z.im;
    sum->im -= k.im * z.re;
}

// sum += k z
template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, real k, pair_of<real> z)
{
    sum->re += k * z.re;
    sum->im += k * z.im;
}

template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, pair_of<real> k, pair_of<real> z)
{
    sum->re += k.re * z.re;
    sum->im += k.re * z.im;
    sum->re -= k.im * z.im;
    sum->im += k.im * z.re;
}

// What a piece is done with.
template <typename real> struct job {
    const pair_of<real> *in; // the tile's first cell
    pair_of<real> *out;      // its slot
    const real *functions;
    const entry<real> *entries;
    int32_t support, side;
    int32_t step[2]; // along u and v of what is read, in cells
    real *shared;    // 2 MOST numbers, of the warp
};

__device__ __forceinline__ int lane_of()
{
    return (int)(threadIdx.x % 32);
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

__device__ __forceinline__ int column_of()
{
    return (int)(threadIdx.x % NARROW);
}

// The cells that functions at a place read, a column of a lane. With 4 rows functions may have
// fewer.
template <typename real, int ROWS>
__device__ __forceinline__ void get_column(const job<real> &j, int32_t place,
                                           pair_of<real> cell[ROWS])
{
    const pair_of<real> *from = source_of<real>(j, place) + column_of() * j.step[0];

    if (column_of() >= j.support)
        return; // these stay 0
    for (int y = 0; y < ROWS; y++, from += j.step[1])
        if (ROWS > 4 || y < j.support)
            cell[y] = *from;
}

template <typename real, int ROWS>
__device__ __forceinline__ void put_column(const job<real> &j, int32_t place,
                                           pair_of<real> sum[ROWS])
{
    pair_of<real> *to = target_of<real>(j, place) + column_of();

    for (int y = 0; y < ROWS; y++, to += j.side) {
        if (column_of() < j.support && (ROWS > 4 || y < j.support))
            *to = {to->re + sum[y].re, to->im + sum[y].im};
        sum[y] = {0, 0};
    }
}

// An entry of each eight lanes; what they have none for is 0.
template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void add_column(const job<real> &j, const entry<real> &e, bool counts,
                                           const pair_of<real> cell[ROWS], pair_of<real> sum[ROWS])
{
    typedef typename number_type<real, REAL>::type number;
    const number *from = (const number *)(const void *)(j.functions + e.function) + column_of();
    number k[ROWS];
    pair_of<real> all = {0, 0};

    for (int y = 0; y < ROWS; y++)
        k[y] = from[NARROW * y];
    for (int y = 0; y < ROWS; y++)
        add_conjugate<real>(&all, k[y], cell[y]);
    for (int by = NARROW / 2; by > 0; by /= 2) {
        all.re += __shfl_xor_sync(ALL, all.re, by);
        all.im += __shfl_xor_sync(ALL, all.im, by);
    }
    all = {counts ? e.weight * all.re : 0, counts ? e.weight * all.im : 0};
    for (int y = 0; y < ROWS; y++)
        add_product<real>(&sum[y], k[y], all);
}

template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void do_narrow(const job<real> &j, int count)
{
    pair_of<real> cell[ROWS] = {}, sum[ROWS] = {};
    int32_t place = -1;
    int most = count;

    for (int by = 16; by >= NARROW; by /= 2) {
        const int other = __shfl_xor_sync(ALL, most, by);
        most = other > most ? other : most;
    }
#pragma unroll 1
    for (int k = 0; k < most; k++) {
        const bool counts = k < count;
        const entry<real> e = j.entries[counts ? k : 0];
        if (counts && (e.place & CELL) != place) {
            if (place >= 0)
                put_column<real, ROWS>(j, place, sum);
            place = e.place & CELL;
            get_column<real, ROWS>(j, place, cell);
        }
        __syncwarp();
        add_column<real, REAL, ROWS>(j, e, counts, cell, sum);
    }
    if (place >= 0)
        put_column<real, ROWS>(j, place, sum);
}

template <typename real, bool REAL>
__device__ __forceinline__ void do_any_narrow(const job<real> &j, int count)
{
    switch (grove_g2g_rows(j.support)) {
    case 4:
        do_narrow<real, REAL, 4>(j, count);
        break;
    case 5:
        do_narrow<real, REAL, 5>(j, count);
        break;
    case 6:
        do_narrow<real, REAL, 6>(j, count);
        break;
    case 7:
        do_narrow<real, REAL, 7>(j, count);
        break;
    default:
        do_narrow<real, REAL, 8>(j, count);
    }
}

/* ---- wide functions ---- */

// The cells of a function that a lane has: each 32nd, in the order of rows, in an array of other
// steps.
struct walk {
    int x, offset;
    int row, columns;  // of functions; from cell to cell so many on along u, at least
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
template <typename real, bool REAL, int COUNT>
__device__ __forceinline__ void do_cell(const job<real> &j, int first, int count, const walk &in,
                                        const walk &out)
{
    typedef typename number_type<real, REAL>::type number;
    const number *function[COUNT];
    pair_of<real> sum[COUNT] = {};
    real weight[COUNT], x[2 * COUNT];
    int32_t place = 0;

    for (int n = 0; n < COUNT; n++) {
        const entry<real> e = j.entries[first + (n < count ? n : 0)];
        function[n] = (const number *)(const void *)(j.functions + e.function);
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
    sum_over_lanes<real, 2 * COUNT>(x, j.shared);
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
__device__ __forceinline__ void do_wide(const job<real> &j, int all)
{
    const walk in(j.support, j.step[0], j.step[1]), out(j.support, 1, j.side);

#pragma unroll 1
    for (int at = 0; at < all;) {
        int count = j.entries[at].place >> 24;
        count = count < all - at ? count : all - at;
        if (count == 1)
            do_cell<real, REAL, 1>(j, at, 1, in, out);
        else
            do_cell<real, REAL, MOST>(j, at, count, in, out);
        at += count;
    }
}

/* ---- pieces ---- */

// Piece `number`, if there is one: lanes of a warp go on together.
template <typename real, bool REAL, int LANES>
__device__ void apply_piece(const grove_args *args, const grove_g2g_state *g, int32_t number,
                            real *shared)
{
    const bool active = number < g->last - g->first;
    const grove_g2g_piece p = ((const grove_g2g_piece *)args->in[GROVE_G2G_PIECES]
                                   .data)[g->first + (active ? number : 0)];
    const int32_t side = grove_g2g_side(g);
    const int32_t step[2] = {(int32_t)(g->step[0] / (int64_t)sizeof(pair_of<real>)),
                             (int32_t)(g->step[1] / (int64_t)sizeof(pair_of<real>))};
    const int32_t u = p.tile % g->tiles[0] * g->tile, v = p.tile / g->tiles[0] * g->tile;
    const job<real> j = {(const pair_of<real> *)args->in[GROVE_G2G_IN].data +
                             ((int64_t)v * step[1] + (int64_t)u * step[0]),
                         (pair_of<real> *)args->out.data + (int64_t)number * side * side,
                         (const real *)args->in[GROVE_G2G_FUNCTIONS].data,
                         (const entry<real> *)args->in[GROVE_G2G_ENTRIES].data + p.first,
                         g->support,
                         side,
                         {step[0], step[1]},
                         shared};

#pragma unroll 1
    for (int y = p.row; y < p.end && active; y++)
#pragma unroll 1
        for (int x = p.left + (int)(threadIdx.x % LANES); x < p.right; x += LANES)
            j.out[y * side + x] = {0, 0};
    __syncwarp();
    if (LANES == NARROW)
        do_any_narrow<real, REAL>(j, active ? p.last - p.first : 0);
    else
        do_wide<real, REAL>(j, p.last - p.first);
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
        if (y < pieces[k].row || y >= pieces[k].end || x < pieces[k].left || x >= pieces[k].right)
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
    const int32_t all = (int32_t)(i / parts), part = (int32_t)(i % parts), cell = all % each,
                  block = all / each, x = cell % width, y = cell / width;
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

// Without the second number ptxas spills some.
#define APPLY(width, name, is_real, lanes, precision, real)                                        \
    extern "C" __global__ void __launch_bounds__(BLOCK, 4)                                         \
        g2g_##width##_##name##_##precision(const __grid_constant__ grove_args args)                \
    {                                                                                              \
        __shared__ numbers<real, 2 * MOST> memory_##width##_##name##_##precision[WARPS];           \
        enum { EACH = 32 / lanes };                                                                \
        const grove_g2g_state *g = grove_g2g_state_of(&args);                                      \
        const int warp = (int)(threadIdx.x / 32);                                                  \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = ((int64_t)blockIdx.x * WARPS + warp) * EACH;          \
                                 i < g->last - g->first; i += (int64_t)gridDim.x * WARPS * EACH)   \
            apply_piece<real, is_real, lanes>(&args, g, (int32_t)i + lane_of() / lanes,            \
                                              memory_##width##_##name##_##precision[warp].x);      \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_##width##_##name##_##precision)

#define ITEMS(name, precision, real)                                                               \
    extern "C" __global__ void g2g_##name##_##precision(const __grid_constant__ grove_args args)   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_##name##_##precision)

APPLY(narrow, real, true, NARROW, single, float)
APPLY(narrow, real, true, NARROW, double, double)
APPLY(narrow, complex, false, NARROW, single, float)
APPLY(narrow, complex, false, NARROW, double, double)
APPLY(wide, real, true, 32, single, float)
APPLY(wide, real, true, 32, double, double)
APPLY(wide, complex, false, 32, single, float)
APPLY(wide, complex, false, 32, double, double)
ITEMS(gather, single, float)
ITEMS(gather, double, double)
ITEMS(arrange, single, float)
ITEMS(arrange, double, double)
ITEMS(pack, single, float)
ITEMS(pack, double, double)
