/* Readers: a text's tokens, where its statements end, and what is wrong with its syntax. */
#ifndef GROVE_LANG_READER_H
#define GROVE_LANG_READER_H

#include "lang/ast.h"

/* Brackets nest no deeper. */
enum { GROVE_READER_DEPTH = 200 };

typedef struct {
    int kind;
    grove_span span;
    const char *text;             /* names, texts */
    const grove_literal *literal; /* numbers */
} grove_token;

typedef struct grove_reader {
    grove_ast_maker maker;
    /* Tokens as they stand in the text. */
    grove_token *tokens;
    size_t count, capacity;
    grove_span span; /* of the scanner's match */
    /* Handing them to the parser. */
    int start;      /* the token that says what to parse, 0 once it was handed over */
    size_t next;    /* token to look at */
    size_t current; /* token that the parser was given last */
    int last;       /* its kind */
    struct {
        int open;
        size_t token;
    } brackets[GROVE_READER_DEPTH];
    int depth;
    size_t statement;    /* its first token */
    int statement_depth; /* brackets that were open before it */
    size_t resumed;      /* token after which reading went on, plus 1 */
    bool break_first;    /* the statement ends before the next token */
    bool recovering;     /* up to the end of the statement */
    size_t broken;       /* first token of the broken statement, plus 1 */
    /* What comes out. */
    grove_statements statements;
    grove_ast *expression;
} grove_reader;

/* Parses a whole file. Everything that can be read is in the result, also after errors. */
grove_statements grove_reader_file(grove_arena *arena, const grove_source *source,
                                   grove_error *error);
/* Parses one expression; NULL after an error. */
grove_ast *grove_reader_expression(grove_arena *arena, const grove_source *source,
                                   grove_error *error);

/* For the scanner. */
void grove_reader_add(grove_reader *reader, int kind, grove_span span, const char *text,
                      const grove_literal *literal);
void grove_reader_add_number(grove_reader *reader, const char *text, grove_span span);
void grove_reader_add_text(grove_reader *reader, const char *text, size_t length, grove_span span);
void grove_reader_refuse(grove_reader *reader, const char *text, size_t length, grove_span span);
/* The unit that `word` may have been meant as, or NULL. */
const char *grove_reader_unit_like(const char *word);
/* Fills reader->tokens; in the scanner. */
void grove_reader_scan(grove_reader *reader);

/* For the parser: a syntax error at the current token. `expected`: kinds of tokens. */
void grove_reader_unexpected(grove_reader *reader, const int *expected, int count);
/* The broken statement is over: what it would have defined is known to be broken. */
grove_statement *grove_reader_recover(grove_reader *reader);

#endif
