#include "tune/tune.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "grove.h"
#include "tune/record.h"
#include "tune/trial.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A kernel on a kind of device with some sizes. */
typedef struct {
    const grove_kernel *kernel;
    bool double_precision, is_done;
    const grove_device_operations *operations; /* of the kind of device */
    int axes;
    int64_t size[GROVE_MAX_AXES];
    double first, others; /* seconds */
    int64_t launches;
} problem;

typedef struct {
    grove_tuner tuner;
    const tune_options *options;
    bool tunes; /* the second session; in the first one launches are timed only */
    problem *problems;
    size_t count, capacity;
    double seconds_left;
    pthread_mutex_t lock;
    tune_report *report;
    grove_error *error;
    int code;
} tuning;

/* ---- names ---- */

static char *sizes_of(const grove_args *args, const char *between)
{
    grove_text text = {0};

    for (int d = 0; d < args->axes; d++)
        grove_text_add(&text, "%s%lld", d ? between : "", (long long)args->size[d]);
    return text.at ? text.at : grove_format("1");
}

/* Letters, digits, points and dashes of a text. Caller frees. */
static char *file_name(const char *text)
{
    char *name = grove_format("%s", text);

    for (char *c = name; *c; c++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_", *c))
            *c = '-';
    return name;
}

static char *key_of(const tune_space *space, int number)
{
    grove_text text = {0};

    for (int k = 0; k < space->tunables; k++)
        grove_text_add(&text, "%s%d", k ? "," : "", space->value[number][k]);
    return text.at;
}

/* -1: none of this space. */
static int number_of(const tune_space *space, const char *key)
{
    int32_t value[GROVE_TUNABLES] = {0};
    const char *at = key;

    for (int k = 0; k < space->tunables; k++, at += *at == ',') {
        char *end;
        value[k] = (int32_t)strtol(at, &end, 10);
        if (end == at)
            return -1;
        at = end;
    }
    return *at ? -1 : tune_space_find(space, value);
}

/* ---- records ---- */

static void describe(tune_record *head, const grove_tunables *tunables, const grove_device *device)
{
    head->tunables = grove_tunables_count(tunables);
    for (int k = 0; k < head->tunables; k++) {
        const grove_tunable *tunable = &tunables->tunable[k];
        grove_text text = {0};
        for (int v = 0; v < (grove_tunables_has(tunables, k, device) ? tunable->count : 1); v++)
            grove_text_add(&text, "%s%d", v ? "," : "", tunable->values[v]);
        head->name[k] = grove_format("%s", tunable->name);
        head->values[k] = text.at;
    }
}

/* FOLDER/DEVICE/KERNEL-PRECISION-CODE-SIZES.json */
static tune_record *open_record(tuning *t, grove_device *device, const problem *p,
                                const grove_args *args)
{
    tune_record head = {.machine = grove_tuned_machine(device),
                        .kernel = grove_format("%s", p->kernel->name),
                        .sizes = sizes_of(args, ",")};
    char *code = grove_tuned_kernel(device, p->kernel, p->double_precision),
         *sizes = sizes_of(args, "x"), *folder = tune_record_folder(t->error),
         *machine = file_name(head.machine), *title = grove_format("%s-%s.json", code, sizes),
         *name = file_name(title), *place = folder ? grove_path_join(folder, machine) : NULL;
    tune_record *record = NULL;

    describe(&head, grove_tunables_of(device, p->kernel), device);
    if (place && !grove_folder_make(place, t->error)) {
        head.path = grove_path_join(place, name);
        record = tune_record_open(&head, code, t->error);
    }
    char *const texts[] = {head.machine, head.kernel, head.sizes, head.path, code, sizes,
                           folder,       machine,     title,      name,      place};
    for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
        free(texts[k]);
    for (int k = 0; k < head.tunables; k++) {
        free(head.name[k]);
        free(head.values[k]);
    }
    return record;
}

/* Optima of this kernel in other records: with other sizes, on other devices. */
static void prefer_known(tune_space *space, const tune_record *own)
{
    char *folder = tune_record_folder(NULL), **machines = folder ? grove_folder_list(folder) : NULL;

    for (char **machine = machines; machine && *machine; machine++) {
        char *place = grove_path_join(folder, *machine), **names = grove_folder_list(place);
        for (char **name = names; name && *name; name++) {
            char *path = grove_path_join(place, *name);
            const size_t length = strlen(own->kernel);
            tune_record *other = !strncmp(*name, own->kernel, length) && (*name)[length] == '-' &&
                                         grove_ends_with(path, ".json") && strcmp(path, own->path)
                                     ? tune_record_read(path, NULL)
                                     : NULL;
            const tune_point *best = other ? tune_record_best(other, false) : NULL;
            if (best && !strcmp(other->kernel, own->kernel))
                tune_space_prefer(space, number_of(space, best->key));
            tune_record_free(other);
            free(path);
        }
        grove_folder_free(names);
        free(place);
    }
    grove_folder_free(machines);
    free(folder);
}

/* ---- tuning ---- */

static void guard(const tuning *t, double seconds, const char *path, const char *key)
{
    if (t->options->guard < 0)
        return;
    char *line = path ? grove_format("%.3f\t%s\t%s\n", seconds, path, key) : grove_format("\n");
    if (write(t->options->guard, line, strlen(line)) < 0) {
        /* the other process has gone: nobody waits */
    }
    free(line);
}

static double cost_of(const tuning *t, const tune_point *point)
{
    if (point->failure)
        return INFINITY;
    return t->options->energy && point->energy > 0 ? point->energy : point->time;
}

/* Tries configurations until all have been or `seconds` are over: at least the default one and one
 * more. */
static void search(tuning *t, tune_trial *trial, tune_space *space, tune_record *record,
                   double seconds, tune_result *result)
{
    const double began = grove_now();

    for (int number, tried = 0; (number = tune_space_next(space)) >= 0; tried++) {
        char *key = key_of(space, number);
        const tune_point *known = tune_record_find(record, key);
        tune_point point = {0};
        if (!known && tried >= 2 && t->options->budget > 0 && grove_now() - began > seconds) {
            free(key);
            break;
        }
        if (!known) {
            const double slow = number ? result->time : INFINITY;
            guard(t, t->options->patience + 100 * tune_trial_seconds(trial), record->path, key);
            tune_trial_run(trial, space->value[number], slow, &point);
            guard(t, 0, NULL, NULL);
            point.key = key;
            if (tune_record_add(record, &point, t->error))
                t->code = GROVE_IO;
            known = &point;
        }
        tune_space_result(space, number, cost_of(t, known));
        if (!number)
            result->time = known->time;
        result->tried++;
        result->failed += known->failure != NULL;
        free(point.failure);
        free(point.times);
        free(key);
        if (t->code)
            return;
    }
}

/* Compares the best one with the default one again, in turn, and keeps it for runs. */
static void keep_best(tuning *t, grove_device *device, const problem *p, const grove_args *args,
                      tune_trial *trial, const tune_space *space, tune_result *result)
{
    int best = 0;

    for (int k = 0; k < space->count; k++)
        if (space->tried[k] && space->cost[k] < space->cost[best])
            best = k;
    result->ratio = 1;
    if (best && t->options->energy)
        result->ratio = space->cost[best] / space->cost[0];
    else if (best)
        result->ratio = tune_trial_compare(trial, space->value[best], space->value[0]);
    if (result->ratio >= 1) {
        result->ratio = 1;
        best = 0;
    }
    double numbers[GROVE_TUNABLES];
    for (int k = 0; k < space->tunables; k++)
        numbers[k] = space->value[best][k];
    char *machine = grove_tuned_machine(device), *sizes = sizes_of(args, "x"),
         *code = grove_tuned_kernel(device, p->kernel, p->double_precision),
         *names = grove_tuned_names(grove_tunables_of(device, p->kernel)),
         *what = grove_format("%s %s %s", code, sizes, names);
    const grove_tuning entry = {what, numbers, space->tunables};
    free(t->report->path);
    if (grove_tuning_store(machine, &entry, 1, &t->report->path, t->error))
        t->code = GROVE_IO;
    result->best =
        grove_tuned_show(grove_tunables_of(device, p->kernel), device, space->value[best]);
    free(machine);
    free(sizes);
    free(code);
    free(names);
    free(what);
}

static tune_result *add_result(tuning *t, const problem *p, const grove_args *args)
{
    tune_report *report = t->report;
    char *sizes = sizes_of(args, "x");

    grove_grow((void **)&report->results, &report->capacity, report->count, sizeof(tune_result));
    tune_result *result = &report->results[report->count++];
    *result =
        (tune_result){.kernel = grove_format("%s %s %s", p->kernel->name,
                                             p->double_precision ? "double" : "single", sizes),
                      .share = report->seconds > 0 ? (p->first + p->others) / report->seconds : 1};
    free(sizes);
    return result;
}

static int tune(tuning *t, grove_device *device, problem *p, const grove_args *args)
{
    const grove_tunables *tunables = grove_tunables_of(device, p->kernel);
    tune_result *result = add_result(t, p, args);
    const char *only = t->options->kernel;
    double left = 0;

    p->is_done = true;
    if (only ? strcmp(only, p->kernel->name) != 0 : result->share < t->options->least_share)
        return 0;
    for (size_t k = 0; k < t->count; k++)
        left += t->problems[k].is_done ? 0 : t->problems[k].first + t->problems[k].others;
    const double own = p->first + p->others,
                 seconds = only ? t->seconds_left : t->seconds_left * own / (own + left),
                 began = grove_now();
    tune_record *record = open_record(t, device, p, args);
    if (!record)
        return GROVE_IO;
    grove_args start = *args;
    grove_tunables_default(tunables, &start);
    const grove_energy_device place = {device->name, device->place};
    grove_energy *energy =
        t->options->energy ? grove_energy_open(&place, device->shares_host_memory ? 0 : 1) : NULL;
    bool no_memory = false;
    tune_trial *trial = tune_trial_new(device, p->kernel, &start, p->double_precision, energy,
                                       &no_memory, t->error);
    if (trial) {
        tune_space *space = tune_space_new(tunables, device, args, t->options->strategy, 1);
        prefer_known(space, record);
        tune_space_prefer(space, 0);
        result->count = space->count;
        search(t, trial, space, record, seconds, result);
        if (!t->code)
            keep_best(t, device, p, args, trial, space, result);
        tune_space_free(space);
        tune_trial_free(trial);
        if (!t->code && !t->options->quiet)
            fprintf(stderr, "%s: %d of %d configurations, %s takes %.2f of the default's %s\n",
                    result->kernel, result->tried, result->count, result->best, result->ratio,
                    t->options->energy ? "energy" : "time");
    } else if (no_memory) { /* it is left out */
        fprintf(stderr, "grove tune: %s\n", grove_error_message(t->error, 0));
        grove_error_clear(t->error);
    } else {
        t->code = GROVE_DEVICE;
    }
    grove_energy_free(energy);
    tune_record_free(record);
    t->seconds_left -= grove_now() - began;
    return t->code;
}

/* ---- launches ---- */

static problem *find_problem(tuning *t, const grove_device *device, const grove_kernel *kernel,
                             const grove_args *args, bool double_precision)
{
    for (size_t k = 0; k < t->count; k++) {
        problem *p = &t->problems[k];
        if (p->kernel == kernel && p->double_precision == double_precision &&
            p->operations == device->operations && p->axes == args->axes &&
            !memcmp(p->size, args->size, (size_t)args->axes * sizeof(*p->size)))
            return p;
    }
    grove_grow((void **)&t->problems, &t->capacity, t->count, sizeof(problem));
    problem *p = &t->problems[t->count++];
    *p = (problem){.kernel = kernel,
                   .double_precision = double_precision,
                   .operations = device->operations,
                   .axes = args->axes};
    memcpy(p->size, args->size, (size_t)args->axes * sizeof(*p->size));
    return p;
}

static int launch(const grove_tuner *tuner, grove_device *device, const grove_kernel *kernel,
                  const grove_args *args, bool double_precision, grove_error *error)
{
    tuning *t = (tuning *)(void *)(uintptr_t)tuner;
    int code = 0;

    pthread_mutex_lock(&t->lock);
    problem *p = find_problem(t, device, kernel, args, double_precision);
    if (t->tunes && !p->is_done && !t->code && grove_args_cells(args) > 0)
        code = tune(t, device, p, args);
    if (!code) {
        const double began = grove_now() - device->timing.load_seconds;
        code = device->operations->launch(device, kernel, args, double_precision, error);
        if (!code && !t->tunes) {
            code = grove_device_wait(device, error);
            *(p->launches++ ? &p->others : &p->first) +=
                grove_now() - device->timing.load_seconds - began;
        }
    } else {
        grove_fail(error, code, "%s", grove_error_message(t->error, 0));
    }
    pthread_mutex_unlock(&t->lock);
    return code;
}

/* A first launch may compile: it counts as the others' mean. */
static void correct_first(tuning *t)
{
    for (size_t k = 0; k < t->count; k++) {
        problem *p = &t->problems[k];
        if (p->launches > 1)
            p->first = fmin(p->first, p->others / (double)(p->launches - 1));
        t->report->seconds += p->first + p->others;
    }
}

int tune_kernels(tune_run *run, void *context, const tune_options *options, tune_report *report,
                 grove_error *error)
{
    tuning t = {.tuner = {launch},
                .options = options,
                .seconds_left = options->budget,
                .lock = PTHREAD_MUTEX_INITIALIZER,
                .report = report,
                .error = error};
    int code = run(context, &t.tuner, error);

    if (!code) {
        correct_first(&t);
        t.tunes = true;
        code = run(context, &t.tuner, error);
    }
    free(t.problems);
    return code ? code : t.code;
}

void tune_report_print(const tune_report *report)
{
    size_t others = 0;
    double other_share = 0, gain = 0;

    puts("| kernel, precision, sizes | share of time | configurations | failed | default | best |"
         " its time |\n|---|--:|--:|--:|--:|---|--:|");
    for (size_t k = 0; k < report->count; k++) {
        const tune_result *r = &report->results[k];
        if (!r->best) {
            others++;
            other_share += r->share;
            continue;
        }
        printf("| %s | %.1f %% | %d of %d | %d | %.4g ms | %s | %.2f of the default's |\n",
               r->kernel, 100 * r->share, r->tried, r->count, r->failed, r->time, r->best,
               r->ratio);
        gain += r->share * (1 - r->ratio);
    }
    if (others)
        printf("| %zu others, not tuned | %.1f %% | | | | | |\n", others, 100 * other_share);
    printf("\nKernels that can be tuned take %.3g s; with the best configurations %.3g s.\n",
           report->seconds, report->seconds * (1 - gain));
    if (report->path)
        printf("Runs take them from %s.\n", report->path);
}

void tune_report_free(tune_report *report)
{
    for (size_t k = 0; k < report->count; k++) {
        free(report->results[k].kernel);
        free(report->results[k].best);
    }
    free(report->results);
    free(report->path);
}

bool tune_measures_energy(void)
{
    grove_energy *energy = grove_energy_open(NULL, 0);
    const bool found = grove_energy_has(energy, GROVE_ENERGY_PROCESSOR) ||
                       grove_energy_has(energy, GROVE_ENERGY_PLATFORM) ||
                       grove_energy_has(energy, GROVE_ENERGY_DEVICE);

    grove_energy_free(energy);
    return found;
}
