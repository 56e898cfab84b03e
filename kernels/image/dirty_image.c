#include "dirty_tile.h"

#include <stdbool.h>
#include <string.h>

enum { SIDE = GROVE_DIRTY_SIDE, MOST_TERMS = 4 };

static grove_dirty_tile_fn *const tile_functions[GROVE_ISAS] = {
    grove_dirty_tile_portable, grove_dirty_tile_avx2, grove_dirty_tile_avx512};

typedef struct {
    const grove_dirty_samples *samples;
    const grove_dirty_grid *grid;
    double max_w; /* wavelengths */
    double *sum;
} work;

static double max_w(const grove_dirty_samples *samples)
{
    double longest = 0, highest = 0;

    for (int64_t row = 0; row < samples->rows; row++)
        longest = fmax(longest, fabs(samples->uvw[3 * row + 2]));
    for (int64_t k = 0; k < samples->channels; k++)
        highest = fmax(highest, samples->freq[k]);
    return longest * highest / GROVE_SPEED_OF_LIGHT;
}

/* n - 1 without cancellation; continued as -1 beyond the horizon. */
static double n_less_1(double l, double m)
{
    double r = l * l + m * m;

    return r < 1 ? -r / (1 + sqrt(1 - r)) : -1;
}

/* The number of terms of exp(ix), |x| <= `largest`, for an error of 1e-6; beyond MOST_TERMS if none
 * suffices. */
static int count_terms(double largest)
{
    double error = largest;
    int terms = 1;

    while (terms <= MOST_TERMS && error > 1e-6)
        error *= largest / ++terms;
    return terms;
}

static void make_tile(const work *w, int64_t x, int64_t y, grove_dirty_tile *tile)
{
    const double cell = w->grid->cell;
    const int64_t middle = w->grid->size / 2;
    double bend[SIDE][SIDE];
    double l0 = (double)(x + tile->columns / 2 - middle) * cell;
    double m0 = (double)(y + tile->rows / 2 - middle) * cell;

    for (int i = 0; i < tile->columns; i++) {
        tile->l[i] = (double)(x + i - middle) * cell;
        tile->n_of_l[i] = n_less_1(tile->l[i], m0);
    }
    for (int j = 0; j < tile->rows; j++) {
        tile->m[j] = (double)(y + j - middle) * cell;
        tile->n_of_m[j] = n_less_1(l0, tile->m[j]) - n_less_1(l0, m0);
    }
    for (int j = 0; j < tile->rows; j++)
        for (int i = 0; i < tile->columns; i++) {
            double l = tile->l[i], m = tile->m[j];
            bool above = l * l + m * m < 1;
            bend[j][i] = above ? n_less_1(l, m) - tile->n_of_l[i] - tile->n_of_m[j] : 0;
            tile->above_horizon[j][i] = above;
            tile->max_bend = fmax(tile->max_bend, fabs(bend[j][i]));
        }
    for (int j = 0; j < tile->rows && tile->max_bend > 0; j++)
        for (int i = 0; i < tile->columns; i++)
            tile->bend[j][i] = (float)(bend[j][i] / tile->max_bend);
    tile->terms = count_terms(2 * GROVE_PI * w->max_w * tile->max_bend);
}

/* Adds to a tile; splits it in halves until its bend is small. Of a single pixel the bend is 0. */
static void add_tile(const work *w, int64_t x, int64_t y, int columns, int rows)
{
    grove_dirty_tile tile;
    int left = columns, lower = rows;

    memset(&tile, 0, sizeof(tile));
    tile.columns = columns;
    tile.rows = rows;
    make_tile(w, x, y, &tile);
    if (tile.terms <= MOST_TERMS) {
        tile_functions[w->grid->isa](w->samples, &tile, w->sum + y * w->grid->size + x,
                                     w->grid->size);
        return;
    }
    if (columns >= rows)
        left = columns / 2;
    else
        lower = rows / 2;
    add_tile(w, x, y, left, lower);
    add_tile(w, columns > left ? x + left : x, rows > lower ? y + lower : y,
             columns > left ? columns - left : columns, rows > lower ? rows - lower : rows);
}

static int64_t tiles_along(const grove_dirty_grid *grid)
{
    return (grid->size + SIDE - 1) / SIDE;
}

int64_t grove_dirty_image_tiles(const grove_dirty_grid *grid)
{
    return tiles_along(grid) * tiles_along(grid);
}

void grove_dirty_image_add(const grove_dirty_samples *samples, const grove_dirty_grid *grid,
                           int64_t first, int64_t last, double *sum)
{
    const work w = {samples, grid, max_w(samples), sum};

    for (int64_t k = first; k < last; k++) {
        int64_t x = k % tiles_along(grid) * SIDE, y = k / tiles_along(grid) * SIDE;
        int64_t columns = grid->size - x, rows = grid->size - y;
        add_tile(&w, x, y, columns < SIDE ? (int)columns : SIDE, rows < SIDE ? (int)rows : SIDE);
    }
}
