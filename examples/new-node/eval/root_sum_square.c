/* A node class that gets whole arrays: the root of the sum of squares over all sources. */
#include <grove/plugin.h>

#include <math.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "a real number per source", .handing = GROVE_AS_REAL},
    {0},
};

/* Called once, when a tree is built: the result has the unit of x, and no sources. */
static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .unit = grove_node_input_form(node, 0)->unit};

    if (!grove_node_input_axis(node, 0, GROVE_AXIS_SOURCE))
        return grove_node_fail_option(node, "x", "has no axis of sources to sum over");
    grove_node_set_output(node, &form);
    grove_node_consume(node, GROVE_AXIS_SOURCE);
    return 0;
}

/* Numbers are single or double as the run is. */
static double number(const grove_view *view, const int64_t *index, int axes)
{
    const void *at = grove_view_at(view, index, axes);

    return view->bytes == 8 ? *(const double *)at : (double)*(const float *)at;
}

/* The output cells from `first` up to `last`: any part of them, from any thread. */
static void compute(void *context, int64_t first, int64_t last)
{
    const grove_args *args = context;
    int source = grove_args_axis(args, GROVE_AXIS_SOURCE);

    for (int64_t cell = first; cell < last; cell++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = cell;
        double sum = 0;
        for (int d = args->axes - 1; d >= 0; d--)
            if (d != source) {
                index[d] = rest % args->size[d];
                rest /= args->size[d];
            }
        for (index[source] = 0; index[source] < args->size[source]; index[source]++) {
            double x = number(&args->in[0], index, args->axes);
            sum += x * x;
        }
        void *out = grove_view_at(&args->out, index, args->axes);
        if (args->out.bytes == 8)
            *(double *)out = sqrt(sum);
        else
            *(float *)out = (float)sqrt(sum);
    }
}

/* The iteration space has the axes of the output and those that are consumed. */
static int eval(const grove_call *call)
{
    const grove_args *args = call->args;
    int64_t sources = args->size[grove_args_axis(args, GROVE_AXIS_SOURCE)];

    grove_call_parallel(call, sources ? grove_args_cells(args) / sources : 0, compute,
                        (void *)(uintptr_t)args);
    return 0;
}

GROVE_CLASS(root_sum_square) = {
    GROVE_CLASS_HEAD(root_sum_square),
    .doc = "Root of the sum of squares over all sources.",
    .output_doc = "a real number in the unit of x, without sources",
    .group = "reductions",
    .inputs = inputs,
    .check = check,
    .eval = eval,
    .example = "r = root_sum_square(norm(lmn(S, obs)) * obs.freq)",
};
