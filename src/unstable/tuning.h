/* Measurements of `grove tune`, in the file `tuning` of the user's cache folder
 * ($XDG_CACHE_HOME/grove, or ~/.cache/grove): costs on this machine's NVIDIA GPU, and the fastest
 * configurations of kernels. Runs read it and never measure; with the environment variable
 * GROVE_TUNING=off they take nothing of it.
 */
#ifndef GROVE_UNSTABLE_TUNING_H
#define GROVE_UNSTABLE_TUNING_H

#include "../base/error.h"
#include <stdbool.h>

typedef struct {
    const char *what; /* is measured: words without '|' */
    const double *numbers;
    int count; /* at most GROVE_TUNING_MAX */
} grove_tuning;
enum { GROVE_TUNING_MAX = 16 };

/* The numbers measured with this GPU, driver and version of Grove. False, with nothing written, if
 * there are none. A file that is not one of `grove tune` gets one warning in the process. */
bool grove_tuning_find(const char *quantity, double *numbers, int count);
/* Calls take(context, name, numbers, count) for each entry of a machine by this version of Grove;
 * NULL: of its NVIDIA GPU. */
typedef void grove_tuning_take(void *context, const char *name, const double *numbers, int count);
void grove_tuning_each(const char *machine, grove_tuning_take *take, void *context);
/* Replaces these entries of this machine (NULL: its NVIDIA GPU) and version; keeps the others.
 * `path` gets the file's name, which the caller frees, also after a failure; NULL where there is no
 * folder for it. */
int grove_tuning_store(const char *machine, const grove_tuning *entries, int count, char **path,
                       grove_error *error);
/* The user's cache folder; NULL: there is none. Caller frees. */
char *grove_cache_folder(void);

/* The model of the processor, as Linux names it; "" if it does not. Caller frees. */
char *grove_tuning_processor(void);
/* Whether this machine may have an NVIDIA GPU. Its driver is not started. */
bool grove_tuning_has_gpu(void);

/* Runs all actions of the tree, but writes nothing. The tuner (device/tuned.h) takes the place of
 * launches of kernels that can be tuned, on all devices, from then on. */
typedef struct grove_tuner grove_tuner;
typedef struct grove_session grove_session;
int grove_session_tune(grove_session *session, const grove_tuner *tuner);

/* Whether text is a file of `grove tune`. */
bool grove_tuning_is_valid(const char *text);
/* The numbers of the line that begins with `key`, in a valid text. */
bool grove_tuning_parse(const char *text, const char *key, double *numbers, int count);

#endif
