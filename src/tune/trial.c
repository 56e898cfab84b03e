#include "tune/trial.h"

#include "base/memory.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Memory that the kernel writes, and its content on the host. */
typedef struct {
    char *at;
    size_t bytes;
    int number;    /* bytes of a floating-point number; else its bytes are compared */
    bool is_block; /* a block of memory; the kernel writes a part of it */
    char *before, *reference, *after;
} region;

struct tune_trial {
    grove_device *device;
    const grove_kernel *kernel;
    const grove_tunables *tunables;
    grove_args args;
    bool double_precision;
    region regions[GROVE_MAX_INPUTS + 1];
    int count;
    double seconds; /* of a run with the default configuration */
    bool is_kept;   /* the content before */
    bool is_blind;  /* the kernel reads none of the memory that it writes */
    grove_energy *energy;
    grove_error *error;
};

/* From the first byte of a view to its last one. */
static size_t view_bytes(const grove_args *args, const grove_view *view)
{
    int64_t last = (int64_t)view->elements * view->bytes * (view->complex_ ? 2 : 1);

    for (int d = 0; d < args->axes; d++)
        last += (args->size[d] - 1) * view->stride[d];
    return (size_t)last;
}

/* GROVE_NO_MEMORY without memory for copies of it. */
static int add_region(tune_trial *trial, const grove_view *view)
{
    if (!view->data || !grove_args_cells(&trial->args))
        return 0;
    const bool cells = view->bytes > 0 && view->elements > 0;
    const grove_device_operations *operations = trial->device->operations;
    const size_t bytes = cells                ? view_bytes(&trial->args, view)
                         : operations->extent ? operations->extent(trial->device, view->data)
                                              : 0;
    if (!bytes)
        return 0;
    region *r = &trial->regions[trial->count++];
    *r = (region){.at = (char *)view->data,
                  .bytes = bytes,
                  .number = cells                     ? view->bytes
                            : trial->double_precision ? 8
                                                      : 4,
                  .is_block = !cells,
                  .before = grove_try_alloc(bytes, 1),
                  .reference = grove_try_alloc(bytes, 1),
                  .after = grove_try_alloc(bytes, 1)};
    if (r->before && r->reference && r->after)
        return 0;
    return grove_fail(trial->error, GROVE_NO_MEMORY,
                      "no memory for three copies of the output of %s, of %zu bytes",
                      trial->kernel->name, bytes);
}

/* The present content of all memory that the kernel writes. */
static int keep_regions(tune_trial *trial)
{
    const grove_args *args = &trial->args;
    int code = add_region(trial, &args->out);

    for (int k = 0; k < args->inputs && !code; k++)
        if (trial->kernel->writes >> k & 1)
            code = add_region(trial, &args->in[k]);
    for (int k = 0; k < trial->count && !code; k++)
        code = grove_device_download(trial->device, trial->regions[k].before, trial->regions[k].at,
                                     trial->regions[k].bytes, trial->error);
    trial->is_kept = !code;
    return code;
}

static int send_regions(tune_trial *trial, bool before)
{
    int code = 0;

    for (int k = 0; k < trial->count && !code; k++) {
        region *r = &trial->regions[k];
        code = grove_device_upload(trial->device, r->at, before ? r->before : r->after, r->bytes,
                                   trial->error);
        if (!code)
            code = grove_device_ready(trial->device, r->at, trial->error);
    }
    return code;
}

/* Fills the memory with NAN, so that cells that a kernel leaves out are seen. */
static int poison(tune_trial *trial)
{
    for (int k = 0; k < trial->count; k++)
        memset(trial->regions[k].after, 0xff, trial->regions[k].bytes);
    return send_regions(trial, false);
}

/* Seconds of a launch; negative: it failed, with a message. */
static double run(tune_trial *trial, const int32_t value[GROVE_TUNABLES])
{
    grove_device *device = trial->device;

    memcpy(trial->args.tuned, value, sizeof(trial->args.tuned));
    const double began = grove_now();
    int code = device->operations->launch(device, trial->kernel, &trial->args,
                                          trial->double_precision, trial->error);
    if (!code)
        code = grove_device_wait(device, trial->error);
    return code ? -1 : grove_now() - began;
}

static int read_regions(tune_trial *trial, bool reference)
{
    int code = 0;

    for (int k = 0; k < trial->count && !code; k++) {
        region *r = &trial->regions[k];
        code = grove_device_download(trial->device, reference ? r->reference : r->after, r->at,
                                     r->bytes, trial->error);
    }
    return code;
}

/* Whether the output is the same, wherever the kernel starts from. */
static bool is_blind(tune_trial *trial)
{
    const double seconds = poison(trial) ? -1 : run(trial, trial->args.tuned);
    bool same = seconds >= 0 && !read_regions(trial, false);

    if (seconds >= 0)
        trial->seconds = fmin(trial->seconds, seconds); /* nothing was compiled */
    for (int k = 0; k < trial->count && same; k++)
        same =
            !memcmp(trial->regions[k].reference, trial->regions[k].after, trial->regions[k].bytes);
    grove_error_clear(trial->error);
    return same;
}

tune_trial *tune_trial_new(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                           bool double_precision, grove_energy *energy, bool *no_memory,
                           grove_error *error)
{
    tune_trial *trial = grove_alloc(sizeof(*trial));

    *trial = (tune_trial){.device = device,
                          .kernel = kernel,
                          .tunables = grove_tunables_of(device, kernel),
                          .args = *args,
                          .double_precision = double_precision,
                          .energy = energy,
                          .error = grove_error_new()};
    const int code = keep_regions(trial);
    *no_memory = code == GROVE_NO_MEMORY;
    if (!code && (trial->seconds = run(trial, args->tuned)) >= 0 && !read_regions(trial, true)) {
        trial->is_blind = is_blind(trial);
        return trial;
    }
    grove_fail(error, GROVE_DEVICE, "%s", grove_error_message(trial->error, 0));
    tune_trial_free(trial);
    return NULL;
}

double tune_trial_seconds(const tune_trial *trial)
{
    return trial->seconds;
}

void tune_trial_free(tune_trial *trial)
{
    if (trial->is_kept)
        send_regions(trial, true);
    for (int k = 0; k < trial->count; k++) {
        free(trial->regions[k].before);
        free(trial->regions[k].reference);
        free(trial->regions[k].after);
    }
    grove_error_free(trial->error);
    free(trial);
}

static double number_at(const region *r, const char *bytes, size_t k)
{
    if (r->number == sizeof(float)) {
        float number;
        memcpy(&number, bytes + k * sizeof(number), sizeof(number));
        return (double)number;
    }
    double number;
    memcpy(&number, bytes + k * sizeof(number), sizeof(number));
    return number;
}

/* Whether the default configuration has written number k. Of cells all are written. */
static bool is_written(const region *r, size_t k)
{
    const size_t at = k * (size_t)r->number;

    return !r->is_block || memcmp(r->before + at, r->reference + at, (size_t)r->number) != 0;
}

/* The largest difference of numbers, relative to the largest one that is written; INFINITY where
 * one of two is not a number or infinite. */
static double difference(const region *r)
{
    double largest = 0, most = 0;

    for (size_t k = 0; k < r->bytes / (size_t)r->number; k++) {
        const double a = number_at(r, r->reference, k), b = number_at(r, r->after, k);
        if ((isnan(a) && isnan(b)) || a == b) {
            largest = isfinite(a) && is_written(r, k) ? fmax(largest, fabs(a)) : largest;
            continue;
        }
        if (!isfinite(a) || !isfinite(b))
            return INFINITY;
        largest = fmax(largest, fabs(a));
        most = fmax(most, fabs(a - b));
    }
    return most > 0 ? most / largest : 0; /* INFINITY where none is written */
}

/* Why the output is wrong; NULL: it is right. Caller frees. */
static char *compare(const tune_trial *trial)
{
    const double tolerance = trial->tunables->tolerance[trial->double_precision];

    for (int k = 0; k < trial->count; k++) {
        const region *r = &trial->regions[k];
        if (!memcmp(r->reference, r->after, r->bytes))
            continue;
        if (r->number != sizeof(float) && r->number != sizeof(double))
            return grove_format("wrong output: other bytes than with the default configuration");
        const double most = difference(r);
        if (isinf(most))
            return grove_format("wrong output: numbers are missing or not finite");
        if (!(most <= tolerance))
            return grove_format("wrong output: it differs by %.2g of the largest value, where %.2g "
                                "is allowed",
                                most, tolerance);
    }
    return NULL;
}

/* The message of a failure, which is cleared. Caller frees. */
static char *take_message(tune_trial *trial)
{
    char *message =
        grove_format("%s", grove_error_count(trial->error) ? grove_error_message(trial->error, 0)
                                                           : "no code for the device");

    grove_error_clear(trial->error);
    return message;
}

static double joules(const tune_trial *trial)
{
    double each[GROVE_ENERGY_KINDS];

    grove_energy_read(trial->energy, each);
    return grove_energy_total(trial->energy, each);
}

/* Times in ms. */
static void measure(tune_trial *trial, const int32_t value[GROVE_TUNABLES], bool once,
                    tune_point *point)
{
    enum { LEAST = 7 };
    const double began = grove_now(), longest = trial->energy ? 0.5 : 0.2,
                 before = trial->energy ? joules(trial) : 0;

    point->times = grove_alloc(TUNE_RUNS * sizeof(double));
    do {
        const double seconds = run(trial, value);
        if (seconds < 0) {
            point->failure = take_message(trial);
            return;
        }
        if (point->runs < TUNE_RUNS)
            point->times[point->runs++] = 1e3 * seconds;
        point->time = tune_median(point->times, point->runs);
        point->error = tune_standard_error(point->times, point->runs);
    } while (!once &&
             (point->runs < LEAST ||
              (grove_now() - began < longest &&
               (trial->energy || (point->runs < TUNE_RUNS && point->error > 0.02 * point->time)))));
    if (trial->energy)
        point->energy = (joules(trial) - before) / point->runs;
    point->measure = 1e3 * (grove_now() - began);
}

void tune_trial_run(tune_trial *trial, const int32_t value[GROVE_TUNABLES], double slow,
                    tune_point *point)
{
    double began = grove_now();

    *point = (tune_point){.time = INFINITY};
    if ((trial->is_blind ? poison(trial) : send_regions(trial, true)) || run(trial, value) < 0) {
        point->failure = take_message(trial);
        return;
    }
    point->compile = 1e3 * (grove_now() - began);
    began = grove_now();
    point->failure = read_regions(trial, false) ? take_message(trial) : compare(trial);
    point->verify = 1e3 * (grove_now() - began);
    if (point->failure)
        return;
    began = grove_now();
    const double second = 1e3 * run(trial, value);
    measure(trial, value, second > 10 * slow, point);
}

double tune_trial_compare(tune_trial *trial, const int32_t first[GROVE_TUNABLES],
                          const int32_t second[GROVE_TUNABLES])
{
    enum { PAIRS = 15 };
    double times[2][PAIRS], median[2], error[2];

    for (int k = 0; k < PAIRS; k++) {
        times[0][k] = run(trial, first);
        times[1][k] = run(trial, second);
        if (times[0][k] < 0 || times[1][k] < 0) {
            grove_error_clear(trial->error);
            return 1;
        }
    }
    for (int k = 0; k < 2; k++) {
        median[k] = tune_median(times[k], PAIRS);
        error[k] = tune_median_error(times[k], PAIRS);
    }
    return fabs(median[0] - median[1]) < 3 * hypot(error[0], error[1]) ? 1 : median[0] / median[1];
}
