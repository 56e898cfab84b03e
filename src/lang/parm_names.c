/* Names of parms: the parms that they mean where they are written. */
#include "lang/build.h"

grove_literal grove_build_parm_word(const grove_ast *ast, const grove_node *value)
{
    const char *name = ast->kind == GROVE_AST_NAME ? ast->text : value->name;

    return (grove_literal){.kind = GROVE_LITERAL_TEXT, .word = true, .text = name, .node = value};
}

/* Gives the word the value of the definition or parameter of that name that is visible here;
 * without one it may be the name that a parm was given. False after a message. */
static bool find_value(grove_builder *builder, const grove_ast *ast, grove_literal *word)
{
    grove_entry *entry = NULL;
    grove_operand value = {.kind = GROVE_OPERAND_LITERAL};

    if (word->kind == GROVE_LITERAL_TEXT && !word->node)
        entry = grove_scope_find(builder->scope, word->text);
    if (entry && entry->kind == GROVE_ENTRY_PARAMETER) {
        value = entry->value;
    } else if (entry && entry->kind == GROVE_ENTRY_DEFINITION) {
        entry->reached = true;
        value = grove_build_definition(builder, entry, ast).operand;
    }
    if (value.kind == GROVE_OPERAND_NODE)
        word->node = value.node;
    return value.kind != GROVE_OPERAND_NOTHING;
}

grove_meaning grove_build_parm_names(grove_builder *builder, const grove_ast *ast)
{
    grove_expected expected = {.kind = GROVE_EXPECTED_PARMS};
    grove_operand given = grove_build_expression(builder, ast, expected).operand;
    grove_literal names, *items;
    bool found = given.kind != GROVE_OPERAND_NOTHING;

    if (!found)
        return (grove_meaning){0};
    names =
        given.kind == GROVE_OPERAND_NODE ? grove_build_parm_word(ast, given.node) : *given.literal;
    if (names.kind == GROVE_LITERAL_LIST && names.count) {
        size_t bytes = (size_t)names.count * sizeof(*items);
        names.items = items = grove_arena_copy(builder->arena, names.items, bytes);
        for (int i = 0; i < names.count; i++)
            found = find_value(builder, ast, &items[i]) && found;
    } else {
        found = find_value(builder, ast, &names);
    }
    return found ? grove_build_literal(grove_arena_copy(builder->arena, &names, sizeof(names)))
                 : (grove_meaning){0};
}
