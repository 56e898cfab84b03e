/* The estimated time of image-domain gridding. */
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_share.h"

#include <string.h>

/* Nanoseconds on one core of a direction of a term that is read, and of one that a pixel is made
 * of, TAPS along each axis. */
static const double per_direction = 12, per_tap = 2;
enum { TAPS = 6 };

static const grove_axis *axis_of(const grove_node *node, const char *name)
{
    return grove_node_input_axis(node, grove_node_input(node, "jones"), grove_axis_kind(name));
}

static double blocks_of(const grove_axis *axis, int64_t cells)
{
    return axis ? ceil((double)axis->size / (double)cells) : 1;
}

/* The terms as the stage will have them, but for fields that the estimate does not need. */
static image_terms terms_of(const grove_node *node)
{
    const grove_form *jones = grove_node_input_form(node, grove_node_input(node, "jones"));
    const grove_axis *station = axis_of(node, "station");
    const int64_t times = grove_node_integer(node, "times"),
                  channels = grove_node_integer(node, "channels");

    return (image_terms){.elements = jones ? jones->shape : 0,
                         .stations = station ? station->size : 1,
                         .times = axis_of(node, "time") ? times > 1 ? times : 1 : 0,
                         .channels = axis_of(node, "freq") ? channels > 1 ? channels : 1 : 0};
}

static double seconds_of_terms(const grove_node *node, const image_method *m,
                               const image_terms *terms, const grove_idg_plan *plan)
{
    const grove_axis *raster[2] = {axis_of(node, "l"), axis_of(node, "m")},
                     *time = axis_of(node, "time"), *freq = axis_of(node, "freq");
    const double l_size = raster[0] ? (double)raster[0]->size : 1,
                 m_size = raster[1] ? (double)raster[1]->size : 1,
                 each = l_size * m_size * per_direction +
                        plan->side * TAPS * per_tap * (m_size + plan->side);

    return 1e-9 * terms->elements * (double)terms->stations * each * blocks_of(time, terms->times) *
           fmax(blocks_of(freq, terms->channels), m->bands);
}

/* Numbers of a visibility that are summed, and images. */
static grove_idg_mix mix_of(const image_method *m, const image_terms *terms)
{
    const int images = (int)strlen(m->stokes);

    return (grove_idg_mix){.images = images,
                           .visibilities = terms->elements == 4                 ? 4
                                           : terms->elements == 2 && images > 1 ? 4
                                           : terms->elements == 2               ? 2
                                                                                : images};
}

/* Of all bands; visibilities of a subgrid, 0: without its transforms. */
static double seconds_of(const grove_node *node, const image_method *m, const grove_idg_plan *plan,
                         image_method_costs costs, double each, int elements)
{
    const grove_axis *freq = grove_node_axis(grove_node_object(node, "obs"), "freq");
    const double samples = m->samples / m->bands, subgrids = each > 0 ? samples / each : 0,
                 channels = (freq ? (double)freq->size : 1) / m->bands;

    return m->bands * (costs == IMAGE_BY_GPU
                           ? grove_idg_device_seconds(plan, samples, subgrids, elements,
                                                      each > 0 ? fmin(channels, each) : channels)
                           : grove_idg_seconds(plan, samples, subgrids, elements));
}

/* Without subgrids' transforms: as few pixels as there can be, and a single layer. */
static double least_seconds(const grove_node *node, const image_method *m, image_method_costs costs,
                            const grove_gridder_bounds *bounds, const grove_idg_mix *mix)
{
    grove_idg_plan plan = {.side = 16, .mix = *mix, .grid = {.bounds = *bounds, .planes = 1}};

    for (int d = 0; d < 2; d++)
        plan.grid.grid[d] = (int64_t)(1.2 * (double)m->image.size[d]);
    return seconds_of(node, m, &plan, costs, 0, 0);
}

static int64_t number_of(const grove_node *node, const char *option)
{
    return grove_node_given(node, option) ? grove_node_integer(node, option) : 0;
}

image_method_idg image_method_estimate_idg(const grove_node *node, const image_method *m,
                                           image_method_costs costs, double worth)
{
    const double epsilon = grove_node_number(node, "epsilon");
    grove_gridder_bounds bounds = {.max_u = m->baseline, /* as stages choose them */
                                   .max_v = m->baseline,
                                   .max_w = m->baseline,
                                   .samples = 1e6,
                                   .polarisations = 1,
                                   .without_w = !grove_node_bool(node, "w_terms"),
                                   .double_precision =
                                       image_precision(epsilon) == GROVE_PRECISION_DOUBLE};
    grove_idg_request request = {.support = 2,
                                 .side = (int)number_of(node, "subgrid"),
                                 .layers = number_of(node, "layers"),
                                 .tiles = grove_node_choice(node, "w_tiles") == 1,
                                 .planes = grove_node_choice(node, "w_tiles") == 2};
    const image_terms terms = terms_of(node);
    const grove_idg_mix mix = mix_of(m, &terms);
    image_method_idg e = {.seconds = least_seconds(node, m, costs, &bounds, &mix),
                          .is_bound = true};
    grove_idg_plan plan;
    char reason[200];

    if (e.seconds >= worth)
        return e;
    image_share_survey(grove_node_object(node, "obs"), &m->image, &bounds, &request);
    if (grove_idg_plan_choose(&m->image, &bounds, &request, epsilon, &plan, reason))
        return (image_method_idg){.seconds = INFINITY};
    plan.mix = mix;
    const double more = seconds_of_terms(node, m, &terms, &plan);
    e.error = plan.error;
    e.seconds = seconds_of(node, m, &plan, costs, 0, 0) + more;
    if (e.seconds >= worth)
        return e;
    const double each =
        image_share_estimate(grove_node_object(node, "obs"), &plan, &terms, m->bands);
    e.is_bound = !(each > 0);
    if (each > 0)
        e.seconds = seconds_of(node, m, &plan, costs, each, terms.elements) + more;
    return e;
}
