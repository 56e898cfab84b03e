/* Axes that are the same: of several observations, of several images. */
#include "graph/call.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Coordinates that differ by less than this part of a cell's width, or by no more than the rounding
 * of doubles, are the same: programs that write sets round one number differently. */
#define CLOSE 1e-6

static bool differs(double a, double b, double width)
{
    double ulp = 4 * 2.3e-16 * fmax(fabs(a), fabs(b));

    return !(fabs(a - b) <= fmax(CLOSE * fabs(width), ulp));
}

static double width_of(const grove_axis *axis, int64_t i)
{
    return axis->width ? axis->width[i] : 0;
}

static bool pair_differs(const grove_axis *a, const grove_axis *b, int64_t i, char difference[200])
{
    if (a->left[i] == b->left[i] && a->right[i] == b->right[i])
        return false;
    snprintf(difference, 200,
             "baseline %lld has the stations %d and %d in one, %d and %d in the other",
             (long long)i, (int)a->left[i], (int)a->right[i], (int)b->left[i], (int)b->right[i]);
    return true;
}

static bool cell_differs(const grove_axis *a, const grove_axis *b, int64_t i, char difference[200])
{
    long long n = (long long)i;

    difference[0] = 0;
    if (a->labels && b->labels && strcmp(a->labels[i], b->labels[i]) != 0)
        snprintf(difference, 200, "%s %lld is '%.60s' in one, '%.60s' in the other", a->name, n,
                 a->labels[i], b->labels[i]);
    else if (a->centre && b->centre && differs(a->centre[i], b->centre[i], width_of(a, i)))
        snprintf(difference, 200, "%s %lld is at %.15g in one, at %.15g in the other", a->name, n,
                 a->centre[i], b->centre[i]);
    else if (a->width && b->width && differs(a->width[i], b->width[i], a->width[i]))
        snprintf(difference, 200, "%s %lld is %.15g wide in one, %.15g in the other", a->name, n,
                 a->width[i], b->width[i]);
    else if (a->left && b->left && a->right && b->right)
        return pair_differs(a, b, i, difference);
    return difference[0] != 0;
}

bool grove_axis_differs(const grove_axis *a, const grove_axis *b, char difference[200])
{
    if (a->size != b->size) {
        snprintf(difference, 200, "one has %lld cells, the other %lld", (long long)a->size,
                 (long long)b->size);
        return true;
    }
    if (!a->centre != !b->centre || !a->width != !b->width || !a->labels != !b->labels ||
        !a->left != !b->left) {
        snprintf(difference, 200, "one has coordinates, the other has none");
        return true;
    }
    for (int64_t i = 0; i < a->size; i++)
        if (cell_differs(a, b, i, difference))
            return true;
    return false;
}

static const grove_axis *own_axis(const grove_node *leaf, int kind)
{
    for (size_t i = 0; i < leaf->own_axis_count; i++)
        if (leaf->own_axes[i]->kind == kind)
            return leaf->own_axes[i];
    return NULL;
}

/* The earlier leaf's axis of that kind in place of the node's own. */
static void share(grove_node *node, const grove_axis *own, const grove_axis *shared)
{
    for (size_t i = 0; i < node->own_axis_count; i++)
        if (node->own_axes[i] == own)
            node->own_axes[i] = shared;
    for (size_t m = 0; m < node->member_count; m++)
        for (int d = 0; d < node->members[m].axis_count; d++)
            if (node->members[m].axes[d] == own)
                node->members[m].axes[d] = shared;
}

/* Whether both have an axis of this kind of their own, and these are the same. */
static bool same(const grove_node *node, const grove_node *leaf, int kind)
{
    const grove_axis *a = own_axis(node, kind), *b = own_axis(leaf, kind);
    char difference[200];

    return a && b && a->owner == node && b->owner == leaf && !grove_axis_differs(a, b, difference);
}

void grove_leaf_share_axes(grove_node *node)
{
    static const int kinds[] = {GROVE_AXIS_TIME, GROVE_AXIS_FREQ};

    for (size_t i = 0; i < node->tree->node_count; i++) {
        const grove_node *leaf = node->tree->nodes[i];
        if (leaf->kind != GROVE_NODE_LEAF || leaf == node)
            continue;
        for (int k = 0; k < 2; k++)
            if (same(node, leaf, kinds[k]))
                share(node, own_axis(node, kinds[k]), own_axis(leaf, kinds[k]));
        /* Baselines are pairs of stations: both or none. */
        if (same(node, leaf, GROVE_AXIS_STATION) && same(node, leaf, GROVE_AXIS_BASELINE)) {
            share(node, own_axis(node, GROVE_AXIS_STATION), own_axis(leaf, GROVE_AXIS_STATION));
            share(node, own_axis(node, GROVE_AXIS_BASELINE), own_axis(leaf, GROVE_AXIS_BASELINE));
        }
    }
}

/* Whether the node is made from cells of this axis: one that it consumes, or that an object of its
 * has. An axis that it adds is another one, even with the same coordinates. */
static bool made_from(const grove_node *node, const grove_axis *axis)
{
    for (int i = 0; i < node->consumed_count; i++)
        if (node->consumed[i] == axis)
            return true;
    for (int i = 0; node->class_->inputs && node->class_->inputs[i].name; i++)
        if (node->objects[i] && grove_node_axis(node->objects[i], axis->name) == axis)
            return true;
    return false;
}

static const grove_axis *equal_axis(const grove_axis *const *axes, int count,
                                    const grove_node *node, const grove_axis *axis)
{
    char difference[200];

    for (int i = 0; i < count; i++)
        if (axes[i]->kind == axis->kind && axes[i]->centre && !made_from(node, axes[i]) &&
            !grove_axis_differs(axis, axes[i], difference))
            return axes[i];
    return NULL;
}

const grove_axis *grove_axis_shared(const grove_node *node, const grove_axis *axis)
{
    const grove_tree *tree = node->tree;
    const grove_axis *shared = NULL;

    for (size_t i = 0; axis->centre && i < tree->node_count && !shared; i++) {
        const grove_node *other = tree->nodes[i];
        shared = equal_axis(other->axes, other->axis_count, node, axis);
        for (size_t m = 0; m < other->member_count && !shared; m++)
            shared = equal_axis(other->members[m].axes, other->members[m].axis_count, node, axis);
    }
    return shared ? shared : axis;
}
