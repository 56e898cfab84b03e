/* Options of all subcommands: one table; each command accepts a part of it. */
#include "cli/command.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NUMBER: from 0, COUNT: from 1, to INT_MAX; REAL: above 0. */
typedef enum { FLAG, TEXT, NUMBER, COUNT, REAL, SESSION_FLAG, SESSION, SETTING, FOLDER } kind;

typedef struct {
    const char *name, *letter, *argument, *help;
    kind kind;
    size_t at;        /* as written on the command line */
    const char *only; /* the command in which the name means this; NULL: in all others */
} option;

#define LINE(field) offsetof(grove_command_line, field)
#define SESS(field) offsetof(grove_command_line, session.field)

static const option options[] = {
    {"set", "-s", "NAME=VALUE", "sets the tree's option NAME", SETTING, 0},
    {"plugins", "-p", "DIR", "looks for node classes in DIR first", FOLDER, 0},
    {"precision", NULL, "WORD", "single (the default) or double", SESSION, 0},
    {"memory", NULL, "SIZE",
     "bytes for values, such as 512MiB or 4GiB (default: a part of the free memory)", SESSION, 0},
    {"threads", NULL, "N", "how many threads (default: all)", SESSION, 0},
    {"device", NULL, "NAME",
     "auto (the default: a GPU if there is one), cpu, cuda, cuda:1, ..., cuda:all, opencl, ...",
     SESSION, 0},
    {"device-memory", NULL, "SIZE", "bytes on each GPU (default: nine tenths of the free memory)",
     SESSION, 0},
    {"tile-times", NULL, "N", "times in a tile (default: chosen; results are the same)", SESSION,
     0},
    {"tile-channels", NULL, "N", "channels in a tile", SESSION, 0},
    {"tile-baselines", NULL, "N", "baselines in a tile", SESSION, 0},
    {"profile", NULL, NULL, "prints calls, time, hits, misses and bytes per node and class",
     SESSION_FLAG, SESS(profile)},
    {"energy", NULL, NULL,
     "prints the energy of the run, in all and by class, and visibilities per joule", SESSION_FLAG,
     SESS(energy)},
    {"trace", NULL, "FILE",
     "prints a line per node and tile, and writes FILE, a trace for the viewers of browsers", TEXT,
     LINE(trace)},
    {"overwrite", NULL, NULL,
     "replaces existing files: the files that options name, not the files of a tree", SESSION_FLAG,
     SESS(overwrite)},
    {"stop-on-error", NULL, NULL, "shows the inputs of the node that fails", SESSION_FLAG,
     SESS(stop_on_error)},
    {"resume", NULL, NULL,
     "continues fits that write a solution table from the point where an interrupted run stopped",
     SESSION_FLAG, SESS(resume)},
    {"value", NULL, "EXPRESSION",
     "prints the value of an expression with the tree's names, and runs no actions", TEXT,
     LINE(value)},
    {"kernel", NULL, "NAME", "tunes this kernel only, however little time it takes", TEXT,
     LINE(kernel)},
    {"strategy", NULL, "WORD",
     "order of configurations: local (the default), exhaustive, random, counted", TEXT,
     LINE(strategy)},
    {"objective", NULL, "WORD", "what is to be least: time (the default) or energy", TEXT,
     LINE(objective)},
    {"budget", NULL, "SECONDS", "how long to try configurations (default 60)", REAL, LINE(budget)},
    {"patience", NULL, "SECONDS",
     "a configuration that takes longer, and 100 times longer than the default one, has failed "
     "(default 30)",
     REAL, LINE(patience)},
    {"report", NULL, NULL,
     "prints statistics of records of tuning, those named or all; with -o FILE.svg a picture, too",
     FLAG, LINE(report)},
    {"quiet", "-q", NULL, "no progress, no summary", FLAG, LINE(quiet)},
    {"no-wait", NULL, NULL, "fails at once when another run has a Measurement Set open", FLAG,
     LINE(no_wait)},
    {"flags", NULL, "NAME",
     "restores the flags that SET.flagversions has under this name; last: the flags before the "
     "last run that changed any",
     TEXT, LINE(flags)},
    {"derivatives", NULL, NULL,
     "prints the derivatives of the inputs of actions with respect to the tree's parms", FLAG,
     LINE(derivatives)},
    {"svg", NULL, "FILE", "draws the tree into FILE as SVG", TEXT, LINE(svg)},
    {"png", NULL, "FILE", "draws the tree into FILE as PNG", TEXT, LINE(png)},
    {"dot", NULL, "FILE", "writes the tree in Graphviz's language", TEXT, LINE(dot)},
    {"check", NULL, NULL, "checks that every class loads and has all its texts and defaults", FLAG,
     LINE(check)},
    {"markdown", NULL, NULL, "prints the reference of all classes as Markdown", FLAG,
     LINE(markdown)},
    {"devices", NULL, NULL, "lists the devices that runs can use", FLAG, LINE(devices)},
    {"output", "-o", "FILE",
     "the picture, .png or .svg (tune: .svg); or a folder for all of them (default: here)", TEXT,
     LINE(output)},
    {"what", NULL, "LIST",
     "for a set: uv, image, layout, amplitude-time, -freq or -uvdist, phase-...; for solutions: "
     "amplitude, phase, clock, tec, rotation or value with -time, -freq, -station or -waterfall, "
     "chi2-time, convergence; several with commas (default: chosen by the data)",
     TEXT, LINE(what)},
    {"column", NULL, "NAME",
     "column of visibilities (default DATA); two with a comma: side by side", TEXT, LINE(column)},
    {"field", NULL, "N", "which field (default 0)", NUMBER, LINE(field)},
    {"spectral-window", NULL, "N", "which spectral window (default 0)", NUMBER, LINE(window)},
    {"polarization", NULL, "N",
     "which polarization, where rows of one window have several (default: the only one)", NUMBER,
     LINE(polarization)},
    {"baselines", NULL, "LIST",
     "pairs of stations, or stations for all their baselines, as names or numbers: m000-m001,m002 "
     "(default: all)",
     TEXT, LINE(baselines)},
    {"correlations", NULL, "LIST",
     "for amplitudes and phases: such as XX,XY, or all (default: XX,YY or RR,LL)", TEXT,
     LINE(correlations)},
    {"dataset", NULL, "NAME", "which solution table, such as phase001 (default: the first)", TEXT,
     LINE(dataset)},
    {"stations", NULL, "LIST", "for solutions: names or numbers, with commas (default: all)", TEXT,
     LINE(stations)},
    {"reference", NULL, "STATION",
     "the station that phases, clocks, TECs and rotations are relative to", TEXT, LINE(reference)},
    {"direction", NULL, "NAME", "for solutions: which direction (default: the first)", TEXT,
     LINE(direction)},
    {"size", NULL, "N", "for image: pixels along each side (default 256)", COUNT, LINE(size)},
    {"cell", NULL, "ARCSEC", "for image: size of a pixel (default: a third of the resolution)",
     REAL, LINE(cell)},
    {"log", NULL, NULL, "logarithmic colours of images, and logarithmic amplitudes", FLAG,
     LINE(logarithmic)},
    {"eval", NULL, NULL, "a class that gets whole arrays", FLAG, LINE(eval)},
    {"device-call", NULL, NULL, "a class that launches kernels and transforms, on GPUs too", FLAG,
     LINE(device_call)},
    {"leaf", NULL, NULL, "a class that makes data: its own axes and members", FLAG, LINE(leaf)},
    {"action", NULL, NULL, "a class that acts, such as writing a file", FLAG, LINE(action)},
    {"accumulator", NULL, NULL, "a class that combines a whole observation into one value", FLAG,
     LINE(accumulator)},
    {"device", NULL, NULL, "a class of cells with a kernel of its own for NVIDIA GPUs", FLAG,
     LINE(device_kernel), "new-node"},
    {"tree", NULL, "FILE",
     "a tree file: the one that uses the class to be tested (default: the class's example), or the "
     "one whose names the arguments of call may use",
     TEXT, LINE(tree)},
    {"folder", NULL, "DIR", "folder for the files (default: a new one with the name of the class)",
     TEXT, LINE(folder)},
};
enum { OPTIONS = sizeof(options) / sizeof(options[0]) };

static bool takes(const grove_command *command, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = command->options; *at;) {
        size_t word = strcspn(at, " ");
        if (word == length && !strncmp(at, name, length))
            return true;
        at += word + strspn(at + word, " ");
    }
    return false;
}

/* Whether an option is one of the command's: of two with the same name only one is. */
static bool is_of(const option *o, const grove_command *command)
{
    if (!takes(command, o->name))
        return false;
    for (int i = 0; i < OPTIONS; i++)
        if (options[i].only && !strcmp(options[i].only, command->name) &&
            !strcmp(options[i].name, o->name))
            return o == &options[i];
    return !o->only;
}

void grove_command_help(const grove_command *command)
{
    printf("usage: grove %s %s\n\n%s\n\n", command->name, command->arguments, command->summary);
    for (int i = 0; i < OPTIONS; i++) {
        char left[64];
        if (!is_of(&options[i], command))
            continue;
        snprintf(left, sizeof(left), "%s%s--%s%s%s", options[i].letter ? options[i].letter : "",
                 options[i].letter ? ", " : "", options[i].name, options[i].argument ? " " : "",
                 options[i].argument ? options[i].argument : "");
        printf("  %-28s %s\n", left, options[i].help);
    }
}

static const option *find(const grove_command *command, const char *word, size_t length)
{
    for (int i = 0; i < OPTIONS; i++) {
        bool letter = options[i].letter && strlen(options[i].letter) == length &&
                      !strncmp(options[i].letter, word, length);
        bool name = length > 2 && !strncmp(word, "--", 2) &&
                    strlen(options[i].name) == length - 2 &&
                    !strncmp(options[i].name, word + 2, length - 2);
        if ((letter || name) && is_of(&options[i], command))
            return &options[i];
    }
    return NULL;
}

static int add_setting(grove_command_line *line, const char *text)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text)
        return grove_complain(GROVE_USAGE, "-s %s: must be NAME=VALUE", text);
    if (line->setting_count == sizeof(line->settings) / sizeof(line->settings[0]))
        return grove_complain(GROVE_USAGE, "too many settings");
    char *name = strndup(text, (size_t)(equals - text));
    line->settings[line->setting_count++] = (grove_setting){name, equals + 1};
    return 0;
}

static int store(grove_command_line *line, const option *given, const char *text)
{
    char *base = (char *)line, *end;
    const int least = given->kind == COUNT;
    struct stat info;
    long long number;
    double real;
    int code = 0;

    switch (given->kind) {
    case FLAG:
    case SESSION_FLAG:
        *(bool *)(void *)(base + given->at) = true;
        return 0;
    case TEXT:
        *(const char **)(void *)(base + given->at) = text;
        return 0;
    case NUMBER:
    case COUNT:
        errno = 0;
        number = strtoll(text, &end, 10);
        if (errno || end == text || *end || number < least || number > INT_MAX)
            return grove_complain(GROVE_USAGE, "--%s %s: must be a whole number from %d to %d",
                                  given->name, text, least, INT_MAX);
        *(int *)(void *)(base + given->at) = (int)number;
        return 0;
    case REAL:
        real = strtod(text, &end);
        if (end == text || *end || !(real > 0) || isinf(real))
            return grove_complain(GROVE_USAGE, "--%s %s: must be a number above 0", given->name,
                                  text);
        *(double *)(void *)(base + given->at) = real;
        return 0;
    case SETTING:
        return add_setting(line, text);
    case FOLDER:
        if (line->plugin_count == 32)
            return grove_complain(GROVE_USAGE, "too many folders of plugins");
        if (stat(text, &info) || !S_ISDIR(info.st_mode))
            return grove_complain(GROVE_USAGE, "-p %s: there is no such folder", text);
        line->plugin_folders[line->plugin_count++] = text;
        return 0;
    case SESSION: {
        grove_error *error = grove_error_new();
        if (grove_session_option(&line->session, given->name, text, error))
            code = grove_complain_errors(GROVE_USAGE, error);
        grove_error_free(error);
        return code;
    }
    }
    return 0;
}

static int unknown(const grove_command *command, const char *word, size_t length)
{
    const char *names[OPTIONS];
    char name[64];
    size_t count = 0;

    for (int i = 0; i < OPTIONS; i++)
        if (is_of(&options[i], command))
            names[count++] = options[i].name;
    snprintf(name, sizeof(name), "%.*s", (int)length, word + strspn(word, "-"));
    name[length > strspn(word, "-") ? length - strspn(word, "-") : 0] = 0;
    const char *near = grove_nearest(name, names, count);
    return grove_complain(GROVE_USAGE, "grove %s has no option %.*s%s%s%s", command->name,
                          (int)length, word, near ? "; did you mean --" : "; grove ",
                          near ? near : command->name, near ? "?" : " --help lists them");
}

int grove_command_parse(const grove_command *command, int count, char **arguments,
                        grove_command_line *line)
{
    bool rest = false;

    memset(line, 0, sizeof(*line));
    line->session = GROVE_SESSION_OPTIONS();
    line->polarization = -1;
    for (int i = 0; i < count; i++) {
        const char *word = arguments[i], *value = NULL;
        size_t length = strcspn(word, "=");
        if (rest || word[0] != '-' || !word[1] || command->options[0] == '*') {
            if (line->word_count == 64)
                return grove_complain(GROVE_USAGE, "too many arguments");
            line->words[line->word_count++] = word;
            continue;
        }
        if (!strcmp(word, "--")) {
            rest = true;
            continue;
        }
        if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
            line->help = true;
            continue;
        }
        if (length > 63)
            length = 63;
        const option *found = find(command, word, length);
        if (!found)
            return unknown(command, word, length);
        if (found->argument)
            value = word[length] == '=' ? word + length + 1 : ++i < count ? arguments[i] : NULL;
        if (found->argument && !value)
            return grove_complain(GROVE_USAGE, "%s requires %s", word, found->argument);
        int code = store(line, found, value);
        if (code)
            return code;
    }
    return 0;
}

void grove_command_release(grove_command_line *line)
{
    for (size_t i = 0; i < line->setting_count; i++)
        free((char *)line->settings[i].name);
}

const char *grove_command_word(const grove_command *command, const grove_command_line *line,
                               const char *expected)
{
    for (int i = 0; i < (int)line->word_count && takes(command, "set"); i++)
        if (strchr(line->words[i], '=') && access(line->words[i], F_OK)) {
            grove_complain(GROVE_USAGE, "%s: there is no such file; a setting is -s %s",
                           line->words[i], line->words[i]);
            return NULL;
        }
    if (line->word_count == 1)
        return line->words[0];
    if (line->word_count)
        grove_complain(GROVE_USAGE, "grove %s takes one %s; '%s' is one too many", command->name,
                       expected, line->words[1]);
    else
        grove_complain(GROVE_USAGE, "grove %s requires a %s; see grove %s --help", command->name,
                       expected, command->name);
    return NULL;
}
