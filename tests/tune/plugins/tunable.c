/* A class whose kernel has configurations that are wrong, crash, do not end and are slow. */
#include "plugin.h"

#define GROVE_KERNEL_SOURCE "tests/tune/plugins/tunable.h"
#include "kernel.h"

static const grove_tunables tunables = {
    .tunable = {{"KIND",
                 NULL,
                 6,
                 {TUNABLE_USUAL, TUNABLE_BAD_BOUND, TUNABLE_CRASHES, TUNABLE_ENDLESS, TUNABLE_SLOW,
                  TUNABLE_FAST}}}};

static const grove_kernel kernel = {.name = "tunable",
                                    .single_precision = tunable_cells_single,
                                    .double_precision = tunable_cells_double,
                                    .source = tunable_source,
                                    .tunables = &tunables};

static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER, "any number", .handing = GROVE_AS_REAL},
    {0},
};

GROVE_CLASS(tunable) = {
    GROVE_CLASS_HEAD(tunable),
    .doc = "For tests.",
    .output_doc = "the input and 1",
    .group = "tests",
    .inputs = inputs,
    .kernel = &kernel,
    .example = "y = tunable(1)",
};
