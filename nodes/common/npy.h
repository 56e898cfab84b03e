/* NumPy's .npy files: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html */
#ifndef GROVE_NODES_COMMON_NPY_H
#define GROVE_NODES_COMMON_NPY_H

#include "base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { GROVE_NPY_AXES = 32, GROVE_NPY_HEADER = 512 };

/* The content of a file's header. */
typedef struct {
    int axes;
    int64_t size[GROVE_NPY_AXES]; /* in the order of the file's shape */
    bool complex_, integer, fortran;
    int bytes;     /* of a number, or of each part of a complex one */
    size_t offset; /* of the numbers in the file */
} grove_npy;

/* The header of a file of little-endian numbers in C order. */
void grove_npy_header(const grove_npy *npy, char header[GROVE_NPY_HEADER]);
/* Reads the header in a file's first `length` bytes; GROVE_INVALID with a message "NAME: ..." where
 * there is none, or the numbers are not f4, f8, c8, c16, i4 or i8. */
int grove_npy_parse(grove_npy *npy, const char *bytes, size_t length, const char *name,
                    grove_error *error);

#endif
