/* Products, transforms and Cholesky factors: by NVIDIA's libraries where they are there, else by
 * kernels/algebra/algebra.cu. */
#include "device/cuda/cuda.h"

#include "../kernels/algebra/algebra.h"

#include <limits.h>
#include <string.h>

static int64_t product_threads(const grove_args *args)
{
    const grove_product_state *p = (const void *)args->state.bytes;

    return grove_product_tiles(p) * GROVE_PRODUCT_TILE * GROVE_PRODUCT_TILE;
}

static int64_t transform_threads(const grove_args *args)
{
    const grove_transform_state *p = (const void *)args->state.bytes;

    return p->outer * p->n * p->inner;
}

static int64_t cholesky_threads(const grove_args *args)
{
    (void)args;
    return GROVE_CHOLESKY_THREADS;
}

static const grove_kernel product_kernel = {
    "product", NULL, NULL, "algebra.cu", product_threads, GROVE_PRODUCT_TILE *GROVE_PRODUCT_TILE,
    0};
static const grove_kernel transform_kernel = {"transform",       NULL, NULL, "algebra.cu",
                                              transform_threads, 0,    0};
static const grove_kernel cholesky_kernel = {
    "cholesky", NULL, NULL, "algebra.cu", cholesky_threads, GROVE_CHOLESKY_THREADS, 0};

static int launch(grove_device *device, const grove_kernel *kernel, const void *state, size_t bytes,
                  void *out, bool double_, grove_error *error)
{
    grove_args args = {.out.data = out};

    memcpy(args.state.bytes, state, bytes);
    return cuda_launch(device, kernel, &args, double_, error);
}

/* A library's call stands between these: in the context, alone, what it writes to recorded. */
static int begin(cuda_device *cuda, grove_error *error)
{
    int code = cuda_enter(cuda, error);

    if (!code)
        pthread_mutex_lock(&cuda->launching);
    return code;
}

static int end(cuda_device *cuda, int status, const char *doing, void *const written[2],
               grove_error *error)
{
    const int no_memory = !strcmp(doing, "cuBLAS") ? 3 : 2; /* ..._STATUS_ALLOC_FAILED */
    int code = 0;

    if (status)
        code = grove_fail(error, status == no_memory ? GROVE_NO_MEMORY : GROVE_DEVICE,
                          "%s: %s: %s %d", cuda->device.name, doing,
                          status == no_memory ? "no memory, status" : "status", status);
    pthread_mutex_lock(&cuda->lock);
    for (int k = 0; k < 2; k++) {
        cuda_block *block = written[k] ? cuda_find(cuda, written[k]) : NULL;
        if (block) {
            int recorded = cuda_record(cuda, block, cuda->compute, code ? NULL : error);
            code = code ? code : recorded;
        }
    }
    cuda->device.launches++;
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

static bool small(int64_t n)
{
    return n >= 0 && n <= INT_MAX;
}

/* Handles are made when first needed. */
static bool starts(cuda_device *cuda, int which)
{
    cuda_libraries *l = &cuda->libraries;

    if (which == CUDA_BLAS && !l->blas) {
        if (l->blas_create(&l->blas) || l->blas_stream(l->blas, cuda->compute))
            l->blas = NULL;
        return l->blas;
    }
    if (which == CUDA_SOLVER && !l->solver) {
        if (l->solver_create(&l->solver) || l->solver_stream(l->solver, cuda->compute))
            l->solver = NULL;
        return l->solver;
    }
    return true;
}

/* Whether a library is there and works; one that does not start, as newer ones than the driver, is
 * as good as none. */
static bool have(cuda_device *cuda, int which)
{
    if (cuda_enter(cuda, NULL))
        return false;
    pthread_mutex_lock(&cuda->launching);
    bool found = cuda_libraries_have(&cuda->libraries, which);
    if (found && !starts(cuda, which))
        found = cuda->libraries.found[which] = false;
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return found;
}

static void tell(grove_device *device, char *text, size_t size)
{
    cuda_device *cuda = cuda_of(device);

    pthread_mutex_lock(&cuda->launching);
    cuda_libraries_tell(&cuda->libraries, text, size);
    pthread_mutex_unlock(&cuda->launching);
}

/* Stored by columns, our matrices are their transposes: c' = b'^H a'. */
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
        cuda_timing_end(cuda, cuda->compute, &span, CUDA_KERNELS);
    return status;
}

static int product(grove_device *device, const grove_product *p, bool double_, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = all_ready(device, p->a, p->b, p->c, error);

    if (code || p->rows <= 0 || p->columns <= 0 || p->count <= 0)
        return code;
    if (p->inner > 0 && small(p->rows) && small(p->columns) && small(p->inner) && small(p->count) &&
        have(cuda, CUDA_BLAS)) {
        void *const written[2] = {p->c};
        if ((code = begin(cuda, error)))
            return code;
        return end(cuda, blas_product(cuda, p, double_), "cuBLAS", written, error);
    }
    grove_product_state state = {p->a,     p->b,     p->c,        p->rows,     p->columns,
                                 p->inner, p->count, p->stride_a, p->stride_b, p->stride_c};
    return launch(device, &product_kernel, &state, sizeof(state), p->c, double_, error);
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
        cuda_timing_end(cuda, cuda->compute, &span, CUDA_KERNELS);
    /* Destroying a plan frees its workspace, which waits for what uses it. */
    int destroyed = l->fft_destroy(plan);
    return status ? status : destroyed;
}

static int64_t factor_of(int64_t n)
{
    if (n % 4 == 0)
        return 4;
    for (int64_t k = 2; k * k <= n; k++)
        if (n % k == 0)
            return k;
    return n;
}

static int count_factors(int64_t n)
{
    int count = 0;

    for (; n > 1; n /= factor_of(n))
        count++;
    return count;
}

/* Along one axis: all factors, from `*from` to `*to` and back. */
static int transform_axis(grove_device *device, grove_transform_state state, void **from, void **to,
                          bool double_, grove_error *error)
{
    int code = 0;

    state.before = 1;
    for (int64_t rest = state.n; !code && rest > 1; rest /= state.factor) {
        void *other = *to;
        state.factor = factor_of(rest);
        state.from = *from;
        state.to = *to;
        code = launch(device, &transform_kernel, &state, sizeof(state), *to, double_, error);
        *to = *from;
        *from = other;
        state.before *= state.factor;
    }
    return code;
}

static int own_transform(grove_device *device, const grove_transform *t, bool double_,
                         grove_error *error)
{
    int64_t n0 = t->size[0], n1 = t->rank == 2 ? t->size[1] : 1;
    size_t bytes = (size_t)(n0 * n1 * t->count) * (double_ ? 16 : 8);
    grove_transform_state along = {.outer = t->count, .n = n0, .inner = n1, .sign = t->sign};
    grove_transform_state across = {.outer = t->count * n0, .n = n1, .inner = 1, .sign = t->sign};
    void *work, *from = t->at;
    int code = cuda_allocate(device, bytes, false, &work, error);

    if (code)
        return code;
    void *to = work;
    if ((count_factors(n0) + count_factors(n1)) %
        2) { /* a copy first, that the last ends in place */
        grove_transform_state copy = {.from = from,
                                      .to = work,
                                      .outer = 1,
                                      .n = n0 * n1 * t->count,
                                      .inner = 1,
                                      .factor = 1,
                                      .before = 1,
                                      .sign = 1};
        code = launch(device, &transform_kernel, &copy, sizeof(copy), work, double_, error);
        from = work;
        to = t->at;
    }
    if (!code)
        code = transform_axis(device, across, &from, &to, double_, error);
    if (!code)
        code = transform_axis(device, along, &from, &to, double_, error);
    cuda_release(device, work, bytes);
    return code;
}

static int transform(grove_device *device, const grove_transform *t, bool double_,
                     grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = all_ready(device, t->at, NULL, NULL, error);
    int64_t n0 = t->size[0], n1 = t->rank == 2 ? t->size[1] : 1;

    if (code || t->count <= 0)
        return code;
    if ((t->rank != 1 && t->rank != 2) || n0 < 1 || n1 < 1 || (t->sign != 1 && t->sign != -1))
        return grove_fail(error, GROVE_INVALID,
                          "%s: a transform has one or two sizes, both positive, and sign 1 or -1",
                          device->name);
    if (n0 <= INT_MAX / n1 && small(t->count) && have(cuda, CUDA_FFT)) {
        void *const written[2] = {t->at};
        if ((code = begin(cuda, error)))
            return code;
        return end(cuda, fft(cuda, t, double_), "cuFFT", written, error);
    }
    return own_transform(device, t, double_, error);
}

/* Their upper triangle, by columns, is our lower one. */
static int solver_run(cuda_device *cuda, const grove_cholesky *c, double *work, int length)
{
    const cuda_libraries *l = &cuda->libraries;
    int n = (int)c->size;
    cuda_span span;
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    int status =
        l->solver_factor(l->solver, CUSOLVER_UPPER, n, c->matrix, n, work, length, c->info);

    /* Its own status must not hide that of the factor, and lies behind the workspace. */
    if (!status && c->count > 0)
        status = l->solver_solve(l->solver, CUSOLVER_UPPER, n, (int)c->count, c->matrix, n,
                                 c->right, n, (int *)(void *)(work + length));
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, CUDA_KERNELS);
    return status;
}

static int solver_length(cuda_device *cuda, const grove_cholesky *c, int *length)
{
    cuda_libraries *l = &cuda->libraries;
    int n = (int)c->size;

    return l->solver_size(l->solver, CUSOLVER_UPPER, n, c->matrix, n, length);
}

static int library_cholesky(cuda_device *cuda, const grove_cholesky *c, grove_error *error)
{
    void *const nothing[2] = {0}, *const written[2] = {c->matrix, c->right};
    grove_device *device = &cuda->device;
    void *work = NULL;
    int length = 0, code = begin(cuda, error);

    if (code)
        return code;
    if ((code = end(cuda, solver_length(cuda, c, &length), "cuSOLVER", nothing, error)))
        return code;
    size_t bytes = ((size_t)length + 1) * sizeof(double);
    if ((code = cuda_allocate(device, bytes, false, &work, error)))
        return code;
    if (!(code = begin(cuda, error)))
        code = end(cuda, solver_run(cuda, c, work, length), "cuSOLVER", written, error);
    if (!code && !(code = begin(cuda, error))) {
        void *const info[2] = {c->info};
        code = end(cuda, 0, "cuSOLVER", info, error);
    }
    cuda_release(device, work, bytes);
    return code;
}

static int cholesky(grove_device *device, const grove_cholesky *c, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    int code = all_ready(device, c->matrix, c->right, c->info, error);
    void *const info[2] = {c->info};

    if (code || c->size <= 0)
        return code;
    if (small(c->size) && small(c->count) && have(cuda, CUDA_SOLVER))
        return library_cholesky(cuda, c, error);
    grove_cholesky_state state = {c->matrix, c->right, c->info, c->size, c->right ? c->count : 0};
    code = launch(device, &cholesky_kernel, &state, sizeof(state), c->matrix, true, error);
    for (int k = 0; !code && k < 2; k++) {
        void *const written[2] = {k ? info[0] : c->right};
        if (!(code = begin(cuda, error)))
            code = end(cuda, 0, "cholesky", written, error);
    }
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

const grove_algebra cuda_algebra = {product, transform, cholesky, tell};
