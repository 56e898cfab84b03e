#include "nodes/image_functions.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the labels of w_function say beside the options of the plan. */
#define OVERSAMPLING " oversampling="
#define WITH_W       " w="

static const char *const names[] = {"w_function", "fine"};

int image_functions_n(const grove_node *node, const grove_gridder_image *image, double *middle,
                      double *half)
{
    double least = 0, most = -1, at[2][3];

    for (int d = 0; d < 2; d++) {
        at[d][0] = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d];
        at[d][1] = at[d][0] + (double)(image->size[d] - 1) * image->cell[d];
        at[d][2] = fmin(fmax(0, at[d][0]), at[d][1]); /* nearest to the phase centre */
    }
    for (int k = 0; k < 9; k++) {
        const double l = at[0][k % 3], m = at[1][k / 3];
        if (l * l + m * m >= 1)
            return grove_node_fail(node, GROVE_INVALID,
                                   "pixels of the image are beyond the horizon of the phase "
                                   "centre, where functions have no value; fewer or smaller pixels "
                                   "are not");
        least = fmin(least, grove_gridder_n_less_1(l, m));
        most = fmax(most, grove_gridder_n_less_1(l, m));
    }
    *middle = (least + most) / 2;
    *half = (most - least) / 2;
    return 0;
}

int image_functions_add_axes(grove_node *node, const grove_gridder_plan *plan, bool has_w,
                             const grove_convolution_plan *functions)
{
    const int64_t planes = functions->planes,
                  fine = (int64_t)functions->support * functions->oversampling;
    double *centre = grove_alloc((size_t)planes * sizeof(*centre)),
           *width = grove_alloc((size_t)planes * sizeof(*width));
    const char **labels = grove_alloc((size_t)planes * sizeof(*labels));
    char *label = image_stage_label(node, plan),
         *made_with = grove_format("%s" OVERSAMPLING "%d" WITH_W "%d", label,
                                   functions->oversampling, has_w);

    for (int64_t k = 0; k < planes; k++) {
        centre[k] = (double)k * functions->step_w;
        width[k] = functions->step_w;
        labels[k] = made_with;
    }
    int code = grove_node_add_output_axis(
        node,
        &(grove_axis){
            .name = names[0], .size = planes, .centre = centre, .width = width, .labels = labels});
    if (!code)
        code =
            grove_node_add_output_axis(node, &(grove_axis){.name = names[1], .size = fine * fine});
    free(centre);
    free(width);
    free(labels);
    free(made_with);
    free(label);
    return code;
}

/* The label without what functions add to it, which is set; to be freed. */
static char *divide_label(const grove_axis *w, int64_t *oversampling, bool *has_w)
{
    char *label = grove_strdup(w->labels[0]), *at = strstr(label, OVERSAMPLING);

    *has_w = at && strstr(at, WITH_W "1");
    *oversampling = at ? strtoll(at + strlen(OVERSAMPLING), NULL, 10) : 0;
    if (at)
        *at = 0;
    return label;
}

int image_functions_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                          grove_convolution_plan *functions)
{
    const grove_axis *w = grove_node_input_axis(node, input, grove_axis_kind(names[0])),
                     *fine = grove_node_input_axis(node, input, grove_axis_kind(names[1]));
    const grove_axis *axes[GROVE_MAX_AXES];
    const int64_t side = fine ? (int64_t)rint(sqrt((double)fine->size)) : 0;
    int64_t oversampling = 0;
    bool has_w = false;
    char *label = w && w->labels && w->width ? divide_label(w, &oversampling, &has_w) : NULL;
    double half;

    if (!label || oversampling < 1 || !fine || side * side != fine->size ||
        side % oversampling != 0 || side / oversampling > GROVE_CONVOLUTION_MAX_SUPPORT ||
        grove_node_input_axes(node, input, axes) != 2) {
        free(label);
        return grove_node_fail_option(node, "functions",
                                      "is not a whole value of convolution_functions, which varies "
                                      "with %s and %s alone",
                                      names[0], names[1]);
    }
    int code = image_stage_check_label(node, label, plan);
    free(label);
    *functions = (grove_convolution_plan){.support = (int)(side / oversampling),
                                          .oversampling = (int)oversampling,
                                          .planes = w->size,
                                          .step_w = w->size > 1 ? w->width[0] : 0,
                                          .double_precision = plan->bounds.double_precision};
    for (int d = 0; d < 2; d++) {
        functions->grid[d] = plan->grid[d];
        functions->scale[d] = (double)plan->grid[d] * plan->image.cell[d];
        functions->turn[d] = plan->image.centre[d];
    }
    if (!code && has_w)
        code = image_functions_n(node, &plan->image, &functions->turn[2], &half);
    return code;
}

void image_functions_warn_outside(const grove_node *node, const grove_gridder_outside *outside,
                                  const char *become)
{
    if (outside->samples)
        grove_node_warn(node,
                        "%lld visibilities have baselines whose functions leave the grid, or w "
                        "beyond all planes, %s; smaller pixels make a larger grid",
                        (long long)outside->samples, become);
}
