/* Planes to an image and back: rows that hold samples are transformed, then the columns of the
 * results in the view; the image is interpolated from the view unless it is the same. The other way
 * it is done in reverse. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE, LANES = GROVE_GRIDDER_LANES, ROOM = 128 };

typedef struct {
    grove_gridder *g;
    grove_gridder_image view;         /* to which planes are transformed */
    grove_gridder_fourier fourier[2]; /* along u and v */
    int64_t first; /* planes that are worked at: `batch` ones from here, or the rest */
    int64_t batch;
    int polarisation;
    char *rows; /* [plane][strip of 16 columns][rows kept][16] complex numbers */
    grove_gridder_pixels image;
    grove_gridder_sky sky, coarse_sky;      /* of the image, and of the view */
    grove_gridder_resampling resampling[2]; /* between them */
    char *coarse, *middle; /* the view's pixels, [row][coarse_stride]; rows on the way to them */
    bool begin, last;      /* whether these planes are the first ones of all, or the last */
    grove_gridder_pool lines, columns;
    atomic_bool failed;
} work;

static int64_t strips_of(const grove_gridder_image *view)
{
    return (view->size[0] + LANES - 1) / LANES;
}

static int64_t strips(const work *w)
{
    return strips_of(&w->view);
}

static size_t pair(const grove_gridder *g)
{
    return 2 * g->real;
}

/* Numbers from row to row, with room for vectors; not a multiple of pages, lest all rows share a
 * place in the cache. */
static int64_t stride_of(int64_t columns)
{
    return (columns + ROOM - 1) / ROOM * ROOM + LANES;
}

/* ---- rows of the grid, 16 at a time ---- */

static size_t cells_bytes(const grove_gridder *g)
{
    return (size_t)(g->columns[0] * TILE * TILE) * pair(g);
}

/* Item i is a row of tiles of one plane. */
static void transform_rows(work *w, int64_t i, bool to_image)
{
    const grove_gridder *g = w->g;
    const int64_t v = i % g->columns[1], plane = i / g->columns[1];
    char *room = grove_gridder_pool_take(&w->lines);
    const size_t pixels = (size_t)(strips(w) * LANES * TILE) * pair(g);

    if (!room) {
        w->failed = true;
        return;
    }
    grove_gridder_row row = {
        .fourier = &w->fourier[0],
        .tiles = g->columns[0],
        .strips = strips(w),
        .cells = room,
        .pixels = room + cells_bytes(g),
        .work = room + cells_bytes(g) + pixels,
        .block =
            (void **)(room + cells_bytes(g) + pixels + grove_gridder_fourier_bytes(&w->fourier[0])),
        .strip = 2 * g->columns[1] * TILE * LANES,
        .rows =
            w->rows + (size_t)((plane * strips(w) * g->columns[1] + v) * TILE * LANES) * pair(g)};
    for (int64_t u = 0; u < row.tiles; u++) {
        char *block = grove_gridder_block(g, w->first + plane, v, u);
        row.block[u] = block ? block + (size_t)(w->polarisation * TILE * TILE) * pair(g) : NULL;
    }
    (to_image ? g->loops->row_to_image : g->loops->row_from_image)(&row);
    grove_gridder_pool_give(&w->lines, room);
}

static void transform_rows_to_image(void *context, int64_t i)
{
    transform_rows(context, i, true);
}

static void transform_rows_from_image(void *context, int64_t i)
{
    transform_rows(context, i, false);
}

/* ---- columns of the view, 16 at a time ---- */

static int64_t planes_at_work(const work *w)
{
    int64_t left = w->g->end_plane - w->first;

    return left < w->batch ? left : w->batch;
}

static size_t columns_bytes(const work *w)
{
    return (size_t)(w->batch * w->view.size[1]) * GROVE_GRIDDER_PAIR_BYTES;
}

static int open_strip(work *w, int64_t i, grove_gridder_strip *s)
{
    const grove_gridder *g = w->g;
    const grove_gridder_plan *p = &g->plan;
    const int64_t first = i * LANES, left = w->view.size[0] - first;
    const int64_t kept = g->columns[1] * TILE * LANES;
    const int64_t pixel = w->coarse ? 1 : w->image.pixel;
    char *columns = grove_gridder_pool_take(&w->columns);

    *s = (grove_gridder_strip){
        .fourier = &w->fourier[1],
        .sky = w->coarse ? &w->coarse_sky : &w->sky,
        .planes = planes_at_work(w),
        .size = w->view.size[1],
        .first = first,
        .count = left < LANES ? left : LANES,
        .w = p->bounds.without_w ? 0 : p->first_w + (double)w->first * p->step_w,
        .step_w = p->step_w,
        .rows = w->rows + (size_t)(i * kept) * pair(g),
        .rows_stride = 2 * strips(w) * kept,
        .columns = columns,
        .work = columns + columns_bytes(w),
        .image = (w->coarse ? w->coarse : (char *)w->image.at) + first * pixel * (int64_t)g->real,
        .pixel_stride = pixel,
        .image_stride = w->coarse ? stride_of(w->view.size[0]) : w->image.row,
        .begin = w->first == g->first_plane && (w->begin || w->coarse),
        .correct = w->last && w->first + planes_at_work(w) == g->end_plane && !w->coarse};
    w->failed = w->failed || !columns;
    return columns ? 0 : -1;
}

static void add_strip(void *context, int64_t i)
{
    work *w = context;
    grove_gridder_strip s;

    if (open_strip(w, i, &s))
        return;
    w->g->loops->to_image(&s);
    grove_gridder_pool_give(&w->columns, s.columns);
}

static void take_strip(void *context, int64_t i)
{
    work *w = context;
    grove_gridder_strip s;

    if (open_strip(w, i, &s))
        return;
    s.correct = !w->coarse;
    w->g->loops->from_image(&s);
    grove_gridder_pool_give(&w->columns, s.columns);
}

/* ---- between the view and the image ---- */

static int64_t line_of(const work *w)
{
    const int64_t a = w->view.size[0], b = w->g->plan.image.size[0];

    return stride_of(a > b ? a : b);
}

typedef void rows_function(const grove_gridder_rows *rows);

/* `size` is the length of the rows of the result; item i has 16 or fewer of them. */
static void run_rows(work *w, int64_t i, int64_t size, rows_function *fn, grove_gridder_rows r)
{
    const size_t room = (size_t)(line_of(w) * TILE) * w->g->real;
    char *lines = grove_gridder_pool_take(&w->lines);

    if (!lines) {
        w->failed = true;
        return;
    }
    r.along_l = &w->resampling[0];
    r.along_m = &w->resampling[1];
    r.sky = &w->sky;
    r.first = i * TILE;
    r.count = size - r.first < TILE ? size - r.first : TILE;
    r.lines = lines;
    r.turned = lines + room;
    r.done = lines + 2 * room;
    r.line = line_of(w);
    r.coarse_stride = stride_of(w->view.size[0]);
    fn(&r);
    grove_gridder_pool_give(&w->lines, lines);
}

static void refine_rows(void *context, int64_t i)
{
    work *w = context;

    run_rows(w, i, w->g->plan.image.size[1], w->g->loops->refine,
             (grove_gridder_rows){.image = w->image.at,
                                  .pixel_stride = w->image.pixel,
                                  .image_stride = w->image.row,
                                  .coarse = w->coarse,
                                  .begin = w->begin,
                                  .correct = w->last});
}

static void coarsen_rows(void *context, int64_t i)
{
    work *w = context;

    run_rows(w, i, w->g->plan.image.size[1], w->g->loops->coarsen_rows,
             (grove_gridder_rows){.image = w->image.at,
                                  .pixel_stride = w->image.pixel,
                                  .image_stride = w->image.row,
                                  .coarse = w->middle,
                                  .correct = true});
}

static void coarsen_columns(void *context, int64_t i)
{
    work *w = context;

    run_rows(w, i, w->view.size[1], w->g->loops->coarsen_columns,
             (grove_gridder_rows){.image = w->coarse,
                                  .pixel_stride = 1,
                                  .image_stride = stride_of(w->view.size[0]),
                                  .coarse = w->middle});
}

static int open_resampling(work *w, bool to_coarse)
{
    int code = 0;

    for (int d = 0; d < 2; d++)
        code = grove_gridder_make_resampling(w->g, d, to_coarse, &w->resampling[d]) || code;
    grove_gridder_pool_open(&w->lines, (size_t)(3 * line_of(w) * TILE) * w->g->real);
    return code;
}

static void close_resampling(work *w)
{
    for (int d = 0; d < 2; d++)
        grove_gridder_resampling_free(&w->resampling[d]);
    grove_gridder_pool_close(&w->lines);
}

static void *coarse_rows(const work *w, int64_t rows)
{
    return grove_gridder_room((size_t)(stride_of(w->view.size[0]) * rows) * w->g->real);
}

static void refine(work *w, const grove_gridder_threads *threads)
{
    if (open_resampling(w, false))
        w->failed = true;
    else
        threads->run(threads->pool, (w->g->plan.image.size[1] + TILE - 1) / TILE, refine_rows, w);
    close_resampling(w);
}

static void coarsen(work *w, const grove_gridder_threads *threads)
{
    w->middle = coarse_rows(w, w->g->plan.image.size[1]);
    if (open_resampling(w, true) || !w->middle) {
        w->failed = true;
    } else {
        threads->run(threads->pool, (w->g->plan.image.size[1] + TILE - 1) / TILE, coarsen_rows, w);
        threads->run(threads->pool, (w->view.size[1] + TILE - 1) / TILE, coarsen_columns, w);
    }
    free(w->middle);
    close_resampling(w);
}

/* ---- whole images ---- */

double *grove_gridder_make_factors(const grove_gridder *g, int d)
{
    const grove_gridder_plan *p = &g->plan;
    double *factor = calloc((size_t)(p->image.size[d] + LANES), sizeof(*factor));

    for (int64_t k = 0; factor && k < p->image.size[d]; k++)
        factor[k] = 1 / grove_gridder_kernel_transform(
                            &p->kernel, (double)(k - p->image.size[d] / 2) / (double)p->grid[d]);
    return factor;
}

static int open_sky(const grove_gridder_plan *p, const grove_gridder_image *image,
                    grove_gridder_sky *sky)
{
    *sky = (grove_gridder_sky){.l = calloc((size_t)(image->size[0] + LANES), sizeof(*sky->l)),
                               .first_m =
                                   image->centre[1] - (double)(image->size[1] / 2) * image->cell[1],
                               .step_m = image->cell[1],
                               .middle_n = p->middle_n,
                               .polynomial = {1},
                               .scale_t = p->half_n > 0 ? 1 / (p->half_n * p->half_n) : 0};
    for (int64_t k = 0; sky->l && k < image->size[0]; k++)
        sky->l[k] = image->centre[0] + (double)(k - image->size[0] / 2) * image->cell[0];
    return sky->l ? 0 : -1;
}

static int open_factors(const grove_gridder *g, grove_gridder_sky *sky)
{
    const grove_gridder_plan *p = &g->plan;

    if (p->kernel_w.width > 1)
        sky->degree = grove_gridder_kernel_fit_inverse(&p->kernel_w, p->half_n * p->step_w,
                                                       g->real == sizeof(float) ? 1e-7 : 1e-13,
                                                       sky->polynomial);
    sky->factor_l = grove_gridder_make_factors(g, 0);
    sky->factor_m = grove_gridder_make_factors(g, 1);
    return sky->factor_l && sky->factor_m ? 0 : -1;
}

static void close_sky(grove_gridder_sky *sky)
{
    free(sky->l);
    free(sky->factor_l);
    free(sky->factor_m);
}

static int open_work(work *w)
{
    const grove_gridder *g = w->g;

    w->view = grove_gridder_view(&g->plan);
    w->begin = g->first_plane == 0;
    w->last = g->end_plane >= g->plan.planes;
    w->failed = open_sky(&g->plan, &g->plan.image, &w->sky) || w->failed;
    w->failed = open_sky(&g->plan, &w->view, &w->coarse_sky) || w->failed;
    w->failed = open_factors(g, &w->sky) || w->failed;
    for (int d = 0; d < 2; d++)
        w->failed = grove_gridder_fourier_make(g, d, &w->fourier[d]) || w->failed;
    w->coarse = g->plan.taps ? coarse_rows(w, w->view.size[1]) : NULL;
    w->failed = w->failed || (g->plan.taps && !w->coarse);
    return w->failed ? -1 : 0;
}

static void close_work(work *w)
{
    for (int d = 0; d < 2; d++)
        grove_gridder_fourier_free(&w->fourier[d]);
    close_sky(&w->sky);
    close_sky(&w->coarse_sky);
    free(w->coarse);
}

static uint64_t rows_bytes(const grove_gridder *g, const grove_gridder_image *view)
{
    return (uint64_t)(strips_of(view) * LANES * g->columns[1] * TILE) * pair(g);
}

/* Several planes at once compute directions and phases once, for some memory. */
static int64_t batch_of(const grove_gridder *g, const grove_gridder_image *view)
{
    const int64_t *size = g->plan.image.size;
    if (g->quantum > 0 || g->plan.bounds.exact)
        return 1; /* windows may begin at any plane */
    const uint64_t most = 2 * (uint64_t)(size[0] * size[1]) * g->real, row = rows_bytes(g, view);
    int64_t batch = row ? (int64_t)(most / row) : 1;

    batch = batch < 1 ? 1 : batch > GROVE_GRIDDER_BATCH ? GROVE_GRIDDER_BATCH : batch;
    return batch > g->plan.planes ? g->plan.planes : batch;
}

uint64_t grove_gridder_image_bytes(const grove_gridder *g)
{
    const grove_gridder_image view = grove_gridder_view(&g->plan);
    const uint64_t row = (uint64_t)stride_of(view.size[0]) * g->real,
                   rows = (uint64_t)batch_of(g, &view) * rows_bytes(g, &view),
                   middle = row * (uint64_t)g->plan.image.size[1];

    if (!g->plan.taps)
        return rows;
    return row * (uint64_t)view.size[1] + (rows > middle ? rows : middle);
}

static int open_planes(work *w)
{
    const grove_gridder *g = w->g;

    w->batch = batch_of(g, &w->view);
    w->rows = grove_gridder_room((size_t)w->batch * (size_t)rows_bytes(g, &w->view));
    w->failed = w->failed || !w->rows;
    grove_gridder_pool_open(&w->lines, cells_bytes(g) +
                                           (size_t)(strips(w) * LANES * TILE) * pair(g) +
                                           grove_gridder_fourier_bytes(&w->fourier[0]) +
                                           (size_t)g->columns[0] * sizeof(void *));
    grove_gridder_pool_open(&w->columns,
                            columns_bytes(w) + grove_gridder_fourier_bytes(&w->fourier[1]));
    return w->failed ? -1 : 0;
}

static void close_planes(work *w)
{
    free(w->rows);
    grove_gridder_pool_close(&w->lines);
    grove_gridder_pool_close(&w->columns);
}

int grove_gridder_to_image(grove_gridder *g, int polarisation, const grove_gridder_pixels *image,
                           const grove_gridder_threads *threads)
{
    work w = {.g = g, .polarisation = polarisation, .image = *image, .first = g->first_plane};

    grove_gridder_settle(g);
    if (!open_work(&w)) {
        if (!open_planes(&w))
            for (; w.first < g->end_plane && !w.failed; w.first += w.batch) {
                threads->run(threads->pool, g->columns[1] * planes_at_work(&w),
                             transform_rows_to_image, &w);
                threads->run(threads->pool, strips(&w), add_strip, &w);
            }
        close_planes(&w);
        if (w.coarse && !w.failed)
            refine(&w, threads);
    }
    close_work(&w);
    return w.failed ? -1 : 0;
}

int grove_gridder_from_image(grove_gridder *g, int polarisation, const grove_gridder_pixels *image,
                             const grove_gridder_threads *threads)
{
    work w = {.g = g, .polarisation = polarisation, .image = *image, .first = g->first_plane};

    w.failed = !g->expects && grove_gridder_make_all_blocks(g) != 0;
    g->integers = false;
    if (!open_work(&w)) {
        if (w.coarse)
            coarsen(&w, threads);
        if (!open_planes(&w))
            for (; w.first < g->end_plane && !w.failed; w.first += w.batch) {
                threads->run(threads->pool, strips(&w), take_strip, &w);
                threads->run(threads->pool, g->columns[1] * planes_at_work(&w),
                             transform_rows_from_image, &w);
            }
        close_planes(&w);
    }
    close_work(&w);
    return w.failed ? -1 : 0;
}
