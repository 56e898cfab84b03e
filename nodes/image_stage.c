#include "nodes/image_stage.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

const char *const image_stage_names[2][2] = {{"u", "v"}, {"l", "m"}};

int image_stage_plan(const grove_node *node, const grove_node *obs, grove_gridder_plan *plan)
{
    const double longest = image_longest_baseline(obs),
                 epsilon = grove_node_number(node, "epsilon");
    grove_gridder_bounds bounds = {.max_u = longest,
                                   .max_v = longest,
                                   .max_w = longest,
                                   .samples = 1e6,
                                   .polarisations = 1,
                                   .without_w = !grove_node_bool(node, "w_terms"),
                                   .double_precision =
                                       image_precision(epsilon) == GROVE_PRECISION_DOUBLE};
    grove_gridder_image image;

    if (!(longest > 0))
        return grove_node_fail(node, GROVE_INVALID,
                               "the observation has no antennas' positions, by which the planes "
                               "are chosen");
    int code = image_plane_read(node, obs, longest, true, &image);
    if (!code && grove_gridder_plan_choose(&image, &bounds, epsilon, plan))
        code = grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", epsilon);
    return code;
}

/* ---- axes ---- */

double image_stage_step(const grove_gridder_plan *plan, image_stage stage, int d)
{
    return stage == IMAGE_STAGE_SKY ? plan->image.cell[d]
                                    : 1 / ((double)plan->grid[d] * plan->image.cell[d]);
}

static int add_axis(grove_node *node, const char *name, int64_t size, double first, double step)
{
    double *centre = grove_alloc((size_t)size * sizeof(*centre));
    double *width = grove_alloc((size_t)size * sizeof(*width));

    for (int64_t k = 0; k < size; k++) {
        centre[k] = first + (double)k * step;
        width[k] = step > 0 ? step : 1;
    }
    int code = grove_node_add_output_axis(
        node, &(grove_axis){.name = name, .size = size, .centre = centre, .width = width});
    free(centre);
    free(width);
    return code;
}

int image_stage_add_axes(grove_node *node, const grove_gridder_plan *plan, image_stage stage)
{
    int code = add_axis(node, "w_plane", plan->planes, plan->first_w, plan->step_w);

    for (int d = 1; d >= 0 && !code; d--) {
        double step = image_stage_step(plan, stage, d);
        code = add_axis(node, image_stage_names[stage][d], plan->grid[d],
                        -(double)(plan->grid[d] / 2) * step, step);
    }
    return code;
}

static const grove_axis *axis_of(const grove_node *node, int input, const char *name)
{
    return grove_node_input_axis(node, input, grove_axis_kind(name));
}

int image_stage_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                      image_stage stage)
{
    const grove_axis *w = axis_of(node, input, "w_plane");
    bool good = w && w->size == plan->planes && w->centre &&
                fabs(w->centre[0] - plan->first_w) <= 1e-6 * (fabs(plan->first_w) + 1);

    for (int d = 0; d < 2; d++) {
        const grove_axis *axis = axis_of(node, input, image_stage_names[stage][d]);
        double step = image_stage_step(plan, stage, d);
        good = good && axis && axis->size == plan->grid[d] && axis->width &&
               fabs(axis->width[0] - step) <= 1e-6 * step;
    }
    return good
               ? 0
               : grove_node_fail(node, GROVE_SHAPE,
                                 "its input is not of %lld planes (w_plane) of %lld x %lld cells "
                                 "(%s, %s), as the options size, cell, centre, epsilon and w_terms "
                                 "choose them; give all stages the same ones",
                                 (long long)plan->planes, (long long)plan->grid[0],
                                 (long long)plan->grid[1], image_stage_names[stage][0],
                                 image_stage_names[stage][1]);
}

/* ---- arrays ---- */

int64_t image_stage_out_step(const grove_args *args, const char *name)
{
    int d = grove_args_axis(args, grove_axis_kind(name));

    return d < 0 ? 0 : args->out.stride[d];
}

/* What is consumed follows what is left of the same kind. */
int64_t image_stage_in_step(const grove_args *args, int input, const char *name)
{
    const int kind = grove_axis_kind(name);

    for (int d = args->axes - 1; d >= 0; d--)
        if (args->axis[d] == kind)
            return args->in[input].stride[d];
    return 0;
}

void image_stage_begin(image_stage_others *others, const grove_args *args, bool planes)
{
    *others = (image_stage_others){.args = args, .cells = 1};
    for (int d = 0; d < args->axes; d++) {
        others->other[d] = !planes || args->axis[d] != grove_axis_kind("w_plane");
        for (int k = 0; k < 4; k++)
            if (args->axis[d] == grove_axis_kind(image_stage_names[k / 2][k % 2]))
                others->other[d] = false;
        others->cells *= others->other[d] ? args->size[d] : 1;
    }
}

bool image_stage_next(image_stage_others *others)
{
    int64_t rest = others->at++;

    for (int d = others->args->axes - 1; d >= 0; d--)
        if (others->other[d]) {
            others->index[d] = rest % others->args->size[d];
            rest /= others->args->size[d];
        }
    return others->at <= others->cells;
}
