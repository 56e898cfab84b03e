/* Kernels of the sums over sources; on OpenCL devices all are the same. */
#include "predict_opencl.h"

GROVE_OPENCL_KERNEL(predict_wide, predict_rows)
GROVE_OPENCL_KERNEL(predict_narrow, predict_rows)
GROVE_OPENCL_KERNEL(predict_channel, predict_rows)
