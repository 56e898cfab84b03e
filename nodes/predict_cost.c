#include "nodes/predict_cost.h"

#include "../kernels/simd/isa.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Raise it when the speed of the kernels changes. */
enum { VERSION = 2, NUMBERS = sizeof(grove_predict_costs) / sizeof(double) };
enum { MAX_BYTES = 1 << 22 };
#define MOST 1000000000000

/* The cache folder; NULL: there is none. Caller frees. */
static char *cache_folder(void)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && cache[0] == '/')
        return grove_path_join(cache, "grove");
    return home && home[0] == '/' ? grove_path_join(home, ".cache/grove") : NULL;
}

/* The first words of the line for this processor and instruction set. Caller frees. */
static char *line_key(int isa, int jones)
{
    char *info = grove_file_read("/proc/cpuinfo", MAX_BYTES, true, NULL, NULL);
    char *model = info ? strstr(info, "model name") : NULL, *end;
    char *key;

    model = model ? strchr(model, ':') : NULL;
    if (model && (end = strchr(model, '\n')))
        *end = 0;
    key = grove_format("%d | %s | %s%s |", (int)VERSION,
                       model ? model + 1 + strspn(model + 1, " ") : "",
                       grove_isa_name((grove_isa)isa), jones ? ", Jones terms" : "");
    free(info);
    return key;
}

/* All numbers of an entry are on one line. */
static bool take_numbers(const char *at, grove_predict_costs *costs)
{
    double numbers[NUMBERS];

    for (int k = 0; k < NUMBERS; k++) {
        char *end;
        at += strspn(at, " ");
        if (*at < '0' || *at > '9')
            return false;
        long long number = strtoll(at, &end, 10);
        if (number > MOST)
            return false;
        numbers[k] = 1e-6 * (double)number;
        at = end;
    }
    memcpy(costs, numbers, sizeof(*costs));
    return true;
}

bool predict_costs_parse(const char *text, const char *key, grove_predict_costs *costs)
{
    size_t length = strlen(key);

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!strncmp(line, key, length))
            return take_numbers(line + length, costs);
    }
    return false;
}

/* Adds a line to the file's content. */
static bool write_line(const char *path, const char *text, const char *key,
                       const double numbers[NUMBERS])
{
    grove_file *file = grove_file_create(path, NULL);

    if (!file)
        return false;
    FILE *stream = grove_file_stream(file);
    fputs(
        text ? text
             : "# How long predict takes on this machine (1e-6 ns for a source); may be removed.\n",
        stream);
    if (text && *text && text[strlen(text) - 1] != '\n')
        fputs("\n", stream);
    fputs(key, stream);
    for (int k = 0; k < NUMBERS; k++)
        fprintf(stream, " %lld", (long long)(1e6 * numbers[k] < MOST ? 1e6 * numbers[k] : MOST));
    fputs("\n", stream);
    return !grove_file_commit(file, NULL);
}

grove_predict_costs predict_costs(int isa, int jones)
{
    grove_predict_costs costs = grove_predict_usual_costs(isa, 4, jones), measured;
    char *folder = cache_folder(), *path = folder ? grove_path_join(folder, "predict") : NULL;
    char *key = line_key(isa, jones), *text = NULL;
    double numbers[NUMBERS];

    if (path && grove_path_exists(path))
        text = grove_file_read(path, MAX_BYTES, true, NULL, NULL);
    bool known = text && predict_costs_parse(text, key, &costs);
    if (!known && path && !grove_folder_make(folder, NULL) &&
        grove_predict_measure(isa, 4, jones, &measured)) {
        memcpy(numbers, &measured, sizeof(measured));
        if (write_line(path, text, key, numbers))
            costs = measured;
    }
    free(text);
    free(key);
    free(path);
    free(folder);
    return costs;
}
