/* The estimated time of image-domain gridding. */
#include "idg_hot.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- on a core ---- */

/* Nanoseconds on one core with AVX2, of a cell with AVX-512 (bench/gridder): of a pixel and
 * visibility, of a pixel of an edge and visibility, of a cell of a subgrid, and of a cell of a
 * layer. */
static const double per_pixel = 0.16, per_edge = 1.5, per_cell = 10, per_operation = 0.7,
                    per_layer = 5, per_sample = 60, per_term = 1;

/* w-tiles: of the places that baselines can reach, halved by w >= 0, long tracks of many antennas
 * occupy about half, each in some of the layers at one u and v, and in more the larger it is. A
 * place has one transform back, and one and exp(2 pi i w n) for each layer. */
static double cost_of_tiles(const grove_idg_plan *p)
{
    const grove_gridder_bounds *b = &p->grid.bounds;
    double cells = 1;

    if (!p->tile)
        return 0;
    for (int d = 0; d < 2; d++)
        cells *= fmin((d ? b->max_v : b->max_u) * (double)p->grid.grid[d] * p->grid.image.cell[d],
                      0.5 * (double)p->grid.grid[d]);
    const double places = fmax(pi / 2 * cells / p->tile / p->tile, 1),
                 layers = 1 + (double)p->layers * (0.15 + p->tile / sqrt(cells)),
                 blocks = places * 0.5 * fmin(layers, (double)p->layers),
                 padded = (double)p->padded * p->padded,
                 transform = padded * per_operation * log2(padded);
    return fmin(places, blocks) * transform + blocks * (transform + padded * per_cell);
}

double grove_idg_seconds(const grove_idg_plan *p, double samples, double subgrids, int elements)
{
    const double side = p->side, pixels = side * side, numbers = p->mix.visibilities,
                 images = p->mix.images, cells = (double)(p->grid.grid[0] * p->grid.grid[1]),
                 slower = p->grid.bounds.double_precision ? 2 : 1;

    return 1e-9 * slower *
           (samples * (per_sample + numbers * pixels * per_pixel + side * per_edge) +
            subgrids * pixels * (images * per_cell + numbers * elements * per_term) +
            images * ((double)p->grid.planes * cells * (per_operation * log2(cells) + per_layer) +
                      cost_of_tiles(p)));
}

/* ---- on a GPU ---- */

/* Picoseconds of an H100, in single precision and in double, as counted
 * (bench/RESULTS-gpu-counted.md), the mean of gridding and degridding: of a visibility and number,
 * of a pixel of it, and of an exact phase along an edge; of a pixel of a subgrid, through terms.
 * cuFFT, cells, and numbers that are written and read take as long as their bytes, at 3.35 TB/s: of
 * a pixel and image, a pixel and number, a pixel and element of the terms, and of a cell of a
 * layer, which becomes a pixel. */
static const struct {
    double number, pixel, edge, weighing, image, written, term, cell;
} gpu[2] = {{22.5, 0.0524, 0.89, 10.9, 16, 4.8, 5, 22}, {82.9, 0.321, 0.75, 13.8, 32, 9.6, 10, 44}};

double grove_idg_device_seconds(const grove_idg_plan *p, double samples, double subgrids,
                                int elements, double channels)
{
    const double side = p->side, pixels = side * side, numbers = p->mix.visibilities,
                 images = p->mix.images, cells = (double)(p->grid.grid[0] * p->grid.grid[1]),
                 together = fmax(fmin(channels, GROVE_IDG_RESTART), 1);
    const int k = p->grid.bounds.double_precision;

    return 1e-12 *
               (samples * numbers *
                    (gpu[k].number + pixels * gpu[k].pixel + 2 * side * gpu[k].edge / together) +
                subgrids * pixels *
                    (gpu[k].weighing + images * gpu[k].image + numbers * gpu[k].written +
                     elements * gpu[k].term) +
                images * (double)p->grid.planes * cells * gpu[k].cell) +
           1e-9 * (k ? 2 : 1) * images * cost_of_tiles(p);
}
