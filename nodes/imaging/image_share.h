/* How many visibilities of an observation share a subgrid of image-domain gridding. */
#ifndef GROVE_NODES_IMAGE_SHARE_H
#define GROVE_NODES_IMAGE_SHARE_H

#include "../../kernels/imaging/idg/idg.h"
#include "nodes/imaging/image_terms.h"
#include "plugin.h"

/* How many visibilities share a subgrid, by the antennas' positions at some of the times. Channels
 * are in `groups` groups, in order, that share none. 0: the observation has no positions. */
double image_share_estimate(const grove_node *obs, const grove_idg_plan *plan,
                            const image_terms *terms, int64_t groups);
/* The numbers that determine a plan's cost, where the observation has more samples than
 * bounds->samples: how many, and how many of them share a square of the uv plane. */
void image_share_survey(const grove_node *obs, const grove_gridder_image *image,
                        grove_gridder_bounds *bounds, grove_idg_request *request);

#endif
