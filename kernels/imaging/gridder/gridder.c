/* A gridder's state, and samples added to its planes and taken from them. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TILE = GROVE_GRIDDER_TILE,
    LANES = GROVE_GRIDDER_LANES,
    SLAB = 4 << 20,  /* bytes of blocks that are made at once, at most */
    CACHE = 40 << 10 /* bytes of a tile's buffer that are quick to reach */
};

static const grove_gridder_loops *const loops[2][GROVE_ISAS] = {
    {&grove_gridder_single_portable, &grove_gridder_single_avx2, &grove_gridder_single_avx512},
    {&grove_gridder_double_portable, &grove_gridder_double_avx2, &grove_gridder_double_avx512}};

/* ---- the kernel's polynomials ---- */

static void put(void *to, int64_t at, double number, size_t real)
{
    if (real == sizeof(float))
        ((float *)to)[at] = (float)number;
    else
        ((double *)to)[at] = number;
}

void *grove_gridder_make_taps(const grove_gridder_kernel *kernel, int degree, int times,
                              size_t real)
{
    double coefficient[(GROVE_GRIDDER_MAX_DEGREE + 1) * GROVE_GRIDDER_MAX_WIDTH];
    void *made = calloc((size_t)((degree + 1) * times * LANES), real);

    if (!made)
        return NULL;
    memset(coefficient, 0, sizeof(coefficient));
    if (kernel->width > 1)
        grove_gridder_kernel_fit(kernel, degree, coefficient);
    else
        coefficient[0] = 1;
    for (int d = 0; d <= degree; d++)
        for (int k = 0; k < times * kernel->width; k++)
            put(made, (d * LANES * times) + k, coefficient[d * kernel->width + k / times], real);
    return made;
}

static int make_polynomials(grove_gridder *g)
{
    const grove_gridder_plan *p = &g->plan;
    grove_gridder_taps *t = &g->taps;

    t->width = p->kernel.width;
    t->width_w = p->kernel_w.width;
    t->degree = t->width + 1;
    t->pairs = grove_gridder_make_taps(&p->kernel, t->degree, 2, g->real);
    t->taps = grove_gridder_make_taps(&p->kernel, t->degree, 1, g->real);
    t->taps_w = grove_gridder_make_taps(&p->kernel_w, t->degree, 1, g->real);
    return t->pairs && t->taps && t->taps_w ? 0 : -1;
}

/* ---- state ---- */

static int64_t row_stride(const grove_gridder *g)
{
    int64_t room = 2 * (TILE - 1) + (2 * g->taps.width + LANES - 1) / LANES * LANES;

    return (room + LANES - 1) / LANES * LANES;
}

static int64_t plane_stride(const grove_gridder *g)
{
    return row_stride(g) * (TILE + g->taps.width - 1);
}

void grove_gridder_find_columns(grove_gridder *g)
{
    const grove_gridder_plan *p = &g->plan;
    const double max[2] = {p->bounds.max_u, p->bounds.max_v};

    for (int d = 0; d < 2; d++) {
        double reach = max[d] * p->image.cell[d] * (double)p->grid[d] * (1 + 1e-9) + 1e-6;
        g->tiles[d] = p->grid[d] / TILE;
        if (reach < (double)p->grid[d]) {
            int64_t first = (int64_t)floor((-reach - 0.5 * p->kernel.width) / TILE);
            int64_t last = (int64_t)floor((reach - 0.5 * p->kernel.width + 1) / TILE);
            g->first_tile[d] = first;
            g->columns[d] = last - first + 2;
        }
        if (reach >= (double)p->grid[d] || g->columns[d] >= g->tiles[d]) {
            g->first_tile[d] = 0;
            g->columns[d] = g->tiles[d];
        }
    }
}

static void find_groups(grove_gridder *g)
{
    uint64_t plane = (uint64_t)(plane_stride(g) * g->plan.bounds.polarisations) * g->real;
    int64_t width = g->plan.kernel_w.width, starts = g->plan.planes - width + 1;
    int64_t fit = (int64_t)(CACHE / plane) - width + 1;

    g->group = fit < 2 ? 2 : fit;
    g->group = g->group > starts ? starts : g->group;
    g->groups = (starts + g->group - 1) / g->group;
}

/* Slabs of huge pages, where there are many blocks. */
static void find_slabs(grove_gridder *g)
{
    const int64_t most = g->plan.planes * g->columns[0] * g->columns[1];

    g->slab_blocks = 64;
    while (g->slab_blocks < most / 32 &&
           (size_t)(g->slab_blocks * grove_gridder_block_size(g)) * g->real < SLAB)
        g->slab_blocks *= 2;
}

grove_gridder *grove_gridder_new(const grove_gridder_plan *plan, grove_isa isa)
{
    grove_gridder *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->plan = *plan;
    g->loops = loops[plan->bounds.double_precision][isa];
    g->real = plan->bounds.double_precision ? sizeof(double) : sizeof(float);
    int code = make_polynomials(g);
    grove_gridder_find_columns(g);
    find_groups(g);
    find_slabs(g);
    int64_t count = plan->planes * g->columns[0] * g->columns[1];
    g->block = code ? NULL : malloc((size_t)count * sizeof(*g->block));
    if (!g->block) {
        grove_gridder_free(g);
        return NULL;
    }
    memset(g->block, 0xff, (size_t)count * sizeof(*g->block));
    grove_gridder_set_window(g, 0, plan->planes, UINT64_MAX);
    g->bytes = (uint64_t)count * sizeof(*g->block);
    return g;
}

void grove_gridder_free(grove_gridder *g)
{
    if (!g)
        return;
    for (int64_t k = 0; k < g->slabs; k++)
        free(g->slab[k]);
    free(g->slab);
    free(g->block);
    free(g->spare);
    free(g->taps.pairs);
    free(g->taps.taps);
    free(g->taps.taps_w);
    free(g);
}

uint64_t grove_gridder_bytes(const grove_gridder *g)
{
    return g->bytes;
}

static grove_gridder planned(const grove_gridder_plan *plan)
{
    grove_gridder g = {.plan = *plan, .taps.width = plan->kernel.width};

    g.real = plan->bounds.double_precision ? sizeof(double) : sizeof(float);
    grove_gridder_find_columns(&g);
    find_groups(&g);
    return g;
}

uint64_t grove_gridder_plan_planes_bytes(const grove_gridder_plan *plan)
{
    const grove_gridder g = planned(plan);

    return (uint64_t)(g.columns[0] * g.columns[1] * plan->planes * grove_gridder_block_size(&g)) *
           g.real;
}

static uint64_t tiles_of(const grove_gridder *g)
{
    return (uint64_t)(g->columns[0] * g->columns[1]);
}

uint64_t grove_gridder_plan_own_bytes(const grove_gridder_plan *plan)
{
    const grove_gridder g = planned(plan);

    return tiles_of(&g) * (uint64_t)plan->planes * sizeof(*g.block);
}

uint64_t grove_gridder_plan_index_bytes(const grove_gridder_plan *plan)
{
    const grove_gridder g = planned(plan);

    return tiles_of(&g) * (uint64_t)(g.groups * 12 + 4);
}

uint64_t grove_gridder_plan_image_bytes(const grove_gridder_plan *plan)
{
    const grove_gridder g = planned(plan);

    return grove_gridder_image_bytes(&g);
}

/* ---- tiles ---- */

typedef struct {
    grove_gridder *g;
    const grove_gridder_samples *samples;
    const grove_gridder_index *index;
    const int32_t *task;
    bool collect;
    grove_gridder_pool buffers;
    atomic_bool failed;
} work;

/* Of a tile's buffer, to which the loops' memory is added. */
static size_t buffer_bytes(const grove_gridder *g)
{
    size_t numbers =
        (size_t)((g->group + g->taps.width_w - 1) * plane_stride(g) * g->plan.bounds.polarisations +
                 4 * LANES);

    return (numbers * g->real + 63) / 64 * 64;
}

static grove_gridder_job job_of(const work *w, int64_t tile, int64_t group, void *buffer)
{
    const grove_gridder *g = w->g;
    const grove_gridder_plan *p = &g->plan;
    const int64_t key = tile * g->groups + group, *first = w->index->first + key;
    grove_gridder_job job = {
        .taps = &g->taps,
        .samples = w->samples,
        .wavenumber = w->index->wavenumber,
        .polarisations = (int)p->bounds.polarisations,
        .first_w = p->step_w > 0 ? p->first_w / p->step_w : 0,
        .tiles = {g->tiles[0], g->tiles[1]},
        .tile = {tile % g->columns[0] + g->first_tile[0], tile / g->columns[0] + g->first_tile[1]},
        .buffer = buffer,
        .round = g->quantum > 0 ? 6755399441055744.0 * g->quantum : 0,
        .work = (char *)buffer + buffer_bytes(g),
        .row_stride = row_stride(g),
        .plane_stride = plane_stride(g),
        .polarisation_stride = plane_stride(g) * (g->group + p->kernel_w.width - 1),
        .entries = w->index->entry + first[0],
        .count = first[1] - first[0]};

    grove_gridder_find_starts(g, w->index, key, &job.plane, &job.planes);
    for (int d = 0; d < 2; d++) {
        job.scale[d] = p->image.cell[d] * (double)p->grid[d];
        job.turn[d] = p->image.centre[d];
        job.wraps[d] = g->columns[d] == g->tiles[d];
    }
    job.scale[2] = p->step_w > 0 ? 1 / p->step_w : 0;
    job.turn[2] = p->bounds.without_w ? 0 : p->middle_n;
    return job;
}

static void add_numbers(const grove_gridder *g, void *to, const void *from, int count)
{
    if (g->integers)
        for (int i = 0; i < count; i++)
            ((uint64_t *)to)[i] += ((const uint64_t *)from)[i];
    else if (g->real == sizeof(float))
        for (int i = 0; i < count; i++)
            ((float *)to)[i] += ((const float *)from)[i];
    else
        for (int i = 0; i < count; i++)
            ((double *)to)[i] += ((const double *)from)[i];
}

/* Between the buffer of a tile and the four blocks that it covers. */
static void exchange(const work *w, const grove_gridder_job *job, int64_t tile, int pol,
                     int64_t plane)
{
    const grove_gridder *g = w->g;
    const int64_t u = tile % g->columns[0], v = tile / g->columns[0];
    const int side = TILE + g->taps.width - 1;
    const int64_t at = pol * job->polarisation_stride + plane * job->plane_stride;

    for (int part = 0; part < 4; part++) {
        int right = part & 1, up = part >> 1;
        int columns = right ? side - TILE : TILE, rows = up ? side - TILE : TILE;
        char *block = grove_gridder_block(g, job->plane + plane, (v + up) % g->columns[1],
                                          (u + right) % g->columns[0]);
        block += (size_t)(pol * TILE * TILE * 2) * g->real;
        for (int y = 0; y < rows; y++) {
            char *in_block = block + (size_t)(y * TILE * 2) * g->real;
            char *in_buffer =
                (char *)job->buffer +
                (size_t)(at + (y + up * TILE) * job->row_stride + 2 * right * TILE) * g->real;
            if (w->collect)
                memcpy(in_buffer, in_block, (size_t)(2 * columns) * g->real);
            else
                add_numbers(g, in_block, in_buffer, 2 * columns);
        }
    }
}

/* Planes that the job touches. */
static int64_t planes_of(const work *w, const grove_gridder_job *job)
{
    return job->planes + w->g->plan.kernel_w.width - 1;
}

static void clear(const work *w, const grove_gridder_job *job)
{
    const size_t planes = (size_t)(planes_of(w, job) * job->plane_stride + 4 * LANES);

    for (int pol = 0; pol < job->polarisations; pol++)
        memset((char *)job->buffer + (size_t)(pol * job->polarisation_stride) * w->g->real, 0,
               planes * w->g->real);
}

static void exchange_all(const work *w, const grove_gridder_job *job, int64_t tile)
{
    for (int pol = 0; pol < job->polarisations; pol++)
        for (int64_t plane = 0; plane < planes_of(w, job); plane++)
            if (grove_gridder_keeps(w->g, job->plane + plane))
                exchange(w, job, tile, pol, plane);
}

/* The next entries of the job, few enough that their sums in single precision stay exact enough;
 * they end at the same places for any threads. */
static int64_t next_entries(const grove_gridder_job *job)
{
    enum { SAMPLES = 4096 };
    int64_t count = 0, samples = 0;

    while (count < job->count && samples < SAMPLES) {
        samples += job->entries[count].last - job->entries[count].first;
        count++;
    }
    return count;
}

static void spread(const work *w, grove_gridder_job job, int64_t tile)
{
    const int64_t all = job.count;

    for (int64_t done = 0; done < all; done += job.count, job.entries += job.count) {
        job.count = all - done;
        job.count = next_entries(&job);
        clear(w, &job);
        w->g->loops->spread(&job);
        exchange_all(w, &job, tile);
    }
}

static void run_tile(void *context, int64_t i)
{
    work *w = context;
    const grove_gridder *g = w->g;
    const int64_t tile = w->task[i];
    void *buffer = grove_gridder_pool_take(&w->buffers);

    if (!buffer) {
        w->failed = true;
        return;
    }
    for (int64_t group = 0; group < g->groups; group++) {
        grove_gridder_job job = job_of(w, tile, group, buffer);
        if (!grove_gridder_keeps_group(g, group))
            continue;
        if (job.count && w->collect) {
            clear(w, &job);
            exchange_all(w, &job, tile);
            g->loops->collect(&job);
        } else if (job.count) {
            spread(w, job, tile);
        }
    }
    grove_gridder_pool_give(&w->buffers, buffer);
}

static int run(grove_gridder *g, const grove_gridder_samples *samples,
               const grove_gridder_threads *threads, bool collect, grove_gridder_outside *outside)
{
    grove_gridder_index index;
    work w = {.g = g, .samples = samples, .index = &index, .collect = collect};

    if (grove_gridder_index_make(g, samples, threads, &index))
        return -1;
    grove_gridder_pool_open(
        &w.buffers, buffer_bytes(g) +
                        grove_gridder_work_bytes(g->group, g->plan.bounds.polarisations, g->real));
    w.failed = (collect && g->expects ? grove_gridder_find_blocks(g, &index)
                                      : grove_gridder_make_blocks(g, &index)) != 0;
    for (int colour = 0; colour < 4 && !w.failed; colour++) {
        w.task = index.task + index.begin[colour];
        threads->run(threads->pool, index.begin[colour + 1] - index.begin[colour], run_tile, &w);
    }
    outside->samples += index.outside.samples;
    outside->weight += index.outside.weight;
    grove_gridder_pool_close(&w.buffers);
    grove_gridder_index_free(&index);
    return w.failed ? -1 : 0;
}

int grove_gridder_add(grove_gridder *g, const grove_gridder_samples *samples,
                      const grove_gridder_threads *threads, grove_gridder_outside *outside)
{
    return run(g, samples, threads, false, outside);
}

int grove_gridder_predict(grove_gridder *g, const grove_gridder_samples *samples,
                          const grove_gridder_threads *threads, grove_gridder_outside *outside)
{
    const int64_t first = g->first_plane, end = g->end_plane;
    int code = 0;

    if (g->quantum <= 0)
        return run(g, samples, threads, true, outside);
    /* Contributions are added plane by plane, in their order, for any windows. */
    for (int64_t plane = first; plane < end && !code; plane++) {
        grove_gridder_outside same = {0};
        g->first_plane = plane;
        g->end_plane = plane + 1;
        code = run(g, samples, threads, true, plane == first ? outside : &same);
    }
    g->first_plane = first;
    g->end_plane = end;
    return code;
}
