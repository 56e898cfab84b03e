/* The text of a default is not an expression. */
#include "plain.h"

static const grove_option options[] = {
    {"width", GROVE_VALUE_LENGTH, "25 furlongs(", "how wide, m"},
    {0},
};

GROVE_CLASS(bad_default) = {GROVE_CLASS_HEAD(bad_default), PLAIN, .options = options};
