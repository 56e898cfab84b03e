/* The emulated CUDA driver for tests, with kernels compiled as C++; with GROVE_TEST_CUDA=ptx with
 * those that nvcc made, or =counted with those that also count what they run (make cuda-counted);
 * with GROVE_TEST_CUDA=real the machine's own driver. */
#ifndef GROVE_TESTS_CUDA_TESTING_H
#define GROVE_TESTS_CUDA_TESTING_H

#include "cuda/emulation.h"
#include "device/device.h"

/* Sets the environment so that devices are emulated; call before the tests run. False: the
 * machine's device is used, and tests must run in this process. Without one the program ends as
 * skipped. */
bool cuda_testing_begin(void);
/* Controls of the emulation; NULL with a real driver. */
emulated_control *cuda_testing_control(void);
/* Whether devices opened from now on find a driver: false, then true again. */
void cuda_testing_driver(bool there);
/* Whether devices opened from now on find the (emulated) libraries. */
void cuda_testing_libraries(bool there);
/* Resets faults and counts. */
void cuda_testing_reset(uint64_t seed);
/* Never NULL: the test fails when the device does not open. */
grove_device *cuda_testing_open(uint64_t limit);
/* Closes it; the test fails if something was leaked in the driver. */
void cuda_testing_close(grove_device *device);

/* A kernel, and its arguments for out = a + b of `count` doubles. */
extern const grove_kernel cuda_testing_add;
grove_args cuda_testing_sum(void *out, void *a, void *b, int64_t count);

#endif
