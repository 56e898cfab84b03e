/* Options of a tree, and settings for them. */
#include "lang/build.h"

#include "lang/reader.h"

#include <string.h>

/* ---- settings ---- */

static const char *setting_of(const grove_builder *builder, const char *name)
{
    for (size_t i = builder->setting_count; i-- > 0;)
        if (!strcmp(builder->settings[i].name, name))
            return builder->settings[i].value;
    return NULL;
}

static const grove_literal *text_literal(grove_builder *builder, const char *text, bool word)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .word = word};

    literal.text = grove_arena_text(builder->arena, text);
    return grove_arena_copy(builder->arena, &literal, sizeof(literal));
}

static const grove_literal *from_setting(grove_builder *builder, const grove_literal *value,
                                         const char *name, const char *text)
{
    grove_literal *literal = grove_arena_copy(builder->arena, value, sizeof(*value));

    literal->setting = grove_arena_format(builder->arena, "%s=%s", name, text);
    return literal;
}

/* The setting as a constant of the language; NULL when it is none. */
static const grove_literal *read_constant(grove_builder *builder, const char *text)
{
    grove_error *quiet = grove_error_new(), *error = builder->error;
    grove_scope *scope = builder->scope;
    const grove_source *source = grove_source_new(builder->arena, "setting", text);
    const grove_ast *ast = grove_reader_expression(builder->arena, source, quiet);
    grove_meaning meaning = {0};

    /* Only literals and arithmetic: a setting cannot use names of the tree. */
    if (ast && ast->kind != GROVE_AST_CALL) {
        builder->error = builder->tree->error = quiet;
        builder->scope = grove_scope_new(builder->arena, NULL, 1);
        meaning =
            grove_build_expression(builder, ast, (grove_expected){.kind = GROVE_EXPECTED_AXES});
        builder->error = builder->tree->error = error;
        builder->scope = scope;
    }
    grove_error_free(quiet);
    return meaning.operand.kind == GROVE_OPERAND_LITERAL ? meaning.operand.literal : NULL;
}

static bool same_unit(const grove_literal *initial, const grove_literal *value)
{
    bool zero = value->kind == GROVE_LITERAL_NUMBER && value->number == 0 && value->imaginary == 0;

    return grove_unit_equal(initial->unit, value->unit) ||
           (zero && grove_unit_is_none(value->unit));
}

static bool agrees(const grove_literal *initial, const grove_literal *value)
{
    switch (initial->kind) {
    case GROVE_LITERAL_NONE:
    case GROVE_LITERAL_TEXT:
        return true;
    case GROVE_LITERAL_BOOL:
        return value->kind == GROVE_LITERAL_BOOL;
    case GROVE_LITERAL_NUMBER: /* or several, where the option takes them */
        for (int i = 0; value->kind == GROVE_LITERAL_LIST && i < value->count; i++)
            if (!agrees(initial, &value->items[i]))
                return false;
        return value->kind == GROVE_LITERAL_LIST ||
               (value->kind == GROVE_LITERAL_NUMBER && same_unit(initial, value));
    case GROVE_LITERAL_RANGE: /* angles in hours: times or angles */
        return value->kind == GROVE_LITERAL_RANGE &&
               (same_unit(initial, value) || (initial->hours && value->unit.rad == 1) ||
                (initial->unit.rad == 1 && value->hours));
    case GROVE_LITERAL_LIST:
        if (value->kind != GROVE_LITERAL_LIST)
            return initial->count == 0 || agrees(&initial->items[0], value);
        for (int i = 0; i < value->count; i++)
            if (initial->count && !agrees(&initial->items[0], &value->items[i]))
                return false;
        return true;
    }
    return false;
}

static const char *describe_type(grove_builder *builder, const grove_literal *initial)
{
    const char *shown = grove_literal_show(builder->arena, initial);
    char unit[48];

    switch (initial->kind) {
    case GROVE_LITERAL_BOOL:
        return "true or false";
    case GROVE_LITERAL_NUMBER:
        return grove_arena_format(builder->arena, "%s such as %s",
                                  grove_unit_describe(unit, initial->unit), shown);
    case GROVE_LITERAL_RANGE:
        return grove_arena_format(builder->arena, "a range such as %s", shown);
    default:
        return grove_arena_format(builder->arena, "a list such as %s", shown);
    }
}

static bool is_none(const char *text)
{
    return !strcmp(text, "none");
}

/* A text option takes the text as written; a number is parsed as in a tree. */
static const grove_literal *apply(grove_builder *builder, const char *name, const char *text,
                                  const grove_literal *initial)
{
    const grove_literal *value = NULL;
    bool quoted = text[0] == '"';

    if (initial->kind != GROVE_LITERAL_TEXT || quoted || is_none(text))
        value = read_constant(builder, text);
    if (value && value->kind == GROVE_LITERAL_TEXT) {
        value = text_literal(builder, value->text, !quoted);
    } else if (!value) {
        /* Anything that is not a constant is a text: a path, a date. */
        value = text_literal(builder, text, initial->word);
    }
    if (agrees(initial, value))
        return from_setting(builder, value, name, text);
    grove_fail(builder->error, GROVE_INVALID, "setting %s=%s: the option must be %s", name, text,
               describe_type(builder, initial));
    return NULL;
}

void grove_build_check_settings(grove_builder *builder)
{
    for (size_t i = 0; i < builder->setting_count; i++) {
        const char *name = builder->settings[i].name;
        if (grove_scope_own(builder->options, name))
            continue;
        grove_fail(builder->error, GROVE_MISSING, "setting %s=%s: the tree has no option '%s'%s",
                   name, builder->settings[i].value, name,
                   grove_build_hint(builder, name,
                                    grove_scope_nearest(builder->arena, builder->options, name)));
    }
}

/* ---- options ---- */

grove_meaning grove_build_option(grove_builder *builder, grove_entry *entry, const grove_ast *use)
{
    const grove_ast *initial = entry->statement->value;
    const char *setting = setting_of(builder, entry->name);
    grove_meaning meaning = {0};

    if (entry->state == GROVE_ENTRY_BUSY)
        return grove_build_cycle(builder, entry, use);
    if (entry->state == GROVE_ENTRY_UNTOUCHED && initial) {
        entry->state = GROVE_ENTRY_BUSY;
        entry->caller = builder->busy;
        builder->busy = entry;
        meaning =
            grove_build_expression(builder, initial, (grove_expected){.kind = GROVE_EXPECTED_AXES});
        builder->busy = entry->caller;
        if (meaning.operand.kind == GROVE_OPERAND_NODE)
            grove_build_fail(builder, initial, initial->span,
                             "the default of an option must be a constant, but this is a node");
        else if (meaning.operand.kind == GROVE_OPERAND_LITERAL)
            entry->value = grove_build_literal(setting ? apply(builder, entry->name, setting,
                                                               meaning.operand.literal)
                                                       : meaning.operand.literal)
                               .operand;
    }
    entry->state = GROVE_ENTRY_DONE;
    return (grove_meaning){.operand = entry->value};
}
