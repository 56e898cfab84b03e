/* Which derivatives of a value there are. */
#include "graph/derivation.h"
#include "graph/factor_groups.h"

#include "base/text.h"
#include "graph/neutral.h"

#include <stdlib.h>
#include <string.h>

typedef grove_derivation derivation;

/* Most cells along an axis for which there is a derivative each. Each adds a member to the leaf. */
enum { MAX_CELLS = 512 };

static void add_slot(grove_derivatives *all, const derivation *d, grove_part part,
                     grove_change found)
{
    if (!(all->count & (all->count + 1))) { /* full: 0, 1, 3, 7, ... */
        grove_slot *more = grove_arena_alloc(d->tree->arena, (2 * all->count + 2) * sizeof(*more));
        if (all->count)
            memcpy(more, all->slots, all->count * sizeof(*more));
        all->slots = more;
    }
    const grove_axis *groups = NULL;
    int64_t group = d->axis ? -1 : grove_node_parm_group(d->parm, &groups);
    const grove_axis *axis = d->groups ? d->groups : d->axis;
    all->slots[all->count++] = (grove_slot){.parm = d->parm,
                                            .side = d->side,
                                            .axis = group < 0 ? axis : groups,
                                            .index = group < 0 ? d->index : group,
                                            .part = part,
                                            .node = found.operand.node,
                                            .role = found.operand.role};
}

static void derive_parts(derivation *d, grove_derivatives *all)
{
    d->imaginary = false;
    grove_change found = grove_derivation_take(d, all->root);
    bool complex_ = d->parm->form.complex_;

    if (d->fault || !found.operand.kind)
        return;
    grove_part part = !complex_ || found.ways == GROVE_NOT_HOLOMORPHIC ? GROVE_PART_REAL
                      : found.ways == GROVE_ANTIHOLOMORPHIC            ? GROVE_PART_BOTH_CONJUGATE
                                                                       : GROVE_PART_BOTH;
    add_slot(all, d, part, found);
    if (!complex_ || part != GROVE_PART_REAL)
        return;
    d->imaginary = true;
    found = grove_derivation_take(d, all->root);
    if (!d->fault && found.operand.kind)
        add_slot(all, d, GROVE_PART_IMAGINARY, found);
}

/* By the parms of all stations, or sources or groups of them, one by one. Of one source those at
 * both sides of a baseline are apart; one station's are taken together. */
static void derive_cells(derivation *d, grove_derivatives *all, const char *sides)
{
    const grove_node *leaf = grove_node_behind_casts(d->parm->inputs[0].node)->leaf;
    const char *groups = grove_node_property(leaf, "groups");

    d->axis = d->mixed;
    d->groups = groups && d->axis->kind == GROVE_AXIS_SOURCE ? grove_node_axis(leaf, groups) : NULL;
    const grove_axis *own = d->groups ? d->groups : d->axis;
    if (d->axis->kind == GROVE_AXIS_STATION)
        sides = " ";
    if (own->size > MAX_CELLS)
        d->fault = grove_arena_format(d->tree->arena,
                                      "cells along %s are combined, and each of its %lld needs a "
                                      "derivative; at most %d are possible",
                                      own->name, (long long)own->size, (int)MAX_CELLS);
    for (; *sides && !d->fault; sides++) {
        d->side = *sides == ' ' ? 0 : *sides;
        for (d->index = 0; d->index < own->size && !d->fault; d->index++)
            derive_parts(d, all);
    }
    d->axis = d->groups = NULL;
}

/* By a component of a parm. */
static void derive_parm(derivation *d, grove_derivatives *all)
{
    bool split = grove_node_axes_of_kind(all->root, GROVE_AXIS_BASELINE, NULL, 0) > 0 &&
                 grove_node_axes_of_kind(d->parm, GROVE_AXIS_STATION, NULL, 0) > 0;
    const char *sides = split ? "pq" : " ";
    size_t before = all->count;

    for (const char *side = sides; *side && !d->fault; side++) {
        d->side = split ? *side : 0;
        derive_parts(d, all);
        if (!d->mixed)
            continue;
        all->count = before;
        derive_cells(d, all, sides);
        return;
    }
}

/* The components that the value depends on, by id. */
static void find_parms(const grove_node *node, bool *seen)
{
    if (!node || seen[node->id])
        return;
    seen[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        find_parms(node->inputs[k].node, seen);
}

static void mark_used(grove_node *node)
{
    if (!node || node->used)
        return;
    node->used = true;
    for (int k = 0; k < node->input_count; k++)
        mark_used(node->inputs[k].node);
}

const grove_node *grove_node_fitted_parm(const grove_node *node)
{
    bool parm = node->class_ && node->class_->role == GROVE_ROLE_PARM;
    const grove_node *member = parm ? grove_node_behind_casts(node->inputs[0].node) : NULL;
    bool fitted =
        member && member->kind == GROVE_NODE_MEMBER && !grove_node_property(member->leaf, "fixed");

    return fitted ? member->leaf : NULL;
}

static bool is_requested(const grove_node *node, const grove_node *const *parms, int count)
{
    const grove_node *leaf = grove_node_fitted_parm(node);
    bool requested = leaf && !parms;

    for (int i = 0; leaf && i < count && parms; i++)
        requested = requested || parms[i] == leaf;
    return requested;
}

static int report(const derivation *d, const grove_derivatives *all, grove_error *error)
{
    const grove_place *place = d->place && d->place->line ? d->place : &all->root->place;

    return grove_fail_at(error, place, GROVE_INVALID,
                         "derivative of %s with respect to parm '%s': %s",
                         grove_node_shown(all->root), d->parm->name, d->fault);
}

static void settle(grove_tree *tree, grove_derivatives *all)
{
    grove_tree_drop_neutral(tree);
    for (size_t i = 0; i < all->count; i++) {
        grove_node *node = grove_node_behind_neutral(all->slots[i].node);
        all->slots[i].node = node;
        mark_used(node);
    }
}

int grove_tree_derive(grove_tree *tree, grove_node *root, const grove_node *const *parms,
                      int parm_count, grove_derivatives *derivatives, grove_error *error)
{
    size_t count = tree->node_count; /* without the derivatives' */
    bool *seen = grove_alloc((count + 1) * sizeof(bool));
    grove_error *outer = tree->error;
    derivation d = {.tree = tree};

    *derivatives = (grove_derivatives){.root = root};
    tree->error = grove_error_new();
    find_parms(root, seen);
    for (size_t i = 0; i < count && !d.fault; i++) {
        grove_node *node = tree->nodes[i];
        if (!seen[i] || !is_requested(node, parms, parm_count))
            continue;
        d.parm = node;
        derive_parm(&d, derivatives);
    }
    grove_error_free(tree->error);
    tree->error = outer;
    free(seen);
    if (d.fault)
        return report(&d, derivatives, error);
    settle(tree, derivatives);
    return 0;
}

int64_t grove_slot_cell(const grove_slot *slot, const grove_node *root, int64_t cell)
{
    int64_t index[GROVE_MAX_AXES], at = 0;

    for (int d = root->axis_count - 1; d >= 0; d--) {
        index[d] = cell % root->axes[d]->size;
        cell /= root->axes[d]->size;
    }
    for (int i = 0; i < slot->node->axis_count; i++) {
        const grove_axis *own = slot->node->axes[i];
        int64_t here = 0;
        for (int d = 0; d < root->axis_count; d++) {
            const grove_axis *axis = root->axes[d];
            if (axis == own)
                here = index[d];
            else if (axis->kind == GROVE_AXIS_BASELINE && own->kind == GROVE_AXIS_STATION)
                here = (slot->role == 'q' ? axis->right : axis->left)[index[d]];
        }
        at = at * own->size + here;
    }
    return at;
}
