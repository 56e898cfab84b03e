/* Where the numbers of a grid from a file belong: cells of time and frequency by their coordinates,
 * stations, baselines and sources by their names. */
#ifndef GROVE_NODES_GRID_LOOKUP_H
#define GROVE_NODES_GRID_LOOKUP_H

#include "nodes/common/grid.h"
#include "plugin.h"

/* The words of the options interpolate and outside, which a class that looks numbers up has. */
enum { GROVE_LOOKUP_LINEAR, GROVE_LOOKUP_NEAREST };
enum { GROVE_LOOKUP_ERROR, GROVE_LOOKUP_EDGE, GROVE_LOOKUP_FLAG };
#define GROVE_LOOKUP_INTERPOLATE "linear nearest"
#define GROVE_LOOKUP_OUTSIDE     "error edge flag"

/* Where a cell's numbers are along one axis of the file. */
typedef struct {
    int64_t low, high; /* low -1: nowhere, flagged */
    double weight;     /* of high; 0: low alone */
} grove_lookup_place;

typedef struct {
    grove_grid *grid;
    const char *option; /* of the node, that names the file */
    /* Numbers are of intervals that follow each other: each reaches half-way beyond the first and
     * last centre, and numbers with one time or channel hold for all. False: of points. */
    bool intervals;
    bool any_freq; /* they hold at any frequency, such as TEC */
    double period; /* of the numbers, such as 2 pi: the shortest way round is interpolated; or 0 */
    const grove_axis *axis[GROVE_MAX_AXES];   /* of the value, for each of the file */
    grove_lookup_place *from[GROVE_MAX_AXES]; /* [axis.size] */
    int64_t step[GROVE_MAX_AXES];             /* cells of the file */
    bool flags;                               /* something is nowhere */
    char *note; /* about cells far beyond the file's times or channels, outside=edge; or NULL */
    bool apart; /* all cells lie there: the note is a warning */
} grove_lookup;

/* Begins a lookup in a grid, which stays the caller's. Free with grove_lookup_free. */
void grove_lookup_begin(grove_lookup *lookup, grove_grid *grid, const char *option);
void grove_lookup_free(grove_lookup *lookup);
/* Finds the cells of `axis` along the file's axis d: by coordinates where both have them, by names
 * where both have those, else in order. `object`, the observation or sky that has it, has the names
 * of stations and of patches: a source that the file does not name is found by its patch. 0, or a
 * code after a message. */
int grove_lookup_match(grove_node *node, grove_lookup *lookup, int d, const grove_axis *axis,
                       const grove_node *object);
/* `axis` has the same cells in the same order. */
void grove_lookup_take(grove_lookup *lookup, int d, const grove_axis *axis);
/* After all axes are matched: where the node interpolates linearly and numbers are of intervals, a
 * flagged number of the grid's only column, a real one, is interpolated between the nearest ones
 * before and after it, along time; if still flagged, along frequency. Before the first and after
 * the last number flags stay. */
void grove_lookup_fill(const grove_node *node, grove_lookup *lookup);
/* Reports a note of lookups: a warning if `apart` is true of one of them. */
void grove_lookup_report(grove_node *node, const char *note, bool apart);
/* The numbers of a column at a cell, index[d] of the axis that was matched with the file's axis d;
 * to: [elements], or with 2 parts. Between a number and a flagged one: of intervals the one whose
 * interval it is, otherwise flagged. Returns the cell's flags. */
unsigned char grove_lookup_cell(const grove_lookup *lookup, const grove_grid_column *column,
                                const int64_t index[GROVE_MAX_AXES], double *to);

#endif
