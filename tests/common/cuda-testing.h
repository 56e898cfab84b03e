/* The emulated CUDA driver for tests. GROVE_TEST_CUDA chooses the kernels, by the folder below
 * tests/cuda: `kernels` are compiled as C++ (default), `ptx` are those of nvcc, `counted` also
 * count what they run (make cuda-counted); `real`, the machine's own driver; or `opencl`, the first
 * device of the OpenCL drivers in place of CUDA. */
#ifndef GROVE_TESTS_CUDA_TESTING_H
#define GROVE_TESTS_CUDA_TESTING_H

#include "device/device.h"
#include "emulation.h"
#include "suite.h"

/* Sets the environment so that devices are emulated; call before the tests run. False: the
 * machine's device is used, and tests must run in this process. Without one the program ends as
 * skipped. From here on a test fails when the cpu computes what a device should, unless the test
 * has set a fault or little memory. */
bool cuda_testing_begin(void);
/* The main function of a program that needs devices. */
#define CUDA_SUITE(timeout, setup, teardown)                                                       \
    int main(void)                                                                                 \
    {                                                                                              \
        cuda_testing_begin();                                                                      \
        return suite_run(__FILE__, timeout, setup, teardown);                                      \
    }

/* The kind of devices: "cuda", or "opencl". */
const char *cuda_testing_kind(void);
/* A name of "cuda..." with that kind in its place; valid until the next call. */
const char *cuda_testing_device(const char *name);
/* Controls of the emulation; NULL with a real driver. */
emulated_control *cuda_testing_control(void);
/* Whether devices opened from now on find a driver: false, then true again. */
void cuda_testing_driver(bool there);
/* Whether devices opened from now on find the (emulated) libraries. */
void cuda_testing_libraries(bool there);
/* Until the next reset the cpu may help. */
void cuda_testing_may_fall_back(void);
/* Resets faults and counts. */
void cuda_testing_reset(uint64_t seed);
/* So many bytes, with a real driver beside what kernels have of local memory at most. */
uint64_t cuda_testing_room(uint64_t bytes);
/* Never NULL: the test fails when the device does not open. */
grove_device *cuda_testing_open(uint64_t limit);
/* Closes it; the test fails if something was leaked in the driver. */
void cuda_testing_close(grove_device *device);

/* A kernel, and its arguments for out = a + b of `count` doubles. */
extern const grove_kernel cuda_testing_add;
grove_args cuda_testing_sum(void *out, void *a, void *b, int64_t count);

#endif
