/* Visibilities that nobody wants: those whose every element is flagged in the input `skip`. */
#ifndef GROVE_KERNELS_PREDICT_SKIP_H
#define GROVE_KERNELS_PREDICT_SKIP_H

#include "predict.h"

/* The rows of which some channel is wanted, ascending, into `rows` (room for all of them); how many
 * there are. */
int64_t grove_predict_wanted(const grove_args *args, int64_t *rows);
/* Zeroes the output where every element is flagged, in rows [first, last): what is computed does
 * then not depend on how channels are cut into tiles. */
void grove_predict_blank(const grove_args *args, int64_t first, int64_t last);

#endif
