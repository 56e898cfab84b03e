/* grid and sum_of_weights on a device. */
#include "nodes/grid.h"
#include "nodes/image_stage.h"

#include "base/error.h"
#include "keep.h"

#include <math.h>
#include <stdlib.h>

grove_gridder_plan grid_plan_of(const grove_call *call)
{
    grove_gridder_plan plan = ((const gridding *)grove_node_user(call->node))->plan;

    plan.bounds.double_precision = call->double_precision;
    return plan;
}

/* The longest baselines of what was added, whose rows are those of the call. */
static int find_longest_of_call(const grove_call *call, const gridding *g, gridded *to)
{
    grove_view view = call->args->in[g->uvw];
    const void *from = NULL;
    int code = grove_call_host(call, g->uvw, &from);

    if (code)
        return code;
    view.data = (void *)(uintptr_t)from;
    double *uvw = image_copy_uvw(call->args, &view);
    if (!uvw)
        return GROVE_MISSING;
    grid_find_longest(g, uvw,
                      image_axis_size(call->args, GROVE_AXIS_TIME) *
                          image_axis_size(call->args, GROVE_AXIS_BASELINE),
                      to);
    free(uvw);
    return 0;
}

static image_device_inputs inputs_of(const grove_call *call, const gridding *g, int count)
{
    return (image_device_inputs){.data = grove_node_input(call->node, "data"),
                                 .weights = g->weights,
                                 .uvw = g->uvw,
                                 .flags = count,
                                 .freq = g->freq,
                                 .longest = g->longest,
                                 .stokes = &g->stokes};
}

int grid_add_on_device(const grove_call *call, void *state, int count)
{
    const gridding *g = grove_node_user(call->node);
    const grove_gridder_plan plan = grid_plan_of(call);
    const image_device_inputs in = inputs_of(call, g, count);
    gridded *to = state;

    if (g->functions >= 0 || g->exact)
        return GROVE_MISSING;
    int code = image_device_open(call, &plan, false, &to->device);
    if (!code)
        code = find_longest_of_call(call, g, to);
    return code ? code : image_device_add(call, &to->device, &in);
}

/* What a device has counted. */
static int take_totals(const grove_call *call, const double *totals, gridded *to)
{
    double got[GROVE_GRIDDER_TOTALS];
    int code = grove_call_fetch(call, got, totals, sizeof(got));

    if (code)
        return code;
    image_sum_add(&to->sizes.weight, got[GROVE_GRIDDER_WEIGHT_TOTAL]);
    to->not_finite += (int64_t)got[GROVE_GRIDDER_NO_NUMBERS];
    to->outside += (int64_t)got[GROVE_GRIDDER_BEYOND];
    return 0;
}

int grid_merge_device(const grove_call *call, void *state, void *other)
{
    const grove_gridder_plan plan = grid_plan_of(call);
    const gridded *from = other;
    gridded *to = state;

    if (!from->device.open)
        return 0;
    if (!to->from_devices)
        to->from_devices = calloc(1, image_device_planes_memory(&plan));
    int code = to->from_devices ? image_device_add_planes(call, &from->device, to->from_devices)
                                : grid_no_memory(call);
    if (!code)
        code = take_totals(call, from->device.totals, to);
    to->max_u = fmax(to->max_u, from->max_u);
    to->max_v = fmax(to->max_v, from->max_v);
    return code;
}

int grid_add_sum_on_device(const grove_call *call, void *state, int count)
{
    const image_device_inputs in = inputs_of(call, grove_node_user(call->node), count);

    return image_device_weigh(call, &in, &((gridded *)state)->device.totals);
}

int grid_merge_sum(const grove_call *call, void *state, void *other)
{
    const gridded *from = other;

    return from->device.totals ? take_totals(call, from->device.totals, state) : 0;
}

int grid_finish_on_device(const grove_call *call, void *state)
{
    gridded *from = state;

    if (!from->device.open)
        return GROVE_MISSING;
    int code = image_device_give_planes(call, &from->device, call->args->out.data);
    if (!code)
        code = take_totals(call, from->device.totals, from);
    if (!code)
        grid_warn(call, from);
    return code;
}
