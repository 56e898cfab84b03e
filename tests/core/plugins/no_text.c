/* Has no description. */
#include "plain.h"

GROVE_CLASS(no_text) = {
    GROVE_CLASS_HEAD(no_text),
    .inputs = plain_inputs,
    .kernel = &plain_kernel,
};
