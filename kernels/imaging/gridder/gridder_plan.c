/* The choice of kernels, oversampling and planes by the cost that they are estimated to have. */
#include "gridder_private.h"

#include <math.h>
#include <string.h>

enum {
    MULTIPLE = 32, /* of grid sizes: an even number of tiles */
    RATIOS = 28,
    WIDTHS = GROVE_GRIDDER_MAX_WIDTH + 1
};

static const double pi = 3.14159265358979323846;

/* Oversampling is looked for on this raster. */
static double ratio_of(int index)
{
    return 1.15 + 0.075 * index + 0.002 * index * index;
}

double grove_gridder_n_less_1(double l, double m)
{
    double r = l * l + m * m;

    return r < 1 ? -r / (1 + sqrt(1 - r)) : -1;
}

/* Extremes lie at corners, edges or the phase centre. */
void grove_gridder_find_n(const grove_gridder_image *image, double *low, double *high)
{
    double place[2][3];
    int count[2];

    for (int d = 0; d < 2; d++) {
        double first = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d];
        double last = first + (double)(image->size[d] - 1) * image->cell[d];
        place[d][0] = first;
        place[d][1] = last;
        place[d][2] = 0;
        count[d] = first * last < 0 ? 3 : 2;
    }
    *low = 0;
    *high = -1;
    for (int i = 0; i < count[0]; i++)
        for (int k = 0; k < count[1]; k++) {
            double n = grove_gridder_n_less_1(place[0][i], place[1][k]);
            *low = fmin(*low, n);
            *high = fmax(*high, n);
        }
}

int64_t grove_gridder_transform_size(double needed, int64_t multiple)
{
    int64_t least = (int64_t)ceil(needed / (double)multiple), best = 1;

    while (best < least)
        best *= 2;
    for (int64_t five = 1; five < best; five *= 5)
        for (int64_t three = five; three < best; three *= 3)
            for (int64_t two = three; two < best; two *= 2)
                if (two >= least)
                    best = two;
    return best * multiple;
}

/* The least oversampling for which a kernel of each width has at most an error; found when asked
 * for. */
typedef struct {
    double error[WIDTHS][RATIOS]; /* 0: not known yet */
    grove_gridder_kernel kernel[WIDTHS][RATIOS];
    /* Along w the largest error counts, not the root mean square: samples may all have nearly one
       w, and bright sources one n, as at the phase centre. */
    bool largest;
} table;

static double error_of(table *t, int width, int ratio)
{
    double *error = &t->error[width][ratio];
    grove_gridder_kernel *kernel = &t->kernel[width][ratio];

    if (*error <= 0) {
        *error = grove_gridder_kernel_choose(width, ratio_of(ratio), kernel);
        if (t->largest)
            *error = grove_gridder_kernel_max_error(kernel, ratio_of(ratio));
    }
    return *error;
}

/* The index of the least oversampling; RATIOS: none suffices. */
static int least_ratio(table *t, int width, double error)
{
    int low = 0, high = RATIOS;

    while (low < high) {
        int middle = (low + high) / 2;
        if (error_of(t, width, middle) <= error)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* ---- costs ---- */

/* Nanoseconds on one core with AVX-512 (bench/gridder): of a sample, of each vector that it is
 * spread over, of each of the 5 n log2(n) operations of a transform, of a pixel of a plane, which
 * takes twice as long in double precision; of operations in double precision; of a tap of a pixel.
 */
static const double per_sample = 18, per_vector = 0.36, per_operation = 0.02, per_pixel = 1.2,
                    per_operation_double = 0.05, per_tap = 0.03;

static double transform_cost(const grove_gridder_plan *p, int d)
{
    double size = (double)p->transform[d];

    return (p->bounds.double_precision ? per_operation_double : per_operation) * 5 * size *
           log2(size);
}

static double occupied(double max, double cell, int64_t grid, int width)
{
    return fmin((double)grid, 2 * max * cell * (double)grid + width + 32);
}

static double spread_cost(const grove_gridder_plan *p)
{
    const grove_gridder_bounds *b = &p->bounds;
    double vectors = ceil(2.0 * p->kernel.width / (b->double_precision ? 8 : 16));

    return b->samples * (per_sample + per_vector * vectors * (double)b->polarisations *
                                          p->kernel.width * p->kernel_w.width);
}

static double image_cost(const grove_gridder_plan *p)
{
    const grove_gridder_bounds *b = &p->bounds;
    const grove_gridder_image view = grove_gridder_view(p);
    const double slower = b->double_precision ? 2 : 1;
    double rows = occupied(b->max_v, p->image.cell[1], p->grid[1], p->kernel.width);
    double pixels = (double)(view.size[0] * view.size[1]);
    double plane = rows * transform_cost(p, 0) + (double)view.size[0] * transform_cost(p, 1) +
                   pixels * per_pixel * slower;
    double lines = (double)p->image.size[1],
           sums = lines * (double)view.size[0] + lines * (double)p->image.size[0];

    return (double)b->polarisations *
           ((double)p->planes * plane +
            (p->taps ? slower * (sums * (double)p->taps * per_tap +
                                 lines * (double)p->image.size[0] * per_pixel)
                     : 0));
}

/* The cost, in seconds, and the transforms with which it is least. */
static double cost_of(grove_gridder_plan *p)
{
    static const double oversampling[] = {1.15, 1.25, 1.35, 1.5, 1.75, 2, 2.5};
    const int count = (int)(sizeof(oversampling) / sizeof(*oversampling));
    grove_gridder_plan coarse = *p;

    p->transform[0] = p->grid[0];
    p->transform[1] = p->grid[1];
    p->taps = 0;
    double least = image_cost(p);
    for (int k = 0; k < count && !p->bounds.exact; k++) {
        if (!grove_gridder_find_coarse(&coarse, oversampling[k]) || image_cost(&coarse) >= least)
            continue;
        least = image_cost(&coarse);
        *p = coarse;
    }
    return 1e-9 * (spread_cost(p) + least);
}

/* ---- planes ---- */

static void set_planes(grove_gridder_plan *p, const grove_gridder_kernel *kernel, double ratio)
{
    const grove_gridder_bounds *b = &p->bounds;
    double range = b->max_w - b->min_w;

    p->kernel_w = *kernel;
    p->step_w = 0.5 / (ratio * p->half_n);
    p->planes = (int64_t)ceil(range / p->step_w * (1 + 1e-9)) + kernel->width;
    p->first_w = b->min_w - 0.5 * kernel->width * p->step_w;
}

static void set_one_plane(grove_gridder_plan *p)
{
    p->kernel_w = (grove_gridder_kernel){.width = 1};
    p->planes = 1;
    p->step_w = 0;
    p->first_w = p->bounds.without_w ? 0 : (p->bounds.min_w + p->bounds.max_w) / 2;
}

/* Whether all samples may be taken at one w. */
static bool needs_no_planes(const grove_gridder_plan *p, double error)
{
    return p->bounds.without_w || pi * (p->bounds.max_w - p->bounds.min_w) * p->half_n <= error;
}

/* Tries all kernels in w with a given one in u and v: no wider ones, as the hot loops require. */
static void choose_planes(table *t, const grove_gridder_plan *tried, double left,
                          grove_gridder_plan *best)
{
    grove_gridder_plan p = *tried;

    if (needs_no_planes(&p, left)) {
        set_one_plane(&p);
        p.seconds = cost_of(&p);
        if (p.seconds < best->seconds)
            *best = p;
        return;
    }
    for (int width = GROVE_GRIDDER_MIN_WIDTH; width <= tried->kernel.width; width++) {
        int ratio = least_ratio(t, width, left);
        if (ratio == RATIOS)
            continue;
        set_planes(&p, &t->kernel[width][ratio], ratio_of(ratio));
        p.seconds = cost_of(&p);
        p.error = hypot(tried->error, t->error[width][ratio]);
        if (p.seconds < best->seconds)
            *best = p;
    }
}

int grove_gridder_plan_choose(const grove_gridder_image *image, const grove_gridder_bounds *bounds,
                              double epsilon, grove_gridder_plan *plan)
{
    table t, along_w;
    grove_gridder_plan p = {.image = *image, .bounds = *bounds}, best = {.seconds = INFINITY};
    const int max_width = bounds->double_precision ? GROVE_GRIDDER_MAX_WIDTH : 8;
    double low, high;

    if (!(epsilon >= (bounds->double_precision ? 1e-12 : 1e-5) * (1 - 1e-9)))
        return -1;
    memset(&t, 0, sizeof(t));
    memset(&along_w, 0, sizeof(along_w));
    along_w.largest = true;
    grove_gridder_find_n(image, &low, &high);
    p.middle_n = bounds->without_w ? 0 : (low + high) / 2;
    p.half_n = (high - low) / 2;
    p.ripple = 0.03 * epsilon;
    /* Polynomials and rounding take some of it. Over few pixels, or of few samples, errors
       scatter. */
    epsilon *= 0.97 / (1 + 20 / sqrt((double)(image->size[0] * image->size[1])) +
                       8 / sqrt(fmax(bounds->samples, 1)));
    /* Above 8, widths are even: the hot loops have no others. */
    for (int width = GROVE_GRIDDER_MIN_WIDTH; width <= max_width; width += width < 8 ? 1 : 2) {
        for (int ratio = least_ratio(&t, width, epsilon / sqrt(2)); ratio < RATIOS; ratio++) {
            double error = sqrt(2) * error_of(&t, width, ratio);
            double left = sqrt(fmax(epsilon * epsilon - error * error, 0));
            if (error > epsilon || left <= 0)
                continue;
            p.kernel = t.kernel[width][ratio];
            p.error = error;
            for (int d = 0; d < 2; d++)
                p.grid[d] = grove_gridder_transform_size(ratio_of(ratio) * (double)image->size[d],
                                                         MULTIPLE);
            choose_planes(&along_w, &p, left, &best);
        }
    }
    if (best.seconds < INFINITY)
        *plan = best;
    return best.seconds < INFINITY ? 0 : -1;
}
