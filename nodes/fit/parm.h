/* The state of the leaf parm: its intervals, and the numbers of a run. */
#ifndef GROVE_NODES_PARM_H
#define GROVE_NODES_PARM_H

#include "base/unit.h"
#include "plugin.h"

enum { GROVE_PARM_MEMBERS = 4, GROVE_PARM_TERMS = 64 };

/* Intervals along time or frequency, numbered from the lowest edge. Each has a cell at least. */
typedef struct {
    int64_t count;
    const grove_axis *axis; /* of the observation; NULL: the parm does not vary along it */
    int32_t terms;          /* of the polynomials: degree + 1 */
    double *centre, *width; /* [count] of the intervals, s or Hz */
    double *whole;   /* [count] centres as if the last of a stretch were as long as the others */
    int32_t *number; /* [cells of the axis] the interval of each */
} grove_parm_intervals;

/* grove_node_user of a leaf parm. */
typedef struct {
    int kind; /* its line in the table of kinds */
    int members;
    bool complex_;
    const char *member[GROVE_PARM_MEMBERS];
    /* Of the constant term of each member, real and imaginary part, in base units. The other terms
     * start at 0 and have neither bounds nor a prior. */
    double init[GROVE_PARM_MEMBERS][2];
    double *start;    /* [member][grove_parm_index][2] from a solution table; NULL: all are init */
    double bounds[2]; /* low < high, of real parms; -INFINITY and INFINITY: none */
    double step;      /* the usual change, in its unit */
    /* A normal distribution, of a complex number one of each part; sigma INFINITY: none. */
    double prior_mean[GROVE_PARM_MEMBERS][2], prior_sigma;
    char *text;                         /* its equivalent expression */
    const grove_axis *source, *station; /* NULL: the same for all */
    /* Of groups of sources, and of each source the number of its group; NULL: each source has
     * coefficients of its own. */
    const grove_axis *groups;
    const double *group;
    grove_parm_intervals time, freq;
} grove_parm;

/* The run's state of a leaf parm, by grove_call_object_run: its coefficients in this run. */
typedef struct {
    int64_t count;   /* of a member: grove_parm_count */
    double *numbers; /* [member][grove_parm_index][real and imaginary part] */
    /* [member][grove_parm_index] standard deviations, of a complex number of its amplitude, and of
     * its phase (rad); of the terms of its polynomials of each part; NaN: not known */
    double *errors, *phase_errors;
} grove_parm_run;

/* The number of coefficients of a member. */
int64_t grove_parm_count(const grove_parm *p);
/* Where a coefficient of a member is: they are [source, station, interval, band, term], with groups
 * [station, group, interval, band, term]; the terms [in time, in frequency] (frequency fastest).
 * `source`, the number of the group where there are groups, and `station` do not count where the
 * parm is the same for all. */
int64_t grove_parm_index(const grove_parm *p, int64_t source, int64_t station, int64_t interval,
                         int64_t band, int64_t term);
/* The interval of a cell of the observation's times or channels, and in *x the place of the cell's
 * centre in it, from -1 at the low edge to 1 at the high one. The value there is the sum over terms
 * (i, j) of coefficient * x_time^i * x_freq^j. 0 and 0 where the parm does not vary along it. */
int64_t grove_parm_find(const grove_parm_intervals *own, int64_t cell, double *x);

/* Takes start values from the solution table that the option from names, if it is given. */
int grove_parm_start(grove_node *node, grove_parm *p, grove_unit unit);
/* Finds the intervals that the options time, freq and degree ask for. */
int grove_parm_divide(grove_node *node, grove_parm *p);
void grove_parm_intervals_free(grove_parm_intervals *own);

#endif
