/* Numbers on named axes, from a file: .csv with a row for each cell, NumPy's .npy, or HDF5. */
#ifndef GROVE_NODES_COMMON_GRID_H
#define GROVE_NODES_COMMON_GRID_H

#include "base/error.h"
#include "base/unit.h"
#include "cell.h"
#include <stdbool.h>

/* Numbers, in base units, or names: of stations, sources; of both stations of a baseline. */
typedef struct {
    char *name;
    int64_t size;
    double *number;        /* [size]; NULL: names */
    char **label, **other; /* [size]; other: NULL but for baselines */
    double *width;         /* [size] of the intervals around numbers; NULL: not known */
} grove_grid_axis;

typedef struct {
    char *name;   /* a name of the tree language; "value" where elements have names of their own */
    int shape;    /* GROVE_SCALAR, GROVE_DIAGONAL, GROVE_MATRIX, GROVE_VECTOR */
    int elements; /* of a cell */
    bool complex_;
    grove_unit unit;
    double *numbers;      /* [cells][elements], or with 2 parts; 0 where flagged; base units */
    unsigned char *flags; /* [cells], bit k: element k (7: and all later ones); NULL: none */
} grove_grid_column;

typedef struct {
    int axes;
    grove_grid_axis axis[GROVE_MAX_AXES]; /* slowest first */
    int64_t cells;
    grove_grid_column *column;
    int columns;
    char feeds; /* of a solution table: 'X' linear, 'R' circular, by its polarisations; 0: it does
                   not say */
} grove_grid;

/* Reads a file, and the file PATH.axes next to a .npy file. `axes`: names separated by blanks, or
 * "": of a .npy file without .axes the names of its axes; of a .csv file columns that are axes
 * besides time, freq, station, source, p and q; of HDF5 the names of a dataset's first dimensions,
 * in place of the file's; a solution table has its own. `dataset`: of an HDF5 file; "": the only
 * one. NULL with messages. Free with grove_grid_free. */
grove_grid *grove_grid_read(const char *path, const char *dataset, const char *axes,
                            grove_error *error);
bool grove_grid_is_hdf5(const char *path); /* by its name */
/* The same from texts; `name` is the file's name in messages. `note`: of the .axes file, or
 * NULL. */
grove_grid *grove_grid_parse_csv(const char *text, const char *name, const char *axes,
                                 grove_error *error);
grove_grid *grove_grid_parse_npy(const char *bytes, size_t length, const char *note,
                                 const char *name, const char *axes, grove_error *error);
grove_grid *grove_grid_parse_hdf5(const char *bytes, size_t length, const char *name,
                                  const char *dataset, const char *axes, grove_error *error);
void grove_grid_free(grove_grid *grid);

/* ---- for readers of grids ---- */

/* Whether a word is in a list separated by blanks. */
bool grove_grid_has_word(const char *list, const char *word, size_t length);
/* The unit "Jy", "m^2 s^-1", "MHz": 0 or GROVE_INVALID. */
int grove_grid_unit(const char *text, size_t length, grove_unit *unit, double *factor);
/* Multiplies the sizes of the axes: how many cells, or -1 where that is too many. */
int64_t grove_grid_count(const grove_grid *grid, int64_t max);
/* Room for a column's numbers, all flagged; false where memory is short. */
bool grove_grid_room(const grove_grid *grid, grove_grid_column *column);
/* Drops the flags of a column that has none. */
void grove_grid_settle(const grove_grid *grid, grove_grid_column *column);
/* A number of a cell; one that is not finite is flagged. */
static inline void grove_grid_put(grove_grid_column *column, int64_t cell, int e, int part,
                                  double x)
{
    int parts = column->complex_ ? 2 : 1;
    unsigned char bit = (unsigned char)(1 << (e < 7 ? e : 7));

    if (!(x - x == 0)) {
        column->numbers[(cell * column->elements + e) * parts] = 0;
        column->numbers[(cell * column->elements + e) * parts + parts - 1] = 0;
        column->flags[cell] |= bit;
    } else if (!(column->flags[cell] & bit) || part == 0) {
        column->numbers[(cell * column->elements + e) * parts + part] = x;
    }
}

#endif
