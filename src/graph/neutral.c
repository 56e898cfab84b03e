/* Products with one and sums with zero, which options may leave in trees, are replaced by the other
 * operand, and scalar(x) by x. */
#include "graph/neutral.h"

grove_node *grove_node_behind_casts(const grove_node *node)
{
    while (node && node->kind == GROVE_NODE_CAST)
        node = node->inputs[0].node;
    return (grove_node *)node;
}

grove_node *grove_node_input_named(const grove_node *node, const char *name)
{
    int k = grove_node_input(node, name);

    return k < 0 ? NULL : grove_node_behind_casts(node->inputs[k].node);
}

bool grove_node_is_number(grove_node *node, double number)
{
    node = grove_node_behind_casts(node);
    return node->kind == GROVE_NODE_CONSTANT && node->form.shape == GROVE_SCALAR &&
           node->constant->number == number && node->constant->imaginary == 0;
}

bool grove_node_alike(const grove_node *a, const grove_node *b)
{
    const grove_form *x = &a->form, *y = &b->form;

    if (x->shape != y->shape || x->vector != y->vector || x->complex_ != y->complex_ ||
        x->precision != y->precision || !grove_unit_equal(x->unit, y->unit) ||
        a->axis_count != b->axis_count || a->role != b->role)
        return false;
    for (int d = 0; d < a->axis_count; d++)
        if (a->axes[d] != b->axes[d])
            return false;
    return true;
}

void grove_node_replace(grove_tree *tree, const grove_node *old, grove_node *new)
{
    for (size_t i = 0; i < tree->node_count; i++)
        for (int k = 0; k < tree->nodes[i]->input_count; k++)
            if (tree->nodes[i]->inputs[k].node == old && tree->nodes[i] != new)
                tree->nodes[i]->inputs[k].node = new;
}

void grove_node_take_name(grove_node *node, const grove_node *from)
{
    if (!node->auto_named || from->auto_named)
        return;
    node->name = from->name;
    node->auto_named = false;
}

static bool stands_for(const grove_node *node, grove_edge edge)
{
    return !edge.side && grove_node_alike(node, edge.node);
}

static grove_node *other_operand(const grove_node *node)
{
    if (grove_node_has_role(node, GROVE_ROLE_SCALAR))
        return stands_for(node, node->inputs[0]) ? node->inputs[0].node : NULL;
    if (node->kind != GROVE_NODE_CLASS || node->input_count != 2 || !node->inputs[0].node ||
        !node->inputs[1].node)
        return NULL;
    bool product = node->class_->role == GROVE_ROLE_PRODUCT;
    bool quotient = node->class_->role == GROVE_ROLE_QUOTIENT;
    bool sum = node->class_->role == GROVE_ROLE_SUM;
    bool difference = node->class_->role == GROVE_ROLE_DIFFERENCE;
    double neutral = product || quotient ? 1 : 0;

    if (!product && !quotient && !sum && !difference)
        return NULL;
    if (grove_node_is_number(node->inputs[1].node, neutral) && stands_for(node, node->inputs[0]))
        return node->inputs[0].node;
    if ((product || sum) && grove_node_is_number(node->inputs[0].node, neutral) &&
        stands_for(node, node->inputs[1]))
        return node->inputs[1].node;
    return NULL;
}

void grove_tree_drop_neutral(grove_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        grove_node *node = tree->nodes[i], *other = other_operand(node);
        if (!other)
            continue;
        grove_node_replace(tree, node, other);
        grove_node_take_name(other, node);
    }
}

grove_node *grove_node_behind_neutral(grove_node *node)
{
    grove_node *other = other_operand(node);

    return other ? grove_node_behind_neutral(other) : node;
}
