/* Sums of baselines to the normal equations of domains: a warp adds a row of a matrix, of its list
 * of baselines in their order. */
#include "fit_solve.h"

/* On OpenCL devices a thread alone is a warp. */
#ifdef GROVE_OPENCL
#define WARP_FN          static inline
#define LANE             0
#define LANES            1
#define WARP             ((int64_t)get_global_id(0))
#define WARPS            ((int64_t)get_global_size(0))
#define WARP_WAIT()      ((void)0)
#define LANE_AT(x, with) (x)
#else
#define WARP_FN          static __device__
#define LANE             ((int)threadIdx.x & 31)
#define LANES            32
#define WARP             (((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32)
#define WARPS            ((int64_t)gridDim.x * blockDim.x / 32)
#define WARP_WAIT()      __syncwarp()
#define LANE_AT(x, with) __shfl_xor_sync(0xffffffffu, x, with)
#endif

/* i times the column, -i times it, or the column: the derivative by an unknown. */
typedef struct {
    int64_t unknown;
    double turn;
} derivative;

WARP_FN derivative derivative_of(const grove_gather_state *s, int column, int unknown, int part)
{
    const int kind = s->part[column];

    const derivative d = {unknown + (kind == GROVE_GATHER_IMAGINARY || part ? 1 : 0),
                          part ? (kind == GROVE_GATHER_BOTH ? 1.0 : -1.0) : 0};

    return d;
}

/* Re(conj(a) b), of derivatives of columns whose product is h. */
WARP_FN double real_part(derivative a, derivative b, double re, double im)
{
    if (a.turn == 0)
        return b.turn == 0 ? re : -b.turn * im;
    return b.turn == 0 ? a.turn * im : a.turn * b.turn * re;
}

/* Adds an item to the row of the unknown of its column a. Lanes take other columns. */
WARP_FN void add_item(const grove_gather_state *s, const double *from, const int32_t *unknowns,
                      int a, derivative of, double *row, double *gradient)
{
    const int n = s->columns;
    const double *sums = from + GROVE_NORMAL_SUMS;

    for (int k = LANE; k < 2 * n + 1; k += LANES) {
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

/* Number j of the domain's unknowns. */
WARP_FN void add_row(const grove_args *args, const grove_gather_state *s,
                     const grove_gather_domain *d, int j, double *point)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists;
    const int32_t *unknowns = places + d->items, *lists = unknowns + (int64_t)d->items * s->columns;
    const int n = d->unknowns;
    double *gradient = point + GROVE_POINT_SUMS + j, *row = point + grove_point_head(n);

    row += (int64_t)j * n;
    for (int k = LANE; k < n; k += LANES)
        row[k] = 0;
    if (LANE == (2 * s->columns & (LANES - 1)))
        *gradient = 0;
    WARP_WAIT();
    for (int32_t at = lists[j]; at < lists[j + 1]; at++) {
        const int32_t entry = lists[n + 1 + at];
        const int item = entry / s->columns, a = entry % s->columns;
        const double *from = (const double *)args->in[0].data +
                             (d->row + places[item]) * grove_normal_size(s->columns);
        const int first = unknowns[entry] + (s->part[a] == GROVE_GATHER_IMAGINARY);
        if (from[GROVE_NORMAL_USED] > 0)
            add_item(s, from, unknowns + entry - a, a,
                     derivative_of(s, a, unknowns[entry], j != first), row, gradient);
        WARP_WAIT();
    }
    if (LANE == 0)
        point[GROVE_POINT_SUMS + n + j] = row[j];
}

/* Each lane adds every 32nd item; then lanes are added in pairs. */
WARP_FN void add_sums(const grove_args *args, const grove_gather_state *s,
                      const grove_gather_domain *d, double *point)
{
    const int32_t *places = (const int32_t *)args->in[2].data + d->lists;
    double sum[GROVE_POINT_SUMS] = {0};

    for (int item = LANE; item < d->items; item += LANES) {
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
        for (int with = LANES / 2; with; with /= 2)
            sum[k] += LANE_AT(sum[k], with);
        if (LANE == 0)
            point[k] = sum[k];
    }
}

/* Copies the heads of the points for the host, one after the other, to the result. */
WARP_FN void copy_head(const grove_gather_domain *d, int j, const double *point, double *result)
{
    const int n = d->unknowns;

    WARP_WAIT();
    for (int k = LANE; j == n && k < GROVE_POINT_SUMS; k += LANES)
        result[k] = point[k];
    for (int k = LANE; j < n && k < 2; k += LANES)
        result[GROVE_POINT_SUMS + k * n + j] = point[GROVE_POINT_SUMS + k * n + j];
}

WARP_FN void gather_all(const grove_args *args)
{
    const grove_gather_state *s = (const grove_gather_state *)(const void *)args->state.bytes;
    const int64_t warps = (int64_t)s->domains * (s->unknowns + 1);

    for (int64_t at = WARP; at < warps; at += WARPS) {
        const grove_gather_domain *d =
            (const grove_gather_domain *)args->in[3].data + at / (s->unknowns + 1);
        const int j = (int)(at % (s->unknowns + 1));
        double *point = (double *)args->in[1].data + d->point;
        if (j > d->unknowns)
            continue;
        if (j < d->unknowns)
            add_row(args, s, d, j, point);
        else
            add_sums(args, s, d, point);
        copy_head(d, j, point, (double *)args->out.data + d->result);
    }
}

#ifdef GROVE_OPENCL
__kernel void fit_gather_double(__global const grove_args *given)
{
    gather_all(GROVE_GENERIC(const grove_args, given));
}

__kernel void fit_keep_double(__global const grove_args *given)
{
    const grove_args *args = GROVE_GENERIC(const grove_args, given);

    for (int64_t at = WARP; at < args->size[0]; at += WARPS)
        ((int64_t *)args->out.data)[at] = ((const int64_t *)args->in[0].data)[at];
}
#else
extern "C" __global__ void fit_gather_double(const __grid_constant__ grove_args args)
{
    gather_all(&args);
}
GROVE_CUDA_EXPORT(fit_gather_double)

extern "C" __global__ void fit_keep_double(const __grid_constant__ grove_args args)
{
    for (int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; at < args.size[0];
         at += (int64_t)gridDim.x * blockDim.x)
        ((int64_t *)args.out.data)[at] = ((const int64_t *)args.in[0].data)[at];
}
GROVE_CUDA_EXPORT(fit_keep_double)
#endif
