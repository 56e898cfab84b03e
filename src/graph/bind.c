/* Binds the arguments of a call to inputs and options of a class. */
#include "graph/call.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    grove_node *node;
    const grove_class *class_;
    const grove_port *ports[GROVE_MAX_PORTS]; /* inputs, then options */
    int inputs, count;
    const grove_argument *bound[GROVE_MAX_PORTS]; /* of each port, or NULL */
    char *roles;
    int failed;
} binding;

static void fail_of(binding *b, const grove_place *place, const char *setting, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));

/* `setting`: that is wrong, or NULL. */
static void fail_of(binding *b, const grove_place *place, const char *setting, const char *format,
                    ...)
{
    grove_text text = {0};
    va_list args;

    grove_text_add(&text, "%s: ", b->class_->name);
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_fail_setting(b->node->tree->error, place && place->line ? place : &b->node->place,
                       GROVE_INVALID, setting, text.at);
    free(text.at);
    b->failed = GROVE_INVALID;
}

#define fail(b, place, ...) fail_of(b, place, NULL, __VA_ARGS__)

static void unknown_name(binding *b, const grove_argument *argument)
{
    const char *names[GROVE_MAX_PORTS];

    for (int i = 0; i < b->count; i++)
        names[i] = b->ports[i]->name;
    const char *near = grove_nearest(argument->name, names, (size_t)b->count);
    fail(b, &argument->place, "no option '%s'%s%s%s", argument->name,
         near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

/* An object by position may also be an optional one: its slot, or -1. */
static int optional_object(const binding *b, const grove_argument *argument)
{
    const grove_node *given =
        argument->operand.kind == GROVE_OPERAND_NODE ? argument->operand.node : NULL;

    for (int i = 0; i < b->inputs && given && given->kind == GROVE_NODE_LEAF; i++)
        if (b->ports[i]->optional && !b->bound[i] &&
            grove_equal(given->class_->object, b->ports[i]->object))
            return i;
    return -1;
}

/* Positional arguments are bound to inputs, then options, in order; named ones by name. */
static void assign(binding *b, const grove_argument *arguments, size_t count)
{
    int next = 0;

    for (size_t i = 0; i < count; i++) {
        const grove_argument *argument = &arguments[i];
        int slot = 0;
        if (argument->name) {
            while (slot < b->count && strcmp(b->ports[slot]->name, argument->name) != 0)
                slot++;
            if (slot == b->count) {
                unknown_name(b, argument);
                continue;
            }
        } else {
            while (next < b->inputs && b->ports[next]->optional)
                next++;
            slot = next < b->inputs ? -1 : optional_object(b, argument);
            slot = slot < 0 ? next++ : slot;
            if (slot >= b->count) {
                fail(b, &argument->place, "too many arguments; the class takes at most %d",
                     b->count);
                return;
            }
        }
        if (b->bound[slot])
            fail(b, &argument->place, "'%s' is given twice", b->ports[slot]->name);
        else
            b->bound[slot] = argument;
    }
}

static void bind_object(binding *b, int i)
{
    const grove_port *input = b->ports[i];
    const grove_argument *argument = b->bound[i];
    grove_arena *arena = b->node->tree->arena;
    const char *required = grove_port_describe(arena, input);

    if (!argument && input->optional)
        return;
    if (!argument) {
        fail(b, NULL, "its %s is missing: input '%s' must be %s", input->name, input->name,
             required);
        return;
    }
    grove_node *given = argument->operand.node;
    if (argument->operand.kind == GROVE_OPERAND_NOTHING)
        b->failed = GROVE_INVALID;
    else if (argument->operand.kind == GROVE_OPERAND_LITERAL &&
             argument->operand.literal->kind == GROVE_LITERAL_NONE)
        return; /* none: the values that would come from the object are given themselves */
    else if (argument->operand.kind == GROVE_OPERAND_LITERAL)
        fail(b, &argument->place, "input '%s' must be %s, got %s", input->name, required,
             grove_literal_show(arena, argument->operand.literal));
    else if (given->kind != GROVE_NODE_LEAF || !grove_equal(given->class_->object, input->object))
        fail(b, &argument->place, "input '%s' must be %s, got '%s' (%s)", input->name, required,
             given->name, given->class_ ? given->class_->name : "a value");
    else
        b->node->objects[i] = given;
}

static void bind_value(binding *b, int k, const char *port_kind, const char *name, grove_kind kind,
                       const grove_operand *operand, const grove_place *place)
{
    grove_tree *tree = b->node->tree;
    grove_arena *arena = tree->arena;
    const char *required = grove_kind_describe(arena, kind, NULL);

    b->node->input_places[k] = *place;
    if (operand->kind == GROVE_OPERAND_NOTHING) {
        b->failed = GROVE_INVALID;
    } else if (operand->kind == GROVE_OPERAND_NODE) {
        if (operand->node->kind == GROVE_NODE_LEAF ||
            (operand->node->class_ && operand->node->class_->kind == GROVE_CLASS_ACTION)) {
            fail(b, place, "%s '%s' must be %s, got '%s' (%s), which has no value of its own",
                 port_kind, name, required, operand->node->name, operand->node->class_->name);
            return;
        }
        b->node->inputs[k].node = operand->node;
        b->roles[k] = operand->role;
    } else {
        const grove_literal *literal = operand->literal;
        bool number =
            literal->kind == GROVE_LITERAL_NUMBER ||
            (literal->kind == GROVE_LITERAL_LIST && literal->count > 0 && literal->count <= 64);
        for (int i = 0; number && literal->kind == GROVE_LITERAL_LIST && i < literal->count; i++)
            number = literal->items[i].kind == GROVE_LITERAL_NUMBER &&
                     grove_unit_equal(literal->items[i].unit, literal->items[0].unit);
        grove_unit unit = literal->kind == GROVE_LITERAL_LIST && literal->count
                              ? literal->items[0].unit
                              : literal->unit;
        bool zero = literal->kind == GROVE_LITERAL_NUMBER && literal->number == 0 &&
                    literal->imaginary == 0 && grove_unit_is_none(unit);
        if (!number || (!zero && !grove_kind_fits(kind, unit, true)))
            fail_of(b, place, literal->setting, "%s '%s' must be %s, got %s", port_kind, name,
                    required, grove_literal_show(arena, literal));
        else
            b->node->inputs[k].node =
                grove_tree_constant(tree, literal, GROVE_PRECISION_DOUBLE, place);
    }
}

static bool word_in(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = choices; *at;) {
        size_t length = strcspn(at, " ");
        if (length == n && !strncmp(at, word, n))
            return true;
        at += length + strspn(at + length, " ");
    }
    return false;
}

/* Real numbers of one unit; 0 goes with any. */
static bool list_fits(const grove_literal *literal)
{
    const grove_literal *list = literal->kind == GROVE_LITERAL_LIST ? literal->items : literal;
    int count = literal->kind == GROVE_LITERAL_LIST ? literal->count : 1;
    const grove_unit *unit = NULL;

    for (int i = 0; i < count; i++) {
        bool none = literal != list && list[i].kind == GROVE_LITERAL_NONE;
        if (!none && (list[i].kind != GROVE_LITERAL_NUMBER || list[i].imaginary != 0))
            return false;
        if (none || (list[i].number == 0 && grove_unit_is_none(list[i].unit)))
            continue;
        if (unit && !grove_unit_equal(*unit, list[i].unit))
            return false;
        unit = &list[i].unit;
    }
    return true;
}

static bool literal_fits(const grove_port *option, const grove_literal *literal)
{
    double radec[2];

    switch ((int)option->kind) {
    case GROVE_BOOL:
        return literal->kind == GROVE_LITERAL_BOOL;
    case GROVE_INTEGER:
        return literal->kind == GROVE_LITERAL_NUMBER && grove_unit_is_none(literal->unit) &&
               literal->imaginary == 0 && literal->number == rint(literal->number) &&
               fabs(literal->number) < 9e15;
    case GROVE_TEXT:
    case GROVE_FILE:
        return literal->kind == GROVE_LITERAL_TEXT;
    case GROVE_CHOICE:
        return literal->kind == GROVE_LITERAL_TEXT && word_in(option->choices, literal->text);
    case GROVE_DIRECTION:
        return literal->kind == GROVE_LITERAL_TEXT && !grove_parse_direction(literal->text, radec);
    case GROVE_ANGLE_RANGE:
        return literal->kind == GROVE_LITERAL_RANGE && literal->number < literal->to &&
               (literal->unit.rad == 1 || (literal->unit.s == 1 && literal->hours));
    case GROVE_NUMBER_LIST:
        return list_fits(literal);
    case GROVE_AXIS_NAMES:
    case GROVE_PARM_NAMES:
        for (int i = 0; literal->kind == GROVE_LITERAL_LIST && i < literal->count; i++)
            if (literal->items[i].kind != GROVE_LITERAL_TEXT)
                return false;
        return literal->kind == GROVE_LITERAL_LIST || literal->kind == GROVE_LITERAL_TEXT;
    case GROVE_QUANTITY:
        return literal->kind == GROVE_LITERAL_NUMBER;
    default:
        return literal->kind == GROVE_LITERAL_NUMBER && literal->imaginary == 0 &&
               (grove_kind_fits(option->kind, literal->unit, true) ||
                (literal->number == 0 && grove_unit_is_none(literal->unit)));
    }
}

/* How a setting such as target=1934-638, which is a number, is a text. */
static const char *how_to_quote(grove_arena *arena, const grove_port *option,
                                const grove_literal *literal)
{
    const char *text = literal->setting ? strchr(literal->setting, '=') : NULL;

    if (!text || literal->kind != GROVE_LITERAL_NUMBER ||
        (option->kind != GROVE_TEXT && option->kind != GROVE_FILE))
        return "";
    return grove_arena_format(arena, "; to give a text, write it in quotes: -s %.*s='\"%s\"'",
                              (int)(text - literal->setting), literal->setting, text + 1);
}

/* An option with default none accepts none; a choice that has the word none takes it as a word. */
static void bind_constant(binding *b, int i, const grove_operand *operand, const grove_place *place)
{
    const grove_port *option = &b->class_->options[i];
    grove_arena *arena = b->node->tree->arena;
    const char *required = grove_kind_describe(arena, option->kind, option->choices);

    b->node->options[i].place = *place;
    if (operand->kind == GROVE_OPERAND_NOTHING) {
        b->failed = GROVE_INVALID;
    } else if (operand->kind == GROVE_OPERAND_NODE) {
        fail(b, place, "option '%s' must be %s, a constant; got '%s', a node", option->name,
             required, operand->node->name);
    } else {
        const grove_literal *literal = operand->literal;
        bool none = literal->kind == GROVE_LITERAL_NONE &&
                    (grove_equal(option->initial, "none") ||
                     (option->kind == GROVE_CHOICE && word_in(option->choices, "none")));
        if (!none && !literal_fits(option, literal))
            fail_of(b, place, literal->setting, "option '%s' must be %s, got %s%s", option->name,
                    required, grove_literal_show(arena, literal),
                    how_to_quote(arena, option, literal));
        b->node->options[i].value = literal;
    }
}

/* The operand of an option that the call did not give. False: nothing to bind. */
static bool default_operand(binding *b, const grove_port *option, grove_operand *operand)
{
    grove_tree *tree = b->node->tree;

    if (!option->initial) {
        fail(b, NULL, "option '%s' must be given: %s (%s)", option->name, option->doc,
             grove_kind_describe(tree->arena, option->kind, option->choices));
        return false;
    }
    if (!strcmp(option->initial, "none")) {
        grove_literal none = {.kind = GROVE_LITERAL_NONE};
        operand->kind = GROVE_OPERAND_LITERAL;
        operand->literal = grove_arena_copy(tree->arena, &none, sizeof(none));
        return true;
    }
    if (b->failed)
        return false; /* inputs that its text names may be absent */
    if (tree->expand(tree->expand_context, tree, option->initial, b->node, &b->node->place,
                     operand))
        b->failed = GROVE_INVALID;
    return !b->failed;
}

static void bind_option(binding *b, int i, int *k)
{
    const grove_port *option = &b->class_->options[i];
    const grove_argument *argument = b->bound[b->inputs + i];
    grove_place place = argument ? argument->place : b->node->place;
    grove_operand operand = {0};
    bool is_value = grove_kind_is_value(option->kind);

    if (argument)
        operand = argument->operand;
    else if (!default_operand(b, option, &operand)) {
        *k += is_value;
        return;
    }
    b->node->options[i].by_user = argument != NULL;
    if (!is_value) {
        bind_constant(b, i, &operand, &place);
        return;
    }
    if (operand.kind == GROVE_OPERAND_LITERAL && operand.literal->kind == GROVE_LITERAL_NONE) {
        if (!grove_equal(option->initial, "none"))
            fail(b, &place, "option '%s' cannot be none", option->name);
    } else {
        bind_value(b, *k, "option", option->name, option->kind, &operand, &place);
    }
    *k += 1;
}

static void make_slots(binding *b)
{
    grove_arena *arena = b->node->tree->arena;
    grove_node *node = b->node;
    int k = 0;

    node->inputs = grove_arena_alloc(arena, GROVE_MAX_INPUTS * sizeof(grove_edge));
    node->input_places = grove_arena_alloc(arena, GROVE_MAX_INPUTS * sizeof(grove_place));
    node->input_names = grove_arena_alloc(arena, GROVE_MAX_INPUTS * sizeof(char *));
    node->handing = grove_arena_alloc(arena, GROVE_MAX_INPUTS * sizeof(grove_handing));
    node->seen = grove_arena_alloc(arena, GROVE_MAX_INPUTS * sizeof(grove_form));
    node->objects = grove_arena_alloc(arena, ((size_t)b->inputs + 1) * sizeof(grove_node *));
    node->options =
        grove_arena_alloc(arena, ((size_t)(b->count - b->inputs) + 1) * sizeof(grove_option_value));
    for (int i = 0; i < b->count; i++)
        if (grove_kind_is_value(b->ports[i]->kind)) {
            node->handing[k] = b->ports[i]->handing;
            node->input_names[k++] = b->ports[i]->name;
        }
    node->input_count = k;
}

int grove_bind_arguments(grove_node *node, const grove_argument *arguments, size_t count,
                         char *roles)
{
    binding b = {.node = node, .class_ = node->class_, .roles = roles};
    int k = 0;

    while (b.class_->inputs && b.class_->inputs[b.inputs].name)
        b.inputs++;
    for (const grove_port *port = NULL; (port = grove_port_next(b.class_, port));)
        b.ports[b.count++] = port;
    make_slots(&b);
    assign(&b, arguments, count);
    for (int i = 0; i < b.inputs; i++) {
        const grove_port *input = b.ports[i];
        if (!grove_kind_is_value(input->kind)) {
            bind_object(&b, i);
            continue;
        }
        if (b.bound[i])
            bind_value(&b, k, "input", input->name, input->kind, &b.bound[i]->operand,
                       &b.bound[i]->place);
        else
            fail(&b, NULL, "its input '%s' is missing: %s", input->name, input->doc);
        k++;
    }
    for (int i = 0; i < b.count - b.inputs; i++)
        bind_option(&b, i, &k);
    return b.failed;
}
