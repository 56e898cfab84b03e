/* grove new-node: a complete plugin outside Grove's own tree, to build on. */
#include "cli/command.h"

#include "cli/new_node_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *text; /* of the file: @NAME@ in both is replaced */
    int mode;
} files[] = {
    {"@NAME@.c", source_text, 0666},
    {"@NAME@.h", kernel_text, 0666},
    {"Makefile", makefile_text, 0666},
    {"test.sh", test_text, 0777},
    {"README.md", readme_text, 0666},
    /* with --cuda only */
    {"@NAME@.cu", cuda_text, 0666},
    {"cuda.mk", cuda_makefile_text, 0666},
    {"test-cuda.sh", cuda_test_text, 0777},
};
enum { FILES = sizeof(files) / sizeof(files[0]), PLAIN_FILES = FILES - 3 };

/* The caller frees. */
static char *replace(const char *text, const char *name)
{
    static const char mark[] = "@NAME@";
    size_t length = strlen(name), size = 1;
    const char *at, *next;

    for (at = text; (next = strstr(at, mark)); at = next + sizeof(mark) - 1)
        size += (size_t)(next - at) + length;
    char *result = malloc(size + strlen(at)), *to = result;
    for (at = text; (next = strstr(at, mark)); at = next + sizeof(mark) - 1) {
        memcpy(to, at, (size_t)(next - at));
        to += next - at;
        memcpy(to, name, length);
        to += length;
    }
    strcpy(to, at);
    return result;
}

static char *path_of(const char *folder, const char *file, const char *name)
{
    char *last = replace(file, name);
    char *path = malloc(strlen(folder) + strlen(last) + 2);

    sprintf(path, "%s/%s", folder, last);
    free(last);
    return path;
}

/* Never into a file that exists. */
static int write_file(const char *path, const char *text, int mode)
{
    int handle = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
    FILE *file = handle >= 0 ? fdopen(handle, "w") : NULL;
    bool bad = !file;

    if (file) {
        bad = fputs(text, file) < 0;
        bad = fclose(file) || bad;
    }
    return bad ? grove_complain(GROVE_FAILED, "%s: cannot write: %s", path, strerror(errno))
               : GROVE_DONE;
}

static int write_files(const char *folder, const char *name, bool cuda)
{
    int count = cuda ? FILES : PLAIN_FILES;
    int code = GROVE_DONE;

    for (int k = 0; k < count && !code; k++) {
        char *path = path_of(folder, files[k].name, name);
        if (access(path, F_OK) == 0)
            code = grove_complain(GROVE_FAILED, "%s: exists; nothing was written", path);
        free(path);
    }
    if (!code && mkdir(folder, 0777) && errno != EEXIST)
        code = grove_complain(GROVE_FAILED, "%s: cannot make this folder: %s", folder,
                              strerror(errno));
    for (int k = 0; k < count && !code; k++) {
        char *path = path_of(folder, files[k].name, name);
        char *text = replace(files[k].text, name);
        code = write_file(path, text, files[k].mode);
        free(path);
        free(text);
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

/* A class of that name which is found already would hide the new one, or be hidden. */
static void warn_about_others(const grove_command_line *line, const char *name)
{
    grove_library *library = grove_library_new(line->plugin_folders);
    size_t count;
    const char *const *names = grove_library_classes(library, &count);

    for (size_t k = 0; k < count; k++)
        if (!strcmp(names[k], name))
            grove_complain(0,
                           "warning: there is a class '%s' already; yours takes its place where "
                           "-p or GROVE_PLUGIN_PATH names its folder",
                           name);
    grove_library_free(library);
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
    const char *folder = line->folder ? line->folder : name;
    int code = write_files(folder, name, line->cuda);
    if (code)
        return code;
    warn_about_others(line, name);
    printf("%s/\n", folder);
    for (int k = 0; k < (line->cuda ? FILES : PLAIN_FILES); k++) {
        char *last = replace(files[k].name, name);
        printf("    %s\n", last);
        free(last);
    }
    printf("next: cd %s && make && make check\n", folder);
    return GROVE_DONE;
}

const grove_command grove_command_new_node = {
    "new-node", "NAME [--cuda] [--folder DIR]",
    "writes a complete plugin with a node class to build on", "cuda folder plugins", new_node};
