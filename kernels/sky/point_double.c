/* Cells of point in double precision. */
#define GROVE_REAL_SINGLE 0
#include "point_isa.h"
