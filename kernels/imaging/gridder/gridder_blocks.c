/* The blocks of a gridder's planes, and the planes that are kept at a time. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE, FULL = 1 };

bool grove_gridder_keeps_group(const grove_gridder *g, int64_t group)
{
    const int64_t first = group * g->group, end = first + g->group + g->plan.kernel_w.width - 1;

    return first < g->end_plane && end > g->first_plane;
}

void grove_gridder_find_starts(const grove_gridder *g, const grove_gridder_index *index,
                               int64_t key, int64_t *first, int64_t *count)
{
    const int64_t plane = key % g->groups * g->group,
                  left = g->plan.planes - g->plan.kernel_w.width + 1 - plane;
    const int16_t *starts = index->starts[key];

    *first = plane + (g->plan.bounds.exact ? 0 : starts[0]);
    *count = !g->plan.bounds.exact ? starts[1] - starts[0] + 1 : left < g->group ? left : g->group;
}

static int32_t *number_of(const grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    return &g->block[(plane * g->columns[1] + v) * g->columns[0] + u];
}

static void *address_of(const grove_gridder *g, int32_t number)
{
    return (char *)g->slab[number / g->slab_blocks] +
           (size_t)(number % g->slab_blocks * grove_gridder_block_size(g)) * g->real;
}

void *grove_gridder_block(const grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    int32_t number = *number_of(g, plane, v, u);

    return number < 0 ? NULL : address_of(g, number);
}

static int make_slab(grove_gridder *g)
{
    const size_t numbers = (size_t)(g->slab_blocks * grove_gridder_block_size(g));

    if ((uint64_t)g->slabs * numbers * g->real >= g->limit && g->end_plane - g->first_plane > 1)
        return FULL;
    void **slab = realloc(g->slab, (size_t)(g->slabs + 1) * sizeof(*slab));
    g->slab = slab ? slab : g->slab;
    void *made = slab ? grove_gridder_room(numbers * g->real) : NULL;
    if (!made)
        return -1;
    memset(made, 0, numbers * g->real);
    slab[g->slabs++] = made;
    g->bytes += numbers * g->real;
    return 0;
}

/* Makes a block of zeros, unless it is there. 0, -1 without memory, or FULL. */
static int make_block(grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    int32_t *number = number_of(g, plane, v, u);

    if (*number >= 0)
        return 0;
    if (g->spares) {
        *number = g->spare[--g->spares];
        memset(address_of(g, *number), 0, (size_t)grove_gridder_block_size(g) * g->real);
        return 0;
    }
    int code = g->blocks == g->slabs * g->slab_blocks ? make_slab(g) : 0;
    if (!code)
        *number = (int32_t)g->blocks++;
    return code;
}

/* The blocks of the last plane that is kept are for others. 0, or -1 without memory. */
static int drop_plane(grove_gridder *g)
{
    int32_t *spare = realloc(g->spare, (size_t)(g->blocks + 1) * sizeof(*spare));

    if (!spare)
        return -1;
    g->spare = spare;
    g->end_plane--;
    for (int64_t k = 0; k < g->columns[0] * g->columns[1]; k++) {
        int32_t *number = number_of(g, g->end_plane, 0, 0) + k;
        if (*number >= 0)
            spare[g->spares++] = *number;
        *number = -1;
    }
    return 0;
}

static int make_or_drop(grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    int code = FULL;

    while (code == FULL && grove_gridder_keeps(g, plane)) {
        code = make_block(g, plane, v, u);
        if (code == FULL && drop_plane(g))
            code = -1;
    }
    return code == FULL ? 0 : code;
}

int grove_gridder_make_all_blocks(grove_gridder *g)
{
    for (int64_t plane = g->first_plane; plane < g->end_plane; plane++)
        for (int64_t v = 0; v < g->columns[1]; v++)
            for (int64_t u = 0; u < g->columns[0]; u++)
                if (make_or_drop(g, plane, v, u))
                    return -1;
    return 0;
}

typedef int block_function(grove_gridder *g, int64_t plane, int64_t v, int64_t u);

/* For each block that the kernels of samples touch. */
static int for_touched(grove_gridder *g, const grove_gridder_index *index, block_function *fn)
{
    int code = 0;

    for (int64_t i = 0; i < index->begin[4]; i++) {
        const int64_t tile = index->task[i], u = tile % g->columns[0], v = tile / g->columns[0];
        for (int64_t group = 0; group < g->groups; group++) {
            const int64_t key = tile * g->groups + group, *first = index->first + key;
            int64_t plane, starts;
            grove_gridder_find_starts(g, index, key, &plane, &starts);
            const int64_t end = plane + starts + g->plan.kernel_w.width - 1;
            for (; first[0] < first[1] && plane < end; plane++)
                for (int part = 0; part < 4 && !code; part++)
                    code = fn(g, plane, (v + part / 2) % g->columns[1],
                              (u + part % 2) % g->columns[0]);
        }
    }
    return code;
}

int grove_gridder_make_blocks(grove_gridder *g, const grove_gridder_index *index)
{
    return for_touched(g, index, make_or_drop);
}

static int find_block(grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    return grove_gridder_keeps(g, plane) && *number_of(g, plane, v, u) < 0 ? -1 : 0;
}

int grove_gridder_find_blocks(grove_gridder *g, const grove_gridder_index *index)
{
    return for_touched(g, index, find_block);
}

int grove_gridder_expect(grove_gridder *g, const grove_gridder_samples *samples,
                         const grove_gridder_threads *threads)
{
    grove_gridder_index index;
    int code = grove_gridder_index_make(g, samples, threads, &index);

    if (code)
        return code;
    code = grove_gridder_make_blocks(g, &index);
    g->expects = true;
    grove_gridder_index_free(&index);
    return code;
}

/* ---- planes that are kept ---- */

void grove_gridder_set_window(grove_gridder *g, int64_t first, int64_t end, uint64_t limit)
{
    for (int64_t k = 0; k < g->slabs; k++)
        free(g->slab[k]);
    g->bytes -= (uint64_t)(g->slabs * g->slab_blocks * grove_gridder_block_size(g)) * g->real;
    g->slabs = g->blocks = g->spares = 0;
    g->integers = g->quantum > 0;
    g->expects = false;
    memset(g->block, 0xff,
           (size_t)(g->plan.planes * g->columns[0] * g->columns[1]) * sizeof(*g->block));
    g->first_plane = first;
    g->end_plane = end;
    g->limit = limit;
}

/* ---- planes of integers ---- */

void grove_gridder_set_exact(grove_gridder *g, double largest, double sum)
{
    const double least = fmax(fmax(ldexp(largest, -50), ldexp(sum, -62)), 0x1p-1000);

    g->quantum = exp2(ceil(log2(least)));
    g->integers = true;
}

void grove_gridder_settle(grove_gridder *g)
{
    const int64_t size = grove_gridder_block_size(g);

    for (int64_t k = 0; k < g->blocks && g->integers; k++) {
        char *block = address_of(g, (int32_t)k);
        for (int64_t i = 0; i < size; i++, block += sizeof(double)) {
            int64_t count;
            memcpy(&count, block, sizeof(count));
            double number = (double)count * g->quantum;
            memcpy(block, &number, sizeof(number));
        }
    }
    g->integers = false;
}

int64_t grove_gridder_window_end(const grove_gridder *g)
{
    return g->end_plane;
}

/* ---- how many there will be ---- */

static int mark(grove_gridder *g, int64_t plane, int64_t v, int64_t u)
{
    *number_of(g, plane, v, u) = 0;
    return 0;
}

static void run_serially(void *pool, int64_t count, void (*fn)(void *context, int64_t i),
                         void *context)
{
    (void)pool;
    for (int64_t i = 0; i < count; i++)
        fn(context, i);
}

int grove_gridder_mark(grove_gridder *g, const grove_gridder_samples *samples)
{
    const grove_gridder_threads serial = {.run = run_serially};
    grove_gridder_index index;
    int code = grove_gridder_index_make(g, samples, &serial, &index);

    if (code)
        return code;
    for_touched(g, &index, mark);
    grove_gridder_index_free(&index);
    return 0;
}

uint64_t grove_gridder_marked(const grove_gridder *g, int64_t plane)
{
    uint64_t count = 0;

    for (int64_t k = 0; k < g->columns[0] * g->columns[1]; k++)
        count += *(number_of(g, plane, 0, 0) + k) >= 0;
    return count * (uint64_t)grove_gridder_block_size(g) * g->real;
}
