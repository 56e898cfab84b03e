/* Declarations: definable names, actions, and the definitions that actions need. */
#include "lang/build.h"

#include <string.h>

/* ---- declarations ---- */

static bool fail(const grove_builder *builder, const grove_statement *statement,
                 grove_source_span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool fail(const grove_builder *builder, const grove_statement *statement,
                 grove_source_span span, const char *format, ...)
{
    grove_place place = grove_source_place(statement->source, span);
    va_list args;

    va_start(args, format);
    grove_fail_v(builder->error, &place, GROVE_INVALID, format, args);
    va_end(args);
    return false;
}

static bool is_reserved(const char *name)
{
    static const char *const words[] = {"pi", "true", "false", "none", "choose"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(words[i], name))
            return true;
    return false;
}

static bool is_class(grove_builder *builder, const char *name)
{
    size_t count = 0;
    const char *const *names = grove_classes_names(builder->classes, &count);

    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* The existing entry of that name, unless its statement is invalid. */
static bool may_declare(grove_builder *builder, const grove_scope *scope,
                        const grove_statement *statement)
{
    const char *name = statement->name;
    const grove_entry *old = grove_scope_own(scope, name);

    if (is_reserved(name))
        return fail(builder, statement, statement->span, "'%s' is a keyword", name);
    if (scope != builder->options && is_class(builder, name))
        return fail(builder, statement, statement->span, "%s is a class; choose another name",
                    name);
    if (old && old->kind == GROVE_ENTRY_PARAMETER)
        return fail(builder, statement, statement->span, "'%s' is a parameter of the template",
                    name);
    if (old)
        return fail(builder, statement, statement->span, "'%s' is defined already, at %s:%d:%d",
                    name, old->place.file, old->place.line, old->place.column);
    return true;
}

static bool check_own_indices(grove_builder *builder, const grove_statement *statement)
{
    bool p = false, q = false, good = true;
    int count = 0;

    for (const grove_ast_item *item = statement->items.first; item && good; item = item->next) {
        const char *name = item->value->text;
        for (const grove_ast_item *at = statement->items.first; at != item; at = at->next)
            if (!strcmp(at->value->text, name))
                good = fail(builder, statement, item->value->span, "the index '%s' is given twice",
                            name);
        if (!strcmp(name, "p") && q)
            good =
                fail(builder, statement, item->value->span, "define %s[p,q]; %s[q,p] is %s[p,q]^H",
                     statement->name, statement->name, statement->name);
        p = p || !strcmp(name, "p");
        q = q || !strcmp(name, "q");
        if (++count > GROVE_VALUE_AXES)
            good = fail(builder, statement, item->value->span, "more than %d indices",
                        (int)GROVE_VALUE_AXES);
    }
    if (good && q && !p)
        good = fail(builder, statement, statement->span,
                    "define %s[p]; %s[q] is the same term for the station on the right",
                    statement->name, statement->name);
    return good;
}

static void check_template(grove_builder *builder, const grove_statement *statement)
{
    bool has_value = false;

    for (const grove_ast_item *item = statement->items.first; item; item = item->next) {
        if (is_reserved(item->name))
            fail(builder, statement, item->name_span, "'%s' is a keyword", item->name);
        for (const grove_ast_item *at = statement->items.first; at != item; at = at->next)
            if (!strcmp(at->name, item->name))
                fail(builder, statement, item->name_span, "two parameters are called '%s'",
                     item->name);
    }
    for (const grove_statement *at = statement->body; at; at = at->next) {
        if (at->kind != GROVE_STATEMENT_DEFINE)
            fail(builder, at, at->span, "a template can contain only definitions");
        has_value = true;
    }
    if (!has_value && !statement->value)
        fail(builder, statement, statement->span, "template '%s' contains no definition",
             statement->name);
}

void grove_build_declare(grove_builder *builder, grove_scope *scope,
                         const grove_statement *statement)
{
    bool template = statement->kind == GROVE_STATEMENT_TEMPLATE;
    bool broken = template ? statement->broken : !statement->value;
    grove_entry *entry;

    if (statement->kind != GROVE_STATEMENT_DEFINE && !template)
        return;
    if (broken ? is_class(builder, statement->name) || grove_scope_own(scope, statement->name)
               : !may_declare(builder, scope, statement))
        return;
    entry = grove_scope_add(builder->arena, scope,
                            template ? GROVE_ENTRY_TEMPLATE : GROVE_ENTRY_DEFINITION,
                            statement->name, statement);
    if (broken)
        entry->state = template ? GROVE_ENTRY_UNTOUCHED : GROVE_ENTRY_DONE;
    else if (template)
        check_template(builder, statement);
    else if (!check_own_indices(builder, statement))
        entry->state = GROVE_ENTRY_DONE;
}

void grove_build_declare_option(grove_builder *builder, const grove_statement *statement)
{
    if (statement->value ? may_declare(builder, builder->options, statement)
                         : !grove_scope_own(builder->options, statement->name))
        grove_scope_add(builder->arena, builder->options, GROVE_ENTRY_OPTION, statement->name,
                        statement);
}

/* ---- actions ---- */

/* Whether a call of the template makes an action. No while this is being determined, since it calls
 * itself. */
static bool makes_action(grove_builder *builder, grove_entry *entry)
{
    const grove_statement *template = entry->statement;
    bool found = false;

    if (entry->action != GROVE_ACTION_UNKNOWN || builder->depth >= GROVE_BUILD_DEPTH)
        return entry->action == GROVE_ACTION_YES;
    entry->action = GROVE_ACTION_NO;
    builder->depth++;
    for (const grove_statement *at = template->body; at && !found; at = at->next)
        found = at->value && grove_build_is_action(builder, at->value);
    if (found || (template->value && grove_build_is_action(builder, template->value)))
        entry->action = GROVE_ACTION_YES;
    builder->depth--;
    return entry->action == GROVE_ACTION_YES;
}

bool grove_build_is_action(grove_builder *builder, const grove_ast *ast)
{
    grove_entry *entry;
    const grove_class *class_;

    if (ast->kind != GROVE_AST_CALL)
        return false;
    if (!strcmp(ast->text, "choose")) {
        for (const grove_ast_item *item = ast->items.first; item; item = item->next)
            if (grove_build_is_action(builder, item->value))
                return true;
        return false;
    }
    entry = grove_scope_own(builder->globals, ast->text);
    if (entry && entry->kind == GROVE_ENTRY_TEMPLATE)
        return makes_action(builder, entry);
    class_ = grove_classes_find(builder->classes, ast->text, NULL);
    return class_ && class_->kind == GROVE_CLASS_ACTION;
}

/* ---- needs ---- */

static void mark(grove_builder *builder, const char *name)
{
    grove_entry *entry = grove_scope_own(builder->globals, name);

    if (!entry || entry->reached)
        return;
    entry->reached = true;
    entry->todo = builder->todo;
    builder->todo = entry;
}

static void walk(grove_builder *builder, const grove_ast *ast)
{
    for (; ast; ast = ast->left) {
        if (ast->kind == GROVE_AST_NAME || ast->kind == GROVE_AST_CALL)
            mark(builder, ast->text);
        for (const grove_ast_item *item = ast->items.first; item; item = item->next)
            walk(builder, item->value);
        walk(builder, ast->right);
    }
}

void grove_build_reach(grove_builder *builder, const grove_ast *ast)
{
    walk(builder, ast);
    while (builder->todo) {
        const grove_statement *statement = builder->todo->statement;
        builder->todo = builder->todo->todo;
        walk(builder, statement->value);
        for (const grove_ast_item *item = statement->items.first; item; item = item->next)
            walk(builder, item->value);
        for (const grove_statement *at = statement->body; at; at = at->next)
            walk(builder, at->value);
    }
}
