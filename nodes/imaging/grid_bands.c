/* The gridders of grid without functions, one for each band. */
#include "nodes/imaging/grid.h"
#include "nodes/imaging/image_tracks.h"

#include "util.h"

#include <stdlib.h>

uint64_t grid_bands_bytes(const gridding *g, const grove_node *obs)
{
    image_tracks tracks = image_tracks_of(obs);
    uint64_t *bytes = grove_alloc((size_t)g->plan.planes * sizeof(*bytes)), sum = 0;

    for (int band = 0; band < g->bands.count; band++) {
        const int64_t first = image_bands_first(&g->bands, band);
        image_tracks_planes(&tracks, &g->plan, g->freq->centre + first,
                            image_bands_first(&g->bands, band + 1) - first, bytes);
        for (int64_t k = 0; k < g->plan.planes; k++)
            sum += bytes[k];
    }
    image_tracks_free(&tracks);
    free(bytes);
    return sum;
}

int grid_open_bands(const grove_call *call, grove_isa isa, gridded *to)
{
    const grove_gridder_plan plan = grid_plan_of(call);
    const gridding *g = grove_node_user(call->node);

    to->gridders = calloc((size_t)g->bands.count, sizeof(grove_gridder *));
    for (int band = 0; band < g->bands.count && to->gridders; band++) {
        to->gridders[band] = grove_gridder_new(&plan, isa);
        if (!to->gridders[band])
            return grid_no_memory(call);
        if (g->exact)
            grove_gridder_set_exact(to->gridders[band], to->sizes[band].largest,
                                    image_sum_value(&to->sizes[band].size));
    }
    return to->gridders ? 0 : grid_no_memory(call);
}

void grid_give_bands(const grove_call *call, const gridded *from, grove_array *out)
{
    const int bands = ((const gridding *)grove_node_user(call->node))->bands.count;
    const size_t cell = 2 * (call->double_precision ? sizeof(double) : sizeof(float)),
                 bytes = (size_t)(out->cells / bands) * cell;

    for (int band = 0; band < bands; band++)
        grove_gridder_get_planes(from->gridders[band], 0, (char *)out->data + (size_t)band * bytes);
}

void grid_close_bands(const grove_node *node, gridded *g)
{
    const int bands = ((const gridding *)grove_node_user(node))->bands.count;

    for (int band = 0; band < bands && g->gridders; band++)
        grove_gridder_free(g->gridders[band]);
    free(g->gridders);
}
