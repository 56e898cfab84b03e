/* How long a device was busy, and for which node: measured by its own clock, where enabled. */
#ifndef GROVE_DEVICE_TIMING_H
#define GROVE_DEVICE_TIMING_H

#include "base/error.h"
#include <stdbool.h>

typedef struct grove_device grove_device;

/* Seconds that a device was busy with kernels, with copies to it and with copies from it. */
typedef struct {
    double kernels, up, down;
} grove_busy;

typedef struct {
    bool enabled;                      /* set by the owner; work queued before is not measured */
    grove_busy busy;                   /* what was collected so far */
    double open_seconds, load_seconds; /* of the host: opening it, and loading code for it since */
    void (*attribute)(grove_device *device, grove_busy *to);  /* NULL: nothing is measured here */
    int (*collect)(grove_device *device, grove_error *error); /* NULL: likewise */
} grove_timing;

/* What the calling thread asks of the device from now on is also added to `to` (NULL: nowhere),
 * at the next collection at the latest. */
void grove_timing_attribute(grove_device *device, grove_busy *to);
/* Waits for all that was queued and adds up its times. */
int grove_timing_collect(grove_device *device, grove_error *error);

#endif
