/* The state of an accumulator that a plugin computes: made, given each tile, finished. A class that
 * can merge states has several, to which threads add pieces of a tile at the same time. */
#ifndef GROVE_RUN_CLASS_STATE_H
#define GROVE_RUN_CLASS_STATE_H

#include "run/step.h"

typedef struct grove_class_state grove_class_state;

/* `max`: number of states of the class; 1 if it cannot merge them. */
int grove_class_state_new(grove_session *session, const grove_node *node, int max,
                          grove_class_state **state);
void grove_class_state_free(grove_class_state *state); /* NULL is fine */

/* Adds the inputs of the root `step` in the current tile. */
int grove_class_state_add(grove_run *run, const grove_step *step, grove_class_state *state);
/* After each walk over the tiles: whether the class asks for another one. `range`: as below. */
int grove_class_state_walk(grove_class_state *state, const grove_range *range, bool *again);
/* The value over `range`: all axes of the node. */
int grove_class_state_finish(grove_class_state *state, const grove_range *range,
                             grove_value **value);

#endif
