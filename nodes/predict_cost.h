/* Costs of sums over sources on this machine: measured once, kept in the user's cache folder. */
#ifndef GROVE_NODES_PREDICT_COST_H
#define GROVE_NODES_PREDICT_COST_H

#include "../kernels/predict/predict_cost.h"

#include <stdbool.h>

/* For an instruction set (grove_isa), in single precision, without Jones terms inside the sum or
 * with matrices that do not vary with frequency. They are read from $XDG_CACHE_HOME/grove/predict
 * (or ~/.cache/grove/predict), or else measured and written there. If that cannot be written,
 * typical costs are used, so that runs do not differ by the measurement. */
grove_predict_costs predict_costs(int isa, int jones);

/* Reads the costs from the first line of such a file that begins with `key`. False, with nothing
 * written, if there is none or its numbers are implausible. */
bool predict_costs_parse(const char *text, const char *key, grove_predict_costs *costs);

#endif
