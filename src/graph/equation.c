/* The tree as text in the tree language: what its author gave, names kept, with axes and shape. */
#include "graph/graph.h"

#include "base/text.h"
#include "graph/call.h"

#include <stdlib.h>
#include <string.h>

/* Columns up to the shapes. */
enum { SHAPES = 64 };

/* How tightly an expression binds. */
enum { SUM = 1, PRODUCT, NEGATIVE, POSTFIX, ATOM };

static void add_expression(grove_text *text, const grove_node *node, char side, int tightness);

static const grove_node *behind_casts(const grove_node *node)
{
    while (node && node->kind == GROVE_NODE_CAST)
        node = node->inputs[0].node;
    return node;
}

static int tightness_of(const grove_node *node)
{
    switch (node->kind == GROVE_NODE_CLASS ? (int)node->class_->role : 0) {
    case GROVE_ROLE_SUM:
    case GROVE_ROLE_DIFFERENCE:
        return SUM;
    case GROVE_ROLE_PRODUCT:
    case GROVE_ROLE_QUOTIENT:
        return PRODUCT;
    case GROVE_ROLE_NEGATIVE:
        return NEGATIVE;
    case GROVE_ROLE_POWER:
    case GROVE_ROLE_TRANSPOSE:
    case GROVE_ROLE_HERMITIAN:
        return POSTFIX;
    default:
        return ATOM;
    }
}

/* Operators without a name stand in the lines of what uses them. */
static bool is_inline(const grove_node *node)
{
    return node->auto_named && tightness_of(node) < ATOM;
}

/* ---- literals ---- */

static void add_quoted(grove_text *text, const char *from)
{
    grove_text_add(text, "\"");
    for (; *from; from++)
        if (*from == '\n')
            grove_text_add(text, "\\n");
        else
            grove_text_add(text, "%s%c", strchr("\"\\", *from) ? "\\" : "", *from);
    grove_text_add(text, "\"");
}

static void add_literal(grove_text *text, const grove_tree *tree, const grove_literal *literal)
{
    if (literal->kind == GROVE_LITERAL_TEXT && !literal->word) {
        add_quoted(text, literal->text);
    } else if (literal->kind == GROVE_LITERAL_LIST) {
        grove_text_add(text, "[");
        for (int i = 0; i < literal->count; i++) {
            grove_text_add(text, "%s", i ? ", " : "");
            add_literal(text, tree, &literal->items[i]);
        }
        grove_text_add(text, "]");
    } else {
        /* numbers without the blank before their units */
        for (const char *at = grove_literal_show(tree->arena, literal); *at; at++)
            if (*at != ' ')
                grove_text_add(text, "%c", *at);
    }
}

/* ---- expressions ---- */

/* The name with its indices, as in E[s,p]: s for sources, the station's letter, p,q for baselines.
 */
static void add_name(grove_text *text, const grove_node *node, char side)
{
    const char *comma = "[";

    grove_text_add(text, "%s", node->name);
    if (node->kind != GROVE_NODE_CLASS || node->class_->kind == GROVE_CLASS_ACTION)
        return;
    for (int i = 0; i < node->axis_count; i++) {
        int kind = node->axes[i]->kind;
        if (kind == GROVE_AXIS_SOURCE)
            grove_text_add(text, "%ss", comma);
        else if (kind == GROVE_AXIS_STATION)
            grove_text_add(text, "%s%c", comma, side ? side : node->role ? node->role : 'p');
        else if (kind == GROVE_AXIS_BASELINE)
            grove_text_add(text, "%sp,q", comma);
        else
            continue;
        comma = ",";
    }
    grove_text_add(text, "%s", *comma == ',' ? "]" : "");
}

static void add_input(grove_text *text, const grove_node *node, int k, char side, int tightness)
{
    const grove_edge *edge = &node->inputs[k];

    add_expression(text, edge->node, edge->side ? edge->side : side, tightness);
}

static void add_operator(grove_text *text, const grove_node *node, char side)
{
    static const char *const signs[] = {
        [GROVE_ROLE_SUM] = " + ",      [GROVE_ROLE_DIFFERENCE] = " - ", [GROVE_ROLE_NEGATIVE] = "-",
        [GROVE_ROLE_PRODUCT] = " * ",  [GROVE_ROLE_QUOTIENT] = " / ",   [GROVE_ROLE_POWER] = "^",
        [GROVE_ROLE_TRANSPOSE] = "^T", [GROVE_ROLE_HERMITIAN] = "^H"};
    int tightness = tightness_of(node);
    const char *sign = signs[node->class_->role];

    if (tightness == NEGATIVE) {
        grove_text_add(text, "%s", sign);
        add_input(text, node, 0, side, tightness + 1);
        return;
    }
    add_input(text, node, 0, side, tightness == POSTFIX ? ATOM : tightness);
    grove_text_add(text, "%s", sign);
    if (node->input_count > 1 && node->inputs[1].node)
        add_input(text, node, 1, side, tightness + 1);
}

static bool has_options(const grove_node *node)
{
    const grove_option *options = node->class_->options;

    for (int i = 0; options && options[i].name; i++)
        if (node->options[i].by_user)
            return true;
    return false;
}

/* Whether input k is what the default `initial` stands for, "obs.uvw" or "lmn(S, obs)": sums that
 * became one node are given such values. */
static bool is_default(const grove_node *node, int k, const char *initial)
{
    const grove_node *input = behind_casts(node->inputs[k].node);

    if (!initial || !input)
        return false;
    if (input->kind == GROVE_NODE_MEMBER) {
        const char *point = strchr(initial, '.');
        return point && !strcmp(point + 1, input->leaf->members[input->member].name);
    }
    size_t length = strcspn(initial, "(");
    return input->kind == GROVE_NODE_CLASS && input->auto_named && initial[length] == '(' &&
           strlen(input->class_->name) == length &&
           !strncmp(initial, input->class_->name, length) && !has_options(input);
}

/* Whether option i, whose value is input k if it has one, was given. */
static bool is_given(const grove_node *node, int i, int k)
{
    const grove_option *option = &node->class_->options[i];
    bool value = grove_kind_is_value(option->kind);

    return node->options[i].by_user && !(value && is_default(node, k, option->initial));
}

/* The call, with what was given in it: defaults are left out. */
static void add_call(grove_text *text, const grove_node *node)
{
    const grove_input *inputs = node->class_->inputs;
    const grove_option *options = node->class_->options;
    const char *comma = "";
    int k = 0;

    grove_text_add(text, "%s(", node->class_->name);
    for (int i = 0; inputs && inputs[i].name; i++, comma = ", ") {
        bool value = grove_kind_is_value(inputs[i].kind);
        grove_text_add(text, "%s", comma);
        if (value && node->inputs[k].node)
            add_input(text, node, k, 0, SUM);
        else
            grove_text_add(text, "%s",
                           !value && node->objects[i] ? node->objects[i]->name : "none");
        k += value;
    }
    for (int i = 0; options && options[i].name; i++) {
        bool value = grove_kind_is_value(options[i].kind);
        if (is_given(node, i, k)) {
            grove_text_add(text, "%s%s=", comma, options[i].name);
            comma = ", ";
            if (value && node->inputs[k].node)
                add_input(text, node, k, 0, SUM);
            else if (!value && node->options[i].value)
                add_literal(text, node->tree, node->options[i].value);
            else
                grove_text_add(text, "none");
        }
        k += value;
    }
    grove_text_add(text, ")");
}

static void add_expression(grove_text *text, const grove_node *node, char side, int tightness)
{
    node = behind_casts(node);
    if (node->kind == GROVE_NODE_CONSTANT) {
        bool parentheses =
            tightness > SUM && (node->constant->number < 0 || node->constant->imaginary != 0);
        grove_text_add(text, "%s", parentheses ? "(" : "");
        add_literal(text, node->tree, node->constant);
        grove_text_add(text, "%s", parentheses ? ")" : "");
    } else if (is_inline(node)) {
        bool parentheses = tightness_of(node) < tightness;
        grove_text_add(text, "%s", parentheses ? "(" : "");
        add_operator(text, node, side);
        grove_text_add(text, "%s", parentheses ? ")" : "");
    } else {
        add_name(text, node, side);
    }
}

/* ---- lines ---- */

static void add_line(grove_text *text, const grove_node *node)
{
    size_t start = text->length;
    char *form = grove_node_describe(node);

    if (!node->auto_named || node->class_->kind != GROVE_CLASS_ACTION) {
        add_name(text, node, 0);
        grove_text_add(text, " = ");
    }
    if (tightness_of(node) < ATOM)
        add_operator(text, node, 0);
    else
        add_call(text, node);
    size_t length = text->length - start;
    grove_text_add(text, "%*s%s\n", length < SHAPES ? (int)(SHAPES - length) + 2 : 2, "", form);
    free(form);
    if (node->fused)
        grove_text_add(text, "    %s\n", node->fused);
    if (node->note)
        grove_text_add(text, "    %s\n", node->note);
}

/* Marks what an expression that is shown names. */
static void mark_inputs(const grove_node *node, bool *shown)
{
    const grove_input *inputs = node->class_ ? node->class_->inputs : NULL;
    const grove_option *options = node->class_ ? node->class_->options : NULL;
    int given = 0, k;

    for (int i = 0; inputs && inputs[i].name; i++)
        given += grove_kind_is_value(inputs[i].kind);
    for (k = 0; k < given; k++)
        if (node->inputs[k].node)
            shown[behind_casts(node->inputs[k].node)->id] = true;
    for (int i = 0; options && options[i].name; i++) {
        if (!grove_kind_is_value(options[i].kind))
            continue;
        if (is_given(node, i, k) && node->inputs[k].node)
            shown[behind_casts(node->inputs[k].node)->id] = true;
        k++;
    }
}

/* Members, numbers and unnamed operators are parts of other lines; nodes that only defaults made
 * have none. */
char *grove_tree_show(const grove_tree *tree)
{
    grove_text text = {0};
    bool *shown = grove_alloc(tree->node_count * sizeof(bool));

    for (size_t i = tree->node_count; i-- > 0;) {
        const grove_node *node = tree->nodes[i];
        bool given = node->kind == GROVE_NODE_LEAF || (node->class_ && !node->auto_named) ||
                     (node->class_ && node->class_->kind == GROVE_CLASS_ACTION);
        shown[i] = node->used && (shown[i] || given);
        if (shown[i])
            mark_inputs(node, shown);
    }
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (shown[i] && node->class_ && !is_inline(node))
            add_line(&text, node);
    }
    free(shown);
    return text.at ? text.at : grove_strdup("");
}
