/* Infers axes, sides and form of a node's value from its inputs. */
#include "graph/call.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const grove_axis *axis_of(const grove_node *node, int kind)
{
    const grove_axis *axis = NULL;

    grove_node_axes_of_kind(node, kind, &axis, 1);
    return axis;
}

/* The baseline axis that belongs to the same observation as a station axis. */
static const grove_axis *baselines_of(const grove_axis *station)
{
    const grove_node *owner = station->owner;

    for (size_t i = 0; owner && i < owner->own_axis_count; i++)
        if (owner->own_axes[i]->kind == GROVE_AXIS_BASELINE)
            return owner->own_axes[i];
    return NULL;
}

int grove_infer_fail(const grove_node *node, int k, int code, const char *format, ...)
{
    const grove_place *place = &node->input_places[k];
    grove_text text = {0};
    va_list args;

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_fail_at(node->tree->error, place->line ? place : &node->place, code, "%s: %s",
                  node->class_->name, text.at);
    free(text.at);
    return code;
}

static bool has_own_axes(const grove_node *node, int k)
{
    return grove_port_of_value(node->class_, k)->own_axes;
}

/* Whether an axis may occur together with another one of the same name. */
static bool is_own(const grove_node *node, const grove_axis *axis)
{
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node && has_own_axes(node, k) &&
            grove_node_has_axis(node->inputs[k].node, axis))
            return true;
    return false;
}

static int add_axis(grove_node *node, int k, const grove_axis *axis)
{
    for (int i = 0; i < node->axis_count; i++) {
        if (node->axes[i] == axis)
            return 0;
        bool one_only = !is_own(node, axis) && !is_own(node, node->axes[i]) &&
                        axis->kind != GROVE_AXIS_SOURCE && node->axes[i]->kind == axis->kind &&
                        !strcmp(axis->name, node->axes[i]->name);
        if (one_only) {
            char difference[200];
            bool differs = grove_axis_differs(axis, node->axes[i], difference);
            return grove_infer_fail(
                node, k, GROVE_SHAPE,
                "'%s' has the %s axis of '%s', the inputs before it have the axis of '%s'; both "
                "must be the same, but they differ: %s",
                node->input_names[k], axis->name, axis->owner->name, node->axes[i]->owner->name,
                differs         ? difference
                : axis->left    ? "their baselines have different stations"
                : !axis->centre ? "they have no coordinates"
                                : "their coordinates are the same, but one belongs to a value that "
                                  "was made from all cells of the other");
        }
    }
    /* a class may consume some: grove_class_call */
    const int most = node->kind == GROVE_NODE_CLASS ? GROVE_MAX_AXES : GROVE_VALUE_AXES;
    if (node->axis_count == most)
        return grove_infer_fail(node, k, GROVE_SHAPE, "more than %d axes", most);
    grove_axis_insert(node->axes, &node->axis_count, axis);
    return 0;
}

static bool meets_baselines(const grove_node *node, const char *roles)
{
    bool left = false, right = false;

    for (int k = 0; k < node->input_count; k++) {
        const grove_node *in = node->inputs[k].node;
        if (in && axis_of(in, GROVE_AXIS_BASELINE))
            return true;
        if (in && axis_of(in, GROVE_AXIS_STATION)) {
            left = left || roles[k] == 'p';
            right = right || roles[k] == 'q';
        }
    }
    return left && right;
}

static int add_input_axes(grove_node *node, int k, char role, bool baseline)
{
    const grove_node *in = node->inputs[k].node;
    int code = 0;

    for (int i = 0; i < in->axis_count && !code; i++) {
        const grove_axis *axis = in->axes[i];
        if (axis->kind == GROVE_AXIS_STATION && baseline) {
            if (!role)
                return grove_infer_fail(
                    node, k, GROVE_SHAPE,
                    "'%s' varies with station, and this value varies with baseline; write %s[p] or "
                    "%s[q] to choose the station of the baseline",
                    in->name, in->name, in->name);
            node->inputs[k].side = role;
            axis = baselines_of(axis);
            if (!axis)
                return grove_infer_fail(node, k, GROVE_SHAPE, "'%s' has stations without baselines",
                                        in->name);
        } else if (axis->kind == GROVE_AXIS_STATION && role) {
            node->role = node->role ? node->role : role;
        }
        code = add_axis(node, k, axis);
    }
    return code;
}

static void take_axes(const grove_node *node, int k, const grove_axis **axes, int *count)
{
    const grove_node *in = node->inputs[k].node;

    for (int i = 0; in && i < in->axis_count; i++) {
        bool meets = in->axes[i]->kind == GROVE_AXIS_STATION && node->inputs[k].side;
        const grove_axis *axis = meets ? baselines_of(in->axes[i]) : in->axes[i];
        int d = 0;
        while (d < *count && axes[d] != axis)
            d++;
        if (d == *count && *count < GROVE_MAX_AXES)
            grove_axis_insert(axes, count, axis);
    }
}

int grove_node_taken_axes(const grove_node *node, int k, const grove_axis *axes[GROVE_MAX_AXES])
{
    int count = 0;

    take_axes(node, k, axes, &count);
    return count;
}

int grove_node_all_taken_axes(const grove_node *node, const grove_axis *axes[GROVE_MAX_AXES])
{
    int count = 0;

    for (int k = 0; k < node->input_count; k++)
        take_axes(node, k, axes, &count);
    return count;
}

int grove_infer_axes(grove_node *node, const char *roles)
{
    bool baseline = meets_baselines(node, roles);
    int failed = 0;

    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node) {
            int code = add_input_axes(node, k, roles[k], baseline && !has_own_axes(node, k));
            failed = failed ? failed : code;
        }
    if (baseline)
        node->role = 0;
    return failed;
}

void grove_node_drop_input(grove_node *node, int k)
{
    if (k < 0 || k >= node->input_count || !node->inputs[k].node)
        return;
    if (!node->dropped)
        node->dropped =
            grove_arena_alloc(node->tree->arena, (size_t)node->input_count * sizeof(grove_edge));
    node->dropped[k] = node->inputs[k];
    node->inputs[k].node = NULL;
    node->axis_count = 0;
    for (int i = 0; i < node->input_count; i++)
        if (node->inputs[i].node)
            add_input_axes(node, i, node->inputs[i].side, node->inputs[i].side != 0);
}

static const grove_literal *literal_of(const grove_node *node, const char *option)
{
    for (int i = 0; node->class_->options && node->class_->options[i].name; i++)
        if (!strcmp(node->class_->options[i].name, option))
            return node->options[i].value;
    return NULL;
}

/* The axis of the node's inputs called `name`, with or without its owner's name. */
static const grove_axis *named_axis(grove_node *node, const char *name)
{
    const grove_axis *found = NULL;

    for (int i = 0; i < node->axis_count; i++) {
        const grove_axis *axis = node->axes[i];
        char *full = grove_format("%s.%s", axis->owner ? axis->owner->name : "", axis->name);
        bool same = !strcmp(full, name);
        free(full);
        if (same)
            return axis;
        if (!strcmp(axis->name, name))
            found = axis;
    }
    if (!found) {
        const char *axes = "";
        for (int i = 0; i < node->axis_count; i++)
            axes = grove_arena_format(node->tree->arena, "%s%s%s", axes, i ? ", " : "",
                                      grove_tree_axis_name(node->tree, node->axes[i]));
        grove_node_fail(node, GROVE_SHAPE, "'%s' does not vary along '%s'; it has %s",
                        node->inputs[0].node->name, name, axes[0] ? axes : "no axes");
    }
    return found;
}

static void consume(grove_node *node, const grove_axis *axis)
{
    int kept = 0;

    for (int i = 0; i < node->axis_count; i++)
        if (node->axes[i] != axis)
            node->axes[kept++] = node->axes[i];
    if (kept < node->axis_count)
        node->consumed[node->consumed_count++] = axis;
    node->axis_count = kept;
}

int grove_infer_reduction(grove_node *node)
{
    const grove_literal *over = literal_of(node, "over");
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = 0, words = 1;

    if (!over || over->kind == GROVE_LITERAL_NONE) {
        count = node->axis_count;
        memcpy(axes, node->axes, sizeof(axes));
        words = 0;
    } else if (over->kind == GROVE_LITERAL_LIST) {
        words = over->count;
    }
    for (int i = 0; i < words && i < GROVE_MAX_AXES; i++) {
        const grove_literal *word = over->kind == GROVE_LITERAL_LIST ? &over->items[i] : over;
        axes[count] = named_axis(node, word->text);
        if (!axes[count++])
            return GROVE_SHAPE;
    }
    for (int i = 0; i < count; i++)
        consume(node, axes[i]);
    return 0;
}

static int select_element(grove_node *node, const char *word)
{
    static const char *const names[] = {"XX", "XY", "YX", "YY", "RR", "RL",
                                        "LR", "LL", "x",  "y",  "z"};
    static const int matrix[] = {0, 1, 2, 3, 0, 1, 2, 3, -1, -1, -1};
    static const int diagonal[] = {0, -1, -1, 1, 0, -1, -1, 1, -1, -1, -1};
    static const int vector[] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 1, 2};
    const grove_form *form = &node->inputs[0].node->form;
    int elements = form->shape == GROVE_VECTOR ? form->vector : form->shape;
    int found = -1;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(names[i], word))
            found = form->shape == GROVE_MATRIX     ? matrix[i]
                    : form->shape == GROVE_DIAGONAL ? diagonal[i]
                    : form->shape == GROVE_VECTOR   ? vector[i]
                                                    : -1;
    if (found < 0 && word[0] && strspn(word, "0123456789") == strlen(word))
        found = strlen(word) < 3 ? atoi(word) : -1;
    if (found < 0 || found >= elements)
        return grove_node_fail_option(
            node, "element", "'%s' is not an element of '%s'%s", word, node->inputs[0].node->name,
            form->shape == GROVE_MATRIX     ? "; it has XX, XY, YX, YY (or RR, RL, "
                                              "LR, LL)"
            : form->shape == GROVE_DIAGONAL ? "; it has XX, YY (or RR, LL)"
                                            : "");
    node->select_element = found;
    node->form.shape = GROVE_SCALAR;
    node->form.vector = 0;
    return 0;
}

int grove_infer_selection(grove_node *node)
{
    const grove_literal *element = literal_of(node, "element"), *axis = literal_of(node, "axis");

    if (element && element->kind == GROVE_LITERAL_TEXT && select_element(node, element->text))
        return GROVE_SHAPE;
    if (!axis || axis->kind == GROVE_LITERAL_NONE)
        return 0;
    if (axis->kind != GROVE_LITERAL_TEXT)
        return grove_node_fail_option(node, "axis", "selects along one axis");
    node->select_axis = named_axis(node, axis->text);
    if (!node->select_axis)
        return GROVE_SHAPE;
    node->select_first = grove_node_integer(node, "index");
    node->select_count = 1;
    node->select_drop = true;
    if (node->select_first < 0)
        node->select_first += node->select_axis->size;
    if (node->select_first < 0 || node->select_first >= node->select_axis->size)
        return grove_node_fail_option(node, "index", "axis %s has %lld cells, counted from 0",
                                      node->select_axis->name, (long long)node->select_axis->size);
    consume(node, node->select_axis);
    return 0;
}

static const char *shape_name(grove_arena *arena, int shapes, int vector)
{
    const char *text = "";

    if (shapes == 0 || shapes & GROVE_SCALAR)
        text = "a scalar";
    if (shapes & GROVE_DIAGONAL)
        text = grove_arena_format(arena, "%s%sa diagonal matrix", text, text[0] ? " or " : "");
    if (shapes & GROVE_MATRIX)
        text = grove_arena_format(arena, "%s%sa 2x2 matrix", text, text[0] ? " or " : "");
    if (shapes & GROVE_VECTOR)
        text = vector ? grove_arena_format(arena, "%s%sa vector of %d", text, text[0] ? " or " : "",
                                           vector)
                      : grove_arena_format(arena, "%s%sa vector", text, text[0] ? " or " : "");
    return text;
}

static int check_form(grove_node *node, int k)
{
    const grove_form *form = &node->inputs[k].node->form;
    grove_arena *arena = node->tree->arena;
    const grove_port *port = grove_port_of_value(node->class_, k);
    int shapes = port->shapes ? port->shapes : GROVE_SCALAR;
    grove_unit unit = form->unit;

    if (!(shapes & form->shape) ||
        (form->shape == GROVE_VECTOR && port->vector && port->vector != form->vector))
        return grove_infer_fail(node, k, GROVE_SHAPE, "'%s' must be %s, got %s",
                                node->input_names[k], shape_name(arena, shapes, port->vector),
                                shape_name(arena, form->shape, form->vector));
    if (node->inputs[k].node->kind != GROVE_NODE_CONSTANT &&
        !grove_kind_fits(port->kind, unit, false)) {
        char text[48];
        return grove_infer_fail(node, k, GROVE_SHAPE, "'%s' must be %s, got '%s', %s",
                                node->input_names[k], grove_kind_describe(arena, port->kind, NULL),
                                node->inputs[k].node->name, grove_unit_describe(text, unit));
    }
    if (form->complex_ &&
        (node->handing[k] == GROVE_AS_REAL || node->handing[k] == GROVE_AS_DOUBLE))
        return grove_infer_fail(node, k, GROVE_SHAPE,
                                "'%s' must be a real value, got a complex one",
                                node->input_names[k]);
    return 0;
}

int grove_infer_forms(grove_node *node)
{
    int failed = 0;

    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node) {
            int code = check_form(node, k);
            grove_node_see_input(node, k);
            failed = failed ? failed : code;
        }
    return failed;
}
