/* Products of values of baselines, in any spelling, with one operation for each baseline and term:
 * terms of stations are multiplied first, together with numbers, and hermitians are taken of
 * stations. */
#include "graph/products.h"

#include "base/error.h"
#include "base/memory.h"
#include "graph/chain.h"
#include "graph/neutral.h"

#include <stdlib.h>

typedef struct {
    grove_tree *tree;
    int *uses;             /* of each node, by id */
    bool *inner;           /* it is a part of a product that was looked at */
    size_t known;          /* nodes that have these */
    const grove_node *top; /* the product */
} gathering;

/* Whether the node is opened as a part of a product. */
static bool is_opened(const grove_node *node)
{
    return grove_node_has_role(node, GROVE_ROLE_PRODUCT) ||
           grove_node_has_role(node, GROVE_ROLE_NEGATIVE) || grove_node_adjoint_of(node) ||
           (grove_node_has_role(node, GROVE_ROLE_QUOTIENT) &&
            grove_node_is_plain_number(grove_node_behind_casts(node->inputs[1].node)));
}

/* A value with other users is computed once. */
static bool stays_whole(void *context, const grove_node *node)
{
    const gathering *g = context;

    return node != g->top && (!is_opened(node) || g->uses[node->id] > 1);
}

/* Number of operations on values of baselines in the value and in the factors opened in it. */
static int count_operations(gathering *g, grove_node *node)
{
    int count = 1;

    node = grove_node_behind_casts(node);
    if (!node || stays_whole(g, node) || !grove_node_varies(node, GROVE_AXIS_BASELINE))
        return 0;
    if ((size_t)node->id < g->known)
        g->inner[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        count += count_operations(g, node->inputs[k].node);
    return count;
}

/* ---- parts ---- */

enum { LEFT, MIDDLE, RIGHT, PARTS };

typedef struct {
    grove_chain matrices[PARTS], scalars[PARTS];
    grove_chain common;    /* scalars that vary with neither station nor baseline */
    bool fitted[PARTS][2]; /* whether terms have parms: some do not, some do */
} parts;

static bool is_of_station(const grove_factor *f, char side)
{
    return f->side == side && grove_node_varies(f->node, GROVE_AXIS_STATION);
}

/* Matrices of p up to the first other one go left, matrices of q from the last other one on go
 * right, scalars of stations to their side. */
static void divide(const grove_chain *product, parts *p)
{
    int first = 0, last = product->count;

    while (first < last && (product->at[first].scalar || is_of_station(&product->at[first], 'p')))
        first++;
    while (last > first &&
           (product->at[last - 1].scalar || is_of_station(&product->at[last - 1], 'q')))
        last--;
    for (int i = 0; i < product->count; i++) {
        const grove_factor *f = &product->at[i];
        bool fitted = grove_node_has_parm(f->node);
        int part = is_of_station(f, 'p') && (f->scalar || i < first)   ? LEFT
                   : is_of_station(f, 'q') && (f->scalar || i >= last) ? RIGHT
                                                                       : MIDDLE;
        bool common = f->scalar && part == MIDDLE && !fitted &&
                      !grove_node_varies(f->node, GROVE_AXIS_STATION) &&
                      !grove_node_varies(f->node, GROVE_AXIS_BASELINE);
        grove_chain_add(common      ? &p->common
                        : f->scalar ? &p->scalars[part]
                                    : &p->matrices[part],
                        f);
        p->fitted[part][fitted] = true;
    }
}

/* The scalars in an order of their own, then the matrices; of the right from the outside, too. */
static grove_chain put_together(parts *p, int part)
{
    grove_chain all = {.constant = {1, 0}}, *scalars = &p->scalars[part];
    const grove_chain *matrices = &p->matrices[part];

    grove_chain_sort(scalars);
    for (int i = 0; i < scalars->count && part != RIGHT; i++)
        grove_chain_add(&all, &scalars->at[i]);
    for (int i = 0; i < matrices->count; i++)
        grove_chain_add(&all, &matrices->at[i]);
    for (int i = scalars->count; i-- > 0 && part == RIGHT;)
        grove_chain_add(&all, &scalars->at[i]);
    return all;
}

static int size_of(const parts *p, int part)
{
    return p->matrices[part].count + p->scalars[part].count;
}

/* Operations on values of baselines. */
static int count_needed(const parts *p, bool scaled)
{
    bool sides = size_of(p, LEFT) || size_of(p, RIGHT);
    int count = (size_of(p, LEFT) > 0) + (size_of(p, RIGHT) > 0) + size_of(p, MIDDLE) - 1;

    for (int i = 0; i < p->matrices[MIDDLE].count; i++)
        count += p->matrices[MIDDLE].at[i].adjoint;
    for (int i = 0; i < p->scalars[MIDDLE].count; i++)
        count += p->scalars[MIDDLE].at[i].adjoint;
    return count + (!sides && (scaled || p->common.count));
}

/* ---- putting together ---- */

/* Factors that vary with neither station nor baseline are multiplied with a term of stations. */
static grove_node *make(grove_tree *tree, const grove_chain *product, parts *p,
                        const grove_place *place)
{
    const double *c = product->constant;
    bool failed = false;
    grove_operand number = {0}, at[PARTS] = {{0}}, common;
    int scaled = size_of(p, LEFT) ? LEFT : size_of(p, RIGHT) ? RIGHT : MIDDLE;

    for (int part = 0; part < PARTS; part++) {
        grove_chain all = put_together(p, part);
        at[part] = part == RIGHT ? grove_chain_make_right(&all, true, place, &failed)
                                 : grove_chain_make(&all, true, place, &failed);
    }
    grove_chain_sort(&p->common);
    common = grove_chain_make(&p->common, true, place, &failed);
    if (c[0] != 1 || c[1] != 0)
        number = grove_chain_number(tree, c[0], c[1], GROVE_UNIT_NONE, GROVE_PRECISION_RUN, place);
    common = grove_chain_multiply(number, common, place, &failed);
    at[scaled] = grove_chain_multiply(common, at[scaled], place, &failed);
    grove_operand made = grove_chain_multiply(at[LEFT], at[MIDDLE], place, &failed);
    return grove_chain_multiply(made, at[RIGHT], place, &failed).node;
}

/* The product with fewer operations for a baseline; NULL: there is none. */
static grove_node *gather(gathering *g, grove_node *node)
{
    grove_chain product = {.constant = {1, 0}};
    const grove_axis *baseline = NULL;
    parts p = {.common.constant = {1, 0}};

    g->top = node;
    int operations = count_operations(g, node);
    grove_node_axes_of_kind(node, GROVE_AXIS_BASELINE, &baseline, 1);
    grove_chain_open_but(&product, NULL, (grove_edge){node, 0}, baseline, stays_whole, g);
    divide(&product, &p);
    bool scaled = product.constant[0] != 1 || product.constant[1] != 0;
    bool mixed = (p.fitted[LEFT][0] && p.fitted[LEFT][1]) ||
                 (p.fitted[RIGHT][0] && p.fitted[RIGHT][1]); /* fits keep values without parms */
    bool sides = size_of(&p, LEFT) || size_of(&p, RIGHT);
    if (product.too_many || mixed || !size_of(&p, MIDDLE) || (!sides && p.common.count) ||
        count_needed(&p, scaled) >= operations)
        return NULL;
    grove_node *made = make(g->tree, &product, &p, &node->place);
    return made && grove_node_alike(made, node) ? made : NULL;
}

static void count_uses(gathering *g)
{
    for (size_t i = 0; i < g->known; i++) {
        const grove_node *node = g->tree->nodes[i];
        for (int k = 0; k < node->input_count; k++) {
            grove_node *input = node->inputs[k].node;
            if (input && node->used && node->kind != GROVE_NODE_CAST)
                g->uses[grove_node_behind_casts(input)->id]++;
        }
    }
}

static void replace(gathering *g, grove_node *node)
{
    grove_error *error = g->tree->error;

    g->tree->error = grove_error_new(); /* a failure here is no error of the tree */
    grove_node *made = gather(g, node);
    grove_error_free(g->tree->error);
    g->tree->error = error;
    if (!made)
        return;
    grove_node_take_name(made, node);
    grove_node_replace(g->tree, node, made);
}

void grove_tree_gather_products(grove_tree *tree)
{
    gathering g = {.tree = tree, .known = tree->node_count};

    g.uses = grove_alloc((g.known + 1) * sizeof(*g.uses));
    g.inner = grove_alloc((g.known + 1) * sizeof(*g.inner));
    count_uses(&g);
    for (size_t i = g.known; i-- > 0;) {
        grove_node *node = tree->nodes[i];
        if (node->used && !g.inner[i] && is_opened(node) &&
            grove_node_varies(node, GROVE_AXIS_BASELINE))
            replace(&g, node);
    }
    free(g.uses);
    free(g.inner);
}
