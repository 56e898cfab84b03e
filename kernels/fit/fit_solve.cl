#ifndef GROVE_FIT_SOLVE_OPENCL
#define GROVE_FIT_SOLVE_OPENCL
#include "fit_solve.cu"
#endif
