/* Moving the flux of an image onto other pixels. */
#include "nodes/imaging/image_regrid.h"

#include <math.h>

/* Rows: unit vectors to the east, to the north and to the centre. */
static void frame_of(const double centre[2], double frame[3][3])
{
    double sin_ra = sin(centre[0]), cos_ra = cos(centre[0]);
    double sin_dec = sin(centre[1]), cos_dec = cos(centre[1]);
    const double rows[3][3] = {{-sin_ra, cos_ra, 0},
                               {-sin_dec * cos_ra, -sin_dec * sin_ra, cos_dec},
                               {cos_dec * cos_ra, cos_dec * sin_ra, sin_dec}};

    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            frame[i][j] = rows[i][j];
}

void image_rotation(const double from[2], const double to[2], double matrix[3][3])
{
    double a[3][3], b[3][3];

    frame_of(from, a);
    frame_of(to, b);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            matrix[i][j] = b[i][0] * a[j][0] + b[i][1] * a[j][1] + b[i][2] * a[j][2];
}

/* Where a point of the image's plane is among the pixels of the grid; false: below its horizon. */
static bool place(const image_grid *grid, double (*r)[3], double l, double m, double at[2])
{
    double n = 1 - l * l - m * m, rotated[3];

    if (!(n > 0))
        return false;
    const double from[3] = {l, m, sqrt(n)};
    for (int i = 0; i < 3; i++)
        rotated[i] = r[i][0] * from[0] + r[i][1] * from[1] + r[i][2] * from[2];
    at[0] = rotated[0] / grid->cell_l + grid->column0;
    at[1] = rotated[1] / grid->cell_m + grid->row0;
    return rotated[2] > 0;
}

/* Shares a flux out; returns the flux outside of the grid. */
static double share(const image_grid *grid, const double at[2], double flux, double *to)
{
    double x = floor(at[0]), y = floor(at[1]), lost = 0;

    if (!(x >= -1 && y >= -1 && x < (double)grid->columns && y < (double)grid->rows))
        return flux;
    for (int k = 0; k < 4; k++) {
        int64_t column = (int64_t)x + k % 2, row = (int64_t)y + k / 2;
        double weight = (k % 2 ? at[0] - x : x + 1 - at[0]) * (k / 2 ? at[1] - y : y + 1 - at[1]);
        if (column >= 0 && row >= 0 && column < grid->columns && row < grid->rows)
            to[row * grid->columns + column] += weight * flux;
        else
            lost += weight * flux;
    }
    return lost;
}

static int parts_of(const grove_image *image, const image_grid *grid)
{
    const double(*m)[2] = image->sky.matrix;
    double side = fmax(hypot(m[0][0], m[1][0]), hypot(m[0][1], m[1][1]));
    double cell = fmin(fabs(grid->cell_l), fabs(grid->cell_m));

    return (int)fmin(256, fmax(1, ceil(3 * side / cell)));
}

double image_regrid(const grove_image *image, const double centre[2], int64_t plane,
                    const image_grid *grid, double *to)
{
    const grove_image_sky *sky = &image->sky;
    int parts = parts_of(image, grid);
    double r[3][3], lost = 0, share_of = 1 / ((double)parts * parts), at[2];

    image_rotation(centre, grid->centre, r);
    for (int64_t i = 0; i < image->rows * image->columns; i++) {
        double flux = grove_image_at(image, plane + i);
        if (!isfinite(flux) || flux == 0)
            continue;
        for (int k = 0; k < parts * parts; k++) {
            double x =
                (double)(i % image->columns) - sky->reference[0] - 0.5 + (k % parts + 0.5) / parts;
            double y =
                (double)(i / image->columns) - sky->reference[1] - 0.5 + (k / parts + 0.5) / parts;
            bool seen = place(grid, r, sky->matrix[0][0] * x + sky->matrix[0][1] * y,
                              sky->matrix[1][0] * x + sky->matrix[1][1] * y, at);
            lost += seen ? share(grid, at, flux * share_of, to) : flux * share_of;
        }
    }
    return lost;
}
