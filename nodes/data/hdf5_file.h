/* Parts of an HDF5 file. Within the module that links HDF5, which calls them under its lock. */
#ifndef GROVE_NODES_DATA_HDF5_FILE_H
#define GROVE_NODES_DATA_HDF5_FILE_H

#define H5_USE_110_API
#include <hdf5.h>
#include <stdbool.h>
#include <stddef.h>

enum { GROVE_HDF5_RANK = 10, GROVE_HDF5_MAX_TEXTS = 1 << 20 };
#define GROVE_HDF5_MAX_BYTES ((hsize_t)1 << 30)

/* Around all calls of HDF5: by one thread at a time, and HDF5 prints no messages of its own. */
typedef struct {
    H5E_auto2_t print;
    void *context;
} grove_hdf5_turn;
void grove_hdf5_begin(grove_hdf5_turn *turn);
void grove_hdf5_end(const grove_hdf5_turn *turn);

/* Opens the bytes of a file; links to other files lead nowhere. Negative: no HDF5 file. Closing it
 * closes all objects opened in it. */
hid_t grove_hdf5_open(const char *bytes, size_t length);
/* The object of that path, whose first slash may be missing; negative: none. */
hid_t grove_hdf5_object(hid_t file, const char *path);
/* The paths of possible tables below a path, separated by ", ": datasets of numbers that are no
 * coordinates, and solution tables. *count says how many; a long list ends in "...". The caller
 * frees. */
char *grove_hdf5_tables(hid_t file, const char *path, int *count);

/* The sizes of a dataset or an attribute; the number of dimensions, or -1 where they are more than
 * GROVE_HDF5_RANK, or its content is larger than GROVE_HDF5_MAX_BYTES or stored outside the
 * file. */
int grove_hdf5_sizes(hid_t data, hsize_t size[GROVE_HDF5_RANK]);
/* The kind of its elements: numbers that are real, or complex (a compound of r and i), or texts. */
typedef enum {
    GROVE_HDF5_OTHER,
    GROVE_HDF5_REAL,
    GROVE_HDF5_COMPLEX,
    GROVE_HDF5_TEXT
} grove_hdf5_kind;
grove_hdf5_kind grove_hdf5_kind_of(hid_t data);
/* Its numbers, complex ones as pairs, in order of storage; 0 or -1. */
int grove_hdf5_numbers(hid_t data, bool complex_, double *to);
/* Its texts, a dataset's or an attribute's, `count` of them: each, and the list, freed by the
 * caller; NULL: they cannot be read, or are more than GROVE_HDF5_MAX_TEXTS or
 * GROVE_HDF5_MAX_BYTES. */
char **grove_hdf5_texts(hid_t data, size_t count);
/* The text of an attribute of an object, or NULL; the caller frees. */
char *grove_hdf5_attribute(hid_t object, const char *name);
/* The first dimension scale of each dimension of a dataset of `rank` dimensions, as the attribute
 * DIMENSION_LIST of the HDF5 library's H5DS has them; negative: none. */
void grove_hdf5_scales(hid_t data, int rank, hid_t scale[GROVE_HDF5_RANK]);
/* Names of the dimensions (DIMENSION_LABELS), or NULL; freed as texts are. */
char **grove_hdf5_labels(hid_t data, int rank);

#endif
