/* What the images of test-gridder should be, by Fourier sums in long double, and how far they are
 * off. */
#ifndef GROVE_TESTS_GRIDDER_TRUTH_H
#define GROVE_TESTS_GRIDDER_TRUTH_H

#include "gridder-world.h"

static long double phase(const world *w, int64_t x, int64_t y, int64_t row)
{
    const int64_t *size = w->image.size;
    long double l = w->image.centre[0] + (long double)(x - size[0] / 2) * w->image.cell[0];
    long double m = w->image.centre[1] + (long double)(y - size[1] / 2) * w->image.cell[1];
    long double r = l * l + m * m, n = -r / (1 + sqrtl(1 - r));

    if (r >= 1)
        return NAN;
    if (w->bounds.without_w)
        n = 0;
    return (w->uvw[3 * row] * l + w->uvw[3 * row + 1] * m + w->uvw[3 * row + 2] * n) /
           speed_of_light;
}

static long double true_pixel(const world *w, int pol, int64_t x, int64_t y)
{
    const bool d = w->bounds.double_precision;
    long double sum = 0;

    for (int64_t row = 0; row < w->rows; row++) {
        long double delay = phase(w, x, y, row);
        for (int64_t k = 0; k < w->channels && !isnan(delay); k++) {
            int64_t at = row * w->channels + k;
            long double weight = number(w->weight, at, d), angle = delay * w->freq[k];
            if (weight <= 0)
                continue;
            int64_t element = 2 * (at * w->bounds.polarisations + pol);
            angle = turn * (angle - rintl(angle));
            sum += weight * (number(w->data, element, d) * cosl(angle) -
                             number(w->data, element + 1, d) * sinl(angle));
        }
    }
    return sum;
}

/* The mean square of a pixel if samples were independent: over few pixels the true image may be
 * much smaller by chance. */
static long double expected_square(const world *w, int pol)
{
    const bool d = w->bounds.double_precision;
    long double sum = 0;

    for (int64_t k = 0; k < w->rows * w->channels; k++)
        for (int part = 0; part < 2; part++) {
            double weight = number(w->weight, k, d);
            double x = number(w->data, 2 * (k * w->bounds.polarisations + pol) + part, d);
            sum += weight > 0 ? weight * weight * x * x / 2 : 0;
        }
    return sum;
}

static bool is_outer(const world *w, int64_t x, int64_t y)
{
    const int64_t *size = w->image.size;

    return fabsl((long double)(x - size[0] / 2)) / size[0] > 0.475L ||
           fabsl((long double)(y - size[1] / 2)) / size[1] > 0.475L;
}

/* Of a source outside, root mean squares over the image and over its outer twentieth, at every
 * fourth and second pixel along each side, and of those the largest error. */
static void find_errors(const world *w, const void *image, double error[3])
{
    double sum[2] = {0}, count[2] = {0};

    error[2] = 0;
    for (int64_t y = 0; y < w->image.size[1]; y += 2)
        for (int64_t x = 0; x < w->image.size[0]; x += 2) {
            const bool is_part[2] = {x % 4 == 0 && y % 4 == 0, is_outer(w, x, y)};
            if (!is_part[0] && !is_part[1])
                continue;
            const double off = number(image, y * w->image.size[0] + x, w->bounds.double_precision) -
                               (double)true_pixel(w, 0, x, y);
            error[2] = fmax(error[2], fabs(off));
            for (int part = 0; part < 2; part++) {
                sum[part] += is_part[part] ? off * off : 0;
                count[part] += is_part[part];
            }
        }
    for (int part = 0; part < 2; part++)
        error[part] = sqrt(sum[part] / count[part]);
}

#endif
