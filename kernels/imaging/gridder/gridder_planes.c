/* Planes of a gridder as dense arrays, for callers that transform them. */
#include "gridder_private.h"

#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE };

/* Where a row of a block's cells lies in a dense plane, whose zero is in the middle. A block never
 * wraps, since the grid has whole tiles, but it may be cut by the edges. */
static int64_t dense_index(const grove_gridder *g, int d, int64_t kept)
{
    int64_t size = g->plan.grid[d];

    return (grove_gridder_grid_index(g, d, kept) + size / 2) % size;
}

static void exchange(grove_gridder *g, int polarisation, char *planes, bool to_planes)
{
    const size_t bytes = 2 * g->real;
    const int64_t *size = g->plan.grid;

    for (int64_t plane = 0; plane < g->plan.planes; plane++)
        for (int64_t v = 0; v < g->columns[1]; v++)
            for (int64_t u = 0; u < g->columns[0]; u++) {
                char *block = grove_gridder_block(g, plane, v, u);
                for (int64_t k = 0; block && k < (int64_t)TILE * TILE; k++) {
                    int64_t y = dense_index(g, 1, v * TILE + k / TILE),
                            x = dense_index(g, 0, u * TILE + k % TILE);
                    char *cell = planes + (size_t)((plane * size[1] + y) * size[0] + x) * bytes;
                    char *own = block + ((size_t)polarisation * TILE * TILE + (size_t)k) * bytes;
                    memcpy(to_planes ? cell : own, to_planes ? own : cell, bytes);
                }
            }
}

void grove_gridder_get_planes(grove_gridder *g, int polarisation, void *planes)
{
    grove_gridder_settle(g);
    memset(planes, 0, (size_t)(g->plan.planes * g->plan.grid[0] * g->plan.grid[1]) * 2 * g->real);
    exchange(g, polarisation, planes, true);
}

int grove_gridder_set_planes(grove_gridder *g, int polarisation, const void *planes)
{
    if (grove_gridder_make_all_blocks(g))
        return -1;
    g->integers = false;
    exchange(g, polarisation, (char *)(uintptr_t)planes, false);
    return 0;
}
