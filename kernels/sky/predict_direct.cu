// The sum over sources for baselines by recurrence along equally spaced channels; Jones terms, if
// any, are around it. A thread has a row and a group of channels. Its sums stay in registers;
// sources pass through shared memory. For a source, phase and step are reduced in double and cost a
// sine and a cosine each; the recurrence starts in the middle of the group and runs both ways: some
// channels by complex products, the others from two before at equal distances, 2 multiply-adds.
//
// Instructions for a source-visibility, in the kernel's precision: 3.3, where channels at the same
// distance from the middle are summed as a pair (9 with polarised brightness); else 2.5 the
// recurrence, 2 the sum (8 with polarised brightness), 5.5 smearing in time; for a source and
// group: 42 phase and step, 9 of them in double, 11 the cosine of a second step where channels are
// no pairs, 12 smearing in frequency.
#include "predict_shade_cuda.h"
#include "predict_sources_cuda.h"
#include "predict_turns_cuda.h"

namespace
{
enum { FLUSH = 8 * CHUNK }; // number of sources after which sums go to double

// How the sources of all chunks are added. PAIRS: weights are the same for all channels, and
// nothing else varies with them but the phase; A and B of the channels k before and after the
// middle are summed, whose visibilities are A - iB and A + iB. EACH: weights and phase vary. MIXED:
// anything.
enum ways { PAIRS, EACH, MIXED };

// A thread's row.
struct frame {
    double uvw[3];
    bool row, moving, flat, wide; // wide: channels are smeared in frequency
    int way;
};

template <typename real, int GROUP, int PARTS> struct sums {
    complex_number<real> of[GROUP * PARTS];
};

template <typename real>
__device__ __forceinline__ complex_number<real> scaled(complex_number<real> z, real factor)
{
    return {z.re * factor, z.im * factor};
}

// sum += z factor. As a function: the compiler would make additions at the ends of branches one
// addition after them, and a multiply-add two instructions.
template <typename real>
__device__ __forceinline__ void add_scaled(complex_number<real> *sum, complex_number<real> z,
                                           real factor)
{
    sum->re = fma(z.re, factor, sum->re);
    sum->im = fma(z.im, factor, sum->im);
}

// Adds z times `factor` and the weights of channel k to its sums.
template <typename real, int PARTS, bool FLAT>
__device__ __forceinline__ void add_channel(complex_number<real> *sum, int k,
                                            complex_number<real> z, real factor, const real *weight)
{
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        real w = factor;
        if (!FLAT)
            w *= weight[k * PARTS + part];
        else if (PARTS > 1)
            w *= weight[part];
        add_scaled(&sum[part], z, w);
    }
}

// Of a source: exp(i phi), from channel to channel, and 2 cos(STRIDE phi), where STRIDE is the
// distance of channels that follow each other by the shorter recurrence.
template <typename real> struct steps {
    complex_number<real> one;
    real cosines;
};

// Chains of that recurrence have four terms on each side of the middle.
template <int GROUP> constexpr int STRIDE = GROUP > 8 ? GROUP / 8 : 1;

// STRIDE times a whole number of half turns is a whole number of turns, where STRIDE is not 1.
template <typename real, int GROUP>
__device__ __forceinline__ steps<real> find_steps(double freq, double delay)
{
    if (GROUP == 1)
        return {};
    const reduced_angle y = reduced(freq, delay);
    const complex_number<real> one = phasor_of<real>(y);
    if (STRIDE<GROUP> == 1)
        return {one, 2 * one.re};
    return {one, 2 * phasor_of_half_turns<real>(STRIDE<GROUP>, y.rest).re};
}

// Adds all channels: STRIDE on each side of the middle by complex products, those farther out at
// that distance from two before.
template <typename real, int GROUP, int PARTS, bool FLAT, int FACTORS>
__device__ __forceinline__ void add_group(sums<real, GROUP, PARTS> *sum, complex_number<real> z,
                                          const steps<real> &step, const shading<real> &s,
                                          const real *weight)
{
    const int middle = GROUP / 2, apart = STRIDE<GROUP>;
    complex_number<real> up = z, down[apart + 1];

    if (GROUP == 1)
        add_channel<real, PARTS, FLAT>(sum->of, 0, z, factor_at<real, FACTORS>(s, 0), weight);
    down[0] = z;
#pragma unroll
    for (int k = 1; k <= apart; k++)
        down[k] = down[k - 1] * complex_number<real>{step.one.re, -step.one.im};
#pragma unroll
    for (int first = 0; first < apart; first++) {
        complex_number<real> before = down[apart - first], after = up;
#pragma unroll
        for (int n = 0; n < middle / apart; n++) {
            const int k = first + n * apart;
            add_channel<real, PARTS, FLAT>(sum->of + (middle + k) * PARTS, middle + k, after,
                                           factor_at<real, FACTORS>(s, k), weight);
            const complex_number<real> z_next = next(step.cosines, after, before);
            before = after;
            after = z_next;
        }
        before = up;
        after = down[apart - first];
#pragma unroll
        for (int n = 1; n <= middle / apart; n++) {
            const int k = first - n * apart;
            add_channel<real, PARTS, FLAT>(sum->of + (middle + k) * PARTS, middle + k, after,
                                           factor_at<real, FACTORS>(s, k), weight);
            const complex_number<real> z_next = next(step.cosines, after, before);
            before = after;
            after = z_next;
        }
        up = up * step.one;
    }
}

// Adds the products of the parts in `z` and `turn` for a pair: real parts of `turn` to A,
// imaginary ones to B.
template <typename real, int PARTS>
__device__ __forceinline__ void add_pair(complex_number<real> *a, complex_number<real> *b,
                                         const complex_number<real> *z, complex_number<real> turn)
{
#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        add_scaled(&a[part], z[part], turn.re);
        add_scaled(&b[part], z[part], turn.im);
    }
}

// Both directions from the middle, by pairs; the first channel has no partner, nor has the middle
// one.
template <typename real, int GROUP, int PARTS>
__device__ __forceinline__ void add_pairs(sums<real, GROUP, PARTS> *sum, complex_number<real> z,
                                          complex_number<real> step, const real *weight)
{
    const int middle = GROUP / 2;
    complex_number<real> turn[middle + 1] = {{1, 0}, step}, parts[PARTS];

#pragma unroll
    for (int part = 0; part < PARTS; part++) {
        complex_number<real> *to = &sum->of[middle * PARTS + part];
        const real w = PARTS > 1 ? weight[part] : 1;
        parts[part] = {z.re * w, z.im * w};
        to->re += parts[part].re;
        to->im += parts[part].im;
    }
#pragma unroll
    for (int k = 1; k <= middle; k++) {
        if (k > 1)
            find_turn<real, GROUP>(turn, k);
        if (k < middle)
            add_pair<real, PARTS>(sum->of + (middle + k) * PARTS, sum->of + (middle - k) * PARTS,
                                  parts, turn[k]);
    }
#pragma unroll
    for (int part = 0; part < PARTS; part++)
        add_product(&sum->of[part], parts[part], turn_at(turn, -middle));
}

// Totals of pairs become totals of channels.
template <int GROUP, int PARTS> __device__ __forceinline__ void part_pairs(double *total)
{
#pragma unroll 1
    for (int n = PARTS; n < GROUP / 2 * PARTS; n++) {
        const int apart = GROUP - 2 * (n / PARTS); // channels
        double *before = total + 2 * n, *after = before + 2 * PARTS * apart;
        complex_number<double> a = {after[0], after[1]}, b = {before[0], before[1]};
        after[0] = a.re - b.im;
        after[1] = a.im + b.re;
        before[0] = a.re + b.im;
        before[1] = a.im - b.re;
    }
}

// With factors of shape and smearing.
template <typename real, int GROUP, int PARTS, bool FLAT, typename shared>
__device__ __forceinline__ void add_shaded(const frame &f, const shared &c, int i,
                                           complex_number<real> z, const steps<real> &step,
                                           sums<real, GROUP, PARTS> *sum)
{
    const shading<real> s = find_shading<real>(f.uvw, f.moving, c, i);

    if (is_near<real, GROUP>(s))
        add_group<real, GROUP, PARTS, FLAT, NEAR>(sum, z, step, s, c.weight[i]);
    else
        add_group<real, GROUP, PARTS, FLAT, ANY>(sum, z, step, s, c.weight[i]);
}

// Of any way but PAIRS.
template <typename real, int GROUP, int PARTS, int WAY, typename shared>
__device__ __forceinline__ void add_alone(const frame &f, const shared &c, int i,
                                          complex_number<real> z, double half_turns,
                                          sums<real, GROUP, PARTS> *sum)
{
    const steps<real> step = find_steps<real, GROUP>(c.step, half_turns);

    if (WAY == EACH) {
        add_group<real, GROUP, PARTS, false, NONE>(sum, z, step, {}, c.weight[i]);
    } else if (f.moving || c.gaussian[i]) {
        if (f.flat)
            add_shaded<real, GROUP, PARTS, true>(f, c, i, z, step, sum);
        else
            add_shaded<real, GROUP, PARTS, false>(f, c, i, z, step, sum);
    } else if (f.flat) {
        add_group<real, GROUP, PARTS, true, NONE>(sum, z, step, {}, c.weight[i]);
    } else {
        add_group<real, GROUP, PARTS, false, NONE>(sum, z, step, {}, c.weight[i]);
    }
}

template <typename real, int GROUP, int PARTS, int WAY, typename shared>
__device__ __forceinline__ void add_source(const frame &f, const shared &c, int i,
                                           sums<real, GROUP, PARTS> *sum)
{
    const double half_turns = dot(f.uvw, c.direction[i]); // for Hz
    complex_number<real> z = phasor_of_half_turns<real>(c.freq, half_turns);

    if (f.wide)
        z = scaled(z, sinc_of<real>((real)(c.width * half_turns)));
    if (PARTS == 1 && (WAY == PAIRS || (WAY == MIXED && f.flat)))
        z = scaled(z, c.weight[i][0]);
    if constexpr (WAY == PAIRS)
        add_pairs<real, GROUP, PARTS>(sum, z, phasor_of_half_turns<real>(c.step, half_turns),
                                      c.weight[i]);
    else
        add_alone<real, GROUP, PARTS, WAY>(f, c, i, z, half_turns, sum);
}

template <typename real, int GROUP, int PARTS, int WAY, typename shared>
__device__ __forceinline__ void add_chunk(const frame &f, const shared &c, int count,
                                          sums<real, GROUP, PARTS> *sum)
{
#pragma unroll 1
    for (int i = 0; i < count && f.row; i++)
        add_source<real, GROUP, PARTS, WAY>(f, c, i, sum);
}

// Totals are used rarely: they lie in memory and leave the registers to the sums, which pass
// through memory too.
template <typename real, int GROUP, int PARTS>
__device__ __forceinline__ void flush(const sums<real, GROUP, PARTS> &sum, double *total)
{
    volatile real staged[2 * GROUP * PARTS];

#pragma unroll
    for (int n = 0; n < GROUP * PARTS; n++) {
        staged[2 * n] = sum.of[n].re;
        staged[2 * n + 1] = sum.of[n].im;
    }
    add_to_totals<2 * GROUP * PARTS>(total, staged);
}

// One pass over the sources, for GROUP channels from `base` of the place's group.
template <typename real, int GROUP, int PARTS, typename shared>
__device__ __forceinline__ void sum_sources(const group_place &p, const frame &f, shared *c,
                                            int base, const pass &what, double *total)
{
#pragma unroll 1
    for (int n = 0; n < 2 * GROUP * PARTS; n++)
        total[n] = 0;
#pragma unroll 1
    for (int64_t first = 0; first < p.sources; first += FLUSH) {
        int64_t end = first + FLUSH < p.sources ? first + FLUSH : p.sources;
        sums<real, GROUP, PARTS> sum = {};
#pragma unroll 1
        for (int64_t source = first; source < end; source += CHUNK) {
            int count = end - source < CHUNK ? (int)(end - source) : (int)CHUNK;
            load_chunk<real, GROUP, PARTS>(p, c, source, count, base, what);
            if (GROUP > 1 && f.way == PAIRS)
                add_chunk<real, GROUP, PARTS, GROUP == 1 ? MIXED : PAIRS>(f, *c, count, &sum);
            else if (GROUP > 1 && f.way == EACH)
                add_chunk<real, GROUP, PARTS, GROUP == 1 ? MIXED : EACH>(f, *c, count, &sum);
            else
                add_chunk<real, GROUP, PARTS, MIXED>(f, *c, count, &sum);
        }
        flush(sum, total);
    }
    if (GROUP > 1 && f.way == PAIRS)
        part_pairs<GROUP, PARTS>(total);
}

// Of the row, and of channel `middle` of the place's group for the block.
template <typename shared> __device__ frame find_frame(const place &p, shared *c, int middle)
{
    const grove_predict_channels *channels = &p.plan->channels;
    const double *width = doubles_at(p, GROVE_PREDICT_WIDTH, 0, p.first);
    coordinates x = find_coordinates(p);
    bool moving = p.in[GROVE_PREDICT_RATE] != nullptr, flat = is_flat(p);
    bool plain = !moving && !(c->kind & HAS_GAUSSIAN);
    frame f = {{x.uvw[0], x.uvw[1], x.uvw[2]},      p.row, moving, flat, width != nullptr,
               !plain ? MIXED : flat ? PAIRS : EACH};

    for (int d = 0; d < 3; d++)
        c->change[d][threadIdx.x] = -0.5 * x.change[d];
    if (threadIdx.x == 0) {
        c->step = channels->step;
        if (channels->regular && p.freq >= 0)
            c->freq = channels->first + channels->step * (double)(p.channel + middle);
        else // groups of one channel
            c->freq = *doubles_at(p, GROVE_PREDICT_FREQ, 0, 0);
        c->width = width ? *width / 2 : 0;
    }
    return f;
}

// Part n of the brightness times the sum of channel k goes to its elements.
__device__ void add_part(matrix_number<double> *m, int part, double re, double im, bool hermitian)
{
    complex_number<double> z = {re, im}, turned = {-im, re}, *to = &m->element[part / 2];

    *to = part % 2 ? complex_number<double>{to->re + turned.re, to->im + turned.im}
                   : complex_number<double>{to->re + z.re, to->im + z.im};
    if (hermitian && part == 2)
        m->element[2] = {m->element[2].re + re, m->element[2].im + im};
    if (hermitian && part == 3)
        m->element[2] = {m->element[2].re - turned.re, m->element[2].im - turned.im};
}

template <typename real, int GROUP, typename shared>
__device__ __forceinline__ void sum_unity(const grove_args *args, int64_t task, shared *c)
{
    double total[2 * GROUP];
    group_place group;
    frame f;

    {
        place p;
        find_place(&p, args, task, GROUP);
        f = find_frame(p, c, GROUP / 2);
    }
    find_group(&group, args, task, GROUP);
    sum_sources<real, GROUP, 1>(group, f, c, 0, pass{{0}}, total);
    place p;
    find_place(&p, args, task, GROUP);
    for (int k = p.first; k < p.last && p.row; k++) {
        matrix_number<double> m = {};
        m.element[0] = m.element[3] = {total[2 * k], total[2 * k + 1]};
        put_around(p, k, m);
    }
}

// FEW channels from `base` of a group of GROUP.
template <typename real, int GROUP, int FEW, typename shared>
__device__ __forceinline__ void sum_polarised(const grove_args *args, int64_t task, shared *c,
                                              int base, bool hermitian)
{
    const pass passes[3] = {{{0, 6, 2, 3}}, {{0, 2, 4, 6}}, {{1, 3, 5, 7}}};
    double total[8 * FEW];
    matrix_number<double> m[FEW] = {};
    group_place group;
    frame f;

    __syncthreads();
    {
        place p;
        find_place(&p, args, task, GROUP);
        f = find_frame(p, c, base + FEW / 2);
    }
    find_group(&group, args, task, GROUP);
#pragma unroll 1
    for (int n = hermitian ? 0 : 1; n < (hermitian ? 1 : 3); n++) {
        sum_sources<real, FEW, 4>(group, f, c, base, passes[n], total);
        for (int k = 0; k < FEW * 4; k++)
            add_part(&m[k / 4], passes[n].part[k % 4], total[2 * k], total[2 * k + 1], hermitian);
    }
    place p;
    find_place(&p, args, task, GROUP);
    for (int k = 0; k < FEW && p.row; k++)
        if (base + k >= p.first && base + k < p.last)
            put_around(p, base + k, m[k]);
}

// FEW: channels whose four sums stay in registers.
template <typename real, int GROUP, int FEW, typename shared>
__device__ __forceinline__ void predict(const grove_args *args, shared *c)
{
    int64_t tasks = count_tasks(args, GROUP);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        group_place group;
        if (!has_rows(args, task, GROUP, &c->any))
            continue;
        find_group(&group, args, task, GROUP);
        int kind = find_kind<GROUP>(group, c);
        bool polarised = kind & NOT_UNITY;
        if (!polarised)
            sum_unity<real, GROUP>(args, task, c);
        for (int base = 0; polarised && base < (GROUP > FEW ? group.last : GROUP); base += FEW)
            if (GROUP == FEW || base + FEW > group.first)
                sum_polarised<real, GROUP, FEW>(args, task, c, base, !(kind & NOT_HERMITIAN));
    }
}
} // namespace

// Channels of a thread, with those whose four sums stay in registers.
#ifdef __CUDACC_RTC__
#define TUNED_GROUP(usual) (CHANNELS ? CHANNELS : (usual))
#else
#define TUNED_GROUP(usual) (usual)
#endif
template <typename real, int GROUP, int MOST> struct shape {
    enum { FEW = MOST < GROUP ? MOST : GROUP };
    using shared = chunk<real, (GROUP > 4 * FEW ? GROUP : 4 * FEW)>;
};

#define KERNEL(name, real, group, most)                                                            \
    extern "C" __global__ void __launch_bounds__(ROWS, resident_blocks(sizeof(real) == 4 ? 3 : 2)) \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        using own = shape<real, group, most>;                                                      \
        __shared__ own::shared shared_##name;                                                      \
        predict<real, group, own::FEW>(&args, &shared_##name);                                     \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)

KERNEL(predict_wide_single, float, TUNED_GROUP(PREDICT_CUDA_WIDE_SINGLE), 8)
KERNEL(predict_wide_double, double, TUNED_GROUP(PREDICT_CUDA_WIDE_DOUBLE), 4)
KERNEL(predict_narrow_single, float, TUNED_GROUP(PREDICT_CUDA_NARROW), 8)
KERNEL(predict_narrow_double, double, TUNED_GROUP(PREDICT_CUDA_NARROW), 4)
KERNEL(predict_channel_single, float, 1, 1)
KERNEL(predict_channel_double, double, 1, 1)
