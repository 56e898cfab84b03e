/* Where kernels lie below what one core allows: multiply-adds, sines and cosines, cache, memory,
 * all measured in the same rounds. `grove bench roofline --help` lists the options. */
#include "roofline.h"

#include "energy.h"
#include "machine.h"
#include "options.h"

#include "base/text.h"
#include "unstable/output.h"

#include "../kernels/simd/isa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM     .begin = bench_begin_sum, .run = bench_run_sum, .end = bench_end_sum
#define W_STACK .begin = bench_begin_w_stack, .run = bench_run_w_stack, .end = bench_end_gridder
#define FUNCTIONS                                                                                  \
    .begin = bench_begin_functions, .run = bench_run_functions, .end = bench_end_gridder

#define IDG .begin = bench_begin_idg, .run = bench_run_idg, .end = bench_end_gridder

/* A visibility of the first is that of one source. */
static const bench_kernel kernels[] = {
    {"predict, I", .workload = "P1 I", SUM},
    {"predict, IQUV", .workload = "P1 IQUV", SUM},
    {"predict, 2x2 Jones", .workload = "P1 2x2 Jones", SUM},
    {"predict, one channel, stations", .workload = "P2 I", SUM},
    {"predict, one channel, baselines", .workload = "P2 I, baselines", SUM},
    {"w_stack, grid", W_STACK},
    {"w_stack, degrid", .degrids = true, W_STACK},
    {"aw, grid", .functions = 1, FUNCTIONS},
    {"aw, degrid", .degrids = true, .functions = 1, FUNCTIONS},
    {"aw, grid, 500 functions", .functions = 500, FUNCTIONS},
    {"aw, degrid, 500 functions", .degrids = true, .functions = 500, FUNCTIONS},
    {"idg, grid", IDG},
    {"idg, degrid", .degrids = true, IDG},
};
enum { KERNELS = sizeof(kernels) / sizeof(kernels[0]), MAX_ROUNDS = 99 };

static const int mixtures[] = {1, 2, 4, 8, 16, 17, 32, 64, 128, 256};
_Static_assert(sizeof(mixtures) / sizeof(mixtures[0]) == BENCH_MIXTURES, "as many as are drawn");

typedef struct {
    const bench_kernel *kernel;
    void *state;
    bench_work work;
    double rate[MAX_ROUNDS], done, joules;
} measured;

typedef struct {
    const char *words, *isa, *precision, *plot;
    int rounds;
    double min;
    bench_setup setup;
    measured kernels[KERNELS];
    int count;
    double peak[MAX_ROUNDS], phases[MAX_ROUNDS], cache[MAX_ROUNDS], memory[MAX_ROUNDS];
    double mixed[BENCH_MIXTURES][MAX_ROUNDS];
    bench_roofline roof;
} bench;

/* ---- measuring ---- */

static void measure_limits(bench *b, int round)
{
    const int isa = b->setup.isa, bytes = b->setup.bytes;

    b->peak[round] = bench_peak(isa, bytes, b->min / 4);
    b->phases[round] = bench_phases(isa, bytes, b->min / 4);
    b->cache[round] = bench_cache_bandwidth(isa, bytes, b->min / 4);
    b->memory[round] = bench_bandwidth();
    for (int k = 0; k < BENCH_MIXTURES; k++)
        b->mixed[k][round] = bench_mixed(isa, bytes, mixtures[k], b->min / 4);
}

static void measure_kernel(const bench *b, measured *m, int round)
{
    double joules = bench_joules(), start = bench_thread_seconds(), done = 0;

    while (bench_thread_seconds() - start < b->min)
        done += m->kernel->run(m->state);
    m->rate[round] = done / (bench_thread_seconds() - start);
    m->joules += bench_joules() - joules;
    m->done += done;
}

static void measure(bench *b)
{
    for (int k = 0; k < b->count; k++) {
        measured *m = &b->kernels[k];
        m->state = m->kernel->begin(m->kernel, &b->setup, &m->work);
        m->kernel->run(m->state); /* what is first touched, and made once */
    }
    for (int round = 0; round < b->rounds; round++) {
        measure_limits(b, round);
        for (int k = 0; k < b->count; k++)
            measure_kernel(b, &b->kernels[k], round);
    }
    for (int k = 0; k < b->count; k++)
        b->kernels[k].kernel->end(b->kernels[k].state);
    b->roof.limits = (bench_limits){.peak = bench_median(b->peak, b->rounds),
                                    .phases = bench_median(b->phases, b->rounds),
                                    .cache = bench_median(b->cache, b->rounds),
                                    .memory = bench_median(b->memory, b->rounds)};
    for (int k = 0; k < BENCH_MIXTURES; k++)
        b->roof.mixtures[k] = (bench_mixture){mixtures[k], bench_median(b->mixed[k], b->rounds)};
    b->roof.mixture_count = BENCH_MIXTURES;
}

/* ---- tables ---- */

static void print_limits(const bench *b)
{
    const bench_limits *l = &b->roof.limits;

    printf("%s, %s, one core; medians of %d interleaved rounds.\n\n",
           grove_isa_name((grove_isa)b->setup.isa), b->setup.bytes == 4 ? "single" : "double",
           b->rounds);
    printf("| limit | 1e9 per second |\n| --- | --: |\n| multiply-adds | %.2f |\n"
           "| sines and cosines, a pair | %.3f |\n| bytes of the second cache | %.1f |\n"
           "| bytes of memory | %.1f |\n\n",
           l->peak / 1e9, l->phases / 1e9, l->cache / 1e9, l->memory / 1e9);
    printf("A pair of sine and cosine takes the time of c = %.1f multiply-adds.\n\n",
           l->peak / l->phases);
    printf("| multiply-adds for a pair, r | bound, peak / (1 + c / r), 1e9/s | measured | of the "
           "bound | of the peak |\n| --: | --: | --: | --: | --: |\n");
    for (int k = 0; k < BENCH_MIXTURES; k++) {
        const bench_mixture *m = &b->roof.mixtures[k];
        double bound = bench_mixed_bound(l, m->each);
        printf("| %.0f | %.2f | %.2f | %.0f %% | %.0f %% |\n", m->each, bound / 1e9, m->rate / 1e9,
               100 * m->rate / bound, 100 * m->rate / l->peak);
    }
}

static void print_kernel(bench *b, measured *m)
{
    const bench_work *w = &m->work;
    bench_reason reason;
    double rate = bench_median(m->rate, b->rounds), operations = rate * w->operations;
    double bound = bench_bound(&b->roof.limits, w, &reason);
    char joules[32];

    printf(
        "| %s | %.4g | %.4g | %.3g | %.3g | %.4g | %.3g | %.2f | %.2f | %s | %.0f %% | %.0f %% | "
        "%s |\n",
        m->kernel->name, rate / 1e6, w->operations, w->phases, w->memory, w->cache,
        w->operations / w->memory, operations / 1e9, bound / 1e9, bench_reason_text(reason),
        100 * operations / bound, 100 * operations / b->roof.limits.peak,
        bench_per_joule(joules, m->done, m->joules));
    b->roof.points[b->roof.count++] =
        (bench_point){m->kernel->name, w->operations / w->memory, operations, bound};
}

static void print_kernels(bench *b)
{
    printf(
        "\n| kernel | 1e6 visibilities/s | multiply-adds each | sines and cosines | bytes of "
        "memory | bytes of cache | multiply-adds per byte | 1e9 multiply-adds/s | bound | by | of "
        "the bound | of the peak | visibilities per joule |\n"
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --- | --: | --: | --: |\n");
    for (int k = 0; k < b->count; k++)
        print_kernel(b, &b->kernels[k]);
    for (int k = 0; k < b->count; k++)
        if (b->kernels[k].work.shared > 0)
            printf("\n%s: %.3g visibilities in each subgrid.\n", b->kernels[k].kernel->name,
                   b->kernels[k].work.shared);
    bench_energy_note();
}

/* ---- options ---- */

/* 0, or 2 after a message. */
static int choose(bench *b)
{
    char said[160] = "";
    grove_isa isa = GROVE_ISA_PORTABLE;

    if (*b->isa)
        setenv("GROVE_ISA", b->isa, 1);
    for (int k = 0; k < KERNELS; k++)
        if (strstr(kernels[k].name, b->words))
            b->kernels[b->count++].kernel = &kernels[k];
    if (grove_isa_choose(&isa, said))
        fprintf(stderr, "grove bench roofline: %s\n", said);
    else if (strcmp(b->precision, "single") != 0 && strcmp(b->precision, "double") != 0)
        fprintf(stderr, "grove bench roofline: --precision %s: must be single or double\n",
                b->precision);
    else if (!b->count)
        fprintf(stderr, "grove bench roofline: no kernel has '%s' in its name\n", b->words);
    else {
        b->setup.isa = (int)isa;
        b->setup.bytes = !strcmp(b->precision, "single") ? 4 : 8;
        return 0;
    }
    return 2;
}

/* Before measuring: whether a figure cannot be drawn there. Says why. */
static bool refuse_plot(const char *path, bool overwrite)
{
    grove_error *error = grove_error_new();
    bool refused = true;

    if (!grove_ends_with(path, ".png") && !grove_ends_with(path, ".svg"))
        grove_fail(error, GROVE_INVALID, "%s: the name of a picture ends in .png or .svg", path);
    else
        refused = grove_output_check(path, overwrite, error) != 0;
    if (refused)
        fprintf(stderr, "grove bench: %s\n", grove_error_message(error, 0));
    grove_error_free(error);
    return refused;
}

int main(int count, char **words)
{
    static bench b = {.words = "",
                      .isa = "",
                      .precision = "single",
                      .plot = "",
                      .rounds = 5,
                      .min = 0.2,
                      .setup = {.times = 8, .channels = 64, .size = 2048, .epsilon = 1e-4}};
    bool overwrite = false;
    const bench_option options[] = {
        {"rounds", "N", "interleaved rounds; results are medians (default 5)", BENCH_COUNT,
         &b.rounds, MAX_ROUNDS},
        {"seconds", "S", "at least so long for each kernel in a round (default 0.2)", BENCH_SECONDS,
         &b.min, 0},
        {"kernel", "TEXT",
         "those with TEXT in their names: predict, w_stack, aw, idg (default: all)", BENCH_TEXT,
         &b.words, 0},
        {"isa", "WORD", "avx512, avx2 or portable (default: the best)", BENCH_TEXT, &b.isa, 0},
        {"precision", "WORD", "single or double (default single)", BENCH_TEXT, &b.precision, 0},
        {"times", "N", "of the gridders' visibilities (default 8)", BENCH_COUNT, &b.setup.times,
         4096},
        {"channels", "N", "of them (default 64)", BENCH_COUNT, &b.setup.channels, 4096},
        {"size", "N", "pixels of their image along each side, of 1e-5 rad (default 2048)",
         BENCH_COUNT, &b.setup.size, 16384},
        {"epsilon", "X", "the accuracy of w_stack and idg (default 1e-4)", BENCH_NUMBER,
         &b.setup.epsilon, 0},
        {"plot", "FILE", "draws it into FILE, .svg or .png", BENCH_TEXT, &b.plot, 0},
        {"overwrite", "", "replaces the file of --plot if it exists", BENCH_FLAG, &overwrite, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};
    char subtitle[160];

    bench_read(options, "grove bench roofline [OPTIONS]", count - 1, words + 1);
    if (choose(&b))
        return 2;
    if (*b.plot && refuse_plot(b.plot, overwrite))
        return 1;
    measure(&b);
    print_limits(&b);
    print_kernels(&b);
    snprintf(subtitle, sizeof(subtitle), "%s, %s; %.1f GB/s of memory, %.0f of cache; c = %.1f",
             grove_isa_name((grove_isa)b.setup.isa), b.precision, b.roof.limits.memory / 1e9,
             b.roof.limits.cache / 1e9, b.roof.limits.peak / b.roof.limits.phases);
    b.roof.title = "Kernels below the roofline of one core";
    b.roof.subtitle = subtitle;
    return *b.plot ? bench_roofline_draw(&b.roof, b.plot) : 0;
}
