/* Applying a diagonal on a device. */
#include "nodes/imaging/g2g.h"
#include "nodes/imaging/image_launch.h"

#include "../../kernels/imaging/g2g/g2g_device.h"
#include "unstable/keep.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

/* Memory that one device keeps, and the serials of the inputs it was made of; 0: they may be
 * others. */
struct g2g_on_device {
    void *functions, *entries, *slots, *lists;
    uint64_t functions_serial, entries_serial;
    bool are_real;
    int32_t pieces;
};

uint64_t g2g_device_memory(const grove_lattice *lattice, int64_t entries)
{
    grove_g2g_device_sizes s;

    return grove_g2g_device_find_sizes(lattice, entries, &s)
               ? s.functions + s.entries + s.slots + s.lists + (1 << 20)
               : 0;
}

static struct g2g_on_device *find_device(g2g_devices *devices, int number)
{
    for (; devices->count <= number; devices->count++) {
        devices->each =
            grove_realloc(devices->each, (size_t)(devices->count + 1) * sizeof(*devices->each));
        devices->each[devices->count] = (struct g2g_on_device){0};
    }
    return &devices->each[number];
}

static int keep(const grove_call *call, uint64_t bytes, void **at)
{
    return *at ? 0 : grove_call_keep(call, bytes + 1, at);
}

/* ---- functions ---- */

static bool are_whole(const grove_call *call, const grove_lattice *l, int functions)
{
    const int64_t cell = l->plan.double_precision ? 16 : 8, fine = grove_convolution_side(&l->plan),
                  planes = l->plan.functions * l->plan.planes;

    return image_stage_in_step(call->args, functions, "fine") == cell &&
           (planes == 1 ||
            image_stage_in_step(call->args, functions, "w_function") == fine * fine * cell);
}

static int find_functions(const grove_call *call, const grove_lattice *l, int functions,
                          struct g2g_on_device *d)
{
    const uint64_t serial = grove_call_serial(call, functions);
    const void *numbers = NULL;
    int code;

    if (serial && serial == d->functions_serial)
        return 0;
    d->functions_serial = 0;
    if (!are_whole(call, l, functions))
        return GROVE_MISSING;
    code = grove_call_host(call, functions, &numbers);
    code = code ? code : image_functions_check_finite(call->node, &l->plan, numbers, NULL);
    if (code)
        return code;
    const bool are_real = grove_g2g_are_real(l, numbers);
    if (are_real != d->are_real)
        d->entries_serial = 0; /* entries depend on where functions begin */
    d->are_real = are_real;
    const grove_g2g_arrange_state state = {
        .step = {image_stage_in_step(call->args, functions, "w_function"),
                 image_stage_in_step(call->args, functions, "fine")},
        .support = l->plan.support,
        .oversampling = l->plan.oversampling,
        .are_real = are_real};
    code = image_launch_items(
        call, &grove_g2g_arrange, l->blocks * grove_g2g_numbers(l->plan.support, are_real),
        call->args->in[functions].data, NULL, d->functions, &state, sizeof(state));
    d->functions_serial = code ? 0 : serial;
    return code;
}

/* ---- entries ---- */

/* The lists of pieces, to the device. */
static int send_pieces(const grove_call *call, const grove_lattice *l,
                       const grove_g2g_device_sizes *s, const void *entries, int64_t count,
                       struct g2g_on_device *d)
{
    const int64_t real = call->double_precision ? sizeof(double) : sizeof(float),
                  numbers = (int64_t)s->lists / real;
    const grove_gridder_window whole = {.size = {(int32_t)numbers, 1},
                                        .from_size = {(int32_t)numbers, 1},
                                        .numbers = 1,
                                        .from_step = {real, 0},
                                        .to_step = {real, 0}};
    char *lists = calloc(1, s->lists);
    const void *sent = NULL;

    if (!lists || numbers > INT32_MAX) {
        free(lists);
        return GROVE_MISSING;
    }
    d->pieces =
        grove_g2g_device_divide(l, entries, count, s->slice, (grove_g2g_piece *)(void *)lists,
                                (int32_t *)(void *)(lists + s->begin));
    int code = grove_call_send(call, lists, s->lists, &sent);
    free(lists);
    return code ? code : image_launch_window(call, sent, d->lists, &whole);
}

static int find_entries(const grove_call *call, const grove_lattice *l,
                        const grove_g2g_device_sizes *s, int diagonal, int64_t count,
                        struct g2g_on_device *d)
{
    const uint64_t serial = grove_call_serial(call, diagonal);
    const grove_g2g_pack_state state = {.blocks = l->blocks,
                                        .support = l->plan.support,
                                        .tile = (int32_t)l->tile,
                                        .are_real = d->are_real,
                                        .count = (int32_t)count};
    const void *entries = NULL;

    if (serial && serial == d->entries_serial)
        return 0;
    d->entries_serial = 0;
    if (count > 1 && image_stage_in_step(call->args, diagonal, g2g_axes[1]) !=
                         (int64_t)sizeof(grove_diagonal_entry))
        return GROVE_MISSING;
    int code = grove_call_host(call, diagonal, &entries);
    code = code ? code : send_pieces(call, l, s, entries, count, d);
    if (!code)
        code = image_launch_items(call, &grove_g2g_pack, count, call->args->in[diagonal].data, NULL,
                                  d->entries, &state, sizeof(state));
    d->entries_serial = code ? 0 : serial;
    return code;
}

/* ---- applying ---- */

/* The requested part of the result: adds the sums of a launch's pieces to it. */
static int launch_gather(const grove_call *call, const grove_g2g_device_sizes *s,
                         const struct g2g_on_device *d, grove_g2g_state state)
{
    const grove_args *of = call->args;
    const int axis[2] = {grove_args_axis(of, grove_axis_kind("u")),
                         grove_args_axis(of, grove_axis_kind("v"))};
    grove_args args = {.axes = 1, .inputs = GROVE_G2G_INPUTS, .out = of->out};

    args.size[0] = of->size[axis[0]] * of->size[axis[1]];
    args.in[GROVE_G2G_IN].data = d->slots;
    args.in[GROVE_G2G_ENTRIES].data = (char *)d->lists + s->begin;
    args.in[GROVE_G2G_PIECES].data = d->lists;
    state.row = grove_gridder_divide_by((int32_t)of->size[axis[0]]);
    state.adds = state.first > 0;
    for (int k = 0; k < 2; k++) {
        state.origin[k] = (int32_t)of->origin[axis[k]];
        state.step[k] = of->out.stride[axis[k]];
    }
    memset(args.out.stride, 0, sizeof(args.out.stride));
    memcpy(args.state.bytes, &state, sizeof(state));
    return grove_call_launch(call, &grove_g2g_gather, &args, call->double_precision);
}

static int launch_apply(const grove_call *call, const struct g2g_on_device *d,
                        const grove_g2g_state *state)
{
    grove_args args = {.axes = 1, .inputs = GROVE_G2G_INPUTS};

    args.size[0] = grove_g2g_lanes(state->support) * (int64_t)(state->last - state->first);
    args.in[GROVE_G2G_IN].data = call->args->in[0].data;
    args.in[GROVE_G2G_FUNCTIONS].data = d->functions;
    args.in[GROVE_G2G_ENTRIES].data = d->entries;
    args.in[GROVE_G2G_PIECES].data = d->lists;
    args.out.data = d->slots;
    memcpy(args.state.bytes, state, sizeof(*state));
    return grove_call_launch(
        call, grove_g2g_apply_kernel(state->support, d->are_real, call->double_precision), &args,
        call->double_precision);
}

static int apply_all(const grove_call *call, const grove_lattice *l,
                     const grove_g2g_device_sizes *s, const struct g2g_on_device *d)
{
    grove_g2g_state state = {
        .support = l->plan.support,
        .tile = (int32_t)l->tile,
        .tiles = {(int32_t)l->tiles[0], (int32_t)l->tiles[1]},
        .step = {image_stage_in_step(call->args, 0, "u"), image_stage_in_step(call->args, 0, "v")}};
    int code = 0;

    for (int k = 0; k < 2; k++)
        if (state.step[k] < 0 || state.step[k] > INT32_MAX / (2 * l->tile))
            return GROVE_MISSING;
    do { /* without pieces, too: the result is 0 */
        state.last = d->pieces - state.first < s->slice ? d->pieces : state.first + s->slice;
        if (state.last > state.first)
            code = launch_apply(call, d, &state);
        code = code ? code : launch_gather(call, s, d, state);
        state.first = state.last;
    } while (state.first < d->pieces && !code);
    return code;
}

static int open_device(const grove_call *call, const grove_g2g_device_sizes *s,
                       struct g2g_on_device *d)
{
    int code = keep(call, s->functions, &d->functions);

    code = code ? code : keep(call, s->entries, &d->entries);
    code = code ? code : keep(call, s->slots, &d->slots);
    return code ? code : keep(call, s->lists, &d->lists);
}

int g2g_device_apply(const grove_call *call, const grove_lattice *lattice, int functions,
                     int diagonal, g2g_devices *devices)
{
    const int64_t count =
        grove_node_input_axis(call->node, diagonal, grove_axis_kind(g2g_axes[1]))->size;
    struct g2g_on_device *d = find_device(devices, call->device);
    grove_g2g_device_sizes s;

    if (!grove_g2g_device_find_sizes(lattice, count, &s))
        return GROVE_MISSING;
    int code = open_device(call, &s, d);
    code = code ? code : find_functions(call, lattice, functions, d);
    code = code ? code : find_entries(call, lattice, &s, diagonal, count, d);
    return code ? code : apply_all(call, lattice, &s, d);
}

void g2g_devices_free(g2g_devices *devices)
{
    free(devices->each);
}
