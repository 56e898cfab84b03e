#include "graph/factor_groups.h"

#include "graph/call.h"
#include "graph/chain.h"
#include "graph/derivative.h"
#include "graph/neutral.h"

#include <string.h>

static grove_node *call(grove_role role, grove_node *a, grove_node *b)
{
    const grove_operand first = {.kind = GROVE_OPERAND_NODE, .node = a};
    const grove_operand second = {.kind = b ? GROVE_OPERAND_NODE : GROVE_OPERAND_NOTHING,
                                  .node = b};
    bool failed = false;

    return grove_chain_call(role, first, second, &a->place, &failed).node;
}

/* ---- the outermost factors ---- */

/* The outermost factor of a product, at its left or else at its right; *rest gets the remaining
 * product. */
static grove_node *take_outermost(grove_node **rest, bool at_left)
{
    grove_node *node = *rest;
    bool product = grove_node_has_role(node, GROVE_ROLE_PRODUCT);

    *rest = product ? grove_node_behind_casts(node->inputs[at_left].node) : NULL;
    return product ? grove_node_behind_casts(node->inputs[!at_left].node) : node;
}

/* F rest, or rest F: of F with groups all factors that something is fitted of. */
static void open_side(grove_node *side, bool at_left, grove_node_test *is_fitted, void *context,
                      grove_node **outer, grove_node **rest)
{
    *rest = side;
    *outer = take_outermost(rest, at_left);
    while (*rest && *outer && grove_node_varies(*outer, GROVE_AXIS_SOURCE)) {
        grove_node *inner = *rest, *next = take_outermost(&inner, at_left);
        if (!is_fitted(context, next))
            break;
        *rest = inner;
        *outer = call(GROVE_ROLE_PRODUCT, at_left ? *outer : next, at_left ? next : *outer);
    }
}

/* Right: (F rest)^H, or rest F. */
static void open_right(grove_node *right, grove_node_test *is_fitted, void *context,
                       grove_grouped_sum *to)
{
    const grove_edge *adjoint = grove_node_adjoint_of(right);
    bool hermitian = adjoint != NULL;

    open_side(hermitian ? grove_node_behind_casts(adjoint->node) : right, hermitian, is_fitted,
              context, &to->outer[1], &to->rest[1]);
    if (hermitian && to->outer[1])
        to->outer[1] = to->outer[1] == grove_node_behind_casts(adjoint->node)
                           ? right
                           : call(GROVE_ROLE_HERMITIAN, to->outer[1], NULL);
    if (hermitian && to->rest[1])
        to->rest[1] = call(GROVE_ROLE_HERMITIAN, to->rest[1], NULL);
}

/* The axis of a parm's groups of sources; NULL: it has none, or there is no parm. */
static const grove_axis *groups_of(const grove_node *leaf)
{
    const char *name = leaf ? grove_node_property(leaf, "groups") : NULL;

    return name ? grove_node_axis(leaf, name) : NULL;
}

/* The first parm with groups of sources in a value; NULL: none. */
static const grove_node *grouped_parm(const grove_node *value)
{
    const grove_node *leaf = grove_node_fitted_parm(value), *found = NULL;

    if (leaf)
        return groups_of(leaf) ? leaf : NULL;
    for (int k = 0; k < value->input_count && !found; k++)
        if (value->inputs[k].node)
            found = grouped_parm(value->inputs[k].node);
    return found;
}

/* Finds the factors that are the same for all sources and outermost at a side with fitted parms. */
static bool find_outer(const grove_grouped_sum *sum, grove_node *const side[2],
                       grove_node_test *is_fitted, void *context, grove_grouped_sum *found)
{
    *found = *sum;
    for (int k = 0; k < 2; k++) {
        bool fitted = side[k] && is_fitted(context, side[k]);
        bool whole = fitted && !grove_node_varies(side[k], GROVE_AXIS_SOURCE);
        if (fitted && !whole && !grove_node_varies(sum->outer[k], GROVE_AXIS_SOURCE))
            continue;
        found->outer[k] = whole ? side[k] : NULL;
        found->rest[k] = whole ? NULL : side[k];
    }
    return found->outer[0] || found->outer[1];
}

static bool sums_sources(const grove_node *node)
{
    for (int i = 0; i < node->consumed_count; i++)
        if (node->consumed[i]->kind == GROVE_AXIS_SOURCE)
            return true;
    return false;
}

/* Whether the factors at both sides belong to the stations that products have there. */
static bool is_straight(const grove_node *node)
{
    static const char *const names[] = {"left", "right"};

    for (int k = 0; k < 2; k++) {
        int i = grove_node_input(node, names[k]);
        char side = i < 0 ? 0 : node->inputs[i].side;
        if (side && side != "pq"[k])
            return false;
    }
    return true;
}

bool grove_grouped_sum_find(grove_node *node, grove_node_test *is_fitted, void *context,
                            grove_grouped_sum *found)
{
    grove_node *left = grove_node_input_named(node, "left"),
               *right = grove_node_input_named(node, "right");
    grove_grouped_sum sum = {.sum = node};

    if (!sums_sources(node) || !is_straight(node))
        return false;
    if (left)
        open_side(left, true, is_fitted, context, &sum.outer[0], &sum.rest[0]);
    if (right)
        open_right(right, is_fitted, context, &sum);
    if (find_outer(&sum, (grove_node *[]){left, right}, is_fitted, context, found))
        return true;
    *found = sum;
    for (int k = 0; k < 2; k++)
        if (!found->outer[k] || !is_fitted(context, found->outer[k]) ||
            (found->rest[k] && is_fitted(context, found->rest[k])))
            return false;
    found->leaf = grouped_parm(found->outer[0]);
    found->groups = groups_of(found->leaf);
    return found->groups && groups_of(grouped_parm(found->outer[1])) == found->groups;
}

/* ---- one group ---- */

/* The value with the coefficients of one group in place of each source's group; NULL: it cannot be
 * made. */
static grove_node *of_group(grove_node *value, const grove_axis *groups, int64_t g)
{
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    bool parm = groups_of(grove_node_fitted_parm(value)) == groups;
    bool changed = parm;

    if (value->kind == GROVE_NODE_CAST)
        return of_group(value->inputs[0].node, groups, g);
    if (value->kind != GROVE_NODE_CLASS || value->input_count > GROVE_MAX_INPUTS)
        return value;
    for (int k = 0; k < value->input_count; k++) {
        grove_node *input = value->inputs[k].node;
        if (!input)
            continue;
        grove_node *made = parm ? input : of_group(input, groups, g);
        if (parm && !strcmp(value->input_names[k], "group"))
            others[k] = grove_chain_number(value->tree, (double)g, 0, GROVE_UNIT_NONE,
                                           GROVE_PRECISION_DOUBLE, &value->place);
        else if (made != grove_node_behind_casts(input) && made != input)
            others[k] = (grove_operand){
                .kind = GROVE_OPERAND_NODE, .node = made, .role = value->inputs[k].side};
        if (!made)
            return NULL;
        changed = changed || others[k].kind == GROVE_OPERAND_NODE;
    }
    if (!changed)
        return value;
    grove_operand made = grove_tree_remake(value->tree, value, others);
    return made.kind == GROVE_OPERAND_NODE ? made.node : NULL;
}

/* 1 for the sources of the group, else 0. */
static grove_node *sources_of(const grove_grouped_sum *sum, int64_t g)
{
    grove_node *leaf = (grove_node *)sum->leaf;
    const double *group = grove_node_member_data(leaf, "group");
    const grove_axis *source = NULL;
    const char *name =
        grove_arena_format(leaf->tree->arena, "in_%s_%lld", sum->groups->name, (long long)g);

    grove_node_axes_of_kind(sum->outer[0], GROVE_AXIS_SOURCE, &source, 1);
    if (!group || !source)
        return NULL;
    return grove_tree_indicator(leaf, name, source, group, g, (grove_unit){0}, &leaf->place).node;
}

static grove_operand seen_from(grove_node *value, char side)
{
    bool gathered = grove_node_varies(value, GROVE_AXIS_STATION);

    return (grove_operand){.kind = GROVE_OPERAND_NODE, .node = value, .role = gathered ? side : 0};
}

bool grove_grouped_sum_take(const grove_grouped_sum *sum, int64_t g, grove_node *outer[2],
                            grove_node **middle)
{
    static const grove_literal none = {.kind = GROVE_LITERAL_NONE, .text = "none"};
    const grove_operand nothing = {.kind = GROVE_OPERAND_LITERAL, .literal = &none};
    grove_operand others[GROVE_MAX_INPUTS] = {{0}};
    grove_node *left = sum->groups ? sources_of(sum, g) : sum->rest[0], *right = sum->rest[1];

    for (int k = 0; k < 2; k++) {
        outer[k] = sum->groups ? of_group(sum->outer[k], sum->groups, g) : sum->outer[k];
        if (sum->groups && (!outer[k] || grove_node_varies(outer[k], GROVE_AXIS_SOURCE)))
            return false;
    }
    if (sum->groups && left && sum->rest[0])
        left = call(GROVE_ROLE_PRODUCT, left, sum->rest[0]);
    if (sum->groups && !left)
        return false;
    others[grove_node_input(sum->sum, "left")] = left ? seen_from(left, 'p') : nothing;
    others[grove_node_input(sum->sum, "right")] = right ? seen_from(right, 'q') : nothing;
    grove_operand made = grove_tree_remake(sum->sum->tree, sum->sum, others);
    *middle = made.node;
    return made.kind == GROVE_OPERAND_NODE;
}

int64_t grove_node_parm_group(const grove_node *value, const grove_axis **groups)
{
    const grove_node *leaf = grove_node_fitted_parm(value),
                     *group = grove_node_input_named(value, "group");

    *groups = groups_of(leaf);
    return *groups && group && group->kind == GROVE_NODE_CONSTANT ? (int64_t)group->constant->number
                                                                  : -1;
}
