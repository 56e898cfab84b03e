/* The results of grid: planes from its sums, and warnings. */
#include "nodes/imaging/grid.h"
#include "nodes/imaging/image_stage.h"

#include <string.h>

int64_t grid_numbers(const gridding *g)
{
    return 2 * grove_convolution_bands(&g->convolution) * grove_convolution_cells(&g->convolution);
}

/* [band][image][v][u], of the host and of devices; NULL: there are none. */
static void *sum_of_grids(const grove_call *call, const gridded *from)
{
    void *grids = from->convolution ? grove_convolution_grid(from->convolution) : NULL;
    const int64_t numbers = grid_numbers(grove_node_user(call->node));

    if (!grids || !from->from_devices)
        return grids ? grids : from->from_devices;
    for (int64_t k = 0; k < numbers; k++)
        if (call->double_precision)
            ((double *)grids)[k] += ((const double *)from->from_devices)[k];
        else
            ((float *)grids)[k] += ((const float *)from->from_devices)[k];
    return grids;
}

void grid_finish_planes(const grove_call *call, const gridded *from, grove_array *out)
{
    const grove_gridder_plan plan = grid_plan_of(call);
    const gridding *g = grove_node_user(call->node);
    const size_t cell = 2 * (call->double_precision ? sizeof(double) : sizeof(float)),
                 of_band = (size_t)grove_convolution_cells(&g->convolution) * cell,
                 bytes = (size_t)(out->cells * out->elements) * cell;
    const int64_t cells = out->cells / g->bands.count;
    char *grids = g->functions >= 0 ? sum_of_grids(call, from) : NULL, *to = out->data;

    for (int band = 0; band < g->bands.count && grids; band++, grids += of_band) {
        if (grove_node_bool(call->node, "normalise"))
            image_normalise(call, &g->mueller, &g->plan, from->sums[band], grids);
        image_mueller_to_stokes(&g->mueller, grids, to, cells, call->double_precision);
        to += bytes / (size_t)g->bands.count;
    }
    if (grids)
        return;
    if (from->idg)
        grid_give_subgrids(call, from, out);
    else if (from->gridders)
        grid_give_bands(call, from, out);
    else
        memset(out->data, 0, bytes);
    if (from->from_devices && g->functions < 0)
        grove_gridder_device_give(&plan, from->from_devices, out->data);
}

void grid_warn(const grove_call *call, const gridded *from)
{
    const gridding *g = grove_node_user(call->node);

    if (from->outside > from->beyond)
        grove_node_warn(call->node,
                        "%lld visibilities have baselines that are not numbers, or longer than "
                        "%s, and are left out",
                        (long long)(from->outside - from->beyond), image_stage_limit(call->node));
    if (g->is_idg)
        grid_report_subgrids(call, from);
    image_samples_warn_not_finite(call->node, from->not_finite);
    image_plane_check_cells(call->node, from->max_u, from->max_v, &g->plan.image);
    image_functions_warn_outside(
        call->node, &from->left_out,
        g->functions >= 0 && grove_node_bool(call->node, "normalise")
            ? "and are left out"
            : "and are left out, though sum_of_weights counts them: the image is too faint");
}

int grid_finish_sum(const grove_call *call, void *state, grove_array *out)
{
    const gridded *from = state;
    double *sum = out->data;
    bool any = false;

    for (int64_t band = 0; band < out->cells; band++) {
        sum[band] = image_sum_value(&from->sizes[band].weight);
        any = any || sum[band] > 0;
        if (out->flags)
            out->flags[band] = sum[band] > 0 ? 0 : 0xff;
    }
    return any ? 0 : image_samples_none(call->node, from->outside, image_stage_limit(call->node));
}
