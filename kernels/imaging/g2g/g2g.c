#include "g2g_hot.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct grove_g2g {
    grove_lattice lattice;
    grove_g2g_loop *loop;
    size_t real; /* bytes of a number */
    bool is_real;
    int64_t width;       /* the support with the room of whole vectors */
    int64_t row, height; /* numbers of a row of a tile's buffer; rows */
    void *functions;
};

/* ---- one for a lattice ---- */

static size_t real_of(const grove_lattice *l)
{
    return l->plan.double_precision ? sizeof(double) : sizeof(float);
}

static int64_t width_of(const grove_lattice *l)
{
    const int64_t lanes = GROVE_G2G_LANES;

    return (l->plan.support + lanes - 1) / lanes * lanes;
}

static int64_t row_of(const grove_lattice *l)
{
    return (l->tile + width_of(l) + 7) / 8 * 8;
}

uint64_t grove_g2g_bytes(const grove_lattice *l)
{
    return sizeof(grove_g2g) +
           (uint64_t)(l->blocks * l->plan.support * 2 * width_of(l)) * real_of(l);
}

static grove_g2g_loop *choose_loop(bool double_precision, grove_isa isa)
{
    static grove_g2g_loop *const loops[2][GROVE_ISAS] = {
        {grove_g2g_single_portable, grove_g2g_single_avx2, grove_g2g_single_avx512},
        {grove_g2g_double_portable, grove_g2g_double_avx2, grove_g2g_double_avx512}};

    return loops[double_precision][isa];
}

bool grove_g2g_are_real(const grove_lattice *l, const void *functions)
{
    const grove_convolution_plan *p = &l->plan;
    const int64_t side = grove_convolution_side(p), count = p->functions * p->planes * side * side;

    for (int64_t k = 0; k < count; k++)
        if (p->double_precision ? ((const double *)functions)[2 * k + 1] != 0
                                : ((const float *)functions)[2 * k + 1] != 0)
            return false;
    return true;
}

/* From rows of fine samples to the numbers of each pair of offsets, together. Zeros beyond the
 * support. */
static void arrange(grove_g2g *g, const char *from)
{
    const grove_convolution_plan *p = &g->lattice.plan;
    const int64_t stride = p->oversampling, fine = stride * p->support;
    const size_t real = g->real;
    char *to = g->functions;

    for (int64_t block = 0; block < g->lattice.blocks; block++) {
        const int64_t plane = block / (stride * stride);
        const int64_t q[2] = {block % stride, block / stride % stride};
        for (int64_t y = 0; y < p->support; y++)
            for (int k = 0; k < (g->is_real ? 1 : 2); k++, to += (size_t)g->width * real)
                for (int64_t x = 0; x < p->support; x++)
                    memcpy(to + (size_t)x * real,
                           from + real * (size_t)(2 * ((plane * fine + stride * y + q[1]) * fine +
                                                       stride * x + q[0]) +
                                                  k),
                           real);
    }
}

static void *zeroed(uint64_t bytes)
{
    void *at = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);

    return at ? memset(at, 0, (size_t)bytes) : NULL;
}

grove_g2g *grove_g2g_new(const grove_lattice *lattice, const void *functions, grove_isa isa)
{
    grove_g2g *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->lattice = *lattice;
    g->loop = choose_loop(lattice->plan.double_precision, isa);
    g->real = real_of(lattice);
    g->is_real = grove_g2g_are_real(lattice, functions);
    g->width = width_of(lattice);
    g->row = row_of(lattice);
    g->height = lattice->tile + lattice->plan.support;
    g->functions = zeroed(
        (uint64_t)(lattice->blocks * lattice->plan.support * (g->is_real ? 1 : 2) * g->width) *
        g->real);
    if (!g->functions) {
        grove_g2g_free(g);
        return NULL;
    }
    arrange(g, functions);
    return g;
}

void grove_g2g_free(grove_g2g *g)
{
    if (!g)
        return;
    free(g->functions);
    free(g);
}

/* ---- applying ---- */

enum { TOGETHER = 1024 }; /* entries that are summed up in a buffer before the grid has them */

typedef struct {
    int64_t tile, first, end; /* entries */
} task;

typedef struct {
    const grove_g2g *g;
    const grove_diagonal_entry *entries;
    const void *in;
    void *out;
    task *tasks;      /* by colour */
    int64_t begin[5]; /* of colours */
    int64_t first;    /* task of the colour */
    atomic_bool failed;
} work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Tiles that have entries; tiles of one colour have no common neighbour. `count`: of entries. */
static void find_tasks(work *w, int64_t count)
{
    const grove_lattice *l = &w->g->lattice;
    const double points = (double)(l->tile * l->tile) * (double)l->blocks;
    int64_t tasks = 0;

    for (int colour = 0; colour < 4; colour++) {
        w->begin[colour] = tasks;
        for (int64_t v = colour / 2; v < l->tiles[1]; v += 2) {
            const int64_t row = v * l->tiles[0];
            int64_t at = grove_diagonal_find(w->entries, 0, count, (double)row * points);
            const int64_t end =
                grove_diagonal_find(w->entries, at, count, (double)(row + l->tiles[0]) * points);
            while (at < end) {
                const int64_t tile = (int64_t)(w->entries[at].point / points),
                              last = grove_diagonal_find(w->entries, at, end,
                                                         (double)(tile + 1) * points);
                if ((tile - row) % 2 == colour % 2)
                    w->tasks[tasks++] = (task){tile, at, last};
                at = last;
            }
        }
    }
    w->begin[4] = tasks;
}

/* Between a tile's buffer and the cells of the grid that its functions reach. */
#define EXCHANGE(real)                                                                             \
    static void load_##real(const grove_g2g *g, real *buffer, const real *grid,                    \
                            const int64_t origin[2], const int64_t reach[2])                       \
    {                                                                                              \
        for (int64_t y = 0; y < reach[1]; y++)                                                     \
            for (int64_t x = 0; x < reach[0]; x++)                                                 \
                for (int k = 0; k < 2; k++)                                                        \
                    buffer[y * g->row + x + k * g->row * g->height] =                              \
                        grid[2 * ((origin[1] + y) * g->lattice.plan.grid[0] + origin[0] + x) + k]; \
    }                                                                                              \
    static void add_##real(const grove_g2g *g, const real *buffer, real *grid,                     \
                           const int64_t origin[2], const int64_t reach[2])                        \
    {                                                                                              \
        for (int64_t y = 0; y < reach[1]; y++)                                                     \
            for (int64_t x = 0; x < reach[0]; x++)                                                 \
                for (int k = 0; k < 2; k++)                                                        \
                    grid[2 * ((origin[1] + y) * g->lattice.plan.grid[0] + origin[0] + x) + k] +=   \
                        buffer[y * g->row + x + k * g->row * g->height];                           \
    }

EXCHANGE(float)
EXCHANGE(double)

static void do_tile(void *context, int64_t i)
{
    work *w = context;
    const grove_g2g *g = w->g;
    const grove_lattice *l = &g->lattice;
    const task *t = &w->tasks[w->first + i];
    const int64_t origin[2] = {t->tile % l->tiles[0] * l->tile, t->tile / l->tiles[0] * l->tile},
                  most = l->tile + l->plan.support - 1,
                  reach[2] = {least(most, l->plan.grid[0] - origin[0]),
                              least(most, l->plan.grid[1] - origin[1])};
    const size_t bytes = (size_t)(2 * g->row * g->height) * g->real;
    char *in = zeroed(2 * (bytes + 63) / 64 * 64), *out = in + (bytes + 63) / 64 * 64;

    if (!in) {
        w->failed = true;
        return;
    }
    if (l->plan.double_precision)
        load_double(g, (double *)(void *)in, w->in, origin, reach);
    else
        load_float(g, (float *)(void *)in, w->in, origin, reach);
    for (int64_t at = t->first; at < t->end; at += TOGETHER) {
        memset(out, 0, bytes);
        g->loop(&(grove_g2g_job){.functions = g->functions,
                                 .is_real = g->is_real,
                                 .width = g->width,
                                 .support = l->plan.support,
                                 .entries = w->entries + at,
                                 .count = least(TOGETHER, t->end - at),
                                 .first = (double)t->tile * (double)(l->tile * l->tile) *
                                          (double)l->blocks,
                                 .tile = l->tile,
                                 .blocks = l->blocks,
                                 .in = in,
                                 .out = out,
                                 .row = g->row,
                                 .imaginary = g->row * g->height});
        if (l->plan.double_precision)
            add_double(g, (const double *)(void *)out, w->out, origin, reach);
        else
            add_float(g, (const float *)(void *)out, w->out, origin, reach);
    }
    free(in);
}

int grove_g2g_apply(const grove_g2g *g, const grove_diagonal_entry *entries, int64_t count,
                    const void *in, void *out, const grove_gridder_threads *threads)
{
    const grove_lattice *l = &g->lattice;
    work w = {.g = g, .entries = entries, .in = in, .out = out};

    while (count && entries[count - 1].point < 0)
        count--;
    w.tasks = malloc((size_t)(l->tiles[0] * l->tiles[1]) * sizeof(*w.tasks));
    if (!w.tasks)
        return -1;
    memset(out, 0, (size_t)(2 * l->plan.grid[0] * l->plan.grid[1]) * g->real);
    find_tasks(&w, count);
    for (int colour = 0; colour < 4 && !w.failed; colour++) {
        w.first = w.begin[colour];
        threads->run(threads->pool, w.begin[colour + 1] - w.first, do_tile, &w);
    }
    free(w.tasks);
    return w.failed ? -1 : 0;
}

/* ---- cost ---- */

/* Nanoseconds on one core with AVX-512, measured with `bench/gridder --g2g yes`: of a cell of the
 * grid; of an entry, of each vector of 8 numbers of a function both ways, of reading one from
 * beyond the cache; of a sample both ways, and of its vectors. */
static const double per_cell = 1.7, per_entry = 10, per_vector = 3.6, per_far = 10,
                    per_sample = 540, per_sample_vector = 11, per_sample_far = 20;
#define CACHE 12e6 /* with this number of bytes half of the functions are near */

/* Vectors of a function, and the part of them that is beyond the cache. */
static double vectors_of(const grove_lattice *l, double *far)
{
    const double vectors = (double)(l->plan.support * width_of(l) / GROVE_G2G_LANES),
                 bytes = (double)l->blocks * vectors * 2 * GROVE_G2G_LANES * (double)real_of(l);

    *far = bytes / (bytes + CACHE);
    return vectors * (double)real_of(l) / 4;
}

double grove_g2g_seconds(const grove_lattice *l, double entries)
{
    double far, vectors = vectors_of(l, &far);

    return 1e-9 * (per_cell * (double)(l->plan.grid[0] * l->plan.grid[1]) +
                   entries * (per_entry + vectors * (per_vector + far * per_far)));
}

double grove_g2g_seconds_of_both(const grove_lattice *l, double samples)
{
    double far, vectors = vectors_of(l, &far);

    return 1e-9 * samples * (per_sample + vectors * (per_sample_vector + far * per_sample_far));
}
