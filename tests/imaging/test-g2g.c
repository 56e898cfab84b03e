/* From grid to grid through a compressed diagonal: entries and result against their definition in
 * long double, and against degridding and gridding each visibility; adjointness, eigenvalues,
 * splitting, doubling; the same bits for any threads; the compression of the paper's observation.
 * GROVE_TEST_CONFIGURATIONS is 20 times how many random configurations there are, GROVE_TEST_SEED
 * where they begin. */
#include "g2g-world.h"
#include "tests/common/suite.h"

static const configuration cases[] = {
    {{64, 64}, 7, 8, 1, 1, true, false},   {{96, 64}, 8, 5, 1, 3, false, true},
    {{50, 61}, 1, 1, 1, 1, true, true},    {{128, 96}, 33, 3, 1, 2, false, true},
    {{64, 70}, 17, 2, 1, 1, true, false},  {{33, 32}, 31, 1, 1, 2, false, true},
    {{64, 60}, 7, 4, 5, 2, false, true},   {{70, 90}, 9, 3, 2, 1, false, false},
    {{40, 60}, 16, 4, 1, 2, true, true},   {{48, 48}, 4, 16, 3, 3, false, false},
    {{200, 180}, 32, 2, 1, 1, true, true}, {{24, 24}, 5, 4, 1, 3, false, true},
};

/* ---- tests ---- */

/* Those of degridding and gridding. */
static void check_both_ways(world *w, grove_isa isa, const void *in, const void *out, double scale)
{
    const grove_convolution_mueller *m = mueller_of(w);
    grove_convolution *c = grove_convolution_new(w->plan, w->functions, isa);
    grove_gridder_outside outside = {0};

    memcpy(grove_convolution_grid(c), in, (size_t)(2 * w->cells) * w->real);
    ck_assert_int_eq(grove_convolution_predict(c, &w->samples, m, &in_order, &outside), 0);
    memset(grove_convolution_grid(c), 0, (size_t)(2 * w->cells) * w->real);
    ck_assert_int_eq(grove_convolution_add(c, &w->samples, m, &in_order, &outside, NULL), 0);
    for (int64_t k = 0; k < 2 * w->cells; k++)
        ck_assert_double_eq_tol(get(out, k, w->real), get(grove_convolution_grid(c), k, w->real),
                                scale * (w->real == sizeof(double) ? 1e-14 : 1e-5));
    grove_convolution_free(c);
}

static void check_adjoint(const world *w, grove_isa isa, const grove_diagonal_entry *entries,
                          int64_t count, const void *in, const void *out)
{
    void *other = random_numbers(2 * w->cells, -1, w->real),
         *of_other = apply(w, isa, entries, count, other, &in_order);
    const long double complex self = inner(w, in, out);
    const long double tolerance = (w->real == sizeof(double) ? 1e-13L : 1e-5L) * (1 + creall(self));

    ck_assert(creall(self) >= -tolerance && fabsl(cimagl(self)) <= tolerance);
    ck_assert(cabsl(inner(w, other, out) - conjl(inner(w, in, of_other))) <= tolerance);
    free(other);
    free(of_other);
}

static void check_isa(world *w, grove_isa isa, const void *in, const long double complex *truth,
                      int64_t points)
{
    const double scale = largest(w, truth), tolerance = w->real == sizeof(double) ? 1e-14 : 3e-6;
    grove_gridder_outside outside = {0};
    int64_t count, again;
    grove_diagonal_entry *entries = entries_of(w, &w->samples, &in_order, &count, &outside),
                         *others = entries_of(w, &w->samples, &three, &again, &outside);

    ck_assert_int_eq(count, points);
    ck_assert_int_eq(again, count);
    ck_assert_mem_eq(entries, others, (size_t)count * sizeof(*entries));
    void *out = apply(w, isa, entries, count + 3, in, &in_order),
         *same = apply(w, isa, entries, count, in, &backwards);
    ck_assert_mem_eq(out, same, (size_t)(2 * w->cells) * w->real);
    for (int64_t k = 0; k < w->cells; k++)
        ck_assert_double_le((double)cabsl(get_complex(out, k, w->real) - truth[k]),
                            tolerance * scale);
    check_both_ways(w, isa, in, out, scale);
    check_adjoint(w, isa, entries, count, in, out);
    free(entries);
    free(others);
    free(out);
    free(same);
}

static void check_configuration(const configuration *c)
{
    world w;
    int64_t points;

    begin(&w, c);
    void *in = random_numbers(2 * w.cells, -1, w.real);
    long double complex *truth = direct(&w, in, &points);
    ck_assert_int_gt(points, 0);
    ck_assert_int_lt(points, SAMPLES);
    for (int isa = 0; isa < GROVE_ISAS; isa++)
        if (grove_isa_works((grove_isa)isa))
            check_isa(&w, (grove_isa)isa, in, truth, points);
    free(in);
    free(truth);
    end(&w);
}

LOOP_TEST(as_defined, 0, sizeof(cases) / sizeof(*cases))
{
    check_configuration(&cases[_i]);
}

TEST(random_configurations)
{
    each_random_configuration(8, 20, check_configuration);
}

/* A part of the samples. */
static grove_gridder_samples rows_of(const world *w, int64_t first, int64_t last)
{
    grove_gridder_samples s = w->samples;

    s.rows = last - first;
    s.uvw += 3 * first;
    s.weight = (const char *)s.weight + (size_t)(first * CHANNELS) * w->real;
    return s;
}

/* What leaves the grid; sums of weights; the sum of two parts; twice the same is twice the weight;
 * the order of calls only rounds. */
TEST(sums_of_weights)
{
    const configuration c = {{64, 64}, 7, 4, 1, 2, false, true};
    grove_gridder_outside outside = {0}, none = {0};
    world w;
    int64_t count[4];
    double sum = 0, weights = 0;

    begin(&w, &c);
    const grove_gridder_samples parts[] = {rows_of(&w, 0, 100), rows_of(&w, 100, ROWS)};
    void *in = random_numbers(2 * w.cells, -1, w.real), *out[3];
    grove_diagonal_entry *all = entries_of(&w, &w.samples, &in_order, &count[0], &outside);
    grove_diagonal *twice = grove_diagonal_new(&w.lattice, 0);

    for (int64_t k = 0; k < count[0]; k++)
        sum += all[k].weight;
    for (int64_t i = 0; i < SAMPLES; i++)
        weights += get(w.weight, i, w.real);
    ck_assert_int_gt(outside.samples, 0);
    ck_assert_double_eq_tol(sum + outside.weight, weights, 1e-9);
    out[0] = apply(&w, grove_isa_best(), all, count[0], in, &in_order);
    for (int k = 0; k < 2; k++) {
        grove_diagonal_entry *part = entries_of(&w, &parts[k], &in_order, &count[1], &none);
        out[1 + k] = apply(&w, grove_isa_best(), part, count[1], in, &in_order);
        free(part);
    }
    for (int64_t k = 0; k < 2 * w.cells; k++)
        ck_assert_double_eq_tol(get(out[0], k, w.real),
                                get(out[1], k, w.real) + get(out[2], k, w.real), 1e-11);
    ck_assert_int_eq(grove_diagonal_add(twice, &w.samples, NULL, &three, &none), 0);
    for (int k = 1; k >= 0; k--)
        ck_assert_int_eq(grove_diagonal_add(twice, &parts[k], NULL, &three, &none), 0);
    ck_assert_int_eq(grove_diagonal_count(twice), count[0]);
    ck_assert_int_eq(grove_diagonal_samples(twice), 2 * (SAMPLES - 4 - outside.samples));
    grove_diagonal_entry *of_twice = malloc((size_t)count[0] * sizeof(*of_twice));
    grove_diagonal_write(twice, &three, of_twice);
    for (int64_t k = 0; k < count[0]; k++) {
        ck_assert(of_twice[k].point == all[k].point);
        ck_assert_double_eq_tol(of_twice[k].weight, 2 * all[k].weight, 1e-12);
    }
    free(of_twice);
    grove_diagonal_free(twice);
    free(all);
    free(in);
    for (int k = 0; k < 3; k++)
        free(out[k]);
    end(&w);
}

/* One cell, one sample, the number 1: counts times the grid. */
TEST(counts_times_cells)
{
    const configuration c = {{40, 40}, 1, 1, 1, 1, true, true};
    grove_gridder_outside outside = {0};
    int64_t count, points;
    world w;

    begin(&w, &c);
    ((double *)w.functions)[0] = 1;
    grove_gridder_samples unweighted = w.samples;
    unweighted.weight = NULL;
    void *in = random_numbers(2 * w.cells, -1, w.real);
    grove_diagonal_entry *entries = entries_of(&w, &unweighted, &in_order, &count, &outside);
    double *out = apply(&w, grove_isa_best(), entries, count, in, &in_order);
    double *counts = calloc((size_t)w.cells, sizeof(*counts));

    for (int k = 20; k < 24; k++)
        put(w.weight, k, 1, w.real);
    for (int64_t i = 0; i < SAMPLES; i++) {
        place p;
        if (find_place(&w, i, &p))
            counts[p.at[1] * w.plan->grid[0] + p.at[0]]++;
    }
    points = 0;
    for (int64_t k = 0; k < w.cells; k++) {
        points += counts[k] > 0;
        for (int d = 0; d < 2; d++)
            ck_assert_double_eq_tol(out[2 * k + d], counts[k] * ((double *)in)[2 * k + d], 1e-12);
    }
    ck_assert_int_eq(points, count);
    free(counts);
    free(entries);
    free(out);
    free(in);
    end(&w);
}

/* More points than whole numbers in double precision. */
TEST(too_many_points)
{
    grove_convolution_plan plan = {.grid = {1 << 15, 1 << 15},
                                   .support = 64,
                                   .oversampling = 4096,
                                   .functions = 1,
                                   .planes = 1};
    grove_lattice lattice;

    ck_assert(!grove_lattice_make(&plan, &lattice));
    plan.oversampling = 64;
    ck_assert(grove_lattice_make(&plan, &lattice));
}

/* ---- the paper's observation ---- */

enum { ANTENNAS = 27, BASELINES = ANTENNAS * (ANTENNAS - 1) / 2 };

/* A Y of power-law arms of 0.59 km, east and north of the middle, m. */
static void make_array(double antenna[ANTENNAS][2])
{
    const double pi = 3.14159265358979323846, azimuth[3] = {-5, 115, 235};

    for (int arm = 0; arm < 3; arm++)
        for (int k = 1; k <= 9; k++) {
            const double r = 590 * pow(k / 9., 1.716), angle = azimuth[arm] * pi / 180;
            antenna[9 * arm + k - 1][0] = r * sin(angle);
            antenna[9 * arm + k - 1][1] = r * cos(angle);
        }
}

/* Every so manyth baseline at an hour angle, from the latitude of the VLA, at the declination 21.06
 * degrees.
 */
static int64_t make_uvw(double antenna[ANTENNAS][2], int step, double hour_angle, double *uvw)
{
    const double pi = 3.14159265358979323846, latitude = 34.08 * pi / 180, dec = 21.06 * pi / 180;

    int64_t rows = 0;
    int k = 0;

    for (int p = 0; p < ANTENNAS; p++)
        for (int q = p + 1; q < ANTENNAS; q++) {
            if (k++ % step)
                continue;
            const double east = antenna[q][0] - antenna[p][0],
                         north = antenna[q][1] - antenna[p][1], x = -sin(latitude) * north,
                         z = cos(latitude) * north, s = sin(hour_angle), c = cos(hour_angle);
            uvw[0] = s * x + c * east;
            uvw[1] = -sin(dec) * c * x + sin(dec) * s * east + cos(dec) * z;
            uvw[2] = cos(dec) * c * x - cos(dec) * s * east + sin(dec) * z;
            uvw += 3;
            rows++;
        }
    return rows;
}

/* Entries per visibility of 8 hours of 1 s; `most`: as of grove_diagonal_new. */
static double compression_of(int oversampling, int step, int64_t most)
{
    enum { TIMES = 60 };
    const double pi = 3.14159265358979323846, freq = 1.5e9, cell = 8 * pi / 180 / 3600;
    const grove_convolution_plan plan = {.grid = {1280, 1280},
                                         .scale = {1280 * cell, 1280 * cell},
                                         .support = 7,
                                         .oversampling = oversampling,
                                         .functions = 1,
                                         .planes = 1};
    double antenna[ANTENNAS][2], *uvw = malloc(sizeof(*uvw) * 3 * BASELINES * TIMES);
    grove_gridder_outside outside = {0};
    grove_lattice lattice;

    make_array(antenna);
    ck_assert(grove_lattice_make(&plan, &lattice));
    grove_diagonal *d = grove_diagonal_new(&lattice, most);
    for (int minute = 0; minute < 8 * 60; minute++) {
        grove_gridder_samples samples = {.channels = 1, .uvw = uvw, .freq = &freq};
        for (int t = 0; t < TIMES; t++)
            samples.rows += make_uvw(antenna, step, ((minute - 240) * 60 + t) * 2 * pi / 86164.09,
                                     uvw + 3 * samples.rows);
        ck_assert_int_eq(grove_diagonal_add(d, &samples, NULL, &in_order, &outside), 0);
    }
    const double ratio = (double)grove_diagonal_count(d) / (double)grove_diagonal_samples(d);
    grove_diagonal_free(d);
    free(uvw);
    return ratio;
}

/* Table 2 of the paper: entries per visibility, measured. */
TEST(compression)
{
    static const struct {
        int oversampling;
        double measured;
    } table[] = {{8, 0.034}, {16, 0.069}, {24, 0.104}, {32, 0.139}, {40, 0.173}, {64, 0.278}};
    const int step = getenv("GROVE_TEST_CONFIGURATIONS") ? 1 : 5; /* first and last */

    for (int k = 0; k < 6; k += step) {
        const double ratio = compression_of(table[k].oversampling, 1, 0);
        ck_assert_double_eq_tol(ratio, table[k].measured, 0.1 * table[k].measured);
    }
}

/* The number of entries, of a share of them. */
TEST(counts_of_shares)
{
    const double ratio = compression_of(64, 32, 0), of_share = compression_of(64, 32, 5000);

    ck_assert(of_share != ratio);
    ck_assert_double_eq_tol(of_share, ratio, 0.05 * ratio);
}

SUITE(600, NULL, NULL)
