// From grid to grid (kernels/imaging/g2g/g2g.h).
//
// Entries of a tile that follow each other are a piece. Of each entry conj(function) x grid is
// collected, summed over lanes by shuffles, and function x sum is spread to the piece's slot: the
// tile with the cells that its functions reach. Then each cell of the result takes the sum of its
// slots, in the order of tiles and pieces. So no operation is atomic, and the bits are the same
// each time.
//
// Of functions of up to 8 cells eight lanes take a piece, a column each; of wider ones a warp does,
// and its lanes have each 32nd cell. The cells that are read and the sums stay in registers while
// the cell stays, and each number of a function is loaded once. Functions that registers do not
// hold are in g2g_wide_cuda.h.
//
// The cost of an entry is counted in bench/RESULTS-gpu-counted.md.
#include "g2g_wide_cuda.h"

namespace
{
enum {
    BLOCK = GROVE_G2G_BLOCK,
    WARPS = BLOCK / 32,
    NARROW = GROVE_G2G_NARROW,
    PITCH = GROVE_G2G_NARROW_PITCH
};

/* ---- narrow functions ---- */

__device__ __forceinline__ int column_of()
{
    return (int)(threadIdx.x % NARROW);
}

// The cells that functions at a place read, and their slot's cells there, a column of a lane. With
// 4 rows functions may have fewer.
template <typename real, int ROWS>
__device__ __forceinline__ void get_column(const job<real> &j, int32_t place,
                                           pair_of<real> cell[ROWS], pair_of<real> sum[ROWS])
{
    const pair_of<real> *from = source_of<real>(j, place), *to = target_of<real>(j, place);

    for (int y = 0; y < ROWS; y++)
        if (ROWS > 4 || y < j.support) {
            cell[y] = *go_on<pair_of<real>>(from, (uint32_t)(y * j.step[1]));
            sum[y] = to[PITCH * y];
        }
}

template <typename real, int ROWS>
__device__ __forceinline__ void put_column(const job<real> &j, int32_t place,
                                           const pair_of<real> sum[ROWS])
{
    pair_of<real> *to = target_of<real>(j, place);

    for (int y = 0; y < ROWS; y++)
        if (ROWS > 4 || y < j.support)
            to[PITCH * y] = sum[y];
}

// An entry of each eight lanes.
template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void add_column(const job<real> &j, const entry<real> &e, real weight,
                                           const pair_of<real> cell[ROWS], pair_of<real> sum[ROWS])
{
    typedef typename number_type<real, REAL>::type number;
    const number *from = (const number *)(const void *)go_on<real>(j.functions, e.function);
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
    all = {weight * all.re, weight * all.im};
    for (int y = 0; y < ROWS; y++)
        add_product<real>(&sum[y], k[y], all);
}

// The lanes of a warp go on together; lanes that have no more entries do their last one again, with
// a weight of 0. `column`: a job whose first cells and numbers are the lane's column's.
template <typename real, bool REAL, int ROWS>
__device__ __forceinline__ void do_narrow(const job<real> &column, int count)
{
    const unsigned eight = 0xffu << (lane_of() & ~(NARROW - 1));
    const bool has = column_of() < column.support;
    pair_of<real> cell[ROWS] = {}, sum[ROWS] = {};
    const int last = count > 0 ? count - 1 : 0;
    int32_t place = count ? -1 : column.entries->place & CELL; // with none it stays
    int most = count;

    for (int by = 16; by >= NARROW; by /= 2) {
        const int other = __shfl_xor_sync(ALL, most, by);
        most = other > most ? other : most;
    }
#pragma unroll 1
    for (int k = 0; k < most; k++) {
        const entry<real> e =
            *go_on<entry<real>>(column.entries, (uint32_t)(k < last ? k : last) * 16);
        if ((e.place & CELL) != place) {
            if (has && place >= 0)
                put_column<real, ROWS>(column, place, sum);
            __syncwarp(eight);
            place = e.place & CELL;
            if (has)
                get_column<real, ROWS>(column, place, cell, sum);
        }
        __syncwarp();
        add_column<real, REAL, ROWS>(column, e, k < count ? e.weight : 0, cell, sum);
    }
    if (has && count)
        put_column<real, ROWS>(column, place, sum);
}

template <typename real, bool REAL>
__device__ __forceinline__ void do_any_narrow(job<real> j, int count)
{
    j.in = go_on<pair_of<real>>(j.in, (uint32_t)(column_of() * j.step[0]));
    j.out += column_of();
    j.functions += column_of() * (REAL ? 1 : 2);
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

/* ---- functions whose cells stay in registers of a warp ---- */

// Where the cells of a function are from its first one on, in bytes: in the grid, in a slot.
struct shifts {
    uint32_t *from, *to;
};

// The shifts of all lanes, for the block. Beyond the function, where it is 0: its first cell.
template <typename real>
__device__ __forceinline__ void find_shifts(const grove_g2g_state *g, const shifts &of)
{
    const uint32_t side = (uint32_t)g->support,
                   pitch = (uint32_t)grove_g2g_pitch(g->support, g->tile),
                   count = 32 * (uint32_t)grove_g2g_kept(g->support);

#pragma unroll 1
    for (uint32_t i = threadIdx.x; i < count; i += BLOCK) {
        const uint32_t y = i / side, x = i - y * side;
        of.from[i] = y < side ? y * (uint32_t)g->step[1] + x * (uint32_t)g->step[0] : 0;
        of.to[i] = y < side ? (y * pitch + x) * (uint32_t)sizeof(pair_of<real>) : 0;
    }
    __syncthreads();
}

// Cells of a lane with k below COUNT are always in the function.
template <int CELLS> struct full {
    enum { COUNT = CELLS <= 8 ? CELLS - 2 : CELLS - 4 };
};

template <int CELLS> __device__ __forceinline__ bool has_cell(int k, int cells)
{
    return k < full<CELLS>::COUNT || lane_of() + 32 * k < cells;
}

template <typename real, int CELLS>
__device__ __forceinline__ void get_cells(const job<real> &j, int32_t place, const shifts &of,
                                          pair_of<real> cell[CELLS], pair_of<real> sum[CELLS])
{
    const pair_of<real> *from = source_of<real>(j, place), *to = target_of<real>(j, place);

    for (int k = 0; k < CELLS; k++) {
        cell[k] = *go_on<pair_of<real>>(from, of.from[32 * k]);
        sum[k] = *go_on<pair_of<real>>(to, of.to[32 * k]);
    }
}

template <typename real, int CELLS>
__device__ __forceinline__ void put_cells(const job<real> &j, int32_t place, const shifts &of,
                                          const pair_of<real> sum[CELLS])
{
    pair_of<real> *to = target_of<real>(j, place);

    for (int k = 0; k < CELLS; k++)
        if (has_cell<CELLS>(k, j.support * j.support))
            *go_on<pair_of<real>>(to, of.to[32 * k]) = sum[k];
}

// The sum over a warp, which all lanes have: real parts to one half of the lanes, imaginary parts
// to the other.
template <typename real> __device__ __forceinline__ pair_of<real> sum_over_warp(pair_of<real> z)
{
    const bool upper = lane_of() & 16;
    real x = (upper ? z.im : z.re) + __shfl_xor_sync(ALL, upper ? z.re : z.im, 16);

    for (int by = 8; by > 0; by /= 2)
        x += __shfl_xor_sync(ALL, x, by);
    return {__shfl_sync(ALL, x, 0), __shfl_sync(ALL, x, 16)};
}

// `of`: from the lane's shifts on. The numbers of functions are so, too.
template <typename real, bool REAL, int CELLS>
__device__ __forceinline__ void do_kept(const job<real> &j, int count, const shifts &of)
{
    typedef typename number_type<real, REAL>::type number;
    pair_of<real> cell[CELLS] = {}, sum[CELLS] = {};
    int32_t place = -1;

#pragma unroll 1
    for (int at = 0; at < count; at++) {
        const entry<real> e = *go_on<entry<real>>(j.entries, (uint32_t)at * 16);
        const number *from = (const number *)(const void *)go_on<real>(j.functions, e.function);
        number k[CELLS];
        pair_of<real> all = {0, 0};

        for (int n = 0; n < CELLS; n++)
            k[n] = from[32 * n];
        if ((e.place & CELL) != place) {
            if (place >= 0)
                put_cells<real, CELLS>(j, place, of, sum);
            __syncwarp();
            place = e.place & CELL;
            get_cells<real, CELLS>(j, place, of, cell, sum);
        }
        for (int n = 0; n < CELLS; n++)
            add_conjugate<real>(&all, k[n], cell[n]);
        all = sum_over_warp<real>(all);
        all = {e.weight * all.re, e.weight * all.im};
        for (int n = 0; n < CELLS; n++)
            add_product<real>(&sum[n], k[n], all);
    }
    if (place >= 0)
        put_cells<real, CELLS>(j, place, of, sum);
}

// MOST_CELLS: of the kernel, 8, 16 or 32.
template <typename real, bool REAL, int MOST_CELLS>
__device__ __forceinline__ void do_any_kept(job<real> j, int count, const shifts &of)
{
    const int cells = grove_g2g_kept(j.support);

    j.functions += lane_of() * (REAL ? 1 : 2);
    const shifts own = {of.from + lane_of(), of.to + lane_of()};
    if (MOST_CELLS == 8 && cells == 4)
        do_kept<real, REAL, 4>(j, count, own);
    else if (MOST_CELLS == 8 && cells == 6)
        do_kept<real, REAL, 6>(j, count, own);
    else if (MOST_CELLS == 16 && cells == 12)
        do_kept<real, REAL, 12>(j, count, own);
    else if (MOST_CELLS == 32 && cells == 20)
        do_kept<real, REAL, 20>(j, count, own);
    else if (MOST_CELLS == 32 && cells == 24)
        do_kept<real, REAL, 24>(j, count, own);
    else if (MOST_CELLS == 32 && cells == 28)
        do_kept<real, REAL, 28>(j, count, own);
    else
        do_kept<real, REAL, MOST_CELLS>(j, count, own);
}

/* ---- pieces ---- */

// Turn `number` of the launch, if there is one: lanes of a warp go on together. CELLS of a lane
// stay in registers; 0: none do.
template <typename real, bool REAL, int LANES, int CELLS>
__device__ void apply_piece(const grove_args *args, const grove_g2g_state *g, int32_t number,
                            const shifts &of, real *shared)
{
    const bool active = number < g->last - g->first;
    const grove_g2g_piece *pieces =
        (const grove_g2g_piece *)args->in[GROVE_G2G_PIECES].data + g->first;
    const int32_t slot = pieces[active ? number : 0].turn,
                  pitch = grove_g2g_pitch(g->support, g->tile);
    const grove_g2g_piece p = pieces[slot];
    const int32_t u = p.tile % g->tiles[0] * g->tile, v = p.tile / g->tiles[0] * g->tile;
    const job<real> j = {
        (const pair_of<real> *)(const void *)((const char *)args->in[GROVE_G2G_IN].data +
                                              (v * g->step[1] + u * g->step[0])),
        (pair_of<real> *)args->out.data + (int64_t)slot * grove_g2g_side(g) * pitch,
        (const real *)args->in[GROVE_G2G_FUNCTIONS].data,
        (const entry<real> *)args->in[GROVE_G2G_ENTRIES].data + p.first,
        g->support,
        pitch,
        {(int32_t)g->step[0], (int32_t)g->step[1]}};

#pragma unroll 1
    for (int y = p.row; y < p.end && active; y++) {
        pair_of<real> *at = j.out + (y * pitch + p.left + (int)(threadIdx.x % LANES));
#pragma unroll 1
        for (int x = p.left + (int)(threadIdx.x % LANES); x < p.right; x += LANES, at += LANES)
            *at = {0, 0};
    }
    __syncwarp();
    if (LANES == NARROW)
        do_any_narrow<real, REAL>(j, active ? p.last - p.first : 0);
    else if (CELLS)
        do_any_kept<real, REAL, CELLS ? CELLS : 8>(j, p.last - p.first, of);
    else
        do_wide<real, REAL>(j, p.last - p.first, shared);
    __syncwarp();
}

// Adds the sums of a tile's pieces for a cell at (x, y) from its first one on.
template <typename real>
__device__ __forceinline__ void add_tile(const grove_args *args, const grove_g2g_state *g, int tile,
                                         int x, int y, pair_of<real> *sum)
{
    const int32_t *begin = (const int32_t *)args->in[GROVE_G2G_ENTRIES].data + tile;
    const grove_g2g_piece *pieces = (const grove_g2g_piece *)args->in[GROVE_G2G_PIECES].data;
    const int32_t side = grove_g2g_side(g), pitch = grove_g2g_pitch(g->support, g->tile),
                  first = begin[0] > g->first ? begin[0] : g->first,
                  last = begin[1] < g->last ? begin[1] : g->last;

#pragma unroll 1
    for (int32_t k = first; k < last; k++) {
        if (y < pieces[k].row || y >= pieces[k].end || x < pieces[k].left || x >= pieces[k].right)
            continue;
        const pair_of<real> z = ((const pair_of<real> *)args->in[GROVE_G2G_IN]
                                     .data)[((int64_t)(k - g->first) * side + y) * pitch + x];
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
                  each = grove_g2g_numbers(g->support, 1), parts = g->are_real ? 1 : 2;
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
    ((entry<real> *)args->out.data)[i] = {count << 24 | place / g->tile << 12 | place % g->tile,
                                          (uint32_t)(point % g->blocks) *
                                              (uint32_t)grove_g2g_numbers(g->support, g->are_real) *
                                              (uint32_t)sizeof(real),
                                          (real)from->y};
}
} // namespace

// Without the second number of __launch_bounds__ ptxas spills some.
#define APPLY(name, is_real, lanes, cells, blocks, precision, real)                                \
    extern "C" __global__ void __launch_bounds__(BLOCK, blocks)                                    \
        g2g_##name##_##precision(const __grid_constant__ grove_args args)                          \
    {                                                                                              \
        __shared__ uint32_t shifts_##name##_##precision[2 * 32 * (cells) + 1];                     \
        __shared__ numbers<real, 2 * MOST> memory_##name##_##precision[WARPS];                     \
        enum { EACH = 32 / lanes };                                                                \
        const grove_g2g_state *g = grove_g2g_state_of(&args);                                      \
        const int warp = (int)(threadIdx.x / 32);                                                  \
        const shifts of = {shifts_##name##_##precision,                                            \
                           shifts_##name##_##precision + 32 * (cells)};                            \
                                                                                                   \
        if (cells)                                                                                 \
            find_shifts<real>(g, of);                                                              \
        _Pragma("unroll 1") for (int64_t i = ((int64_t)blockIdx.x * WARPS + warp) * EACH;          \
                                 i < g->last - g->first; i += (int64_t)gridDim.x * WARPS * EACH)   \
            apply_piece<real, is_real, lanes, cells>(&args, g, (int32_t)i + lane_of() / lanes, of, \
                                                     memory_##name##_##precision[warp].x);         \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_##name##_##precision)

#define ITEMS(name, precision, real)                                                               \
    extern "C" __global__ void g2g_##name##_##precision(const __grid_constant__ grove_args args)   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(g2g_##name##_##precision)

APPLY(narrow_real, true, NARROW, 0, 4, single, float)
APPLY(narrow_real, true, NARROW, 0, 4, double, double)
APPLY(narrow_complex, false, NARROW, 0, 4, single, float)
APPLY(narrow_complex, false, NARROW, 0, 4, double, double)
APPLY(kept8_real, true, 32, 8, 4, single, float)
APPLY(kept8_real, true, 32, 8, 4, double, double)
APPLY(kept8_complex, false, 32, 8, 4, single, float)
APPLY(kept8_complex, false, 32, 8, 3, double, double)
APPLY(kept16_real, true, 32, 16, 4, single, float)
APPLY(kept16_real, true, 32, 16, 2, double, double)
APPLY(kept16_complex, false, 32, 16, 3, single, float)
APPLY(kept16_complex, false, 32, 16, 2, double, double)
APPLY(kept32_real, true, 32, 32, 2, single, float)
APPLY(kept32_complex, false, 32, 32, 2, single, float)
APPLY(wide_real, true, 32, 0, 4, single, float)
APPLY(wide_real, true, 32, 0, 4, double, double)
APPLY(wide_complex, false, 32, 0, 4, single, float)
APPLY(wide_complex, false, 32, 0, 4, double, double)
ITEMS(gather, single, float)
ITEMS(gather, double, double)
ITEMS(arrange, single, float)
ITEMS(arrange, double, double)
ITEMS(pack, single, float)
ITEMS(pack, double, double)
