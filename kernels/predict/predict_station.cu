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
#include "predict_station_cuda.h"

namespace
{
// Rows (left) and columns (right) of a station, and numbers of a source.
struct layout {
    int rows, columns, inner;
};

// A task: time, channel and tile.
struct task_place {
    const grove_args *args;
    const grove_predict_plan *plan;
    int source, time, freq, baseline; // axes, -1: none
    int64_t sources, baselines, at_time, channel;
    int first[2]; // stations of the tile's rows and columns
    layout kind;
    double freq_hz;
};

enum { SCALARS, NOT_UNITY, MATRICES };

__device__ __forceinline__ int64_t stride(const grove_view *view, int axis)
{
    return axis < 0 ? 0 : view->stride[axis];
}

__device__ __forceinline__ int64_t length(const grove_args *args, int axis)
{
    return axis < 0 ? 1 : args->size[axis];
}

// Station of a baseline.
__device__ __forceinline__ int station_of(const task_place &p, int side, int64_t b)
{
    return p.args->in[side ? GROVE_PREDICT_UVW_RIGHT : GROVE_PREDICT_UVW_LEFT].gather[b];
}

// Cell of an input of stations (source 0).
__device__ __forceinline__ const char *station_cell(const task_place &p, int input, int station)
{
    const grove_view *view = &p.args->in[input];

    return view->data ? (const char *)view->data + stride(view, p.time) * p.at_time +
                            stride(view, p.freq) * p.channel +
                            (view->gather ? stride(view, p.baseline) * station : 0)
                      : nullptr;
}

__device__ __forceinline__ const double *station_uvw(const task_place &p, int side, int station)
{
    return (const double *)(const void *)station_cell(
        p, side ? GROVE_PREDICT_UVW_RIGHT : GROVE_PREDICT_UVW_LEFT, station);
}

__device__ __forceinline__ const char *source_cell(const task_place &p, int input, int64_t source)
{
    const grove_view *view = &p.args->in[input];

    return (const char *)view->data + stride(view, p.source) * source +
           stride(view, p.freq) * p.channel;
}

__device__ __forceinline__ const double *direction_of(const task_place &p, int64_t source)
{
    return (const double *)(const void *)source_cell(p, GROVE_PREDICT_LMN, source);
}

// Whether the Jones terms of a side are inside the sum.
__device__ __forceinline__ bool is_inside(const task_place &p, int side)
{
    const grove_view *view = &p.args->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];

    return view->data && stride(view, p.source) != 0;
}

__device__ void find_task(task_place *p, const grove_args *args)
{
    p->args = args;
    p->plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->time = grove_args_axis(args, GROVE_AXIS_TIME);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->baseline = grove_args_axis(args, GROVE_AXIS_BASELINE);
    p->sources = length(args, p->source);
    p->baselines = length(args, p->baseline);
}

// ---- what the sources and rows of a task are like ----

// Brightness of a source; into b all four elements.
template <typename real>
__device__ __forceinline__ matrix_number<real> brightness_of(const task_place &p, int64_t source)
{
    return matrix_at<real>(&p.args->in[GROVE_PREDICT_BRIGHTNESS],
                           source_cell(p, GROVE_PREDICT_BRIGHTNESS, source));
}

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

// The parts of the tile in which there is a baseline, in order. False: none.
template <typename real, bool TENSOR>
__device__ bool list_parts(const task_place &p, shared<real, TENSOR> *s, double tolerance)
{
    int at[2];

    __syncthreads();
    for (int k = threadIdx.x; k < PARTS<real>; k += THREADS)
        s->wanted[k] = 0;
    __syncthreads();
    for (int64_t b = threadIdx.x; b < p.baselines; b += THREADS)
        if (is_in_tile(p, b, at) && !(s->strays && is_stray(p, b, tolerance)))
            s->wanted[at[0] * p.kind.rows / HEIGHT<real> * (EDGE / WIDTH) +
                      at[1] * p.kind.columns / WIDTH] = 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        s->count = 0;
        for (unsigned k = 0; k < PARTS<real>; k++)
            if (s->wanted[k])
                s->part[s->count++] = {k / (EDGE / WIDTH) * HEIGHT<real>,
                                       k % (EDGE / WIDTH) * WIDTH};
    }
    __syncthreads();
    return s->count > 0;
}

// ---- factors of the stations ----

// The phase of a source, in turns, is the scalar product of its direction with this.
struct station_frame {
    double turns[3];
    const char *jones; // at source 0, or NULL
    bool there;
};

__device__ station_frame find_station(const task_place &p, int side, int at, int stations)
{
    int station = p.first[side] + at;
    station_frame f = {{0, 0, 0}, nullptr, station < stations};

    if (!f.there)
        return f;
    const double *uvw = station_uvw(p, side, station);
    for (int d = 0; d < 3; d++)
        f.turns[d] = (side ? 1 : -1) * p.freq_hz / GROVE_SPEED_OF_LIGHT * uvw[d];
    if (is_inside(p, side))
        f.jones = station_cell(p, side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT, station);
    return f;
}

template <typename real>
__device__ __forceinline__ matrix_number<real> jones_of(const task_place &p, int side,
                                                        const station_frame &f, int64_t source)
{
    const grove_view *view = &p.args->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];

    return matrix_at<real>(view, f.jones ? f.jones + stride(view, p.source) * source : nullptr);
}

// Directions and brightness of the sources from `first`. After the last one the last one again, of
// brightness zero.
template <typename real, bool TENSOR>
__device__ __forceinline__ void stage_sources(const task_place &p, shared<real, TENSOR> *s,
                                              int64_t first)
{
    int i = threadIdx.x;

    if (i >= s->STAGED)
        return;
    int64_t source = first + i < p.sources ? first + i : p.sources - 1;
    const double *lmn = direction_of(p, source);
    for (int d = 0; d < 3; d++)
        s->direction[i][d] = lmn[d];
    s->brightness[i] =
        first + i < p.sources ? brightness_of<real>(p, source) : matrix_number<real>{};
}

// Stations of a thread on each side.
template <typename real, bool TENSOR> constexpr int FRAMES = sizeof(real) == 4 && TENSOR ? 2 : 1;

// Where a thread begins to fill one side of a chunk: number of the tile's station, and of the
// source of the chunk; how far its second station is. In single precision for tensor cores they are
// what it has in their registers, or what a warp stores without conflicts.
struct fill_place {
    int station, source, next;
};

template <typename real, bool TENSOR>
__device__ __forceinline__ fill_place find_fill(int side, int rows)
{
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;

    if (sizeof(real) == 8 || !TENSOR)
        return {thread % (EDGE / rows), thread / (EDGE / rows), 0};
    if (rows == 1)
        return {warp * 16 + lane / 4, lane % 4, 8};
    if (rows == 4)
        return {warp * 4 + lane / 8, lane % 8, 0};
    return side
               ? fill_place{warp * 8 + lane / 8 % 2 * 4 + lane % 4, lane / 16 * 4 + lane / 4 % 2, 0}
               : fill_place{warp * 8 + lane % 4, lane / 4, 4};
}

// `at`: of the sources that are staged.
template <typename real, bool TENSOR>
__device__ __forceinline__ complex_number<real> phase_of(const shared<real, TENSOR> &s,
                                                         const station_frame &f, int at)
{
    const double *lmn = s.direction[at];

    return phasor<real>(f.turns[0] * lmn[0] + f.turns[1] * lmn[1] + f.turns[2] * lmn[2]);
}

// A source of the chunk: its number of all that are staged, and of all.
struct source_place {
    int staged;
    int64_t source;
};

__device__ __forceinline__ source_place find_source(const task_place &p, int64_t first, int begin,
                                                    int i)
{
    int64_t source = first + begin + i;

    return {begin + i, source < p.sources ? source : p.sources - 1};
}

template <typename real>
__device__ __forceinline__ complex_number<real> scalar_of(const task_place &p, int side,
                                                          const station_frame &f, int64_t source)
{
    return jones_of<real>(p, side, f, source).element[0];
}

// The factors of a station and source as a matrix: left [row][inner], right [inner][column].
template <typename real, bool TENSOR>
__device__ __forceinline__ matrix_number<real>
terms_of(const task_place &p, const shared<real, TENSOR> &s, int side, const station_frame &f,
         const source_place &of)
{
    const complex_number<real> z = phase_of(s, f, of.staged);
    matrix_number<real> m = jones_of<real>(p, side, f, of.source);

    if (!side)
        m = m * s.brightness[of.staged];
    for (int e = 0; e < 4; e++)
        m.element[e] = z * m.element[e];
    return m;
}

// One side of a chunk, from number `begin` of the sources that are staged from `first` on. `both`:
// the other side's phases are conjugate. Stations that are not there have the phase 0: nothing
// reads their sums.
template <typename real, bool TENSOR>
__device__ __forceinline__ void fill_scalars(const task_place &p, shared<real, TENSOR> *s, int side,
                                             const station_frame *f, int64_t first, int begin,
                                             bool both)
{
    const fill_place at = find_fill<real, TENSOR>(side, 1);

#pragma unroll(sizeof(real) == 4 ? 4 : 1)
    for (int i = at.source; i < DEPTH<real, TENSOR>; i += THREADS / EDGE) {
        source_place of = find_source(p, first, begin, i);
        complex_number<real> z = phase_of(*s, f[0], of.staged);
        if (f[0].jones)
            z = z * scalar_of<real>(p, side, f[0], of.source);
        if (!side)
            s->factors.x[i][at.station] = z * s->brightness[of.staged].element[0];
        if (side)
            s->factors.y[i][at.station] = z;
        else if (both)
            s->factors.y[i][at.station] = {z.re, -z.im};
    }
}

// Of four rows for each station.
template <typename real, bool TENSOR>
__device__ __forceinline__ void fill_elements(const task_place &p, shared<real, TENSOR> *s,
                                              const station_frame &f, int64_t first, int begin)
{
    const fill_place at = find_fill<real, TENSOR>(0, 4);

#pragma unroll(sizeof(real) == 4 ? 2 : 1)
    for (int i = at.source; i < DEPTH<real, TENSOR>; i += 4 * THREADS / EDGE) {
        source_place of = find_source(p, first, begin, i);
        complex_number<real> z = phase_of(*s, f, of.staged);
        if (f.jones)
            z = z * scalar_of<real>(p, 0, f, of.source);
        for (int e = 0; e < 4; e++)
            s->factors.put_x(i, 4 * at.station + e, z * s->brightness[of.staged].element[e]);
    }
}

template <typename real, bool TENSOR>
__device__ __forceinline__ void fill_matrices(const task_place &p, shared<real, TENSOR> *s,
                                              int side, const station_frame *f, int64_t first,
                                              int begin)
{
    const fill_place at = find_fill<real, TENSOR>(side, 2);

#pragma unroll(sizeof(real) == 4 ? 2 : 1)
    for (int i = at.source; i < DEPTH<real, TENSOR> / 2; i += 2 * THREADS / EDGE) {
        source_place of = find_source(p, first, begin, i);
        matrix_number<real> m = terms_of(p, *s, side, f[0], of);
        for (int e = 0; e < 4; e++)
            if (side)
                s->factors.y[2 * i + e / 2][2 * at.station + e % 2] = m.element[e];
            else
                s->factors.x[2 * i + e % 2][2 * at.station + e / 2] = m.element[e];
    }
}

// In single precision for tensor cores, scalar terms: what a thread has in registers, of two
// stations and two sources. TERMS: there are Jones terms.
template <bool TERMS>
__device__ __forceinline__ void fill_fours(const task_place &p, shared<float, true> *s, int side,
                                           const station_frame *f, int64_t first, int begin,
                                           bool both)
{
    const fill_place at = find_fill<float, true>(side, 1);

#pragma unroll
    for (int k = at.source; k < DEPTH<float, true>; k += 8) {
        complex_number<float> y[2][2], x[4];
#pragma unroll
        for (int n = 0; n < 4; n++) {
            source_place of = find_source(p, first, begin, k + n / 2 * 4);
            complex_number<float> z = phase_of(*s, f[n % 2], of.staged);
            if (TERMS)
                z = z * scalar_of<float>(p, side, f[n % 2], of.source);
            x[n] = z * s->brightness[of.staged].element[0];
            y[n % 2][n / 2] = {z.re, side ? z.im : -z.im};
        }
        if (!side)
            s->factors.put_four_x(k, at.station, x);
        for (int n = 0; n < 2 && (side || both); n++)
            s->factors.put_two_y(k, at.station + 8 * n, y[n]);
    }
}

// Matrices: of two stations, or two sources.
__device__ __forceinline__ void fill_twos(const task_place &p, shared<float, true> *s, int side,
                                          const station_frame *f, int64_t first, int begin)
{
    const fill_place at = find_fill<float, true>(side, 2);
    const int i = at.source, other = side ? i + 2 : i;
    matrix_number<float> a = terms_of(p, *s, side, f[0], find_source(p, first, begin, i));
    matrix_number<float> b = terms_of(p, *s, side, f[1], find_source(p, first, begin, other));

    for (int e = 0; e < 4; e++) {
        const complex_number<float> z[2] = {a.element[e], b.element[e]};
        if (side)
            s->factors.put_two_y(2 * i + e / 2, 2 * at.station + e % 2, z);
        else
            s->factors.put_two_x(2 * i + e % 2, 2 * at.station + e / 2, z);
    }
}

template <typename real, bool TENSOR>
__device__ __forceinline__ void fill_side(const task_place &p, shared<real, TENSOR> *s, int side,
                                          const station_frame *f, int64_t first, int begin,
                                          bool both)
{
    if (!side && p.kind.rows == 4) {
        fill_elements(p, s, f[0], first, begin);
    } else if constexpr (sizeof(real) == 4 && TENSOR) {
        if (p.kind.inner == 2)
            fill_twos(p, s, side, f, first, begin);
        else if (is_inside(p, side))
            fill_fours<true>(p, s, side, f, first, begin, both);
        else
            fill_fours<false>(p, s, side, f, first, begin, both);
    } else if (p.kind.inner == 2) {
        fill_matrices(p, s, side, f, first, begin);
    } else {
        fill_scalars(p, s, side, f, first, begin, both);
    }
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
            (s->strays && is_stray(p, b, tolerance)))
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
        if (!is_in_tile(p, b, at) || !is_stray(p, b, tolerance))
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
                double a[4];
                find_ellipse(shape, a);
                double factor = exp(-find_extent(uvw, a) * p.freq_hz * p.freq_hz);
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
