#include "nodes/imaging/image_w_tiles.h"
#include "nodes/imaging/image_tracks.h"

#include "util.h"

#include <stdlib.h>

enum { CHANNELS = 64 }; /* that are looked at */

void image_w_tiles_count(const grove_node *obs, grove_idg_plan *plan)
{
    const grove_axis *freq = grove_node_axis(obs, "freq");
    image_tracks tracks = {0};
    double some[CHANNELS];
    int64_t channels = 0;

    if (!plan->tile)
        return;
    if (freq && freq->centre)
        tracks = image_tracks_of(obs);
    if (tracks.rows)
        channels = freq->size < CHANNELS ? freq->size : CHANNELS;
    for (int64_t k = 0; k < channels; k++) /* the first and the last among them */
        some[k] = freq->centre[channels > 1 ? k * (freq->size - 1) / (channels - 1) : 0];
    const grove_gridder_samples samples = {
        .rows = tracks.rows, .channels = channels, .uvw = tracks.uvw, .freq = some};
    if (!channels || grove_idg_count_blocks(plan, &samples, &plan->blocks))
        plan->blocks = (plan->grid.grid[0] / plan->tile + 1) *
                       (plan->grid.grid[1] / plan->tile + 1) * plan->layers;
    image_tracks_free(&tracks);
}
