/* Scopes: the meanings of names. */
#ifndef GROVE_LANG_SCOPE_H
#define GROVE_LANG_SCOPE_H

#include "graph/graph.h"
#include "lang/ast.h"

typedef enum {
    GROVE_ENTRY_DEFINITION,
    GROVE_ENTRY_TEMPLATE,
    GROVE_ENTRY_PARAMETER, /* of a template, bound to a value */
    GROVE_ENTRY_OPTION
} grove_entry_kind;

typedef enum { GROVE_ENTRY_UNTOUCHED, GROVE_ENTRY_BUSY, GROVE_ENTRY_DONE } grove_entry_state;

typedef struct grove_entry {
    grove_entry_kind kind;
    grove_entry_state state;
    const char *name;
    const char *node_name; /* of its node, NULL: the entry's own name */
    const grove_statement *statement;
    struct grove_scope *scope; /* in which its text is evaluated */
    grove_operand value;
    const struct grove_entry *from; /* PARAMETER: the definition passed for it, or NULL */
    bool unresolved;                /* PARAMETER: passed as a name without another meaning */
    grove_place place;
    /* The axis of each source index of the definition; NULL: its value does not have it. */
    const grove_axis *letters[GROVE_MAX_AXES];
    bool reached; /* an action may depend on it */
    enum { GROVE_ACTION_UNKNOWN, GROVE_ACTION_NO, GROVE_ACTION_YES } action; /* TEMPLATE */
    struct grove_entry *caller; /* during evaluation: the entry that needs it */
    struct grove_entry *todo;   /* next in the list of entries to be marked */
    struct grove_entry *chain, *next;
} grove_entry;

typedef struct grove_scope {
    struct grove_scope *outer;
    const char *prefix;     /* of names of nodes, or NULL */
    const grove_node *node; /* for defaults of options: the node whose inputs can be named */
    size_t bucket_count;
    grove_entry **buckets;
    grove_entry *first, *last; /* in order of declaration */
} grove_scope;

grove_scope *grove_scope_new(grove_arena *arena, grove_scope *outer, size_t buckets);
/* Looks up in this scope only, or also in the outer ones. NULL when there is none. */
grove_entry *grove_scope_own(const grove_scope *scope, const char *name);
grove_entry *grove_scope_find(const grove_scope *scope, const char *name);
grove_entry *grove_scope_add(grove_arena *arena, grove_scope *scope, grove_entry_kind kind,
                             const char *name, const grove_statement *statement);
/* The visible name nearest to `word`, or NULL. */
const char *grove_scope_nearest(grove_arena *arena, const grove_scope *scope, const char *word);

/* "E[s,p]": a definition as its statement writes it. */
const char *grove_statement_show(grove_arena *arena, const grove_statement *statement);

#endif
