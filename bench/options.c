#include "options.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void help(const bench_option *options, const char *usage)
{
    printf("usage: %s\n\n", usage);
    for (; options->name; options++) {
        char left[64];
        snprintf(left, sizeof(left), "--%s %s", options->name, options->argument);
        printf("  %-28s %s\n", left, options->help);
    }
    exit(0);
}

static _Noreturn void refuse(const char *word, const char *wants)
{
    fprintf(stderr, "grove bench: %s: %s\n", word, wants);
    exit(2);
}

static void store(const bench_option *option, const char *text)
{
    char *end, wants[64];

    switch (option->kind) {
    case BENCH_TEXT:
        *(const char **)option->to = text;
        return;
    case BENCH_SECONDS:
        *(double *)option->to = strtod(text, &end);
        if (end == text || *end || !(*(double *)option->to > 0 && *(double *)option->to < 1e6))
            refuse(text, "must be a number of seconds above 0");
        return;
    case BENCH_NUMBER:
        *(double *)option->to = strtod(text, &end);
        if (end == text || *end || !(*(double *)option->to > 0 && *(double *)option->to < 1e15))
            refuse(text, "must be a number above 0");
        return;
    case BENCH_COUNT: {
        long number = strtol(text, &end, 10), max = option->max ? option->max : 1000000;
        snprintf(wants, sizeof(wants), "must be a whole number from 1 to %ld", max);
        if (end == text || *end || number < 1 || number > max)
            refuse(text, wants);
        *(int *)option->to = (int)number;
        return;
    }
    case BENCH_FLAG:
        snprintf(wants, sizeof(wants), "--%s takes no value", option->name);
        refuse(text, wants);
    }
}

void bench_read(const bench_option *options, const char *usage, int count, char **words)
{
    for (int k = 0; k < count; k++) {
        const bench_option *option = options;
        size_t length = strcspn(words[k], "=");
        if (!strcmp(words[k], "--help") || !strcmp(words[k], "-h"))
            help(options, usage);
        while (option->name &&
               (strncmp(words[k], "--", 2) != 0 || strlen(option->name) != length - 2 ||
                strncmp(option->name, words[k] + 2, length - 2) != 0))
            option++;
        if (!option->name)
            refuse(words[k], "no such option; --help lists them");
        if (option->kind == BENCH_FLAG && !words[k][length])
            *(bool *)option->to = true;
        else if (words[k][length])
            store(option, words[k] + length + 1);
        else if (k + 1 < count)
            store(option, words[++k]);
        else {
            char wants[64];
            snprintf(wants, sizeof(wants), "requires %s", option->argument);
            refuse(words[k], wants);
        }
    }
}
