// Pixels of subgrids (idg.cu), of terms, and the grid: a thread for each pixel, or cell. Per pixel
// and number, in single precision: 8 bytes written for terms, 8 read and written for the mix, and
// in each pass of the transform; per cell of a tile 8 bytes for each subgrid that touches it, and
// the cell's own.
#include "idg_cuda.h"

#include "../../cuda/number.h"

namespace
{
enum { TILE = GROVE_IDG_TILE };

template <typename real> struct alignas(2 * sizeof(real)) pair_of {
    real re, im;
};

/* ---- terms ---- */

template <typename real>
__device__ __forceinline__ complex_number<real> conjugate(complex_number<real> z)
{
    return {z.re, -z.im};
}

template <typename real>
__device__ __forceinline__ matrix_number<real> hermitian(const matrix_number<real> &m)
{
    return {{conjugate(m.element[0]), conjugate(m.element[2]), conjugate(m.element[1]),
             conjugate(m.element[3])}};
}

// Element e of the term of station 0 (p) or 1 (q) at a pixel; of w < 0 the conjugate.
template <typename real>
__device__ __forceinline__ complex_number<real>
term_at(const grove_args *args, const grove_idg_state *g, const grove_idg_subgrid *s, int station,
        int e, int x, int y)
{
    const real *at = (const real *)args->in[GROVE_IDG_TERMS].data + s->term[station] +
                     ((e * g->side + x) * 2 * g->line + y);

    return {at[0], at[g->line] * (real)s->sign};
}

// J_p^H V J_q, or of the adjoint J_p V J_q^H.
template <typename real>
__device__ void turn(const grove_args *args, const grove_idg_state *g, const grove_idg_subgrid *s,
                     int x, int y, matrix_number<real> *v)
{
    matrix_number<real> j[2] = {};

    for (int k = 0; k < 2; k++)
        for (int e = 0; e < 4; e++)
            if (g->elements == 4 || e % 3 == 0)
                j[k].element[e] = term_at<real>(args, g, s, k, g->elements == 4 ? e : e / 3, x, y);
    if (g->adjoint)
        j[1] = hermitian(j[1]);
    else
        j[0] = hermitian(j[0]);
    *v = j[0] * *v * j[1];
}

// The mix: images of numbers, or of the adjoint numbers of images.
template <typename real>
__device__ __forceinline__ void mix_numbers(const grove_idg_state *g, const double *factor,
                                            real sign, const complex_number<real> from[4],
                                            complex_number<real> to[4])
{
    const int numbers = g->samples.polarisations, outer = g->adjoint ? numbers : g->images,
              inner = g->adjoint ? g->images : numbers;

    for (int i = 0; i < 4; i++) {
        to[i] = {0, 0};
        for (int k = 0; k < 4; k++) {
            const double *by = factor + 2 * (g->adjoint ? 4 * k + i : 4 * i + k);
            if (i < outer && k < inner && (by[0] != 0 || by[1] != 0))
                add_product<real>(&to[i], {(real)by[0], (real)(g->adjoint ? -by[1] : by[1]) * sign},
                                  from[k]);
        }
    }
}

// Numbers of a pixel through the terms; matrices have the mix's elements.
template <typename real>
__device__ __forceinline__ void apply_terms(const grove_args *args, const grove_idg_state *g,
                                            const grove_idg_subgrid *s, const double *element,
                                            int x, int y, complex_number<real> z[4])
{
    if (g->elements == 1) {
        const complex_number<real> p = term_at<real>(args, g, s, 0, 0, x, y),
                                   q = term_at<real>(args, g, s, 1, 0, x, y),
                                   by = g->adjoint ? p * conjugate(q) : conjugate(p) * q;
        for (int c = 0; c < 4; c++)
            z[c] = by * z[c];
    } else if (g->elements > 1) {
        matrix_number<real> v = {};
        for (int c = 0; c < 4; c++)
            for (int e = 0; e < 4; e++)
                if (c < g->samples.polarisations && (int)element[c] == e)
                    v.element[e] = z[c];
        turn<real>(args, g, s, x, y, &v);
        for (int c = 0; c < 4; c++)
            for (int e = 0; e < 4; e++)
                if (c < g->samples.polarisations && (int)element[c] == e)
                    z[c] = v.element[e];
    }
}

// The taper and the phase of w from the subgrid's to its layer's.
template <typename real>
__device__ __forceinline__ complex_number<real>
taper_at(const grove_idg_state *g, const grove_idg_subgrid *s, const double *table, int x, int y)
{
    const int32_t at = x * g->side + y;
    const double w = g->without_w ? 0 : s->w - g->samples.first_w - (double)s->layer * g->step_w;
    const complex_number<real> z =
        phasor<real>((g->adjoint ? -w : w) * table[grove_idg_table_n(g->side) + at]);
    const real by = (real)table[grove_idg_table_taper(g->side) + at];

    return {by * z.re, by * z.im};
}

// Pixel i of the subgrids of the launch, from numbers of visibilities to images, or back.
template <typename real> __device__ void weigh(const grove_args *args, int64_t i)
{
    const grove_idg_state *g = grove_idg_state_of(args);
    const double *table = (const double *)args->in[GROVE_IDG_TABLE].data,
                 *factor = table + grove_idg_table_mix(g->side);
    const int numbers = g->samples.polarisations;
    const uint32_t all = (uint32_t)g->pixels.size;
    int32_t k, at, x, y;

    grove_gridder_divide(i, &g->pixels, &k, &at);
    grove_gridder_divide(at, &g->row, &x, &y);
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const int inner = g->adjoint ? g->images : numbers, outer = g->adjoint ? numbers : g->images;
    const pair_of<real> *from = (const pair_of<real> *)args->in[GROVE_IDG_PIXELS].data +
                                ((int64_t)k * inner * (int64_t)all + at);
    pair_of<real> *done =
        (pair_of<real> *)args->out.data + ((int64_t)k * outer * (int64_t)all + at);
    const complex_number<real> by = taper_at<real>(g, s, table, x, y);
    complex_number<real> z[4] = {}, to[4];

    for (int c = 0; c < 4; c++)
        if (c < inner)
            z[c] = {from[c * all].re, from[c * all].im};
    if (g->adjoint) {
        mix_numbers<real>(g, factor, (real)s->sign, z, to);
        apply_terms<real>(args, g, s, factor + 32, x, y, to);
    } else {
        apply_terms<real>(args, g, s, factor + 32, x, y, z);
        mix_numbers<real>(g, factor, (real)s->sign, z, to);
    }
    for (int c = 0; c < 4; c++)
        if (c < outer) {
            const complex_number<real> one = by * to[c];
            done[c * all] = {one.re, one.im};
        }
}

/* ---- terms of a raster ---- */

enum { BLOCK = GROVE_IDG_BLOCK, CHUNK = 256 /* directions of m that a block takes together */ };

// Of a direction of m, sums along l in double precision, as the host's. Blocks look at all numbers
// of the raster together: false where one is not finite.
template <typename real>
__device__ bool sample_row(const grove_idg_sampling *g, const grove_idg_taps *taps,
                           const char *from, int32_t x, pair_of<double> *row)
{
    pair_of<double> sum = {0, 0};
    bool good = true;

#pragma unroll 1
    for (int32_t k = 0; k < taps->count; k++) {
        const pair_of<real> z =
            *(const pair_of<real> *)(const void *)(from + taps->at[k] * g->step[0]);
        sum.re += taps->factor[k] * (double)z.re;
        sum.im += taps->factor[k] * (double)z.im;
    }
#pragma unroll 1
    for (int32_t k = x; k < g->size[0]; k += g->side.size) {
        const pair_of<real> z = *(const pair_of<real> *)(const void *)(from + k * g->step[0]);
        good = good && z.re - z.re == 0 && z.im - z.im == 0;
    }
    *row = sum;
    return good;
}

// Where the raster has the numbers of an element of the terms.
template <typename real>
__device__ const char *raster_of(const grove_args *args, const grove_idg_sampling *g, int32_t i)
{
    const int64_t *cell = (const int64_t *)args->in[GROVE_IDG_RASTER_CELLS].data;
    int32_t element, channel, station, time;

    grove_gridder_divide(i, &g->elements, &i, &element);
    grove_gridder_divide(i, &g->channels, &i, &channel);
    grove_gridder_divide(i, &g->stations, &time, &station);
    return (const char *)args->in[GROVE_IDG_RASTER].data + cell[time] + cell[g->times + channel] +
           station * g->step[2] + element * (int64_t)(2 * sizeof(real));
}

// The pixels of one x of an element, a thread for each y.
template <typename real>
__device__ void sample(const grove_args *args, int64_t i, pair_of<double> *rows)
{
    const grove_idg_sampling *g = grove_idg_sampling_of(args);
    const int32_t y = (int32_t)threadIdx.x, side = g->side.size;
    const grove_idg_taps *taps = (const grove_idg_taps *)args->in[GROVE_IDG_RASTER_TAPS].data,
                         *along_m = taps + side + (y < side ? y : 0);
    const int32_t count = y < side ? along_m->count : 0;
    real *terms = (real *)args->out.data;
    pair_of<double> sum = {0, 0};
    int32_t element, x, tap = 0;
    bool good = true;

    grove_gridder_divide(i, &g->side, &element, &x);
    const char *from = raster_of<real>(args, g, element);
#pragma unroll 1
    for (int32_t first = 0; first < g->size[1]; first += CHUNK) {
#pragma unroll 1
        for (int32_t k = y; k < CHUNK && first + k < g->size[1]; k += BLOCK)
            good =
                sample_row<real>(g, taps + x, from + (first + k) * g->step[1], x, &rows[k]) && good;
        __syncthreads();
#pragma unroll 1
        for (; tap < count && along_m->at[tap] < first + CHUNK; tap++) {
            const pair_of<double> row = rows[along_m->at[tap] - first];
            sum.re += along_m->factor[tap] * row.re;
            sum.im += along_m->factor[tap] * row.im;
        }
        __syncthreads();
    }
    real *to = terms + i * (2 * g->line) + y;
    if (y < side) {
        to[0] = (real)sum.re;
        to[g->line] = (real)sum.im;
    }
    if (!good)
        *(int32_t *)(void *)(terms + g->numbers) = 1;
}

/* ---- the grid ---- */

// Cells of subgrids from planes, a view with steps along u, v, planes of a band, and bands:
// [subgrid][image][u][v].
template <typename real> __device__ void split(const grove_args *args, int64_t i)
{
    const grove_idg_state *g = grove_idg_state_of(args);
    const grove_view *planes = &args->in[GROVE_GRIDDER_DATA];
    int32_t of, at, u, v;

    grove_gridder_divide(i, &g->pixels, &of, &at);
    grove_gridder_divide(at, &g->row, &v, &u);
    const int32_t k = of / g->images, image = of % g->images;
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const int32_t band = s->plane / g->samples.planes, plane = s->plane % g->samples.planes;
    int32_t column = s->start[0] + u, row = s->start[1] + v;

    column -= column >= g->size[0] ? g->size[0] : 0;
    row -= row >= g->size[1] ? g->size[1] : 0;
    const pair_of<real> z =
        ((const pair_of<real> *)(const void *)((const char *)planes->data +
                                               column * planes->stride[0] +
                                               row * planes->stride[1] + plane * planes->stride[2] +
                                               band * planes->stride[3]))[image];
    const bool minus = (u + v) % 2;
    ((pair_of<real> *)args->out.data)[(int64_t)of * g->pixels.size + u * g->side + v] = {
        minus ? -z.re : z.re, minus ? -z.im : z.im};
}

// Adds the subgrids of the launch to a cell of a tile.
template <typename real> __device__ void gather(const grove_args *args, int64_t i)
{
    const grove_idg_state *g = grove_idg_state_of(args);
    const int32_t count = g->last - g->first, cell = (int32_t)(i % (TILE * TILE));
    const int32_t of = (int32_t)(i / (TILE * TILE)), image = of / count;
    const grove_idg_tile tile =
        ((const grove_idg_tile *)args->in[GROVE_IDG_TILES].data)[g->first + of % count];
    const int32_t *list = (const int32_t *)args->in[GROVE_IDG_LIST].data;
    const pair_of<real> *pixels = (const pair_of<real> *)args->in[GROVE_IDG_PIXELS].data;
    const int32_t column = tile.column * TILE + cell / TILE, row = tile.row * TILE + cell % TILE;
    pair_of<real> *to =
        (pair_of<real> *)args->out.data +
        (((int64_t)image * g->samples.planes + tile.plane) * g->size[1] + row) * g->size[0] +
        column;
    pair_of<real> sum = *to;

#pragma unroll 1
    for (int32_t k = tile.first; k < tile.last; k++) {
        const grove_idg_subgrid *s =
            (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + list[k];
        int32_t u = column - s->start[0], v = row - s->start[1];
        u += u < 0 ? g->size[0] : 0;
        v += v < 0 ? g->size[1] : 0;
        if (u >= g->side || v >= g->side)
            continue;
        const pair_of<real> z =
            pixels[((int64_t)(list[k] - tile.base) * g->images + image) * (g->side * g->side) +
                   u * g->side + v];
        const bool minus = (u + v) % 2;
        sum.re += minus ? -z.re : z.re;
        sum.im += minus ? -z.im : z.im;
    }
    *to = sum;
}

// Cell i of the visibilities.
template <typename real> __device__ void clear(const grove_args *args, int64_t i)
{
    const grove_idg_state *g = grove_idg_state_of(args);
    const int64_t rest = i / g->samples.channels,
                  at[3] = {rest / g->samples.baselines, rest % g->samples.baselines,
                           i % g->samples.channels};
    char *to = (char *)args->out.data;

    for (int d = 0; d < 3; d++)
        to += g->samples.axis[d] < 0 ? 0 : args->out.stride[g->samples.axis[d]] * at[d];
    for (int c = 0; c < g->samples.polarisations; c++)
        ((pair_of<real> *)(void *)to)[c] = {0, 0};
}
} // namespace

#define KERNEL(name, precision, real)                                                              \
    extern "C" __global__ void idg_##name##_##precision(const __grid_constant__ grove_args args)   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(idg_##name##_##precision)

#define TERMS(precision, real)                                                                     \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        idg_terms_##precision(const __grid_constant__ grove_args args)                             \
    {                                                                                              \
        __shared__ pair_of<double> rows_##precision[CHUNK];                                        \
        const int64_t count = args.size[0] / BLOCK;                                                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = blockIdx.x; i < count; i += gridDim.x)                \
            sample<real>(&args, i, rows_##precision);                                              \
    }                                                                                              \
    GROVE_CUDA_EXPORT(idg_terms_##precision)

#define ALL(precision, real)                                                                       \
    TERMS(precision, real)                                                                         \
    KERNEL(weigh, precision, real)                                                                 \
    KERNEL(split, precision, real)                                                                 \
    KERNEL(gather, precision, real)                                                                \
    KERNEL(clear, precision, real)

ALL(single, float)
ALL(double, double)
