/* Its kernel has no function for double precision. */
#include "plain.h"

static const grove_kernel half = {"half", plain_cells, 0, 0, 0, 0, 0};

GROVE_CLASS(half_kernel) = {GROVE_CLASS_HEAD(half_kernel), PLAIN_TEXTS, .inputs = plain_inputs,
                            .kernel = &half};
