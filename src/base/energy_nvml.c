/* GPUs' counters by NVML, whose binary interface is stable, so that no header of it is needed. A
 * GPU has one since Volta, of all its parts and memory, in millijoules since its driver was loaded.
 * Where it has none its power is not summed in place of it: readings are means over times that the
 * driver does not report, or of a part of the time (Yang, Adamek & Armour 2024, SC24, "Accurate and
 * convenient energy measurements for GPUs"). */
#include "base/energy_private.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_device *nvml_gpu;

typedef struct {
    int (*init)(void);
    int (*find)(const char *place, nvml_gpu *gpu);
    int (*energy)(nvml_gpu gpu, unsigned long long *millijoules);
    const char *(*text)(int code);
} functions;

enum { NOT_SUPPORTED = 3, NO_PERMISSION = 4 };

static bool take(void *library, void *to, const char *symbol)
{
    void *found = dlsym(library, symbol);

    memcpy(to, &found, sizeof(found));
    return found != NULL;
}

/* False with a line that says why. The library stays open. */
static bool open_library(functions *nvml, const char *path, grove_text *missing)
{
    const char *function = NULL;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library) {
        grove_text_add(missing,
                       "GPUs: %s; NVML comes with NVIDIA's driver, and into a container with the "
                       "driver's capability 'utility'\n",
                       dlerror());
        return false;
    }
    if (!take(library, &nvml->init, function = "nvmlInit_v2") ||
        !take(library, &nvml->find, function = "nvmlDeviceGetHandleByPciBusId_v2") ||
        !take(library, &nvml->energy, function = "nvmlDeviceGetTotalEnergyConsumption") ||
        !take(library, &nvml->text, function = "nvmlErrorString")) {
        grove_text_add(missing, "GPUs: %s has no %s; a driver of 2018 or newer has it\n", path,
                       function);
        return false;
    }
    int code = nvml->init();
    if (code)
        grove_text_add(missing, "GPUs: %s does not answer: %s\n", path, nvml->text(code));
    return !code;
}

static bool read_gpu(const grove_energy_counter *counter, uint64_t *value, char *message)
{
    const functions *nvml = counter->library;
    unsigned long long millijoules = 0;
    int code = nvml->energy(counter->handle, &millijoules);

    if (code)
        snprintf(message, GROVE_ENERGY_MESSAGE_BYTES, "%s: NVML cannot read its energy: %.200s%s",
                 counter->name, nvml->text(code),
                 code == NOT_SUPPORTED
                     ? "; GPUs since Volta have a counter, unless a virtual machine hides it"
                 : code == NO_PERMISSION ? "; the driver allows it to root alone"
                                         : "");
    else
        *value = (uint64_t)millijoules * 1000;
    return !code;
}

void grove_energy_find_nvml(struct grove_energy_list *list, const grove_energy_device *devices,
                            int count)
{
    const char *given = getenv("GROVE_NVML"), *driver = getenv("GROVE_CUDA_DRIVER");
    const char *path = given && *given ? given : "libnvidia-ml.so.1";

    if (driver && *driver && !(given && *given)) {
        grove_text_add(&list->missing,
                       "GPUs: NVML is not asked where GROVE_CUDA_DRIVER is set; GROVE_NVML names "
                       "its library\n");
        return;
    }
    functions *nvml = list->nvml = grove_alloc(sizeof(*nvml));
    if (!open_library(nvml, path, &list->missing))
        return;
    for (int k = 0; k < count; k++) {
        nvml_gpu gpu = NULL;
        int code = nvml->find(devices[k].place, &gpu);
        if (code)
            grove_text_add(&list->missing, "%s: NVML finds no GPU at %s: %s\n", devices[k].name,
                           devices[k].place, nvml->text(code));
        else
            grove_energy_add(list, (grove_energy_counter){.kind = GROVE_ENERGY_DEVICE,
                                                          .read = read_gpu,
                                                          .library = nvml,
                                                          .handle = gpu,
                                                          .name = grove_strdup(devices[k].name)});
    }
}
