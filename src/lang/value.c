/* The value of one expression: a tree whose only action prints it. */
#include "lang/build.h"

#include "lang/reader.h"

#include <string.h>

static grove_ast *text_of(grove_ast_maker *maker, grove_source_span span, const char *text)
{
    grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .text = text};

    return grove_ast_literal(maker, grove_arena_copy(maker->arena, &literal, sizeof(literal)),
                             span);
}

static grove_ast *number_of(grove_ast_maker *maker, grove_source_span span, double number)
{
    grove_literal literal = {.kind = GROVE_LITERAL_NUMBER, .number = number};

    return grove_ast_literal(maker, grove_arena_copy(maker->arena, &literal, sizeof(literal)),
                             span);
}

/* print(EXPRESSION, title="", digits=10), where faults show in the expression alone */
static grove_ast *printed(grove_builder *builder, const grove_source *source, grove_ast *value)
{
    grove_ast_maker maker = {.arena = builder->arena, .source = source, .error = builder->error};
    grove_ast_items items = {0};
    grove_source_span span = value->span;

    grove_ast_add(&maker, &items, NULL, span, value);
    grove_ast_add(&maker, &items, "title", span, text_of(&maker, span, ""));
    grove_ast_add(&maker, &items, "digits", span, number_of(&maker, span, 10));
    return grove_ast_items_of(&maker, GROVE_AST_CALL,
                              grove_ast_new(&maker, GROVE_AST_NAME, span, "print"), items, span);
}

void grove_build_value(grove_builder *builder, const char *expression, const char *name)
{
    grove_source *source = grove_source_new(builder->arena, name,
                                            grove_arena_format(builder->arena, "%s\n", expression));
    size_t before = grove_error_count(builder->error);
    grove_ast *ast = grove_reader_expression(builder->arena, source, builder->error);

    if (!ast)
        return;
    grove_operand x = grove_build_expression(builder, ast, grove_expected_value).operand;
    bool action = x.kind == GROVE_OPERAND_NODE && x.node->class_ &&
                  x.node->class_->kind == GROVE_CLASS_ACTION;
    if (x.kind != GROVE_OPERAND_NOTHING && !action && grove_error_count(builder->error) == before)
        grove_build_expression(builder, printed(builder, source, ast), grove_expected_value);
}
