// The sum over sources as products of matrices of stations by sources: a block has one time and
// channel and a tile of EDGE by EDGE complex sums, each warp some parts of it. For a chunk of
// sources, columns of the left stations' factors times the brightness and rows of the right
// stations' factors go into shared memory: phases in double, reduced to turns, sine and cosine in
// the kernel's precision. Then
//   V[p][q] = sum_s left_sp K_sp B_s  conj(K_sq) right_sq
// is a product of complex matrices. Three kinds of sums:
//   unity     B a number times unity, Jones terms scalars: a row and a column for each station
//   elements  any B, Jones terms scalars: four rows for each left station, a column for each right
//   matrices  Jones terms as matrices: two rows, two columns, two numbers of each source
//
// Operations for a source-visibility: 4 multiply-adds (16 elements, 32 matrices), on tensor cores 3
// times as many in TF32 or as many in double; for a source and station about 45 (8 in double), as
// matrices 110. Parts of 16 x 8 (double: 8 x 8) in which there is no baseline are left out.
#include "predict_fill_cuda.h"

namespace
{
// ---- properties of a task's sources and rows ----

__device__ bool is_unity(const matrix_number<double> &b)
{
    const complex_number<double> *e = b.element;

    return e[0].re == e[3].re && e[0].im == e[3].im && e[1].re == 0 && e[1].im == 0 &&
           e[2].re == 0 && e[2].im == 0;
}

// The kind of sums, the same for all tiles of the time and channel.
template <typename real, bool TENSOR>
__device__ layout find_kind(const task_place &p, shared<real, TENSOR> *s)
{
    bool matrices = false;

    for (int side = 0; side < 2; side++)
        matrices |=
            is_inside(p, side) &&
            p.args->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT].shape != GROVE_SCALAR;
    if (matrices)
        return layout{2, 2, 2};
    __syncthreads();
    if (threadIdx.x == 0)
        s->polarised = 0;
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.sources; i += THREADS)
        if (!is_unity(brightness_of<double>(p, i)))
            atomicOr(&s->polarised, 1);
    __syncthreads();
    return s->polarised ? layout{4, 1, 1} : layout{1, 1, 1};
}

// How far the coordinates of a baseline are from the difference of its stations', m; 0 where that
// is rounding.
__device__ double find_distance(const task_place &p, int64_t b)
{
    const grove_view *view = &p.args->in[GROVE_PREDICT_UVW];
    int64_t index[GROVE_MAX_AXES] = {0};
    const double *left = station_uvw(p, 0, station_of(p, 0, b));
    const double *right = station_uvw(p, 1, station_of(p, 1, b));
    double distance = 0, size = 0;

    if (p.time >= 0)
        index[p.time] = p.at_time;
    index[p.baseline] = b;
    const double *uvw = (const double *)(const void *)grove_view_at(view, index, p.args->axes);
    for (int d = 0; d < 3; d++) {
        distance += fabs(uvw[d] - (left[d] - right[d]));
        size += fabs(left[d]) + fabs(right[d]);
    }
    return distance <= 4e-16 * size ? 0 : distance;
}

__device__ bool is_stray(const task_place &p, int64_t b, double tolerance)
{
    return !(find_distance(p, b) <= tolerance);
}

__device__ bool is_in_tile(const task_place &p, int64_t b, int at[2])
{
    const int edge[2] = {EDGE / p.kind.rows, EDGE / p.kind.columns};

    for (int side = 0; side < 2; side++)
        at[side] = station_of(p, side, b) - p.first[side];
    return at[0] >= 0 && at[0] < edge[0] && at[1] >= 0 && at[1] < edge[1];
}

__device__ const double *shape_of(const task_place &p, int64_t source)
{
    return p.args->in[GROVE_PREDICT_SHAPE].data
               ? (const double *)(const void *)source_cell(p, GROVE_PREDICT_SHAPE, source)
               : nullptr;
}

// Whether distances in coordinates are larger than `tolerance` (m); smaller ones do not matter.
// With a Gaussian among the sources no row is computed by stations.
template <typename real, bool TENSOR>
__device__ double find_tolerance(const task_place &p, shared<real, TENSOR> *s)
{
    double far = 0;

    __syncthreads();
    if (threadIdx.x == 0)
        s->strays = 0;
    __syncthreads();
    for (int64_t b = threadIdx.x; b < p.baselines; b += THREADS)
        if (!(find_distance(p, b) <= 0))
            atomicOr(&s->strays, 1);
    for (int64_t i = threadIdx.x; i < p.sources && shape_of(p, 0); i += THREADS)
        if (grove_is_gaussian(shape_of(p, i)))
            atomicOr(&s->strays, 2);
    __syncthreads();
    if (!s->strays || s->strays & 2)
        return s->strays ? -1 : 0;
    for (int64_t i = threadIdx.x; i < p.sources; i += THREADS)
        for (int d = 0; d < 3; d++)
            far = fmax(far, fabs(direction_of(p, i)[d]));
    s->far[threadIdx.x] = far;
    __syncthreads();
    for (int k = 0; k < THREADS; k++)
        far = fmax(far, s->far[k]);
    __syncthreads();
    return (sizeof(real) == 4 ? 1e-7 : 3e-13) /
           (far / GROVE_SPEED_OF_LIGHT * p.plan->reference * 2);
}

// Whether a baseline has to be computed: see grove_predict_needed_rows.
__device__ bool is_needed(const task_place &p, int64_t b)
{
    const grove_view *view = &p.args->in[GROVE_PREDICT_SKIP];
    const unsigned all = (1u << view->elements) - 1;
    int64_t index[GROVE_MAX_AXES] = {0};

    if (!view->data)
        return true;
    if (p.time >= 0)
        index[p.time] = p.at_time;
    if (p.freq >= 0)
        index[p.freq] = p.channel;
    index[p.baseline] = b;
    return (*(const unsigned char *)grove_view_at(view, index, p.args->axes) & all) != all;
}

// The parts of the tile in which there is a baseline, in order. False: none.
template <typename real, bool TENSOR>
__device__ bool list_parts(const task_place &p, shared<real, TENSOR> *s, double tolerance)
{
    int at[2];

    __syncthreads();
    for (int k = threadIdx.x; k < PARTS<real>; k += THREADS)
        s->needed[k] = 0;
    __syncthreads();
    for (int64_t b = threadIdx.x; b < p.baselines; b += THREADS)
        if (is_in_tile(p, b, at) && is_needed(p, b) && !(s->strays && is_stray(p, b, tolerance)))
            s->needed[at[0] * p.kind.rows / HEIGHT<real> * (EDGE / WIDTH) +
                      at[1] * p.kind.columns / WIDTH] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        s->count = 0;
        for (unsigned k = 0; k < PARTS<real>; k++)
            if (s->needed[k])
                s->part[s->count++] = {k / (EDGE / WIDTH) * HEIGHT<real>,
                                       k % (EDGE / WIDTH) * WIDTH};
    }
    __syncthreads();
    return s->count > 0;
}

// ---- results ----

template <typename real>
__device__ void put_row(const task_place &p, int64_t b, matrix_number<double> m)
{
    int64_t index[GROVE_MAX_AXES] = {0};
    const grove_args *args = p.args;

    if (p.time >= 0)
        index[p.time] = p.at_time;
    if (p.freq >= 0)
        index[p.freq] = p.channel;
    index[p.baseline] = b;
    for (int side = 0; side < 2; side++) {
        int input = side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT;
        if (args->in[input].data && !is_inside(p, side)) {
            matrix_number<double> jones = matrix_at<double>(
                &args->in[input], grove_view_at(&args->in[input], index, args->axes));
            m = side ? m * jones : jones * m;
        }
    }
    put_matrix(&args->out, grove_view_at(&args->out, index, args->axes), m);
}

// Writes the baselines of the strip of rows that is in s->sums.
template <typename real, bool TENSOR>
__device__ void put_strip(const task_place &p, shared<real, TENSOR> *s, unsigned strip,
                          double tolerance)
{
    int at[2];

    for (int64_t b = threadIdx.x; b < p.baselines; b += THREADS) {
        if (!is_in_tile(p, b, at) || (at[0] * p.kind.rows & -HEIGHT<real>) != (int)strip ||
            !is_needed(p, b) || (s->strays && is_stray(p, b, tolerance)))
            continue;
        int row = at[0] * p.kind.rows % HEIGHT<real>, column = at[1] * p.kind.columns;
        matrix_number<double> m = {};
        for (int e = 0; e < 4; e++) {
            if (p.kind.rows == 1 && e % 3)
                continue;
            const complex_number<real> z = p.kind.rows == 1 ? s->sums[row][column]
                                           : p.kind.rows == 4
                                               ? s->sums[row + e][column]
                                               : s->sums[row + e / 2][column + e % 2];
            m.element[e] = {(double)z.re, (double)z.im};
        }
        put_row<real>(p, b, m);
    }
}

// Rows that are not computed by stations, one for a warp: lanes take sources.
template <typename real> __device__ void sum_strays(const task_place &p, double tolerance)
{
    int at[2], lane = threadIdx.x % 32;

    for (int64_t b = threadIdx.x / 32; b < p.baselines; b += THREADS / 32) {
        if (!is_in_tile(p, b, at) || !is_needed(p, b) || !is_stray(p, b, tolerance))
            continue;
        int64_t index[GROVE_MAX_AXES] = {0};
        matrix_number<double> sum = {};
        station_frame side[2];
        if (p.time >= 0)
            index[p.time] = p.at_time;
        index[p.baseline] = b;
        const double *uvw = (const double *)(const void *)grove_view_at(
            &p.args->in[GROVE_PREDICT_UVW], index, p.args->axes);
        for (int k = 0; k < 2; k++)
            side[k] = find_station(p, k, at[k], p.first[k] + at[k] + 1);
        for (int64_t i = lane; i < p.sources; i += 32) {
            complex_number<double> z =
                phasor<double>(-p.freq_hz * grove_delay(uvw, direction_of(p, i)));
            const double *shape = shape_of(p, i);
            if (shape && grove_is_gaussian(shape)) {
                double a[5];
                find_ellipse(p.args, shape, a);
                double factor = exp(-grove_find_extent(uvw, a) * p.freq_hz * p.freq_hz);
                z = {z.re * factor, z.im * factor};
            }
            matrix_number<double> m = jones_of<double>(p, 0, side[0], i) *
                                      brightness_of<double>(p, i) *
                                      jones_of<double>(p, 1, side[1], i);
            for (int e = 0; e < 4; e++)
                add_product(&sum.element[e], z, m.element[e]);
        }
        for (int e = 0; e < 4; e++)
            for (int with = 16; with > 0; with /= 2) {
                sum.element[e].re += __shfl_xor_sync(0xffffffffu, sum.element[e].re, with);
                sum.element[e].im += __shfl_xor_sync(0xffffffffu, sum.element[e].im, with);
            }
        if (lane == 0)
            put_row<real>(p, b, sum);
    }
}

// ---- a tile ----

// The left and right stations' phases are conjugate.
__device__ bool are_conjugate(const task_place &p)
{
    const grove_view *left = &p.args->in[GROVE_PREDICT_UVW_LEFT];
    const grove_view *right = &p.args->in[GROVE_PREDICT_UVW_RIGHT];

    return p.kind.rows == 1 && p.first[0] == p.first[1] && !is_inside(p, 1) &&
           left->data == right->data && stride(left, p.time) == stride(right, p.time) &&
           stride(left, p.baseline) == stride(right, p.baseline);
}

template <typename real, bool TENSOR>
__device__ __forceinline__ void sum_tile(const task_place &p, shared<real, TENSOR> *s,
                                         double tolerance)
{
    const int warp = threadIdx.x / 32, first = s->count * warp / WARPS;
    const int count = s->count * (warp + 1) / WARPS - first;
    const bool conjugate = are_conjugate(p);
    warp_sums<real, TENSOR> sums;
    station_frame frame[2][FRAMES<real, TENSOR>];

    for (int side = 0; side < 2; side++)
        for (int n = 0; n < FRAMES<real, TENSOR>; n++) {
            const fill_place at =
                find_fill<real, TENSOR>(side, side ? p.kind.columns : p.kind.rows);
            frame[side][n] = find_station(p, side, at.station + n * at.next, p.plan->stations);
        }
    sums.clear();
    const int chunk = DEPTH<real, TENSOR> / p.kind.inner;
#pragma unroll 1
    for (int64_t source = 0; source < p.sources; source += chunk) {
        int begin = (int)(source % s->STAGED);
        __syncthreads();
        if (begin == 0) {
            stage_sources(p, s, source);
            __syncthreads();
        }
        fill_side(p, s, 0, frame[0], source - begin, begin, conjugate);
        if (!conjugate)
            fill_side(p, s, 1, frame[1], source - begin, begin, false);
        __syncthreads();
        sums.add(*s, first, count);
    }
#pragma unroll 1
    for (unsigned strip = 0; strip < EDGE; strip += HEIGHT<real>) {
        __syncthreads();
        sums.put(s, first, count, strip);
        __syncthreads();
        put_strip(p, s, strip, tolerance);
    }
}

template <typename real, bool TENSOR>
__device__ __forceinline__ void predict(const grove_args *args, shared<real, TENSOR> *s)
{
    task_place p;

    find_task(&p, args);
    int64_t channels = length(args, p.freq), tasks = length(args, p.time) * channels;
    for (int64_t task = blockIdx.x; task < tasks * grove_predict_station_tiles(args);
         task += gridDim.x) {
        int64_t tile = task / tasks;
        p.at_time = task % tasks / channels;
        p.channel = task % channels;
        p.freq_hz = *(const double *)(const void *)source_cell(p, GROVE_PREDICT_FREQ, 0);
        p.kind = find_kind(p, s);
        int across = (p.plan->stations * p.kind.columns + EDGE - 1) / EDGE;
        p.first[0] = (int)(tile / across) * (EDGE / p.kind.rows);
        p.first[1] = (int)(tile % across) * (EDGE / p.kind.columns);
        if (p.first[0] >= p.plan->stations)
            continue;
        double tolerance = find_tolerance(p, s);
        if (list_parts(p, s, tolerance))
            sum_tile<real, TENSOR>(p, s, tolerance);
        if (s->strays)
            sum_strays<real>(p, tolerance);
    }
}
} // namespace

#define KERNEL(name, real, tensor)                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS, 2)                                       \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        __shared__ shared<real, tensor> shared_##name;                                             \
        predict<real, tensor>(&args, &shared_##name);                                              \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)

KERNEL(predict_station_single, float, GROVE_TENSOR_CORES)
KERNEL(predict_station_double, double, GROVE_TENSOR_CORES)
KERNEL(predict_station_vector_single, float, false)
KERNEL(predict_station_vector_double, double, false)
