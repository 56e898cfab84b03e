#include "nodes/image_device.h"
#include "nodes/gridder_threads.h"
#include "nodes/image_plane.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

static int64_t spread_threads(const grove_args *args)
{
    const grove_gridder_state *s = grove_gridder_state_of(args);

    return (int64_t)s->pieces * s->polarisations * GROVE_GRIDDER_BLOCK;
}

#define SPREAD_SOURCE "gridder_spread.cu"
#define IMAGE_SOURCE  "gridder_image.cu"
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
static const grove_kernel unfold = {"gridder_unfold", NULL, NULL, IMAGE_SOURCE, NULL, 0, 0},
                          fold = {"gridder_fold", NULL, NULL, IMAGE_SOURCE, NULL, 0, 0},
                          to_image = {"gridder_to_image", NULL, NULL, IMAGE_SOURCE, NULL, 0, 0},
                          from_image = {"gridder_from_image", NULL, NULL, IMAGE_SOURCE, NULL, 0, 0},
                          correlate = {"gridder_correlate", NULL, NULL, IMAGE_SOURCE, NULL, 0, 0},
                          total = {"gridder_total", NULL, NULL, IMAGE_SOURCE, NULL, 32, 0};

/* ---- memory ---- */

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes, at);
}

/* One dimension of `count` items, with an input and a table. */
static int launch_items(const grove_call *call, const grove_kernel *kernel, int64_t count,
                        const void *from, const void *table, void *to,
                        const grove_gridder_image_state *state)
{
    grove_args args = {.axes = 1, .inputs = GROVE_GRIDDER_IMAGE_INPUTS, .size = {count}};

    args.in[GROVE_GRIDDER_FROM].data = (void *)(uintptr_t)from;
    args.in[GROVE_GRIDDER_TABLE].data = (void *)(uintptr_t)table;
    args.out.data = to;
    memcpy(args.state.bytes, state, sizeof(*state));
    return grove_call_launch(call, kernel, &args, call->double_precision);
}

/* A transform of the grid's plane, in place. */
static int transform(const grove_call *call, const image_device *d, int sign)
{
    const grove_gridder_image_state s = grove_gridder_device_image(d->gridder, 0);

    return grove_call_transform(
        call,
        &(grove_transform){
            .at = d->grid, .size = {s.size[1], s.size[0]}, .count = 1, .rank = 2, .sign = sign},
        call->double_precision);
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

/* Whether the device has the library, memory for it, and the code, is known at once. */
static int try_all(const grove_call *call, const image_device *d, bool images)
{
    int code = images ? transform(call, d, 1) : 0;

    return code ? code
                : launch_items(call, &total, 32, d->totals, NULL, d->totals,
                               &(grove_gridder_image_state){0});
}

int image_device_open(const grove_call *call, const grove_gridder_plan *plan, bool images,
                      image_device *d)
{
    void *totals = d->totals;

    if (d->open)
        return 0;
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
        code = keep(call, 2 * sizeof(double), &totals);
    d->totals = totals;
    if (!code)
        code = grove_call_zero(call, d->planes, bytes.planes);
    if (!code)
        code = grove_call_zero(call, d->totals, 2 * sizeof(double));
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

/* Sizes; false: the result has other axes than those of visibilities. */
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

    bool *lacks = code || !s->share ? NULL : malloc((size_t)s->channels * sizeof(*lacks));
    if (!code && s->share && !lacks)
        code = GROVE_MISSING;
    for (int64_t k = 0; k < s->channels && lacks; k++)
        lacks[k] = s->share[k] == 0;
    const grove_gridder_samples samples = {.rows = s->times * s->baselines,
                                           .channels = s->channels,
                                           .uvw = uvw,
                                           .freq = centres_of(s),
                                           .longest = s->in->longest,
                                           .lacks = lacks};
    if (!code && grove_gridder_device_sort(s->d->gridder, &samples, &threads, collects, &s->work))
        code = GROVE_MISSING;
    if (!code && outside) /* parts may share channels */
        *outside += lacks ? image_leave_out(&samples, s->in->longest, 0) : s->work.outside;
    free(lacks);
    free(uvw);
    return code;
}

/* All that the kernels read beside visibilities, in one piece: a call sends few. */
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
    s->state = grove_gridder_device_state(s->d->gridder);
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
    }
    s->args.in[GROVE_GRIDDER_SUMS].data = sums;
    return code;
}

static int add_totals(const sampling *s)
{
    grove_gridder_image_state state = {.pieces = s->work.begin[s->work.launches]};

    return launch_items(s->call, &total, 32, s->args.in[GROVE_GRIDDER_SUMS].data, NULL,
                        s->d->totals, &state);
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
        s->args.in[GROVE_GRIDDER_DATA] = view_of(s, s->in->data);
        s->args.in[GROVE_GRIDDER_WEIGHTS] = view_of(s, s->in->weights);
        s->args.in[GROVE_GRIDDER_FLAGS] =
            view_of(s, s->in->data < 0 ? -1 : s->in->flags + s->in->data);
        s->args.in[GROVE_GRIDDER_WEIGHT_FLAGS] =
            view_of(s, s->in->weights < 0 ? -1 : s->in->flags + s->in->weights);
        code = launch_all(s, &spread);
        if (!code)
            code = add_totals(s);
    }
    if (outside && !code)
        *outside += beyond;
    return code;
}

int image_device_add(const grove_call *call, const image_device *d, const image_device_inputs *in,
                     int64_t *outside)
{
    sampling s = {.call = call, .d = d, .in = in};
    int code = sample(&s, false, outside);

    grove_gridder_work_free(&s.work);
    return code;
}

/* ---- images, and planes ---- */

/* Adds numbers of the device to the host's. */
static int fetch_and_add(const grove_call *call, void *to, const void *from, uint64_t bytes)
{
    const size_t count = bytes / (call->double_precision ? sizeof(double) : sizeof(float));
    void *more = malloc(bytes);
    int code = more ? grove_call_fetch(call, more, from, bytes)
                    : grove_node_fail(call->node, GROVE_NO_MEMORY,
                                      "not enough memory for what the device has made");

    for (size_t i = 0; i < count && !code; i++)
        if (call->double_precision)
            ((double *)to)[i] += ((const double *)more)[i];
        else
            ((float *)to)[i] += ((const float *)more)[i];
    free(more);
    return code;
}

int image_device_add_planes(const grove_call *call, const image_device *d, void *kept)
{
    return fetch_and_add(call, kept, d->planes, grove_gridder_device_sizes(d->gridder).planes);
}

static char *plane_of(const grove_call *call, const image_device *d, int polarisation,
                      int64_t plane)
{
    const grove_gridder_image_state s = grove_gridder_device_image(d->gridder, 0);
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;
    const size_t pair = 2 * (call->double_precision ? sizeof(double) : sizeof(float));

    return (char *)d->planes +
           (size_t)((polarisation * planes + plane) * s.cells[0] * s.cells[1]) * pair;
}

int image_device_add_image(const grove_call *call, const image_device *d, int polarisation,
                           void *image)
{
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;
    const grove_gridder_table factors = grove_gridder_device_factors(d->gridder);
    const void *table;
    int code = grove_call_send(call, factors.at, factors.bytes, &table);

    for (int64_t k = 0; k < planes && !code; k++) {
        const grove_gridder_image_state s = grove_gridder_device_image(d->gridder, k);
        code = launch_items(call, &unfold, (int64_t)s.size[0] * s.size[1],
                            plane_of(call, d, polarisation, k), NULL, d->grid, &s);
        if (!code)
            code = transform(call, d, 1);
        if (!code)
            code = launch_items(call, &to_image, (int64_t)s.pixels[0] * s.pixels[1], d->grid, table,
                                d->image, &s);
    }
    return code
               ? code
               : fetch_and_add(call, image, d->image, grove_gridder_device_sizes(d->gridder).image);
}

int image_device_from_pixels(const grove_call *call, const image_device *d, int polarisation,
                             const void *pixels, const int64_t step[2])
{
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;
    const grove_gridder_table factors = grove_gridder_device_factors(d->gridder);
    const void *table;
    int code = grove_call_send(call, factors.at, factors.bytes, &table);

    for (int64_t k = 0; k < planes && !code; k++) {
        grove_gridder_image_state s = grove_gridder_device_image(d->gridder, k);
        const int64_t pair = 2 * (call->double_precision ? sizeof(double) : sizeof(float));
        memcpy(s.step, step, sizeof(s.step));
        code = launch_items(call, &from_image, (int64_t)s.size[0] * s.size[1], pixels, table,
                            d->grid, &s);
        if (!code)
            code = transform(call, d, -1);
        s.step[0] = pair;
        s.step[1] = s.size[0] * pair;
        if (!code)
            code = launch_items(call, &fold, (int64_t)s.cells[0] * s.cells[1], d->grid, NULL,
                                plane_of(call, d, polarisation, k), &s);
    }
    return code;
}

int image_device_from_planes(const grove_call *call, const image_device *d, const void *planes,
                             const int64_t step[3])
{
    const int64_t count = grove_gridder_device_state(d->gridder).planes;
    int code = 0;

    for (int64_t k = 0; k < count && !code; k++) {
        grove_gridder_image_state s = grove_gridder_device_image(d->gridder, k);
        for (int axis = 0; axis < 2; axis++) { /* the zero of u and v is in the middle */
            s.step[axis] = step[axis];
            s.first[axis] += s.size[axis] / 2;
            s.first[axis] -= s.first[axis] > 0 ? s.size[axis] : 0;
        }
        code = launch_items(call, &fold, (int64_t)s.cells[0] * s.cells[1],
                            (const char *)planes + k * step[2], NULL, plane_of(call, d, 0, k), &s);
    }
    return code;
}

/* ---- prediction ---- */

static int correlate_all(const sampling *s, const void *samples)
{
    grove_gridder_image_state state = {.polarisations = s->state.polarisations,
                                       .channels = (int32_t)s->channels,
                                       .baselines = (int32_t)s->baselines};
    grove_args args = *s->call->args;

    memcpy(state.axis, s->state.axis, sizeof(state.axis));
    memcpy(args.state.bytes, &state, sizeof(state));
    args.inputs = GROVE_GRIDDER_IMAGE_INPUTS;
    args.axes = 3;
    args.size[0] = s->times;
    args.size[1] = s->baselines;
    args.size[2] = s->channels;
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
        image_device of = *d;
        of.planes = parts[k].planes;
        sampling s = {.call = call, .d = &of, .in = in, .share = parts[k].share};
        code = predict(&s, &samples, k == count - 1, k == 0 ? outside : NULL);
        grove_gridder_work_free(&s.work);
    }
    return code;
}
