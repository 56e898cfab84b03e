#include "device/launch.h"

#include "base/memory.h"
#include "device/tunables.h"

#include <stdlib.h>
#include <string.h>

/* ---- index arrays ---- */

/* Contents are compared, since an address may have been reused for other numbers. */
static grove_index_array *find_array(grove_index_arrays *arrays, const int32_t *index,
                                     int64_t count)
{
    for (int k = 0; k < arrays->count; k++)
        if (arrays->array[k].count == count &&
            !memcmp(arrays->array[k].copy, index, (size_t)count * sizeof(*index)))
            return &arrays->array[k];
    return NULL;
}

/* Replaces the least recently used array. */
static grove_index_array *free_array(grove_device *device, grove_index_arrays *arrays)
{
    grove_index_array *oldest = &arrays->array[0];

    if (arrays->count < GROVE_INDEX_ARRAYS)
        return &arrays->array[arrays->count++];
    for (int k = 1; k < GROVE_INDEX_ARRAYS; k++)
        if (arrays->array[k].last_used < oldest->last_used)
            oldest = &arrays->array[k];
    grove_device_release(device, oldest->at, (size_t)oldest->count * sizeof(int32_t));
    free(oldest->copy);
    return oldest;
}

void grove_index_arrays_free(grove_device *device, grove_index_arrays *arrays)
{
    for (int k = 0; k < arrays->count; k++) {
        grove_device_release(device, arrays->array[k].at,
                             (size_t)arrays->array[k].count * sizeof(int32_t));
        free(arrays->array[k].copy);
    }
    arrays->count = 0;
}

static int send_array(grove_device *device, grove_index_arrays *arrays, const int32_t **index,
                      int64_t count, grove_error *error)
{
    size_t bytes = (size_t)count * sizeof(int32_t);
    grove_index_array *entry = find_array(arrays, *index, count);
    void *at;
    int code = 0;

    if (!entry) {
        if ((code = grove_device_allocate(device, bytes, &at, error)))
            return code;
        if ((code = grove_device_upload(device, at, *index, bytes, error)) ||
            (code = grove_device_ready(device, at, error))) {
            grove_device_release(device, at, bytes);
            return code;
        }
        entry = free_array(device, arrays);
        *entry = (grove_index_array){grove_copy(*index, bytes), count, at, 0};
    }
    entry->last_used = ++arrays->clock;
    *index = entry->at;
    return 0;
}

static int send_arrays(grove_device *device, grove_index_arrays *arrays, grove_args *args,
                       grove_error *error)
{
    int code = 0;

    for (int k = 0; !code && k < args->inputs; k++)
        if (args->in[k].data && args->in[k].gather)
            code = send_array(device, arrays, &args->in[k].gather,
                              args->size[args->in[k].gather_axis], error);
        else
            args->in[k].gather = NULL;
    return code;
}

/* ---- the walk ---- */

static bool gathers(const grove_args *args, int axis)
{
    for (int k = 0; k < args->inputs; k++)
        if (args->in[k].gather && args->in[k].gather_axis == axis)
            return true;
    return false;
}

/* Whether cells along `axis` follow the run's cells in every view. */
static bool continues(const grove_args *args, const grove_cell_run *run, int axis)
{
    if (run->gathers || gathers(args, axis) ||
        args->out.stride[axis] != args->out.stride[run->axis] * run->by.size)
        return false;
    for (int k = 0; k < args->inputs; k++)
        if (args->in[k].stride[axis] != args->in[k].stride[run->axis] * run->by.size)
            return false;
    return true;
}

/* Whether a view's steps along the runs are below 2^31 bytes. */
static bool has_short_steps(const grove_cell_walk *walk, const grove_view *view)
{
    for (int r = 0; r < walk->runs; r++)
        if (view->stride[walk->run[r].axis] < 0 || view->stride[walk->run[r].axis] >> 31)
            return false;
    return true;
}

static void set_dividers(grove_args *args)
{
    grove_cell_walk *walk = &args->walk;

    walk->few = walk->cells > 0 && walk->cells >> 31 == 0 && has_short_steps(walk, &args->out);
    for (int k = 0; k < args->inputs; k++)
        walk->few = walk->few && has_short_steps(walk, &args->in[k]);
    walk->plain = walk->few && walk->runs <= 1 && !walk->run[0].gathers;
    for (int d = 0; d < args->axes; d++)
        walk->size[d] = grove_divider_of(args->size[d] > 0 ? args->size[d] : 1);
    for (int r = 0; r < walk->runs; r++)
        walk->run[r].by = grove_divider_of(walk->run[r].by.size > 0 ? walk->run[r].by.size : 1);
}

static void set_walk(grove_args *args)
{
    grove_cell_walk *walk = &args->walk;

    for (int k = 0; k < GROVE_MAX_INPUTS; k++)
        if (k >= args->inputs || !args->in[k].data)
            memset(args->in[k].stride, 0, sizeof(args->in[k].stride));
    *walk = (grove_cell_walk){.cells = grove_args_cells(args)};
    for (int d = args->axes - 1; d >= 0; d--) {
        grove_cell_run *run = &walk->run[walk->runs ? walk->runs - 1 : 0];
        if (args->size[d] == 1 && !gathers(args, d))
            continue;
        if (walk->runs && continues(args, run, d))
            run->by.size *= args->size[d];
        else
            walk->run[walk->runs++] = (grove_cell_run){
                .by = {.size = args->size[d]}, .axis = d, .gathers = gathers(args, d)};
    }
    set_dividers(args);
}

static bool is_aligned(const grove_args *args, const grove_view *view)
{
    uintptr_t at = (uintptr_t)view->data;

    if (!view->data || !view->complex_ || view->bytes <= 0)
        return true;
    for (int d = 0; d < args->axes; d++)
        at |= (uintptr_t)view->stride[d];
    return at % (uintptr_t)(2 * view->bytes) == 0;
}

/* Kernels load both parts of a complex number together. */
static int check_alignment(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                           grove_error *error)
{
    for (int k = -1; k < args->inputs; k++) {
        const grove_view *view = k < 0 ? &args->out : &args->in[k];
        if (!is_aligned(args, view))
            return grove_fail(error, GROVE_MISSING,
                              "%s: %s: addresses of complex numbers in %s %d are not multiples of "
                              "%d, which the device needs",
                              device->name, kernel->name, k < 0 ? "output" : "input", k < 0 ? 0 : k,
                              2 * view->bytes);
    }
    return 0;
}

int grove_launch_prepare(grove_device *device, grove_index_arrays *arrays,
                         const grove_kernel *kernel, grove_args *args, grove_error *error)
{
    int code = check_alignment(device, kernel, args, error);

    if (!code)
        code = send_arrays(device, arrays, args, error);
    set_walk(args);
    return code;
}

unsigned grove_launch_blocks(const grove_device *device, const grove_kernel *kernel,
                             const grove_args *args, unsigned *threads)
{
    enum { MAX_BLOCKS = 1 << 22, FULL = GROVE_LAUNCH_FULL };
    const grove_tunables *tunables = grove_tunables_of(device, kernel);
    const int64_t cells = grove_tunables_value(tunables, args, "CELLS", GROVE_LAUNCH_CELLS),
                  tuned = grove_tunables_value(tunables, args, "BLOCK", 0),
                  own = kernel->block > 0 ? kernel->block : GROVE_LAUNCH_BLOCK,
                  each = tuned ? tuned : own,
                  all = kernel->threads ? kernel->threads(args) : args->walk.cells;
    int64_t blocks = (all + each - 1) / each;

    *threads = (unsigned)each;
    if (!kernel->threads && blocks > FULL)
        blocks = blocks > cells * FULL ? (blocks + cells - 1) / cells : FULL;
    return all <= 0 ? 0 : (unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS);
}
