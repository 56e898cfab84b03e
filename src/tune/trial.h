/* Trials of configurations: a kernel is run with the arguments of a launch, its output is compared
 * with the default configuration's, and its time is measured. */
#ifndef GROVE_TUNE_TRIAL_H
#define GROVE_TUNE_TRIAL_H

#include "base/energy.h"
#include "device/tuned.h"
#include "tune/record.h"

typedef struct tune_trial tune_trial;

/* Keeps the content of the memory that the kernel writes: the present one, and the one after a run
 * with args->tuned, which is the reference. `energy`, or NULL, is read around runs. NULL with a
 * message where the kernel fails or, with *no_memory, where there is no memory for copies. */
tune_trial *tune_trial_new(grove_device *device, const grove_kernel *kernel, const grove_args *args,
                           bool double_precision, grove_energy *energy, bool *no_memory,
                           grove_error *error);
/* The time of a run with that configuration. */
double tune_trial_seconds(const tune_trial *trial);
/* The memory is again as before. */
void tune_trial_free(tune_trial *trial);
/* Runs a configuration: once to compile and to compare, then at least 7 times until the standard
 * error is below 2 %, or for 0.2 s; one run only where it is slower than `slow` (ms) by a factor of
 * 10. A failure is in point->failure. The caller frees failure and times; key is not set. */
void tune_trial_run(tune_trial *trial, const int32_t value[GROVE_TUNABLES], double slow,
                    tune_point *point);
/* Runs two configurations in turn: the ratio of the first one's median time to the second one's, 1
 * where they differ by less than three standard errors. */
double tune_trial_compare(tune_trial *trial, const int32_t first[GROVE_TUNABLES],
                          const int32_t second[GROVE_TUNABLES]);

#endif
