#include "predict_grid.h"

#include <stdlib.h>
#include <string.h>

static int find_places(grove_predict_grid *g, const unsigned char *wanted, int right)
{
    int64_t n = g->stations, step = right ? n : 1, first = right ? 1 : n;

    g->place[right] = calloc((size_t)n + 1, sizeof(**g->place));
    if (!g->place[right])
        return 0;
    for (int64_t i = 0; i < n; i++) {
        int any = 0;
        for (int64_t k = 0; k < n && !any; k++)
            any = wanted[i * first + k * step];
        g->place[right][i] = any ? g->rows[right]++ : -1;
    }
    return 1;
}

/* Marks wanted cells by 0, others by -1. */
static void mark_cells(grove_predict_grid *g, const unsigned char *wanted)
{
    int64_t columns = (int64_t)g->sides * g->rows[1];

    memset(g->cells, -1, sizeof(*g->cells) * (size_t)(g->sides * g->rows[0] * columns));
    for (int64_t p = 0; p < g->stations; p++)
        for (int64_t q = 0; q < g->stations; q++)
            for (int k = 0; k < g->sides * g->sides && wanted[p * g->stations + q]; k++) {
                int64_t r = g->sides * g->place[0][p] + k / g->sides;
                g->cells[r * columns + g->sides * g->place[1][q] + k % g->sides] = 0;
            }
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

static void make_tiles(grove_predict_grid *g, int32_t *column)
{
    int rows = g->sides * g->rows[0], columns = g->sides * g->rows[1];

    for (int r = 0; r < rows; r += g->tile_rows) {
        int count = 0, last = r + g->tile_rows < rows ? r + g->tile_rows : rows;
        for (int c = 0; c < columns; c++) {
            int any = 0;
            for (int i = r; i < last && !any; i++)
                any = !g->cells[(int64_t)i * columns + c];
            if (any)
                column[count++] = c;
        }
        cut(g, r, column, count);
    }
    for (int t = 0; t < g->tile_count; t++)
        for (int k = 0; k < g->tile_rows * g->tiles[t].columns; k++) {
            int i = k / g->tiles[t].columns, j = k % g->tiles[t].columns, r = g->tiles[t].row + i;
            int64_t at = (int64_t)r * columns + g->tiles[t].column[j];
            if (r < rows && !g->cells[at])
                g->cells[at] = (t * g->tile_columns + j) * g->tile_rows + i;
        }
}

grove_predict_grid *grove_predict_grid_new(int stations, int sides, const unsigned char *wanted,
                                           int tile_rows, int tile_columns)
{
    grove_predict_grid *g = calloc(1, sizeof(*g));

    if (!g)
        return NULL;
    g->stations = stations;
    g->sides = sides;
    g->tile_rows = tile_rows;
    g->tile_columns = tile_columns;
    if (!find_places(g, wanted, 0) || !find_places(g, wanted, 1)) {
        grove_predict_grid_free(g);
        return NULL;
    }
    size_t rows = (size_t)(g->sides * g->rows[0]), columns = (size_t)(g->sides * g->rows[1]);
    size_t most = (rows / (size_t)tile_rows + 1) * (columns / (size_t)tile_columns + 1);
    int32_t *column = calloc(columns + 1, sizeof(*column));
    g->cells = calloc(rows * columns + 1, sizeof(*g->cells));
    g->tiles = calloc(most, sizeof(*g->tiles));
    g->row = calloc((size_t)stations + 1, sizeof(*g->row));
    if (!column || !g->row || !g->cells || !g->tiles) {
        free(column);
        grove_predict_grid_free(g);
        return NULL;
    }
    for (int i = 0; i < stations; i++)
        if (g->place[0][i] >= 0)
            g->row[g->place[0][i]] = i;
    mark_cells(g, wanted);
    make_tiles(g, column);
    free(column);
    return g;
}

void grove_predict_grid_free(grove_predict_grid *g)
{
    if (!g)
        return;
    free(g->place[0]);
    free(g->place[1]);
    free(g->row);
    free(g->tiles);
    free(g->cells);
    free(g);
}
