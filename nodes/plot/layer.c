#include "nodes/plot/layer.h"
#include "util.h"
#include <math.h>
#include <stdlib.h>

/* ---- points ---- */

enum { STAMP = 24 }; /* largest width of a point, in pixels of the layer */

struct grove_density {
    grove_box box;
    double scale;
    int columns, rows, stamp;
    float dot[4][4][STAMP * STAMP]; /* coverage of one point, by quarters of a pixel */
    float *cover;                   /* [rows][columns] number of points covering each pixel */
};

/* The covered shares of pixels for a disc whose centre is at (x, y) pixels from the stamp's corner,
 * by sampling. */
static void make_dot(float *dot, int stamp, double x, double y, double radius)
{
    enum { FINE = 8 };

    for (int row = 0; row < stamp; row++)
        for (int column = 0; column < stamp; column++) {
            int inside = 0;
            for (int k = 0; k < FINE * FINE; k++) {
                double dx = column + (k % FINE + 0.5) / FINE - x;
                double dy = row + ((double)(k / FINE) + 0.5) / FINE - y;
                inside += dx * dx + dy * dy <= radius * radius;
            }
            dot[row * stamp + column] = (float)inside / (FINE * FINE);
        }
}

grove_density *grove_density_new(grove_box box, double scale, double diameter, grove_error *error)
{
    grove_density *density = grove_alloc(sizeof *density);
    double radius = fmax(0.5, diameter * scale / 2);

    density->box = box;
    density->scale = scale;
    density->columns = (int)ceil(box.width * scale);
    density->rows = (int)ceil(box.height * scale);
    density->stamp = (int)fmin(STAMP, ceil(2 * radius) + 2);
    for (int i = 0; i < 16; i++)
        make_dot(density->dot[i / 4][i % 4], density->stamp, density->stamp / 2 + (i % 4 + 0.5) / 4,
                 density->stamp / 2 + (i / 4 + 0.5) / 4, radius);
    density->cover =
        grove_try_alloc((size_t)density->columns * (size_t)density->rows, sizeof *density->cover);
    if (density->cover)
        return density;
    grove_fail(error, GROVE_NO_MEMORY, "a picture of %d x %d pixels: not enough memory",
               density->columns, density->rows);
    free(density);
    return NULL;
}

void grove_density_add(grove_density *density, double x, double y)
{
    double across = (x - density->box.x) * density->scale;
    double down = (y - density->box.y) * density->scale;
    int stamp = density->stamp, half = stamp / 2;

    if (!(across > -half && down > -half && across < density->columns + half &&
          down < density->rows + half))
        return;
    int column = (int)floor(across), row = (int)floor(down);
    const float *dot = density->dot[(int)(4 * (down - row)) & 3][(int)(4 * (across - column)) & 3];
    for (int i = 0; i < stamp; i++) {
        int r = row - half + i;
        if (r < 0 || r >= density->rows)
            continue;
        float *line = density->cover + (size_t)r * (size_t)density->columns;
        for (int k = 0; k < stamp; k++) {
            int c = column - half + k;
            if (c >= 0 && c < density->columns)
                line[c] += dot[i * stamp + k];
        }
    }
}

/* A single point is pale; the colour becomes stronger, then darker, with the logarithm of the
 * coverage, in few steps, which keeps files small. */
static grove_colour shade(grove_colour colour, double cover, double max)
{
    const double alone = 0.45, black = 0.6, steps = 32;

    if (cover <= 1)
        return grove_colour_fade(colour, alone * round(cover * 8) / 8);
    double level = round(steps * log(cover) / log(max)) / steps;
    if (level < 0.5)
        return grove_colour_fade(colour, alone + (1 - alone) * 2 * level);
    return grove_colour_mix(colour, 0xff000000, black * (2 * level - 1));
}

int grove_density_draw(grove_density *density, grove_canvas *canvas, grove_colour colour,
                       grove_error *error)
{
    size_t pixels = (size_t)density->columns * (size_t)density->rows;
    grove_colour *image = grove_try_alloc(pixels, sizeof *image);
    grove_box box = {density->box.x, density->box.y, density->columns / density->scale,
                     density->rows / density->scale};
    double max = 12;
    int code = GROVE_OK;

    for (size_t i = 0; i < pixels; i++)
        max = fmax(max, density->cover[i]);
    for (size_t i = 0; image && i < pixels; i++)
        image[i] = shade(colour, density->cover[i], max);
    if (image)
        grove_canvas_image(canvas, box, image, density->columns, density->rows);
    else
        code = grove_fail(error, GROVE_NO_MEMORY, "a picture of %d x %d pixels: not enough memory",
                          density->columns, density->rows);
    free(image);
    free(density->cover);
    free(density);
    return code;
}

/* ---- images ---- */

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* The quantiles `clip` and 1 - `clip` of the finite pixels. */
static void quantiles(const grove_raster *raster, double *low, double *high)
{
    enum { MOST = 1 << 20 };
    size_t pixels = raster->rows * raster->columns, count = 0;
    size_t step = pixels / MOST + 1;
    float *sample = grove_try_alloc(pixels / step + 1, sizeof *sample);

    for (size_t i = 0; sample && i < pixels; i += step)
        if (isfinite(raster->data[i]))
            sample[count++] = raster->data[i];
    if (count) {
        qsort(sample, count, sizeof *sample, compare);
        size_t skip = (size_t)(fmin(0.49, raster->clip) * (double)count);
        *low = sample[skip];
        *high = sample[count - 1 - skip];
    }
    free(sample);
}

void grove_raster_range(const grove_raster *raster, grove_scale *range)
{
    double low = raster->low, high = raster->high;

    if (!(low < high)) {
        low = INFINITY;
        high = -INFINITY;
        for (size_t i = 0; i < raster->rows * raster->columns; i++) {
            float number = raster->data[i];
            if (!isfinite(number) || (raster->logarithmic && number <= 0))
                continue;
            low = fmin(low, number);
            high = fmax(high, number);
        }
        if (raster->clip > 0) {
            quantiles(raster, &low, &high);
            if (raster->logarithmic && low <= 0)
                low = high * 1e-4;
        }
    }
    range->kind = raster->logarithmic              ? GROVE_SCALE_LOGARITHMIC
                  : raster->map == GROVE_MAP_CYCLE ? GROVE_SCALE_ANGLE
                                                   : GROVE_SCALE_LINEAR;
    grove_scale_fit(range, low, high, 0);
    range->from = 0;
    range->to = GROVE_MAP_SIZE;
}

/* Mean of the finite pixels in a block, NaN if there are none. */
static double block_mean(const grove_raster *raster, size_t row, size_t column, size_t rows,
                         size_t columns)
{
    double sum = 0;
    size_t count = 0;

    for (size_t r = row; r < row + rows && r < raster->rows; r++)
        for (size_t c = column; c < column + columns && c < raster->columns; c++) {
            float number = raster->data[r * raster->columns + c];
            if (isfinite(number)) {
                sum += number;
                count++;
            }
        }
    return count ? sum / (double)count : NAN;
}

int grove_raster_draw(const grove_raster *raster, const grove_scale *range, grove_canvas *canvas,
                      grove_box box, bool right_to_left, bool top_down, grove_error *error)
{
    static const grove_colour missing = 0xffd8d8d8;
    /* Twice the visible resolution is enough. */
    double max = 2 * grove_canvas_scale(canvas);
    size_t across = (size_t)fmax(1, ceil((double)raster->columns / fmax(1, max * box.width)));
    size_t down = (size_t)fmax(1, ceil((double)raster->rows / fmax(1, max * box.height)));
    size_t columns = (raster->columns + across - 1) / across;
    size_t rows = (raster->rows + down - 1) / down;
    grove_colour *image = grove_try_alloc(rows * columns, sizeof *image);
    grove_colour table[GROVE_MAP_SIZE];

    if (!image)
        return grove_fail(error, GROVE_NO_MEMORY, "an image of %zu x %zu pixels: not enough memory",
                          columns, rows);
    grove_map_table(raster->map, table);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) {
            double number = across * down == 1
                                ? raster->data[r * raster->columns + c]
                                : block_mean(raster, r * down, c * across, down, across);
            grove_colour colour = missing;
            if (isfinite(number)) {
                double at = number > range->low ? grove_scale_place(range, number) : 0;
                colour = table[(int)fmin(GROVE_MAP_SIZE - 1, fmax(0, at))];
            }
            image[(top_down ? r : rows - 1 - r) * columns + (right_to_left ? columns - 1 - c : c)] =
                colour;
        }
    grove_canvas_image(canvas, box, image, (int)columns, (int)rows);
    free(image);
    return GROVE_OK;
}
