/* Correct: its value has an axis of its own, of any name, along which it is x, 2x, 3x, ... */
#include "plain.h"

static const grove_port options[] = {
    {"axis", GROVE_TEXT, "name of the axis", .initial = "\"beam\""},
    {"count", GROVE_INTEGER, "how long it is", .initial = "3"},
    {"step", GROVE_NUMBER, "from cell to cell; 0: it has no coordinates", .initial = "0"},
    {"anew", GROVE_BOOL, "in place of the input's axis of that name", .initial = "false"},
    {0},
};

static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
    int kind = grove_axis_kind(grove_node_text(node, "axis"));
    double centre[8], step = grove_node_number(node, "step");
    grove_axis axis = {.name = grove_node_text(node, "axis"),
                       .size = grove_node_integer(node, "count"),
                       .centre = step > 0 ? centre : NULL};

    for (int i = 0; i < 8; i++)
        centre[i] = i * step;
    if (grove_node_bool(node, "anew"))
        grove_node_consume(node, kind);
    grove_node_set_output(node, &form);
    grove_node_set_state(node, &kind, sizeof(kind));
    return grove_node_add_output_axis(node, &axis);
}

static int eval(const grove_call *call)
{
    const grove_args *args = call->args;
    int kind, d;

    memcpy(&kind, args->state.bytes, sizeof(kind));
    d = grove_args_axis(args, kind);
    if (d < 0)
        return grove_node_fail(call->node, -1, "there is no axis of its own");
    for (int64_t cell = 0; cell < grove_args_cells(args); cell++) {
        int64_t index[GROVE_MAX_AXES], rest = cell;
        for (int k = args->axes - 1; k >= 0; k--) {
            index[k] = rest % args->size[k];
            rest /= args->size[k];
        }
        *(double *)(void *)grove_view_at(&args->out, index, args->axes) =
            (double)(args->origin[d] + index[d] + 1) *
            *(const double *)(const void *)grove_view_at(&args->in[0], index, args->axes);
    }
    return 0;
}

GROVE_CLASS(spread) = {
    GROVE_CLASS_HEAD(spread), PLAIN_TEXTS,  .inputs = plain_inputs,
    .options = options,       .eval = eval, .check = check,
};
