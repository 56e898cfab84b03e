/* Opens devices by kind. */
#include "device/device.h"

#include "unstable/module.h"

#include <string.h>

static const grove_cuda *open_module(grove_error *error)
{
    const grove_cuda *cuda =
        grove_module_open("cuda", "grove_cuda_api",
                          "this build has no module for CUDA devices; build Grove without "
                          "--with-cuda=no",
                          error);

    if (cuda && cuda->version != GROVE_CUDA_VERSION) {
        grove_fail(error, GROVE_ABI,
                   "the CUDA module is of version %d; this Grove needs version %d", cuda->version,
                   GROVE_CUDA_VERSION);
        return NULL;
    }
    return cuda;
}

grove_device *grove_device_open(const char *kind, int index, uint64_t limit, grove_error *error)
{
    if (!strcmp(kind, "cpu")) {
        grove_device *device = grove_device_cpu(index);
        device->budget.limit = limit;
        return device;
    }
    if (!strcmp(kind, "cuda")) {
        const grove_cuda *cuda = open_module(error);
        return cuda ? cuda->open(index, limit, error) : NULL;
    }
    grove_fail(error, GROVE_MISSING, "there is no kind of device '%s'; it can be cpu or cuda",
               kind);
    return NULL;
}

int grove_device_count(const char *kind, grove_error *error)
{
    if (!strcmp(kind, "cpu"))
        return 1;
    if (!strcmp(kind, "cuda")) {
        const grove_cuda *cuda = open_module(error);
        return cuda ? cuda->count(error) : 0;
    }
    grove_fail(error, GROVE_MISSING, "there is no kind of device '%s'; it can be cpu or cuda",
               kind);
    return 0;
}

void grove_device_free(grove_device *device)
{
    if (device)
        device->operations->free(device);
}

void grove_timing_attribute(grove_device *device, grove_busy *to)
{
    if (device->timing.attribute)
        device->timing.attribute(device, to);
}

int grove_timing_collect(grove_device *device, grove_error *error)
{
    return device->timing.collect ? device->timing.collect(device, error) : 0;
}
