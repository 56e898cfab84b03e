/* grove nodes: lists node classes, prints reference pages, checks descriptors. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const groups[] = {"data",      "actions",     "fitting",     "sky",
                                     "images",    "coordinates", "Jones terms", "arithmetic",
                                     "functions", "matrices",    "reductions"};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static int rank(const char *group)
{
    int k = 0;

    while (k < GROUPS && strcmp(groups[k], group) != 0)
        k++;
    return k;
}

static void print_line(const char *name, const char *doc)
{
    printf("  %-16s %.*s\n", name, (int)strcspn(doc, "\n"), doc);
}

static int list(grove_library *library, bool markdown, grove_error *error)
{
    size_t count;
    const char *const *names = grove_library_classes(library, &count);

    if (markdown)
        puts("# Node classes\n\nMade by `grove nodes --markdown`.\n");
    for (int k = 0; k <= GROUPS; k++) {
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            const char *group, *doc = grove_library_summary(library, names[i], &group, NULL, error);
            if (!doc || rank(group) != k)
                continue;
            if (!any)
                printf(markdown ? "## %s\n\n" : "%s\n", k < GROUPS ? groups[k] : "other");
            any = true;
            char *page = markdown ? grove_library_describe(library, names[i], true, error) : NULL;
            if (page)
                fputs(page, stdout);
            else
                print_line(names[i], doc);
            free(page);
        }
        if (any && !markdown)
            puts("");
    }
    return grove_error_count(error) ? grove_complain_errors(GROVE_FAILED, error) : GROVE_DONE;
}

/* ---- checks ---- */

/* Whether the table of value tests, lines "CLASS PROGRAM", has one for this class. */
static bool has_value_test(const char *table, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = table; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, name, length) && at[length] == ' ' &&
            at[length + 1 + strspn(at + length + 1, " ")] > ' ')
            return true;
    return false;
}

/* Reads the table. The caller frees; NULL after a message. */
static char *read_table(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t length = 0, got = 1;

    while (file && got && length < (1 << 24)) {
        text = realloc(text, length + 65537);
        got = fread(text + length, 1, 65536, file);
        length += got;
        text[length] = 0;
    }
    if (!file || ferror(file)) {
        grove_complain(GROVE_FAILED, "%s: cannot read: %s", path, strerror(errno));
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static bool is_class(const char *const *names, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], word))
            return true;
    return false;
}

/* Checks all classes, or those named; an argument that is no class is the table's path. */
static int check(grove_library *library, const grove_command_line *line, grove_error *error)
{
    size_t count;
    const char *const *names = grove_library_classes(library, &count);
    const char *path = NULL;
    char *table = NULL;
    int faults = 0, checked = 0;

    if (line->word_count && !is_class(names, count, line->words[line->word_count - 1]))
        path = line->words[line->word_count - 1];
    int words = line->word_count - (path != NULL);
    if (path && !(table = read_table(path)))
        return GROVE_FAILED;
    for (size_t i = 0; i < count; i++) {
        if (words && !is_class(line->words, (size_t)words, names[i]))
            continue;
        checked++;
        bool bad = grove_library_check(library, names[i], error) != 0;
        if (table && !has_value_test(table, names[i])) {
            grove_complain(0, "class %s: has no value test in %s", names[i], path);
            bad = true;
        }
        faults += bad;
    }
    free(table);
    if (grove_error_count(error))
        grove_complain_errors(0, error);
    printf("%d class%s checked, %d at fault\n", checked, checked == 1 ? "" : "es", faults);
    return faults || !checked ? GROVE_FAILED : GROVE_DONE;
}

static int page(grove_library *library, const grove_command_line *line, grove_error *error)
{
    for (int i = 0; i < line->word_count; i++) {
        char *text = grove_library_describe(library, line->words[i], line->markdown, error);
        if (!text)
            return grove_complain_errors(GROVE_USAGE, error);
        fputs(text, stdout);
        free(text);
    }
    return GROVE_DONE;
}

static int nodes(grove_command_line *line)
{
    int code;

    if (line->help) {
        grove_command_help(&grove_command_nodes);
        return GROVE_DONE;
    }
    grove_library *library = grove_library_new(line->plugin_folders);
    grove_error *error = grove_error_new();
    if (grove_library_ready(library, error))
        code = grove_complain_errors(GROVE_FAILED, error);
    else if (line->check)
        code = check(library, line, error);
    else if (line->word_count)
        code = page(library, line, error);
    else
        code = list(library, line->markdown, error);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_nodes = {"nodes", "[CLASS ...] | --check [CLASS ...] [TABLE]",
                                           "lists the node classes, or prints the page of one",
                                           "plugins check markdown", nodes};
