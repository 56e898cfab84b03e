#include "../gridder/gridder_private.h"
#include "idg_hot.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

enum {
    BATCH = 256, /* subgrids that are summed before the grid has them */
    PIECE = 8,   /* of these, one after the other */
    STRIPE = 32  /* rows of the grid that have one adder */
};

struct grove_idg {
    grove_idg_plan plan;
    grove_idg_tables tables;
    const grove_idg_loops *loops;
    size_t real, subgrid, each; /* bytes of a number, of an image of a subgrid, and of all */
    void *planes;               /* of all bands */
    int band;
    void *batch; /* BATCH subgrids */
};

/* ---- tables ---- */

static void put(void *to, int64_t k, double x, size_t real)
{
    if (real == sizeof(float))
        ((float *)to)[k] = (float)x;
    else
        ((double *)to)[k] = x;
}

static void fill_tables(grove_idg *g)
{
    const grove_idg_plan *p = &g->plan;
    const int side = p->side;
    grove_idg_tables *t = &g->tables;

    for (int j = 0; j < side; j++)
        t->x[j] = (j - side / 2) / (double)side;
    for (int d = 0; d < 2; d++) {
        t->scale[d] = (double)p->grid.grid[d] * p->grid.image.cell[d];
        t->turn[d] = p->grid.image.centre[d];
    }
    t->turn[2] = p->grid.bounds.without_w ? 0 : p->grid.middle_n;
    if (!p->grid.bounds.without_w)
        grove_idg_separate(p, t->p[0], t->p[1]);
    for (int64_t k = 0; k <= t->line; k++)
        put(t->sign, k, k % 2 ? -1 : 1, g->real);
    for (int x = 0; x < side; x++)
        for (int y = 0; y < side; y++) {
            const int64_t at = x * t->line + y;
            t->n[at] = p->grid.bounds.without_w ? 0 : grove_idg_n(p, x, y);
            put(t->taper, at, grove_idg_taper(p, x, y), g->real);
        }
    t->mirrored = true;
    for (int x = 1; x < side; x++)
        t->mirrored = t->mirrored && !memcmp(t->n + x * t->line, t->n + (side - x) * t->line,
                                             (size_t)t->line * sizeof(*t->n));
}

static void *zeroed(uint64_t bytes)
{
    void *at = grove_gridder_room((size_t)bytes);

    return at ? memset(at, 0, (size_t)bytes) : NULL;
}

static int make_tables(grove_idg *g)
{
    grove_idg_tables *t = &g->tables;
    const size_t lines = (size_t)(g->plan.side * t->line);

    t->plan = &g->plan;
    t->x = zeroed((size_t)t->line * sizeof(double));
    for (int d = 0; d < 2; d++)
        t->p[d] = zeroed((size_t)t->line * sizeof(double));
    t->n = zeroed(lines * sizeof(double));
    t->sign = zeroed((uint64_t)(t->line + 1) * g->real);
    t->taper = zeroed(lines * g->real);
    if (!t->x || !t->p[0] || !t->p[1] || !t->n || !t->taper || !t->sign ||
        grove_gridder_part_make(&t->fourier, g->plan.side, g->real))
        return -1;
    fill_tables(g);
    return 0;
}

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

static size_t real_of(const grove_idg_plan *plan)
{
    return plan->grid.bounds.double_precision ? sizeof(double) : sizeof(float);
}

/* Of a band. */
static uint64_t planes_bytes(const grove_idg_plan *plan)
{
    return (uint64_t)(plan->mix.images * plan->grid.planes * plan->grid.grid[0] *
                      plan->grid.grid[1]) *
           2 * real_of(plan);
}

static uint64_t bands_of(const grove_idg_plan *plan)
{
    return plan->bands > 1 ? (uint64_t)plan->bands : 1;
}

uint64_t grove_idg_bytes(const grove_idg_plan *plan)
{
    return bands_of(plan) * planes_bytes(plan) +
           (uint64_t)(BATCH * grove_idg_most(&plan->mix) + 16) *
               grove_idg_subgrid_bytes(plan->side, grove_idg_line(plan), real_of(plan));
}

grove_idg *grove_idg_new(const grove_idg_plan *plan, grove_isa isa)
{
    grove_idg *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->plan = *plan;
    g->loops = choose_loops(plan->grid.bounds.double_precision, isa);
    g->real = real_of(plan);
    g->tables.line = grove_idg_line(plan);
    g->subgrid = grove_idg_subgrid_bytes(plan->side, g->tables.line, g->real);
    g->each = (size_t)grove_idg_most(&plan->mix) * g->subgrid;
    g->planes = zeroed(bands_of(plan) * planes_bytes(plan));
    g->batch = zeroed(BATCH * g->each); /* what lines have beyond pixels stays finite */
    if (!g->planes || !g->batch || make_tables(g)) {
        grove_idg_free(g);
        return NULL;
    }
    return g;
}

void grove_idg_free(grove_idg *g)
{
    if (!g)
        return;
    free(g->planes);
    free(g->batch);
    free(g->tables.x);
    free(g->tables.p[0]);
    free(g->tables.p[1]);
    free(g->tables.n);
    free(g->tables.taper);
    free(g->tables.sign);
    free(g->tables.fourier.factor);
    free(g);
}

void grove_idg_choose_band(grove_idg *g, int band)
{
    g->band = band;
}

void *grove_idg_planes(grove_idg *g)
{
    return (char *)g->planes + (uint64_t)g->band * planes_bytes(&g->plan);
}

/* ---- subgrids and the grid ---- */

/* Whether a subgrid has rows of [first, last). */
static bool touches(const grove_idg *g, const grove_idg_subgrid *s, int64_t first, int64_t last)
{
    const int64_t begin = s->start[1], end = begin + g->plan.side, size = g->plan.grid.grid[1];

    return (begin < last && end > first) || end - size > first;
}

static void exchange(grove_idg *g, const grove_idg_subgrid *s, void *cells, int64_t first,
                     int64_t last, bool to_grid)
{
    const int64_t *size = g->plan.grid.grid;
    grove_idg_move move = {.size = {size[0], size[1]},
                           .start = {s->start[0], s->start[1]},
                           .first = first,
                           .last = last,
                           .to_grid = to_grid};

    for (int image = 0; image < g->plan.mix.images; image++) {
        move.plane =
            (char *)grove_idg_planes(g) +
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
    char *room = grove_gridder_room(grove_idg_work_bytes(w->g->tables.line, w->g->real));

    if (!room)
        w->failed = true;
    for (int64_t k = first; k < last && room; k++)
        do_subgrid(w, k, (char *)w->g->batch + (size_t)(k - w->first) * w->g->each, room);
    free(room);
}

/* The subgrids of a batch, to rows of the grid, always in the same order. */
static void add_stripe(void *context, int64_t i)
{
    const work *w = context;

    for (int64_t k = w->first; k < least(w->first + BATCH, w->count); k++)
        if (touches(w->g, &w->subgrid[k], i * STRIPE, (i + 1) * STRIPE))
            exchange(w->g, &w->subgrid[k],
                     (char *)w->g->batch + (size_t)(k - w->first) * w->g->each, i * STRIPE,
                     (i + 1) * STRIPE, true);
}

static int do_batches(work *w, const grove_gridder_threads *threads)
{
    const int64_t stripes = (w->g->plan.grid.grid[1] + STRIPE - 1) / STRIPE;

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
