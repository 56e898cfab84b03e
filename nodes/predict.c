#include "nodes/smear.h"

#include "../kernels/cpu/predict.h"

#include <string.h>

static const grove_input inputs[] = {
    {"sky", GROVE_SKY, "the sources"},
    {"obs", GROVE_OBSERVATION, "coordinates, times and frequencies"},
    {0},
};

static const grove_option options[] = {
    SMEAR_OPTIONS,
    {"left", GROVE_VALUE_NUMBER, "none", "product of the Jones terms of station p; none: unity",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .linear = true},
    {"right", GROVE_VALUE_NUMBER, "none",
     "product of the Jones terms of station q, conjugate transposed; none: unity",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES, .linear = true},
    {0},
};

/* One sum over one axis of sources. */
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

/* Channels depend on nothing else, and geometry not on channels: point has no such limits. */
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
            return grove_node_fail_option(node, geometry[i],
                                          "may not vary with frequency; sum[s](point(...)) takes "
                                          "it");
    return check_sources(node);
}

static void find_channels(grove_node *node)
{
    const grove_axis *axis = grove_node_input_axis(node, GROVE_PREDICT_FREQ, GROVE_AXIS_FREQ);
    grove_predict_channels channels = {0};

    if (axis && axis->centre)
        grove_predict_channels_of(axis->centre, axis->size, &channels);
    grove_node_set_state(node, &channels, sizeof(channels));
    if (channels.regular)
        grove_node_note(node, "direct sum in double, phasor recurrence over blocks of channels");
    else
        grove_node_note(node, "direct sum in double, every phase evaluated: the channels are not "
                              "equally spaced");
}

static int check(grove_node *node)
{
    const grove_form *left = grove_node_input_form(node, GROVE_PREDICT_LEFT);
    const grove_form *right = grove_node_input_form(node, GROVE_PREDICT_RIGHT);
    grove_form form = {.shape = grove_node_input_form(node, 0)->shape,
                       .complex_ = true,
                       .unit = grove_node_input_form(node, 0)->unit};
    int code = check_axes(node);

    if (code)
        return code;
    if (left && left->shape > form.shape)
        form.shape = left->shape;
    if (right && right->shape > form.shape)
        form.shape = right->shape;
    smear_drop(node);
    find_channels(node);
    grove_node_consume(node, GROVE_AXIS_SOURCE);
    grove_node_set_output(node, &form);
    return 0;
}

static void run_rows(void *context, int64_t first, int64_t last)
{
    grove_predict_cells(context, first, last);
}

/* The frequencies may be others than those of the axis, which the state describes. */
static void check_channels(grove_args *args)
{
    const grove_view *view = &args->in[GROVE_PREDICT_FREQ];
    int axis = grove_args_axis(args, GROVE_AXIS_FREQ);
    grove_predict_channels channels;

    memcpy(&channels, args->state.bytes, sizeof(channels));
    for (int64_t k = 0; axis >= 0 && channels.regular && k < args->size[axis]; k++) {
        double freq =
            *(const double *)(const void *)((const char *)view->data + view->stride[axis] * k);
        double equal = channels.first + channels.step * (double)(args->origin[axis] + k);
        if (!(fabs(freq - equal) <= 1e-15 * fabs(freq)))
            channels.regular = 0;
    }
    if (axis < 0)
        channels.regular = 0;
    memcpy(args->state.bytes, &channels, sizeof(channels));
}

static int eval(const grove_call *call)
{
    grove_args args = *call->args;

    check_channels(&args);
    grove_call_parallel(call, grove_predict_rows(&args), run_rows, &args);
    return 0;
}

GROVE_CLASS(predict) = {
    GROVE_CLASS_HEAD(predict),
    .doc = "Visibilities of a sky model: the sum over all its sources of point, between the Jones "
           "terms of both stations.\n"
           "sum_s left_sp B_s exp(-2 pi i nu/c (u l + v m + w (n - 1))) right_sq, with shapes and "
           "smearing as in point. No array of sources by baselines is ever made. Sums are taken in "
           "double precision, in the order of the sources.",
    .output_doc = "a complex matrix per time, baseline and channel, Jy",
    .group = "sky",
    .inputs = inputs,
    .options = options,
    .flags = GROVE_CLASS_MIX_FLAGS,
    .check = check,
    .eval = eval,
    .example = "V[p,q] = predict(S, obs, smear=both, left=E[s,p], right=E[s,q]^H)",
};
