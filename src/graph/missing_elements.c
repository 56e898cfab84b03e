/* Elements of Jones terms that were not measured: correlations that a set does not have. They are
 * neither 0 nor the identity's, so that a value which needs one is not known either. */
#include "graph/call.h"
#include "graph/neutral.h"

#include "base/error.h"
#include "unstable/fit.h"

#include <stdlib.h>

enum { DIAGONAL = 9, ALL = 15 };

static unsigned transpose_elements(unsigned bits)
{
    return (bits & DIAGONAL) | (bits & 2) << 1 | (bits & 4) >> 1;
}

/* Elements of the result to which elements of both factors come together. */
static unsigned multiply_elements(unsigned a, unsigned b)
{
    unsigned bits = 0;

    for (int e = 0; e < 4; e++)
        for (int k = 0; k < 2; k++)
            bits |= (a >> (e / 2 * 2 + k) & b >> (2 * k + e % 2) & 1) << e;
    return bits;
}

/* Elements that may differ from 0. */
static unsigned nonzero_elements(const grove_node *node)
{
    bool diagonal = node->form.shape != GROVE_MATRIX;

    if (diagonal)
        return DIAGONAL | node->missing_elements;
    if (grove_node_has_role(node, GROVE_ROLE_MATRIX))
        diagonal = node->inputs[1].node && grove_node_is_number(node->inputs[1].node, 0) &&
                   node->inputs[2].node && grove_node_is_number(node->inputs[2].node, 0);
    else if (node->kind == GROVE_NODE_CAST || grove_node_has_role(node, GROVE_ROLE_HERMITIAN) ||
             grove_node_has_role(node, GROVE_ROLE_TRANSPOSE) ||
             grove_node_has_role(node, GROVE_ROLE_INVERSE))
        return nonzero_elements(node->inputs[0].node);
    return diagonal ? DIAGONAL : ALL;
}

static const char *names_of(grove_arena *arena, unsigned bits)
{
    static const char *const names[] = {"XX (RR)", "XY (RL)", "YX (LR)", "YY (LL)"};
    const char *text = "";

    for (int e = 0; e < 4; e++)
        if (bits >> e & 1)
            text = grove_arena_format(arena, "%s%s%s", text, text[0] ? ", " : "", names[e]);
    return text;
}

static bool is_jones(const grove_node *node)
{
    return node && node->form.shape != GROVE_VECTOR;
}

/* A product of two values without some elements is of numbers, such as squares of the set's. */
static int find_in_product(grove_node *node)
{
    const grove_node *a = node->inputs[0].node, *b = node->inputs[1].node;
    const grove_node *data = a->missing_elements ? a : b, *other = a->missing_elements ? b : a;

    node->missing_elements = a->missing_elements | b->missing_elements;
    if (!node->missing_elements || (a->missing_elements && b->missing_elements) ||
        other->form.shape == GROVE_SCALAR)
        return 0;
    if (data->missing_elements == ALL)
        return grove_node_fail(node, GROVE_SHAPE,
                               "%s is Stokes I only, and can be multiplied only by numbers; its "
                               "product with %s requires the correlations",
                               grove_node_shown(data), grove_node_shown(other));
    node->missing_elements =
        (unsigned char)(data == a ? multiply_elements(a->missing_elements, nonzero_elements(b))
                                  : multiply_elements(nonzero_elements(a), b->missing_elements));
    return node->missing_elements < ALL
               ? 0
               : grove_node_fail(
                     node, GROVE_SHAPE,
                     "%s has no %s, and every element of its product with %s, a full matrix, "
                     "requires some of them; multiply it only by diagonal terms",
                     grove_node_shown(data), names_of(node->tree->arena, data->missing_elements),
                     grove_node_shown(other));
}

static int find_in_elements(grove_node *node)
{
    const grove_flag_rule rule = node->class_->flag_rule;

    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        if (is_jones(in) && node->handing[k] != GROVE_AS_FLAGS &&
            (rule != GROVE_FLAGS_MIX ||
             (node->form.complex_ && in->form.shape == node->form.shape)))
            node->missing_elements |= in->missing_elements;
    }
    if (rule == GROVE_FLAGS_TRANSPOSE)
        node->missing_elements = (unsigned char)transpose_elements(node->missing_elements);
    return 0;
}

static int find_in_selection(grove_node *node)
{
    const grove_node *in = node->inputs[0].node;
    const int element = node->select_element,
              e = in->form.shape == GROVE_DIAGONAL ? 3 * element : element;

    if (element < 0 || !is_jones(in)) {
        node->missing_elements = in->missing_elements;
        return 0;
    }
    return !(in->missing_elements >> e & 1)
               ? 0
               : grove_node_fail_option(node, "element", "%s has no %s", grove_node_shown(in),
                                        names_of(node->tree->arena, 1u << e));
}

int grove_infer_missing_elements(grove_node *node)
{
    const grove_class *class_ = node->class_;
    const bool is_composed = grove_node_has_role(node, GROVE_ROLE_MATRIX) ||
                             grove_node_has_role(node, GROVE_ROLE_DIAGONAL) ||
                             grove_node_has_role(node, GROVE_ROLE_SCALAR);

    node->missing_elements = 0;
    if (class_->kind == GROVE_CLASS_SELECTION)
        return find_in_selection(node);
    if ((class_->kind != GROVE_CLASS_VALUE && class_->kind != GROVE_CLASS_REDUCTION) ||
        is_composed || !is_jones(node))
        return 0;
    const bool product = class_->flag_rule == GROVE_FLAGS_PRODUCT && node->input_count >= 2 &&
                         is_jones(node->inputs[0].node) && is_jones(node->inputs[1].node);
    return product ? find_in_product(node) : find_in_elements(node);
}

/* ---- for classes ---- */

int grove_node_missing_elements(const grove_node *node, int k)
{
    const grove_node *in = k < node->input_count ? node->inputs[k].node : NULL;

    return in ? in->missing_elements : 0;
}

void grove_node_set_missing_elements(grove_node *node, int elements)
{
    node->missing_elements = (unsigned char)elements;
}
