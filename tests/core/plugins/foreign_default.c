/* Has a default that calls an unknown class. */
#include "plain.h"

static const grove_port options[] = {
    {"height", GROVE_VALUE_LENGTH, "how high, m", .initial = "tower(3)"},
    {0},
};

GROVE_CLASS(foreign_default) = {GROVE_CLASS_HEAD(foreign_default), PLAIN, .options = options};
