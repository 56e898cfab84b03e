/* An accumulator with a kernel. */
#include "accumulator.h"

GROVE_CLASS(two_ways) = {GROVE_CLASS_HEAD(two_ways), PLAIN, ACCUMULATOR};
