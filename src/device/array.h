/* Kernels of the framework's own: on a cpu `cast` only; eval/ has the rest there. */
#ifndef GROVE_DEVICE_ARRAY_H
#define GROVE_DEVICE_ARRAY_H

#include "cell.h"

/* Copies, gathers, casts, single elements: see kernels/array.h. */
extern const grove_kernel grove_array_cast;

/* Reductions, as eval/sums.h defines them bit by bit: see kernels/cuda/fold.h. */
extern const grove_kernel grove_array_fold, grove_array_fold_finish;

#endif
