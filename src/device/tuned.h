/* Configurations of kernels: the fastest ones that `grove tune` has found, or the default ones. */
#ifndef GROVE_DEVICE_TUNED_H
#define GROVE_DEVICE_TUNED_H

#include "device/tunables.h"

/* Takes the place of a device's launch while kernels are tuned; `args` has a configuration. */
struct grove_tuner {
    int (*launch)(const grove_tuner *tuner, grove_device *device, const grove_kernel *kernel,
                  const grove_args *args, bool double_precision, grove_error *error);
};

/* "BLOCK=64 GROUP=8", of the tunables that the device has. Caller frees. */
char *grove_tuned_show(const grove_tunables *tunables, const grove_device *device,
                       const int32_t value[GROVE_TUNABLES]);
/* Kernels whose last launch took a configuration that was kept, a line each: with which values, and
 * for which sizes they were tuned; "" where there are none. Caller frees. */
char *grove_tuned_used(const grove_device *device);

/* The configurations that are kept for the device, a line each as above. Caller frees. */
char *grove_tuned_kept(grove_device *device);
/* "BLOCK GROUP": names in the order of values. Caller frees. */
char *grove_tuned_names(const grove_tunables *tunables);

/* The kind of a device, its model and its driver, as configurations are kept for them; a kernel,
 * its precision and a hash of its code: "predict_plain single 0123456789abcdef". Callers free. */
char *grove_tuned_machine(const grove_device *device);
char *grove_tuned_kernel(const grove_device *device, const grove_kernel *kernel,
                         bool double_precision);

/* Frees the configurations of the device. */
void grove_tuned_free(grove_device *device);

#endif
