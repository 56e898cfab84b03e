/* The vectorised sums in double precision. */
#define GROVE_REAL_SINGLE 0
#include "predict_isa.h"
