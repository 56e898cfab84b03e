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

/* Checks all classes, or the named ones. */
static int check(grove_library *library, const grove_command_line *line, grove_error *error)
{
    size_t count, faults = 0;
    const char *const *names = grove_library_classes(library, &count);

    if (line->word_count) {
        names = line->words;
        count = (size_t)line->word_count;
    }
    for (size_t i = 0; i < count; i++)
        faults += grove_library_check(library, names[i], error) != 0;
    if (grove_error_count(error))
        grove_complain_errors(0, error);
    printf("%zu class%s checked, %zu at fault\n", count, count == 1 ? "" : "es", faults);
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

const grove_command grove_command_nodes = {"nodes", "[CLASS ...] | --check [CLASS ...]",
                                           "lists the node classes, or prints the page of one",
                                           "plugins check markdown", nodes};
