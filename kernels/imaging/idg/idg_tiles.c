#include "idg_tiles.h"

#include "../gridder/gridder_private.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

enum {
    BATCH = 16,       /* places that are transformed before the planes have them, at most */
    BYTES = 64 << 20, /* in about that */
    STRIPE = 32       /* rows of the planes that have one adder */
};

/* ---- places ---- */

int64_t grove_idg_tiles_count(const grove_idg_plan *p, int64_t across[2])
{
    for (int d = 0; d < 2; d++)
        across[d] = (p->grid.grid[d] + p->tile - 1) / p->tile;
    return across[0] * across[1] * p->layers;
}

static int64_t wrapped(int64_t cell, int64_t size)
{
    const int64_t rest = cell % size;

    return rest < 0 ? rest + size : rest;
}

/* Of a cell from the middle of the grid. */
static int64_t place_of(const grove_idg_plan *p, const int32_t cell[2], int64_t column[2])
{
    for (int d = 0; d < 2; d++)
        column[d] = wrapped(cell[d] + p->grid.grid[d] / 2, p->grid.grid[d]) / p->tile;
    return column[1] * ((p->grid.grid[0] + p->tile - 1) / p->tile) + column[0];
}

int64_t grove_idg_tile_of(const grove_idg_plan *p, const grove_idg_subgrid *s, int32_t start[2])
{
    int64_t column[2];
    const int64_t place = place_of(p, s->cell, column);

    for (int d = 0; d < 2; d++)
        start[d] = (int32_t)(wrapped(s->cell[d] + p->grid.grid[d] / 2, p->grid.grid[d]) -
                             column[d] * p->tile);
    return place * p->layers + s->layer;
}

int grove_idg_count_blocks(const grove_idg_plan *p, const grove_gridder_samples *s, int64_t *blocks)
{
    int64_t across[2], column[2];
    const int64_t all = grove_idg_tiles_count(p, across);
    char *mark = calloc(1, (size_t)all);

    *blocks = 0;
    for (int64_t i = 0; i < s->rows * s->channels && mark; i++) {
        const double *uvw = s->uvw + 3 * (i / s->channels),
                     k = s->freq[i % s->channels] / speed_of_light, sign = uvw[2] < 0 ? -1 : 1;
        int32_t cell[2];
        for (int d = 0; d < 2; d++)
            cell[d] =
                (int32_t)rint(sign * uvw[d] * k * (double)p->grid.grid[d] * p->grid.image.cell[d]);
        const double layer = p->step_w > 0 ? rint((fabs(uvw[2]) * k - p->first_w) / p->step_w) : 0;
        char *at = mark + place_of(p, cell, column) * p->layers +
                   (int64_t)fmin(fmax(layer, 0), (double)(p->layers - 1));
        *blocks += !*at;
        *at = 1;
    }
    free(mark);
    return mark ? 0 : -1;
}

/* ---- blocks ---- */

static size_t image_bytes(const grove_idg_plan *p)
{
    const int64_t size = grove_idg_block_side(p);

    return (size_t)(size * size) * 2 * grove_idg_real(p);
}

uint64_t grove_idg_block_bytes(const grove_idg_plan *p)
{
    return (uint64_t)p->mix.images * image_bytes(p);
}

static grove_idg_plan padded_of(const grove_idg_plan *p)
{
    grove_idg_plan padded = *p;

    padded.side = p->padded;
    padded.mix.images = 1;
    return padded;
}

static int64_t batch_of(const grove_idg_plan *p)
{
    const int64_t most =
        BYTES / (p->mix.images * p->padded * p->padded * 2 * (int64_t)grove_idg_real(p));

    return most < 2 ? 2 : most > BATCH ? BATCH : most;
}

uint64_t grove_idg_fold_bytes(const grove_idg_plan *p)
{
    const grove_idg_plan padded = padded_of(p);

    return (uint64_t)(batch_of(p) * p->mix.images) *
           grove_idg_subgrid_bytes(p->padded, grove_idg_line(&padded), grove_idg_real(p));
}

uint64_t grove_idg_tiles_bytes(const grove_idg_plan *p)
{
    const grove_idg_plan padded = padded_of(p);
    const int64_t line = grove_idg_line(&padded);
    int64_t across[2];

    return 2 * grove_idg_subgrid_bytes(p->padded, line, grove_idg_real(p)) +
           (uint64_t)(p->padded * line) * sizeof(double) +
           (uint64_t)grove_idg_tiles_count(p, across) * sizeof(void *);
}

int grove_idg_tiles_make(grove_idg_tiles *t, const grove_idg_plan *plan,
                         const grove_idg_loops *loops)
{
    *t = (grove_idg_tiles){.plan = plan,
                           .padded = padded_of(plan),
                           .loops = loops,
                           .real = grove_idg_real(plan),
                           .image = image_bytes(plan)};
    t->cells = grove_idg_subgrid_bytes(plan->padded, grove_idg_line(&t->padded), t->real);
    t->block = calloc((size_t)grove_idg_tiles_count(plan, t->across), sizeof(*t->block));
    return !t->block || grove_idg_tables_make(&t->tables, &t->padded, true) ? -1 : 0;
}

void grove_idg_tiles_clear(grove_idg_tiles *t)
{
    const int64_t count = t->block ? grove_idg_tiles_count(t->plan, t->across) : 0;

    for (int64_t k = 0; k < count; k++) {
        free(t->block[k]);
        t->block[k] = NULL;
    }
}

void grove_idg_tiles_free(grove_idg_tiles *t)
{
    grove_idg_tiles_clear(t);
    free(t->block);
    grove_idg_tables_free(&t->tables);
    *t = (grove_idg_tiles){0};
}

static int open_block(grove_idg_tiles *t, int64_t tile)
{
    const size_t bytes = (size_t)grove_idg_block_bytes(t->plan);

    if (t->block[tile])
        return 0;
    t->block[tile] = grove_gridder_room(bytes);
    if (t->block[tile])
        memset(t->block[tile], 0, bytes);
    return t->block[tile] ? 0 : -1;
}

int grove_idg_tiles_open(grove_idg_tiles *t, const grove_idg_subgrid *subgrid, int64_t count)
{
    int32_t start[2];
    int code = 0;

    for (int64_t k = 0; k < count && !code; k++)
        code = open_block(t, grove_idg_tile_of(t->plan, &subgrid[k], start));
    return code;
}

int grove_idg_tiles_add(grove_idg_tiles *t, int64_t tile, int image, const void *numbers)
{
    if (open_block(t, tile))
        return -1;
    void *to = (char *)t->block[tile] + (size_t)image * t->image;
    for (size_t k = 0; k < t->image / t->real; k++)
        if (t->real == sizeof(float))
            ((float *)to)[k] += ((const float *)numbers)[k];
        else
            ((double *)to)[k] += ((const double *)numbers)[k];
    return 0;
}

/* ---- between blocks and planes ---- */

typedef struct {
    grove_idg_tiles *tiles;
    char *planes, *batch;               /* [place of the batch][image] padded tiles */
    const char *split;                  /* [tile] whether it is; NULL: all are folded */
    int64_t *place, count, first, each; /* of a batch */
    atomic_bool failed;
} shifting;

/* w of a layer less the plane's. */
static double shift_of(const grove_idg_tiles *t, int64_t layer)
{
    return t->plan->grid.bounds.without_w
               ? 0
               : t->plan->first_w + (double)layer * t->plan->step_w - t->plan->grid.first_w;
}

/* A padded tile from all its layers, by pixels, where any of them has another w than the plane. */
static void fold_image(const grove_idg_tiles *t, int64_t place, int image, char *to, char *room)
{
    void *const *block = t->block + place * t->plan->layers;
    grove_idg_job job = {.tables = &t->tables, .work = room + t->cells};
    const bool flat = t->plan->layers == 1 && shift_of(t, 0) == 0;

    memset(to, 0, t->cells);
    for (int64_t k = 0; k < t->plan->layers; k++) {
        if (!block[k])
            continue;
        job.pixels = flat ? to : room;
        memset(room, 0, t->cells);
        t->loops->block(&t->tables, job.pixels, (char *)block[k] + (size_t)image * t->image,
                        grove_idg_block_side(t->plan), false);
        if (flat)
            return;
        t->loops->transform(&job, true);
        t->loops->turn(&job, shift_of(t, k), to);
    }
    job.pixels = to;
    t->loops->transform(&job, false);
}

static grove_idg_move move_of(const shifting *s, int64_t i, int image, int64_t first, int64_t last)
{
    const grove_idg_tiles *t = s->tiles;
    const int64_t *size = t->plan->grid.grid, place = s->place[i],
                  column[2] = {place % t->across[0], place / t->across[0]};
    grove_idg_move m = {.plane = s->planes + (size_t)(image * size[0] * size[1]) * 2 * t->real,
                        .size = {size[0], size[1]},
                        .cells = s->batch +
                                 (size_t)((i - s->first) * t->plan->mix.images + image) * t->cells,
                        .first = first,
                        .last = last};

    for (int d = 0; d < 2; d++)
        m.start[d] =
            wrapped(column[d] * t->plan->tile + t->plan->tile / 2 - t->plan->padded / 2, size[d]);
    return m;
}

/* The needed blocks of a place, from its padded tile. */
static void split_image(const shifting *s, int64_t i, int image, char *room)
{
    const grove_idg_tiles *t = s->tiles;
    const int64_t first = s->place[i] * t->plan->layers;
    grove_idg_move move = move_of(s, i, image, 0, t->plan->grid.grid[1]);
    grove_idg_job job = {.tables = &t->tables, .pixels = move.cells, .work = room + t->cells};
    const bool flat = t->plan->layers == 1 && shift_of(t, 0) == 0;

    t->loops->move(&t->tables, &move);
    if (!flat)
        t->loops->transform(&job, true);
    for (int64_t k = 0; k < t->plan->layers; k++) {
        if (!s->split[first + k])
            continue;
        job.pixels = move.cells;
        if (!flat) {
            memset(room, 0, t->cells);
            t->loops->turn(&job, -shift_of(t, k), room);
            job.pixels = room;
            t->loops->transform(&job, false);
        }
        t->loops->block(&t->tables, job.pixels,
                        (char *)t->block[first + k] + (size_t)image * t->image,
                        grove_idg_block_side(t->plan), true);
    }
}

static void do_place(void *context, int64_t i)
{
    shifting *s = context;
    const grove_idg_tiles *t = s->tiles;
    char *room = grove_gridder_room(t->cells +
                                    grove_idg_work_bytes(t->padded.side, t->tables.line, t->real));

    if (!room)
        s->failed = true;
    i += s->first;
    for (int image = 0; image < t->plan->mix.images && room; image++)
        if (s->split)
            split_image(s, i, image, room);
        else
            fold_image(t, s->place[i], image, move_of(s, i, image, 0, 0).cells, room);
    free(room);
}

static int64_t batch_end(const shifting *s)
{
    return s->first + s->each < s->count ? s->first + s->each : s->count;
}

static void add_stripe(void *context, int64_t stripe)
{
    const shifting *s = context;

    for (int64_t i = s->first; i < batch_end(s); i++)
        for (int image = 0; image < s->tiles->plan->mix.images; image++) {
            grove_idg_move move = move_of(s, i, image, stripe * STRIPE, (stripe + 1) * STRIPE);
            move.to_grid = true;
            s->tiles->loops->move(&s->tiles->tables, &move);
        }
}

/* The places that have blocks, or needed blocks. */
static int find_places(shifting *s)
{
    const grove_idg_tiles *t = s->tiles;
    const int64_t layers = t->plan->layers, all = t->across[0] * t->across[1];

    s->place = malloc((size_t)all * sizeof(*s->place));
    for (int64_t place = 0; place < all && s->place; place++) {
        bool any = false;
        for (int64_t k = place * layers; k < (place + 1) * layers; k++)
            any = any || (s->split ? s->split[k] : t->block[k] != NULL);
        if (any)
            s->place[s->count++] = place;
    }
    return s->place ? 0 : -1;
}

static int do_places(shifting *s, const grove_gridder_threads *threads)
{
    const grove_idg_tiles *t = s->tiles;
    const int64_t stripes = (t->plan->grid.grid[1] + STRIPE - 1) / STRIPE;
    int code = find_places(s);

    s->each = batch_of(t->plan);
    const size_t bytes = (size_t)(s->each * t->plan->mix.images) * t->cells;

    if (!code && s->count)
        s->batch = grove_gridder_room(bytes);
    code = code || (s->count && !s->batch) ? -1 : 0;
    if (s->batch) /* lines stay finite beyond cells */
        memset(s->batch, 0, bytes);
    for (s->first = 0; s->first < s->count && !code; s->first += s->each) {
        threads->run(threads->pool, batch_end(s) - s->first, do_place, s);
        if (!s->split && !s->failed)
            threads->run(threads->pool, stripes, add_stripe, s);
        code = s->failed ? -1 : 0;
    }
    free(s->batch);
    free(s->place);
    return code;
}

int grove_idg_tiles_fold(grove_idg_tiles *t, void *planes, const grove_gridder_threads *threads)
{
    shifting s = {.tiles = t, .planes = planes};
    const int code = do_places(&s, threads);

    grove_idg_tiles_clear(t);
    return code;
}

int grove_idg_tiles_split(grove_idg_tiles *t, const int64_t *tile, int64_t count,
                          const void *planes, const grove_gridder_threads *threads)
{
    char *split = calloc(1, (size_t)grove_idg_tiles_count(t->plan, t->across));
    shifting s = {.tiles = t, .planes = (void *)(uintptr_t)planes, .split = split};
    int code = split ? 0 : -1;

    for (int64_t k = 0; k < count && !code; k++)
        if (!t->block[tile[k]]) {
            split[tile[k]] = 1;
            code = open_block(t, tile[k]);
        }
    code = code ? code : do_places(&s, threads);
    free(split);
    return code;
}
