/* Defaults of options: texts of the tree language that may name the class's inputs. */
#include "lang/build.h"

#include "lang/reader.h"

#include <string.h>

static const grove_port *option_of(const grove_node *node, const char *text)
{
    const grove_port *options = node->class_ ? node->class_->options : NULL;

    for (; options && options->name; options++)
        if (options->initial == text)
            return options;
    return NULL;
}

/* Texts and words need no quotes. */
static bool is_plain(const grove_port *option, const char *text)
{
    switch (option ? (int)option->kind : 0) {
    case GROVE_TEXT:
    case GROVE_FILE:
    case GROVE_CHOICE:
    case GROVE_DIRECTION:
        return text[0] != '"';
    default:
        return false;
    }
}

static const grove_ast *parsed(grove_builder *builder, const char *text)
{
    grove_default *at = builder->defaults;

    while (at && strcmp(at->text, text) != 0)
        at = at->next;
    if (at)
        return at->ast;
    at = grove_arena_alloc(builder->arena, sizeof(*at));
    at->text = grove_arena_text(builder->arena, text);
    grove_error *quiet = grove_error_new();
    at->ast = grove_reader_expression(builder->arena,
                                      grove_source_new(builder->arena, "default", text), quiet);
    grove_error_free(quiet);
    at->next = builder->defaults;
    builder->defaults = at;
    return at->ast;
}

static grove_meaning expand(grove_builder *builder, const grove_port *option, const char *text)
{
    grove_expected expected = {.kind = GROVE_EXPECTED_VALUE};
    const grove_ast *ast;
    grove_ast nowhere = {0};

    if (is_plain(option, text))
        return grove_build_word(builder, text);
    if (option && (option->kind == GROVE_AXIS_NAMES || option->kind == GROVE_PARM_NAMES))
        expected.kind = GROVE_EXPECTED_AXES;
    ast = parsed(builder, text);
    if (!ast)
        return grove_build_fail(builder, &nowhere, (grove_source_span){0},
                                "it is not an expression; this is an error in the plugin");
    return grove_build_expression(builder, ast, expected);
}

int grove_build_default(void *context, grove_tree *tree, const char *text, const grove_node *node,
                        const grove_place *place, grove_operand *result)
{
    grove_builder *builder = context;
    grove_builder saved = *builder;
    const grove_port *option = option_of(node, text);

    (void)tree;
    if (!builder->depth) /* after the tree was built: perhaps in another thread */
        builder->stack = NULL;
    builder->error = tree->error;
    builder->scope = grove_scope_new(builder->arena, NULL, 1);
    builder->scope->node = node;
    builder->letters = NULL;
    builder->fixed = place;
    builder->fixed_text = option
                              ? grove_arena_format(builder->arena, "the default of option '%s', %s",
                                                   option->name, text)
                              : text + strspn(text, " ");
    *result = expand(builder, option, text).operand;
    if (!option) /* a rule or an expression, which are many; each is short */
        builder->work = saved.work;
    builder->error = saved.error;
    builder->scope = saved.scope;
    builder->letters = saved.letters;
    builder->fixed = saved.fixed;
    builder->fixed_text = saved.fixed_text;
    return result->kind == GROVE_OPERAND_NOTHING ? GROVE_INVALID : 0;
}
