/* Arguments that a call of a class does not write: the only object of its kind, and the axes that
 * the indices of the definition say. */
#include "lang/build.h"

#include "base/text.h"

#include <string.h>

static bool is_given(const grove_argument *arguments, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (arguments[i].name && !strcmp(arguments[i].name, name))
            return true;
    return false;
}

/* ---- objects ---- */

/* Whether an argument without a name is an object of this kind. */
static bool is_given_object(const grove_argument *arguments, size_t count, const char *object)
{
    for (size_t i = 0; i < count; i++) {
        const grove_operand *operand = &arguments[i].operand;
        if (!arguments[i].name && operand->kind == GROVE_OPERAND_NODE &&
            operand->node->kind == GROVE_NODE_LEAF &&
            grove_equal(operand->node->class_->object, object))
            return true;
    }
    return false;
}

static bool makes(const grove_builder *builder, const grove_entry *entry, const char *object)
{
    const grove_ast *body = entry->statement ? entry->statement->value : NULL;

    if (entry->kind != GROVE_ENTRY_DEFINITION || entry->state == GROVE_ENTRY_BUSY || !body)
        return false;
    if (entry->state == GROVE_ENTRY_DONE && entry->value.kind == GROVE_OPERAND_NODE)
        return entry->value.node->kind == GROVE_NODE_LEAF &&
               grove_equal(entry->value.node->class_->object, object);
    if (body->kind != GROVE_AST_CALL || grove_scope_find(entry->scope, body->text))
        return false;
    grove_error *quiet = grove_error_new();
    const grove_class *class_ = grove_classes_find(builder->classes, body->text, quiet);
    grove_error_free(quiet);
    return class_ && !class_->expression && grove_equal(class_->object, object);
}

/* The only definition of an object of this kind, or NULL. */
static grove_entry *find_object(const grove_builder *builder, const char *object)
{
    grove_entry *found = NULL;

    for (grove_entry *entry = builder->globals->first; entry; entry = entry->next)
        if (makes(builder, entry, object)) {
            bool same = found && found->state == GROVE_ENTRY_DONE &&
                        entry->state == GROVE_ENTRY_DONE && found->value.node == entry->value.node;
            if (found && !same)
                return NULL;
            found = entry;
        }
    return found;
}

/* ---- axes ---- */

static grove_literal word(const char *text)
{
    return (grove_literal){.kind = GROVE_LITERAL_TEXT, .word = true, .text = text};
}

/* The definition that is evaluated; a template has the indices of the one that calls it. */
static const grove_statement *find_definition(const grove_builder *builder)
{
    const grove_entry *entry = builder->busy;

    while (entry && !(entry->statement && entry->statement->kind == GROVE_STATEMENT_DEFINE))
        entry = entry->caller;
    return entry ? entry->statement : NULL;
}

/* The axes of G[p] are station, of E[s,p] source and station, of V[p,q] baseline. */
static const grove_literal *axes_of_indices(const grove_builder *builder)
{
    const grove_statement *statement = find_definition(builder);
    grove_literal *items = grove_arena_alloc(builder->arena, 3 * sizeof(*items));
    grove_literal list = {.kind = GROVE_LITERAL_LIST, .items = items};
    bool p = false, q = false, source = false;

    for (const grove_ast_item *item = statement ? statement->items.first : NULL; item;
         item = item->next) {
        p = p || !strcmp(item->value->text, "p");
        q = q || !strcmp(item->value->text, "q");
        source = source || (strcmp(item->value->text, "p") && strcmp(item->value->text, "q"));
    }
    if (source)
        items[list.count++] = word("source");
    if (p || q)
        items[list.count++] = word(p && q ? "baseline" : "station");
    return grove_arena_copy(builder->arena, &list, sizeof(list));
}

size_t grove_build_implied(grove_builder *builder, const grove_ast *ast, const grove_class *class_,
                           grove_argument *arguments, size_t count)
{
    grove_place place = grove_build_place(builder, ast, ast->at);
    size_t given = count;

    for (const grove_port *in = class_->inputs; in && in->name; in++) {
        bool may_be_implied = in->implied && !is_given(arguments, given, in->name) &&
                              !is_given_object(arguments, given, in->object);
        grove_entry *entry = may_be_implied ? find_object(builder, in->object) : NULL;
        if (!entry)
            continue;
        entry->reached = true;
        arguments[count++] =
            (grove_argument){.name = in->name,
                             .operand = grove_build_definition(builder, entry, ast).operand,
                             .place = place};
    }
    for (const grove_port *op = class_->options; op && op->name; op++)
        if (op->kind == GROVE_AXIS_NAMES && class_->expression &&
            !is_given(arguments, given, op->name)) {
            arguments[count].name = op->name;
            arguments[count].operand =
                (grove_operand){.kind = GROVE_OPERAND_LITERAL, .literal = axes_of_indices(builder)};
            arguments[count++].place = place;
        }
    return count;
}
