// Image-domain gridding (kernels/idg/idg.h).
//
// A block of 8 x 8 threads makes the pixels of a subgrid, of one number of its visibilities, from a
// slab of these after the other. Phases of a slab, N along x and N along y for each visibility, are
// in shared memory: one is exact in up to 16 channels of a time, those that follow are its
// products. Each thread has N / 8 x N / 8 pixels in registers, so that of 2 N / 8 numbers that it
// loads N^2 / 64 products are made. The other way each thread has some visibilities times N / 8
// pixels along y of sums over x, which are then summed over y by shuffles. So no operation is
// atomic.
//
// Pixels go to images by one thread each, through terms and the mix, and images to cells and back
// by cuFFT. Cells of the grid then take the subgrids that touch their tile, in their order: the
// bits are the same each time, and for any number of subgrids in a launch.
//
// What a visibility costs is counted in bench/RESULTS-gpu-counted.md.
#include "idg_cuda.h"

#include "../gridder/gridder_load_cuda.h"

namespace
{
enum { THREADS = GROVE_IDG_BLOCK, EIGHT = 8, TILE = GROVE_IDG_TILE };
#define ALL 0xffffffffu

// What depends on precision and N: numbers of a slab, that are loaded at once, and of a line of
// phases, so that lines begin in other banks; rows of pixels in shared memory to collect.
template <typename real, int T> struct limits_for {
    static constexpr bool single = sizeof(real) == sizeof(float);
    enum {
        side = EIGHT * T,
        slab = single ? GROVE_IDG_SLAB_SINGLE : GROVE_IDG_SLAB_DOUBLE,
        line = side + (single ? 2 : 1),
        panel = single && T <= 4 ? side : EIGHT,
        columns = single || T < 8 ? T : T / 2, // of pixels, of a thread that sums
        parts = T / columns                    // blocks of a subgrid's number
    };
};

template <typename real> __device__ __forceinline__ pair_of<real> zero()
{
    return {0, 0};
}

// sum += a b
template <typename real>
__device__ __forceinline__ void add_product(pair_of<real> *sum, pair_of<real> a, pair_of<real> b)
{
    sum->re += a.re * b.re;
    sum->im += a.re * b.im;
    sum->re -= a.im * b.im;
    sum->im += a.im * b.re;
}

// sum += conj(a) b
template <typename real>
__device__ __forceinline__ void add_conjugate(pair_of<real> *sum, pair_of<real> a, pair_of<real> b)
{
    sum->re += a.re * b.re;
    sum->im += a.re * b.im;
    sum->re += a.im * b.im;
    sum->im -= a.im * b.re;
}

template <typename real>
__device__ __forceinline__ pair_of<real> product(pair_of<real> a, pair_of<real> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <typename real> __device__ __forceinline__ pair_of<real> phase(double turns)
{
    const complex_number<real> z = phasor<real>(turns);

    return {z.re, z.im};
}

// Numbers of a line that eight threads share, as many at once as 16 bytes hold.
template <typename real, int COUNT> struct share {
    enum { each = sizeof(real) == sizeof(float) && COUNT % 2 == 0 ? 2 : 1 };
    struct alignas(2 * sizeof(real) * each) chunk {
        pair_of<real> x[each];
    };
    static __device__ __forceinline__ int index(int thread, int i)
    {
        return (i / each * EIGHT + thread) * each + i % each;
    }
    static __device__ __forceinline__ void load(const pair_of<real> *from, int thread,
                                                pair_of<real> to[COUNT])
    {
        for (int i = 0; i < COUNT; i += each) {
            const chunk c = *(const chunk *)(const void *)(from + index(thread, i));
            for (int k = 0; k < each; k++)
                to[i + k] = c.x[k];
        }
    }
};

/* ---- slabs ---- */

// Visibilities of a subgrid that are taken together: some times, and some channels that follow.
struct piece {
    int32_t time, times, channel, channels;
};

struct cut {
    int32_t times, channels; // of a piece, at most
};

__device__ __forceinline__ cut cut_of(const grove_idg_subgrid *s, int slab)
{
    const int32_t parts = (s->channels + GROVE_IDG_RESTART - 1) / GROVE_IDG_RESTART,
                  channels = (s->channels + parts - 1) / parts;

    return {slab / channels, channels};
}

__device__ __forceinline__ bool next_piece(const grove_idg_subgrid *s, const cut &c, piece *p)
{
    p->channel += p->channels;
    if (p->channel >= s->channels) {
        p->channel = 0;
        p->time += p->times;
    }
    p->times = s->times - p->time < c.times ? s->times - p->time : c.times;
    p->channels = s->channels - p->channel < c.channels ? s->channels - p->channel : c.channels;
    return p->time < s->times;
}

// Where a visibility is among those of the call.
__device__ __forceinline__ place place_of(const grove_idg_state *g, const grove_idg_subgrid *s,
                                          const piece &p, int k)
{
    const uint32_t row =
        (uint32_t)s->row + (uint32_t)(p.time + k / p.channels) * (uint32_t)g->samples.baselines;

    return {row / (uint32_t)g->samples.baselines, row % (uint32_t)g->samples.baselines,
            s->first + p.channel + k % p.channels};
}

__device__ __forceinline__ const double *uvw_of(const grove_args *args, const grove_idg_state *g,
                                                int64_t time, int64_t baseline)
{
    const grove_view *view = &args->in[GROVE_GRIDDER_UVW];

    return (const double *)(const void *)((const char *)view->data +
                                          offset_of(view, g->samples.axis, time, baseline, 0));
}

// nodes/image_plane.h: image_is_within().
__device__ __forceinline__ bool counts(const grove_args *args, const grove_idg_state *g,
                                       const double *uvw, int64_t channel)
{
    const double freq =
        ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[g->samples.channels + channel];
    bool within = true;

    for (int d = 0; d < 3 && g->limited; d++)
        within = within && fabs(uvw[d]) * freq <= g->longest[d];
    return within;
}

// The phase of the image's centre.
template <typename real>
__device__ __forceinline__ pair_of<real> centre_phase(const grove_args *args,
                                                      const grove_idg_state *g, const double *uvw,
                                                      int32_t sign, int64_t channel)
{
    const double k = ((const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data)[channel] * sign;

    return phase<real>(k * (uvw[0] * g->samples.turn[0] + uvw[1] * g->samples.turn[1] +
                            uvw[2] * g->samples.turn[2]));
}

// Turns of a pixel's phase along x (0) or y: wavenumber slope - offset.
struct line {
    double x, p, offset;

    __device__ __forceinline__ line(const grove_args *args, const grove_idg_state *g,
                                    const grove_idg_subgrid *s, int along, int k, int side)
    {
        x = (k - side / 2) / (double)side;
        p = ((const double *)args->in[GROVE_IDG_TABLE].data)[along * side + k];
        offset = x * s->cell[along] + p * s->w;
        x *= g->samples.scale[along] * s->sign;
        p *= s->sign;
    }
};

// Baselines of a piece.
__device__ __forceinline__ void load_baselines(const grove_args *args, const grove_idg_state *g,
                                               const grove_idg_subgrid *s, const piece &p,
                                               double *uvw)
{
    const int t = (int)threadIdx.x;

    if (t >= p.times)
        return;
    const place at = place_of(g, s, p, t * p.channels);
    const double *from = uvw_of(args, g, at.time, at.baseline);
    for (int d = 0; d < 3; d++)
        uvw[3 * t + d] = from[d];
}

// Phases of a line in all channels of a time, STEP apart; with WEIGHED each times a value.
template <typename real, int STEP, bool WEIGHED>
__device__ __forceinline__ void fill_channels(const double *wavenumber, int32_t channels, bool even,
                                              double slope, double offset,
                                              const pair_of<real> *value, pair_of<real> *to)
{
    pair_of<real> z = phase<real>(wavenumber[0] * slope - offset);

    if (channels == 1) {
        *to = WEIGHED ? product(z, *value) : z;
    } else if (even) {
        const pair_of<real> by = phase<real>((wavenumber[1] - wavenumber[0]) * slope);
#pragma unroll 4
        for (int32_t c = 0; c < channels; c++) {
            to[c * STEP] = WEIGHED ? product(z, value[c]) : z;
            z = product(z, by);
        }
    } else {
#pragma unroll 1
        for (int32_t c = 0; c < channels; c++) {
            z = phase<real>(wavenumber[c] * slope - offset);
            to[c * STEP] = WEIGHED ? product(z, value[c]) : z;
        }
    }
}

// Phases along x or y, of pixel k, in all visibilities of a piece.
template <typename real, int STEP, bool WEIGHED>
__device__ __forceinline__ void fill_line(const grove_args *args, const grove_idg_state *g,
                                          const grove_idg_subgrid *s, const piece &p, int along,
                                          int k, const double *uvw, const pair_of<real> *value,
                                          pair_of<real> *to)
{
    const double *wavenumber =
        (const double *)args->in[GROVE_GRIDDER_WAVENUMBERS].data + s->first + p.channel;
    const line of(args, g, s, along, k, g->side);

#pragma unroll 1
    for (int32_t t = 0; t < p.times; t++, uvw += 3) {
        fill_channels<real, STEP, WEIGHED>(wavenumber, p.channels, g->even,
                                           of.x * uvw[along] + of.p * uvw[2], of.offset, value, to);
        to += p.channels * STEP;
        value += p.channels;
    }
}

// Of pixels along y COLUMNS from the first one on; with WEIGHED phases along x are times values.
template <typename real, int SIZE, int COLUMNS, int LINE, int LINE_Y, bool WEIGHED>
__device__ __forceinline__ void fill_phases(const grove_args *args, const grove_idg_state *g,
                                            const grove_idg_subgrid *s, const piece &p, int first_y,
                                            const double *uvw, const pair_of<real> *value,
                                            pair_of<real> *x, pair_of<real> *y)
{
#pragma unroll 1
    for (int k = (int)threadIdx.x; k < SIZE + COLUMNS; k += THREADS)
        if (k < SIZE)
            fill_line<real, LINE, WEIGHED>(args, g, s, p, 0, k, uvw, value, x + k);
        else
            fill_line<real, LINE_Y, false>(args, g, s, p, 1, first_y + k - SIZE, uvw, value,
                                           y + k - SIZE);
}

/* ---- visibilities to pixels ---- */

template <typename real, int T> struct alignas(16) summing {
    typedef limits_for<real, T> of;
    enum { line_y = EIGHT * of::columns + (sizeof(real) == sizeof(float) ? 2 : 1) };
    pair_of<real> x[of::slab * of::line];
    alignas(16) pair_of<real> y[of::slab * line_y];
    pair_of<real> value[of::slab];
    double uvw[3 * of::slab];
};

// Visibilities of a piece, times weights and the phase of the centre.
template <typename real>
__device__ __forceinline__ void load_values(const grove_args *args, const grove_idg_state *g,
                                            const grove_idg_subgrid *s, const piece &p, int number,
                                            pair_of<real> *value)
{
    const int k = (int)threadIdx.x;

    if (k >= p.times * p.channels)
        return;
    const place at = place_of(g, s, p, k);
    const double *uvw = uvw_of(args, g, at.time, at.baseline);
    const real weight =
        counts(args, g, uvw, at.channel) ? (real)weight_at(args, &g->samples, at) : 0;
    complex_number<real> z = {0, 0};
    if (!(weight > 0) || !mix<real>(args, &g->samples, at, number, &z))
        z = {0, 0};
    value[k] = product<real>(centre_phase<real>(args, g, uvw, s->sign, at.channel),
                             {weight * z.re, weight * z.im * (real)s->sign});
}

template <typename real, int T>
__device__ __forceinline__ void multiply(const summing<real, T> *sh, int count,
                                         pair_of<real> sum[T][limits_for<real, T>::columns])
{
    enum { COLUMNS = limits_for<real, T>::columns, LINE = limits_for<real, T>::line };
    const int along_x = (int)threadIdx.x / EIGHT, along_y = (int)threadIdx.x % EIGHT;
    const pair_of<real> *x = sh->x, *y = sh->y;

#pragma unroll 2
    for (int k = 0; k < count; k++, x += LINE, y += summing<real, T>::line_y) {
        pair_of<real> a[T], b[COLUMNS];
        share<real, T>::load(x, along_x, a);
        share<real, COLUMNS>::load(y, along_y, b);
        for (int i = 0; i < T; i++)
            for (int j = 0; j < COLUMNS; j++)
                add_product(&sum[i][j], a[i], b[j]);
    }
}

// Number, and part of its pixels, `i` of all subgrids.
template <typename real, int T>
__device__ void sum_pixels(const grove_args *args, int32_t i, summing<real, T> *sh)
{
    typedef limits_for<real, T> of;
    const grove_idg_state *g = grove_idg_state_of(args);
    const int32_t part = i % of::parts, all = i / of::parts,
                  number = all % g->samples.polarisations, k = all / g->samples.polarisations,
                  first_y = part * EIGHT * of::columns;
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const cut c = cut_of(s, of::slab);
    piece p = {};
    pair_of<real> sum[T][of::columns] = {};

#pragma unroll 1
    while (next_piece(s, c, &p)) {
        load_baselines(args, g, s, p, sh->uvw);
        load_values<real>(args, g, s, p, number, sh->value);
        __syncthreads();
        fill_phases<real, of::side, EIGHT * of::columns, of::line, summing<real, T>::line_y, true>(
            args, g, s, p, first_y, sh->uvw, sh->value, sh->x, sh->y);
        __syncthreads();
        multiply<real, T>(sh, p.times * p.channels, sum);
    } // phases are written again behind the next barrier
    pair_of<real> *to =
        (pair_of<real> *)args->out.data + (int64_t)all * (of::side * of::side) + first_y;
    for (int x = 0; x < T; x++)
        for (int y = 0; y < of::columns; y++)
            to[share<real, T>::index((int)threadIdx.x / EIGHT, x) * of::side +
               share<real, of::columns>::index((int)threadIdx.x % EIGHT, y)] = sum[x][y];
}

/* ---- pixels to visibilities ---- */

template <typename real, int T> struct alignas(16) collecting {
    typedef limits_for<real, T> of;
    pair_of<real> x[of::slab * of::line];
    alignas(16) pair_of<real> y[of::slab * of::line];
    alignas(16) pair_of<real> pixel[of::panel * of::side];
    pair_of<real> value[of::slab];
    double uvw[3 * of::slab];
};

// Rows of pixels from row `first` on.
template <typename real, int T>
__device__ __forceinline__ void load_panel(const pair_of<real> *from, int first,
                                           collecting<real, T> *sh)
{
    typedef limits_for<real, T> of;

#pragma unroll 4
    for (int k = (int)threadIdx.x; k < of::panel * of::side; k += THREADS)
        sh->pixel[k] = from[first * of::side + k];
}

// Sums over rows of pixels: visibilities that are 8 apart, times columns.
template <typename real, int T>
__device__ __forceinline__ void sum_rows(const collecting<real, T> *sh, int first,
                                         pair_of<real> sum[limits_for<real, T>::slab / EIGHT][T])
{
    typedef limits_for<real, T> of;
    typedef share<real, 2> two; // of x; of doubles one after the other
    enum { SOME = of::slab / EIGHT };
    const pair_of<real> *x = sh->x + (int)threadIdx.x / EIGHT * of::line + first,
                        *pixel = sh->pixel;

#pragma unroll 1
    for (int k = 0; k < of::panel; k += 2, x += 2, pixel += 2 * of::side) {
        pair_of<real> a[SOME][2], b[T];
        for (int i = 0; i < SOME; i++)
            for (int n = 0; n < 2; n += two::each) {
                const typename two::chunk c =
                    *(const typename two::chunk *)(const void *)(x + i * EIGHT * of::line + n);
                for (int m = 0; m < two::each; m++)
                    a[i][n + m] = c.x[m];
            }
        for (int n = 0; n < 2; n++) {
            share<real, T>::load(pixel + n * of::side, (int)threadIdx.x % EIGHT, b);
            for (int i = 0; i < SOME; i++)
                for (int j = 0; j < T; j++)
                    add_conjugate(&sum[i][j], a[i][n], b[j]);
        }
    }
}

// Sums of eight lanes: each has one of the numbers, or two lanes the same.
template <typename real, int COUNT> __device__ __forceinline__ real sum_of_eight(real x[COUNT])
{
#pragma unroll
    for (int by = EIGHT / 2, n = COUNT / 2; by > 0; by /= 2, n /= 2) {
        const bool upper = threadIdx.x & by;
        for (int k = 0; k < n; k++) {
            const real other = __shfl_xor_sync(ALL, upper ? x[k] : x[k + n], by);
            x[k] = (upper ? x[k + n] : x[k]) + other;
        }
        if (n == 0)
            x[0] += __shfl_xor_sync(ALL, x[0], by);
    }
    return x[0];
}

// And over columns.
template <typename real, int T>
__device__ __forceinline__ void sum_columns(collecting<real, T> *sh,
                                            pair_of<real> sum[limits_for<real, T>::slab / EIGHT][T])
{
    typedef limits_for<real, T> of;
    enum { SOME = of::slab / EIGHT, COUNT = 2 * SOME };
    const int row = (int)threadIdx.x / EIGHT, lane = (int)threadIdx.x % EIGHT;
    real all[COUNT];

    for (int i = 0; i < SOME; i++) {
        pair_of<real> y[T], z = zero<real>();
        share<real, T>::load(sh->y + (row + i * EIGHT) * of::line, lane, y);
        for (int j = 0; j < T; j++)
            add_conjugate(&z, y[j], sum[i][j]);
        all[2 * i] = z.re;
        all[2 * i + 1] = z.im;
    }
    const real one = sum_of_eight<real, COUNT>(all);
    const int k = lane * COUNT / EIGHT;
    if (lane % (EIGHT / COUNT) == 0)
        (k % 2 ? sh->value[row + k / 2 * EIGHT].im : sh->value[row + k / 2 * EIGHT].re) = one;
}

// With a share of each channel they are added to what other planes gave.
template <typename real>
__device__ __forceinline__ void store_values(const grove_args *args, const grove_idg_state *g,
                                             const grove_idg_subgrid *s, const piece &p, int number,
                                             const pair_of<real> *value)
{
    const int k = (int)threadIdx.x;

    if (k >= p.times * p.channels)
        return;
    const place at = place_of(g, s, p, k);
    const double *uvw = uvw_of(args, g, at.time, at.baseline);
    if (!counts(args, g, uvw, at.channel))
        return;
    pair_of<real> z = zero<real>();
    add_conjugate(&z, centre_phase<real>(args, g, uvw, s->sign, at.channel), value[k]);
    const double *share = (const double *)args->in[GROVE_IDG_SHARE].data;
    pair_of<real> *to = (pair_of<real> *)(void *)((char *)args->out.data +
                                                  offset_of(&args->out, g->samples.axis, at.time,
                                                            at.baseline, at.channel)) +
                        number;
    z.im *= (real)s->sign;
    if (share) {
        const real by = (real)share[at.channel];
        z = {to->re + by * z.re, to->im + by * z.im};
    }
    *to = z;
}

template <typename real, int T>
__device__ void predict_number(const grove_args *args, int32_t i, collecting<real, T> *sh)
{
    typedef limits_for<real, T> of;
    const grove_idg_state *g = grove_idg_state_of(args);
    const int32_t number = i % g->samples.polarisations, k = i / g->samples.polarisations;
    const grove_idg_subgrid *s =
        (const grove_idg_subgrid *)args->in[GROVE_IDG_SUBGRIDS].data + g->first + k;
    const pair_of<real> *pixels =
        (const pair_of<real> *)args->in[GROVE_IDG_PIXELS].data + (int64_t)i * (of::side * of::side);
    const cut c = cut_of(s, of::slab);
    piece p = {};
    bool begins = true;

#pragma unroll 1
    while (next_piece(s, c, &p)) {
        pair_of<real> sum[of::slab / EIGHT][T] = {};
        load_baselines(args, g, s, p, sh->uvw);
        __syncthreads();
        fill_phases<real, of::side, of::side, of::line, of::line, false>(args, g, s, p, 0, sh->uvw,
                                                                         sh->value, sh->x, sh->y);
#pragma unroll 1
        for (int first = 0; first < of::side; first += of::panel) {
            if (of::panel < of::side || begins)
                load_panel<real, T>(pixels, first, sh);
            begins = false;
            __syncthreads();
            sum_rows<real, T>(sh, first, sum);
            if (of::panel < of::side)
                __syncthreads();
        }
        sum_columns<real, T>(sh, sum);
        __syncthreads();
        store_values<real>(args, g, s, p, number, sh->value);
    }
}
} // namespace

#define KERNEL(name, kind, function, side, precision, real, each)                                  \
    extern "C" __global__ void __launch_bounds__(THREADS, 4)                                       \
        idg_##name##_##side##_##precision(const __grid_constant__ grove_args args)                 \
    {                                                                                              \
        __shared__ kind<real, side / EIGHT> memory_##name##_##side##_##precision;                  \
        const grove_idg_state *g = grove_idg_state_of(&args);                                      \
        const int32_t count = (g->last - g->first) * g->samples.polarisations * each;              \
                                                                                                   \
        _Pragma("unroll 1") for (int32_t i = (int32_t)blockIdx.x; i < count;                       \
                                 i += (int32_t)gridDim.x)                                          \
        {                                                                                          \
            function<real, side / EIGHT>(&args, i, &memory_##name##_##side##_##precision);         \
            __syncthreads();                                                                       \
        }                                                                                          \
    }                                                                                              \
    GROVE_CUDA_EXPORT(idg_##name##_##side##_##precision)

#define BOTH(side, precision, real)                                                                \
    KERNEL(sum, summing, sum_pixels, side, precision, real,                                        \
           (limits_for<real, side / EIGHT>::parts))                                                \
    KERNEL(predict, collecting, predict_number, side, precision, real, 1)

#define SIDES(precision, real)                                                                     \
    BOTH(16, precision, real)                                                                      \
    BOTH(24, precision, real)                                                                      \
    BOTH(32, precision, real)                                                                      \
    BOTH(40, precision, real)                                                                      \
    BOTH(48, precision, real)                                                                      \
    BOTH(64, precision, real)

SIDES(single, float)
SIDES(double, double)
