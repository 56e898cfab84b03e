/* Products, transforms and Cholesky factors on the CUDA device and on the host against sums in long
 * double. */
#include "device/algebra.h"
#include "tests/common/cuda-testing.h"
#include "tests/common/suite.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t counter;
static grove_error *errors;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(5, counter++, 0, 0, 0)) - 0.5;
}

/* Loop index: bit 0: double; bit 1: the host. */
static grove_device *start(int index)
{
    counter = 0;
    errors = grove_error_new();
    if (index & 2)
        return grove_device_cpu(1);
    cuda_testing_libraries(true);
    cuda_testing_reset((uint64_t)index + 3);
    return cuda_testing_open(0);
}

static void end(int index, grove_device *device)
{
    if (index & 2)
        grove_device_free(device);
    else
        cuda_testing_close(device);
    grove_error_free(errors);
}

static bool is_opencl(void)
{
    return !strcmp(cuda_testing_kind(), "opencl");
}

/* Whether a library is not there, or has nothing for these sizes, which the message must say. */
static bool is_missing(int code)
{
    if (code != GROVE_MISSING) {
        ck_assert_msg(code == 0, "%s", grove_error_message(errors, 0));
        return false;
    }
    ck_assert_int_eq(grove_error_count(errors), 1);
    ck_assert(strstr(grove_error_message(errors, 0), "install") ||
              (is_opencl() && strstr(grove_error_message(errors, 0), "clFFT has no transform")));
    printf("left out: %s\n", grove_error_message(errors, 0));
    grove_error_clear(errors);
    return true;
}

static double *random_numbers(size_t numbers)
{
    double *x = malloc(numbers * sizeof(*x));

    for (size_t k = 0; k < numbers; k++)
        x[k] = draw();
    return suite_keep(x);
}

/* Numbers to the device in the precision asked for. */
static void *send(grove_device *device, const double *x, size_t numbers, bool double_)
{
    size_t bytes = numbers * (double_ ? 8 : 4);
    float *single = malloc(numbers * sizeof(*single));
    void *at = NULL;

    for (size_t k = 0; k < numbers; k++)
        single[k] = (float)x[k];
    ck_assert_int_eq(grove_device_allocate(device, bytes, &at, NULL), 0);
    ck_assert_int_eq(
        grove_device_upload(device, at, double_ ? (const void *)x : single, bytes, NULL), 0);
    free(single);
    return at;
}

static void give_back(grove_device *device, void *at, size_t numbers, bool double_)
{
    grove_device_release(device, at, numbers * (double_ ? 8 : 4));
}

static double *fetch(grove_device *device, void *at, size_t numbers, bool double_)
{
    double *x = malloc(numbers * sizeof(*x));
    float *single = malloc(numbers * sizeof(*single));

    ck_assert_int_eq(grove_device_download(device, double_ ? (void *)x : single, at,
                                           numbers * (double_ ? 8 : 4), NULL),
                     0);
    for (size_t k = 0; !double_ && k < numbers; k++)
        x[k] = single[k];
    free(single);
    return suite_keep(x);
}

static bool check_products(grove_device *device, const int size[4], bool shared, bool double_)
{
    size_t rows = (size_t)size[0], columns = (size_t)size[1], inner = (size_t)size[2];
    size_t count = (size_t)size[3];
    double *a = random_numbers(2 * rows * inner * count),
           *b = random_numbers(2 * columns * inner * count);
    size_t numbers = 2 * rows * columns * count;
    double *nothing = calloc(numbers, sizeof(double)), worst = 0;
    grove_product p = {send(device, a, 2 * rows * inner * count, double_),
                       send(device, b, 2 * columns * inner * count, double_),
                       send(device, nothing, numbers, double_),
                       size[0],
                       size[1],
                       size[2],
                       size[3],
                       shared ? 0 : size[0] * size[2],
                       size[1] * size[2],
                       size[0] * size[1]};

    bool missing = is_missing(device->algebra->product(device, &p, double_, errors));
    double *c = fetch(device, p.c, numbers, double_);
    for (size_t t = 0; !missing && t < count; t++)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++) {
                complex long double sum = 0;
                const double *x = a + 2 * ((shared ? 0 : t) * rows + i) * inner;
                const double *y = b + 2 * (t * columns + j) * inner;
                for (size_t k = 0; k < inner; k++)
                    sum += ((long double)x[2 * k] + I * (long double)x[2 * k + 1]) *
                           ((long double)y[2 * k] - I * (long double)y[2 * k + 1]);
                const double *z = c + 2 * ((t * rows + i) * columns + j);
                worst = fmax(worst, (double)cabsl(sum - z[0] - I * (long double)z[1]));
            }
    ck_assert_msg(worst < (double_ ? 1e-14 : 1e-6) * (double)(inner + 1), "%d %d %d: %g", size[0],
                  size[1], size[2], worst);
    give_back(device, (void *)(uintptr_t)p.a, 2 * rows * inner * count, double_);
    give_back(device, (void *)(uintptr_t)p.b, 2 * columns * inner * count, double_);
    give_back(device, p.c, numbers, double_);
    free(nothing);
    return !missing;
}

LOOP_TEST(test_products, 0, 4)
{
    static const int sizes[][4] = {
        {1, 1, 1, 1}, {16, 16, 16, 2}, {17, 5, 33, 3}, {40, 40, 7, 1}, {2, 31, 100, 4}};
    grove_device *device = start(_i);

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        if (!check_products(device, sizes[k], k == 4, _i & 1))
            break;
    grove_product bad = {.rows = 0, .columns = 2, .inner = 2, .count = 1};
    ck_assert_int_eq(device->algebra->product(device, &bad, true, NULL), GROVE_INVALID);
    end(_i, device);
}

/* Sum over all input numbers, one output number after the other. */
static bool check_transform(grove_device *device, const int size[4], int sign, bool double_)
{
    const long double turn = 6.283185307179586476925L;
    int rank = size[0], n0 = size[1], n1 = rank == 2 ? size[2] : 1, count = size[3];
    size_t each = (size_t)n0 * (size_t)n1, numbers = 2 * each * (size_t)count;
    double *x = random_numbers(numbers), worst = 0;
    grove_transform t = {send(device, x, numbers, double_), {n0, n1}, count, rank, sign};

    bool missing = is_missing(device->algebra->transform(device, &t, double_, errors));
    double *y = fetch(device, t.at, numbers, double_);
    for (int k = 0; !missing && k < count; k++)
        for (int u = 0; u < n0; u++)
            for (int v = 0; v < n1; v++) {
                complex long double sum = 0;
                for (int i = 0; i < n0; i++)
                    for (int j = 0; j < n1; j++) {
                        const double *z = x + 2 * ((size_t)k * each + (size_t)(i * n1 + j));
                        sum += ((long double)z[0] + I * (long double)z[1]) *
                               cexpl(I * sign * turn *
                                     ((long double)(u * i % n0) / n0 +
                                      (long double)(v * j % n1) / n1));
                    }
                const double *z = y + 2 * ((size_t)k * each + (size_t)(u * n1 + v));
                worst = fmax(worst, (double)cabsl(sum - z[0] - I * (long double)z[1]));
            }
    ck_assert_msg(worst < (double_ ? 1e-14 : 3e-6) * sqrt((double)each) * 8, "%d x %d: %g", n0, n1,
                  worst);
    give_back(device, t.at, numbers, double_);
    return !missing;
}

LOOP_TEST(test_transforms, 0, 4)
{
    static const int sizes[][4] = {{1, 1, 1, 2},   {1, 8, 1, 3}, {1, 60, 1, 2},  {1, 31, 1, 1},
                                   {1, 128, 1, 1}, {2, 4, 6, 2}, {2, 15, 16, 1}, {2, 7, 1, 1}};
    grove_device *device = start(_i);

    for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++)
        if (!check_transform(device, sizes[k], k % 2 ? 1 : -1, _i & 1) && !is_opencl())
            break;
    grove_transform bad = {NULL, {8, 8}, 1, 3, 1};
    ck_assert_int_eq(device->algebra->transform(device, &bad, true, NULL), GROVE_INVALID);
    end(_i, device);
}

/* m = a a^T + 1, and the right sides of known solutions. */
static bool check_cholesky(grove_device *device, int size, int count)
{
    size_t n = (size_t)size;
    double *a = random_numbers(n * n), *m = calloc(n * n, sizeof(double));
    double *x = random_numbers(n * (size_t)count),
           *right = calloc(n * (size_t)count, sizeof(double));
    int32_t info = 77;
    void *there = NULL;

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = i == j;
            for (size_t k = 0; k < n; k++)
                sum += (long double)a[i * n + k] * a[j * n + k];
            m[i * n + j] = (double)sum;
        }
    for (size_t c = 0; c < (size_t)count; c++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                right[c * n + i] += m[i * n + j] * x[c * n + j];
    ck_assert_int_eq(grove_device_allocate(device, 4, &there, NULL), 0);
    grove_cholesky c = {send(device, m, n * n, true), send(device, right, n * (size_t)count, true),
                        there, size, count};
    bool missing = is_missing(device->algebra->cholesky(device, &c, errors));
    double *y = fetch(device, c.right, n * (size_t)count, true);
    double *factor = fetch(device, c.matrix, n * n, true);
    ck_assert_int_eq(grove_device_download(device, &info, there, 4, NULL), 0);
    for (size_t k = 0; !missing && k < n * (size_t)count; k++)
        ck_assert_double_eq_tol(y[k], x[k], 1e-10);
    for (size_t i = 0; !missing && i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            long double sum = 0;
            for (size_t k = 0; k <= j; k++)
                sum += (long double)factor[i * n + k] * factor[j * n + k];
            ck_assert_double_eq_tol((double)sum, m[i * n + j], 1e-12);
        }
    ck_assert(missing || !info);
    give_back(device, c.matrix, n * n, true);
    give_back(device, c.right, n * (size_t)count, true);
    grove_device_release(device, there, 4);
    free(m);
    free(right);
    return !missing;
}

LOOP_TEST(test_cholesky, 0, 4)
{
    double bad[] = {4, 0, 0, 2, 1, 0, 0, 0, 1}; /* the second minor is 0 */
    double right[] = {1, 1, 1};
    grove_device *device = start(_i);
    int32_t info = 77;
    void *there = NULL;

    bool there_is = check_cholesky(device, 1, 1);
    if (there_is) {
        check_cholesky(device, 20, 3);
        check_cholesky(device, 45, 1);
    }
    ck_assert_int_eq(grove_device_allocate(device, 4, &there, NULL), 0);
    grove_cholesky c = {send(device, bad, 9, true), send(device, right, 3, true), there, 3, 1};
    if (!is_missing(device->algebra->cholesky(device, &c, errors))) {
        ck_assert_int_eq(grove_device_download(device, &info, there, 4, NULL), 0);
        ck_assert_int_eq(info, 2);
    }
    give_back(device, c.matrix, 9, true);
    give_back(device, c.right, 3, true);
    grove_device_release(device, there, 4);
    c.size = 0;
    ck_assert_int_eq(device->algebra->cholesky(device, &c, NULL), GROVE_INVALID);
    end(_i, device);
}

static int ask(grove_device *device, int which)
{
    const grove_algebra *algebra = device->algebra;
    grove_product p = {.rows = 1, .columns = 1, .inner = 1, .count = 1};
    grove_transform t = {.size = {4}, .count = 1, .rank = 1, .sign = 1};
    grove_cholesky c = {.size = 1};

    return which == 0   ? algebra->product(device, &p, true, errors)
           : which == 1 ? algebra->transform(device, &t, true, errors)
                        : algebra->cholesky(device, &c, errors);
}

/* The libraries of the emulated device. NVRTC is a real one, and may have been there, too, when the
 * device was opened. */
static void assert_described(grove_device *device, const char *wanted)
{
    char libraries[64], *real = NULL;

    device->algebra->describe(device, libraries, sizeof(libraries));
    if (!strcmp(libraries, "NVRTC"))
        strcpy(libraries, "none");
    else if ((real = strstr(libraries, ", NVRTC")))
        *real = 0;
    ck_assert_str_eq(libraries, wanted);
}

/* Without libraries each call says which one it lacks, and what to do. */
TEST(test_missing_libraries)
{
    static const char *const names[] = {"cuBLAS", "cuFFT", "cuSOLVER"};
    grove_device *device = start(0);

    if (is_opencl()) { /* they are there, or not, when Grove is built */
        end(0, device);
        return;
    }
    if (cuda_testing_control())
        assert_described(device, "cuBLAS, cuFFT, cuSOLVER");
    end(0, device);
    device = start(0);
    cuda_testing_libraries(false);
    for (int which = 0; which < 3; which++) {
        ck_assert_int_eq(ask(device, which), GROVE_MISSING);
        ck_assert_ptr_ne(strstr(grove_error_message(errors, 0), names[which]), NULL);
        ck_assert_ptr_ne(strstr(grove_error_message(errors, 0), "install"), NULL);
        grove_error_clear(errors);
    }
    assert_described(device, "none");
    end(0, device);
}

/* Libraries that are there and do not start, as with an older driver, count as missing. */
TEST(test_libraries_that_do_not_start)
{
    for (int which = 0; which < 3 && cuda_testing_control(); which += 2) {
        grove_device *device = start(0);
        cuda_testing_control()->fault = EMULATED_HANDLE;
        cuda_testing_control()->fault_at = cuda_testing_control()->calls[EMULATED_HANDLE] + 1;
        ck_assert_int_eq(ask(device, which), GROVE_MISSING);
        ck_assert_ptr_ne(strstr(grove_error_message(errors, 0), "does not start"), NULL);
        cuda_testing_control()->fault = EMULATED_NO_FAULT;
        assert_described(device, which ? "cuBLAS, cuFFT" : "cuFFT, cuSOLVER");
        end(0, device);
    }
}

CUDA_SUITE(120, NULL, NULL)
