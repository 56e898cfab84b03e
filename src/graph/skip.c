/* Skips model visibilities that end in a sum over unflagged samples, where the data are flagged, or
 * in a set, where it has no rows. */
#include "graph/skip.h"

#include "base/memory.h"
#include "graph/call.h"
#include "graph/target.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_node *user;
    int count;
} use;

static bool is_cellwise(const grove_node *node)
{
    return node->kind == GROVE_NODE_CAST ||
           (node->kind == GROVE_NODE_CLASS && node->class_ &&
            !grove_class_takes_arrays(node->class_) && (node->kernel || node->class_->kernel));
}

static bool has_all_axes(const grove_node *node, const grove_node *of)
{
    for (int d = 0; d < of->axis_count; d++)
        if (!grove_node_has_axis(node, of->axes[d]))
            return false;
    return true;
}

/* An input of `user` that is data with flags, and whose flags all reach the result. */
static grove_node *flagged_data(const grove_node *user, const grove_node *model)
{
    for (int k = 0; k < user->input_count; k++) {
        grove_node *in = user->inputs[k].node;
        if (!in || user->inputs[k].side || user->handing == NULL ||
            user->handing[k] == GROVE_AS_FLAGS)
            continue;
        while (in->kind == GROVE_NODE_CAST)
            in = in->inputs[0].node;
        if (in->kind == GROVE_NODE_MEMBER && in->form.flags && has_all_axes(model, in) &&
            (in->form.shape == user->form.shape || in->form.shape == GROVE_SCALAR))
            return in;
    }
    return NULL;
}

/* The data whose flags mark samples of the model that are not needed, or NULL. */
static grove_node *data_beside(const grove_node *model, const use *uses)
{
    const grove_node *at = model;
    grove_node *found = NULL;

    while (uses[at->id].count == 1) {
        const grove_node *user = uses[at->id].user;
        if (user->kind == GROVE_NODE_CLASS && user->class_->kind == GROVE_CLASS_REDUCTION)
            return found;
        if (!is_cellwise(user))
            return NULL;
        found = found ? found : flagged_data(user, model);
        at = user;
    }
    return NULL;
}

/* Of what the model ends in, cell by cell: the member that flags what a set lacks and so is not
 * written, or NULL. */
static grove_node *missing_rows(const grove_node *model, const use *uses)
{
    const grove_node *at = model;

    while (uses[at->id].count == 1 && is_cellwise(uses[at->id].user))
        at = uses[at->id].user;
    const grove_node *action = uses[at->id].count == 1 ? uses[at->id].user : NULL;
    grove_node *leaf =
        action && action->kind == GROVE_NODE_CLASS && action->class_->kind == GROVE_CLASS_ACTION
            ? grove_target_rows(action)
            : NULL;
    for (size_t i = 0; leaf && i < leaf->member_count; i++)
        if (grove_equal(leaf->members[i].name, "missing") && leaf->members[i].form.flags) {
            grove_node *found = grove_tree_member(model->tree, leaf, "missing", &model->place).node;
            found->used = true;
            return has_all_axes(model, found) ? found : NULL;
        }
    return NULL;
}

static void set_skip(grove_node *node, grove_node *data, const char *why)
{
    for (int k = 0; k < node->input_count; k++)
        if (node->handing[k] == GROVE_AS_FLAGS && !node->inputs[k].node) {
            node->inputs[k].node = data;
            node->key = grove_hash_join(node->key, data->key);
            node->fused = grove_arena_format(
                node->tree->arena, "%s%snot computed where %s is flagged: %s",
                node->fused ? node->fused : "", node->fused ? "; " : "", data->name, why);
            return;
        }
}

static bool may_skip(const grove_node *node)
{
    for (int k = 0; node->kind == GROVE_NODE_CLASS && node->handing && k < node->input_count; k++)
        if (node->handing[k] == GROVE_AS_FLAGS && !node->inputs[k].node)
            return true;
    return false;
}

void grove_tree_skip_flagged(grove_tree *tree)
{
    use *uses = grove_alloc((tree->node_count + 1) * sizeof(*uses));

    for (size_t i = 0; i < tree->node_count; i++) {
        grove_node *user = tree->nodes[i];
        for (int k = 0; user->used && k < user->input_count; k++)
            if (user->inputs[k].node) {
                uses[user->inputs[k].node->id].user = user;
                uses[user->inputs[k].node->id].count++;
            }
    }
    const size_t count = tree->node_count; /* members may be added */
    for (size_t i = 0; i < count; i++) {
        grove_node *node = tree->nodes[i];
        if (!node->used || !may_skip(node))
            continue;
        grove_node *data = data_beside(node, uses), *rows = data ? NULL : missing_rows(node, uses);
        if (data)
            set_skip(node, data, "only a sum uses it");
        if (rows)
            set_skip(node, rows, "the set has no such rows");
    }
    free(uses);
}
