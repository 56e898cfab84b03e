/* How long a device was busy, and for which node, by its own clock, if measured. */
#ifndef GROVE_DEVICE_TIMING_H
#define GROVE_DEVICE_TIMING_H

#include "base/error.h"
#include <pthread.h>
#include <stdbool.h>

typedef struct grove_device grove_device;

/* Seconds that a device was busy with kernels, uploads and downloads. */
typedef struct {
    double kernels, up, down;
} grove_busy;

typedef enum { GROVE_BUSY_KERNELS, GROVE_BUSY_UP, GROVE_BUSY_DOWN } grove_busy_kind;

enum { GROVE_TIMED_THREADS = 8 }; /* threads attributed at the time */

/* Counters to which a thread's work is added. */
typedef struct {
    pthread_t thread;
    grove_busy *to;
} grove_attribution;

typedef struct {
    bool enabled;                      /* set by the owner; earlier work is not measured */
    grove_busy busy;                   /* collected so far */
    double open_seconds, load_seconds; /* of the host: opening the device and loading code */
    grove_attribution attributions[GROVE_TIMED_THREADS];
    int attribution_count;
    void (*attribute)(grove_device *device, grove_busy *to);  /* NULL: as above */
    int (*collect)(grove_device *device, grove_error *error); /* NULL: as above */
} grove_timing;

/* Work that the calling thread requests from now on is also added to `to` (NULL: to nothing), at
 * the next collection at the latest. */
void grove_timing_attribute(grove_device *device, grove_busy *to);
/* Waits for all queued work and adds up its times. */
int grove_timing_collect(grove_device *device, grove_error *error);

/* For devices, with a lock of theirs: attributes the calling thread's work; the counters to which
 * it is attributed, or NULL; and adds seconds to the device's and, unless NULL, to other counters.
 */
void grove_timing_set(grove_timing *timing, grove_busy *to);
grove_busy *grove_timing_attributed(const grove_timing *timing);
void grove_timing_add(grove_timing *timing, grove_busy *to, grove_busy_kind kind, double seconds);

#endif
