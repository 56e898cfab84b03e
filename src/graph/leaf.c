/* Data leaves: their axes, members and identity. */
#include "graph/call.h"

#include "base/sized.h"
#include "base/text.h"
#include "facts.h"
#include "grove.h"

#include <stdlib.h>
#include <string.h>

static const void *copy(grove_arena *arena, const void *from, size_t bytes)
{
    return from ? grove_arena_copy(arena, from, bytes) : NULL;
}

static const char *const *copy_labels(grove_arena *arena, const grove_axis *axis)
{
    if (!axis->labels)
        return NULL;
    const char **labels = grove_arena_alloc(arena, ((size_t)axis->size + 1) * sizeof(char *));
    for (int64_t i = 0; i < axis->size; i++)
        labels[i] = grove_arena_text(arena, axis->labels[i] ? axis->labels[i] : "");
    return labels;
}

/* An axis of this kind with another name, or NULL: kinds are hashes of names. */
static const grove_axis *find_clash(const grove_tree *tree, const grove_axis *axis)
{
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        for (size_t k = 0; k < node->own_axis_count; k++)
            if (node->own_axes[k]->kind == axis->kind &&
                strcmp(node->own_axes[k]->name, axis->name) != 0)
                return node->own_axes[k];
        for (int k = 0; k < node->axis_count; k++)
            if (node->axes[k]->kind == axis->kind && strcmp(node->axes[k]->name, axis->name) != 0)
                return node->axes[k];
    }
    return NULL;
}

/* A copy that belongs to the node; NULL with a message when the axis is invalid. */
static grove_axis *own_axis(grove_node *node, const grove_axis *given)
{
    grove_arena *arena = node->tree->arena;
    grove_axis *axis = grove_arena_copy(arena, given, sizeof(*axis));

    if (!axis->name || !axis->name[0] || axis->size < 0) {
        grove_node_fail(node, GROVE_INTERNAL, "the plugin adds an axis without name or size");
        return NULL;
    }
    size_t n = (size_t)axis->size;
    axis->kind = grove_axis_kind(axis->name);
    axis->name = grove_arena_text(arena, axis->name);
    axis->centre = copy(arena, axis->centre, n * sizeof(double));
    axis->width = copy(arena, axis->width, n * sizeof(double));
    axis->left = copy(arena, axis->left, n * sizeof(int32_t));
    axis->right = copy(arena, axis->right, n * sizeof(int32_t));
    axis->labels = copy_labels(arena, axis);
    axis->owner = node;
    const grove_axis *clash = find_clash(node->tree, axis);
    if (clash)
        grove_node_fail(node, GROVE_INVALID,
                        "axes called '%s' and '%s' cannot be in one tree; rename one of them",
                        clash->name, axis->name);
    return clash ? NULL : axis;
}

static int list_axis(grove_node *node, const grove_axis *axis)
{
    grove_arena *arena = node->tree->arena;

    if (grove_node_axis(node, axis->name))
        return grove_node_fail(node, GROVE_INTERNAL, "the plugin adds axis '%s' twice", axis->name);
    const grove_axis **list = grove_arena_alloc(arena, (node->own_axis_count + 1) * sizeof(*list));
    if (node->own_axis_count)
        memcpy(list, node->own_axes, node->own_axis_count * sizeof(*list));
    list[node->own_axis_count++] = axis;
    node->own_axes = list;
    return 0;
}

int grove_node_add_axis(grove_node *node, const grove_axis *axis)
{
    const grove_axis *own = own_axis(node, axis);

    if (own && own->kind > GROVE_AXIS_OTHER) /* others: grove_leaf_share_axes */
        own = grove_axis_shared(node, own);
    return own ? list_axis(node, own) : GROVE_INTERNAL;
}

int grove_node_take_axis(grove_node *node, const grove_node *object, const char *name)
{
    const grove_axis *axis = object ? grove_node_axis(object, name) : NULL;

    if (!axis)
        return grove_node_fail(node, GROVE_INTERNAL,
                               "the plugin takes the axis '%s' of '%s', which does not have it",
                               name, object ? object->name : "no object");
    return list_axis(node, axis);
}

int grove_node_add_output_axis(grove_node *node, const grove_axis *axis)
{
    const grove_axis *own = own_axis(node, axis);

    if (!own)
        return GROVE_INTERNAL;
    own = grove_axis_shared(node, own);
    if (node->class_->kind != GROVE_CLASS_ACCUMULATOR &&
        (node->class_->kind != GROVE_CLASS_VALUE || !grove_class_takes_arrays(node->class_)))
        return grove_node_fail(
            node, GROVE_ABI,
            "the plugin adds the axis '%s' to its result; this requires .eval or .device",
            axis->name);
    for (int i = 0; i < node->axis_count; i++)
        if (!strcmp(node->axes[i]->name, own->name))
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the result has the axis '%s' of '%s' already", own->name,
                                   node->axes[i]->owner->name);
    if (node->axis_count + node->consumed_count >= GROVE_MAX_AXES)
        return grove_node_fail(node, GROVE_SHAPE, "more than %d axes", (int)GROVE_MAX_AXES);
    grove_axis_insert(node->axes, &node->axis_count, own);
    return 0;
}

void grove_axis_insert(const grove_axis **axes, int *count, const grove_axis *axis)
{
    int at = (*count)++;

    for (; at > 0 && grove_axis_rank(axes[at - 1]->kind) > grove_axis_rank(axis->kind); at--)
        axes[at] = axes[at - 1];
    axes[at] = axis;
}

/* The stations of each baseline must exist in the leaf. */
static int check_baselines(const grove_node *node, const grove_axis *baseline)
{
    const grove_axis *station = grove_node_axis(node, "station");

    if (!baseline->left || !baseline->right || !station)
        return grove_node_fail(node, GROVE_ABI, "the plugin adds axis '%s' without %s",
                               baseline->name, station ? "left and right" : "an axis 'station'");
    for (int64_t b = 0; b < baseline->size; b++) {
        int32_t p = baseline->left[b], q = baseline->right[b];
        if (p < 0 || p >= station->size || q < 0 || q >= station->size)
            return grove_node_fail(node, GROVE_ABI,
                                   "the plugin's baseline %lld has the stations %d and %d; there "
                                   "are %lld stations, counted from 0",
                                   (long long)b, (int)p, (int)q, (long long)station->size);
    }
    return 0;
}

/* Leaves of a class that have names of their own have different ones. */
static int check_name(const grove_node *node)
{
    const char *name = grove_node_property(node, "name");

    for (size_t i = 0; name && i < node->tree->node_count; i++) {
        const grove_node *other = node->tree->nodes[i];
        if (other->class_ == node->class_ && grove_equal(grove_node_property(other, "name"), name))
            return grove_node_fail(node, GROVE_INVALID,
                                   "line %d has another one with the name \"%s\"",
                                   other->place.line, name);
    }
    return 0;
}

int grove_leaf_check(const grove_node *node)
{
    int code = check_name(node);

    for (size_t i = 0; i < node->own_axis_count && !code; i++)
        if (node->own_axes[i]->kind == GROVE_AXIS_BASELINE && node->own_axes[i]->owner == node)
            code = check_baselines(node, node->own_axes[i]);
    return code;
}

const grove_axis *grove_node_axis(const grove_node *node, const char *name)
{
    for (size_t i = 0; i < node->own_axis_count; i++)
        if (!strcmp(node->own_axes[i]->name, name))
            return node->own_axes[i];
    return NULL;
}

static int form_elements(const grove_form *form)
{
    return form->shape == GROVE_VECTOR ? form->vector : form->shape;
}

static size_t form_bytes(const grove_form *form)
{
    size_t number = form->precision == GROVE_PRECISION_SINGLE ? 4 : 8;

    return number * (form->complex_ ? 2 : 1) * (size_t)form_elements(form);
}

int grove_node_add_member(grove_node *node, const char *name, const char *axes,
                          const grove_form *form, const void *data, const char *doc)
{
    grove_arena *arena = node->tree->arena;
    grove_member member = {.name = grove_arena_text(arena, name), .form = *form};
    char fault[GROVE_FAULT_BYTES];
    size_t cells = 1;

    member.doc = grove_arena_text(arena, doc ? doc : "");
    for (size_t i = 0; i < node->member_count; i++)
        if (!strcmp(node->members[i].name, name))
            return grove_node_fail(node, GROVE_INTERNAL, "the plugin adds member '%s' twice", name);
    if (grove_form_fault(form, fault))
        return grove_node_fail(node, GROVE_ABI, "the plugin's member '%s' %s", name, fault);
    if (data && form->precision == GROVE_PRECISION_RUN)
        return grove_node_fail(node, GROVE_INTERNAL,
                               "the plugin's constant member '%s' has no fixed precision", name);
    for (const char *at = axes; *at;) {
        size_t length = strcspn(at, " ");
        char *word = grove_format("%.*s", (int)length, at);
        const grove_axis *axis = grove_node_axis(node, word);
        if (!axis || member.axis_count == GROVE_VALUE_AXES) {
            int code =
                grove_node_fail(node, GROVE_INTERNAL,
                                "the plugin's member '%s' names the unknown axis '%s'", name, word);
            free(word);
            return code;
        }
        free(word);
        grove_axis_insert(member.axes, &member.axis_count, axis);
        cells *= (size_t)axis->size;
        at += length + strspn(at + length, " ");
    }
    member.data = data ? grove_arena_copy(arena, data, cells * form_bytes(form)) : NULL;
    if (!(node->member_count & (node->member_count + 1))) { /* full: 0, 1, 3, 7, ... */
        grove_member *list = grove_arena_alloc(arena, (2 * node->member_count + 2) * sizeof(*list));
        if (node->member_count)
            memcpy(list, node->members, node->member_count * sizeof(*list));
        node->members = list;
    }
    node->members[node->member_count++] = member;
    return 0;
}

void grove_node_add_identity(grove_node *node, const char *path)
{
    node->identity = grove_hash_file(grove_hash_join(grove_hash_start(), node->identity), path);
    grove_tree_add_read(node->tree, path);
}

const void *grove_node_member_data(const grove_node *node, const char *name)
{
    for (size_t i = 0; i < node->member_count; i++)
        if (!strcmp(node->members[i].name, name))
            return node->members[i].data;
    return NULL;
}

struct grove_property {
    const char *name, *text;
    struct grove_property *next;
};

void grove_node_add_property(grove_node *node, const char *name, const char *text)
{
    grove_arena *arena = node->tree->arena;
    struct grove_property *property = grove_arena_alloc(arena, sizeof(*property));

    property->name = grove_arena_text(arena, name);
    property->text = grove_arena_text(arena, text);
    property->next = node->properties;
    node->properties = property;
}

const char *grove_node_property(const grove_node *node, const char *name)
{
    for (const struct grove_property *at = node->properties; at; at = at->next)
        if (!strcmp(at->name, name))
            return at->text;
    return NULL;
}

int grove_node_set_observation(grove_node *node, const grove_observation_facts *facts)
{
    grove_arena *arena = node->tree->arena;
    grove_observation_facts own;

    if (grove_sized_take(&own, sizeof(own), facts, "grove_observation_facts", NULL))
        return grove_node_fail(node, GROVE_INVALID,
                               "the plugin's facts of the observation have no size, or are some "
                               "that this Grove does not know; GROVE_OBSERVATION_FACTS sets it");
    own.telescope = own.telescope ? grove_arena_text(arena, own.telescope) : NULL;
    own.column = own.column ? grove_arena_text(arena, own.column) : NULL;
    own.rows_share = own.rows_share > 0 ? own.rows_share : 1;
    own.runs_share = own.runs_share > 0 ? own.runs_share : 1;
    node->observation = grove_arena_copy(arena, &own, sizeof(own));
    return 0;
}

const grove_observation_facts *grove_node_observation(const grove_node *node)
{
    static const grove_observation_facts none = {
        .size = sizeof(none), .rows_share = 1, .runs_share = 1};

    if (!node || node->observation)
        return node ? node->observation : NULL;
    return node->kind == GROVE_NODE_LEAF && grove_equal(node->class_->object, "observation") ? &none
                                                                                             : NULL;
}

void grove_node_set_step(grove_node *node, double step)
{
    node->step = step;
}

const char *grove_node_history(const grove_node *node)
{
    const grove_tree *tree = node->tree;

    return grove_arena_format(tree->arena, "Grove %s: %s\n%s\n%s", GROVE_VERSION,
                              tree->path ? tree->path : "a tree without a file",
                              tree->settings ? tree->settings : "",
                              tree->source ? tree->source : "");
}

const char *const *grove_node_data_folders(const grove_node *node)
{
    return node->tree->data_folders;
}

static grove_node *make_member(grove_node *object, size_t index, const grove_place *place)
{
    grove_tree *tree = object->tree;
    grove_member *member = &object->members[index];
    grove_node *node = grove_tree_add_node(tree, GROVE_NODE_MEMBER, NULL, place);

    node->name = grove_arena_format(tree->arena, "%s.%s", object->name, member->name);
    node->leaf = object;
    node->member = index;
    node->form = member->form;
    node->missing_elements = member->form.complex_ ? object->missing_elements : 0;
    node->axis_count = member->axis_count;
    memcpy(node->axes, member->axes, sizeof(node->axes));
    node->key = grove_hash_text(grove_hash_join(grove_hash_start(), object->key), member->name);
    member->node = node;
    return node;
}

/* For members with names such as patch(A), the others of that kind: "; it has patch(A),
 * patch(B)". */
static char *show_others(const grove_node *object, const char *name)
{
    enum { MOST = 20 };
    const char *bracket = strchr(name, '(');
    size_t length = bracket ? (size_t)(bracket - name) + 1 : 0;
    grove_text text = {0};
    int shown = 0;

    grove_text_add(&text, "%s", "");
    for (size_t i = 0; bracket && i < object->member_count && shown <= MOST; i++) {
        if (strncmp(object->members[i].name, name, length) != 0)
            continue;
        grove_text_add(&text, "%s%s", shown ? ", " : "; it has ",
                       shown < MOST ? object->members[i].name : "...");
        shown++;
    }
    return text.at;
}

grove_operand grove_tree_member(grove_tree *tree, grove_node *object, const char *name,
                                const grove_place *place)
{
    grove_operand result = {0};
    const char *names[256] = {NULL};
    size_t count = 0;

    if (object->stands_for)
        object = object->stands_for;
    if (object->kind != GROVE_NODE_LEAF) {
        grove_fail_at(tree->error, place, GROVE_INVALID,
                      "'%s' has no members; only data have members: observations, sky models, "
                      "tables, parms and others",
                      object->name);
        return result;
    }
    for (size_t i = 0; i < object->member_count; i++) {
        if (!strcmp(object->members[i].name, name)) {
            grove_node *node = object->members[i].node;
            result.kind = GROVE_OPERAND_NODE;
            result.node = node ? node : make_member(object, i, place);
            return result;
        }
        if (count < 256)
            names[count++] = object->members[i].name;
    }
    const char *near = grove_nearest(name, names, count);
    char *others = near ? NULL : show_others(object, name);
    grove_fail_at(tree->error, place, GROVE_MISSING, "'%s' (%s) has no member '%s'%s%s%s",
                  object->name, object->class_->name, name, near ? "; did you mean '" : others,
                  near ? near : "", near ? "'?" : "");
    free(others);
    return result;
}
