/* Partial sums (or means, least, greatest) over some ranges of axes. */
#ifndef GROVE_RUN_PARTIAL_SUMS_H
#define GROVE_RUN_PARTIAL_SUMS_H

#include "grove.h"

#include "value/value.h"

typedef struct {
    grove_reduce how;
    int axes;
    grove_range range[GROVE_MAX_AXES];
    int elements, parts;      /* numbers of a cell, each of 1 or 2 (complex) parts */
    double *sum;              /* dense: cells, elements, parts; on the host while the cpu adds */
    int64_t *count;           /* dense: cells, elements: good samples; NULL: all are */
    grove_buffer *storage[2]; /* of both */
} grove_sums;

grove_sums *grove_sums_new(grove_device *device, grove_reduce how, const grove_range *range,
                           int axes, int elements, int parts, bool counted, grove_error *error);
void grove_sums_free(grove_sums *sums); /* NULL is fine */

/* Adds the part `space` of a value. Axes that `to` does not have are reduced in the order of the
 * index; with `outer`, those other than `outer` first, to a number that starts from zero. */
int grove_sums_add_value(grove_sums *to, grove_value *value, const grove_range *space, int axes,
                         const grove_axis *outer, grove_threads *threads, grove_error *error);
int grove_sums_add(grove_sums *to, grove_sums *from, grove_threads *threads, grove_error *error);

/* Into a value over the same ranges; `samples`: what was added to each cell when not counted. */
int grove_sums_finish(grove_sums *sums, int64_t samples, grove_value *value, grove_error *error);

/* The same on the session's device (device-sums.c), with the same bits; *done is false, and nothing
 * has changed, where that cannot be. `value` has no storage yet. */
int grove_sums_add_value_there(grove_session *session, grove_sums *to, grove_value *value,
                               const grove_range *space, int axes, const grove_axis *outer,
                               bool *done);
int grove_sums_add_there(grove_session *session, grove_sums *to, const grove_sums *from,
                         bool *done);
int grove_sums_finish_there(grove_session *session, const grove_sums *sums, int64_t samples,
                            grove_value *value, bool flagged, bool *done);

#endif
