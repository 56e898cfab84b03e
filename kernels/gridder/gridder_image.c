/* Planes to an image and back: rows that hold samples are transformed, of the results the columns
 * of the image, of these the rows of the image. The other way it is done in reverse. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE, LANES = GROVE_GRIDDER_LANES };

typedef struct {
    grove_gridder *g;
    const grove_gridder_fft *fft;
    void *plan;                    /* of transforms along u */
    grove_gridder_fourier fourier; /* along v */
    int64_t first; /* planes that are worked at: `batch` ones from here, or what is left */
    int64_t batch;
    int polarisation;
    char *rows; /* [plane][strip of 16 columns][rows kept][16] complex numbers */
    grove_gridder_pixels image;
    double *factor[2]; /* for each pixel along l and along m: 1 / transform of the kernel */
    double polynomial[GROVE_GRIDDER_MAX_DEGREE + 1]; /* the same along w */
    int degree;
    /* For rows a line of the grid, and TILE lines: what transforms do not fill stays 0. For columns
       those of some planes of a strip, and work. */
    grove_gridder_pool lines, columns;
    atomic_bool failed;
} work;

static int64_t strips(const grove_gridder *g)
{
    return (g->plan.image.size[0] + LANES - 1) / LANES;
}

static size_t pair(const grove_gridder *g)
{
    return 2 * g->real;
}

/* From one line of the grid to the next: not a multiple of pages, lest they all share a place in
 * the cache. */
static size_t line_bytes(const grove_gridder *g)
{
    return (size_t)g->plan.grid[0] * pair(g) + 192;
}

/* Copies columns of the image between TILE rows of the grid and TILE rows of each strip. */
static void exchange_pixels(const work *w, char *full, char *rows, bool to_rows)
{
    const grove_gridder *g = w->g;
    const int64_t nx = g->plan.image.size[0], size = g->plan.grid[0];
    const size_t bytes = pair(g), strip = (size_t)(g->columns[1] * TILE * LANES) * bytes;

    for (int64_t x = 0, next; x < nx; x = next) {
        /* As many pixels as follow each other in both. */
        int64_t element = x - nx / 2 + (x < nx / 2 ? size : 0);
        next = (x / LANES + 1) * LANES;
        next = x < nx / 2 && next > nx / 2 ? nx / 2 : next > nx ? nx : next;
        size_t count = (size_t)(next - x) * bytes;
        char *in_rows = rows + (size_t)(x / LANES) * strip + (size_t)(x % LANES) * bytes;
        char *in_full = full + (size_t)element * bytes;
        for (int y = 0; y < TILE; y++, in_rows += LANES * bytes, in_full += line_bytes(g))
            memcpy(to_rows ? in_rows : in_full, to_rows ? in_full : in_rows, count);
    }
}

/* Copies cells between row y of a row of tiles and a row of the grid; whether there are any. */
static bool exchange_cells(const work *w, int64_t plane, int64_t v, int64_t y, char *line,
                           bool to_line)
{
    const grove_gridder *g = w->g;
    const size_t bytes = pair(g);
    bool any = false;

    for (int64_t u = 0; u < g->columns[0]; u++) {
        char *cells = grove_gridder_block(g, plane, v, u);
        char *at = line + (size_t)grove_gridder_grid_index(g, 0, u * TILE) * bytes;
        if (cells)
            cells += (size_t)((w->polarisation * TILE + y) * TILE) * bytes;
        any = any || cells;
        if (cells)
            memcpy(to_line ? at : cells, to_line ? cells : at, TILE * bytes);
        else if (to_line)
            memset(at, 0, TILE * bytes);
    }
    return any;
}

/* Item i is a row of tiles of one plane, whose rows of the grid are transformed. */
static void transform_rows(work *w, int64_t i, bool to_image)
{
    const grove_gridder *g = w->g;
    const bool double_precision = g->real == sizeof(double);
    const int64_t v = i % g->columns[1], plane = i / g->columns[1];
    const size_t length = line_bytes(g);
    char *rows =
        w->rows + (size_t)((plane * strips(g) * g->columns[1] + v) * TILE * LANES) * pair(g);
    char *one = grove_gridder_pool_take(&w->lines), *many = one + length;

    if (!one) {
        w->failed = true;
        return;
    }
    if (!to_image)
        exchange_pixels(w, many, rows, false);
    for (int64_t y = 0; y < TILE; y++) {
        char *line = many + (size_t)y * length;
        if (!to_image) {
            w->fft->execute(w->fft->library, w->plan, line, one, double_precision);
            exchange_cells(w, w->first + plane, v, y, one, false);
        } else if (exchange_cells(w, w->first + plane, v, y, one, true)) {
            w->fft->execute(w->fft->library, w->plan, one, line, double_precision);
        } else {
            memset(line, 0, length);
        }
    }
    if (to_image)
        exchange_pixels(w, many, rows, true);
    grove_gridder_pool_give(&w->lines, one);
}

static void transform_rows_to_image(void *context, int64_t i)
{
    transform_rows(context, i, true);
}

static void transform_rows_from_image(void *context, int64_t i)
{
    transform_rows(context, i, false);
}

/* ---- columns of the image, 16 at a time ---- */

static int64_t planes_at_work(const work *w)
{
    int64_t left = w->g->end_plane - w->first;

    return left < w->batch ? left : w->batch;
}

static size_t columns_bytes(const work *w)
{
    return (size_t)(w->batch * w->g->plan.image.size[1]) * GROVE_GRIDDER_PAIR_BYTES;
}

static int open_strip(work *w, int64_t i, grove_gridder_strip *s)
{
    const grove_gridder *g = w->g;
    const grove_gridder_plan *p = &g->plan;
    const int64_t first = i * LANES, left = p->image.size[0] - first;
    const int64_t kept = g->columns[1] * TILE * LANES;
    char *columns = grove_gridder_pool_take(&w->columns);

    *s = (grove_gridder_strip){
        .fourier = &w->fourier,
        .planes = planes_at_work(w),
        .size = p->image.size[1],
        .count = left < LANES ? left : LANES,
        .first_m = p->image.centre[1] - (double)(p->image.size[1] / 2) * p->image.cell[1],
        .step_m = p->image.cell[1],
        .w = p->bounds.without_w ? 0 : p->first_w + (double)w->first * p->step_w,
        .step_w = p->step_w,
        .middle_n = p->middle_n,
        .rows = w->rows + (size_t)(i * kept) * pair(g),
        .rows_stride = 2 * strips(g) * kept,
        .columns = columns,
        .work = columns + columns_bytes(w),
        .image = (char *)w->image.at + first * w->image.pixel * (int64_t)g->real,
        .pixel_stride = w->image.pixel,
        .image_stride = w->image.row,
        .begin = w->first == 0,
        .finish = w->first + planes_at_work(w) >= p->planes,
        .factor_m = w->factor[1],
        .polynomial = w->polynomial,
        .degree = w->degree,
        .scale_t = p->half_n > 0 ? 1 / (p->half_n * p->half_n) : 0};
    for (int64_t k = 0; k < s->count; k++) {
        s->l[k] =
            p->image.centre[0] + (double)(first + k - p->image.size[0] / 2) * p->image.cell[0];
        s->factor_l[k] = w->factor[0][first + k];
    }
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
    w->g->loops->from_image(&s);
    grove_gridder_pool_give(&w->columns, s.columns);
}

/* ---- whole images ---- */

double *grove_gridder_make_factors(const grove_gridder *g, int d)
{
    const grove_gridder_plan *p = &g->plan;
    double *factor = malloc((size_t)p->image.size[d] * sizeof(*factor));

    for (int64_t k = 0; factor && k < p->image.size[d]; k++)
        factor[k] = 1 / grove_gridder_kernel_transform(
                            &p->kernel, (double)(k - p->image.size[d] / 2) / (double)p->grid[d]);
    return factor;
}

static void close_work(work *w)
{
    if (w->plan)
        w->fft->free(w->fft->library, w->plan, w->g->real == sizeof(double));
    grove_gridder_fourier_free(&w->fourier);
    free(w->factor[0]);
    free(w->factor[1]);
    free(w->rows);
    grove_gridder_pool_close(&w->lines);
    grove_gridder_pool_close(&w->columns);
}

static int open_work(work *w, int sign)
{
    const grove_gridder *g = w->g;
    const grove_gridder_plan *p = &g->plan;
    uint64_t rows = (uint64_t)(strips(g) * LANES * g->columns[1] * TILE) * pair(g);
    uint64_t image = (uint64_t)(p->image.size[0] * p->image.size[1]) * g->real;

    w->polynomial[0] = 1;
    if (p->kernel_w.width > 1)
        w->degree = grove_gridder_kernel_fit_inverse(&p->kernel_w, p->half_n * p->step_w,
                                                     g->real == sizeof(float) ? 1e-7 : 1e-13,
                                                     w->polynomial);
    w->plan = w->fft->plan(w->fft->library, p->grid[0], sign, g->real == sizeof(double));
    w->failed = grove_gridder_fourier_make(g, &w->fourier) || w->failed || !w->plan;
    for (int d = 0; d < 2; d++) {
        w->factor[d] = grove_gridder_make_factors(g, d);
        w->failed = w->failed || !w->factor[d];
    }
    /* Several planes at once compute directions and phases once, for some memory. */
    w->batch = (int64_t)(2 * image / rows);
    w->batch = w->batch < 1 ? 1 : w->batch > GROVE_GRIDDER_BATCH ? GROVE_GRIDDER_BATCH : w->batch;
    w->batch = g->quantum > 0 ? 1 : w->batch; /* windows may begin at any plane */
    w->batch = w->batch > p->planes ? p->planes : w->batch;
    w->rows = grove_gridder_room((size_t)w->batch * rows);
    w->failed = w->failed || !w->rows;
    grove_gridder_pool_open(&w->lines, (TILE + 1) * line_bytes(g));
    grove_gridder_pool_open(&w->columns,
                            columns_bytes(w) + grove_gridder_fourier_bytes(&w->fourier));
    return w->failed ? -1 : 0;
}

int grove_gridder_to_image(grove_gridder *g, int polarisation, const grove_gridder_pixels *image,
                           const grove_gridder_fft *fft, const grove_gridder_threads *threads)
{
    work w = {
        .g = g, .fft = fft, .polarisation = polarisation, .image = *image, .first = g->first_plane};

    grove_gridder_settle(g);
    if (!open_work(&w, 1))
        for (; w.first < g->end_plane && !w.failed; w.first += w.batch) {
            threads->run(threads->pool, g->columns[1] * planes_at_work(&w), transform_rows_to_image,
                         &w);
            threads->run(threads->pool, strips(g), add_strip, &w);
        }
    close_work(&w);
    return w.failed ? -1 : 0;
}

int grove_gridder_from_image(grove_gridder *g, int polarisation, const grove_gridder_pixels *image,
                             const grove_gridder_fft *fft, const grove_gridder_threads *threads)
{
    work w = {
        .g = g, .fft = fft, .polarisation = polarisation, .image = *image, .first = g->first_plane};

    w.failed = grove_gridder_make_all_blocks(g) != 0;
    g->integers = false;
    if (!open_work(&w, -1))
        for (; w.first < g->end_plane && !w.failed; w.first += w.batch) {
            threads->run(threads->pool, strips(g), take_strip, &w);
            threads->run(threads->pool, g->columns[1] * planes_at_work(&w),
                         transform_rows_from_image, &w);
        }
    close_work(&w);
    return w.failed ? -1 : 0;
}
