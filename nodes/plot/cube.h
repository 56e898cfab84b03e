/* Numbers of a solution table, on its axes. */
#ifndef GROVE_NODES_PLOT_CUBE_H
#define GROVE_NODES_PLOT_CUBE_H

#include "nodes/common/grid.h"

/* The axes of a solution table. */
enum { GROVE_CUBE_TIME, GROVE_CUBE_FREQ, GROVE_CUBE_STATION, GROVE_CUBE_DIRECTION };
enum { GROVE_CUBE_AXES = 4 };

typedef struct {
    grove_grid *grid;          /* owned; NULL: none */
    int axis[GROVE_CUBE_AXES]; /* of the grid; -1: it does not vary with that */
} grove_cube;

/* Reads a dataset of an HDF5 file. */
int grove_cube_read(grove_cube *cube, const char *path, const char *dataset, grove_error *error);
/* The number at index[GROVE_CUBE_AXES] in the file's unit; NaN where it is flagged. */
double grove_cube_at(const grove_cube *cube, const int64_t *index, int element);
/* 1 where the cube does not vary with the axis. */
int64_t grove_cube_size(const grove_cube *cube, int axis);
/* Place k along time (s) or frequency (Hz), and the width of that interval. */
double grove_cube_place(const grove_cube *cube, int axis, int64_t k);
double grove_cube_width(const grove_cube *cube, int axis, int64_t k);

#endif
