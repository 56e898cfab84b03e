/* Solution tables of a file that together are a Jones term. */
#ifndef GROVE_NODES_SOLUTION_PARTS_H
#define GROVE_NODES_SOLUTION_PARTS_H

#include "nodes/common/grid.h"
#include "nodes/common/grid_lookup.h"
#include "nodes/common/solution_list.h"
#include "plugin.h"

typedef struct {
    grove_solution_kind kind;
    char *name;       /* of the table, in messages: sol000/phase000 */
    grove_grid *grid; /* one column, real, in base units; NULL: the file has no such table */
    grove_lookup lookup;
} grove_solution_part;

/* By kind; at most one table of each. */
typedef struct {
    grove_solution_part part[GROVE_SOLUTION_KINDS];
} grove_solution_parts;

/* The parts of a file to read. */
typedef struct {
    const char *option; /* of the node, that names the file */
    const char *set;    /* "": the only one */
    /* Names of tables or of parms, separated by blanks; "": all that make a Jones term. `parm` is
     * then preferred, if the file names it; NULL: none. */
    const char *tables, *parm;
    const char *tables_option; /* of the node */
    grove_unit unit;           /* of amplitudes and values */
    unsigned kinds;            /* bits of grove_solution_kind: which a Jones term may be made of */
} grove_solution_request;

/* Reads the tables of the file that the request's option names. 0, or a code after a message; free
 * with grove_solution_parts_free in both cases. */
int grove_solution_parts_read(const grove_node *node, const grove_solution_request *request,
                              grove_solution_parts *parts);
void grove_solution_parts_free(grove_solution_parts *parts);
/* Checks polarisations against the feeds of an observation, if it has any: 0, or a code after a
 * message. */
int grove_solution_parts_check(const grove_node *node, const grove_solution_request *request,
                               const grove_solution_parts *parts, const grove_node *obs);
/* After the axes of all are matched: grove_lookup_fill for each; and the notes of the lookups,
 * after `note` (NULL: none), become the note of the node. */
void grove_solution_parts_complete(grove_node *node, grove_solution_parts *parts, const char *note);
/* The period of a kind's numbers: 2 pi of angles, else 0. */
double grove_solution_period(grove_solution_kind kind);

#endif
