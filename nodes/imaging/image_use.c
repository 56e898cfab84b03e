/* Inputs of samples besides functions: index sets and gradients that are values. */
#include "nodes/imaging/image_functions.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const image_use_names[3] = {"mueller", "mueller_conjugate", "gradient"};

/* ---- check ---- */

static const grove_form *form_of(const grove_node *node, int k)
{
    return grove_node_input_form(node, grove_node_input(node, image_use_names[k]));
}

static int elements_of(const grove_form *form)
{
    return form->shape == GROVE_VECTOR ? form->vector : 1;
}

int image_functions_check_none(const grove_node *node)
{
    static const char *const names[] = {"mueller", "mueller_conjugate", "gradient", "oversampling",
                                        "w_planes"};

    for (int k = 0; k < 5; k++)
        if (grove_node_given(node, names[k]))
            return grove_node_fail_option(node, names[k], "requires functions");
    return 0;
}

bool image_use_varies_by_row(const grove_node *node)
{
    for (int k = 0; k < 3; k++) {
        const int input = grove_node_input(node, image_use_names[k]);
        if (form_of(node, k) && grove_node_input_axis(node, input, GROVE_AXIS_TIME) &&
            grove_node_input_axis(node, input, GROVE_AXIS_BASELINE))
            return true;
    }
    return false;
}

/* Of cells that have no number, such as empty ones of a table. */
static int fail_flagged(const grove_node *node, const char *option)
{
    return grove_node_fail_option(node, option,
                                  "has flagged numbers, such as cells of a table that are empty or "
                                  "nan; all of them must be finite");
}

int image_functions_check_given(grove_node *node, int own, bool of_data, image_mueller *m,
                                grove_convolution_plan *functions)
{
    const grove_form *mueller = form_of(node, 0), *conjugate = form_of(node, 1);
    const int elements = mueller ? elements_of(mueller) : 0, other = elements / own;

    if (grove_node_input_form(node, grove_node_input(node, "functions"))->flags)
        return fail_flagged(node, "functions");
    if (!mueller && conjugate)
        return grove_node_fail_option(node, "mueller_conjugate", "requires mueller");
    if (!mueller && functions->functions > 1 && m->shape == 1 &&
        image_mueller_functions(m) != functions->functions)
        return grove_node_fail_option(
            node, "mueller", "must be given: there are %lld functions whose use is not known",
            (long long)functions->functions);
    if (!mueller)
        return 0;
    if (own > 4)
        return grove_node_fail(
            node, GROVE_SHAPE,
            "its input has %d numbers for each cell; with functions it may have 1 to 4 images",
            own);
    if (elements % own || other > 4 || (!of_data && other == 3))
        return grove_node_fail_option(
            node, "mueller", "has %d numbers; it must have one for each of %s and each of %d %s",
            elements, of_data ? "1 to 4 images" : "1, 2 or 4 correlations", own,
            of_data ? "correlations" : "images");
    if (conjugate && elements_of(conjugate) != elements)
        return grove_node_fail_option(node, "mueller_conjugate",
                                      "has %d numbers, but mueller has %d; both must have the same",
                                      elements_of(conjugate), elements);
    image_mueller_free(m);
    *m = (image_mueller){.shape = 1,
                         .groups = 1,
                         .given = true,
                         .visibilities = of_data ? own : other,
                         .images = of_data ? other : own};
    for (int r = 0; r < m->images; r++)
        m->basis[r][r][0] = 1;
    functions->visibilities = m->visibilities;
    functions->images = m->images;
    return 0;
}

/* ---- functions ---- */

int image_functions_check_finite(const grove_node *node, const grove_convolution_plan *functions,
                                 const void *numbers, const int64_t step[2])
{
    const int64_t side = grove_convolution_side(functions), fine = side * side,
                  planes = functions->functions * functions->planes,
                  pair = functions->double_precision ? 16 : 8;

    for (int64_t k = 0; k < planes; k++)
        for (int64_t i = 0; i < fine; i++) {
            const void *at =
                (const char *)numbers + (step ? k * step[0] + i * step[1] : (k * fine + i) * pair);
            const double re = functions->double_precision ? ((const double *)at)[0]
                                                          : (double)((const float *)at)[0],
                         im = functions->double_precision ? ((const double *)at)[1]
                                                          : (double)((const float *)at)[1];
            if (!isfinite(re) || !isfinite(im))
                return grove_node_fail_option(
                    node, "functions",
                    "have %g%+gi at cell %lld of w_function and %lld of fine, counted from 0; they "
                    "must be finite, and 0 where they have no part",
                    re, im, (long long)k, (long long)i);
        }
    return 0;
}

int image_functions_check_flags(const grove_node *node, const grove_array *const *arrays)
{
    static const char *const names[] = {"functions", "mueller", "mueller_conjugate", "gradient"};

    for (int k = 0; k < 4; k++) {
        const grove_array *array = arrays[grove_node_input(node, names[k])];
        for (int64_t i = 0; array && array->flags && i < array->cells; i++)
            if (array->flags[i])
                return fail_flagged(node, names[k]);
    }
    return 0;
}

/* ---- index sets ---- */

image_numbers image_numbers_of(const grove_array *array, int64_t first)
{
    image_numbers n = {.at = array ? array->data : NULL};
    int64_t step = n.at ? array->elements : 0;

    for (int d = n.at ? array->axes - 1 : -1; d >= 0; d--) {
        const int kind = array->range[d].axis->kind;
        n.time = kind == GROVE_AXIS_TIME ? step : n.time;
        n.baseline = kind == GROVE_AXIS_BASELINE ? step : n.baseline;
        n.freq = kind == GROVE_AXIS_FREQ ? step : n.freq;
        step *= array->range[d].count;
    }
    n.at = n.at ? n.at + first * n.time : NULL;
    return n;
}

/* Cells along time, baseline and freq that numbers of a part have. */
static void cells_of(const image_numbers *n, const image_mueller_part *part, int64_t cells[3])
{
    cells[0] = n[0].time || n[1].time ? part->times : 1;
    cells[1] = n[0].baseline || n[1].baseline ? part->baselines : 1;
    cells[2] = n[0].freq || n[1].freq ? part->channels : 1;
}

static int fail_index(const grove_node *node, int way, double number, int element, int images,
                      int64_t functions)
{
    return grove_node_fail_option(node, image_use_names[way],
                                  "correlation %d of image %d has %g, which is not a function: "
                                  "functions have whole numbers from 0 to %lld, and -1 means none",
                                  element / images, element % images, number,
                                  (long long)functions - 1);
}

/* Set of a cell, for both ways. */
static int put_set(const grove_node *node, const image_mueller *m, int64_t functions,
                   const image_numbers *numbers, const int64_t at[3], int32_t *to)
{
    const int elements = m->visibilities * m->images;

    for (int way = 0; way < 2; way++) {
        const image_numbers *n = &numbers[numbers[way].at ? way : 0];
        const double *from = n->at + at[0] * n->time + at[1] * n->baseline + at[2] * n->freq;
        for (int k = 0; k < elements; k++, to++) {
            if (!(from[k] >= -1 && from[k] < (double)functions) || from[k] != floor(from[k]))
                return fail_index(node, n == numbers ? 0 : 1, from[k], k, m->images, functions);
            *to = (int32_t)from[k];
        }
    }
    return 0;
}

/* Whether numbers say of all visibilities, one way and the other, that there is no function. */
static bool is_empty(const int32_t *index, int64_t count)
{
    for (int64_t k = 0; k < count; k++)
        if (index[k] >= 0)
            return false;
    return true;
}

static int read_index(const grove_node *node, const image_mueller *m, int64_t functions,
                      const image_numbers *numbers, const image_mueller_part *part, image_use *use)
{
    const int64_t size = 2 * m->visibilities * m->images;
    int64_t cells[3], at[3];
    int code = 0;

    cells_of(numbers, part, cells);
    use->index = malloc((size_t)(cells[0] * cells[1] * cells[2] * size) * sizeof(*use->index) + 1);
    int32_t *row = malloc((size_t)(part->times * part->baselines) * sizeof(*row) + 1),
            *channel = malloc((size_t)part->channels * sizeof(*channel) + 1);
    use->mueller = (grove_convolution_mueller){.index = use->index, .row = row, .channel = channel};
    if (!use->index || !row || !channel)
        return GROVE_NO_MEMORY;
    for (int64_t k = 0; k < cells[0] * cells[1] * cells[2] && !code; k++) {
        at[2] = k % cells[2];
        at[1] = k / cells[2] % cells[1];
        at[0] = k / cells[2] / cells[1];
        code = put_set(node, m, functions, numbers, at, use->index + k * size);
    }
    if (!code && cells[0] * cells[1] * cells[2] == 1 && is_empty(use->index, size))
        code = grove_node_fail_option(node, image_use_names[0],
                                      "is -1, no function, for each correlation and image; at "
                                      "least one must be a number from 0 to %lld",
                                      (long long)functions - 1);
    for (int64_t k = 0; k < part->times * part->baselines; k++)
        row[k] = (int32_t)(((k / part->baselines) % cells[0] * cells[1] +
                            k % part->baselines % cells[1]) *
                           cells[2]);
    for (int64_t k = 0; k < part->channels; k++)
        channel[k] = (int32_t)(k % cells[2]);
    return code;
}

static int read_gradient(const grove_node *node, const grove_convolution_plan *functions,
                         const image_numbers *n, const image_mueller_part *part, image_use *use)
{
    const int64_t rows = part->times * part->baselines;
    double *to = malloc((size_t)(rows * part->channels) * 2 * sizeof(*to) + 1);

    use->gradient = to;
    use->mueller.gradient = to;
    if (!to)
        return GROVE_NO_MEMORY;
    for (int64_t i = 0; i < rows * part->channels; i++) {
        const int64_t row = i / part->channels;
        const double *from = n->at + row / part->baselines * n->time +
                             row % part->baselines * n->baseline + i % part->channels * n->freq;
        for (int d = 0; d < 2; d++) {
            if (!isfinite(from[d]))
                return grove_node_fail_option(node, "gradient", "%g is not a direction cosine",
                                              from[d]);
            *to++ = from[d] / functions->scale[d];
        }
    }
    return 0;
}

int image_use_begin(const grove_node *node, const image_mueller *m, const int32_t *index,
                    const grove_convolution_plan *functions, const image_mueller_part *part,
                    const image_numbers numbers[3], image_use *use)
{
    static const double zero[1] = {0};
    const image_numbers none[2] = {{.at = zero}, {0}};
    int code = 0;

    *use = (image_use){.needed = index || m->given || numbers[2].at};
    if (index)
        code = image_mueller_begin(m, grove_node_object(node, "obs"), index, part, &use->mueller)
                   ? 0
                   : GROVE_NO_MEMORY;
    else if (use->needed)
        code = read_index(node, m, functions->functions, m->given ? numbers : none, part, use);
    if (!code && numbers[2].at)
        code = read_gradient(node, functions, &numbers[2], part, use);
    if (code)
        image_use_end(use);
    return code;
}

void image_use_keep_rows(image_use *use, const int64_t *list, int64_t rows, int64_t channels)
{
    int32_t *row = (int32_t *)(uintptr_t)use->mueller.row;
    const size_t turns = 2 * (size_t)channels;

    for (int64_t k = 0; list && k < rows; k++) { /* in order, so that none is lost */
        if (row)
            row[k] = row[list[k]];
        if (use->gradient && list[k] != k)
            memcpy(use->gradient + turns * (size_t)k, use->gradient + turns * (size_t)list[k],
                   turns * sizeof(double));
    }
}

void image_use_end(image_use *use)
{
    image_mueller_end(&use->mueller);
    free(use->index);
    free(use->gradient);
    *use = (image_use){0};
}

/* ---- sums of weights ---- */

/* A function's numbers add up to its sky's middle times the kernel's transform, by which the image
 * is divided once more. Stokes parameters are halved after it, though their sum is of both
 * correlations. */
double image_normalising(const image_mueller *m, const grove_gridder_plan *plan, double sum)
{
    const double kernel = grove_gridder_kernel_transform(&plan->kernel, 0),
                 both = m->shape > 1 && !m->of_correlations ? 2 : 1;

    return sum > 0 ? both * kernel * kernel / sum : 0;
}

void image_normalise(const grove_call *call, const image_mueller *m, const grove_gridder_plan *plan,
                     const double sums[4], void *grids)
{
    const int64_t numbers = 2 * plan->grid[0] * plan->grid[1];

    for (int r = 0; r < m->images; r++) {
        const double factor = image_normalising(m, plan, sums[r]);
        for (int64_t k = r * numbers; k < (r + 1) * numbers; k++)
            if (call->double_precision)
                ((double *)grids)[k] *= factor;
            else
                ((float *)grids)[k] = (float)(((float *)grids)[k] * factor);
    }
}
