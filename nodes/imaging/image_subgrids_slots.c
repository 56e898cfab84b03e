/* Planes and w-tiles of image-domain gridding between a device and the host. */
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_subgrids.h"
#include "nodes/imaging/image_subgrids_device.h"

#include "unstable/keep.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

static int no_memory(const grove_call *call)
{
    return grove_node_fail(call->node, GROVE_NO_MEMORY,
                           "not enough memory for the results of the device");
}

/* ---- w-tiles ---- */

int image_subgrids_device_fetch_slots(const grove_call *call, const grove_idg_plan *plan,
                                      const void *planes, const grove_idg_slots *slots,
                                      grove_idg *to)
{
    const grove_idg_device_sizes sizes = grove_idg_device_find_sizes(plan);
    const int64_t tiles = grove_idg_device_tiles(plan);
    const size_t image = sizes.planes / ((uint64_t)sizes.slots * (uint64_t)plan->mix.images);
    char *from = malloc(sizes.planes);
    bool room = from;
    int code = room ? grove_call_fetch(call, from, planes, sizes.planes) : 0;

    for (int32_t k = 0; k < slots->used && room && !code; k++) {
        grove_idg_choose_band(to, (int)(slots->tile[k] / tiles));
        for (int r = 0; r < plan->mix.images && room; r++)
            room = !grove_idg_add_tile(to, slots->tile[k] % tiles, r,
                                       from + (size_t)(r * sizes.slots + k) * image);
    }
    free(from);
    return room ? code : no_memory(call);
}

uint64_t image_subgrids_device_slot_bytes(const grove_idg_plan *plan)
{
    const grove_idg_device_sizes sizes = grove_idg_device_find_sizes(plan);

    return sizes.planes / (uint64_t)sizes.slots;
}

/* In calls on a device there are no other threads. */
static void run_alone(void *pool, int64_t count, void (*fn)(void *context, int64_t i),
                      void *context)
{
    (void)pool;
    for (int64_t i = 0; i < count; i++)
        fn(context, i);
}

/* Slots [first, end), which have w-tiles of one band. */
static int make_some(const grove_call *call, const grove_idg_plan *plan,
                     const image_subgrids_planes *planes, const int64_t *tile, int32_t first,
                     int32_t end, char *to)
{
    const grove_gridder_threads threads = {.run = run_alone};
    const int64_t tiles = grove_idg_device_tiles(plan), count = end - first,
                  bytes = (int64_t)image_subgrids_device_slot_bytes(plan),
                  cell = (call->double_precision ? 16 : 8) * plan->mix.images;
    int64_t *own = malloc((size_t)count * sizeof(*own));
    grove_idg *host = NULL;
    int code = planes->find(call, planes->context, (int)(tile[first] / tiles), &host);

    for (int64_t k = 0; k < count && own; k++)
        own[k] = tile[first + k] % tiles;
    if (!code && (!own || grove_idg_make_tiles(host, own, count, &threads)))
        code = grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for the planes");
    for (int64_t k = 0; k < count && !code; k++)
        image_subgrids_to_cells(grove_idg_tile_images(host, own[k]), to + (first + k) * bytes,
                                plan->mix.images, bytes / cell, call->double_precision);
    free(own);
    return code;
}

int image_subgrids_device_make_slots(const grove_call *call, const grove_idg_plan *plan,
                                     const image_subgrids_planes *planes,
                                     const grove_idg_slots *slots, void **made)
{
    const int64_t tiles = grove_idg_device_tiles(plan), *tile = slots->tile;
    int code = 0;

    *made = malloc((uint64_t)slots->used * image_subgrids_device_slot_bytes(plan) + 1);
    if (!*made)
        return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for the planes");
    for (int32_t first = 0, end; first < slots->used && !code; first = end) {
        for (end = first + 1; end < slots->used && tile[end] / tiles == tile[first] / tiles;)
            end++;
        code = make_some(call, plan, planes, tile, first, end, *made);
    }
    return code;
}

/* ---- planes ---- */

static int64_t bands_of(const grove_idg_plan *plan)
{
    return plan->bands > 1 ? plan->bands : 1;
}

static void add_numbers(void *to, const void *more, uint64_t bytes, bool double_precision)
{
    for (size_t i = 0; i < bytes / (double_precision ? sizeof(double) : sizeof(float)); i++)
        if (double_precision)
            ((double *)to)[i] += ((const double *)more)[i];
        else
            ((float *)to)[i] += ((const float *)more)[i];
}

static int fetch_planes(const grove_call *call, const grove_idg_plan *plan,
                        const image_subgrids_device *d, grove_idg *to)
{
    const int64_t images = plan->mix.images, bands = bands_of(plan);
    const uint64_t bytes =
        grove_idg_device_find_sizes(plan).planes / (uint64_t)(images * bands); /* of one of both */
    char *more = malloc(bytes);
    bool room = more;
    int code = 0;

    for (int64_t k = 0; k < images * bands && room && !code; k++) {
        grove_idg_choose_band(to, (int)(k % bands));
        char *planes = grove_idg_planes(to);
        room = planes;
        code = room ? grove_call_fetch(call, more, (const char *)d->planes + (uint64_t)k * bytes,
                                       bytes)
                    : 0;
        if (room && !code)
            add_numbers(planes + (uint64_t)(k / bands) * bytes, more, bytes,
                        call->double_precision);
    }
    free(more);
    return room ? code : no_memory(call);
}

int image_subgrids_device_fetch(const grove_call *call, const grove_idg_plan *plan,
                                const image_subgrids_device *d, grove_idg *to)
{
    if (!plan->tile)
        return fetch_planes(call, plan, d, to);
    return d->host && grove_idg_add_tiles(to, d->host)
               ? no_memory(call)
               : image_subgrids_device_fetch_slots(call, plan, d->planes, &d->slots, to);
}

int image_subgrids_device_give(const grove_call *call, const grove_idg_plan *plan,
                               const image_subgrids_device *d)
{
    const grove_gridder_plan *grid = &plan->grid;
    const int64_t pair = call->double_precision ? 16 : 8, images = plan->mix.images,
                  count = bands_of(plan) * grid->planes,
                  plane = grid->grid[0] * grid->grid[1] * pair;
    const int32_t size[2] = {(int32_t)grid->grid[0], (int32_t)grid->grid[1]};
    int code = plan->tile ? GROVE_MISSING : 0; /* the host brings w-tiles onto the planes */

    for (int64_t k = 0; k < images * count && !code; k++) {
        const grove_gridder_window whole = {.size = {size[0], size[1]},
                                            .from_size = {size[0], size[1]},
                                            .numbers = 2,
                                            .from_step = {pair, pair * size[0]},
                                            .to_step = {pair * images, pair * images * size[0]}};
        code = image_launch_window(
            call, (const char *)d->planes + k * plane,
            (char *)call->args->out.data + k % count * plane * images + k / count * pair, &whole);
    }
    return code;
}
