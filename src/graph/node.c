/* The functions of plugin.h that a class calls with its node. */
#include "graph/call.h"
#include "graph/neutral.h"

#include "unstable/keep.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors and notes ---- */

static const char *subject(const grove_node *node)
{
    return node->class_ ? node->class_->name : node->name;
}

/* The error object of the session that calls the class, or of the tree's builder. */
static grove_error *error_of(const grove_node *node)
{
    const grove_error_scope *scope = grove_error_current();

    return scope ? scope->error : node->tree->error;
}

/* `setting`: that is wrong, or NULL. */
static int fail_at(const grove_node *node, const grove_place *place, int code, const char *setting,
                   const char *format, va_list args)
{
    grove_text text = {0};

    code = code < 0 ? code : GROVE_INVALID;
    if (grove_error_current())
        grove_error_scope_fail(grove_error_current(), code);
    grove_text_add(&text, "%s: ", subject(node));
    grove_text_add_v(&text, format, args);
    grove_fail_setting(error_of(node), place && place->line ? place : NULL, code, setting, text.at);
    free(text.at);
    return code;
}

int grove_node_fail(const grove_node *node, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    code = fail_at(node, &node->place, code, NULL, format, args);
    va_end(args);
    return code;
}

static int fail_text(const grove_node *node, const grove_place *place, int code,
                     const char *setting, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    code = fail_at(node, place, code, setting, format, args);
    va_end(args);
    return code;
}

static int option_index(const grove_node *node, const char *name)
{
    const grove_port *options = node->class_ ? node->class_->options : NULL;

    for (int i = 0; options && options[i].name; i++)
        if (!strcmp(options[i].name, name))
            return i;
    return -1;
}

int grove_node_fail_option(const grove_node *node, const char *option, const char *format, ...)
{
    int i = option_index(node, option), k = grove_node_input(node, option);
    const grove_place *place = &node->place;
    va_list args;

    if (i >= 0 && node->options[i].place.line)
        place = &node->options[i].place;
    else if (k >= 0 && node->input_places[k].line)
        place = &node->input_places[k];
    const grove_literal *given = i >= 0 ? node->options[i].value : NULL;
    grove_text text = {0};
    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    int code = fail_text(node, place, GROVE_INVALID, given ? given->setting : NULL, "%s%s%s",
                         i >= 0 ? option : "", i >= 0 ? ": " : "", text.at);
    free(text.at);
    return code;
}

void grove_node_warn(const grove_node *node, const char *format, ...)
{
    va_list args;
    grove_text text = {0};

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    grove_warn_at(error_of(node), node->place.line ? &node->place : NULL, "%s: %s", subject(node),
                  text.at);
    free(text.at);
}

void grove_node_note(grove_node *node, const char *format, ...)
{
    va_list args;
    grove_text text = {0};

    va_start(args, format);
    grove_text_add_v(&text, format, args);
    va_end(args);
    node->note = grove_arena_text(node->tree->arena, text.at);
    free(text.at);
}

const char *grove_node_name(const grove_node *node)
{
    return node->name;
}

int grove_node_verdict(const grove_node *node, const grove_error *error, size_t before, int code,
                       const char *default_message)
{
    bool reported = grove_error_count(error) > before;

    if (!code && !reported)
        return 0;
    code = code < 0 ? code : GROVE_INVALID;
    return reported ? code : grove_node_fail(node, code, "%s", default_message);
}

/* ---- options ---- */

static const grove_literal no_literal = {.kind = GROVE_LITERAL_NONE};

/* The literal of a constant option. A wrong name or kind is the plugin's error and fails the tree.
 */
static const grove_literal *option(const grove_node *node, const char *name, grove_kind first,
                                   grove_kind last)
{
    int i = option_index(node, name);

    if (i < 0 || node->class_->options[i].kind < first || node->class_->options[i].kind > last) {
        grove_node_fail(
            node, GROVE_INTERNAL,
            "the plugin asks for its option '%s', which it does not declare with this kind", name);
        return &no_literal;
    }
    return node->options[i].value ? node->options[i].value : &no_literal;
}

bool grove_node_given(const grove_node *node, const char *name)
{
    int k = grove_node_input(node, name);

    if (k >= 0)
        return node->inputs[k].node != NULL;
    return option(node, name, GROVE_BOOL, GROVE_PARM_NAMES)->kind != GROVE_LITERAL_NONE;
}

bool grove_node_written(const grove_node *node, const char *name)
{
    int i = option_index(node, name);

    return i >= 0 && node->options[i].by_user;
}

bool grove_node_bool(const grove_node *node, const char *name)
{
    return option(node, name, GROVE_BOOL, GROVE_BOOL)->truth;
}

int64_t grove_node_integer(const grove_node *node, const char *name)
{
    return (int64_t)option(node, name, GROVE_INTEGER, GROVE_INTEGER)->number;
}

double grove_node_number(const grove_node *node, const char *name)
{
    return option(node, name, GROVE_INTEGER, GROVE_FLUX)->number;
}

/* A relative path in a tree file refers to that file's folder; if nothing exists there, it may be
 * the name of something shipped. */
static const char *resolve(const grove_node *node, const grove_literal *literal)
{
    grove_arena *arena = node->tree->arena;
    const char *text = literal->text ? literal->text : "";
    const char *found = text;

    if (literal->setting || text[0] == '/' || !node->tree->folder)
        return text;
    char *in_folder = grove_path_join(node->tree->folder, text);
    if (grove_path_exists(in_folder))
        found = grove_arena_text(arena, in_folder);
    free(in_folder);
    return found;
}

const char *grove_node_text(const grove_node *node, const char *name)
{
    const grove_literal *literal = option(node, name, GROVE_TEXT, GROVE_DIRECTION);
    int i = option_index(node, name);

    if (literal->kind != GROVE_LITERAL_TEXT)
        return literal->kind == GROVE_LITERAL_NONE && i >= 0 &&
                       node->class_->options[i].kind == GROVE_CHOICE
                   ? "none"
                   : "";
    if (node->class_->options[i].kind == GROVE_FILE)
        return resolve(node, literal);
    return literal->text;
}

int grove_node_choice(const grove_node *node, const char *name)
{
    const char *word = grove_node_text(node, name);
    int i = option_index(node, name), n = 0;
    const char *at = i >= 0 ? node->class_->options[i].choices : NULL;

    while (at && *at) {
        size_t length = strcspn(at, " ");
        if (length == strlen(word) && !strncmp(at, word, length))
            return n;
        at += length + strspn(at + length, " ");
        n++;
    }
    return 0;
}

void grove_node_direction(const grove_node *node, const char *name, double radec[2])
{
    const grove_literal *literal = option(node, name, GROVE_DIRECTION, GROVE_DIRECTION);

    radec[0] = radec[1] = 0;
    if (literal->kind == GROVE_LITERAL_TEXT)
        grove_parse_direction(literal->text, radec);
}

void grove_node_range(const grove_node *node, const char *name, double range[2])
{
    const grove_literal *literal = option(node, name, GROVE_ANGLE_RANGE, GROVE_ANGLE_RANGE);
    double scale = literal->unit.s == 1 ? 2 * GROVE_PI / 86400 : 1;

    range[0] = literal->number * scale;
    range[1] = literal->to * scale;
}

static int items_of(const grove_literal *literal, const grove_literal **items)
{
    *items = literal->kind == GROVE_LITERAL_LIST ? literal->items : literal;
    return literal->kind == GROVE_LITERAL_LIST ? literal->count
                                               : literal->kind == GROVE_LITERAL_NUMBER;
}

int grove_node_list(const grove_node *node, const char *name, const double **numbers)
{
    const grove_literal *items;
    int count = items_of(option(node, name, GROVE_NUMBER_LIST, GROVE_NUMBER_LIST), &items);
    double *list = grove_arena_alloc(node->tree->arena, ((size_t)count + 1) * sizeof(double));

    for (int i = 0; i < count; i++)
        list[i] = items[i].kind == GROVE_LITERAL_NONE ? (double)NAN : items[i].number;
    *numbers = list;
    return count;
}

grove_unit grove_node_list_unit(const grove_node *node, const char *name)
{
    const grove_literal *items;
    int count = items_of(option(node, name, GROVE_NUMBER_LIST, GROVE_NUMBER_LIST), &items);
    grove_unit unit = {0};

    for (int i = 0; i < count; i++)
        if (items[i].kind == GROVE_LITERAL_NUMBER && !grove_unit_is_none(items[i].unit))
            unit = items[i].unit;
    return unit;
}

int grove_node_words(const grove_node *node, const char *name, const char *const **words)
{
    const grove_literal *literal = option(node, name, GROVE_AXIS_NAMES, GROVE_PARM_NAMES);
    bool list = literal->kind == GROVE_LITERAL_LIST;
    int count = list ? literal->count : literal->kind == GROVE_LITERAL_TEXT;
    const char **texts = grove_arena_alloc(node->tree->arena, ((size_t)count + 1) * sizeof(char *));

    for (int i = 0; i < count; i++)
        texts[i] = list ? literal->items[i].text : literal->text;
    *words = texts;
    return count;
}

grove_unit grove_node_quantity(const grove_node *node, const char *name, double number[2])
{
    const grove_literal *literal = option(node, name, GROVE_QUANTITY, GROVE_QUANTITY);

    number[0] = literal->number, number[1] = literal->imaginary;
    return literal->unit;
}

bool grove_node_quantity_complex(const grove_node *node, const char *name)
{
    return option(node, name, GROVE_QUANTITY, GROVE_QUANTITY)->complex_;
}

/* ---- inputs ---- */

int grove_node_inputs(const grove_node *node)
{
    return node->input_count;
}

int grove_node_input(const grove_node *node, const char *name)
{
    for (int k = 0; k < node->input_count; k++)
        if (node->input_names && !strcmp(node->input_names[k], name))
            return k;
    return -1;
}

const grove_form *grove_node_input_form(const grove_node *node, int k)
{
    if (k < 0 || k >= node->input_count || !node->inputs[k].node)
        return NULL;
    return &node->seen[k];
}

grove_precision grove_handing_precision(grove_handing handing)
{
    return handing == GROVE_AS_DOUBLE           ? GROVE_PRECISION_DOUBLE
           : handing == GROVE_AS_SINGLE_COMPLEX ? GROVE_PRECISION_SINGLE
                                                : GROVE_PRECISION_RUN;
}

void grove_node_see_input(grove_node *node, int k)
{
    node->seen[k] = node->inputs[k].node->form;
    node->seen[k].precision = grove_handing_precision(node->handing[k]);
}

int grove_node_input_axes(const grove_node *node, int k, const grove_axis *axes[GROVE_MAX_AXES])
{
    const grove_node *in = k >= 0 && k < node->input_count ? node->inputs[k].node : NULL;

    for (int i = 0; in && i < in->axis_count; i++)
        axes[i] = in->axes[i];
    return in ? in->axis_count : 0;
}

const grove_axis *grove_node_input_axis(const grove_node *node, int k, int kind)
{
    const grove_axis *found = NULL;

    if (k >= 0 && k < node->input_count && node->inputs[k].node)
        grove_node_axes_of_kind(node->inputs[k].node, kind, &found, 1);
    return found;
}

const char *grove_node_input_name(const grove_node *node, int k)
{
    bool given = k >= 0 && k < node->input_count && node->inputs[k].node;

    return given ? node->inputs[k].node->name : "";
}

const char *grove_node_input_reducer(const grove_node *node, int k, const grove_axis *axis)
{
    const grove_node *in = k >= 0 && k < node->input_count ? node->inputs[k].node : NULL;
    const grove_node *reducer = in ? grove_node_reducer(in, axis->kind, axis) : NULL;

    return reducer ? grove_node_shown(reducer) : NULL;
}

bool grove_node_input_constant(const grove_node *node, int k, double *number)
{
    const grove_node *in =
        k >= 0 && k < node->input_count ? grove_node_behind_casts(node->inputs[k].node) : NULL;

    if (!in || in->kind != GROVE_NODE_CONSTANT || in->constant->kind != GROVE_LITERAL_NUMBER ||
        in->constant->imaginary != 0)
        return false;
    *number = in->constant->number;
    return true;
}

const double *grove_node_input_data(const grove_node *node, int k, int64_t *count)
{
    const grove_node *in = k >= 0 && k < node->input_count ? node->inputs[k].node : NULL;
    const grove_form *form = in ? &in->form : NULL;

    if (!in || in->kind != GROVE_NODE_MEMBER || form->precision != GROVE_PRECISION_DOUBLE ||
        form->complex_)
        return NULL;
    *count = form->shape == GROVE_VECTOR ? form->vector : form->shape;
    for (int d = 0; d < in->axis_count; d++)
        *count *= in->axes[d]->size;
    return in->leaf->members[in->member].data;
}

grove_node *grove_node_object(const grove_node *node, const char *name)
{
    const grove_port *inputs = node->class_ ? node->class_->inputs : NULL;

    for (int i = 0; inputs && inputs[i].name; i++)
        if (!strcmp(inputs[i].name, name))
            return node->objects[i];
    return NULL;
}

/* ---- results ---- */

void grove_node_set_output(grove_node *node, const grove_form *form)
{
    char fault[GROVE_FAULT_BYTES];

    node->form = *form;
    if (grove_form_fault(&node->form, fault))
        grove_node_fail(node, GROVE_ABI, "the plugin's output %s", fault);
}

const grove_form *grove_node_output(const grove_node *node)
{
    return &node->form;
}

void grove_node_set_kernel(grove_node *node, const grove_kernel *kernel)
{
    char fault[GROVE_FAULT_BYTES];

    node->kernel = kernel;
    if (kernel && grove_kernel_fault(kernel, fault))
        grove_node_fail(node, GROVE_ABI, "the plugin's kernel %s", fault);
}

void grove_node_set_state(grove_node *node, const void *state, size_t bytes)
{
    if (bytes > sizeof(node->state)) {
        grove_node_fail(node, GROVE_INTERNAL, "the plugin's state has %zu bytes, at most %zu",
                        bytes, sizeof(node->state));
        return;
    }
    memset(node->state, 0, sizeof(node->state));
    memcpy(node->state, state, bytes);
}

void grove_node_set_tangent(grove_node *node, const char *rule)
{
    char fault[GROVE_FAULT_BYTES];

    if (rule && grove_tangent_fault(node->class_, rule, fault))
        grove_node_fail(node, GROVE_ABI, "the plugin's %s", fault);
    node->tangent = rule ? grove_arena_text(node->tree->arena, rule) : NULL;
}

int grove_node_set_table(grove_node *node, const void *bytes, size_t size)
{
    if (!bytes || !size)
        return grove_node_fail(node, GROVE_INVALID, "the plugin's table is empty");
    node->table = grove_arena_copy(node->tree->arena, bytes, size);
    node->table_bytes = size;
    return 0;
}

void grove_node_set_handing(grove_node *node, int k, grove_handing handing)
{
    if (k < 0 || k >= node->input_count || (int)handing < GROVE_AS_GIVEN ||
        handing > GROVE_AS_FLAGS) {
        grove_node_fail(node, GROVE_ABI, "the plugin sets handing %d of input %d; it has %d inputs",
                        (int)handing, k, node->input_count);
        return;
    }
    node->handing[k] = handing;
    if (node->inputs[k].node)
        grove_node_see_input(node, k);
}

void grove_node_consume(grove_node *node, int kind)
{
    int kept = 0;

    for (int i = 0; i < node->axis_count; i++) {
        const grove_axis *axis = node->axes[i];
        if (grove_axis_is(axis, kind))
            node->consumed[node->consumed_count++] = axis;
        else
            node->axes[kept++] = axis;
    }
    node->axis_count = kept;
}

void grove_node_consume_axis(grove_node *node, const grove_axis *axis)
{
    int kept = 0;

    for (int i = 0; i < node->axis_count; i++)
        if (node->axes[i] == axis)
            node->consumed[node->consumed_count++] = axis;
        else
            node->axes[kept++] = node->axes[i];
    node->axis_count = kept;
}

void grove_node_begin_double_sizes(grove_node *node)
{
    node->double_sizes = true;
}

void grove_node_set_memory(grove_node *node, uint64_t bytes)
{
    for (int k = node->double_sizes; k < 2; k++)
        node->amounts[k].memory = bytes;
}

void grove_node_set_device_memory(grove_node *node, uint64_t bytes)
{
    for (int k = node->double_sizes; k < 2; k++)
        node->amounts[k].device_memory = bytes;
}

void grove_node_set_pieces(grove_node *node, const uint64_t *bytes, int count)
{
    uint64_t *copy = grove_arena_alloc(node->tree->arena, (size_t)count * sizeof(*copy));

    memcpy(copy, bytes, (size_t)count * sizeof(*copy));
    for (int k = node->double_sizes; k < 2; k++) {
        node->amounts[k].pieces = copy;
        node->amounts[k].piece_count = count;
    }
}

void grove_node_set_first_walks(grove_node *node, int count)
{
    node->first_walks = count;
}

void grove_node_use_flags_only(grove_node *node, int input)
{
    node->flags_only |= UINT64_C(1) << input;
}

void grove_node_set_advice(grove_node *node, const char *advice)
{
    node->advice = grove_arena_text(node->tree->arena, advice);
}

void grove_node_set_scratch(grove_node *node, uint64_t bytes, uint64_t bytes_per_cell)
{
    if (!grove_class_takes_arrays(node->class_) && !grove_node_drives(node) &&
        !grove_node_accumulates(node))
        grove_node_fail(node, GROVE_ABI,
                        "the plugin sets scratch memory, which a cell function cannot have; it "
                        "needs .eval, .device or .drive");
    for (int k = node->double_sizes; k < 2; k++)
        node->amounts[k].scratch = bytes;
    node->scratch_per_cell = bytes_per_cell;
}

uint64_t grove_node_scratch_bytes(const grove_node *node, const grove_range *range, int axes)
{
    const uint64_t max = UINT64_MAX / 1024;
    const grove_axis *taken[GROVE_MAX_AXES];
    int count = grove_node_all_taken_axes(node, taken);
    const uint64_t own = node->amounts[1].scratch; /* where it differs, it is more */
    uint64_t bytes = node->scratch_per_cell;
    bool fits = true;

    if (!own && !node->scratch_per_cell)
        return 0;
    for (int d = 0; d < axes; d++) {
        bool whole = range[d].axis != NULL; /* added by check */
        for (int i = 0; i < count; i++)
            whole = whole && taken[i] != range[d].axis;
        int64_t cells = whole ? range[d].axis->size : range[d].count;
        fits = fits && !__builtin_mul_overflow(bytes, (uint64_t)cells, &bytes);
    }
    fits = fits && !__builtin_add_overflow(bytes, own, &bytes) &&
           !__builtin_add_overflow(bytes, GROVE_MAX_SCRATCH * GROVE_SCRATCH_ALIGN, &bytes);
    return fits && bytes < max ? bytes : max;
}

void grove_node_set_user(grove_node *node, void *user)
{
    node->user = user;
}

void *grove_node_user(const grove_node *node)
{
    return node->user;
}
