/* Kernels of the framework itself: copies, flags, reductions. */
#ifndef GROVE_DEVICE_ARRAY_H
#define GROVE_DEVICE_ARRAY_H

#include "cell.h"

/* Copies, gathers, casts, single elements: see kernels/core/array.h. */
extern const grove_kernel grove_array_cast;
/* Flags of a value from flags of other values, by a grove_flag_marks. */
extern const grove_kernel grove_array_flag_rule;
/* Zeroes the cells whose flags, the input, have all bits of the state (uint32_t) set. */
extern const grove_kernel grove_array_blank;

/* Reductions: see kernels/core/reduce.h. */
extern const grove_kernel grove_array_reduce, grove_array_reduce_finish;

#endif
