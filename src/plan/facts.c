#include "plan/facts.h"

#include "base/memory.h"

int grove_form_elements(const grove_form *form)
{
    return form->shape == GROVE_VECTOR ? form->vector : form->shape;
}

size_t grove_form_bytes(const grove_form *form, bool double_)
{
    return (size_t)grove_form_elements(form) * (double_ ? 8 : 4) * (form->complex_ ? 2 : 1);
}

const grove_amounts *grove_facts_amounts(const grove_facts *facts, const grove_node *node)
{
    return &node->amounts[facts[node->id].double_];
}

static void learn(grove_facts *facts, const grove_node *node);

static void learn_member(grove_facts *facts, const grove_node *node)
{
    grove_facts *own = &facts[node->id];
    const grove_facts *leaf = &facts[node->leaf->id];

    own->flagged = node->form.flags;
    if (node->leaf->members[node->member].data)
        return;
    if (!grove_hash_equal(leaf->content, (grove_hash){0}))
        own->key = grove_hash_join(own->key, leaf->content);
}

/* A mean, minimum or maximum over only flagged samples is flagged. */
static bool has_no_sample(const grove_node *node)
{
    if (node->kind != GROVE_NODE_CLASS || !(node->class_->kind == GROVE_CLASS_REDUCTION) ||
        node->class_->reduce == GROVE_REDUCE_SUM)
        return false;
    for (int k = 0; k < node->consumed_count; k++)
        if (node->consumed[k]->size == 0)
            return true;
    return false;
}

static void learn(grove_facts *facts, const grove_node *node)
{
    grove_facts *own = &facts[node->id];
    grove_hash joined = node->key;
    bool changed = false;

    if (own->known)
        return;
    own->known = true;
    own->key = node->key;
    if (node->kind == GROVE_NODE_MEMBER)
        learn_member(facts, node);
    bool accumulates = grove_node_accumulates(node);
    own->flagged = accumulates ? node->form.flags : own->flagged || has_no_sample(node);
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        if (!in)
            continue;
        learn(facts, in);
        own->flagged = own->flagged || (facts[in->id].flagged && !accumulates);
        joined = grove_hash_join(joined, facts[in->id].key);
        changed = changed || !grove_hash_equal(facts[in->id].key, in->key);
    }
    if (changed)
        own->key = joined;
}

grove_facts *grove_facts_new(const grove_tree *tree, bool double_precision)
{
    grove_facts *facts = grove_alloc((tree->node_count + 1) * sizeof(*facts));

    for (size_t i = 0; i < tree->node_count; i++) {
        grove_precision precision = tree->nodes[i]->form.precision;
        facts[tree->nodes[i]->id].double_ = precision == GROVE_PRECISION_DOUBLE ||
                                            (precision == GROVE_PRECISION_RUN && double_precision);
    }
    grove_facts_update(facts, tree);
    return facts;
}

void grove_facts_update(grove_facts *facts, const grove_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++)
        facts[tree->nodes[i]->id].known = false;
    for (size_t i = 0; i < tree->node_count; i++)
        learn(facts, tree->nodes[i]);
}
