/* Kernels are compiled from .cl files next to the plugins, when first launched. */
#include "device/opencl/opencl.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/code.h"
#include "device/tunables.h"

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

static int build(grove_device *device, const char *path, const char *constants, void **module,
                 grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    cl_program program = NULL;
    cl_int result = 0;
    size_t length = 0;
    char *source = grove_file_read(path, MAX_SOURCE, true, &length, error);
    int code = source ? grove_code_check_text(device, path, source, error) : GROVE_DEVICE;

    if (!code) {
        const char *parts[] = {opencl->generic ? generic_pointers : flat_pointers, constants,
                               source};
        program = clCreateProgramWithSource(opencl->context, 3, parts, NULL, &result);
        code = opencl_check(opencl, result, path, error);
    }
    if (!code && clBuildProgram(program, 1, &opencl->id, opencl->options, NULL, NULL)) {
        code = fail_build(opencl, program, path, error);
        clReleaseProgram(program);
    }
    free(source);
    *module = program;
    return code;
}

static int find_function(grove_device *device, void *module, const char *name, void **function,
                         grove_error *error)
{
    cl_int result = 0;

    *function = clCreateKernel(module, name, &result);
    return result
               ? grove_fail(error, GROVE_MISSING, "%s: there is no kernel %s", device->name, name)
               : 0;
}

static const char *ending(grove_device *device, const grove_kernel *kernel,
                          const int32_t tuned[GROVE_TUNABLES], bool *constants)
{
    (void)device, (void)kernel, (void)tuned;
    *constants = true;
    return "cl";
}

static const grove_code_loader loader = {ending, build, find_function};

/* The kernel's function; builds its program if needed. With the lock `launching`. */
static int find(opencl_device *opencl, const grove_kernel *kernel,
                const int32_t tuned[GROVE_TUNABLES], bool double_precision, cl_kernel *function,
                grove_error *error)
{
    void *found = NULL;
    int code = grove_code_find(&opencl->code, &loader, &opencl->device, kernel, tuned,
                               double_precision, &found, error);

    *function = found;
    return code;
}

int opencl_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                   grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    grove_args args = {0};
    cl_kernel function;

    grove_tunables_default(grove_tunables_of(device, kernel), &args);
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
    const grove_code *code = &opencl->code;

    for (size_t k = 0; k < code->function_count; k++)
        for (int p = 0; p < 2; p++)
            if (code->functions[k].function[p])
                clReleaseKernel(code->functions[k].function[p]);
    for (size_t k = 0; k < code->module_count; k++)
        clReleaseProgram(code->modules[k].module);
    grove_code_free(&opencl->code);
}
