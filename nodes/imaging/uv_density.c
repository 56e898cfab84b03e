/* The density of weights in the plane of u and v, for uniform and Briggs weighting. */
#include "nodes/imaging/uv_density.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_samples.h"

#include "unstable/fit.h"
#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    IMAGE_PLANE_OPTIONS,
    {"weights", GROVE_VALUE,
     "weights of the visibilities, as of dirty_image; none: the set's own, or 1", .initial = "none",
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},
    {"data", GROVE_VALUE,
     "visibilities; only their flags count; none: the visibilities of the set, if there are any",
     .initial = "none", .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX,
     .linear = GROVE_SELECTOR},
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},
    {"exact", GROVE_BOOL,
     "true: the same bits for any tiles: weights are rounded, to 2^-52 of the sum of all, with one "
     "more pass over them",
     .initial = "false"},
    {0},
};

typedef struct {
    int data, weights, uvw, missing;
    grove_gridder_image image;
    const grove_axis *freq;
    int used; /* elements of the weights */
    bool exact;
} density;

typedef struct {
    image_sizes sizes; /* of exact sums, of the first walk */
    double quantum;    /* weights are multiples of it; 0: of none */
    double sum[];      /* [cell] */
} cells_of_weights;

static int check(grove_node *node)
{
    density *d = grove_alloc(sizeof(*d));
    const grove_node *obs = grove_node_object(node, "obs");
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};

    *d = (density){.data = grove_node_input(node, "data"),
                   .weights = grove_node_input(node, "weights"),
                   .uvw = grove_node_input(node, "uvw"),
                   .freq = grove_node_axis(obs, "freq"),
                   .exact = grove_node_bool(node, "exact")};
    grove_node_set_user(node, d);
    if (!d->freq)
        return grove_node_fail(node, GROVE_SHAPE, "the observation has no channels");
    if (!grove_node_input_form(node, d->data))
        d->data = grove_node_add_member_input(node, d->uvw, "data");
    if (!grove_node_input_form(node, d->weights))
        d->weights = grove_node_add_member_input(node, d->uvw, "weight");
    d->missing = image_samples_find_missing(node, d->data);
    const grove_form *weights = d->weights >= 0 ? grove_node_input_form(node, d->weights)
                                : d->data >= 0  ? grove_node_input_form(node, d->data)
                                                : NULL;
    d->used = !weights                           ? 1
              : weights->shape == GROVE_MATRIX   ? 9
              : weights->shape == GROVE_DIAGONAL ? 3
                                                 : 1;
    int code = image_plane_read(node, obs, image_longest_baseline(obs), false, &d->image);
    if (code)
        return code;
    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        int count = grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;
        for (int i = 0; i < count; i++)
            grove_node_consume(node, axes[i]->kind);
    }
    grove_node_set_output(node, &form);
    const uv_density_cells cells = uv_density_cells_of(&d->image);
    grove_node_set_memory(node, (uint64_t)(cells.rows * cells.columns) * sizeof(double));
    grove_node_set_first_walks(node, d->exact);
    code = grove_node_add_output_axis(node, &(grove_axis){.name = "v", .size = cells.rows});
    return code ? code
                : grove_node_add_output_axis(node,
                                             &(grove_axis){.name = "u", .size = cells.columns});
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

static int begin(const grove_call *call, void **state)
{
    const density *d = grove_node_user(call->node);
    const uv_density_cells cells = uv_density_cells_of(&d->image);

    *state =
        calloc(1, sizeof(cells_of_weights) + (size_t)(cells.rows * cells.columns) * sizeof(double));
    return *state ? 0
                  : grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for its cells");
}

static void add_weights(cells_of_weights *to, const uv_density_cells *cells, const image_samples *s)
{
    const int64_t channels = s->samples.channels;

    for (int64_t k = 0; k < s->samples.rows * channels; k++) {
        double weight = ((const double *)s->weight)[k];
        int64_t cell = weight > 0 ? uv_density_cell(cells, s->uvw + 3 * (k / channels),
                                                    s->samples.freq[k % channels])
                                  : -1;
        if (cell >= 0)
            to->sum[cell] += to->quantum > 0 ? rint(weight / to->quantum) * to->quantum : weight;
    }
}

static int add(const grove_call *call, void *state, const grove_array *const *arrays, int count)
{
    const density *d = grove_node_user(call->node);
    const uv_density_cells cells = uv_density_cells_of(&d->image);
    image_part part = {.data = d->data >= 0 && arrays[d->data]->data ? arrays[d->data] : NULL,
                       .weights =
                           d->weights >= 0 && arrays[d->weights]->data ? arrays[d->weights] : NULL,
                       .uvw = arrays[d->uvw],
                       .missing = d->missing >= 0 ? arrays[d->missing] : NULL,
                       .freq = d->freq,
                       .channels = d->freq->size,
                       .stokes.used = d->used,
                       .as_ones = true};
    const image_extent e = image_part_extent(&part);
    cells_of_weights *to = state;

    (void)count;
    for (int64_t t = 0, times; t < e.times; t += times) {
        image_samples s;
        times = image_part_times(&part, &e, t, e.baselines * e.channels);
        if (image_samples_make(call, &part, t, times, true, &s))
            return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory");
        if (d->exact && to->quantum <= 0)
            image_sizes_add(&to->sizes, &s, 0);
        else
            add_weights(to, &cells, &s);
        image_samples_free(&s);
    }
    return 0;
}

static int walk(const grove_call *call, void *state, grove_array *out, bool *again)
{
    cells_of_weights *to = state;

    (void)out;
    *again = ((const density *)grove_node_user(call->node))->exact && to->quantum <= 0;
    if (*again) /* sums of such multiples are exact */
        to->quantum = exp2(ceil(log2(fmax(image_sum_value(&to->sizes.weight), 0x1p-900))) - 52);
    return 0;
}

static int finish(const grove_call *call, void *state, grove_array *out)
{
    (void)call;
    memcpy(out->data, ((const cells_of_weights *)state)->sum, (size_t)out->cells * sizeof(double));
    return 0;
}

static void end(const grove_node *node, void *state)
{
    (void)node;
    free(state);
}

static const grove_accumulator_functions functions = {
    .create = begin,
    .add = add,
    .finish = finish,
    .free = end,
    .walk = walk,
};

GROVE_CLASS(uv_density) = {
    GROVE_CLASS_HEAD(uv_density),
    .doc = "The sum of the weights of visibilities in each cell of the plane of u and v.\nCells "
           "are 1 / (size cell) wide, as in an image's transform. A visibility at (u, v) counts at "
           "(-u, -v), too, but in the cell of u = v = 0 once: rows have v >= 0. With several "
           "correlations it counts with its weight in an image of Stokes I, 4 / (1 / W_XX + 1 / "
           "W_YY), and not where XX or YY is flagged, whatever Stokes parameters are imaged.",
    .output_doc = "a real number per cell (v, u), in the unit of the weights",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = check,
    .close = close_node,
    .accumulator = &functions,
    .example = "D = uv_density(obs, size=512, cell=2arcsec)",
};
