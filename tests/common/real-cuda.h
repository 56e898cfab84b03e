/* Tests on the machine's own GPU, by GROVE_TEST_CUDA=real. */
#ifndef GROVE_TESTS_REAL_CUDA_H
#define GROVE_TESTS_REAL_CUDA_H

#include "device/device.h"

#include <stdlib.h>
#include <string.h>

static inline bool real_cuda_wanted(void)
{
    const char *wanted = getenv("GROVE_TEST_CUDA");

    return wanted && !strcmp(wanted, "real");
}

/* Opens it until the program ends: devices that the tests open have its context, which takes longer
 * to create than most tests. */
static inline void real_cuda_keep(void)
{
    static grove_device *kept;

    if (!kept && real_cuda_wanted())
        kept = grove_device_open("cuda", 0, 0, NULL);
}

#endif
