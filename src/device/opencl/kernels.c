/* Kernels are compiled from .cl files next to the plugins, when first launched. */
#include "device/opencl/opencl.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/code.h"
#include "device/tuned.h"

#include <stdlib.h>
#include <string.h>

/* Arguments of kernels have pointers without address space. Devices without such pointers have one
 * memory, as CPUs do, and addresses are numbers there. */
static const char *const generic_pointers = "#define GROVE_GENERIC(type, at) (at)\n",
                         *const flat_pointers =
                             "#define GROVE_GENERIC(type, at) ((type *)(ulong)(at))\n";

enum { MAX_SOURCE = 64 << 20 };

/* GROVE_DEVICE with the first line of the compiler's messages. */
static int fail_build(opencl_device *opencl, cl_program program, const char *path,
                      grove_error *error)
{
    size_t size = 0;

    clGetProgramBuildInfo(program, opencl->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = grove_alloc(size + 1);
    clGetProgramBuildInfo(program, opencl->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    log[size] = 0;
    int code = grove_fail(error, GROVE_DEVICE, "%s: %s: the device's compiler fails: %.*s",
                          opencl->device.name, path, (int)strcspn(log, "\n"), log);
    free(log);
    return code;
}

/* GROVE_ABI when the file was made from the headers of another Grove. */
static int check_stamp(opencl_device *opencl, const char *source, const char *path,
                       grove_error *error)
{
    char *own = grove_format("GROVE_ABI_MAJOR = %d, GROVE_ABI_MINOR = %d", GROVE_ABI_MAJOR,
                             GROVE_ABI_MINOR);
    bool same = strstr(source, own) != NULL;

    free(own);
    return same ? 0
                : grove_fail(error, GROVE_ABI,
                             "%s: %s was made from headers of another version than %d.%d of this "
                             "Grove; build it again",
                             opencl->device.name, path, GROVE_ABI_MAJOR, GROVE_ABI_MINOR);
}

static int build(opencl_device *opencl, const char *path, const char *options, cl_program *program,
                 grove_error *error)
{
    cl_int result = 0;
    size_t length = 0;
    char *source = grove_file_read(path, MAX_SOURCE, true, &length, error);
    int code = source ? check_stamp(opencl, source, path, error) : GROVE_DEVICE;

    if (!code) {
        const char *parts[] = {opencl->generic ? generic_pointers : flat_pointers, source};
        *program = clCreateProgramWithSource(opencl->context, 2, parts, NULL, &result);
        code = opencl_check(opencl, result, path, error);
    }
    if (!code && clBuildProgram(*program, 1, &opencl->id, options, NULL, NULL)) {
        code = fail_build(opencl, *program, path, error);
        clReleaseProgram(*program);
    }
    free(source);
    return code;
}

/* Options of the compiler: tunables are constants. Caller frees. */
static char *options_for(const opencl_device *opencl, const grove_kernel *kernel,
                         const int32_t tuned[GROVE_TUNABLES])
{
    grove_text text = {0};

    grove_text_add(&text, "%s", opencl->options);
    for (int k = 0; kernel->tunables && k < grove_tunables_count(kernel->tunables); k++)
        if (grove_tunables_has(kernel->tunables, k, &opencl->device))
            grove_text_add(&text, " -D%s=%d", kernel->tunables->tunable[k].name, tuned[k]);
    return text.at;
}

/* Takes ownership of `path` and `options`. */
static int load_file(opencl_device *opencl, const grove_kernel *kernel, char *path, char *options,
                     cl_program *program, grove_error *error)
{
    int code;

    for (size_t k = 0; k < opencl->file_count; k++)
        if (!strcmp(opencl->files[k].path, path) && !strcmp(opencl->files[k].options, options)) {
            *program = opencl->files[k].program;
            free(path);
            free(options);
            return 0;
        }
    if (!grove_path_exists(path))
        code = grove_fail(error, GROVE_MISSING, "%s: %s has no code for it: there is no %s",
                          opencl->device.name, kernel->name, path);
    else
        code = build(opencl, path, options, program, error);
    if (code) {
        free(path);
        free(options);
        return code;
    }
    grove_grow((void **)&opencl->files, &opencl->file_capacity, opencl->file_count,
               sizeof(opencl_file));
    opencl->files[opencl->file_count++] = (opencl_file){path, options, *program};
    return 0;
}

static int load(opencl_device *opencl, const grove_kernel *kernel,
                const int32_t tuned[GROVE_TUNABLES], bool double_precision, cl_kernel *function,
                grove_error *error)
{
    char *path = grove_code_file(kernel, "cl");
    cl_program program = NULL;
    cl_int result = 0;

    if (!path)
        return grove_fail(error, GROVE_MISSING, "%s: %s belongs to no plugin", opencl->device.name,
                          kernel->name);
    int code = load_file(opencl, kernel, path, options_for(opencl, kernel, tuned), &program, error);
    if (code)
        return code;
    char *name = grove_format("%s_%s", kernel->name, double_precision ? "double" : "single");
    *function = clCreateKernel(program, name, &result);
    if (result)
        code = grove_fail(error, GROVE_MISSING, "%s: there is no kernel %s", opencl->device.name,
                          name);
    free(name);
    return code;
}

/* The kernel's function; builds its program if needed. With the lock `launching`. */
static int find(opencl_device *opencl, const grove_kernel *kernel,
                const int32_t tuned[GROVE_TUNABLES], bool double_precision, cl_kernel *function,
                grove_error *error)
{
    const size_t bytes = kernel->tunables ? GROVE_TUNABLES * sizeof(*tuned) : 0;
    opencl_loaded *entry = NULL;
    int code = 0;

    for (size_t k = 0; !entry && k < opencl->loaded_count; k++)
        if (opencl->loaded[k].kernel == kernel && !memcmp(opencl->loaded[k].tuned, tuned, bytes))
            entry = &opencl->loaded[k];
    if (!entry) {
        grove_grow((void **)&opencl->loaded, &opencl->loaded_capacity, opencl->loaded_count,
                   sizeof(*entry));
        entry = &opencl->loaded[opencl->loaded_count++];
        *entry = (opencl_loaded){.kernel = kernel};
        memcpy(entry->tuned, tuned, bytes);
    }
    if (entry->missing[double_precision]) /* reported before */
        return GROVE_MISSING;
    if (!entry->function[double_precision]) {
        double began = grove_now();
        code = load(opencl, kernel, tuned, double_precision, &entry->function[double_precision],
                    error);
        opencl->device.timing.load_seconds += grove_now() - began;
    }
    entry->missing[double_precision] = code != 0;
    *function = entry->function[double_precision];
    return code;
}

int opencl_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    grove_args args = {0};
    cl_kernel function;

    if (kernel->tunables)
        grove_tuned_default(kernel->tunables, &args);
    pthread_mutex_lock(&opencl->launching);
    int code = find(opencl, kernel, args.tuned, double_precision, &function, error);
    pthread_mutex_unlock(&opencl->launching);
    return code;
}

/* The driver must know the blocks that a kernel may use, which no argument names. */
static int name_blocks(opencl_device *opencl, cl_kernel function, grove_error *error)
{
    size_t count = 0;

    pthread_mutex_lock(&opencl->lock);
    const void **blocks = grove_alloc((opencl->pool.count + 1) * sizeof(*blocks));
    for (size_t k = 0; k < opencl->pool.count; k++)
        if (opencl->pool.blocks[k].busy)
            blocks[count++] = (const void *)opencl->pool.blocks[k].at;
    pthread_mutex_unlock(&opencl->lock);
    int code = opencl_check(opencl,
                            clSetKernelExecInfo(function, CL_KERNEL_EXEC_INFO_SVM_PTRS,
                                                count * sizeof(*blocks), blocks),
                            "naming memory of a kernel", error);
    free(blocks);
    return code;
}

/* The arguments are larger than some devices take, so a buffer holds them.
 */
static int run(opencl_device *opencl, const grove_kernel *kernel, cl_kernel function,
               grove_args *args, grove_error *error)
{
    unsigned each, blocks = grove_launch_blocks(&opencl->device, kernel, args, &each);
    const size_t global = (size_t)blocks * each, local = each;
    cl_event event = NULL;
    cl_int result = 0;

    if (!blocks)
        return 0;
    int code = name_blocks(opencl, function, error);
    if (code)
        return code;
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR,
                                   sizeof(*args), args, &result);
    if (!result)
        result = clSetKernelArg(function, 0, sizeof(cl_mem), &buffer);
    if (!result)
        result = clEnqueueNDRangeKernel(opencl->queue, function, 1, NULL, &global, &local, 0, NULL,
                                        &event);
    if (buffer)
        clReleaseMemObject(buffer);
    opencl_timed(opencl, event, GROVE_BUSY_KERNELS);
    opencl->device.launches++;
    return opencl_check(opencl, result, kernel->name, error);
}

int opencl_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                  bool double_precision, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    grove_args own = *args;
    cl_kernel function = NULL;

    pthread_mutex_lock(&opencl->launching);
    int code = find(opencl, kernel, args->tuned, double_precision, &function, error);
    if (!code)
        code = grove_launch_prepare(device, &opencl->index_arrays, kernel, &own, error);
    if (!code)
        code = run(opencl, kernel, function, &own, error);
    pthread_mutex_unlock(&opencl->launching);
    return code;
}

void opencl_drop_index_arrays(opencl_device *opencl)
{
    pthread_mutex_lock(&opencl->launching);
    grove_index_arrays_free(&opencl->device, &opencl->index_arrays);
    pthread_mutex_unlock(&opencl->launching);
}

void opencl_unload(opencl_device *opencl)
{
    for (size_t k = 0; k < opencl->loaded_count; k++)
        for (int p = 0; p < 2; p++)
            if (opencl->loaded[k].function[p])
                clReleaseKernel(opencl->loaded[k].function[p]);
    for (size_t k = 0; k < opencl->file_count; k++) {
        clReleaseProgram(opencl->files[k].program);
        free(opencl->files[k].path);
        free(opencl->files[k].options);
    }
    free(opencl->loaded);
    free(opencl->files);
}
