/* New content of leaves: values that depend on it are evaluated again. */
#ifndef GROVE_RUN_CONTENT_H
#define GROVE_RUN_CONTENT_H

#include "graph/graph.h"
#include "grove.h"

/* Between evaluations: a leaf's content has changed. Values that depend on it are recomputed, all
 * others are kept. */
void grove_session_renew(grove_session *session, const grove_node *leaf);
/* The same for all leaves to which the action gives new content. */
void grove_session_renew_for(grove_session *session, const grove_node *action);
/* The same with a hash of the new content: values computed from the same content before are found
 * again. */
void grove_session_set_content(grove_session *session, const grove_node *leaf, grove_hash content);
/* After a run: inputs may differ that it has written; after a failed one, only leaves to which its
 * actions gave new content. */
void grove_session_renew_all(grove_session *session, bool failed);

#endif
