/* Where a thread of the kernels for baselines works: one row (baseline and time), and a group of
 * channels. */
#ifndef GROVE_KERNELS_PREDICT_PLACE_CUDA_H
#define GROVE_KERNELS_PREDICT_PLACE_CUDA_H

#include "../cuda/number.h"
#include "gaussian_cuda.h"
#include "predict_cuda.h"

#include "../common/visibility.h"

namespace
{
enum { INPUTS = 10 };

#ifdef __CUDACC_RTC__
constexpr int ROWS = BLOCK; // a tunable
#else
constexpr int ROWS = PREDICT_CUDA_ROWS;
#endif
// Blocks of a multiprocessor for which registers must be enough; `usual`: of 128 rows.
constexpr int resident_blocks(int usual)
{
    return usual * PREDICT_CUDA_ROWS / ROWS;
}

// Common to all threads of a block.
struct group_place {
    const grove_args *args;
    const grove_predict_plan *plan;
    int source, freq; // axes, -1: none
    int64_t sources;
    int64_t channel; // of the whole axis, at the group's begin
    int64_t offset;  // of that channel in the evaluation; negative where it begins inside the group
    int first, last; // channels of the group that are computed
};

struct place : group_place {
    bool row; // there is a row for this thread, and it is computed
    const char *in[INPUTS];
    char *out;
};

// Adds to totals, which lie in memory, as sums do here; some at a time, whose loads wait for it
// together.
template <int COUNT, typename real>
__device__ __forceinline__ void add_to_totals(double *total, const volatile real *sum)
{
    const int together = COUNT % 8 ? 2 : 8;

#pragma unroll 1
    for (int first = 0; first < COUNT; first += together) {
        double next[together];
#pragma unroll
        for (int n = 0; n < together; n++)
            next[n] = total[first + n] + (double)sum[first + n];
#pragma unroll
        for (int n = 0; n < together; n++)
            total[first + n] = next[n];
    }
}

__device__ __forceinline__ int64_t stride_of(const grove_view *view, int axis)
{
    return axis < 0 ? 0 : view->stride[axis];
}

__device__ __forceinline__ const char *cell_at(const place &p, int input, int64_t source, int k)
{
    const grove_view *view = &p.args->in[input];

    return p.in[input] ? p.in[input] + stride_of(view, p.source) * source +
                             stride_of(view, p.freq) * (p.offset + k)
                       : nullptr;
}

__device__ __forceinline__ const double *doubles_at(const place &p, int input, int64_t source,
                                                    int k)
{
    return (const double *)(const void *)cell_at(p, input, source, k);
}

// The address of a cell of an input that does not vary with rows.
__device__ __forceinline__ const char *common_at(const group_place &p, int input, int64_t source,
                                                 int k)
{
    const grove_view *view = &p.args->in[input];

    return view->data ? (const char *)view->data + stride_of(view, p.source) * source +
                            stride_of(view, p.freq) * (p.offset + k)
                      : nullptr;
}

// Whether a channel of the group has to be computed in the row: not all elements of it are flagged
// in the input that says so.
__device__ __forceinline__ bool is_needed(const group_place &p, const int64_t index[])
{
    const grove_view *view = &p.args->in[GROVE_PREDICT_SKIP];
    const unsigned char *flags = (const unsigned char *)grove_view_at(view, index, p.args->axes);
    const int64_t step = stride_of(view, p.freq);
    const unsigned all = (1u << view->elements) - 1;
    const int last = step ? p.last : p.first + 1;
    bool needed = !flags;

    for (int k = p.first; k < last && !needed; k++)
        needed = (flags[step * (p.offset + k)] & all) != all;
    return needed;
}

// Addresses of the row's cells, at source 0 and channel 0.
__device__ __forceinline__ void find_row(place *p, int64_t row)
{
    const grove_args *args = p->args;
    int64_t index[GROVE_MAX_AXES];

    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = 0;
        if (d != p->source && d != p->freq) {
            index[d] = row % args->size[d];
            row /= args->size[d];
        }
    }
    for (int k = 0; k < INPUTS; k++)
        p->in[k] = k < args->inputs ? grove_view_at(&args->in[k], index, args->axes) : nullptr;
    p->out = grove_view_at(&args->out, index, args->axes);
    p->row = p->row && is_needed(*p, index);
}

// Tasks are numbered by block of rows, then by group of `group` channels.
__device__ __forceinline__ void find_group(group_place *p, const grove_args *args, int64_t task,
                                           int group)
{
    int64_t first_group, groups = grove_predict_groups(args, group, &first_group);

    p->args = args;
    p->plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->sources = p->source < 0 ? 1 : args->size[p->source];
    p->channel = (first_group + task % groups) * group;
    p->offset = p->freq < 0 ? 0 : p->channel - args->origin[p->freq];
    int64_t channels = p->freq < 0 ? 1 : args->size[p->freq];
    p->first = p->offset < 0 ? (int)-p->offset : 0;
    p->last = channels - p->offset < group ? (int)(channels - p->offset) : group;
}

__device__ __forceinline__ void find_place(place *p, const grove_args *args, int64_t task,
                                           int group)
{
    int64_t first, groups = grove_predict_groups(args, group, &first);
    int64_t row = task / groups * ROWS + threadIdx.x;

    find_group(p, args, task, group);
    p->row = row < grove_predict_row_count(args);
    find_row(p, p->row ? row : 0);
}

// Whether a task has rows that have to be computed. `any` lies in shared memory.
__device__ __forceinline__ bool has_rows(const grove_args *args, int64_t task, int group, int *any)
{
    place p;

    if (!args->in[GROVE_PREDICT_SKIP].data)
        return true;
    find_place(&p, args, task, group);
    __syncthreads();
    if (threadIdx.x == 0)
        *any = 0;
    __syncthreads();
    if (p.row)
        atomicOr(any, 1);
    __syncthreads();
    return *any;
}

__device__ __forceinline__ int64_t count_tasks(const grove_args *args, int group)
{
    int64_t first, groups = grove_predict_groups(args, group, &first);

    return (grove_predict_row_count(args) + ROWS - 1) / ROWS * groups;
}

// Coordinates of a row.
struct coordinates {
    double uvw[3], change[3]; // m, and their change in an integration
};

__device__ __forceinline__ coordinates find_coordinates(const place &p)
{
    const double *uvw = doubles_at(p, GROVE_PREDICT_UVW, 0, 0);
    const double *rate = doubles_at(p, GROVE_PREDICT_RATE, 0, 0);
    const double *interval = doubles_at(p, GROVE_PREDICT_INTERVAL, 0, 0);
    coordinates x;

    for (int d = 0; d < 3; d++) {
        x.uvw[d] = uvw[d];
        x.change[d] = rate ? rate[d] * *interval : 0;
    }
    return x;
}

__device__ __forceinline__ double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

__device__ __forceinline__ void put_channel(const place &p, int k, const matrix_number<double> &m)
{
    put_matrix(&p.args->out, p.out + stride_of(&p.args->out, p.freq) * (p.offset + k), m);
}

// Jones terms that do not vary with the source are applied around the sum.
__device__ __forceinline__ void put_around(const place &p, int k, const matrix_number<double> &m)
{
    const grove_view *left = &p.args->in[GROVE_PREDICT_LEFT];
    const grove_view *right = &p.args->in[GROVE_PREDICT_RIGHT];

    if (left->data || right->data)
        put_channel(p, k,
                    matrix_at<double>(left, cell_at(p, GROVE_PREDICT_LEFT, 0, k)) * m *
                        matrix_at<double>(right, cell_at(p, GROVE_PREDICT_RIGHT, 0, k)));
    else
        put_channel(p, k, m);
}
} // namespace

#endif
