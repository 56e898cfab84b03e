/* Constant folding: arithmetic on constants with units. */
#ifndef GROVE_LANG_FOLD_H
#define GROVE_LANG_FOLD_H

#include "graph/literal.h"

/* The result, or the error without its place. Both from the arena. */
typedef struct {
    grove_arena *arena;
    const char *fault; /* NULL: none */
} grove_fold;

/* a op b; op is one of + - * / ^ and . (a range); texts are joined by +. NULL with the error. */
const grove_literal *grove_fold_binary(grove_fold *fold, char op, const grove_literal *a,
                                       const grove_literal *b);
/* The error "cannot add b to a" and so on; a and b are described by the message. */
void grove_fold_refuse(grove_fold *fold, char op, const char *a, const char *b);
const grove_literal *grove_fold_negate(grove_fold *fold, const grove_literal *a);
const grove_literal *grove_fold_conjugate(grove_fold *fold, const grove_literal *a);
/* "a time (3 s)", "a text ('abc')", "a list" */
const char *grove_fold_describe(grove_arena *arena, const grove_literal *literal);

#endif
