/* Actions that fit: their parms, and the derivatives that they get as inputs. */
#include "base/text.h"
#include "graph/call.h"
#include "graph/derivative.h"
#include "graph/factors.h"
#include "graph/neutral.h"
#include "graph/skip.h"

#include <stdlib.h>
#include <string.h>

/* ---- parms ---- */

typedef struct {
    const grove_node **parms;
    int count;
} parm_list;

static void add_parm(parm_list *list, const grove_node *parm, grove_arena *arena)
{
    for (int i = 0; i < list->count; i++)
        if (list->parms[i] == parm)
            return;
    if (!(list->count & (list->count + 1))) { /* full: 0, 1, 3, 7, ... */
        size_t room = 2 * (size_t)list->count + 1;
        const grove_node **more = grove_arena_alloc(arena, room * sizeof(*more));
        for (int i = 0; i < list->count; i++)
            more[i] = list->parms[i];
        list->parms = more;
    }
    list->parms[list->count++] = parm;
}

/* The parms that the value depends on, in the order in which it reads them. */
static void find_parms(const grove_node *node, bool *seen, parm_list *list)
{
    const grove_node *parm = grove_node_fitted_parm(node);

    if (seen[node->id])
        return;
    seen[node->id] = true;
    if (parm)
        add_parm(list, parm, node->tree->arena);
    for (int k = 0; k < node->input_count; k++)
        if (node->inputs[k].node)
            find_parms(node->inputs[k].node, seen, list);
}

static parm_list parms_of(const grove_node *value)
{
    bool *seen = grove_alloc((value->tree->node_count + 1) * sizeof(*seen));
    parm_list list = {0};

    find_parms(value, seen, &list);
    free(seen);
    return list;
}

static bool has_parm(const grove_node *value, bool *seen)
{
    bool found = value->class_ && value->class_->role == GROVE_ROLE_PARM;

    for (int k = 0; k < value->input_count && !found && !seen[value->id]; k++)
        found = value->inputs[k].node && has_parm(value->inputs[k].node, seen);
    seen[value->id] = true;
    return found;
}

static bool has(const parm_list *list, const grove_node *parm)
{
    for (int i = 0; i < list->count; i++)
        if (list->parms[i] == parm)
            return true;
    return false;
}

/* The parms that a word means: all that the value of that name depends on; if there is no such
 * value, the parm of that name. */
static parm_list parms_named(const grove_node *node, const grove_literal *word)
{
    grove_tree *tree = node->tree;
    parm_list list = {0};

    if (word->node)
        return parms_of(word->node);
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *parm = grove_node_fitted_parm(tree->nodes[i]);
        if (parm && grove_equal(grove_node_property(parm, "name"), word->text))
            add_parm(&list, parm, tree->arena);
    }
    return list;
}

static const char *names_of(const parm_list *list, grove_arena *arena)
{
    const char *text = "";

    for (int i = 0; i < list->count; i++)
        text = grove_arena_format(arena, "%s%s%s", text, i ? ", " : "",
                                  grove_node_property(list->parms[i], "name"));
    return text;
}

static int fail_name(const grove_node *node, const char *option, const grove_literal *word,
                     const parm_list *named, const parm_list *all)
{
    bool unfit = !named->count && word->node;

    return grove_node_fail_option(node, option, "%s'%s'%s; parms that can be fitted: %s",
                                  named->count ? "the fitted value does not depend on "
                                  : unfit      ? ""
                                               : "there is no parm ",
                                  word->text, unfit ? " depends on no parm that may be fitted" : "",
                                  names_of(all, node->tree->arena));
}

static const grove_literal *words_of(const grove_node *node, const char *option, int *count)
{
    const char *const *words;
    int i = 0;

    *count = grove_node_words(node, option, &words);
    while (strcmp(node->class_->options[i].name, option) != 0)
        i++;
    const grove_literal *given = node->options[i].value;
    return given->kind == GROVE_LITERAL_LIST ? given->items : given;
}

static int choose_named(grove_node *node, const char *option, const parm_list *all, parm_list *list)
{
    int count = 0;
    const grove_literal *words = words_of(node, option, &count);

    if (!count)
        return grove_node_fail_option(node, option,
                                      "it names no parm; parms that can be fitted: %s",
                                      names_of(all, node->tree->arena));
    for (int i = 0; i < count; i++) {
        parm_list named = parms_named(node, &words[i]);
        bool any = false;
        for (int n = 0; n < named.count; n++)
            if (has(all, named.parms[n])) {
                add_parm(list, named.parms[n], node->tree->arena);
                any = true;
            }
        if (!any)
            return fail_name(node, option, &words[i], &named, all);
    }
    return 0;
}

static int fail_without_parms(const grove_node *node, int k)
{
    bool *seen = grove_alloc((node->tree->node_count + 1) * sizeof(*seen));
    bool fixed = has_parm(node->inputs[k].node, seen);

    free(seen);
    return grove_node_fail(node, GROVE_INVALID,
                           "its input '%s' depends on no parm that may be fitted%s",
                           node->input_names[k],
                           fixed ? "; the parms that it depends on are fixed"
                                 : ", such as G[p] = parm(\"G\", jones=diagonal)");
}

/* Derivatives are of input k alone: no other input may depend on the fitted parms. */
static int check_others(grove_node *node, int k, const parm_list *list)
{
    for (int i = 0; i < node->input_count; i++) {
        if (i == k || !node->inputs[i].node)
            continue;
        parm_list own = parms_of(node->inputs[i].node);
        for (int n = 0; n < own.count; n++)
            if (has(list, own.parms[n]))
                return grove_node_fail(node, GROVE_INVALID,
                                       "its input '%s' depends on the parm '%s', which is fitted; "
                                       "only '%s' may depend on it",
                                       node->input_names[i],
                                       grove_node_property(own.parms[n], "name"),
                                       node->input_names[k]);
    }
    return 0;
}

int grove_node_fit(grove_node *node, int k, const char *option)
{
    grove_node *value = k >= 0 && k < node->input_count ? node->inputs[k].node : NULL;
    parm_list list = {0};
    int code = 0;

    if (!value || !grove_node_drives(node) || node->fit)
        return grove_node_fail(
            node, GROVE_INVALID,
            "the plugin fits input %d, but this was not given, or the class has no drive", k);
    parm_list all = parms_of(value);
    if (!all.count)
        return fail_without_parms(node, k);
    if (option && grove_node_given(node, option))
        code = choose_named(node, option, &all, &list);
    else
        list = all;
    if (code)
        return code;
    code = check_others(node, k, &list);
    if (code)
        return code;
    node->fit = grove_arena_alloc(node->tree->arena, sizeof(*node->fit));
    *node->fit = (grove_fit){.model = k, .parms = list.parms, .parm_count = list.count};
    return 0;
}

int grove_node_parms(const grove_node *node, const grove_node *const **parms)
{
    *parms = node->fit ? node->fit->parms : NULL;
    return node->fit ? node->fit->parm_count : 0;
}

int grove_node_slots(const grove_node *node, const grove_fit_slot **slots)
{
    *slots = node->fit ? node->fit->slots : NULL;
    return node->fit ? node->fit->slot_count : 0;
}

/* ---- inputs ---- */

static void make_room(grove_node *node, int count)
{
    grove_arena *arena = node->tree->arena;
    size_t room = (size_t)(node->input_count + count), have = (size_t)node->input_count;
    grove_edge *inputs = grove_arena_alloc(arena, room * sizeof(*inputs));
    grove_place *places = grove_arena_alloc(arena, room * sizeof(*places));
    const char **names = grove_arena_alloc(arena, room * sizeof(*names));
    grove_handing *handing = grove_arena_alloc(arena, room * sizeof(*handing));
    grove_form *seen = grove_arena_alloc(arena, room * sizeof(*seen));

    memcpy(inputs, node->inputs, have * sizeof(*inputs));
    memcpy(places, node->input_places, have * sizeof(*places));
    memcpy(names, node->input_names, have * sizeof(*names));
    memcpy(handing, node->handing, have * sizeof(*handing));
    memcpy(seen, node->seen, have * sizeof(*seen));
    node->inputs = inputs;
    node->input_places = places;
    node->input_names = names;
    node->handing = handing;
    node->seen = seen;
}

static int add_input(grove_node *node, grove_node *value, char side, const char *name)
{
    int k = node->input_count++;

    node->inputs[k] = (grove_edge){value, side};
    node->input_places[k] = node->place;
    node->input_names[k] = name;
    node->handing[k] = GROVE_AS_GIVEN;
    node->seen[k] = value->form;
    return k;
}

/* The leaf of the data with flags that the value is made of, if it has such a member; NULL: none,
 * or several. */
static void find_member(const grove_node *value, const char *member, bool flagged, bool *seen,
                        grove_node **leaf, int *found)
{
    if (seen[value->id])
        return;
    seen[value->id] = true;
    for (int k = 0; k < value->input_count; k++)
        if (value->inputs[k].node)
            find_member(value->inputs[k].node, member, flagged, seen, leaf, found);
    if (value->kind != GROVE_NODE_MEMBER || (flagged && !value->form.flags) || *leaf == value->leaf)
        return;
    for (size_t m = 0; m < value->leaf->member_count; m++)
        if (!strcmp(value->leaf->members[m].name, member)) {
            *leaf = value->leaf;
            ++*found;
        }
}

int grove_node_add_member_input(grove_node *node, int k, const char *member)
{
    size_t count = node->tree->node_count + 1;
    bool *seen = grove_alloc(count * sizeof(*seen));
    grove_node *leaf = NULL;
    int found = 0;

    find_member(node->inputs[k].node, member, true, seen, &leaf, &found);
    memset(seen, 0, count * sizeof(*seen));
    if (!found)
        find_member(node->inputs[k].node, member, false, seen, &leaf, &found);
    free(seen);
    if (found != 1)
        return -1;
    make_room(node, 1);
    grove_operand value = grove_tree_member(node->tree, leaf, member, &node->place);
    return value.kind ? add_input(node, value.node, 0, member) : -1;
}

int grove_node_add_rows_input(grove_node *node, int k)
{
    grove_node *rows = grove_node_missing_rows(node->inputs[k].node);

    if (!rows)
        return -1;
    make_room(node, 1);
    node->rows = rows;
    return add_input(node, rows, 0, "missing");
}

int grove_node_add_input(grove_node *node, const char *name, const char *expression)
{
    grove_tree *tree = node->tree;
    grove_operand value = {0};

    if (tree->expand(tree->expand_context, tree, grove_arena_text(tree->arena, expression), node,
                     &node->place, &value) ||
        value.kind != GROVE_OPERAND_NODE)
        return -1;
    make_room(node, 1);
    for (int i = 0; i < value.node->axis_count; i++) {
        bool known = false;
        for (int d = 0; d < node->axis_count; d++)
            known = known || node->axes[d] == value.node->axes[i];
        if (!known && node->axis_count == GROVE_MAX_AXES)
            return -1;
        if (!known)
            node->axes[node->axis_count++] = value.node->axes[i];
    }
    return add_input(node, value.node, 0, grove_arena_text(tree->arena, name));
}

int grove_node_replace_input(grove_node *node, int k, const char *expression)
{
    grove_tree *tree = node->tree;
    grove_operand value = {0};

    if (tree->expand(tree->expand_context, tree, grove_arena_text(tree->arena, expression), node,
                     &node->place, &value) ||
        value.kind != GROVE_OPERAND_NODE)
        return GROVE_INVALID;
    node->inputs[k].node = value.node;
    node->seen[k] = value.node->form;
    return 0;
}

/* ---- factors ---- */

grove_fit_form grove_node_factor(grove_node *node)
{
    grove_fit *fit = node->fit;
    grove_fit_form form = {0};

    if (!fit || fit->group_count)
        return form;
    if (!fit->factors) {
        fit->factors = grove_arena_alloc(node->tree->arena, sizeof(*fit->factors));
        grove_tree_factor(node->tree, node->inputs[fit->model].node, fit->parms, fit->parm_count,
                          fit->factors);
    }
    form.why = fit->factors->why;
    form.groups = form.why ? 0 : fit->factors->count;
    form.each_time = fit->factors->each_time;
    form.each_channel = fit->factors->each_channel;
    form.diagonal = fit->factors->diagonal;
    return form;
}

/* The input from number `from` on that is this value, made if there is none. */
static int take_side(grove_node *node, grove_node *value, int from, const char *name)
{
    if (!value)
        return -1;
    for (int k = from; k < node->input_count; k++)
        if (node->inputs[k].node == value && !node->inputs[k].side)
            return k;
    return add_input(node, value, 0, name);
}

int grove_node_take_factors(grove_node *node)
{
    grove_fit_form form = grove_node_factor(node);
    grove_fit *fit = node->fit;
    int sides = node->input_count + form.groups - 1;

    if (!form.groups)
        return grove_node_fail(node, GROVE_INVALID, "the fitted value has no factors");
    make_room(node, 3 * form.groups);
    fit->groups = grove_arena_alloc(node->tree->arena, (size_t)form.groups * sizeof(*fit->groups));
    fit->group_count = form.groups;
    for (int g = 0; g < form.groups; g++) {
        const grove_group *group = &fit->factors->groups[g];
        grove_node *middle = grove_tree_cast(group->middle, GROVE_PRECISION_RUN, true);
        fit->groups[g].middle = g ? add_input(node, middle, group->side, "middle") : fit->model;
        if (!g)
            node->inputs[fit->model] = (grove_edge){middle, group->side};
    }
    for (int g = 0; g < form.groups; g++) {
        fit->groups[g].left = take_side(node, fit->factors->groups[g].left, sides, "left");
        fit->groups[g].right = take_side(node, fit->factors->groups[g].right, sides, "right");
    }
    return 0;
}

int grove_node_groups(const grove_node *node, const grove_fit_group **groups)
{
    *groups = node->fit ? node->fit->groups : NULL;
    return node->fit ? node->fit->group_count : 0;
}

/* ---- derivatives as inputs ---- */

static bool depends_on_parms(const grove_node *node, const grove_fit *fit, signed char *known)
{
    const grove_node *parm = grove_node_fitted_parm(node);
    bool depends = false;

    if (known[node->id])
        return known[node->id] > 0;
    for (int i = 0; parm && i < fit->parm_count; i++)
        depends = depends || fit->parms[i] == parm;
    for (int k = 0; k < node->input_count && !depends; k++)
        depends = node->inputs[k].node && depends_on_parms(node->inputs[k].node, fit, known);
    known[node->id] = depends ? 1 : -1;
    return depends;
}

static int add_slots(grove_node *node, int differentiated, const grove_derivatives *all)
{
    grove_tree *tree = node->tree;
    grove_fit *fit = node->fit;
    bool baselines = grove_node_axes_of_kind(all->root, GROVE_AXIS_BASELINE, NULL, 0) > 0;
    int count = (int)all->count;

    if (count + node->input_count > GROVE_MAX_ACTION_INPUTS)
        return grove_node_fail(
            node, GROVE_INVALID,
            "%d derivatives are needed, at most %d are possible; fit fewer parms at a time", count,
            GROVE_MAX_ACTION_INPUTS - node->input_count);
    grove_fit_slot *slots =
        grove_arena_alloc(tree->arena, (size_t)(fit->slot_count + count + 1) * sizeof(*slots));
    signed char *known = grove_alloc(tree->node_count + 1);
    for (int i = 0; i < fit->slot_count; i++)
        slots[i] = fit->slots[i];
    make_room(node, count);
    for (int i = 0; i < count; i++) {
        const grove_slot *slot = &all->slots[i];
        const grove_node *member = grove_node_behind_casts(slot->parm->inputs[0].node);
        bool gathered =
            baselines && grove_node_axes_of_kind(slot->node, GROVE_AXIS_STATION, NULL, 0) > 0;
        slots[fit->slot_count++] = (grove_fit_slot){
            .parm = member->leaf,
            .member = member->leaf->members[member->member].name,
            .side = slot->side,
            .axis = slot->axis,
            .index = slot->index,
            .part = slot->part,
            .differentiated = differentiated,
            .constant = !depends_on_parms(slot->node, fit, known),
            .input = add_input(node, slot->node, gathered ? slot->role : 0, "derivative")};
    }
    fit->slots = slots;
    free(known);
    return 0;
}

static int attach(grove_node *node)
{
    grove_tree *tree = node->tree;
    grove_fit *fit = node->fit;
    int inputs = node->input_count, code = 0;

    for (int k = 0; k < inputs && !code; k++) {
        bool included = !fit->group_count && k == fit->model;
        for (int g = 0; g < fit->group_count; g++)
            included = included || k == fit->groups[g].left || k == fit->groups[g].right;
        if (!included)
            continue;
        grove_derivatives all;
        code = grove_tree_derive(tree, node->inputs[k].node, fit->parms, fit->parm_count, &all,
                                 tree->error);
        if (!code)
            code = add_slots(node, k, &all);
    }
    return code;
}

static int call_class(grove_node *node, int (*function)(grove_node *node))
{
    grove_error *error = node->tree->error;
    size_t before = grove_error_count(error);

    return function ? grove_node_verdict(node, error, before, function(node), "it cannot be fitted")
                    : 0;
}

int grove_tree_attach_derivatives(grove_tree *tree)
{
    int code = 0;

    for (size_t i = 0; i < tree->action_count && !code; i++) {
        grove_node *node = tree->actions[i];
        if (!node->fit)
            continue;
        node->fit->whole = node->inputs[node->fit->model];
        node->fit->own_inputs = node->input_count;
        code = call_class(node, node->class_->action->fit);
        if (!code)
            code = attach(node);
        if (!code)
            code = call_class(node, node->class_->action->fitted);
    }
    return code;
}
