/* Its option wants a vector that is too long. */
#include "plain.h"

static const grove_port options[] = {
    {"list", GROVE_VALUE_NUMBER, "numbers", .initial = "none", .shapes = GROVE_VECTOR,
     .vector = 65},
    {0},
};

GROVE_CLASS(bad_vector) = {GROVE_CLASS_HEAD(bad_vector), PLAIN, .options = options};
