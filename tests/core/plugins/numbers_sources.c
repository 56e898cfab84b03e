/* Says that it is linear, but multiplies by the number of the source. */
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
            (double)grove_cell_index(&c, GROVE_AXIS_SOURCE) *
            *(const double *)(const void *)grove_view_at(&args->in[0], c.index, args->axes);
    }
}

static const grove_kernel kernel = {"numbers_sources", cells, cells, 0, 0, 0, 0};
static const grove_form output = {.shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE};
static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .handing = GROVE_AS_REAL, .linear = GROVE_LINEAR},
    {0},
};

GROVE_CLASS(numbers_sources) = {
    GROVE_CLASS_HEAD(numbers_sources),
    .doc = "For tests.",
    .output_doc = "the input times the number of the source",
    .group = "tests",
    .inputs = inputs,
    .kernel = &kernel,
    .output = &output,
    .example = "y[s] = numbers_sources(norm(S.stokes) / 1Jy)",
};
