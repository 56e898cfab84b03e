/* An accumulator: how often values of a whole observation are near each of some numbers. It is
 * given the observation tile by tile, and keeps no more than the bins. */
#include <grove/plugin.h>

#include <stdlib.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "a real number per cell", .handing = GROVE_AS_DOUBLE},
    {0},
};
static const grove_port options[] = {
    {"first", GROVE_NUMBER, "centre of the first bin, in the base unit of x", .initial = "0"},
    {"last", GROVE_NUMBER, "centre of the last"},
    {"bins", GROVE_INTEGER, "how many there are", .initial = "16"},
    {0},
};

/* Called once, when a tree is built: the result has none of the axes of x, and one of bins. */
static int check(grove_node *node)
{
    double first = grove_node_number(node, "first"), last = grove_node_number(node, "last");
    int64_t bins = grove_node_integer(node, "bins");
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    const grove_axis *axes[GROVE_MAX_AXES];

    if (bins < 2)
        return grove_node_fail_option(node, "bins", "must be 2 or more");
    if (!(last > first))
        return grove_node_fail_option(node, "last", "must be larger than 'first'");
    for (int d = grove_node_input_axes(node, 0, axes) - 1; d >= 0; d--)
        grove_node_consume(node, axes[d]->kind);
    grove_node_set_output(node, &form);
    grove_node_set_memory(node, (uint64_t)bins * sizeof(double));
    return grove_node_add_output_axis(node, &(grove_axis){.name = "bin", .size = bins});
}

/* The state: a number for each bin. */
static int begin(const grove_call *call, void **state)
{
    *state = calloc((size_t)grove_node_integer(call->node, "bins"), sizeof(double));
    return *state ? 0 : grove_node_fail(call->node, -1, "no memory");
}

/* The cells of a tile, or of a part of one. Each is divided between the two bins nearest to it. */
static int add(const grove_call *call, void *state, const grove_array *const *arrays, int count)
{
    const grove_array *x = arrays[0];
    const double *numbers = x->data;
    double *counts = state;
    double first = grove_node_number(call->node, "first");
    int64_t intervals = grove_node_integer(call->node, "bins") - 1;
    double width = (grove_node_number(call->node, "last") - first) / (double)intervals;

    (void)count;
    for (int64_t cell = 0; cell < x->cells; cell++) {
        double place = (numbers[cell] - first) / width;
        if ((x->flags && x->flags[cell]) || !(place >= 0 && place <= (double)intervals))
            continue;
        int64_t bin = place < (double)intervals ? (int64_t)place : intervals - 1;
        counts[bin] += 1 - (place - (double)bin);
        counts[bin + 1] += place - (double)bin;
    }
    return 0;
}

/* With this, each thread has a state of its own; they are added up at the end. */
static int merge(const grove_call *call, void *state, void *other)
{
    double *to = state;
    const double *from = other;

    for (int64_t bin = 0; bin < grove_node_integer(call->node, "bins"); bin++)
        to[bin] += from[bin];
    return 0;
}

static int finish(const grove_call *call, void *state, grove_array *out)
{
    const double *counts = state;

    (void)call;
    for (int64_t bin = 0; bin < out->cells; bin++)
        ((double *)out->data)[bin] = counts[bin];
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
    .merge = merge,
};

GROVE_CLASS(value_histogram) = {
    GROVE_CLASS_HEAD(value_histogram),
    .doc = "How often values are near each of some numbers.",
    .output_doc = "a number per bin: of cells, each divided between the two bins nearest to it",
    .group = "reductions",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = check,
    .accumulator = &functions,
    .example = "h = value_histogram(norm(obs.uvw), last=3000)",
};
