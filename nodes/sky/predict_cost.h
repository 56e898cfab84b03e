/* Costs of sums over sources on this machine: as `grove tune` has measured them, or those built in.
 * Nothing is measured here, so the choice of a way does not depend on a run's timing. */
#ifndef GROVE_NODES_PREDICT_COST_H
#define GROVE_NODES_PREDICT_COST_H

#include "../../kernels/sky/predict_cost.h"
#include "../../kernels/sky/predict_cost_cuda.h"

#include "plugin.h"
#include "unstable/tuning.h"

/* For an instruction set (grove_isa), in single precision; jones: PREDICT_COSTS_. */
grove_predict_costs predict_costs(int isa, int jones);
/* On the machine's GPU. */
grove_predict_cuda_costs predict_cuda_costs(void);

/* Sources of the node's sky model, in all and of a kind; none known: 0. */
typedef struct {
    int64_t all, gaussians, polarised;
} predict_sources;
predict_sources predict_count_sources(const grove_node *node);

/* The share of times and baselines for which the node's observation has rows. */
double predict_rows_share(const grove_node *node);

/* Whether the sum by stations costs less than by baselines; `said` gets the reason in words. vary:
 * Jones terms inside the sum vary with frequency. */
bool predict_stations_win(const grove_node *node, const grove_predict_plan *plan, bool vary,
                          char *said, size_t size);

/* Whether sums by baselines, between Jones terms that do not vary with frequency, cost less with a
 * source in each lane than with a row. */
bool predict_sources_win(const grove_node *node, const grove_predict_plan *plan, bool vary);

/* Whether most rows' coordinates differ from the stations' by a phase that matters at a frequency
 * (Hz), in single precision and for sources as far from the phase centre as in the sky model, by a
 * property of the observation. */
bool predict_rows_stray(const grove_node *node, double frequency);

/* How `grove tune` stores costs; for the cpu `what` gets the words. */
enum { PREDICT_COSTS_WORDS = 64 };
grove_tuning predict_costs_entry(const grove_predict_costs *costs, int isa, int jones,
                                 char what[PREDICT_COSTS_WORDS]);
grove_tuning predict_cuda_costs_entry(const grove_predict_cuda_costs *costs);

#endif
