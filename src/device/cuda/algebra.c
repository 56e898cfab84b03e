/* Matrix products, Fourier transforms and Cholesky factors by NVIDIA's libraries. */
#include "device/cuda/cuda.h"

#include <string.h>

/* Brackets around a library call: they enter the context, take the lock, and record writes to the
 * block. */
static int begin(cuda_device *cuda, grove_error *error)
{
    int code = cuda_enter(cuda, error);

    if (!code)
        pthread_mutex_lock(&cuda->launching);
    return code;
}

static int end(cuda_device *cuda, int status, const char *doing, void *const written[3],
               grove_error *error)
{
    const int no_memory = !strcmp(doing, "cuBLAS") ? 3 : 2; /* ..._STATUS_ALLOC_FAILED */
    int code = 0;

    if (status)
        code = grove_fail(error, status == no_memory ? GROVE_NO_MEMORY : GROVE_DEVICE,
                          "%s: %s: %s %d", cuda->device.name, doing,
                          status == no_memory ? "no memory, status" : "status", status);
    pthread_mutex_lock(&cuda->lock);
    for (int k = 0; k < 3; k++) {
        cuda_block *block = written[k] ? cuda_find(cuda, written[k]) : NULL;
        if (block) {
            int recorded = cuda_record(cuda, block, cuda->compute, code ? NULL : error);
            code = code ? code : recorded;
        }
    }
    cuda->device.launches += written[0] != NULL;
    pthread_mutex_unlock(&cuda->lock);
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}

static int all_ready(grove_device *device, const void *a, const void *b, const void *c,
                     grove_error *error)
{
    const void *all[] = {a, b, c};
    int code = 0;

    for (int k = 0; !code && k < 3; k++)
        if (all[k])
            code = cuda_ready(device, (void *)(uintptr_t)all[k], error);
    return code;
}

/* Handles are created when first needed; 0, or a library's status. */
static int make_handle(cuda_device *cuda, int which)
{
    cuda_libraries *l = &cuda->libraries;
    int status = 0;

    if (which == CUDA_BLAS && !l->blas) {
        if ((status = l->blas_create(&l->blas)) ||
            (status = l->blas_stream(l->blas, cuda->compute)))
            l->blas = NULL;
    } else if (which == CUDA_SOLVER && !l->solver) {
        if ((status = l->solver_create(&l->solver)) ||
            (status = l->solver_stream(l->solver, cuda->compute)))
            l->solver = NULL;
    }
    return status;
}

/* GROVE_MISSING when a library is missing, or does not start because it is newer than the driver.
 */
static int need(cuda_device *cuda, int which, grove_error *error)
{
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    pthread_mutex_lock(&cuda->launching);
    if (!cuda_libraries_have(&cuda->libraries, which))
        code = cuda_libraries_fail(which, cuda->device.name, error);
    int status = code ? 0 : make_handle(cuda, which);
    if (status) {
        cuda->libraries.found[which] = false;
        code = grove_fail(error, GROVE_MISSING,
                          "%s: %s does not start (status %d); it may be newer than the driver",
                          cuda->device.name, cuda_libraries_name(which), status);
    }
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}

static void describe(grove_device *device, char *text, size_t size)
{
    cuda_device *cuda = cuda_of(device);

    pthread_mutex_lock(&cuda->launching);
    cuda_libraries_describe(&cuda->libraries, text, size);
    pthread_mutex_unlock(&cuda->launching);
}

/* The libraries store by columns: there our matrices are transposed, and c' = b'^H a'. */
static int blas_product(cuda_device *cuda, const grove_product *p, bool double_)
{
    const cuda_libraries *l = &cuda->libraries;
    int m = (int)p->columns, n = (int)p->rows, k = (int)p->inner, count = (int)p->count;
    cuda_span span;
    int status;
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    if (double_) {
        const cuda_double one = {1, 0}, zero = {0, 0};
        status =
            l->blas_double(l->blas, CUBLAS_CONJUGATE, CUBLAS_AS_IT_IS, m, n, k, &one, p->b, k,
                           p->stride_b, p->a, k, p->stride_a, &zero, p->c, m, p->stride_c, count);
    } else {
        const cuda_single one = {1, 0}, zero = {0, 0};
        status =
            l->blas_single(l->blas, CUBLAS_CONJUGATE, CUBLAS_AS_IT_IS, m, n, k, &one, p->b, k,
                           p->stride_b, p->a, k, p->stride_a, &zero, p->c, m, p->stride_c, count);
    }
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, GROVE_BUSY_KERNELS);
    return status;
}

static int product(grove_device *device, const grove_product *p, bool double_, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    void *const written[3] = {p->c};
    int code = grove_product_check(device->name, p, error);

    if (!code)
        code = need(cuda, CUDA_BLAS, error);
    if (!code)
        code = all_ready(device, p->a, p->b, p->c, error);
    if (code || (code = begin(cuda, error)))
        return code;
    return end(cuda, blas_product(cuda, p, double_), "cuBLAS", written, error);
}

static int fft(cuda_device *cuda, const grove_transform *t, bool double_)
{
    const cuda_libraries *l = &cuda->libraries;
    int size[2] = {(int)t->size[0], (int)t->size[1]}, plan = 0;
    int each = size[0] * (t->rank == 2 ? size[1] : 1);
    cuda_span span;
    int status = l->fft_plan(&plan, t->rank, size, NULL, 1, each, NULL, 1, each,
                             double_ ? CUFFT_DOUBLE : CUFFT_SINGLE, (int)t->count);

    if (status)
        return status;
    status = l->fft_stream(plan, cuda->compute);
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    if (!status)
        status = (double_ ? l->fft_double : l->fft_single)(plan, t->at, t->at, t->sign);
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, GROVE_BUSY_KERNELS);
    /* Destroying a plan frees its workspace, and waits for its users. */
    int destroyed = l->fft_destroy(plan);
    return status ? status : destroyed;
}

static int transform(grove_device *device, const grove_transform *t, bool double_,
                     grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    void *const written[3] = {t->at};
    int code = grove_transform_check(device->name, t, error);

    if (!code)
        code = need(cuda, CUDA_FFT, error);
    if (!code)
        code = all_ready(device, t->at, NULL, NULL, error);
    if (code || (code = begin(cuda, error)))
        return code;
    return end(cuda, fft(cuda, t, double_), "cuFFT", written, error);
}

/* The upper triangle by columns is our lower one by rows. */
static int solver_run(cuda_device *cuda, const grove_cholesky *c, double *work, int length)
{
    const cuda_libraries *l = &cuda->libraries;
    int n = (int)c->size;
    cuda_span span;
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    int status =
        l->solver_factor(l->solver, CUSOLVER_UPPER, n, c->matrix, n, work, length, c->info);

    /* The solver's status must not overwrite the factor's: it is behind the workspace. */
    if (!status && c->count > 0)
        status = l->solver_solve(l->solver, CUSOLVER_UPPER, n, (int)c->count, c->matrix, n,
                                 c->right, n, (int *)(void *)(work + length));
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, GROVE_BUSY_KERNELS);
    return status;
}

static int solver_length(cuda_device *cuda, const grove_cholesky *c, int *length)
{
    cuda_libraries *l = &cuda->libraries;
    int n = (int)c->size;

    return l->solver_size(l->solver, CUSOLVER_UPPER, n, c->matrix, n, length);
}

static int cholesky(grove_device *device, const grove_cholesky *c, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    void *const nothing[3] = {0}, *const written[3] = {c->matrix, c->right, c->info};
    int length = 0, code = grove_cholesky_check(device->name, c, error);
    void *work = NULL;

    if (!code)
        code = need(cuda, CUDA_SOLVER, error);
    if (!code)
        code = all_ready(device, c->matrix, c->right, c->info, error);
    if (code || (code = begin(cuda, error)))
        return code;
    if ((code = end(cuda, solver_length(cuda, c, &length), "cuSOLVER", nothing, error)))
        return code;
    size_t bytes = ((size_t)length + 1) * sizeof(double);
    if ((code = cuda_allocate(device, bytes, false, &work, error)))
        return code;
    if (!(code = begin(cuda, error)))
        code = end(cuda, solver_run(cuda, c, work, length), "cuSOLVER", written, error);
    cuda_release(device, work, bytes);
    return code;
}

void cuda_algebra_close(cuda_device *cuda)
{
    cuda_libraries *l = &cuda->libraries;

    if (l->blas)
        l->blas_destroy(l->blas);
    if (l->solver)
        l->solver_destroy(l->solver);
}

const grove_algebra cuda_algebra = {product, transform, cholesky, describe};
