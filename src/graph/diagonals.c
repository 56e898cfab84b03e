/* Matrices that are diagonal though they are not written so, matrix(a, 0, 0, d), are diagonals in
 * products. */
#include "graph/call.h"
#include "graph/chain.h"
#include "graph/neutral.h"
#include "graph/rewrite.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdlib.h>

typedef struct {
    grove_tree *tree;
    size_t known;
    bool *seen;
    grove_node *
        *made; /* by node id, of seen nodes: the same value as a diagonal; NULL: it is none */
} diagonals;

static grove_node *find(diagonals *d, grove_node *node);

/* A value in place of input k, seen from the same station. */
static grove_operand operand_of(const grove_node *node, int k, grove_node *value)
{
    char side = node->inputs[k].side;

    return (grove_operand){
        .kind = GROVE_OPERAND_NODE, .node = value, .role = side ? side : node->role};
}

/* diagonal(a, d) of matrix(a, 0, 0, d). */
static grove_node *of_matrix(diagonals *d, const grove_node *matrix)
{
    const grove_class *class_ = grove_tree_operator(d->tree, GROVE_ROLE_DIAGONAL);
    grove_argument arguments[2] = {{.place = matrix->place}, {.place = matrix->place}};

    for (int k = 0; k < 4; k++)
        if (!matrix->inputs[k].node ||
            ((k == 1 || k == 2) && !grove_node_is_number(matrix->inputs[k].node, 0)))
            return NULL;
    for (int k = 0; k < 2; k++)
        arguments[k].operand = operand_of(matrix, 3 * k, matrix->inputs[3 * k].node);
    return class_ ? grove_tree_call(d->tree, class_, NULL, &matrix->place, arguments, 2).node
                  : NULL;
}

/* Of a function of diagonals: adjoints, inverses, products. */
static grove_node *of_function(diagonals *d, const grove_node *node)
{
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    bool product = grove_node_has_role(node, GROVE_ROLE_PRODUCT);
    int count = product ? 2 : 1;

    for (int k = 0; k < count; k++) {
        const grove_edge *edge = &node->inputs[k];
        grove_node *made = edge->node ? find(d, edge->node) : NULL;
        if (made)
            others[k] = operand_of(node, k, made);
        else if (!edge->node || edge->node->form.shape == GROVE_MATRIX)
            return NULL;
    }
    return grove_tree_remake(d->tree, node, others).node;
}

static bool keeps_diagonals(const grove_node *node)
{
    return grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
           grove_node_has_role(node, GROVE_ROLE_QUOTIENT) ||
           grove_node_has_role(node, GROVE_ROLE_NEGATIVE) ||
           grove_node_has_role(node, GROVE_ROLE_INVERSE) ||
           grove_node_has_role(node, GROVE_ROLE_TRANSPOSE) ||
           grove_node_has_role(node, GROVE_ROLE_HERMITIAN) ||
           grove_node_has_role(node, GROVE_ROLE_CONJUGATE);
}

/* The matrix as a diagonal with the same numbers, or NULL. */
static grove_node *find(diagonals *d, grove_node *node)
{
    node = grove_node_behind_casts(node);
    if (node->form.shape != GROVE_MATRIX || (size_t)node->id >= d->known)
        return NULL;
    if (d->seen[node->id])
        return d->made[node->id];
    d->seen[node->id] = true;
    if (grove_node_has_role(node, GROVE_ROLE_MATRIX))
        d->made[node->id] = of_matrix(d, node);
    else if (keeps_diagonals(node))
        d->made[node->id] = of_function(d, node);
    return d->made[node->id];
}

/* The product of two matrices with the one that is diagonal as a diagonal; NULL: none is, or both,
 * which leaves no matrix. */
static grove_node *make_product(diagonals *d, const grove_node *product)
{
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    grove_node *made[2];

    for (int k = 0; k < 2; k++) {
        const grove_node *input = product->inputs[k].node;
        if (!input || input->form.shape != GROVE_MATRIX)
            return NULL;
        made[k] = find(d, product->inputs[k].node);
    }
    int k = made[1] != NULL;
    if (!made[0] == !made[1] || grove_node_may_be_flagged(made[k]))
        return NULL;
    others[k] = operand_of(product, k, made[k]);
    grove_node *all = grove_tree_remake(d->tree, product, others).node;
    return all && grove_node_alike(all, product) ? all : NULL;
}

bool grove_tree_find_diagonals(grove_tree *tree)
{
    diagonals d = {.tree = tree, .known = tree->node_count};
    grove_error *error = tree->error;
    bool replaced = false;

    d.seen = grove_alloc((d.known + 1) * sizeof(*d.seen));
    d.made = grove_alloc((d.known + 1) * sizeof(grove_node *));
    tree->error = grove_error_new(); /* a failure here is no error of the tree */
    for (size_t i = 0; i < d.known; i++) {
        grove_node *node = tree->nodes[i];
        grove_node *made =
            grove_node_has_role(node, GROVE_ROLE_PRODUCT) ? make_product(&d, node) : NULL;
        if (!made)
            continue;
        grove_node_take_name(made, node);
        grove_node_replace(tree, node, made);
        replaced = true;
    }
    grove_error_free(tree->error);
    tree->error = error;
    free(d.seen);
    free(d.made);
    return replaced;
}
