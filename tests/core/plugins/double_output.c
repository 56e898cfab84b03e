/* Correct: its check asks for a double result in any run, from a real input. */
#include "plain.h"

static int check(grove_node *node)
{
    grove_form form = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};

    grove_node_set_output(node, &form);
    return 0;
}

static void cells(const grove_args *args, int64_t first, int64_t last)
{
    for (int64_t cell = first; cell < last; cell++) {
        int64_t index[GROVE_MAX_AXES], rest = cell;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        *(double *)(void *)grove_view_at(&args->out, index, args->axes) =
            3 * *(const double *)(const void *)grove_view_at(&args->in[0], index, args->axes);
    }
}

static void wrong_cells(const grove_args *args, int64_t first, int64_t last)
{
    for (int64_t cell = first; cell < last; cell++)
        *(float *)args->out.data = -1;
}

static const grove_kernel kernel = {"cells", wrong_cells, cells, 0, 0, 0, 0};

GROVE_CLASS(double_output) = {
    GROVE_CLASS_HEAD(double_output),
    PLAIN_TEXTS,
    .inputs = plain_inputs,
    .kernel = &kernel,
    .check = check,
};
