/* Cells of the plane of u and v, for the density of weights. */
#ifndef GROVE_NODES_UV_DENSITY_H
#define GROVE_NODES_UV_DENSITY_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "plugin.h"

#include <math.h>

/* Rows of v >= 0 and columns of u, the zero of u in column columns / 2. */
typedef struct {
    int64_t rows, columns;
    double per_u, per_v; /* cells for each wavelength */
} uv_density_cells;

static inline uv_density_cells uv_density_cells_of(const grove_gridder_image *image)
{
    return (uv_density_cells){.rows = image->size[1] / 2 + 1,
                              .columns = image->size[0],
                              .per_u = (double)image->size[0] * image->cell[0],
                              .per_v = (double)image->size[1] * image->cell[1]};
}

/* The number of the cell of a baseline (m) at a frequency (Hz); -1 beyond the cells. Of (u, v) and
 * (-u, -v) the one with v > 0 counts, or with v = 0 and u >= 0. */
static inline int64_t uv_density_cell(const uv_density_cells *cells, const double uvw[3],
                                      double freq)
{
    double k = freq / GROVE_SPEED_OF_LIGHT;
    double u = rint(uvw[0] * k * cells->per_u), v = rint(uvw[1] * k * cells->per_v);
    double sign = v < 0 || (v == 0 && u < 0) ? -1 : 1;
    double column = sign * u + (double)(cells->columns / 2), row = sign * v;

    if (!(column >= 0 && column < (double)cells->columns && row < (double)cells->rows))
        return -1;
    return (int64_t)row * cells->columns + (int64_t)column;
}

#endif
