/* Sessions: a tree with devices, cache, error and counters. The public part is in grove.h. */
#ifndef GROVE_RUN_SESSION_H
#define GROVE_RUN_SESSION_H

#include "grove.h"

#include "graph/graph.h"
#include "run/content.h"
#include "value/value.h"

/* Like grove_session_new, without an observer. */
grove_session *grove_session_open(grove_tree *tree, const grove_session_options *options,
                                  grove_error *error);

/* The value of a node over its whole extent (or over ranges of some axes), evaluated within the
 * session's memory budget. A reference that the caller drops. */
int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value);

/* Waits until devices have finished their queued work. */
int grove_session_wait(grove_session *session);

grove_tree *grove_session_tree(grove_session *session); /* borrowed */
grove_error *grove_session_error(grove_session *session);

#endif
