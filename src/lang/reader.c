#include "lang/reader.h"

#include "lang/parse.h"

#include <stdlib.h>
#include <string.h>

/* ---- ends of statements ---- */

static bool is_operator(int kind)
{
    return kind == '+' || kind == '-' || kind == '*' || kind == '/' || kind == '^' || kind == RANGE;
}

static bool is_closer(int kind)
{
    return kind == ')' || kind == ']' || kind == '}';
}

static bool first_on_line(const grove_reader *reader, size_t at)
{
    return at == 0 || reader->tokens[at - 1].kind == LINE;
}

static int kind_at(const grove_reader *reader, size_t at)
{
    return at < reader->count ? reader->tokens[at].kind : 0;
}

static size_t skip_lines(const grove_reader *reader, size_t at)
{
    while (kind_at(reader, at) == LINE)
        at++;
    return at;
}

/* These four are keywords at the beginning of a statement only. */
static int keyword(const grove_reader *reader, size_t at)
{
    static const struct {
        const char *name;
        int kind;
    } keywords[] = {{"option", OPTION}, {"include", INCLUDE}, {"template", TEMPLATE}, {"run", RUN}};
    int next = kind_at(reader, at + 1);

    if (kind_at(reader, at) != NAME || next == '=' || next == '[' || next == '(' || next == '.')
        return 0;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (!strcmp(reader->tokens[at].text, keywords[i].name))
            return keywords[i].kind;
    return 0;
}

static bool begins_statement(const grove_reader *reader, size_t at)
{
    if (kind_at(reader, at) == 0 || keyword(reader, at))
        return true;
    if (kind_at(reader, at) != NAME)
        return false;
    if (kind_at(reader, at + 1) == '[')
        for (at += 2; kind_at(reader, at) == NAME || kind_at(reader, at) == ',';)
            at++;
    return kind_at(reader, at + 1) == '=';
}

static int innermost(const grove_reader *reader)
{
    return reader->depth ? reader->brackets[reader->depth - 1].open : 0;
}

static bool in_brackets(const grove_reader *reader)
{
    return innermost(reader) == '(' || innermost(reader) == '[';
}

static bool line_counts(const grove_reader *reader, size_t after)
{
    int last = reader->last;
    size_t next = skip_lines(reader, after);

    if (reader->recovering && reader->depth > reader->statement_depth)
        return false;
    if (in_brackets(reader) || last == LINE || last == '{' || last == 0)
        return false;
    if (last == '=' || last == ',' || is_operator(last))
        return begins_statement(reader, next);
    return !is_operator(kind_at(reader, next));
}

/* ---- brackets ---- */

static void close_brackets(grove_reader *reader)
{
    while (reader->depth > reader->statement_depth)
        reader->depth--;
}

static bool closes(int open, int close)
{
    return (open == '(' && close == ')') || (open == '[' && close == ']') ||
           (open == '{' && close == '}');
}

static int track_brackets(grove_reader *reader, size_t at, int kind)
{
    if (is_closer(kind) && closes(innermost(reader), kind))
        reader->depth--;
    if (kind != '(' && kind != '[' && kind != '{')
        return 0;
    if (reader->depth == GROVE_READER_DEPTH) {
        reader->next = reader->count;
        reader->depth = 0;
        return grove_ast_fail(&reader->maker, reader->tokens[at].span,
                              "brackets nest more than %d deep", (int)GROVE_READER_DEPTH);
    }
    reader->brackets[reader->depth].open = kind;
    reader->brackets[reader->depth++].token = at;
    return 0;
}

/* A line with the indent of the invalid statement, or less, begins the next statement, even if
 * brackets are open. */
static bool starts_over(const grove_reader *reader, size_t at)
{
    const grove_source *source = reader->maker.source;

    if (reader->depth <= reader->statement_depth || is_closer(kind_at(reader, at)) ||
        !first_on_line(reader, at))
        return false;
    return at >= reader->count ||
           grove_source_indent(source, reader->tokens[at].span.begin) <=
               grove_source_indent(source, reader->tokens[reader->statement].span.begin);
}

/* ---- passing tokens to the parser ---- */

static void start_statement(grove_reader *reader, size_t at)
{
    reader->statement = at;
    reader->statement_depth = reader->depth;
}

static int give(grove_reader *reader, int kind, size_t at, GROVE_PARSER_STYPE *value,
                grove_source_span *span)
{
    static const grove_token nothing = {0};
    const grove_token *token = at < reader->count ? &reader->tokens[at] : &nothing;

    *span = token->span;
    if (at >= reader->count)
        span->begin = span->end = reader->maker.source->length;
    if (kind == LINE)
        span->end = span->begin;
    if (kind == NAME || kind == TEXT || kind == SETTING)
        value->NAME = token->text;
    else if (kind == NUMBER)
        value->NUMBER = token->literal;
    if (kind == LINE)
        reader->recovering = false;
    else if (reader->last == LINE || reader->last == '{' || reader->last == 0)
        start_statement(reader, at);
    reader->current = at;
    reader->last = kind;
    return kind;
}

static void break_statement(grove_reader *reader)
{
    reader->recovering = true;
    reader->broken = reader->statement + 1;
}

int grove_parser_lex(GROVE_PARSER_STYPE *value, grove_source_span *span, grove_reader *reader)
{
    if (reader->start) {
        int start = reader->start;
        reader->start = 0;
        *span = (grove_source_span){0};
        return start;
    }
    for (; kind_at(reader, reader->next) == LINE; reader->next++)
        if (line_counts(reader, reader->next))
            return give(reader, LINE, reader->next++, value, span);
    size_t at = reader->next;
    int kind = kind_at(reader, at);
    bool open = reader->last != LINE && reader->last != 0;
    if (reader->break_first || (reader->recovering && starts_over(reader, at))) {
        close_brackets(reader);
        reader->break_first = false;
        return give(reader, LINE, at, value, span);
    }
    bool ends = kind == '}' && innermost(reader) == '{' && reader->last != '{' &&
                !(reader->recovering && reader->depth > reader->statement_depth);
    if (open && (kind == 0 || ends))
        return give(reader, LINE, at, value, span);
    reader->next += kind != 0;
    if (open || !keyword(reader, at)) {
        if (reader->last == '{' && keyword(reader, at))
            kind = keyword(reader, at);
    } else {
        kind = keyword(reader, at);
    }
    give(reader, kind, at, value, span);
    if (track_brackets(reader, at, kind) || kind == BROKEN) {
        if (!reader->recovering)
            break_statement(reader);
        return GROVE_PARSER_error;
    }
    return kind;
}

/* ---- syntax errors ---- */

static bool has(const int *expected, int count, int kind)
{
    for (int i = 0; i < count; i++)
        if (expected[i] == kind)
            return true;
    return false;
}

static const char *describe_expected(grove_arena *arena, const int *expected, int count)
{
    static const struct {
        int kind;
        const char *text;
    } words[] = {{'=', "'='"}, {'+', "an operator"}, {',', "','"},
                 {')', "')'"}, {']', "']'"},         {'{', "'{'"},
                 {'}', "'}'"}, {'(', "'('"},         {LINE, "the end of the line"}};
    const char *items[16], *text = "";
    int n = 0;

    if (has(expected, count, NUMBER))
        items[n++] = "a value";
    else if (has(expected, count, NAME))
        items[n++] = "a name";
    else if (has(expected, count, TEXT))
        items[n++] = "a text in double quotes";
    bool value = n && items[0][2] == 'v', after_value = has(expected, count, '+');
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        int kind = words[i].kind;
        if (!has(expected, count, kind) || (kind == '(' && (value || after_value)) ||
            (kind == LINE && value))
            continue;
        items[n++] = words[i].text;
    }
    for (int i = 0; i < n; i++)
        text = grove_arena_format(arena, "%s%s%s", text,
                                  i == 0       ? ""
                                  : i == n - 1 ? " or "
                                               : ", ",
                                  items[i]);
    return text;
}

static void unexpected_token(grove_reader *reader, size_t at, const char *expected)
{
    const grove_token *token = at < reader->count ? &reader->tokens[at] : NULL;
    const grove_token *before = at > 0 ? &reader->tokens[at - 1] : NULL;
    grove_source_span span = token ? token->span : (grove_source_span){0};
    const char *text = reader->maker.source->text;

    if (reader->last == LINE || !token) {
        for (size_t i = at; i > 0 && (!before || before->kind == LINE); i--)
            before = &reader->tokens[i - 1];
        span.begin = span.end = before ? before->span.end : 0;
        grove_ast_fail(&reader->maker, span, "unexpected end of the line; expected %s", expected);
    } else if (token->kind == NAME && before && before->kind == NUMBER && before->text) {
        const char *near = grove_reader_unit_like(token->text);
        grove_ast_fail(&reader->maker, span, "unknown unit '%s'%s%s%s", token->text,
                       near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    } else {
        bool quoted = token->kind == TEXT;
        grove_ast_fail(&reader->maker, span, "unexpected %s%.*s%s; expected %s", quoted ? "" : "'",
                       (int)(span.end - span.begin), text + span.begin, quoted ? "" : "'",
                       expected);
    }
}

void grove_reader_unexpected(grove_reader *reader, const int *expected, int count)
{
    size_t at = reader->current;
    int kind = kind_at(reader, at), open = innermost(reader);

    if (open && (at >= reader->count || (open != '{' && starts_over(reader, at)))) {
        grove_ast_fail(&reader->maker,
                       reader->tokens[reader->brackets[reader->depth - 1].token].span,
                       "'%c' is not closed", open);
        if (at < reader->count && reader->resumed != at + 1) {
            reader->next = at;
            reader->resumed = at + 1;
            reader->break_first = true;
        }
        reader->depth = at < reader->count ? reader->depth : 0;
        close_brackets(reader);
    } else if (is_closer(kind) && reader->last == kind && has(expected, count, '+') &&
               !has(expected, count, kind)) {
        if (open)
            grove_ast_fail(&reader->maker, reader->tokens[at].span, "'%c' does not close '%c'",
                           kind, open);
        else
            grove_ast_fail(&reader->maker, reader->tokens[at].span, "'%c' closes nothing", kind);
    } else {
        unexpected_token(reader, at, describe_expected(reader->maker.arena, expected, count));
    }
    break_statement(reader);
}

/* The name that it would have defined is declared anyway, so that its uses are not reported. */
grove_statement *grove_reader_recover(grove_reader *reader)
{
    size_t at = reader->broken ? reader->broken - 1 : reader->count;
    int word = keyword(reader, at);
    const grove_token *name = &reader->tokens[word ? at + 1 : at];
    grove_statement *statement;

    reader->broken = 0;
    if (at + (word != 0) >= reader->count || name->kind != NAME || word == INCLUDE || word == RUN)
        return NULL;
    statement = grove_statement_new(&reader->maker,
                                    word == OPTION     ? GROVE_STATEMENT_OPTION
                                    : word == TEMPLATE ? GROVE_STATEMENT_TEMPLATE
                                                       : GROVE_STATEMENT_DEFINE,
                                    name->text, name->span, NULL);
    statement->broken = word == TEMPLATE;
    return statement;
}

/* ---- entry points ---- */

static void parse(grove_reader *reader, grove_arena *arena, const grove_source *source,
                  grove_error *error, int start)
{
    reader->maker = (grove_ast_maker){.arena = arena, .source = source, .error = error};
    grove_reader_scan(reader);
    reader->start = start;
    grove_parser_parse(reader);
    free(reader->tokens);
}

grove_statements grove_reader_file(grove_arena *arena, const grove_source *source,
                                   grove_error *error)
{
    grove_reader reader = {0};

    parse(&reader, arena, source, error, START_FILE);
    return reader.statements;
}

grove_ast *grove_reader_expression(grove_arena *arena, const grove_source *source,
                                   grove_error *error)
{
    grove_reader reader = {0};
    size_t before = grove_error_count(error);

    parse(&reader, arena, source, error, START_EXPRESSION);
    return grove_error_count(error) == before ? reader.expression : NULL;
}
