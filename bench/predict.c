/* How fast the sums over sources are: source-visibilities per second for each way, instruction set
 * and precision, beside the core's own multiply-add peak and bandwidth, measured in the same run.
 * Medians of interleaved rounds. `grove bench predict --help` lists the options.
 *
 * Workloads: P1 = 64 stations, 16 times, 64 channels 1.0-1.5 GHz, 1000 sources within a degree; P2
 * = the same with one channel and 10000 sources; P4 = P1 with 480 times (printed as a time).
 */
#include "machine.h"
#include "options.h"
#include "roofline.h"

#include "cell.h"

#include "../kernels/predict/predict.h"
#include "../kernels/predict/predict_job.h"
#include "../kernels/simd/isa.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 64, BASELINES = STATIONS * (STATIONS - 1) / 2, TIMES = 16 };
enum { MAX_ROUNDS = 99, MAX_THREADS = 1024 };

typedef struct {
    const char *name;
    int sources, channels, elements, spectra, smear;
    int jones; /* 2: they vary with frequency */
    int way;
    double operations; /* multiply-adds (or their like) for a source-visibility, panels with it */
} workload;

/* Operations: what the sum itself takes and, after the plus, its share of phases and factors. */
static const workload workloads[] = {
    {"P1 I", 1000, 64, 1, 0, 0, 0, GROVE_PREDICT_BASELINE, 2 + 2.2},
    {"P1 I, smeared", 1000, 64, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 4 + 5.1},
    {"P1 I, spectra", 1000, 64, 1, 1, 0, 0, GROVE_PREDICT_BASELINE, 5 + 2.2},
    {"P1 I, spectra, smeared", 1000, 64, 1, 1, 3, 0, GROVE_PREDICT_BASELINE, 10 + 5.1},
    {"P1 IQUV", 1000, 64, 4, 0, 0, 0, GROVE_PREDICT_BASELINE, 8 + 2.7},
    {"P1 IQUV, smeared", 1000, 64, 4, 0, 3, 0, GROVE_PREDICT_BASELINE, 16 + 5.9},
    {"P1 I, stations", 1000, 64, 1, 0, 0, 0, GROVE_PREDICT_STATION, 3 + 1.0},
    {"P1 2x2 Jones", 1000, 64, 4, 0, 0, 1, GROVE_PREDICT_STATION, 24 + 3.1},
    {"P1 2x2 Jones, baselines", 1000, 64, 4, 0, 0, 1, GROVE_PREDICT_BASELINE, 8 + 4.2},
    {"P1 2x2 Jones, smeared", 1000, 64, 4, 0, 3, 1, GROVE_PREDICT_BASELINE, 16 + 8.1},
    {"P1 2x2 Jones of channels, smeared", 1000, 64, 4, 0, 3, 2, GROVE_PREDICT_BASELINE, 53 + 19},
    {"P2 2x2 Jones, smeared", 10000, 1, 4, 0, 3, 1, GROVE_PREDICT_BASELINE, 40 + 46},
    {"P2 I", 10000, 1, 1, 0, 0, 0, GROVE_PREDICT_STATION, 3 + 1.0},
    {"P2 I, baselines", 10000, 1, 1, 0, 0, 0, GROVE_PREDICT_BASELINE, 28},
    {"P2 I, smeared", 10000, 1, 1, 0, 3, 0, GROVE_PREDICT_BASELINE, 70},
    {"P2 IQUV", 10000, 1, 4, 0, 0, 0, GROVE_PREDICT_STATION, 12 + 1.5},
};
enum { WORKLOADS = sizeof(workloads) / sizeof(workloads[0]) };

/* Inputs of a workload, in one precision. */
typedef struct {
    grove_args args;
    double *lmn, *uvw, *rate, *station, *freq, *width, interval;
    int32_t *left, *right;
    void *brightness, *jones, *out;
} problem;

static uint64_t counter;

static double draw(void)
{
    return grove_random_uniform(grove_random_bits(3, counter++, 0, 0, 0)) - 0.5;
}

static void set_view(grove_view *view, void *data, int shape, int elements, int bytes,
                     const int64_t stride[4])
{
    *view = (grove_view){.data = data, .elements = elements, .shape = shape, .bytes = bytes};
    view->complex_ = 1;
    memcpy(view->stride, stride, 4 * sizeof(*stride));
}

static void put(void *to, size_t at, double x, int bytes)
{
    if (bytes == 4)
        ((float *)to)[at] = (float)x;
    else
        ((double *)to)[at] = x;
}

/* 45 stations within 300 m, the rest within 4 km, turning with the sky. */
static void place_stations(problem *p)
{
    double at[STATIONS][3], sine = -0.707, cosine = 0.707;

    for (int i = 0; i < STATIONS; i++)
        for (int d = 0; d < 3; d++)
            at[i][d] = (i < 45 ? 300 : 8000) * draw() * (d == 2 ? 0.1 : 1);
    for (int t = 0; t < TIMES; t++) {
        double angle = 7.27e-5 * 10 * t, c = cos(angle), s = sin(angle);
        for (int i = 0; i < STATIONS; i++) {
            double *u = p->station + 3 * (t * STATIONS + i);
            double x = c * at[i][0] + s * at[i][1], y = c * at[i][1] - s * at[i][0];
            u[0] = x;
            u[1] = cosine * at[i][2] - sine * y;
            u[2] = sine * at[i][2] + cosine * y;
        }
        for (int b = 0; b < BASELINES; b++)
            for (int d = 0; d < 3; d++) {
                const double *u = p->station + (size_t)3 * STATIONS * (size_t)t;
                double *to = p->uvw + 3 * (t * BASELINES + b);
                to[d] = u[3 * p->left[b] + d] - u[3 * p->right[b] + d];
                p->rate[3 * (t * BASELINES + b) + d] = 7.27e-5 * to[(d + 1) % 3];
            }
    }
}

/* [source][station][channel or nothing][8] */
static size_t jones_numbers(const workload *w)
{
    size_t cells = (size_t)w->sources * STATIONS;

    return w->jones == 2 ? cells * (size_t)w->channels * 8 : w->jones ? cells * 8 : 0;
}

static void fill(const workload *w, problem *p, int bytes)
{
    int b = 0;

    for (int i = 0; i < STATIONS; i++)
        for (int j = i + 1; j < STATIONS; j++, b++) {
            p->left[b] = i;
            p->right[b] = j;
        }
    place_stations(p);
    p->interval = 10;
    for (int k = 0; k < w->channels; k++) {
        p->freq[k] = w->channels == 1 ? 1.25e9 : 1e9 + 7.8125e6 * k;
        p->width[k] = 7.8125e6;
    }
    for (int s = 0; s < w->sources; s++) {
        double l = 0.034 * draw(), m = 0.034 * draw();
        p->lmn[3 * s] = l;
        p->lmn[3 * s + 1] = m;
        p->lmn[3 * s + 2] = sqrt(1 - l * l - m * m) - 1;
        double i = draw() + 0.6, q = 0.1 * draw(), u = 0.1 * draw(), v = 0.1 * draw();
        double b8[8] = {i + q, 0, u, v, u, -v, i - q, 0};
        for (int k = 0; k < (w->spectra ? w->channels : 1); k++)
            for (int e = 0; e < 2 * w->elements; e++)
                put(p->brightness, ((size_t)s * (size_t)w->channels + (size_t)k) * 8 + (size_t)e,
                    b8[e] * (1 - 0.005 * k), bytes);
    }
    for (size_t k = 0; k < jones_numbers(w); k++)
        put(p->jones, k, 0.2 * draw() + (k % 8 == 0 || k % 8 == 6), bytes);
}

static void set_plan(const workload *w, problem *p, int isa)
{
    grove_predict_plan plan = {.way = w->way,
                               .isa = isa,
                               .flat = !w->spectra,
                               .equal_width = 1,
                               .smear_time = w->smear & 1,
                               .smear_freq = w->smear >> 1,
                               .jones = w->jones ? GROVE_PREDICT_WITHIN : GROVE_PREDICT_AROUND,
                               .count = w->channels,
                               .width = p->width[0],
                               .reference = 1.25e9};

    grove_predict_channels_of(p->freq, w->channels, &plan.channels);
    memcpy(p->args.state.bytes, &plan, sizeof(plan));
}

static void set_views(const workload *w, problem *p, int bytes)
{
    const int64_t n = bytes, v = 24, shape = w->elements, of = w->jones == 2 ? w->channels : 1;
    grove_args *a = &p->args;

    a->axes = 4;
    a->inputs = 12;
    memcpy(a->size, (int64_t[]){w->sources, TIMES, BASELINES, w->channels}, 32);
    memcpy(a->axis,
           (int32_t[]){GROVE_AXIS_SOURCE, GROVE_AXIS_TIME, GROVE_AXIS_BASELINE, GROVE_AXIS_FREQ},
           16);
    set_view(&a->in[0], p->brightness, (int)shape, w->elements, bytes,
             (int64_t[]){8 * n * w->channels, 0, 0, w->spectra ? 8 * n : 0});
    set_view(&a->in[1], p->lmn, GROVE_VECTOR, 3, 8, (int64_t[]){v, 0, 0, 0});
    set_view(&a->in[3], p->uvw, GROVE_VECTOR, 3, 8, (int64_t[]){0, v * BASELINES, v, 0});
    set_view(&a->in[4], p->freq, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 8});
    if (w->smear) {
        set_view(&a->in[5], p->rate, GROVE_VECTOR, 3, 8, (int64_t[]){0, v * BASELINES, v, 0});
        set_view(&a->in[6], &p->interval, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 0});
        set_view(&a->in[7], p->width, GROVE_SCALAR, 1, 8, (int64_t[]){0, 0, 0, 8});
    }
    for (int side = 0; side < 2; side++) {
        if (w->jones)
            set_view(&a->in[8 + side], p->jones, GROVE_MATRIX, 4, bytes,
                     (int64_t[]){8 * n * STATIONS * of, 0, 8 * n * of, w->jones == 2 ? 8 * n : 0});
        set_view(&a->in[10 + side], p->station, GROVE_VECTOR, 3, 8,
                 (int64_t[]){0, v * STATIONS, v, 0});
        for (int k = 8 + side; k < 12; k += 2) {
            a->in[k].gather = side ? p->right : p->left;
            a->in[k].gather_axis = 2;
        }
    }
    const int64_t cell = 2 * n * w->elements;
    set_view(&a->out, p->out, (int)shape, w->elements, bytes,
             (int64_t[]){0, cell * w->channels * BASELINES, cell * w->channels, cell});
}

static problem *make_problem(const workload *w, int bytes)
{
    problem *p = bench_allocate(1, sizeof(*p));
    size_t sources = (size_t)w->sources, channels = (size_t)w->channels;

    counter = 0;
    p->lmn = bench_allocate(3 * sources, 8);
    p->uvw = bench_allocate(3 * TIMES * BASELINES, 8);
    p->rate = bench_allocate(3 * TIMES * BASELINES, 8);
    p->station = bench_allocate(3 * TIMES * STATIONS, 8);
    p->freq = bench_allocate(channels, 8);
    p->width = bench_allocate(channels, 8);
    p->left = bench_allocate(BASELINES, 4);
    p->right = bench_allocate(BASELINES, 4);
    p->brightness = bench_allocate(sources * channels * 8, 8);
    p->jones = bench_allocate(jones_numbers(w), (size_t)bytes);
    p->out = bench_allocate((size_t)TIMES * BASELINES * channels * (size_t)w->elements * 2, 8);
    fill(w, p, bytes);
    set_views(w, p, bytes);
    return p;
}

static void free_problem(problem *p)
{
    void *all[] = {p->lmn,  p->uvw,   p->rate,       p->station, p->freq, p->width,
                   p->left, p->right, p->brightness, p->jones,   p->out,  p};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        free(all[i]);
}

/* What the command line asks for. */
typedef struct {
    const char *words, *isa, *precision, *plot;
    int rounds, threads;
    double min;
} choice;

/* Whether to measure an instruction set: all that the processor has, or the one asked for. */
static int is_measured(const choice *c, int isa)
{
    return grove_isa_works((grove_isa)isa) &&
           (!*c->isa || !strcmp(c->isa, grove_isa_name((grove_isa)isa)));
}

/* The plain way's rate, on as many rows as take `min` seconds. */
static double time_plain(const workload *w, problem *p, double min)
{
    int64_t rows = 0;
    double start = bench_thread_seconds();

    for (; bench_thread_seconds() - start < min && rows + 16 <= (int64_t)TIMES * BASELINES;
         rows += 16)
        grove_predict_cells(&p->args, rows, rows + 16);
    return (double)rows * w->sources * w->channels / (bench_thread_seconds() - start);
}

/* A thread's share of the pieces of a sum. */
typedef struct {
    grove_predict_sum *sum;
    int64_t first, last;
    double seconds;
} portion;

static void *run_portion(void *context)
{
    portion *part = context;
    double start = bench_thread_seconds();

    grove_predict_sum_run(part->sum, part->first, part->last);
    part->seconds = bench_thread_seconds() - start;
    return NULL;
}

/* Evaluates, packing with it; returns the time of packing, which one thread does, and of the thread
 * that works longest. */
static double evaluate(problem *p, int threads)
{
    static portion parts[MAX_THREADS];
    pthread_t thread[MAX_THREADS];
    double start = bench_thread_seconds(), longest = 0;
    grove_predict_sum *sum = grove_predict_sum_new(&p->args);

    if (!sum)
        exit(1);
    grove_predict_sum_cut(sum, threads);
    double packing = bench_thread_seconds() - start;
    int64_t pieces = grove_predict_sum_pieces(sum);
    for (int k = 0; k < threads; k++) {
        parts[k] = (portion){sum, pieces * k / threads, pieces * (k + 1) / threads, 0};
        if (k && pthread_create(&thread[k], NULL, run_portion, &parts[k]))
            exit(1);
    }
    run_portion(&parts[0]);
    for (int k = 0; k < threads; k++) {
        if (k)
            pthread_join(thread[k], NULL);
        longest = fmax(longest, parts[k].seconds);
    }
    grove_predict_sum_free(sum);
    return packing + longest;
}

/* Whole evaluations of as many times as take about `min` seconds. */
static double time_sum(const workload *w, problem *p, int threads, double min)
{
    double done = 0, taken = 0;
    int64_t times = 1;

    while (taken < min) {
        p->args.size[1] = times;
        taken += evaluate(p, threads);
        done += (double)times * BASELINES * w->sources * w->channels;
        times = times < TIMES ? times * 2 : TIMES;
    }
    p->args.size[1] = TIMES;
    return done / taken;
}

static double number_at(const problem *p, size_t k, int bytes)
{
    return bytes == 4 ? (double)((const float *)p->out)[k] : ((const double *)p->out)[k];
}

/* Relative difference from the plain way in double, on some rows. */
static double error_of(const workload *w, int isa, int bytes)
{
    problem *p = make_problem(w, bytes), *q = make_problem(w, 8);
    size_t each = (size_t)w->channels * (size_t)w->elements * 2;
    double error = 0, norm = 0;

    set_plan(w, p, isa);
    set_plan(w, q, isa);
    p->args.size[1] = 1;
    grove_predict_sum *sum = grove_predict_sum_new(&p->args);
    if (sum)
        grove_predict_sum_run(sum, 0, grove_predict_sum_pieces(sum));
    grove_predict_sum_free(sum);
    for (int64_t row = 0; row < BASELINES; row += 197) {
        grove_predict_cells(&q->args, row, row + 1);
        for (size_t k = (size_t)row * each; k < ((size_t)row + 1) * each; k++) {
            double x = number_at(p, k, bytes), y = number_at(q, k, 8);
            error += (x - y) * (x - y);
            norm += y * y;
        }
    }
    free_problem(p);
    free_problem(q);
    return sqrt(error / norm);
}

typedef struct {
    double rate[GROVE_ISAS][MAX_ROUNDS], peak[GROVE_ISAS][MAX_ROUNDS], plain[MAX_ROUNDS];
} rates;

/* Multiply-adds for each byte that has to be read or written once: sources, coordinates, Jones
 * terms, visibilities. */
static double intensity(const workload *w, int bytes)
{
    double rows = (double)TIMES * BASELINES, sources = w->sources, channels = w->channels;
    double each = 2.0 * bytes * w->elements;
    double read = sources * (24 + each * (w->spectra ? channels : 1)) +
                  (double)jones_numbers(w) * bytes + 24 * rows * (w->smear & 1 ? 2 : 1);

    return w->operations * rows * channels * sources / (read + each * rows * channels);
}

static void report(const choice *c, const workload *w, int bytes, rates *r, bench_roofline *roof)
{
    double plain = bench_median(r->plain, c->rounds);
    int first = 1;

    for (int isa = GROVE_ISAS - 1; isa >= 0; isa--) {
        if (!is_measured(c, isa))
            continue;
        double rate = bench_median(r->rate[isa], c->rounds);
        double peak = bench_median(r->peak[isa], c->rounds) * c->threads;
        printf("| %s | %s | %s | %.2f | %.1f | %.0f %% | %.2f | %.0f x | %.1e |\n", w->name,
               grove_isa_name((grove_isa)isa), bytes == 4 ? "single" : "double", rate / 1e9,
               w->operations, 100 * rate * w->operations / peak, peak / 1e9, rate / plain,
               error_of(w, isa, bytes));
        fflush(stdout);
        if (first && roof->count < BENCH_MOST_POINTS &&
            (bytes == 4 || !strcmp(c->precision, "double"))) {
            roof->peak = fmax(roof->peak, peak);
            roof->points[roof->count++] =
                (bench_point){w->name, intensity(w, bytes), rate * w->operations};
        }
        first = 0;
    }
}

static void measure(const choice *c, const workload *w, int bytes, bench_roofline *roof)
{
    problem *p = make_problem(w, bytes);
    rates r;

    for (int round = 0; round < c->rounds; round++) {
        for (int isa = 0; isa < GROVE_ISAS; isa++) {
            if (!is_measured(c, isa))
                continue;
            set_plan(w, p, isa);
            r.rate[isa][round] = time_sum(w, p, c->threads, c->min);
            r.peak[isa][round] = bench_peak(isa, bytes, c->min / 10);
        }
        r.plain[round] = time_plain(w, p, c->min);
    }
    report(c, w, bytes, &r, roof);
    free_problem(p);
}

/* P4: thirty tiles of P1's size. */
static void measure_p4(const choice *c, int bytes)
{
    for (int k = 0; k < 2; k++) {
        problem *p = make_problem(&workloads[k], bytes);
        double taken = 0;
        set_plan(&workloads[k], p, (int)grove_isa_best());
        for (int tile = 0; tile < 480 / TIMES; tile++)
            taken += evaluate(p, c->threads);
        printf("P4%s, %s, %s: %.2f s\n", workloads[k].name + 2, grove_isa_name(grove_isa_best()),
               bytes == 4 ? "single" : "double", taken);
        free_problem(p);
    }
}

/* 0, or 2 after a message. */
static int check(const choice *c)
{
    int known = !*c->isa, found = 0;

    for (int isa = 0; isa < GROVE_ISAS; isa++)
        known |= is_measured(c, isa);
    for (int k = 0; k < WORKLOADS; k++)
        found |= strstr(workloads[k].name, c->words) != NULL;
    if (!known)
        fprintf(stderr,
                "grove bench predict: this processor has no instructions '%s'; portable, "
                "avx2 and avx512 are known\n",
                c->isa);
    else if (!found)
        fprintf(stderr, "grove bench predict: no workload has '%s' in its name\n", c->words);
    else if (*c->precision && strcmp(c->precision, "single") != 0 &&
             strcmp(c->precision, "double") != 0)
        fprintf(stderr, "grove bench predict: --precision %s: wants single or double\n",
                c->precision);
    else
        return 0;
    return 2;
}

static void measure_all(const choice *c, bench_roofline *roof)
{
    printf("Bandwidth of one core: %.1f GB/s. %d thread%s. Medians of %d interleaved rounds.\n\n",
           roof->bandwidth / 1e9, c->threads, c->threads > 1 ? "s" : "", c->rounds);
    printf("| workload | instructions | precision | 1e9 source-vis/s | operations each | of the "
           "peak | peak, 1e9 multiply-adds/s | against the plain way | error |\n"
           "| --- | --- | --- | --: | --: | --: | --: | --: | --: |\n");
    for (int bytes = 4; bytes <= 8; bytes += 4)
        for (int k = 0; k < WORKLOADS; k++)
            if (strstr(workloads[k].name, c->words) &&
                (!*c->precision || !strcmp(c->precision, bytes == 4 ? "single" : "double")))
                measure(c, &workloads[k], bytes, roof);
    printf("\n");
    for (int bytes = 4; bytes <= 8 && !*c->words && !*c->precision && !*c->isa; bytes += 4)
        measure_p4(c, bytes);
}

int main(int count, char **words)
{
    const char *isa = getenv("GROVE_ISA");
    choice c = {.words = "",
                .isa = isa ? isa : "",
                .precision = "",
                .plot = "",
                .rounds = 5,
                .threads = 1,
                .min = 0.2};
    const char *threads = "1";
    const bench_option options[] = {
        {"rounds", "N", "interleaved rounds, of which medians are taken (default 5)", BENCH_COUNT,
         &c.rounds, MAX_ROUNDS},
        {"seconds", "S", "at least so long for each number in a round (default 0.2)", BENCH_SECONDS,
         &c.min, 0},
        {"workload", "TEXT", "those with TEXT in their names: P1, 'P2 I', smeared (default: all)",
         BENCH_TEXT, &c.words, 0},
        {"isa", "WORD", "avx512, avx2 or portable (default: all that the processor has)",
         BENCH_TEXT, &c.isa, 0},
        {"precision", "WORD", "single or double (default: both)", BENCH_TEXT, &c.precision, 0},
        {"threads", "N", "threads for each sum, or all (default 1)", BENCH_TEXT, &threads, 0},
        {"plot", "FILE", "draws the roofline into FILE, .svg or .png", BENCH_TEXT, &c.plot, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench predict [OPTIONS]", count - 1, words + 1);
    c.threads = !strcmp(threads, "all") ? bench_processors() : atoi(threads);
    if (c.threads < 1 || c.threads > MAX_THREADS) {
        fprintf(stderr, "grove bench predict: --threads %s: wants 1 to %d, or all\n", threads,
                MAX_THREADS);
        return 2;
    }
    if (check(&c))
        return 2;
    static bench_roofline roof;
    char subtitle[128];
    roof.bandwidth = bench_bandwidth();
    measure_all(&c, &roof);
    snprintf(subtitle, sizeof(subtitle), "%s, %s, %d thread%s; %.1f GB/s",
             *c.isa ? c.isa : grove_isa_name(grove_isa_best()),
             *c.precision ? c.precision : "single", c.threads, c.threads > 1 ? "s" : "",
             roof.bandwidth / 1e9);
    roof.subtitle = subtitle;
    return *c.plot ? bench_roofline_draw(&roof, c.plot) : 0;
}
