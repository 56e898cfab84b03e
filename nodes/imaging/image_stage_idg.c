/* The plan of image-domain gridding that the options of a stage choose. */
#include "nodes/imaging/image_share.h"
#include "nodes/imaging/image_stage.h"

#include "util.h"

static int read_request(const grove_node *node, grove_idg_request *request)
{
    static const int sides[] = {16, 24, 32, 40, 48, 64};
    const int64_t side =
        grove_node_given(node, "subgrid") ? grove_node_integer(node, "subgrid") : 0;
    bool known = !grove_node_given(node, "subgrid");

    *request = (grove_idg_request){.support = 2,
                                   .tiles = grove_node_choice(node, "w_tiles") == 1,
                                   .planes = grove_node_choice(node, "w_tiles") == 2};
    for (int k = 0; k < 6; k++)
        known = known || side == sides[k];
    if (!known)
        return grove_node_fail_option(
            node, "subgrid", "%lld is not one of 16, 24, 32, 40, 48 and 64", (long long)side);
    request->side = (int)side;
    if (!grove_node_given(node, "layers"))
        return 0;
    request->layers = grove_node_integer(node, "layers");
    if (request->layers < 1 || request->layers > 1 << 14)
        return grove_node_fail_option(node, "layers", "%lld is not from 1 to %d",
                                      (long long)request->layers, 1 << 14);
    return 0;
}

int image_stage_plan_idg(const grove_node *node, const grove_node *obs, grove_idg_plan *plan)
{
    const double epsilon = grove_node_number(node, "epsilon");
    grove_gridder_bounds bounds;
    grove_gridder_image image;
    grove_idg_request request;
    char reason[200];
    int code = image_stage_read(node, obs, false, &image, &bounds);

    code = code ? code : read_request(node, &request);
    if (!code && !(epsilon >= 1e-12 && epsilon <= 1))
        code = grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", epsilon);
    /* With the same limits planes of any observations go together. */
    if (!code && !grove_node_given(node, "max_uvw"))
        image_share_survey(obs, &image, &bounds, &request);
    const int chosen =
        code ? 0 : grove_idg_plan_choose(&image, &bounds, &request, epsilon, plan, reason);
    return chosen ? grove_node_fail_option(node,
                                           chosen == GROVE_IDG_LAYERS     ? "layers"
                                           : chosen == GROVE_IDG_NO_TILES ? "w_tiles"
                                           : request.side                 ? "subgrid"
                                                                          : "epsilon",
                                           "%s", reason)
                  : code;
}
