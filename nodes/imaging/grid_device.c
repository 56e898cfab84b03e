/* grid and sum_of_weights on a device. */
#include "nodes/imaging/grid.h"
#include "nodes/imaging/image_stage.h"

#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

grove_gridder_plan grid_plan_of(const grove_call *call)
{
    grove_gridder_plan plan = ((const gridding *)grove_node_user(call->node))->plan;

    plan.bounds.double_precision = call->double_precision;
    return plan;
}

/* Updates the longest baselines by the rows of the call. */
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

/* ---- by functions ---- */

static image_convolving convolving_of(const grove_call *call)
{
    const gridding *g = grove_node_user(call->node);
    image_convolving by = {.plan = g->convolution,
                           .bands = &g->bands,
                           .mueller = &g->mueller,
                           .index = g->index,
                           .functions = g->functions,
                           .normalises = grove_node_bool(call->node, "normalise")};

    by.plan.double_precision = call->double_precision;
    return by;
}

/* Whether functions, index sets or gradients have flags, which the host reports. */
static bool have_flags(const grove_call *call, int count)
{
    static const char *const names[] = {"functions", "mueller", "mueller_conjugate", "gradient"};

    for (int k = 0; k < 4; k++)
        if (call->args->in[count + grove_node_input(call->node, names[k])].data)
            return true;
    return false;
}

/* The functions are of the whole run. */
static int convolve_on_device(const grove_call *call, const image_device_inputs *in, gridded *to)
{
    const image_convolving by = convolving_of(call);
    const bool begins = !to->convolve.open;
    int code =
        have_flags(call, in->flags) ? GROVE_MISSING : image_convolve_open(call, &by, &to->convolve);

    if (!code && begins)
        code = image_convolve_arrange(call, &by, &to->convolve);
    if (!code)
        code = find_longest_of_call(call, grove_node_user(call->node), to);
    if (!code)
        code = image_convolve_add(call, &by, &to->convolve, in);
    if (code && begins)
        to->convolve.open = false; /* the next call begins anew */
    return code;
}

/* Takes the totals of a device. */
static int take_convolved(const grove_call *call, const image_convolve *from, gridded *to)
{
    const gridding *g = grove_node_user(call->node);
    int code = 0;

    for (int band = 0; band < g->bands.count && !code; band++) {
        double got[GROVE_CONVOLVE_TOTALS] = {0};
        code = image_convolve_totals(call, from, band, got);
        to->not_finite += (int64_t)got[GROVE_GRIDDER_NO_NUMBERS];
        to->outside += (int64_t)got[GROVE_GRIDDER_BEYOND];
        to->left_out.samples += (int64_t)got[GROVE_CONVOLVE_LEFT_OUT];
        for (int r = 0; r < GROVE_CONVOLVE_MOST; r++)
            to->sums[band][r] += got[GROVE_CONVOLVE_SUMS + r];
    }
    return code;
}

static int merge_convolved(const grove_call *call, const gridded *from, gridded *to)
{
    const image_convolving by = convolving_of(call);

    if (!to->from_devices)
        to->from_devices = calloc((size_t)grid_numbers(grove_node_user(call->node)),
                                  call->double_precision ? sizeof(double) : sizeof(float));
    int code = to->from_devices ? image_convolve_fetch(call, &by, &from->convolve, to->from_devices)
                                : grid_no_memory(call);
    to->max_u = fmax(to->max_u, from->max_u);
    to->max_v = fmax(to->max_v, from->max_v);
    return code ? code : take_convolved(call, &from->convolve, to);
}

static int finish_convolved(const grove_call *call, gridded *from)
{
    const gridding *g = grove_node_user(call->node);
    const image_convolving by = convolving_of(call);
    const int64_t pair = 2 * (call->double_precision ? sizeof(double) : sizeof(float)),
                  bytes = g->convolution.grid[0] * g->convolution.grid[1] *
                          image_mueller_parameters(&g->mueller) * pair;
    double(*sums)[4] = calloc((size_t)g->bands.count, sizeof(*sums));
    gridded counted = *from; /* the host may have to count anew */
    int code = sums ? 0 : GROVE_MISSING;

    for (int band = 0; band < g->bands.count && !code; band++)
        memcpy(sums[band], from->sums[band], sizeof(*sums));
    counted.sums = sums;
    if (!code)
        code = take_convolved(call, &from->convolve, &counted);
    for (int band = 0; band < g->bands.count && !code; band++) {
        double factor[4] = {1, 1, 1, 1};
        for (int r = 0; r < g->mueller.images && by.normalises; r++)
            factor[r] = image_normalising(&g->mueller, &g->plan, sums[band][r]);
        code = image_convolve_give(call, &by, &from->convolve, band, factor,
                                   (char *)call->args->out.data + band * bytes);
    }
    if (!code)
        grid_warn(call, &counted);
    free(sums);
    return code;
}

/* ---- in calls ---- */

int grid_add_on_device(const grove_call *call, void *state, int count)
{
    const gridding *g = grove_node_user(call->node);
    const grove_gridder_plan plan = grid_plan_of(call);
    const image_device_inputs in = inputs_of(call, g, count);
    gridded *to = state;

    if (g->exact || (g->functions < 0 && !g->is_idg && g->bands.count > 1))
        return GROVE_MISSING;
    if (g->is_idg) {
        const int found = find_longest_of_call(call, g, to);
        return found ? found : grid_add_subgrids_on_device(call, to, &in);
    }
    if (g->functions >= 0)
        return convolve_on_device(call, &in, to);
    int code = image_device_open(call, &plan, false, &to->device);
    if (!code)
        code = find_longest_of_call(call, g, to);
    return code ? code : image_device_add(call, &to->device, &in);
}

/* Takes the totals of a device. */
static int take_totals(const grove_call *call, const double *totals, int band, gridded *to)
{
    double got[GROVE_GRIDDER_TOTALS];
    int code = grove_call_fetch(call, got, totals, sizeof(got));

    if (code)
        return code;
    image_sum_add(&to->sizes[band].weight, got[GROVE_GRIDDER_WEIGHT_TOTAL]);
    to->not_finite += (int64_t)got[GROVE_GRIDDER_NO_NUMBERS];
    to->outside += (int64_t)got[GROVE_GRIDDER_BEYOND];
    return 0;
}

int grid_merge_device(const grove_call *call, void *state, void *other)
{
    const grove_gridder_plan plan = grid_plan_of(call);
    const gridded *from = other;
    gridded *to = state;

    if (from->convolve.open)
        return merge_convolved(call, from, to);
    if (!from->device.open && !from->subgrids.open)
        return 0;
    if (!from->subgrids.open && !to->from_devices)
        to->from_devices = calloc(1, image_device_planes_memory(&plan));
    int code = from->subgrids.open ? grid_merge_subgrids(call, from, to)
               : to->from_devices  ? image_device_add_planes(call, &from->device, to->from_devices)
                                   : grid_no_memory(call);
    if (!code)
        code = take_totals(call, from->subgrids.open ? from->subgrids.totals : from->device.totals,
                           0, to);
    to->max_u = fmax(to->max_u, from->max_u);
    to->max_v = fmax(to->max_v, from->max_v);
    return code;
}

/* Which channels of the call a band has; false: none. */
static bool find_channels(const grove_call *call, const gridding *g, int band,
                          image_device_inputs *in)
{
    const int axis = grove_args_axis(call->args, GROVE_AXIS_FREQ);

    return image_bands_find(&g->bands, band, axis >= 0 ? call->args->origin[axis] : 0,
                            axis >= 0 ? call->args->size[axis] : g->freq->size, &in->first_channel,
                            &in->channels);
}

int grid_add_sum_on_device(const grove_call *call, void *state, int count)
{
    const gridding *g = grove_node_user(call->node);
    image_device_inputs in = inputs_of(call, g, count);
    bool began = false;
    int code = 0;

    for (int band = 0; band < g->bands.count && !code; band++) {
        if (!find_channels(call, g, band, &in))
            continue;
        code = image_device_weigh(call, &in, &((gridded *)state)->totals[band]);
        code = began && code ? image_device_fail(call, code) : code;
        began = true;
    }
    return code;
}

int grid_merge_sum(const grove_call *call, void *state, void *other)
{
    const gridding *g = grove_node_user(call->node);
    const gridded *from = other;
    int code = 0;

    for (int band = 0; band < g->bands.count && !code; band++)
        if (from->totals[band])
            code = take_totals(call, from->totals[band], band, state);
    return code;
}

int grid_finish_on_device(const grove_call *call, void *state)
{
    gridded *from = state;

    if (from->convolve.open)
        return finish_convolved(call, from);
    if (!from->device.open && !from->subgrids.open)
        return GROVE_MISSING;
    int code = from->subgrids.open
                   ? grid_give_subgrids_on_device(call, from)
                   : image_device_give_planes(call, &from->device, call->args->out.data);
    if (!code)
        code = take_totals(call, from->subgrids.open ? from->subgrids.totals : from->device.totals,
                           0, from);
    if (!code)
        grid_warn(call, from);
    return code;
}
