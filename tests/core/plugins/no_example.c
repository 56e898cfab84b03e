/* Has no example for the reference. */
#include "plain.h"

GROVE_CLASS(no_example) = {
    GROVE_CLASS_HEAD(no_example), .doc = "For tests.",
    .output_doc = "the input",    .group = "tests",
    .inputs = plain_inputs,       .kernel = &plain_kernel,
};
