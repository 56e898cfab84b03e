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

const grove_tunables *grove_tunables_of(const grove_device *device, const grove_kernel *kernel)
{
    if (kernel->tunables)
        return kernel->tunables;
    return kernel->threads || kernel->block || grove_device_is(device, "cpu") ? NULL : &of_cells;
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
    if (kind && !strcmp(kind, "compiled"))
        return device->compiles;
    return !kind || grove_device_is(device, kind);
}

void grove_tunables_default(const grove_tunables *tunables, grove_args *args)
{
    for (int k = 0; k < GROVE_TUNABLES; k++)
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
