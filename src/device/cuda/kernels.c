/* Kernels are loaded from fatbins next to the plugins, when first launched. */
#include "device/cuda/cuda.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/code.h"

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

/* Takes ownership of `path`. */
static int load_file(cuda_device *cuda, const grove_kernel *kernel, char *path, cuda_module *module,
                     grove_error *error)
{
    for (size_t k = 0; k < cuda->file_count; k++)
        if (!strcmp(cuda->files[k].path, path)) {
            *module = cuda->files[k].module;
            free(path);
            return 0;
        }
    int code;
    if (!grove_path_exists(path))
        code = grove_fail(error, GROVE_MISSING, "%s: %s has no code for it: there is no %s",
                          cuda->device.name, kernel->name, path);
    else
        code = cuda_check(cuda, cuda->driver.module_load(module, path), path, error);
    if (!code && (code = check_stamp(cuda, *module, path, error)))
        cuda->driver.module_unload(*module);
    if (!code) {
        grove_grow((void **)&cuda->files, &cuda->file_capacity, cuda->file_count,
                   sizeof(cuda_file));
        cuda->files[cuda->file_count++] = (cuda_file){path, *module};
        return 0;
    }
    free(path);
    return code;
}

static int load(cuda_device *cuda, const grove_kernel *kernel, bool double_precision,
                cuda_function *function, grove_error *error)
{
    char *path = grove_code_file(kernel, "fatbin");
    cuda_module module = NULL;

    if (!path)
        return grove_fail(error, GROVE_MISSING, "%s: %s belongs to no plugin", cuda->device.name,
                          kernel->name);
    int code = load_file(cuda, kernel, path, &module, error);
    if (code)
        return code;
    char *name = grove_format("%s_%s", kernel->name, double_precision ? "double" : "single");
    int local = 0, result = cuda->driver.module_function(function, module, name);
    if (!result)
        result = cuda->driver.function_attribute(&local, CUDA_LOCAL_BYTES, *function);
    if (!result)
        code = cuda_count_local(cuda, local, error);
    if (result)
        code = grove_fail(error, GROVE_MISSING, "%s: kernel %s: %s", cuda->device.name, name,
                          cuda_driver_text(&cuda->driver, result));
    if (code)
        *function = NULL;
    free(name);
    return code;
}

int cuda_kernel_find(cuda_device *cuda, const grove_kernel *kernel, bool double_precision,
                     cuda_function *function, grove_error *error)
{
    cuda_loaded *entry = NULL;
    int code = 0;

    for (size_t k = 0; !entry && k < cuda->loaded_count; k++)
        if (cuda->loaded[k].kernel == kernel)
            entry = &cuda->loaded[k];
    if (!entry) {
        grove_grow((void **)&cuda->loaded, &cuda->loaded_capacity, cuda->loaded_count,
                   sizeof(*entry));
        entry = &cuda->loaded[cuda->loaded_count++];
        *entry = (cuda_loaded){.kernel = kernel};
    }
    if (entry->missing[double_precision]) /* reported before */
        return GROVE_MISSING;
    if (!entry->function[double_precision]) {
        double began = grove_now();
        code = load(cuda, kernel, double_precision, &entry->function[double_precision], error);
        cuda->device.timing.load_seconds += grove_now() - began;
    }
    entry->missing[double_precision] = code && code != GROVE_NO_MEMORY;
    *function = entry->function[double_precision];
    return code;
}

void cuda_unload(cuda_device *cuda)
{
    for (size_t k = 0; k < cuda->file_count; k++) {
        cuda->driver.module_unload(cuda->files[k].module);
        free(cuda->files[k].path);
    }
    free(cuda->files);
    free(cuda->loaded);
}
