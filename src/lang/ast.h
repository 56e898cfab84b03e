/* Syntax trees, made by the parser. Everything lives in an arena. */
#ifndef GROVE_LANG_AST_H
#define GROVE_LANG_AST_H

#include "graph/literal.h"
#include "lang/source.h"

typedef struct grove_ast grove_ast;

/* Maximum depth of nested expressions. */
enum { GROVE_AST_DEPTH = 200 };

typedef enum {
    GROVE_AST_BROKEN,  /* already reported */
    GROVE_AST_LITERAL, /* a number or a quoted text */
    GROVE_AST_NAME,    /* text */
    GROVE_AST_SETTING, /* $text */
    GROVE_AST_MEMBER,  /* left.text, or left.text(items) with one item */
    GROVE_AST_CALL,    /* text[indices](items) */
    GROVE_AST_INDEX,   /* left[items] */
    GROVE_AST_LIST,    /* [items] */
    GROVE_AST_RANGE,   /* left..right */
    GROVE_AST_BINARY,  /* left op right, op one of + - * / */
    GROVE_AST_NEGATE,  /* -left */
    GROVE_AST_HERMITIAN,
    GROVE_AST_TRANSPOSE,
    GROVE_AST_POWER /* left^right */
} grove_ast_kind;

/* An argument, an item of a list, an index, a parameter of a template. */
typedef struct grove_ast_item {
    const char *name; /* NULL: none */
    grove_source_span name_span;
    grove_ast *value; /* NULL: a parameter without default */
    struct grove_ast_item *next;
} grove_ast_item;

typedef struct {
    grove_ast_item *first, *last;
    int count;
} grove_ast_items;

struct grove_ast {
    grove_ast_kind kind;
    char op;
    bool parenthesised;
    int depth;
    const grove_source *source;
    grove_source_span span; /* the whole expression */
    grove_source_span at;   /* the operator or the called name, where errors are shown */
    const char *text;
    const grove_literal *literal;
    grove_ast *left, *right;
    grove_ast_items items, indices;
};

typedef enum {
    GROVE_STATEMENT_OPTION,   /* option name = value "text" */
    GROVE_STATEMENT_INCLUDE,  /* include "text" */
    GROVE_STATEMENT_TEMPLATE, /* template name(items) = value, or { body } */
    GROVE_STATEMENT_DEFINE,   /* name[items] = value */
    GROVE_STATEMENT_RUN,      /* run items [cycles=value] */
    GROVE_STATEMENT_ACTION    /* value */
} grove_statement_kind;

typedef struct grove_statement {
    grove_statement_kind kind;
    const grove_source *source;
    const char *name;
    grove_source_span span; /* of the name, or of the keyword */
    grove_ast_items items;
    grove_ast *value; /* DEFINE, OPTION, TEMPLATE: NULL when it could not be read */
    const char *text;
    struct grove_statement *body; /* TEMPLATE */
    bool broken;                  /* TEMPLATE: invalid */
    struct grove_statement *next;
} grove_statement;

typedef struct {
    grove_statement *first, *last;
} grove_statements;

/* The context of the parser's actions. */
typedef struct {
    grove_arena *arena;
    const grove_source *source;
    grove_error *error;
    bool too_deep; /* reported */
} grove_ast_maker;

grove_ast *grove_ast_new(grove_ast_maker *maker, grove_ast_kind kind, grove_source_span span,
                         const char *text);
/* `literal` NULL: invalid. */
grove_ast *grove_ast_literal(grove_ast_maker *maker, const grove_literal *literal,
                             grove_source_span span);
grove_ast *grove_ast_unary(grove_ast_maker *maker, grove_ast_kind kind, grove_ast *left,
                           grove_source_span span, grove_source_span at);
grove_ast *grove_ast_binary(grove_ast_maker *maker, grove_ast_kind kind, char op, grove_ast *left,
                            grove_ast *right, grove_source_span at);
grove_ast *grove_ast_items_of(grove_ast_maker *maker, grove_ast_kind kind, grove_ast *left,
                              grove_ast_items items, grove_source_span span);
void grove_ast_add(grove_ast_maker *maker, grove_ast_items *items, const char *name,
                   grove_source_span name_span, grove_ast *value);

grove_statement *grove_statement_new(grove_ast_maker *maker, grove_statement_kind kind,
                                     const char *name, grove_source_span span, grove_ast *value);
/* `target` = value, where target must be a name or an indexed name; value NULL: invalid. NULL after
 * a message when it is not. */
grove_statement *grove_statement_define(grove_ast_maker *maker, const grove_ast *target,
                                        grove_ast *value);
void grove_statement_add(grove_statements *statements, grove_statement *statement);

int grove_ast_fail(const grove_ast_maker *maker, grove_source_span span, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
