/* Has neither kernel nor eval. */
#include "plain.h"

GROVE_CLASS(no_kernel) = {GROVE_CLASS_HEAD(no_kernel), PLAIN_TEXTS, .inputs = plain_inputs};
