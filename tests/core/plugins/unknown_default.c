/* Has a default of the wrong unit, and one with an unknown name. */
#include "plain.h"

static const grove_port options[] = {
    {"width", GROVE_LENGTH, "how wide, m", .initial = "25s"},
    {"height", GROVE_VALUE_LENGTH, "how high, m", .initial = "tower.height"},
    {0},
};

GROVE_CLASS(unknown_default) = {GROVE_CLASS_HEAD(unknown_default), PLAIN, .options = options};
