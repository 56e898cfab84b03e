/* Its file's name promises another descriptor. */
#include "plain.h"

GROVE_CLASS(another_symbol) = {GROVE_CLASS_HEAD(another_symbol), PLAIN};
