/* Launches. */
#include "device/cuda/cuda.h"

#include "device/tunables.h"

void cuda_drop_index_arrays(cuda_device *cuda)
{
    pthread_mutex_lock(&cuda->launching);
    grove_index_arrays_free(&cuda->device, &cuda->index_arrays);
    pthread_mutex_unlock(&cuda->launching);
}

/* Downloads of a block wait for its last launch. */
static int record_write(cuda_device *cuda, const void *at, grove_error *error)
{
    cuda_block *block = at ? cuda_find(cuda, at) : NULL;

    return block ? cuda_record(cuda, block, cuda->compute, error) : 0;
}

static int run(cuda_device *cuda, const grove_kernel *kernel, cuda_function function,
               grove_args *args, grove_error *error)
{
    unsigned each, blocks = grove_launch_blocks(&cuda->device, kernel, args, &each);
    void *arguments[] = {args};
    cuda_span span;

    if (!blocks)
        return 0;
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    int code = cuda_check(
        cuda,
        cuda->driver.launch(function, blocks, 1, 1, each, 1, 1, 0, cuda->compute, arguments, NULL),
        kernel->name, error);
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, GROVE_BUSY_KERNELS);
    if (!code)
        code = record_write(cuda, args->out.data, error);
    for (int k = 0; !code && k < args->inputs; k++)
        if (kernel->writes >> k & 1)
            code = record_write(cuda, args->in[k].data, error);
    cuda->device.launches++;
    return code;
}

int cuda_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                 grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    grove_args args = {0};
    cuda_function function = NULL;
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    grove_tunables_default(grove_tunables_of(device, kernel), &args);
    pthread_mutex_lock(&cuda->launching);
    code = cuda_kernel_find(cuda, kernel, args.tuned, double_precision, &function, error);
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}

int cuda_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                bool double_precision, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    grove_args own = *args;
    cuda_function function = NULL;
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    pthread_mutex_lock(&cuda->launching);
    code = cuda_kernel_find(cuda, kernel, args->tuned, double_precision, &function, error);
    if (!code)
        code = grove_launch_prepare(device, &cuda->index_arrays, kernel, &own, error);
    pthread_mutex_lock(&cuda->lock);
    if (!code)
        code = run(cuda, kernel, function, &own, error);
    pthread_mutex_unlock(&cuda->lock);
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}
