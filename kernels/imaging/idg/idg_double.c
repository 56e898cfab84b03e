/* The hot loops in double precision. */
#define GROVE_REAL_SINGLE 0
#include "idg_isa.h"
