/* Tunables: numbers that change the speed of a kernel, and the values that it may have. */
#ifndef GROVE_DEVICE_TUNABLES_H
#define GROVE_DEVICE_TUNABLES_H

#include "device/device.h"

/* Threads of a block where nothing else is said. Where cells fill more than FULL blocks, a thread
 * takes several: a GPU has work several times over. */
enum { GROVE_LAUNCH_BLOCK = 128, GROVE_LAUNCH_CELLS = 4, GROVE_LAUNCH_FULL = 1 << 13 };

/* The tunables of a kernel on a device; NULL: it has none. */
const grove_tunables *grove_tunables_of(const grove_device *device, const grove_kernel *kernel);
/* Whether devices that compile kernels make constants of them; else a launch alone needs them. */
bool grove_tunables_are_constants(const grove_tunables *tunables);
/* The number of them, and whether a device has number k; others keep their first value. */
int grove_tunables_count(const grove_tunables *tunables);
bool grove_tunables_has(const grove_tunables *tunables, int k, const grove_device *device);
bool grove_tunables_has_any(const grove_tunables *tunables, const grove_device *device);
/* Sets args->tuned to the default configuration; tunables may be NULL. */
void grove_tunables_default(const grove_tunables *tunables, grove_args *args);
/* The value of the tunable of this name; `otherwise` where there is none. */
int32_t grove_tunables_value(const grove_tunables *tunables, const grove_args *args,
                             const char *name, int32_t otherwise);

#endif
