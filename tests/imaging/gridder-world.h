/* Random images and samples of test-gridder. */
#ifndef GROVE_TESTS_GRIDDER_WORLD_H
#define GROVE_TESTS_GRIDDER_WORLD_H

#include "../kernels/imaging/gridder/gridder_private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const long double turn = 2 * 3.14159265358979323846264338327950288L;
static const long double speed_of_light = 299792458.0L;

typedef struct {
    grove_gridder_image image;
    grove_gridder_bounds bounds;
    double epsilon;
    grove_isa isa;
    int64_t rows, channels;
    double *uvw, *freq;
    void *data, *weight; /* numbers of the precision */
    int64_t window;      /* planes at a time; 0: all */
    uint64_t limit;      /* bytes of them */
    double oversampling; /* of coarse images, where there is room for them; 0: as planned */
    int64_t piece; /* channels of a row that are added at a time, the last row first; 0: all */
    char name[240];
} world;

/* ---- random numbers ---- */

static uint64_t state;

static double uniform(double low, double high)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(state >> 11) / 9007199254740992.0;
}

static int64_t whole(int64_t low, int64_t high)
{
    return low + (int64_t)uniform(0, (double)(high - low + 1));
}

static double number(const void *at, int64_t k, bool double_precision)
{
    return double_precision ? ((const double *)at)[k] : (double)((const float *)at)[k];
}

static void put(void *at, int64_t k, double x, bool double_precision)
{
    if (double_precision)
        ((double *)at)[k] = x;
    else
        ((float *)at)[k] = (float)x;
}

/* ---- configurations ---- */

static void fill(world *w, double longest)
{
    const bool double_precision = w->bounds.double_precision;
    const int64_t pols = w->bounds.polarisations;
    size_t real = double_precision ? sizeof(double) : sizeof(float);
    int64_t samples = w->rows * w->channels;
    double highest = 0;

    w->uvw = malloc((size_t)w->rows * 3 * sizeof(double));
    w->freq = malloc((size_t)w->channels * sizeof(double));
    w->data = malloc((size_t)(samples * pols) * 2 * real);
    w->weight = malloc((size_t)samples * real);
    int order = (int)whole(0, 3);
    for (int64_t k = 0; k < w->channels; k++) {
        double at = order == 0 ? (double)k : order == 1 ? (double)(w->channels - k) : uniform(0, 9);
        w->freq[k] = 1e8 + 2e6 * at;
        highest = fmax(highest, w->freq[k]);
    }
    double metres = longest * (double)speed_of_light / highest;
    for (int64_t k = 0; k < 3 * w->rows; k++)
        w->uvw[k] = whole(0, 30) ? uniform(-metres, metres) : 0;
    for (int64_t k = 0; k < samples; k++)
        put(w->weight, k, whole(0, 3) ? uniform(0.1, 2) : 0, double_precision);
    for (int64_t k = 0; k < 2 * samples * pols; k++)
        put(w->data, k,
            number(w->weight, k / (2 * pols), double_precision) > 0 ? uniform(-1, 1) : NAN,
            double_precision);
    w->bounds.samples = (double)samples;
    w->bounds.max_u = w->bounds.max_v = w->bounds.max_w = 0;
    for (int64_t r = 0; r < w->rows; r++) {
        const double *uvw = w->uvw + 3 * r, k = highest / (double)speed_of_light;
        w->bounds.max_u = fmax(w->bounds.max_u, fabs(uvw[0]) * k);
        w->bounds.max_v = fmax(w->bounds.max_v, fabs(uvw[1]) * k);
        w->bounds.max_w = fmax(w->bounds.max_w, fabs(uvw[2]) * k);
    }
}

static grove_isa random_isa(void)
{
    grove_isa isa = (grove_isa)whole(0, GROVE_ISAS - 1);

    return grove_isa_works(isa) ? isa : GROVE_ISA_PORTABLE;
}

static void free_world(world *w)
{
    free(w->uvw);
    free(w->freq);
    free(w->data);
    free(w->weight);
}

/* Images of up to 40 x 40 pixels, fields from small to the whole sky, w up to many turns. */
static void make_random(world *w, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    state = seed * 0x9e3779b97f4a7c15u + 1;
    uniform(0, 1);
    w->isa = random_isa();
    w->bounds.double_precision = whole(0, 1);
    w->bounds.without_w = whole(0, 5) == 0;
    w->bounds.polarisations = whole(1, 4);
    w->epsilon = pow(10, uniform(w->bounds.double_precision ? -12 : -5, -1));
    double field = pow(10, uniform(-3, -0.2));
    for (int d = 0; d < 2; d++) {
        w->image.size[d] = whole(0, 3) ? whole(1, 40) : whole(1, 3);
        w->image.cell[d] = field / (double)w->image.size[d];
        w->image.centre[d] = whole(0, 2) ? 0 : uniform(-0.2, 0.2);
    }
    w->rows = whole(0, 3) ? whole(1, 60) : 1;
    w->channels = whole(0, 3) ? whole(1, 40) : 1;
    /* Now and then beyond what the pixels resolve. */
    double finest = fmax(w->image.cell[0], w->image.cell[1]);
    fill(w, (whole(0, 5) ? 0.45 : 1.7) / finest);
    w->window = whole(0, 2) ? whole(1, 12) : 0;
    w->limit = whole(0, 2) ? UINT64_MAX : 1 << 20;
    snprintf(w->name, sizeof(w->name),
             "seed %lu: %s, %s, %ld x %ld pixels of %.2g, %ld x %ld samples, epsilon %.1e, %ld "
             "planes at a time",
             (unsigned long)seed, grove_isa_name(w->isa),
             w->bounds.double_precision ? "double" : "single", (long)w->image.size[0],
             (long)w->image.size[1], w->image.cell[0], (long)w->rows, (long)w->channels, w->epsilon,
             (long)w->window);
}

/* Images with many pixels for what baselines resolve; long ones have a field along l in which the
 * baseline of the largest u and w adds much to u. */
static void make_compact(world *w, uint64_t seed)
{
    const bool is_long = seed % 4 == 0;

    make_random(w, seed);
    free_world(w);
    double field = pow(10, uniform(-3, -0.2));
    for (int d = 0; d < 2; d++) {
        w->image.size[d] = is_long && d == 0 ? 700 : whole(90, 150);
        w->image.cell[d] = (is_long ? 0.6 - 0.5 * d : field) / (double)w->image.size[d];
        w->image.centre[d] = is_long ? 0 : w->image.centre[d];
    }
    w->bounds.without_w = w->bounds.without_w && !is_long;
    w->rows = whole(1, 8);
    w->channels = is_long ? 1 : whole(1, 4);
    w->oversampling = is_long ? 1.15 : uniform(1.15, 2.5);
    fill(w, uniform(0.02, 0.25) / fmax(w->image.cell[0], w->image.cell[1]));
    if (is_long) {
        double longest = 0.2 / w->image.cell[0];
        w->uvw[0] = w->uvw[2] = longest * (double)speed_of_light / w->freq[0];
        w->uvw[1] = 0;
        w->bounds.max_u = w->bounds.max_w = fmax(longest, fmax(w->bounds.max_u, w->bounds.max_w));
        put(w->weight, 0, 1, w->bounds.double_precision);
        for (int k = 0; k < 2 * w->bounds.polarisations; k++)
            put(w->data, k, 5, w->bounds.double_precision);
    }
    size_t end = strlen(w->name);
    snprintf(w->name + end, sizeof(w->name) - end, ", now compact: %ld x %ld, oversampling %.2f",
             (long)w->image.size[0], (long)w->image.size[1], w->oversampling);
}

/* Where a source lies outside of an image that a grid of `period` cells makes, in pixels: anywhere,
 * or where it is folded upon a corner of the image. */
static void find_outside(const grove_gridder_image *image, const int64_t period[2], bool anywhere,
                         double pixel[2])
{
    bool inside = true;

    while (inside) {
        inside = true;
        for (int d = 0; d < 2; d++) {
            const int64_t size = image->size[d];
            pixel[d] = anywhere ? uniform(-2.5, 2.5) * (double)period[d]
                                : (double)((whole(0, 1) ? -(size / 2) : (size - 1) / 2) +
                                           whole(-2, 2) * period[d]);
            inside = inside && fabs(pixel[d]) <= 0.5 * (double)size;
        }
    }
}

/* A source of 1 outside of an image of many pixels, seen by what counts as many samples. */
static void make_outside(world *w, uint64_t seed)
{
    grove_gridder_plan plan;
    double pixel[2];
    long double place[3];

    make_random(w, 7000 + seed);
    free_world(w);
    w->window = 0;
    w->bounds.polarisations = 1;
    for (int d = 0; d < 2; d++) {
        w->image.cell[d] *= (double)w->image.size[d] / 300;
        w->image.size[d] = whole(200, 300);
        w->image.centre[d] *= 100 * w->image.cell[d]; /* rounded positions are no error */
    }
    w->rows = whole(1, 12);
    w->channels = whole(1, 3);
    fill(w, 0.4 / fmax(w->image.cell[0], w->image.cell[1]));
    w->bounds.samples = 1e8;
    if (grove_gridder_plan_choose(&w->image, &w->bounds, w->epsilon, &plan))
        abort();
    find_outside(&w->image, plan.grid, seed % 3 == 0, pixel);
    for (int d = 0; d < 2; d++)
        place[d] = w->image.centre[d] + pixel[d] * w->image.cell[d];
    long double r = place[0] * place[0] + place[1] * place[1];
    place[2] = w->bounds.without_w ? 0 : r < 1 ? -r / (1 + sqrtl(1 - r)) : -1;
    for (int64_t k = 0; k < w->rows * w->channels; k++) {
        long double angle = 0;
        for (int d = 0; d < 3; d++)
            angle -= w->uvw[3 * (k / w->channels) + d] * place[d] / speed_of_light *
                     w->freq[k % w->channels];
        angle = turn * (angle - rintl(angle));
        put(w->data, 2 * k, (double)cosl(angle), w->bounds.double_precision);
        put(w->data, 2 * k + 1, (double)sinl(angle), w->bounds.double_precision);
    }
}

#endif
