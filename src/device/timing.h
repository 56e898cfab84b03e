/* How long a device was busy, and for which node, by its own clock, if measured. */
#ifndef GROVE_DEVICE_TIMING_H
#define GROVE_DEVICE_TIMING_H

#include "base/error.h"
#include <stdbool.h>

typedef struct grove_device grove_device;

/* Seconds that a device was busy with kernels, uploads and downloads. */
typedef struct {
    double kernels, up, down;
} grove_busy;

typedef struct {
    bool enabled;                      /* set by the owner; earlier work is not measured */
    grove_busy busy;                   /* collected so far */
    double open_seconds, load_seconds; /* of the host: opening the device and loading code */
    void (*attribute)(grove_device *device, grove_busy *to);  /* NULL: as above */
    int (*collect)(grove_device *device, grove_error *error); /* NULL: as above */
} grove_timing;

/* Work that the calling thread requests from now on is also added to `to` (NULL: to nothing), at
 * the next collection at the latest. */
void grove_timing_attribute(grove_device *device, grove_busy *to);
/* Waits for all queued work and adds up its times. */
int grove_timing_collect(grove_device *device, grove_error *error);

#endif
