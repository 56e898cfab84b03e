/* Of which stations the factors of random products are: what the tree language lets meet. */
#include "random-tree.h"

/* As an input is seen. */
static random_sides sides_seen(const random_tree *tree, const random_node *node, int k)
{
    const random_node *in = &tree->node[node->input[k]];

    if (in->value.shape == GROVE_SCALAR || in->value.shape == GROVE_VECTOR)
        return (random_sides){0};
    if (in->value.axes >> RANDOM_STATION & 1)
        return (random_sides){node->role[k], node->role[k], true, true};
    return in->value.axes >> RANDOM_BASELINE & 1 ? in->sides : (random_sides){0};
}

random_sides random_sides_of(const random_tree *tree, const random_node *node)
{
    random_sides a = {0}, b = {0};

    if (node->inputs > 0)
        a = sides_seen(tree, node, 0);
    if (node->inputs > 1)
        b = sides_seen(tree, node, 1);
    switch (node->operation) {
    case RANDOM_MEMBER:
    case RANDOM_POINT:
        return (random_sides){'p', 'q', false, false};
    case RANDOM_HERMITIAN:
    case RANDOM_TRANSPOSE:
    case RANDOM_INVERSE:
        return (random_sides){a.right, a.left, a.right_open, a.left_open};
    case RANDOM_MULTIPLY:
        return (random_sides){a.left ? a.left : b.left, b.right ? b.right : a.right,
                              a.left ? a.left_open : b.left_open,
                              b.right ? b.right_open : a.right_open};
    case RANDOM_ADD:
    case RANDOM_SUBTRACT:
        return !a.left || a.left == '?' ? b : a;
    case RANDOM_NEGATE:
    case RANDOM_DIVIDE:
    case RANDOM_PLAIN:
    case RANDOM_SUM:
    case RANDOM_MEAN:
    case RANDOM_MIN:
    case RANDOM_MAX:
        return a;
    default:
        return (random_sides){'?', '?', false, false};
    }
}

bool random_sides_fit(const random_tree *tree, const random_node *node)
{
    if (node->operation != RANDOM_MULTIPLY)
        return true;
    random_sides a = sides_seen(tree, node, 0), b = sides_seen(tree, node, 1);
    if (!a.right || !b.left || a.right == '?' || b.left == '?' || a.right == b.left)
        return true;
    if (a.left != a.right && b.left != b.right)
        return true;
    return a.right == 'p' && a.right_open && b.left_open;
}
