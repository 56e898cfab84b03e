#include "../gridder/gridder_private.h"
#include "idg_tiles.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

enum {
    BATCH = 256, /* subgrids that are summed before the grid has them */
    PIECE = 8,   /* of these, one after the other */
    STRIPE = 32, /* rows of the grid that have one adder */
    OWNERS = 64  /* of blocks, which are dealt out to them */
};

/* Of a band of channels. */
typedef struct {
    void *planes;          /* NULL until they are needed */
    grove_idg_tiles tiles; /* if the plan has some */
} band_state;

struct grove_idg {
    grove_idg_plan plan;
    grove_idg_tables tables;
    const grove_idg_loops *loops;
    size_t real, subgrid, each; /* bytes of a number, of an image of a subgrid, and of all */
    band_state *bands, *now;    /* all, and the one that was chosen */
    void *batch;                /* BATCH subgrids */
};

/* ---- one for a plan ---- */

static const grove_idg_loops *choose_loops(bool double_precision, grove_isa isa)
{
    static const grove_idg_loops *const loops[2][GROVE_ISAS] = {
        {&grove_idg_single_portable, &grove_idg_single_avx2, &grove_idg_single_avx512},
        {&grove_idg_double_portable, &grove_idg_double_avx2, &grove_idg_double_avx512}};

    return loops[double_precision][isa];
}

int64_t grove_idg_line(const grove_idg_plan *plan)
{
    return (plan->side + 15) / 16 * 16;
}

/* Of a band. */
static uint64_t planes_bytes(const grove_idg_plan *plan)
{
    return (uint64_t)(plan->mix.images * plan->grid.planes * plan->grid.grid[0] *
                      plan->grid.grid[1]) *
           2 * grove_idg_real(plan);
}

static uint64_t bands_of(const grove_idg_plan *plan)
{
    return plan->bands > 1 ? (uint64_t)plan->bands : 1;
}

uint64_t grove_idg_bytes(const grove_idg_plan *plan)
{
    const uint64_t tiles = plan->tile ? (uint64_t)plan->blocks * grove_idg_block_bytes(plan) +
                                            grove_idg_tiles_bytes(plan)
                                      : 0;

    return bands_of(plan) * (planes_bytes(plan) + tiles) +
           (plan->tile ? grove_idg_fold_bytes(plan) : 0) +
           (uint64_t)(BATCH * grove_idg_most(&plan->mix) + 16) *
               grove_idg_subgrid_bytes(plan->side, grove_idg_line(plan), grove_idg_real(plan));
}

static void *zeroed(uint64_t bytes)
{
    void *at = grove_gridder_room((size_t)bytes);

    return at ? memset(at, 0, (size_t)bytes) : NULL;
}

grove_idg *grove_idg_new(const grove_idg_plan *plan, grove_isa isa)
{
    grove_idg *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->plan = *plan;
    g->loops = choose_loops(plan->grid.bounds.double_precision, isa);
    g->real = grove_idg_real(plan);
    g->subgrid = grove_idg_subgrid_bytes(plan->side, grove_idg_line(plan), g->real);
    g->each = (size_t)grove_idg_most(&plan->mix) * g->subgrid;
    g->bands = g->now = calloc(bands_of(plan), sizeof(*g->bands));
    g->batch = zeroed(BATCH * g->each); /* lines stay finite beyond pixels */
    int code = !g->bands || !g->batch || grove_idg_tables_make(&g->tables, &g->plan, false);
    for (uint64_t k = 0; k < bands_of(plan) && plan->tile && !code; k++)
        code = grove_idg_tiles_make(&g->bands[k].tiles, &g->plan, g->loops);
    if (!code)
        return g;
    grove_idg_free(g);
    return NULL;
}

void grove_idg_free(grove_idg *g)
{
    if (!g)
        return;
    for (uint64_t k = 0; k < bands_of(&g->plan) && g->bands; k++) {
        free(g->bands[k].planes);
        if (g->bands[k].tiles.plan)
            grove_idg_tiles_free(&g->bands[k].tiles);
    }
    free(g->bands);
    free(g->batch);
    grove_idg_tables_free(&g->tables);
    free(g);
}

void grove_idg_choose_band(grove_idg *g, int band)
{
    g->now = &g->bands[band];
}

void *grove_idg_planes(grove_idg *g)
{
    void **planes = &g->now->planes;

    *planes = *planes ? *planes : zeroed(planes_bytes(&g->plan));
    return *planes;
}

int grove_idg_fold(grove_idg *g, const grove_gridder_threads *threads)
{
    void *planes = grove_idg_planes(g);

    if (!planes)
        return -1;
    return g->plan.tile ? grove_idg_tiles_fold(&g->now->tiles, planes, threads) : 0;
}

int grove_idg_add_tile(grove_idg *g, int64_t tile, int image, const void *numbers)
{
    return grove_idg_tiles_add(&g->now->tiles, tile, image, numbers);
}

int grove_idg_make_tiles(grove_idg *g, const int64_t *tile, int64_t count,
                         const grove_gridder_threads *threads)
{
    const void *planes = grove_idg_planes(g);

    return planes ? grove_idg_tiles_split(&g->now->tiles, tile, count, planes, threads) : -1;
}

const void *grove_idg_tile_images(const grove_idg *g, int64_t tile)
{
    return g->now->tiles.block[tile];
}

/* Adds the blocks of a band. */
static int add_blocks(const grove_idg *g, grove_idg_tiles *to, const grove_idg_tiles *from)
{
    int64_t across[2];
    const int64_t tiles = g->plan.tile ? grove_idg_tiles_count(&g->plan, across) : 0;
    int code = 0;

    for (int64_t k = 0; k < tiles; k++)
        for (int image = 0; image < g->plan.mix.images && from->block[k] && !code; image++)
            code = grove_idg_tiles_add(to, k, image,
                                       (const char *)from->block[k] + (size_t)image * from->image);
    return code;
}

int grove_idg_add_tiles(grove_idg *g, const grove_idg *from)
{
    int code = 0;

    for (uint64_t k = 0; k < bands_of(&g->plan) && !code; k++)
        code = add_blocks(g, &g->bands[k].tiles, &from->bands[k].tiles);
    return code;
}

void grove_idg_unfold(grove_idg *g)
{
    if (g->plan.tile)
        grove_idg_tiles_clear(&g->now->tiles);
}

/* ---- subgrids and the grid ---- */

/* Whether a subgrid has rows of [first, last). */
static bool touches(const grove_idg *g, const grove_idg_subgrid *s, int64_t first, int64_t last)
{
    const int64_t begin = s->start[1], end = begin + g->plan.side, size = g->plan.grid.grid[1];

    return (begin < last && end > first) || end - size > first;
}

/* Between a subgrid's cells and rows of the planes; of w-tiles all of its block. */
static void exchange(const grove_idg *g, const grove_idg_subgrid *s, void *cells, int64_t first,
                     int64_t last, bool to_grid)
{
    const int64_t side = grove_idg_block_side(&g->plan),
                  size[2] = {g->plan.tile ? side : g->plan.grid.grid[0],
                             g->plan.tile ? side : g->plan.grid.grid[1]};
    int32_t start[2] = {s->start[0], s->start[1]};
    char *planes =
        g->plan.tile ? g->now->tiles.block[grove_idg_tile_of(&g->plan, s, start)] : g->now->planes;
    grove_idg_move move = {.size = {size[0], size[1]},
                           .start = {start[0], start[1]},
                           .first = g->plan.tile ? 0 : first,
                           .last = g->plan.tile ? side : last,
                           .to_grid = to_grid};

    for (int image = 0; image < g->plan.mix.images; image++) {
        move.plane =
            planes +
            (size_t)((image * g->plan.grid.planes + s->plane) * size[0] * size[1]) * 2 * g->real;
        move.cells = (char *)cells + (size_t)image * g->subgrid;
        g->loops->move(&g->tables, &move);
    }
}

/* ---- a run over samples ---- */

typedef struct {
    grove_idg *g;
    const grove_gridder_samples *samples;
    int64_t baselines;
    const grove_idg_terms *terms;
    double *wavenumber;
    bool even, predicts;
    grove_idg_subgrid *subgrid;
    int64_t count, first; /* all subgrids; the first of a batch */
    uint8_t owner[BATCH]; /* of each subgrid's w-tile */
    atomic_bool failed;
} work;

static void do_subgrid(const work *w, int64_t k, char *pixels, void *room)
{
    grove_idg *g = w->g;
    const grove_idg_job job = {.tables = &g->tables,
                               .samples = w->samples,
                               .baselines = w->baselines,
                               .wavenumber = w->wavenumber,
                               .even = w->even,
                               .subgrid = &w->subgrid[k],
                               .terms = w->terms ? w->terms->numbers : NULL,
                               .elements = w->terms ? w->terms->elements : 0,
                               .pixels = pixels,
                               .work = room};

    if (w->predicts) {
        exchange(g, job.subgrid, pixels, 0, g->plan.grid.grid[1], false);
        g->loops->from_cells(&job);
        g->loops->predict(&job);
    } else {
        g->loops->sum(&job);
        g->loops->to_cells(&job);
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Subgrids of a piece. */
static void do_piece(void *context, int64_t i)
{
    work *w = context;
    const int64_t first = w->first + i * PIECE,
                  last = least(first + PIECE, least(w->first + BATCH, w->count));
    char *room =
        grove_gridder_room(grove_idg_work_bytes(w->g->plan.side, w->g->tables.line, w->g->real));

    if (!room)
        w->failed = true;
    for (int64_t k = first; k < last && w->g->plan.tile; k++) {
        int32_t start[2];
        w->owner[k - w->first] =
            (uint8_t)(grove_idg_tile_of(&w->g->plan, &w->subgrid[k], start) % OWNERS);
    }
    for (int64_t k = first; k < last && room; k++)
        do_subgrid(w, k, (char *)w->g->batch + (size_t)(k - w->first) * w->g->each, room);
    free(room);
}

/* The subgrids of a batch, to rows of the grid or to the blocks of an owner, always in the same
 * order. */
static void add_stripe(void *context, int64_t i)
{
    const work *w = context;
    const grove_idg_plan *p = &w->g->plan;

    for (int64_t k = w->first; k < least(w->first + BATCH, w->count); k++) {
        const grove_idg_subgrid *s = &w->subgrid[k];
        if (p->tile ? w->owner[k - w->first] == i : touches(w->g, s, i * STRIPE, (i + 1) * STRIPE))
            exchange(w->g, s, (char *)w->g->batch + (size_t)(k - w->first) * w->g->each, i * STRIPE,
                     (i + 1) * STRIPE, true);
    }
}

/* The planes, or the blocks of all subgrids, which are made here. */
static int find_blocks(work *w, const grove_gridder_threads *threads)
{
    grove_idg *g = w->g;

    if (!g->plan.tile)
        return grove_idg_planes(g) ? 0 : -1;
    if (!w->predicts)
        return grove_idg_tiles_open(&g->now->tiles, w->subgrid, w->count);
    int64_t *tile = malloc((size_t)w->count * sizeof(*tile) + 1);
    int32_t start[2];
    for (int64_t k = 0; k < w->count && tile; k++)
        tile[k] = grove_idg_tile_of(&g->plan, &w->subgrid[k], start);
    const int code = tile ? grove_idg_make_tiles(g, tile, w->count, threads) : -1;
    free(tile);
    return code;
}

static int do_batches(work *w, const grove_gridder_threads *threads)
{
    const int64_t stripes =
        w->g->plan.tile ? OWNERS : (w->g->plan.grid.grid[1] + STRIPE - 1) / STRIPE;

    for (w->first = 0; w->first < w->count && !w->failed; w->first += BATCH) {
        const int64_t count = least(BATCH, w->count - w->first);
        threads->run(threads->pool, (count + PIECE - 1) / PIECE, do_piece, w);
        if (!w->failed && !w->predicts)
            threads->run(threads->pool, stripes, add_stripe, w);
    }
    return w->failed ? -1 : 0;
}

static void count_subgrids(const grove_idg_subgrid *subgrid, int64_t count,
                           grove_idg_counts *counts)
{
    for (int64_t k = 0; k < count; k++)
        counts->visibilities += (int64_t)subgrid[k].times * subgrid[k].channels;
    counts->subgrids += count;
}

int grove_idg_count(const grove_idg_plan *plan, const grove_gridder_samples *samples,
                    int64_t baselines, const grove_idg_terms *terms, grove_idg_counts *counts)
{
    grove_idg_subgrid *subgrid = NULL;
    grove_gridder_outside outside = {0};
    int64_t count = 0;
    int code = grove_idg_divide(plan, samples, baselines, terms, &subgrid, &count, &outside);

    if (!code)
        count_subgrids(subgrid, count, counts);
    free(subgrid);
    return code;
}

static int do_all(work *w, const grove_gridder_threads *threads, grove_gridder_outside *outside,
                  grove_idg_counts *counts)
{
    const int64_t channels = w->samples->channels;
    int code = grove_idg_divide(&w->g->plan, w->samples, w->baselines, w->terms, &w->subgrid,
                                &w->count, outside);

    w->wavenumber = malloc((size_t)channels * sizeof(double) + 1);
    code = code || !w->wavenumber ? -1 : 0;
    for (int64_t k = 0; k < channels && !code; k++)
        w->wavenumber[k] = w->samples->freq[k] / speed_of_light;
    w->even = !code && grove_idg_are_even(w->wavenumber, channels);
    if (!code)
        code = find_blocks(w, threads);
    if (!code)
        code = do_batches(w, threads);
    if (counts && !code)
        count_subgrids(w->subgrid, w->count, counts);
    free(w->subgrid);
    free(w->wavenumber);
    return code;
}

int grove_idg_add(grove_idg *g, const grove_gridder_samples *samples, int64_t baselines,
                  const grove_idg_terms *terms, const grove_gridder_threads *threads,
                  grove_gridder_outside *outside, grove_idg_counts *counts)
{
    work w = {.g = g, .samples = samples, .baselines = baselines, .terms = terms};

    return do_all(&w, threads, outside, counts);
}

int grove_idg_predict(grove_idg *g, const grove_gridder_samples *samples, int64_t baselines,
                      const grove_idg_terms *terms, const grove_gridder_threads *threads,
                      grove_gridder_outside *outside, grove_idg_counts *counts)
{
    grove_gridder_samples all = *samples;
    work w = {.g = g, .samples = &all, .baselines = baselines, .terms = terms, .predicts = true};

    all.weight = NULL;
    memset(samples->data, 0,
           (size_t)(samples->rows * samples->channels * g->plan.mix.visibilities) * 2 * g->real);
    return do_all(&w, threads, outside, counts);
}
