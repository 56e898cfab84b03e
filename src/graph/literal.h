/* Literals: constants in tree files and settings. */
#ifndef GROVE_GRAPH_LITERAL_H
#define GROVE_GRAPH_LITERAL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "base/unit.h"
#include "plugin.h"
#include "unstable/hash.h"

typedef enum {
    GROVE_LITERAL_NONE, /* the word none */
    GROVE_LITERAL_BOOL,
    GROVE_LITERAL_NUMBER,
    GROVE_LITERAL_TEXT, /* a quoted string or a bare word */
    GROVE_LITERAL_RANGE,
    GROVE_LITERAL_LIST
} grove_literal_kind;

/* Strings and items are borrowed from the tree's arena. */
struct grove_literal {
    grove_literal_kind kind;
    bool word;        /* TEXT: a bare word, not quoted */
    bool truth;       /* BOOL */
    double number;    /* NUMBER: in base units; RANGE: from */
    double to;        /* RANGE */
    double imaginary; /* NUMBER: of a complex constant */
    bool complex_;    /* NUMBER: written with an imaginary part, which may be 0: 1+0i */
    grove_unit unit;
    bool hours;             /* the unit was written as h, min or s: may be an hour angle */
    const char *text;       /* TEXT; NUMBER, RANGE: as written, for messages ("25 s") */
    const char *setting;    /* "name=text" where a setting gave it: a relative path starts in the
                               current folder then; else NULL */
    const grove_node *node; /* TEXT: the value that the word names; NULL: none, or not needed */
    int count;              /* LIST */
    const struct grove_literal *items;
};

grove_hash grove_literal_hash(grove_hash hash, const grove_literal *literal);
/* As a message would name it ("25 s", "'abc'", "none"), from the arena. */
const char *grove_literal_show(grove_arena *arena, const grove_literal *literal);

#endif
