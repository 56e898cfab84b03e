/* The grammar of the tree language. */
%require "3.8"
%define api.prefix {grove_parser_}
%define api.pure full
%define api.location.type {grove_source_span}
%define parse.error custom
%define parse.lac full
%define api.value.type union
%param {grove_reader *reader}
%locations
%expect 0

%code requires {
#include "lang/reader.h"
}

%code provides {
int grove_parser_lex(GROVE_PARSER_STYPE *value, grove_source_span *span, grove_reader *reader);
}

%code {
#include <string.h>

#define YYMAXDEPTH 4000
#define YYLLOC_DEFAULT(current, right, n)                                                          \
    ((current).begin = (n) ? YYRHSLOC(right, 1).begin : YYRHSLOC(right, 0).end,                    \
     (current).end = YYRHSLOC(right, (n) ? (n) : 0).end)
#define MAKER (&reader->maker)

static void grove_parser_error(const grove_source_span *span, grove_reader *reader, const char *message);
}

%token START_FILE START_EXPRESSION
%token LINE "end of line" BROKEN RANGE ".."
%token OPTION INCLUDE TEMPLATE RUN
%token <const char *> NAME TEXT SETTING
%token <const grove_literal *> NUMBER

%nonassoc RANGE
%left '+' '-'
%left '*' '/'
%precedence NEGATE

%type <grove_ast *> expression postfix primary exponent cycles
%type <grove_ast_items> arguments some_arguments parameters some_parameters names
%type <grove_ast_item> argument parameter
%type <grove_statement *> statement definition
%type <grove_statements> statements block
%type <const char *> text

%%

start:
    START_FILE statements                { reader->statements = $2; }
  | START_EXPRESSION expression LINE     { reader->expression = $2; }
  ;

statements:
    %empty                               { $$ = (grove_statements){0}; }
  | statements LINE                      { $$ = $1; }
  | statements statement LINE            { $$ = $1; grove_statement_add(&$$, $2); yyerrok; }
  | statements error LINE
    {
        $$ = $1;
        grove_statement_add(&$$, grove_reader_recover(reader));
        yyerrok;
    }
  ;

statement:
    definition
  | expression
    { $$ = grove_statement_new(MAKER, GROVE_STATEMENT_ACTION, NULL, $1->span, $1); }
  | OPTION NAME '=' expression text
    {
        $$ = grove_statement_new(MAKER, GROVE_STATEMENT_OPTION, $2, @2, $4);
        $$->text = $5;
    }
  | INCLUDE TEXT
    {
        $$ = grove_statement_new(MAKER, GROVE_STATEMENT_INCLUDE, NULL, @2, NULL);
        $$->text = $2;
    }
  | TEMPLATE NAME '(' parameters ')' '=' expression
    {
        $$ = grove_statement_new(MAKER, GROVE_STATEMENT_TEMPLATE, $2, @2, $7);
        $$->items = $4;
    }
  | TEMPLATE NAME '(' parameters ')' block
    {
        $$ = grove_statement_new(MAKER, GROVE_STATEMENT_TEMPLATE, $2, @2, NULL);
        $$->items = $4;
        $$->body = $6.first;
    }
  | RUN names cycles
    {
        $$ = grove_statement_new(MAKER, GROVE_STATEMENT_RUN, NULL, @1, $3);
        $$->items = $2;
    }
  ;

definition:
    expression '=' expression            { $$ = grove_statement_define(MAKER, $1, $3); }
  ;

text:
    %empty                               { $$ = NULL; }
  | TEXT
  ;

block:
    '{' statements '}'                   { $$ = $2; }
  ;

names:
    NAME
    {
        $$ = (grove_ast_items){0};
        grove_ast_add(MAKER, &$$, $1, @1, NULL);
    }
  | names ',' NAME                       { $$ = $1; grove_ast_add(MAKER, &$$, $3, @3, NULL); }
  ;

cycles:
    %empty                               { $$ = NULL; }
  | '[' NAME '=' expression ']'
    {
        $$ = $4;
        if (strcmp($2, "cycles") != 0)
            grove_ast_fail(MAKER, @2, "run has no option '%s', only cycles", $2);
    }
  ;

parameters:
    %empty                               { $$ = (grove_ast_items){0}; }
  | some_parameters
  | some_parameters ','
  ;

some_parameters:
    parameter
    {
        $$ = (grove_ast_items){0};
        grove_ast_add(MAKER, &$$, $1.name, $1.name_span, $1.value);
    }
  | some_parameters ',' parameter
    { $$ = $1; grove_ast_add(MAKER, &$$, $3.name, $3.name_span, $3.value); }
  ;

parameter:
    NAME                                 { $$ = (grove_ast_item){.name = $1, .name_span = @1}; }
  | NAME '=' expression
    { $$ = (grove_ast_item){.name = $1, .name_span = @1, .value = $3}; }
  ;

arguments:
    %empty                               { $$ = (grove_ast_items){0}; }
  | some_arguments
  | some_arguments ','
  ;

some_arguments:
    argument
    {
        $$ = (grove_ast_items){0};
        grove_ast_add(MAKER, &$$, $1.name, $1.name_span, $1.value);
    }
  | some_arguments ',' argument
    { $$ = $1; grove_ast_add(MAKER, &$$, $3.name, $3.name_span, $3.value); }
  ;

argument:
    expression                           { $$ = (grove_ast_item){.value = $1}; }
  | NAME '=' expression
    { $$ = (grove_ast_item){.name = $1, .name_span = @1, .value = $3}; }
  ;

expression:
    postfix
  | expression '+' expression
    { $$ = grove_ast_binary(MAKER, GROVE_AST_BINARY, '+', $1, $3, @2); }
  | expression '-' expression
    { $$ = grove_ast_binary(MAKER, GROVE_AST_BINARY, '-', $1, $3, @2); }
  | expression '*' expression
    { $$ = grove_ast_binary(MAKER, GROVE_AST_BINARY, '*', $1, $3, @2); }
  | expression '/' expression
    { $$ = grove_ast_binary(MAKER, GROVE_AST_BINARY, '/', $1, $3, @2); }
  | expression RANGE expression
    { $$ = grove_ast_binary(MAKER, GROVE_AST_RANGE, 0, $1, $3, @2); }
  | '-' expression %prec NEGATE
    { $$ = grove_ast_unary(MAKER, GROVE_AST_NEGATE, $2, @$, @1); }
  ;

postfix:
    primary
  | postfix '.' NAME
    {
        $$ = grove_ast_unary(MAKER, GROVE_AST_MEMBER, $1, @$, @3);
        $$->text = $3;
    }
  | postfix '(' arguments ')'
    { $$ = grove_ast_items_of(MAKER, GROVE_AST_CALL, $1, $3, @$); }
  | postfix '[' arguments ']'
    { $$ = grove_ast_items_of(MAKER, GROVE_AST_INDEX, $1, $3, @$); }
  | postfix '^' NAME
    {
        $$ = grove_ast_unary(MAKER, GROVE_AST_HERMITIAN, $1, @$, @3);
        if (!strcmp($3, "T")) {
            $$->kind = $$->kind == GROVE_AST_BROKEN ? $$->kind : GROVE_AST_TRANSPOSE;
        } else if (strcmp($3, "H") != 0) {
            grove_ast_fail(MAKER, @3, "after '^' comes H, T, -1, a number, or an expression in "
                                      "parentheses, not '%s'", $3);
            $$->kind = GROVE_AST_BROKEN;
        }
    }
  | postfix '^' exponent
    {
        if ($1->kind == GROVE_AST_POWER && !$1->parenthesised)
            grove_ast_fail(MAKER, @2, "a power of a power needs parentheses: (a^b)^c or a^(b^c)");
        $$ = grove_ast_binary(MAKER, GROVE_AST_POWER, 0, $1, $3, @2);
        $$->span = @$;
    }
  ;

exponent:
    NUMBER                               { $$ = grove_ast_literal(MAKER, $1, @1); }
  | '-' NUMBER
    {
        $$ = grove_ast_unary(MAKER, GROVE_AST_NEGATE, grove_ast_literal(MAKER, $2, @2), @$, @1);
    }
  | '(' expression ')'                   { $$ = $2; }
  ;

primary:
    NUMBER                               { $$ = grove_ast_literal(MAKER, $1, @1); }
  | TEXT
    {
        grove_literal literal = {.kind = GROVE_LITERAL_TEXT, .text = $1};
        $$ = grove_ast_literal(
            MAKER, grove_arena_copy(MAKER->arena, &literal, sizeof(literal)), @1);
    }
  | NAME                                 { $$ = grove_ast_new(MAKER, GROVE_AST_NAME, @1, $1); }
  | SETTING                              { $$ = grove_ast_new(MAKER, GROVE_AST_SETTING, @1, $1); }
  | '[' arguments ']'
    { $$ = grove_ast_items_of(MAKER, GROVE_AST_LIST, NULL, $2, @$); }
  | '(' expression ')'
    {
        $$ = $2;
        $$->parenthesised = true;
        $$->span = @$;
    }
  ;

%%

static void grove_parser_error(const grove_source_span *span, grove_reader *reader, const char *message)
{
    (void)message; /* only "memory exhausted" comes this way */
    grove_ast_fail(&reader->maker, *span, "nested too deeply; give parts of it names");
}

static int yyreport_syntax_error(const yypcontext_t *context, grove_reader *reader)
{
    enum { MOST = 40 };
    yysymbol_kind_t expected[MOST];
    int kinds[MOST], n = yypcontext_expected_tokens(context, expected, MOST), count = 0;

    for (int token = 0; token < 512; token++)
        for (int i = 0; i < n; i++)
            if (YYTRANSLATE(token) == expected[i] && count < MOST)
                kinds[count++] = token;
    grove_reader_unexpected(reader, kinds, count);
    return 0;
}
