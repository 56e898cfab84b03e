/* The symbol is that of the file, the name within is not. */
#include "plain.h"

GROVE_CLASS(other_name) = {GROVE_CLASS_HEAD(othername), PLAIN};
