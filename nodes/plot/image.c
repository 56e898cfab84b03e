/* Dirty images of Stokes I, by the default gridder. */
#include "../../kernels/imaging/gridder/gridder.h"

#include "nodes/plot/figure.h"
#include "nodes/plot/picture.h"
#include "unstable/threads.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of visibilities read: some minutes on a small machine. */
static const double most_visibilities = 300e6;
static const double epsilon = 1e-4; /* smaller than differences that colours show */
enum { SIZE = 256, LARGEST = 4096 };
static const double arcsec = GROVE_PI / 180 / 3600;

typedef struct {
    grove_gridder_samples samples; /* of a block: Stokes I of the chosen visibilities */
    grove_gridder_plan plan;
    grove_gridder *gridder;
    grove_isa isa;
    int64_t size; /* pixels a side */
    double cell;
    double *uvw;
    float *data, *weight;
    int64_t room; /* rows */
    double total; /* of the weights */
    grove_threads *threads;
} image;

/* ---- Stokes I ---- */

/* Mean of the parallel hands, weighted by their unflagged weights; 0 if one is flagged. */
static void store_stokes_i(const grove_set *set, const grove_set_samples *s, int64_t sample,
                           float *data, float *weight)
{
    float re = 0, im = 0, variance = 0;

    *weight = 0;
    data[0] = data[1] = 0;
    for (int k = 0; k < set->parallel_count; k++) {
        int64_t at = sample * set->layout->correlations + set->parallel[k];
        if (s->flag[at] || !(s->weight[at] > 0))
            return;
        re += s->data[2 * at];
        im += s->data[2 * at + 1];
        variance += 1 / s->weight[at];
    }
    if (!(variance > 0) || !isfinite(variance) || !isfinite(re) || !isfinite(im))
        return;
    float count = (float)set->parallel_count;
    data[0] = re / count;
    data[1] = im / count;
    *weight = count * count / variance;
}

static int no_memory(const grove_set *set, const image *i)
{
    return grove_fail(set->error, GROVE_NO_MEMORY, "no memory for an image of %lld x %lld",
                      (long long)i->size, (long long)i->size);
}

static int make_room(image *i, const grove_set *set, int64_t rows)
{
    size_t samples = (size_t)rows * (size_t)set->layout->channels;

    if (rows <= i->room)
        return 0;
    free(i->uvw);
    free(i->data);
    free(i->weight);
    i->uvw = grove_try_alloc((size_t)rows, 3 * sizeof(double));
    i->data = grove_try_alloc(samples, 2 * sizeof(float));
    i->weight = grove_try_alloc(samples, sizeof(float));
    i->room = rows;
    return i->uvw && i->data && i->weight
               ? 0
               : grove_fail(set->error, GROVE_NO_MEMORY, "%s: no memory for %lld rows", set->path,
                            (long long)rows);
}

static void take_row(image *i, const grove_set *set, const grove_set_samples *s, int64_t row)
{
    int64_t channels = set->layout->channels, to = i->samples.rows;
    double sum = 0;

    for (int64_t k = 0; k < channels; k++) {
        float *weight = i->weight + to * channels + k;
        store_stokes_i(set, s, row * channels + k, i->data + 2 * (to * channels + k), weight);
        sum += (double)*weight;
    }
    if (sum > 0) {
        memcpy(i->uvw + 3 * to, s->uvw + 3 * row, 3 * sizeof(double));
        i->total += sum;
        i->samples.rows++;
    }
}

static int add_block(void *context, const grove_set *set, const grove_set_samples *s)
{
    image *i = context;
    const grove_gridder_threads threads = {grove_parallel_items, i->threads};
    grove_gridder_outside outside = {0};
    int64_t rows = s->times * s->baselines;
    int code = make_room(i, set, rows);

    if (code)
        return code;
    i->samples.rows = 0;
    for (int64_t row = 0; row < rows; row++) {
        const double *uvw = s->uvw + 3 * row;
        if (isfinite(uvw[0] + uvw[1] + uvw[2]) &&
            set->chosen[s->first_baseline + row % s->baselines])
            take_row(i, set, s, row);
    }
    i->samples.uvw = i->uvw;
    i->samples.data = i->data;
    i->samples.weight = i->weight;
    if (!grove_gridder_add(i->gridder, &i->samples, &threads, &outside))
        return 0;
    return no_memory(set, i);
}

/* ---- the grid ---- */

/* The largest |u|, |v|, |w| and hypot(u, v), m. */
static int widen(void *context, const grove_set *set, const grove_set_samples *s)
{
    double *largest = context;

    for (int64_t row = 0; row < s->times * s->baselines; row++) {
        const double *uvw = s->uvw + 3 * row;
        if (!set->chosen[s->first_baseline + row % s->baselines] ||
            !isfinite(uvw[0] + uvw[1] + uvw[2]))
            continue;
        for (int k = 0; k < 3; k++)
            largest[k] = fmax(largest[k], fabs(uvw[k]));
        largest[3] = fmax(largest[3], hypot(uvw[0], uvw[1]));
    }
    return 0;
}

static int plan_gridder(image *i, const grove_set *set, const double largest[3], double highest)
{
    const double per_metre = highest / GROVE_SPEED_OF_LIGHT;
    const grove_gridder_image pixels = {.size = {i->size, i->size}, .cell = {i->cell, i->cell}};
    const grove_gridder_bounds bounds = {.max_u = largest[0] * per_metre,
                                         .max_v = largest[1] * per_metre,
                                         .max_w = largest[2] * per_metre,
                                         .samples = (double)set->layout->times *
                                                    (double)set->chosen_count *
                                                    (double)set->layout->channels,
                                         .polarisations = 1};

    return grove_gridder_plan_choose(&pixels, &bounds, epsilon, &i->plan)
               ? grove_fail(set->error, GROVE_INVALID, "no image can be made of cells of %g rad",
                            i->cell)
               : 0;
}

/* Pixels of a third of the finest fringe, unless the user chooses otherwise. */
static int choose_grid(image *i, grove_set *set, const grove_picture *picture)
{
    double largest[4] = {0}, highest = 0;
    char message[160];
    int code = 0;

    if (grove_isa_choose(&i->isa, message))
        return grove_fail(set->error, GROVE_INVALID, "%s", message);
    i->size = picture->pixels ? picture->pixels : SIZE;
    i->cell = picture->cell;
    if (i->size < 2 || i->size > LARGEST)
        return grove_fail(set->error, GROVE_INVALID,
                          "an image of %lld pixels along each side; it can have 2 to %d",
                          (long long)i->size, LARGEST);
    code = grove_set_walk(set, GROVE_SET_UVW, widen, largest);
    for (int64_t k = 0; k < set->layout->channels; k++)
        highest = fmax(highest, set->layout->frequency[k]);
    if (!code && !(i->cell > 0) && largest[3] * highest > 0)
        i->cell = fmin(GROVE_SPEED_OF_LIGHT / highest / largest[3] / 3, 1.4 / (double)i->size);
    if (!code && !(i->cell > 0))
        code = grove_fail(set->error, GROVE_INVALID,
                          "%s: all baselines have length zero; give --cell", set->path);
    return code ? code : plan_gridder(i, set, largest, highest);
}

/* ---- the picture ---- */

typedef struct {
    double peak, lowest, rms; /* rms: 1.4826 times the median of the absolute values */
} summary;

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Divides by the sum of weights and finds peak and rms; `scratch` has the size of the image. */
static summary finish(const image *i, float *pixels, float *scratch)
{
    int64_t count = i->size * i->size;
    summary s = {.peak = -INFINITY, .lowest = INFINITY};

    for (int64_t at = 0; at < count; at++) {
        pixels[at] = (float)((double)pixels[at] / i->total);
        scratch[at] = fabsf(pixels[at]);
        s.peak = fmax(s.peak, (double)pixels[at]);
        s.lowest = fmin(s.lowest, (double)pixels[at]);
    }
    qsort(scratch, (size_t)count, sizeof(float), by_size);
    s.rms = 1.4826 * (double)scratch[count / 2];
    return s;
}

/* The colours of both columns have one range. */
static void find_range(const summary *s, int count, bool logarithmic, grove_raster *raster)
{
    double low = INFINITY, peak = -INFINITY;

    for (int k = 0; k < count; k++) {
        peak = fmax(peak, s[k].peak);
        low = fmin(low, logarithmic ? s[k].rms : s[k].lowest);
    }
    raster->logarithmic = logarithmic && peak > 0;
    if (raster->logarithmic)
        low = fmin(peak / 10, fmax(low, peak * 1e-5));
    if (raster->logarithmic || count > 1) {
        raster->low = low;
        raster->high = peak;
    }
}

/* l grows to the left, towards east; in degrees for a wide field. `pixels` [columns][size][size] */
static int draw(const grove_set *set, const image *i, const float *pixels, const summary *s,
                const grove_picture *picture, const char *to)
{
    double size = (double)i->size, middle = (double)(i->size / 2);
    bool wide = size * i->cell > 5400 * arcsec, one = set->column_count == 1;
    double unit = i->cell / (wide ? GROVE_PI / 180 : arcsec);
    double low = (-middle - 0.5) * unit, high = (size - middle - 0.5) * unit;
    char ra[32], dec[32], band[64], *titles[GROVE_SET_COLUMNS];
    char *note = grove_set_note(set, 1, "rows");
    char *subtitle = grove_format("%s, %s %s, %s%s%s%s", set->layout->telescope,
                                  grove_show_ra(ra, set->layout->phase_centre[0]),
                                  grove_show_dec(dec, set->layout->phase_centre[1]),
                                  grove_show_band(band, set->layout), one ? ", " : "",
                                  one ? set->column : "", note);
    grove_raster rasters[GROVE_SET_COLUMNS];
    grove_chart charts[GROVE_SET_COLUMNS];
    grove_figure figure = {.width = 800 * set->column_count,
                           .height = 740,
                           .charts = charts,
                           .count = (size_t)set->column_count,
                           .columns = (size_t)set->column_count};

    for (int k = 0; k < set->column_count; k++) {
        titles[k] = grove_set_title(set, "dirty image, Stokes I", k);
        rasters[k] = (grove_raster){.data = pixels + k * i->size * i->size,
                                    .rows = (size_t)i->size,
                                    .columns = (size_t)i->size,
                                    .x0 = low,
                                    .x1 = high,
                                    .y0 = low,
                                    .y1 = high,
                                    .map = GROVE_MAP_EMBER,
                                    .label = "Jy / beam"};
        find_range(s, set->column_count, picture->logarithmic, &rasters[k]);
        charts[k] = (grove_chart){.title = titles[k],
                                  .subtitle = subtitle,
                                  .x = {.label = wide ? "l (deg)" : "l (arcsec)", .reversed = true},
                                  .y = {.label = wide ? "m (deg)" : "m (arcsec)"},
                                  .equal = true,
                                  .raster = &rasters[k]};
    }
    int code = grove_figure_draw(&figure, to, set->error);
    for (int k = 0; k < set->column_count; k++)
        free(titles[k]);
    free(note);
    free(subtitle);
    return code;
}

/* The image of column k. */
static int make_column(image *i, grove_set *set, int k, float *pixels, float *scratch, summary *s)
{
    const grove_gridder_threads threads = {grove_parallel_items, i->threads};

    grove_gridder_free(i->gridder);
    i->gridder = grove_gridder_new(&i->plan, i->isa);
    i->total = 0;
    set->column = set->columns[k];
    if (!i->gridder)
        return no_memory(set, i);
    int code = grove_set_walk(set, GROVE_SET_UVW | GROVE_SET_DATA | GROVE_SET_WEIGHT, add_block, i);
    if (!code && !(i->total > 0))
        code = grove_fail(set->error, GROVE_INVALID,
                          "%s: all of %s is flagged, or its weights "
                          "are 0",
                          set->path, set->column);
    if (!code && grove_gridder_to_image(i->gridder, 0, &(grove_gridder_pixels){pixels, 1, i->size},
                                        &threads))
        code = no_memory(set, i);
    if (!code)
        *s = finish(i, pixels, scratch);
    return code;
}

static int make(image *i, grove_set *set, const grove_picture *picture, const char *to)
{
    size_t count = (size_t)i->size * (size_t)i->size, columns = (size_t)set->column_count;
    float *pixels = grove_try_alloc(count, (columns + 1) * sizeof(float));
    summary s[GROVE_SET_COLUMNS];
    int code = pixels ? 0 : no_memory(set, i);

    i->samples.channels = set->layout->channels;
    i->samples.freq = set->layout->frequency;
    for (size_t k = 0; k < columns && !code; k++)
        code = make_column(i, set, (int)k, pixels + k * count, pixels + columns * count, &s[k]);
    if (!code)
        code = draw(set, i, pixels, s, picture, to);
    free(pixels);
    return code;
}

int grove_picture_image(grove_set *set, const grove_picture *picture, const char *to)
{
    image i = {0};
    int code = 0;

    if (!set->parallel_count)
        return grove_fail(set->error, GROVE_INVALID,
                          "%s: has neither XX and YY nor RR and LL; Stokes I cannot be computed",
                          set->path);
    grove_set_limit(set, most_visibilities, true);
    code = choose_grid(&i, set, picture);
    if (!code) {
        i.threads = grove_threads_new(picture->threads);
        code = make(&i, set, picture, to);
    }
    grove_threads_free(i.threads);
    grove_gridder_free(i.gridder);
    free(i.uvw);
    free(i.data);
    free(i.weight);
    return code;
}
