/* Kernels of the sums over sources; on OpenCL devices all are the same. */
#include "predict_opencl.h"

GROVE_OPENCL_KERNEL(predict_station, predict_rows)
GROVE_OPENCL_KERNEL(predict_station_vector, predict_rows)
