/* What sums over sources cost on this machine, measured once and kept in the user's cache folder.
 */
#ifndef GROVE_NODES_PREDICT_COST_H
#define GROVE_NODES_PREDICT_COST_H

#include "../kernels/predict/predict_cost.h"

#include <stdbool.h>

/* For an instruction set (grove_isa), in single precision, without Jones terms inside the sum or
 * with matrices that do not vary with frequency: from $XDG_CACHE_HOME/grove/predict (or
 * ~/.cache/grove/predict), or measured and written there; where that cannot be written the usual
 * costs, so that runs do not differ by what was measured. */
grove_predict_costs predict_costs(int isa, int jones);

/* Takes the costs of the first line of such a file that begins with `key`: false, and nothing is
 * written, where there is none or its numbers are none that can be believed. */
bool predict_costs_parse(const char *text, const char *key, grove_predict_costs *costs);

#endif
