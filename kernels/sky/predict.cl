/* Kernels of the sums over sources; on OpenCL devices all are the same. */
#include "predict_opencl.h"

GROVE_OPENCL_KERNEL(predict_irregular, predict_rows)
GROVE_OPENCL_KERNEL(predict_jones, predict_rows)
GROVE_OPENCL_KERNEL(predict_plain, predict_rows)
