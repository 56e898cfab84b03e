/* The hot loops in single precision. */
#define GROVE_REAL_SINGLE 1
#include "idg_isa.h"
