/* Cells of point in single precision. */
#define GROVE_REAL_SINGLE 1
#include "point_isa.h"
