// Samples to the uv planes and back: a block of threads owns a tile of the grid with its halo, in
// some planes, in shared memory.
//
// Spreading: with kernels of W cells thread (x, y) of a block owns the cells that are x and y
// modulo W, of which each sample touches exactly one in a plane. So threads never meet, without
// atomic operations or barriers between samples, and the sums have one order. A tile with many
// samples is cut in pieces; the others' buffers are added by the block of the first, in their
// order.
//
// Per visibility and polarisation, with W x W x W_w taps (7 x 7 x 7 at 1e-4): 8 + 8 bytes of shared
// memory for each tap and 4 operations (5.5 kB, 1.4 kflop; of double numbers twice the bytes); taps
// 2 (2 W + W_w) (W + 1) operations; from memory the visibility, its weight and flags, 16 bytes per
// run of channels and 24 per row. An H100 has 132 x 128 bytes per clock of shared memory, 30 TB/s,
// which binds: 5.4e9 visibilities per second, while 67 Tflop/s would do 3.9e10 and 3.3 TB/s of
// memory, at 33 bytes each, 1e11. Collecting reads as much and writes none: half of it.
#include "gridder_cuda.h"

#include "../cuda/number.h"

namespace
{
enum { SIDE = GROVE_GRIDDER_SIDE, BLOCK = GROVE_GRIDDER_BLOCK, FACTORS = GROVE_GRIDDER_FACTORS };
enum { SOME = 16 }; // samples whose taps are in shared memory

template <typename real> struct limits_of {
    enum { cells = GROVE_GRIDDER_CELLS_SINGLE, load = 128 };
};
template <> struct limits_of<double> {
    enum { cells = GROVE_GRIDDER_CELLS_DOUBLE, load = 64 };
};

template <typename real> struct shared {
    complex_number<real> cell[limits_of<real>::cells]; // [plane][row][column]
    // Of samples: what is spread, or the phase; s = 2 f - 1 along u, v, w; where kernels begin:
    // u, v in four bits each, the sign of w in one, u and v modulo W in four each, planes in the
    // others; its number.
    complex_number<real> value[limits_of<real>::load];
    real s[3][limits_of<real>::load];
    int32_t place[limits_of<real>::load], at[limits_of<real>::load];
    real tap[SOME][3 * FACTORS];
    double sum[BLOCK / 32];
    int32_t run;
};

__device__ __forceinline__ int64_t offset_of(const grove_view *view, const int32_t axis[3],
                                             int64_t time, int64_t baseline, int64_t channel)
{
    return (axis[0] < 0 ? 0 : view->stride[axis[0]] * time) +
           (axis[1] < 0 ? 0 : view->stride[axis[1]] * baseline) +
           (axis[2] < 0 ? 0 : view->stride[axis[2]] * channel);
}

__device__ __forceinline__ double number_at(const grove_view *view, const char *at, int k)
{
    return view->bytes == 8 ? ((const double *)(const void *)at)[k]
                            : (double)((const float *)(const void *)at)[k];
}

struct place {
    int64_t time, baseline, channel;
};

// nodes/image_samples.h: twice the harmonic mean of the weights of the elements that are used.
__device__ double weight_at(const grove_args *args, const grove_gridder_state *g, const place &p)
{
    const grove_view *flags = &args->in[GROVE_GRIDDER_FLAGS];
    const grove_view *view = &args->in[GROVE_GRIDDER_WEIGHTS];
    const grove_view *bad = &args->in[GROVE_GRIDDER_WEIGHT_FLAGS];
    double sum = 0;
    int count = 0, marks = 0;

    if (flags->data && ((const unsigned char *)
                            flags->data)[offset_of(flags, g->axis, p.time, p.baseline, p.channel)] &
                           g->used)
        return 0;
    if (!view->data)
        return 1;
    const char *at =
        (const char *)view->data + offset_of(view, g->axis, p.time, p.baseline, p.channel);
    if (bad->data)
        marks = ((const unsigned char *)
                     bad->data)[offset_of(bad, g->axis, p.time, p.baseline, p.channel)];
    for (int k = 0; k < view->elements; k++) {
        if (view->elements > 1 && !(g->used >> k & 1))
            continue;
        double each = number_at(view, at, k);
        if (!(each > 0) || each - each != 0 || marks >> k & 1)
            return 0;
        sum += 1 / each;
        count++;
    }
    return count ? (view->elements > 1 ? 2 : 1) * count / sum : 0;
}

// The polarisation's number; false where one of all is none.
template <typename real>
__device__ bool mix(const grove_args *args, const grove_gridder_state *g, const place &p, int pol,
                    complex_number<real> *value)
{
    const grove_view *view = &args->in[GROVE_GRIDDER_DATA];
    const double *stokes = (const double *)args->in[GROVE_GRIDDER_STOKES].data;
    const char *at =
        (const char *)view->data + offset_of(view, g->axis, p.time, p.baseline, p.channel);
    bool finite = true;

    for (int i = 0; i < g->polarisations; i++) {
        double re = 0, im = 0;
        for (int k = 0; k < g->elements; k++) {
            const double *factor = stokes + 2 * (4 * i + k);
            if (factor[0] == 0 && factor[1] == 0)
                continue;
            double x = number_at(view, at, 2 * k), y = number_at(view, at, 2 * k + 1);
            re += factor[0] * x - factor[1] * y;
            im += factor[0] * y + factor[1] * x;
        }
        finite = finite && re - re == 0 && im - im == 0;
        if (i == pol)
            *value = {(real)re, (real)im};
    }
    return finite;
}

// The run of sample n, which is not before `first`.
__device__ __forceinline__ int32_t find_run(const grove_gridder_run *runs, int32_t count,
                                            int32_t first, int32_t n)
{
    int32_t low = first, high = first + (n - runs[first].start); // each run has a sample

    high = high < count ? high : count - 1;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (runs[middle].start <= n)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

__device__ __forceinline__ double nearest(double x)
{
    const double big = 6755399441055744.0;

    return (x + big) - big;
}

// Where a kernel begins, from `origin` on, in 0 to `last`, and s.
template <typename real>
__device__ __forceinline__ int place_along(double position, int width, double last, real *s)
{
    double first = nearest(position + (0.5 - 0.5 * width));

    first = first < 0 ? 0 : first > last ? last : first;
    *s = (real)(2 * (first - position) + (width - 1.0));
    return (int)first;
}

// The first cell of the tile in the coordinate of this row, which the grid may wrap.
__device__ __forceinline__ double origin_of(const grove_gridder_state *g, int d, int column,
                                            double position)
{
    double tile = (double)(g->first_tile[d] + column);

    if (g->wraps[d]) {
        double tiles = (double)g->tiles[d];
        double first = nearest(position + (0.5 - 0.5 * g->width));
        tile += nearest((first / SIDE - 0.5 - tile) / tiles) * tiles;
    }
    return tile * SIDE;
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
    sh->place[t] = cell[0] | cell[1] << 4 | (sign < 0 ? 256 : 0) | cell[0] % g->width << 9 |
                   cell[1] % g->width << 13 | (int32_t)((uint32_t)plane << 17);
    sh->at[t] = (int32_t)((int64_t)run.row * g->channels + p.channel);
    complex_number<real> phase = phasor<real>(turns * k), value = {1, 0};
    if (spreads) {
        double weight = weight_at(args, g, p);
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
    sh->value[t] = phase;
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

template <typename real>
__device__ void make_taps(const grove_args *args, const grove_gridder_state *g, int from, int count,
                          shared<real> *sh)
{
    const int each = (g->degree + 1) * FACTORS;

    for (int i = (int)threadIdx.x; i < count * 3 * FACTORS; i += BLOCK) {
        const int j = i / (3 * FACTORS), k = i % (3 * FACTORS), d = k / FACTORS, tap = k % FACTORS;
        if (tap >= (d < 2 ? g->width : g->width_w))
            continue;
        const real *coefficient =
            (const real *)args->in[GROVE_GRIDDER_TAPS].data + (d < 2 ? 0 : each) + tap;
        const real s = sh->s[d][from + j];
        real sum = coefficient[g->degree * FACTORS];
        for (int e = g->degree - 1; e >= 0; e--)
            sum = sum * s + coefficient[e * FACTORS];
        sh->tap[j][k] = sum;
    }
}

// Adds `count` samples from number `from` of those loaded.
template <typename real>
__device__ void add_samples(const grove_gridder_state *g, int from, int count, shared<real> *sh)
{
    const int width = g->width, side = SIDE + width - 1, area = width * width;
    const int own_x = (int)threadIdx.x % width, own_y = (int)threadIdx.x / width % width;
    const int own_p = (int)threadIdx.x / area, step = BLOCK / area;

    if (own_p >= step)
        return;
    for (int j = 0; j < count; j++) {
        const int32_t place = sh->place[from + j];
        const int u = place & 15, v = place >> 4 & 15, w = place >> 17;
        int x = own_x - (place >> 9 & 15), y = own_y - (place >> 13 & 15);
        x += x < 0 ? width : 0;
        y += y < 0 ? width : 0;
        const int first = w > 0 ? w : 0,
                  last = w + g->width_w < g->chunk_planes ? w + g->width_w : g->chunk_planes;
        const real factor = sh->tap[j][x] * sh->tap[j][FACTORS + y];
        const complex_number<real> value = {sh->value[from + j].re * factor,
                                            sh->value[from + j].im * factor};
        for (int p = first + ((own_p - first) % step + step) % step; p < last; p += step) {
            const real along_w = sh->tap[j][2 * FACTORS + p - w];
            complex_number<real> *cell = &sh->cell[(p * side + v + y) * side + u + x];
            cell->re += value.re * along_w;
            cell->im += value.im * along_w;
        }
    }
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
__device__ void write_cells(const grove_args *args, const grove_gridder_state *g,
                            const grove_gridder_piece *piece, int pol, const shared<real> *sh)
{
    const int side = SIDE + g->width - 1, count = g->chunk_planes * side * side;
    complex_number<real> *buffers = (complex_number<real> *)args->in[GROVE_GRIDDER_BUFFERS].data;
    complex_number<real> *planes = (complex_number<real> *)args->out.data;

    for (int i = (int)threadIdx.x; i < count; i += BLOCK) {
        complex_number<real> sum = sh->cell[i];
        if (piece->slot >= 0) {
            buffers[((int64_t)piece->slot * g->polarisations + pol) * count + i] = sum;
            continue;
        }
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

// The sum over all threads of the block, in the first.
template <typename real> __device__ double sum_of_block(double x, shared<real> *sh)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_down_sync(0xffffffffu, x, (unsigned)by);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sh->sum[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int k = 0; k < BLOCK / 32; k++)
        x += sh->sum[k];
    return x;
}

template <typename real>
__device__ void spread_piece(const grove_args *args, const grove_gridder_state *g, int64_t number,
                             int pol, shared<real> *sh)
{
    enum { LOAD = limits_of<real>::load };
    const grove_gridder_piece *piece =
        (const grove_gridder_piece *)args->in[GROVE_GRIDDER_PIECE_LIST].data + number;
    const int side = SIDE + g->width - 1;
    double sum[2] = {0, 0};

    for (int i = (int)threadIdx.x; i < g->chunk_planes * side * side; i += BLOCK)
        sh->cell[i] = {0, 0};
    if (threadIdx.x == 0)
        sh->run = piece->run;
    __syncthreads();
    for (int32_t n = piece->first; n < piece->last; n += LOAD) {
        const int32_t count = piece->last - n < LOAD ? piece->last - n : LOAD;
        load<real>(args, g, piece, pol, true, n, count, sh, sum);
        __syncthreads();
        pass_on<real>(args, g, n + count - 1, sh);
        for (int from = 0; from < count; from += SOME) {
            const int some = count - from < SOME ? count - from : SOME;
            make_taps<real>(args, g, from, some, sh);
            __syncthreads();
            add_samples<real>(g, from, some, sh);
            __syncthreads();
        }
    }
    write_cells<real>(args, g, piece, pol, sh);
    for (int k = 0; k < 2 && pol == 0; k++) {
        double all = sum_of_block<real>(sum[k], sh);
        if (threadIdx.x == 0)
            ((double *)args->in[GROVE_GRIDDER_SUMS].data)[2 * number + k] = all;
    }
    __syncthreads();
}

// Sixteen threads take a sample: a cell of a row each, or of several rows.
template <typename real>
__device__ void collect_samples(const grove_args *args, const grove_gridder_state *g, int pol,
                                int from, int count, const shared<real> *sh)
{
    const int width = g->width, side = SIDE + width - 1, lane = (int)threadIdx.x % FACTORS;
    const int across = width <= 4 ? 4 : width <= 8 ? 8 : FACTORS;
    const int j = (int)threadIdx.x / FACTORS, x = lane % across;
    complex_number<real> sum = {0, 0};

    if (j < count && x < width) {
        const int32_t place = sh->place[from + j];
        const int u = place & 15, v = place >> 4 & 15, w = place >> 17;
        const int first = w > 0 ? w : 0,
                  last = w + g->width_w < g->chunk_planes ? w + g->width_w : g->chunk_planes;
        for (int p = first; p < last; p++)
            for (int y = lane / across; y < width; y += FACTORS / across) {
                const real factor = sh->tap[j][2 * FACTORS + p - w] * sh->tap[j][FACTORS + y];
                const complex_number<real> cell = sh->cell[(p * side + v + y) * side + u + x];
                sum.re += cell.re * factor;
                sum.im += cell.im * factor;
            }
        sum = {sum.re * sh->tap[j][x], sum.im * sh->tap[j][x]};
    }
    for (int with = FACTORS / 2; with > 0; with /= 2) {
        sum.re += __shfl_xor_sync(0xffffffffu, sum.re, with);
        sum.im += __shfl_xor_sync(0xffffffffu, sum.im, with);
    }
    if (j < count && lane == 0) {
        const complex_number<real> phase = sh->value[from + j];
        const real sign = sh->place[from + j] >> 8 & 1 ? -1 : 1;
        complex_number<real> *to = (complex_number<real> *)args->in[GROVE_GRIDDER_SAMPLES].data +
                                   (int64_t)sh->at[from + j] * g->polarisations + pol;
        *to = {to->re + (sum.re * phase.re + sum.im * phase.im),
               to->im + (sum.im * phase.re - sum.re * phase.im) * sign};
    }
}

template <typename real>
__device__ void collect_piece(const grove_args *args, const grove_gridder_state *g, int64_t number,
                              int pol, shared<real> *sh)
{
    enum { LOAD = limits_of<real>::load };
    const grove_gridder_piece *piece =
        (const grove_gridder_piece *)args->in[GROVE_GRIDDER_PIECE_LIST].data + number;
    const int side = SIDE + g->width - 1;

    for (int i = (int)threadIdx.x; i < g->chunk_planes * side * side; i += BLOCK) {
        int64_t at = cell_of(g, piece, pol, i);
        sh->cell[i] = {0, 0};
        if (at >= 0)
            sh->cell[i] = ((const complex_number<real> *)args->out.data)[at];
    }
    if (threadIdx.x == 0)
        sh->run = piece->run;
    __syncthreads();
    for (int32_t n = piece->first; n < piece->last; n += LOAD) {
        const int32_t count = piece->last - n < LOAD ? piece->last - n : LOAD;
        load<real>(args, g, piece, pol, false, n, count, sh, nullptr);
        __syncthreads();
        pass_on<real>(args, g, n + count - 1, sh);
        for (int from = 0; from < count; from += SOME) {
            const int some = count - from < SOME ? count - from : SOME;
            make_taps<real>(args, g, from, some, sh);
            __syncthreads();
            collect_samples<real>(args, g, pol, from, some, sh);
            __syncthreads();
        }
    }
}
} // namespace

#define KERNELS(name, piece, precision, real)                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        gridder_##name##_##precision(const __grid_constant__ grove_args args)                      \
    {                                                                                              \
        __shared__ shared<real> memory_##name##_##precision;                                       \
        const grove_gridder_state *g = grove_gridder_state_of(&args);                              \
                                                                                                   \
        for (int64_t i = blockIdx.x; i < (int64_t)g->pieces * g->polarisations; i += gridDim.x)    \
            piece<real>(&args, g, i % g->pieces, (int)(i / g->pieces),                             \
                        &memory_##name##_##precision);                                             \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_##name##_##precision)

KERNELS(spread, spread_piece, single, float)
KERNELS(spread, spread_piece, double, double)
KERNELS(collect, collect_piece, single, float)
KERNELS(collect, collect_piece, double, double)
