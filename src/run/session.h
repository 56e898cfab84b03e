/* Sessions: a tree with devices, cache, error and counters. Most of it is public: grove.h. */
#ifndef GROVE_RUN_SESSION_H
#define GROVE_RUN_SESSION_H

#include "grove.h"

#include "graph/graph.h"
#include "value/value.h"

/* As grove_session_new, without an observer. */
grove_session *grove_session_open(grove_tree *tree, const grove_session_options *options,
                                  grove_error *error);

/* The value of a node over its whole extent (or over the blocks of some axes), evaluated in the
 * session's memory budget. A reference the caller drops. */
int grove_session_evaluate(grove_session *session, grove_node *node, const grove_range *range,
                           int ranges, grove_value **value);

/* Until devices are done with what they were given. */
int grove_session_wait(grove_session *session);

/* Between evaluations: what a leaf reads is other than it ever was. Values that depend on it are
 * computed anew, all others stay. */
void grove_session_renew(grove_session *session, const grove_node *leaf);
/* The same, with a hash of what it reads now: what was computed from that content is found again.
 */
void grove_session_set_content(grove_session *session, const grove_node *leaf, grove_hash content);

/* Whether the text can name a device; there need be none. */
bool grove_session_device_is_known(const char *name);

grove_tree *grove_session_tree(grove_session *session); /* borrowed */
grove_error *grove_session_error(grove_session *session);

#endif
