#ifndef GROVE_FIT_SOLVE_OPENCL
#define GROVE_FIT_SOLVE_OPENCL
#include "fit_solve_block.h"

__kernel void fit_solve_double(__global const grove_args *given)
{
    shared own;

    solve_all(GROVE_GENERIC(const grove_args, given), &own);
}
#endif
