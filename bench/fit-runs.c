/* Whole fits of trees whose data are made in memory: 64 stations, 100 times, 16 channels. Processor
 * time of the run, and without what makes the data; what is left to the framework; and, where data
 * are not compressed, what a derivative costs, with its share of all that the fit does itself
 * (normal equations, linear algebra), beside a prediction. */
#include "fit-runs.h"

#include "grove.h"
#include "inputs.h"
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATIONS = 64, SOURCES = 2, MAX_ROUNDS = 99 };

typedef struct {
    const char *name, *gains; /* of the data */
    const char *parms, *left, *right;
    const char *options;
    int slots; /* derivatives, if each is a value of its own; 0: data are compressed */
} whole_fit;

static const whole_fit fits[] = {
    {"C1, diagonal per 10 times", "g[p]", "G[p] = parm(\"G\", jones=diagonal, time=100s)\n", "G[p]",
     "G[q]^H", "parms=G", 0},
    {"C2, full per time", "g[p]", "G[p] = parm(\"G\", jones=full, time=1ms)\n", "G[p]", "G[q]^H",
     "parms=G", 0},
    {"C3, delay and phase per 10 times", "g[p] * exp(2i * pi * obs.freq * 20ns * arg(d[p]) / 1rad)",
     "K[p] = parm(\"K\", jones=delay, time=100s)\nG[p] = parm(\"G\", jones=phase, time=100s)\n",
     "K[p] * G[p]", "G[q]^H * K[q]^H", "parms=[K, G]", 0},
    {"C1, not compressed", "g[p]", "G[p] = parm(\"G\", jones=diagonal, time=100s)\n", "G[p]",
     "G[q]^H", "parms=G, method=lm, compress=false, max_iterations=6, tolerance=1e-14", 4},
};
enum { FITS = sizeof(fits) / sizeof(fits[0]) };

/* The model's products are U and V, those of the data A and B. Without the fit all else is made,
 * too. */
static void write_tree(const char *folder, const whole_fit *f, int fitted, char path[512])
{
    snprintf(path, 512, "%s/fit.tree", folder);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    fprintf(file,
            "obs = observe(array=\"%s/x.array\", phase_centre=\"0h2m0s -30d0m0s\", "
            "hour_angle=-500s..500s, integration=10s, frequency=1.4GHz, channels=16, "
            "channel_width=1MHz)\n"
            "S = sky_model(\"%s/sky.skymodel\")\n"
            "M[p,q] = sum[s](point(S, obs))\n"
            "g[p] = gains(obs, kind=constant, jones=diagonal, amplitude=0.1, phase=30deg, seed=1)\n"
            "d[p] = gains(obs, kind=constant, amplitude=0, phase=20deg, seed=2)\n"
            "T[p] = %s\n"
            "A[p,q] = M[p,q] * T[q]^H\n"
            "B[p,q] = T[p] * A[p,q]\n"
            "data[p,q] = B[p,q] + noise(obs, sefd=420Jy, seed=3)\n",
            folder, folder, f->gains);
    fprintf(file, "%s", f->parms);
    fprintf(file, "U[p,q] = M[p,q] * %s\nV[p,q] = %s * U[p,q]\n", f->right, f->left);
    if (fitted)
        fprintf(file, "fit = solve(V, data, %s, reference=\"0\")\n", f->options);
    else
        fprintf(file, "write = sink(data, obs, to=null)\n");
    fclose(file);
}

/* Seconds of a line of the profile that begins with a name and a blank, the first one; 0: none. */
static double seconds_of(const char *profile, const char *name)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}};

    for (const char *at = profile; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        char found[64], unit[8];
        double time;
        long calls;
        if (sscanf(at, "%63s %ld %lf %7s", found, &calls, &time, unit) != 4 || strcmp(found, name))
            continue;
        for (size_t k = 0; k < sizeof(units) / sizeof(units[0]); k++)
            if (!strcmp(unit, units[k].name))
                return time * units[k].seconds;
    }
    return 0;
}

typedef struct {
    double processor[MAX_ROUNDS], other[MAX_ROUNDS], framework[MAX_ROUNDS], slot[MAX_ROUNDS];
} measured;

static void run(grove_library *library, const char *path, const whole_fit *f, int threads,
                double *processor, double *framework, double *slot)
{
    grove_error *error = grove_error_new();
    const grove_session_options options = {.threads = threads, .device = "cpu", .profile = true};
    grove_tree *tree = grove_library_load(library, path, NULL, 0, error);
    grove_session *session = tree ? grove_session_new(tree, &options, error) : NULL;
    double start = bench_process_seconds();

    if (!session || grove_session_run(session)) {
        char *text = grove_error_text(error);
        fprintf(stderr, "%s", text);
        free(text);
        exit(1);
    }
    *processor = bench_process_seconds() - start;
    const grove_counters *c = grove_session_counters(session);
    char *profile = grove_session_profile(session);
    double model = seconds_of(profile, "U") + seconds_of(profile, "V"),
           data = seconds_of(profile, "A") + seconds_of(profile, "B"),
           derivatives = seconds_of(profile, "multiply") - model - data + c->drive_seconds;
    *framework = (c->seconds - c->kernel_seconds - c->drive_seconds - c->wait_seconds) / c->seconds;
    *slot = f->slots ? derivatives / f->slots / model : 0;
    free(profile);
    grove_session_free(session);
    grove_tree_free(tree);
    grove_error_free(error);
}

static void measure(grove_library *library, const char *folder, const whole_fit *f, int threads,
                    int rounds)
{
    static measured m;
    char path[512];

    for (int round = 0; round < rounds; round++) {
        double unused[2];
        write_tree(folder, f, 0, path);
        run(library, path, f, threads, &m.other[round], &unused[0], &unused[1]);
        write_tree(folder, f, 1, path);
        run(library, path, f, threads, &m.processor[round], &m.framework[round], &m.slot[round]);
    }
    double all = bench_median(m.processor, rounds), other = bench_median(m.other, rounds);
    printf("| %s | %.3f | %.3f | %.1f %% |", f->name, all, all - other,
           100 * bench_median(m.framework, rounds));
    if (f->slots)
        printf(" %.2f |\n", bench_median(m.slot, rounds));
    else
        printf(" |\n");
    fflush(stdout);
}

void bench_fit_runs(const char *text, int threads, int rounds)
{
    grove_library *library = grove_library_new(NULL);
    char folder[256];

    bench_make_folder(folder);
    bench_write_sky(folder, SOURCES);
    bench_write_array(folder, STATIONS);
    printf("\n| whole fit | processor, s | without making the data, s | framework | "
           "a derivative / the prediction |\n| --- | --: | --: | --: | --: |\n");
    for (int k = 0; k < FITS; k++)
        if (strstr(fits[k].name, text))
            measure(library, folder, &fits[k], threads, rounds);
    grove_library_free(library);
    bench_remove_folder(folder);
}
