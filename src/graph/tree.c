/* Trees: their nodes, constants, and order. */
#include "graph/call.h"
#include "graph/derivative.h"

#include "base/text.h"
#include "facts.h"
#include "graph/products.h"
#include "graph/rewrite.h"
#include "graph/skip.h"
#include "graph/target.h"
#include "graph/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

grove_tree *grove_tree_new(void)
{
    grove_tree *tree = grove_alloc(sizeof(*tree));

    tree->arena = grove_arena_new();
    tree->folder = ".";
    tree->cycles = 1;
    return tree;
}

void grove_tree_add_read(grove_tree *tree, const char *path)
{
    grove_grow((void **)&tree->reads, &tree->read_capacity, tree->read_count, sizeof(char *));
    tree->reads[tree->read_count++] = grove_arena_text(tree->arena, path);
}

void grove_tree_free(grove_tree *tree)
{
    if (!tree)
        return;
    tree->error = NULL; /* of the builder, which may no longer exist */
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_class *class_ = tree->nodes[i]->class_;
        if (!class_ || !class_->close)
            continue;
        grove_class_lock(class_);
        class_->close(tree->nodes[i]);
        grove_class_unlock(class_);
    }
    free(tree->reads);
    free(tree->nodes);
    free(tree->actions);
    grove_arena_free(tree->arena);
    free(tree);
}

grove_node *grove_tree_add_node(grove_tree *tree, grove_node_kind kind, const char *name,
                                const grove_place *place)
{
    grove_node *node = grove_arena_alloc(tree->arena, sizeof(*node));

    node->kind = kind;
    node->tree = tree;
    node->id = (int)tree->node_count;
    node->name = name ? grove_arena_text(tree->arena, name) : "";
    node->select_element = -1;
    if (place)
        node->place = *place;
    grove_grow((void **)&tree->nodes, &tree->node_capacity, tree->node_count, sizeof(grove_node *));
    tree->nodes[tree->node_count++] = node;
    return node;
}

grove_node *grove_tree_find_key(const grove_tree *tree, grove_hash key)
{
    for (size_t i = 0; i < tree->node_count; i++)
        if (grove_hash_equal(tree->nodes[i]->key, key))
            return tree->nodes[i];
    return NULL;
}

const grove_class *grove_tree_operator(grove_tree *tree, grove_role role)
{
    const char *name = tree->operator_class ? tree->operator_class(role) : NULL;

    return name && tree->classes ? grove_classes_find(tree->classes, name, tree->error) : NULL;
}

static bool is_vector(const grove_literal *literal)
{
    return literal->kind == GROVE_LITERAL_LIST;
}

grove_node *grove_tree_constant(grove_tree *tree, const grove_literal *literal,
                                grove_precision precision, const grove_place *place)
{
    grove_hash key = grove_hash_text(grove_hash_start(), "constant");

    key = grove_literal_hash(grove_hash_integer(key, precision), literal);
    grove_node *node = grove_tree_find_key(tree, key);
    if (node)
        return node;
    node = grove_tree_add_node(tree, GROVE_NODE_CONSTANT, grove_literal_show(tree->arena, literal),
                               place);
    node->key = key;
    node->constant = grove_arena_copy(tree->arena, literal, sizeof(*literal));
    const grove_literal *first = is_vector(literal) && literal->count ? literal->items : literal;
    node->form.shape = is_vector(literal) ? GROVE_VECTOR : GROVE_SCALAR;
    node->form.vector = is_vector(literal) ? literal->count : 0;
    node->form.complex_ = literal->imaginary != 0;
    for (int i = 0; i < literal->count; i++)
        node->form.complex_ = node->form.complex_ || literal->items[i].imaginary != 0;
    node->form.precision = precision;
    node->form.unit = first->unit;
    return node;
}

int grove_node_axes_of_kind(const grove_node *node, int kind, const grove_axis **axes, int max)
{
    int count = 0;

    for (int i = 0; i < node->axis_count; i++)
        if (grove_axis_is(node->axes[i], kind)) {
            if (count < max)
                axes[count] = node->axes[i];
            count++;
        }
    return count;
}

bool grove_node_has_axis(const grove_node *node, const grove_axis *axis)
{
    for (int i = 0; i < node->axis_count; i++)
        if (node->axes[i] == axis)
            return true;
    return false;
}

const char *grove_node_shown(const grove_node *node)
{
    return node->auto_named ? node->class_->name
                            : grove_arena_format(node->tree->arena, "'%s'", node->name);
}

/* Adds the cells that a node took of an axis; false: it took none of this kind. */
static bool add_span(const grove_node *node, int kind, double span[3], int64_t *cells)
{
    bool found = false;

    for (int d = 0; d < node->consumed_count; d++) {
        const grove_axis *axis = node->consumed[d];
        if (!grove_axis_is(axis, kind) || !axis->centre)
            continue;
        bool one = axis == node->select_axis;
        int64_t first = one ? node->select_first : 0, count = one ? 1 : axis->size;
        for (int64_t k = first; k < first + count; k++) {
            double half = axis->width ? axis->width[k] / 2 : 0;
            span[0] = fmin(span[0], axis->centre[k] - half);
            span[1] = fmax(span[1], axis->centre[k] + half);
            span[2] += axis->centre[k];
        }
        *cells += count;
        found = true;
    }
    return found;
}

bool grove_node_input_span(const grove_node *node, int k, int kind, double span[3])
{
    const grove_node *in = k >= 0 && k < node->input_count ? node->inputs[k].node : NULL;
    bool *reached = grove_alloc((node->tree->node_count + 1) * sizeof(bool));

    int64_t cells = 0;

    span[0] = INFINITY;
    span[1] = -INFINITY;
    span[2] = 0;
    if (in)
        reached[in->id] = true;
    for (int i = in ? in->id : -1; i >= 0; i--) { /* inputs come before their users */
        const grove_node *at = node->tree->nodes[i];
        if (!reached[i] || add_span(at, kind, span, &cells))
            continue;
        for (int j = 0; j < at->input_count; j++)
            if (at->inputs[j].node)
                reached[at->inputs[j].node->id] = true;
    }
    free(reached);
    if (cells)
        span[2] /= (double)cells;
    return cells > 0;
}

const grove_node *grove_node_reducer(const grove_node *node, int kind, const grove_axis *axis)
{
    const grove_tree *tree = node->tree;
    bool *reached = grove_alloc((tree->node_count + 1) * sizeof(bool));
    const grove_node *found = NULL;

    reached[node->id] = true;
    for (int i = node->id; i >= 0 && !found; i--) { /* inputs come before their users */
        const grove_node *at = tree->nodes[i];
        if (!reached[i])
            continue;
        bool picks = at->class_ && at->class_->kind == GROVE_CLASS_SELECTION;
        for (int d = 0; d < at->consumed_count && !picks; d++)
            if (axis ? at->consumed[d] == axis : grove_axis_is(at->consumed[d], kind))
                found = at;
        for (int k = 0; k < at->input_count; k++)
            if (at->inputs[k].node)
                reached[at->inputs[k].node->id] = true;
    }
    free(reached);
    return found;
}

static bool reaches(const grove_node *node, grove_node_test *test, void *context, bool *seen)
{
    bool found = !seen[node->id] && test(context, node);

    for (int k = 0; k < node->input_count && !found && !seen[node->id]; k++)
        found = node->inputs[k].node && reaches(node->inputs[k].node, test, context, seen);
    seen[node->id] = true;
    return found;
}

bool grove_node_reaches(const grove_node *node, grove_node_test *test, void *context)
{
    bool *seen = grove_alloc((node->tree->node_count + 1) * sizeof(*seen));
    bool found = reaches(node, test, context, seen);

    free(seen);
    return found;
}

static bool is_flagged(void *context, const grove_node *node)
{
    (void)context;
    return node->kind == GROVE_NODE_MEMBER && node->form.flags;
}

bool grove_node_may_be_flagged(const grove_node *node)
{
    return grove_node_reaches(node, is_flagged, NULL);
}

static bool is_parm(void *context, const grove_node *node)
{
    (void)context;
    return grove_node_has_role(node, GROVE_ROLE_PARM);
}

bool grove_node_has_parm(const grove_node *node)
{
    return grove_node_reaches(node, is_parm, NULL);
}

const char *grove_tree_axis_name(grove_tree *tree, const grove_axis *axis)
{
    bool other = false;

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *leaf = tree->nodes[i];
        const grove_axis *own =
            leaf->kind == GROVE_NODE_LEAF ? grove_node_axis(leaf, axis->name) : NULL;
        other = other || (own && own != axis);
    }
    if (!other || !axis->owner)
        return axis->name;
    return grove_arena_format(tree->arena, "%s.%s", axis->owner->name, axis->name);
}

/* Depth first from the actions, so that inputs come before users; unused nodes go last. */
static void visit(grove_node *node, grove_node **list, size_t *count)
{
    if (!node || node->used)
        return;
    node->used = true;
    for (int k = 0; k < node->input_count; k++)
        visit(node->inputs[k].node, list, count);
    if (!node->class_ || node->class_->kind != GROVE_CLASS_ACTION)
        visit(node->rows, list, count);
    if (node->fit)
        visit(node->fit->whole.node, list, count); /* it is shown */
    visit(node->leaf, list, count);
    const grove_port *inputs = node->class_ ? node->class_->inputs : NULL;
    for (int i = 0; node->objects && inputs && inputs[i].name; i++)
        visit(node->objects[i], list, count);
    node->id = (int)*count;
    list[(*count)++] = node;
}

static void sort_nodes(grove_tree *tree)
{
    grove_node **list = grove_alloc((tree->node_count + 1) * sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < tree->node_count; i++)
        tree->nodes[i]->used = false;
    for (size_t i = 0; i < tree->action_count; i++)
        visit(tree->actions[i], list, &count);
    for (size_t i = 0; i < tree->node_count; i++)
        if (!tree->nodes[i]->used) {
            tree->nodes[i]->id = (int)count;
            list[count++] = tree->nodes[i];
        }
    free(tree->nodes);
    tree->nodes = list;
    tree->node_capacity = tree->node_count + 1;
}

static bool reads_same(const grove_node *a, const grove_node *b, const char *property)
{
    const char *value = grove_node_property(a, property);

    return value && grove_equal(value, grove_node_property(b, property));
}

/* Whether an earlier leaf that is used reads the same. */
static bool is_read_before(const grove_tree *tree, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (tree->nodes[k]->used && reads_same(tree->nodes[k], tree->nodes[i], "unread_of") &&
            reads_same(tree->nodes[k], tree->nodes[i], "selection"))
            return true;
    return false;
}

/* Warns of leaves that read a part of a set if the tree does not read all its parts. */
static void warn_unread(const grove_tree *tree)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *leaf = tree->nodes[i];
        const grove_observation_facts *facts = grove_node_observation(leaf);
        const char *unread = grove_node_property(leaf, "unread");
        int64_t read = 0;
        if (!leaf->used || !facts || !unread)
            continue;
        for (size_t k = 0; k < tree->node_count; k++)
            read += tree->nodes[k]->used && reads_same(tree->nodes[k], leaf, "unread_of") &&
                    !is_read_before(tree, k);
        if (read < facts->selections)
            grove_node_warn(leaf, "%s", unread);
    }
}

int grove_tree_finish(grove_tree *tree)
{
    int code = grove_tree_check_targets(tree);

    if (!code)
        grove_tree_check_terms(tree);
    if (!code)
        code = grove_tree_rewrite(tree);
    if (!code) {
        sort_nodes(tree);
        grove_tree_gather_products(tree);
    }
    if (!code) {
        sort_nodes(tree);
        code = grove_tree_attach_derivatives(tree);
    }
    if (!code) {
        sort_nodes(tree); /* derivatives before the fits */
        grove_tree_skip_flagged(tree);
        sort_nodes(tree); /* data before the nodes that read their flags */
        warn_unread(tree);
    }
    return code;
}
