/* The vectorised sums in single precision. */
#define GROVE_REAL_SINGLE 1
#include "predict_isa.h"
