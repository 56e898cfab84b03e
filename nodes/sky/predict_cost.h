/* Which way to a sum over sources takes less time, by numbers that are built in; on a GPU by costs,
 * built in or as `grove tune` has measured them. Nothing is measured here, so the choice of a way
 * does not depend on a run's timing. */
#ifndef GROVE_NODES_PREDICT_COST_H
#define GROVE_NODES_PREDICT_COST_H

#include "../../kernels/sky/predict_cost_cuda.h"

#include "plugin.h"
#include "unstable/tuning.h"

/* On the machine's GPU. */
grove_predict_cuda_costs predict_cuda_costs(void);

/* Sources of the node's sky model, in all and of a kind; none known: 0. */
typedef struct {
    int64_t all, gaussians, polarised;
} predict_sources;
predict_sources predict_count_sources(const grove_node *node);

/* The share of times and baselines for which the node's observation has rows. */
double predict_rows_share(const grove_node *node);

/* Whether channels share the product of a point's Jones terms and brightness, and phases are found
 * by recurrence. vary: Jones terms inside the sum vary with frequency. */
bool predict_shares_matrices(const grove_predict_plan *plan, bool vary);

/* The number of stations from which on a sum by stations takes less time than by baselines, of all
 * pairs of them. elements: 1, 2 or 4 of the Jones terms; sums: elements of the result that differ
 * for most sources. */
double predict_least_stations(const grove_predict_plan *plan, bool vary, int elements, int sums);

/* Whether the sum by stations takes less time than by baselines; `reason` gets the reason in words.
 */
bool predict_stations_win(const grove_node *node, const grove_predict_plan *plan, bool vary,
                          char *reason, size_t size);

/* Whether most rows' coordinates differ from the stations' by a phase that matters at a frequency
 * (Hz), in single precision and for sources as far from the phase centre as in the sky model, by a
 * property of the observation. */
bool predict_rows_stray(const grove_node *node, double frequency);

/* How `grove tune` stores costs. */
grove_tuning predict_cuda_costs_entry(const grove_predict_cuda_costs *costs);

#endif
