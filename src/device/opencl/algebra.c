/* Fourier transforms by clFFT and matrix products by CLBlast, where they are; the host computes the
 * rest. The libraries take buffers, which are made of the shared virtual memory. They are opened
 * when first needed: CLBlast takes 6 MB of each process that has it. */
#include "device/opencl/opencl.h"

#include "base/memory.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef GROVE_HAVE_CLFFT
#include <clFFT.h>
#endif
#ifdef GROVE_HAVE_CLBLAST
#include <clblast_c.h>
#endif

static int no_library(grove_device *device, const char *what, const char *remedy,
                      grove_error *error)
{
    return grove_fail(error, GROVE_MISSING, "%s: it has no library for %s%s", device->name, what,
                      remedy);
}

/* ---- the libraries, whose headers the build had ---- */

#define MEMBER(library, name) __typeof__(&name) name;
#define FIND(library, name)   &&(*(void **)(void *)&library.name = dlsym(handle, #name))
/* The table `library` of functions, and load_LIBRARY, which is false where it cannot be opened. */
#define LIBRARY(library, file, functions)                                                          \
    static struct {                                                                                \
        functions(MEMBER, library)                                                                 \
    } library;                                                                                     \
    static bool has_##library;                                                                     \
    static void open_##library(void)                                                               \
    {                                                                                              \
        void *handle = dlopen(file, RTLD_NOW);                                                     \
        has_##library = handle functions(FIND, library);                                           \
    }                                                                                              \
    static bool load_##library(void)                                                               \
    {                                                                                              \
        static pthread_once_t once = PTHREAD_ONCE_INIT;                                            \
        pthread_once(&once, open_##library);                                                       \
        return has_##library;                                                                      \
    }

#ifdef GROVE_HAVE_CLFFT
#define FFT_FUNCTIONS(f, of)                                                                       \
    f(of, clfftSetup) f(of, clfftTeardown) f(of, clfftCreateDefaultPlan)                           \
        f(of, clfftSetPlanPrecision) f(of, clfftSetLayout) f(of, clfftSetResultLocation)           \
            f(of, clfftSetPlanScale) f(of, clfftSetPlanBatchSize) f(of, clfftSetPlanDistance)      \
                f(of, clfftBakePlan) f(of, clfftDestroyPlan) f(of, clfftEnqueueTransform)
LIBRARY(fft, "libclFFT.so.2", FFT_FUNCTIONS)
#endif
#ifdef GROVE_HAVE_CLBLAST
#define BLAS_FUNCTIONS(f, of) f(of, CLBlastCgemmStridedBatched) f(of, CLBlastZgemmStridedBatched)
LIBRARY(blas, "libclblast.so.1", BLAS_FUNCTIONS)
#endif

#if defined(GROVE_HAVE_CLFFT) || defined(GROVE_HAVE_CLBLAST)
/* Of memory of the device; NULL after a message. */
static cl_mem wrap(opencl_device *opencl, const void *at, size_t bytes, grove_error *error)
{
    cl_int result = 0;
    cl_mem buffer = clCreateBuffer(opencl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, bytes,
                                   (void *)(uintptr_t)at, &result);

    return opencl_check(opencl, result, "naming memory for a library", error) ? NULL : buffer;
}
#endif

/* ---- Fourier transforms ---- */

#ifdef GROVE_HAVE_CLFFT
/* Compiling a plan takes long, so the last ones are kept. */
enum { PLANS = 16 };
struct opencl_plan {
    grove_transform of; /* `at` and `sign` do not matter */
    bool double_;
    clfftPlanHandle plan;
};

/* The library is opened once for all devices. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static int opened;

static int open_library(void)
{
    const clfftSetupData setup = {clfftVersionMajor, clfftVersionMinor, clfftVersionPatch, 0};
    int status = 0;

    pthread_mutex_lock(&opening);
    if (!opened)
        status = fft.clfftSetup(&setup);
    opened += !status;
    pthread_mutex_unlock(&opening);
    return status;
}

static void close_library(void)
{
    pthread_mutex_lock(&opening);
    if (!--opened)
        fft.clfftTeardown();
    pthread_mutex_unlock(&opening);
}

static bool is_same(const struct opencl_plan *p, const grove_transform *t, bool double_)
{
    return p->double_ == double_ && p->of.rank == t->rank && p->of.count == t->count &&
           p->of.size[0] == t->size[0] && (t->rank == 1 || p->of.size[1] == t->size[1]);
}

/* Sizes fastest first; not normalised in either direction. */
static int make_plan(opencl_device *opencl, const grove_transform *t, bool double_,
                     clfftPlanHandle *plan)
{
    const size_t one[] = {(size_t)t->size[0]}, two[] = {(size_t)t->size[1], (size_t)t->size[0]},
                 *const size = t->rank == 2 ? two : one,
                 each = one[0] * (t->rank == 2 ? two[0] : 1);
    int status =
        fft.clfftCreateDefaultPlan(plan, opencl->context, t->rank == 2 ? CLFFT_2D : CLFFT_1D, size);

    if (status)
        return status;
    if ((status = fft.clfftSetPlanPrecision(*plan, double_ ? CLFFT_DOUBLE : CLFFT_SINGLE)) ||
        (status =
             fft.clfftSetLayout(*plan, CLFFT_COMPLEX_INTERLEAVED, CLFFT_COMPLEX_INTERLEAVED)) ||
        (status = fft.clfftSetResultLocation(*plan, CLFFT_INPLACE)) ||
        (status = fft.clfftSetPlanScale(*plan, CLFFT_BACKWARD, 1)) ||
        (status = fft.clfftSetPlanBatchSize(*plan, (size_t)t->count)) ||
        (status = fft.clfftSetPlanDistance(*plan, each, each)) ||
        (status = fft.clfftBakePlan(*plan, 1, &opencl->queue, NULL, NULL)))
        fft.clfftDestroyPlan(plan);
    return status;
}

static void free_plan(struct opencl_plan *p)
{
    fft.clfftDestroyPlan(&p->plan);
    close_library();
}

/* With the lock `launching`. GROVE_MISSING for sizes that the library does not have. */
static int find_plan(opencl_device *opencl, const grove_transform *t, bool double_,
                     clfftPlanHandle *plan, grove_error *error)
{
    for (int k = 0; k < opencl->plan_count; k++)
        if (is_same(&opencl->plans[k], t, double_)) {
            *plan = opencl->plans[k].plan;
            return 0;
        }
    if (!opencl->plans)
        opencl->plans = grove_alloc(PLANS * sizeof(*opencl->plans));
    const double began = grove_now();
    int status = open_library();
    if (!status && (status = make_plan(opencl, t, double_, plan)))
        close_library();
    opencl->device.timing.load_seconds += grove_now() - began;
    if (status)
        return grove_fail(error, GROVE_MISSING,
                          "%s: clFFT has no transform of size %lld%s%lld (status %d)",
                          opencl->device.name, (long long)t->size[0], t->rank == 2 ? " x " : ", ",
                          (long long)(t->rank == 2 ? t->size[1] : t->count), status);
    if (opencl->plan_count == PLANS) {
        free_plan(&opencl->plans[0]);
        memmove(opencl->plans, opencl->plans + 1, (PLANS - 1) * sizeof(*opencl->plans));
        opencl->plan_count--;
    }
    opencl->plans[opencl->plan_count++] = (struct opencl_plan){*t, double_, *plan};
    return 0;
}

static int transform(grove_device *device, const grove_transform *t, bool double_,
                     grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    int code = grove_transform_check(device->name, t, error);

    if (code)
        return code;
    const size_t bytes = (size_t)t->size[0] * (size_t)(t->rank == 2 ? t->size[1] : 1) *
                         (size_t)t->count * (double_ ? 2 * sizeof(double) : 2 * sizeof(float));
    clfftPlanHandle plan;
    cl_event event = NULL;
    if (!load_fft())
        return no_library(device, "Fourier transforms", "; install clFFT", error);
    pthread_mutex_lock(&opencl->launching);
    code = find_plan(opencl, t, double_, &plan, error);
    cl_mem buffer = code ? NULL : wrap(opencl, t->at, bytes, error);
    if (!code && !buffer)
        code = GROVE_DEVICE;
    if (!code)
        code = opencl_check(
            opencl,
            fft.clfftEnqueueTransform(plan, t->sign < 0 ? CLFFT_FORWARD : CLFFT_BACKWARD, 1,
                                      &opencl->queue, 0, NULL, &event, &buffer, NULL, NULL),
            "clFFT", error);
    if (buffer)
        clReleaseMemObject(buffer);
    opencl_timed(opencl, event, GROVE_BUSY_KERNELS);
    pthread_mutex_unlock(&opencl->launching);
    return code;
}
#else
static int transform(grove_device *device, const grove_transform *t, bool double_,
                     grove_error *error)
{
    int code = grove_transform_check(device->name, t, error);

    (void)double_;
    return code ? code
                : no_library(device, "Fourier transforms", "; install clFFT and build Grove again",
                             error);
}
#endif

/* ---- matrix products ---- */

#ifdef GROVE_HAVE_CLBLAST
static size_t bytes_of(int64_t rows, int64_t columns, int64_t stride, int64_t count, bool double_)
{
    return (size_t)(rows * columns + (count - 1) * stride) *
           (double_ ? 2 * sizeof(double) : 2 * sizeof(float));
}

static int multiply(opencl_device *opencl, const grove_product *p, bool double_, cl_mem a, cl_mem b,
                    cl_mem c, cl_event *event)
{
    const size_t m = (size_t)p->rows, n = (size_t)p->columns, k = (size_t)p->inner,
                 by_a = (size_t)p->stride_a, by_b = (size_t)p->stride_b, by_c = (size_t)p->stride_c;
    const cl_double2 one = {{1, 0}}, zero = {{0, 0}};
    const cl_float2 one_single = {{1, 0}}, zero_single = {{0, 0}};

    return double_
               ? blas.CLBlastZgemmStridedBatched(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                                 CLBlastTransposeConjugate, m, n, k, one, a, 0, k,
                                                 by_a, b, 0, k, by_b, zero, c, 0, n, by_c,
                                                 (size_t)p->count, &opencl->queue, event)
               : blas.CLBlastCgemmStridedBatched(CLBlastLayoutRowMajor, CLBlastTransposeNo,
                                                 CLBlastTransposeConjugate, m, n, k, one_single, a,
                                                 0, k, by_a, b, 0, k, by_b, zero_single, c, 0, n,
                                                 by_c, (size_t)p->count, &opencl->queue, event);
}

static int product(grove_device *device, const grove_product *p, bool double_, grove_error *error)
{
    opencl_device *opencl = opencl_of(device);
    int code = grove_product_check(device->name, p, error), status = 0;
    cl_event event = NULL;

    if (code)
        return code;
    if (!load_blas())
        return no_library(device, "matrix products", "; install CLBlast", error);
    pthread_mutex_lock(&opencl->launching);
    cl_mem a = wrap(opencl, p->a, bytes_of(p->rows, p->inner, p->stride_a, p->count, double_),
                    error),
           b = wrap(opencl, p->b, bytes_of(p->columns, p->inner, p->stride_b, p->count, double_),
                    error),
           c = wrap(opencl, p->c, bytes_of(p->rows, p->columns, p->stride_c, p->count, double_),
                    error);
    if (a && b && c)
        status = multiply(opencl, p, double_, a, b, c, &event);
    if (!a || !b || !c)
        code = GROVE_DEVICE;
    else if (status)
        code = grove_fail(error, GROVE_DEVICE, "%s: CLBlast: status %d", device->name, status);
    const cl_mem wrapped[] = {a, b, c};
    for (int k = 0; k < 3; k++)
        if (wrapped[k])
            clReleaseMemObject(wrapped[k]);
    opencl_timed(opencl, event, GROVE_BUSY_KERNELS);
    pthread_mutex_unlock(&opencl->launching);
    return code;
}
#else
static int product(grove_device *device, const grove_product *p, bool double_, grove_error *error)
{
    int code = grove_product_check(device->name, p, error);

    (void)double_;
    return code ? code
                : no_library(device, "matrix products", "; install CLBlast and build Grove again",
                             error);
}
#endif

static int cholesky(grove_device *device, const grove_cholesky *c, grove_error *error)
{
    int code = grove_cholesky_check(device->name, c, error);

    return code ? code : no_library(device, "Cholesky factors", "; none can be installed", error);
}

static void describe(grove_device *device, char *text, size_t size)
{
    bool transforms = false, products = false;

    (void)device;
#ifdef GROVE_HAVE_CLFFT
    transforms = load_fft();
#endif
#ifdef GROVE_HAVE_CLBLAST
    products = load_blas();
#endif
    snprintf(text, size, "%s%s%s",
             transforms ? "clFFT"
             : products ? ""
                        : "none",
             transforms && products ? ", " : "", products ? "CLBlast" : "");
}

void opencl_algebra_close(opencl_device *opencl)
{
#ifdef GROVE_HAVE_CLFFT
    for (int k = 0; k < opencl->plan_count; k++)
        free_plan(&opencl->plans[k]);
#endif
    free(opencl->plans);
}

const grove_algebra opencl_algebra = {product, transform, cholesky, describe};
