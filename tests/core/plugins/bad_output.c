/* Its output has an unknown shape. */
#include "plain.h"

GROVE_CLASS(bad_output) = {GROVE_CLASS_HEAD(bad_output), PLAIN, .output = GROVE_FORM(.shape = 3)};
