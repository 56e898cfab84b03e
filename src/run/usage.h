/* What devices did, for nodes and for the session: bytes copied, launches, allocations, time. */
#ifndef GROVE_RUN_USAGE_H
#define GROVE_RUN_USAGE_H

#include "run/state.h"

/* With profile: the time of what this thread has devices do from now on is added to `busy` (NULL:
 * to nothing). */
void grove_usage_time_for(grove_session *session, grove_busy *busy);
/* With profile: waits until all that was asked for is done, and its time known. */
void grove_usage_wait(grove_session *session);
/* Counts for a node what devices did since the last call. */
void grove_usage_count_for(grove_session *session, const grove_node *node);
/* Counts for the session all that they did. */
void grove_usage_count(grove_session *session);

#endif
