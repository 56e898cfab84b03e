/* Data leaves that are observations, and classes that need to know more of them than their axes and
 * members, include this besides plugin.h. */
#ifndef GROVE_FACTS_H
#define GROVE_FACTS_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Facts of an observation; 0 where they are not known. */
typedef struct grove_observation_facts {
    size_t size;           /* of this structure where it is filled in: GROVE_OBSERVATION_FACTS */
    const char *telescope; /* name of the array, "" where it has none */

    /* Of a Measurement Set: */
    const char *column; /* that the member `data` is read from */
    /* The part that is read: numbers in the tables of these names, from 0 on. */
    int64_t field, spectral_window, polarization;
    /* Parts of the set that differ in one of these. Where the leaves with the same text "unread_of"
     * that a tree uses have fewer different texts "selection", the text "unread" is a warning. */
    int64_t selections;
    bool cross_only; /* baselines of a station with itself are left out */
    int64_t rows;    /* that are read */
    /* Rows, and runs of rows that follow each other, for each time and baseline: from 0 to 1. Where
     * they are not known, 1. */
    double rows_share, runs_share;
    int correlation_count;
    /* In the set's order, by casacore's codes: 1 I; 5 to 8 RR RL LR LL; 9 to 12 XX XY YX YY. */
    int correlations[4];
    /* Whether the rows' coordinates were compared with differences of stations' coordinates that
     * are fitted to them, and the distance, m, that half of the baselines exceed. */
    bool uvw_compared;
    double uvw_misclosure;
} grove_observation_facts;

#define GROVE_OBSERVATION_FACTS(...)                                                               \
    ((grove_observation_facts){.size = sizeof(grove_observation_facts), __VA_ARGS__})

/* Only in open of a leaf of the kind "observation": copied, with the texts. 0, or GROVE_INVALID,
 * with a message, where `size` is not set. */
int grove_node_set_observation(grove_node *node, const grove_observation_facts *facts);
/* The facts of a leaf of that kind, in whole; NULL: another node, or NULL. */
const grove_observation_facts *grove_node_observation(const grove_node *node);

#ifdef __cplusplus
}
#endif

#endif
