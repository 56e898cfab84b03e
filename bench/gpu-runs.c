/* Runs on a CUDA device from the first to the last tile: how long they take beside its kernels and
 * copies. `grove bench gpu-runs --help` lists the options; bench/gpu runs it.
 *
 * P3 = 64 stations, 480 times, 64 channels, 10000 point sources, single precision.
 */
#include "grove.h"
#include "machine.h"
#include "options.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    int sources, stations, times, channels;
} size;

static const size p3 = {10000, 64, 480, 64}, few = {1000, 64, 480, 64}, tiny = {20, 5, 6, 4};

/* Where the visibilities go. */
enum { STAY, COME_BACK, SET };

typedef struct {
    const char *name, *sum, *device;
    int goes, threads;
    int64_t tile_times; /* 0: chosen */
    const size *size;
} run;

#define JONES "G[p] = gains(obs, kind=sine, amplitude=0.1, phase=30deg, seed=1)\n"
#define SUMS                                                                                       \
    "E[s,p] = beam_airy(S, obs, diameter=13.5m)\n" JONES                                           \
    "V[p,q] = sum[s](G[p] * E[s,p] * point(S, obs, smear=none) * E[s,q]^H * G[q]^H)\n"

static const char rows[] = "V[p,q] = predict(S, obs, method=baselines)\n";
static const char stations[] = "V[p,q] = predict(S, obs, method=stations)\n";
static const char smeared[] = "V[p,q] = predict(S, obs, smear=both)\n";
static const char simulated[] =
    JONES "V[p,q] = G[p] * sum[s](point(S, obs, smear=both)) * G[q]^H + noise(obs, sefd=420Jy, "
          "seed=2)\n";

static const run runs[] = {
    {"P3, stay there", rows, "cuda", STAY, 0, 0, &p3},
    {"P3, come back", rows, "cuda", COME_BACK, 0, 0, &p3},
    {"P3, come back, 24 times a tile", rows, "cuda", COME_BACK, 0, 24, &p3},
    {"P3 stations, stay there", stations, "cuda", STAY, 0, 0, &p3},
    {"P3 stations, come back, 24 times a tile", stations, "cuda", COME_BACK, 0, 24, &p3},
    {"P3 smeared, come back, 24 times a tile", smeared, "cuda", COME_BACK, 0, 24, &p3},
    {"P3 2x2 Jones, come back, 24 times a tile", SUMS, "cuda", COME_BACK, 0, 24, &p3},
    {"1000 sources, Measurement Set", simulated, "cuda", SET, 0, 0, &few},
};
enum { RUNS = sizeof(runs) / sizeof(*runs) };

static const char *folder;
static bool is_tiny;
static double ends;

/* ---- inputs ---- */

static int remove_one(const char *path, const struct stat *what, int kind, struct FTW *place)
{
    (void)what;
    (void)kind;
    (void)place;
    return remove(path);
}

static FILE *open_file(const char *name)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    return file;
}

/* Points within half a degree of 0h2m0s -30d0m0s. */
static void write_sky(int sources)
{
    FILE *file = open_file("sky.skymodel");

    fprintf(file, "format = Name, Type, Ra, Dec, I\n");
    for (int k = 0; k < sources; k++)
        fprintf(file, "s%d, POINT, %.6fdeg, %.6fdeg, %.3f\n", k, fmod(0.618034 * k, 1),
                -30.5 + fmod(0.414214 * k, 1), 0.1 + fmod(0.302776 * k, 1));
    fclose(file);
}

/* Stations over a few kilometres, on a spiral. */
static void write_array(int count)
{
    FILE *file = open_file("x.array");

    for (int k = 0; k < count; k++) {
        double radius = 4000.0 * (k + 1) / 64, angle = 2.4 * k;
        fprintf(file, "%.3f %.3f %.3f 13.5 S%02d ALT-AZ\n", 5109243 + radius * cos(angle) * 0.5,
                2006797 + radius * sin(angle), -3239112 + radius * cos(angle) * 0.8, k);
    }
    fclose(file);
}

/* ---- runs ---- */

static void fail(grove_error *error)
{
    char *text = grove_error_text(error);

    fflush(stdout);
    fprintf(stderr, "%s", text);
    free(text);
}

static size size_of(const run *r)
{
    return is_tiny ? tiny : *r->size;
}

static char *tree_of(const run *r, const size *s, char *text, size_t room)
{
    char sink[320] = "";

    if (r->goes == COME_BACK)
        snprintf(sink, sizeof(sink), "write = sink(V, obs, to=null)\n");
    if (r->goes == SET)
        snprintf(sink, sizeof(sink), "write = sink(V, obs, to=\"%s/x.ms\", overwrite=true)\n",
                 folder);
    snprintf(text, room,
             "obs = observe(array=\"%s/x.array\", phase_centre=\"0h2m0s -30d0m0s\",\n"
             "  hour_angle=-%.4fs..%.4fs, integration=10s, frequency=1GHz, channels=%d,\n"
             "  channel_width=7.8125MHz)\nS = sky_model(\"%s/sky.skymodel\")\n%s%s",
             folder, 5.0137 * s->times, 5.0137 * s->times, s->channels, folder, r->sum, sink);
    return text;
}

/* 0, or a code after a message. */
static int run_session(const run *r, grove_session *session)
{
    grove_value *value = NULL;
    int code =
        r->goes == STAY ? grove_session_value(session, "V", &value) : grove_session_run(session);

    grove_value_unref(value);
    return code;
}

static int measure(const run *r, grove_counters *to)
{
    size s = size_of(r);
    char text[2048];
    grove_error *error = grove_error_new();
    grove_library *library = grove_library_new(NULL);
    grove_session_options options =
        GROVE_SESSION_OPTIONS(.threads = r->threads, .device = r->device, .profile = true,
                              .tile_times = is_tiny ? r->tile_times / 12 : r->tile_times);

    write_sky(s.sources);
    write_array(s.stations);
    grove_tree *tree = grove_library_parse(library, tree_of(r, &s, text, sizeof(text)),
                                           "bench.tree", NULL, 0, error);
    grove_session *session = tree ? grove_session_new(tree, &options, error) : NULL;
    int code = session ? run_session(r, session) : 1;
    if (code)
        fail(error);
    else
        *to = *grove_session_counters(session);
    grove_session_free(session);
    grove_tree_free(tree);
    grove_library_free(library);
    grove_error_free(error);
    return code;
}

static double source_visibilities(const run *r)
{
    size s = size_of(r);

    return (double)s.sources * s.stations * (s.stations - 1) / 2 * s.channels * s.times;
}

/* The lower bound: the longest of the activities that overlap. */
static double longest(const grove_counters *c)
{
    return fmax(fmax(c->device_kernel_seconds, c->write_seconds),
                fmax(c->device_up_seconds, c->device_down_seconds));
}

static void print_row(const run *r, const grove_counters *c)
{
    double wall = c->seconds - c->device_load_seconds;

    printf("| %s | %lld | %.4g | %.4g | %.4g | %.4g | %.4g | %.4g | %.4g | %.4g | %.2f | %.4g |\n",
           r->name, (long long)c->tiles, wall, c->device_kernel_seconds, c->device_up_seconds,
           c->device_down_seconds, c->write_seconds, wall - longest(c), c->device_open_seconds,
           c->device_load_seconds, wall / longest(c), source_visibilities(r) / wall / 1e9);
    fflush(stdout);
}

static bool is_late(const char *name)
{
    if (ends <= 0 || bench_wall_seconds() < ends)
        return false;
    printf("| %s | no time left |\n", name);
    return true;
}

static int measure_runs(const char *words)
{
    int failed = 0;

    printf("Seconds. The wall time is that from the first to the last tile without loading code; "
           "kernels and copies are the device's own times, which overlap; the rest is what "
           "the wall time is longer than the longest of them and of writing files. The aim is a "
           "wall time of at most 1.1 times the longest.\n\n"
           "| run | tiles | wall | kernels | copies there | copies back | writing files | rest | "
           "opening the device | loading code | wall / longest | 1e9 source-vis/s |\n"
           "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |\n");
    for (int k = 0; k < RUNS; k++) {
        grove_counters x = {0};
        if (!strstr(runs[k].name, words) || is_late(runs[k].name))
            continue;
        if (measure(&runs[k], &x)) {
            printf("| %s | failed |\n", runs[k].name);
            failed = 1;
        } else {
            print_row(&runs[k], &x);
        }
    }
    return failed;
}

int main(int count, char **words)
{
    const char *part = "", *sizes = "whole";
    double limit = 0;
    const char *temporary = getenv("TMPDIR");
    char made[256];
    const bench_option options[] = {
        {"limit", "S", "begin no run after this number of seconds (default: no limit)",
         BENCH_SECONDS, &limit, 0},
        {"run", "TEXT", "runs with TEXT in their names (default: all)", BENCH_TEXT, &part, 0},
        {"size", "WORD", "whole, or tiny: only whether it runs (default whole)", BENCH_TEXT, &sizes,
         0},
        {NULL, NULL, NULL, BENCH_TEXT, NULL, 0}};

    bench_read(options, "grove bench gpu-runs [OPTIONS]", count - 1, words + 1);
    is_tiny = !strcmp(sizes, "tiny");
    ends = limit > 0 ? bench_wall_seconds() + limit : 0;
    snprintf(made, sizeof(made), "%s/grove-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    folder = mkdtemp(made);
    if (!folder) {
        perror(made);
        return 1;
    }
    int failed = measure_runs(part);
    nftw(made, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return failed;
}
