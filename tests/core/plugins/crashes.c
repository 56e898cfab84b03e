/* Its evaluation crashes. */
#include "plain.h"

#include <stdlib.h>

static int eval(const grove_call *call)
{
    (void)call;
    abort();
}

GROVE_CLASS(crashes) = {
    GROVE_CLASS_HEAD(crashes), .doc = "For tests.", .output_doc = "the input",   .group = "tests",
    .inputs = plain_inputs,    .eval = eval,        .example = "y = crashes(1)",
};
