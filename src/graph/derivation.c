#include "graph/derivation.h"

#include "base/text.h"
#include "graph/call.h"
#include "graph/neutral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps of differences, in parts of the parm's own. */
#define STEP 1e-5

typedef grove_change change;
typedef grove_derivation derivation;

static const change unchanged = {{GROVE_OPERAND_NOTHING, NULL, NULL, 0}, 0};

static grove_operand operand_of(grove_edge edge)
{
    return (grove_operand){
        .kind = GROVE_OPERAND_NODE, .node = grove_node_behind_casts(edge.node), .role = edge.side};
}

static bool is_something(grove_operand operand)
{
    return operand.kind != GROVE_OPERAND_NOTHING;
}

static change fail(derivation *d, const grove_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static change fail(derivation *d, const grove_place *place, const char *format, ...)
{
    grove_text text = {0};
    va_list args;

    if (d->fault)
        return unchanged;
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    d->fault = grove_arena_text(d->tree->arena, text.at);
    d->place = place;
    free(text.at);
    return unchanged;
}

static const char *first_message(const derivation *d)
{
    const grove_error *error = d->tree->error;

    return grove_error_count(error) ? grove_error_message(error, 0) : "no reason is known";
}

/* Reports why a node could not be made. */
static change fail_made(derivation *d, const grove_node *node)
{
    return fail(d, &node->place, "%s: %s", grove_node_shown(node), first_message(d));
}

/* ---- making nodes ---- */

static grove_operand number(derivation *d, double re, double im, grove_unit unit)
{
    grove_literal literal = {
        .kind = GROVE_LITERAL_NUMBER, .number = re, .imaginary = im, .unit = unit};

    return (grove_operand){
        .kind = GROVE_OPERAND_NODE,
        .node = grove_tree_constant(d->tree, &literal, GROVE_PRECISION_DOUBLE, &d->parm->place)};
}

static grove_operand plain(derivation *d, double x)
{
    return number(d, x, 0, (grove_unit){0});
}

static grove_operand combine(derivation *d, grove_role role, grove_operand a, grove_operand b,
                             const grove_place *place)
{
    const grove_class *class_ = grove_tree_operator(d->tree, role);
    grove_argument arguments[2] = {{.operand = a, .place = *place},
                                   {.operand = b, .place = *place}};

    grove_operand made = unchanged.operand;
    if (!is_something(a) || !is_something(b))
        return made;
    if (class_)
        made = grove_tree_call(d->tree, class_, NULL, place, arguments, 2);
    if (!is_something(made))
        fail(d, place, "a part of it cannot be made: %s", first_message(d));
    return made;
}

static grove_operand add(derivation *d, grove_operand a, grove_operand b, const grove_place *place)
{
    if (!is_something(a) || !is_something(b))
        return is_something(a) ? a : b;
    return combine(d, GROVE_ROLE_SUM, a, b, place);
}

/* x + 0 like: x with the axes, the shape and the flags of the other. */
static grove_operand spread(derivation *d, grove_operand x, grove_operand like,
                            const grove_place *place)
{
    grove_operand nothing = combine(d, GROVE_ROLE_PRODUCT, plain(d, 0), like, place);

    return combine(d, GROVE_ROLE_SUM, x, nothing, place);
}

/* Keeps which options the user gave, and the arguments that are shown. */
static void keep_given(grove_node *made, const grove_node *node, const grove_operand *others)
{
    const grove_port *options = node->class_->options;

    for (int i = 0; options && options[i].name; i++) {
        int k = grove_node_input(node, options[i].name);
        made->options[i].by_user = node->options[i].by_user || (k >= 0 && is_something(others[k]));
    }
}

/* Axes that the class adds are the first node's, so that values of both can be combined. */
static void share_axes(grove_node *made, const grove_node *node)
{
    char difference[200];

    for (int i = 0; i < made->axis_count; i++)
        for (int k = 0; k < node->axis_count && made->axes[i]->owner == made; k++)
            if (made->axes[i]->kind == node->axes[k]->kind &&
                !grove_axis_differs(made->axes[i], node->axes[k], difference))
                made->axes[i] = node->axes[k];
}

static grove_operand operand_of_object(grove_node *object)
{
    static const grove_literal none = {.kind = GROVE_LITERAL_NONE, .text = "none"};

    if (!object)
        return (grove_operand){.kind = GROVE_OPERAND_LITERAL, .literal = &none};
    return (grove_operand){.kind = GROVE_OPERAND_NODE, .node = object};
}

grove_operand grove_tree_remake(grove_tree *tree, const grove_node *node,
                                const grove_operand *others)
{
    const grove_class *class_ = node->class_;
    grove_argument arguments[GROVE_MAX_INPUTS + GROVE_MAX_PORTS] = {{0}};
    size_t count = 0;

    for (int i = 0; class_->inputs && class_->inputs[i].name; i++)
        if (class_->inputs[i].kind == GROVE_OBJECT) {
            arguments[count].name = class_->inputs[i].name;
            arguments[count++].operand = operand_of_object(node->objects[i]);
        }
    for (int k = 0; k < node->input_count; k++) {
        if (!grove_port_named(class_, node->input_names[k]))
            continue; /* its check adds it again */
        bool dropped = !node->inputs[k].node && node->dropped;
        grove_edge edge = dropped ? node->dropped[k] : node->inputs[k];
        if (!edge.node)
            continue;
        arguments[count].name = node->input_names[k];
        arguments[count].place = node->input_places[k];
        arguments[count++].operand = is_something(others[k]) ? others[k] : operand_of(edge);
    }
    for (int i = 0; class_->options && class_->options[i].name; i++)
        if (!grove_kind_is_value(class_->options[i].kind) && node->options[i].by_user) {
            arguments[count].name = class_->options[i].name;
            arguments[count].operand.kind = GROVE_OPERAND_LITERAL;
            arguments[count++].operand.literal = node->options[i].value;
        }
    size_t before = tree->node_count;
    grove_operand made = grove_tree_call(tree, class_, NULL, &node->place, arguments, count);
    if (is_something(made) && (size_t)made.node->id >= before) {
        keep_given(made.node, node, others);
        share_axes(made.node, node);
    }
    return made;
}

/* ---- declarations of classes ---- */

static unsigned ways_through(grove_linearity linearity, unsigned ways)
{
    if (linearity == GROVE_LINEAR)
        return ways;
    if (linearity == GROVE_ANTILINEAR)
        return (ways & GROVE_HOLOMORPHIC ? GROVE_ANTIHOLOMORPHIC : 0) |
               (ways & GROVE_ANTIHOLOMORPHIC ? 1 : 0);
    return GROVE_NOT_HOLOMORPHIC;
}

/* The rule for input k, from "x: RULE; y: RULE"; NULL: none. In the tree's arena. */
static const char *rule_of(const grove_node *node, int k)
{
    const char *name = node->input_names[k];
    size_t length = strlen(name);

    for (const char *at = node->tangent; at && *at; at += *at == ';') {
        size_t whole = strcspn(at, ";");
        size_t blank = strspn(at, " \n");
        if (!strncmp(at + blank, name, length) && at[blank + length] == ':')
            return grove_arena_format(node->tree->arena, "%.*s", (int)(whole - blank - length - 1),
                                      at + blank + length + 1);
        at += whole;
    }
    return NULL;
}

/* The largest step of differences, from the rule "step H"; 0: it is an expression. */
static double step_of_rule(const char *rule)
{
    const char *at = rule + strspn(rule, " \n");

    return strncmp(at, "step ", 5) == 0 ? strtod(at + 5, NULL) : 0;
}

/* ---- linear inputs, rules, differences ---- */

/* Bits of the inputs that are linear together with input k. */
static unsigned group_of(const grove_node *node, int k)
{
    unsigned bits = 1U << k;
    int group = grove_port_of_value(node->class_, k)->group;

    for (int i = 0; i < node->input_count && group; i++)
        if (node->inputs[i].node && grove_port_of_value(node->class_, i)->group == group)
            bits |= 1U << i;
    return bits;
}

/* The change of a sum or difference with one operand that does not change. */
static grove_operand alone(derivation *d, const grove_node *node, const change *in)
{
    const grove_operand *x = &in[is_something(in[0].operand) ? 0 : 1].operand;

    if (node->class_->role == GROVE_ROLE_SUM || x == &in[0].operand)
        return *x;
    return combine(d, GROVE_ROLE_PRODUCT, plain(d, -1), *x, &node->place);
}

/* All inputs of the group replaced by their changes; 0 where they have none. */
static change by_linearity(derivation *d, const grove_node *node, unsigned bits,
                           grove_linearity linearity, const change *in)
{
    grove_operand others[GROVE_MAX_INPUTS] = {unchanged.operand};
    static const grove_literal zero = {.kind = GROVE_LITERAL_NUMBER, .text = "0"};
    bool sum = node->class_->role == GROVE_ROLE_SUM || node->class_->role == GROVE_ROLE_DIFFERENCE;
    bool all = true;
    change out = unchanged;

    for (int k = 0; k < node->input_count; k++) {
        if (!(bits >> k & 1))
            continue;
        others[k] = in[k].operand;
        out.ways |= ways_through(linearity, in[k].ways);
        if (is_something(in[k].operand))
            continue;
        all = false;
        if (sum)
            continue;
        others[k] = node->inputs[k].node->form.shape == GROVE_SCALAR
                        ? (grove_operand){.kind = GROVE_OPERAND_LITERAL, .literal = &zero}
                        : combine(d, GROVE_ROLE_PRODUCT, plain(d, 0), operand_of(node->inputs[k]),
                                  &node->place);
    }
    out.operand = sum && !all ? alone(d, node, in) : grove_tree_remake(d->tree, node, others);
    return is_something(out.operand) ? out : fail_made(d, node);
}

/* A copy of the node in which the rule finds dINPUT and `value`. */
static grove_node *scope_of_rule(grove_node *node, int k, grove_operand dx)
{
    grove_arena *arena = node->tree->arena;
    grove_node *scope = grove_arena_copy(arena, node, sizeof(*node));
    size_t count = (size_t)node->input_count;

    scope->id = GROVE_RULE_ID;
    scope->inputs = grove_arena_alloc(arena, (count + 2) * sizeof(*scope->inputs));
    scope->input_names = grove_arena_alloc(arena, (count + 2) * sizeof(*scope->input_names));
    for (size_t i = 0; i < count; i++) {
        scope->inputs[i] =
            (grove_edge){grove_node_behind_casts(node->inputs[i].node), node->inputs[i].side};
        scope->input_names[i] = node->input_names[i];
    }
    scope->inputs[count] = (grove_edge){dx.node, dx.role};
    scope->input_names[count] = grove_arena_format(arena, "d%s", node->input_names[k]);
    scope->inputs[count + 1] = (grove_edge){node, 0};
    scope->input_names[count + 1] = "value";
    scope->input_count += 2;
    return scope;
}

static change by_rule(derivation *d, grove_node *node, int k, const char *rule, const change *in)
{
    grove_tree *tree = d->tree;
    change out = {.ways = node->form.complex_ ? in[k].ways : GROVE_NOT_HOLOMORPHIC};
    grove_node *scope = scope_of_rule(node, k, in[k].operand);

    if (tree->expand(tree->expand_context, tree, rule, scope, &node->place, &out.operand) ||
        out.operand.kind != GROVE_OPERAND_NODE)
        return fail_made(d, node);
    return out;
}

static double step_of(const grove_node *parm)
{
    const grove_node *leaf = grove_node_behind_casts(parm->inputs[0].node)->leaf;

    return leaf->step > 0 ? leaf->step : 1;
}

/* [f(x + h dx) - f(x - h dx)] / 2h, in double precision, with h at most `most`. */
static change by_difference(derivation *d, const grove_node *node, unsigned bits, double most,
                            const change *in)
{
    const grove_place *place = &node->place;
    grove_operand others[2][GROVE_MAX_INPUTS] = {{unchanged.operand}};
    bool outer = d->tree->in_double;
    change out = {.ways = GROVE_NOT_HOLOMORPHIC};
    double h = STEP * step_of(d->parm);
    h = h < most ? h : most;

    d->tree->in_double = true;
    for (int k = 0; k < node->input_count; k++) {
        if (!(bits >> k & 1))
            continue;
        grove_operand x = operand_of(node->inputs[k]);
        grove_operand dx = combine(d, GROVE_ROLE_PRODUCT, plain(d, h), in[k].operand, place);
        others[0][k] = combine(d, GROVE_ROLE_SUM, x, dx, place);
        others[1][k] = combine(d, GROVE_ROLE_DIFFERENCE, x, dx, place);
        if (!is_something(others[0][k]) || !is_something(others[1][k]))
            fail_made(d, node);
    }
    grove_operand more = grove_tree_remake(d->tree, node, others[0]),
                  less = grove_tree_remake(d->tree, node, others[1]);
    out.operand = combine(d, GROVE_ROLE_PRODUCT, plain(d, 0.5 / h),
                          combine(d, GROVE_ROLE_DIFFERENCE, more, less, place), place);
    d->tree->in_double = outer;
    return is_something(out.operand) && !d->fault ? out : fail_made(d, node);
}

/* ---- the walk ---- */

static change derive(derivation *d, grove_node *node);

/* A node that takes cells together in which the parm is another one each: of stations and sources
 * there is a derivative for each of them. */
static bool mixes(derivation *d, const grove_node *node, int k)
{
    const grove_axis *taken[GROVE_MAX_AXES];
    int count = grove_node_taken_axes(node, k, taken);

    for (int i = 0; i < node->consumed_count; i++) {
        const grove_axis *axis = node->consumed[i], *own = NULL;
        bool has = false;
        for (int n = 0; n < count; n++)
            has = has || taken[n] == axis;
        if (axis->kind == GROVE_AXIS_BASELINE)
            grove_node_axes_of_kind(d->parm, GROVE_AXIS_STATION, &own, 1);
        else if (grove_node_has_axis(d->parm, axis))
            own = axis;
        if (!has || !own || own == d->axis)
            continue;
        bool possible = own->kind == GROVE_AXIS_SOURCE || own->kind == GROVE_AXIS_STATION;
        if (possible && !d->axis)
            d->mixed = own;
        else
            fail(d, &node->place,
                 "%s combines cells along %s, but the parm has another value in each cell; the "
                 "fitted value must depend on the parm cell by cell",
                 grove_node_shown(node), axis->name);
        return true;
    }
    return false;
}

/* The change of input k, as the node takes it. */
static change derive_input(derivation *d, const grove_node *node, int k)
{
    const grove_edge *edge = &node->inputs[k];

    if (!edge->node || node->handing[k] == GROVE_AS_FLAGS)
        return unchanged;
    if (edge->side && d->side && edge->side != d->side &&
        grove_node_varies(d->parm, GROVE_AXIS_STATION))
        return unchanged;
    change in = derive(d, edge->node);
    if (!is_something(in.operand) || mixes(d, node, k))
        return unchanged;
    if (grove_port_of_value(node->class_, k)->linear == GROVE_SELECTOR)
        return fail(d, &node->input_places[k],
                    "'%s' of %s chooses or counts; there is no derivative with respect to it",
                    node->input_names[k], grove_node_shown(node));
    if (edge->side && grove_node_varies(in.operand.node, GROVE_AXIS_STATION))
        in.operand.role = edge->side;
    bool missing_axis = false;
    for (int i = 0; i < node->consumed_count; i++)
        missing_axis = missing_axis || (grove_node_has_axis(edge->node, node->consumed[i]) &&
                                        !grove_node_has_axis(in.operand.node, node->consumed[i]));
    bool reduces = node->class_->kind == GROVE_CLASS_REDUCTION;
    if (missing_axis || (reduces && grove_node_may_be_flagged(edge->node)))
        in.operand = spread(d, in.operand, operand_of(*edge), &node->place);
    return in;
}

/* Angles are plain numbers for rules. */
static grove_operand in_unit_of(derivation *d, const grove_node *node, grove_operand x)
{
    grove_unit have = x.node->form.unit, required = node->form.unit, angle = {0};

    angle.rad = (int8_t)(required.rad - have.rad);
    have.rad = required.rad;
    if (!angle.rad || !grove_unit_equal(have, required))
        return x;
    return combine(d, GROVE_ROLE_PRODUCT, number(d, 1, 0, angle), x, &node->place);
}

static change derive_class(derivation *d, grove_node *node)
{
    change in[GROVE_MAX_INPUTS] = {unchanged}, out = unchanged, part;
    unsigned left = 0, differences = 0;
    double most = INFINITY;

    for (int k = 0; k < node->input_count && !d->fault && !d->mixed; k++) {
        in[k] = derive_input(d, node, k);
        left |= is_something(in[k].operand) ? 1U << k : 0;
    }
    if (left && (node->class_->kind == GROVE_CLASS_ACCUMULATOR))
        return fail(d, &node->place, "%s gathers the whole observation", grove_node_shown(node));
    for (int k = 0; k < node->input_count && !d->fault && !d->mixed; k++) {
        grove_linearity linearity = grove_port_of_value(node->class_, k)->linear;
        const char *rule = linearity ? NULL : rule_of(node, k);
        double step = rule ? step_of_rule(rule) : 0;
        unsigned bits = linearity ? group_of(node, k) : 1U << k;
        if (!(left >> k & 1))
            continue;
        left &= ~bits;
        if (!linearity && (!rule || step > 0)) {
            differences |= bits;
            most = step > 0 && step < most ? step : most;
            continue;
        }
        part = rule ? by_rule(d, node, k, rule, in) : by_linearity(d, node, bits, linearity, in);
        out.operand = add(d, out.operand, part.operand, &node->place);
        out.ways |= part.ways;
    }
    if (differences && !d->fault && !d->mixed) {
        part = by_difference(d, node, differences, most, in);
        out.operand = add(d, out.operand, part.operand, &node->place);
        out.ways |= part.ways;
    }
    if (d->fault || d->mixed || !out.ways)
        return unchanged;
    if (is_something(out.operand))
        out.operand = in_unit_of(d, node, out.operand);
    if (is_something(out.operand) && out.operand.node->form.shape != node->form.shape)
        out.operand =
            spread(d, out.operand, (grove_operand){.kind = GROVE_OPERAND_NODE, .node = node},
                   &node->place);
    return is_something(out.operand) ? out : fail_made(d, node);
}

grove_operand grove_tree_indicator(grove_node *leaf, const char *name, const grove_axis *axis,
                                   const double *group, int64_t index, grove_unit unit,
                                   const grove_place *place)
{
    const grove_form form = {
        .shape = GROVE_SCALAR, .precision = GROVE_PRECISION_DOUBLE, .unit = unit};
    bool made = false;

    for (size_t m = 0; m < leaf->member_count; m++)
        made = made || !strcmp(leaf->members[m].name, name);
    double *one = grove_alloc((size_t)axis->size * sizeof(double) + 1);
    for (int64_t i = 0; i < axis->size; i++)
        one[i] = (group ? (int64_t)group[i] : i) == index;
    if (!made)
        grove_node_add_member(leaf, name, axis->name, &form, one, "1 there, else 0");
    free(one);
    return grove_tree_member(leaf->tree, leaf, name, place);
}

/* The change by 1: of the component in all cells, or at one of them or one group alone. */
static grove_operand basis(derivation *d)
{
    grove_node *leaf = grove_node_behind_casts(d->parm->inputs[0].node)->leaf;
    const grove_place *place = &d->parm->place;

    if (!d->axis)
        return number(d, !d->imaginary, d->imaginary, d->parm->form.unit);
    const double *group = d->groups ? grove_node_member_data(leaf, "group") : NULL;
    const char *name = grove_arena_format(
        d->tree->arena, "at_%s_%lld", (d->groups ? d->groups : d->axis)->name, (long long)d->index);
    grove_operand at =
        grove_tree_indicator(leaf, name, d->axis, group, d->index, d->parm->form.unit, place);
    grove_operand i = number(d, 0, 1, (grove_unit){0});
    return d->imaginary ? combine(d, GROVE_ROLE_PRODUCT, i, at, place) : at;
}

static change derive(derivation *d, grove_node *node)
{
    change out = unchanged;

    if (d->fault || d->mixed || d->done[node->id])
        return d->known[node->id];
    if (node == d->parm)
        out = (change){basis(d), GROVE_HOLOMORPHIC};
    else if (node->kind == GROVE_NODE_CAST)
        out = derive(d, node->inputs[0].node);
    else if (node->kind == GROVE_NODE_CLASS)
        out = derive_class(d, node);
    d->known[node->id] = out;
    d->done[node->id] = true;
    return out;
}

grove_change grove_derivation_take(grove_derivation *d, grove_node *root)
{
    size_t count = d->tree->node_count;

    d->known = grove_alloc((count + 1) * sizeof(*d->known));
    d->done = grove_alloc((count + 1) * sizeof(*d->done));
    d->mixed = NULL;
    change out = derive(d, root);
    bool short_of = is_something(out.operand) && grove_node_varies(root, GROVE_AXIS_BASELINE) &&
                    grove_node_varies(out.operand.node, GROVE_AXIS_STATION);
    if (short_of)
        out.operand =
            spread(d, out.operand, (grove_operand){.kind = GROVE_OPERAND_NODE, .node = root},
                   &root->place);
    free(d->known);
    free(d->done);
    return d->mixed ? unchanged : out;
}
