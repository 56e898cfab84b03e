#include "nodes/image_subgrids_device.h"
#include "nodes/image_launch.h"
#include "nodes/image_plane.h"
#include "nodes/image_subgrids.h"

#include "base/error.h"
#include "keep.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void image_subgrids_device_free(image_subgrids_device *d)
{
    grove_idg_free(d->host);
    free(d->slots.tile);
    *d = (image_subgrids_device){0};
}

uint64_t image_subgrids_device_memory(const grove_idg_plan *plan, const image_terms *terms,
                                      int64_t times, int64_t channels, bool planes)
{
    const grove_idg_device_sizes s = grove_idg_device_find_sizes(plan);

    return s.numbers + s.images + s.table + (planes ? s.planes : 0) +
           image_terms_bytes(terms, plan, times, channels) + (1 << 20);
}

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes, at);
}

/* The table goes there by a kernel, since what is sent is gone when the call ends. */
static int send_table(const grove_call *call, const grove_idg_plan *plan, void *to)
{
    const int64_t real = call->double_precision ? sizeof(double) : sizeof(float);
    const uint64_t bytes = grove_idg_device_find_sizes(plan).table;
    const int32_t numbers = (int32_t)((int64_t)bytes / real);
    const grove_gridder_window whole = {.size = {numbers, 1},
                                        .from_size = {numbers, 1},
                                        .numbers = 1,
                                        .from_step = {real, 0},
                                        .to_step = {real, 0}};
    double *table = grove_idg_device_table(plan);
    const void *sent = NULL;
    int code = table ? grove_call_send(call, table, bytes, &sent) : GROVE_MISSING;

    free(table);
    return code ? code : image_launch_window(call, sent, to, &whole);
}

static int open_device(const grove_call *call, const grove_idg_plan *plan, bool planes,
                       image_subgrids_device *d)
{
    const grove_idg_device_sizes s = grove_idg_device_find_sizes(plan);

    if (d->open)
        return 0;
    int code = keep(call, s.numbers, &d->numbers);
    code = code ? code : keep(call, s.images, &d->images);
    code = code ? code : keep(call, s.table, &d->table);
    code = code ? code : send_table(call, plan, d->table);
    if (!code && planes)
        code = keep(call, s.planes, &d->planes);
    if (!code && planes)
        code = grove_call_zero(call, d->planes, s.planes);
    d->open = !code;
    return code;
}

/* ---- samples ---- */

typedef struct {
    const grove_call *call;
    const grove_idg_plan *plan;
    const image_device_inputs *in;
    image_subgrids_device *d;
    grove_idg_work work;
    image_terms_made made;
    const image_terms *terms;
    double *uvw;
    int64_t times, baselines;
    grove_gridder_samples samples;
    grove_args args;
    grove_idg_state state;
    const grove_idg_tile *tiles; /* on the device */
} sampling;

/* Sizes; false: the result has other axes than those of visibilities. */
static bool find_extent(sampling *s)
{
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ};
    const grove_args *args = s->call->args;
    bool others = false;

    for (int d = 0; d < 3; d++)
        s->state.samples.axis[d] = grove_args_axis(args, kinds[d]);
    for (int d = 0; d < args->axes; d++)
        others =
            others || (d != s->state.samples.axis[0] && d != s->state.samples.axis[1] &&
                       d != s->state.samples.axis[2] && args->out.stride[d] && args->size[d] > 1);
    s->times = image_axis_size(args, GROVE_AXIS_TIME);
    s->baselines = image_axis_size(args, GROVE_AXIS_BASELINE);
    return !others;
}

static int64_t origin_of(const grove_args *args, int kind)
{
    const int d = grove_args_axis(args, kind);

    return d < 0 ? 0 : args->origin[d];
}

static int find_samples(sampling *s)
{
    const grove_args *args = s->call->args;
    grove_view view = args->in[s->in->uvw];
    const void *from = NULL;
    int code = grove_call_host(s->call, s->in->uvw, &from);

    if (code)
        return code;
    view.data = (void *)(uintptr_t)from;
    s->uvw = image_copy_uvw(args, &view);
    s->samples = (grove_gridder_samples){
        .rows = s->times * s->baselines,
        .channels = grove_args_axis(args, GROVE_AXIS_FREQ) < 0
                        ? s->in->freq->size
                        : image_axis_size(args, GROVE_AXIS_FREQ),
        .uvw = s->uvw,
        .freq = s->in->centres ? s->in->centres
                               : s->in->freq->centre + origin_of(args, GROVE_AXIS_FREQ),
        .longest = s->in->longest};
    return s->uvw ? 0 : GROVE_MISSING;
}

/* The terms on the pixels, made by the host. */
static int make_terms(sampling *s)
{
    const grove_args *args = s->call->args;
    const image_terms *terms = s->terms;
    const image_terms_part part = {origin_of(args, GROVE_AXIS_TIME),     s->times,
                                   origin_of(args, GROVE_AXIS_BASELINE), s->baselines,
                                   origin_of(args, GROVE_AXIS_FREQ),     s->samples.channels};
    image_terms_numbers from;
    const void *at = NULL;

    if (terms->input < 0)
        return 0;
    if (s->in->flags && args->in[s->in->flags + terms->input].data)
        return GROVE_MISSING; /* of flags the host tells */
    from = image_terms_of_view(args, terms->input, s->call->double_precision);
    int code = grove_call_host(s->call, terms->input, &at);
    from.at = at;
    return code ? code : image_terms_make(s->call, terms, s->plan, &from, &part, &s->made);
}

/* All that the kernels read beside visibilities, in one piece: a call sends few. */
static int send_all(sampling *s)
{
    enum { COUNT = 6, ALIGNED = 256 };
    const grove_idg_work *w = &s->work;
    const size_t terms =
        s->terms->input < 0
            ? 0
            : (size_t)image_terms_bytes(s->terms, s->plan, s->times, s->samples.channels);
    const struct {
        int input;
        const void *from;
        size_t bytes;
    } what[COUNT] = {{GROVE_GRIDDER_WAVENUMBERS, w->wavenumber,
                      (size_t)(2 * s->samples.channels) * sizeof(double)},
                     {GROVE_IDG_SUBGRIDS, w->subgrid, (size_t)w->subgrids * sizeof(*w->subgrid)},
                     {GROVE_IDG_TILES, w->tile, (size_t)w->tiles * sizeof(*w->tile)},
                     {GROVE_IDG_LIST, w->list, (size_t)w->entries * sizeof(*w->list)},
                     {GROVE_GRIDDER_STOKES, s->in->stokes->factor, sizeof(s->in->stokes->factor)},
                     {GROVE_IDG_TERMS, s->made.numbers, terms}};
    size_t begin[COUNT + 1] = {0};
    const void *at = NULL;

    for (int k = 0; k < COUNT; k++)
        begin[k + 1] = (begin[k] + what[k].bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
    char *packed = calloc(1, begin[COUNT] + 1);
    if (!packed)
        return GROVE_MISSING;
    for (int k = 0; k < COUNT; k++)
        if (what[k].bytes)
            memcpy(packed + begin[k], what[k].from, what[k].bytes);
    int code = grove_call_send(s->call, packed, begin[COUNT], &at);
    free(packed);
    for (int k = 0; k < COUNT && !code; k++)
        if (what[k].bytes)
            s->args.in[what[k].input].data = (char *)(uintptr_t)at + begin[k];
    return code;
}

static grove_view view_of(const sampling *s, int k)
{
    return k >= 0 ? s->call->args->in[k] : (grove_view){0};
}

static void set_up(sampling *s)
{
    const grove_idg_state axes = s->state;
    grove_args *a = &s->args;

    a->axes = 1;
    a->inputs = GROVE_GRIDDER_INPUTS;
    a->in[GROVE_GRIDDER_UVW] = view_of(s, s->in->uvw);
    a->in[GROVE_IDG_TABLE].data = s->d->table;
    s->state = grove_idg_device_state(s->plan);
    memcpy(s->state.samples.axis, axes.samples.axis, sizeof(axes.samples.axis));
    s->state.samples.channels = (int32_t)s->samples.channels;
    s->state.samples.baselines = (int32_t)s->baselines;
    s->state.samples.elements = s->in->stokes->elements;
    s->state.samples.used = s->in->stokes->used;
    s->state.elements = s->terms->elements;
    s->state.even = s->work.even;
    s->state.limited = s->in->longest && s->in->longest[0] > 0;
    for (int d = 0; d < 3 && s->state.limited; d++)
        s->state.longest[d] = s->in->longest[d] * GROVE_SPEED_OF_LIGHT;
}

/* Subgrids, and what is sent; `adds`: to planes. */
static int begin(sampling *s, bool adds)
{
    grove_gridder_outside outside = {0};
    int code = find_extent(s) ? find_samples(s) : GROVE_MISSING;

    if (!code && adds && image_subgrids_beyond(&s->samples, &s->plan->grid.bounds))
        return GROVE_MISSING; /* of w beyond the layers the host tells */
    code = code ? code : make_terms(s);
    if (!code && grove_idg_device_divide(s->plan, &s->samples, s->baselines,
                                         s->terms->input < 0 ? NULL : &s->made.terms, adds,
                                         &s->d->slots, &s->work, &outside))
        code = GROVE_MISSING;
    code = code ? code : open_device(s->call, s->plan, adds, s->d);
    if (!code)
        set_up(s);
    return code ? code : send_all(s);
}

static void end(sampling *s)
{
    grove_idg_work_free(&s->work);
    image_terms_free(&s->made);
    free(s->uvw);
}

/* ---- launches ---- */

static int launch(sampling *s, const grove_kernel *kernel, int64_t items, void *to)
{
    grove_args *a = &s->args;

    a->size[0] = items;
    a->out.data = to;
    memcpy(a->state.bytes, &s->state, sizeof(s->state));
    return items > INT32_MAX ? GROVE_MISSING
                             : grove_call_launch(s->call, kernel, a, s->call->double_precision);
}

static int64_t pixels_of(const sampling *s)
{
    return (int64_t)(s->state.last - s->state.first) * s->plan->side * s->plan->side;
}

static int transform(const sampling *s, int sign)
{
    const int64_t side = s->plan->side;

    return grove_call_transform(
        s->call,
        &(grove_transform){.at = s->d->images,
                           .size = {side, side},
                           .count = (s->state.last - s->state.first) * s->plan->mix.images,
                           .rank = 2,
                           .sign = sign},
        s->call->double_precision);
}

static void set_subgrids(sampling *s, int32_t k)
{
    const grove_idg_work *w = &s->work;

    s->state.first = w->first[k];
    s->state.last = w->first[k + 1];
}

static int add_launch(sampling *s, int32_t k)
{
    const grove_idg_work *w = &s->work;

    set_subgrids(s, k);
    int code =
        launch(s, grove_idg_sum_kernel(s->plan->side),
               grove_idg_threads(s->plan, s->state.last - s->state.first, false), s->d->numbers);
    s->args.in[GROVE_IDG_PIXELS].data = s->d->numbers;
    code = code ? code : launch(s, &grove_idg_weigh, pixels_of(s), s->d->images);
    code = code ? code : transform(s, -1);
    s->args.in[GROVE_IDG_PIXELS].data = s->d->images;
    s->state.first = w->begin[k];
    s->state.last = w->begin[k + 1];
    return code ? code
                : launch(s, &grove_idg_gather,
                         (int64_t)(s->state.last - s->state.first) * s->plan->mix.images *
                             GROVE_IDG_TILE * GROVE_IDG_TILE,
                         s->d->planes);
}

/* What slots have, to the w-tiles of the host. */
static int fetch_slots(const grove_call *call, const grove_idg_plan *plan, const void *planes,
                       const grove_idg_slots *slots, grove_idg *to)
{
    const grove_idg_device_sizes sizes = grove_idg_device_find_sizes(plan);
    const size_t image = sizes.planes / (uint64_t)(sizes.slots * plan->mix.images);
    char *from = malloc(sizes.planes);
    bool room = from;
    int code = room ? grove_call_fetch(call, from, planes, sizes.planes) : 0;

    for (int32_t k = 0; k < slots->used && room && !code; k++)
        for (int r = 0; r < plan->mix.images && room; r++)
            room = !grove_idg_add_tile(to, slots->tile[k], r,
                                       from + (size_t)(r * sizes.slots + k) * image);
    free(from);
    return room ? code
                : grove_node_fail(call->node, GROVE_NO_MEMORY,
                                  "not enough memory for what the device has made");
}

/* Tiles of the grid go to the host where there are no slots for more. */
static int free_slots(const sampling *s, int32_t k)
{
    image_subgrids_device *d = s->d;
    grove_isa isa;
    char said[200];

    if (!s->work.flush || !s->work.flush[k].tile)
        return 0;
    if (!d->host && !grove_isa_choose(&isa, said))
        d->host = grove_idg_new(s->plan, isa);
    int code = d->host ? fetch_slots(s->call, s->plan, d->planes, &s->work.flush[k], d->host)
                       : grove_node_fail(s->call->node, GROVE_NO_MEMORY,
                                         "not enough memory for the planes");
    return code ? code
                : grove_call_zero(s->call, d->planes, grove_idg_device_find_sizes(s->plan).planes);
}

/* What the slots have from here on. */
static void take_slots(sampling *s)
{
    const grove_idg_slots before = s->d->slots;

    s->d->slots = s->work.slots;
    s->work.slots = before;
}

int image_subgrids_device_add(const grove_call *call, const grove_idg_plan *plan,
                              const image_terms *terms, const image_device_inputs *in,
                              image_subgrids_device *d, grove_idg_counts *counts)
{
    sampling s = {.call = call, .plan = plan, .terms = terms, .in = in, .d = d};
    int code = begin(&s, true);

    s.args.in[GROVE_GRIDDER_DATA] = view_of(&s, in->data);
    s.args.in[GROVE_GRIDDER_WEIGHTS] = view_of(&s, in->weights);
    s.args.in[GROVE_GRIDDER_FLAGS] = view_of(&s, in->flags + in->data);
    s.args.in[GROVE_GRIDDER_WEIGHT_FLAGS] =
        view_of(&s, in->weights < 0 ? -1 : in->flags + in->weights);
    for (int32_t k = 0; k < s.work.launches && !code; k++) {
        code = free_slots(&s, k);
        code = code ? code : add_launch(&s, k);
        if (code && k > 0) /* some are added: they cannot be again */
            code = grove_node_fail(call->node, GROVE_NO_MEMORY,
                                   "the device failed after it had added some visibilities");
    }
    if (!code)
        take_slots(&s);
    if (!code)
        code = image_device_weigh(call, in, &d->totals);
    if (!code)
        grove_idg_work_count(&s.work, counts);
    end(&s);
    return code;
}

/* In calls on a device there are no other threads. */
static void run_alone(void *pool, int64_t count, void (*fn)(void *context, int64_t i),
                      void *context)
{
    (void)pool;
    for (int64_t i = 0; i < count; i++)
        fn(context, i);
}

/* The w-tiles of launches from k on, up to those that have others in their slots: made by the host,
 * and sent, [slot][v][u][image]. */
static int send_slots(sampling *s, int32_t k, grove_idg *host)
{
    const grove_gridder_threads threads = {.run = run_alone};
    const grove_idg_plan *plan = s->plan;
    const int64_t side = s->state.size[0], cells = side * side,
                  pair = s->call->double_precision ? 16 : 8, cell = pair * plan->mix.images;
    const grove_idg_slots *slots = &s->work.slots;
    const void *at = NULL;

    for (int32_t i = k + 1; i < s->work.launches && slots == &s->work.slots; i++)
        if (s->work.flush[i].tile)
            slots = &s->work.flush[i];
    const size_t bytes = (size_t)(slots->used * cells * cell);
    char *packed = malloc(bytes + 1);
    int code =
        packed && !grove_idg_make_tiles(host, slots->tile, slots->used, &threads)
            ? 0
            : grove_node_fail(s->call->node, GROVE_NO_MEMORY, "not enough memory for the planes");
    for (int32_t i = 0; i < slots->used && !code; i++)
        image_subgrids_to_cells(grove_idg_tile_images(host, slots->tile[i]),
                                packed + i * cells * cell, plan->mix.images, cells,
                                s->call->double_precision);
    code = code ? code : grove_call_send(s->call, packed, bytes, &at);
    free(packed);
    s->args.in[GROVE_GRIDDER_DATA].data = (void *)(uintptr_t)at;
    s->args.in[GROVE_GRIDDER_DATA].stride[0] = cell;
    s->args.in[GROVE_GRIDDER_DATA].stride[1] = cell * side;
    s->args.in[GROVE_GRIDDER_DATA].stride[2] = cell * cells;
    return code;
}

static int predict_launch(sampling *s, int32_t k, const grove_view *out)
{
    set_subgrids(s, k);
    int code = launch(s, &grove_idg_split, pixels_of(s) * s->plan->mix.images, s->d->images);
    code = code ? code : transform(s, 1);
    s->args.in[GROVE_IDG_PIXELS].data = s->d->images;
    s->state.adjoint = 1;
    code = code ? code : launch(s, &grove_idg_weigh, pixels_of(s), s->d->numbers);
    s->args.in[GROVE_IDG_PIXELS].data = s->d->numbers;
    s->args.out = *out;
    return code ? code
                : launch(s, grove_idg_predict_kernel(s->plan->side),
                         grove_idg_threads(s->plan, s->state.last - s->state.first, true),
                         out->data);
}

int image_subgrids_device_predict(const grove_call *call, const grove_idg_plan *plan,
                                  const image_terms *terms, const image_device_inputs *in,
                                  const void *planes, const int64_t step[3], grove_idg *host,
                                  image_subgrids_device *d, grove_idg_counts *counts,
                                  int64_t *outside, int64_t *beyond)
{
    sampling s = {.call = call, .plan = plan, .terms = terms, .in = in, .d = d};
    int code = begin(&s, false);

    s.args.in[GROVE_GRIDDER_DATA].data = (void *)(uintptr_t)planes;
    memcpy(s.args.in[GROVE_GRIDDER_DATA].stride, step, 3 * sizeof(*step));
    s.args.out = call->args->out;
    if (!code)
        code =
            launch(&s, &grove_idg_clear, s.samples.rows * s.samples.channels, call->args->out.data);
    for (int32_t k = 0; k < s.work.launches && !code; k++) {
        if (plan->tile && (k == 0 || s.work.flush[k].tile))
            code = send_slots(&s, k, host);
        code = code ? code : predict_launch(&s, k, &call->args->out);
    }
    if (!code) {
        grove_idg_work_count(&s.work, counts);
        *outside += image_leave_out(&s.samples, in->longest, 0);
        *beyond += image_subgrids_beyond(&s.samples, &plan->grid.bounds);
    }
    end(&s);
    return code;
}

/* ---- planes ---- */

int image_subgrids_device_fetch(const grove_call *call, const grove_idg_plan *plan,
                                const image_subgrids_device *d, grove_idg *to)
{
    const uint64_t bytes = grove_idg_device_find_sizes(plan).planes;
    void *planes = plan->tile ? NULL : grove_idg_planes(to);

    if (plan->tile) {
        const int failed = d->host && grove_idg_add_tiles(to, d->host);
        return failed ? grove_node_fail(call->node, GROVE_NO_MEMORY,
                                        "not enough memory for what the device has made")
                      : fetch_slots(call, plan, d->planes, &d->slots, to);
    }
    void *more = planes ? malloc(bytes) : NULL;
    int code = more ? grove_call_fetch(call, more, d->planes, bytes)
                    : grove_node_fail(call->node, GROVE_NO_MEMORY,
                                      "not enough memory for what the device has made");

    for (size_t i = 0;
         i < bytes / (call->double_precision ? sizeof(double) : sizeof(float)) && !code; i++)
        if (call->double_precision)
            ((double *)planes)[i] += ((const double *)more)[i];
        else
            ((float *)planes)[i] += ((const float *)more)[i];
    free(more);
    return code;
}

int image_subgrids_device_give(const grove_call *call, const grove_idg_plan *plan,
                               const image_subgrids_device *d)
{
    const grove_gridder_plan *grid = &plan->grid;
    const int64_t pair = call->double_precision ? 16 : 8, images = plan->mix.images,
                  plane = grid->grid[0] * grid->grid[1] * pair;
    const int32_t size[2] = {(int32_t)grid->grid[0], (int32_t)grid->grid[1]};
    int code = plan->tile ? GROVE_MISSING : 0; /* the host brings w-tiles onto the planes */

    for (int64_t k = 0; k < images * grid->planes && !code; k++) {
        const grove_gridder_window whole = {.size = {size[0], size[1]},
                                            .from_size = {size[0], size[1]},
                                            .numbers = 2,
                                            .from_step = {pair, pair * size[0]},
                                            .to_step = {pair * images, pair * images * size[0]}};
        code = image_launch_window(call, (const char *)d->planes + k * plane,
                                   (char *)call->args->out.data +
                                       k % grid->planes * plane * images + k / grid->planes * pair,
                                   &whole);
    }
    return code;
}
