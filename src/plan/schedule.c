#include "plan/schedule.h"

#include "plan/domain.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static const int cut_kinds[GROVE_CUTS] = {GROVE_AXIS_TIME, GROVE_AXIS_FREQ, GROVE_AXIS_BASELINE};

/* Leaves have one content more with each generation. */
typedef struct {
    grove_schedule *schedule;
    int *stage;    /* by node, -1: not seen, in this generation if it depends on the new content */
    int *seen;     /* by node: in which generation */
    int *floor;    /* by leaf: its content is there from this stage on */
    bool *changed; /* by node: depends on some content that is not the first */
    int generation;
    unsigned cuttable;
} stager;

/* ---- stages ---- */

static void add_root(grove_schedule *s, grove_root_kind kind, grove_node *node, int stage)
{
    grove_grow((void **)&s->roots, &s->root_capacity, (size_t)s->root_count, sizeof(grove_root));
    s->roots[s->root_count++] = (grove_root){.kind = kind, .node = node, .stage = stage};
}

static bool is_staged(stager *g, const grove_node *node)
{
    bool staged = grove_node_accumulates(node);

    if (!staged && (node->kind != GROVE_NODE_CLASS || node->class_->kind != GROVE_CLASS_REDUCTION))
        return false;
    for (int i = 0; i < node->consumed_count; i++)
        for (int k = 0; k < GROVE_CUTS; k++)
            if (node->consumed[i]->kind == cut_kinds[k]) {
                staged = staged || (g->cuttable >> k & 1);
                if (k == GROVE_CUT_TIME)
                    g->schedule->reduces_time = true;
            }
    return staged;
}

static uint64_t whole_bytes(const grove_schedule *s, const grove_node *node)
{
    uint64_t bytes = grove_form_bytes(&node->form, s->limits.facts[node->id].double_) +
                     s->limits.facts[node->id].flagged;

    for (int d = 0; d < node->axis_count; d++)
        bytes *= (uint64_t)node->axes[d]->size;
    return bytes;
}

static bool is_read(const grove_node *node)
{
    return node->kind == GROVE_NODE_MEMBER && !node->leaf->members[node->member].data;
}

static int visit(stager *g, grove_node *node)
{
    grove_schedule *s = g->schedule;
    int stage = is_read(node) ? g->floor[node->leaf->id] : 0;

    if (g->stage[node->id] >= 0)
        return g->stage[node->id];
    for (int k = 0; k < node->input_count; k++) {
        grove_node *in = node->inputs[k].node;
        int below = in ? visit(g, in) : 0;
        stage = below > stage ? below : stage;
        if (in && g->changed[node->id] && g->seen[in->id] < g->generation)
            s->again[in->id] = true;
    }
    if (is_staged(g, node)) {
        s->result_bytes += s->staged[node->id] ? 0 : whole_bytes(s, node);
        s->staged[node->id] = true;
        add_root(s, GROVE_ROOT_COLLECT, node, stage++);
    }
    g->seen[node->id] = g->generation;
    return g->stage[node->id] = stage;
}

/* Clears the stages of nodes that depend on a leaf which the action renews. */
static bool forget(stager *g, const grove_node *action, const grove_node *node, bool *done)
{
    bool depends = is_read(node) && grove_node_renews_leaf(action, node->leaf);

    if (done[node->id])
        return g->stage[node->id] < 0;
    done[node->id] = true;
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            depends = forget(g, action, node->inputs[k].node, done) || depends;
    if (depends) {
        g->stage[node->id] = -1;
        g->changed[node->id] = true;
    }
    return depends;
}

/* After the stage of the action, leaves have new content. */
static void renew(stager *g, const grove_node *action, int stage)
{
    const grove_tree *tree = g->schedule->limits.tree;
    bool *done = grove_alloc((tree->node_count + 1) * sizeof(bool));

    g->generation++;
    for (size_t i = 0; i < tree->node_count; i++) {
        forget(g, action, tree->nodes[i], done);
        if (grove_node_renews_leaf(action, tree->nodes[i]))
            g->floor[tree->nodes[i]->id] = stage + 1;
    }
    free(done);
}

static void find_stages(grove_schedule *s, unsigned cuttable, grove_node *const *nodes,
                        size_t count)
{
    size_t all = s->limits.tree->node_count + 1;
    stager g = {.schedule = s, .cuttable = cuttable};
    int last = 0;

    g.stage = grove_alloc(all * sizeof(int));
    g.seen = grove_alloc(all * sizeof(int));
    g.floor = grove_alloc(all * sizeof(int));
    g.changed = grove_alloc(all * sizeof(bool));
    for (size_t i = 0; i < s->limits.tree->node_count; i++)
        g.stage[i] = -1;
    for (size_t i = 0; i < count; i++) {
        int stage = visit(&g, nodes[i]);
        if (grove_node_renews_any(nodes[i]) && stage < last)
            stage = last;
        last = stage > last ? stage : last;
        add_root(s, s->stores ? GROVE_ROOT_STORE : GROVE_ROOT_ACTION, nodes[i], stage);
        if (grove_node_renews_any(nodes[i]))
            renew(&g, nodes[i], stage);
    }
    free(g.stage);
    free(g.seen);
    free(g.floor);
    free(g.changed);
}

/* ---- passes ---- */

static void axes_of(const grove_root *root, const grove_axis *axis[GROVE_CUTS])
{
    const grove_axis *taken[GROVE_MAX_AXES];
    bool collects = root->kind == GROVE_ROOT_COLLECT;
    int count = collects ? grove_node_all_taken_axes(root->node, taken) : 0;

    for (int k = 0; k < GROVE_CUTS; k++) {
        axis[k] = NULL;
        if (!collects)
            grove_node_axes_of_kind(root->node, cut_kinds[k], &axis[k], 1);
        for (int d = count - 1; d >= 0; d--)
            if (taken[d]->kind == cut_kinds[k])
                axis[k] = taken[d];
    }
}

/* Extends the pass's block by the root's axes, if they are compatible. */
static bool join(grove_pass *pass, grove_block *block, grove_root *root)
{
    const grove_axis *axis[GROVE_CUTS];

    axes_of(root, axis);
    for (int k = 0; k < GROVE_CUTS; k++)
        if (axis[k] && block->axis[k] && axis[k] != block->axis[k])
            return false;
    for (int k = 0; k < GROVE_CUTS; k++) {
        if (!axis[k])
            continue;
        root->follows |= 1u << k;
        block->axis[k] = axis[k];
        block->count[k] = axis[k]->size;
    }
    pass->roots = grove_realloc(pass->roots, (size_t)(pass->root_count + 1) * sizeof(grove_root));
    pass->roots[pass->root_count++] = *root;
    root->placed = true;
    return true;
}

static void restrict_block(grove_block *block, const grove_range *range, int ranges)
{
    for (int r = 0; r < ranges; r++)
        for (int k = 0; k < GROVE_CUTS; k++)
            if (block->axis[k] == range[r].axis) {
                block->first[k] = range[r].first;
                block->count[k] = range[r].count;
            }
}

static int add_to_program(grove_program *p, grove_root *root, int number, const grove_range *range,
                          int ranges)
{
    int steps[GROVE_MAX_ACTION_INPUTS];

    if (root->kind == GROVE_ROOT_COLLECT)
        return root->step = grove_program_add_collector(p, number, root->node);
    if (root->kind == GROVE_ROOT_STORE) {
        steps[0] = grove_program_add(p, root->node, range, ranges);
        return steps[0] < 0
                   ? steps[0]
                   : (root->step = grove_program_add_root(p, number, root->node, steps, 1));
    }
    for (int k = 0; k < root->node->input_count; k++) {
        grove_node *in = root->node->inputs[k].node;
        steps[k] = in ? grove_program_add(p, in, NULL, 0) : -1;
        if (in && steps[k] < 0)
            return steps[k];
    }
    return root->step =
               grove_program_add_root(p, number, root->node, steps, root->node->input_count);
}

/* Keeps the times of a sum on one device; of reductions over time, whole blocks. */
static void share_times(grove_program *p, const grove_root *root, int devices)
{
    const grove_node *node = root->node;

    if (root->kind != GROVE_ROOT_COLLECT || grove_node_accumulates(node))
        return;
    p->devices = devices;
    p->edge = p->edge ? p->edge : 1;
    for (int k = 0; k < node->consumed_count; k++)
        if (node->consumed[k]->kind == GROVE_AXIS_TIME)
            p->edge = GROVE_ACCUMULATOR_BLOCK;
}

/* Changes by an action while it looks at a tile are not for other roots; nor are its domains. */
static bool is_alone(const grove_root *root)
{
    return grove_node_drives(root->node) || root->node->domain_count;
}

static bool may_join(const grove_root *first, const grove_root *root)
{
    return root == first || (!is_alone(first) && !is_alone(root));
}

/* A value of an earlier pass that depends on changes by the action: it is not evaluated again, so
 * that the action would not see its changes. NULL: none. */
static const grove_node *stale_input(const grove_program *p)
{
    for (int i = 0; p->depends && i < p->step_count; i++)
        if (p->steps[i].kind == GROVE_STEP_GIVEN && p->depends[p->steps[i].node->id] > 0)
            return p->steps[i].node;
    return NULL;
}

/* ---- actions that follow one with a drive ---- */

static bool reaches(const grove_node *from, const grove_node *node, bool *seen)
{
    if (from == node)
        return true;
    if (seen[from->id])
        return false;
    seen[from->id] = true;
    if (from->leaf == node)
        return true;
    for (int k = 0; k < from->input_count; k++)
        if (from->inputs[k].node && reaches(from->inputs[k].node, node, seen))
            return true;
    return false;
}

/* Whether the action needs a value that another pass has yet to make: a staged node, or new
 * content. */
static bool waits(const grove_schedule *s, const grove_root *root)
{
    const grove_tree *tree = s->limits.tree;
    bool *seen = grove_alloc((tree->node_count + 1) * sizeof(bool)), found = false;

    for (int i = 0; i < s->root_count && !found; i++) {
        const grove_root *other = &s->roots[i];
        if (other->placed || other->stage >= root->stage)
            continue;
        for (size_t k = 0; k < tree->node_count && !found; k++) {
            const grove_node *node = tree->nodes[k];
            bool comes = other->kind == GROVE_ROOT_COLLECT
                             ? node == other->node
                             : grove_node_renews_leaf(other->node, node);
            memset(seen, 0, (tree->node_count + 1) * sizeof(bool));
            found = comes && reaches(root->node, node, seen);
        }
    }
    free(seen);
    return found;
}

/* Whether the action of the next stage has the tiles of the pass, and all inputs in it. */
static bool may_follow(const grove_schedule *s, const grove_block *block, const grove_root *first,
                       const grove_root *root)
{
    const grove_axis *axis[GROVE_CUTS];

    if (root->placed || root->kind != GROVE_ROOT_ACTION || root->stage != first->stage + 1 ||
        grove_node_renews_any(root->node) || root->node->domain_count)
        return false;
    axes_of(root, axis);
    for (int k = 0; k < GROVE_CUTS; k++)
        if (axis[k] != block->axis[k])
            return false;
    return !waits(s, root);
}

static void join_following(grove_schedule *s, grove_pass *pass, grove_block *block,
                           const grove_root *first)
{
    for (int i = 0; i < s->root_count; i++)
        if (may_follow(s, block, first, &s->roots[i]))
            s->follows = join(pass, block, &s->roots[i]) || s->follows;
}

static int add_roots(grove_pass *pass, const grove_range *range, int ranges)
{
    grove_program *p = pass->program;
    int code = 0;

    for (int i = 0; i < pass->root_count && code >= 0; i++) {
        code = add_to_program(p, &pass->roots[i], i, range, ranges);
        if (code >= 0)
            p->steps[code].follows = p->depends && i;
    }
    return code < 0 ? code : 0;
}

static int make_pass(grove_schedule *s, grove_root *first, int rest, unsigned cuttable,
                     const grove_range *range, int ranges)
{
    const grove_plan_limits *limits = &s->limits;
    grove_pass *pass;
    grove_block block = {0};
    int stage = first->stage;

    s->passes = grove_realloc(s->passes, (size_t)(s->count + 1) * sizeof(grove_pass));
    pass = &s->passes[s->count++];
    memset(pass, 0, sizeof(*pass));
    for (int i = 0; i < rest; i++)
        if (!first[i].placed && first[i].stage == stage && may_join(first, &first[i]))
            join(pass, &block, &first[i]);
    if (s->may_follow && grove_node_drives(first->node))
        join_following(s, pass, &block, first);
    if (pass->roots[0].kind == GROVE_ROOT_STORE)
        restrict_block(&block, range, ranges);
    pass->program = grove_program_new(limits->facts, limits->error, &block, cuttable);
    pass->program->staged = s->staged;
    pass->program->again = s->again;
    pass->program->hoist = limits->budget / 32;
    pass->program->keep_all = s->stores;
    pass->program->keep_none = limits->cache_off;
    pass->program->members_by_tile = limits->members_by_tile;
    pass->program->section = s->sections;
    pass->program->on_host = !limits->devices;
    for (int i = 0; i < pass->root_count; i++)
        share_times(pass->program, &pass->roots[i], limits->devices);
    if (first->kind == GROVE_ROOT_ACTION && is_alone(first))
        grove_program_take_action(pass->program, limits->tree, first->node, limits->parts);
    int code = add_roots(pass, range, ranges);
    if (code)
        return code;
    grove_program_finish(pass->program);
    if (stale_input(pass->program)) {
        s->stale = stale_input(pass->program);
        s->stale_for = first->node;
    }
    return 0;
}

static int make_passes(grove_schedule *s, unsigned cuttable, const grove_range *range, int ranges)
{
    int last = 0;

    for (int i = 0; i < s->root_count; i++)
        last = s->roots[i].stage > last ? s->roots[i].stage : last;
    for (int stage = 0; stage <= last; stage++)
        for (int i = 0; i < s->root_count; i++) {
            if (s->roots[i].placed || s->roots[i].stage != stage)
                continue;
            int code = make_pass(s, &s->roots[i], s->root_count - i, cuttable, range, ranges);
            if (code)
                return code;
        }
    return 0;
}

/* Values that several passes use are kept if all of them fit the cache. */
static void check_again(grove_schedule *s)
{
    size_t all = s->limits.tree->node_count;
    uint64_t bytes = 0;

    for (size_t i = 0; i < all; i++) {
        grove_node *node = s->limits.tree->nodes[i];
        int passes = 0;
        for (int k = 0; k < s->count && s->again[node->id]; k++)
            passes += grove_program_has(s->passes[k].program, node);
        s->again[node->id] = passes > 1;
        bytes += passes > 1 ? whole_bytes(s, node) : 0;
    }
    s->keeps_again = bytes && bytes <= s->limits.budget / 4;
    if (!s->keeps_again)
        memset(s->again, 0, (all + 1) * sizeof(bool));
}

void grove_schedule_free(grove_schedule *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->count; i++) {
        free(s->passes[i].roots);
        grove_program_free(s->passes[i].program);
    }
    free(s->staged);
    free(s->again);
    free(s->grants);
    free(s->roots);
    free(s->passes);
    free(s);
}

int grove_schedule_make(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                        const grove_range *range, int ranges, unsigned cuttable, bool sections,
                        bool may_follow, grove_schedule **schedule)
{
    grove_schedule *s = grove_alloc(sizeof(*s));

    *schedule = s;
    s->limits = *limits;
    s->sections = sections;
    s->may_follow = may_follow;
    s->staged = grove_alloc((limits->tree->node_count + 1) * sizeof(bool));
    s->again = grove_alloc((limits->tree->node_count + 1) * sizeof(bool));
    s->grants = grove_alloc((limits->tree->node_count + 1) * sizeof(uint64_t));
    s->stores = count && !(nodes[0]->class_ && nodes[0]->class_->kind == GROVE_CLASS_ACTION);
    find_stages(s, cuttable, nodes, count);
    int code = make_passes(s, cuttable, range, ranges);
    if (!code)
        check_again(s);
    grove_schedule_grant(s, limits->eighths);
    return code;
}
