/* Launches. Index arrays of the host are copied to the device; everything else is there already. */
#include "device/cuda/cuda.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Of cells, threads take CELLS where all of a GPU have work several times over. */
enum { THREADS = 128, MAX_BLOCKS = 1 << 22, CELLS = 4, FULL = 1 << 13 };

/* Contents are compared, since an address may have been reused for other numbers. */
static cuda_gather *find_gather(cuda_device *cuda, const int32_t *index, int64_t count)
{
    for (int k = 0; k < cuda->gather_count; k++)
        if (cuda->gathers[k].count == count &&
            !memcmp(cuda->gathers[k].copy, index, (size_t)count * sizeof(*index)))
            return &cuda->gathers[k];
    return NULL;
}

/* Replaces the least recently used entry. */
static cuda_gather *free_gather(cuda_device *cuda)
{
    cuda_gather *oldest = &cuda->gathers[0];

    if (cuda->gather_count < CUDA_GATHERS)
        return &cuda->gathers[cuda->gather_count++];
    for (int k = 1; k < CUDA_GATHERS; k++)
        if (cuda->gathers[k].last_used < oldest->last_used)
            oldest = &cuda->gathers[k];
    cuda_release(&cuda->device, oldest->at, (size_t)oldest->count * sizeof(int32_t));
    free(oldest->copy);
    return oldest;
}

void cuda_drop_gathers(cuda_device *cuda)
{
    pthread_mutex_lock(&cuda->launching);
    for (int k = 0; k < cuda->gather_count; k++) {
        cuda_release(&cuda->device, cuda->gathers[k].at, 0);
        free(cuda->gathers[k].copy);
    }
    cuda->gather_count = 0;
    pthread_mutex_unlock(&cuda->launching);
}

static int send_gather(cuda_device *cuda, const int32_t **index, int64_t count, grove_error *error)
{
    grove_device *device = &cuda->device;
    size_t bytes = (size_t)count * sizeof(int32_t);
    cuda_gather *entry = find_gather(cuda, *index, count);
    void *at;
    int code = 0;

    if (!entry) {
        if ((code = cuda_allocate(device, bytes, false, &at, error)))
            return code;
        if ((code = cuda_upload(device, at, *index, bytes, error)) ||
            (code = cuda_ready(device, at, error))) {
            cuda_release(device, at, bytes);
            return code;
        }
        entry = free_gather(cuda);
        *entry = (cuda_gather){grove_copy(*index, bytes), count, at, 0};
    }
    entry->last_used = ++cuda->gather_clock;
    *index = entry->at;
    return 0;
}

static int send_gathers(cuda_device *cuda, grove_args *args, grove_error *error)
{
    int code = 0;

    for (int k = 0; !code && k < args->inputs; k++)
        if (args->in[k].data && args->in[k].gather)
            code =
                send_gather(cuda, &args->in[k].gather, args->size[args->in[k].gather_axis], error);
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
static int check_alignment(cuda_device *cuda, const grove_kernel *kernel, const grove_args *args,
                           grove_error *error)
{
    for (int k = -1; k < args->inputs; k++) {
        const grove_view *view = k < 0 ? &args->out : &args->in[k];
        if (!is_aligned(args, view))
            return grove_fail(error, GROVE_MISSING,
                              "%s: %s: addresses of complex numbers in %s %d are not multiples of "
                              "%d, which the device needs",
                              cuda->device.name, kernel->name, k < 0 ? "output" : "input",
                              k < 0 ? 0 : k, 2 * view->bytes);
    }
    return 0;
}

/* Downloads of a block wait for its last launch. */
static int record_write(cuda_device *cuda, const void *at, grove_error *error)
{
    cuda_block *block = at ? cuda_find(cuda, at) : NULL;

    return block ? cuda_record(cuda, block, cuda->compute, error) : 0;
}

static int run(cuda_device *cuda, const grove_kernel *kernel, cuda_function function,
               grove_args *args, grove_error *error)
{
    int64_t threads = kernel->threads ? kernel->threads(args) : args->walk.cells;
    int64_t each = kernel->block > 0 ? kernel->block : THREADS;
    int64_t blocks = (threads + each - 1) / each;
    void *arguments[] = {args};
    cuda_span span;

    if (!kernel->threads && blocks > FULL)
        blocks = blocks > CELLS * FULL ? (blocks + CELLS - 1) / CELLS : FULL;
    if (threads <= 0)
        return 0;
    bool timed = cuda_timing_begin(cuda, cuda->compute, &span);
    int code = cuda_check(
        cuda,
        cuda->driver.launch(function, (unsigned)(blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS), 1, 1,
                            (unsigned)each, 1, 1, 0, cuda->compute, arguments, NULL),
        kernel->name, error);
    if (timed)
        cuda_timing_end(cuda, cuda->compute, &span, CUDA_KERNELS);
    if (!code)
        code = record_write(cuda, args->out.data, error);
    for (int k = 0; !code && k < args->inputs; k++)
        if (kernel->writes >> k & 1)
            code = record_write(cuda, args->in[k].data, error);
    cuda->device.launches++;
    return code;
}

int cuda_prepare(grove_device *device, const grove_kernel *kernel, bool double_precision,
                 grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    cuda_function function = NULL;
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    pthread_mutex_lock(&cuda->launching);
    code = cuda_kernel_find(cuda, kernel, double_precision, &function, error);
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}

int cuda_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                bool double_precision, grove_error *error)
{
    cuda_device *cuda = cuda_of(device);
    grove_args own = *args;
    cuda_function function = NULL;
    int code = cuda_enter(cuda, error);

    if (code)
        return code;
    pthread_mutex_lock(&cuda->launching);
    code = cuda_kernel_find(cuda, kernel, double_precision, &function, error);
    if (!code)
        code = check_alignment(cuda, kernel, &own, error);
    if (!code)
        code = send_gathers(cuda, &own, error);
    set_walk(&own);
    pthread_mutex_lock(&cuda->lock);
    if (!code)
        code = run(cuda, kernel, function, &own, error);
    pthread_mutex_unlock(&cuda->lock);
    pthread_mutex_unlock(&cuda->launching);
    cuda_leave(cuda);
    return code;
}
