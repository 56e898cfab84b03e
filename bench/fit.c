/* How fast gains are fitted in memory: compressing data and model into sums (beside the bandwidth
 * and the multiply-adds of the core), and what iterates on the sums. Medians of interleaved rounds.
 * `grove bench fit --help` lists the options.
 *
 * Workloads: C1 = 64 stations, 100 times, 16 channels, a diagonal Jones matrix for each 10 times;
 * C2 = the same with a full one for each time, C4 = C1 with 5 directions. Data and model are
 * complex numbers in single precision, weights single, all for four correlations; a byte of flags
 * for each cell.
 */
#include "machine.h"
#include "options.h"

#include "cell.h"

#include "../kernels/fit/compression_simd.h"
#include "../kernels/simd/isa.h"

#include "../nodes/fit/compression.h"
#include "../nodes/fit/stefcal.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 64, BASELINES = STATIONS * (STATIONS - 1) / 2, TIMES = 100, CHANNELS = 16 };
enum { CELLS = TIMES * BASELINES * CHANNELS, MAX_ROUNDS = 99, MAX_GROUPS = 5, MAX_THREADS = 64 };

typedef double _Complex number;

typedef struct {
    const char *name;
    grove_stefcal_jones jones;
    int times;       /* of one solution */
    int groups;      /* directions */
    int equal;       /* weights are the same for all correlations */
    double products; /* real multiply-adds of a cell */
} workload;

/* The fewest that S0, S1 and S2 take with their weights. Diagonal: w d and |d|^2 are 4 of each
 * correlation, and of each model w m, S1 and the diagonal of S2 8, of each pair of models 4. Full:
 * the former are 16 of a cell, S1 64, m m^H 32; equal weights take 8 more, others 4 times 16. */
static const workload workloads[] = {
    {"C1, diagonal per 10 times", GROVE_STEFCAL_DIAGONAL, 10, 1, 0, 4 * (4 + 8)},
    {"C2, full per time", GROVE_STEFCAL_FULL, 1, 1, 1, 16 + 64 + 32 + 8},
    {"C2, full per time, unequal weights", GROVE_STEFCAL_FULL, 1, 1, 0, 16 + 64 + 32 + 64},
    {"C2, full per 10 times", GROVE_STEFCAL_FULL, 10, 1, 1, 16 + 64 + 32 + 8},
    {"C4, diagonal per 10 times, 5 directions", GROVE_STEFCAL_DIAGONAL, 10, 5, 0,
     4 * (4 + 5 * 8 + 10 * 4)},
};
enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

/* Inputs [time][baseline][channel], sums and solutions of one workload. */
typedef struct {
    grove_compression_input input;
    int32_t left[BASELINES], right[BASELINES];
    float (*data)[8], (*model[MAX_GROUPS])[8], (*weight)[4];
    unsigned char *flags;
    number truth[TIMES][STATIONS][MAX_GROUPS][4];
    struct { /* of the last stretch of each thread */
        double *sums;
        number jones[STATIONS * MAX_GROUPS][4];
    } last[MAX_THREADS];
} problem;

static uint64_t counter;

static double draw(void)
{
    return 2 * grove_random_uniform(grove_random_bits(5, counter++, 0, 0, 0)) - 1;
}

static number draw_number(double size)
{
    double re = draw(), im = draw();

    return size * (re + im * I);
}

static void draw_gains(const workload *w, problem *p)
{
    for (int t = 0; t < TIMES; t++)
        for (int s = 0; s < STATIONS; s++) {
            if (t % w->times) {
                memcpy(p->truth[t][s], p->truth[t - 1][s], sizeof(p->truth[t][s]));
                continue;
            }
            for (int e = 0; e < 4 * w->groups; e++)
                p->truth[t][s][e / 4][e % 4] =
                    e % 4 % 3 ? (w->jones == GROVE_STEFCAL_FULL ? draw_number(0.05) : 0)
                              : (1 + 0.2 * draw()) * cexp(I * draw());
        }
}

/* Adds G M G^H. */
static void corrupt(const number *l, const float *m, const number *r, float *v)
{
    for (int c = 0; c < 4; c++) {
        number sum = 0;
        for (int k = 0; k < 4; k++)
            sum += l[2 * (c / 2) + k / 2] * ((double)m[2 * k] + (double)m[2 * k + 1] * I) *
                   conj(r[2 * (c % 2) + k % 2]);
        v[2 * c] += (float)creal(sum);
        v[2 * c + 1] += (float)cimag(sum);
    }
}

/* Another direction: the phase of its source. */
static void turn(float *model, double phase)
{
    const double c = cos(phase), s = sin(phase);

    for (int e = 0; e < 8; e += 2) {
        double re = (double)model[e], im = (double)model[e + 1];
        model[e] = (float)(c * re - s * im);
        model[e + 1] = (float)(s * re + c * im);
    }
}

/* A slightly polarised source of 1 Jy in each direction and others around it; noise of 0.1
 * Jy. */
static void fill(const workload *w, problem *p)
{
    int b = 0;

    for (int i = 0; i < STATIONS; i++)
        for (int j = i + 1; j < STATIONS; j++, b++) {
            p->left[b] = i;
            p->right[b] = j;
        }
    draw_gains(w, p);
    for (int k = 0; k < CELLS; k++) {
        int t = k / (BASELINES * CHANNELS), at = k / CHANNELS % BASELINES;
        for (int e = 0; e < 8; e++)
            p->data[k][e] = (float)(0.1 * draw());
        for (int g = 0; g < w->groups; g++) {
            float *model = p->model[g][k];
            for (int e = 0; e < 8; e++)
                model[e] = (float)((e == 0 || e == 6) + (e / 2 % 3 ? 0.05 : 0.3) * draw());
            turn(model, g * (0.1 * at + 0.3 * t));
            corrupt(p->truth[t][p->left[at]][g], model, p->truth[t][p->right[at]][g], p->data[k]);
        }
        for (int e = 0; e < 4; e++)
            p->weight[k][e] = w->equal && e ? p->weight[k][0] : (float)(1 + 0.5 * draw());
        p->flags[k] = draw() > 0.9 ? 15 : 0;
    }
}

static grove_compression_array view_of(const void *data, int64_t numbers)
{
    const int64_t cell = 16 * numbers, row = cell * CHANNELS;

    return (grove_compression_array){.data = data,
                                     .stride = {row * BASELINES, row, cell},
                                     .flag_stride = {CHANNELS * BASELINES, CHANNELS, 1},
                                     .elements = 4,
                                     .bytes = 4};
}

static problem *make_problem(int threads)
{
    problem *p = bench_allocate(1, sizeof(*p));

    p->data = bench_allocate(CELLS, sizeof(*p->data));
    p->weight = bench_allocate(CELLS, sizeof(*p->weight));
    p->flags = bench_allocate(CELLS, 1);
    for (int k = 0; k < threads; k++)
        p->last[k].sums = bench_allocate(BASELINES, 8 * GROVE_SUMS_SIZE(5));
    p->input =
        (grove_compression_input){.data = view_of(p->data, 2), .weights = view_of(p->weight, 1)};
    p->input.data.flags = p->flags;
    return p;
}

static void free_problem(problem *p)
{
    free(p->data);
    for (int g = 0; g < MAX_GROUPS; g++)
        free(p->model[g]);
    free(p->weight);
    free(p->flags);
    for (int k = 0; k < MAX_THREADS; k++)
        free(p->last[k].sums);
    free(p);
}

/* Bytes per second that one core reads of an array larger than the caches. */
static double read_bandwidth(const problem *p)
{
    typedef double vec __attribute__((vector_size(64)));
    const vec *from = (const vec *)(const void *)(((uintptr_t)p->data + 63) & ~(uintptr_t)63);
    const int64_t count = (int64_t)CELLS * 32 / 64 - 8;
    double best = 0;

    for (int round = 0; round < 3; round++) {
        double start = bench_thread_seconds();
        vec sum[4] = {{0}};
        for (int64_t k = 0; k + 4 <= count; k += 4)
            for (int j = 0; j < 4; j++) {
                __builtin_prefetch(&from[k + j] + 64);
                sum[j] += from[k + j];
            }
        double rate = 64.0 * (double)count / (bench_thread_seconds() - start);
        volatile double sink = sum[0][0] + sum[1][1] + sum[2][2] + sum[3][3];
        (void)sink;
        best = rate > best ? rate : best;
    }
    return best;
}

/* One evaluation of a workload. */
typedef struct {
    double compress[MAX_ROUNDS], solve[MAX_ROUNDS], bandwidth[MAX_ROUNDS], peak[MAX_ROUNDS];
    double iterations, rate;
    int converged, solutions;
} result;

/* Times [first, last) on one thread. */
typedef struct {
    const workload *w;
    problem *p;
    double tolerance;
    int thread, first, last;
    double compress, solve, iterations, rate;
    int converged, solutions;
} portion;

static void *evaluate_portion(void *context)
{
    portion *own = context;
    const workload *w = own->w;
    problem *p = own->p;
    double *sums = p->last[own->thread].sums;
    number(*jones)[4] = p->last[own->thread].jones;
    const grove_stefcal_problem fit = {.jones = w->jones,
                                       .groups = w->groups,
                                       .stations = STATIONS,
                                       .baselines = BASELINES,
                                       .left = p->left,
                                       .right = p->right,
                                       .max_iterations = 200,
                                       .tolerance = own->tolerance};

    for (int t = own->first; t < own->last; t += w->times) {
        const grove_compression_stretch box = {{t, t + w->times}, {0, CHANNELS}};
        grove_stefcal_result outcome;
        double start = bench_thread_seconds();
        if (grove_compression_sum(&p->input, &box, 0, BASELINES, sums))
            exit(1);
        double middle = bench_thread_seconds();
        for (int s = 0; s < STATIONS * w->groups; s++)
            memcpy(jones[s], (const number[4]){1, 0, 0, 1}, sizeof(jones[s]));
        if (grove_stefcal_solve(&fit, sums, &jones[0][0], NULL, &outcome))
            exit(1);
        own->compress += middle - start;
        own->solve += bench_thread_seconds() - middle;
        own->iterations += outcome.iterations;
        own->rate = outcome.rate;
        own->converged += outcome.outcome == GROVE_STEFCAL_CONVERGED;
        own->solutions++;
    }
    return NULL;
}

/* Solutions are dealt out to the threads, of which that counts which works longest. */
static void evaluate(const workload *w, problem *p, double tolerance, int threads, int round,
                     result *r)
{
    const bool full = w->jones == GROVE_STEFCAL_FULL;
    const int solutions = TIMES / w->times;
    pthread_t thread[MAX_THREADS];
    portion parts[MAX_THREADS];

    p->input.form = full ? GROVE_COMPRESSION_FULL : GROVE_COMPRESSION_DIAGONAL;
    r->compress[round] = r->solve[round] = r->iterations = 0;
    r->converged = r->solutions = 0;
    for (int k = threads - 1; k >= 0; k--) {
        parts[k] = (portion){.w = w,
                             .p = p,
                             .tolerance = tolerance,
                             .thread = k,
                             .first = solutions * k / threads * w->times,
                             .last = solutions * (k + 1) / threads * w->times};
        if (k && pthread_create(&thread[k], NULL, evaluate_portion, &parts[k]))
            exit(1);
    }
    evaluate_portion(&parts[0]);
    for (int k = 0; k < threads; k++) {
        if (k)
            pthread_join(thread[k], NULL);
        r->compress[round] = fmax(r->compress[round], parts[k].compress);
        r->solve[round] = fmax(r->solve[round], parts[k].solve);
        r->iterations += parts[k].iterations;
        r->rate = parts[k].rate;
        r->converged += parts[k].converged;
        r->solutions += parts[k].solutions;
    }
    r->bandwidth[round] = read_bandwidth(p);
    r->peak[round] = bench_peak((int)grove_isa_usable(), 8, 0.02);
}

/* Seconds for the normal equations of a baseline, two columns for each number of a Jones matrix. */
static double time_normal(const workload *w, const problem *p)
{
    const int numbers = w->jones == GROVE_STEFCAL_FULL ? 4 : 2 * w->groups;
    const int64_t size = grove_compression_size(p->input.form, w->groups);
    grove_compression_column column[4 * MAX_GROUPS] = {{0}};
    number normal[16 * MAX_GROUPS * MAX_GROUPS], gradient[4 * MAX_GROUPS];
    double start = bench_thread_seconds();

    for (int k = 0; k < 2 * numbers; k++) {
        column[k].side = k < numbers ? 'p' : 'q';
        column[k].group = numbers == 4 ? 0 : k % numbers / 2;
        column[k].matrix[numbers == 4 ? k % 4 : 3 * (k % 2)] = 1;
    }
    for (int b = 0; b < BASELINES; b++)
        grove_compression_normal(p->input.form, w->groups, p->last[0].sums + size * b,
                                 p->last[0].jones[w->groups * p->left[b]],
                                 p->last[0].jones[w->groups * p->right[b]], column, 2 * numbers,
                                 normal, gradient);
    return (bench_thread_seconds() - start) / BASELINES;
}

static void measure(const workload *w, problem *p, double tolerance, int threads, int rounds)
{
    const double cells = CELLS;
    const int form = w->jones == GROVE_STEFCAL_FULL ? 4 : 1;
    static result r;

    counter = 0;
    p->input.groups = w->groups;
    for (int g = 0; g < w->groups; g++) {
        if (!p->model[g])
            p->model[g] = bench_allocate(CELLS, sizeof(**p->model));
        p->input.model[g] = view_of(p->model[g], 2);
    }
    fill(w, p);
    for (int round = 0; round < rounds; round++)
        evaluate(w, p, tolerance, threads, round, &r);
    double compress = bench_median(r.compress, rounds), solve = bench_median(r.solve, rounds);
    double bandwidth = bench_median(r.bandwidth, rounds), peak = bench_median(r.peak, rounds);
    double sums = 8 * (double)grove_compression_size((grove_compression_form)form, w->groups);
    double bytes = 49 + 32 * w->groups + sums / (w->times * CHANNELS);
    double limit = fmax(bytes / bandwidth, w->products / peak) * cells / threads;
    printf(
        "| %s | %.1f | %.0f | %.3f | %.1f | %.1f | %.0f %% | %.1f | %.3f | %.0f %% | %.3f | %.1f | "
        "%.1f | %.2f | %d of %d | %.3f | %.0f |\n",
        w->name, bytes, w->products, compress, bytes * cells / compress / 1e9, bandwidth / 1e9,
        100 * bytes * cells / compress / bandwidth / threads, peak / 1e9, limit,
        100 * limit / compress, solve, r.iterations / r.solutions,
        1e6 * solve * threads / r.iterations, r.rate, r.converged, r.solutions, compress + solve,
        1e9 * time_normal(w, p));
    fflush(stdout);
}

int main(int count, char **words)
{
    int rounds = 5, threads = 1;
    const char *names = "";
    double tolerance = 1e-6;
    const bench_option options[] = {
        {"rounds", "N", "rounds; results are medians (default 5)", BENCH_COUNT, &rounds,
         MAX_ROUNDS},
        {"threads", "N", "threads, of which that counts which works longest (default 1)",
         BENCH_COUNT, &threads, MAX_THREADS},
        {"workload", "TEXT", "those with TEXT in their names (default: all)", BENCH_TEXT, &names,
         0},
        {"tolerance", "X", "where iterations end (default 1e-6)", BENCH_SECONDS, &tolerance, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench fit [OPTIONS]", count - 1, words + 1);
    problem *p = make_problem(threads);
    printf(
        "| workload | bytes of a cell | multiply-adds of a cell | compressing, s | GB/s | one core "
        "reads, GB/s | share | its 10^9 multiply-adds/s | limit, s | share | iterating, s | "
        "iterations | us of one | rate | converged | both, s | normal equations of a baseline, ns "
        "|\n"
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: "
        "| --: | --: |\n");
    for (int k = 0; k < WORKLOADS; k++)
        if (strstr(workloads[k].name, names))
            measure(&workloads[k], p, tolerance, threads, rounds);
    free_problem(p);
    return 0;
}
