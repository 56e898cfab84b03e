#include "tune/record.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "grove.h"
#include "unstable/tuning.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { MAX_BYTES = 1 << 28 };

char *tune_record_folder(grove_error *error)
{
    char *cache = grove_cache_folder(), *folder = cache ? grove_path_join(cache, "tuned") : NULL;

    if (!folder)
        grove_fail(error, GROVE_IO,
                   "there is no folder for records: neither XDG_CACHE_HOME nor HOME names one");
    free(cache);
    return folder;
}

/* ---- reading ---- */

/* The length of the text without closing brackets and the last comma; with `cut`, up to the last
 * line that ends as a configuration does, "},". 0: configurations have not begun. */
static size_t open_length(const char *text, bool cut)
{
    const char *cache = strstr(text, "\"cache\"");
    const char *first = cache ? strchr(cache, '{') : NULL;
    size_t end = strlen(text);

    if (!first)
        return 0;
    const size_t least = (size_t)(first - text) + 1;
    while (end && strchr(" \n\r\t", text[end - 1]))
        end--;
    if (end >= least + 2 && !strncmp(text + end - 3, "}\n}", 3))
        end -= 3;
    else if (end >= least + 2 && !strncmp(text + end - 3, "}}}", 3))
        end -= 2;
    else if (end > least && text[end - 1] == ',')
        end--;
    while (cut && end > least && strncmp(text + end - 1, "},\n", 3) != 0)
        end--;
    return end;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* "16,300" of [16, 300], of 16, or of a text. Caller frees. */
static char *list_of(const json_t *value)
{
    grove_text text = {0};
    size_t k;
    const json_t *item;

    if (json_is_array(value)) {
        json_array_foreach(value, k, item)
        {
            char *one = json_dumps(item, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));
            const size_t length = one ? strlen(one) : 0, quoted = length >= 2 && *one == '"';
            grove_text_add(&text, "%s%.*s", k ? "," : "", (int)(length - 2 * quoted),
                           one ? one + quoted : "");
            free(one);
        }
    } else if (json_is_string(value)) {
        grove_text_add(&text, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        grove_text_add(&text, "%lld", (long long)json_integer_value(value));
    }
    return text.at ? text.at : grove_format("%s", "");
}

static tune_point *new_point(tune_record *record)
{
    grove_grow((void **)&record->points, &record->capacity, record->count, sizeof(tune_point));
    tune_point *point = &record->points[record->count++];
    *point = (tune_point){.time = INFINITY};
    return point;
}

/* At most TUNE_RUNS of them, in order; how many. */
static int sort_numbers(double sorted[TUNE_RUNS], const double *numbers, int count)
{
    const int n = count < TUNE_RUNS ? count : TUNE_RUNS;

    if (n <= 0)
        return 0;
    memcpy(sorted, numbers, (size_t)n * sizeof(*sorted));
    qsort(sorted, (size_t)n, sizeof(*sorted), grove_compare_numbers);
    return n;
}

double tune_median(const double *numbers, int count)
{
    double sorted[TUNE_RUNS];
    const int n = sort_numbers(sorted, numbers, count);

    if (n <= 0)
        return INFINITY;
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

double tune_median_error(const double *numbers, int count)
{
    const double of_a_median = 1.2533, of_quartiles = 1.349; /* of a normal distribution */
    double sorted[TUNE_RUNS];
    const int n = sort_numbers(sorted, numbers, count);

    return n > 1 ? of_a_median / of_quartiles * (sorted[3 * n / 4] - sorted[n / 4]) / sqrt(n) : 0;
}

double tune_standard_error(const double *numbers, int count)
{
    double mean = 0, square = 0;

    for (int k = 0; k < count; k++)
        mean += numbers[k] / count;
    for (int k = 0; k < count; k++)
        square += (numbers[k] - mean) * (numbers[k] - mean);
    return count > 1 ? sqrt(square / (count - 1) / count) : 0;
}

static void read_point(tune_record *record, const char *key, const json_t *object)
{
    tune_point *point = new_point(record);
    const json_t *times = json_object_get(object, "times"),
                 *error = json_object_get(object, "__error__");
    const double time = json_number_value(json_object_get(object, "time"));

    point->key = grove_format("%s", key);
    point->compile = json_number_value(json_object_get(object, "compile_time"));
    point->verify = json_number_value(json_object_get(object, "verification_time"));
    point->measure = json_number_value(json_object_get(object, "benchmark_time"));
    point->energy = json_number_value(json_object_get(object, "energy"));
    if (error || !(time > 0)) {
        const char *reason = text_of(object, "reason"), *kind = text_of(object, "time");
        point->failure = grove_format("%s", *reason ? reason : *kind ? kind : "failed");
        return;
    }
    point->time = time;
    point->runs = (int)json_array_size(times);
    point->times = grove_alloc(((size_t)point->runs + 1) * sizeof(double));
    for (int k = 0; k < point->runs; k++)
        point->times[k] = json_number_value(json_array_get(times, (size_t)k));
    point->error = tune_standard_error(point->times, point->runs);
}

static void read_root(tune_record *record, const json_t *root)
{
    const json_t *keys = json_object_get(root, "tune_params_keys"),
                 *values = json_object_get(root, "tune_params"), *name;
    json_t *points = json_object_get(root, "cache"), *point;
    const char *key;
    size_t k;

    record->machine = grove_format("%s", text_of(root, "device_name"));
    record->kernel = grove_format("%s", text_of(root, "kernel_name"));
    record->code = grove_format("%s", text_of(json_object_get(root, "grove"), "code"));
    record->sizes = list_of(json_object_get(root, "problem_size"));
    json_array_foreach(keys, k, name)
    {
        if (record->tunables == TUNE_KEYS)
            break;
        const char *text = json_string_value(name);
        record->values[record->tunables] = list_of(json_object_get(values, text ? text : ""));
        record->name[record->tunables++] = grove_format("%s", text ? text : "");
    }
    json_object_foreach(points, key, point) read_point(record, key, point);
}

static json_t *parse_to(const char *text, size_t length, json_error_t *fault)
{
    char *closed = grove_format("%.*s}\n}", (int)length, text);
    json_t *root = json_loads(closed, JSON_REJECT_DUPLICATES, fault);

    free(closed);
    if (root && json_is_object(json_object_get(root, "cache")))
        return root;
    json_decref(root);
    return NULL;
}

/* `whole` gets the length up to the last configuration; NULL is fine. */
static int parse(tune_record *record, const char *text, size_t *whole, grove_error *error)
{
    json_error_t fault = {.text = "there is no cache of configurations"};
    json_t *root = NULL;

    for (int cut = 0; cut < 2 && !root; cut++) { /* the last line may not be whole */
        const size_t length = open_length(text, cut);
        root = length ? parse_to(text, length, &fault) : NULL;
        if (whole)
            *whole = length;
    }
    if (!root)
        return grove_fail(error, GROVE_INVALID,
                          "%s: this is not a record of tuning (a cache file of kernel_tuner): %s",
                          record->path, fault.text);
    read_root(record, root);
    json_decref(root);
    return 0;
}

static tune_record *new_record(const char *path)
{
    tune_record *record = grove_alloc(sizeof(*record));

    record->path = grove_format("%s", path);
    return record;
}

tune_record *tune_record_read(const char *path, grove_error *error)
{
    char *text = grove_file_read(path, MAX_BYTES, true, NULL, error);
    tune_record *record = text ? new_record(path) : NULL;

    if (record && parse(record, text, NULL, error)) {
        tune_record_free(record);
        record = NULL;
    }
    free(text);
    return record;
}

/* ---- writing ---- */

/* JSON numbers of "128,64", or texts. */
static json_t *json_list(const char *list)
{
    json_t *array = json_array();

    for (const char *at = list; *at; at += *at == ',') {
        const size_t length = strcspn(at, ",");
        char *end;
        const long long number = strtoll(at, &end, 10);
        json_array_append_new(array, end == at + length && length ? json_integer(number)
                                                                  : json_stringn(at, length));
        at += length;
    }
    return array;
}

/* All up to the first configuration. */
static void write_head(FILE *stream, const tune_record *head, const char *code)
{
    json_t *keys = json_array(), *values = json_object();

    for (int k = 0; k < head->tunables; k++) {
        json_array_append_new(keys, json_string(head->name[k]));
        json_object_set_new(values, head->name[k], json_list(head->values[k]));
    }
    json_t *root =
        json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:{s:s, s:s}}", "device_name", head->machine,
                  "kernel_name", head->kernel, "problem_size", json_list(head->sizes),
                  "tune_params_keys", keys, "tune_params", values, "objective", "time", "grove",
                  "version", GROVE_VERSION, "code", code);
    char *text = json_dumps(root, 0);
    fprintf(stream, "%.*s,\n\"cache\": {", (int)strlen(text) - 1, text);
    free(text);
    json_decref(root);
}

/* A member of each tunable, as kernel_tuner has them. */
static void set_values(json_t *object, const tune_record *record, const char *key)
{
    json_t *values = json_list(key);

    for (int k = 0; k < record->tunables; k++)
        json_object_set(object, record->name[k], json_array_get(values, (size_t)k));
    json_decref(values);
}

static void write_point(tune_record *record, const tune_point *point)
{
    json_t *object = json_object(), *times = json_array();

    set_values(object, record, point->key);
    if (point->failure) {
        json_object_set_new(object, "time", json_string("RuntimeFailedConfig"));
        json_object_set_new(object, "__error__", json_string("RuntimeFailedConfig"));
        json_object_set_new(object, "reason", json_string(point->failure));
    } else {
        json_object_set_new(object, "time", json_real(point->time));
    }
    for (int k = 0; k < point->runs; k++)
        json_array_append_new(times, json_real(point->times[k]));
    json_object_set_new(object, "times", times);
    if (point->energy > 0)
        json_object_set_new(object, "energy", json_real(point->energy));
    json_object_set_new(object, "compile_time", json_real(point->compile));
    json_object_set_new(object, "verification_time", json_real(point->verify));
    json_object_set_new(object, "benchmark_time", json_real(point->measure));
    char *text = json_dumps(object, JSON_REAL_PRECISION(9));
    fprintf(record->stream, "\n\"%s\": %s,", point->key, text);
    free(text);
    json_decref(object);
}

int tune_record_add(tune_record *record, const tune_point *point, grove_error *error)
{
    tune_point *kept = new_point(record);

    *kept = *point;
    kept->key = grove_format("%s", point->key);
    kept->failure = point->failure ? grove_format("%s", point->failure) : NULL;
    kept->times = grove_alloc(((size_t)point->runs + 1) * sizeof(double));
    for (int k = 0; k < point->runs; k++)
        kept->times[k] = point->times[k];
    write_point(record, kept);
    return fflush(record->stream)
               ? grove_fail(error, GROVE_IO, "%s: %s", record->path, strerror(errno))
               : 0;
}

static bool is_same(const tune_record *a, const tune_record *b)
{
    bool same = !strcmp(a->machine, b->machine) && !strcmp(a->kernel, b->kernel) &&
                !strcmp(a->sizes, b->sizes) && a->tunables == b->tunables;

    for (int k = 0; same && k < a->tunables; k++)
        same = !strcmp(a->name[k], b->name[k]);
    return same;
}

/* Cuts a record at its last whole configuration, so that more can follow. */
static int reopen(tune_record *record, const tune_record *head, const char *text,
                  grove_error *error)
{
    size_t whole = 0;
    int code = parse(record, text, &whole, error);

    if (!code && !is_same(record, head))
        code = grove_fail(error, GROVE_INVALID,
                          "%s: this is a record of another kernel, device or size; remove it",
                          record->path);
    if (!code &&
        (ftruncate(fileno(record->stream), (off_t)whole) || fseek(record->stream, 0, SEEK_END)))
        code = grove_fail(error, GROVE_IO, "%s: %s", record->path, strerror(errno));
    if (!code && record->count)
        fputc(',', record->stream);
    fflush(record->stream);
    return code;
}

static void begin(tune_record *record, const tune_record *head, const char *code)
{
    record->machine = grove_format("%s", head->machine);
    record->kernel = grove_format("%s", head->kernel);
    record->sizes = grove_format("%s", head->sizes);
    record->tunables = head->tunables;
    for (int k = 0; k < head->tunables; k++) {
        record->name[k] = grove_format("%s", head->name[k]);
        record->values[k] = grove_format("%s", head->values[k]);
    }
    write_head(record->stream, record, code);
    fflush(record->stream);
}

tune_record *tune_record_open(const tune_record *head, const char *code, grove_error *error)
{
    tune_record *record = new_record(head->path);
    char *text = NULL;
    int fault = 0;

    if (!(record->stream = fopen(head->path, "a+e")))
        fault = grove_fail(error, GROVE_IO, "%s: %s", head->path, strerror(errno));
    else if (flock(fileno(record->stream), LOCK_EX | LOCK_NB))
        fault = grove_fail(error, GROVE_IO, "%s: another grove tune is writing this record",
                           head->path);
    else if (!(text = grove_file_read(head->path, MAX_BYTES, true, NULL, error)))
        fault = GROVE_IO;
    else if (open_length(text, false))
        fault = reopen(record, head, text, error);
    else if (ftruncate(fileno(record->stream), 0)) /* ended before it had a configuration */
        fault = grove_fail(error, GROVE_IO, "%s: %s", head->path, strerror(errno));
    else
        begin(record, head, code);
    free(text);
    if (!fault)
        return record;
    if (record->stream)
        fclose(record->stream); /* as it was */
    record->stream = NULL;
    tune_record_free(record);
    return NULL;
}

/* "}\n}" in place of the last comma. */
static void complete(tune_record *record)
{
    fflush(record->stream);
    const long length = ftell(record->stream);

    if (record->count && length > 0 && !ftruncate(fileno(record->stream), length - 1))
        fseek(record->stream, 0, SEEK_END);
    fputs("}\n}", record->stream);
    fclose(record->stream);
}

void tune_record_free(tune_record *record)
{
    if (!record)
        return;
    if (record->stream)
        complete(record);
    for (size_t k = 0; k < record->count; k++) {
        free(record->points[k].key);
        free(record->points[k].failure);
        free(record->points[k].times);
    }
    for (int k = 0; k < record->tunables; k++) {
        free(record->name[k]);
        free(record->values[k]);
    }
    free(record->points);
    free(record->machine);
    free(record->kernel);
    free(record->sizes);
    free(record->code);
    free(record->path);
    free(record);
}

const tune_point *tune_record_find(const tune_record *record, const char *key)
{
    for (size_t k = 0; k < record->count; k++)
        if (!strcmp(record->points[k].key, key))
            return &record->points[k];
    return NULL;
}

const tune_point *tune_record_best(const tune_record *record, bool energy)
{
    const tune_point *best = NULL;

    for (size_t k = 0; k < record->count; k++) {
        const tune_point *point = &record->points[k];
        if (point->failure || (energy && !(point->energy > 0)))
            continue;
        if (!best || (energy ? point->energy < best->energy : point->time < best->time))
            best = point;
    }
    return best;
}
