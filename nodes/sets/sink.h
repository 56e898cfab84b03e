/* Shared by the parts of the class sink. */
#ifndef GROVE_NODES_SINK_H
#define GROVE_NODES_SINK_H

#include "plugin.h"

/* Value inputs in their order. */
enum { SINK_VISIBILITIES, SINK_UVW, SINK_WEIGHT, SINK_INPUTS };

/* Bytes of numbers and flags that are put in order at once, besides one time slot. */
#define SINK_ROOM ((uint64_t)4 << 20)

/* The state of the node. */
typedef struct {
    bool discard;     /* to="null" */
    bool existing;    /* writes a column of an existing set */
    const char *path; /* borrowed from the tree */
    const grove_axis *time, *baseline, *freq;
} sink_state;

/* The correlations that the visibilities are of in a new set. */
void sink_correlations(const grove_node *node, int *count, int codes[4]);
/* Finds axes and target, and checks that they can be written; sets the node's sink_state. */
int sink_check(grove_node *node);

#endif
