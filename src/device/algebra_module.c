/* The module algebra.so: linear algebra and Fourier transforms on the host by BLAS, LAPACK and
 * FFTW. */
#include "device/device.h"

#include <stdio.h>

#include <cblas.h>
#include <fftw3.h>

static void multiply(const grove_product *p, int64_t k, bool double_)
{
    const double one[2] = {1, 0}, zero[2] = {0, 0};
    const float one_single[2] = {1, 0}, zero_single[2] = {0, 0};
    size_t bytes = double_ ? 16 : 8;
    const char *a = (const char *)p->a + (size_t)(k * p->stride_a) * bytes;
    const char *b = (const char *)p->b + (size_t)(k * p->stride_b) * bytes;
    char *c = (char *)p->c + (size_t)(k * p->stride_c) * bytes;
    int rows = (int)p->rows, columns = (int)p->columns, inner = (int)p->inner;

    if (double_)
        cblas_zgemm(CblasRowMajor, CblasNoTrans, CblasConjTrans, rows, columns, inner, one, a,
                    inner, b, inner, zero, c, columns);
    else
        cblas_cgemm(CblasRowMajor, CblasNoTrans, CblasConjTrans, rows, columns, inner, one_single,
                    a, inner, b, inner, zero_single, c, columns);
}

static int product(grove_device *device, const grove_product *p, bool double_, grove_error *error)
{
    int code = grove_product_check(device->name, p, error);

    for (int64_t k = 0; !code && k < p->count; k++)
        multiply(p, k, double_);
    return code;
}

#define RUN(prefix)                                                                                \
    {                                                                                              \
        prefix##_complex *at = (prefix##_complex *)t->at;                                          \
        prefix##_make_planner_thread_safe();                                                       \
        prefix##_plan plan =                                                                       \
            prefix##_plan_many_dft(t->rank, size, (int)t->count, at, NULL, 1, each, at, NULL, 1,   \
                                   each, t->sign, FFTW_ESTIMATE);                                  \
        planned = plan != NULL;                                                                    \
        if (plan)                                                                                  \
            prefix##_execute(plan);                                                                \
        prefix##_destroy_plan(plan);                                                               \
    }

static int run_transform(const grove_device *device, const grove_transform *t, bool double_,
                         grove_error *error)
{
    int size[2] = {(int)t->size[0], t->rank == 2 ? (int)t->size[1] : 1}, each = size[0] * size[1];
    bool planned;

    if (double_)
        RUN(fftw)
    else
        RUN(fftwf)
    return planned
               ? 0
               : grove_fail(error, GROVE_NO_MEMORY, "%s: FFTW makes no plan for %d x %d numbers",
                            device->name, size[0], size[1]);
}

static int transform(grove_device *device, const grove_transform *t, bool double_,
                     grove_error *error)
{
    int code = grove_transform_check(device->name, t, error);

    return code ? code : run_transform(device, t, double_, error);
}

void dpotrf_(const char *triangle, const int *n, double *a, const int *lda, int *info);
void dpotrs_(const char *triangle, const int *n, const int *count, const double *a, const int *lda,
             double *b, const int *ldb, int *info);

static int cholesky(grove_device *device, const grove_cholesky *c, grove_error *error)
{
    int code = grove_cholesky_check(device->name, c, error);

    int n = (int)c->size, count = (int)c->count, info = 0;

    if (code)
        return code;
    /* LAPACK's upper triangle, by columns, is the lower one by rows. */
    dpotrf_("U", &n, c->matrix, &n, &info);
    *c->info = info;
    if (!info && c->right)
        dpotrs_("U", &n, &count, c->matrix, &n, c->right, &n, &info);
    return 0;
}

static void describe(grove_device *device, char *text, size_t size)
{
    (void)device;
    snprintf(text, size, "BLAS, FFTW, LAPACK");
}

extern const grove_algebra_module grove_algebra_api;
const grove_algebra_module grove_algebra_api = {GROVE_ALGEBRA_VERSION,
                                                {product, transform, cholesky, describe}};
