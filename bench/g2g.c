/* From grid to grid through a compressed diagonal, against degridding and gridding each visibility
 * by the same functions, in turns. The observation is that of Monnier et al. 2023, section 6: a Y
 * of 27 antennas in its smallest configuration, a source at the declination 21.06 degrees, 1.5 GHz,
 * 1280 x 1280 cells of a grid for 8 arcsec. Prints tables; draws them into a file. */
#include "draw.h"
#include "machine.h"
#include "options.h"

#include "../kernels/g2g/g2g.h"

#include "base/threads.h"
#include "cell.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANTENNAS = 27, BASELINES = ANTENNAS * (ANTENNAS - 1) / 2, CELLS = 1280, MAX_ROUNDS = 32 };
enum { AXES = 4, MAX_VALUES = 8, MAX_THREADS = 1024 };

typedef struct {
    int support, oversampling, planes, channels;
    double integration, hours; /* s; of the whole observation */
} workload;

static const workload base = {7, 8, 1, 1, 1, 2};

typedef struct {
    const char *name;
    size_t at;   /* of a number of the workload */
    bool number; /* of double precision */
    double values[MAX_VALUES];
} axis;

static const axis axes[AXES] = {
    {"support (cells)", offsetof(workload, support), false, {4, 7, 8, 12, 16, 24, 32}},
    {"oversampling", offsetof(workload, oversampling), false, {4, 8, 16, 24, 32, 40, 64}},
    {"seconds of an integration", offsetof(workload, integration), true, {1, 2, 5, 10, 30}},
    {"planes of w", offsetof(workload, planes), false, {1, 4, 16, 64, 256}},
};

/* ---- the observation ---- */

static void make_array(double antenna[ANTENNAS][2])
{
    static const double azimuth[3] = {-5, 115, 235};

    for (int k = 0; k < ANTENNAS; k++) {
        const double r = 590 * pow((k % 9 + 1) / 9., 1.716),
                     angle = azimuth[k / 9] * GROVE_PI / 180;
        antenna[k][0] = r * sin(angle);
        antenna[k][1] = r * cos(angle);
    }
}

/* [time][baseline][3] m */
static double *make_uvw(const workload *w, int64_t times)
{
    const double latitude = 34.08 * GROVE_PI / 180, dec = 21.06 * GROVE_PI / 180;
    double antenna[ANTENNAS][2], *uvw = bench_allocate((size_t)times * BASELINES * 3, sizeof(*uvw)),
                                 *to = uvw;

    make_array(antenna);
    for (int64_t t = 0; t < times; t++) {
        const double angle = ((double)t + 0.5) * w->integration - w->hours * 1800,
                     s = sin(angle * 2 * GROVE_PI / 86164.09),
                     c = cos(angle * 2 * GROVE_PI / 86164.09);
        for (int p = 0; p < ANTENNAS; p++)
            for (int q = p + 1; q < ANTENNAS; q++, to += 3) {
                const double east = antenna[q][0] - antenna[p][0],
                             north = antenna[q][1] - antenna[p][1], x = -sin(latitude) * north,
                             z = cos(latitude) * north;
                to[0] = s * x + c * east;
                to[1] = -sin(dec) * c * x + sin(dec) * s * east + cos(dec) * z;
                to[2] = cos(dec) * c * x - cos(dec) * s * east + sin(dec) * z;
            }
    }
    return uvw;
}

static grove_convolution_plan make_plan(const workload *w)
{
    const double scale = CELLS * 8 * GROVE_PI / 180 / 3600;

    return (grove_convolution_plan){.grid = {CELLS, CELLS},
                                    .scale = {scale, scale},
                                    .support = w->support,
                                    .oversampling = w->oversampling,
                                    .functions = 1,
                                    .planes = w->planes,
                                    .step_w = w->planes > 1 ? 5200. / (w->planes - 1) : 0,
                                    .visibilities = 1,
                                    .images = 1};
}

/* Some numbers, real ones of a single plane. */
static float *make_numbers(int64_t count, bool are_real)
{
    float *to = bench_allocate((size_t)count, 2 * sizeof(*to));

    for (int64_t k = 0; k < count; k++) {
        to[2 * k] = (float)((k * 7919 % 1009) / 1009. - 0.4);
        to[2 * k + 1] = are_real ? 0 : (float)((k * 104729 % 997) / 997. - 0.6);
    }
    return to;
}

/* ---- measuring ---- */

typedef struct {
    double samples, entries, foretold[2]; /* seconds of both ways, and of g2g */
    double both[MAX_ROUNDS], build[MAX_ROUNDS], apply[MAX_ROUNDS];
    double difference; /* of both results, relative */
} result;

static void check(int code)
{
    if (code) {
        fprintf(stderr, "no memory, or too many points\n");
        exit(1);
    }
}

/* The processor's seconds with one thread, else the wall's. */
static double seconds(const grove_gridder_threads *threads)
{
    return threads->pool ? bench_wall_seconds() : bench_process_seconds();
}

static double degrid_and_grid(const grove_convolution_plan *plan, const float *functions,
                              const float *in, grove_gridder_samples *samples,
                              const grove_gridder_threads *threads, float *out)
{
    const size_t bytes = (size_t)CELLS * CELLS * 2 * sizeof(*in);
    grove_convolution *c = grove_convolution_new(plan, functions, grove_isa_best());
    grove_gridder_outside outside = {0};

    check(!c);
    float *grid = grove_convolution_grid(c);
    memcpy(grid, in, bytes);
    const double start = seconds(threads);
    check(grove_convolution_predict(c, samples, NULL, threads, &outside));
    memset(grid, 0, bytes);
    check(grove_convolution_add(c, samples, NULL, threads, &outside, NULL));
    const double took = seconds(threads) - start;
    memcpy(out, grid, bytes);
    grove_convolution_free(c);
    return took;
}

static void g2g(const grove_lattice *lattice, const float *functions, const float *in,
                const grove_gridder_samples *samples, const grove_gridder_threads *threads,
                float *out, result *r, int round)
{
    grove_gridder_outside outside = {0};
    grove_g2g *g = grove_g2g_new(lattice, functions, grove_isa_best());
    double start = seconds(threads);
    grove_diagonal *d = grove_diagonal_new(lattice, 0);

    check(!g || !d);
    check(grove_diagonal_add(d, samples, NULL, threads, &outside));
    const int64_t count = grove_diagonal_count(d);
    grove_diagonal_entry *entries = bench_allocate((size_t)count, sizeof(*entries));
    grove_diagonal_write(d, threads, entries);
    r->build[round] = seconds(threads) - start;
    r->entries = (double)count;
    r->samples = (double)grove_diagonal_samples(d);
    start = seconds(threads);
    check(grove_g2g_apply(g, entries, count, in, out, threads));
    r->apply[round] = seconds(threads) - start;
    grove_diagonal_free(d);
    grove_g2g_free(g);
    free(entries);
}

static double difference(const float *a, const float *b)
{
    double most = 0, off = 0;

    for (int64_t k = 0; k < (int64_t)2 * CELLS * CELLS; k++) {
        most = fmax(most, fabs((double)a[k]));
        off = fmax(off, fabs((double)a[k] - (double)b[k]));
    }
    return off / most;
}

static void measure(const workload *w, int round, const grove_gridder_threads *threads, result *r)
{
    const int64_t times = (int64_t)(w->hours * 3600 / w->integration), rows = times * BASELINES;
    const grove_convolution_plan plan = make_plan(w);
    const int64_t side = grove_convolution_side(&plan);
    const double freq = 1.5e9;
    float *functions = make_numbers(w->planes * side * side, w->planes == 1),
          *in = make_numbers((int64_t)CELLS * CELLS, false), *out[2];
    grove_gridder_samples samples = {
        .rows = rows, .channels = 1, .uvw = make_uvw(w, times), .freq = &freq};
    grove_lattice lattice;

    check(!grove_lattice_make(&plan, &lattice));
    samples.data = bench_allocate((size_t)rows, 2 * sizeof(float));
    for (int k = 0; k < 2; k++)
        out[k] = make_numbers((int64_t)CELLS * CELLS, false); /* pages that are there */
    r->both[round] = degrid_and_grid(&plan, functions, in, &samples, threads, out[0]);
    g2g(&lattice, functions, in, &samples, threads, out[1], r, round);
    r->difference = difference(out[0], out[1]);
    r->foretold[0] = grove_g2g_seconds_of_both(&lattice, r->samples);
    r->foretold[1] = grove_g2g_seconds(&lattice, r->entries);
    free(functions);
    free(in);
    free(out[0]);
    free(out[1]);
    free(samples.data);
    free((void *)(uintptr_t)samples.uvw);
}

/* ---- tables ---- */

typedef struct {
    int count;
    double x[MAX_VALUES], both[MAX_VALUES], apply[MAX_VALUES], build[MAX_VALUES];
} series;

static workload workload_of(const axis *a, double value, double hours)
{
    workload w = base;
    char *at = (char *)&w + a->at;

    w.hours = hours;
    if (a->number)
        *(double *)(void *)at = value;
    else
        *(int *)(void *)at = (int)value;
    return w;
}

static void tabulate(const axis *a, int rounds, double hours, const grove_gridder_threads *threads,
                     series *s)
{
    result *r = bench_allocate(MAX_VALUES, sizeof(*r));

    while (s->count < MAX_VALUES && a->values[s->count] > 0) {
        s->x[s->count] = a->values[s->count];
        s->count++;
    }
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < s->count; k++) {
            const workload w = workload_of(a, s->x[k], hours);
            measure(&w, round, threads, &r[k]);
        }
    printf("| %s | visibilities | entries | %% | degrid and grid, s | g2g, s | ratio | foretold | "
           "making the diagonal, s | ns for an entry | difference |\n"
           "| --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n",
           a->name);
    for (int k = 0; k < s->count; k++) {
        s->both[k] = bench_median(r[k].both, rounds);
        s->apply[k] = bench_median(r[k].apply, rounds);
        s->build[k] = bench_median(r[k].build, rounds);
        printf("| %g | %.3g | %.3g | %.3g | %.4f | %.4f | %.1f | %.1f | %.4f | %.1f | %.1e |\n",
               s->x[k], r[k].samples, r[k].entries, 100 * r[k].entries / r[k].samples, s->both[k],
               s->apply[k], s->both[k] / s->apply[k], r[k].foretold[0] / r[k].foretold[1],
               s->build[k], 1e9 * s->apply[k] / r[k].entries, r[k].difference);
    }
    printf("\n");
    fflush(stdout);
    free(r);
}

static int draw(const series *all, const char *path)
{
    grove_chart charts[AXES];
    grove_series lines[AXES][3];

    for (int k = 0; k < AXES; k++) {
        const series *s = &all[k];
        const char *labels[] = {"degrid and grid", "g2g", "making the diagonal"};
        const double *y[] = {s->both, s->apply, s->build};
        static const unsigned colours[] = {0xd55e00, 0x0072b2, 0x999999};
        for (int n = 0; n < 3; n++)
            lines[k][n] = (grove_series){.kind = GROVE_SERIES_CURVE,
                                         .label = labels[n],
                                         .x = s->x,
                                         .y = y[n],
                                         .count = (size_t)s->count,
                                         .colour = colours[n],
                                         .size = 8};
        charts[k] = (grove_chart){.title = axes[k].name,
                                  .x = {axes[k].name, GROVE_SCALE_LOGARITHMIC, 0, 0, false},
                                  .y = {"time (s)", GROVE_SCALE_LOGARITHMIC, 0, 0, false},
                                  .series = lines[k],
                                  .series_count = 3};
    }
    return bench_draw(
        &(grove_figure){
            .width = 1100, .height = 900, .charts = charts, .count = AXES, .columns = 2},
        path);
}

int main(int count, char **words)
{
    static series all[AXES];
    const char *plot = "";
    int rounds = 3, number = 1;
    double hours = base.hours;
    const bench_option options[] = {
        {"rounds", "N", "interleaved rounds, of which medians are taken (default 3)", BENCH_COUNT,
         &rounds, MAX_ROUNDS},
        {"threads", "N", "threads (default 1)", BENCH_COUNT, &number, MAX_THREADS},
        {"hours", "H", "of the observation (default 2)", BENCH_NUMBER, &hours, 0},
        {"plot", "FILE", "draws all into FILE, .svg or .png", BENCH_TEXT, &plot, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench g2g [OPTIONS]", count - 1, words + 1);
    grove_threads *pool = number > 1 ? grove_threads_new(number) : NULL;
    const grove_gridder_threads threads = {grove_parallel_items, pool};
    printf("Where it is not varied: functions of %d x %d cells, %d fine samples for each, real, of "
           "one plane of w (of more, complex), integrations of %g s, %g h, 1 channel; single "
           "precision, %d thread%s, %s seconds, medians of %d rounds in turns.\n\n",
           base.support, base.support, base.oversampling, base.integration, hours, number,
           number > 1 ? "s" : "", number > 1 ? "elapsed" : "processor", rounds);
    for (int k = 0; k < AXES; k++)
        tabulate(&axes[k], rounds, hours, &threads, &all[k]);
    grove_threads_free(pool);
    return *plot ? draw(all, plot) : 0;
}
