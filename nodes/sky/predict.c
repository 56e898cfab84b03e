#include "nodes/sky/phase_rate.h"
#include "nodes/sky/predict_cost.h"
#include "nodes/sky/smear.h"

#include "../../kernels/common/visibility.h"
#include "../../kernels/simd/isa.h"
#include "../../kernels/sky/predict.h"
#include "../../kernels/sky/predict_cuda.h"
#include "../../kernels/sky/predict_skip.h"
#include "unstable/tuning.h"

#include <stdio.h>
#include <string.h>

static const grove_port inputs[] = {
    {"sky", GROVE_OBJECT, "the sources", .object = "sky"},
    {"obs", GROVE_OBJECT, "coordinates, times and frequencies", .object = "observation"},
    {0},
};

static const grove_port options[] = {
    SMEAR_OPTIONS,
    {"left", GROVE_VALUE_NUMBER, "product of the Jones terms of station p; none: unity",
     .initial = "none", .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {"right", GROVE_VALUE_NUMBER,
     "product of the Jones terms of station q, conjugate transposed; none: unity",
     .initial = "none", .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .linear = GROVE_LINEAR},
    {"uvw_left", GROVE_VALUE_LENGTH,
     "coordinates of station p, m, for sums by stations; baselines whose uvw is not the difference "
     "of both stations' coordinates are summed separately",
     .initial = "obs.station_uvw[p]", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR,
     .vector = 3},
    {"uvw_right", GROVE_VALUE_LENGTH, "coordinates of station q, m",
     .initial = "obs.station_uvw[q]", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_VECTOR,
     .vector = 3},
    {"skip", GROVE_VALUE,
     "a value with flags, such as obs.data: where all its elements are flagged nothing is "
     "computed, "
     "and the result is 0 and flagged",
     .initial = "none", .handing = GROVE_AS_FLAGS, .shapes = GROVE_ANY_SHAPE},
    {"cutoff", GROVE_NUMBER,
     "fraction of a source's flux: a source may be left out of visibilities in which its shape and "
     "smearing leave less of it; 0: no source is left out",
     .initial = "0"},
    {"method", GROVE_CHOICE,
     "how the sum is taken: baseline by baseline, by products of matrices of stations by sources, "
     "or source by source in double precision; auto: the method that should be fastest",
     .initial = "auto", .choices = "auto baselines stations plain"},
    {0},
};

/* Fails when inputs belong to two sky models. */
static int check_sources(grove_node *node)
{
    const grove_axis *source = NULL;

    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axis = grove_node_input_axis(node, k, GROVE_AXIS_SOURCE);
        if (axis && source && axis != source)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "its inputs belong to two sky models; one predict sums over "
                                   "one of them");
        source = axis ? axis : source;
    }
    return 0;
}

/* Requires that channels depend on frequency only and geometry not on frequency; point has no such
 * limits. */
static int check_axes(grove_node *node)
{
    static const char *const channels[] = {"freq", "channel_width"};
    static const char *const geometry[] = {"lmn", "shape", "uvw", "uvw_rate", "interval"};

    for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++)
        for (int kind = GROVE_AXIS_SOURCE; kind <= GROVE_AXIS_OTHER; kind++)
            if (kind != GROVE_AXIS_FREQ &&
                grove_node_input_axis(node, grove_node_input(node, channels[i]), kind))
                return grove_node_fail_option(node, channels[i], "may vary with frequency only");
    for (size_t i = 0; i < sizeof(geometry) / sizeof(geometry[0]); i++)
        if (grove_node_input_axis(node, grove_node_input(node, geometry[i]), GROVE_AXIS_FREQ))
            return grove_node_fail_option(
                node, geometry[i], "may not vary with frequency; sum[s](point(...)) allows it");
    return check_sources(node);
}

/* Whether input k varies along an axis that is not in `kinds` (bits). */
static bool varies(const grove_node *node, int k, unsigned kinds)
{
    for (int kind = GROVE_AXIS_SOURCE; kind <= GROVE_AXIS_OTHER; kind++)
        if (!(kinds >> kind & 1) && grove_node_input_axis(node, k, kind))
            return true;
    return false;
}

/* The reason why the vectorised sums cannot compute it, or NULL. */
static const char *unfit(const grove_node *node)
{
    const unsigned source = 1u << GROVE_AXIS_SOURCE, freq = 1u << GROVE_AXIS_FREQ;
    const unsigned time = 1u << GROVE_AXIS_TIME;

    if (varies(node, GROVE_PREDICT_BRIGHTNESS, source | freq | time))
        return "the brightness varies with more than source, time and frequency; write other "
               "dependences as terms of stations";
    if (varies(node, GROVE_PREDICT_LMN, source | time) ||
        varies(node, GROVE_PREDICT_SHAPE, source | time))
        return "directions or shapes vary with more than source and time";
    if (varies(node, GROVE_PREDICT_UVW, ~source) || varies(node, GROVE_PREDICT_RATE, ~source) ||
        varies(node, GROVE_PREDICT_INTERVAL, ~source))
        return "coordinates vary with the source";
    return NULL;
}

/* Whether all inputs factor by station: coordinates and Jones terms, apart from smearing. */
static bool is_of_stations(const grove_node *node)
{
    const unsigned source = 1u << GROVE_AXIS_SOURCE, time = 1u << GROVE_AXIS_TIME;
    const unsigned station = 1u << GROVE_AXIS_STATION, freq = 1u << GROVE_AXIS_FREQ;
    const unsigned baseline = 1u << GROVE_AXIS_BASELINE;

    return !varies(node, GROVE_PREDICT_UVW, time | baseline) &&
           !varies(node, GROVE_PREDICT_UVW_LEFT, time | station) &&
           !varies(node, GROVE_PREDICT_UVW_RIGHT, time | station) &&
           !varies(node, GROVE_PREDICT_LEFT, source | time | station | freq) &&
           !varies(node, GROVE_PREDICT_RIGHT, source | time | station | freq);
}

/* The reason why products of matrices of stations by sources cannot compute it, or NULL. */
static const char *unfit_for_stations(const grove_node *node)
{
    if (grove_node_choice(node, "smear"))
        return "smearing couples the stations";
    if (!is_of_stations(node))
        return "an input varies with more than source, time, station and frequency";
    return NULL;
}

/* Whether Jones terms inside the sum vary with frequency. */
static bool jones_vary(const grove_node *node)
{
    return grove_node_input_axis(node, GROVE_PREDICT_LEFT, GROVE_AXIS_FREQ) ||
           grove_node_input_axis(node, GROVE_PREDICT_RIGHT, GROVE_AXIS_FREQ);
}

/* Whether the sum by baselines uses the phases of stations. */
static bool uses_stations(const grove_node *node, const grove_predict_plan *plan)
{
    return plan->way == GROVE_PREDICT_STATION || plan->factors ||
           (plan->way == GROVE_PREDICT_BASELINE && plan->jones == GROVE_PREDICT_WITHIN &&
            is_of_stations(node) &&
            (!predict_shares_matrices(plan, jones_vary(node)) ||
             predict_count_sources(node).gaussians));
}

/* Whether each time has sources of its own. */
static bool sources_move(const grove_node *node)
{
    return grove_node_input_axis(node, GROVE_PREDICT_BRIGHTNESS, GROVE_AXIS_TIME) ||
           grove_node_input_axis(node, GROVE_PREDICT_LMN, GROVE_AXIS_TIME) ||
           grove_node_input_axis(node, GROVE_PREDICT_SHAPE, GROVE_AXIS_TIME);
}

static int check_cutoff(const grove_node *node)
{
    double cutoff = grove_node_number(node, "cutoff");

    if (!(cutoff >= 0 && cutoff < 1))
        return grove_node_fail_option(
            node, "cutoff", "%g is not a fraction of a source, which is at least 0 and less than 1",
            cutoff);
    return 0;
}

/* Whether input k is known to hold the coordinates of the frequency axis itself. Users may give
 * others. */
static bool is_of_axis(const grove_node *node, int k, const double *numbers, int64_t count)
{
    int64_t held = 0;
    const double *data = grove_node_input_data(node, k, &held);

    return data && numbers && held == count &&
           !memcmp(data, numbers, (size_t)count * sizeof(*data));
}

/* Properties of the channels, for the whole run: all tiles must be computed in the same way. */
static void find_channels(const grove_node *node, grove_predict_plan *plan)
{
    const grove_axis *axis = grove_node_input_axis(node, GROVE_PREDICT_FREQ, GROVE_AXIS_FREQ);
    int smear = grove_node_choice(node, "smear");

    plan->smear_time = smear & 1;
    plan->smear_freq = smear >> 1 & 1;
    plan->flat = !grove_node_input_axis(node, GROVE_PREDICT_BRIGHTNESS, GROVE_AXIS_FREQ);
    plan->count = axis ? axis->size : 1;
    plan->reference = 1e9;
    if (!axis || !axis->centre || axis->size < 1)
        return;
    if (is_of_axis(node, GROVE_PREDICT_FREQ, axis->centre, axis->size))
        grove_predict_channels_of(axis->centre, axis->size, &plan->channels);
    plan->reference = fabs(axis->centre[axis->size / 2]);
    plan->width = axis->width ? axis->width[0] : 0;
    plan->equal_width = is_of_axis(node, GROVE_PREDICT_WIDTH, axis->width, axis->size);
    for (int64_t k = 0; k < axis->size && axis->width; k++)
        plan->equal_width = plan->equal_width && axis->width[k] == plan->width;
}

enum {
    REASON_SIZE = 160,
    AUTO = 0,
    BASELINES,
    STATIONS,
    PLAIN
}; /* the words of the option method */

/* Whether a CUDA device sums faster by stations. By its own costs, regardless of the CPU's
 * method. */
static bool products_win(const grove_node *node, const grove_predict_plan *plan)
{
    const grove_axis *times = grove_node_input_axis(node, GROVE_PREDICT_UVW, GROVE_AXIS_TIME);
    const grove_axis *baselines =
        grove_node_input_axis(node, GROVE_PREDICT_UVW, GROVE_AXIS_BASELINE);
    const grove_predict_cuda_costs costs = predict_cuda_costs();
    const grove_predict_cuda_shape shape = {.baselines = baselines ? baselines->size : 1,
                                            .stations = plan->stations,
                                            .channels = plan->count,
                                            .regular = plan->channels.regular,
                                            .flat = plan->flat,
                                            .jones = plan->jones != GROVE_PREDICT_AROUND,
                                            .varies = jones_vary(node)};

    return plan->count * (times ? times->size : 1) >= PREDICT_CUDA_BUSY &&
           grove_predict_cuda_by_stations(&costs, &shape) <
               predict_rows_share(node) * grove_predict_cuda_by_baselines(&costs, &shape);
}

/* Whether a CUDA device sums by stations. */
static void find_products(const grove_node *node, grove_predict_plan *plan)
{
    const grove_axis *stations =
        grove_node_input_axis(node, GROVE_PREDICT_UVW_LEFT, GROVE_AXIS_STATION);
    int method = grove_node_choice(node, "method");

    plan->stations = stations && stations->size < INT32_MAX / 4 ? (int32_t)stations->size : 0;
    plan->products = plan->way != GROVE_PREDICT_PLAIN && plan->stations &&
                     !unfit_for_stations(node) && !predict_count_sources(node).gaussians &&
                     (method == STATIONS ||
                      (method == AUTO && grove_tuning_has_gpu() && products_win(node, plan)));
}

/* The least number of channels for a recurrence. */
static int least_recurred(const grove_predict_plan *plan)
{
    return !plan->smear_freq || plan->equal_width ? GROVE_PREDICT_RECURRED
                                                  : GROVE_PREDICT_RECURRED_BLOCK;
}

/* How phases are found in the sum by baselines. */
static const char *how_phases(const grove_node *node, const grove_predict_plan *plan)
{
    if (plan->count < least_recurred(plan) && !uses_stations(node, plan))
        return "every phase evaluated: few channels";
    if (plan->channels.deviation > 0 && !plan->factors)
        return "phasor recurrence over blocks of channels where their unequal spacing moves no "
               "phase by 1e-7 turns (3e-13 in double precision), else every phase evaluated";
    return uses_stations(node, plan) ? "with the factors of stations in each channel"
           : plan->channels.regular  ? "phasor recurrence over blocks of channels"
                                     : "every phase evaluated: channels are not equally spaced";
}

static void report(grove_node *node, const grove_predict_plan *plan, const char *why)
{
    const char *isa = grove_isa_name((grove_isa)plan->isa);
    const char *how = how_phases(node, plan);
    const char *each = sources_move(node) ? "; each time separately: the sky varies with it" : "";

    if (plan->way == GROVE_PREDICT_STATION)
        grove_node_note(
            node, "products of matrices of stations by sources (%s): %s%s%s%s%s", isa, why,
            predict_rows_stray(node, plan->reference)
                ? "; rows by baselines: uvw are not differences of the stations'"
                : "",
            predict_count_sources(node).gaussians ? "; Gaussian sources by baselines" : "", each,
            plan->products ? "" : "; GPUs sum by baselines");
    else if (plan->way == GROVE_PREDICT_BASELINE)
        grove_node_note(node, "direct sum for baselines (%s): %s; %s%s%s%s", isa, why, how, each,
                        plan->jones == GROVE_PREDICT_FOLDED
                            ? "; Jones terms of the source only make apparent fluxes"
                        : plan->jones == GROVE_PREDICT_WITHIN ? "; Jones terms of source and "
                                                                "station inside the sum"
                                                              : "",
                        plan->products ? "; GPUs sum by stations" : "");
    else
        grove_node_note(node, "direct sum in double, source by source, %s; no vector code: %s",
                        plan->channels.regular ? "phasor recurrence over blocks of channels"
                                               : "every phase evaluated",
                        why);
}

/* Where Jones terms enter: around the sum, folded into the fluxes, or within the sum. */
static int place_jones(const grove_node *node)
{
    const unsigned kinds = 1u << GROVE_AXIS_SOURCE | 1u << GROVE_AXIS_FREQ;

    if (!grove_node_input_axis(node, GROVE_PREDICT_LEFT, GROVE_AXIS_SOURCE) &&
        !grove_node_input_axis(node, GROVE_PREDICT_RIGHT, GROVE_AXIS_SOURCE))
        return GROVE_PREDICT_AROUND;
    if (!varies(node, GROVE_PREDICT_LEFT, kinds) && !varies(node, GROVE_PREDICT_RIGHT, kinds))
        return GROVE_PREDICT_FOLDED;
    return GROVE_PREDICT_WITHIN;
}

/* The way that the option `method` asks for, else the cheapest; and why. Fails when the requested
 * way is not possible. */
static int choose_way(grove_node *node, grove_predict_plan *plan, char why[REASON_SIZE])
{
    const char *unfit_why = unfit(node), *no_stations = unfit_for_stations(node);
    int method = grove_node_choice(node, "method");

    snprintf(why, REASON_SIZE, "method=%s", grove_node_text(node, "method"));
    plan->way = GROVE_PREDICT_PLAIN;
    if (method == PLAIN)
        return 0;
    if (unfit_why) {
        snprintf(why, REASON_SIZE, "%s", unfit_why);
    } else if (method != AUTO) {
        plan->way = method == STATIONS ? GROVE_PREDICT_STATION : GROVE_PREDICT_BASELINE;
    } else if (no_stations || predict_rows_stray(node, plan->reference)) {
        plan->way = GROVE_PREDICT_BASELINE;
        snprintf(why, REASON_SIZE, "%s",
                 no_stations ? no_stations : "uvw are not differences of the stations'");
    } else {
        bool win = predict_stations_win(node, plan, jones_vary(node), why, REASON_SIZE);
        plan->way = win ? GROVE_PREDICT_STATION : GROVE_PREDICT_BASELINE;
    }
    if (method != AUTO && (unfit_why || (method == STATIONS && no_stations)))
        return grove_node_fail_option(node, "method", "%s cannot be: %s",
                                      grove_node_text(node, "method"),
                                      unfit_why ? unfit_why : no_stations);
    return 0;
}

/* Whether phases of baselines are products of phases of stations in a sum without Jones terms:
 * where channels are few and smeared, and a time has many more rows than stations: at least as many
 * as 16 stations have baselines. */
static bool factors_win(const grove_node *node, const grove_predict_plan *plan)
{
    enum { MANY = 16 };
    const grove_axis *stations =
        grove_node_input_axis(node, GROVE_PREDICT_UVW_LEFT, GROVE_AXIS_STATION);
    const grove_axis *baselines =
        grove_node_input_axis(node, GROVE_PREDICT_UVW, GROVE_AXIS_BASELINE);

    return plan->way == GROVE_PREDICT_BASELINE && (plan->smear_time || plan->smear_freq) &&
           plan->count < GROVE_PREDICT_RECURRED_BLOCK && !(plan->cutoff > 0) &&
           !grove_node_input_form(node, GROVE_PREDICT_LEFT) &&
           !grove_node_input_form(node, GROVE_PREDICT_RIGHT) && is_of_stations(node) && stations &&
           baselines &&
           2 * predict_rows_share(node) * (double)baselines->size >=
               (MANY - 1) * (double)stations->size;
}

/* Chooses the way to compute the sum, once for the run. */
static int find_way(grove_node *node)
{
    grove_predict_plan plan = {0};
    grove_isa isa;
    char reason[REASON_SIZE];

    if (grove_isa_choose(&isa, reason))
        return grove_node_fail(node, GROVE_INVALID, "%s", reason);
    find_channels(node, &plan);
    plan.isa = (int32_t)isa;
    plan.cutoff = grove_node_number(node, "cutoff");
    plan.jones = place_jones(node);
    if (plan.jones == GROVE_PREDICT_FOLDED)
        plan.flat = plan.flat && !jones_vary(node);
    int code = choose_way(node, &plan, reason);
    if (code)
        return code;
    find_products(node, &plan);
    plan.factors = factors_win(node, &plan);
    if (!uses_stations(node, &plan) && !plan.products) {
        grove_node_drop_input(node, GROVE_PREDICT_UVW_LEFT);
        grove_node_drop_input(node, GROVE_PREDICT_UVW_RIGHT);
    }
    grove_node_set_state(node, &plan, sizeof(plan));
    report(node, &plan, reason);
    return 0;
}

static int check(grove_node *node)
{
    const grove_form *left = grove_node_input_form(node, GROVE_PREDICT_LEFT);
    const grove_form *right = grove_node_input_form(node, GROVE_PREDICT_RIGHT);
    grove_form form = {.shape = grove_node_input_form(node, 0)->shape,
                       .complex_ = true,
                       .unit = grove_node_input_form(node, 0)->unit};
    int code = check_axes(node);

    if (!code)
        code = smear_check(node);
    if (!code)
        code = check_cutoff(node);
    if (code)
        return code;
    if (left && left->shape > form.shape)
        form.shape = left->shape;
    if (right && right->shape > form.shape)
        form.shape = right->shape;
    if (grove_node_choice(node, "smear")) /* which depends on directions, too */
        grove_node_set_tangent(node, DIRECTION_STEP);
    code = find_way(node);
    if (code)
        return code;
    grove_node_consume(node, GROVE_AXIS_SOURCE);
    grove_node_set_output(node, &form);
    return 0;
}

static void run_rows(void *context, int64_t first, int64_t last)
{
    grove_predict_cells(context, first, last);
}

static void run_pieces(void *context, int64_t first, int64_t last)
{
    grove_predict_sum_run(context, first, last);
}

static void run_blank(void *context, int64_t first, int64_t last)
{
    grove_predict_blank(context, first, last);
}

static int eval_sum(const grove_call *call, const grove_args *args)
{
    grove_predict_sum *sum = grove_predict_sum_new(args);
    int code = 0;

    if (!sum)
        return grove_node_fail(call->node, GROVE_NO_MEMORY, "no memory to pack the sources");
    for (grove_predict_sum *each = sum; each && !code; each = grove_predict_sum_next(each)) {
        grove_predict_sum_cut(each, grove_call_threads(call));
        grove_call_parallel(call, grove_predict_sum_pieces(each), run_pieces, each);
        if (grove_predict_sum_failed(each))
            code = grove_node_fail(call->node, GROVE_NO_MEMORY, "no memory to pack the stations");
    }
    grove_predict_sum_free(sum);
    return code;
}

/* Cell `index` along axis d of the iteration space, alone. */
static void take_cell(grove_args *args, int d, int64_t index)
{
    for (int k = -1; k < args->inputs; k++) {
        grove_view *view = k < 0 ? &args->out : &args->in[k];
        if (view->data)
            view->data = (char *)view->data + view->stride[d] * index;
    }
    args->origin[d] += index;
    args->size[d] = 1;
}

/* Axes that one sum takes: not time, where each time has sources of its own. */
static unsigned known_axes(const grove_node *node)
{
    const unsigned time = sources_move(node) ? 0 : 1u << GROVE_AXIS_TIME;

    return 1u << GROVE_AXIS_SOURCE | 1u << GROVE_AXIS_FREQ | 1u << GROVE_AXIS_BASELINE | time;
}

/* Sums by stations or sources know times, baselines and channels only: one for each cell of other
 * axes, from axis d on. */
static int eval_sums(const grove_call *call, const grove_args *args, int d)
{
    const unsigned known = known_axes(call->node);
    int code = 0;

    while (d < args->axes &&
           (args->size[d] == 1 || (args->axis[d] < GROVE_AXIS_OTHER && known >> args->axis[d] & 1)))
        d++;
    if (d == args->axes)
        return eval_sum(call, args);
    for (int64_t i = 0; i < args->size[d] && !code; i++) {
        grove_args cell = *args;
        take_cell(&cell, d, i);
        code = eval_sums(call, &cell, d + 1);
    }
    return code;
}

static int eval(const grove_call *call)
{
    grove_args args = *call->args;
    grove_predict_plan plan;
    int code = 0;

    memcpy(&plan, args.state.bytes, sizeof(plan));
    if (plan.way != GROVE_PREDICT_PLAIN)
        code = eval_sums(call, &args, 0);
    else
        grove_call_parallel(call, grove_predict_rows(&args), run_rows, &args);
    if (args.in[GROVE_PREDICT_SKIP].data && !call->flagged_unread && !code)
        grove_call_parallel(call, grove_predict_rows(&args), run_blank, &args);
    return code;
}

static int device(const grove_call *call)
{
    return grove_call_launch(call, grove_predict_device(call->args), call->args,
                             call->double_precision);
}

/* The sum with fluxes that are weighted by an element of the change of the directions. */
#define WEIGHTED(e)                                                                                \
    VECTOR_ELEMENT("uvw", e)                                                                       \
    " * predict(sky, obs, brightness=brightness * " VECTOR_ELEMENT(                                \
        "dlmn", e) ", lmn=lmn, "                                                                   \
                   "shape=shape, uvw=uvw, freq=freq, left=left, right=right, uvw_left=uvw_left, "  \
                   "uvw_right=uvw_right, skip=skip, cutoff=cutoff, method=method)"

GROVE_CLASS(predict) = {
    GROVE_CLASS_HEAD(predict),
    .doc = "Visibilities of a sky model: the sum over all its sources of point, between the Jones "
           "terms of both stations.\n"
           "sum_s left_sp B_s exp(-2 pi i nu/c (u l + v m + w (n - 1))) right_sq, with shapes and "
           "smearing as in point. No array of sources by baselines is ever made. Phases are "
           "computed in double precision.",
    .output_doc = "a complex matrix per time, baseline and channel, Jy",
    .group = "sky",
    .inputs = inputs,
    .options = options,
    .flag_rule = GROVE_FLAGS_MIX,
    .sum = true,
    .check = check,
    .eval = eval,
    .device = device,
    .tangent = "lmn: " PHASE_RATE
               " * freq * (" WEIGHTED("x") " + " WEIGHTED("y") " + " WEIGHTED("z") ")",
    .example = "V[p,q] = predict(S, obs, smear=both, left=E[s,p], right=E[s,q]^H)",
};
