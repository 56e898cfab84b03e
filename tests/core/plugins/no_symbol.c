/* Exports the descriptor of another name. */
#include "plain.h"

GROVE_CLASS(another_symbol) = {GROVE_CLASS_HEAD(another_symbol), PLAIN};
