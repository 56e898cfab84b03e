/* The states on devices of an accumulator that a plugin computes: one for each device, given the
 * tiles of that device, merged into the host's at the end. */
#ifndef GROVE_RUN_CLASS_DEVICE_H
#define GROVE_RUN_CLASS_DEVICE_H

#include "run/step.h"

typedef struct grove_class_device grove_class_device;

grove_class_device *grove_class_device_new(grove_session *session, const grove_node *node);
void grove_class_device_free(grove_class_device *devices); /* NULL is fine */

/* Adds the inputs of the root `step` in the current tile on the session's device. GROVE_MISSING:
 * the host has to. */
int grove_class_device_add(grove_class_device *devices, grove_run *run, const grove_step *step);
/* The value over `range` on the device that was given all, as a reference. GROVE_MISSING: several
 * were, or it cannot, and their states are as they were. */
int grove_class_device_finish(grove_class_device *devices, const grove_range *range,
                              grove_value **value);
/* Merges all into the host's state of the class. */
int grove_class_device_merge(grove_class_device *devices, void *state);

#endif
