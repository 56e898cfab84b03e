#define _GNU_SOURCE 1
#include "device/tuned.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "device/code.h"
#include "unstable/hash.h"
#include "unstable/tuning.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A configuration that was the fastest for these sizes of the iteration space. */
typedef struct {
    int axes, count;
    int64_t size[GROVE_MAX_AXES];
    int32_t value[GROVE_TUNABLES];
} configuration;

/* The configurations of a kernel in one precision. */
typedef struct {
    const grove_kernel *kernel;
    bool double_precision;
    size_t count, capacity;
    configuration *configurations;
    size_t last; /* 1 + the number of the one that the last launch took; 0: the default one */
} tuned_kernel;

typedef struct {
    char *what;
    int count;
    int32_t value[GROVE_TUNABLES];
} line;

struct grove_tuned {
    line *lines; /* of this device, for all kernels */
    size_t line_count, line_capacity;
    tuned_kernel *kernels;
    size_t count, capacity;
};

/* of all devices' lists: launches come from several threads */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- names of devices and kernels ---- */

char *grove_tuned_machine(const grove_device *device)
{
    if (device->shares_host_memory) {
        char *model = grove_tuning_processor();
        char *machine =
            grove_format("cpu, %s, %d threads", model, grove_threads_count(device->threads));
        free(model);
        return machine;
    }
    /* without the memory at its end: PoCL gives other numbers from run to run */
    const char *end = strrchr(device->description, ',');
    const size_t length = end ? (size_t)(end - device->description) : strlen(device->description);
    return grove_format("%.*s, %.*s, driver %s", (int)strcspn(device->name, ":"), device->name,
                        (int)length, device->description, device->driver);
}

/* The file with a kernel's code: on the host the plugin itself. NULL if unknown. Caller frees. */
static char *code_file(const grove_device *device, const grove_kernel *kernel)
{
    Dl_info plugin;

    if (grove_device_is(device, "cuda")) {
        char *path = grove_code_file(kernel, "fatbin");
        if (path && grove_path_exists(path))
            return path;
        free(path);
        return grove_code_file(kernel, "cuda");
    }
    if (!device->shares_host_memory)
        return grove_code_file(kernel, "cl");
    return dladdr(kernel, &plugin) && plugin.dli_fname ? grove_format("%s", plugin.dli_fname)
                                                       : NULL;
}

char *grove_tuned_kernel(const grove_device *device, const grove_kernel *kernel,
                         bool double_precision)
{
    char *path = code_file(device, kernel);
    size_t length = 0;
    char *code = path ? grove_file_read(path, (size_t)1 << 30, false, &length, NULL) : NULL;
    grove_hash hash = grove_hash_add(grove_hash_start(), code ? code : "", length);

    free(code);
    free(path);
    return grove_format("%s %s %016llx", kernel->name, double_precision ? "double" : "single",
                        (unsigned long long)hash.a);
}

/* ---- configurations from the file ---- */

static void take_line(void *context, const char *what, const double *numbers, int count)
{
    grove_tuned *tuned = context;

    if (count > GROVE_TUNABLES)
        return;
    grove_grow((void **)&tuned->lines, &tuned->line_capacity, tuned->line_count, sizeof(line));
    line *to = &tuned->lines[tuned->line_count++];
    *to = (line){.what = grove_format("%s", what), .count = count};
    for (int k = 0; k < count; k++)
        to->value[k] = (int32_t)lrint(numbers[k]);
}

/* Reads the file when first asked; with the lock. */
static grove_tuned *lines_of(grove_device *device)
{
    if (!device->tuned) {
        char *machine = grove_tuned_machine(device);
        device->tuned = grove_alloc(sizeof(*device->tuned));
        grove_tuning_each(machine, take_line, device->tuned);
        free(machine);
    }
    return device->tuned;
}

static bool has_value(const grove_tunable *tunable, int32_t value)
{
    for (int k = 0; k < tunable->count; k++)
        if (tunable->values[k] == value)
            return true;
    return false;
}

/* The sizes "16x300" after a kernel's key, up to a space; -1: something else is there. */
static int read_sizes(const char *at, int64_t size[GROVE_MAX_AXES], const char **after)
{
    int axes = 0;

    for (; *at && *at != ' '; at += *at == 'x') {
        const char *end = grove_parse_integer(at, &size[axes]);
        if (!end || (*end && *end != 'x' && *end != ' ') || size[axes++] < 1 ||
            axes == GROVE_MAX_AXES)
            return -1;
        at = end;
    }
    *after = at;
    return axes;
}

static void add_configuration(tuned_kernel *to, const grove_device *device,
                              const grove_tunables *tunables, const line *from, const char *sizes)
{
    configuration c = {.count = from->count};
    const char *names;

    if (from->count != grove_tunables_count(tunables) ||
        (c.axes = read_sizes(sizes, c.size, &names)) < 0)
        return;
    char *own = grove_tuned_names(tunables);
    const bool same = *names == ' ' && !strcmp(names + 1, own);
    free(own);
    if (!same)
        return;
    for (int k = 0; k < c.count; k++)
        if (!has_value(&tunables->tunable[k], c.value[k] = from->value[k]) ||
            (c.value[k] != tunables->tunable[k].values[0] &&
             !grove_tunables_has(tunables, k, device)))
            return;
    grove_grow((void **)&to->configurations, &to->capacity, to->count, sizeof(c));
    to->configurations[to->count++] = c;
}

static tuned_kernel *find_kernel(grove_tuned *tuned, const grove_device *device,
                                 const grove_kernel *kernel, bool double_precision)
{
    for (size_t k = 0; k < tuned->count; k++)
        if (tuned->kernels[k].kernel == kernel &&
            tuned->kernels[k].double_precision == double_precision)
            return &tuned->kernels[k];
    grove_grow((void **)&tuned->kernels, &tuned->capacity, tuned->count, sizeof(tuned_kernel));
    tuned_kernel *found = &tuned->kernels[tuned->count++];
    *found = (tuned_kernel){.kernel = kernel, .double_precision = double_precision};
    char *key = grove_tuned_kernel(device, kernel, double_precision);
    const size_t length = strlen(key);
    for (size_t k = 0; k < tuned->line_count; k++) {
        const line *l = &tuned->lines[k];
        if (!strncmp(l->what, key, length) && l->what[length] == ' ')
            add_configuration(found, device, grove_tunables_of(device, kernel), l,
                              l->what + length + 1);
    }
    free(key);
    return found;
}

/* How far sizes lie apart: the sum of the logarithms of their ratios. */
static double distance(const configuration *c, const grove_args *args)
{
    double sum = 0;

    if (c->axes != args->axes)
        return INFINITY;
    for (int d = 0; d < c->axes; d++)
        sum += fabs(log((double)c->size[d] / (double)(args->size[d] > 0 ? args->size[d] : 1)));
    return sum;
}

/* The configuration of the nearest sizes that these arguments allow, else the default one. */
static void choose(tuned_kernel *from, const grove_tunables *tunables, grove_args *args)
{
    double nearest = INFINITY;
    grove_args trial = *args;

    from->last = 0;
    for (size_t k = 0; k < from->count; k++) {
        const configuration *c = &from->configurations[k];
        const double far = distance(c, args);
        if (far >= nearest)
            continue;
        memcpy(trial.tuned, c->value, sizeof(trial.tuned));
        if (tunables->allows && !tunables->allows(&trial))
            continue;
        nearest = far;
        from->last = k + 1;
        memcpy(args->tuned, c->value, sizeof(args->tuned));
    }
}

static void set_configuration(grove_device *device, const grove_kernel *kernel,
                              const grove_tunables *tunables, bool double_precision,
                              grove_args *args)
{
    grove_tunables_default(tunables, args);
    pthread_mutex_lock(&lock);
    grove_tuned *tuned = lines_of(device);
    if (tuned->line_count)
        choose(find_kernel(tuned, device, kernel, double_precision), tunables, args);
    pthread_mutex_unlock(&lock);
}

int grove_device_launch(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                        bool double_precision, grove_error *error)
{
    const grove_tunables *tunables = grove_tunables_of(device, kernel);
    grove_args own;

    if (tunables) {
        own = *args;
        args = &own;
        set_configuration(device, kernel, tunables, double_precision, &own);
        if (device->tuner && grove_tunables_has_any(tunables, device))
            return device->tuner->launch(device->tuner, device, kernel, args, double_precision,
                                         error);
    }
    return device->operations->launch(device, kernel, args, double_precision, error);
}

char *grove_tuned_names(const grove_tunables *tunables)
{
    grove_text text = {0};

    for (int k = 0; k < grove_tunables_count(tunables); k++)
        grove_text_add(&text, "%s%s", k ? " " : "", tunables->tunable[k].name);
    return text.at ? text.at : grove_format("%s", "");
}

char *grove_tuned_show(const grove_tunables *tunables, const grove_device *device,
                       const int32_t value[GROVE_TUNABLES])
{
    grove_text text = {0};

    for (int k = 0; k < grove_tunables_count(tunables); k++)
        if (grove_tunables_has(tunables, k, device))
            grove_text_add(&text, "%s%s=%d", text.length ? " " : "", tunables->tunable[k].name,
                           value[k]);
    return text.at ? text.at : grove_format("%s", "");
}

/* "KERNEL PRECISION CODE SIZES NAME NAME ..." with the values: "KERNEL PRECISION with NAME=VALUE
 * ..., tuned for SIZES". */
static void show_line(grove_text *text, const grove_device *device, const line *l)
{
    char *what = grove_format("%s", l->what), *rest = what, *part[4];

    for (int k = 0; k < 4; k++)
        part[k] = rest ? strsep(&rest, " ") : NULL;
    if (part[3]) {
        grove_text_add(text, "%s: %s %s with", device->name, part[0], part[1]);
        for (int k = 0; k < l->count && rest; k++)
            grove_text_add(text, " %s=%d", strsep(&rest, " "), l->value[k]);
        grove_text_add(text, ", tuned for %s\n", part[3]);
    }
    free(what);
}

char *grove_tuned_kept(grove_device *device)
{
    grove_text text = {0};

    pthread_mutex_lock(&lock);
    const grove_tuned *tuned = lines_of(device);
    for (size_t k = 0; k < tuned->line_count; k++)
        show_line(&text, device, &tuned->lines[k]);
    pthread_mutex_unlock(&lock);
    return text.at ? text.at : grove_format("%s", "");
}

char *grove_tuned_used(const grove_device *device)
{
    grove_text text = {0};

    for (size_t k = 0; device->tuned && k < device->tuned->count; k++) {
        const tuned_kernel *t = &device->tuned->kernels[k];
        if (!t->last)
            continue;
        const configuration *c = &t->configurations[t->last - 1];
        char *shown = grove_tuned_show(grove_tunables_of(device, t->kernel), device, c->value);
        grove_text_add(&text, "%s: %s %s with %s, tuned for ", device->name, t->kernel->name,
                       t->double_precision ? "double" : "single", shown);
        for (int d = 0; d < c->axes; d++)
            grove_text_add(&text, "%s%lld", d ? "x" : "", (long long)c->size[d]);
        grove_text_add(&text, "\n");
        free(shown);
    }
    return text.at ? text.at : grove_format("%s", "");
}

void grove_tuned_free(grove_device *device)
{
    grove_tuned *tuned = device->tuned;

    if (!tuned)
        return;
    for (size_t k = 0; k < tuned->line_count; k++)
        free(tuned->lines[k].what);
    for (size_t k = 0; k < tuned->count; k++)
        free(tuned->kernels[k].configurations);
    free(tuned->lines);
    free(tuned->kernels);
    free(tuned);
    device->tuned = NULL;
}
