#include "run/table.h"

#include "base/memory.h"

#include <stdlib.h>

grove_buffer *grove_table_of(grove_session *session, const grove_node *node)
{
    if (!node->table)
        return NULL;
    if (!session->tables)
        session->tables = grove_alloc(session->tree->node_count * sizeof(*session->tables));
    grove_buffer **table = &session->tables[node->id];
    if (!*table)
        *table = grove_buffer_borrow(session->host, node->table, node->table_bytes);
    return *table;
}

uint64_t grove_table_bytes(const grove_session *session)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < session->tree->node_count; i++) {
        const grove_node *node = session->tree->nodes[i];
        if (node->used && node->table)
            sum += grove_device_block_bytes(session->device, node->table_bytes);
    }
    return sum;
}

void grove_table_free_all(grove_session *session)
{
    for (size_t i = 0; session->tables && i < session->tree->node_count; i++)
        grove_buffer_unref(session->tables[i]);
    free(session->tables);
    session->tables = NULL;
}
