// Samples to the uv planes and back: a block of threads owns a tile of the grid with its halo, in
// some planes, in shared memory.
//
// Spreading: with kernels of W cells thread (x, y) of a block owns the cells that are x and y
// modulo W; each sample touches exactly one of them in a plane. So threads never meet, without
// atomic operations or barriers between samples, and the sums have one order. A tile with many
// samples is cut in pieces; the others' buffers are added by the block of the first, in their
// order. With kernels of up to 8 cells threads sum in registers, all planes that a kernel touches,
// and add that to shared memory when the kernels of the next samples begin at another cell:
// neighbouring channels of a baseline often begin at the same one, and else most threads keep
// theirs. Samples are sorted by the plane at which their kernels begin.
//
// The cost of a visibility is counted in bench/RESULTS-gpu-counted.md.
#include "gridder_load_cuda.h"

namespace
{
/* ---- kernels ---- */

// A thread makes the same tap of each second sample: its polynomial stays in registers. Taps beyond
// the last sample are made, too, and not used. SHIFTED: the taps along w are of the chunk's planes.
template <typename real, bool SHIFTED>
__device__ __forceinline__ void
make_narrow_taps(const grove_args *args, const grove_gridder_state *g, int from, shared<real> *sh)
{
    enum { EACH = 3 * NARROW, AT_ONCE = BLOCK / EACH, DEGREE = NARROW + 1 };
    const int k = (int)threadIdx.x % EACH, d = k / NARROW, tap = k % NARROW;
    const int begin = (int)threadIdx.x / EACH, width = d < 2 ? g->width : g->width_w;
    const real *from_table = (const real *)args->in[GROVE_GRIDDER_TAPS].data +
                             (d < 2 ? 0 : (g->degree + 1) * FACTORS) + tap;
    const real *s = &sh->s[d][from + begin];
    real coefficient[DEGREE + 1];

    if (begin >= AT_ONCE)
        return;
    for (int e = 0; e <= DEGREE; e++)
        coefficient[e] = tap < width && e <= g->degree ? from_table[e * FACTORS] : 0;
#pragma unroll 4
    for (int j = 0; j < SOME / AT_ONCE; j++) {
        real sum = coefficient[DEGREE], *to = &sh->tap[(begin + j * AT_ONCE) * EACH + k];
        for (int e = DEGREE - 1; e >= 0; e--)
            sum = sum * s[j * AT_ONCE] + coefficient[e];
        if (SHIFTED && d == 2) {
            const int place = tap + sh->plane[from + begin + j * AT_ONCE];
            to += (place & (NARROW - 1)) - tap;
            sum = place >= 0 && place < NARROW ? sum : 0;
        }
        *to = sum;
    }
}

template <typename real>
__device__ void make_wide_taps(const grove_args *args, const grove_gridder_state *g, int from,
                               int count, shared<real> *sh)
{
    enum { EACH = 3 * FACTORS };
    const int each = (g->degree + 1) * FACTORS;

#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count * EACH; i += BLOCK) {
        const int d = i % EACH / FACTORS, tap = i % FACTORS;
        if (tap >= (d < 2 ? g->width : g->width_w))
            continue;
        const real *coefficient =
            (const real *)args->in[GROVE_GRIDDER_TAPS].data + (d < 2 ? 0 : each) + tap;
        const real s = sh->s[d][from + i / EACH];
        real sum = coefficient[g->degree * FACTORS];
#pragma unroll 1
        for (int e = g->degree - 1; e >= 0; e--)
            sum = sum * s + coefficient[e * FACTORS];
        sh->tap[i] = sum;
    }
}

/* ---- cells ---- */

// From cell to cell of shared memory; odd, so that fewer threads meet in its banks.
__device__ __forceinline__ int stride_of(const grove_gridder_state *g)
{
    return g->width <= NARROW ? g->chunk_planes | 1 : g->chunk_planes;
}

// Where number i of a tile's buffer [plane][row][column] is in shared memory.
__device__ __forceinline__ int shared_index(const grove_gridder_state *g, int i)
{
    const int side = SIDE + g->width - 1;

    return i % (side * side) * stride_of(g) + i / (side * side);
}

// The cell of the planes that goes with number i of a tile's buffer; -1: there is none.
__device__ __forceinline__ int64_t cell_of(const grove_gridder_state *g,
                                           const grove_gridder_piece *piece, int pol, int i)
{
    const int side = SIDE + g->width - 1, x = i % side, y = i / side % side;
    const int plane = piece->chunk * g->chunk_planes + i / (side * side);
    int64_t column = (int64_t)piece->column[0] * SIDE + x,
            row = (int64_t)piece->column[1] * SIDE + y;

    column -= column >= g->cells[0] ? g->cells[0] : 0;
    row -= row >= g->cells[1] ? g->cells[1] : 0;
    return plane < g->planes
               ? (((int64_t)pol * g->planes + plane) * g->cells[1] + row) * g->cells[0] + column
               : -1;
}

template <typename real>
__device__ void read_cells(const grove_args *args, const grove_gridder_state *g,
                           const grove_gridder_piece *piece, int pol, shared<real> *sh)
{
    const int side = SIDE + g->width - 1;

#pragma unroll 1
    for (int i = (int)threadIdx.x; i < g->chunk_planes * side * side; i += BLOCK) {
        int64_t at = cell_of(g, piece, pol, i);
        complex_number<real> cell = {0, 0};
        if (at >= 0)
            cell = ((const complex_number<real> *)args->out.data)[at];
        sh->cell[shared_index(g, i)] = {cell.re, cell.im};
    }
}

template <typename real>
__device__ void write_cells(const grove_args *args, const grove_gridder_state *g,
                            const grove_gridder_piece *piece, int pol, const shared<real> *sh)
{
    const int side = SIDE + g->width - 1, count = g->chunk_planes * side * side;
    complex_number<real> *buffers = (complex_number<real> *)args->in[GROVE_GRIDDER_BUFFERS].data;
    complex_number<real> *planes = (complex_number<real> *)args->out.data;

#pragma unroll 1
    for (int i = (int)threadIdx.x; i < count; i += BLOCK) {
        const pair_of<real> cell = sh->cell[shared_index(g, i)];
        complex_number<real> sum = {cell.re, cell.im};
        if (piece->slot >= 0) {
            buffers[((int64_t)piece->slot * g->polarisations + pol) * count + i] = sum;
            continue;
        }
#pragma unroll 1
        for (int k = 0; k < piece->slots; k++) {
            const complex_number<real> more =
                buffers[((int64_t)(piece->first_slot + k) * g->polarisations + pol) * count + i];
            sum = {sum.re + more.re, sum.im + more.im};
        }
        int64_t at = cell_of(g, piece, pol, i);
        if (at >= 0)
            planes[at] = {planes[at].re + sum.re, planes[at].im + sum.im};
    }
}

/* ---- spreading ---- */

// Adds a thread's sums to the planes of its cell from `first` on, and clears them.
template <typename real, int PLANES>
__device__ __forceinline__ void put_sums(const grove_gridder_state *g, pair_of<real> *cell,
                                         int first, pair_of<real> sum[PLANES])
{
    pair_of<real> *to = cell + first;

    if (first >= 0 && first + PLANES <= g->chunk_planes)
        for (int k = 0; k < PLANES; k++)
            to[k] = {to[k].re + sum[k].re, to[k].im + sum[k].im};
    else // samples outside of the chunk's planes have taps, too
        for (int k = 0; k < PLANES; k++)
            if ((unsigned)(first + k) < (unsigned)g->chunk_planes)
                to[k] = {to[k].re + sum[k].re, to[k].im + sum[k].im};
    for (int k = 0; k < PLANES; k++)
        sum[k] = {0, 0};
}

// sum += value times the taps along w.
template <typename real, int PLANES>
__device__ __forceinline__ void add_planes(pair_of<real> value, const real *taps,
                                           pair_of<real> sum[PLANES])
{
    for (int q = 0; q < (PLANES + 3) / 4; q++) {
        const four_numbers<real> tap = *(const four_numbers<real> *)(const void *)(taps + 4 * q);
        for (int k = 4 * q; k < 4 * q + 4 && k < PLANES; k++) {
            sum[k].re += value.re * tap.x[k % 4];
            sum[k].im += value.im * tap.x[k % 4];
        }
    }
}

// Adds `count` samples from number `from` of those loaded; kernels touch at most PLANES planes.
template <typename real, int PLANES>
__device__ __forceinline__ void add_narrow(const grove_gridder_state *g, int from, int count,
                                           shared<real> *sh)
{
    enum { EACH = 3 * NARROW };
    const int width = g->width, side = SIDE + width - 1, stride = stride_of(g);
    const int own_x = (int)threadIdx.x % width, own_y = (int)threadIdx.x / width;
    const real *tap = sh->tap;
    pair_of<real> sum[PLANES], *cell = sh->cell;
    int32_t last = -1; // no place: u and v modulo W would be 15
    int plane = 0, x = 0, y = 0;

    if (own_y >= width) // kernels of 5 cells and fewer take one warp
        return;
    for (int k = 0; k < PLANES; k++)
        sum[k] = {0, 0};
#pragma unroll 1
    for (int j = from; j < from + count; j++, tap += EACH) {
        const int32_t place = sh->place[j];
        if (place != last) {
            x = own_x - (place >> 8 & 15);
            y = own_y - (place >> 12 & 15);
            x += x < 0 ? width : 0;
            y += y < 0 ? width : 0;
            pair_of<real> *next =
                sh->cell + (((place >> 4 & 15) + y) * side + (place & 15) + x) * stride;
            if (next != cell || place >> 16 != plane)
                put_sums<real, PLANES>(g, cell, plane, sum);
            cell = next;
            plane = place >> 16;
            last = place;
        }
        const real factor = tap[x] * tap[NARROW + y];
        const pair_of<real> value = sh->value[j];
        add_planes<real, PLANES>({value.re * factor, value.im * factor}, tap + 2 * NARROW, sum);
    }
    put_sums<real, PLANES>(g, cell, plane, sum);
}

// Threads own several cells in each plane.
template <typename real>
__device__ __forceinline__ void add_wide(const grove_gridder_state *g, int from, int count,
                                         shared<real> *sh)
{
    const int width = g->width, side = SIDE + width - 1, stride = stride_of(g);

#pragma unroll 1
    for (int own = (int)threadIdx.x; own < width * width; own += BLOCK)
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const int32_t place = sh->place[from + j];
            const real *tap = &sh->tap[j * 3 * FACTORS];
            const int w = place >> 16, first = w > 0 ? w : 0;
            const int last = w + g->width_w < g->chunk_planes ? w + g->width_w : g->chunk_planes;
            int x = own % width - (place >> 8 & 15), y = own / width - (place >> 12 & 15);
            x += x < 0 ? width : 0;
            y += y < 0 ? width : 0;
            pair_of<real> *cell =
                &sh->cell[(((place >> 4 & 15) + y) * side + (place & 15) + x) * stride];
            const real factor = tap[x] * tap[FACTORS + y];
            const complex_number<real> value = {sh->value[from + j].re * factor,
                                                sh->value[from + j].im * factor};
#pragma unroll 1
            for (int p = first; p < last; p++) {
                const real along_w = tap[2 * FACTORS + p - w];
                cell[p].re += value.re * along_w;
                cell[p].im += value.im * along_w;
            }
        }
}

/* ---- collecting ---- */

// The cells that kernels of samples beginning at one place read, two cells of a thread.
template <typename real, int PLANES> struct patch {
    pair_of<real> cell[2][PLANES];
    int32_t place;
};

template <typename real, int PLANES>
__device__ __forceinline__ void get_patch(const grove_gridder_state *g, const shared<real> *sh,
                                          int32_t place, patch<real, PLANES> *p)
{
    const int side = SIDE + g->width - 1, stride = stride_of(g), plane = place >> 16;
    const int x = (int)threadIdx.x % NARROW, y = (int)threadIdx.x / NARROW % 4;
    const int at = ((place >> 4 & 15) + y) * side + (place & 15) + x;
    const pair_of<real> *cell = sh->cell + at * stride + plane;
    const bool all = plane >= 0 && plane + PLANES <= g->chunk_planes;

    for (int half = 0; half < 2; half++, cell += 4 * side * stride) {
        if (x >= g->width || y + 4 * half >= g->width)
            continue; // these stay 0
        if (all)
            for (int k = 0; k < PLANES; k++)
                p->cell[half][k] = cell[k];
        else
            for (int k = 0; k < PLANES; k++) {
                p->cell[half][k] = {0, 0};
                if ((unsigned)(plane + k) < (unsigned)g->chunk_planes)
                    p->cell[half][k] = cell[k];
            }
    }
    p->place = place;
}

// The sum over a thread's cells of a sample.
template <typename real, int PLANES>
__device__ __forceinline__ complex_number<real> sum_patch(const patch<real, PLANES> *p,
                                                          const real *tap)
{
    const int x = (int)threadIdx.x % NARROW, y = (int)threadIdx.x / NARROW % 4;
    complex_number<real> sum[2] = {};

    for (int q = 0; q < (PLANES + 3) / 4; q++) {
        const four_numbers<real> along_w =
            *(const four_numbers<real> *)(const void *)(tap + 2 * NARROW + 4 * q);
        for (int half = 0; half < 2; half++)
            for (int k = 4 * q; k < 4 * q + 4 && k < PLANES; k++) {
                sum[half].re += p->cell[half][k].re * along_w.x[k % 4];
                sum[half].im += p->cell[half][k].im * along_w.x[k % 4];
            }
    }
    const real first = tap[NARROW + y], second = tap[NARROW + y + 4];
    return {(sum[0].re * first + sum[1].re * second) * tap[x],
            (sum[0].im * first + sum[1].im * second) * tap[x]};
}

// A warp takes half of the samples, four at a time: sh->got[number].
template <typename real, int PLANES>
__device__ __forceinline__ void collect_narrow(const grove_gridder_state *g, int from, int count,
                                               shared<real> *sh)
{
    enum { OWN = SOME / WARPS };
    const int warp = (int)threadIdx.x / 32, begin = warp * OWN,
              end = begin + OWN < count ? begin + OWN : count;
    const int lane = (int)threadIdx.x % 32;
    patch<real, PLANES> p = {};

    p.place = -1;
#pragma unroll 1
    for (int four = begin; four < end; four += 4) {
        real sums[8];
        for (int i = 0; i < 4; i++) {
            const int j = four + i < end ? four + i : end - 1;
            if (sh->place[from + j] != p.place)
                get_patch<real, PLANES>(g, sh, sh->place[from + j], &p);
            const complex_number<real> sum = sum_patch<real, PLANES>(&p, &sh->tap[j * 3 * NARROW]);
            sums[2 * i] = sum.re;
            sums[2 * i + 1] = sum.im;
        }
        const real all = sum_of_warp<real>(sums);
        if (lane % 4 == 0 && four + lane / 8 < end)
            (lane & 4 ? sh->got[four + lane / 8].im : sh->got[four + lane / 8].re) = all;
    }
}

// Sixteen threads take a sample, a cell of each row, or two samples.
template <typename real>
__device__ __forceinline__ void collect_wide(const grove_gridder_state *g, int from, int count,
                                             shared<real> *sh)
{
    const int width = g->width, side = SIDE + width - 1, stride = stride_of(g);
    const int x = (int)threadIdx.x % FACTORS;

#pragma unroll 1
    for (int j = (int)threadIdx.x / FACTORS; j < SOME / 2; j += BLOCK / FACTORS) {
        complex_number<real> sum = {0, 0};
        if (j < count && x < width) {
            const int32_t place = sh->place[from + j];
            const real *tap = &sh->tap[j * 3 * FACTORS];
            const int w = place >> 16, first = w > 0 ? w : 0;
            const int last = w + g->width_w < g->chunk_planes ? w + g->width_w : g->chunk_planes;
            const pair_of<real> *cell =
                &sh->cell[((place >> 4 & 15) * side + (place & 15) + x) * stride];
#pragma unroll 1
            for (int y = 0; y < width; y++, cell += side * stride)
#pragma unroll 1
                for (int p = first; p < last; p++) {
                    const real factor = tap[2 * FACTORS + p - w] * tap[FACTORS + y];
                    sum.re += cell[p].re * factor;
                    sum.im += cell[p].im * factor;
                }
            sum = {sum.re * tap[x], sum.im * tap[x]};
        }
        for (int with = FACTORS / 2; with > 0; with /= 2) {
            sum.re += __shfl_xor_sync(0xffffffffu, sum.re, with);
            sum.im += __shfl_xor_sync(0xffffffffu, sum.im, with);
        }
        if (j < count && x == 0)
            sh->got[j] = sum;
    }
}

// Adds the collected values of `count` samples, after a barrier: a thread takes one.
template <typename real>
__device__ __forceinline__ void write_samples(const grove_args *args, const grove_gridder_state *g,
                                              int pol, int from, int count, const shared<real> *sh)
{
    const int j = (int)threadIdx.x;

    if (j >= count)
        return;
    complex_number<real> sum = sh->got[j];
    const pair_of<real> phase = sh->value[from + j];
    const int32_t at = sh->at[from + j];
    const double *share = (const double *)args->in[GROVE_GRIDDER_WEIGHTS].data;

    if (share) {
        const real factor = (real)share[(at < 0 ? ~at : at) % g->channels];
        sum = {sum.re * factor, sum.im * factor};
    }
    const real sign = at < 0 ? -1 : 1;
    complex_number<real> *to = (complex_number<real> *)args->in[GROVE_GRIDDER_SAMPLES].data +
                               (int64_t)(at < 0 ? ~at : at) * g->polarisations + pol;
    *to = {to->re + (sum.re * phase.re + sum.im * phase.im),
           to->im + (sum.im * phase.re - sum.re * phase.im) * sign};
}

/* ---- pieces ---- */

template <typename real, bool SPREADS>
__device__ void do_samples(const grove_gridder_state *g, int from, int count, shared<real> *sh)
{
#define WITH(planes)                                                                               \
    (SPREADS ? add_narrow<real, planes>(g, from, count, sh)                                        \
             : collect_narrow<real, planes>(g, from, count, sh))
    const int planes = g->width_w < g->chunk_planes ? g->width_w : g->chunk_planes;

    if (g->width > NARROW)
        SPREADS ? add_wide<real>(g, from, count, sh) : collect_wide<real>(g, from, count, sh);
    else if (planes == 1)
        WITH(1);
    else if (planes <= 4)
        WITH(4);
    else if (planes <= 6)
        WITH(6);
    else
        WITH(8);
#undef WITH
}

// The sum over all threads of the block.
template <typename real> __device__ double sum_of_block(double x, shared<real> *sh)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_down_sync(0xffffffffu, x, (unsigned)by);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sh->sum[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int k = 0; k < WARPS; k++)
        x += sh->sum[k];
    return x;
}

// Samples of a piece, as many at a time as there are threads.
template <typename real, bool SPREADS>
__device__ void do_piece(const grove_args *args, const grove_gridder_state *g, int64_t number,
                         int pol, shared<real> *sh)
{
    const grove_gridder_piece *piece =
        (const grove_gridder_piece *)args->in[GROVE_GRIDDER_PIECE_LIST].data + number;
    const int at_once = g->width <= NARROW ? SOME : SOME / 2;
    double sum[2] = {0, 0};

    if (SPREADS)
#pragma unroll 1
        for (int i = (int)threadIdx.x; i < limits_of<real>::cells; i += BLOCK)
            sh->cell[i] = {0, 0};
    else
        read_cells<real>(args, g, piece, pol, sh);
    if (threadIdx.x == 0)
        sh->run = piece->run;
    __syncthreads();
#pragma unroll 1
    for (int32_t n = piece->first; n < piece->last; n += BLOCK) {
        const int32_t count = piece->last - n < BLOCK ? piece->last - n : BLOCK;
        load<real>(args, g, piece, pol, SPREADS, n, count, sh, sum);
        __syncthreads();
        pass_on<real>(args, g, n + count - 1, sh);
#pragma unroll 1
        for (int from = 0; from < count; from += at_once) {
            const int some = count - from < at_once ? count - from : at_once;
            if (g->width <= NARROW)
                takes_chunks(g) ? make_narrow_taps<real, true>(args, g, from, sh)
                                : make_narrow_taps<real, false>(args, g, from, sh);
            else
                make_wide_taps<real>(args, g, from, some, sh);
            __syncthreads();
            do_samples<real, SPREADS>(g, from, some, sh);
            __syncthreads();
            if (!SPREADS)
                write_samples<real>(args, g, pol, from, some, sh);
        }
        __syncthreads();
    }
    if (SPREADS)
        write_cells<real>(args, g, piece, pol, sh);
    for (int k = 0; k < 2 && SPREADS && pol == 0; k++) {
        double all = sum_of_block<real>(sum[k], sh);
        if (threadIdx.x == 0)
            ((double *)args->in[GROVE_GRIDDER_SUMS].data)[2 * number + k] = all;
    }
    __syncthreads();
}
} // namespace

#define KERNELS(name, spreads, precision, real)                                                    \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        gridder_##name##_##precision(const __grid_constant__ grove_args args)                      \
    {                                                                                              \
        __shared__ shared<real> memory_##name##_##precision;                                       \
        const grove_gridder_state *g = grove_gridder_state_of(&args);                              \
                                                                                                   \
        for (int64_t i = blockIdx.x; i < (int64_t)g->pieces * g->polarisations; i += gridDim.x)    \
            do_piece<real, spreads>(&args, g, i % g->pieces, (int)(i / g->pieces),                 \
                                    &memory_##name##_##precision);                                 \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_##name##_##precision)

KERNELS(spread, true, single, float)
KERNELS(spread, true, double, double)
KERNELS(collect, false, single, float)
KERNELS(collect, false, double, double)
