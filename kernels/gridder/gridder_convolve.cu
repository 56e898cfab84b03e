// Gridding by convolution functions and back (kernels/convolution/convolution.h).
//
// A block of threads takes some samples of a baseline, channel by channel and back at the next
// time, so that neighbours lie together in the uv plane (Romein 2012). Spreading with functions of
// K x K cells, thread (x, y) owns the cells that are x and y modulo K, of which each sample touches
// exactly one. It sums in registers while that is the same cell of the grid, and adds the sum by an
// atomic operation when the functions of the next samples have left it. Wider functions than a
// block has threads are done a part after the other. So the order of the sums is not fixed.
//
// Collecting, a warp takes a sample, and its lanes some of the cells.
//
// What a visibility costs is counted in bench/RESULTS-gpu-counted.md.
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
    /* Of a thread's sample: what is spread, of each polarisation, or what was collected; the phase;
     * its functions and place, -1: the sample does not count; turns of the gradient: at cell 0, and
     * along u and v. */
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

// nodes/image_plane.h: image_is_within().
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

// Place, functions and turns of a sample; its phase, of which the sine changes sign with w.
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

// What is spread of a sample; it does not count where its cell is -1.
template <typename real>
__device__ void load_sample(const grove_args *args, const grove_convolve_state *g, int32_t n,
                            convolved<real> *sh, double sum[GROVE_CONVOLVE_TOTALS])
{
    const int t = (int)threadIdx.x;
    const found s = sample_at(args, g, n);
    const double weight = weight_at(args, &g->samples, s.at);
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

/* ---- spreading ---- */

// Adds a thread's sums to its cell of each grid, and clears them.
template <typename real, int IMAGES>
__device__ __forceinline__ void put_sums(const grove_args *args, const grove_convolve_state *g,
                                         int32_t cell, pair_of<real> sum[IMAGES])
{
    const int64_t cells = (int64_t)g->samples.cells[0] * g->samples.cells[1];
    pair_of<real> *grid = (pair_of<real> *)args->out.data;

    for (int r = 0; r < IMAGES; r++) {
        if (cell >= 0 && r < g->images) {
            atomicAdd(&grid[r * cells + cell].re, sum[r].re);
            atomicAdd(&grid[r * cells + cell].im, sum[r].im);
        }
        sum[r] = {0, 0};
    }
}

// Adds sample j, at cell (x, y) of its function.
template <typename real, int IMAGES, int COUNT, bool TURNED, bool LINEAR>
__device__ __forceinline__ void
add_sample(const grove_convolve_state *g, const pair_of<real> *functions, const convolved<real> *sh,
           int j, int x, int y, pair_of<real> sum[IMAGES])
{
    const complex_number<real> turn = turn_of<real, TURNED>(sh, j, x, y);
    const int at = y * g->samples.width + x, count = COUNT == 1 ? 1 : g->samples.polarisations;

#pragma unroll 1
    for (int k = 0; k < count; k++) {
        const pair_of<real> value = sh->value[j][k];
        const origins from = sh->from[j][k];
        for (int r = 0; r < IMAGES; r++) {
            if (from.of[r] < 0)
                continue;
            const pair_of<real> c =
                number_of<real, TURNED, LINEAR>(g, functions, sh, j, from.of[r], at, turn);
            sum[r].re += c.re * value.re - c.im * value.im;
            sum[r].im += c.re * value.im + c.im * value.re;
        }
    }
}

// Adds `count` samples that are loaded, of at most so many images and polarisations.
template <typename real, int IMAGES, int COUNT, bool TURNED, bool LINEAR>
__device__ void spread_samples(const grove_args *args, const grove_convolve_state *g, int count,
                               const convolved<real> *sh)
{
    const pair_of<real> *functions = (const pair_of<real> *)args->in[GROVE_CONVOLVE_FUNCTIONS].data;
    const int width = g->samples.width, row = g->samples.cells[0];

#pragma unroll 1
    for (int own = (int)threadIdx.x; own < width * width; own += BLOCK) {
        const int own_x = own % width, own_y = own / width;
        pair_of<real> sum[IMAGES] = {};
        int32_t cell = -1;
#pragma unroll 1
        for (int j = 0; j < count; j++) {
            const spot begin = sh->at[j];
            if (begin.cell < 0)
                continue;
            int x = own_x - begin.u, y = own_y - begin.v;
            x += x < 0 ? width : 0;
            y += y < 0 ? width : 0;
            const int32_t next = begin.cell + y * row + x;
            if (next != cell)
                put_sums<real, IMAGES>(args, g, cell, sum);
            cell = next;
            add_sample<real, IMAGES, COUNT, TURNED, LINEAR>(g, functions, sh, j, x, y, sum);
        }
        put_sums<real, IMAGES>(args, g, cell, sum);
    }
}

// The same with linear interpolation.
template <typename real>
__device__ void spread_means(const grove_args *args, const grove_convolve_state *g, int count,
                             const convolved<real> *sh)
{
    if (args->in[GROVE_CONVOLVE_GRADIENT].data)
        spread_samples<real, MOST, MOST, true, true>(args, g, count, sh);
    else if (g->images == 1 && g->samples.polarisations == 1)
        spread_samples<real, 1, 1, false, true>(args, g, count, sh);
    else
        spread_samples<real, MOST, MOST, false, true>(args, g, count, sh);
}

// The sum over all threads of the block, which thread 0 has.
template <typename real> __device__ double sum_of_block(double x, convolved<real> *sh)
{
    for (int by = 16; by > 0; by /= 2)
        x += __shfl_down_sync(0xffffffffu, x, (unsigned)by);
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        sh->sum[threadIdx.x / 32] = x;
    __syncthreads();
    x = 0;
    for (int k = 0; k < WARPS; k++)
        x += sh->sum[k];
    return x;
}

template <typename real>
__device__ void spread_piece(const grove_args *args, const grove_convolve_state *g, int64_t piece,
                             int32_t samples, convolved<real> *sh)
{
    const int32_t end = samples - PIECE * piece < PIECE ? samples : (int32_t)(PIECE * (piece + 1));
    const bool turned = args->in[GROVE_CONVOLVE_GRADIENT].data;
    double sum[GROVE_CONVOLVE_TOTALS] = {};

#pragma unroll 1
    for (int32_t n = (int32_t)(PIECE * piece); n < end; n += BLOCK) {
        const int count = end - n < BLOCK ? end - n : BLOCK;
        if ((int)threadIdx.x < count)
            load_sample<real>(args, g, n + (int)threadIdx.x, sh, sum);
        __syncthreads();
        if (g->linear)
            spread_means<real>(args, g, count, sh);
        else if (turned)
            spread_samples<real, MOST, MOST, true, false>(args, g, count, sh);
        else if (g->images == 1 && g->samples.polarisations == 1)
            spread_samples<real, 1, 1, false, false>(args, g, count, sh);
        else if (g->images == 1)
            spread_samples<real, 1, MOST, false, false>(args, g, count, sh);
        else
            spread_samples<real, MOST, MOST, false, false>(args, g, count, sh);
        __syncthreads();
    }
    for (int k = 0; k < GROVE_CONVOLVE_TOTALS; k++) {
        const double all = sum_of_block<real>(sum[k], sh);
        if (threadIdx.x == 0)
            ((double *)args->in[GROVE_GRIDDER_SUMS].data)[GROVE_CONVOLVE_TOTALS * piece + k] = all;
    }
}

/* ---- collecting ---- */

// A lane's part of sample j: the conjugate numbers of its functions times the cells.
template <typename real, int COUNT, bool TURNED, bool LINEAR>
__device__ void collect_cells(const grove_args *args, const grove_convolve_state *g,
                              const convolved<real> *sh, int j, real sum[2 * COUNT])
{
    const int width = g->samples.width, lane = (int)threadIdx.x % 32;
    const int64_t cells = (int64_t)g->samples.cells[0] * g->samples.cells[1];
    const pair_of<real> *grid = (const pair_of<real> *)args->in[GROVE_CONVOLVE_GRIDS].data;
    const pair_of<real> *functions = (const pair_of<real> *)args->in[GROVE_CONVOLVE_FUNCTIONS].data;
    int x = lane % width, y = lane / width;

#pragma unroll 1
    for (int at = lane; at < width * width; at += 32) {
        const complex_number<real> turn = turn_of<real, TURNED>(sh, j, x, y);
        const pair_of<real> *cell = grid + (sh->at[j].cell + y * g->samples.cells[0] + x);
#pragma unroll 1
        for (int r = 0; r < g->images; r++, cell += cells) {
            const pair_of<real> z = *cell;
            for (int k = 0; k < COUNT; k++) {
                const int32_t from = sh->from[j][k].of[r];
                if (from < 0)
                    continue;
                const pair_of<real> c =
                    number_of<real, TURNED, LINEAR>(g, functions, sh, j, from, at, turn);
                sum[2 * k] += c.re * z.re + c.im * z.im;
                sum[2 * k + 1] += c.re * z.im - c.im * z.re;
            }
        }
        x += 32 % width;
        y += 32 / width + (x >= width);
        x -= x >= width ? width : 0;
    }
}

// A warp takes half of the samples, one of four polarisations at a time, or four of one.
template <typename real, int COUNT, bool TURNED, bool LINEAR>
__device__ void collect_samples(const grove_args *args, const grove_convolve_state *g, int count,
                                convolved<real> *sh)
{
    enum { AT_ONCE = MOST / COUNT, OWN = BLOCK / WARPS };
    const int begin = (int)threadIdx.x / 32 * OWN, end = begin + OWN < count ? begin + OWN : count;
    const int lane = (int)threadIdx.x % 32;

#pragma unroll 1
    for (int j = begin; j < end; j += AT_ONCE) {
        real x[2 * MOST] = {};
        for (int k = 0; k < AT_ONCE; k++)
            if (j + k < end && sh->at[j + k].cell >= 0)
                collect_cells<real, COUNT, TURNED, LINEAR>(args, g, sh, j + k, x + 2 * COUNT * k);
        const real all = sum_of_warp<real>(x);
        const int which = lane / 8 / COUNT, pol = lane / 8 % COUNT;
        if (lane % 4 == 0 && j + which < end)
            (lane & 4 ? sh->value[j + which][pol].im : sh->value[j + which][pol].re) = all;
    }
}

template <typename real>
__device__ void collect_any(const grove_args *args, const grove_convolve_state *g, int count,
                            convolved<real> *sh)
{
    const bool turned = args->in[GROVE_CONVOLVE_GRADIENT].data;

    if (g->linear && turned)
        collect_samples<real, MOST, true, true>(args, g, count, sh);
    else if (g->linear && g->samples.polarisations == 1)
        collect_samples<real, 1, false, true>(args, g, count, sh);
    else if (g->linear)
        collect_samples<real, MOST, false, true>(args, g, count, sh);
    else if (turned)
        collect_samples<real, MOST, true, false>(args, g, count, sh);
    else if (g->samples.polarisations == 1)
        collect_samples<real, 1, false, false>(args, g, count, sh);
    else
        collect_samples<real, MOST, false, false>(args, g, count, sh);
}

// Writes the sample of a thread.
template <typename real>
__device__ void write_sample(const grove_args *args, const grove_convolve_state *g, int32_t n,
                             const convolved<real> *sh)
{
    const int t = (int)threadIdx.x;
    const found s = sample_at(args, g, n);
    char *to = (char *)args->out.data +
               offset_of(&args->out, g->samples.axis, s.at.time, s.at.baseline, s.at.channel);

#pragma unroll 1
    for (int k = 0; k < g->samples.polarisations; k++) {
        const pair_of<real> a = sh->value[t][k], b = sh->phase[t];
        const bool counts = sh->at[t].cell >= 0;
        const real re = counts ? a.re * b.re + a.im * b.im : 0,
                   im = counts ? (a.im * b.re - a.re * b.im) * (real)s.sign : 0;
        if (args->out.bytes == 8)
            ((pair_of<double> *)(void *)to)[k] = {(double)re, (double)im};
        else
            ((pair_of<float> *)(void *)to)[k] = {(float)re, (float)im};
    }
}

template <typename real>
__device__ void collect_piece(const grove_args *args, const grove_convolve_state *g, int64_t piece,
                              int32_t samples, convolved<real> *sh)
{
    const int32_t end = samples - PIECE * piece < PIECE ? samples : (int32_t)(PIECE * (piece + 1));
    const int t = (int)threadIdx.x;

#pragma unroll 1
    for (int32_t n = (int32_t)(PIECE * piece); n < end; n += BLOCK) {
        const int count = end - n < BLOCK ? end - n : BLOCK;
        if (t < count) {
            const found s = sample_at(args, g, n + t);
            if (!is_within(g, s) || !prepare<real>(args, g, s, t, sh))
                sh->at[t].cell = -1;
        }
        __syncthreads();
        collect_any<real>(args, g, count, sh);
        __syncthreads();
        if (t < count)
            write_sample<real>(args, g, n + t, sh);
        __syncthreads();
    }
}

/* ---- functions and grids ---- */

// Number i of the functions, [plane][q v][q u][Y][X], from rows of fine samples.
template <typename real> __device__ void arrange(const grove_args *args, int64_t i)
{
    const grove_convolve_arrange_state *g =
        (const grove_convolve_arrange_state *)(const void *)args->state.bytes;
    const uint32_t width = (uint32_t)g->support, each = (uint32_t)g->stride, fine = width * each;
    const int64_t plane = i / ((int64_t)fine * fine);
    const uint32_t at = (uint32_t)(i - plane * fine * fine), cell = at % (width * width),
                   block = at / (width * width);
    const int64_t from = (int64_t)(each * (cell / width) + block / each) * fine +
                         each * (cell % width) + block % each;

    ((pair_of<real> *)args->out.data)[i] =
        *(const pair_of<real> *)(const void *)((const char *)args->in[GROVE_GRIDDER_FROM].data +
                                               plane * g->step[0] + from * g->step[1]);
}

// The sum of the numbers of block i.
template <typename real> __device__ void norm(const grove_args *args, int64_t i)
{
    const grove_convolve_arrange_state *g =
        (const grove_convolve_arrange_state *)(const void *)args->state.bytes;
    const int32_t cells = g->support * g->support;
    const pair_of<real> *from =
        (const pair_of<real> *)args->in[GROVE_GRIDDER_FROM].data + i * cells;
    double re = 0, im = 0;

#pragma unroll 1
    for (int32_t k = 0; k < cells; k++) {
        re += (double)from[k].re;
        im += (double)from[k].im;
    }
    ((pair_of<double> *)args->out.data)[i] = {re, im};
}

// Cell i: Stokes parameters from images, or images from Stokes parameters.
template <typename real> __device__ void mix_cells(const grove_args *args, int64_t i)
{
    const grove_convolve_mix_state *g =
        (const grove_convolve_mix_state *)(const void *)args->state.bytes;
    const double *matrix = (const double *)args->in[GROVE_GRIDDER_TABLE].data;
    const int64_t y = i / g->row.size, x = i % g->row.size;
    const char *from =
        (const char *)args->in[GROVE_GRIDDER_FROM].data + x * g->from_step[0] + y * g->from_step[1];
    char *to = (char *)args->out.data + x * g->to_step[0] + y * g->to_step[1];

#pragma unroll 1
    for (int m = 0; m < g->count[1]; m++) {
        complex_number<real> sum = {0, 0};
#pragma unroll 1
        for (int k = 0; k < g->count[0]; k++) {
            const pair_of<real> z =
                *(const pair_of<real> *)(const void *)(from + k * g->from_step[2]);
            const real re = (real)matrix[2 * (m * MOST + k)],
                       im = (real)matrix[2 * (m * MOST + k) + 1];
            sum.re += re * z.re - im * z.im;
            sum.im += re * z.im + im * z.re;
        }
        *(pair_of<real> *)(void *)(to + m * g->to_step[2]) = {sum.re, sum.im};
    }
}
} // namespace

#define SAMPLES_KERNEL(name, precision, real)                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                            \
        gridder_convolve_##name##_##precision(const __grid_constant__ grove_args args)             \
    {                                                                                              \
        __shared__ convolved<real> memory_##name##_##precision;                                    \
        const grove_convolve_state *g = grove_convolve_state_of(&args);                            \
        const int32_t samples = g->times * g->samples.baselines * g->samples.channels;             \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = blockIdx.x; i < g->samples.pieces; i += gridDim.x)    \
            name##_piece<real>(&args, g, i, samples, &memory_##name##_##precision);                \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_convolve_##name##_##precision)

#define ITEMS_KERNEL(name, precision, real)                                                        \
    extern "C" __global__ void gridder_convolve_##name##_##precision(                              \
        const __grid_constant__ grove_args args)                                                   \
    {                                                                                              \
        const int64_t count = args.size[0], step = (int64_t)gridDim.x * blockDim.x;                \
                                                                                                   \
        _Pragma("unroll 1") for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;       \
                                 i < count; i += step) name<real>(&args, i);                       \
    }                                                                                              \
    GROVE_CUDA_EXPORT(gridder_convolve_##name##_##precision)

SAMPLES_KERNEL(spread, single, float)
SAMPLES_KERNEL(spread, double, double)
SAMPLES_KERNEL(collect, single, float)
SAMPLES_KERNEL(collect, double, double)
ITEMS_KERNEL(arrange, single, float)
ITEMS_KERNEL(arrange, double, double)
ITEMS_KERNEL(norm, single, float)
ITEMS_KERNEL(norm, double, double)
ITEMS_KERNEL(mix_cells, single, float)
ITEMS_KERNEL(mix_cells, double, double)
