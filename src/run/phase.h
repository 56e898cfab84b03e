/* The phases of a run in which classes take part: start, begin, prepare, commit or abort, stop. */
#ifndef GROVE_RUN_PHASE_H
#define GROVE_RUN_PHASE_H

#include "graph/graph.h"
#include "grove.h"

/* Calls start of all classes that `roots` need; the states go to session->runs. Stop must be called
 * afterwards, even after a failure. */
int grove_phase_start(grove_session *session, grove_node *const *roots, size_t count);
void grove_phase_stop(grove_session *session);

/* Begins the actions. After a failure, or when session->has_ended says that nothing is left to do,
 * they must be aborted. */
int grove_phase_begin(grove_session *session);
/* Aborts the actions that have begun: every output is as it was before. */
void grove_phase_abort(grove_session *session);
/* Prepares one that gives leaves new content, and counts that as new. */
int grove_phase_renew(grove_session *session, const grove_node *action);
/* Prepares all other actions, then commits all; where one cannot be prepared, all are aborted. */
int grove_phase_commit(grove_session *session);

#endif
