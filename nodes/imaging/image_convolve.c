#include "nodes/imaging/image_convolve.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_plane.h"

#include "../../kernels/imaging/convolution/convolution_hot.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE "gridder_convolve.cu"

static int64_t sample_threads(const grove_args *args)
{
    return (int64_t)grove_convolve_state_of(args)->samples.pieces * GROVE_CONVOLVE_BLOCK;
}

static const grove_kernel spread = {"gridder_convolve_spread",
                                    NULL,
                                    NULL,
                                    SOURCE,
                                    sample_threads,
                                    GROVE_CONVOLVE_BLOCK,
                                    1 << GROVE_GRIDDER_SUMS},
                          collect = {"gridder_convolve_collect", NULL, NULL, SOURCE, sample_threads,
                                     GROVE_CONVOLVE_BLOCK,       0},
                          arrange = {"gridder_convolve_arrange", NULL, NULL, SOURCE, NULL, 0, 0},
                          norm = {"gridder_convolve_norm", NULL, NULL, SOURCE, NULL, 0, 0},
                          total = {"gridder_total", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 32, 0};

/* ---- memory ---- */

static uint64_t pair_of(const grove_convolution_plan *plan)
{
    return 2 * (plan->double_precision ? sizeof(double) : sizeof(float));
}

/* Of all functions, each for its place between the cells. */
static int64_t block_count(const grove_convolution_plan *plan)
{
    return plan->functions * plan->planes * grove_convolution_stride(plan) *
           grove_convolution_stride(plan);
}

static int64_t number_count(const grove_convolution_plan *plan)
{
    return block_count(plan) * plan->support * plan->support;
}

static uint64_t grid_bytes(const grove_convolution_plan *plan)
{
    return (uint64_t)(grove_convolution_bands(plan) * grove_convolution_cells(plan)) *
           pair_of(plan);
}

uint64_t image_convolve_memory(const grove_convolution_plan *plan, bool normalises)
{
    return (uint64_t)number_count(plan) * pair_of(plan) + grid_bytes(plan) +
           (normalises ? (uint64_t)block_count(plan) * 2 * sizeof(double) : 0) + (1 << 20);
}

size_t image_convolve_index_bytes(const image_mueller *m, int elements)
{
    return (size_t)(m->time_blocks * m->groups * m->groups * m->channel_blocks * 2 * elements *
                    m->images) *
           sizeof(int32_t);
}

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes, at);
}

/* Of the host, which has made them or read them. */
static int check_finite(const grove_call *call, const image_convolving *by)
{
    const int64_t step[] = {image_stage_in_step(call->args, by->functions, "w_function"),
                            image_stage_in_step(call->args, by->functions, "fine")};
    const void *at = NULL;
    int code = grove_call_host(call, by->functions, &at);

    return code ? code : image_functions_check_finite(call->node, &by->plan, at, step);
}

int image_convolve_open(const grove_call *call, const image_convolving *by, image_convolve *d)
{
    const grove_convolution_plan *plan = &by->plan;
    const uint64_t bytes =
        (uint64_t)grove_convolution_bands(plan) * GROVE_CONVOLVE_TOTALS * sizeof(double);
    void *totals = d->totals;

    if (d->open)
        return 0;
    if (plan->grid[0] * plan->grid[1] > INT32_MAX || number_count(plan) > INT32_MAX)
        return GROVE_MISSING;
    int code = check_finite(call, by);
    if (!code)
        code = keep(call, (uint64_t)number_count(plan) * pair_of(plan), &d->functions);
    if (!code && by->normalises)
        code = keep(call, (uint64_t)block_count(plan) * 2 * sizeof(double), &d->norms);
    if (!code)
        code = keep(call, grid_bytes(plan), &d->grids);
    if (!code)
        code = keep(call, bytes, &totals);
    d->totals = totals;
    if (!code)
        code = grove_call_zero(call, d->grids, grid_bytes(plan));
    if (!code)
        code = grove_call_zero(call, totals, bytes);
    d->open = !code;
    return code;
}

/* ---- launches ---- */

int image_convolve_arrange(const grove_call *call, const image_convolving *by, image_convolve *d)
{
    const grove_convolution_plan *plan = &by->plan;
    const uint64_t serial = grove_call_serial(call, by->functions);
    const grove_convolve_arrange_state state = {
        .planes = plan->functions * plan->planes,
        .step = {image_stage_in_step(call->args, by->functions, "w_function"),
                 image_stage_in_step(call->args, by->functions, "fine")},
        .support = plan->support,
        .stride = (int32_t)grove_convolution_stride(plan)};

    if (serial && serial == d->serial)
        return 0;
    d->serial = 0;
    int code =
        image_launch_items(call, &arrange, number_count(plan), call->args->in[by->functions].data,
                           NULL, d->functions, &state, sizeof(state));
    if (!code && by->normalises)
        code = image_launch_items(call, &norm, block_count(plan), d->functions, NULL, d->norms,
                                  &state, sizeof(state));
    d->serial = code ? 0 : serial;
    return code;
}

/* ---- samples ---- */

typedef struct {
    const grove_call *call;
    const image_convolving *by;
    const image_device_inputs *in;
    int64_t times, baselines, channels;
    image_use use;
    const double (*share)[2]; /* [part][channel]: see GROVE_CONVOLVE_SHARE */
    int parts;
    grove_args args;
    grove_convolve_state state;
} sampling;

/* Sizes; false: the result has other axes than visibilities, or there are too many. */
static bool find_extent(sampling *s)
{
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ};
    const grove_args *args = s->call->args;
    int64_t *size[] = {&s->times, &s->baselines, &s->channels};
    int32_t *axis = s->state.samples.axis;
    bool others = false;

    for (int d = 0; d < 3; d++) {
        axis[d] = grove_args_axis(args, kinds[d]);
        *size[d] = axis[d] >= 0 ? args->size[axis[d]] : d == 2 ? s->in->freq->size : 1;
    }
    for (int d = 0; d < args->axes; d++)
        others = others || (d != axis[0] && d != axis[1] && d != axis[2] && args->out.stride[d] &&
                            args->size[d] > 1);
    return !others && s->times * s->baselines * s->channels < INT32_MAX;
}

static int64_t origin_of(const sampling *s, int kind)
{
    const int axis = s->state.samples.axis[kind];

    return axis < 0 ? 0 : s->call->args->origin[axis];
}

static const double *freq_of(const sampling *s)
{
    return s->in->centres ? s->in->centres : s->in->freq->centre + origin_of(s, 2);
}

/* Numbers of the option are read, and checked, by the host. */
static int find_numbers(const sampling *s, int k, image_numbers *n)
{
    const int input = grove_node_input(s->call->node, image_use_names[k]);
    const grove_args *args = s->call->args;
    const grove_view *view = &args->in[input];
    const int64_t real = sizeof(double);
    const void *at = NULL;
    int code = view->data ? grove_call_host(s->call, input, &at) : 0;

    *n = (image_numbers){.at = at,
                         .time = image_axis_step(args, view, GROVE_AXIS_TIME) / real,
                         .baseline = image_axis_step(args, view, GROVE_AXIS_BASELINE) / real,
                         .freq = image_axis_step(args, view, GROVE_AXIS_FREQ) / real};
    return code;
}

static int find_use(sampling *s)
{
    const image_mueller_part part = {.first_time = origin_of(s, 0),
                                     .times = s->times,
                                     .first_baseline = origin_of(s, 1),
                                     .baselines = s->baselines,
                                     .first_channel = origin_of(s, 2),
                                     .channels = s->channels};
    image_numbers numbers[3];
    int code = 0;

    for (int k = 0; k < 3 && !code; k++)
        code = find_numbers(s, k, &numbers[k]);
    if (!code)
        code = image_use_begin(s->call->node, s->by->mueller, s->by->index, &s->by->plan, &part,
                               numbers, &s->use);
    return code == GROVE_NO_MEMORY ? GROVE_MISSING : code;
}

/* Sets of the option "mueller" that the channels and rows of the call have. */
static size_t given_bytes(const sampling *s)
{
    const grove_convolution_mueller *m = &s->use.mueller;
    int64_t last = 0, most = 0;

    if (!s->use.index)
        return 0;
    for (int64_t k = 0; k < s->times * s->baselines; k++)
        last = m->row[k] > last ? m->row[k] : last;
    for (int64_t k = 0; k < s->channels; k++)
        most = m->channel[k] > most ? m->channel[k] : most;
    return (size_t)((last + most + 1) * 2 * s->by->plan.visibilities * s->by->plan.images) *
           sizeof(int32_t);
}

/* All that the kernels read besides visibilities, in one piece: a call sends few. */
static int send_all(sampling *s)
{
    enum { COUNT = 7, ALIGNED = 256 };
    const grove_convolution_mueller *m = &s->use.mueller;
    const size_t rows = s->use.needed ? (size_t)(s->times * s->baselines) : 0;
    const struct {
        int input;
        const void *from; /* NULL: memory alone */
        size_t bytes;
    } what[COUNT] = {
        {GROVE_CONVOLVE_FREQ, freq_of(s), (size_t)s->channels * sizeof(double)},
        {GROVE_GRIDDER_STOKES, s->in->stokes->factor, sizeof(s->in->stokes->factor)},
        {GROVE_CONVOLVE_ROW, m->row, rows * sizeof(int32_t)},
        {GROVE_CONVOLVE_CHANNEL, m->channel, rows ? (size_t)s->channels * sizeof(int32_t) : 0},
        {GROVE_CONVOLVE_INDEX, s->use.index, given_bytes(s)},
        {GROVE_CONVOLVE_SHARE, s->share, (size_t)(s->parts * s->channels) * sizeof(*s->share)},
        {GROVE_GRIDDER_SUMS, NULL,
         (size_t)s->state.samples.pieces * GROVE_CONVOLVE_TOTALS * sizeof(double)}};
    size_t begin[COUNT + 1] = {0};
    const void *at = NULL;

    for (int k = 0; k < COUNT; k++)
        begin[k + 1] = (begin[k] + what[k].bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    char *packed = calloc(1, begin[COUNT]);
    if (!packed)
        return GROVE_MISSING;
    for (int k = 0; k < COUNT; k++)
        if (what[k].from && what[k].bytes)
            memcpy(packed + begin[k], what[k].from, what[k].bytes);
    int code = grove_call_send(s->call, packed, begin[COUNT], &at);
    free(packed);
    for (int k = 0; k < COUNT && !code; k++)
        if (what[k].bytes)
            s->args.in[what[k].input].data = (char *)(uintptr_t)at + begin[k];
    return code;
}

static int32_t pieces_of(const sampling *s, int64_t channels)
{
    return (int32_t)((s->times * s->baselines * channels + GROVE_CONVOLVE_PIECE - 1) /
                     GROVE_CONVOLVE_PIECE);
}

static void set_state(sampling *s)
{
    const grove_convolution_plan *p = &s->by->plan;
    grove_gridder_state *to = &s->state.samples;

    to->pieces = pieces_of(s, s->channels);
    to->channels = (int32_t)s->channels;
    to->baselines = (int32_t)s->baselines;
    to->polarisations = p->visibilities;
    to->elements = s->in->stokes->elements;
    to->used = s->in->stokes->used;
    to->width = p->support;
    to->planes = (int32_t)p->planes;
    for (int d = 0; d < 3; d++) {
        to->turn[d] = p->turn[d];
        s->state.longest[d] = s->in->longest[d] * GROVE_SPEED_OF_LIGHT;
    }
    for (int d = 0; d < 2; d++) {
        to->cells[d] = (int32_t)p->grid[d];
        to->scale[d] = p->scale[d];
    }
    s->state.times = (int32_t)s->times;
    s->state.images = p->images;
    s->state.oversampling = p->oversampling;
    s->state.linear = p->linear;
    s->state.limited = s->in->longest[0] > 0;
    s->state.step_w = p->step_w;
}

static grove_view view_of(const sampling *s, int k)
{
    return k >= 0 ? s->call->args->in[k] : (grove_view){0};
}

static void set_arguments(sampling *s, const image_convolve *d)
{
    const grove_args *args = s->call->args;
    const int gradient = grove_node_input(s->call->node, image_use_names[2]);
    const image_device_inputs *in = s->in;

    /* the visibilities' axes come first */
    s->args.axes = args->axes < GROVE_VALUE_AXES ? args->axes : GROVE_VALUE_AXES;
    s->args.inputs = GROVE_CONVOLVE_INPUTS;
    memcpy(s->args.size, args->size, sizeof(args->size));
    memcpy(s->args.axis, args->axis, sizeof(args->axis));
    s->args.in[GROVE_GRIDDER_DATA] = view_of(s, in->data);
    s->args.in[GROVE_GRIDDER_WEIGHTS] = view_of(s, in->weights);
    s->args.in[GROVE_GRIDDER_FLAGS] = view_of(s, in->data < 0 ? -1 : in->flags + in->data);
    s->args.in[GROVE_GRIDDER_WEIGHT_FLAGS] =
        view_of(s, in->weights < 0 ? -1 : in->flags + in->weights);
    s->args.in[GROVE_GRIDDER_UVW] = view_of(s, in->uvw);
    s->args.in[GROVE_CONVOLVE_FUNCTIONS].data = d->functions;
    s->args.in[GROVE_CONVOLVE_GRADIENT] = view_of(s, gradient);
    s->args.in[GROVE_CONVOLVE_NORMS].data = d->norms;
    if (s->by->index)
        s->args.in[GROVE_CONVOLVE_INDEX].data = (void *)(uintptr_t)args->table;
    memcpy(s->args.state.bytes, &s->state, sizeof(s->state));
}

static int begin(sampling *s, const image_convolve *d)
{
    if (!find_extent(s))
        return GROVE_MISSING;
    int code = find_use(s);
    if (code)
        return code;
    set_state(s);
    set_arguments(s, d);
    code = send_all(s);
    image_use_end(&s->use);
    return code;
}

/* The arguments for `channels` channels of the call from `first` on. */
static grove_args channels_of(const sampling *s, int64_t first, int64_t channels)
{
    static const int views[] = {GROVE_GRIDDER_DATA, GROVE_GRIDDER_WEIGHTS, GROVE_GRIDDER_FLAGS,
                                GROVE_GRIDDER_WEIGHT_FLAGS, GROVE_CONVOLVE_GRADIENT};
    const int axis = s->state.samples.axis[2];
    grove_convolve_state state = s->state;
    grove_args args = s->args;

    for (int k = 0; k < (int)(sizeof(views) / sizeof(*views)) && first; k++) {
        grove_view *view = &args.in[views[k]];
        if (view->data && axis >= 0)
            view->data = (char *)view->data + first * view->stride[axis];
    }
    args.in[GROVE_CONVOLVE_FREQ].data = (double *)args.in[GROVE_CONVOLVE_FREQ].data + first;
    if (args.in[GROVE_CONVOLVE_CHANNEL].data)
        args.in[GROVE_CONVOLVE_CHANNEL].data =
            (int32_t *)args.in[GROVE_CONVOLVE_CHANNEL].data + first;
    state.samples.channels = (int32_t)channels;
    state.samples.pieces = pieces_of(s, channels);
    memcpy(args.state.bytes, &state, sizeof(state));
    return args;
}

static int add_band(const sampling *s, const image_convolve *d, int band)
{
    const grove_convolution_plan *plan = &s->by->plan;
    const uint64_t bytes = grid_bytes(plan) / (uint64_t)grove_convolution_bands(plan);
    int64_t first, channels;

    if (!image_bands_find(s->by->bands, band, origin_of(s, 2), s->channels, &first, &channels))
        return 0;
    grove_args args = channels_of(s, first, channels);
    const grove_gridder_image_state sums = {.row = grove_gridder_divide_by(32),
                                            .pieces = pieces_of(s, channels),
                                            .channels = GROVE_CONVOLVE_TOTALS};
    args.out.data = (char *)d->grids + (uint64_t)band * bytes;
    int code = grove_call_launch(s->call, &spread, &args, s->call->double_precision);
    return code ? code
                : image_launch_items(s->call, &total, 32, args.in[GROVE_GRIDDER_SUMS].data, NULL,
                                     d->totals + (ptrdiff_t)GROVE_CONVOLVE_TOTALS * band, &sums,
                                     sizeof(sums));
}

int image_convolve_add(const grove_call *call, const image_convolving *by, const image_convolve *d,
                       const image_device_inputs *in)
{
    sampling s = {.call = call, .by = by, .in = in};
    int code = begin(&s, d);

    for (int band = 0; band < by->bands->count && !code; band++) {
        code = add_band(&s, d, band);
        if (band && code == GROVE_MISSING) /* the bands before are done */
            code = grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory on the device");
    }
    return code;
}

/* ---- prediction ---- */

/* Whether the function of a row lies in the grid at a frequency. */
static bool is_inside(const grove_convolution_plan *plan, const double uvw[3], double freq)
{
    const double sign = uvw[2] < 0 ? -1 : 1, at[3] = {sign * uvw[0], sign * uvw[1], sign * uvw[2]};
    grove_convolution_place place;

    return grove_convolution_find(plan, at, freq / GROVE_SPEED_OF_LIGHT, &place);
}

/* Places move with the frequency on one line: rows that are inside at its ends are inside. */
int64_t image_convolve_outside(const grove_convolution_plan *plan, const grove_gridder_samples *s)
{
    double least = s->freq[0], most = least;
    int64_t count = 0;

    for (int64_t k = 1; k < s->channels; k++) {
        least = s->freq[k] < least ? s->freq[k] : least;
        most = s->freq[k] > most ? s->freq[k] : most;
    }
    for (int64_t row = 0; row < s->rows; row++) {
        const double *uvw = s->uvw + 3 * row;
        if (!is_inside(plan, uvw, least) || !is_inside(plan, uvw, most))
            for (int64_t k = 0; k < s->channels; k++)
                count += !is_inside(plan, uvw, s->freq[k]);
    }
    return count;
}

static int count_left_out(const sampling *s, int64_t *outside, grove_gridder_outside *left_out)
{
    grove_view view = s->call->args->in[s->in->uvw];
    const void *from = NULL;
    int code = grove_call_host(s->call, s->in->uvw, &from);

    if (code)
        return code;
    view.data = (void *)(uintptr_t)from;
    double *uvw = image_copy_uvw(s->call->args, &view);
    if (!uvw)
        return GROVE_MISSING;
    const grove_gridder_samples samples = {
        .rows = s->times * s->baselines, .channels = s->channels, .uvw = uvw, .freq = freq_of(s)};
    *outside += image_leave_out(&samples, s->in->longest, 0);
    left_out->samples += image_convolve_outside(&s->by->plan, &samples);
    free(uvw);
    return 0;
}

/* How much of a part each channel has, and whether parts before it have some of it. */
static double (*find_shares(const image_convolve_part *parts, int count, int64_t channels))[2]
{
    double(*share)[2] = malloc((size_t)(count * channels) * sizeof(*share) + 1);

    for (int64_t k = 0; k < count * channels && share; k++) {
        const int64_t channel = k % channels;
        share[k][0] = parts[k / channels].share ? parts[k / channels].share[channel] : 1;
        share[k][1] = 0;
        for (int64_t before = channel; before < k; before += channels)
            share[k][1] = share[before][0] != 0 ? 1 : share[k][1];
    }
    return share;
}

static int predict_part(const sampling *s, const image_convolve *d, const image_convolve_part *of,
                        int part)
{
    const double(*share)[2] = s->share + part * s->channels;
    int64_t first = 0, end = s->channels;

    while (first < end && share[first][0] == 0)
        first++;
    while (end > first && share[end - 1][0] == 0)
        end--;
    if (first == end)
        return 0;
    int code = image_convolve_take(s->call, s->by, d, of);
    grove_args args = channels_of(s, first, end - first);
    args.out = s->call->args->out;
    if (s->state.samples.axis[2] >= 0)
        args.out.data = (char *)args.out.data + first * args.out.stride[s->state.samples.axis[2]];
    args.in[GROVE_CONVOLVE_GRIDS].data = d->grids;
    args.in[GROVE_CONVOLVE_SHARE].data =
        (double *)args.in[GROVE_CONVOLVE_SHARE].data + 2 * (part * s->channels + first);
    return code ? code : grove_call_launch(s->call, &collect, &args, s->call->double_precision);
}

int image_convolve_predict(const grove_call *call, const image_convolving *by,
                           const image_convolve *d, const image_device_inputs *in,
                           const image_convolve_part *parts, int count, int64_t *outside,
                           grove_gridder_outside *left_out)
{
    sampling s = {.call = call, .by = by, .in = in, .parts = count};

    if (!find_extent(&s))
        return GROVE_MISSING;
    double(*share)[2] = find_shares(parts, count, s.channels);
    s.share = (const double(*)[2])share;
    int code = share ? begin(&s, d) : GROVE_MISSING;
    for (int k = 0; k < count && !code; k++)
        code = predict_part(&s, d, &parts[k], k);
    free(share);
    return code ? code : count_left_out(&s, outside, left_out);
}
