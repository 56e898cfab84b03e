/* A reduction that does not say which one. */
#include "plain.h"

GROVE_CLASS(not_reducing) = {GROVE_CLASS_HEAD(not_reducing), PLAIN_TEXTS, .inputs = plain_inputs,
                             .kind = GROVE_CLASS_REDUCTION};
