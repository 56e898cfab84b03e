// Sums of baselines to the normal equations of domains: a warp adds a row of a matrix, of its list
// of baselines in their order.
#include "fit_solve.h"

namespace
{
// i times the column, -i times it, or the column: the derivative by an unknown.
struct derivative {
    int64_t unknown;
    double turn;
};

__device__ __forceinline__ derivative derivative_of(const grove_gather_state *s, int column,
                                                    int unknown, int part)
{
    const int kind = s->part[column];

    return {unknown + (kind == GROVE_GATHER_IMAGINARY || part ? 1 : 0),
            part ? (kind == GROVE_GATHER_BOTH ? 1.0 : -1.0) : 0};
}

// Re(conj(a) b), of derivatives of columns whose product is h.
__device__ __forceinline__ double real_part(derivative a, derivative b, double re, double im)
{
    if (a.turn == 0)
        return b.turn == 0 ? re : -b.turn * im;
    return b.turn == 0 ? a.turn * im : a.turn * b.turn * re;
}

// Adds an item to the row of the unknown of its column a. Lanes take other columns.
__device__ void add_item(const grove_gather_state *s, const double *from, const int32_t *unknowns,
                         int a, derivative of, double *row, double *gradient)
{
    const int n = s->columns, lane = (int)threadIdx.x & 31;
    const double *sums = from + GROVE_NORMAL_SUMS;

    for (int k = lane; k < 2 * n + 1; k += 32) {
        const int b = k >> 1, part = k & 1;
        if (b == n) {
            const double *g = sums + 2 * (a * (n + 1) + n);
            *gradient += of.turn == 0 ? g[0] : of.turn * g[1];
        } else if (!part || s->part[b] > GROVE_GATHER_IMAGINARY) {
            const double *h = sums + 2 * (a <= b ? a * (n + 1) + b : b * (n + 1) + a);
            const derivative by = derivative_of(s, b, unknowns[b], part);
            row[by.unknown] += real_part(of, by, h[0], a <= b ? h[1] : -h[1]);
        }
    }
}

// Number j of the domain's unknowns.
__device__ void add_row(const grove_args *args, const grove_gather_state *s,
                        const grove_gather_domain *d, int j, double *point)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists;
    const int32_t *unknowns = places + d->items, *lists = unknowns + (int64_t)d->items * s->columns;
    const int lane = (int)threadIdx.x & 31, n = d->unknowns;
    double *gradient = point + GROVE_POINT_SUMS + j, *row = point + grove_point_head(n);

    row += (int64_t)j * n;
    for (int k = lane; k < n; k += 32)
        row[k] = 0;
    if (lane == (2 * s->columns & 31))
        *gradient = 0;
    __syncwarp();
    for (int32_t at = lists[j]; at < lists[j + 1]; at++) {
        const int32_t entry = lists[n + 1 + at];
        const int item = entry / s->columns, a = entry % s->columns;
        const double *from = (const double *)args->in[0].data +
                             (d->row + places[item]) * grove_normal_size(s->columns);
        const int first = unknowns[entry] + (s->part[a] == GROVE_GATHER_IMAGINARY);
        if (from[GROVE_NORMAL_USED] > 0)
            add_item(s, from, unknowns + entry - a, a,
                     derivative_of(s, a, unknowns[entry], j != first), row, gradient);
        __syncwarp();
    }
    if (lane == 0)
        point[GROVE_POINT_SUMS + n + j] = row[j];
}

// Each lane adds every 32nd item; then lanes are added in pairs.
__device__ void add_sums(const grove_args *args, const grove_gather_state *s,
                         const grove_gather_domain *d, double *point)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists;
    const int lane = (int)threadIdx.x & 31;
    double sum[GROVE_POINT_SUMS] = {};

    for (int item = lane; item < d->items; item += 32) {
        const double *from = (const double *)args->in[0].data +
                             (d->row + places[item]) * grove_normal_size(s->columns);
        const bool used = from[GROVE_NORMAL_USED] > 0;
        sum[GROVE_POINT_CHI2] += used ? from[GROVE_NORMAL_CHI2] : 0;
        sum[GROVE_POINT_POWER] += used ? from[GROVE_NORMAL_POWER] : 0;
        sum[GROVE_POINT_VALUES] += used ? from[GROVE_NORMAL_VALUES] : 0;
        sum[GROVE_POINT_USED] += from[GROVE_NORMAL_USED];
        sum[GROVE_POINT_ALL] += from[GROVE_NORMAL_ALL];
    }
    for (int k = 0; k < GROVE_POINT_SUMS; k++) {
        for (int with = 16; with; with /= 2)
            sum[k] += __shfl_xor_sync(0xffffffffu, sum[k], with);
        if (lane == 0)
            point[k] = sum[k];
    }
}

// Copies the heads of the points for the host, one after the other, to the result.
__device__ void copy_head(const grove_gather_domain *d, int j, const double *point, double *result)
{
    const int lane = (int)threadIdx.x & 31, n = d->unknowns;

    __syncwarp();
    if (j == n && lane < GROVE_POINT_SUMS)
        result[lane] = point[lane];
    else if (j < n && lane < 2)
        result[GROVE_POINT_SUMS + lane * n + j] = point[GROVE_POINT_SUMS + lane * n + j];
}
} // namespace

extern "C" __global__ void fit_gather_double(const __grid_constant__ grove_args args)
{
    const grove_gather_state *s = (const grove_gather_state *)(const void *)args.state.bytes;
    const int64_t warps = (int64_t)s->domains * (s->unknowns + 1);

    for (int64_t at = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; at < warps;
         at += (int64_t)gridDim.x * blockDim.x / 32) {
        const grove_gather_domain *d =
            (const grove_gather_domain *)args.in[3].data + at / (s->unknowns + 1);
        const int j = (int)(at % (s->unknowns + 1));
        double *point = (double *)args.in[1].data + d->point;
        if (j > d->unknowns)
            continue;
        if (j < d->unknowns)
            add_row(&args, s, d, j, point);
        else
            add_sums(&args, s, d, point);
        copy_head(d, j, point, (double *)args.out.data + d->result);
    }
}
GROVE_CUDA_EXPORT(fit_gather_double)

extern "C" __global__ void fit_keep_double(const __grid_constant__ grove_args args)
{
    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < args.size[0];
         at += (int64_t)gridDim.x * blockDim.x)
        ((int64_t *)args.out.data)[at] = ((const int64_t *)args.in[0].data)[at];
}
GROVE_CUDA_EXPORT(fit_keep_double)
