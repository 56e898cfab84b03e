/* Costs that `grove tune` has measured on this machine's NVIDIA GPU, in the file `tuning` of the
 * user's cache folder ($XDG_CACHE_HOME/grove, or ~/.cache/grove). Runs read it and never measure.
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
/* Replaces all numbers of this GPU, driver and version; keeps the others. `path` gets the file's
 * name, which the caller frees, also after a failure; NULL where there is no folder for it. */
int grove_tuning_store(const grove_tuning *entries, int count, char **path, grove_error *error);

/* Whether this machine may have an NVIDIA GPU. Its driver is not started. */
bool grove_tuning_has_gpu(void);

/* Whether text is a file of `grove tune`. */
bool grove_tuning_is_valid(const char *text);
/* The numbers of the line that begins with `key`, in a valid text. */
bool grove_tuning_parse(const char *text, const char *key, double *numbers, int count);

#endif
