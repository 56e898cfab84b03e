/* Random functions and visibilities of test-g2g, and what g2g makes of them by its definition. */
#ifndef GROVE_TESTS_G2G_WORLD_H
#define GROVE_TESTS_G2G_WORLD_H

#include "../kernels/imaging/g2g/g2g.h"
#include "gridder-testing.h"
#include "random-numbers.h"

#include <check.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const long double light = 299792458.0L;

typedef struct {
    int64_t grid[2];
    int support, oversampling;
    int64_t functions, planes;
    bool real_functions, double_precision;
} configuration;

enum { ROWS = 300, CHANNELS = 5, SAMPLES = ROWS * CHANNELS, SETS = 4 };

typedef struct {
    grove_lattice lattice;
    const grove_convolution_plan *plan;
    size_t real;
    int64_t cells, fine;
    double uvw[3 * ROWS], freq[CHANNELS];
    void *functions, *weight, *data;
    int32_t index[SETS * 2], row[ROWS], channel[CHANNELS];
    grove_convolution_mueller mueller;
    grove_gridder_samples samples;
} world;

static long double complex get_complex(const void *at, int64_t k, size_t real)
{
    return get(at, 2 * k, real) + I * (long double)get(at, 2 * k + 1, real);
}

/* ---- configurations ---- */

/* Tracks: neighbouring rows are near each other, so that many share a point. */
static void make_baselines(world *w)
{
    const double lambda = 0.2;

    for (int k = 0; k < CHANNELS; k++)
        w->freq[k] = (double)light / lambda * (1 + 0.001 * k);
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 3; k++) {
            const double reach = k < 2 ? 0.6 * (double)w->plan->grid[k] / w->plan->scale[k]
                                       : 500 * (double)w->plan->planes;
            w->uvw[3 * r + k] =
                r % 10 ? w->uvw[3 * (r - 1) + k] * 1.002 + 0.1 : uniform(-reach, reach) * lambda;
        }
    w->uvw[3] = NAN;
    w->uvw[3 * 12 + 2] = 0;
    memset(w->uvw + 3 * 13, 0, 3 * sizeof(double));
}

static void make_functions(world *w, bool are_real)
{
    const int64_t count = w->plan->functions * w->plan->planes * w->fine * w->fine;

    w->functions = random_numbers(2 * count, -1, w->real);
    for (int64_t k = 0; k < count && are_real; k++)
        put(w->functions, 2 * k + 1, 0, w->real);
}

static void begin(world *w, const configuration *c)
{
    const grove_convolution_plan plan = {.grid = {c->grid[0], c->grid[1]},
                                         .scale = {0.01, 0.02},
                                         .turn = {1e-3, -2e-3, 1e-4},
                                         .support = c->support,
                                         .oversampling = c->oversampling,
                                         .functions = c->functions,
                                         .planes = c->planes,
                                         .visibilities = 1,
                                         .images = 1,
                                         .step_w = c->planes > 1 ? 500 : 0,
                                         .double_precision = c->double_precision};

    *w = (world){.real = c->double_precision ? sizeof(double) : sizeof(float),
                 .fine = (int64_t)c->support * c->oversampling,
                 .cells = c->grid[0] * c->grid[1]};
    ck_assert(grove_lattice_make(&plan, &w->lattice));
    w->plan = &w->lattice.plan;
    make_baselines(w);
    for (int k = 0; k < SETS * 2; k++)
        w->index[k] = (int32_t)(c->functions > 1 ? k % (c->functions + 1) - 1 : 0);
    for (int k = 0; k < ROWS; k++)
        w->row[k] = k / 20 % 2;
    for (int k = 0; k < CHANNELS; k++)
        w->channel[k] = 2 * (k > 2);
    w->mueller = (grove_convolution_mueller){w->index, w->row, w->channel, NULL};
    make_functions(w, c->real_functions);
    w->weight = random_numbers(SAMPLES, 0.1, w->real);
    for (int k = 20; k < 24; k++)
        put(w->weight, k, 0, w->real);
    w->data = calloc(2 * SAMPLES, w->real);
    w->samples = (grove_gridder_samples){.rows = ROWS,
                                         .channels = CHANNELS,
                                         .uvw = w->uvw,
                                         .freq = w->freq,
                                         .data = w->data,
                                         .weight = w->weight};
}

static void end(world *w)
{
    free(w->functions);
    free(w->weight);
    free(w->data);
}

static const grove_convolution_mueller *mueller_of(const world *w)
{
    return w->plan->functions > 1 ? &w->mueller : NULL;
}

/* A diagonal of samples, as entries with some unused ones; `count`: of those that are used. */
static grove_diagonal_entry *entries_of(const world *w, const grove_gridder_samples *samples,
                                        const grove_gridder_threads *threads, int64_t *count,
                                        grove_gridder_outside *outside)
{
    enum { UNUSED = 3 };
    grove_diagonal *d = grove_diagonal_new(&w->lattice, 0);

    ck_assert_ptr_nonnull(d);
    ck_assert_int_eq(grove_diagonal_add(d, samples, mueller_of(w), threads, outside), 0);
    *count = grove_diagonal_count(d);
    grove_diagonal_entry *entries = malloc((size_t)(*count + UNUSED) * sizeof(*entries));
    grove_diagonal_write(d, threads, entries);
    for (int k = 0; k < UNUSED; k++)
        entries[*count + k] = (grove_diagonal_entry){-1, 0};
    grove_diagonal_free(d);
    return entries;
}

static void *apply(const world *w, grove_isa isa, const grove_diagonal_entry *entries,
                   int64_t count, const void *in, const grove_gridder_threads *threads)
{
    void *out = random_numbers(2 * w->cells, -1, w->real); /* which is overwritten */
    grove_g2g *g = grove_g2g_new(&w->lattice, w->functions, isa);

    ck_assert_ptr_nonnull(g);
    ck_assert_int_eq(grove_g2g_apply(g, entries, count, in, out, threads), 0);
    grove_g2g_free(g);
    return out;
}

/* ---- the definition ---- */

/* Fine samples of the grid at which a visibility is, its plane and function. */
typedef struct {
    int64_t at[2], number; /* of the plane of the function */
} place;

static bool find_place(const world *w, int64_t i, place *to)
{
    const grove_convolution_plan *p = w->plan;
    const double *uvw = w->uvw + 3 * (i / CHANNELS), sign = uvw[2] < 0 ? -1 : 1;
    const long double wave = (long double)w->freq[i % CHANNELS] / light;
    const int64_t set = w->row[i / CHANNELS] + w->channel[i % CHANNELS],
                  plane = p->step_w > 0 ? llrintl(sign * uvw[2] * wave / p->step_w) : 0,
                  function = p->functions > 1 ? w->index[2 * set + (sign < 0)] : 0,
                  half = (int64_t)p->support * p->oversampling / 2;

    to->number = function * p->planes + plane;
    for (int d = 0; d < 2; d++) {
        if (!isfinite(uvw[d]))
            return false;
        to->at[d] = llrintl(sign * uvw[d] * wave * p->scale[d] * p->oversampling) +
                    p->grid[d] / 2 * p->oversampling;
        /* the cells that it touches are all in the grid */
        const int64_t low = to->at[d] - half, high = low + (int64_t)p->support * p->oversampling;
        if (low <= -p->oversampling || high > p->grid[d] * p->oversampling)
            return false;
    }
    return plane < p->planes && function >= 0 && get(w->weight, i, w->real) != 0;
}

/* The number of a function at a cell; 0 where it has none. */
static long double complex number_at(const world *w, const place *p, int64_t u, int64_t v)
{
    const int64_t half = (int64_t)w->plan->support * w->plan->oversampling / 2,
                  k = u * w->plan->oversampling - p->at[0] + half,
                  j = v * w->plan->oversampling - p->at[1] + half;

    return k >= 0 && j >= 0 && k < w->fine && j < w->fine
               ? get_complex(w->functions, (p->number * w->fine + j) * w->fine + k, w->real)
               : 0;
}

/* Each visibility by itself. */
static long double complex *direct(const world *w, const void *in, int64_t *points)
{
    long double complex *out = calloc((size_t)w->cells, sizeof(*out));
    place all[SAMPLES];

    *points = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        place p;
        long double complex sum = 0;
        if (!find_place(w, i, &p))
            continue;
        int64_t like = 0;
        while (like < *points && memcmp(&all[like], &p, sizeof(p)))
            like++;
        if (like == *points)
            all[(*points)++] = p;
        const int64_t first[2] = {p.at[0] / w->plan->oversampling - w->plan->support,
                                  p.at[1] / w->plan->oversampling - w->plan->support};
        for (int pass = 0; pass < 2; pass++)
            for (int64_t v = first[1]; v <= first[1] + 2 * w->plan->support; v++)
                for (int64_t u = first[0]; u <= first[0] + 2 * w->plan->support; u++) {
                    if (u < 0 || v < 0 || u >= w->plan->grid[0] || v >= w->plan->grid[1])
                        continue;
                    const int64_t cell = v * w->plan->grid[0] + u;
                    const long double complex c = number_at(w, &p, u, v);
                    if (pass)
                        out[cell] += c * sum * get(w->weight, i, w->real);
                    else
                        sum += conjl(c) * get_complex(in, cell, w->real);
                }
    }
    return out;
}

static double largest(const world *w, const long double complex *grid)
{
    double most = 0;

    for (int64_t k = 0; k < w->cells; k++)
        most = fmax(most, (double)cabsl(grid[k]));
    return most;
}

/* <a, b> */
static inline long double complex inner(const world *w, const void *a, const void *b)
{
    long double complex sum = 0;

    for (int64_t k = 0; k < w->cells; k++)
        sum += conjl(get_complex(a, k, w->real)) * get_complex(b, k, w->real);
    return sum;
}

/* Calls check() with configurations 1 to `count`; GROVE_TEST_CONFIGURATIONS / part are how many,
 * GROVE_TEST_SEED where they begin, if these are set. */
static inline void each_random_configuration(uint64_t count, uint64_t part,
                                             void (*check)(const configuration *c))
{
    const char *many = getenv("GROVE_TEST_CONFIGURATIONS"), *seed = getenv("GROVE_TEST_SEED");
    const uint64_t first = seed ? strtoull(seed, NULL, 10) : 1,
                   last = first + (many ? strtoull(many, NULL, 10) / part : count);

    for (uint64_t k = first; k < last; k++) {
        state = k;
        uniform(0, 1);
        configuration c = {.support = (int)uniform(1, 20),
                           .oversampling = (int)uniform(1, 12),
                           .functions = (int64_t)uniform(1, 5),
                           .planes = (int64_t)uniform(1, 4),
                           .real_functions = uniform(0, 2) < 1,
                           .double_precision = uniform(0, 2) < 1};
        for (int d = 0; d < 2; d++)
            c.grid[d] = 2 * c.support + (int64_t)uniform(6, 40);
        check(&c);
    }
}

#endif
