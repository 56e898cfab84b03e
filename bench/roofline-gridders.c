/* The gridders: visibilities of 64 stations that turn, on a grid and back. */
#include "roofline.h"

#include "machine.h"

#include "../kernels/imaging/convolution/convolution.h"
#include "../kernels/imaging/gridder/gridder_hot.h"
#include "../kernels/imaging/idg/idg_hot.h"

#include "cell.h"
#include "unstable/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 64, BASELINES = STATIONS * (STATIONS - 1) / 2 };
enum { SUPPORT = 7, OVERSAMPLING = 20, EIGHT = 8 };
#define CELL 1e-5 /* rad */

typedef struct {
    const bench_kernel *kernel;
    grove_gridder_plan plan;
    grove_gridder_samples samples;
    grove_gridder *gridder;
    grove_convolution *convolution;
    grove_idg *idg;
    grove_convolution_mueller mueller;
    int32_t *index, *row, *channel;
    double *uvw, *freq;
} state;

static const grove_gridder_threads one_thread = {grove_parallel_items, NULL};

static void must(int code)
{
    if (code) {
        fprintf(stderr, "grove bench roofline: no memory, or an accuracy that cannot be had\n");
        exit(1);
    }
}

static double draw(uint64_t k)
{
    return grove_random_uniform(grove_random_bits(5, k, 0, 0, 0)) - 0.5;
}

static void put(void *to, int64_t at, double x, int bytes)
{
    if (bytes == 4)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

/* 45 stations within 300 m, the rest within 4 km, at declination -45 degrees, each minute. */
static void place(state *s, int times)
{
    double at[STATIONS][3], *to = s->uvw;

    for (int i = 0; i < STATIONS; i++)
        for (int d = 0; d < 3; d++)
            at[i][d] = (i < 45 ? 300 : 8000) * draw((uint64_t)(3 * i + d)) * (d == 2 ? 0.1 : 1);
    for (int t = 0; t < times; t++) {
        const double angle = 7.27e-5 * 60 * t, c = cos(angle), e = sin(angle);
        for (int i = 0; i < STATIONS; i++)
            for (int j = i + 1; j < STATIONS; j++, to += 3) {
                const double x = at[i][0] - at[j][0], y = at[i][1] - at[j][1],
                             z = at[i][2] - at[j][2];
                const double turned = c * y - e * x;
                to[0] = c * x + e * y;
                to[1] = 0.707 * z + 0.707 * turned;
                to[2] = 0.707 * turned - 0.707 * z;
            }
    }
}

static state *make_state(const bench_kernel *kernel, const bench_setup *setup)
{
    state *s = bench_allocate(1, sizeof(*s));
    const int64_t rows = (int64_t)setup->times * BASELINES, count = rows * setup->channels;

    s->kernel = kernel;
    s->uvw = bench_allocate((size_t)rows * 3, sizeof(*s->uvw));
    s->freq = bench_allocate((size_t)setup->channels, sizeof(*s->freq));
    place(s, setup->times);
    for (int k = 0; k < setup->channels; k++)
        s->freq[k] = 1e9 + 5e8 * k / setup->channels;
    s->samples =
        (grove_gridder_samples){.rows = rows,
                                .channels = setup->channels,
                                .uvw = s->uvw,
                                .freq = s->freq,
                                .data = bench_allocate((size_t)count * 2, (size_t)setup->bytes)};
    for (int64_t k = 0; k < 2 * count; k++)
        put(s->samples.data, k, draw((uint64_t)k), setup->bytes);
    return s;
}

static void choose_plan(state *s, const bench_setup *setup, bool flat)
{
    const double most = s->freq[setup->channels - 1] / GROVE_SPEED_OF_LIGHT;
    grove_gridder_image image = {{setup->size, setup->size}, {CELL, CELL}, {0, 0}};
    grove_gridder_bounds bounds = {.samples = (double)s->samples.rows * setup->channels,
                                   .polarisations = 1,
                                   .double_precision = setup->bytes == 8,
                                   .without_w = flat};

    for (int64_t row = 0; row < s->samples.rows; row++) {
        bounds.max_u = fmax(bounds.max_u, fabs(s->uvw[3 * row]) * most);
        bounds.max_v = fmax(bounds.max_v, fabs(s->uvw[3 * row + 1]) * most);
        bounds.max_w = fmax(bounds.max_w, fabs(s->uvw[3 * row + 2]) * most);
    }
    must(grove_gridder_plan_choose(&image, &bounds, setup->epsilon, &s->plan));
}

void bench_end_gridder(void *context)
{
    state *s = context;

    grove_gridder_free(s->gridder);
    grove_convolution_free(s->convolution);
    grove_idg_free(s->idg);
    free(s->samples.data);
    free(s->index);
    free(s->row);
    free(s->channel);
    free(s->uvw);
    free(s->freq);
    free(s);
}

/* ---- w-stacking ---- */

/* The cell in which a kernel begins, and its tile. */
typedef struct {
    int32_t tile[2], cell[3], number;
} spot;

static int by_tile(const void *a, const void *b)
{
    const spot *x = a, *y = b;
    int order = memcmp(x->tile, y->tile, sizeof(x->tile));

    return order ? order : x->number - y->number;
}

static int by_cell(const void *a, const void *b)
{
    return memcmp(((const spot *)a)->cell, ((const spot *)b)->cell, sizeof(((spot *)0)->cell));
}

static void find_spots(const state *s, spot *spots)
{
    const grove_gridder_plan *p = &s->plan;

    for (int64_t i = 0; i < s->samples.rows * s->samples.channels; i++) {
        const double *uvw = s->uvw + 3 * (i / s->samples.channels);
        const double k =
            s->freq[i % s->samples.channels] / GROVE_SPEED_OF_LIGHT * (uvw[2] < 0 ? -1 : 1);
        for (int d = 0; d < 2; d++) {
            double at = uvw[d] * k * (double)p->grid[d] * p->image.cell[d];
            spots[i].cell[d] = (int32_t)grove_gridder_first(at, p->kernel.width);
            spots[i].tile[d] = (int32_t)floor(spots[i].cell[d] / (double)GROVE_GRIDDER_TILE);
        }
        if (p->step_w > 0)
            spots[i].cell[2] = (int32_t)grove_gridder_first((uvw[2] * k - p->first_w) / p->step_w,
                                                            p->kernel_w.width);
        spots[i].number = (int32_t)i;
    }
}

/* How often cells are loaded for a sample: those that are sorted together and begin in one cell
 * meet in registers, 32 at most. Groups of planes, which divide them further, are not counted.
 * *tiles: in which kernels begin. */
static double loads_of(const state *s, int64_t *tiles)
{
    enum { BATCH = 32 };
    const int64_t count = s->samples.rows * s->samples.channels;
    spot *spots = bench_allocate((size_t)count, sizeof(*spots));
    int64_t loads = 0;

    find_spots(s, spots);
    qsort(spots, (size_t)count, sizeof(*spots), by_tile);
    *tiles = 1;
    for (int64_t k = 1; k < count; k++)
        *tiles += memcmp(spots[k - 1].tile, spots[k].tile, sizeof(spots[k].tile)) != 0;
    for (int64_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && end - first < GROVE_GRIDDER_CHUNK &&
                              !memcmp(spots[end].tile, spots[first].tile, sizeof(spots[end].tile));
             end++)
            ;
        qsort(spots + first, (size_t)(end - first), sizeof(*spots), by_cell);
        for (int64_t k = first; k < end; k++)
            loads += (k - first) % BATCH == 0 || by_cell(&spots[k - 1], &spots[k]) != 0;
    }
    free(spots);
    return (double)loads / (double)count;
}

/* Two multiply-adds for each cell of a kernel; taps by polynomials of the degree width + 1, and
 * their products. Planes are read, and written where they are added to. */
static bench_work work_of(const state *s, const bench_setup *setup)
{
    const double width = s->plan.kernel.width, planes = s->plan.kernel_w.width,
                 count = (double)s->samples.rows * setup->channels, complex_ = 2.0 * setup->bytes;
    const double lanes = 64.0 / setup->bytes, row = ceil(2 * width / lanes) * lanes / 2;
    const double ways = s->kernel->degrids ? 1 : 2;
    int64_t tiles;

    return (bench_work){
        .operations = 2 * width * width * planes + (width + 2) * (2 * width + planes) +
                      width * planes + 2 * width,
        .phases = planes > 1 ? 1 : 0,
        .memory = (s->kernel->degrids ? 2 : 1) * complex_ + 24.0 / setup->channels +
                  ways * (double)grove_gridder_bytes(s->gridder) / count,
        .cache = ways * complex_ * row * width * planes * loads_of(s, &tiles),
    };
}

void *bench_begin_w_stack(const bench_kernel *kernel, const bench_setup *setup, bench_work *work)
{
    state *s = make_state(kernel, setup);
    const int64_t size = setup->size;
    double *image = bench_allocate((size_t)(size * size), sizeof(*image));

    choose_plan(s, setup, false);
    s->gridder = grove_gridder_new(&s->plan, (grove_isa)setup->isa);
    must(!s->gridder);
    for (int64_t k = 0; k < size * size; k++)
        put(image, k, 1e-3 * draw((uint64_t)k), setup->bytes);
    if (kernel->degrids) {
        must(grove_gridder_expect(s->gridder, &s->samples, &one_thread));
        must(grove_gridder_from_image(s->gridder, 0, &(grove_gridder_pixels){image, 1, size},
                                      &one_thread));
    } else {
        bench_run_w_stack(s); /* planes are there then */
    }
    free(image);
    *work = work_of(s, setup);
    return s;
}

double bench_run_w_stack(void *context)
{
    state *s = context;
    grove_gridder_outside outside = {0};

    must(s->kernel->degrids ? grove_gridder_predict(s->gridder, &s->samples, &one_thread, &outside)
                            : grove_gridder_add(s->gridder, &s->samples, &one_thread, &outside));
    return (double)s->samples.rows * (double)s->samples.channels;
}

/* ---- functions ---- */

static void make_functions(state *s, const bench_setup *setup)
{
    const int functions = s->kernel->functions;
    grove_convolution_plan plan = {.grid = {s->plan.grid[0], s->plan.grid[1]},
                                   .support = SUPPORT,
                                   .oversampling = OVERSAMPLING,
                                   .functions = functions,
                                   .planes = 1,
                                   .visibilities = 1,
                                   .images = 1,
                                   .double_precision = setup->bytes == 8};
    const int64_t side = grove_convolution_side(&plan), numbers = functions * side * side * 2;
    void *all = bench_allocate((size_t)numbers, (size_t)setup->bytes);

    for (int d = 0; d < 2; d++)
        plan.scale[d] = (double)plan.grid[d] * CELL;
    for (int64_t k = 0; k < numbers; k++)
        put(all, k, draw((uint64_t)k), setup->bytes);
    s->index = bench_allocate((size_t)(2 * functions), sizeof(*s->index));
    s->row = bench_allocate((size_t)s->samples.rows, sizeof(*s->row));
    s->channel = bench_allocate((size_t)setup->channels, sizeof(*s->channel));
    for (int k = 0; k < 2 * functions; k++)
        s->index[k] = k / 2;
    for (int64_t k = 0; k < s->samples.rows; k++)
        s->row[k] = (int32_t)(k % functions);
    s->mueller = (grove_convolution_mueller){s->index, s->row, s->channel, NULL};
    s->convolution = grove_convolution_new(&plan, all, (grove_isa)setup->isa);
    must(!s->convolution);
    free(all);
}

/* Four multiply-adds for each cell of a function, rows of which are whole vectors of eight. A
 * function is read from memory where there are many, else from cache; cells are in it. */
void *bench_begin_functions(const bench_kernel *kernel, const bench_setup *setup, bench_work *work)
{
    state *s = make_state(kernel, setup);
    const double complex_ = 2.0 * setup->bytes,
                 block = complex_ * SUPPORT * ((SUPPORT + EIGHT - 1) / EIGHT * EIGHT);
    int64_t tiles;

    choose_plan(s, setup, true);
    make_functions(s, setup);
    loads_of(s, &tiles);
    const double cells = (double)tiles * GROVE_GRIDDER_TILE * GROVE_GRIDDER_TILE,
                 count = (double)s->samples.rows * setup->channels;
    const double ways = kernel->degrids ? 1 : 2;
    *work = (bench_work){
        .operations = 4.0 * SUPPORT * SUPPORT,
        .memory = complex_ + 24.0 / setup->channels + ways * complex_ * cells / count +
                  (kernel->functions > 1 ? block : 0),
        .cache = block * (1 + ways),
    };
    return s;
}

double bench_run_functions(void *context)
{
    state *s = context;
    grove_gridder_outside outside = {0};

    must(s->kernel->degrids ? grove_convolution_predict(s->convolution, &s->samples, &s->mueller,
                                                        &one_thread, &outside)
                            : grove_convolution_add(s->convolution, &s->samples, &s->mueller,
                                                    &one_thread, &outside, NULL));
    return (double)s->samples.rows * (double)s->samples.channels;
}

/* ---- image-domain gridding ---- */

/* Cells of the planes that some subgrid has. */
static double touched_of(const state *s, const grove_idg_plan *p)
{
    const int64_t cells = p->grid.planes * p->grid.grid[0] * p->grid.grid[1];
    const void *planes = grove_idg_planes(s->idg);
    int64_t touched = 0;

    for (int64_t k = 0; k < cells; k++)
        touched += p->grid.bounds.double_precision ? ((const double *)planes)[2 * k] != 0
                                                   : ((const float *)planes)[2 * k] != 0;
    return (double)touched;
}

/* Two thin matrices: 4 multiply-adds for each pixel, and of both lines 4 for a step to the next
 * channel, and of one 4 for the visibility, or its sum. Of a subgrid's pixels 6 for taper and w,
 * and transforms along both axes. Sines and cosines are of two lines of each block of channels, and
 * as many of its step, and of each pixel of a subgrid. Subgrids and lines stay in the first cache.
 */
static bench_work work_of_idg(const state *s, const grove_idg_plan *p, const bench_setup *setup)
{
    grove_idg_counts counts = {0};
    const double n = p->side, count = (double)s->samples.rows * setup->channels,
                 ways = s->kernel->degrids ? 1 : 2, complex_ = 2.0 * setup->bytes;

    must(grove_idg_count(p, &s->samples, BASELINES, NULL, &counts));
    const double pixels = n * n * (double)counts.subgrids / (double)counts.visibilities,
                 block = fmin(GROVE_IDG_RESTART, setup->channels);
    return (bench_work){
        .operations = 4 * n * n + 12 * n + pixels * (6 + 4 * log2(n)),
        .phases = 4 * n / block + pixels,
        .memory = complex_ + 24.0 / setup->channels + ways * complex_ * touched_of(s, p) / count,
        .shared = (double)counts.visibilities / (double)counts.subgrids,
    };
}

void *bench_begin_idg(const bench_kernel *kernel, const bench_setup *setup, bench_work *work)
{
    state *s = make_state(kernel, setup);
    const grove_idg_request request = {.side = 0};
    grove_gridder_outside outside = {0};
    grove_idg_plan plan;
    char said[200];

    choose_plan(s, setup, false);
    must(grove_idg_plan_choose(&s->plan.image, &s->plan.bounds, &request, setup->epsilon, &plan,
                               said));
    s->idg = grove_idg_new(&plan, (grove_isa)setup->isa);
    must(!s->idg);
    must(grove_idg_add(s->idg, &s->samples, BASELINES, NULL, &one_thread, &outside, NULL));
    *work = work_of_idg(s, &plan, setup);
    return s;
}

double bench_run_idg(void *context)
{
    state *s = context;
    grove_gridder_outside outside = {0};

    must(s->kernel->degrids
             ? grove_idg_predict(s->idg, &s->samples, BASELINES, NULL, &one_thread, &outside, NULL)
             : grove_idg_add(s->idg, &s->samples, BASELINES, NULL, &one_thread, &outside, NULL));
    return (double)s->samples.rows * (double)s->samples.channels;
}
