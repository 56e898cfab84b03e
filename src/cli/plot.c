/* grove plot: draws pictures of data. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && !strcmp(text + length - tail, end);
}

static bool is_picture(const char *path)
{
    return ends_with(path, ".png") || ends_with(path, ".svg");
}

/* Whether a path such as x.jpg names a file rather than a folder. */
static bool has_ending(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strchr(slash ? slash + 1 : path, '.') != NULL;
}

/* The name of the data without folders and without endings such as .ms, .MS, .array. */
static int base_name(const char *data, const char **start)
{
    size_t length = strlen(data), at = length;

    while (length > 1 && data[length - 1] == '/')
        length--;
    for (at = length; at > 0 && data[at - 1] != '/'; at--)
        ;
    *start = data + at;
    for (size_t end = length; end > at + 1; end--)
        if (data[end - 1] == '.')
            return (int)(end - 1 - at);
    return (int)(length - at);
}

/* The path of a picture: the file given, or a file named after the data in the folder given. */
static char *picture_path(const grove_command_line *line, const char *picture)
{
    const char *data = line->words[0], *name, *folder = line->output ? line->output : "";
    int length = base_name(data, &name);
    char *path = malloc(strlen(folder) + strlen(data) + strlen(picture) + 16);

    if (line->output && is_picture(line->output))
        strcpy(path, line->output);
    else
        sprintf(path, "%s%s%.*s-%s.png", folder,
                *folder && folder[strlen(folder) - 1] != '/' ? "/" : "", length, name, picture);
    return path;
}

static int draw(grove_library *library, const grove_command_line *line, const char *name)
{
    static const double arcsec = 3.14159265358979323846 / 180 / 3600;
    grove_error *error = grove_error_new();
    grove_picture picture =
        GROVE_PICTURE(.what = name, .column = line->column, .field = line->field,
                      .baselines = line->baselines, .correlations = line->correlations,
                      .spectral_window = line->window, .polarization = line->polarization + 1,
                      .pixels = line->size, .cell = line->cell * arcsec,
                      .logarithmic = line->logarithmic, .dataset = line->dataset,
                      .stations = line->stations, .reference = line->reference,
                      .direction = line->direction, .overwrite = line->session.overwrite,
                      .threads = line->session.threads);
    char *path = picture_path(line, name);
    int code = grove_library_plot(library, line->words[0], &picture, path, error)
                   ? grove_complain_errors(GROVE_FAILED, error)
                   : GROVE_DONE;

    if (!code && grove_error_warnings(error) && !line->quiet)
        grove_complain_errors(0, error);
    if (!code && !line->quiet)
        printf("%s\n", path);
    free(path);
    grove_error_free(error);
    return code;
}

/* The words of --what, split; NULL after a message. */
static const char **split(char *list, int *count)
{
    size_t known;
    const char *const *names = grove_picture_names(&known);
    const char **words = malloc((strlen(list) + 1) * sizeof(char *));
    char *next = list;

    for (*count = 0; next;) {
        char *word = next;
        size_t k = 0;
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        while (k < known && strcmp(names[k], word) != 0)
            k++;
        if (k < known) {
            words[(*count)++] = names[k];
            continue;
        }
        const char *near = grove_nearest(word, names, known);
        grove_complain(GROVE_USAGE, "--what %s: there is no such picture%s%s%s", word,
                       near ? "; did you mean " : "; grove plot --help lists them",
                       near ? near : "", near ? "?" : "");
        free(words);
        return NULL;
    }
    return words;
}

/* The pictures of --what, or all that suit the data; NULL after a message. */
static char *pictures(grove_library *library, const grove_command_line *line)
{
    grove_error *error = grove_error_new();
    char *list = line->what ? strdup(line->what)
                            : grove_library_pictures(library, line->words[0], line->dataset, error);

    if (!list)
        grove_complain_errors(GROVE_FAILED, error);
    grove_error_free(error);
    return list;
}

static int draw_all(const grove_command_line *line)
{
    grove_library *library = grove_library_new(line->plugin_folders);
    int count, code = GROVE_DONE;
    bool made = false;
    char *list = pictures(library, line);
    const char **words = list ? split(list, &count) : NULL;

    if (!words) {
        grove_library_free(library);
        code = list ? GROVE_USAGE : GROVE_FAILED;
        free(list);
        return code;
    }
    if (line->output && is_picture(line->output)) {
        if (count > 1 && line->what)
            code = grove_complain(
                GROVE_USAGE, "-o %s: is one file, but --what asks for %d pictures; give a folder",
                line->output, count);
        count = 1;
    } else if (line->output && !is_folder(line->output) && has_ending(line->output)) {
        code = grove_complain(GROVE_USAGE,
                              "-o %s: must be a file that ends in .png or .svg, or a folder",
                              line->output);
    } else if (line->output && !is_folder(line->output) &&
               !(made = mkdir(line->output, 0777) == 0)) {
        code = grove_complain(GROVE_FAILED, "%s: cannot make this folder: %s", line->output,
                              strerror(errno));
    }
    for (int k = 0; k < count && !code; k++)
        code = draw(library, line, words[k]);
    if (made && code)
        rmdir(line->output); /* unless a picture is in it */
    grove_library_free(library);
    free(words);
    free(list);
    return code;
}

static int plot(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_plot);
        return GROVE_DONE;
    }
    if (!grove_command_word(&grove_command_plot, line,
                            "Measurement Set, solution tables, a FITS image or an array"))
        return GROVE_USAGE;
    return draw_all(line);
}

const grove_command grove_command_plot = {
    "plot", "DATA [-o FILE|DIR] [--what LIST]",
    "draws pictures of a Measurement Set, solution tables, a FITS image or an array",
    "plugins output what column field spectral-window polarization "
    "baselines correlations dataset stations reference direction size cell log threads overwrite "
    "quiet no-wait",
    plot};
