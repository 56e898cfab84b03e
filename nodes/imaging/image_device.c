#include "nodes/imaging/image_device.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_plane.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

static int64_t spread_threads(const grove_args *args)
{
    const grove_gridder_state *s = grove_gridder_state_of(args);

    return (int64_t)s->pieces * s->polarisations * GROVE_GRIDDER_BLOCK;
}

#define SPREAD_SOURCE "gridder_spread.cu"
static const grove_kernel spread = {"gridder_spread",
                                    NULL,
                                    NULL,
                                    SPREAD_SOURCE,
                                    spread_threads,
                                    GROVE_GRIDDER_BLOCK,
                                    1 << GROVE_GRIDDER_SUMS | 1 << GROVE_GRIDDER_BUFFERS};
static const grove_kernel collect = {
    "gridder_collect",         NULL, NULL, SPREAD_SOURCE, spread_threads, GROVE_GRIDDER_BLOCK,
    1 << GROVE_GRIDDER_SAMPLES};
static const grove_kernel correlate =
                              {"gridder_correlate", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 0, 0},
                          total = {"gridder_total", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 32, 0},
                          weigh = {"gridder_weigh", NULL, NULL, "gridder_weigh.cu", NULL, 0, 0};

/* ---- memory ---- */

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes, at);
}

uint64_t image_device_memory(const grove_gridder_plan *plan, bool images)
{
    const grove_gridder_device_bytes bytes = grove_gridder_device_sizes_of(plan);

    return bytes.planes + bytes.slots + (images ? bytes.grid + bytes.image : 0) + (1 << 20);
}

uint64_t image_device_planes_memory(const grove_gridder_plan *plan)
{
    return grove_gridder_device_sizes_of(plan).planes;
}

int image_device_take_planes(const grove_call *call, const image_device *d, void **planes)
{
    return keep(call, grove_gridder_device_sizes(d->gridder).planes, planes);
}

/* Adds to totals[k], for k < count, the sums over pieces [piece][each] of number k. */
static int add_sums(const grove_call *call, const double *sums, int32_t pieces, double *totals,
                    int32_t each, int32_t count)
{
    const grove_gridder_image_state s = {
        .pieces = pieces, .channels = each, .polarisations = count};

    return image_launch(call, &total, 1, 32, sums, NULL, totals, &s, sizeof(s));
}

/* Whether the device has the library, memory for it, and the code, is known at once. */
static int try_all(const grove_call *call, const image_device *d, bool images)
{
    int code = images ? image_device_transform(call, d, 1) : 0;

    return code ? code : add_sums(call, d->totals, 0, d->totals, 1, 0);
}

int image_device_begin_totals(const grove_call *call, double **totals)
{
    enum { BYTES = GROVE_GRIDDER_TOTALS * sizeof(double) };
    void *at = NULL;

    if (*totals)
        return 0;
    int code = keep(call, BYTES, &at);
    code = code ? code : grove_call_zero(call, at, BYTES);
    *totals = code ? NULL : at;
    return code;
}

int image_device_fail(const grove_call *call, int code)
{
    return code == GROVE_NO_MEMORY || code == GROVE_MISSING
               ? grove_node_fail(call->node, GROVE_NO_MEMORY,
                                 "the device failed after it had added some visibilities")
               : code;
}

int image_device_open(const grove_call *call, const grove_gridder_plan *plan, bool images,
                      image_device *d)
{
    if (d->open)
        return 0;
    if (plan->grid[0] * plan->grid[1] > INT32_MAX) /* as image_launch */
        return GROVE_MISSING;
    if (!d->gridder)
        d->gridder = grove_gridder_device_new(plan);
    if (!d->gridder)
        return GROVE_MISSING;
    grove_gridder_device_bytes bytes = grove_gridder_device_sizes(d->gridder);
    int code = keep(call, bytes.planes, &d->planes);
    if (!code && images)
        code = keep(call, bytes.grid, &d->grid);
    if (!code && images)
        code = keep(call, bytes.image, &d->image);
    if (!code)
        code = keep(call, bytes.slots, &d->slots);
    if (!code)
        code = grove_call_zero(call, d->planes, bytes.planes);
    if (!code)
        code = image_device_begin_totals(call, &d->totals);
    if (!code)
        code = try_all(call, d, images);
    d->open = !code;
    return code;
}

void image_device_renew(image_device *d, const grove_gridder_plan *plan)
{
    if (d->gridder && !grove_gridder_device_is_of(d->gridder, plan))
        image_device_free(d);
}

void image_device_free(image_device *d)
{
    grove_gridder_device_free(d->gridder);
    *d = (image_device){0};
}

void *image_device_of(void **array, int *count, int k, size_t bytes)
{
    if (k >= *count) {
        *array = grove_realloc(*array, (size_t)(k + 1) * bytes);
        memset((char *)*array + (size_t)*count * bytes, 0, (size_t)(k + 1 - *count) * bytes);
        *count = k + 1;
    }
    return (char *)*array + (size_t)k * bytes;
}

/* ---- samples ---- */

typedef struct {
    const grove_call *call;
    const image_device *d;
    const image_device_inputs *in;
    grove_gridder_work work;
    grove_args args;
    grove_gridder_state state;
    const double *share; /* of each channel, to be predicted; NULL: all */
    int64_t times, baselines, channels;
} sampling;

/* Sizes; false: the result has other axes than visibilities. */
static bool find_extent(sampling *s)
{
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ};
    const grove_args *args = s->call->args;
    int64_t *size[] = {&s->times, &s->baselines, &s->channels};
    bool others = false;

    for (int d = 0; d < 3; d++) {
        int axis = grove_args_axis(args, kinds[d]);
        s->state.axis[d] = axis;
        *size[d] = axis >= 0 ? args->size[axis] : d == 2 && s->in->freq ? s->in->freq->size : 1;
    }
    for (int d = 0; d < args->axes; d++)
        others = others || (d != s->state.axis[0] && d != s->state.axis[1] &&
                            d != s->state.axis[2] && args->out.stride[d] && args->size[d] > 1);
    s->channels = s->in->channels ? s->in->channels : s->channels;
    return !others;
}

static double *copy_uvw(const sampling *s, int *code)
{
    grove_view view = s->call->args->in[s->in->uvw];
    const void *from = NULL;

    *code = grove_call_host(s->call, s->in->uvw, &from);
    view.data = (void *)(uintptr_t)from;
    double *uvw = *code ? NULL : image_copy_uvw(s->call->args, &view);
    if (!*code && !uvw)
        *code = GROVE_MISSING;
    return uvw;
}

static const double *centres_of(const sampling *s)
{
    const int axis = s->state.axis[2];

    return (s->in->centres ? s->in->centres
                           : s->in->freq->centre + (axis >= 0 ? s->call->args->origin[axis] : 0)) +
           s->in->first_channel;
}

static int sort(sampling *s, bool collects, int64_t *outside)
{
    grove_call host = *s->call; /* where the order is made */
    int code;
    double *uvw = copy_uvw(s, &code);

    host.on_device = false;
    const grove_gridder_threads threads = gridder_threads(&host);

    bool *empty = code || !s->share ? NULL : malloc((size_t)s->channels * sizeof(*empty));
    if (!code && s->share && !empty)
        code = GROVE_MISSING;
    for (int64_t k = 0; k < s->channels && empty; k++)
        empty[k] = s->share[k] == 0;
    const grove_gridder_samples samples = {.rows = s->times * s->baselines,
                                           .channels = s->channels,
                                           .uvw = uvw,
                                           .freq = centres_of(s),
                                           .longest = s->in->longest,
                                           .empty = empty};
    if (!code && grove_gridder_device_sort(s->d->gridder, &samples, &threads, collects, &s->work))
        code = GROVE_MISSING;
    if (!code && outside) /* parts may share channels */
        *outside += empty ? image_leave_out(&samples, s->in->longest, 0) : s->work.outside;
    free(empty);
    free(uvw);
    return code;
}

/* All that the kernels read besides visibilities, in one piece: a call sends few. */
static int send_all(sampling *s)
{
    enum { COUNT = 7, ALIGNED = 256 };
    const size_t pieces = (size_t)s->work.begin[s->work.launches];
    const grove_gridder_table taps = grove_gridder_device_taps(s->d->gridder);
    const struct {
        int input;
        const void *from; /* NULL: memory alone */
        size_t bytes;
    } what[COUNT] = {
        {GROVE_GRIDDER_WAVENUMBERS, s->work.wavenumber, (size_t)s->channels * sizeof(double)},
        {GROVE_GRIDDER_RUNS, s->work.run, (size_t)s->work.runs * sizeof(*s->work.run)},
        {GROVE_GRIDDER_PIECE_LIST, s->work.piece, pieces * sizeof(*s->work.piece)},
        {GROVE_GRIDDER_TAPS, taps.at, taps.bytes},
        {GROVE_GRIDDER_STOKES, s->in->stokes->factor, sizeof(s->in->stokes->factor)},
        {GROVE_GRIDDER_SUMS, NULL, pieces * 2 * sizeof(double)},
        {GROVE_GRIDDER_WEIGHTS, s->share, s->share ? (size_t)s->channels * sizeof(double) : 0}};
    size_t begin[COUNT + 1] = {0};
    const void *at = NULL;

    for (int k = 0; k < COUNT; k++)
        begin[k + 1] = (begin[k] + what[k].bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    char *packed = calloc(1, begin[COUNT]);
    if (!packed)
        return GROVE_MISSING;
    for (int k = 0; k < COUNT; k++)
        if (what[k].from)
            memcpy(packed + begin[k], what[k].from, what[k].bytes);
    int code = grove_call_send(s->call, packed, begin[COUNT], &at);
    free(packed);
    for (int k = 0; k < COUNT && !code; k++)
        if (what[k].bytes)
            s->args.in[what[k].input].data = (char *)(uintptr_t)at + begin[k];
    return code;
}

/* From the first channel on. */
static grove_view view_of(const sampling *s, int k)
{
    grove_view view = k >= 0 ? s->call->args->in[k] : (grove_view){0};
    const int axis = grove_args_axis(s->call->args, GROVE_AXIS_FREQ);

    if (view.data && axis >= 0)
        view.data = (char *)view.data + view.stride[axis] * s->in->first_channel;
    return view;
}

static void set_up(sampling *s, const grove_gridder_state *axes)
{
    const grove_args *args = s->call->args;

    s->args.axes = args->axes;
    s->args.inputs = GROVE_GRIDDER_INPUTS;
    memcpy(s->args.size, args->size, sizeof(args->size));
    memcpy(s->args.axis, args->axis, sizeof(args->axis));
    s->args.out.data = s->d->planes;
    s->args.in[GROVE_GRIDDER_UVW] = view_of(s, s->in->uvw);
    s->args.in[GROVE_GRIDDER_BUFFERS].data = s->d->slots;
    s->state = s->d->gridder ? grove_gridder_device_state(s->d->gridder)
                             : (grove_gridder_state){.polarisations = s->in->stokes->count};
    memcpy(s->state.axis, axes->axis, sizeof(s->state.axis));
    s->state.channels = (int32_t)s->channels;
    s->state.baselines = (int32_t)s->baselines;
    s->state.elements = s->in->stokes->elements;
    s->state.used = s->in->stokes->used;
    s->state.as_ones = s->in->as_ones;
    s->state.runs = s->work.runs;
}

/* One launch after the other. */
static int launch_all(sampling *s, const grove_kernel *kernel)
{
    const grove_gridder_piece *pieces = s->args.in[GROVE_GRIDDER_PIECE_LIST].data;
    double *sums = s->args.in[GROVE_GRIDDER_SUMS].data;
    int code = 0;

    for (int k = 0; k < s->work.launches && !code; k++) {
        const int32_t first = s->work.begin[k];
        s->state.pieces = s->work.begin[k + 1] - first;
        if (!s->state.pieces)
            continue;
        s->args.in[GROVE_GRIDDER_PIECE_LIST].data = (void *)(uintptr_t)(pieces + first);
        s->args.in[GROVE_GRIDDER_SUMS].data = sums + (ptrdiff_t)2 * first;
        memcpy(s->args.state.bytes, &s->state, sizeof(s->state));
        code = grove_call_launch(s->call, kernel, &s->args, s->call->double_precision);
        if (code && k > 0 && kernel == &spread)
            code = image_device_fail(s->call, code);
    }
    s->args.in[GROVE_GRIDDER_SUMS].data = sums;
    return code;
}

static int add_totals(const sampling *s)
{
    return add_sums(s->call, s->args.in[GROVE_GRIDDER_SUMS].data, s->work.begin[s->work.launches],
                    s->d->totals, 2, 2);
}

static void set_visibilities(sampling *s)
{
    s->args.in[GROVE_GRIDDER_DATA] = view_of(s, s->in->data);
    s->args.in[GROVE_GRIDDER_WEIGHTS] = view_of(s, s->in->weights);
    s->args.in[GROVE_GRIDDER_FLAGS] = view_of(s, s->in->data < 0 ? -1 : s->in->flags + s->in->data);
    s->args.in[GROVE_GRIDDER_WEIGHT_FLAGS] =
        view_of(s, s->in->weights < 0 ? -1 : s->in->flags + s->in->weights);
}

static int sample(sampling *s, bool collects, int64_t *outside)
{
    grove_gridder_state axes;
    int64_t beyond = 0;

    if (!find_extent(s))
        return GROVE_MISSING;
    axes = s->state;
    int code = sort(s, collects, outside ? &beyond : NULL);
    if (code)
        return code;
    set_up(s, &axes);
    if (s->work.runs && !(code = send_all(s)) && !collects) {
        set_visibilities(s);
        code = launch_all(s, &spread);
        if (!code && (code = add_totals(s)))
            code = image_device_fail(s->call, code);
    }
    if (outside && !code)
        *outside += beyond;
    return code;
}

/* Of all samples of the call, adds totals[k] for k from `first` on, to `to`. */
static int weigh_all(sampling *s, int first, double *to)
{
    enum { LANES = 32, MOST = 1 << 16 };
    const int64_t samples = s->times * s->baselines * s->channels;
    const int64_t warps = (samples + LANES - 1) / LANES, most = MOST / LANES,
                  threads = LANES * (warps < most ? warps : most);
    grove_gridder_weighing state = {.samples = s->state,
                                    .rows = s->times * s->baselines,
                                    .threads = threads,
                                    .limited = s->in->longest && s->in->longest[0] > 0};
    grove_args args = s->args;
    const void *freq = NULL, *stokes = NULL, *sums = NULL;
    int code = grove_call_send(s->call, centres_of(s), (size_t)s->channels * sizeof(double), &freq);

    for (int d = 0; d < 3 && state.limited; d++)
        state.longest[d] = s->in->longest[d] * GROVE_SPEED_OF_LIGHT;
    if (!code)
        code =
            grove_call_send(s->call, s->in->stokes->factor, sizeof(s->in->stokes->factor), &stokes);
    if (!code)
        code = grove_call_send(s->call, NULL,
                               (size_t)(threads / LANES) * GROVE_GRIDDER_TOTALS * sizeof(double),
                               &sums);
    args.axes = 1;
    args.size[0] = threads;
    args.in[GROVE_GRIDDER_WAVENUMBERS].data = (void *)(uintptr_t)freq;
    args.in[GROVE_GRIDDER_STOKES].data = (void *)(uintptr_t)stokes;
    args.out.data = (void *)(uintptr_t)sums;
    memcpy(args.state.bytes, &state, sizeof(state));
    if (!code)
        code = grove_call_launch(s->call, &weigh, &args, s->call->double_precision);
    return code ? code
                : add_sums(s->call, (const double *)sums + first, (int32_t)(threads / LANES),
                           to + first, GROVE_GRIDDER_TOTALS, GROVE_GRIDDER_TOTALS - first);
}

int image_device_add(const grove_call *call, const image_device *d, const image_device_inputs *in)
{
    sampling s = {.call = call, .d = d, .in = in};
    int64_t outside = 0;
    int code = sample(&s, false, &outside);

    if (!code && outside) { /* which of them have weights */
        set_visibilities(&s);
        code = weigh_all(&s, GROVE_GRIDDER_BEYOND, d->totals);
        code = code ? image_device_fail(call, code) : 0;
    }
    grove_gridder_work_free(&s.work);
    return code;
}

int image_device_weigh(const grove_call *call, const image_device_inputs *in, double **totals)
{
    const image_device none = {0};
    sampling s = {.call = call, .d = &none, .in = in};

    if (!find_extent(&s) || s.times * s.baselines * s.channels >= INT32_MAX)
        return GROVE_MISSING;
    int code = image_device_begin_totals(call, totals);
    const grove_gridder_state axes = s.state;
    set_up(&s, &axes);
    set_visibilities(&s);
    return code ? code : weigh_all(&s, 0, *totals);
}

/* ---- prediction ---- */

static int correlate_all(const sampling *s, const void *samples)
{
    grove_gridder_image_state state = {.row = grove_gridder_divide_by((int32_t)s->channels),
                                       .polarisations = s->state.polarisations,
                                       .channels = (int32_t)s->channels,
                                       .baselines = (int32_t)s->baselines};
    grove_args args = *s->call->args;

    memcpy(state.axis, s->state.axis, sizeof(state.axis));
    memcpy(args.state.bytes, &state, sizeof(state));
    args.inputs = GROVE_GRIDDER_IMAGE_INPUTS;
    args.axes = 1;
    args.size[0] = s->times * s->baselines * s->channels;
    args.in[GROVE_GRIDDER_FROM] = (grove_view){.data = (void *)(uintptr_t)samples};
    args.in[GROVE_GRIDDER_TABLE] = s->args.in[GROVE_GRIDDER_STOKES];
    return grove_call_launch(s->call, &correlate, &args, s->call->double_precision);
}

/* Adds the samples of a part to those at *samples, NULL before the first part; `last`: they are
 * complete. */
static int predict(sampling *s, void **samples, bool last, int64_t *outside)
{
    const size_t pair = 2 * (s->call->double_precision ? sizeof(double) : sizeof(float));
    int code = sample(s, true, outside);

    if (code)
        return code;
    const uint64_t bytes =
        (uint64_t)(s->times * s->baselines * s->channels * s->state.polarisations) * pair;
    if (!*samples) {
        code = grove_call_scratch(s->call, bytes, samples);
        if (!code)
            code = grove_call_zero(s->call, *samples, bytes);
    }
    if (!code && !s->work.runs && last)
        code = send_all(s); /* for the factors of Stokes parameters */
    s->args.in[GROVE_GRIDDER_SAMPLES] = (grove_view){.data = *samples};
    if (!code && s->work.runs)
        code = launch_all(s, &collect);
    return code || !last ? code : correlate_all(s, *samples);
}

int image_device_predict(const grove_call *call, const image_device *d,
                         const image_device_inputs *in, const image_device_part *parts, int count,
                         int64_t *outside)
{
    void *samples = NULL;
    int code = 0;

    for (int k = 0; k < count && !code; k++) {
        image_device device = *d;
        device.planes = parts[k].planes;
        sampling s = {.call = call, .d = &device, .in = in, .share = parts[k].share};
        code = predict(&s, &samples, k == count - 1, k == 0 ? outside : NULL);
        grove_gridder_work_free(&s.work);
    }
    return code;
}
