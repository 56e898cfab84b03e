#ifndef GROVE_FIT_GATHER_OPENCL
#define GROVE_FIT_GATHER_OPENCL
#include "fit_gather.cu"
#endif
