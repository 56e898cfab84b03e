/* Coarse images: where samples fill a part of the uv plane only, planes are transformed to fewer
 * and larger pixels of the same field, turned and added there, and the requested pixels are
 * interpolated once. Turning by w (n - 1) adds |w| |l| / n to the largest u, and so along m. */
#include "gridder_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TILE = GROVE_GRIDDER_TILE, MULTIPLE = 8, MAX_TAPS = 128, SPARE = 8 };

static const double pi = 3.14159265358979323846;

/* Cells from the zero of u or v that planes may have after they are turned over a field that
 * extends so far from the image's centre along l and m; INFINITY where it comes near the horizon.
 */
static double reach_of(const grove_gridder_plan *p, int d, const double extent[2])
{
    const double max[2] = {p->bounds.max_u, p->bounds.max_v};
    double w = p->bounds.without_w ? 0 : p->first_w + (double)p->planes * p->step_w, edge[2];

    for (int k = 0; k < 2; k++)
        edge[k] = fabs(p->image.centre[k]) + extent[k];
    double rest = 1 - edge[0] * edge[0] - edge[1] * edge[1];
    if (rest < 0.1)
        return INFINITY;
    return (max[d] + w * edge[d] / sqrt(rest)) * p->image.cell[d] * (double)p->grid[d] +
           0.5 * p->kernel.width + 1;
}

/* Kaiser's estimate of the taps of a filter with ripples of an error (Kaiser 1974), whose band ends
 * at a part of 1 / oversampling. */
static double taps_of(double error, double oversampling)
{
    return (-20 * log10(error) - 7.95) / (2.285 * 2 * pi * (1 - 1 / oversampling));
}

static double window_beta(double error)
{
    return 0.1102 * (-20 * log10(error) - 8.7);
}

/* Planes are turned in all of the view, which the taps make larger than the image: the more of
 * them, the farther planes reach. */
static bool find_taps(grove_gridder_plan *p, double oversampling)
{
    int64_t taps = 0;

    do {
        const int64_t before = taps;
        double extent[2];
        p->taps = taps = 2 * (int64_t)ceil(0.5 * taps_of(p->ripple, oversampling) + 0.5);
        if (taps == before)
            return true;
        const grove_gridder_image view = grove_gridder_view(p);
        for (int d = 0; d < 2; d++)
            extent[d] = 0.5 * (double)view.size[d] * view.cell[d];
        for (int d = 0; d < 2; d++) {
            oversampling =
                fmin(oversampling, (double)p->transform[d] / (2 * reach_of(p, d, extent)));
            if (view.size[d] > p->transform[d] || view.size[d] > p->image.size[d])
                return false;
        }
    } while (taps <= MAX_TAPS && oversampling > 1);
    return false;
}

bool grove_gridder_find_coarse(grove_gridder_plan *p, double oversampling)
{
    grove_gridder g = {.plan = *p};
    double least = INFINITY, extent[2];

    grove_gridder_find_columns(&g);
    for (int d = 0; d < 2; d++)
        extent[d] = 0.6 * (double)p->image.size[d] * p->image.cell[d];
    for (int d = 0; d < 2; d++) {
        double reach = reach_of(p, d, extent);
        if (!(reach * 2 * oversampling < (double)p->grid[d]) || g.columns[d] == g.tiles[d])
            return false;
        double needed = fmax(2 * oversampling * reach, (double)(g.columns[d] * TILE));
        p->transform[d] = grove_gridder_transform_size(needed, MULTIPLE);
        least = fmin(least, (double)p->transform[d] / (2 * reach));
    }
    return find_taps(p, least);
}

/* Pixels of the view for one of the image. */
static double ratio(const grove_gridder_plan *p, int d)
{
    return (double)p->transform[d] / (double)p->grid[d];
}

grove_gridder_image grove_gridder_view(const grove_gridder_plan *p)
{
    grove_gridder_image view = p->image;

    for (int d = 0; d < 2 && p->taps; d++) {
        view.cell[d] /= ratio(p, d);
        view.size[d] =
            2 * ((int64_t)ceil(0.5 * (double)p->image.size[d] * ratio(p, d)) + p->taps / 2 + 1);
    }
    return view;
}

/* ---- tables ---- */

/* Close to Kaiser's window, for |t| < 1 (Barnett et al. 2019). */
static double window(double beta, double t)
{
    double rest = 1 - t * t;

    return rest > 0 ? exp(beta * (sqrt(rest) - 1)) : 0;
}

static void put(grove_gridder_resampling *r, size_t real, int64_t at, double number)
{
    if (real == sizeof(float))
        ((float *)r->tap)[at] = (float)number;
    else
        ((double *)r->tap)[at] = number;
}

static int make_table(grove_gridder_resampling *r, int64_t from, int64_t to, int64_t taps,
                      size_t real)
{
    *r = (grove_gridder_resampling){.from = from,
                                    .to = to,
                                    .taps = taps,
                                    .first = calloc((size_t)(to + SPARE), sizeof(*r->first)),
                                    .tap = calloc((size_t)((to + SPARE) * taps), real)};
    return r->first && r->tap ? 0 : -1;
}

void grove_gridder_resampling_free(grove_gridder_resampling *r)
{
    free(r->first);
    free(r->tap);
    *r = (grove_gridder_resampling){0};
}

int grove_gridder_make_resampling(const grove_gridder *g, int d, bool to_coarse,
                                  grove_gridder_resampling *r)
{
    const grove_gridder_plan *p = &g->plan;
    const int64_t fine = p->image.size[d], coarse = grove_gridder_view(p).size[d],
                  most = (int64_t)ceil((double)p->taps / ratio(p, d)) + 1;
    const int64_t taps = !to_coarse ? p->taps : most < fine ? most : fine;
    const double beta = window_beta(p->ripple);

    if (to_coarse ? make_table(r, fine, coarse, taps, g->real)
                  : make_table(r, coarse, fine, taps, g->real))
        return -1;
    for (int64_t k = 0; to_coarse && k < coarse; k++) {
        double lowest = ((double)(k - coarse / 2) - 0.5 * (double)p->taps) / ratio(p, d);
        int64_t first = (int64_t)floor(lowest) + fine / 2;
        r->first[k] = (int32_t)(first < 0 ? 0 : first > fine - taps ? fine - taps : first);
    }
    for (int64_t x = 0; x < fine; x++) {
        /* sin(pi t) changes its sign from tap to tap. */
        double place = (double)(x - fine / 2) * ratio(p, d) + (double)(coarse / 2);
        int64_t first = (int64_t)floor(place) - p->taps / 2 + 1;
        double sine = sin(pi * (place - (double)first));
        if (!to_coarse)
            r->first[x] = (int32_t)first;
        for (int64_t j = 0; j < p->taps; j++) {
            double t = place - (double)(first + j);
            double tap = (fabs(t) < 1e-9 ? 1 : (j % 2 ? -sine : sine) / (pi * t)) *
                         window(beta, 2 * t / (double)p->taps);
            int64_t k = first + j, at = to_coarse ? x - r->first[k] : j;
            if (at >= 0 && at < taps)
                put(r, g->real, (to_coarse ? k : x) * taps + at, tap);
        }
    }
    return 0;
}
