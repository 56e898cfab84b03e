/* Uses a field that is reserved. */
#include "plain.h"

GROVE_CLASS(reserved) = {GROVE_CLASS_HEAD(reserved), PLAIN, .tangent = "dx"};
