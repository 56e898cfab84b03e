/* Dirty images and point-spread functions on a device. */
#include "nodes/dirty_image.h"

#include "base/error.h"

#include <stdlib.h>

int imager_add_on_device(const grove_call *call, void *own, int count)
{
    const imager *m = grove_node_user(call->node);
    const image_device_inputs in = {.data = m->data,
                                    .weights = m->weights,
                                    .uvw = m->uvw,
                                    .flags = count,
                                    .freq = m->bands.freq,
                                    .stokes = &m->stokes,
                                    .as_ones = m->psf};
    image_state *state = own;
    int code = m->bands.count > 1 ? GROVE_MISSING : 0;

    if (!code && !state->plan.planes) {
        const void *max_uvw;
        code = grove_call_host(call, m->max_uvw, &max_uvw);
        if (!code)
            code = imager_plan(call, m, 0, max_uvw, state);
    }
    if (!code)
        code = image_device_open(call, &state->plan, &state->device);
    return code ? code : image_device_add(call, &state->device, &in, &state->outside);
}

static void add_numbers(void *to, const void *from, size_t count, bool double_precision)
{
    for (size_t i = 0; i < count; i++)
        if (double_precision)
            ((double *)to)[i] += ((const double *)from)[i];
        else
            ((float *)to)[i] += ((const float *)from)[i];
}

/* The image of a device comes to the host, and is added to what others have. */
static int take_image(const grove_call *call, image_state *to, const image_state *from)
{
    const int64_t count = from->plan.bounds.polarisations;
    const size_t pixels = (size_t)(from->plan.image.size[0] * from->plan.image.size[1]);
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    void *image = malloc(pixels * real);
    double totals[2];

    if (!to->from_devices)
        to->from_devices = calloc(pixels * (size_t)count, real);
    int code = image && to->from_devices ? 0 : imager_no_memory(call);
    for (int k = 0; k < count && !code; k++) {
        code = image_device_to_host(call, &from->device, k, image);
        if (!code)
            add_numbers((char *)to->from_devices + (size_t)k * pixels * real, image, pixels,
                        call->double_precision);
    }
    if (!code)
        code = grove_call_fetch(call, totals, from->device.totals, sizeof(totals));
    if (!code) {
        to->weight_sum += totals[0];
        to->not_finite += (int64_t)totals[1];
        to->outside += from->outside;
    }
    free(image);
    return code;
}

int imager_merge_device(const grove_call *call, void *own, void *other)
{
    const image_state *from = other;

    return from->device.open ? take_image(call, own, from) : 0;
}
