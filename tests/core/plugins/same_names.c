/* Has an input and an option of the same name. */
#include "plain.h"

static const grove_port options[] = {{"x", GROVE_NUMBER, "another", .initial = "1"}, {0}};

GROVE_CLASS(same_names) = {GROVE_CLASS_HEAD(same_names), PLAIN, .options = options};
