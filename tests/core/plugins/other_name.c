/* Exports the right symbol, with another name in the descriptor. */
#include "plain.h"

GROVE_CLASS(other_name) = {GROVE_CLASS_HEAD(othername), PLAIN};
