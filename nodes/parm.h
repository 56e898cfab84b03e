/* What a leaf of the class parm knows: the places of its coefficients, and their numbers in a run.
 */
#ifndef GROVE_NODES_PARM_H
#define GROVE_NODES_PARM_H

#include "plugin.h"

enum { PARM_MEMBERS = 4, PARM_TERMS = 64 };
/* Most coefficients of a parm. */
#define PARM_NUMBERS 1e7

/* Intervals along time or frequency, counted from the lowest edge. */
typedef struct {
    int64_t count;
    double start, length;   /* s or Hz */
    const grove_axis *axis; /* of the observation; NULL: the parm does not vary along it */
    int32_t terms;          /* degree + 1 */
} parm_intervals;

/* grove_node_user of the leaf. */
typedef struct {
    int kind; /* its line in the table of kinds */
    int members;
    bool complex_;
    const char *member[PARM_MEMBERS];
    double init[PARM_MEMBERS][2];
    char *text;                         /* what a call of it stands for */
    const grove_axis *source, *station; /* NULL: the same for all */
    parm_intervals time, freq;
} parm;

/* The numbers of a run, made by start: of each member [source, station, interval, band, term], and
 * of each number real and imaginary part. */
typedef struct {
    int64_t count; /* of a member */
    double *numbers;
} parm_run;

/* The number of coefficients of a member. */
static inline int64_t parm_count(const parm *p)
{
    int64_t count = p->time.count * p->freq.count * p->time.terms * p->freq.terms;

    count *= p->source ? p->source->size : 1;
    return count * (p->station ? p->station->size : 1);
}

#endif
