/* Sides of products: the station, p or q, of each factor of a baseline. */
#include "graph/call.h"
#include "graph/neutral.h"

#include <string.h>

enum { NONE = 0, UNKNOWN = '?', MAX_FACTORS = 256 };

static bool has_kind(const grove_node *node, int kind)
{
    return grove_node_axes_of_kind(node, kind, NULL, 0) > 0;
}

static grove_sides sides_of(const grove_node *node, char side)
{
    const grove_sides none = {0}, left_to_right = {'p', 'q', false, false};

    node = grove_node_behind_casts(node);
    if (node->form.shape == GROVE_SCALAR)
        return none;
    if (has_kind(node, GROVE_AXIS_STATION))
        return (grove_sides){side, side, true, true};
    if (!has_kind(node, GROVE_AXIS_BASELINE))
        return none;
    return node->kind == GROVE_NODE_MEMBER ? left_to_right : node->sides;
}

static grove_sides sides_of_input(const grove_node *node, int k)
{
    return sides_of(node->inputs[k].node, node->inputs[k].side);
}

static grove_sides sides_of_product(const grove_node *node)
{
    grove_sides a = sides_of_input(node, 0), b = sides_of_input(node, 1);

    return (grove_sides){a.left ? a.left : b.left, b.right ? b.right : a.right,
                         a.left ? a.left_open : b.left_open, b.right ? b.right_open : a.right_open};
}

static grove_sides sides_of_sum(const grove_node *node)
{
    grove_sides a = sides_of_input(node, 0), b = sides_of_input(node, 1);

    return a.left == NONE || a.left == UNKNOWN ? b : a;
}

grove_sides grove_infer_sides(const grove_node *node)
{
    const grove_class *class_ = node->class_;
    grove_sides in;

    switch (class_->role) {
    case GROVE_ROLE_PRODUCT:
        return sides_of_product(node);
    case GROVE_ROLE_SUM:
    case GROVE_ROLE_DIFFERENCE:
        return sides_of_sum(node);
    case GROVE_ROLE_NEGATIVE:
    case GROVE_ROLE_QUOTIENT:
        return sides_of_input(node, 0);
    case GROVE_ROLE_INVERSE:
    case GROVE_ROLE_TRANSPOSE:
    case GROVE_ROLE_HERMITIAN:
        in = sides_of_input(node, 0);
        return (grove_sides){in.right, in.left, in.right_open, in.left_open};
    case GROVE_ROLE_SOURCE:
        return (grove_sides){'p', 'q', false, false};
    default:
        if (class_->kind == GROVE_CLASS_REDUCTION)
            return sides_of_input(node, 0);
        return (grove_sides){UNKNOWN, UNKNOWN, false, false};
    }
}

static bool may_follow(grove_sides a, grove_sides b)
{
    if (!a.right || !b.left || a.right == UNKNOWN || b.left == UNKNOWN || a.right == b.left)
        return true;
    if (a.left != a.right && b.left != b.right) /* two values per baseline */
        return true;
    return a.right == 'p' && a.right_open && b.left_open;
}

/* ---- scalars: anywhere, but not twice at one station ---- */

typedef struct {
    const grove_node *node;
    char side;
    bool conjugated;
} factor;

static bool is_antilinear(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS && node->class_->inputs && node->input_count == 1 &&
           node->class_->inputs[0].linear == GROVE_ANTILINEAR;
}

static factor factor_of(const grove_node *node, char side)
{
    factor found = {node, side, false};

    for (; found.node->kind == GROVE_NODE_CAST || is_antilinear(found.node);
         found.node = found.node->inputs[0].node)
        found.conjugated ^= found.node->kind != GROVE_NODE_CAST;
    return found;
}

/* Whether the same value is in a product, conjugated or not, as its factor k at that side. Some
 * hundred factors are looked at; `left` counts the remaining ones. */
static bool has_factor(const grove_node *node, int k, factor like, int *left)
{
    node = grove_node_behind_casts(node);
    if (node->kind != GROVE_NODE_CLASS || node->class_->role != GROVE_ROLE_PRODUCT || --*left < 0)
        return false;
    factor found = factor_of(node->inputs[k].node, node->inputs[k].side);
    return (found.node == like.node && found.side == like.side &&
            found.conjugated == like.conjugated) ||
           has_factor(node->inputs[0].node, k, like, left) ||
           has_factor(node->inputs[1].node, k, like, left);
}

/* G[p] * V * G[p]^H, where G[q]^H was meant. */
static int check_scalar(const grove_node *node, int k)
{
    const grove_edge *edge = &node->inputs[k];
    factor given = factor_of(edge->node, edge->side);
    int left = MAX_FACTORS;
    const char *name = given.node->name;

    if (edge->node->form.shape != GROVE_SCALAR || !edge->side)
        return 0;
    given.conjugated = !given.conjugated;
    if (!has_factor(node->inputs[1 - k].node, 1 - k, given, &left))
        return 0;
    return grove_infer_fail(node, k, GROVE_SHAPE,
                            "%s[%c] is on both sides; the term of the other station is %s[%c]",
                            name, edge->side, name, edge->side == 'p' ? 'q' : 'p');
}

int grove_check_sides(const grove_node *node)
{
    int code = 0;

    if (node->class_->role != GROVE_ROLE_PRODUCT || !node->inputs[0].node || !node->inputs[1].node)
        return 0;
    grove_sides a = sides_of_input(node, 0), b = sides_of_input(node, 1);
    if (!may_follow(a, b)) {
        bool first = a.left == a.right; /* else the other one */
        return grove_infer_fail(
            node, first ? 0 : 1, GROVE_SHAPE,
            "this factor has station %c, but the product on its %s %s with station %c; factors of "
            "p must be on the left, factors of q on the right",
            first ? a.right : b.left, first ? "right" : "left", first ? "begins" : "ends",
            first ? b.left : a.right);
    }
    for (int k = 0; k < 2 && !code; k++)
        code = check_scalar(node, k);
    return code;
}
