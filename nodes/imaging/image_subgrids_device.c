#include "nodes/imaging/image_subgrids_device.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_subgrids.h"

#include "unstable/keep.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void image_subgrids_device_free(image_subgrids_device *d)
{
    grove_idg_free(d->host);
    free(d->slots.tile);
    *d = (image_subgrids_device){0};
}

uint64_t image_subgrids_device_memory(const grove_idg_plan *plan, uint64_t terms, bool planes)
{
    const grove_idg_device_sizes s = grove_idg_device_find_sizes(plan);

    return s.numbers + s.images + s.table + (planes ? s.planes : 0) + terms + (1 << 20);
}

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes, at);
}

/* The table goes there by a kernel, since memory that is sent is freed when the call ends. */
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
    const image_bands *bands; /* which cut blocks of terms; NULL: none do */
    const double *share;      /* of each channel, to be predicted; NULL: all */
    grove_idg_work work;
    image_terms_made made;
    const image_terms *terms;
    const void *made_terms; /* by the device */
    double *uvw;
    int64_t times, baselines;
    grove_gridder_samples samples;
    grove_args args;
    grove_idg_state state;
    bool adds; /* to planes */
} sampling;

/* Sizes; false: the result has other axes than visibilities. */
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

/* The terms on the pixels. */
static int make_terms(sampling *s)
{
    const grove_args *args = s->call->args;
    const image_terms *terms = s->terms;
    const image_terms_part part = {origin_of(args, GROVE_AXIS_TIME),
                                   s->times,
                                   origin_of(args, GROVE_AXIS_BASELINE),
                                   s->baselines,
                                   origin_of(args, GROVE_AXIS_FREQ),
                                   s->samples.channels,
                                   s->bands};

    if (terms->input < 0)
        return 0;
    if (s->in->flags && args->in[s->in->flags + terms->input].data)
        return GROVE_MISSING; /* the host reports flags */
    const image_terms_numbers from =
        image_terms_of_view(args, terms->input, s->call->double_precision);
    const int code = image_terms_divide(s->call, terms, s->plan, &part, &s->made);
    return code ? code
                : image_terms_make_on_device(s->call, terms, s->plan, &from, &s->made,
                                             &s->made_terms);
}

/* All that the kernels read besides visibilities, in one piece: a call sends few. */
static int send_all(sampling *s)
{
    enum { COUNT = 6, ALIGNED = 256 };
    const grove_idg_work *w = &s->work;
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
                     {GROVE_IDG_SHARE, s->share,
                      s->share ? (size_t)s->samples.channels * sizeof(*s->share) : 0}};
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
    a->in[GROVE_IDG_TERMS].data = (void *)(uintptr_t)s->made_terms;
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

/* Samples and terms; `planes`: there are planes, or slots. */
static int begin(sampling *s, bool planes)
{
    int code = find_extent(s) ? find_samples(s) : GROVE_MISSING;

    if (!code && s->adds && image_subgrids_beyond(&s->samples, &s->plan->grid.bounds))
        return GROVE_MISSING; /* the host reports w beyond the layers */
    if (!code && s->adds && s->samples.rows * s->samples.channels >= INT32_MAX)
        return GROVE_MISSING; /* more than image_device_weigh takes */
    code = code ? code : make_terms(s);
    return code ? code : open_device(s->call, s->plan, planes, s->d);
}

/* Divides parts of the channels into subgrids, and sends the lists. */
static int divide(sampling *s, const grove_idg_part *parts, int count)
{
    const grove_idg_slots none = {0};
    const grove_idg_dividing what = {.samples = &s->samples,
                                     .baselines = s->baselines,
                                     .terms = s->terms->input < 0 ? NULL : &s->made.terms,
                                     .parts = parts,
                                     .count = count,
                                     .adds = s->adds,
                                     .slots = s->adds ? &s->d->slots : &none};

    grove_idg_work_free(&s->work);
    if (grove_idg_device_divide(s->plan, &what, &s->work))
        return GROVE_MISSING;
    set_up(s);
    return send_all(s);
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

/* Tiles of the grid go to the host where there are no slots for more. */
static int free_slots(const sampling *s, int32_t k)
{
    image_subgrids_device *d = s->d;
    grove_isa isa;
    char message[200];

    if (!s->work.flush || !s->work.flush[k].tile)
        return 0;
    if (!d->host && !grove_isa_choose(&isa, message))
        d->host = grove_idg_new(s->plan, isa);
    int code = d->host ? image_subgrids_device_fetch_slots(s->call, s->plan, d->planes,
                                                           &s->work.flush[k], d->host)
                       : grove_node_fail(s->call->node, GROVE_NO_MEMORY,
                                         "not enough memory for the planes");
    return code ? code
                : grove_call_zero(s->call, d->planes, grove_idg_device_find_sizes(s->plan).planes);
}

/* Takes the new content of the slots. */
static void take_slots(sampling *s)
{
    const grove_idg_slots before = s->d->slots;

    s->d->slots = s->work.slots;
    s->work.slots = before;
}

/* Of the channels of the call. NULL: no memory. */
static grove_idg_part *parts_of_bands(const sampling *s, int *count)
{
    grove_idg_part *parts = malloc((size_t)s->bands->count * sizeof(*parts));

    *count = 0;
    for (int band = 0; band < s->bands->count && parts; band++) {
        grove_idg_part *part = &parts[*count];
        part->band = band;
        *count += image_bands_find(s->bands, band, origin_of(s->call->args, GROVE_AXIS_FREQ),
                                   s->samples.channels, &part->first, &part->channels);
    }
    return parts;
}

static int begin_adding(sampling *s)
{
    int count = 0, code = image_device_begin_totals(s->call, &s->d->totals);
    code = code ? code : begin(s, true);
    grove_idg_part *parts = code ? NULL : parts_of_bands(s, &count);

    if (!code)
        code = parts ? divide(s, parts, count) : GROVE_MISSING;
    free(parts);
    return code;
}

int image_subgrids_device_add(const grove_call *call, const grove_idg_plan *plan,
                              const image_terms *terms, const image_bands *bands,
                              const image_device_inputs *in, image_subgrids_device *d,
                              grove_idg_counts *counts)
{
    sampling s = {
        .call = call, .plan = plan, .terms = terms, .in = in, .d = d, .bands = bands, .adds = true};
    int code = begin_adding(&s);

    s.args.in[GROVE_GRIDDER_DATA] = view_of(&s, in->data);
    s.args.in[GROVE_GRIDDER_WEIGHTS] = view_of(&s, in->weights);
    s.args.in[GROVE_GRIDDER_FLAGS] = view_of(&s, in->flags + in->data);
    s.args.in[GROVE_GRIDDER_WEIGHT_FLAGS] =
        view_of(&s, in->weights < 0 ? -1 : in->flags + in->weights);
    for (int32_t k = 0; k < s.work.launches && !code; k++) {
        code = free_slots(&s, k);
        code = code ? code : add_launch(&s, k);
        if (code && k > 0)
            code = image_device_fail(call, code);
    }
    if (!code)
        take_slots(&s);
    if (!code && (code = image_device_weigh(call, in, &d->totals)))
        code = image_device_fail(call, code);
    if (!code)
        grove_idg_work_count(&s.work, counts);
    end(&s);
    return code;
}

/* ---- prediction ---- */

/* The w-tiles of launches from k on, up to the launches that have others in their slots. */
static int put_slots(sampling *s, int32_t k, const image_subgrids_planes *planes)
{
    const grove_idg_slots *slots = &s->work.slots;
    void *made = NULL;

    for (int32_t i = k + 1; i < s->work.launches && slots == &s->work.slots; i++)
        if (s->work.flush[i].tile)
            slots = &s->work.flush[i];
    int code = image_subgrids_device_make_slots(s->call, s->plan, planes, slots, &made);
    if (!code)
        code = grove_call_put(s->call, s->d->planes, made,
                              (uint64_t)slots->used * image_subgrids_device_slot_bytes(s->plan));
    free(made);
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

/* The planes, or the slots. */
static void set_planes(sampling *s, const image_subgrids_planes *planes)
{
    const int64_t cell = (s->call->double_precision ? 16 : 8) * s->plan->mix.images;
    grove_view *view = &s->args.in[GROVE_GRIDDER_DATA];

    *view = (grove_view){.data = (void *)(uintptr_t)planes->at};
    memcpy(view->stride, planes->step, sizeof(planes->step));
    if (!s->plan->tile) {
        s->state.samples.planes = (int32_t)s->plan->grid.planes;
        return;
    }
    view->data = s->d->planes;
    view->stride[0] = cell;
    view->stride[1] = cell * s->state.size[0];
    view->stride[2] = cell * s->state.size[0] * s->state.size[1];
}

static int predict_pass(sampling *s, const image_subgrids_planes *planes,
                        const image_cube_division *p, int pass, grove_idg_part *parts)
{
    int count = 0;

    for (int64_t k = 0; k < p->count; k++)
        if (p->run[k].pass == pass)
            parts[count++] = (grove_idg_part){p->run[k].first, p->run[k].channels, p->run[k].plane};
    s->share = p->whole ? NULL : p->share + pass * s->samples.channels;
    int code = divide(s, parts, count);
    set_planes(s, planes);
    for (int32_t k = 0; k < s->work.launches && !code; k++) {
        if (s->plan->tile && (k == 0 || s->work.flush[k].tile))
            code = put_slots(s, k, planes);
        code = code ? code : predict_launch(s, k, &s->call->args->out);
    }
    return code;
}

static int predict_all(sampling *s, const image_subgrids_planes *planes, grove_idg_counts *counts)
{
    image_cube_division p;
    const int failed = image_cube_divide(planes->cube, origin_of(s->call->args, GROVE_AXIS_FREQ),
                                         s->samples.freq, s->samples.channels, &p);
    grove_idg_part *parts = malloc((size_t)p.count * sizeof(*parts) + 1);
    int code = failed || !parts ? GROVE_MISSING : 0;

    for (int pass = 0; pass < p.passes && !code; pass++) {
        code = predict_pass(s, planes, &p, pass, parts);
        if (!code)
            grove_idg_work_count(&s->work, counts);
    }
    free(parts);
    image_cube_division_free(&p);
    return code;
}

int image_subgrids_device_predict(const grove_call *call, const grove_idg_plan *plan,
                                  const image_terms *terms, const image_device_inputs *in,
                                  const image_subgrids_planes *planes, image_subgrids_device *d,
                                  grove_idg_counts *counts, int64_t *outside, int64_t *beyond)
{
    sampling s = {.call = call, .plan = plan, .terms = terms, .in = in, .d = d};
    grove_idg_counts more = {0};
    int code = begin(&s, plan->tile);

    if (!code) {
        set_up(&s);
        s.args.out = call->args->out;
        code =
            launch(&s, &grove_idg_clear, s.samples.rows * s.samples.channels, call->args->out.data);
    }
    code = code ? code : predict_all(&s, planes, &more);
    if (!code) {
        counts->subgrids += more.subgrids;
        counts->visibilities += more.visibilities;
        *outside += image_leave_out(&s.samples, in->longest, 0);
        *beyond += image_subgrids_beyond(&s.samples, &plan->grid.bounds);
    }
    end(&s);
    return code;
}
