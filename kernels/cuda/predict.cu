// The sum over sources of left * (brightness, phase, shape, smearing) * right where Jones terms
// vary with the source or channels are not equally spaced, and plainly for anything. Sources pass
// through shared memory, and each thread keeps the sums of its row and its group of channels in
// registers.
#include "predict_place.h"

namespace
{
enum { GROUP = PREDICT_CUDA_GROUP, CHUNK = 32 };
// After so many sources the sums of a thread go to double.
enum { FLUSH = 16 * CHUNK };

// Sources in shared memory, as all rows of a block need them.
template <typename real> struct chunk {
    double direction[CHUNK][3]; // (l, m, n - 1) / c, s/m
    double ellipse[CHUNK][4]; // visibilities fall as exp(-nu^2 ((u a0 + v a1)^2 + (u a2 + v a3)^2))
    int gaussian[CHUNK];
    complex_number<real> weight[CHUNK][GROUP][4];
    int general; // a brightness here is not a real number times unity
    double freq[GROUP], width[GROUP];
    int regular, equal_width;
};

// ---- sources into shared memory, by all threads of the block ----

template <typename real> __device__ void load_channels(const place &p, chunk<real> *c)
{
    const grove_predict_channels *channels = &p.plan->channels;
    int k = threadIdx.x;

    __syncthreads();
    if (k == 0) {
        c->regular = channels->regular && p.freq >= 0;
        c->equal_width = 1;
    }
    __syncthreads();
    if (k < GROUP) {
        int inside = k < p.first ? p.first : k >= p.last ? p.last - 1 : k;
        double freq = *doubles_at(p, GROVE_PREDICT_FREQ, 0, inside);
        double equal = channels->first + channels->step * (double)(p.channel + inside);
        const double *width = doubles_at(p, GROVE_PREDICT_WIDTH, 0, inside);
        c->freq[k] = freq;
        c->width[k] = width ? *width : 0;
        if (!(fabs(freq - equal) <= 1e-15 * fabs(equal)))
            atomicExch(&c->regular, 0);
        if (width && (!p.plan->equal_width || *width != p.plan->width))
            atomicExch(&c->equal_width, 0);
    }
    __syncthreads();
}

template <typename real>
__device__ void load_source(const place &p, chunk<real> *c, int i, int64_t source)
{
    const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, source, 0);
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source, 0);

    for (int d = 0; d < 3; d++)
        c->direction[i][d] = lmn[d] / GROVE_SPEED_OF_LIGHT;
    c->gaussian[i] = shape && grove_is_gaussian(shape);
    if (c->gaussian[i])
        find_ellipse(shape, c->ellipse[i]);
}

template <typename real>
__device__ void load_chunk(const place &p, chunk<real> *c, int64_t source, int count)
{
    __syncthreads();
    if (threadIdx.x == 0)
        c->general = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += ROWS)
        load_source(p, c, i, source + i);
    for (int n = threadIdx.x; n < count * GROUP; n += ROWS) {
        int i = n / GROUP, k = n % GROUP;
        matrix_number<real> b = {};
        if (k >= p.first && k < p.last)
            b = matrix_at<real>(&p.args->in[GROVE_PREDICT_BRIGHTNESS],
                                cell_at(p, GROVE_PREDICT_BRIGHTNESS, source + i, k));
        for (int e = 0; e < 4; e++)
            c->weight[i][k][e] = b.element[e];
        if (b.element[0].re != b.element[3].re || b.element[0].im != 0 || b.element[3].im != 0 ||
            b.element[1].re != 0 || b.element[1].im != 0 || b.element[2].re != 0 ||
            b.element[2].im != 0)
            atomicExch(&c->general, 1);
    }
    __syncthreads();
}

// ---- the sums of a thread ----

template <typename real> struct sums {
    complex_number<real> element[4][GROUP], both[GROUP]; // both: of XX and of YY
};

struct totals {
    complex_number<double> element[4][GROUP];
};

// Adds source i of the chunk, number `source` of all.
template <typename real, bool JONES>
__device__ __forceinline__ void add_source(const place &p, const chunk<real> &c,
                                           const coordinates &x, int i, int64_t source,
                                           sums<real> *sum)
{
    const double delay = dot(x.uvw, c.direction[i]);
    const bool wide = p.in[GROVE_PREDICT_WIDTH], moving = p.in[GROVE_PREDICT_RATE];
    complex_number<real> z = {}, step = {};
    real scale = 1;
    double change = moving ? dot(x.change, c.direction[i]) : 0, extent = 0;

    if (c.regular) {
        const grove_predict_channels *channels = &p.plan->channels;
        z = phasor<real>(-(channels->first + channels->step * (double)p.channel) * delay);
        step = phasor<real>(-channels->step * delay);
    }
    if (wide && c.equal_width)
        scale = sinc_of_turns<real>(c.width[0] * delay);
    if (c.gaussian[i])
        extent = find_extent(x.uvw, c.ellipse[i]);
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        const complex_number<real> *w = c.weight[i][k];
        real factor = scale;
        if (!c.regular)
            z = phasor<real>(-c.freq[k] * delay);
        if (wide && !c.equal_width)
            factor *= sinc_of_turns<real>(c.width[k] * delay);
        if (moving)
            factor *= sinc_of_turns<real>(c.freq[k] * change);
        if (c.gaussian[i])
            factor *= exp((real)(-extent * c.freq[k] * c.freq[k]));
        complex_number<real> v = {z.re * factor, z.im * factor};
        if (JONES) {
            if (k >= p.first && k < p.last) {
                matrix_number<real> b = {{w[0], w[1], w[2], w[3]}};
                b = matrix_at<real>(&p.args->in[GROVE_PREDICT_LEFT],
                                    cell_at(p, GROVE_PREDICT_LEFT, source, k)) *
                    b *
                    matrix_at<real>(&p.args->in[GROVE_PREDICT_RIGHT],
                                    cell_at(p, GROVE_PREDICT_RIGHT, source, k));
                for (int e = 0; e < 4; e++)
                    add_product(&sum->element[e][k], v, b.element[e]);
            }
        } else if (c.general) {
            for (int e = 0; e < 4; e++)
                add_product(&sum->element[e][k], v, w[e]);
        } else if (sizeof(real) == sizeof(double)) { // registers are dearer than these sums
            for (int e = 0; e < 4; e += 3) {
                sum->element[e][k].re += v.re * w[0].re;
                sum->element[e][k].im += v.im * w[0].re;
            }
        } else {
            sum->both[k].re += v.re * w[0].re;
            sum->both[k].im += v.im * w[0].re;
        }
        z = z * step;
    }
}

template <typename real> __device__ void flush(sums<real> *sum, totals *total)
{
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
#pragma unroll
        for (int e = 0; e < 4; e++) {
            bool diagonal = e == 0 || e == 3;
            total->element[e][k].re +=
                (double)sum->element[e][k].re + (diagonal ? (double)sum->both[k].re : 0);
            total->element[e][k].im +=
                (double)sum->element[e][k].im + (diagonal ? (double)sum->both[k].im : 0);
        }
    }
    *sum = {};
}

template <typename real, bool JONES>
__device__ __forceinline__ void sum_sources(const place &p, chunk<real> *c, totals *total)
{
    const coordinates x = find_coordinates(p);
    sums<real> sum = {};

    load_channels(p, c);
    for (int64_t source = 0; source < p.sources; source += CHUNK) {
        int count = p.sources - source < CHUNK ? (int)(p.sources - source) : (int)CHUNK;
        load_chunk(p, c, source, count);
        for (int i = 0; i < count && p.row; i++)
            add_source<real, JONES>(p, *c, x, i, source + i, &sum);
        if ((source + CHUNK) % FLUSH == 0)
            flush(&sum, total);
    }
    flush(&sum, total);
}

// Anything: every input may vary along every axis.
__device__ void sum_plainly(const place &p, int k, matrix_number<double> *total)
{
    const grove_view *in = p.args->in;

    for (int64_t s = 0; s < p.sources; s++) {
        const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, s, k);
        const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, s, k);
        const double *uvw = doubles_at(p, GROVE_PREDICT_UVW, s, k);
        const double *rate = doubles_at(p, GROVE_PREDICT_RATE, s, k);
        const double *width = doubles_at(p, GROVE_PREDICT_WIDTH, s, k);
        double freq = *doubles_at(p, GROVE_PREDICT_FREQ, s, k), factor = 1;
        double delay = grove_delay(uvw, lmn);
        complex_number<double> z = phasor<double>(-freq * delay);
        if (shape && grove_is_gaussian(shape))
            factor *= exp(-grove_gaussian(uvw, shape) * freq * freq);
        if (rate)
            factor *= sinc_of_turns<double>(freq * grove_delay(rate, lmn) *
                                            *doubles_at(p, GROVE_PREDICT_INTERVAL, s, k));
        if (width)
            factor *= sinc_of_turns<double>(*width * delay);
        z = {z.re * factor, z.im * factor};
        matrix_number<double> b = matrix_at<double>(&in[GROVE_PREDICT_BRIGHTNESS],
                                                    cell_at(p, GROVE_PREDICT_BRIGHTNESS, s, k));
        b = matrix_at<double>(&in[GROVE_PREDICT_LEFT], cell_at(p, GROVE_PREDICT_LEFT, s, k)) * b *
            matrix_at<double>(&in[GROVE_PREDICT_RIGHT], cell_at(p, GROVE_PREDICT_RIGHT, s, k));
        for (int e = 0; e < 4; e++)
            add_product(&total->element[e], z, b.element[e]);
    }
}

template <typename real, bool JONES>
__device__ __forceinline__ void predict(const grove_args *args, chunk<real> *c)
{
    int64_t tasks = count_tasks(args, GROUP);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        place p;
        totals total = {};
        find_place(&p, args, task, GROUP);
        sum_sources<real, JONES>(p, c, &total);
        for (int k = p.first; k < p.last && p.row; k++) {
            matrix_number<double> m;
            for (int e = 0; e < 4; e++)
                m.element[e] = total.element[e][k];
            if (JONES)
                put_channel(p, k, m);
            else
                put_around(p, k, m);
        }
    }
}

__device__ __forceinline__ void predict_plainly(const grove_args *args)
{
    int64_t tasks = count_tasks(args, GROUP);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        place p;
        find_place(&p, args, task, GROUP);
        for (int k = p.first; k < p.last && p.row; k++) {
            matrix_number<double> m = {};
            sum_plainly(p, k, &m);
            put_channel(p, k, m);
        }
    }
}
} // namespace

// Six kernels, so that none pays for the registers of another.
#define KERNEL(name, real, jones)                                                                  \
    extern "C" __global__ void __launch_bounds__(PREDICT_CUDA_ROWS, 2)                             \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        __shared__ chunk<real> shared_##name;                                                      \
        predict<real, jones>(&args, &shared_##name);                                               \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)
#define PLAIN_KERNEL(name)                                                                         \
    extern "C" __global__ void __launch_bounds__(PREDICT_CUDA_ROWS, 2)                             \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        predict_plainly(&args);                                                                    \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)

KERNEL(predict_irregular_single, float, false)
KERNEL(predict_irregular_double, double, false)
KERNEL(predict_jones_single, float, true)
KERNEL(predict_jones_double, double, true)
PLAIN_KERNEL(predict_plain_single)
PLAIN_KERNEL(predict_plain_double)
