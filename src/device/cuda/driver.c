#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static int find_functions(cuda_driver *driver, const char *path, grove_error *error)
{
    static const char *const symbols[] = {
#define SYMBOL(name, symbol, arguments) symbol,
        CUDA_DRIVER_FUNCTIONS(SYMBOL)
#undef SYMBOL
    };
    void *found[sizeof(symbols) / sizeof(*symbols)];
    size_t k = 0;

    for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
        if (!(found[i] = dlsym(driver->library, symbols[i])))
            return grove_fail(error, GROVE_MISSING,
                              "cuda: %s has no %s; a driver for CUDA 11 or newer is needed", path,
                              symbols[i]);
#define TAKE(name, symbol, arguments) memcpy(&driver->name, &found[k++], sizeof(void *));
    CUDA_DRIVER_FUNCTIONS(TAKE)
#undef TAKE
    return 0;
}

/* GROVE_DEVICE when the driver is too old for the kernels. Machine code of one major version of
 * CUDA runs with all drivers for that version and newer ones. Source: NVIDIA, CUDA Compatibility,
 * "Minor version compatibility". */
static int check_version(const cuda_driver *driver, grove_error *error)
{
    static const char *const oldest[] = {
        [11] = " (450)", [12] = " (525)", [13] = " (580)", [14] = ""};
    enum { MAJOR = GROVE_CUDA_RELEASE / 1000, MINOR = GROVE_CUDA_RELEASE % 1000 / 10 };
    int supported = 0;

    if (driver->version(&supported) || supported / 1000 >= MAJOR)
        return 0;
    return grove_fail(error, GROVE_DEVICE,
                      "cuda: the driver supports CUDA %d.%d, but the kernels were built with CUDA "
                      "%d.%d and need a driver for CUDA %d.0%s or newer; install one, or build "
                      "Grove with an older nvcc (configure NVCC=PATH)",
                      supported / 1000, supported % 1000 / 10, MAJOR, MINOR, MAJOR,
                      oldest[MAJOR < 14 ? MAJOR : 14]);
}

int cuda_driver_open(cuda_driver *driver, grove_error *error)
{
    const char *given = getenv("GROVE_CUDA_DRIVER");
    const char *path = given && *given ? given : "libcuda.so.1";
    int count = 0, result;

    /* Opened again for each device, which only raises its count, and never closed. */
    driver->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!driver->library)
        return grove_fail(error, GROVE_MISSING, "cuda: there is no NVIDIA driver: %s", dlerror());
    if (find_functions(driver, path, error))
        return GROVE_MISSING;
    if (check_version(driver, error))
        return GROVE_DEVICE;
    if ((result = driver->init(0)) || (result = driver->device_count(&count)))
        return grove_fail(error, GROVE_MISSING, "cuda: the driver does not answer: %s",
                          cuda_driver_text(driver, result));
    if (count <= 0)
        return grove_fail(error, GROVE_MISSING, "cuda: the driver sees no device");
    return 0;
}

const char *cuda_driver_text(const cuda_driver *driver, int result)
{
    const char *text = NULL;

    if (driver->error_string(result, &text) || !text)
        return "unknown error";
    return text;
}
