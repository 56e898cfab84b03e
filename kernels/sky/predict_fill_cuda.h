/* Where a block of the products of stations by sources works, and the factors of its stations,
 * which go into shared memory a chunk of sources at a time. */
#ifndef GROVE_KERNELS_PREDICT_FILL_CUDA_H
#define GROVE_KERNELS_PREDICT_FILL_CUDA_H

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

// Brightness of a source.
template <typename real>
__device__ __forceinline__ matrix_number<real> brightness_of(const task_place &p, int64_t source)
{
    return matrix_at<real>(&p.args->in[GROVE_PREDICT_BRIGHTNESS],
                           source_cell(p, GROVE_PREDICT_BRIGHTNESS, source));
}

// ---- factors of the stations ----

// The phase of a source, in turns, is the scalar product of its direction with this.
struct station_frame {
    double turns[3];
    const char *jones; // at source 0, or NULL
    bool exists;
};

__device__ station_frame find_station(const task_place &p, int side, int at, int stations)
{
    int station = p.first[side] + at;
    station_frame f = {{0, 0, 0}, nullptr, station < stations};

    if (!f.exists)
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
// source of the chunk; how far its second station is. In single precision for tensor cores the
// order is of the threads' registers, or of a warp's stores without conflicts.
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

// In single precision for tensor cores, scalar terms: fills from a thread's registers, of two
// stations and two sources. TERMS: there are Jones terms.
template <bool TERMS>
__device__ __forceinline__ void fill_fours(const task_place &p, shared<float, true> *s, int side,
                                           const station_frame *f, int64_t first, int begin,
                                           bool both)
{
    const fill_place at = find_fill<float, true>(side, 1);

#pragma unroll
    for (int m = 0; m < DEPTH<float, true> / 8; m++) {
        const int k = at.source + 8 * m; // of this and k + 4
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
} // namespace

#endif
