#include "lang/ast.h"

#include <string.h>

int grove_ast_fail(const grove_ast_maker *maker, grove_source_span span, const char *format, ...)
{
    grove_place place = grove_source_place(maker->source, span);
    va_list args;

    va_start(args, format);
    grove_fail_v(maker->error, &place, GROVE_INVALID, format, args);
    va_end(args);
    return GROVE_INVALID;
}

grove_ast *grove_ast_new(grove_ast_maker *maker, grove_ast_kind kind, grove_source_span span,
                         const char *text)
{
    grove_ast *ast = grove_arena_alloc(maker->arena, sizeof(*ast));

    ast->kind = kind;
    ast->source = maker->source;
    ast->span = ast->at = span;
    ast->text = text;
    ast->depth = 1;
    return ast;
}

grove_ast *grove_ast_literal(grove_ast_maker *maker, const grove_literal *literal,
                             grove_source_span span)
{
    grove_ast *ast = grove_ast_new(maker, GROVE_AST_LITERAL, span, NULL);

    ast->literal = literal;
    ast->kind = literal ? GROVE_AST_LITERAL : GROVE_AST_BROKEN;
    return ast;
}

/* Walking a syntax tree recurses, so its depth is bounded here. Chains of binary operators lean to
 * the left and are walked in a loop: they may be long. */
static void settle_depth(grove_ast_maker *maker, grove_ast *ast, int depth)
{
    ast->depth = depth;
    if (depth <= GROVE_AST_DEPTH)
        return;
    if (!maker->too_deep)
        grove_ast_fail(maker, ast->at, "nested more than %d deep; give parts of it names",
                       (int)GROVE_AST_DEPTH);
    maker->too_deep = true;
    ast->kind = GROVE_AST_BROKEN;
    ast->depth = 1;
}

static int deeper(int depth, const grove_ast *child)
{
    return child && child->depth + 1 > depth ? child->depth + 1 : depth;
}

grove_ast *grove_ast_unary(grove_ast_maker *maker, grove_ast_kind kind, grove_ast *left,
                           grove_source_span span, grove_source_span at)
{
    grove_ast *ast = grove_ast_new(maker, kind, span, NULL);

    ast->left = left;
    ast->at = at;
    settle_depth(maker, ast, deeper(1, left));
    return ast;
}

grove_ast *grove_ast_binary(grove_ast_maker *maker, grove_ast_kind kind, char op, grove_ast *left,
                            grove_ast *right, grove_source_span at)
{
    grove_source_span span = {left->span.begin, right->span.end};
    grove_ast *ast = grove_ast_new(maker, kind, span, NULL);
    bool chain = kind == GROVE_AST_BINARY && left->kind == GROVE_AST_BINARY;

    ast->op = op;
    ast->at = at;
    ast->left = left;
    ast->right = right;
    settle_depth(maker, ast, deeper(chain ? left->depth : deeper(1, left), right));
    return ast;
}

/* G^H[p] is parsed as G[p]^H: an index belongs to the name. */
static grove_ast *index_of(grove_ast_maker *maker, grove_ast *left, grove_ast_items items,
                           grove_source_span span)
{
    grove_ast *inner = left;

    while (!inner->parenthesised && inner->left &&
           (inner->kind == GROVE_AST_HERMITIAN || inner->kind == GROVE_AST_TRANSPOSE ||
            inner->kind == GROVE_AST_POWER))
        inner = inner->left;
    if (inner == left || inner->depth >= GROVE_AST_DEPTH)
        return NULL;
    grove_ast *outer = left;
    while (outer->left != inner)
        outer = outer->left;
    outer->left = grove_ast_items_of(maker, GROVE_AST_INDEX, inner, items, span);
    left->span = span;
    for (grove_ast *at = left; at != outer->left; at = at->left)
        settle_depth(maker, at, at->depth + 1);
    return left;
}

/* obs.column("DATA"): the member takes the text. */
static grove_ast *call_of_member(grove_ast_maker *maker, const grove_ast *member,
                                 grove_ast_items items, grove_source_span span)
{
    grove_ast *ast = grove_ast_new(maker, GROVE_AST_MEMBER, span, member->text);

    ast->at = member->at;
    ast->left = member->left;
    ast->items = items;
    if (items.count != 1 || items.first->name) {
        grove_ast_fail(maker, span, "a member takes one text, such as obs.column(\"DATA\")");
        ast->kind = GROVE_AST_BROKEN;
    }
    settle_depth(maker, ast,
                 items.first ? deeper(member->depth, items.first->value) : member->depth);
    return ast;
}

grove_ast *grove_ast_items_of(grove_ast_maker *maker, grove_ast_kind kind, grove_ast *left,
                              grove_ast_items items, grove_source_span span)
{
    grove_ast *ast = kind == GROVE_AST_INDEX ? index_of(maker, left, items, span) : NULL;

    if (kind == GROVE_AST_CALL && left->kind == GROVE_AST_MEMBER && !left->items.count &&
        !left->parenthesised)
        return call_of_member(maker, left, items, span);
    int depth = deeper(1, left);

    if (ast)
        return ast;
    ast = grove_ast_new(maker, kind, span, NULL);
    ast->left = left;
    ast->items = items;
    for (const grove_ast_item *item = items.first; item; item = item->next)
        depth = deeper(depth, item->value);
    if (kind == GROVE_AST_CALL) {
        const grove_ast *name = left->kind == GROVE_AST_INDEX ? left->left : left;
        ast->at = name->span;
        ast->text = name->text;
        ast->indices = left->kind == GROVE_AST_INDEX ? left->items : ast->indices;
        ast->left = NULL;
        if (name->kind != GROVE_AST_NAME || name->parenthesised || left->parenthesised) {
            if (name->kind != GROVE_AST_BROKEN)
                grove_ast_fail(maker, left->span, "only a class or a template can be called");
            ast->kind = GROVE_AST_BROKEN;
        }
    }
    settle_depth(maker, ast, depth);
    return ast;
}

void grove_ast_add(grove_ast_maker *maker, grove_ast_items *items, const char *name,
                   grove_source_span name_span, grove_ast *value)
{
    grove_ast_item *item = grove_arena_alloc(maker->arena, sizeof(*item));

    item->name = name;
    item->name_span = name_span;
    item->value = value;
    if (items->last)
        items->last->next = item;
    else
        items->first = item;
    items->last = item;
    items->count++;
}

/* ---- statements ---- */

grove_statement *grove_statement_new(grove_ast_maker *maker, grove_statement_kind kind,
                                     const char *name, grove_source_span span, grove_ast *value)
{
    grove_statement *statement = grove_arena_alloc(maker->arena, sizeof(*statement));

    statement->kind = kind;
    statement->source = maker->source;
    statement->name = name;
    statement->span = span;
    statement->value = value;
    return statement;
}

static int check_indices(grove_ast_maker *maker, const grove_ast *target)
{
    for (const grove_ast_item *item = target->items.first; item; item = item->next) {
        const grove_ast *value = item->value;
        if (!item->name && value->kind == GROVE_AST_NAME && !value->parenthesised)
            continue;
        return value->kind == GROVE_AST_BROKEN
                   ? GROVE_INVALID
                   : grove_ast_fail(maker, value->span,
                                    "an index is a name: p, q, or a letter for a source axis");
    }
    return 0;
}

grove_statement *grove_statement_define(grove_ast_maker *maker, const grove_ast *target,
                                        grove_ast *value)
{
    const grove_ast *name = target->kind == GROVE_AST_INDEX ? target->left : target;

    if (target->kind == GROVE_AST_BROKEN)
        return NULL;
    if (name->kind != GROVE_AST_NAME || name->parenthesised || target->parenthesised) {
        grove_ast_fail(maker, target->span,
                       "only a name can be defined, such as G = ... or G[p] = ...");
        return NULL;
    }
    grove_statement *statement =
        grove_statement_new(maker, GROVE_STATEMENT_DEFINE, name->text, name->span, value);
    if (target->kind == GROVE_AST_INDEX) {
        if (check_indices(maker, target))
            statement->value = NULL;
        else
            statement->items = target->items;
    }
    return statement;
}

void grove_statement_add(grove_statements *statements, grove_statement *statement)
{
    if (!statement)
        return;
    if (statements->last)
        statements->last->next = statement;
    else
        statements->first = statement;
    statements->last = statement;
}
