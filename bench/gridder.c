/* How fast visibilities become an image and back, in memory: gridding, transforms and corrections,
 * and the same in reverse. Baselines come from a file, so that another program can have the same.
 * One line for each round, with joules of both where they can be read; bench/gridders.py makes the
 * file, runs peers in between and prints a table. `grove bench gridder --help` lists the options.
 */
#include "energy.h"
#include "machine.h"
#include "options.h"

#include "../kernels/imaging/convolution/convolution.h"
#include "../kernels/imaging/g2g/g2g.h"
#include "../kernels/imaging/gridder/gridder.h"
#include "../kernels/imaging/idg/idg.h"

#include "cell.h"
#include "unstable/threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 1024 };

typedef struct {
    const char *uvw;
    double freq, width, cell, epsilon;
    int channels, size, threads, rounds, polarisations, double_precision, flat;
    int support, oversampling, functions, images, planes, linear; /* of functions that are given */
    int g2g;          /* from grid to grid by these functions */
    int idg, subgrid; /* image-domain gridding, with so many pixels or those of the plan */
    int64_t baselines;
} workload;

/* [row][3] m, as numbers of double precision. */
static double *read_uvw(const char *path, int64_t *rows)
{
    FILE *file = fopen(path, "rb");
    double *uvw = NULL;
    int64_t room = 0, count = 0;

    if (!file) {
        fprintf(stderr, "cannot open %s\n", path);
        exit(1);
    }
    for (size_t got = 1; got;) {
        if (count == room) {
            room = room ? 2 * room : 1 << 16;
            uvw = realloc(uvw, (size_t)room * 3 * sizeof(*uvw));
            if (!uvw)
                exit(1);
        }
        got = fread(uvw + 3 * count, 3 * sizeof(*uvw), (size_t)(room - count), file);
        count += (int64_t)got;
    }
    fclose(file);
    *rows = count;
    return uvw;
}

static void *make_data(const workload *w, int64_t samples)
{
    const size_t real = w->double_precision ? sizeof(double) : sizeof(float);
    void *data = bench_allocate((size_t)(samples * w->polarisations), 2 * real);

    for (int64_t k = 0; k < 2 * samples * w->polarisations; k++) {
        double x = grove_random_uniform(grove_random_bits(1, (uint64_t)k, 0, 0, 0)) - 0.5;
        if (w->double_precision)
            ((double *)data)[k] = x;
        else
            ((float *)data)[k] = (float)x;
    }
    return data;
}

static grove_gridder_plan make_plan(const workload *w, const double *uvw, int64_t rows)
{
    const double k = (w->freq + (w->channels - 1) * w->width) / GROVE_SPEED_OF_LIGHT;
    grove_gridder_image image = {{w->size, w->size}, {w->cell, w->cell}, {0, 0}};
    grove_gridder_bounds bounds = {.samples = (double)rows * w->channels,
                                   .polarisations = w->polarisations,
                                   .double_precision = w->double_precision,
                                   .without_w = w->flat};
    grove_gridder_plan plan;

    for (int64_t row = 0; row < rows; row++) {
        bounds.max_u = fmax(bounds.max_u, fabs(uvw[3 * row]) * k);
        bounds.max_v = fmax(bounds.max_v, fabs(uvw[3 * row + 1]) * k);
        bounds.max_w = fmax(bounds.max_w, fabs(uvw[3 * row + 2]) * k);
    }
    if (grove_gridder_plan_choose(&image, &bounds, w->epsilon, &plan)) {
        fprintf(stderr, "epsilon %g cannot be reached\n", w->epsilon);
        exit(1);
    }
    return plan;
}

static void check(int code)
{
    if (code) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
}

/* One image from all samples, and samples from it; prints the processor's and the wall's seconds.
 */
static void measure(const workload *w, const grove_gridder_plan *plan,
                    const grove_gridder_samples *samples, const grove_gridder_threads *threads)
{
    const size_t pixels = (size_t)w->size * (size_t)w->size;
    char *image = bench_allocate(pixels * (size_t)w->polarisations, sizeof(double));
    const size_t each = pixels * (w->double_precision ? sizeof(double) : sizeof(float));
    grove_gridder_outside outside = {0};
    const double joules = bench_joules();
    double start = bench_process_seconds(), wall = bench_wall_seconds();
    grove_gridder *g = grove_gridder_new(plan, grove_isa_best());

    check(!g || grove_gridder_add(g, samples, threads, &outside));
    double added = bench_process_seconds();
    for (int pol = 0; pol < w->polarisations; pol++)
        check(grove_gridder_to_image(
            g, pol, &(grove_gridder_pixels){image + (size_t)pol * each, 1, w->size}, threads));
    double imaged = bench_process_seconds(), wall_imaged = bench_wall_seconds();
    const double joules_imaged = bench_joules();
    uint64_t bytes = grove_gridder_bytes(g);
    grove_gridder_free(g);
    printf("image %.4f %.4f spread %.4f bytes %llu", imaged - start, wall_imaged - wall,
           added - start, (unsigned long long)bytes);

    start = bench_process_seconds();
    wall = bench_wall_seconds();
    g = grove_gridder_new(plan, grove_isa_best());
    check(!g || grove_gridder_expect(g, samples, threads));
    for (int pol = 0; pol < w->polarisations; pol++)
        check(grove_gridder_from_image(
            g, pol, &(grove_gridder_pixels){image + (size_t)pol * each, 1, w->size}, threads));
    check(grove_gridder_predict(g, samples, threads, &outside));
    printf(" predict %.4f %.4f", bench_process_seconds() - start, bench_wall_seconds() - wall);
    if (joules_imaged > joules)
        printf(" joules %.4g %.4g", joules_imaged - joules, bench_joules() - joules_imaged);
    printf("\n");
    fflush(stdout);
    grove_gridder_free(g);
    free(image);
}

/* ---- functions ---- */

static grove_convolution_plan functions_plan(const workload *w, const grove_gridder_plan *plan)
{
    grove_convolution_plan c = {.grid = {plan->grid[0], plan->grid[1]},
                                .support = w->support,
                                .oversampling = w->oversampling,
                                .functions = w->functions,
                                .planes = w->planes,
                                .linear = w->linear,
                                .visibilities = w->polarisations,
                                .images = w->images,
                                .double_precision = w->double_precision};

    for (int d = 0; d < 2; d++)
        c.scale[d] = (double)c.grid[d] * w->cell;
    if (w->planes > 1)
        c.step_w = plan->bounds.max_w * 1.001 / (w->planes - 1);
    return c;
}

/* Spreads all samples by functions that are given, and predicts them: the processor's and the
 * wall's seconds of both, numbers of functions that are read, and products. Correlation j and image
 * r have function (j + r) of a set that changes from row to row. */
static void measure_functions(const workload *w, const grove_convolution_plan *plan,
                              const grove_gridder_samples *samples,
                              const grove_gridder_threads *threads)
{
    const int elements = w->polarisations * w->images;
    const int64_t fine = grove_convolution_side(plan), count = samples->rows;
    void *numbers = make_data(w, w->functions * w->planes * fine * fine);
    int32_t *index = bench_allocate((size_t)(2 * w->functions * elements), sizeof(*index)),
            *row = bench_allocate((size_t)count, sizeof(*row)),
            *channel = bench_allocate((size_t)w->channels, sizeof(*channel));
    const grove_convolution_mueller mueller = {index, row, channel, NULL};
    grove_gridder_outside outside = {0};

    for (int k = 0; k < 2 * w->functions * elements; k++)
        index[k] =
            (k / elements / 2 + k % w->images + k / w->images % w->polarisations) % w->functions;
    for (int64_t k = 0; k < count; k++)
        row[k] = (int32_t)(k % w->functions);
    grove_convolution *c = grove_convolution_new(plan, numbers, grove_isa_best());
    check(!c);
    double start = bench_process_seconds(), wall = bench_wall_seconds();
    check(grove_convolution_add(c, samples, &mueller, threads, &outside, NULL));
    double added = bench_process_seconds(), wall_added = bench_wall_seconds();
    check(grove_convolution_predict(c, samples, &mueller, threads, &outside));
    double predicted = bench_process_seconds(), wall_predicted = bench_wall_seconds();
    const double each = (double)elements * w->support * w->support, blocks = !w->linear      ? 1
                                                                             : w->planes > 1 ? 8
                                                                                             : 4;
    printf("functions: spread %.4f %.4f predict %.4f %.4f; of a sample %g complex products, %g "
           "numbers read\n",
           added - start, wall_added - wall, predicted - added, wall_predicted - wall_added, each,
           2 * each * blocks);
    fflush(stdout);
    grove_convolution_free(c);
    free(numbers);
    free(index);
    free(row);
    free(channel);
}

/* ---- grid to grid ---- */

static double number_at(const workload *w, const void *numbers, int64_t k)
{
    return w->double_precision ? ((const double *)numbers)[k] : (double)((const float *)numbers)[k];
}

/* The largest difference, relative to the largest number. */
static double difference(const workload *w, const void *a, const void *b, int64_t count)
{
    double most = 0, off = 0;

    for (int64_t k = 0; k < count; k++) {
        most = fmax(most, fabs(number_at(w, a, k)));
        off = fmax(off, fabs(number_at(w, a, k) - number_at(w, b, k)));
    }
    return off / most;
}

/* Functions of a single plane of w are real. */
static void *make_functions(const workload *w, const grove_convolution_plan *plan)
{
    const int64_t fine = grove_convolution_side(plan), count = w->planes * fine * fine;
    void *functions = make_data(w, count);

    for (int64_t k = 1; w->planes == 1 && k < 2 * count * w->polarisations; k += 2)
        if (w->double_precision)
            ((double *)functions)[k] = 0;
        else
            ((float *)functions)[k] = 0;
    return functions;
}

/* One grid from another through a compressed diagonal, and by degridding and gridding each
 * visibility with the same functions. */
static void measure_g2g(const workload *w, const grove_convolution_plan *plan,
                        const grove_gridder_samples *samples, const grove_gridder_threads *threads)
{
    const int64_t cells = plan->grid[0] * plan->grid[1];
    const size_t bytes = (size_t)cells * 2 * (w->double_precision ? sizeof(double) : sizeof(float));
    void *functions = make_functions(w, plan), *in = make_data(w, cells),
         *out = make_data(w, cells); /* pages that are there */
    grove_gridder_outside outside = {0};
    grove_lattice lattice;
    grove_convolution *c = grove_convolution_new(plan, functions, grove_isa_best());

    check(!c || !grove_lattice_make(plan, &lattice));
    void *grid = grove_convolution_grid(c);
    memcpy(grid, in, bytes);
    double start = bench_process_seconds(), wall = bench_wall_seconds();
    check(grove_convolution_predict(c, samples, NULL, threads, &outside));
    memset(grid, 0, bytes);
    check(grove_convolution_add(c, samples, NULL, threads, &outside, NULL));
    const double both = bench_process_seconds(), wall_both = bench_wall_seconds();
    grove_g2g *g = grove_g2g_new(&lattice, functions, grove_isa_best());
    grove_diagonal *d = grove_diagonal_new(&lattice, 0);
    check(!g || !d);
    check(grove_diagonal_add(d, samples, NULL, threads, &outside));
    const int64_t count = grove_diagonal_count(d);
    grove_diagonal_entry *entries = bench_allocate((size_t)count, sizeof(*entries));
    grove_diagonal_write(d, threads, entries);
    const double built = bench_process_seconds(), wall_built = bench_wall_seconds();
    check(grove_g2g_apply(g, entries, count, in, out, threads));
    const double applied = bench_process_seconds(), wall_applied = bench_wall_seconds();
    const double visibilities = (double)grove_diagonal_samples(d);
    printf("g2g: both %.4f %.4f apply %.4f %.4f diagonal %.4f %.4f entries %lld of %g difference "
           "%.1e estimated %.4f %.4f\n",
           both - start, wall_both - wall, applied - built, wall_applied - wall_built, built - both,
           wall_built - wall_both, (long long)count, visibilities,
           difference(w, grid, out, 2 * cells), grove_g2g_seconds_of_both(&lattice, visibilities),
           grove_g2g_seconds(&lattice, (double)count));
    fflush(stdout);
    grove_diagonal_free(d);
    grove_g2g_free(g);
    grove_convolution_free(c);
    free(entries);
    free(functions);
    free(in);
    free(out);
}

/* ---- image-domain gridding ---- */

/* All samples on subgrids, and predicted from them; w-tiles are brought onto the plane, and made of
 * it, but layers and the plane are not transformed. A rate is of 17 multiply-adds for each pixel
 * and four correlations (Veenboer 2021), whatever is done. */
static void measure_idg(const workload *w, const grove_gridder_plan *stack,
                        const grove_gridder_samples *samples, const grove_gridder_threads *threads)
{
    grove_idg_request request = {.side = w->subgrid};
    grove_gridder_outside outside = {0};
    grove_idg_counts counts = {0};
    grove_idg_plan plan;
    char said[200];

    for (int k = 0; k < 2; k++) {
        const grove_idg_plan square = grove_idg_square(&stack->image, k, &request.share_side[k]);
        counts = (grove_idg_counts){0};
        check(grove_idg_count(&square, samples, w->baselines, NULL, &counts));
        request.share[k] = (double)counts.visibilities / (double)counts.subgrids;
    }
    counts = (grove_idg_counts){0};
    if (grove_idg_plan_choose(&stack->image, &stack->bounds, &request, w->epsilon, &plan, said)) {
        fprintf(stderr, "%s\n", said);
        exit(1);
    }
    grove_idg *g = grove_idg_new(&plan, grove_isa_best());
    check(!g);
    double start = bench_process_seconds(), wall = bench_wall_seconds();
    check(grove_idg_add(g, samples, w->baselines, NULL, threads, &outside, &counts));
    check(grove_idg_fold(g, threads));
    double added = bench_process_seconds(), wall_added = bench_wall_seconds();
    grove_idg_unfold(g);
    check(grove_idg_predict(g, samples, w->baselines, NULL, threads, &outside, NULL));
    double predicted = bench_process_seconds(), wall_predicted = bench_wall_seconds();
    const double work = 17. / 4 * plan.side * plan.side * (double)counts.visibilities * 1e-9;
    printf("idg: spread %.4f %.4f predict %.4f %.4f; %d x %d pixels, taper of %d, %lld %s of "
           "%lld, estimated %.3g s, error %.2g, %.1f visibilities of each of %lld subgrids; %.3g "
           "and %.3g 10^9 "
           "multiply-adds a second of a core, of 17\n",
           added - start, wall_added - wall, predicted - added, wall_predicted - wall_added,
           plan.side, plan.side, plan.grid.kernel.width, (long long)plan.layers,
           plan.tile ? "layers in w-tiles" : "layers", (long long)plan.grid.grid[0], plan.seconds,
           plan.error, (double)counts.visibilities / (double)counts.subgrids,
           (long long)counts.subgrids, work / (added - start), work / (predicted - added));
    fflush(stdout);
    grove_idg_free(g);
}

static void run(const workload *w)
{
    int64_t rows;
    double *uvw = read_uvw(w->uvw, &rows),
           *freq = bench_allocate((size_t)w->channels, sizeof(*freq));
    for (int k = 0; k < w->channels; k++)
        freq[k] = w->freq + k * w->width;
    grove_gridder_plan plan = make_plan(w, uvw, rows);
    grove_threads *pool = w->threads > 1 ? grove_threads_new(w->threads) : NULL;
    grove_gridder_threads threads = {grove_parallel_items, pool};
    grove_gridder_samples samples = {.rows = rows,
                                     .channels = w->channels,
                                     .uvw = uvw,
                                     .freq = freq,
                                     .data = make_data(w, rows * w->channels)};
    printf("plan width %d width_w %d grid %lld planes %lld error %.2e seconds %.3f rows %lld "
           "transform %lld taps %lld\n",
           plan.kernel.width, plan.kernel_w.width, (long long)plan.grid[0], (long long)plan.planes,
           plan.error, plan.seconds, (long long)rows, (long long)plan.transform[0],
           (long long)plan.taps);
    const grove_convolution_plan given = functions_plan(w, &plan);
    for (int round = 0; round < w->rounds; round++)
        if (w->idg)
            measure_idg(w, &plan, &samples, &threads);
        else if (w->g2g)
            measure_g2g(w, &given, &samples, &threads);
        else if (w->support)
            measure_functions(w, &given, &samples, &threads);
        else
            measure(w, &plan, &samples, &threads);
    grove_threads_free(pool);
    free(samples.data);
    free(freq);
    free(uvw);
}

int main(int count, char **words)
{
    workload w = {.freq = 1e9,
                  .width = 3.125e6,
                  .cell = 4.26e-6,
                  .epsilon = 1e-4,
                  .channels = 32,
                  .size = 4096,
                  .threads = 1,
                  .rounds = 1,
                  .polarisations = 1,
                  .oversampling = 20,
                  .functions = 1,
                  .images = 1,
                  .planes = 1};
    const char *double_ = "no", *flat = "no", *linear = "no", *g2g = "no";
    int baselines = 0;
    const bench_option options[] = {
        {"uvw", "FILE", "baselines, rows of three numbers in double precision, m", BENCH_TEXT,
         &w.uvw, 0},
        {"channels", "N", "channels (default 32)", BENCH_COUNT, &w.channels, 0},
        {"frequency", "HZ", "of the first (default 1e9)", BENCH_NUMBER, &w.freq, 0},
        {"width", "HZ", "from one to the next (default 3.125e6)", BENCH_NUMBER, &w.width, 0},
        {"size", "N", "pixels along each side (default 4096)", BENCH_COUNT, &w.size, 65536},
        {"cell", "RAD", "angle of a pixel (default 4.26e-6)", BENCH_NUMBER, &w.cell, 0},
        {"epsilon", "X", "accuracy (default 1e-4)", BENCH_NUMBER, &w.epsilon, 0},
        {"double", "WORD", "yes: double precision (default no)", BENCH_TEXT, &double_, 0},
        {"flat", "WORD", "yes: without w (default no)", BENCH_TEXT, &flat, 0},
        {"polarisations", "N", "images of the same baselines (default 1)", BENCH_COUNT,
         &w.polarisations, 4},
        {"support", "K", "gridding alone, by functions of K cells that are given, without w",
         BENCH_COUNT, &w.support, GROVE_CONVOLUTION_MAX_SUPPORT},
        {"oversampling", "Q", "their fine samples for each cell (default 20)", BENCH_COUNT,
         &w.oversampling, 4096},
        {"functions", "N", "how many there are (default 1)", BENCH_COUNT, &w.functions, 1 << 16},
        {"planes", "N", "their planes of w (default 1)", BENCH_COUNT, &w.planes, 1 << 16},
        {"linear", "WORD", "yes: with linear interpolation between them (default no)", BENCH_TEXT,
         &linear, 0},
        {"images", "N", "images, each of all polarisations (default 1)", BENCH_COUNT, &w.images, 4},
        {"g2g", "WORD", "yes: from grid to grid by these functions (default no)", BENCH_TEXT, &g2g,
         0},
        {"idg", "N", "image-domain gridding: number of baselines of a time (default 0)",
         BENCH_COUNT, &baselines, 0},
        {"subgrid", "N", "pixels of its subgrids (default: of the plan)", BENCH_COUNT, &w.subgrid,
         GROVE_IDG_MAX_SIDE},
        {"threads", "N", "threads (default 1)", BENCH_COUNT, &w.threads, MAX_THREADS},
        {"rounds", "N", "rounds (default 1)", BENCH_COUNT, &w.rounds, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench gridder --uvw FILE [OPTIONS]", count - 1, words + 1);
    if (!w.uvw) {
        fprintf(stderr, "--uvw FILE must be given; bench/gridders.py makes one\n");
        return 2;
    }
    w.g2g = !strcmp(g2g, "yes");
    if (w.g2g && (!w.support || w.polarisations * w.images > 1)) {
        fprintf(stderr, "--g2g yes needs --support K, and one image of one polarisation\n");
        return 2;
    }
    w.baselines = baselines;
    w.idg = baselines > 0;
    w.double_precision = !strcmp(double_, "yes");
    w.flat = !strcmp(flat, "yes");
    w.linear = !strcmp(linear, "yes");
    run(&w);
    return 0;
}
