/* Measures run times against the numbers of sources, stations, channels, times and threads, each
 * varied alone, for simulate.tree with gains, without beam, into the null sink. Each row has the
 * processor time of the process, the wall time and the time per source-visibility, as medians of
 * interleaved rounds. --plot FILE draws them. */
#include "draw.h"
#include "energy.h"
#include "grove.h"
#include "inputs.h"
#include "machine.h"
#include "options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 9, MAX_ROUNDS = 31 };

typedef struct {
    int sources, stations, channels, times, threads;
} size;

static const size base = {200, 32, 64, 60, 1};

typedef struct {
    const char *name;
    size_t at; /* in a size */
    int values[MAX_VALUES];
    const char *smear;
} axis;

#define AT(field) offsetof(size, field)

static const axis axes[] = {
    {"sources", AT(sources), {1, 10, 32, 100, 316, 1000, 3162, 0}, "both"},
    {"stations", AT(stations), {4, 8, 16, 32, 48, 64, 0}, "both"},
    {"channels", AT(channels), {1, 2, 4, 8, 16, 32, 64, 128, 0}, "both"},
    {"times", AT(times), {4, 15, 60, 240, 960, 0}, "both"},
    {"threads", AT(threads), {1, 2, 4, 8, 16, 32, 64, 0}, "both"},
};
enum { AXES = sizeof(axes) / sizeof(axes[0]) };

typedef struct {
    int count, number[MAX_VALUES];
    double processor[MAX_VALUES][MAX_ROUNDS], wall[MAX_VALUES][MAX_ROUNDS];
    double joules[MAX_VALUES]; /* of all rounds */
    double x[MAX_VALUES], y[MAX_VALUES], each[MAX_VALUES], line[MAX_VALUES];
} series;

/* One run, or the end of the program with a message. A warm-up adds nothing to the times. */
static void run(grove_library *library, const char *folder, const size *s, const char *smear,
                double *processor, double *wall)
{
    char sky[512], array[512], channels[16], hours[64];
    grove_error *error = grove_error_new();
    grove_session_options options = {.threads = s->threads, .device = "cpu"};

    bench_write_sky(folder, s->sources);
    bench_write_array(folder, s->stations);
    snprintf(sky, sizeof(sky), "%s/sky.skymodel", folder);
    snprintf(array, sizeof(array), "%s/x.array", folder);
    snprintf(channels, sizeof(channels), "%d", s->channels);
    snprintf(hours, sizeof(hours), "-%.4fs..%.4fs", 5.0137 * s->times, 5.0137 * s->times);
    const grove_setting settings[] = {
        {"sky", sky},          {"array", array},       {"phase_centre", "0h2m0s -30d0m0s"},
        {"hour_angle", hours}, {"integration", "10s"}, {"channels", channels},
        {"gains", "sine"},     {"smear", smear},       {"out", "null"}};
    grove_tree *tree = grove_library_load(library, "simulate.tree", settings,
                                          sizeof(settings) / sizeof(settings[0]), error);
    grove_session *session = tree ? grove_session_new(tree, &options, error) : NULL;
    double start = bench_wall_seconds(), used = bench_process_seconds();
    if (!session || grove_session_run(session)) {
        char *text = grove_error_text(error);
        fprintf(stderr, "%s", text);
        free(text);
        exit(1);
    }
    *wall = bench_wall_seconds() - start;
    *processor = bench_process_seconds() - used;
    grove_session_free(session);
    grove_tree_free(tree);
    grove_error_free(error);
}

static double source_visibilities(const size *s)
{
    return (double)s->sources * s->stations * (s->stations - 1) / 2 * s->channels * s->times;
}

static size size_of(const axis *a, int value)
{
    size s = base;

    memcpy((char *)&s + a->at, &value, sizeof(value));
    return s;
}

static void measure(grove_library *library, const char *folder, const axis *a, int rounds,
                    series *r)
{
    char joules[32];

    memset(r, 0, sizeof(*r));
    for (int k = 0; k < MAX_VALUES && a->values[k]; k++)
        if (a->at != AT(threads) || a->values[k] <= bench_processors())
            r->number[r->count++] = a->values[k];
    for (int round = 0; round < rounds; round++)
        for (int k = 0; k < r->count; k++) {
            size s = size_of(a, r->number[k]);
            double before = bench_joules();
            run(library, folder, &s, a->smear, &r->processor[k][round], &r->wall[k][round]);
            r->joules[k] += bench_joules() - before;
        }
    printf("| %s | source-visibilities | processor time, s | wall time, s | ns for each "
           "source-visibility | source-visibilities per joule |\n"
           "| --: | --: | --: | --: | --: | --: |\n",
           a->name);
    for (int k = 0; k < r->count; k++) {
        size s = size_of(a, r->number[k]);
        double processor = bench_median(r->processor[k], rounds);
        double wall = bench_median(r->wall[k], rounds), all = source_visibilities(&s);
        printf("| %d | %.3g | %.4f | %.4f | %.3f | %s |\n", r->number[k], all, processor, wall,
               1e9 * processor / all, bench_per_joule(joules, rounds * all, r->joules[k]));
        r->x[k] = r->number[k];
        r->y[k] = a->at == AT(threads) ? wall : processor;
        r->line[k] = all;
    }
    /* linear scaling from the largest size; with threads, the time divided among them */
    for (int k = 0; k < r->count; k++)
        r->line[k] = a->at == AT(threads) ? r->y[0] / r->x[k]
                                          : r->y[r->count - 1] * r->line[k] / r->line[r->count - 1];
    printf("\n");
    fflush(stdout);
}

static int draw(const series all[AXES], const char *path)
{
    grove_chart charts[AXES];
    grove_series lines[AXES][2];

    for (int k = 0; k < AXES; k++) {
        const series *r = &all[k];
        size_t count = (size_t)r->count;
        lines[k][0] = (grove_series){.kind = GROVE_SERIES_LINE,
                                     .label = "linear",
                                     .x = r->x,
                                     .y = r->line,
                                     .count = count,
                                     .colour = 0x999999};
        lines[k][1] = (grove_series){.label = "measured",
                                     .x = r->x,
                                     .y = r->y,
                                     .count = count,
                                     .colour = 0x0072b2,
                                     .size = 8};
        charts[k] =
            (grove_chart){.title = axes[k].name,
                          .x = {axes[k].name, GROVE_SCALE_LOGARITHMIC, 0, 0, false},
                          .y = {axes[k].at == AT(threads) ? "wall time (s)" : "processor time (s)",
                                GROVE_SCALE_LOGARITHMIC, 0, 0, false},
                          .series = lines[k],
                          .series_count = 2};
    }
    grove_figure figure = {
        .width = 1100, .height = 1100, .charts = charts, .count = AXES, .columns = 2};
    return bench_draw(&figure, path);
}

int main(int count, char **words)
{
    static series all[AXES];
    const char *plot = "";
    int rounds = 3;
    char folder[256];
    const bench_option options[] = {
        {"rounds", "N", "interleaved rounds, of which medians are taken (default 3)", BENCH_COUNT,
         &rounds, MAX_ROUNDS},
        {"plot", "FILE", "draws all into FILE, .svg or .png", BENCH_TEXT, &plot, 0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench scaling [OPTIONS]", count - 1, words + 1);
    bench_make_folder(folder);
    grove_library *library = grove_library_new(NULL);
    printf("Where it is not varied: %d sources, %d stations, %d channels, %d times, one thread; "
           "smearing and gains. Medians of %d interleaved rounds.\n\n",
           base.sources, base.stations, base.channels, base.times, rounds);
    for (int k = 0; k < AXES; k++)
        measure(library, folder, &axes[k], rounds, &all[k]);
    bench_energy_note();
    grove_library_free(library);
    bench_remove_folder(folder);
    return *plot ? draw(all, plot) : 0;
}
