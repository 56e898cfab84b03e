/* Opens devices by kind. */
#include "device/tuned.h"

#include "base/text.h"
#include "unstable/module.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

const char *const grove_device_kinds[] = {"cuda", "opencl", NULL};

/* NULL with the reason. */
static const grove_device_kind *open_kind(const char *name, grove_error *error)
{
    static const char *const symbols[] = {"grove_cuda_api", "grove_opencl_api"};
    int k = 0;

    while (grove_device_kinds[k] && strcmp(name, grove_device_kinds[k]) != 0)
        k++;
    if (!grove_device_kinds[k]) {
        grove_fail(error, GROVE_MISSING,
                   "there is no kind of device '%s'; it can be cpu, cuda or opencl", name);
        return NULL;
    }
    /* Without the loader of OpenCL drivers, which the module links, there is none. */
    if (!strcmp(name, "opencl") && !dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_LOCAL)) {
        grove_fail(error, GROVE_MISSING, "opencl: there is no OpenCL driver: %s", dlerror());
        return NULL;
    }
    char *missing = grove_format("this build has no module for %s devices; build Grove without "
                                 "--with-%s=no",
                                 k ? "OpenCL" : "CUDA", name);
    const grove_device_kind *kind = grove_module_open(name, symbols[k], missing, error);
    free(missing);
    if (kind && kind->version != GROVE_DEVICE_KIND_VERSION) {
        grove_fail(error, GROVE_ABI,
                   "the module %s.so is of version %d; this Grove needs version %d", name,
                   kind->version, GROVE_DEVICE_KIND_VERSION);
        return NULL;
    }
    return kind;
}

grove_device *grove_device_open(const char *kind, int index, uint64_t limit, grove_error *error)
{
    if (!strcmp(kind, "cpu")) {
        grove_device *device = grove_device_cpu(index);
        device->budget.limit = limit;
        return device;
    }
    const grove_device_kind *opened = open_kind(kind, error);
    return opened ? opened->open(index, limit, error) : NULL;
}

int grove_device_count(const char *kind, grove_error *error)
{
    if (!strcmp(kind, "cpu"))
        return 1;
    const grove_device_kind *opened = open_kind(kind, error);
    return opened ? opened->count(error) : 0;
}

int grove_device_first_gpu(const char *kind, grove_error *error)
{
    const grove_device_kind *opened = open_kind(kind, error);

    return opened ? opened->first_gpu(error) : -1;
}

void grove_device_free(grove_device *device)
{
    if (!device)
        return;
    grove_tuned_free(device);
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

bool grove_device_is(const grove_device *device, const char *kind)
{
    const size_t length = strlen(kind);

    return !strncmp(device->name, kind, length) &&
           (device->name[length] == ':' || !device->name[length]);
}
