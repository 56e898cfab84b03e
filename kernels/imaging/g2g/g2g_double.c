/* The hot loop in double precision. */
#define GROVE_REAL_SINGLE 0
#include "g2g_isa.h"
