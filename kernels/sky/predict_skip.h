/* Visibilities that need not be computed: those whose every element is flagged in the input
 * `skip`. */
#ifndef GROVE_KERNELS_PREDICT_SKIP_H
#define GROVE_KERNELS_PREDICT_SKIP_H

#include "predict.h"

/* Writes the rows with at least one needed channel, ascending, to `rows`, which has space for all
 * rows; returns their number. */
int64_t grove_predict_needed_rows(const grove_args *args, int64_t *rows);
/* Sets the output to zero where every element is flagged, in rows [first, last): so results do not
 * depend on how channels are cut into tiles. */
void grove_predict_blank(const grove_args *args, int64_t first, int64_t last);

#endif
