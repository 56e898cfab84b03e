/* The hot loops in double precision. */
#define GROVE_REAL_SINGLE 0
#include "gridder_isa.h"
