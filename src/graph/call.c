/* Makes a node from a call of its class. */
#include "graph/call.h"

#include "base/text.h"

#include <string.h>

static grove_hash call_key(const grove_node *node)
{
    const grove_class *class_ = node->class_;
    grove_hash key = grove_hash_text(grove_hash_start(), class_->name);

    if (node->tree->in_double)
        key = grove_hash_text(key, "double");

    for (int i = 0; class_->inputs && class_->inputs[i].name; i++)
        if (node->objects[i])
            key = grove_hash_join(key, node->objects[i]->key);
    for (int k = 0; k < node->input_count; k++) {
        key = grove_hash_integer(key, node->inputs[k].node ? node->inputs[k].side + 1 : 0);
        if (node->inputs[k].node)
            key = grove_hash_join(key, node->inputs[k].node->key);
    }
    for (int i = 0; class_->options && class_->options[i].name; i++)
        if (!grove_kind_is_value(class_->options[i].kind) && node->options[i].value)
            key = grove_literal_hash(key, node->options[i].value);
    return key;
}

static grove_node *find_call(const grove_tree *tree, const grove_node *like)
{
    if (like->class_->kind == GROVE_CLASS_ACTION)
        return NULL;
    for (size_t i = 0; i < tree->node_count; i++) {
        grove_node *node = tree->nodes[i];
        if (node->class_ == like->class_ && grove_hash_equal(node->call_key, like->call_key))
            return node;
    }
    return NULL;
}

/* The precision in which `real` is compiled for this node, and its value stored: the class's own;
 * else double when all inputs that are handed over as given are double regardless of the run; else
 * the run's. Constants go with either. Where the tree says so, double always. */
static void settle_precision(grove_node *node)
{
    bool all_double = true, as_given = false;

    if (node->form.precision != GROVE_PRECISION_RUN)
        return;
    if (node->tree->in_double) {
        node->form.precision = GROVE_PRECISION_DOUBLE;
        return;
    }
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        if (!in || grove_handing_precision(node->handing[k]) != GROVE_PRECISION_RUN ||
            node->handing[k] == GROVE_AS_FLAGS)
            continue;
        as_given = true;
        all_double = all_double && (in->kind == GROVE_NODE_CONSTANT ||
                                    in->form.precision == GROVE_PRECISION_DOUBLE);
    }
    if (as_given && all_double)
        node->form.precision = GROVE_PRECISION_DOUBLE;
}

grove_node *grove_tree_cast(grove_node *from, grove_precision precision, bool complex_)
{
    grove_tree *tree = from->tree;
    grove_hash key = grove_hash_text(grove_hash_start(), "cast");

    if (from->kind == GROVE_NODE_CONSTANT && from->form.complex_ == complex_)
        return grove_tree_constant(tree, from->constant, precision, &from->place);
    key = grove_hash_integer(grove_hash_integer(grove_hash_join(key, from->key), precision),
                             complex_);
    grove_node *node = grove_tree_find_key(tree, key);
    if (node)
        return node;
    node = grove_tree_add_node(tree, GROVE_NODE_CAST, from->name, &from->place);
    node->key = key;
    node->inputs = grove_arena_alloc(tree->arena, sizeof(grove_edge));
    node->inputs[0].node = from;
    node->input_count = 1;
    node->form = from->form;
    node->form.precision = precision;
    node->form.complex_ = complex_;
    node->form.flags = false;
    node->axis_count = from->axis_count;
    node->missing_elements = from->missing_elements;
    memcpy(node->axes, from->axes, sizeof(node->axes));
    return node;
}

void grove_infer_casts(grove_node *node)
{
    settle_precision(node);
    for (int k = 0; k < node->input_count; k++) {
        grove_node *in = node->inputs[k].node;
        grove_precision precision = node->form.precision;
        if (!in || node->handing[k] == GROVE_AS_FLAGS)
            continue;
        bool complex_ = in->form.complex_;
        if (grove_handing_precision(node->handing[k]) != GROVE_PRECISION_RUN)
            precision = grove_handing_precision(node->handing[k]);
        if (node->handing[k] == GROVE_AS_COMPLEX || node->handing[k] == GROVE_AS_SINGLE_COMPLEX)
            complex_ = true;
        if (in->form.precision != precision || in->form.complex_ != complex_)
            node->inputs[k].node = grove_tree_cast(in, precision, complex_);
    }
}

static void start_form(grove_node *node)
{
    const grove_class *class_ = node->class_;

    if (class_->kind == GROVE_CLASS_REDUCTION || class_->kind == GROVE_CLASS_SELECTION)
        node->form = *grove_node_input_form(node, 0);
    else if (class_->output)
        node->form = *class_->output;
    if (!node->form.shape)
        node->form.shape = GROVE_SCALAR;
    node->kernel = class_->kernel;
    node->tangent = class_->tangent;
}

/* Checks that kernel, state and output chosen by the class's check agree. */
static int check_choice(const grove_node *node)
{
    if (node->class_->kind == GROVE_CLASS_ACCUMULATOR && !node->amounts[0].memory)
        return grove_node_fail(node, GROVE_ABI,
                               "the plugin's check does not say how many bytes it keeps: "
                               "grove_node_set_memory");
    if (node->class_->kind != GROVE_CLASS_VALUE)
        return 0;
    if (grove_class_takes_arrays(node->class_))
        return 0;
    if (!node->kernel)
        return grove_node_fail(node, GROVE_ABI, "the plugin's check chose no kernel");
    if (node->consumed_count)
        return grove_node_fail(node, GROVE_ABI,
                               "the plugin consumes axes, which a cell function cannot; it needs "
                               ".eval or .device");
    return 0;
}

/* Also of a class that does not declare on which files its content depends. */
static void note_files(const grove_node *node)
{
    const grove_port *options = node->class_->options;

    for (int i = 0; options && options[i].name; i++)
        if (options[i].kind == GROVE_FILE && grove_node_given(node, options[i].name))
            grove_tree_add_read(node->tree, grove_node_text(node, options[i].name));
}

static int call_class(grove_node *node)
{
    const grove_class *class_ = node->class_;
    int code = 0;

    if (class_->kind == GROVE_CLASS_REDUCTION)
        code = grove_infer_reduction(node);
    else if (class_->kind == GROVE_CLASS_SELECTION)
        code = grove_infer_selection(node);
    grove_class_lock(class_);
    if (!code && class_->check)
        code = class_->check(node);
    if (!code && class_->data)
        code = class_->data->open(node);
    if (class_->data)
        note_files(node);
    grove_class_unlock(class_);
    if (!code && node->axis_count > GROVE_VALUE_AXES)
        code = grove_node_fail(node, GROVE_SHAPE, "more than %d axes", (int)GROVE_VALUE_AXES);
    if (!code)
        code = check_choice(node);
    if (!code && node->kind == GROVE_NODE_CLASS)
        code = grove_infer_missing_elements(node);
    if (!code)
        code = grove_leaf_check(node);
    if (!code && node->kind == GROVE_NODE_LEAF)
        grove_leaf_share_axes(node);
    return code;
}

static int check_node(grove_node *node)
{
    size_t before = grove_error_count(node->tree->error);

    start_form(node);
    int code = call_class(node);
    return grove_node_verdict(node, node->tree->error, before, code,
                              "the plugin's check failed without a message");
}

static int infer(grove_node *node, const grove_argument *arguments, size_t count)
{
    char roles[GROVE_MAX_INPUTS] = {0};
    int code = grove_bind_arguments(node, arguments, count, roles);

    if (!code)
        code = grove_infer_axes(node, roles);
    if (!code)
        code = grove_infer_forms(node);
    if (!code)
        code = grove_check_sides(node);
    return code;
}

static grove_node *new_node(grove_tree *tree, const grove_class *class_, const char *name,
                            const grove_place *place)
{
    grove_node *node = grove_arena_alloc(tree->arena, sizeof(*node));

    node->kind = class_->kind == GROVE_CLASS_DATA ? GROVE_NODE_LEAF : GROVE_NODE_CLASS;
    node->class_ = class_;
    node->tree = tree;
    node->select_element = -1;
    node->name = name ? grove_arena_text(tree->arena, name) : class_->name;
    node->auto_named = !name;
    if (place)
        node->place = *place;
    return node;
}

/* A leaf with a name is CLASS(NAME): parm(G). The value of a parm has its member's name: G.x, or G
 * for "value". */
static const char *generated_name(const grove_node *node)
{
    grove_arena *arena = node->tree->arena;
    const char *name = grove_node_property(node, "name");
    const grove_node *value = node->class_->role == GROVE_ROLE_PARM ? node->inputs[0].node : NULL;

    if (name)
        return grove_arena_format(arena, "%s(%s)", node->class_->name, name);
    if (!value || value->kind != GROVE_NODE_MEMBER || !grove_node_property(value->leaf, "name"))
        return grove_arena_format(arena, "%s#%d", node->class_->name, node->id);
    const char *member = value->leaf->members[value->member].name;
    name = grove_node_property(value->leaf, "name");
    return strcmp(member, "value") ? grove_arena_format(arena, "%s.%s", name, member) : name;
}

static void publish(grove_tree *tree, grove_node *node)
{
    grove_grow((void **)&tree->nodes, &tree->node_capacity, tree->node_count, sizeof(grove_node *));
    node->id = (int)tree->node_count;
    tree->nodes[tree->node_count++] = node;
    if (node->auto_named)
        node->name = generated_name(node);
}

/* The value of the expression by which a class replaces a call. */
static grove_operand express(const grove_node *node, const char *text, const char *name,
                             const grove_place *place)
{
    grove_tree *tree = node->tree;
    grove_operand result = {0};

    if (tree->expand(tree->expand_context, tree, text, node, place, &result))
        return (grove_operand){0};
    if (name && result.kind == GROVE_OPERAND_NODE && result.node->auto_named) {
        result.node->name = grove_arena_text(tree->arena, name);
        result.node->place = *place;
        result.node->auto_named = false;
    }
    return result;
}

static grove_operand express_leaf(grove_node *leaf, const char *name, const grove_place *place)
{
    grove_operand result = express(leaf, leaf->class_->expression(leaf), name, place);

    if (result.kind != GROVE_OPERAND_NODE)
        return result;
    grove_node *node = result.node;
    node->stands_for = leaf;
    if (name && leaf->auto_named && node->kind == GROVE_NODE_MEMBER && node->leaf == leaf) {
        node->name = leaf->name = grove_arena_text(leaf->tree->arena, name);
        leaf->auto_named = false;
    }
    return result;
}

static void close_node(grove_node *node)
{
    grove_class_lock(node->class_);
    if (node->class_->close)
        node->class_->close(node);
    grove_class_unlock(node->class_);
}

/* The equivalent expression, in place of a node, which is not published. */
static bool replace(grove_node *node, const char *name, const grove_place *place,
                    grove_operand *result)
{
    const char *text = node->kind == GROVE_NODE_CLASS && node->class_->expression
                           ? node->class_->expression(node)
                           : NULL;

    if (!text)
        return false;
    node->id = GROVE_RULE_ID;
    *result = express(node, text, name, place);
    if (result->kind == GROVE_OPERAND_NODE && !result->node->note)
        result->node->note = node->note;
    close_node(node);
    return true;
}

grove_operand grove_tree_call(grove_tree *tree, const grove_class *class_, const char *name,
                              const grove_place *place, const grove_argument *arguments,
                              size_t count)
{
    grove_operand result = {0};
    const bool is_leaf = class_->expression && class_->kind == GROVE_CLASS_DATA;
    grove_node *node = new_node(tree, class_, is_leaf ? NULL : name, place);

    if (infer(node, arguments, count))
        return result;
    node->call_key = node->key = call_key(node);
    grove_node *same = find_call(tree, node);
    if (same) {
        if (same->auto_named && name && !is_leaf) {
            same->name = node->name;
            same->place = node->place;
            same->auto_named = false;
        }
        result.role = node->role;
        node = same;
    } else {
        result.role = node->role;
        if (check_node(node)) {
            close_node(node);
            return result;
        }
        if (replace(node, name, place, &result))
            return result;
        if (node->kind == GROVE_NODE_LEAF)
            node->key = grove_hash_join(node->key, node->identity);
        else
            grove_infer_casts(node);
        node->sides = grove_infer_sides(node);
        publish(tree, node);
    }
    if (is_leaf)
        return express_leaf(node, name, place);
    result.kind = GROVE_OPERAND_NODE;
    result.node = node;
    return result;
}
