/* Has an input and an option of the same name. */
#include "plain.h"

static const grove_option options[] = {{"x", GROVE_NUMBER, "1", "another"}, {0}};

GROVE_CLASS(same_names) = {GROVE_CLASS_HEAD(same_names), PLAIN, .options = options};
