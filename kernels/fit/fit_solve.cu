#include "fit_solve_block.h"

extern "C" __global__ void __launch_bounds__(GROVE_SOLVE_LARGE)
    fit_solve_double(const __grid_constant__ grove_args args)
{
    __shared__ shared sh;

    solve_all(&args, &sh);
}
GROVE_CUDA_EXPORT(fit_solve_double)
