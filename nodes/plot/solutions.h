/* A solution table for pictures: H5Parm files as Grove, DP3 and LoSoTo write them. */
#ifndef GROVE_NODES_PLOT_SOLUTIONS_H
#define GROVE_NODES_PLOT_SOLUTIONS_H

#include "grove.h"
#include "nodes/common/solution_list.h"
#include "nodes/plot/cube.h"

typedef struct {
    const char *path, *name; /* name: the last component of the path */
    grove_solution_list *list;
    const grove_solution_entry *table; /* the one that is drawn */
    char *where;                       /* its path: "sol000/phase000" */
    grove_cube values, errors;         /* errors: standard deviations */
    int *station, stations;            /* stations to draw */
    int *element, elements;            /* polarisations that are drawn */
    int reference;                     /* station that others are relative to; -1: none */
    int64_t direction;                 /* the one that is drawn */
    const char *label;                 /* of an axis in a chart, with the unit */
    double factor;                     /* to that unit */
    bool angle;                        /* within -180 and 180 degrees */
    grove_error *error;                /* borrowed */
} grove_solutions;

/* Opens the file, and reads the table of `quantity` ("phase", "value": any other), or the one that
 * the picture names; without `quantity` a table with the dataset `with`, without its numbers. */
int grove_solutions_open(grove_solutions *s, const char *path, const char *quantity,
                         const char *with, const grove_picture *picture, grove_error *error);
void grove_solutions_close(grove_solutions *s);

/* Reads a dataset of the table; whether there is one. */
int grove_solutions_read(const grove_solutions *s, const char *dataset, grove_cube *cube);
bool grove_solutions_has(const grove_solutions *s, const char *dataset);
/* The value that is drawn: in the unit of the chart, relative to the reference; NaN: flagged. */
double grove_solutions_value(const grove_solutions *s, int station, int64_t time, int64_t freq,
                             int element);
double grove_solutions_error(const grove_solutions *s, int station, int64_t time, int64_t freq,
                             int element);
const char *grove_solutions_station(const grove_solutions *s, int station);
/* The message that nothing can be drawn; names the reference, if it is only that which has no
 * solutions. Returns its code. */
int grove_solutions_fail_flagged(const grove_solutions *s);
/* Name of a polarisation: "XX"; where the file has no such names its number, or "" for one alone.
 */
const char *grove_solutions_element(const grove_solutions *s, int element);
/* A subtitle. Caller frees. */
char *grove_solutions_note(const grove_solutions *s);

/* The pictures that suit the tables of a file, or one of them, separated by commas. Caller frees;
 * NULL with a message. */
char *grove_solutions_pictures(const char *path, const char *dataset, grove_error *error);

#endif
