#include "nodes/sky/predict_cost.h"

#include "../../kernels/common/visibility.h"
#include "facts.h"

#include <math.h>
#include <stdio.h>

enum { CUDA_NUMBERS = sizeof(grove_predict_cuda_costs) / sizeof(double) };

grove_tuning predict_cuda_costs_entry(const grove_predict_cuda_costs *costs)
{
    grove_tuning entry = {"predict, GPU", (const double *)costs, CUDA_NUMBERS};

    return entry;
}

grove_predict_cuda_costs predict_cuda_costs(void)
{
    grove_predict_cuda_costs costs = grove_predict_cuda_measured();

    grove_tuning_find(predict_cuda_costs_entry(&costs).what, (double *)&costs, CUDA_NUMBERS);
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

bool predict_shares_matrices(const grove_predict_plan *plan, bool vary)
{
    return plan->flat && !vary && plan->channels.regular && plan->count >= GROVE_PREDICT_SHARED &&
           (!plan->smear_freq || plan->equal_width);
}

/* Measured with 7 to 128 stations and 1 to 64 channels, on Zen 5 with all its instruction sets: in
 * 97 of 100 sums the chosen way takes at most 1.3 times as long as the other. Products take the
 * same for each channel: a phase for each station, and a multiply-add or some for each pair. */
double predict_least_stations(const grove_predict_plan *plan, bool vary, int elements, int sums)
{
    const bool regular = plan->channels.regular || plan->channels.deviation > 0;
    const double channels = regular ? (double)plan->count : 1, lanes = 4 << plan->isa;
    double least = 0;

    if (plan->jones != GROVE_PREDICT_WITHIN || predict_shares_matrices(plan, vary))
        /* baselines share a recurrence of phases; of spectra, channels of their own weights */
        least = (plan->flat ? 8 + 1.4 * channels : channels) * (elements > 1 ? 2 * elements
                                                                : sums > 1   ? 2
                                                                             : 1);
    else if (vary && channels >= lanes)
        /* baselines have a channel in each lane; terms of a channel alone lie far apart */
        least = elements == 4 ? 200 : elements == 2 ? channels : channels / 3;
    return least * (8 + lanes) / 24; /* narrow vectors gain less from a recurrence */
}

bool predict_stations_win(const grove_node *node, const grove_predict_plan *plan, bool vary,
                          char *reason, size_t size)
{
    const predict_sources sources = predict_count_sources(node);
    const bool within = plan->jones == GROVE_PREDICT_WITHIN;
    const int elements = within ? jones_elements(node) : 1, lanes = 4 << plan->isa;
    const grove_axis *stations =
        grove_node_input_axis(node, GROVE_PREDICT_UVW_LEFT, GROVE_AXIS_STATION);
    const double least =
        predict_least_stations(plan, vary, elements, count_sums(&sources, elements));

    if (sources.gaussians && sources.all - sources.gaussians < GROVE_PREDICT_SPLIT) {
        snprintf(reason, size, "Gaussian sources");
        return false;
    }
    if (!within && sources.all < lanes) { /* which by stations would be sources */
        snprintf(reason, size, "fewer than %d sources", lanes);
        return false;
    }
    snprintf(reason, size, "sums by stations are faster from %.0f of them on",
             fmax(2, ceil(least)));
    return stations && predict_rows_share(node) * (double)stations->size >= least;
}
