/* Constant tables of nodes, copied to each device once per session. */
#ifndef GROVE_RUN_TABLE_H
#define GROVE_RUN_TABLE_H

#include "run/state.h"

/* The node's table as a buffer, for its address on any device; NULL: it has none. Borrowed, until
 * the tables are freed. From the evaluating thread. */
grove_buffer *grove_table_of(grove_session *session, const grove_node *node);
/* Bytes of all tables together on a device. */
uint64_t grove_table_bytes(const grove_session *session);
/* Must be freed before the session's devices. */
void grove_table_free_all(grove_session *session);

#endif
