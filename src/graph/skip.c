/* Skips model visibilities that end in a sum over unflagged samples, where the data are flagged, or
 * in a set or a fit to its data, where it has no rows. */
#include "graph/skip.h"
#include "facts.h"
#include "unstable/fit.h"

#include "base/memory.h"
#include "graph/call.h"
#include "graph/neutral.h"
#include "graph/target.h"

#include <math.h>
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

/* Whether it selects elements of cells, or a channel: it has the rows of its input. */
static bool selects_in_rows(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS && node->class_ &&
           node->class_->kind == GROVE_CLASS_SELECTION &&
           (!node->select_axis || node->select_axis->kind == GROVE_AXIS_FREQ);
}

static bool has_all_axes(const grove_node *node, const grove_node *other)
{
    for (int d = 0; d < other->axis_count; d++)
        if (!grove_node_has_axis(node, other->axes[d]))
            return false;
    return true;
}

/* An input of `user` that is data with flags, and whose flags all reach the result. */
static grove_node *flagged_data(const grove_node *user, const grove_node *model)
{
    for (int k = 0; k < user->input_count; k++) {
        grove_node *in = grove_node_behind_casts(user->inputs[k].node);
        if (!in || user->inputs[k].side || user->handing == NULL ||
            user->handing[k] == GROVE_AS_FLAGS)
            continue;
        if (in->kind == GROVE_NODE_MEMBER && in->form.flags && has_all_axes(model, in) &&
            (in->form.shape == user->form.shape || in->form.shape == GROVE_SCALAR))
            return in;
    }
    return NULL;
}

/* The data whose flags mark samples of the model that are not needed, or NULL. */
static grove_node *data_with_flags(const grove_node *model, const use *uses)
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

static bool may_skip(const grove_node *node)
{
    for (int k = 0; node->kind == GROVE_NODE_CLASS && node->handing && k < node->input_count; k++)
        if (node->handing[k] == GROVE_AS_FLAGS && !node->inputs[k].node)
            return true;
    return false;
}

/* ---- rows missing in a set ---- */

static bool is_action(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS && node->class_->kind == GROVE_CLASS_ACTION;
}

/* The member of a leaf that flags missing rows; or NULL. */
static grove_node *missing_of(grove_node *leaf, const grove_place *place)
{
    for (size_t i = 0; leaf && i < leaf->member_count; i++)
        if (grove_equal(leaf->members[i].name, "missing") && leaf->members[i].form.flags)
            return grove_tree_member(leaf->tree, leaf, "missing", place).node;
    return NULL;
}

double grove_node_rows_share(const grove_node *missing)
{
    const grove_observation_facts *facts = grove_node_observation(missing->leaf);

    return facts ? facts->rows_share : 1;
}

double grove_node_runs_share(const grove_node *missing)
{
    const grove_observation_facts *facts = grove_node_observation(missing->leaf);

    return facts ? facts->runs_share : 1;
}

uint64_t grove_missing_written_bytes(const grove_node *missing, double rows, double row_bytes)
{
    enum { PAGE = 4096 };
    const double share = grove_node_rows_share(missing), bytes = rows * row_bytes;
    double all = 1;

    if (share >= GROVE_FEW_ROWS || bytes <= (double)GROVE_MUCH_OF_GAPS ||
        !grove_memory_supports_gaps())
        return (uint64_t)bytes;
    for (int d = 0; d < missing->axis_count; d++)
        all *= (double)missing->axes[d]->size;
    const double there = fmin(rows, ceil(share * all)),
                 runs = fmin(there, ceil(grove_node_runs_share(missing) * all));
    /* a run writes to parts of pages at both ends */
    return (uint64_t)fmin(there * row_bytes + PAGE * (runs + 1), bytes);
}

uint64_t grove_node_rows_bytes(const grove_node *node, double rows, double row_bytes)
{
    return node->rows ? grove_missing_written_bytes(node->rows, rows, row_bytes)
                      : (uint64_t)(rows * row_bytes);
}

/* Not of leaves that read only in a run. */
bool grove_node_find_missing(const grove_node *obs, int64_t first, int64_t times,
                             unsigned char *missing)
{
    const grove_member *m = NULL;

    for (size_t i = 0; i < obs->member_count && !m; i++)
        if (grove_equal(obs->members[i].name, "missing") && obs->members[i].form.flags)
            m = &obs->members[i];
    if (!m || m->axis_count != 2 || m->axes[0]->kind != GROVE_AXIS_TIME ||
        m->axes[1]->kind != GROVE_AXIS_BASELINE || !obs->class_->data->read || obs->class_->start)
        return false;
    const int64_t cells = times * m->axes[1]->size;
    grove_array out = {.flags = missing,
                       .axes = 2,
                       .range = {{m->axes[0], first, times}, {m->axes[1], 0, m->axes[1]->size}},
                       .cells = cells,
                       .elements = 1,
                       .form = &m->form};
    out.data = grove_alloc((size_t)cells * sizeof(double));
    const int code = obs->class_->data->read(&(grove_call){.node = obs}, m->name, &out);
    free(out.data);
    return !code;
}

void grove_node_leave_rows(grove_node *node, const char *input)
{
    const grove_port *inputs = node->class_->inputs;

    for (int i = 0; inputs && inputs[i].name; i++)
        if (!strcmp(inputs[i].name, input))
            node->rows_of = node->objects[i];
}

/* The leaf with rows whose data reach the value by cell functions, with all their flags. */
static grove_node *leaf_of_flags(const grove_node *value, bool *seen)
{
    grove_node *found = NULL;

    if (value->kind == GROVE_NODE_MEMBER)
        return value->form.flags && missing_of(value->leaf, &value->place) ? value->leaf : NULL;
    if (seen[value->id] || !(is_cellwise(value) || selects_in_rows(value)))
        return NULL;
    seen[value->id] = true;
    if (selects_in_rows(value))
        return leaf_of_flags(value->inputs[0].node, seen);
    for (int k = 0; k < value->input_count && !found; k++) {
        const grove_node *in = value->inputs[k].node;
        bool all = in && !value->inputs[k].side &&
                   (!value->handing || value->handing[k] != GROVE_AS_FLAGS) &&
                   (in->form.shape == value->form.shape || in->form.shape == GROVE_SCALAR ||
                    value->form.shape == GROVE_SCALAR);
        found = all ? leaf_of_flags(in, seen) : NULL;
    }
    return found;
}

grove_node *grove_node_missing_rows(const grove_node *value)
{
    bool *seen = grove_alloc((value->tree->node_count + 1) * sizeof(*seen));
    grove_node *leaf = leaf_of_flags(value, seen);
    grove_node *rows = leaf ? missing_of(leaf, &value->place) : NULL;

    free(seen);
    return rows && has_all_axes(value, rows) ? rows : NULL;
}

/* Whether a value may leave out rows that its users do not read. */
static bool may_leave_out_rows(const grove_node *node)
{
    if (node->kind == GROVE_NODE_MEMBER)
        return node->leaf == node->rows->leaf && node != node->rows;
    return is_cellwise(node) || selects_in_rows(node) || may_skip(node);
}

/* Whether a node takes cells together, so that `rows` are left out of its inputs. */
static bool gathers(const grove_node *node)
{
    return node->kind == GROVE_NODE_CLASS && (node->class_->kind == GROVE_CLASS_REDUCTION ||
                                              node->class_->kind == GROVE_CLASS_ACCUMULATOR);
}

/* The rows that are not read: of a node that takes cells together, rows of its inputs; of others,
 * rows that their users do not read. */
static grove_node *rows_left_by(grove_node *user)
{
    grove_node *in = user->input_count ? user->inputs[0].node : NULL;

    if (is_action(user) && !user->fit)
        return missing_of(user->rows_of ? user->rows_of : grove_target_rows(user), &user->place);
    if (gathers(user) && user->class_->kind == GROVE_CLASS_REDUCTION)
        return in ? grove_node_missing_rows(in) : NULL;
    if (is_action(user) || gathers(user))
        return user->rows; /* set by check */
    return user->rows && has_all_axes(user, user->rows) && may_leave_out_rows(user) ? user->rows
                                                                                    : NULL;
}

/* Whether a node reads no absent rows of its input k. */
static bool leaves_rows(const grove_node *user, int k)
{
    const grove_node *in = user->inputs[k].node;

    if (is_action(user) && !user->fit)
        return k == 0 || user->rows_of;
    return in != user->rows && !(user->fit && in->form.shape == GROVE_VECTOR);
}

/* Sets `rows` of each node from its users, which come after it. Of data that are read, some users
 * suffice: each pass looks at its own. */
static void find_rows(grove_tree *tree, size_t count)
{
    bool *known = grove_alloc((count + 1) * sizeof(*known));

    for (size_t i = count; i-- > 0;) {
        grove_node *user = tree->nodes[i];
        if (!user->used || (!is_action(user) && !known[user->id]))
            continue; /* a fit's model that is only shown */
        user->rows = rows_left_by(user);
        for (int k = 0; k < user->input_count; k++) {
            grove_node *in = user->inputs[k].node;
            if (!in)
                continue;
            grove_node *rows = leaves_rows(user, k) ? user->rows : NULL;
            bool differ = known[in->id] && in->rows != rows;
            if (in->kind == GROVE_NODE_MEMBER)
                in->rows = rows ? rows : in->rows;
            else if (!gathers(in))
                in->rows = differ ? NULL : rows;
            known[in->id] = true;
        }
    }
    free(known);
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
    find_rows(tree, count);
    for (size_t i = 0; i < count; i++) {
        grove_node *node = tree->nodes[i];
        if (!node->used || !may_skip(node))
            continue;
        grove_node *data = data_with_flags(node, uses);
        /* then it is worth more that values have no flags of their own */
        bool few = node->rows && grove_node_rows_share(node->rows) < GROVE_FEW_ROWS;
        if (data && !few)
            set_skip(node, data, "only a sum uses it");
        else if (node->rows)
            set_skip(node, node->rows, "the set has no such rows");
    }
    free(uses);
}
