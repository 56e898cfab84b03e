/* The hot loops in double precision. */
#define GROVE_REAL_SINGLE 0
#include "convolution_isa.h"
