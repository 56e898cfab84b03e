/* Facts about each node: keys of content, flags, precision. */
#ifndef GROVE_PLAN_FACTS_H
#define GROVE_PLAN_FACTS_H

#include "graph/graph.h"
#include "value/value.h"

typedef struct {
    /* The node's key, combined with the content of the leaves that it depends on. */
    grove_hash key;
    bool known, flagged; /* its value may have flags */
    bool double_;        /* its numbers are double */
    grove_hash
        content; /* of leaves: hash of their present content, {0} while it is as when opened */
} grove_facts;

/* One per node of the tree, indexed by id; free with free(). */
grove_facts *grove_facts_new(const grove_tree *tree, bool double_precision);
/* Updates the keys after the content of leaves has changed. */
void grove_facts_update(grove_facts *facts, const grove_tree *tree);

/* Memory of a node's class besides its values in a run with these facts. */
const grove_amounts *grove_facts_amounts(const grove_facts *facts, const grove_node *node);

int grove_form_elements(const grove_form *form); /* numbers per cell */
size_t grove_form_bytes(const grove_form *form, bool double_);

#endif
