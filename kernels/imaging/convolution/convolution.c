#include "convolution_hot.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double speed_of_light = 299792458.0;

struct grove_convolution {
    grove_convolution_plan plan;
    const grove_convolution_loops *loops;
    size_t real;      /* bytes of a number */
    int64_t width;    /* the support with the room of whole vectors */
    int64_t tile;     /* cells along each side of a tile: functions reach into the next one only */
    int64_t tiles[2]; /* along u, v */
    int64_t row, height; /* numbers of a row of a tile's buffer; rows */
    void *functions, *grids;
    void *grid; /* the grids of the band */
    void *sums; /* of the functions' numbers; NULL: not needed yet */
};

/* ---- one for a plan ---- */

static int64_t width_of(const grove_convolution_plan *plan)
{
    const int64_t lanes = GROVE_CONVOLUTION_LANES;

    return (plan->support + lanes - 1) / lanes * lanes;
}

/* Of all functions, each for its place between the cells. */
static uint64_t block_count(const grove_convolution_plan *plan)
{
    return (uint64_t)(plan->functions * plan->planes * grove_convolution_stride(plan) *
                      grove_convolution_stride(plan));
}

static uint64_t functions_bytes(const grove_convolution_plan *plan)
{
    return block_count(plan) * (uint64_t)(plan->support * 2 * width_of(plan)) *
           (plan->double_precision ? sizeof(double) : sizeof(float));
}

static uint64_t grid_bytes(const grove_convolution_plan *plan)
{
    return (uint64_t)(grove_convolution_bands(plan) * grove_convolution_cells(plan)) * 2 *
           (plan->double_precision ? sizeof(double) : sizeof(float));
}

uint64_t grove_convolution_bytes(const grove_convolution_plan *plan)
{
    return functions_bytes(plan) + grid_bytes(plan) + 8 * block_count(plan);
}

static const grove_convolution_loops *choose_loops(bool double_precision, grove_isa isa)
{
    static const grove_convolution_loops *const loops[2][GROVE_ISAS] = {
        {&grove_convolution_single_portable, &grove_convolution_single_avx2,
         &grove_convolution_single_avx512},
        {&grove_convolution_double_portable, &grove_convolution_double_avx2,
         &grove_convolution_double_avx512}};

    return loops[double_precision][isa];
}

/* From rows of fine samples to the numbers of each pair of offsets, together. Zeros beyond the
 * support. */
static void arrange(grove_convolution *c, const char *from)
{
    const grove_convolution_plan *p = &c->plan;
    const int64_t stride = grove_convolution_stride(p), fine = stride * p->support;
    const size_t real = c->real;
    char *to = c->functions;

    for (int64_t block = 0; block < (int64_t)block_count(p); block++) {
        const int64_t plane = block / (stride * stride);
        const int64_t q[2] = {block % stride, block / stride % stride};
        for (int64_t y = 0; y < p->support; y++, to += 2 * (size_t)c->width * real)
            for (int64_t x = 0; x < p->support; x++) {
                const char *at = from + 2 * real *
                                            (size_t)((plane * fine + stride * y + q[1]) * fine +
                                                     stride * x + q[0]);
                memcpy(to + (size_t)x * real, at, real);
                memcpy(to + (size_t)(c->width + x) * real, at + real, real);
            }
    }
}

static void *zeroed(uint64_t bytes)
{
    void *at = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);

    return at ? memset(at, 0, (size_t)bytes) : NULL;
}

grove_convolution *grove_convolution_new(const grove_convolution_plan *plan, const void *functions,
                                         grove_isa isa)
{
    grove_convolution *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->plan = *plan;
    c->loops = choose_loops(plan->double_precision, isa);
    c->real = plan->double_precision ? sizeof(double) : sizeof(float);
    c->width = width_of(plan);
    for (c->tile = 16; c->tile < plan->support - 1;)
        c->tile *= 2;
    for (int d = 0; d < 2; d++)
        c->tiles[d] = (plan->grid[d] + c->tile - 1) / c->tile;
    c->row = (c->tile + c->width + 7) / 8 * 8;
    c->height = c->tile + plan->support;
    c->functions = zeroed(functions_bytes(plan));
    c->grid = c->grids = zeroed(grid_bytes(plan));
    if (!c->functions || !c->grids) {
        grove_convolution_free(c);
        return NULL;
    }
    arrange(c, functions);
    return c;
}

void grove_convolution_free(grove_convolution *c)
{
    if (!c)
        return;
    free(c->functions);
    free(c->grids);
    free(c->sums);
    free(c);
}

void grove_convolution_choose_band(grove_convolution *c, int64_t band)
{
    c->grid = (char *)c->grids + (size_t)(band * grove_convolution_cells(&c->plan)) * 2 * c->real;
}

void *grove_convolution_grid(grove_convolution *c)
{
    return c->grids;
}

/* ---- samples by tile ---- */

typedef struct {
    grove_convolution_entry *entry; /* in order of the samples, then of the tiles */
    int64_t *key;
    int64_t count, room;
    int64_t *first; /* [tile], and the end */
    int32_t *task;  /* tiles that have entries, by colour */
    int64_t begin[5];
    double *wavenumber;
    grove_gridder_outside outside;
} sorting;

static void free_sorting(sorting *s)
{
    free(s->entry);
    free(s->key);
    free(s->first);
    free(s->task);
    free(s->wavenumber);
}

static int append(sorting *s, int64_t key, grove_convolution_entry entry)
{
    if (s->count == s->room) {
        int64_t room = s->room ? 2 * s->room : 4096;
        grove_convolution_entry *entries = realloc(s->entry, (size_t)room * sizeof(*entries));
        s->entry = entries ? entries : s->entry;
        int64_t *keys = realloc(s->key, (size_t)room * sizeof(*keys));
        s->key = keys ? keys : s->key;
        if (!entries || !keys)
            return -1;
        s->room = room;
    }
    s->entry[s->count] = entry;
    s->key[s->count++] = key;
    return 0;
}

static double weight_of(const grove_convolution *c, const grove_gridder_samples *samples, int64_t i)
{
    if (!samples->weight)
        return 1;
    return c->plan.double_precision ? ((const double *)samples->weight)[i]
                                    : (double)((const float *)samples->weight)[i];
}

/* The tile in which the function of a sample begins; -1: it leaves the grid. */
static int64_t tile_of(const grove_convolution *c, const double uvw[3], double wavenumber)
{
    grove_convolution_place place;

    if (!grove_convolution_find(&c->plan, uvw, wavenumber, &place))
        return -1;
    return (int64_t)place.cell[1] / c->tile * c->tiles[0] + (int64_t)place.cell[0] / c->tile;
}

/* Samples of weight 0 are left out; predictions have none. */
static int scan_row(const grove_convolution *c, const grove_gridder_samples *samples, int32_t row,
                    sorting *s)
{
    const double *given = samples->uvw + 3 * (int64_t)row, sign = given[2] < 0 ? -1 : 1,
                 uvw[3] = {sign * given[0], sign * given[1], sign * given[2]};
    int64_t last = -1;

    for (int32_t k = 0; k < samples->channels; k++) {
        const int64_t i = row * samples->channels + k;
        const double weight = weight_of(c, samples, i);
        const int64_t tile = weight == 0 ? -1 : tile_of(c, uvw, s->wavenumber[k]);
        if (tile < 0 && weight != 0) {
            s->outside.samples++;
            s->outside.weight += weight;
        }
        if (tile >= 0 && tile == last)
            s->entry[s->count - 1].last = k + 1;
        else if (tile >= 0 && append(s, tile, (grove_convolution_entry){row, k, k + 1}))
            return -1;
        last = tile;
    }
    return 0;
}

/* A stable counting sort; then tiles of one colour have no common neighbour. */
static int sort(const grove_convolution *c, sorting *s)
{
    const int64_t tiles = c->tiles[0] * c->tiles[1];
    grove_convolution_entry *sorted = malloc((size_t)(s->count + 1) * sizeof(*sorted));
    int64_t count = 0;

    s->first = calloc((size_t)tiles + 2, sizeof(*s->first));
    s->task = malloc((size_t)tiles * sizeof(*s->task));
    if (!sorted || !s->first || !s->task) {
        free(sorted);
        return -1;
    }
    for (int64_t i = 0; i < s->count; i++)
        s->first[s->key[i] + 2]++;
    for (int64_t k = 2; k < tiles + 2; k++)
        s->first[k] += s->first[k - 1];
    for (int64_t i = 0; i < s->count; i++)
        sorted[s->first[s->key[i] + 1]++] = s->entry[i];
    free(s->entry);
    s->entry = sorted;
    for (int colour = 0; colour < 4; colour++) {
        s->begin[colour] = count;
        for (int64_t tile = 0; tile < tiles; tile++) {
            int64_t u = tile % c->tiles[0], v = tile / c->tiles[0];
            if ((u & 1) + 2 * (v & 1) == colour && s->first[tile] < s->first[tile + 1])
                s->task[count++] = (int32_t)tile;
        }
    }
    s->begin[4] = count;
    return 0;
}

static int make_sorting(const grove_convolution *c, const grove_gridder_samples *samples,
                        sorting *s)
{
    int code = 0;

    *s = (sorting){.wavenumber = malloc((size_t)samples->channels * sizeof(double) + 1)};
    if (!s->wavenumber)
        return -1;
    for (int64_t k = 0; k < samples->channels; k++)
        s->wavenumber[k] = samples->freq[k] / speed_of_light;
    for (int64_t row = 0; row < samples->rows && !code; row++)
        code = scan_row(c, samples, (int32_t)row, s);
    code = code ? code : sort(c, s);
    if (code)
        free_sorting(s);
    return code;
}

/* ---- tiles ---- */

typedef struct {
    grove_convolution *c;
    const grove_gridder_samples *samples;
    const grove_convolution_mueller *mueller;
    const sorting *s;
    double *sums;  /* [task][4], or NULL */
    int64_t first; /* task of the colour */
    bool predicts;
    atomic_bool failed;
} work;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Between a tile's buffer and the cells of the grid that its functions reach. */
#define EXCHANGE(real)                                                                             \
    static void exchange_##real(const grove_convolution *c, real *buffer, real *grid,              \
                                const int64_t origin[2], bool to_grid)                             \
    {                                                                                              \
        const int64_t reach = c->tile + c->plan.support - 1, imaginary = c->row * c->height,       \
                      columns = least(reach, c->plan.grid[0] - origin[0]),                         \
                      rows = least(reach, c->plan.grid[1] - origin[1]);                            \
                                                                                                   \
        for (int64_t y = 0; y < rows; y++) {                                                       \
            real *cell = grid + 2 * ((origin[1] + y) * c->plan.grid[0] + origin[0]),               \
                 *at = buffer + y * c->row;                                                        \
            for (int64_t x = 0; x < columns && to_grid; x++) {                                     \
                cell[2 * x] += at[x];                                                              \
                cell[2 * x + 1] += at[imaginary + x];                                              \
            }                                                                                      \
            for (int64_t x = 0; x < columns && !to_grid; x++) {                                    \
                at[x] = cell[2 * x];                                                               \
                at[imaginary + x] = cell[2 * x + 1];                                               \
            }                                                                                      \
        }                                                                                          \
    }

EXCHANGE(float)
EXCHANGE(double)

static void exchange(const grove_convolution *c, void *buffer, const int64_t origin[2],
                     bool to_grid)
{
    const int64_t cells = 2 * c->plan.grid[0] * c->plan.grid[1], numbers = 2 * c->row * c->height;

    for (int r = 0; r < c->plan.images; r++)
        if (c->plan.double_precision)
            exchange_double(c, (double *)buffer + r * numbers, (double *)c->grid + r * cells,
                            origin, to_grid);
        else
            exchange_float(c, (float *)buffer + r * numbers, (float *)c->grid + r * cells, origin,
                           to_grid);
}

enum { TOGETHER = 1024 }; /* samples that are summed up in a buffer before the grid has them */

/* A sum of very many samples in one place loses digits of single precision, as rounding errors are
 * relative to the sum: so some samples are summed at a time. */
static void spread_tile(const grove_convolution *c, grove_convolution_job *job, int64_t numbers)
{
    const grove_convolution_entry *end = job->entries + job->count;

    for (const grove_convolution_entry *at = job->entries, *from = at; at < end; from = at) {
        int64_t samples = 0;
        while (at < end && samples < TOGETHER) {
            samples += at->last - at->first;
            at++;
        }
        memset(job->buffer, 0, (size_t)numbers * c->real);
        job->entries = from;
        job->count = at - from;
        c->loops->spread(job);
        exchange(c, job->buffer, job->origin, true);
    }
}

static void do_tile(void *context, int64_t i)
{
    work *w = context;
    const grove_convolution *c = w->c;
    const int64_t tile = w->s->task[w->first + i], first = w->s->first[tile];
    grove_convolution_job job = {
        .plan = &c->plan,
        .functions = c->functions,
        .sums = w->sums ? c->sums : NULL,
        .width = c->width,
        .samples = w->samples,
        .mueller = w->mueller,
        .wavenumber = w->s->wavenumber,
        .entries = w->s->entry + first,
        .count = w->s->first[tile + 1] - first,
        .origin = {tile % c->tiles[0] * c->tile, tile / c->tiles[0] * c->tile},
        .row = c->row,
        .imaginary = c->row * c->height};
    const int64_t numbers = 2 * c->plan.images * job.row * c->height,
                  turned = c->plan.linear || (w->mueller && w->mueller->gradient)
                               ? 8 * c->width * c->plan.support
                               : 0;

    job.buffer = zeroed((uint64_t)(numbers + turned) * c->real);
    if (!job.buffer) {
        w->failed = true;
        return;
    }
    job.turned = (char *)job.buffer + (size_t)numbers * c->real;
    if (w->predicts) {
        exchange(c, job.buffer, job.origin, false);
        c->loops->collect(&job);
    } else {
        spread_tile(c, &job, numbers);
    }
    if (w->sums)
        memcpy(w->sums + 4 * (w->first + i), job.sum, sizeof(job.sum));
    free(job.buffer);
}

/* |sum of the numbers| of each block. */
static int find_sums(grove_convolution *c)
{
    const int64_t size = 2 * c->width * c->plan.support, blocks = (int64_t)block_count(&c->plan);

    if (c->sums)
        return 0;
    c->sums = malloc((size_t)blocks * c->real);
    for (int64_t block = 0; c->sums && block < blocks; block++) {
        double sum[2] = {0, 0};
        for (int64_t k = 0; k < size; k++)
            sum[k / c->width % 2] += c->plan.double_precision
                                         ? ((const double *)c->functions)[block * size + k]
                                         : (double)((const float *)c->functions)[block * size + k];
        if (c->plan.double_precision)
            ((double *)c->sums)[block] = hypot(sum[0], sum[1]);
        else
            ((float *)c->sums)[block] = (float)hypot(sum[0], sum[1]);
    }
    return c->sums ? 0 : -1;
}

static int do_tiles(work *w, const grove_gridder_threads *threads, grove_gridder_outside *outside,
                    double *sums)
{
    grove_convolution *c = w->c;
    sorting s;

    if ((sums && find_sums(c)) || make_sorting(c, w->samples, &s))
        return -1;
    w->s = &s;
    w->sums = sums ? calloc((size_t)s.begin[4] + 1, 4 * sizeof(double)) : NULL;
    w->failed = sums && !w->sums;
    for (int colour = 0; colour < 4 && !w->failed; colour++) {
        w->first = s.begin[colour];
        threads->run(threads->pool, s.begin[colour + 1] - w->first, do_tile, w);
    }
    for (int64_t k = 0; w->sums && k < 4 * s.begin[4]; k++)
        if (k % 4 < c->plan.images)
            sums[k % 4] += w->sums[k];
    outside->samples += s.outside.samples;
    outside->weight += s.outside.weight;
    free(w->sums);
    free_sorting(&s);
    return w->failed ? -1 : 0;
}

int grove_convolution_add(grove_convolution *c, const grove_gridder_samples *samples,
                          const grove_convolution_mueller *mueller,
                          const grove_gridder_threads *threads, grove_gridder_outside *outside,
                          double *sums)
{
    return do_tiles(&(work){.c = c, .samples = samples, .mueller = mueller}, threads, outside,
                    sums);
}

int grove_convolution_predict(grove_convolution *c, const grove_gridder_samples *samples,
                              const grove_convolution_mueller *mueller,
                              const grove_gridder_threads *threads, grove_gridder_outside *outside)
{
    const grove_gridder_samples all = {.rows = samples->rows,
                                       .channels = samples->channels,
                                       .uvw = samples->uvw,
                                       .freq = samples->freq,
                                       .data = samples->data};

    memset(samples->data, 0,
           (size_t)(samples->rows * samples->channels * c->plan.visibilities) * 2 * c->real);
    return do_tiles(&(work){.c = c, .samples = &all, .mueller = mueller, .predicts = true}, threads,
                    outside, NULL);
}
