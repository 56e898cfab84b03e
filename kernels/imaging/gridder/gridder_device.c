#include "gridder_device.h"

#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE, MIN_PIECE = 4096 };

struct grove_gridder_device {
    grove_gridder g; /* without blocks; groups are the chunks' */
    int64_t chunk, chunks;
    void *taps;
    size_t taps_bytes;
    double *factors;
    size_t factors_bytes;
    int degree; /* of the polynomial */
};

/* The planes of a tile that shared memory holds, of narrow kernels an odd number, as stride_of() in
 * gridder_spread.cu. */
static void find_chunks(grove_gridder_device *d)
{
    const grove_gridder_plan *p = &d->g.plan;
    const int64_t side = TILE + p->kernel.width - 1, starts = p->planes - p->kernel_w.width + 1;
    const int64_t cells =
        p->bounds.double_precision ? GROVE_GRIDDER_CELLS_DOUBLE : GROVE_GRIDDER_CELLS_SINGLE;

    d->chunk = cells / (side * side);
    if (p->kernel.width <= GROVE_GRIDDER_NARROW)
        d->chunk = (d->chunk - 1) | 1;
    d->chunk = d->chunk < p->planes ? d->chunk : p->planes;
    d->chunks = (p->planes + d->chunk - 1) / d->chunk;
    d->g.group = 1;
    d->g.groups = starts;
}

static int make_taps(grove_gridder_device *d)
{
    const grove_gridder_plan *p = &d->g.plan;
    const int degree = p->kernel.width + 1;
    const size_t each = (size_t)((degree + 1) * GROVE_GRIDDER_FACTORS) * d->g.real;
    void *taps = grove_gridder_make_taps(&p->kernel, degree, 1, d->g.real),
         *taps_w = grove_gridder_make_taps(&p->kernel_w, degree, 1, d->g.real);

    d->taps = malloc(2 * each);
    d->taps_bytes = 2 * each;
    bool made = taps && taps_w && d->taps;
    if (made) {
        memcpy(d->taps, taps, each);
        memcpy((char *)d->taps + each, taps_w, each);
    }
    free(taps);
    free(taps_w);
    return made ? 0 : -1;
}

static int make_factors(grove_gridder_device *d)
{
    const grove_gridder_plan *p = &d->g.plan;
    const int64_t nx = p->image.size[0], ny = p->image.size[1];
    double *l = grove_gridder_make_factors(&d->g, 0), *m = grove_gridder_make_factors(&d->g, 1);

    d->factors_bytes = (size_t)(nx + ny + GROVE_GRIDDER_MAX_DEGREE + 1) * sizeof(double);
    d->factors = calloc(1, d->factors_bytes);
    bool made = l && m && d->factors;
    if (made) {
        memcpy(d->factors, l, (size_t)nx * sizeof(double));
        memcpy(d->factors + nx, m, (size_t)ny * sizeof(double));
        d->factors[nx + ny] = 1;
        if (p->kernel_w.width > 1)
            d->degree = grove_gridder_kernel_fit_inverse(&p->kernel_w, p->half_n * p->step_w,
                                                         d->g.real == sizeof(float) ? 1e-7 : 1e-13,
                                                         d->factors + nx + ny);
    }
    free(l);
    free(m);
    return made ? 0 : -1;
}

static void set_sizes(grove_gridder_device *d, const grove_gridder_plan *plan)
{
    *d = (grove_gridder_device){.g.plan = *plan};
    d->g.real = plan->bounds.double_precision ? sizeof(double) : sizeof(float);
    grove_gridder_find_columns(&d->g);
    find_chunks(d);
}

grove_gridder_device *grove_gridder_device_new(const grove_gridder_plan *plan)
{
    grove_gridder_device *d = calloc(1, sizeof(*d));

    if (!d)
        return NULL;
    set_sizes(d, plan);
    if (!make_taps(d) && !make_factors(d))
        return d;
    grove_gridder_device_free(d);
    return NULL;
}

bool grove_gridder_device_is_of(const grove_gridder_device *d, const grove_gridder_plan *plan)
{
    const grove_gridder_plan *p = &d->g.plan;
    const grove_gridder_bounds *a = &p->bounds, *b = &plan->bounds;

    return !memcmp(&p->image, &plan->image, sizeof(p->image)) && a->max_u == b->max_u &&
           a->max_v == b->max_v && a->polarisations == b->polarisations &&
           a->double_precision == b->double_precision && a->without_w == b->without_w &&
           p->kernel.width == plan->kernel.width && p->kernel.beta == plan->kernel.beta &&
           p->kernel_w.width == plan->kernel_w.width && p->kernel_w.beta == plan->kernel_w.beta &&
           p->grid[0] == plan->grid[0] && p->grid[1] == plan->grid[1] &&
           p->planes == plan->planes && p->first_w == plan->first_w && p->step_w == plan->step_w &&
           p->middle_n == plan->middle_n;
}

void grove_gridder_device_free(grove_gridder_device *d)
{
    if (!d)
        return;
    free(d->taps);
    free(d->factors);
    free(d);
}

grove_gridder_device_bytes grove_gridder_device_sizes(const grove_gridder_device *d)
{
    const grove_gridder_plan *p = &d->g.plan;
    const uint64_t pair = 2 * d->g.real, side = (uint64_t)(TILE + p->kernel.width - 1);
    const uint64_t each = (uint64_t)p->bounds.polarisations * pair;

    return (grove_gridder_device_bytes){
        .planes = (uint64_t)(p->planes * d->g.columns[0] * d->g.columns[1]) * TILE * TILE * each,
        .grid = (uint64_t)(p->grid[0] * p->grid[1]) * pair,
        .image = (uint64_t)(p->image.size[0] * p->image.size[1]) * d->g.real,
        .slots = GROVE_GRIDDER_SLOTS * (uint64_t)d->chunk * side * side * each};
}

grove_gridder_device_bytes grove_gridder_device_sizes_of(const grove_gridder_plan *plan)
{
    grove_gridder_device d;

    set_sizes(&d, plan);
    return grove_gridder_device_sizes(&d);
}

void grove_gridder_device_give(const grove_gridder_plan *plan, const void *kept, void *planes)
{
    const int64_t *grid = plan->grid;
    grove_gridder_device d;

    set_sizes(&d, plan);
    const int64_t columns = d.g.columns[0] * TILE, rows = d.g.columns[1] * TILE;
    for (int64_t row = 0; row < plan->planes * rows; row++) {
        const int64_t v = grove_gridder_grid_index(&d.g, 1, row % rows),
                      at = (row / rows * grid[1] + (v + grid[1] / 2) % grid[1]) * grid[0];
        for (int64_t k = 0; k < columns; k++) {
            const int64_t u = grove_gridder_grid_index(&d.g, 0, k),
                          to = 2 * (at + (u + grid[0] / 2) % grid[0]),
                          from = 2 * (row * columns + k);
            for (int i = 0; i < 2; i++)
                if (d.g.real == sizeof(double))
                    ((double *)planes)[to + i] += ((const double *)kept)[from + i];
                else
                    ((float *)planes)[to + i] += ((const float *)kept)[from + i];
        }
    }
}

grove_gridder_table grove_gridder_device_taps(const grove_gridder_device *d)
{
    return (grove_gridder_table){d->taps, d->taps_bytes};
}

grove_gridder_table grove_gridder_device_factors(const grove_gridder_device *d)
{
    return (grove_gridder_table){d->factors, d->factors_bytes};
}

/* ---- samples ---- */

/* The runs of all entries, and a last one: where they end. */
static int make_runs(const grove_gridder_device *d, const grove_gridder_index *index,
                     grove_gridder_work *work)
{
    const int64_t keys = d->g.columns[0] * d->g.columns[1] * d->g.groups;
    int64_t start = 0;

    if (index->first[keys] >= INT32_MAX)
        return -1;
    work->runs = (int32_t)index->first[keys];
    work->run = malloc((size_t)(work->runs + 1) * sizeof(*work->run));
    if (!work->run)
        return -1;
    for (int64_t key = 0; key < keys; key++)
        for (int64_t e = index->first[key]; e < index->first[key + 1]; e++) {
            const grove_gridder_entry *from = &index->entry[e];
            work->run[e] = (grove_gridder_run){from->row, from->first, (int32_t)start,
                                               (int32_t)(key % d->g.groups)};
            start += from->last - from->first;
            if (start >= INT32_MAX)
                return -1;
        }
    work->run[work->runs] = (grove_gridder_run){0, 0, (int32_t)start, -1};
    return 0;
}

/* Runs of a tile whose kernels reach a chunk. */
static void runs_of(const grove_gridder_device *d, const grove_gridder_index *index, int64_t tile,
                    int64_t chunk, int32_t runs[2])
{
    const int64_t *first = index->first + tile * d->g.groups;
    int64_t begin = 0, end = d->g.groups;

    if (d->chunks > 1) {
        begin = chunk * d->chunk - d->g.plan.kernel_w.width + 1;
        begin = begin < 0 ? 0 : begin;
        end = (chunk + 1) * d->chunk < end ? (chunk + 1) * d->chunk : end;
    }
    runs[0] = (int32_t)first[begin < end ? begin : end];
    runs[1] = (int32_t)first[end];
}

typedef struct {
    const grove_gridder_device *d;
    const grove_gridder_index *index;
    grove_gridder_work *work;
    int32_t count, room; /* pieces */
    int32_t slots;
    int64_t largest; /* samples of a piece */
} cutting;

static int add_piece(cutting *c, grove_gridder_piece piece)
{
    if (c->count == c->room) {
        int32_t room = c->room ? 2 * c->room : 256;
        grove_gridder_piece *pieces = realloc(c->work->piece, (size_t)room * sizeof(*pieces));
        if (!pieces)
            return -1;
        c->work->piece = pieces;
        c->room = room;
    }
    c->work->piece[c->count++] = piece;
    return 0;
}

/* The pieces of a tile and chunk: the first one, or all others, or for collecting all. */
static int cut(cutting *c, int64_t tile, int64_t chunk, bool first, bool others)
{
    const grove_gridder_run *run = c->work->run;
    int32_t runs[2];

    runs_of(c->d, c->index, tile, chunk, runs);
    const int64_t begin = run[runs[0]].start, end = run[runs[1]].start;
    int64_t more = begin < end ? (end - begin - 1) / c->largest : 0;
    grove_gridder_piece piece = {
        .column = {(int32_t)(tile % c->d->g.columns[0]), (int32_t)(tile / c->d->g.columns[0])},
        .chunk = (int32_t)chunk,
        .run = runs[0]};
    for (int64_t k = 0; begin < end && k <= more; k++) {
        piece.first = (int32_t)(begin + k * c->largest);
        piece.last = (int32_t)(k < more ? piece.first + c->largest : end);
        while (run[piece.run + 1].start <= piece.first)
            piece.run++;
        piece.slot = k == 0 || first == others ? -1 : c->slots++;
        if (((k == 0 && first) || (k > 0 && others)) && add_piece(c, piece))
            return -1;
        if (k == 0 && first && !others) { /* the slots of the others, in the same order */
            c->work->piece[c->count - 1].slots = (int32_t)more;
            c->work->piece[c->count - 1].first_slot = c->slots;
            c->slots += (int32_t)more;
            break;
        }
    }
    return 0;
}

/* Samples of all pieces: each comes in all chunks that its kernel reaches. */
static int64_t samples_of_pieces(const cutting *c)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < c->index->begin[4]; i++)
        for (int64_t chunk = 0; chunk < c->d->chunks; chunk++) {
            int32_t runs[2];
            runs_of(c->d, c->index, c->index->task[i], chunk, runs);
            sum += c->work->run[runs[1]].start - c->work->run[runs[0]].start;
        }
    return sum;
}

static int cut_all(cutting *c, bool collect, int64_t from, int64_t to, int64_t chunk, bool first)
{
    const int64_t begin = chunk < 0 ? 0 : chunk, end = chunk < 0 ? c->d->chunks : chunk + 1;

    for (int64_t i = from; i < to; i++)
        for (int64_t k = begin; k < end; k++)
            if (cut(c, c->index->task[i], k, collect || first, collect || !first))
                return -1;
    return 0;
}

/* Collecting, a chunk follows another. Spreading, first all that goes to slots, then colour by
 * colour; slots are numbered in the order of tiles. */
static int make_pieces(cutting *c, bool collect)
{
    grove_gridder_work *work = c->work;
    int code = 0;

    work->launches = collect ? (int32_t)c->d->chunks : 5;
    work->begin = calloc((size_t)work->launches + 1, sizeof(*work->begin));
    if (!work->begin)
        return -1;
    c->largest = samples_of_pieces(c) / GROVE_GRIDDER_SLOTS + 1;
    c->largest = c->largest < MIN_PIECE ? MIN_PIECE : c->largest;
    for (int k = 0; k < work->launches && !code; k++) {
        work->begin[k] = c->count;
        if (collect) {
            code = cut_all(c, true, 0, c->index->begin[4], k, true);
        } else if (k == 0) {
            code = cut_all(c, false, 0, c->index->begin[4], -1, false);
            c->slots = 0;
        } else {
            code = cut_all(c, false, c->index->begin[k - 1], c->index->begin[k], -1, true);
        }
    }
    work->begin[work->launches] = c->count;
    return code;
}

int grove_gridder_device_sort(const grove_gridder_device *d, const grove_gridder_samples *samples,
                              const grove_gridder_threads *threads, bool collect,
                              grove_gridder_work *work)
{
    grove_gridder_index index;
    cutting c = {.d = d, .index = &index, .work = work};

    *work = (grove_gridder_work){0};
    if (samples->rows * samples->channels >= INT32_MAX ||
        grove_gridder_index_make(&d->g, samples, threads, &index))
        return -1;
    int code = make_runs(d, &index, work);
    if (!code)
        code = make_pieces(&c, collect);
    work->outside = index.outside.samples;
    work->wavenumber = index.wavenumber;
    index.wavenumber = NULL;
    grove_gridder_index_free(&index);
    if (code)
        grove_gridder_work_free(work);
    return code;
}

void grove_gridder_work_free(grove_gridder_work *work)
{
    free(work->run);
    free(work->piece);
    free(work->wavenumber);
    free(work->begin);
    *work = (grove_gridder_work){0};
}

/* ---- states of kernels ---- */

grove_gridder_state grove_gridder_device_state(const grove_gridder_device *d)
{
    const grove_gridder_plan *p = &d->g.plan;
    grove_gridder_state s = {.polarisations = (int32_t)p->bounds.polarisations,
                             .width = p->kernel.width,
                             .width_w = p->kernel_w.width,
                             .degree = p->kernel.width + 1,
                             .planes = (int32_t)p->planes,
                             .chunk_planes = (int32_t)d->chunk,
                             .first_w = p->step_w > 0 ? p->first_w / p->step_w : 0};

    for (int k = 0; k < 2; k++) {
        s.cells[k] = (int32_t)(d->g.columns[k] * TILE);
        s.first_tile[k] = (int32_t)d->g.first_tile[k];
        s.tiles[k] = (int32_t)d->g.tiles[k];
        s.wraps[k] = d->g.columns[k] == d->g.tiles[k];
        s.scale[k] = p->image.cell[k] * (double)p->grid[k];
        s.turn[k] = p->image.centre[k];
    }
    s.scale[2] = p->step_w > 0 ? 1 / p->step_w : 0;
    s.turn[2] = p->bounds.without_w ? 0 : p->middle_n;
    return s;
}

grove_gridder_image_state grove_gridder_device_image(const grove_gridder_device *d, int64_t plane)
{
    const grove_gridder_plan *p = &d->g.plan;
    grove_gridder_image_state s = {
        .begin = plane == 0,
        .finish = plane + 1 == p->planes,
        .degree = d->degree,
        .polarisations = (int32_t)p->bounds.polarisations,
        .w = p->bounds.without_w ? 0 : p->first_w + (double)plane * p->step_w,
        .middle_n = p->middle_n,
        .scale_t = p->half_n > 0 ? 1 / (p->half_n * p->half_n) : 0};

    for (int k = 0; k < 2; k++) {
        s.size[k] = (int32_t)p->grid[k];
        s.cells[k] = (int32_t)(d->g.columns[k] * TILE);
        s.first[k] = (int32_t)(d->g.first_tile[k] * TILE);
        s.pixels[k] = (int32_t)p->image.size[k];
        s.cell[k] = p->image.cell[k];
        s.centre[k] = p->image.centre[k];
    }
    return s;
}

/* ---- costs ---- */

/* Picoseconds of an H100, in single precision and in double, as counted
 * (bench/RESULTS-gpu-counted.md), the mean of gridding and degridding: of a sample and cell of its
 * kernel; of a cell of a plane, with two passes of cuFFT over its bytes at 3.35 TB/s; and of a
 * pixel of it. */
static const struct {
    double kernel, cell, pixel;
} cost[2] = {{0.87, 14.4, 7.3}, {1.33, 28.6, 14}};

double grove_gridder_device_seconds(const grove_gridder_plan *p)
{
    const int k = p->bounds.double_precision;
    const double kernel = (double)p->kernel.width * p->kernel.width * fmax(p->kernel_w.width, 1),
                 cells = (double)(p->grid[0] * p->grid[1]),
                 pixels = (double)(p->image.size[0] * p->image.size[1]);

    return 1e-12 * (double)p->bounds.polarisations *
           (p->bounds.samples * kernel * cost[k].kernel +
            (double)p->planes * (cells * cost[k].cell + pixels * cost[k].pixel));
}
