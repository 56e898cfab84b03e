/* Moving the flux of an image onto other pixels. */
#ifndef GROVE_NODES_IMAGE_REGRID_H
#define GROVE_NODES_IMAGE_REGRID_H

#include "nodes/imaging/fits/image.h"

/* Pixels whose centres are at l = (column - column0) cell_l, m = (row - row0) cell_m about a centre
 * (J2000, rad); the phase centre of an image of the observation. */
typedef struct {
    double centre[2];
    int64_t columns, rows;
    double column0, row0, cell_l, cell_m; /* rad */
} image_grid;

/* Direction cosines about one centre from those about another: to = matrix from. */
void image_rotation(const double from[2], const double to[2], double matrix[3][3]);

/* Adds the flux of a plane of the image (Jy for each pixel; not finite: none), in plain SIN
 * projection about any centre, to `to` [rows][columns]. Each pixel is cut into parts that are no
 * larger than a third of a pixel of the grid, and each part is shared out, by bilinear weights,
 * among the four pixels of the grid around its centre: sums of fluxes and their centres of gravity
 * stay. Returns the flux outside of the grid. */
double image_regrid(const grove_image *image, const double centre[2], int64_t plane,
                    const image_grid *grid, double *to);

#endif
