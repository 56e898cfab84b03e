/* Tables shared by all subgrids of a plan, and by all w-tiles. */
#include "../gridder/gridder_private.h"
#include "idg_hot.h"

#include <stdlib.h>
#include <string.h>

static void put(void *to, int64_t k, double x, size_t real)
{
    if (real == sizeof(float))
        ((float *)to)[k] = (float)x;
    else
        ((double *)to)[k] = x;
}

/* Pixels along the axes, and n there. */
static void fill_places(grove_idg_tables *t)
{
    const grove_idg_plan *p = t->plan;
    const int side = p->side;

    for (int j = 0; j < side; j++)
        t->x[j] = (j - side / 2) / (double)side;
    for (int d = 0; d < 2; d++) {
        t->scale[d] = (double)p->grid.grid[d] * p->grid.image.cell[d];
        t->turn[d] = p->grid.image.centre[d];
    }
    t->turn[2] = p->grid.bounds.without_w ? 0 : p->grid.middle_n;
    for (int x = 0; x < side; x++)
        for (int y = 0; y < side; y++)
            t->n[x * t->line + y] = p->grid.bounds.without_w ? 0 : grove_idg_n(p, x, y);
    t->mirrored = true;
    for (int x = 1; x < side; x++)
        t->mirrored = t->mirrored && !memcmp(t->n + x * t->line, t->n + (side - x) * t->line,
                                             (size_t)t->line * sizeof(*t->n));
}

static void fill_taper(grove_idg_tables *t)
{
    const grove_idg_plan *p = t->plan;

    if (!p->grid.bounds.without_w)
        grove_idg_separate(p, t->p[0], t->p[1]);
    for (int x = 0; x < p->side; x++)
        for (int y = 0; y < p->side; y++)
            put(t->taper, x * t->line + y, grove_idg_taper(p, x, y), grove_idg_real(p));
}

static void *zeroed(uint64_t bytes)
{
    void *at = grove_gridder_room((size_t)bytes);

    return at ? memset(at, 0, (size_t)bytes) : NULL;
}

int grove_idg_tables_make(grove_idg_tables *t, const grove_idg_plan *plan, bool of_tiles)
{
    const size_t real = grove_idg_real(plan);

    *t = (grove_idg_tables){.plan = plan, .line = grove_idg_line(plan)};
    const size_t lines = (size_t)(plan->side * t->line);
    t->x = zeroed((size_t)t->line * sizeof(double));
    t->n = zeroed(lines * sizeof(double));
    t->sign = zeroed((uint64_t)(t->line + 1) * real);
    bool made = t->x && t->n && t->sign && !grove_gridder_part_make(&t->fourier, plan->side, real);
    for (int d = 0; d < 2 && !of_tiles; d++) {
        t->p[d] = zeroed((size_t)t->line * sizeof(double));
        made = made && t->p[d];
    }
    if (!of_tiles) {
        t->taper = zeroed(lines * real);
        made = made && t->taper;
    }
    if (!made)
        return -1;
    for (int64_t k = 0; k <= t->line; k++)
        put(t->sign, k, k % 2 ? -1 : 1, real);
    fill_places(t);
    if (!of_tiles)
        fill_taper(t);
    return 0;
}

void grove_idg_tables_free(grove_idg_tables *t)
{
    free(t->x);
    free(t->p[0]);
    free(t->p[1]);
    free(t->n);
    free(t->taper);
    free(t->sign);
    free(t->fourier.factor);
    *t = (grove_idg_tables){0};
}
