/* Linear algebra on devices: checks of sizes, and the host's implementation from a module. */
#include "device/algebra.h"

#include "unstable/module.h"

#include <limits.h>
#include <stdio.h>

static bool fits(int64_t n)
{
    return n >= 1 && n <= INT_MAX;
}

int grove_product_check(const char *device, const grove_product *operation, grove_error *error)
{
    if (fits(operation->rows) && fits(operation->columns) && fits(operation->inner) &&
        fits(operation->count) && operation->stride_a >= 0 && operation->stride_b >= 0 &&
        operation->stride_c >= 0)
        return 0;
    return grove_fail(error, GROVE_INVALID,
                      "%s: a product of matrices has sizes from 1 to %d, and strides that are not "
                      "negative",
                      device, INT_MAX);
}

int grove_transform_check(const char *device, const grove_transform *operation, grove_error *error)
{
    bool two = operation->rank == 2;

    if ((two || operation->rank == 1) && fits(operation->size[0]) &&
        (!two || fits(operation->size[1])) && fits(operation->count) &&
        (operation->sign == 1 || operation->sign == -1) &&
        (!two || operation->size[0] <= INT_MAX / operation->size[1]))
        return 0;
    return grove_fail(error, GROVE_INVALID,
                      "%s: a transform has one or two sizes, of at most %d numbers together, and "
                      "sign 1 or -1",
                      device, INT_MAX);
}

int grove_cholesky_check(const char *device, const grove_cholesky *operation, grove_error *error)
{
    if (fits(operation->size) &&
        (operation->right ? fits(operation->count) : operation->count == 0))
        return 0;
    return grove_fail(error, GROVE_INVALID,
                      "%s: a Cholesky factor has a size from 1 to %d, and right sides or none",
                      device, INT_MAX);
}

static const grove_algebra_module *open_module(grove_error *error)
{
    const grove_algebra_module *module =
        grove_module_open("algebra", "grove_algebra_api",
                          "this installation has no module for linear algebra on the cpu, "
                          "algebra.so; install Grove again",
                          error);

    if (module && module->version == GROVE_ALGEBRA_VERSION)
        return module;
    if (module)
        grove_fail(error, GROVE_ABI,
                   "the module for linear algebra is of version %d; this Grove needs version %d",
                   module->version, GROVE_ALGEBRA_VERSION);
    return NULL;
}

static int product(grove_device *device, const grove_product *operation, bool double_,
                   grove_error *error)
{
    const grove_algebra_module *module = open_module(error);

    return module ? module->algebra.product(device, operation, double_, error) : GROVE_MISSING;
}

static int transform(grove_device *device, const grove_transform *operation, bool double_,
                     grove_error *error)
{
    const grove_algebra_module *module = open_module(error);

    return module ? module->algebra.transform(device, operation, double_, error) : GROVE_MISSING;
}

static int cholesky(grove_device *device, const grove_cholesky *operation, grove_error *error)
{
    const grove_algebra_module *module = open_module(error);

    return module ? module->algebra.cholesky(device, operation, error) : GROVE_MISSING;
}

static void describe(grove_device *device, char *text, size_t size)
{
    const grove_algebra_module *module = open_module(NULL);

    snprintf(text, size, "none");
    if (module)
        module->algebra.describe(device, text, size);
}

const grove_algebra grove_algebra_host = {product, transform, cholesky, describe};
