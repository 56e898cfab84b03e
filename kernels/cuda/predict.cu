// The sum over sources of left * (brightness, phase, shape, smearing) * right. Sources pass through
// shared memory, and each thread keeps the sums of its row and its group of channels in registers:
// with equally spaced channels a source costs two sines and cosines for the group and one complex
// product per channel.
#include "number.h"
#include "predict.h"

#include "../visibility.h"

namespace
{
enum { ROWS = PREDICT_CUDA_ROWS, GROUP = PREDICT_CUDA_GROUP, CHUNK = 32, INPUTS = 10 };
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

// Where a thread works.
struct place {
    const grove_args *args;
    const grove_predict_plan *plan;
    int source, freq; // axes, -1: none
    int64_t sources;
    int64_t channel; // of the whole axis, at the group's begin
    int64_t offset;  // of that channel in the evaluation; negative where it begins inside the group
    int first, last; // channels of the group that are wanted
    bool row;        // there is a row for this thread
    const char *in[INPUTS];
    char *out;
};

__device__ __forceinline__ int64_t stride_of(const grove_view *view, int axis)
{
    return axis < 0 ? 0 : view->stride[axis];
}

__device__ const char *cell_at(const place &p, int input, int64_t source, int k)
{
    const grove_view *view = &p.args->in[input];

    return p.in[input] ? p.in[input] + stride_of(view, p.source) * source +
                             stride_of(view, p.freq) * (p.offset + k)
                       : nullptr;
}

__device__ const double *doubles_at(const place &p, int input, int64_t source, int k)
{
    return (const double *)(const void *)cell_at(p, input, source, k);
}

// Addresses of the row's cells, at source 0 and channel 0.
__device__ void find_row(place *p, int64_t row)
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
}

__device__ void find_place(place *p, const grove_args *args, int64_t task, int64_t groups,
                           int64_t first_group)
{
    int64_t row = task / groups * ROWS + threadIdx.x, rows = grove_predict_row_count(args);

    p->args = args;
    p->plan = (const grove_predict_plan *)(const void *)args->state.bytes;
    p->source = grove_args_axis(args, GROVE_AXIS_SOURCE);
    p->freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    p->sources = p->source < 0 ? 1 : args->size[p->source];
    p->channel = (first_group + task % groups) * GROUP;
    p->offset = p->freq < 0 ? 0 : p->channel - args->origin[p->freq];
    int64_t channels = p->freq < 0 ? 1 : args->size[p->freq];
    p->first = p->offset < 0 ? (int)-p->offset : 0;
    p->last = channels - p->offset < GROUP ? (int)(channels - p->offset) : (int)GROUP;
    p->row = row < rows;
    find_row(p, p->row ? row : 0);
}

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
    if (c->gaussian[i]) {
        double sine, cosine, scale = GROVE_PI / sqrt(4 * 0.69314718055994530942);
        scale /= GROVE_SPEED_OF_LIGHT;
        sine = sin(shape[2]);
        cosine = cos(shape[2]);
        c->ellipse[i][0] = scale * shape[0] * sine;
        c->ellipse[i][1] = scale * shape[0] * cosine;
        c->ellipse[i][2] = scale * shape[1] * cosine;
        c->ellipse[i][3] = -scale * shape[1] * sine;
    }
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

// Coordinates of a row.
struct coordinates {
    double uvw[3], change[3]; // m, and their change in an integration
};

__device__ coordinates find_coordinates(const place &p)
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
    if (c.gaussian[i]) {
        const double *a = c.ellipse[i];
        double major = x.uvw[0] * a[0] + x.uvw[1] * a[1], minor = x.uvw[0] * a[2] + x.uvw[1] * a[3];
        extent = major * major + minor * minor;
    }
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

__device__ void put_channel(const place &p, int k, const matrix_number<double> &m)
{
    put_matrix(&p.args->out, p.out + stride_of(&p.args->out, p.freq) * (p.offset + k), m);
}

// Jones terms that do not vary with the source stand around the sum.
__device__ void put_totals(const place &p, const totals &total, bool around)
{
    for (int k = p.first; k < p.last; k++) {
        matrix_number<double> m;
        for (int e = 0; e < 4; e++)
            m.element[e] = total.element[e][k];
        if (around)
            m = matrix_at<double>(&p.args->in[GROVE_PREDICT_LEFT],
                                  cell_at(p, GROVE_PREDICT_LEFT, 0, k)) *
                m *
                matrix_at<double>(&p.args->in[GROVE_PREDICT_RIGHT],
                                  cell_at(p, GROVE_PREDICT_RIGHT, 0, k));
        put_channel(p, k, m);
    }
}

template <typename real, bool JONES>
__device__ __forceinline__ void predict(const grove_args *args, chunk<real> *c)
{
    int64_t first_group, groups = grove_predict_groups(args, &first_group);
    int64_t tasks = (grove_predict_row_count(args) + ROWS - 1) / ROWS * groups;
    bool around =
        !JONES && (args->in[GROVE_PREDICT_LEFT].data || args->in[GROVE_PREDICT_RIGHT].data);

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        place p;
        totals total = {};
        find_place(&p, args, task, groups, first_group);
        sum_sources<real, JONES>(p, c, &total);
        if (p.row)
            put_totals(p, total, around);
    }
}

__device__ __forceinline__ void predict_plainly(const grove_args *args)
{
    int64_t first_group, groups = grove_predict_groups(args, &first_group);
    int64_t tasks = (grove_predict_row_count(args) + ROWS - 1) / ROWS * groups;

    for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {
        place p;
        find_place(&p, args, task, groups, first_group);
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
    extern "C" __global__ void __launch_bounds__(PREDICT_CUDA_ROWS)                                \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        __shared__ chunk<real> shared_##name;                                                      \
        predict<real, jones>(&args, &shared_##name);                                               \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)
#define PLAIN_KERNEL(name)                                                                         \
    extern "C" __global__ void __launch_bounds__(PREDICT_CUDA_ROWS)                                \
        name(const __grid_constant__ grove_args args)                                              \
    {                                                                                              \
        predict_plainly(&args);                                                                    \
    }                                                                                              \
    GROVE_CUDA_EXPORT(name)

KERNEL(predict_single, float, false)
KERNEL(predict_double, double, false)
KERNEL(predict_jones_single, float, true)
KERNEL(predict_jones_double, double, true)
PLAIN_KERNEL(predict_plain_single)
PLAIN_KERNEL(predict_plain_double)
