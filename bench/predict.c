/* How fast the sums over sources are: source-visibilities per second for each way, instruction set
 * and precision, beside the core's own multiply-add peak and bandwidth, measured in the same run.
 * Medians of interleaved rounds. `grove bench predict --help` lists the options.
 *
 * Workloads: P1 = 64 stations, 16 times, 64 channels 1.0-1.5 GHz, 1000 sources within a degree; P2
 * = the same with one channel and 10000 sources.
 */
#include "energy.h"
#include "machine.h"
#include "options.h"
#include "sums.h"

#include "cell.h"

#include "../kernels/simd/isa.h"
#include "../kernels/sky/predict.h"
#include "../kernels/sky/predict_job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINES = BENCH_SUM_BASELINES, TIMES = BENCH_SUM_TIMES };
enum { MAX_ROUNDS = 99, MAX_THREADS = 1024 };

/* What the command line asks for. */
typedef struct {
    const char *words, *isa, *precision;
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
static double time_plain(const bench_sum_workload *w, bench_sum *p, double min)
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
static double evaluate(bench_sum *p, int threads)
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

/* Whole evaluations of as many times as take about `min` seconds; adds to how many
 * source-visibilities there were, and what they took. */
static double time_sum(const bench_sum_workload *w, bench_sum *p, int threads, double min,
                       double *all, double *joules)
{
    double done = 0, taken = 0, before = bench_joules();
    int64_t times = 1;

    while (taken < min) {
        p->args.size[1] = times;
        taken += evaluate(p, threads);
        done += (double)times * BASELINES * w->sources * w->channels;
        times = times < TIMES ? times * 2 : TIMES;
    }
    *joules += bench_joules() - before;
    *all += done;
    p->args.size[1] = TIMES;
    return done / taken;
}

static double number_at(const bench_sum *p, size_t k, int bytes)
{
    return bytes == 4 ? (double)((const float *)p->out)[k] : ((const double *)p->out)[k];
}

/* Relative difference from the plain way in double, on some rows. */
static double error_of(const bench_sum_workload *w, int isa, int bytes)
{
    bench_sum *p = bench_sum_new(w, bytes), *q = bench_sum_new(w, 8);
    size_t each = (size_t)w->channels * (size_t)w->elements * 2;
    double error = 0, norm = 0;

    bench_sum_set_isa(w, p, isa);
    bench_sum_set_isa(w, q, isa);
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
    bench_sum_free(p);
    bench_sum_free(q);
    return sqrt(error / norm);
}

typedef struct {
    double rate[GROVE_ISAS][MAX_ROUNDS], peak[GROVE_ISAS][MAX_ROUNDS], plain[MAX_ROUNDS];
    double done[GROVE_ISAS], joules[GROVE_ISAS]; /* in all rounds */
} rates;

static void report(const choice *c, const bench_sum_workload *w, int bytes, rates *r)
{
    double plain = bench_median(r->plain, c->rounds);
    char joules[32];

    for (int isa = GROVE_ISAS - 1; isa >= 0; isa--) {
        if (!is_measured(c, isa))
            continue;
        double rate = bench_median(r->rate[isa], c->rounds);
        double peak = bench_median(r->peak[isa], c->rounds) * c->threads;
        printf("| %s | %s | %s | %.2f | %.1f | %.0f %% | %.2f | %.0f x | %.1e | %s |\n", w->name,
               grove_isa_name((grove_isa)isa), bytes == 4 ? "single" : "double", rate / 1e9,
               (w->sum + w->rest), 100 * rate * (w->sum + w->rest) / peak, peak / 1e9, rate / plain,
               error_of(w, isa, bytes), bench_per_joule(joules, r->done[isa], r->joules[isa]));
        fflush(stdout);
    }
}

static void measure(const choice *c, const bench_sum_workload *w, int bytes)
{
    bench_sum *p = bench_sum_new(w, bytes);
    rates r = {0};

    for (int round = 0; round < c->rounds; round++) {
        for (int isa = 0; isa < GROVE_ISAS; isa++) {
            if (!is_measured(c, isa))
                continue;
            bench_sum_set_isa(w, p, isa);
            r.rate[isa][round] = time_sum(w, p, c->threads, c->min, &r.done[isa], &r.joules[isa]);
            r.peak[isa][round] = bench_peak(isa, bytes, c->min / 10);
        }
        r.plain[round] = time_plain(w, p, c->min);
    }
    report(c, w, bytes, &r);
    bench_sum_free(p);
}

/* 0, or 2 after a message. */
static int check(const choice *c)
{
    int known = !*c->isa, found = 0;

    for (int isa = 0; isa < GROVE_ISAS; isa++)
        known |= is_measured(c, isa);
    for (int k = 0; k < bench_sum_workload_count; k++)
        found |= strstr(bench_sum_workloads[k].name, c->words) != NULL;
    if (!known)
        fprintf(stderr,
                "grove bench predict: this processor has no instructions '%s'; portable, "
                "avx2 and avx512 are known\n",
                c->isa);
    else if (!found)
        fprintf(stderr, "grove bench predict: no workload has '%s' in its name\n", c->words);
    else if (*c->precision && strcmp(c->precision, "single") != 0 &&
             strcmp(c->precision, "double") != 0)
        fprintf(stderr, "grove bench predict: --precision %s: must be single or double\n",
                c->precision);
    else
        return 0;
    return 2;
}

static void measure_all(const choice *c)
{
    printf("Bandwidth of one core: %.1f GB/s. %d thread%s. Medians of %d interleaved rounds.\n\n",
           bench_bandwidth() / 1e9, c->threads, c->threads > 1 ? "s" : "", c->rounds);
    printf("| workload | instructions | precision | 1e9 source-vis/s | operations each | of the "
           "peak | peak, 1e9 multiply-adds/s | against the plain way | error | source-visibilities "
           "per joule |\n"
           "| --- | --- | --- | --: | --: | --: | --: | --: | --: | --: |\n");
    for (int bytes = 4; bytes <= 8; bytes += 4)
        for (int k = 0; k < bench_sum_workload_count; k++)
            if (strstr(bench_sum_workloads[k].name, c->words) &&
                (!*c->precision || !strcmp(c->precision, bytes == 4 ? "single" : "double")))
                measure(c, &bench_sum_workloads[k], bytes);
    bench_energy_note();
}

int main(int count, char **words)
{
    const char *isa = getenv("GROVE_ISA");
    choice c = {
        .words = "", .isa = isa ? isa : "", .precision = "", .rounds = 5, .threads = 1, .min = 0.2};
    const char *threads = "1";
    const bench_option options[] = {
        {"rounds", "N", "interleaved rounds; results are medians (default 5)", BENCH_COUNT,
         &c.rounds, MAX_ROUNDS},
        {"seconds", "S", "at least so long for each number in a round (default 0.2)", BENCH_SECONDS,
         &c.min, 0},
        {"workload", "TEXT", "those with TEXT in their names: P1, 'P2 I', smeared (default: all)",
         BENCH_TEXT, &c.words, 0},
        {"isa", "WORD", "avx512, avx2 or portable (default: all that the processor has)",
         BENCH_TEXT, &c.isa, 0},
        {"precision", "WORD", "single or double (default: both)", BENCH_TEXT, &c.precision, 0},
        {"threads", "N", "threads for each sum, or all (default 1)", BENCH_TEXT, &threads, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench predict [OPTIONS]", count - 1, words + 1);
    const long chosen = strcmp(threads, "all") ? strtol(threads, NULL, 10) : bench_processors();
    if (chosen < 1 || chosen > MAX_THREADS) {
        fprintf(stderr, "grove bench predict: --threads %s: must be 1 to %d, or all\n", threads,
                MAX_THREADS);
        return 2;
    }
    c.threads = (int)chosen;
    if (check(&c))
        return 2;
    measure_all(&c);
    return 0;
}
