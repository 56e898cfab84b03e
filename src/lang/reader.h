/* Readers: split a text into tokens and statements, and report syntax errors. */
#ifndef GROVE_LANG_READER_H
#define GROVE_LANG_READER_H

#include "lang/ast.h"

/* Maximum depth of nested brackets. */
enum { GROVE_READER_DEPTH = 200 };

typedef struct {
    int kind;
    grove_source_span span;
    const char *text;             /* names, texts */
    const grove_literal *literal; /* numbers */
} grove_token;

typedef struct grove_reader {
    grove_ast_maker maker;
    /* Tokens in the order of the text. */
    grove_token *tokens;
    size_t count, capacity;
    grove_source_span span; /* of the scanner's current match */
    /* State of passing tokens to the parser. */
    int start;      /* the token that selects the grammar's start, 0 after it was passed */
    size_t next;    /* next token */
    size_t current; /* last token passed to the parser */
    int last;       /* its kind */
    struct {
        int open;
        size_t token;
    } brackets[GROVE_READER_DEPTH];
    int depth;
    size_t statement;    /* its first token */
    int statement_depth; /* brackets opened before it */
    size_t resumed;      /* token at which parsing resumed, plus 1 */
    bool break_first;    /* the statement ends before the next token */
    bool recovering;     /* ignore tokens up to the end of the statement */
    size_t broken;       /* first token of the invalid statement, plus 1 */
    /* Results. */
    grove_statements statements;
    grove_ast *expression;
} grove_reader;

/* Parses a whole file. All valid statements are in the result, also after errors. */
grove_statements grove_reader_file(grove_arena *arena, const grove_source *source,
                                   grove_error *error);
/* Parses one expression; NULL after an error. */
grove_ast *grove_reader_expression(grove_arena *arena, const grove_source *source,
                                   grove_error *error);

/* For the scanner. */
void grove_reader_add(grove_reader *reader, int kind, grove_source_span span, const char *text,
                      const grove_literal *literal);
void grove_reader_add_number(grove_reader *reader, const char *text, grove_source_span span);
void grove_reader_add_text(grove_reader *reader, const char *text, size_t length,
                           grove_source_span span);
void grove_reader_refuse(grove_reader *reader, const char *text, size_t length,
                         grove_source_span span);
/* The unit that `word` may be a misspelling of, or NULL. */
const char *grove_reader_unit_like(const char *word);
/* Fills reader->tokens; in the scanner. */
void grove_reader_scan(grove_reader *reader);

/* For the parser: reports a syntax error at the current token. `expected`: kinds of tokens. */
void grove_reader_unexpected(grove_reader *reader, const int *expected, int count);
/* After an invalid statement: declares the name that it would have defined as invalid. */
grove_statement *grove_reader_recover(grove_reader *reader);

#endif
