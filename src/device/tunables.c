#include "device/tunables.h"

#include <string.h>

enum { BLOCK, CELLS };

/* Fewer cells have a thread each. */
static bool allows(const grove_args *args)
{
    return args->tuned[CELLS] == GROVE_LAUNCH_CELLS ||
           grove_args_cells(args) > (int64_t)GROVE_LAUNCH_FULL * args->tuned[BLOCK];
}

static const grove_tunables of_cells = {
    .tunable = {[BLOCK] = {"BLOCK", NULL, 6, {GROVE_LAUNCH_BLOCK, 32, 64, 256, 512, 1024}},
                [CELLS] = {"CELLS", NULL, 5, {GROVE_LAUNCH_CELLS, 1, 2, 8, 16}}},
    .allows = allows};

/* Of kernels written by hand, whose own numbers are 0. On OpenCL devices their threads do not work
 * together, and blocks may have any size. On CUDA devices: threads of a multiprocessor for which
 * registers must be enough, in place of the number in their launch bounds. */
static const grove_tunables of_others = {
    .tunable = {{"BLOCK", "opencl", 6, {0, 1, 8, 32, 64, 256}},
                {"RESIDENT", "cuda", 6, {0, 256, 512, 768, 1024, 1536}}},
    .tolerance = {1e-5, 1e-12}};

const grove_tunables *grove_tunables_of(const grove_device *device, const grove_kernel *kernel)
{
    if (kernel->tunables)
        return kernel->tunables;
    return device->shares_host_memory         ? NULL
           : kernel->threads || kernel->block ? &of_others
                                              : &of_cells;
}

bool grove_tunables_are_constants(const grove_tunables *tunables)
{
    return tunables && tunables != &of_cells;
}

int grove_tunables_count(const grove_tunables *tunables)
{
    int count = 0;

    while (count < GROVE_TUNABLES && tunables->tunable[count].name)
        count++;
    return count;
}

bool grove_tunables_has(const grove_tunables *tunables, int k, const grove_device *device)
{
    const char *kind = tunables->tunable[k].kind;

    if (kind && !strcmp(kind, "device"))
        return !device->shares_host_memory;
    return !kind ||
           (device->compiles && (!strcmp(kind, "compiled") || grove_device_is(device, kind)));
}

bool grove_tunables_has_any(const grove_tunables *tunables, const grove_device *device)
{
    for (int k = 0; k < grove_tunables_count(tunables); k++)
        if (grove_tunables_has(tunables, k, device))
            return true;
    return false;
}

void grove_tunables_default(const grove_tunables *tunables, grove_args *args)
{
    for (int k = 0; tunables && k < GROVE_TUNABLES; k++)
        args->tuned[k] = tunables->tunable[k].values[0];
}

int32_t grove_tunables_value(const grove_tunables *tunables, const grove_args *args,
                             const char *name, int32_t otherwise)
{
    const int count = tunables ? grove_tunables_count(tunables) : 0;

    for (int k = 0; k < count; k++)
        if (!strcmp(tunables->tunable[k].name, name))
            return args->tuned[k];
    return otherwise;
}
