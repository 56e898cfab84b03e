/* Launches take the configuration that was kept for their sizes, or for the nearest ones. */
#include "tests/common/testing.h"

#include "device/tuned.h"
#include "unstable/tuning.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static testing t;
static int32_t seen[GROVE_TUNABLES];

static void cells(const grove_args *args, int64_t first, int64_t last)
{
    (void)first;
    (void)last;
    memcpy(seen, args->tuned, sizeof(seen));
}

static bool allows(const grove_args *args)
{
    return args->tuned[1] < 8 || args->size[0] > 1000;
}

static const grove_tunables tunables = {
    .tunable = {{"A", NULL, 3, {1, 2, 3}}, {"B", NULL, 4, {5, 6, 7, 8}}}, .allows = allows};
static const grove_kernel kernel = {
    .name = "seen", .single_precision = cells, .double_precision = cells, .tunables = &tunables};

static void setup(void)
{
    testing_begin(&t);
    setenv("XDG_CACHE_HOME", t.folder, 1);
}

static void teardown(void)
{
    unsetenv("XDG_CACHE_HOME");
    testing_end(&t);
}

static void keep(const grove_device *device, const char *precision_and_code, const char *sizes,
                 double a, double b)
{
    char *machine = grove_tuned_machine(device), *path = NULL;
    char *what = suite_text("%s %s A B", precision_and_code, sizes);
    const double numbers[] = {a, b};
    const grove_tuning entry = {what, numbers, 2};

    ck_assert_int_eq(grove_tuning_store(machine, &entry, 1, &path, t.error), 0);
    free(machine);
    free(path);
}

static void launch(grove_device *device, int64_t rows, int64_t columns, int32_t a, int32_t b)
{
    const grove_args args = {.axes = 2, .size = {rows, columns}};

    ck_assert_int_eq(grove_device_launch(device, &kernel, &args, false, t.error), 0);
    ck_assert_msg(seen[0] == a && seen[1] == b, "%d x %d: %d, %d for %d, %d", (int)rows,
                  (int)columns, seen[0], seen[1], a, b);
}

TEST(without_any)
{
    grove_device *device = grove_device_cpu(1);

    launch(device, 10, 10, 1, 5);
    grove_device_free(device);
}

TEST(of_sizes)
{
    grove_device *device = grove_device_cpu(1), *other = grove_device_cpu(2);
    char *code = suite_keep(grove_tuned_kernel(device, &kernel, false));

    keep(device, code, "100x10", 2, 6);
    keep(device, code, "2000x10", 3, 8);
    keep(device, code, "100x10", 3, 6);  /* replaces */
    keep(device, code, "100", 2, 7);     /* of other axes */
    keep(device, code, "90x10", 2, 9);   /* a value that the kernel no longer has */
    keep(device, code, "80x", 2, 7);     /* no sizes */
    keep(device, code, "70x10 C", 2, 7); /* of other tunables */
    keep(device, "seen single 0123456789abcdef", "50x10", 2, 7); /* of other code */
    keep(other, code, "40x10", 2, 7);                            /* of another device */
    launch(device, 100, 10, 3, 6);
    launch(device, 50, 10, 3, 6);
    launch(device, 100, 20, 3, 6);
    launch(device, 1500, 10, 3, 8);
    launch(device, 900, 10, 3, 6); /* nearer to 2000, whose configuration is not allowed here */
    launch(other, 100, 10, 2, 7);
    grove_tuned_free(other);
    setenv("GROVE_TUNING", "off", 1);
    launch(other, 100, 10, 1, 5);
    unsetenv("GROVE_TUNING");
    grove_device_free(device);
    grove_device_free(other);
}

SUITE(60, setup, teardown)
