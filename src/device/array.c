#include "device/array.h"

#include <stddef.h>

#include "../kernels/reduce/reduce.h"

#define GROVE_KERNEL_SOURCE "../kernels/array.h"
#include "kernel.h"

static int64_t reduce_threads(const grove_args *args)
{
    return grove_reduce_numbers(args);
}

const grove_kernel grove_array_cast = GROVE_KERNEL(cast);
const grove_kernel grove_array_blank = GROVE_KERNEL(blank);
const grove_kernel grove_array_reduce = {"reduce",
                                         grove_reduce_cells,
                                         grove_reduce_cells,
                                         "reduce.cu",
                                         reduce_threads,
                                         0,
                                         1 << GROVE_REDUCE_COUNT | 1 << GROVE_REDUCE_NODES};
const grove_kernel grove_array_reduce_finish = {"reduce_finish",
                                                grove_reduce_finish_cells,
                                                grove_reduce_finish_cells,
                                                "reduce.cu",
                                                NULL,
                                                0,
                                                1 << GROVE_FINISH_FLAGS};
