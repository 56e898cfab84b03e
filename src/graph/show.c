/* Text for users: reference pages of classes, and trees in Graphviz's language. */
#include "graph/graph.h"

#include "base/text.h"
#include "graph/call.h"
#include "graph/neutral.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *shape_word(const grove_form *form)
{
    return form->shape == GROVE_MATRIX     ? "matrix"
           : form->shape == GROVE_DIAGONAL ? "diagonal"
           : form->shape == GROVE_VECTOR   ? "vector"
                                           : "scalar";
}

char *grove_node_describe(const grove_node *node)
{
    grove_text text = {0};
    grove_unit unit = node->form.unit;
    char shown[48];

    if (node->kind == GROVE_NODE_LEAF) {
        for (size_t i = 0; i < node->own_axis_count; i++)
            grove_text_add(&text, "%s%s %lld", i ? ", " : "", node->own_axes[i]->name,
                           (long long)node->own_axes[i]->size);
        return text.at ? text.at : grove_strdup("");
    }
    if (node->class_ && node->class_->kind == GROVE_CLASS_ACTION)
        return grove_strdup("action");
    grove_text_add(&text, "%s %s", node->form.complex_ ? "complex" : "real",
                   shape_word(&node->form));
    if (node->form.shape == GROVE_VECTOR)
        grove_text_add(&text, " %d", node->form.vector);
    grove_text_add(&text, " [");
    for (int i = 0; i < node->axis_count; i++)
        grove_text_add(&text, "%s%s", i ? " " : "", node->axes[i]->name);
    grove_text_add(&text, "]");
    if (!grove_unit_is_none(unit))
        grove_text_add(&text, " %s", grove_unit_show(shown, unit));
    if (node->form.precision == GROVE_PRECISION_DOUBLE)
        grove_text_add(&text, " double");
    return text.at;
}

/* ---- the reference page of a class ---- */

static void add_default(grove_text *text, const char *initial)
{
    if (!initial)
        grove_text_add(text, "must be given");
    else if (!strcmp(initial, "none"))
        grove_text_add(text, "may be left out");
    else
        grove_text_add(text, "default %s", initial);
}

char *grove_class_describe(const grove_class *class_)
{
    grove_arena *arena = grove_arena_new();
    grove_text text = {0};

    grove_text_add(&text, "%s(", class_->name);
    const char *comma = "";
    for (const grove_port *in = class_->inputs; in && in->name; in++, comma = ", ")
        grove_text_add(&text, in->optional ? "%s[%s=]" : "%s%s", comma, in->name);
    for (const grove_port *op = class_->options; op && op->name; op++, comma = ", ")
        if (!op->initial || strcmp(op->initial, "none") != 0)
            grove_text_add(&text, "%s%s=%s", comma, op->name, op->initial ? op->initial : "...");
        else
            grove_text_add(&text, "%s[%s=]", comma, op->name);
    grove_text_add(&text, ")\n\n%s\n", class_->doc);
    if (class_->output_doc)
        grove_text_add(&text, "\nResult: %s\n", class_->output_doc);
    if (class_->inputs && class_->inputs[0].name)
        grove_text_add(&text, "\nInputs\n");
    for (const grove_port *in = class_->inputs; in && in->name; in++)
        grove_text_add(&text, "  %-22s %s\n  %-22s   %s\n", in->name, in->doc, "",
                       grove_port_describe(arena, in));
    if (class_->options && class_->options[0].name)
        grove_text_add(&text, "\nOptions\n");
    for (const grove_port *op = class_->options; op && op->name; op++) {
        grove_text_add(&text, "  %-22s %s\n  %-22s   %s; ", op->name, op->doc, "",
                       grove_kind_describe(arena, op->kind, op->choices));
        add_default(&text, op->initial);
        grove_text_add(&text, "\n");
    }
    if (class_->example)
        grove_text_add(&text, "\nExample\n  %s\n", class_->example);
    grove_arena_free(arena);
    return text.at;
}

char *grove_class_markdown(const grove_class *class_)
{
    grove_arena *arena = grove_arena_new();
    grove_text text = {0};

    grove_text_add(&text, "### %s\n\n%s\n\n", class_->name, class_->doc);
    if (class_->example)
        grove_text_add(&text, "    %s\n\n", class_->example);
    if (class_->output_doc)
        grove_text_add(&text, "Result: %s.\n\n", class_->output_doc);
    if ((class_->inputs && class_->inputs[0].name) || (class_->options && class_->options[0].name))
        grove_text_add(&text, "| name | type | default | meaning |\n| --- | --- | --- | --- |\n");
    for (const grove_port *in = class_->inputs; in && in->name; in++)
        grove_text_add(&text, "| `%s` | %s | | %s |\n", in->name, grove_port_describe(arena, in),
                       in->doc);
    for (const grove_port *op = class_->options; op && op->name; op++)
        grove_text_add(&text, "| `%s` | %s | %s%s%s | %s |\n", op->name,
                       grove_kind_describe(arena, op->kind, op->choices), op->initial ? "`" : "",
                       op->initial ? op->initial : "must be given", op->initial ? "`" : "",
                       op->doc);
    grove_text_add(&text, "\n");
    grove_arena_free(arena);
    return text.at;
}

/* ---- trees ---- */

static void add_quoted(grove_text *text, const char *from)
{
    for (; *from; from++)
        if (*from == '\n')
            grove_text_add(text, "\\n");
        else
            grove_text_add(text, "%s%c", strchr("\"\\", *from) ? "\\" : "", *from);
}

static void add_dot_node(grove_text *text, const grove_node *node)
{
    const char *fill = node->kind == GROVE_NODE_LEAF ? "#d7ecd9" : "#ffffff";
    char *form = grove_node_describe(node);

    if (node->kind == GROVE_NODE_MEMBER)
        fill = "#eef6ee";
    else if (node->class_ && node->class_->kind == GROVE_CLASS_ACTION)
        fill = "#fde3c8";
    else if (node->fused)
        fill = "#d9e6f7";
    grove_text_add(text, "  n%d [fillcolor=\"%s\", label=\"", node->id, fill);
    add_quoted(text, node->name);
    if (node->class_ && strcmp(node->class_->name, node->name) != 0) {
        grove_text_add(text, "\\n");
        add_quoted(text, node->class_->name);
    }
    grove_text_add(text, "\\n");
    add_quoted(text, form);
    grove_text_add(text, "\"];\n");
    free(form);
}

static void add_dot_edges(grove_text *text, const grove_node *node)
{
    for (int k = 0; k < node->input_count; k++) {
        const grove_node *from = grove_node_behind_casts(node->inputs[k].node);
        if (!from)
            continue;
        grove_text_add(text, "  n%d -> n%d [label=\"", from->id, node->id);
        if (node->input_names)
            add_quoted(text, node->input_names[k]);
        if (node->inputs[k].side)
            grove_text_add(text, " [%c]", node->inputs[k].side);
        grove_text_add(text, "\"];\n");
    }
    if (node->leaf)
        grove_text_add(text, "  n%d -> n%d [style=dashed];\n", node->leaf->id, node->id);
}

char *grove_tree_dot(const grove_tree *tree)
{
    grove_text text = {0};

    grove_text_add(&text, "digraph tree {\n  rankdir=BT;\n"
                          "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];\n"
                          "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#555555\"];\n");
    for (size_t i = 0; i < tree->node_count; i++)
        if (tree->nodes[i]->used && tree->nodes[i]->kind != GROVE_NODE_CAST) {
            add_dot_node(&text, tree->nodes[i]);
            add_dot_edges(&text, tree->nodes[i]);
        }
    grove_text_add(&text, "}\n");
    return text.at;
}
