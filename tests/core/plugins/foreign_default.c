/* Has a default that calls an unknown class. */
#include "plain.h"

static const grove_option options[] = {
    {"height", GROVE_VALUE_LENGTH, "tower(3)", "how high, m"},
    {0},
};

GROVE_CLASS(foreign_default) = {GROVE_CLASS_HEAD(foreign_default), PLAIN, .options = options};
