/* An accumulator that does not declare its memory. */
#include "accumulator.h"

GROVE_CLASS(no_bytes) = {GROVE_CLASS_HEAD(no_bytes), PLAIN_TEXTS, .inputs = plain_inputs,
                         ACCUMULATOR};
