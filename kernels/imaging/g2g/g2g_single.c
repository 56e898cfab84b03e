/* The hot loop in single precision. */
#define GROVE_REAL_SINGLE 1
#include "g2g_isa.h"
