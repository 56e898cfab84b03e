/* Configurations of kernels: the fastest ones that `grove tune` has found, or the default ones. */
#ifndef GROVE_DEVICE_TUNED_H
#define GROVE_DEVICE_TUNED_H

#include "device/device.h"

/* Threads of a block where nothing else is said. Where cells fill more than FULL blocks, a thread
 * takes several: a GPU has work several times over. */
enum { GROVE_LAUNCH_BLOCK = 128, GROVE_LAUNCH_CELLS = 4, GROVE_LAUNCH_FULL = 1 << 13 };

/* Takes the place of a device's launch while kernels are tuned; `args` has a configuration. */
struct grove_tuner {
    int (*launch)(const grove_tuner *tuner, grove_device *device, const grove_kernel *kernel,
                  const grove_args *args, bool double_precision, grove_error *error);
};

/* The tunables of a kernel on a device; NULL: it has none. */
const grove_tunables *grove_tunables_of(const grove_device *device, const grove_kernel *kernel);
/* The number of them, and whether a device has number k; others keep their first value. */
int grove_tunables_count(const grove_tunables *tunables);
bool grove_tunables_has(const grove_tunables *tunables, int k, const grove_device *device);
/* Sets args->tuned to the default configuration. */
void grove_tuned_default(const grove_tunables *tunables, grove_args *args);
/* The value of the tunable of this name; `otherwise` where there is none. */
int32_t grove_tuned_value(const grove_tunables *tunables, const grove_args *args, const char *name,
                          int32_t otherwise);

/* "BLOCK=64 GROUP=8", of the tunables that the device has. Caller frees. */
char *grove_tuned_show(const grove_tunables *tunables, const grove_device *device,
                       const int32_t value[GROVE_TUNABLES]);
/* Kernels whose last launch took a configuration that was kept, a line each: with which values, and
 * for which sizes they were tuned; "" where there are none. Caller frees. */
char *grove_tuned_used(const grove_device *device);

/* Configurations that are kept for the device, of all kernels. */
int grove_tuned_count(grove_device *device);

/* The kind of a device, its model and its driver, as configurations are kept for them; a kernel,
 * its precision and a hash of its code: "predict_plain single 0123456789abcdef". Callers free. */
char *grove_tuned_machine(const grove_device *device);
char *grove_tuned_kernel(const grove_device *device, const grove_kernel *kernel,
                         bool double_precision);

/* Frees the configurations of the device. */
void grove_tuned_free(grove_device *device);

#endif
