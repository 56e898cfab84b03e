/* grove bench and grove tune: run programs of their own. */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef GROVE_BENCH_FOLDER
#define GROVE_BENCH_FOLDER "/usr/local/libexec/grove/bench"
#endif

static const struct {
    const char *name, *summary;
} benchmarks[] = {
    {"fit", "gains fitted in memory, compared with this processor's bandwidth"},
    {"gpu-kernels", "kernels on a GPU, compared with its limits"},
    {"gpu-runs", "runs on a GPU, compared with its kernels and copies"},
    {"gridder", "visibilities to an image and back, in memory"},
    {"predict", "sums over sources, compared with this processor's limits"},
    {"tuning", "kernels of TuneBench, from bound by memory to bound by arithmetic, tuned"},
    {"roofline", "kernels, compared with the multiply-adds, sines, cache and memory of a core"},
};
enum { BENCHMARKS = sizeof(benchmarks) / sizeof(benchmarks[0]) };

static void list(void)
{
    grove_command_help(&grove_command_bench);
    for (int k = 0; k < BENCHMARKS; k++)
        printf("  %-11s %s\n", benchmarks[k].name, benchmarks[k].summary);
    puts("\ngrove bench NAME --help lists the options of each.");
}

/* In a build tree the programs are in bench/ next to the command, which libtool may put into
 * .libs/; otherwise where they were installed. */
static void find_program(const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);

    own[length < 0 ? 0 : length] = 0;
    for (int level = 0; level < 2 && *own; level++) {
        char *slash = strrchr(own, '/');
        if (!slash)
            break;
        *slash = 0;
        if (level && strcmp(slash + 1, ".libs") != 0)
            break;
        int written = snprintf(path, PATH_MAX, "%s/bench/%s", own, name);
        if (written < PATH_MAX && !access(path, X_OK))
            return;
    }
    snprintf(path, PATH_MAX, "%s/%s", GROVE_BENCH_FOLDER, name);
}

/* Runs it with these words. */
static int run_program(const char *name, const char *const *words, int count)
{
    char path[PATH_MAX], *arguments[sizeof(((grove_command_line *)0)->words) / sizeof(*words) + 2];

    find_program(name, path);
    arguments[0] = path;
    for (int k = 0; k < count; k++)
        arguments[k + 1] = (char *)words[k];
    arguments[count + 1] = NULL;
    execv(path, arguments);
    return grove_complain(GROVE_FAILED,
                          "%s: cannot run this: %s; `make bench` builds the benchmarks, `make "
                          "install-bench` installs them",
                          path, strerror(errno));
}

static int bench(grove_command_line *line)
{
    const char *names[BENCHMARKS], *name = line->word_count ? line->words[0] : "--help";

    if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
        list();
        return GROVE_DONE;
    }
    if (name[0] == '-')
        return grove_complain(GROVE_USAGE,
                              "grove bench has no option %s; grove bench --help lists them", name);
    for (int k = 0; k < BENCHMARKS; k++) {
        names[k] = benchmarks[k].name;
        if (!strcmp(name, names[k]))
            return run_program(name, line->words + 1, line->word_count - 1);
    }
    const char *near = grove_nearest(name, names, BENCHMARKS);
    return grove_complain(GROVE_USAGE, "no benchmark '%s'%s%s%s", name,
                          near ? "; did you mean '" : "; grove bench lists them", near ? near : "",
                          near ? "'?" : "");
}

const grove_command grove_command_bench = {
    "bench", "[NAME [OPTIONS]]", "measures how fast Grove is on this machine", "*", bench};

int grove_tune_costs(const grove_command_line *line)
{
    return run_program("costs", line->words, line->word_count);
}
