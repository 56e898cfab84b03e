/* Has a default of the wrong unit, and one with an unknown name. */
#include "plain.h"

static const grove_option options[] = {
    {"width", GROVE_LENGTH, "25s", "how wide, m"},
    {"height", GROVE_VALUE_LENGTH, "tower.height", "how high, m"},
    {0},
};

GROVE_CLASS(unknown_default) = {GROVE_CLASS_HEAD(unknown_default), PLAIN, .options = options};
