/* The text of a default is not an expression. */
#include "plain.h"

static const grove_port options[] = {
    {"width", GROVE_VALUE_LENGTH, "how wide, m", .initial = "25 furlongs("},
    {0},
};

GROVE_CLASS(bad_default) = {GROVE_CLASS_HEAD(bad_default), PLAIN, .options = options};
