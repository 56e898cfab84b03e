/* The state of a plugin's accumulator during a pass: created, given each tile, finished. */
#ifndef GROVE_RUN_CLASS_STATE_H
#define GROVE_RUN_CLASS_STATE_H

#include "run/step.h"

typedef struct grove_class_state grove_class_state;

int grove_class_state_new(grove_session *session, const grove_node *node,
                          grove_class_state **state);
void grove_class_state_free(grove_class_state *state); /* NULL is fine */

/* Adds the inputs of the root `step` in the current tile. */
int grove_class_state_add(grove_run *run, const grove_step *step, grove_class_state *state);
/* The value over `range`: all axes of the node. */
int grove_class_state_finish(grove_class_state *state, const grove_range *range,
                             grove_value **value);

#endif
