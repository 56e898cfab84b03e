/* Copies of blocks of values: gathered, broadcast, cast. */
#ifndef GROVE_RUN_COPY_H
#define GROVE_RUN_COPY_H

#include "run/launch.h"

/* The block `space` of a value, dense, broadcast along axes that it does not have, with flags along
 * all axes if it has any. `rows`: flags rows that the host leaves out, which leaves these gaps;
 * NULL: none. A reference. */
int grove_copy_dense(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_placement placement,
                     const grove_value *rows, grove_gaps gaps, grove_value **to);
/* The same on the host; the value itself if it fits already. */
int grove_copy_as_dense(grove_session *session, grove_value *from, char side,
                        const grove_range *space, int axes, const grove_value *rows,
                        grove_gaps gaps, grove_value **to);
/* Copies into a larger value on the host, with its flags if both have some. */
int grove_copy_into(grove_session *session, const grove_value *from, grove_value *to);

/* Copies elements from `element` on of the block `space` to `to`, in its type; allocates its buffer
 * if it has none. `rows`: flags rows that the host leaves out; NULL: none. */
int grove_copy_numbers(grove_session *session, const grove_value *from, char side, int element,
                       const grove_range *space, int axes, const grove_value *rows,
                       grove_placement placement, grove_value *to);
/* Copies flags, along the axes of to->flag_axes. */
int grove_copy_flags(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_value *to);

#endif
