/* The sum over sources on OpenCL devices: a thread takes a row and GROUP channels. Phases are
 * products of a first one and steps where channels are regular; sums of FLUSH sources are added in
 * double. Included by .cl files, twice. */
#ifndef GROVE_PREDICT_OPENCL
#define GROVE_PREDICT_OPENCL
#include "../common/visibility.h"
#include "predict_cuda.h"

enum { FLUSH = 256, GROUP = CHANNELS ? CHANNELS : PREDICT_OPENCL_GROUP };

/* The data of a row at its source 0 and channel 0, and steps in bytes. */
typedef struct {
    const char *at[GROVE_PREDICT_UVW_LEFT];
    char *out;
    int64_t by_source[GROVE_PREDICT_UVW_LEFT], by_channel[GROVE_PREDICT_UVW_LEFT], out_step;
} predict_row;

GROVE_FN void predict_find_row(const grove_args *args, int64_t number, predict_row *row)
{
    const int source = grove_args_axis(args, GROVE_AXIS_SOURCE),
              freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    int64_t index[GROVE_MAX_AXES];

    for (int d = args->axes - 1; d >= 0; d--) {
        index[d] = 0;
        if (d != source && d != freq) {
            index[d] = number % args->size[d];
            number /= args->size[d];
        }
    }
    for (int k = 0; k < GROVE_PREDICT_UVW_LEFT; k++) {
        const grove_view *view = &args->in[k];
        const bool there = k < args->inputs && view->data;
        row->at[k] = there ? grove_view_at(view, index, args->axes) : 0;
        row->by_source[k] = there && source >= 0 ? view->stride[source] : 0;
        row->by_channel[k] = there && freq >= 0 ? view->stride[freq] : 0;
    }
    row->out = grove_view_at(&args->out, index, args->axes);
    row->out_step = freq >= 0 ? args->out.stride[freq] : 0;
}

GROVE_FN const char *predict_at(const predict_row *row, int input, int64_t source, int64_t channel)
{
    return row->at[input]
               ? row->at[input] + row->by_source[input] * source + row->by_channel[input] * channel
               : 0;
}

GROVE_FN const double *predict_doubles(const predict_row *row, int input, int64_t source,
                                       int64_t channel)
{
    return (const double *)predict_at(row, input, source, channel);
}
#endif

#define predict_group   GROVE_NAME(predict_group)
#define predict_turn    GROVE_NAME(predict_turn)
#define predict_sinc    GROVE_NAME(predict_sinc)
#define predict_matrix  GROVE_NAME(predict_matrix)
#define predict_product GROVE_NAME(predict_product)
#define predict_phases  GROVE_NAME(predict_phases)
#define predict_nearest GROVE_NAME(predict_nearest)
#define predict_factor  GROVE_NAME(predict_factor)
#define predict_add     GROVE_NAME(predict_add)
#define predict_put     GROVE_NAME(predict_put)
#define predict_sum     GROVE_NAME(predict_sum)
#define predict_rows    GROVE_NAME(predict_rows)

/* Channels of a thread: of the tile, and which of them there are. */
typedef struct {
    const grove_args *args;
    predict_row row;
    int64_t channel, absolute; /* the group's first, in the tile and in the axis */
    int first, last;           /* of GROUP, that the tile has; others repeat one of these */
    int within;                /* Jones terms vary with the source */
    int flat;                  /* the brightness does not vary with frequency */
    int regular;
    double freq[GROUP];
} predict_group;

GROVE_FN int predict_nearest(const predict_group *g, int k)
{
    return k < g->first ? g->first : k < g->last ? k : g->last - 1;
}

/* exp(2 pi i turns) */
GROVE_FN cplx predict_turn(double turns)
{
    const real rest = (real)(turns - rint(turns));

    return cx(cospi(2 * rest), sinpi(2 * rest));
}

/* sin(pi turns) / (pi turns); near 0 by the series of grove_sinc_near. */
GROVE_FN real predict_sinc(double turns)
{
    const real x = (real)(GROVE_PI * turns), y = x * x;
    real series = (real)(-1.0 / 39916800.0) + y * (real)(1.0 / 6227020800.0);

    if (!grove_sinc_is_near(x))
        return sinpi((real)(turns - 2 * rint(turns / 2))) / x;
    series = (real)(1.0 / 362880.0) + y * series;
    series = (real)(-1.0 / 5040.0) + y * series;
    series = (real)(1.0 / 120.0) + y * series;
    series = (real)(-1.0 / 6.0) + y * series;
    return 1 + y * series;
}

/* A cell as a full matrix; the unit matrix where the input is absent. */
GROVE_FN void predict_matrix(const predict_group *g, int input, int64_t source, int k, cplx m[4])
{
    const int shape = g->args->in[input].shape, pairs = g->args->in[input].complex_;
    const real *at = (const real *)predict_at(&g->row, input, source, g->channel + k);
    const int of[4] = {0, shape == GROVE_MATRIX ? 1 : -1, shape == GROVE_MATRIX ? 2 : -1,
                       shape == GROVE_MATRIX     ? 3
                       : shape == GROVE_DIAGONAL ? 1
                                                 : 0};

    for (int e = 0; e < 4; e++)
        m[e] = !at         ? cx(e == 0 || e == 3, 0)
               : of[e] < 0 ? cx(0, 0)
                           : cx(at[(pairs ? 2 : 1) * of[e]], pairs ? at[2 * of[e] + 1] : 0);
}

/* m becomes left m right. */
GROVE_FN void predict_product(const predict_group *g, int64_t source, int k, cplx m[4])
{
    cplx left[4], right[4], part[4];

    predict_matrix(g, GROVE_PREDICT_LEFT, source, k, left);
    predict_matrix(g, GROVE_PREDICT_RIGHT, source, k, right);
    mat_mul(part, left, m);
    mat_mul(m, part, right);
}

GROVE_FN void predict_phases(const predict_group *g, double delay, cplx z[GROUP])
{
    const grove_predict_channels *channels =
        (const grove_predict_channels *)(const void *)g->args->state.bytes;
    cplx step = cx(1, 0);

    if (g->regular) {
        z[0] = predict_turn(-(channels->first + channels->step * g->absolute) * delay);
        step = predict_turn(-channels->step * delay);
    }
    for (int k = g->regular; k < GROUP; k++)
        z[k] = g->regular ? cx_mul(z[k - 1], step) : predict_turn(-g->freq[k] * delay);
}

/* Shape and smearing. */
GROVE_FN real predict_factor(const predict_group *g, int64_t source, int k, double extent,
                             double delay)
{
    const int64_t channel = g->channel + k;
    const double *rate = predict_doubles(&g->row, GROVE_PREDICT_RATE, source, channel),
                 *width = predict_doubles(&g->row, GROVE_PREDICT_WIDTH, source, channel);
    real factor = extent != 0 ? exp((real)(-extent * g->freq[k] * g->freq[k])) : 1;

    if (rate)
        factor *= predict_sinc(
            g->freq[k] *
            grove_delay(rate, predict_doubles(&g->row, GROVE_PREDICT_LMN, source, channel)) *
            *predict_doubles(&g->row, GROVE_PREDICT_INTERVAL, source, channel));
    if (width)
        factor *= predict_sinc(*width * delay);
    return factor;
}

GROVE_FN void predict_add(const predict_group *g, int64_t source, cplx sum[GROUP][4])
{
    const double *uvw = predict_doubles(&g->row, GROVE_PREDICT_UVW, source, g->channel),
                 *lmn = predict_doubles(&g->row, GROVE_PREDICT_LMN, source, g->channel),
                 *shape = predict_doubles(&g->row, GROVE_PREDICT_SHAPE, source, g->channel);
    const double delay = grove_delay(uvw, lmn),
                 extent =
                     shape && grove_is_gaussian(shape)
                         ? grove_gaussian(uvw, shape, g->args->in[GROVE_PREDICT_SHAPE].elements)
                         : 0;
    cplx z[GROUP], m[4];

    predict_phases(g, delay, z);
    predict_matrix(g, GROVE_PREDICT_BRIGHTNESS, source, g->first, m);
    /* of a constant length, so that sums stay in registers */
    for (int k = 0; k < GROUP; k++) {
        const int channel = predict_nearest(g, k);
        const real factor = predict_factor(g, source, channel, extent, delay);
        const cplx w = cx(factor * z[k].re, factor * z[k].im);
        if (!g->flat)
            predict_matrix(g, GROVE_PREDICT_BRIGHTNESS, source, channel, m);
        if (g->within)
            predict_product(g, source, channel, m);
        for (int e = 0; e < 4; e++)
            sum[k][e] = cx_mul_add(sum[k][e], w, m[e]);
    }
}

GROVE_FN void predict_put(const predict_group *g, int k, const grove_cplx64 total[4])
{
    cplx *to = (cplx *)(g->row.out + g->row.out_step * (g->channel + k)), m[4];
    const int elements = g->args->out.elements;

    for (int e = 0; e < 4; e++)
        m[e] = cx((real)total[e].re, (real)total[e].im);
    if (!g->within)
        predict_product(g, 0, k, m);
    for (int e = 0; e < elements; e++)
        to[e] = m[elements == 2 ? 3 * e : e];
}

GROVE_FN void predict_sum(const predict_group *g)
{
    const int axis = grove_args_axis(g->args, GROVE_AXIS_SOURCE);
    const int64_t sources = axis < 0 ? 1 : g->args->size[axis];
    grove_cplx64 total[GROUP][4];

    for (int k = 0; k < GROUP; k++)
        for (int e = 0; e < 4; e++)
            total[k][e].re = total[k][e].im = 0;
    for (int64_t first = 0; first < sources; first += FLUSH) {
        const int64_t end = first + FLUSH < sources ? first + FLUSH : sources;
        cplx sum[GROUP][4];
        for (int k = 0; k < GROUP; k++)
            for (int e = 0; e < 4; e++)
                sum[k][e] = cx(0, 0);
        for (int64_t s = first; s < end; s++)
            predict_add(g, s, sum);
        for (int k = 0; k < GROUP; k++)
            for (int e = 0; e < 4; e++) {
                total[k][e].re += sum[k][e].re;
                total[k][e].im += sum[k][e].im;
            }
    }
    for (int k = 0; k < GROUP; k++)
        if (k >= g->first && k < g->last)
            predict_put(g, k, total[k]);
}

/* All rows and groups; neighbouring threads take neighbouring rows. */
GROVE_FN void predict_rows(const grove_args *args)
{
    const int freq = grove_args_axis(args, GROVE_AXIS_FREQ), way = grove_predict_cuda_way(args);
    const int64_t rows = grove_predict_row_count(args), origin = freq < 0 ? 0 : args->origin[freq],
                  size = freq < 0 ? 1 : args->size[freq];
    int64_t group, groups = grove_predict_groups(args, GROUP, &group);
    predict_group g;

    g.args = args;
    g.within = way == GROVE_PREDICT_CUDA_JONES || way == GROVE_PREDICT_CUDA_PLAIN;
    g.regular = way != GROVE_PREDICT_CUDA_PLAIN &&
                ((const grove_predict_channels *)(const void *)args->state.bytes)->regular;
    for (int64_t item = get_global_id(0); item < rows * groups; item += get_global_size(0)) {
        g.absolute = (group + item / rows) * GROUP;
        g.channel = g.absolute - origin;
        g.first = g.channel < 0 ? (int)-g.channel : 0;
        g.last = size - g.channel < GROUP ? (int)(size - g.channel) : GROUP;
        predict_find_row(args, item % rows, &g.row);
        g.flat = !g.within && !g.row.by_channel[GROVE_PREDICT_BRIGHTNESS];
        for (int k = 0; k < GROUP; k++)
            g.freq[k] =
                *predict_doubles(&g.row, GROVE_PREDICT_FREQ, 0, g.channel + predict_nearest(&g, k));
        predict_sum(&g);
    }
}
