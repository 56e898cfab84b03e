#include "run/content.h"

#include "base/memory.h"
#include "run/state.h"

#include <stdlib.h>

static bool is_key(const grove_session *session, grove_hash key)
{
    for (size_t i = 0; i < session->tree->node_count; i++)
        if (grove_hash_equal(session->facts[session->tree->nodes[i]->id].key, key))
            return true;
    return false;
}

/* Drops values under keys that no node has any more. */
static void update_facts(grove_session *session)
{
    size_t count = session->tree->node_count;
    grove_hash *before = grove_alloc((count + 1) * sizeof(*before));

    for (size_t i = 0; i < count; i++)
        before[i] = session->facts[session->tree->nodes[i]->id].key;
    grove_facts_update(session->facts, session->tree);
    for (size_t i = 0; i < count; i++)
        if (!grove_hash_equal(before[i], session->facts[session->tree->nodes[i]->id].key) &&
            !is_key(session, before[i]))
            grove_cache_forget(session->cache, before[i]);
    free(before);
}

static void raise_content(grove_session *session, const grove_node *leaf)
{
    session->facts[leaf->id].content =
        grove_hash_integer(grove_hash_start(), ++session->generation);
}

void grove_session_renew(grove_session *session, const grove_node *leaf)
{
    raise_content(session, leaf);
    update_facts(session);
}

void grove_session_renew_for(grove_session *session, const grove_node *action)
{
    const grove_tree *tree = session->tree;

    for (size_t i = 0; i < tree->node_count; i++)
        if (grove_node_renews_leaf(action, tree->nodes[i]))
            raise_content(session, tree->nodes[i]);
    update_facts(session);
}

void grove_session_set_content(grove_session *session, const grove_node *leaf, grove_hash content)
{
    session->facts[leaf->id].content = content;
    grove_facts_update(session->facts, session->tree);
}

static bool is_renewed(const grove_tree *tree, const grove_node *leaf)
{
    for (size_t i = 0; i < tree->action_count; i++)
        if (grove_node_renews_leaf(tree->actions[i], leaf))
            return true;
    return false;
}

void grove_session_renew_all(grove_session *session, bool failed)
{
    const grove_tree *tree = session->tree;

    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i]->kind == GROVE_NODE_LEAF &&
            (!failed || is_renewed(tree, tree->nodes[i])))
            raise_content(session, tree->nodes[i]);
    update_facts(session);
}
