// The parts of a tile that the kernels of gridding by convolution functions read: samples, their
// functions and the functions' numbers.
#ifndef GROVE_KERNELS_GRIDDER_CONVOLVE_LOAD_CUDA_H
#define GROVE_KERNELS_GRIDDER_CONVOLVE_LOAD_CUDA_H

#include "gridder_convolve_cuda.h"
#include "gridder_load_cuda.h"

namespace
{
enum { MOST = GROVE_CONVOLVE_MOST, PIECE = GROVE_CONVOLVE_PIECE, CORNERS = GROVE_CONVOLVE_CORNERS };
static_assert((int)GROVE_CONVOLVE_BLOCK == (int)BLOCK, "the blocks of samples are loaded alike");

// Where the function of a sample begins: the cell of a grid, which is u and v modulo K.
struct alignas(16) spot {
    int32_t cell, u, v, spare;
};

// Where the numbers of the functions of a polarisation begin, of each image; -1: there is none.
struct alignas(16) origins {
    int32_t of[MOST];
};

template <typename real> struct convolved {
    /* Of a thread's sample: its value to spread, of each polarisation, or the collected one; the
     * phase; its functions and place, -1: the sample does not count; turns of the gradient: at cell
     * 0, and along u and v. */
    pair_of<real> value[BLOCK][MOST], phase[BLOCK];
    real part[BLOCK][CORNERS]; // of the functions about it, with linear interpolation
    origins from[BLOCK][MOST];
    spot at[BLOCK];
    double turns[3][BLOCK];
    double sum[WARPS];
};

/* ---- samples ---- */

struct found {
    place at;
    double uvw[3], freq, wavenumber, sign;
};

// Sample n of the tile, [baseline][time][channel], channels to and fro.
__device__ __forceinline__ found sample_at(const grove_args *args, const grove_convolve_state *g,
                                           int32_t n)
{
    const grove_view *view = &args->in[GROVE_GRIDDER_UVW];
    const int32_t channels = g->samples.channels, row = n / channels, channel = n % channels;
    const int32_t baseline = row / g->times, time = row % g->times;
    found s;

    s.at = {time, baseline, time & 1 ? channels - 1 - channel : channel};
    const double *uvw =
        (const double *)(const void *)((const char *)view->data +
                                       offset_of(view, g->samples.axis, time, baseline, 0));
    s.sign = uvw[2] < 0 ? -1 : 1;
    s.freq = ((const double *)args->in[GROVE_CONVOLVE_FREQ].data)[s.at.channel];
    s.wavenumber = s.freq / GROVE_SPEED_OF_LIGHT;
    for (int d = 0; d < 3; d++)
        s.uvw[d] = s.sign * uvw[d];
    return s;
}

// nodes/imaging/image_plane.h: image_is_within().
__device__ __forceinline__ bool is_within(const grove_convolve_state *g, const found &s)
{
    for (int d = 0; d < 3 && g->limited; d++)
        if (!(fabs(s.uvw[d]) * s.freq <= g->longest[d]))
            return false;
    return true;
}

__device__ __forceinline__ int32_t stride_of(const grove_convolve_state *g)
{
    return g->oversampling + g->linear;
}

// Numbers from the first function of a mean to the one of a corner: next along u, v and w.
__device__ __forceinline__ int32_t corner_at(const grove_convolve_state *g, int k)
{
    const int32_t stride = stride_of(g);

    return ((k / 4 * stride - k / 2 % 2) * stride - k % 2) * g->samples.width * g->samples.width;
}

__device__ __forceinline__ int corners_of(const grove_convolve_state *g)
{
    return g->samples.planes > 1 ? CORNERS : CORNERS / 2;
}

// The plane, and the part of the next one.
__device__ double find_plane(const grove_convolve_state *g, const found &s, double *part)
{
    const double plane = g->step_w > 0 ? s.uvw[2] * s.wavenumber / g->step_w : 0;
    const double first =
        g->linear ? fmin(floor(plane), (double)(g->samples.planes > 1 ? g->samples.planes - 2 : 0))
                  : rint(plane);

    *part = plane - first;
    return first;
}

// grove_convolution_find(): where the function begins; false: it leaves the grid, or there is none.
template <typename real>
__device__ bool find_place(const grove_convolve_state *g, const found &s, int t,
                           convolved<real> *sh, double offset[2], int32_t *block)
{
    const int32_t width = g->samples.width, each = g->oversampling, half = width * each / 2,
                  stride = stride_of(g);
    int32_t cell[2], number[2];
    double part[3];

    for (int d = 0; d < 2; d++) {
        const double sample = s.uvw[d] * s.wavenumber * g->samples.scale[d] * each,
                     fine = g->linear ? floor(sample) : rint(sample);
        if (!(fabs(fine) < 1e9))
            return false;
        part[d] = sample - fine;
        const int32_t from = (int32_t)fine - half,
                      first = from > 0 ? (from - 1) / each + 1 : -(-from / each);
        cell[d] = first + g->samples.cells[d] / 2;
        number[d] = each * first - from + g->linear;
        offset[d] = each * first - from - (g->linear ? part[d] : 0);
        if (cell[d] < 0 || cell[d] + width > g->samples.cells[d])
            return false;
    }
    const double plane = find_plane(g, s, &part[2]);
    if (!(g->linear && g->samples.planes > 1 ? part[2] <= 1 + 1e-9 : plane < g->samples.planes))
        return false;
    *block = ((int32_t)plane * stride + number[1]) * stride + number[0];
    for (int k = 0; k < CORNERS && g->linear; k++)
        sh->part[t][k] = (real)((k & 1 ? part[0] : 1 - part[0]) * (k & 2 ? part[1] : 1 - part[1]) *
                                (g->samples.planes == 1 ? 1
                                 : k & 4                ? part[2]
                                                        : 1 - part[2]));
    sh->at[t] = {cell[1] * g->samples.cells[0] + cell[0], cell[0] % width, cell[1] % width, 0};
    return true;
}

// How a function's numbers are turned: -gradient times cells from the visibility.
template <typename real>
__device__ void find_turns(const grove_args *args, const grove_convolve_state *g, const found &s,
                           const double offset[2], int t, convolved<real> *sh)
{
    const grove_view *view = &args->in[GROVE_CONVOLVE_GRADIENT];
    const double half = g->samples.width * g->oversampling / 2;

    if (!view->data)
        return;
    const double *gradient =
        (const double *)(const void *)((const char *)view->data +
                                       offset_of(view, g->samples.axis, s.at.time, s.at.baseline,
                                                 s.at.channel));
    sh->turns[0][t] = 0;
    for (int d = 0; d < 2; d++) {
        const double each = -(gradient[d] / g->samples.scale[d]);
        sh->turns[0][t] += each * ((offset[d] - half) / g->oversampling);
        sh->turns[1 + d][t] = each;
    }
}

// Blocks of numbers of a function: its planes, and places between the cells.
__device__ __forceinline__ int32_t blocks_of(const grove_convolve_state *g)
{
    return g->samples.planes * stride_of(g) * stride_of(g);
}

// The functions of a sample's set, whose numbers are fewer than 2^31.
template <typename real>
__device__ void find_functions(const grove_args *args, const grove_convolve_state *g,
                               const found &s, int32_t block, int t, convolved<real> *sh)
{
    const int32_t *row = (const int32_t *)args->in[GROVE_CONVOLVE_ROW].data;
    const int32_t *channel = (const int32_t *)args->in[GROVE_CONVOLVE_CHANNEL].data;
    const int32_t *index = (const int32_t *)args->in[GROVE_CONVOLVE_INDEX].data;
    const int32_t elements = g->samples.polarisations * g->images,
                  size = g->samples.width * g->samples.width;

    if (index)
        index += (int64_t)(2 * (row[s.at.time * g->samples.baselines + s.at.baseline] +
                                channel[s.at.channel]) +
                           (s.sign < 0)) *
                 elements;
    for (int k = 0; k < MOST; k++)
        for (int r = 0; r < MOST; r++) {
            const bool is = k < g->samples.polarisations && r < g->images;
            const int32_t f = !is ? -1 : index ? index[k * g->images + r] : 0;
            sh->from[t][k].of[r] = f < 0 ? -1 : (f * blocks_of(g) + block) * size;
        }
}

// Place, functions and turns of a sample; its phase, whose sine changes sign with w.
template <typename real>
__device__ bool prepare(const grove_args *args, const grove_convolve_state *g, const found &s,
                        int t, convolved<real> *sh)
{
    double offset[2], turns = 0;
    int32_t block;

    if (!find_place<real>(g, s, t, sh, offset, &block))
        return false;
    find_turns<real>(args, g, s, offset, t, sh);
    find_functions<real>(args, g, s, block, t, sh);
    for (int d = 0; d < 3; d++)
        turns += s.uvw[d] * g->samples.turn[d];
    const complex_number<real> phase = phasor<real>(turns * s.wavenumber);
    sh->phase[t] = {phase.re, phase.im};
    return true;
}

// Adds the weight times the norms of all functions of the sample.
template <typename real>
__device__ void add_norms(const grove_args *args, const grove_convolve_state *g, double weight,
                          int t, const convolved<real> *sh, double sum[GROVE_CONVOLVE_TOTALS])
{
    const pair_of<double> *norms = (const pair_of<double> *)args->in[GROVE_CONVOLVE_NORMS].data;
    const int32_t size = g->samples.width * g->samples.width;
    const int count = g->linear ? corners_of(g) : 1;

    if (!norms)
        return;
    for (int r = 0; r < MOST; r++)
        for (int k = 0; k < MOST; k++) {
            const int32_t from = sh->from[t][k].of[r];
            double re = 0, im = 0;
            for (int c = 0; c < count && from >= 0; c++) {
                const pair_of<double> all = norms[(from + corner_at(g, c)) / size];
                const double part = g->linear ? (double)sh->part[t][c] : 1;
                re += part * all.re;
                im += part * all.im;
            }
            sum[GROVE_CONVOLVE_SUMS + r] += weight * sqrt(re * re + im * im);
        }
}

// The value of a sample to spread; it does not count where its cell is -1.
template <typename real>
__device__ void load_sample(const grove_args *args, const grove_convolve_state *g, int32_t n,
                            convolved<real> *sh, double sum[GROVE_CONVOLVE_TOTALS])
{
    const int t = (int)threadIdx.x;
    const found s = sample_at(args, g, n);
    const double weight = weight_at(args, &g->samples, &s.at);
    const real factor = (real)weight;

    sh->at[t].cell = -1;
    if (!(weight > 0))
        return;
    if (!is_within(g, s)) {
        sum[GROVE_GRIDDER_BEYOND]++;
        return;
    }
    for (int j = 0; j < MOST; j++) {
        complex_number<real> value = {0, 0};
        if (j < g->samples.polarisations && !mix<real>(args, &g->samples, s.at, j, &value)) {
            sum[GROVE_GRIDDER_NO_NUMBERS]++;
            return;
        }
        sh->value[t][j] = {value.re * factor, value.im * factor * (real)s.sign};
    }
    if (!prepare<real>(args, g, s, t, sh)) {
        sum[GROVE_CONVOLVE_LEFT_OUT]++;
        sh->at[t].cell = -1;
        return;
    }
    for (int j = 0; j < MOST; j++) {
        const pair_of<real> a = sh->value[t][j], b = sh->phase[t];
        sh->value[t][j] = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    }
    sum[GROVE_GRIDDER_WEIGHT_TOTAL] += weight;
    add_norms<real>(args, g, (double)factor, t, sh, sum);
}

/* ---- functions ---- */

// Number `at` of a function that begins at `from`, or the mean of those about sample j, turned.
template <typename real, bool TURNED, bool LINEAR>
__device__ __forceinline__ pair_of<real>
number_of(const grove_convolve_state *g, const pair_of<real> *functions, const convolved<real> *sh,
          int j, int32_t from, int32_t at, complex_number<real> turn)
{
    pair_of<real> c = functions[from + at];

    if (LINEAR) {
        const real own = sh->part[j][0];
        const int count = corners_of(g);
        c = {c.re * own, c.im * own};
#pragma unroll 1
        for (int k = 1; k < count; k++) {
            const pair_of<real> next = functions[from + corner_at(g, k) + at];
            const real part = sh->part[j][k];
            c.re += part * next.re;
            c.im += part * next.im;
        }
    }
    return TURNED ? pair_of<real>{c.re * turn.re - c.im * turn.im, c.re * turn.im + c.im * turn.re}
                  : c;
}

template <typename real, bool TURNED>
__device__ __forceinline__ complex_number<real> turn_of(const convolved<real> *sh, int j, int x,
                                                        int y)
{
    complex_number<real> one = {1, 0};

    return TURNED ? phasor<real>(sh->turns[0][j] + x * sh->turns[1][j] + y * sh->turns[2][j]) : one;
}
} // namespace

#endif
