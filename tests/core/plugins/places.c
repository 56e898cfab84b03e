/* Correct: 10 b + p, where b and p are the indices of the cell along the axes beam and power. */
#include "plain.h"

static void cells(const grove_args *args, int64_t first, int64_t last)
{
    for (int64_t cell = first; cell < last; cell++) {
        grove_cell c = {.args = args};
        int64_t rest = cell;
        for (int d = args->axes - 1; d >= 0; d--) {
            c.index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        *(double *)(void *)grove_view_at(&args->out, c.index, args->axes) =
            (double)(10 * grove_cell_index(&c, grove_axis_kind("beam")) +
                     grove_cell_index(&c, grove_axis_kind("power")));
    }
}

static const grove_kernel kernel = {"places", cells, cells, 0, 0, 0, 0};
static const grove_form output = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};

GROVE_CLASS(places) = {
    GROVE_CLASS_HEAD(places), PLAIN_TEXTS,       .inputs = plain_inputs,
    .kernel = &kernel,        .output = &output,
};
