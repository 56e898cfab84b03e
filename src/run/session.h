/* Sessions: a tree with devices, cache, error and counters. Most of it is public: grove.h. */
#ifndef GROVE_RUN_SESSION_H
#define GROVE_RUN_SESSION_H

#include "grove.h"

#include "graph/graph.h"
#include "value/value.h"

/* The value of a node over its whole extent (or over the blocks of some axes), evaluated in the
 * session's memory budget. A reference the caller drops. */
int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value);

/* Until devices are done with what they were given. */
int grove_session_wait(grove_session *session);

/* What a leaf reads has changed: the values above it are computed anew, all others stay. */
void grove_session_renew(grove_session *session, const grove_node *leaf);

/* Whether the text can name a device; there need be none. */
bool grove_session_device_is_known(const char *name);

grove_tree *grove_session_tree(grove_session *session); /* borrowed */

#endif
