/* Copies of parts of values: gathered, broadcast, cast. */
#ifndef GROVE_RUN_COPY_H
#define GROVE_RUN_COPY_H

#include "run/launch.h"

/* The part `space` of a value, dense, broadcast along axes that it does not have, with flags along
 * all axes if it has any. A reference. */
int grove_copy_dense(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_placement placement,
                     grove_value **to);
/* The same on the host; the value itself where it is so already. */
int grove_copy_as_dense(grove_session *session, grove_value *from, char side,
                        const grove_range *space, int axes, grove_value **to);
/* Into a larger value on the host, with its flags if both have some. */
int grove_copy_into(grove_session *session, const grove_value *from, grove_value *to);

/* Elements from `element` on of the part `space`, as numbers of `to`, whose buffer is made if it
 * has none. */
int grove_copy_numbers(grove_session *session, const grove_value *from, char side, int element,
                       const grove_range *space, int axes, grove_placement placement,
                       grove_value *to);
/* Flags, to all of those along to->flag_axes. */
int grove_copy_flags(grove_session *session, const grove_value *from, char side,
                     const grove_range *space, int axes, grove_value *to);

#endif
