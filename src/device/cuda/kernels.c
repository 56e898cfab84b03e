/* Kernels are loaded when first launched: from fatbins next to the plugins, or compiled from texts
 * there, where tunables have other values than in the fatbin or where there is no fatbin. */
#include "device/cuda/cuda.h"

#include "base/file.h"
#include "device/tunables.h"

#include <stdlib.h>
#include <string.h>

/* The stamp of a module just loaded. */
static int read_stamp(cuda_device *cuda, cuda_module module, grove_stamp *stamp, grove_error *error)
{
    const cuda_driver *driver = &cuda->driver;
    cuda_stream stream = cuda->down.stream;
    cuda_address at = 0;
    size_t bytes = 0;
    int result = driver->module_global(&at, &bytes, module, "grove_kernel_stamp");

    if (result == CUDA_NOT_FOUND || (!result && bytes != sizeof(*stamp)))
        return 0;
    if (!result)
        result = driver->copy_down(stamp, at, sizeof(*stamp), stream);
    if (!result)
        result = driver->stream_synchronize(stream);
    return cuda_check(cuda, result, "reading the stamp of a kernel's file", error);
}

/* GROVE_ABI when the file was compiled with the headers of another Grove. */
static int check_stamp(cuda_device *cuda, cuda_module module, const char *path, grove_error *error)
{
    const grove_stamp own = GROVE_STAMP;
    grove_stamp found = {0};
    int code = read_stamp(cuda, module, &found, error);

    if (code || !memcmp(&own, &found, sizeof(own)))
        return code;
    if (!found.args_bytes)
        return grove_fail(error, GROVE_ABI,
                          "%s: %s does not say with which headers it was built; build it again "
                          "with the headers of this Grove",
                          cuda->device.name, path);
    return grove_fail(
        error, GROVE_ABI,
        "%s: %s was built with headers of version %d.%d (arguments of %d bytes), this "
        "Grove has %d.%d (%d bytes); build it again",
        cuda->device.name, path, found.abi_major, found.abi_minor, found.args_bytes, own.abi_major,
        own.abi_minor, own.args_bytes);
}

static int load_module(grove_device *device, const char *path, const char *constants, void **loaded,
                       grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    cuda_module module = NULL;
    int code;

    if (!strcmp(strrchr(path, '.'), ".fatbin")) {
        code = cuda_check(cuda, cuda->driver.module_load(&module, path), path, error);
    } else {
        char *binary = cuda_compile(cuda, path, constants, error);
        code = binary
                   ? cuda_check(cuda, cuda->driver.module_load_data(&module, binary), path, error)
                   : GROVE_DEVICE;
        free(binary);
    }
    if (!code && (code = check_stamp(cuda, module, path, error)))
        cuda->driver.module_unload(module);
    *loaded = module;
    return code;
}

static int find_function(grove_device *device, void *module, const char *name, void **found,
                         grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    cuda_function function = NULL;
    int local = 0, result = cuda->driver.module_function(&function, module, name);

    if (!result)
        result = cuda->driver.function_attribute(&local, CUDA_LOCAL_BYTES, function);
    *found = function;
    return result ? grove_fail(error, GROVE_MISSING, "%s: kernel %s: %s", device->name, name,
                               cuda_driver_text(&cuda->driver, result))
                  : cuda_count_local(cuda, local, error);
}

/* Fatbins have the default values as constants; kernels may read others from their arguments. */
static const char *ending(grove_device *device, const grove_kernel *kernel,
                          const int32_t tuned[GROVE_TUNABLES], bool *constants)
{
    const grove_tunables *tunables = grove_tunables_of(device, kernel);
    bool usual = true;

    if (grove_tunables_are_constants(tunables))
        for (int k = 0; k < grove_tunables_count(tunables); k++)
            usual = usual && tuned[k] == tunables->tunable[k].values[0];
    char *fatbin = grove_code_file(kernel, "fatbin"), *text = grove_code_file(kernel, "cuda");
    const bool is_built = fatbin && grove_path_exists(fatbin);
    *constants = device->compiles && !(usual && is_built) && text && grove_path_exists(text);
    free(fatbin);
    free(text);
    return *constants ? "cuda" : "fatbin";
}

static const grove_code_loader loader = {ending, load_module, find_function};

int cuda_kernel_find(cuda_device *cuda, const grove_kernel *kernel,
                     const int32_t tuned[GROVE_TUNABLES], bool double_precision,
                     cuda_function *function, grove_error *error)
{
    void *found = NULL;
    int code = grove_code_find(&cuda->code, &loader, &cuda->device, kernel, tuned, double_precision,
                               &found, error);

    *function = found;
    return code;
}

void cuda_unload(cuda_device *cuda)
{
    for (size_t k = 0; k < cuda->code.module_count; k++)
        cuda->driver.module_unload(cuda->code.modules[k].module);
    grove_code_free(&cuda->code);
}
