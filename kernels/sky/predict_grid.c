/* Cuts the needed cells of a product of matrices into tiles, line by line, and these into parts of
 * about as many tiles each. */
#include "predict_grid.h"

#include <stdlib.h>
#include <string.h>

static int find_places(grove_predict_grid *g, const unsigned char *needed, int right)
{
    int64_t n = g->stations, step = right ? n : 1, first = right ? 1 : n;

    g->place[right] = calloc((size_t)n + 1, sizeof(**g->place));
    if (!g->place[right])
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int any = 0;
        for (int64_t k = 0; k < n && !any; k++)
            any = needed[i * first + k * step];
        g->place[right][i] = any ? g->rows[right]++ : -1;
    }
    return 1;
}

/* Cuts `count` columns into tiles of about the same width. */
static void cut(grove_predict_grid *g, int row, const int32_t *column, int count)
{
    int tiles = (count + g->tile_columns - 1) / g->tile_columns;

    for (int i = 0; i < tiles; i++) {
        grove_predict_tile *tile = &g->tiles[g->tile_count++];
        int first = count * i / tiles;
        tile->row = row;
        tile->columns = count * (i + 1) / tiles - first;
        memcpy(tile->column, column + first, sizeof(*column) * (size_t)tile->columns);
    }
}

/* Whether a pair of a station in the line of tiles from row `first` on and a column is needed. */
static int is_needed(const grove_predict_grid *g, const unsigned char *needed, int first,
                     int column)
{
    for (int r = first; r < first + g->tile_rows && r < g->sides * g->rows[0]; r += g->sides)
        if (needed[(int64_t)g->row[r / g->sides] * g->stations + g->column[column]])
            return 1;
    return 0;
}

static void make_tiles(grove_predict_grid *g, const unsigned char *needed, int32_t *column)
{
    for (int first = 0; first < g->sides * g->rows[0]; first += g->tile_rows) {
        int count = 0;
        for (int c = 0; c < g->rows[1]; c++)
            for (int k = 0; k < g->sides && is_needed(g, needed, first, c); k++)
                column[count++] = g->sides * c + k;
        cut(g, first, column, count);
    }
}

static void place_cells(grove_predict_grid *g)
{
    const int columns = g->sides * g->rows[1];

    for (int t = 0; t < g->tile_count; t++) {
        const grove_predict_tile *tile = &g->tiles[t];
        int32_t *cells = g->cells + (int64_t)(tile->row / g->tile_rows) * columns;
        for (int j = 0; j < tile->columns; j++)
            cells[tile->column[j]] = (t * g->tile_columns + j) * g->tile_rows;
    }
}

/* The stations that the tiles of a part need. */
static void find_part_places(grove_predict_grid *g, int part)
{
    int32_t *left = g->part_place[0] + (int64_t)part * g->stations;
    int32_t *right = g->part_place[1] + (int64_t)part * g->stations;

    for (int i = 0; i < g->stations; i++)
        left[i] = right[i] = -1;
    for (int t = g->part[part]; t < g->part[part + 1]; t++) {
        const grove_predict_tile *tile = &g->tiles[t];
        for (int r = tile->row; r < tile->row + g->tile_rows && r < g->sides * g->rows[0]; r++)
            left[g->row[r / g->sides]] = r / g->sides;
        for (int j = 0; j < tile->columns; j++)
            right[g->column[tile->column[j] / g->sides]] = tile->column[j] / g->sides;
    }
}

int grove_predict_grid_cut(grove_predict_grid *g, int parts)
{
    int count = parts < g->tile_count ? parts : g->tile_count;
    count = count > 0 ? count : 1;
    int32_t *part = calloc((size_t)count + 1, sizeof(*part));
    size_t places = (size_t)count * (size_t)g->stations + 1;
    int32_t *left = calloc(places, sizeof(*left)), *right = calloc(places, sizeof(*right));

    if (!part || !left || !right) {
        free(part);
        free(left);
        free(right);
        return 0;
    }
    free(g->part);
    free(g->part_place[0]);
    free(g->part_place[1]);
    g->part = part;
    g->part_place[0] = left;
    g->part_place[1] = right;
    g->part_count = count;
    g->most_tiles = 0;
    for (int i = 0; i <= count; i++)
        part[i] = (int32_t)((int64_t)g->tile_count * i / count);
    for (int i = 0; i < count; i++) {
        int tiles = part[i + 1] - part[i];
        g->most_tiles = tiles > g->most_tiles ? tiles : g->most_tiles;
        find_part_places(g, i);
    }
    return 1;
}

static void find_stations(grove_predict_grid *g)
{
    for (int i = 0; i < g->stations; i++) {
        if (g->place[0][i] >= 0)
            g->row[g->place[0][i]] = i;
        if (g->place[1][i] >= 0)
            g->column[g->place[1][i]] = i;
    }
}

/* Tiles of all needed cells. */
static int fill(grove_predict_grid *g, const unsigned char *needed)
{
    const size_t rows = (size_t)(g->sides * g->rows[0]), columns = (size_t)(g->sides * g->rows[1]);
    const size_t lines = (rows + (size_t)g->tile_rows - 1) / (size_t)g->tile_rows;
    const size_t max_tiles = lines * (columns / (size_t)g->tile_columns + 1);
    int32_t *column = malloc((columns + 1) * sizeof(*column));

    g->cells = malloc((lines * columns + 1) * sizeof(*g->cells));
    g->tiles = malloc((max_tiles + 1) * sizeof(*g->tiles));
    int good = column && g->cells && g->tiles;
    if (good) {
        memset(g->cells, -1, lines * columns * sizeof(*g->cells));
        make_tiles(g, needed, column);
        place_cells(g);
        good = grove_predict_grid_cut(g, 1);
    }
    free(column);
    return good;
}

grove_predict_grid *grove_predict_grid_new(int stations, int sides, const unsigned char *needed,
                                           int tile_rows, int tile_columns)
{
    grove_predict_grid *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->stations = stations;
    g->sides = sides;
    g->tile_rows = tile_rows;
    g->tile_columns = tile_columns;
    g->row = calloc((size_t)stations + 1, sizeof(*g->row));
    g->column = calloc((size_t)stations + 1, sizeof(*g->column));
    int good = g->row && g->column && find_places(g, needed, 0) && find_places(g, needed, 1);
    if (good)
        find_stations(g);
    if (good && fill(g, needed))
        return g;
    grove_predict_grid_free(g);
    return NULL;
}

void grove_predict_grid_free(grove_predict_grid *g)
{
    if (!g)
        return;
    free(g->place[0]);
    free(g->place[1]);
    free(g->row);
    free(g->column);
    free(g->part);
    free(g->part_place[0]);
    free(g->part_place[1]);
    free(g->tiles);
    free(g->cells);
    free(g);
}
