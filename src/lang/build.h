/* Builders: from syntax trees to the graph. A definition is evaluated when first needed. */
#ifndef GROVE_LANG_BUILD_H
#define GROVE_LANG_BUILD_H

#include "lang/fold.h"
#include "lang/lang.h"
#include "lang/scope.h"

/* A letter of an index and its source axis (NULL: not known yet). */
typedef struct grove_letter {
    const char *name;
    const grove_axis *axis;
    bool announced; /* introduced by an enclosing sum */
    struct grove_letter *next;
} grove_letter;

/* The text of a default, parsed once. */
typedef struct grove_default {
    const char *text;
    const grove_ast *ast;
    struct grove_default *next;
} grove_default;

typedef struct {
    grove_tree *tree;
    grove_arena *arena; /* the tree's */
    grove_error *error;
    grove_classes *classes;
    grove_scope *globals, *options;
    /* current scope */
    grove_scope *scope;
    grove_letter *letters;
    grove_entry *busy;        /* the definition or template being evaluated */
    const grove_place *fixed; /* in a default: errors are shown at this place */
    const char *fixed_text;
    int depth;         /* of expressions */
    int definitions;   /* that build on each other */
    const char *stack; /* where its use began */
    size_t stack_room; /* bytes that building may use of it */
    long work;
    bool stopped; /* a limit was exceeded */
    int dropped;  /* actions without output */
    grove_default *defaults;
    grove_entry *todo; /* definitions found to be needed, to be marked */
    const grove_setting *settings;
    size_t setting_count;
} grove_builder;

enum { GROVE_BUILD_DEPTH = 1000, GROVE_BUILD_LEVELS = 10000, GROVE_BUILD_WORK = 200000 };

/* The possible meanings of a bare name in an expression. */
typedef enum {
    GROVE_EXPECTED_VALUE,  /* something defined */
    GROVE_EXPECTED_UNIT,   /* the same, or a unit: 10 m/s */
    GROVE_EXPECTED_WORD,   /* something defined, else a word */
    GROVE_EXPECTED_CHOICE, /* one of `choices`, else something defined, else a word */
    GROVE_EXPECTED_AXES,   /* always a word */
    GROVE_EXPECTED_PARMS   /* always a word; values become words that name them */
} grove_expected_kind;
typedef struct {
    grove_expected_kind kind;
    const char *choices;
    const char *name; /* of the node of the outermost call, or NULL */
} grove_expected;

/* The meaning of an expression. */
typedef struct {
    grove_operand operand;
    const grove_entry *from; /* the definition that it names, or NULL */
} grove_meaning;

extern const grove_expected grove_expected_value;

grove_meaning grove_build_expression(grove_builder *builder, const grove_ast *ast,
                                     grove_expected expected);
/* The value of a definition; `use` is the place of its name. */
grove_meaning grove_build_definition(grove_builder *builder, grove_entry *entry,
                                     const grove_ast *use);
/* tree->expand: default.c */
int grove_build_default(void *context, grove_tree *tree, const char *text, const grove_node *scope,
                        const grove_place *place, grove_operand *result);

/* Reports an error at a part of an expression; returns the meaning NOTHING. */
grove_meaning grove_build_fail(const grove_builder *builder, const grove_ast *ast,
                               grove_source_span span, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
grove_place grove_build_place(const grove_builder *builder, const grove_ast *ast,
                              grove_source_span span);
grove_meaning grove_build_literal(const grove_literal *literal);
grove_meaning grove_build_word(grove_builder *builder, const char *word);
/* Reports a cycle among definitions or templates: a -> b -> a. */
grove_meaning grove_build_cycle(grove_builder *builder, const grove_entry *entry,
                                const grove_ast *use);
/* "; did you mean 'name'?" for a misspelt `word`, or "" for a NULL name */
const char *grove_build_hint(grove_builder *builder, const char *word, const char *name);
grove_meaning grove_build_unknown(grove_builder *builder, const grove_ast *ast, const char *word);
bool grove_word_among(const char *choices, const char *word);

/* options: option.c */
grove_meaning grove_build_option(grove_builder *builder, grove_entry *entry, const grove_ast *use);
/* Reports settings of unknown options. */
void grove_build_check_settings(grove_builder *builder);

/* calls: call.c */
grove_meaning grove_build_call(grove_builder *builder, const grove_ast *ast,
                               grove_expected expected);
/* Appends arguments that the call of the class implies, for which there must be room: one for each
 * input and option. Returns how many arguments there are then. implied.c */
size_t grove_build_implied(grove_builder *builder, const grove_ast *ast, const grove_class *class_,
                           grove_argument *arguments, size_t count);
/* The argument of an option of kind GROVE_PARM_NAMES: a word or a list of words, each with the
 * value that it names here, if any. parm_names.c */
grove_meaning grove_build_parm_names(grove_builder *builder, const grove_ast *ast);
/* The word that names this value: of the expression, if that is a name. */
grove_literal grove_build_parm_word(const grove_ast *ast, const grove_node *value);
/* The class of the operator with this role; roles up to GROVE_ROLE_HERMITIAN. */
const char *grove_operator_class(grove_role role);
/* An operator: calls its class on values; errors are shown at `at` of `ast`. */
grove_meaning grove_build_operation(grove_builder *builder, const grove_ast *ast, grove_role role,
                                    const char *name, const grove_argument *arguments,
                                    size_t count);

/* The action for an expression given besides the tree file: an action that prints its value, or the
 * expression's own action. `name` is the file name in messages. value.c */
void grove_build_value(grove_builder *builder, const char *expression, const char *name);

/* indices: index.c */
grove_meaning grove_build_index(grove_builder *builder, const grove_ast *ast);
/* After the body of an indexed definition: which axes its letters are. */
void grove_build_settle(grove_builder *builder, grove_entry *entry, const grove_ast *body);
/* sum[s](x): the argument that names the axes. `x` was evaluated with the letters announced. */
void grove_build_announce(grove_builder *builder, const grove_ast *call);
int grove_build_over(grove_builder *builder, const grove_ast *call, const grove_operand *x,
                     grove_argument *over);

/* names: declare.c */
void grove_build_declare_option(grove_builder *builder, const grove_statement *statement);
void grove_build_declare(grove_builder *builder, grove_scope *scope,
                         const grove_statement *statement);
/* Whether the value of this expression is an action, judging by its text. */
bool grove_build_is_action(grove_builder *builder, const grove_ast *ast);
/* Marks everything that an expression may need, including branches that are not taken. */
void grove_build_reach(grove_builder *builder, const grove_ast *ast);

#endif
