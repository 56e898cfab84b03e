/* grove nodes: the node classes, a page of one, the whole reference, and whether all is well with
 * them. */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const groups[] = {"data",        "actions",     "sky",
                                     "coordinates", "Jones terms", "arithmetic",
                                     "functions",   "matrices",    "reductions"};
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

/* Is there a line for this class in the table of value tests: "class program"? */
static bool has_value_test(const char *table, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = table; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, name, length) && at[length] == ' ')
            return true;
    return false;
}

static char *read_table(const char *path)
{
    FILE *file = path ? fopen(path, "r") : NULL;
    char *text = calloc(1, 65536);

    if (file) {
        size_t got = fread(text, 1, 65535, file);
        text[got] = 0;
        fclose(file);
    }
    return text;
}

static int check(grove_library *library, const char *tests, grove_error *error)
{
    size_t count;
    const char *const *names = grove_library_classes(library, &count);
    char *table = read_table(tests);
    int faults = 0;

    for (size_t i = 0; i < count; i++) {
        faults += grove_library_check(library, names[i], error) != 0;
        if (tests && !has_value_test(table, names[i])) {
            fprintf(stderr, "%s: has no value test in %s\n", names[i], tests);
            faults++;
        }
    }
    free(table);
    printf("%zu classes, %d fault%s\n", count, faults, faults == 1 ? "" : "s");
    if (grove_error_count(error))
        grove_complain_errors(0, error);
    return faults || !count ? GROVE_FAILED : GROVE_DONE;
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
    if (line->check)
        code = check(library, line->word_count ? line->words[0] : NULL, error);
    else if (line->word_count)
        code = page(library, line, error);
    else
        code = list(library, line->markdown, error);
    grove_error_free(error);
    grove_library_free(library);
    return code;
}

const grove_command grove_command_nodes = {"nodes", "[CLASS ...] | --check [TABLE]",
                                           "lists the node classes, or prints the page of one",
                                           "plugins check markdown", nodes};
