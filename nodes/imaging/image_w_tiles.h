/* How many w-tiles of image-domain gridding an observation occupies. */
#ifndef GROVE_NODES_IMAGE_W_TILES_H
#define GROVE_NODES_IMAGE_W_TILES_H

#include "../../kernels/imaging/idg/idg.h"
#include "plugin.h"

/* Sets plan->blocks, if the plan has w-tiles: by the antennas' positions, or all that there are. */
void image_w_tiles_count(const grove_node *obs, grove_idg_plan *plan);

#endif
