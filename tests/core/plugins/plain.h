/* Shared by the modules of this folder: a class that returns its real input. Each module has one
 * error, unless its comment says that it is correct. */
#ifndef GROVE_TESTS_PLUGINS_PLAIN_H
#define GROVE_TESTS_PLUGINS_PLAIN_H

#include "plugin.h"

#include <string.h>

static void plain_cells(const grove_args *args, int64_t first, int64_t last)
{
    for (int64_t cell = first; cell < last; cell++) {
        int64_t index[GROVE_MAX_AXES], rest = cell;
        for (int d = args->axes - 1; d >= 0; d--) {
            index[d] = rest % args->size[d];
            rest /= args->size[d];
        }
        memcpy(grove_view_at(&args->out, index, args->axes),
               grove_view_at(&args->in[0], index, args->axes), (size_t)args->out.bytes);
    }
}

__attribute__((unused)) static const grove_kernel plain_kernel = {"plain", plain_cells,
                                                                  plain_cells};

__attribute__((unused)) static const grove_port plain_inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .handing = GROVE_AS_REAL},
    {0},
};

#define PLAIN_TEXTS                                                                                \
    .doc = "For tests.", .output_doc = "the input", .group = "tests", .example = "y = plain(1)"
/* GROVE_CLASS_HEAD without version, size and name. */
#define PLAIN_SIZES                                                                                \
    .port_size = sizeof(grove_port), .form_size = sizeof(grove_form),                              \
    .axis_size = sizeof(grove_axis), .kernel_size = sizeof(grove_kernel),                          \
    .data_size = sizeof(grove_data_functions), .action_size = sizeof(grove_action_functions),      \
    .accumulator_size = sizeof(grove_accumulator_functions)
#define PLAIN PLAIN_TEXTS, .inputs = plain_inputs, .kernel = &plain_kernel

#endif
