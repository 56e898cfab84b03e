/* grove new-node: writes a complete plugin to build outside Grove's own tree. */
#include "cli/command.h"

#include "cli/new_node_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A kind of plugin: files of examples/, in which the new class's name replaces the example's. */
typedef struct {
    const char *option;   /* "": the default kind */
    const char *class_;   /* the name to replace in the kind's own files */
    const char *paths[9]; /* below examples/, NULL-terminated */
} kind;

/* The name to replace in the files that all kinds share. */
#define SHARED "beam_cos3"

static const kind kinds[] = {
    {"",
     SHARED,
     {"plugin/beam_cos3.c", "plugin/beam_cos3.h", "plugin/Makefile", "plugin/test.sh",
      "new-node/README.md"}},
    {"--device",
     SHARED,
     {"plugin/beam_cos3.c", "plugin/beam_cos3.h", "plugin/beam_cos3.cu", "plugin/Makefile",
      "plugin/cuda.mk", "plugin/test.sh", "new-node/README.md"}},
    {"--eval",
     "root_sum_square",
     {"new-node/eval/root_sum_square.c", "plugin/Makefile", "new-node/eval/test.sh",
      "new-node/eval/test.tree", "new-node/eval/two.skymodel", "new-node/README.md"}},
    {"--device-call",
     "delay_spectrum",
     {"new-node/device/delay_spectrum.c", "new-node/device/delay_spectrum.h", "plugin/Makefile",
      "new-node/device/test.sh", "new-node/device/test.tree", "new-node/README.md"}},
    {"--leaf",
     "bandpass_table",
     {"new-node/leaf/bandpass_table.c", "plugin/Makefile", "new-node/leaf/test.sh",
      "new-node/leaf/test.tree", "new-node/leaf/table.txt", "new-node/README.md"}},
    {"--action",
     "text_writer",
     {"new-node/action/text_writer.c", "plugin/Makefile", "new-node/action/test.sh",
      "new-node/action/test.tree", "new-node/README.md"}},
    {"--accumulator",
     "value_histogram",
     {"new-node/accumulator/value_histogram.c", "plugin/Makefile", "new-node/accumulator/test.sh",
      "new-node/accumulator/test.tree", "new-node/accumulator/two.skymodel", "new-node/README.md"}},
};

/* `text` with every `from` replaced by `to`. The caller frees. */
static char *replace(const char *text, const char *from, const char *to)
{
    size_t length = strlen(from), size = 1;
    const char *at, *next;

    for (at = text; (next = strstr(at, from)); at = next + length)
        size += (size_t)(next - at) + strlen(to);
    char *result = malloc(size + strlen(at)), *end = result;
    for (at = text; (next = strstr(at, from)); at = next + length) {
        memcpy(end, at, (size_t)(next - at));
        end += next - at;
        memcpy(end, to, strlen(to));
        end += strlen(to);
    }
    strcpy(end, at);
    return result;
}

static char *upper(const char *name)
{
    char *result = strdup(name);

    for (char *at = result; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    return result;
}

/* A text of the kind with the class's name replaced, also in capitals. The caller frees. */
static char *rename_in(const char *text, const kind *chosen_kind, const char *name)
{
    char *capitals = upper(name), *from = upper(chosen_kind->class_);
    char *own = replace(text, chosen_kind->class_, name);
    char *shared = replace(own, SHARED, name);
    char *result = replace(shared, from, capitals);

    free(capitals);
    free(from);
    free(own);
    free(shared);
    return result;
}

/* The last part of a path below examples/, with the class's name replaced. The caller frees. */
static char *file_of(const char *path, const kind *chosen_kind, const char *name)
{
    return rename_in(strrchr(path, '/') + 1, chosen_kind, name);
}

static char *join(const char *folder, char *file)
{
    char *path = malloc(strlen(folder) + strlen(file) + 2);

    sprintf(path, "%s/%s", folder, file);
    free(file);
    return path;
}

static const char *const *lines_of(const char *path)
{
    for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++)
        if (!strcmp(texts[k].path, path))
            return texts[k].lines;
    return NULL;
}

/* Never overwrites a file. */
static int write_file(const char *path, const char *const *lines, const kind *chosen_kind,
                      const char *name)
{
    size_t length = strlen(path);
    int mode = length > 3 && !strcmp(path + length - 3, ".sh") ? 0777 : 0666;
    int handle = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    FILE *file = handle >= 0 ? fdopen(handle, "w") : NULL;
    bool bad = !file;

    for (; file && *lines; lines++) {
        char *line = rename_in(*lines, chosen_kind, name);
        bad = fputs(line, file) < 0 || bad;
        free(line);
    }
    if (file)
        bad = fclose(file) || bad;
    return bad ? grove_complain(GROVE_FAILED, "%s: cannot write: %s", path, strerror(errno))
               : GROVE_DONE;
}

static int write_files(const char *folder, const char *name, const kind *chosen_kind)
{
    int code = GROVE_DONE;

    for (const char *const *at = chosen_kind->paths; *at && !code; at++) {
        char *path = join(folder, file_of(*at, chosen_kind, name));
        if (access(path, F_OK) == 0)
            code = grove_complain(GROVE_FAILED, "%s: exists already; nothing was written", path);
        free(path);
    }
    if (!code && mkdir(folder, 0777) && errno != EEXIST)
        code = grove_complain(GROVE_FAILED, "%s: cannot make this folder: %s", folder,
                              strerror(errno));
    for (const char *const *at = chosen_kind->paths; *at && !code; at++) {
        char *path = join(folder, file_of(*at, chosen_kind, name));
        code = write_file(path, lines_of(*at), chosen_kind, name);
        free(path);
    }
    return code;
}

static int check_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    if (name[0] < 'a' || name[0] > 'z' || strspn(name, letters) != strlen(name) ||
        strlen(name) > 60)
        return grove_complain(
            GROVE_USAGE,
            "%s: a class's name begins with a lower-case letter and has lower-case "
            "letters, digits and _",
            name);
    return 0;
}

/* A class of the same name that already exists would hide the new one, or be hidden by it. */
static void warn_about_others(const grove_command_line *line, const char *name)
{
    grove_library *library = grove_library_new(line->plugin_folders);
    size_t count;
    const char *const *names = grove_library_classes(library, &count);

    for (size_t k = 0; k < count; k++)
        if (!strcmp(names[k], name))
            grove_complain(0,
                           "warning: there is a class '%s' already; yours replaces it where -p or "
                           "GROVE_PLUGIN_PATH names its folder",
                           name);
    grove_library_free(library);
}

/* The kind named on the command line, or NULL after a message. */
static const kind *kind_of(const grove_command_line *line)
{
    const bool given[] = {false,      line->device_kernel, line->eval,       line->device_call,
                          line->leaf, line->action,        line->accumulator};
    int chosen = 0;

    for (int k = 1; k < (int)(sizeof(kinds) / sizeof(kinds[0])); k++) {
        if (given[k] && chosen) {
            grove_complain(GROVE_USAGE, "%s and %s: give only one of them", kinds[chosen].option,
                           kinds[k].option);
            return NULL;
        }
        chosen = given[k] ? k : chosen;
    }
    return &kinds[chosen];
}

static int new_node(grove_command_line *line)
{
    if (line->help) {
        grove_command_help(&grove_command_new_node);
        return GROVE_DONE;
    }
    const char *name = grove_command_word(&grove_command_new_node, line, "name for a class");
    if (!name || check_name(name))
        return GROVE_USAGE;
    const kind *chosen_kind = kind_of(line);
    if (!chosen_kind)
        return GROVE_USAGE;
    const char *folder = line->folder ? line->folder : name;
    int code = write_files(folder, name, chosen_kind);
    if (code)
        return code;
    warn_about_others(line, name);
    printf("%s/\n", folder);
    for (const char *const *at = chosen_kind->paths; *at; at++) {
        char *file = file_of(*at, chosen_kind, name);
        printf("    %s\n", file);
        free(file);
    }
    printf("next: cd %s && make && make check\n", folder);
    return GROVE_DONE;
}

const grove_command grove_command_new_node = {
    "new-node",
    "NAME [--eval | --device-call | --leaf | --action | --accumulator | --device] [--folder DIR]",
    "writes a complete plugin with a node class to build on",
    "eval device-call leaf action accumulator device folder plugins", new_node};
