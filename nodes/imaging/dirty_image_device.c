/* Dirty images, cubes of them, and point-spread functions on a device. */
#include "nodes/imaging/dirty_image.h"

#include "util.h"

#include <stdlib.h>

/* Which channels of the call a band has; false: none. */
static bool find_channels(const grove_call *call, const imager *m, int band,
                          image_device_inputs *in)
{
    const int axis = grove_args_axis(call->args, GROVE_AXIS_FREQ);

    return image_bands_find(&m->bands, band, axis >= 0 ? call->args->origin[axis] : 0,
                            axis >= 0 ? call->args->size[axis] : m->bands.freq->size,
                            &in->first_channel, &in->channels);
}

static int open_band(const grove_call *call, const imager *m, int band, const void *max_uvw,
                     image_state *state)
{
    int code = state->plan.planes ? 0 : imager_plan(call, m, band, max_uvw, state);

    return code ? code : image_device_open(call, &state->plan, true, &state->device);
}

/* All bands are opened before the first is added to: if the device cannot do one, the host does
 * all. */
int imager_add_on_device(const grove_call *call, void *own, int count)
{
    const imager *m = grove_node_user(call->node);
    const void *max_uvw = NULL;
    double longest[3];
    image_device_inputs in = {.data = m->data,
                              .weights = m->weights,
                              .uvw = m->uvw,
                              .flags = count,
                              .freq = m->bands.freq,
                              .longest = longest,
                              .stokes = &m->stokes,
                              .as_ones = m->psf};
    image_state *state = own;
    bool began = false;
    /* devices have no planes of integers */
    int code = m->exact ? GROVE_MISSING : grove_call_host(call, m->max_uvw, &max_uvw);

    for (int band = 0; band < m->bands.count && !code; band++)
        if (find_channels(call, m, band, &in))
            code = open_band(call, m, band, max_uvw, &state[band]);
    for (int band = 0; band < m->bands.count && !code; band++) {
        if (!find_channels(call, m, band, &in))
            continue;
        imager_longest(m, band, max_uvw, longest);
        code = image_device_add(call, &state[band].device, &in);
        if (began && code == GROVE_MISSING)
            code = imager_no_memory(call);
        began = true;
    }
    return code;
}

/* The image of a device comes to the host, and is added to the other devices' images. */
static int take_image(const grove_call *call, image_state *to, const image_state *from)
{
    const int64_t count = from->plan.bounds.polarisations;
    const size_t pixels = (size_t)(from->plan.image.size[0] * from->plan.image.size[1]);
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    double totals[GROVE_GRIDDER_TOTALS];

    if (!to->from_devices)
        to->from_devices = calloc(pixels * (size_t)count, real);
    int code = to->from_devices ? 0 : imager_no_memory(call);
    for (int k = 0; k < count && !code; k++)
        code = image_device_add_image(call, &from->device, k,
                                      (char *)to->from_devices + (size_t)k * pixels * real);
    if (!code)
        code = grove_call_fetch(call, totals, from->device.totals, sizeof(totals));
    if (!code) {
        to->weight_sum += totals[GROVE_GRIDDER_WEIGHT_TOTAL];
        to->not_finite += (int64_t)totals[GROVE_GRIDDER_NO_NUMBERS];
        to->outside += (int64_t)totals[GROVE_GRIDDER_BEYOND];
    }
    return code;
}

int imager_merge_device(const grove_call *call, void *own, void *other)
{
    const imager *m = grove_node_user(call->node);
    const image_state *from = other;
    image_state *to = own;
    int code = 0;

    for (int band = 0; band < m->bands.count && !code; band++)
        if (from[band].device.open)
            code = take_image(call, &to[band], &from[band]);
    return code;
}
