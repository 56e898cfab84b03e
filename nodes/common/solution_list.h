/* The solution tables of H5parm files
 * (https://github.com/revoltek/losoto/wiki/H5parm-specifications). */
#ifndef GROVE_NODES_COMMON_SOLUTION_LIST_H
#define GROVE_NODES_COMMON_SOLUTION_LIST_H

#include "base/error.h"
#include <stdbool.h>
#include <stddef.h>

/* The quantity of a table's numbers. */
typedef enum {
    GROVE_SOLUTION_OTHER,
    GROVE_SOLUTION_AMPLITUDE,
    GROVE_SOLUTION_PHASE,    /* rad */
    GROVE_SOLUTION_CLOCK,    /* s; phase = 2 pi nu clock */
    GROVE_SOLUTION_TEC,      /* TECU; phase = -8.44797245e9 tec / nu */
    GROVE_SOLUTION_ROTATION, /* rad */
    GROVE_SOLUTION_VALUE,    /* of a number in a tree */
    GROVE_SOLUTION_KINDS
} grove_solution_kind;

typedef struct {
    char *set, *name; /* the path is SET/NAME, such as sol000/phase000 */
    char *title;      /* the attribute TITLE; without, the name without its number */
    grove_solution_kind kind;
    char *parm, *jones; /* of a table that Grove wrote: the parm's name and kind; or NULL */
    char *history;      /* lines; or NULL */
    char *outcomes;     /* the words for outcomes, separated by commas; or NULL */
    char *datasets;     /* their names, a blank before and after each: " val weight time " */
} grove_solution_entry;

typedef struct {
    grove_solution_entry *table;
    int count;
} grove_solution_list;

/* The solution tables in the bytes of a file: groups below a group with val, whose attribute AXES
 * names its axes. `name` is the file's name in messages. NULL with a message. Free with
 * grove_solution_list_free. */
grove_solution_list *grove_solution_list_parse(const char *bytes, size_t length, const char *name,
                                               grove_error *error);
void grove_solution_list_free(grove_solution_list *list);
/* The word for outcome k, or NULL: the table has none. The caller frees. */
char *grove_solution_outcome(const grove_solution_entry *table, int k);
/* "amplitude", "phase", ... */
const char *grove_solution_word(grove_solution_kind kind);

#endif
