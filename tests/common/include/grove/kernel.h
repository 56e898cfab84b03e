/* As it is installed, for examples that tests compile. */
#include "../../../../src/kernel.h"
