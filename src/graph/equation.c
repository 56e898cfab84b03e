/* The tree as text in the tree language: its definitions with their names, axes and shapes. */
#include "graph/graph.h"

#include "base/text.h"
#include "graph/call.h"
#include "graph/derivative.h"
#include "graph/neutral.h"
#include "grove.h"

#include <stdlib.h>
#include <string.h>

/* Columns up to the shapes. */
enum { SHAPES = 64 };

/* How tightly an expression binds. */
enum { SUM = 1, PRODUCT, NEGATIVE, POSTFIX, ATOM };

typedef struct {
    grove_text text;
    int *uses; /* of each node, in the text shown */
} writer;

static void add_expression(writer *w, const grove_node *node, char side, int tightness);

/* As the tree gives it: a fit may be given the factors of its model in its place. */
static const grove_edge *given_edge(const grove_node *node, int k)
{
    return node->fit && k == node->fit->model && node->fit->whole.node ? &node->fit->whole
                                                                       : &node->inputs[k];
}

static int own_inputs(const grove_node *node)
{
    return node->fit && node->fit->own_inputs ? node->fit->own_inputs : node->input_count;
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

static bool is_unnamed_operator(const grove_node *node)
{
    return node->auto_named && tightness_of(node) < ATOM;
}

/* Operators without a name are shown in the line that uses them; if several lines do, only
 * operators on named operands, so that the text does not outgrow the tree. */
static bool is_inline(const writer *w, const grove_node *node)
{
    if (!is_unnamed_operator(node))
        return false;
    for (int k = 0; k < node->input_count && w->uses[node->id] > 1; k++)
        if (node->inputs[k].node &&
            is_unnamed_operator(grove_node_behind_casts(node->inputs[k].node)))
            return false;
    return true;
}

/* ---- literals ---- */

static void add_quoted(writer *w, const char *from)
{
    grove_text_add(&w->text, "\"");
    for (; *from; from++)
        if (*from == '\n')
            grove_text_add(&w->text, "\\n");
        else
            grove_text_add(&w->text, "%s%c", strchr("\"\\", *from) ? "\\" : "", *from);
    grove_text_add(&w->text, "\"");
}

static void add_literal(writer *w, const grove_tree *tree, const grove_literal *literal)
{
    if (literal->kind == GROVE_LITERAL_TEXT && !literal->word) {
        add_quoted(w, literal->text);
    } else if (literal->kind == GROVE_LITERAL_LIST) {
        grove_text_add(&w->text, "[");
        for (int i = 0; i < literal->count; i++) {
            grove_text_add(&w->text, "%s", i ? ", " : "");
            add_literal(w, tree, &literal->items[i]);
        }
        grove_text_add(&w->text, "]");
    } else {
        /* numbers without the blank before their units */
        for (const char *at = grove_literal_show(tree->arena, literal); *at; at++)
            if (*at != ' ')
                grove_text_add(&w->text, "%c", *at);
    }
}

/* ---- expressions ---- */

/* The name with its indices, as in E[s,p]: s for sources, the station's letter, p,q for baselines.
 */
static void add_name(writer *w, const grove_node *node, char side)
{
    const char *comma = "[";

    grove_text_add(&w->text, "%s", node->name);
    if (node->kind != GROVE_NODE_CLASS || node->class_->kind == GROVE_CLASS_ACTION)
        return;
    for (int i = 0; i < node->axis_count; i++) {
        int kind = node->axes[i]->kind;
        if (kind == GROVE_AXIS_SOURCE)
            grove_text_add(&w->text, "%ss", comma);
        else if (kind == GROVE_AXIS_STATION)
            grove_text_add(&w->text, "%s%c", comma, side ? side : node->role ? node->role : 'p');
        else if (kind == GROVE_AXIS_BASELINE)
            grove_text_add(&w->text, "%sp,q", comma);
        else
            continue;
        comma = ",";
    }
    grove_text_add(&w->text, "%s", *comma == ',' ? "]" : "");
}

static void add_input(writer *w, const grove_node *node, int k, char side, int tightness)
{
    const grove_edge *edge = given_edge(node, k);

    add_expression(w, edge->node, edge->side ? edge->side : side, tightness);
}

static void add_operator(writer *w, const grove_node *node, char side)
{
    static const char *const signs[] = {
        [GROVE_ROLE_SUM] = " + ",      [GROVE_ROLE_DIFFERENCE] = " - ", [GROVE_ROLE_NEGATIVE] = "-",
        [GROVE_ROLE_PRODUCT] = " * ",  [GROVE_ROLE_QUOTIENT] = " / ",   [GROVE_ROLE_POWER] = "^",
        [GROVE_ROLE_TRANSPOSE] = "^T", [GROVE_ROLE_HERMITIAN] = "^H"};
    int tightness = tightness_of(node);
    const char *sign = signs[node->class_->role];

    if (tightness == NEGATIVE) {
        grove_text_add(&w->text, "%s", sign);
        add_input(w, node, 0, side, tightness + 1);
        return;
    }
    add_input(w, node, 0, side, tightness == POSTFIX ? ATOM : tightness);
    grove_text_add(&w->text, "%s", sign);
    if (node->input_count > 1 && node->inputs[1].node)
        add_input(w, node, 1, side, tightness + 1);
    else if (node->class_->role == GROVE_ROLE_POWER && node->options[0].value)
        add_literal(w, node->tree, node->options[0].value);
}

static bool has_options(const grove_node *node)
{
    const grove_port *options = node->class_->options;

    for (int i = 0; options && options[i].name; i++)
        if (node->options[i].by_user)
            return true;
    return false;
}

/* Whether input k is the value of the default `initial`, "obs.uvw" or "lmn(S, obs)": sums that
 * became one node get such values. */
static bool is_default(const grove_node *node, int k, const char *initial)
{
    const grove_node *input = grove_node_behind_casts(given_edge(node, k)->node);

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
    const grove_port *option = &node->class_->options[i];
    bool value = grove_kind_is_value(option->kind);

    return node->options[i].by_user && !(value && is_default(node, k, option->initial));
}

/* The call's inputs, optional ones by their names; *k: their number of values. */
static const char *add_inputs(writer *w, const grove_node *node, int *k)
{
    const grove_port *inputs = node->class_->inputs;
    const char *comma = "";

    for (int i = 0; inputs && inputs[i].name; i++) {
        bool value = grove_kind_is_value(inputs[i].kind);
        const grove_node *object = value ? NULL : node->objects[i];
        *k += value;
        if (inputs[i].optional && !object)
            continue;
        grove_text_add(&w->text, "%s%s%s", comma, inputs[i].optional ? inputs[i].name : "",
                       inputs[i].optional ? "=" : "");
        comma = ", ";
        if (value && node->inputs[*k - 1].node)
            add_input(w, node, *k - 1, 0, SUM);
        else
            grove_text_add(&w->text, "%s", object ? object->name : "none");
    }
    return comma;
}

/* The call with its arguments, without defaults. */
static void add_call(writer *w, const grove_node *node)
{
    const grove_port *options = node->class_->options;
    int k = 0;

    grove_text_add(&w->text, "%s(", node->class_->name);
    const char *comma = add_inputs(w, node, &k);
    for (int i = 0; options && options[i].name; i++) {
        bool value = grove_kind_is_value(options[i].kind);
        if (is_given(node, i, k)) {
            grove_text_add(&w->text, "%s%s=", comma, options[i].name);
            comma = ", ";
            if (value && node->inputs[k].node)
                add_input(w, node, k, 0, SUM);
            else if (!value && node->options[i].value)
                add_literal(w, node->tree, node->options[i].value);
            else
                grove_text_add(&w->text, "none");
        }
        k += value;
    }
    grove_text_add(&w->text, ")");
}

static void add_expression(writer *w, const grove_node *node, char side, int tightness)
{
    node = grove_node_behind_casts(node);
    if (node->kind == GROVE_NODE_CONSTANT) {
        bool parentheses =
            tightness > SUM && (node->constant->number < 0 || node->constant->imaginary != 0);
        grove_text_add(&w->text, "%s", parentheses ? "(" : "");
        add_literal(w, node->tree, node->constant);
        grove_text_add(&w->text, "%s", parentheses ? ")" : "");
    } else if (is_inline(w, node)) {
        bool parentheses = tightness_of(node) < tightness;
        grove_text_add(&w->text, "%s", parentheses ? "(" : "");
        add_operator(w, node, side);
        grove_text_add(&w->text, "%s", parentheses ? ")" : "");
    } else {
        add_name(w, node, side);
    }
}

/* ---- lines ---- */

/* The form of the value, behind the line that began at `start`. */
static void add_form(writer *w, const grove_node *node, size_t start)
{
    size_t length = w->text.length - start;
    char *form = grove_node_describe(node);

    grove_text_add(&w->text, "%*s%s\n", length < SHAPES ? (int)(SHAPES - length) + 2 : 2, "", form);
    free(form);
}

/* How a node is made. */
static void add_body(writer *w, const grove_node *node, char side)
{
    if (tightness_of(node) < ATOM)
        add_operator(w, node, side);
    else
        add_call(w, node);
}

static void add_line(writer *w, const grove_node *node)
{
    size_t start = w->text.length;

    if (!node->auto_named || node->class_->kind != GROVE_CLASS_ACTION) {
        add_name(w, node, 0);
        grove_text_add(&w->text, " = ");
    }
    add_body(w, node, 0);
    add_form(w, node, start);
    if (node->fused)
        grove_text_add(&w->text, "    %s\n", node->fused);
    if (node->note)
        grove_text_add(&w->text, "    %s\n", node->note);
}

/* Counts the nodes that a shown expression uses. */
static void count_inputs(const grove_node *node, int *uses)
{
    const grove_port *inputs = node->class_ ? node->class_->inputs : NULL;
    const grove_port *options = node->class_ ? node->class_->options : NULL;
    int given = 0, k;

    for (int i = 0; inputs && inputs[i].name; i++)
        given += grove_kind_is_value(inputs[i].kind);
    for (k = 0; k < given; k++)
        if (node->inputs[k].node)
            uses[grove_node_behind_casts(given_edge(node, k)->node)->id]++;
    for (int i = 0; options && options[i].name; i++) {
        if (!grove_kind_is_value(options[i].kind))
            continue;
        if (is_given(node, i, k) && node->inputs[k].node)
            uses[grove_node_behind_casts(given_edge(node, k)->node)->id]++;
        k++;
    }
}

/* Members, numbers and unnamed operators are parts of other lines; nodes that only defaults made
 * have none. */
char *grove_tree_show(const grove_tree *tree)
{
    writer w = {.uses = grove_alloc(tree->node_count * sizeof(int))};
    bool *shown = grove_alloc(tree->node_count * sizeof(bool));

    for (size_t i = tree->node_count; i-- > 0;) {
        const grove_node *node = tree->nodes[i];
        bool given = node->kind == GROVE_NODE_LEAF || (node->class_ && !node->auto_named) ||
                     (node->class_ && node->class_->kind == GROVE_CLASS_ACTION);
        shown[i] = node->used && (w.uses[i] || given);
        if (shown[i])
            count_inputs(node, w.uses);
    }
    for (size_t i = 0; i < tree->node_count; i++)
        if (shown[i] && tree->nodes[i]->class_ && !is_inline(&w, tree->nodes[i]))
            add_line(&w, tree->nodes[i]);
    free(shown);
    free(w.uses);
    return w.text.at ? w.text.at : grove_strdup("");
}

char *grove_tree_notes(const grove_tree *tree)
{
    grove_text text = {0};

    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (node->kind != GROVE_NODE_LEAF || !node->used || !node->note)
            continue;
        grove_text_add(&text, "%s: ", node->name);
        grove_text_add_shown(&text, node->note, strlen(node->note), "");
        grove_text_add(&text, "\n");
    }
    return text.at ? text.at : grove_strdup("");
}

/* ---- derivatives ---- */

static void add_slot(writer *w, const grove_derivatives *derivatives, const grove_slot *slot)
{
    static const char *const by[] = {
        [GROVE_PART_REAL] = "real(",
        [GROVE_PART_IMAGINARY] = "imag(",
        [GROVE_PART_BOTH] = "",
        [GROVE_PART_BOTH_CONJUGATE] = "",
    };
    const char *part = slot->parm->form.complex_ ? by[slot->part] : "";
    const grove_node *node = grove_node_behind_casts(slot->node);
    size_t start = w->text.length;

    grove_text_add(&w->text, "d ");
    add_name(w, derivatives->root, 0);
    grove_text_add(&w->text, " / d %s", part);
    add_name(w, slot->parm, slot->side);
    if (slot->axis)
        grove_text_add(&w->text, " at %s %lld", slot->axis->name, (long long)slot->index);
    grove_text_add(&w->text, "%s = ", *part ? ")" : "");
    if (node->kind == GROVE_NODE_CLASS && node->auto_named)
        add_body(w, node, slot->role);
    else
        add_expression(w, node, slot->role, SUM);
    add_form(w, slot->node, start);
    if (slot->part >= GROVE_PART_BOTH)
        grove_text_add(&w->text, "    by the imaginary part: %si times that\n",
                       slot->part == GROVE_PART_BOTH ? "" : "-");
}

/* Lines of the nodes that were made for the slots, then one for each slot. */
static void add_derivatives(writer *w, const grove_tree *tree, const grove_derivatives *derivatives,
                            size_t before)
{
    size_t count = tree->node_count;
    bool *shown = grove_alloc((count + 1) * sizeof(bool));

    w->uses = grove_alloc((count + 1) * sizeof(int));
    for (size_t i = 0; i < derivatives->count; i++)
        if (grove_node_behind_casts(derivatives->slots[i].node)->class_)
            count_inputs(grove_node_behind_casts(derivatives->slots[i].node), w->uses);
    for (size_t i = count; i-- > before;) {
        shown[i] = tree->nodes[i]->class_ && w->uses[i];
        if (shown[i])
            count_inputs(tree->nodes[i], w->uses);
    }
    for (size_t i = before; i < count; i++)
        if (shown[i] && !is_inline(w, tree->nodes[i]))
            add_line(w, tree->nodes[i]);
    for (size_t i = 0; i < derivatives->count; i++)
        add_slot(w, derivatives, &derivatives->slots[i]);
    free(shown);
    free(w->uses);
}

char *grove_tree_show_derivatives(grove_tree *tree, grove_error *error)
{
    size_t before = tree->node_count, roots = 0;
    const grove_node **done = grove_alloc((before + 1) * sizeof(*done));
    writer w = {.uses = NULL};
    int code = 0;

    for (size_t i = 0; i < tree->action_count && !code; i++)
        for (int k = 0; k < own_inputs(tree->actions[i]) && !code; k++) {
            grove_node *root =
                (grove_node *)grove_node_behind_casts(given_edge(tree->actions[i], k)->node);
            grove_derivatives all;
            size_t known = 0;
            while (known < roots && done[known] != root)
                known++;
            if (!root || known < roots || roots == before)
                continue;
            done[roots++] = root;
            code = grove_tree_derive(tree, root, NULL, 0, &all, error);
            if (!code)
                add_derivatives(&w, tree, &all, before);
        }
    free(done);
    if (code)
        free(w.text.at);
    return code ? NULL : w.text.at ? w.text.at : grove_strdup("");
}
