// Gridding by convolution functions and back (kernels/imaging/convolution/convolution.h).
//
// A block of threads takes some samples of a baseline, channel by channel and back at the next
// time, so that neighbours lie together in the uv plane (Romein 2012). Spreading with functions of
// K x K cells, thread (x, y) owns the cells that are x and y modulo K; each sample touches exactly
// one of them. It sums in registers while that is the same cell of the grid, and adds the sum by an
// atomic operation when the functions of the next samples have left it. Wider functions than a
// block has threads are done a part after the other. So the order of the sums is not fixed.
//
// Collecting, a warp takes a sample, and its lanes some of the cells.
//
// The cost of a visibility is counted in bench/RESULTS-gpu-counted.md.
#include "gridder_convolve_load_cuda.h"

namespace
{
/* ---- spreading ---- */

// Adds a thread's sums to its cell of each grid, and clears them.
template <typename real, int IMAGES>
__device__ __forceinline__ void put_sums(const grove_args *args, const grove_convolve_state *g,
                                         int32_t cell, pair_of<real> sum[IMAGES])
{
    const int64_t cells = (int64_t)g->samples.cells[0] * g->samples.cells[1];
    pair_of<real> *grid = (pair_of<real> *)args->out.data;

    for (int r = 0; r < IMAGES; r++) {
        if (cell >= 0 && r < g->images) {
            atomicAdd(&grid[r * cells + cell].re, sum[r].re);
            atomicAdd(&grid[r * cells + cell].im, sum[r].im);
        }
        sum[r] = {0, 0};
    }
}

// Adds sample j, at cell (x, y) of its function.
template <typename real, int IMAGES, int COUNT, bool TURNED, bool LINEAR>
__device__ __forceinline__ void
add_sample(const grove_convolve_state *g, const pair_of<real> *functions, const convolved<real> *sh,
           int j, int x, int y, pair_of<real> sum[IMAGES])
{
    const complex_number<real> turn = turn_of<real, TURNED>(sh, j, x, y);
    const int at = y * g->samples.width + x, count = COUNT == 1 ? 1 : g->samples.polarisations;

#pragma unroll 1
    for (int k = 0; k < count; k++) {
        const pair_of<real> value = sh->value[j][k];
        const origins from = sh->from[j][k];
        for (int r = 0; r < IMAGES; r++) {
            if (from.of[r] < 0)
                continue;
            const pair_of<real> c =
                number_of<real, TURNED, LINEAR>(g, functions, sh, j, from.of[r], at, turn);
            sum[r].re += c.re * value.re - c.im * value.im;
            sum[r].im += c.re * value.im + c.im * value.re;
        }
    }
}

// Adds `count` samples that are loaded, of at most IMAGES images and COUNT polarisations.
template <typename real, int IMAGES, int COUNT, bool TURNED, bool LINEAR>
__device__ void spread_samples(const grove_args *args, const grove_convolve_state *g, int count,
                               const convolved<real> *sh)
{
    const pair_of<real> *functions = (const pair_of<real> *)args->in[GROVE_CONVOLVE_FUNCTIONS].data;
    const int width = g->samples.width, row = g->samples.cells[0];

#pragma unroll 1
    for (int own = (int)threadIdx.x; own < width * width; own += BLOCK) {
        const int own_x = own % width, own_y = own / width;
        pair_of<real> sum[IMAGES] = {};
        int32_t cell = -1;
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const spot begin = sh->at[j];
            if (begin.cell < 0)
                continue;
            int x = own_x - begin.u, y = own_y - begin.v;
            x += x < 0 ? width : 0;
            y += y < 0 ? width : 0;
            const int32_t next = begin.cell + y * row + x;
            if (next != cell)
                put_sums<real, IMAGES>(args, g, cell, sum);
            cell = next;
            add_sample<real, IMAGES, COUNT, TURNED, LINEAR>(g, functions, sh, j, x, y, sum);
        }
        put_sums<real, IMAGES>(args, g, cell, sum);
    }
}

// The same with linear interpolation.
template <typename real>
__device__ void spread_means(const grove_args *args, const grove_convolve_state *g, int count,
                             const convolved<real> *sh)
{
    if (args->in[GROVE_CONVOLVE_GRADIENT].data)
        spread_samples<real, MOST, MOST, true, true>(args, g, count, sh);
    else if (g->images == 1 && g->samples.polarisations == 1)
        spread_samples<real, 1, 1, false, true>(args, g, count, sh);
    else
        spread_samples<real, MOST, MOST, false, true>(args, g, count, sh);
}

// The sum over all threads of the block, which thread 0 has.
template <typename real> __device__ double sum_of_block(double x, convolved<real> *sh)
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

template <typename real>
__device__ void spread_piece(const grove_args *args, const grove_convolve_state *g, int64_t piece,
                             int32_t samples, convolved<real> *sh)
{
    const int32_t end = samples - PIECE * piece < PIECE ? samples : (int32_t)(PIECE * (piece + 1));
    const bool turned = args->in[GROVE_CONVOLVE_GRADIENT].data;
    double sum[GROVE_CONVOLVE_TOTALS] = {};

#pragma unroll 1
    for (int32_t n = (int32_t)(PIECE * piece); n < end; n += BLOCK) {
        const int count = end - n < BLOCK ? end - n : BLOCK;
        if ((int)threadIdx.x < count)
            load_sample<real>(args, g, n + (int)threadIdx.x, sh, sum);
        __syncthreads();
        if (g->linear)
            spread_means<real>(args, g, count, sh);
        else if (turned)
            spread_samples<real, MOST, MOST, true, false>(args, g, count, sh);
        else if (g->images == 1 && g->samples.polarisations == 1)
            spread_samples<real, 1, 1, false, false>(args, g, count, sh);
        else if (g->images == 1)
            spread_samples<real, 1, MOST, false, false>(args, g, count, sh);
        else
            spread_samples<real, MOST, MOST, false, false>(args, g, count, sh);
        __syncthreads();
    }
    for (int k = 0; k < GROVE_CONVOLVE_TOTALS; k++) {
        const double all = sum_of_block<real>(sum[k], sh);
        if (threadIdx.x == 0)
            ((double *)args->in[GROVE_GRIDDER_SUMS].data)[GROVE_CONVOLVE_TOTALS * piece + k] = all;
    }
}

/* ---- collecting ---- */

// A lane's part of sample j: the conjugate numbers of its functions times the cells.
template <typename real, int COUNT, bool TURNED, bool LINEAR>
__device__ void collect_cells(const grove_args *args, const grove_convolve_state *g,
                              const convolved<real> *sh, int j, real sum[2 * COUNT])
{
    const int width = g->samples.width, lane = (int)threadIdx.x % 32;
    const int64_t cells = (int64_t)g->samples.cells[0] * g->samples.cells[1];
    const pair_of<real> *grid = (const pair_of<real> *)args->in[GROVE_CONVOLVE_GRIDS].data;
    const pair_of<real> *functions = (const pair_of<real> *)args->in[GROVE_CONVOLVE_FUNCTIONS].data;
    int x = lane % width, y = lane / width;

#pragma unroll 1
    for (int at = lane; at < width * width; at += 32) {
        const complex_number<real> turn = turn_of<real, TURNED>(sh, j, x, y);
        const pair_of<real> *cell = grid + (sh->at[j].cell + y * g->samples.cells[0] + x);
#pragma unroll 1
        for (int r = 0; r < g->images; r++, cell += cells) {
            const pair_of<real> z = *cell;
            for (int k = 0; k < COUNT; k++) {
                const int32_t from = sh->from[j][k].of[r];
                if (from < 0)
                    continue;
                const pair_of<real> c =
                    number_of<real, TURNED, LINEAR>(g, functions, sh, j, from, at, turn);
                sum[2 * k] += c.re * z.re + c.im * z.im;
                sum[2 * k + 1] += c.re * z.im - c.im * z.re;
            }
        }
        x += 32 % width;
        y += 32 / width + (x >= width);
        x -= x >= width ? width : 0;
    }
}

// A warp takes half of the samples, one of four polarisations at a time, or four of one.
template <typename real, int COUNT, bool TURNED, bool LINEAR>
__device__ void collect_samples(const grove_args *args, const grove_convolve_state *g, int count,
                                convolved<real> *sh)
{
    enum { AT_ONCE = MOST / COUNT, OWN = BLOCK / WARPS };
    const int begin = (int)threadIdx.x / 32 * OWN, end = begin + OWN < count ? begin + OWN : count;
    const int lane = (int)threadIdx.x % 32;

#pragma unroll 1
    for (int j = begin; j < end; j += AT_ONCE) {
        real x[2 * MOST] = {};
        for (int k = 0; k < AT_ONCE; k++)
            if (j + k < end && sh->at[j + k].cell >= 0)
                collect_cells<real, COUNT, TURNED, LINEAR>(args, g, sh, j + k, x + 2 * COUNT * k);
        const real all = sum_of_warp<real>(x);
        const int which = lane / 8 / COUNT, pol = lane / 8 % COUNT;
        if (lane % 4 == 0 && j + which < end)
            (lane & 4 ? sh->value[j + which][pol].im : sh->value[j + which][pol].re) = all;
    }
}

template <typename real>
__device__ void collect_any(const grove_args *args, const grove_convolve_state *g, int count,
                            convolved<real> *sh)
{
    const bool turned = args->in[GROVE_CONVOLVE_GRADIENT].data;

    if (g->linear && turned)
        collect_samples<real, MOST, true, true>(args, g, count, sh);
    else if (g->linear && g->samples.polarisations == 1)
        collect_samples<real, 1, false, true>(args, g, count, sh);
    else if (g->linear)
        collect_samples<real, MOST, false, true>(args, g, count, sh);
    else if (turned)
        collect_samples<real, MOST, true, false>(args, g, count, sh);
    else if (g->samples.polarisations == 1)
        collect_samples<real, 1, false, false>(args, g, count, sh);
    else
        collect_samples<real, MOST, false, false>(args, g, count, sh);
}

// How much of a channel's visibilities is collected, and whether it is added to the present value.
__device__ __forceinline__ const double *share_of(const grove_args *args, const found &s)
{
    return (const double *)args->in[GROVE_CONVOLVE_SHARE].data + 2 * (int64_t)s.at.channel;
}

template <typename number>
__device__ __forceinline__ void put_result(char *to, int k, double re, double im, bool adds)
{
    pair_of<number> *at = (pair_of<number> *)(void *)to + k;
    const pair_of<number> old = adds ? *at : pair_of<number>{0, 0};

    *at = {old.re + (number)re, old.im + (number)im};
}

// Writes the sample of a thread.
template <typename real>
__device__ void write_sample(const grove_args *args, const grove_convolve_state *g, int32_t n,
                             const convolved<real> *sh)
{
    const int t = (int)threadIdx.x;
    const found s = sample_at(args, g, n);
    char *to = (char *)args->out.data +
               offset_of(&args->out, g->samples.axis, s.at.time, s.at.baseline, s.at.channel);
    const double *share = share_of(args, s);

#pragma unroll 1
    for (int k = 0; k < g->samples.polarisations && share[0] != 0; k++) {
        const pair_of<real> a = sh->value[t][k], b = sh->phase[t];
        const bool counts = sh->at[t].cell >= 0;
        const real re = counts ? a.re * b.re + a.im * b.im : 0,
                   im = counts ? (a.im * b.re - a.re * b.im) * (real)s.sign : 0;
        if (args->out.bytes == 8)
            put_result<double>(to, k, share[0] * (double)re, share[0] * (double)im, share[1] != 0);
        else
            put_result<float>(to, k, share[0] * (double)re, share[0] * (double)im, share[1] != 0);
    }
}

template <typename real>
__device__ void collect_piece(const grove_args *args, const grove_convolve_state *g, int64_t piece,
                              int32_t samples, convolved<real> *sh)
{
    const int32_t end = samples - PIECE * piece < PIECE ? samples : (int32_t)(PIECE * (piece + 1));
    const int t = (int)threadIdx.x;

#pragma unroll 1
    for (int32_t n = (int32_t)(PIECE * piece); n < end; n += BLOCK) {
        const int count = end - n < BLOCK ? end - n : BLOCK;
        if (t < count) {
            const found s = sample_at(args, g, n + t);
            if (share_of(args, s)[0] == 0 || !is_within(g, s) || !prepare<real>(args, g, s, t, sh))
                sh->at[t].cell = -1;
        }
        __syncthreads();
        collect_any<real>(args, g, count, sh);
        __syncthreads();
        if (t < count)
            write_sample<real>(args, g, n + t, sh);
        __syncthreads();
    }
}

/* ---- functions and grids ---- */

// Number i of the functions, [plane][q v][q u][Y][X], from rows of fine samples.
template <typename real> __device__ void arrange(const grove_args *args, int64_t i)
{
    const grove_convolve_arrange_state *g =
        (const grove_convolve_arrange_state *)(const void *)args->state.bytes;
    const uint32_t width = (uint32_t)g->support, each = (uint32_t)g->stride, fine = width * each;
    const int64_t plane = i / ((int64_t)fine * fine);
    const uint32_t at = (uint32_t)(i - plane * fine * fine), cell = at % (width * width),
                   block = at / (width * width);
    const int64_t from = (int64_t)(each * (cell / width) + block / each) * fine +
                         each * (cell % width) + block % each;

    ((pair_of<real> *)args->out.data)[i] =
        *(const pair_of<real> *)(const void *)((const char *)args->in[GROVE_GRIDDER_FROM].data +
                                               plane * g->step[0] + from * g->step[1]);
}

// The sum of the numbers of block i.
template <typename real> __device__ void norm(const grove_args *args, int64_t i)
{
    const grove_convolve_arrange_state *g =
        (const grove_convolve_arrange_state *)(const void *)args->state.bytes;
    const int32_t cells = g->support * g->support;
    const pair_of<real> *from =
        (const pair_of<real> *)args->in[GROVE_GRIDDER_FROM].data + i * cells;
    double re = 0, im = 0;

#pragma unroll 1
    for (int32_t k = 0; k < cells; k++) {
        re += (double)from[k].re;
        im += (double)from[k].im;
    }
    ((pair_of<double> *)args->out.data)[i] = {re, im};
}

// Cell i: Stokes parameters from images, or images from Stokes parameters.
template <typename real> __device__ void mix_cells(const grove_args *args, int64_t i)
{
    const grove_convolve_mix_state *g =
        (const grove_convolve_mix_state *)(const void *)args->state.bytes;
    const double *matrix = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    const int64_t y = i / g->row.size, x = i % g->row.size;
    const char *from =
        (const char *)args->in[GROVE_GRIDDER_FROM].data + x * g->from_step[0] + y * g->from_step[1];
    char *to = (char *)args->out.data + x * g->to_step[0] + y * g->to_step[1];

#pragma unroll 1
    for (int m = 0; m < g->count[1]; m++) {
        complex_number<real> sum = {0, 0};
#pragma unroll 1
        for (int k = 0; k < g->count[0]; k++) {
            const pair_of<real> z =
                *(const pair_of<real> *)(const void *)(from + k * g->from_step[2]);
            const real re = (real)matrix[2 * (m * MOST + k)],
                       im = (real)matrix[2 * (m * MOST + k) + 1];
            sum.re += re * z.re - im * z.im;
            sum.im += re * z.im + im * z.re;
        }
        *(pair_of<real> *)(void *)(to + m * g->to_step[2]) = {sum.re, sum.im};
    }
}
} // namespace

// Blocks of a multiprocessor, which leaves registers for all sums.
enum { RESIDENT = 12 };

#define SAMPLES_KERNEL(name, precision, real)                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)                                  \
        gridder_convolve_##name##_##precision(const __grid_constant__ grove_args args)             \
    {                                                                                              \
        __shared__ convolved<real> memory_##name##_##precision;                                    \
        const grove_convolve_state *g = grove_convolve_state_of(&args);                            \
        const int32_t samples = g->times * g->samples.baselines * g->samples.channels;             \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = blockIdx.x; i < g->samples.pieces; i += gridDim.x)    \
            name##_piece<real>(&args, g, i, samples, &memory_##name##_##precision);                \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_convolve_##name##_##precision)

#define ITEMS_KERNEL(name, precision, real)                                                        \
    extern "C" __global__ void gridder_convolve_##name##_##precision(                              \
        const __grid_constant__ grove_args args)                                                   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_convolve_##name##_##precision)

SAMPLES_KERNEL(spread, single, float)
SAMPLES_KERNEL(spread, double, double)
SAMPLES_KERNEL(collect, single, float)
SAMPLES_KERNEL(collect, double, double)
ITEMS_KERNEL(arrange, single, float)
ITEMS_KERNEL(arrange, double, double)
ITEMS_KERNEL(norm, single, float)
ITEMS_KERNEL(norm, double, double)
ITEMS_KERNEL(mix_cells, single, float)
ITEMS_KERNEL(mix_cells, double, double)
