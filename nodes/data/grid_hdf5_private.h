/* Reading a table from an HDF5 file; within the module that links HDF5. */
#ifndef GROVE_NODES_DATA_GRID_HDF5_PRIVATE_H
#define GROVE_NODES_DATA_GRID_HDF5_PRIVATE_H

#include "nodes/data/hdf5_file.h"
#include "nodes/data/service.h"

typedef struct {
    char *name; /* NULL: it has none */
    int64_t size;
    double *number; /* [size], in base units; */
    char **label;   /* [size]; or neither */
    double *width;  /* [size] of the intervals around the numbers; NULL: not known */
} grove_hdf5_dimension;

typedef struct {
    const char *name; /* in messages */
    char *path;       /* of the dataset or solution table */
    const char *axes; /* names that the user gives */
    grove_error *error;
    grove_grid *grid;
    grove_grid_column *column;
    hid_t file, data, weight; /* weight: negative where there is none */
    int rank;
    grove_hdf5_dimension dim[GROVE_HDF5_RANK];
    /* Of each dimension: the axis of the grid, or -1: a part of the cell, or of one element. */
    int axis[GROVE_HDF5_RANK];
    int element[GROVE_MAX_VECTOR]; /* along the part of the cell that names them */
} grove_hdf5_reader;

/* Reports a fault of the table; GROVE_INVALID. */
int grove_hdf5_fail(grove_hdf5_reader *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The unit that an attribute of a dataset names, and its factor to base units. 0, or a code after a
 * message. */
int grove_hdf5_unit(grove_hdf5_reader *in, hid_t data, grove_unit *unit, double *factor);
/* Finds names and coordinates of the dimensions: of a solution table, as the attribute AXES names
 * them; of another dataset, of its dimension scales. 0, or a code after a message. */
int grove_hdf5_table_axes(grove_hdf5_reader *in);
int grove_hdf5_axes(grove_hdf5_reader *in);

#endif
