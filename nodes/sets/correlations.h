/* How correlations of a Measurement Set map to elements of a cell. Shared by ms and sink. */
#ifndef GROVE_NODES_CORRELATIONS_H
#define GROVE_NODES_CORRELATIONS_H

#include "plugin.h"

/* The element of the 2x2 cell (0 XX, 1 XY, 2 YX, 3 YY; circular likewise) of each correlation of
 * the set; -1: Stokes I, half the trace. */
typedef struct {
    int count, element[4], shape;
} grove_correlations;

/* From casacore's codes; also the shape of the cells through which numbers are exchanged with the
 * set. Non-zero for codes that are neither linear nor circular correlations nor I. */
int grove_correlations_map(grove_correlations *map, const int *codes, int count, int shape);
/* The shape that holds the set's correlations: matrix, diagonal (XX YY) or scalar; 0 if none does.
 */
int grove_correlations_shape(const int *codes, int count);
/* Whether the set's numbers are the cell's own, in order. */
bool grove_correlations_are_cells(const grove_correlations *map);
bool grove_correlations_circular(const int *codes, int count);
/* The elements that are missing in a set: bits, as of grove_node_missing_elements. */
int grove_correlations_missing(const int *codes, int count);
/* Correlation codes for a new set of cells of this shape, without the elements in `missing`. `own`:
 * the `have` codes of the set from which the observation was read, or none; if it has the same
 * correlations, their order is kept, and if one, its code. */
void grove_correlations_for_shape(int shape, int missing, bool circular, const int *own, int have,
                                  int *count, int codes[4]);
/* From one cell to the set's numbers and flags (bytes), and back. */
void grove_correlations_store(const grove_correlations *map, const grove_cplx32 *cell,
                              unsigned char cell_flags, float *data, unsigned char *flag);
void grove_correlations_load(const grove_correlations *map, const float *data,
                             const unsigned char *flag, grove_cplx32 *cell,
                             unsigned char *cell_flags);

#endif
