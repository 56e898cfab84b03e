#include "device/array.h"

#include <stddef.h>

#include "../kernels/reduce/reduce.h"

#define GROVE_KERNEL_SOURCE "../kernels/array.h"
#include "kernel.h"

static int64_t fold_threads(const grove_args *args)
{
    return grove_fold_threads(args);
}

const grove_kernel grove_array_cast = GROVE_KERNEL(cast);
const grove_kernel grove_array_blank = GROVE_KERNEL(blank);
const grove_kernel grove_array_fold = {
    "fold", NULL, NULL, "reduce.cu", fold_threads, 0, 1 << GROVE_FOLD_COUNT};
const grove_kernel grove_array_fold_finish = {
    "fold_finish", NULL, NULL, "reduce.cu", NULL, 0, 1 << GROVE_FINISH_FLAGS};
