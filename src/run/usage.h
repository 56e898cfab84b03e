/* Work of devices, for nodes and for the session: bytes copied, launches, allocations, time. */
#ifndef GROVE_RUN_USAGE_H
#define GROVE_RUN_USAGE_H

#include "run/state.h"

/* With profile or energy: the time of device work that this thread requests from now on is added to
 * `busy` (NULL: to nothing). */
void grove_usage_time_for(grove_session *session, grove_busy *busy);
/* With profile or energy: waits until all requested work is complete and its time known. */
void grove_usage_wait(grove_session *session);
/* Adds the work since the last call to a node. */
void grove_usage_count_for(grove_session *session, const grove_node *node);
/* Adds the time since `began` to a node that adds up its inputs, or makes its result, and reports
 * the event. */
void grove_usage_seconds_for(grove_session *session, const grove_node *node, const char *kind,
                             double began);
/* Adds all work to the session. */
void grove_usage_count(grove_session *session);

#endif
