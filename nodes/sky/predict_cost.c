#include "nodes/sky/predict_cost.h"

#include "../../kernels/common/visibility.h"
#include "../../kernels/simd/isa.h"
#include "facts.h"

#include <math.h>
#include <stdio.h>

enum {
    NUMBERS = sizeof(grove_predict_costs) / sizeof(double),
    CUDA_NUMBERS = sizeof(grove_predict_cuda_costs) / sizeof(double)
};

grove_tuning predict_costs_entry(const grove_predict_costs *costs, int isa, int jones,
                                 char what[PREDICT_COSTS_WORDS])
{
    grove_tuning entry = {GROVE_TUNING_CPU, what, (const double *)costs, NUMBERS};

    snprintf(what, PREDICT_COSTS_WORDS, "predict, %s%s", grove_isa_name((grove_isa)isa),
             jones == PREDICT_COSTS_VARIED  ? ", Jones terms of channels"
             : jones == PREDICT_COSTS_JONES ? ", Jones terms"
                                            : "");
    return entry;
}

grove_tuning predict_cuda_costs_entry(const grove_predict_cuda_costs *costs)
{
    grove_tuning entry = {GROVE_TUNING_GPU, "predict, GPU", (const double *)costs, CUDA_NUMBERS};

    return entry;
}

grove_predict_costs predict_costs(int isa, int jones)
{
    grove_predict_costs costs = grove_predict_usual_costs(isa, 4, jones);
    char what[PREDICT_COSTS_WORDS];

    predict_costs_entry(&costs, isa, jones, what);
    grove_tuning_find(GROVE_TUNING_CPU, what, (double *)&costs, NUMBERS);
    return costs;
}

grove_predict_cuda_costs predict_cuda_costs(void)
{
    grove_predict_cuda_costs costs = grove_predict_cuda_measured();

    grove_tuning_find(GROVE_TUNING_GPU, predict_cuda_costs_entry(&costs).what, (double *)&costs,
                      CUDA_NUMBERS);
    return costs;
}

predict_sources predict_count_sources(const grove_node *node)
{
    grove_node *sky = grove_node_object(node, "sky");
    const grove_axis *axis = sky ? grove_node_axis(sky, "source") : NULL;
    /* With phases written out in the tree there is one direction, and no shape. */
    bool directions = grove_node_input_axis(node, GROVE_PREDICT_LMN, GROVE_AXIS_SOURCE) != NULL;
    const double *shape = sky && directions ? grove_node_member_data(sky, "shape") : NULL;
    const double *stokes = sky ? grove_node_member_data(sky, "stokes") : NULL;
    predict_sources count = {.all = axis ? axis->size : 0};

    for (int64_t k = 0; k < count.all; k++) {
        const double *s = stokes ? stokes + 4 * k : NULL;
        count.gaussians += shape && grove_is_gaussian(shape + 3 * k);
        count.polarised += s && (s[1] != 0 || s[2] != 0 || s[3] != 0);
    }
    return count;
}

double predict_rows_share(const grove_node *node)
{
    const grove_observation_facts *facts = grove_node_observation(grove_node_object(node, "obs"));

    return facts ? facts->rows_share : 1;
}

bool predict_rows_stray(const grove_node *node, double frequency)
{
    grove_node *sky = grove_node_object(node, "sky"), *obs = grove_node_object(node, "obs");
    const grove_axis *axis = sky ? grove_node_axis(sky, "source") : NULL;
    const double *radec = sky ? grove_node_member_data(sky, "radec") : NULL;
    const double *centre = obs ? grove_node_member_data(obs, "phase_centre") : NULL;
    const grove_observation_facts *facts = grove_node_observation(obs);
    double largest = 0;

    if (!facts || !centre || !radec)
        return false;
    for (int64_t k = 0; axis && k < axis->size; k++) {
        double turn = radec[2 * k] - centre[0], dec = radec[2 * k + 1];
        double l = cos(dec) * sin(turn);
        double m = sin(dec) * cos(centre[1]) - cos(dec) * sin(centre[1]) * cos(turn);
        largest = fmax(largest, fmax(fabs(l), fabs(m)));
    }
    return facts->uvw_misclosure * largest * frequency * 2 / GROVE_SPEED_OF_LIGHT >
           1e-7; /* as is_stray */
}

/* Elements of the larger one of the Jones terms of both sides. */
static int jones_elements(const grove_node *node)
{
    int most = 1;

    for (int side = GROVE_PREDICT_LEFT; side <= GROVE_PREDICT_RIGHT; side++) {
        const grove_form *form = grove_node_input_form(node, side);
        int elements = !form                           ? 1
                       : form->shape == GROVE_MATRIX   ? 4
                       : form->shape == GROVE_DIAGONAL ? 2
                                                       : 1;
        most = elements > most ? elements : most;
    }
    return most;
}

/* Elements of the result that are summed separately, for most sources. */
static int count_sums(const predict_sources *sources, int elements)
{
    int64_t plain = sources->all - sources->polarised;
    int polarised = 2 * sources->polarised > sources->all ||
                    (sources->polarised > 0 && plain < GROVE_PREDICT_SPLIT);

    return polarised ? 4 : elements;
}

/* The shape of the node's sum. vary: Jones terms inside the sum vary with frequency. */
static grove_predict_shape shape_of(const grove_node *node, const grove_predict_plan *plan,
                                    bool vary, const predict_sources *sources)
{
    const grove_axis *stations =
        grove_node_input_axis(node, GROVE_PREDICT_UVW_LEFT, GROVE_AXIS_STATION);
    const grove_axis *baselines =
        grove_node_input_axis(node, GROVE_PREDICT_UVW, GROVE_AXIS_BASELINE);
    const bool within = plan->jones == GROVE_PREDICT_WITHIN;
    const bool regular = plan->channels.regular || plan->channels.deviation > 0;
    const int many = within ? GROVE_PREDICT_FEW : GROVE_PREDICT_RECURRED;
    const int elements = within ? jones_elements(node) : 1;
    const grove_observation_facts *facts = grove_node_observation(grove_node_object(node, "obs"));
    const grove_predict_shape shape = {.baselines = baselines ? baselines->size : 1,
                                       .stations = stations ? stations->size : 1,
                                       .channels = plan->count,
                                       .sources = sources->all,
                                       .gaussians = sources->gaussians,
                                       .regular = regular && plan->count >= many,
                                       .flat = plan->flat,
                                       .smear_time = plan->smear_time,
                                       .smear_freq = plan->smear_freq,
                                       .fitted = facts && facts->uvw_compared,
                                       .jones = !within ? PREDICT_COSTS_POINTS
                                                : vary  ? PREDICT_COSTS_VARIED
                                                        : PREDICT_COSTS_JONES,
                                       .lanes = 4 << plan->isa,
                                       .elements = elements,
                                       .sums = count_sums(sources, elements)};

    return shape;
}

bool predict_sources_win(const grove_node *node, const grove_predict_plan *plan, bool vary)
{
    const predict_sources sources = predict_count_sources(node);
    grove_predict_shape shape = shape_of(node, plan, vary, &sources);
    const grove_predict_costs costs = predict_costs(plan->isa, shape.jones);

    shape.strays = grove_node_written(node, "uvw") || predict_rows_stray(node, plan->reference);
    shape.baselines = (int64_t)ceil(predict_rows_share(node) * (double)shape.baselines);
    return plan->way == GROVE_PREDICT_BASELINE && !(plan->cutoff > 0) &&
           grove_predict_sources_win(&costs, &shape);
}

bool predict_stations_win(const grove_node *node, const grove_predict_plan *plan, bool vary,
                          char *said, size_t size)
{
    const predict_sources sources = predict_count_sources(node);
    const grove_predict_shape shape = shape_of(node, plan, vary, &sources);
    const grove_predict_costs costs = predict_costs(plan->isa, shape.jones);
    double by_baselines =
        predict_rows_share(node) * grove_predict_cost_of_baselines(&costs, &shape);
    grove_predict_shape apart = shape;
    apart.share = predict_rows_share(node);
    if (sources.gaussians) /* in a sum of their own: visibilities are stored twice */
        apart.sources = (shape.sources + 1) / 2;
    double by_stations = grove_predict_cost_of_stations(&costs, &apart);
    bool win = by_stations < by_baselines;

    if (sources.gaussians && sources.all - sources.gaussians < GROVE_PREDICT_SPLIT) {
        snprintf(said, size, "Gaussian sources");
        return false;
    }
    snprintf(said, size, "%.3g times faster than by %s",
             win ? by_baselines / by_stations : by_stations / by_baselines,
             win ? "baselines" : "stations");
    return win;
}
