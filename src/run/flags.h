/* Flags of values from flags of their inputs, by the rules of plugin.h. */
#ifndef GROVE_RUN_FLAGS_H
#define GROVE_RUN_FLAGS_H

#include "run/launch.h"

/* The flags of a node's value; `inputs` are seen from `space`, with sides `side`. rows: flags of
 * rows that it flags need not be set; NULL: all must. */
int grove_flags_combine(grove_session *session, const grove_node *node, grove_value *const *inputs,
                        const char *side, int count, const grove_value *rows,
                        const grove_range *space, int axes, grove_value *value);
/* The flags of one element of a value, seen from `space`; rows: as for grove_flags_combine. */
int grove_flags_select(grove_session *session, grove_value *from, int element,
                       const grove_value *rows, const grove_range *space, int axes,
                       grove_value *value);
/* Adds the flags of `from` to the flags of `to`, which vary along all axes of both. */
int grove_flags_merge(grove_session *session, grove_value *from, grove_value *to);

#endif
