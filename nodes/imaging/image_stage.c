#include "nodes/imaging/image_stage.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const image_stage_names[2][2] = {{"u", "v"}, {"l", "m"}};

int image_stage_longest(const grove_node *node, const grove_node *obs, double longest[3])
{
    const grove_axis *freq = grove_node_axis(obs, "freq");
    const double *number;
    double highest = 0;

    for (int k = 0; k < 3; k++)
        longest[k] = image_longest_baseline(obs);
    if (!grove_node_given(node, "max_uvw"))
        return 0;
    const int count = grove_node_list(node, "max_uvw", &number);
    if ((count != 1 && count != 3) ||
        !grove_unit_equal(grove_node_list_unit(node, "max_uvw"), GROVE_UNIT_LENGTH))
        return grove_node_fail_option(node, "max_uvw",
                                      "is one length, or three, of u, v and w: [8km, 8km, 2km]");
    for (int64_t k = 0; freq && k < freq->size; k++)
        highest = fmax(highest, freq->centre[k]);
    for (int k = 0; k < 3; k++) {
        longest[k] = number[k % count] * highest / GROVE_SPEED_OF_LIGHT;
        if (!(longest[k] > 0 && isfinite(longest[k])))
            return grove_node_fail_option(node, "max_uvw", "%g m is not a length above 0",
                                          number[k % count]);
    }
    return 0;
}

const char *image_stage_limit(const grove_node *node)
{
    return grove_node_given(node, "max_uvw") ? "max_uvw" : "the largest distance between antennas";
}

int image_stage_read(const grove_node *node, const grove_node *obs, bool flat,
                     grove_gridder_image *image, grove_gridder_bounds *bounds)
{
    const double epsilon = grove_node_number(node, "epsilon");
    double longest[3];
    int code = image_stage_longest(node, obs, longest);

    *bounds = (grove_gridder_bounds){.max_u = longest[0],
                                     .max_v = longest[1],
                                     .max_w = longest[2],
                                     .samples = 1e6,
                                     .polarisations = 1,
                                     .without_w = flat || !grove_node_bool(node, "w_terms"),
                                     .double_precision =
                                         image_precision(epsilon) == GROVE_PRECISION_DOUBLE};
    if (code)
        return code;
    if (!(longest[0] > 0))
        return grove_node_fail(
            node, GROVE_INVALID,
            "the observation has no antennas' positions, which determine the planes; give max_uvw");
    return image_plane_read(node, obs, image_longest_baseline(obs), true, image);
}

int image_stage_plan(const grove_node *node, const grove_node *obs, bool flat,
                     grove_gridder_plan *plan)
{
    const double epsilon = grove_node_number(node, "epsilon");
    grove_gridder_bounds bounds;
    grove_gridder_image image;
    int code = image_stage_read(node, obs, flat, &image, &bounds);

    if (!code && (!(epsilon <= 1) || grove_gridder_plan_choose(&image, &bounds, epsilon, plan)))
        code = grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", epsilon);
    return code;
}

/* ---- options ---- */

/* A word for each option. */
char *image_stage_label(const grove_node *node, const grove_gridder_plan *plan)
{
    const grove_gridder_image *i = &plan->image;

    return grove_format("size=[%lld,%lld] cell=[%.9g,%.9g] centre=[%.9g,%.9g] epsilon=%.9g "
                        "w_terms=%s max_uvw=[%.9g,%.9g,%.9g] kernels=[%d:%.9g,%d:%.9g]",
                        (long long)i->size[0], (long long)i->size[1], i->cell[0], i->cell[1],
                        i->centre[0], i->centre[1], grove_node_number(node, "epsilon"),
                        plan->bounds.without_w ? "false" : "true", plan->bounds.max_u,
                        plan->bounds.max_v, plan->bounds.max_w, plan->kernel.width,
                        plan->kernel.beta, plan->kernel_w.width, plan->kernel_w.beta);
}

/* Finds the first word that differs. */
static int compare(const grove_node *node, const char *theirs, const char *own)
{
    int k = 0, first = 0;

    for (; theirs[k] && theirs[k] == own[k]; k++)
        first = theirs[k] == ' ' ? k + 1 : first;
    if (theirs[k] == own[k])
        return 0;
    const int name = (int)strcspn(own + first, "=");
    return grove_node_fail(node, GROVE_SHAPE,
                           "its input was made with %.*s, but this stage has %.*s: the %.*s "
                           "differ%s; give all stages the same options",
                           (int)strcspn(theirs + first, " "), theirs + first,
                           (int)strcspn(own + first, " "), own + first, name, own + first,
                           strncmp(own + first, "kernels", 7) && strncmp(own + first, "max_uvw", 7)
                               ? ""
                               : ", as the observations do");
}

int image_stage_check_label(const grove_node *node, const char *label,
                            const grove_gridder_plan *plan)
{
    char *own = image_stage_label(node, plan);
    int code = compare(node, label, own);

    free(own);
    return code;
}

/* ---- axes ---- */

double image_stage_step(const grove_gridder_plan *plan, image_stage stage, int d)
{
    return stage == IMAGE_STAGE_SKY ? plan->image.cell[d]
                                    : 1 / ((double)plan->grid[d] * plan->image.cell[d]);
}

/* `label`: of all cells; NULL: none. */
static int add_axis(grove_node *node, const char *name, int64_t size, double first, double step,
                    const char *label)
{
    double *centre = grove_alloc((size_t)size * sizeof(*centre));
    double *width = grove_alloc((size_t)size * sizeof(*width));
    const char **labels = grove_alloc((size_t)size * sizeof(*labels));

    for (int64_t k = 0; k < size; k++) {
        centre[k] = first + (double)k * step;
        width[k] = step > 0 ? step : 1;
        labels[k] = label;
    }
    int code = grove_node_add_output_axis(node, &(grove_axis){.name = name,
                                                              .size = size,
                                                              .centre = centre,
                                                              .width = width,
                                                              .labels = label ? labels : NULL});
    free(centre);
    free(width);
    free(labels);
    return code;
}

int image_stage_add_axes(grove_node *node, const grove_gridder_plan *plan, image_stage stage)
{
    char *made_with = image_stage_label(node, plan);
    int code = add_axis(node, "w_plane", plan->planes, plan->first_w, plan->step_w, made_with);

    free(made_with);
    for (int d = 1; d >= 0 && !code; d--) {
        double step = image_stage_step(plan, stage, d);
        code = add_axis(node, image_stage_names[stage][d], plan->grid[d],
                        -(double)(plan->grid[d] / 2) * step, step, NULL);
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

    /* with labels where a stage made it */
    int code = w && w->labels ? image_stage_check_label(node, w->labels[0], plan) : 0;
    if (code)
        return code;
    bool good = w && w->size == plan->planes && w->centre &&
                fabs(w->centre[0] - plan->first_w) <= 1e-6 * (fabs(plan->first_w) + 1);

    for (int d = 0; d < 2; d++) {
        const grove_axis *axis = axis_of(node, input, image_stage_names[stage][d]);
        double step = image_stage_step(plan, stage, d);
        good = good && axis && axis->size == plan->grid[d] && axis->width &&
               fabs(axis->width[0] - step) <= 1e-6 * step;
    }
    return good ? 0
                : grove_node_fail(node, GROVE_SHAPE,
                                  "its input is not of %lld planes (w_plane) of %lld x %lld cells "
                                  "(%s, %s), as the options size, cell, centre, epsilon and "
                                  "w_terms choose them; give all stages the same options",
                                  (long long)plan->planes, (long long)plan->grid[0],
                                  (long long)plan->grid[1], image_stage_names[stage][0],
                                  image_stage_names[stage][1]);
}

/* ---- arrays ---- */

/* A consumed axis follows a remaining one of the same kind. */
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
