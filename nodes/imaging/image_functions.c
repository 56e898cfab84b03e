#include "nodes/imaging/image_functions.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words in the labels of w_function besides the options of the plan. */
#define OVERSAMPLING " oversampling="
#define PLANES       " planes="
#define LINEAR       " linear="
#define WITH_W       " w="
#define TERMS        " terms="

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
            return grove_node_fail(
                node, GROVE_INVALID,
                "pixels of the image are beyond the horizon of the phase centre, where functions "
                "have no value; use fewer or smaller pixels");
        least = fmin(least, grove_gridder_n_less_1(l, m));
        most = fmax(most, grove_gridder_n_less_1(l, m));
    }
    *middle = (least + most) / 2;
    *half = (most - least) / 2;
    return 0;
}

int image_functions_add_axes(grove_node *node, const grove_gridder_plan *plan, bool has_w,
                             const grove_convolution_plan *functions, const image_mueller *mueller)
{
    const int64_t planes = functions->planes, count = planes * functions->functions,
                  fine = grove_convolution_side(functions);
    double *centre = grove_alloc((size_t)count * sizeof(*centre)),
           *width = grove_alloc((size_t)count * sizeof(*width));
    const char **labels = grove_alloc((size_t)count * sizeof(*labels));
    char *label = image_stage_label(node, plan), *terms = image_mueller_label(mueller),
         *made_with = grove_format(
             "%s" OVERSAMPLING "%d" PLANES "%lld" LINEAR "%d" WITH_W "%d" TERMS "%s", label,
             functions->oversampling, (long long)planes, functions->linear, has_w, terms);

    for (int64_t k = 0; k < count; k++) { /* of several functions one after the other */
        centre[k] = (double)k * (functions->step_w > 0 ? functions->step_w : 1);
        width[k] = functions->step_w;
        labels[k] = made_with;
    }
    int code = grove_node_add_output_axis(
        node,
        &(grove_axis){
            .name = names[0], .size = count, .centre = centre, .width = width, .labels = labels});
    if (!code)
        code =
            grove_node_add_output_axis(node, &(grove_axis){.name = names[1], .size = fine * fine});
    free(centre);
    free(width);
    free(labels);
    free(made_with);
    free(terms);
    free(label);
    return code;
}

/* The content of the label of functions. */
typedef struct {
    char *stage; /* the plan's label, to be freed */
    int64_t oversampling, planes;
    bool linear, has_w;
    image_mueller mueller;
} description;

static bool read_label(const char *label, const grove_node *obs, description *d)
{
    const char *at = strstr(label, OVERSAMPLING), *terms = at ? strstr(at, TERMS) : NULL;
    long long oversampling, planes;
    int linear, has_w;

    if (!terms || sscanf(at, OVERSAMPLING "%lld" PLANES "%lld" LINEAR "%d" WITH_W "%d",
                         &oversampling, &planes, &linear, &has_w) != 4)
        return false;
    d->stage = grove_format("%.*s", (int)(at - label), label);
    d->oversampling = oversampling;
    d->planes = planes;
    d->linear = linear != 0;
    d->has_w = has_w != 0;
    return image_mueller_read(terms + strlen(TERMS), obs, &d->mueller);
}

/* Whether the axes have the sizes of whole functions by the label. */
static bool are_whole(const grove_axis *w, const grove_axis *fine, const description *d,
                      int64_t side)
{
    const int64_t stride = d->oversampling + (d->linear ? 1 : 0);

    return d->oversampling > 0 && d->planes > 0 && fine && side * side == fine->size &&
           side % stride == 0 && side / stride <= GROVE_CONVOLUTION_MAX_SUPPORT &&
           (d->stage ? w->size == d->planes * image_mueller_functions(&d->mueller)
                     : w->size % d->planes == 0) &&
           (d->planes == 1 || (w->centre && w->centre[1] > w->centre[0]));
}

/* Errors for options that differ from the label of the functions. */
static int check_described(const grove_node *node, const description *d)
{
    static const char *const options[] = {"oversampling", "w_planes"};
    const int64_t made[] = {d->oversampling, d->planes};

    for (int k = 0; k < 2 && d->stage; k++)
        if (grove_node_given(node, options[k]) && grove_node_integer(node, options[k]) != made[k])
            return grove_node_fail_option(
                node, options[k],
                "%lld differs from the functions, which were made with %lld; leave it out",
                (long long)grove_node_integer(node, options[k]), (long long)made[k]);
    return 0;
}

/* Functions that do not say how they were made: by the options. */
static bool describe(const grove_node *node, const grove_axis *w, description *d)
{
    *d = (description){
        .oversampling =
            grove_node_given(node, "oversampling") ? grove_node_integer(node, "oversampling") : 0,
        .planes = grove_node_given(node, "w_planes") ? grove_node_integer(node, "w_planes") : 1,
        .mueller = {.shape = 1, .groups = 1}};
    image_mueller_make(&d->mueller, grove_node_object(node, "obs"));
    d->has_w = d->planes > 1;
    return d->planes > 0 && w->size % d->planes == 0;
}

static int fail_functions(const grove_node *node, const grove_axis *w, const grove_axis *fine)
{
    if (!w || !fine || (w->labels && w->labels[0]))
        return grove_node_fail_option(
            node, "functions",
            "is not a whole value of convolution_functions, which varies only with %s and %s",
            names[0], names[1]);
    return grove_node_fail_option(
        node, "functions",
        "have %lld cells of %s and %lld of %s; they must be a multiple of w_planes, in ascending "
        "order of w, and the square of support x oversampling, as the options give them",
        (long long)w->size, names[0], (long long)fine->size, names[1]);
}

/* Whether the planes of the first function have |w| = 0, s, 2 s ... */
static bool are_even(const grove_axis *w, int64_t planes)
{
    const double step = planes > 1 ? w->centre[1] : 0;

    for (int64_t k = 0; k < planes && planes > 1; k++)
        if (!(step > 0 && fabs(w->centre[k] - (double)k * step) < 1e-6 * step * (double)planes))
            return false;
    return true;
}

int image_functions_check(const grove_node *node, int input, const grove_gridder_plan *plan,
                          grove_convolution_plan *functions, image_mueller *mueller)
{
    const grove_axis *w = grove_node_input_axis(node, input, grove_axis_kind(names[0])),
                     *fine = grove_node_input_axis(node, input, grove_axis_kind(names[1]));
    const grove_axis *axes[GROVE_MAX_AXES];
    const int64_t side = fine ? (int64_t)rint(sqrt((double)fine->size)) : 0;
    description d = {0};
    double half;

    bool good = w && fine && grove_node_input_axes(node, input, axes) == 2;
    if (good && w->labels && w->labels[0])
        good = read_label(w->labels[0], grove_node_object(node, "obs"), &d);
    else if (good)
        good = describe(node, w, &d);
    good = good && are_whole(w, fine, &d, side);
    *mueller = d.mueller;
    int code = !good     ? fail_functions(node, w, fine)
               : d.stage ? image_stage_check_label(node, d.stage, plan)
                         : 0;
    code = code ? code : check_described(node, &d);
    free(d.stage);
    if (code)
        return code;
    if (!are_even(w, d.planes))
        return grove_node_fail_option(node, "functions",
                                      "have w_function %g, %g ... for the planes of a function; "
                                      "they must be evenly spaced from 0 on, in wavelengths",
                                      w->centre[0], w->centre[1]);
    const int64_t support = side / (d.oversampling + (d.linear ? 1 : 0));
    if (support > plan->grid[0] || support > plan->grid[1])
        return grove_node_fail_option(node, "functions",
                                      "have a support of %lld cells, more than the grid of %lld x "
                                      "%lld has",
                                      (long long)support, (long long)plan->grid[0],
                                      (long long)plan->grid[1]);
    *functions = (grove_convolution_plan){.support = (int)support,
                                          .oversampling = (int)d.oversampling,
                                          .linear = d.linear,
                                          .functions = w->size / d.planes,
                                          .visibilities = mueller->visibilities,
                                          .images = mueller->images,
                                          .planes = d.planes,
                                          .step_w = d.planes > 1 ? w->centre[1] - w->centre[0] : 0,
                                          .double_precision = plan->bounds.double_precision};
    for (int k = 0; k < 2; k++) {
        functions->grid[k] = plan->grid[k];
        functions->scale[k] = (double)plan->grid[k] * plan->image.cell[k];
        functions->turn[k] = plan->image.centre[k];
    }
    return d.has_w ? image_functions_n(node, &plan->image, &functions->turn[2], &half) : 0;
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
