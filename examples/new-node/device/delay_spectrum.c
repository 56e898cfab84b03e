/* A node class that calls a device: kernels, scratch memory and a Fourier transform, one after the
 * other. The host is a device, too, so that there is one function for both. */
#include <grove/plugin.h>

#define GROVE_KERNEL_SOURCE "delay_spectrum.h"
#include <grove/kernel.h>

#include <stdlib.h>

static const grove_kernel copy = GROVE_KERNEL(delay_spectrum);

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "numbers per channel", .handing = GROVE_AS_COMPLEX,
     .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};

static const grove_port options[] = {
    {"window", GROVE_CHOICE, "what the channels are multiplied with before", .initial = "none",
     .choices = "none hann"},
    {0},
};

/* As many delays as there are channels, from -1/2 to 1/2 over the width of a channel. */
static int add_delays(grove_node *node, const grove_axis *freq)
{
    int64_t n = freq->size;
    double width =
        freq->centre && n > 1 ? (freq->centre[n - 1] - freq->centre[0]) / (double)(n - 1) : 1;
    double *delays = malloc((size_t)(n + 1) * sizeof(*delays));

    if (!delays)
        return grove_node_fail(node, -1, "no memory for %lld delays", (long long)n);
    for (int64_t k = 0; k < n; k++)
        delays[k] = (double)(k - n / 2) / ((double)n * width);
    grove_axis axis = {.name = "delay", .size = n, .centre = delays};
    int code = grove_node_add_output_axis(node, &axis);
    free(delays);
    return code;
}

static int check(grove_node *node)
{
    const grove_axis *freq = grove_node_input_axis(node, 0, GROVE_AXIS_FREQ), *axes[GROVE_MAX_AXES];
    grove_form form = *grove_node_input_form(node, 0);
    int64_t window = grove_node_choice(node, "window");
    int elements = form.shape == GROVE_VECTOR ? form.vector : form.shape;

    if (!freq)
        return grove_node_fail_option(node, "x", "does not vary with frequency");
    if (grove_node_input_axes(node, 0, axes) > GROVE_MAX_AXES - 1)
        return grove_node_fail_option(node, "x", "has too many axes; at most %d are possible",
                                      (int)GROVE_MAX_AXES - 1);
    form.complex_ = true;
    form.flags = false;
    grove_node_set_output(node, &form);
    grove_node_set_state(node, &window, sizeof(window));
    grove_node_set_scratch(node, 0, (uint64_t)elements * sizeof(grove_cplx64));
    grove_node_consume(node, GROVE_AXIS_FREQ);
    return add_delays(node, freq);
}

/* From the space of the call that without freq and delay, with an axis for the elements of a cell
 * and one for `last` channels or delays: input and output then have one number in a cell. */
static grove_args spread(const grove_args *from, int freq, int delay, int64_t last)
{
    grove_args to = *from;
    int n = 0;

    for (int d = 0; d < from->axes; d++) {
        if (d == freq || d == delay)
            continue;
        to.size[n] = from->size[d];
        to.in[0].stride[n] = from->in[0].stride[d];
        to.out.stride[n] = from->out.stride[d];
        if (from->in[0].gather && from->in[0].gather_axis == d)
            to.in[0].gather_axis = n;
        n++;
    }
    to.size[n] = from->out.elements;
    to.in[0].stride[n] = to.out.stride[n] = 2 * from->out.bytes;
    n++;
    to.size[n] = last;
    to.in[0].stride[n] = from->in[0].stride[freq];
    to.out.stride[n] = from->out.stride[delay];
    to.axes = n + 1;
    return to;
}

static void set_step(grove_args *args, delay_spectrum_step step)
{
    *(delay_spectrum_step *)(void *)args->state.bytes = step;
}

/* After a function that has failed the next ones do nothing and return its code. */
static int device(const grove_call *call)
{
    const grove_args *args = call->args;
    int freq = grove_args_axis(args, GROVE_AXIS_FREQ);
    int delay = grove_args_axis(args, grove_axis_kind("delay"));
    int64_t n = args->size[freq], window = *(const int64_t *)(const void *)args->state.bytes;
    grove_args before = spread(args, freq, delay, n);
    grove_args after = spread(args, freq, delay, args->size[delay]); /* those that are wanted */
    int64_t numbers = grove_args_cells(&before);
    void *at;

    grove_call_scratch(call, (uint64_t)numbers * 2 * (uint64_t)args->out.bytes, &at);
    grove_view_set_dense(&before.out, &before, 1, 1, args->out.bytes);
    before.out.data = at;
    set_step(&before, (delay_spectrum_step){0, n, 1, window});
    grove_call_launch(call, &copy, &before, call->double_precision);
    grove_transform transform = {.at = at, .size = {n}, .count = numbers / n, .rank = 1, .sign = 1};
    grove_call_transform(call, &transform, call->double_precision);
    after.in[0] = before.out;
    set_step(&after, (delay_spectrum_step){args->origin[delay] + n - n / 2, n, 1 / (double)n, 0});
    return grove_call_launch(call, &copy, &after, call->double_precision);
}

GROVE_CLASS(delay_spectrum) = {
    GROVE_CLASS_HEAD(delay_spectrum),
    .doc =
        "Spectrum over delay of numbers per channel.\n"
        "sum_j x_j exp(2 pi i j k / n) / n over the n channels j, for the delay k / (n dnu), from "
        "k = -n/2 on; dnu is the width of a channel. A flag of any channel is one of all delays.",
    .output_doc = "complex numbers per delay, in the unit of x, instead of per channel",
    .group = "visibilities",
    .inputs = inputs,
    .options = options,
    .flag_rule = GROVE_FLAGS_ELEMENT,
    .check = check,
    .device = device,
    .example = "y = delay_spectrum(V[p,q], window=hann)",
};
