/* degrid on a device. */
#include "nodes/imaging/degrid.h"
#include "nodes/imaging/image_plane.h"

#include "util.h"

#include <stdlib.h>

/* The cells in reach are copied there for each tile: whether they changed would take longer to
 * find out. */
static int predict_planes(const grove_call *call, degridding *d, const image_device_inputs *in)
{
    grove_gridder_plan plan = ((const options_read *)grove_node_user(call->node))->plan;
    void *devices = d->devices;
    image_device *at = image_device_of(&devices, &d->device_count, call->device, sizeof(*at));

    d->devices = devices;
    plan.bounds.double_precision = call->double_precision;
    const degrid_given g = degrid_planes(call, 0);
    int code = image_device_open(call, &plan, false, at);
    if (!code)
        code = image_device_from_planes(call, at, g.from, g.step);
    return code ? code
                : image_device_predict(call, at, in, &(image_device_part){.planes = at->planes}, 1,
                                       &d->outside);
}

/* The planes that channels of the call have some of, and how much. NULL: no memory. */
static image_convolve_part *find_parts(const grove_call *call, const options_read *o,
                                       const double *freq, double *share, int *count)
{
    const int axis = grove_args_axis(call->args, GROVE_AXIS_FREQ);
    const int64_t channels = image_axis_size(call->args, GROVE_AXIS_FREQ),
                  first = axis < 0 ? 0 : call->args->origin[axis];
    image_convolve_part *parts = malloc((size_t)o->cube.planes * sizeof(*parts));

    *count = 0;
    for (int plane = 0; plane < o->cube.planes && parts; plane++) {
        double *own = o->cube.axis ? share + *count * channels : NULL;
        if (own && !image_cube_shares(&o->cube, plane, first, freq, channels, own))
            continue;
        const degrid_given g = degrid_planes(call, plane);
        parts[(*count)++] = (image_convolve_part){g.from, {g.step[0], g.step[1]}, own};
    }
    return parts;
}

/* By functions, which stay arranged unless they may have changed. */
static int predict_by_functions(const grove_call *call, degridding *d,
                                const image_device_inputs *in)
{
    const options_read *o = grove_node_user(call->node);
    const size_t channels = (size_t)image_axis_size(call->args, GROVE_AXIS_FREQ);
    void *devices = d->convolving;
    image_convolve *at = image_device_of(&devices, &d->convolving_count, call->device, sizeof(*at));
    image_convolving by = {
        .plan = o->convolution, .mueller = &o->mueller, .index = o->index, .functions = FUNCTIONS};
    double *share = malloc((size_t)o->cube.planes * channels * sizeof(*share));
    int count, code = GROVE_MISSING;

    d->convolving = devices;
    by.plan.double_precision = call->double_precision;
    image_convolve_part *parts = share ? find_parts(call, o, in->centres, share, &count) : NULL;
    if (parts)
        code = image_convolve_open(call, &by, at);
    if (!code)
        code = image_convolve_arrange(call, &by, at);
    if (!code)
        code = image_convolve_predict(call, &by, at, in, parts, count, &d->outside, &d->left_out);
    free(parts);
    free(share);
    return code;
}

static int predict_on_device(const grove_call *call, degridding *d, const double *freq)
{
    const options_read *o = grove_node_user(call->node);
    const grove_gridder_plan plan = o->plan;
    const double longest[] = {plan.bounds.max_u, plan.bounds.max_v, plan.bounds.max_w};
    const image_stokes stokes = {.count = 1, .elements = 1, .factor = {{{1}}}};
    const image_device_inputs in = {.data = -1,
                                    .weights = -1,
                                    .uvw = UVW,
                                    .freq =
                                        grove_node_input_axis(call->node, FREQ, GROVE_AXIS_FREQ),
                                    .centres = freq,
                                    .longest = longest,
                                    .stokes = &stokes};

    return o->has_functions ? predict_by_functions(call, d, &in)
           : o->is_idg      ? degrid_predict_subgrids_on_device(call, d, &in)
                            : predict_planes(call, d, &in);
}

int degrid_on_device(const grove_call *call)
{
    const int64_t step = image_axis_step(call->args, &call->args->in[FREQ], GROVE_AXIS_FREQ);
    const options_read *o = grove_node_user(call->node);
    degridding *d = call->run;
    const void *freqs = NULL;

    if (o->cube.axis && !o->has_functions && !o->is_idg)
        return GROVE_MISSING;
    pthread_mutex_lock(&d->lock);
    int code = grove_call_host(call, FREQ, &freqs);
    double *freq = code ? NULL : image_copy_freq(call->args, freqs, step);
    if (!code)
        code = freq ? predict_on_device(call, d, freq) : GROVE_MISSING;
    free(freq);
    pthread_mutex_unlock(&d->lock);
    return code;
}
