#include "tune/statistics.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const tune_point *)a)->key, ((const tune_point *)b)->key);
}

static int by_kernel(const void *a, const void *b)
{
    const tune_item *x = a, *y = b;
    int order = strcmp(x->kernel, y->kernel);

    if (!order)
        order = strcmp(x->record->machine, y->record->machine);
    if (!order)
        order = strcmp(x->record->code, y->record->code);
    if (!order)
        order = (x->cells > y->cells) - (x->cells < y->cells);
    if (!order)
        order = strcmp(x->sizes, y->sizes);
    return order ? order : strcmp(x->record->path, y->record->path);
}

static void add(tune_statistics *s, tune_record *record)
{
    const char *hash = strrchr(record->code, ' '), *at = record->sizes;
    double number;

    grove_grow((void **)&s->items, &s->capacity, s->count, sizeof(tune_item));
    tune_item *to = &s->items[s->count++];
    if (record->count)
        qsort(record->points, record->count, sizeof(tune_point), by_key);
    *to =
        (tune_item){.record = record,
                    .best = tune_record_best(record, false),
                    .kernel = hash ? grove_format("%.*s", (int)(hash - record->code), record->code)
                                   : grove_strdup(record->kernel),
                    .sizes = grove_strdup(record->sizes),
                    .cells = 1};
    for (; at && (at = grove_parse_number(at, &number)); at = *at == ',' ? at + 1 : NULL)
        to->cells = fmax(0, to->cells * number); /* never NAN, by which nothing can be sorted */
    for (char *c = to->sizes; *c; c++)
        *c = *c == ',' ? 'x' : *c;
}

static int read_file(tune_statistics *s, const char *path, grove_error *error)
{
    for (size_t k = 0; k < s->count; k++)
        if (grove_path_is_same(s->items[k].record->path, path))
            return 0; /* named twice */
    tune_record *record = tune_record_read(path, error);
    if (record)
        add(s, record);
    return record ? 0 : GROVE_INVALID;
}

static int read_folder(tune_statistics *s, const char *folder, grove_error *error)
{
    char **names = grove_folder_read(folder, error);
    int code = names ? 0 : GROVE_IO;

    for (char **name = names; !code && *name; name++) {
        char *path = grove_path_join(folder, *name);
        if (grove_path_is_folder(path) && !grove_path_is_link(path))
            code = read_folder(s, path, error);
        else if (grove_ends_with(path, ".json"))
            code = read_file(s, path, error);
        free(path);
    }
    if (names)
        grove_folder_free(names);
    return code;
}

/* `folder`: it is one, which may be missing. */
static int read_path(tune_statistics *s, const char *path, bool folder, grove_error *error)
{
    const size_t before = s->count;
    int code = 0;

    if (!folder && !grove_path_is_folder(path))
        return read_file(s, path, error);
    if (grove_path_exists(path))
        code = read_folder(s, path, error);
    if (!code && s->count == before)
        code = grove_fail(error, GROVE_MISSING,
                          "there are no records in %s; grove tune TREE makes them", path);
    return code;
}

static void sort(tune_statistics *s)
{
    int devices = 0;

    qsort(s->items, s->count, sizeof(tune_item), by_kernel);
    s->ran = grove_alloc(s->count * sizeof(tune_item));
    for (size_t k = 0, j; k < s->count; k++) {
        if (!s->items[k].best)
            continue;
        tune_item *to = &s->ran[s->ran_count];
        *to = s->items[k];
        for (j = 0; strcmp(s->ran[j].record->machine, to->record->machine) != 0;)
            j++;
        to->device = j < s->ran_count ? s->ran[j].device : devices++;
        s->ran_count++;
    }
}

tune_statistics *tune_statistics_read(const char *const *paths, size_t count, grove_error *error)
{
    tune_statistics *s = grove_alloc(sizeof(*s));
    char *users = count ? NULL : tune_record_folder(error);
    int code = 0;

    if (!count)
        code = users ? read_path(s, users, true, error) : GROVE_MISSING;
    for (size_t k = 0; k < count && !code; k++)
        code = read_path(s, paths[k], false, error);
    free(users);
    if (!code) {
        sort(s);
        return s;
    }
    tune_statistics_free(s);
    return NULL;
}

void tune_statistics_free(tune_statistics *s)
{
    for (size_t k = 0; s && k < s->count; k++) {
        tune_record_free(s->items[k].record);
        free(s->items[k].kernel);
        free(s->items[k].sizes);
    }
    if (s) {
        free(s->items);
        free(s->ran);
    }
    free(s);
}

/* ---- distributions ---- */

/* Between numbers a straight line. */
static double quantile(const double *sorted, int count, double share)
{
    const double at = share * (count - 1);
    const int k = (int)at;

    return k + 1 < count ? sorted[k] + (at - k) * (sorted[k + 1] - sorted[k]) : sorted[count - 1];
}

tune_distribution tune_distribution_of(const tune_record *record)
{
    const tune_point *best = tune_record_best(record, false);
    double *value = grove_alloc((record->count + 1) * sizeof(*value)), mean = 0, square = 0;
    tune_distribution d = {.bound = 1};

    for (size_t k = 0; k < record->count; k++)
        if (record->points[k].failure)
            d.failed++;
        else
            value[d.ran++] = best->time / record->points[k].time;
    qsort(value, (size_t)d.ran, sizeof(*value), grove_compare_numbers);
    for (int k = 0; k < d.ran; k++)
        mean += value[k] / d.ran;
    for (int k = 0; k < d.ran; k++)
        square += (value[k] - mean) * (value[k] - mean) / d.ran;
    if (d.ran) {
        d.least = value[0];
        d.lower = quantile(value, d.ran, 0.25);
        d.median = quantile(value, d.ran, 0.5);
        d.upper = quantile(value, d.ran, 0.75);
        d.distance = d.least < 1 && square > 0 ? (1 - mean) / sqrt(square) : 0;
        d.bound = d.distance > 1 ? 1 / (d.distance * d.distance) : 1;
    }
    free(value);
    return d;
}

/* Adds a cell of a table. */
static void add_cell(grove_text *to, const char *text)
{
    char *shown = grove_shown(text, "");

    grove_text_add(to, "| ");
    for (const char *c = shown; *c; c++)
        grove_text_add(to, "%s%c", *c == '|' ? "\\" : "", *c);
    grove_text_add(to, " ");
    free(shown);
}

static void add_names(grove_text *to, const tune_item *of)
{
    add_cell(to, of->kernel);
    add_cell(to, of->record->machine);
    add_cell(to, of->sizes);
}

static void add_distributions(grove_text *to, const tune_statistics *s)
{
    grove_text_add(to, "## Distributions\n\nThe performance, 1 / time, is relative to the best "
                       "configuration's.\n\n| kernel | device | sizes | ran | failed | best, ms | "
                       "minimum | lower quartile | median | upper quartile | (best - mean) / sigma "
                       "| Chebyshev's bound |\n"
                       "|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
    for (size_t k = 0; k < s->count; k++) {
        const tune_item *of = &s->items[k];
        const tune_distribution d = tune_distribution_of(of->record);
        add_names(to, of);
        grove_text_add(to, "| %d | %d |", d.ran, d.failed);
        if (d.ran)
            grove_text_add(to, " %.4g | %.3f | %.3f | %.3f | %.3f |", of->best->time, d.least,
                           d.lower, d.median, d.upper);
        else
            grove_text_add(to, " - | - | - | - | - |");
        if (d.distance > 0)
            grove_text_add(to, " %.2f | %.3f |\n", d.distance, d.bound);
        else
            grove_text_add(to, " - | %s |\n", d.ran ? "1" : "-");
    }
}

/* ---- the best fixed configuration ---- */

static const tune_point *find(const tune_item *in, const char *key)
{
    const tune_point like = {.key = (char *)key};

    return bsearch(&like, in->record->points, in->record->count, sizeof(like), by_key);
}

/* The logarithm of the geometric mean of time / optimum; INFINITY: it did not run everywhere. */
static double loss(const tune_item *group, size_t count, const char *key)
{
    double sum = 0;

    for (size_t k = 0; k < count; k++) {
        const tune_point *point = find(&group[k], key);
        sum += point && !point->failure ? log(point->time / group[k].best->time) : INFINITY;
    }
    return sum / (double)count;
}

/* NULL: none ran with all sizes. */
static const char *best_fixed(const tune_item *group, size_t count)
{
    const char *key = NULL;
    double least = INFINITY;

    for (size_t k = 0; k < group->record->count; k++) {
        const double its = loss(group, count, group->record->points[k].key);
        if (its < least) {
            least = its;
            key = group->record->points[k].key;
        }
    }
    return key;
}

/* Value number k of a configuration; NULL where the key has another number of values, as texts may
 * have commas. */
static const char *value_at(const tune_record *record, const char *key, int number, size_t *length)
{
    const char *found = NULL;
    int count = 0;

    for (const char *at = key; at; count++) {
        const size_t size = strcspn(at, ",");
        if (count == number) {
            found = at;
            *length = size;
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    return count == record->tunables ? found : NULL;
}

/* "BLOCK=64 CELLS=1", else the key. */
static void add_configuration(grove_text *to, const tune_record *record, const char *key)
{
    grove_text text = {0};
    const char *value = key;
    size_t length = 0;

    for (int k = 0; k < record->tunables && value; k++) {
        value = value_at(record, key, k, &length);
        if (value)
            grove_text_add(&text, "%s%s=%.*s", k ? " " : "", record->name[k], (int)length, value);
    }
    add_cell(to, text.at ? text.at : key);
    free(text.at);
}

static void add_fixed(grove_text *to, const tune_item *group, size_t count)
{
    const char *key = best_fixed(group, count);

    for (size_t k = 0; k < count; k++) {
        const tune_point *best = group[k].best, *fixed = key ? find(&group[k], key) : NULL;
        add_names(to, &group[k]);
        add_configuration(to, group[k].record, best->key);
        grove_text_add(to, "| %.4g ", best->time);
        if (!fixed) {
            grove_text_add(to, "| - | - | - |\n");
            continue;
        }
        add_configuration(to, group[k].record, key);
        grove_text_add(to, "| %.4g | ", fixed->time);
        if (fixed->time - best->time <= 3 * hypot(best->error, fixed->error))
            grove_text_add(to, "none |\n");
        else
            grove_text_add(to, "%.3f |\n", fixed->time / best->time);
    }
}

/* How many items, from this one on, have its kernel, device and code. */
static size_t group_at(const tune_item *first, const tune_item *end)
{
    const tune_item *at = first;

    while (at < end && !strcmp(at->kernel, first->kernel) && at->device == first->device &&
           !strcmp(at->record->code, first->record->code))
        at++;
    return (size_t)(at - first);
}

static void add_all_fixed(grove_text *to, const tune_statistics *s)
{
    const tune_item *end = s->ran + s->ran_count;
    grove_text rows = {0};

    for (const tune_item *at = s->ran; at < end;) {
        const size_t count = group_at(at, end);
        if (strcmp(at->sizes, at[count - 1].sizes) != 0)
            add_fixed(&rows, at, count);
        at += count;
    }
    grove_text_add(to, "\n## Tuned against the best fixed configuration\n\n");
    if (rows.at)
        grove_text_add(to,
                       "The ratio is the fixed one's time to the optimum's; none: they differ by "
                       "less than three standard errors.\n\n| kernel | device | sizes | optimum | "
                       "its time, ms | fixed | its time, ms | ratio |\n"
                       "|---|---|---|---|--:|---|--:|--:|\n%s",
                       rows.at);
    else
        grove_text_add(to, "No kernel has records of two sizes on one device.\n");
    free(rows.at);
}

/* ---- portability ---- */

/* The number that a tunable's optimum is; false: a text, or there is no choice. */
static bool number_of(const tune_item *of, const char *name, double *number)
{
    const tune_record *record = of->record;

    for (int k = 0; k < record->tunables; k++) {
        size_t length = 0;
        if (strcmp(record->name[k], name) != 0 || !strchr(record->values[k], ','))
            continue;
        const char *value = value_at(record, of->best->key, k, &length),
                   *end = value ? grove_parse_number(value, number) : NULL;
        return end && end == value + length;
    }
    return false;
}

static void add_variation(grove_text *to, const tune_item *group, size_t count, const char *name,
                          const char *device)
{
    double *number = grove_alloc(count * sizeof(*number)), mean = 0, square = 0;
    size_t n = 0;

    for (size_t k = 0; k < count; k++)
        n += number_of(&group[k], name, &number[n]);
    for (size_t k = 0; k < n; k++)
        mean += number[k] / (double)n;
    for (size_t k = 0; k < n; k++)
        square += (number[k] - mean) * (number[k] - mean);
    if (n > 1) {
        add_cell(to, group->kernel);
        add_cell(to, name);
        add_cell(to, device);
        grove_text_add(to, "| %zu ", n);
        if (square > 0 && mean == 0)
            grove_text_add(to, "| - |\n");
        else
            grove_text_add(to, "| %.3f |\n",
                           square > 0 ? sqrt(square / (double)(n - 1)) / fabs(mean) : 0);
    }
    free(number);
}

/* Of all records of a kernel: over each device's, and over all. */
static void add_variations(grove_text *to, const tune_item *group, size_t count, const char *name)
{
    size_t k = 0, same = 0;

    for (; k < count; k += same) {
        for (same = 1; k + same < count && group[k + same].device == group[k].device;)
            same++;
        add_variation(to, group + k, same, name, group[k].record->machine);
    }
    if (same < count)
        add_variation(to, group, count, name, "all");
}

/* Whether one of these records has it. */
static bool has_tunable(const tune_item *group, size_t count, const char *name)
{
    for (size_t k = 0; k < count; k++)
        for (int i = 0; i < group[k].record->tunables; i++)
            if (!strcmp(group[k].record->name[i], name))
                return true;
    return false;
}

static void add_portability(grove_text *to, const tune_statistics *s)
{
    const tune_item *end = s->ran + s->ran_count;
    grove_text rows = {0};

    for (const tune_item *group = s->ran, *next; group < end; group = next) {
        for (next = group; next < end && !strcmp(next->kernel, group->kernel);)
            next++;
        for (const tune_item *at = group; at < next; at++)
            for (int i = 0; i < at->record->tunables; i++)
                if (!has_tunable(group, (size_t)(at - group), at->record->name[i]))
                    add_variations(&rows, group, (size_t)(next - group), at->record->name[i]);
    }
    grove_text_add(to, "\n## Portability\n\n");
    if (rows.at)
        grove_text_add(to,
                       "The coefficient of variation of each tunable's optimum.\n\n| kernel | "
                       "tunable | device | records | sigma / mean |\n|---|---|---|--:|--:|\n%s",
                       rows.at);
    else
        grove_text_add(to, "No kernel has two records with tunables that are numbers.\n");
    free(rows.at);
}

char *tune_statistics_text(const tune_statistics *s)
{
    grove_text text = {0};

    add_distributions(&text, s);
    add_all_fixed(&text, s);
    add_portability(&text, s);
    return text.at;
}
