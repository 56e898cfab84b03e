/* Constant tables of nodes, which each device of a session gets once and keeps. */
#ifndef GROVE_RUN_TABLE_H
#define GROVE_RUN_TABLE_H

#include "run/state.h"

/* The node's table as a buffer, for its address on any device; NULL: it has none. Lent, until the
 * tables are freed. From the evaluating thread. */
grove_buffer *grove_table_of(grove_session *session, const grove_node *node);
/* What all tables together take of a device's memory. */
uint64_t grove_table_bytes(const grove_session *session);
/* Before the session's devices go. */
void grove_table_free_all(grove_session *session);

#endif
