// The sum over sources of left * (brightness, phase, shape, smearing) * right where Jones terms
// vary with the source or channels are not equally spaced, and plainly for anything. Sources pass
// through shared memory, and each thread keeps the sums of its row and its group of channels in
// registers: 8, in double and without Jones terms inside 4.
//
// Operations for a source-visibility with Jones terms inside: 9 where nothing but the phase varies
// with the channel, since channels at the same distance from the middle are summed as a pair; 28
// where shape and smearing in time do, too, in single precision; else 4 the recurrence, 16 the sum,
// 2 shapes or smearing, 8 smearing in time; for a source and group: 35 phase and step, 9 of them in
// double, 64 the products left B right (with each channel where terms vary with it), 12 smearing in
// frequency. Jones terms are loaded once for a group, 2 x 8 numbers. Where every phase is
// evaluated: 18 each, 2 the sum (16 with polarised brightness).
#include "predict_pairs_cuda.h"

namespace
{
enum { CHUNK = 32 };
// Number of sources after which the sums of a thread go to double.
enum { FLUSH = 16 * CHUNK };

// Sources in shared memory, as all rows of a block need them.
template <typename real, int GROUP> struct chunk {
    double direction[CHUNK][3]; // (l, m, n - 1) / c, s/m
    double ellipse[CHUNK][6];   // see grove_find_ellipse; the last is not used
    int gaussian[CHUNK];
    complex_number<real> weight[CHUNK][GROUP][4];
    int any;     // of has_rows
    int general; // some brightness of the chunk is not a real number times unity
    double freq[GROUP], width[GROUP];
    int regular, equal_width;
};

// ---- sources into shared memory, by all threads of the block ----

template <typename real, int GROUP>
__device__ void load_channels(const place &p, chunk<real, GROUP> *c)
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

template <typename real, int GROUP>
__device__ void load_source(const place &p, chunk<real, GROUP> *c, int i, int64_t source)
{
    const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, source, 0);
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source, 0);

    for (int d = 0; d < 3; d++)
        c->direction[i][d] = lmn[d] / GROVE_SPEED_OF_LIGHT;
    c->gaussian[i] = shape && grove_is_gaussian(shape);
    if (c->gaussian[i])
        find_ellipse(p.args, shape, c->ellipse[i]);
}

template <typename real, int GROUP>
__device__ void load_chunk(const place &p, chunk<real, GROUP> *c, int64_t source, int count)
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
        if (!is_number(b))
            atomicExch(&c->general, 1);
    }
    __syncthreads();
}

// ---- the sums of a thread ----

template <typename real, int GROUP> struct sums {
    complex_number<real> element[4][GROUP], both[GROUP]; // both: of XX and of YY
};

template <typename real>
__device__ __forceinline__ matrix_number<real>
between_jones(const place &p, const complex_number<real> b[4], int64_t source, int k)
{
    matrix_number<real> m = {{b[0], b[1], b[2], b[3]}};

    return matrix_at<real>(&p.args->in[GROVE_PREDICT_LEFT],
                           cell_at(p, GROVE_PREDICT_LEFT, source, k)) *
           m *
           matrix_at<real>(&p.args->in[GROVE_PREDICT_RIGHT],
                           cell_at(p, GROVE_PREDICT_RIGHT, source, k));
}

// Factors of shape and smearing that differ between the channels of a group.
template <typename real> struct any_shading {
    bool moving, gaussian, regular;
    double change, extent; // of a source: turns for a Hz; Hz^-2
    real turns, step, root, root_step;
};

template <typename real, int GROUP>
__device__ __forceinline__ real shade_any(const place &p, const chunk<real, GROUP> &c,
                                          const any_shading<real> &s, double delay, int k)
{
    real factor = 1;

    if (p.in[GROVE_PREDICT_WIDTH] && !c.equal_width)
        factor = sinc_of_turns<real>(c.width[k] * delay);
    if (s.moving)
        factor *= s.regular ? sinc_of(s.turns + (real)k * s.step)
                            : sinc_of_turns<real>(c.freq[k] * s.change);
    if (s.gaussian && s.regular) {
        real root = s.root + (real)k * s.root_step;
        factor *= power_of_two(-(root * root));
    } else if (s.gaussian) {
        factor *= exp((real)(-s.extent * c.freq[k] * c.freq[k]));
    }
    return factor;
}

template <typename real, int GROUP>
__device__ __forceinline__ any_shading<real>
find_any_shading(const place &p, const chunk<real, GROUP> &c, const coordinates &x, int i)
{
    const grove_predict_channels *channels = &p.plan->channels;
    double first = channels->first + channels->step * (double)p.channel;
    any_shading<real> s = {};

    s.moving = p.in[GROVE_PREDICT_RATE];
    s.gaussian = c.gaussian[i];
    s.regular = c.regular;
    if (s.moving) {
        s.change = dot(x.change, c.direction[i]);
        s.turns = (real)(first * s.change);
        s.step = (real)(channels->step * s.change);
    }
    if (s.gaussian) {
        s.extent = grove_find_extent(x.uvw, c.ellipse[i]);
        real root = sqrt((real)(s.extent * 1.4426950408889634074));
        s.root = (real)first * root;
        s.root_step = (real)channels->step * root;
    }
    return s;
}

// Adds source i of the chunk, number `source` of all. Jones terms and a brightness that do not vary
// with the channel are multiplied once; a brightness that is a number times unity is a factor.
template <typename real, int GROUP, bool JONES>
__device__ __forceinline__ void add_source(const place &p, const chunk<real, GROUP> &c,
                                           const coordinates &x, int i, int64_t source,
                                           sums<real, GROUP> *sum)
{
    const grove_predict_channels *channels = &p.plan->channels;
    const double delay = dot(x.uvw, c.direction[i]);
    const bool once = JONES && !varies(p, GROVE_PREDICT_LEFT) && !varies(p, GROVE_PREDICT_RIGHT) &&
                      !(c.general && varies(p, GROVE_PREDICT_BRIGHTNESS));
    const complex_number<real> unity[4] = {{1, 0}, {0, 0}, {0, 0}, {1, 0}};
    const any_shading<real> s = find_any_shading(p, c, x, i);
    complex_number<real> z = {}, step = {};
    matrix_number<real> b;
    real scale = 1;

    if (c.regular) {
        z = phasor<real>(-(channels->first + channels->step * (double)p.channel) * delay);
        step = phasor_of_half_turns<real>(-2 * channels->step, delay);
    }
    if (p.in[GROVE_PREDICT_WIDTH] && c.equal_width)
        scale = sinc_of<real>((real)(c.width[0] * delay));
    if (once)
        b = between_jones<real>(p, c.general ? c.weight[i][p.first] : unity, source, p.first);
#pragma unroll
    for (int k = 0; k < GROUP; k++) {
        const complex_number<real> *w = c.weight[i][k];
        real factor = scale * shade_any(p, c, s, delay, k);
        if (!c.regular)
            z = phasor_of_half_turns<real>(-2 * c.freq[k], delay);
        if (once && !c.general)
            factor *= w[0].re;
        complex_number<real> v = {z.re * factor, z.im * factor};
        if (JONES) {
            if (!once && k >= p.first && k < p.last)
                b = between_jones<real>(p, w, source, k);
            if (once || (k >= p.first && k < p.last))
                for (int e = 0; e < 4; e++)
                    add_product(&sum->element[e][k], v, b.element[e]);
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

// Totals are used rarely: they lie in memory and leave the registers to the sums, which pass
// through memory too.
template <typename real, int GROUP>
__device__ __forceinline__ void flush(const sums<real, GROUP> &sum, totals<GROUP> *total)
{
    volatile real staged[4][GROUP][2];

#pragma unroll
    for (int k = 0; k < GROUP; k++)
        for (int e = 0; e < 4; e++) {
            bool diagonal = e == 0 || e == 3;
            staged[e][k][0] = sum.element[e][k].re + (diagonal ? sum.both[k].re : 0);
            staged[e][k][1] = sum.element[e][k].im + (diagonal ? sum.both[k].im : 0);
        }
    add_to_totals<8 * GROUP>(&total->element[0][0].re, &staged[0][0][0]);
}

template <typename real, int GROUP, bool JONES>
__device__ __forceinline__ void sum_sources(const place &p, chunk<real, GROUP> *c)
{
    const coordinates x = find_coordinates(p);
    totals<GROUP> total = {};

    load_channels(p, c);
#pragma unroll 1
    for (int64_t first = 0; first < p.sources; first += FLUSH) {
        int64_t end = first + FLUSH < p.sources ? first + FLUSH : p.sources;
        sums<real, GROUP> sum = {};
#pragma unroll 1
        for (int64_t source = first; source < end; source += CHUNK) {
            int count = end - source < CHUNK ? (int)(end - source) : (int)CHUNK;
            load_chunk(p, c, source, count);
#pragma unroll 1
            for (int i = 0; i < count && p.row; i++)
                add_source<real, GROUP, JONES>(p, *c, x, i, source + i, &sum);
        }
        flush(sum, &total);
    }
    if (JONES)
        put_totals(p, total);
    for (int k = p.first; !JONES && k < p.last && p.row; k++)
        put_around(p, k, total_of(total, k));
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
            factor *=
                exp(-grove_gaussian(uvw, shape, in[GROVE_PREDICT_SHAPE].elements) * freq * freq);
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

template <typename real, int GROUP>
__device__ __forceinline__ void predict_irregular(const grove_args *args, chunk<real, GROUP> *c)
{
    int64_t tasks = count_tasks(args, GROUP);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        place p;
        if (!has_rows(args, task, GROUP, &c->any))
            continue;
        find_place(&p, args, task, GROUP);
        sum_sources<real, GROUP, false>(p, c);
    }
}

template <typename real, int GROUP>
__device__ __forceinline__ void predict_group(const place &p, pair_chunk<real> *c)
{
    if constexpr (sizeof(real) == sizeof(float))
        if (p.in[GROVE_PREDICT_RATE] || c->shaded) {
            sum_group<real, GROUP, true>(p, c);
            return;
        }
    sum_group<real, GROUP, false>(p, c);
}

// WIDE: channels of a group, if the axis has more than GROUP. Factors of channels in double
// precision would not fit the registers. Places are found again where they are needed, which leaves
// registers to the sums.
template <typename real, int GROUP, int WIDE>
__device__ __forceinline__ bool predict_equal_channels(const grove_args *args, int64_t task,
                                                       pair_chunk<real> *pairs)
{
    place p;

    if (sizeof(real) == sizeof(double) && args->in[GROVE_PREDICT_RATE].data)
        return false;
    find_place(&p, args, task, WIDE);
    if (!are_equal_channels(p, pairs) || (sizeof(real) == sizeof(double) && pairs->shaded))
        return false;
    if (p.plan->count > GROUP)
        predict_group<real, WIDE>(p, pairs);
    else if (p.plan->count > 1)
        predict_group<real, GROUP>(p, pairs);
    else
        predict_group<real, 1>(p, pairs);
    return true;
}

template <typename real, int GROUP, int WIDE>
__device__ __forceinline__ void predict_jones(const grove_args *args, chunk<real, GROUP> *c,
                                              pair_chunk<real> *pairs)
{
    const bool each = sizeof(real) == sizeof(double) && args->in[GROVE_PREDICT_RATE].data;
    int64_t tasks = each ? count_tasks(args, GROUP) : count_tasks(args, WIDE);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        if (!has_rows(args, task, each ? GROUP : WIDE, &c->any) ||
            predict_equal_channels<real, GROUP, WIDE>(args, task, pairs))
            continue;
#pragma unroll 1
        for (int base = 0; base < (each ? GROUP : WIDE); base += GROUP) {
            place p;
            if (each)
                find_place(&p, args, task, GROUP);
            else
                find_place(&p, args, task, WIDE);
            p.channel += base;
            p.offset += base;
            p.first = p.first > base ? p.first - base : 0;
            p.last = p.last - base < GROUP ? p.last - base : (int)GROUP;
            if (p.first < p.last)
                sum_sources<real, GROUP, true>(p, c);
        }
    }
}

__device__ __forceinline__ void predict_plainly(const grove_args *args)
{
    const int GROUP = PREDICT_CUDA_GROUP;
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

// Six kernels, so that none needs the registers of another.
#define KERNEL(name)                                                                               \
    extern "C" __global__ void __launch_bounds__(ROWS, resident_blocks(2))                         \
        name(const __grid_constant__ grove_args args)
#define IRREGULAR_KERNEL(name, real)                                                               \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        __shared__ chunk<real, PREDICT_CUDA_GROUP> shared_##name;                                  \
        predict_irregular(&args, &shared_##name);                                                  \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)
#define JONES_KERNEL(name, real, group, wide)                                                      \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        __shared__ chunk<real, group> shared_##name;                                               \
        __shared__ pair_chunk<real> pairs_##name;                                                  \
        predict_jones<real, group, wide>(&args, &shared_##name, &pairs_##name);                    \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)
#define PLAIN_KERNEL(name)                                                                         \
    KERNEL(name)                                                                                   \
    {                                                                                              \
        predict_plainly(&args);                                                                    \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)

IRREGULAR_KERNEL(predict_irregular_single, float)
IRREGULAR_KERNEL(predict_irregular_double, double)
JONES_KERNEL(predict_jones_single, float, PREDICT_CUDA_NARROW, PREDICT_CUDA_PAIRS_SINGLE)
JONES_KERNEL(predict_jones_double, double, PREDICT_CUDA_GROUP, PREDICT_CUDA_PAIRS_DOUBLE)
PLAIN_KERNEL(predict_plain_single)
PLAIN_KERNEL(predict_plain_double)
