/* The default gridder on a device: images, planes, and arrays of both. */
#include "nodes/imaging/image_device.h"
#include "nodes/imaging/image_launch.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

#define KERNEL(name)                                                                               \
    {                                                                                              \
        name, NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 0, 0                                          \
    }
static const grove_kernel unfold = KERNEL("gridder_unfold"), fold = KERNEL("gridder_fold"),
                          to_image = KERNEL("gridder_to_image"),
                          from_image = KERNEL("gridder_from_image");

static int64_t pair_bytes(const grove_call *call)
{
    return 2 * (int64_t)(call->double_precision ? sizeof(double) : sizeof(float));
}

static int launch_state(const grove_call *call, const grove_kernel *kernel, const int32_t size[2],
                        const void *from, const void *table, void *to,
                        const grove_gridder_image_state *state)
{
    return image_launch(call, kernel, size[1], size[0], from, table, to, state, sizeof(*state));
}

int image_device_transform(const grove_call *call, const image_device *d, int sign)
{
    const grove_gridder_image_state s = grove_gridder_device_image(d->gridder, 0);

    return grove_call_transform(
        call,
        &(grove_transform){
            .at = d->grid, .size = {s.size[1], s.size[0]}, .count = 1, .rank = 2, .sign = sign},
        call->double_precision);
}

/* Adds numbers of the device to the host's. */
static int fetch_and_add(const grove_call *call, void *to, const void *from, uint64_t bytes)
{
    const size_t count = bytes / (call->double_precision ? sizeof(double) : sizeof(float));
    void *more = malloc(bytes);
    int code = more ? grove_call_fetch(call, more, from, bytes)
                    : grove_node_fail(call->node, GROVE_NO_MEMORY,
                                      "not enough memory for the results of the device");

    for (size_t i = 0; i < count && !code; i++)
        if (call->double_precision)
            ((double *)to)[i] += ((const double *)more)[i];
        else
            ((float *)to)[i] += ((const float *)more)[i];
    free(more);
    return code;
}

int image_device_add_planes(const grove_call *call, const image_device *d, void *kept)
{
    return fetch_and_add(call, kept, d->planes, grove_gridder_device_sizes(d->gridder).planes);
}

static char *plane_of(const grove_call *call, const image_device *d, int polarisation,
                      int64_t plane)
{
    const grove_gridder_image_state s = grove_gridder_device_image(d->gridder, 0);
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;

    return (char *)d->planes +
           (polarisation * planes + plane) * s.cells[0] * s.cells[1] * pair_bytes(call);
}

int image_device_add_image(const grove_call *call, const image_device *d, int polarisation,
                           void *image)
{
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;
    const grove_gridder_table factors = grove_gridder_device_factors(d->gridder);
    const void *table;
    int code = grove_call_send(call, factors.at, factors.bytes, &table);

    for (int64_t k = 0; k < planes && !code; k++) {
        grove_gridder_image_state s = grove_gridder_device_image(d->gridder, k);
        s.step[0] = pair_bytes(call);
        s.step[1] = s.size[0] * s.step[0];
        code = launch_state(call, &unfold, s.size, plane_of(call, d, polarisation, k), NULL,
                            d->grid, &s);
        if (!code)
            code = image_device_transform(call, d, 1);
        if (!code)
            code = launch_state(call, &to_image, s.pixels, d->grid, table, d->image, &s);
    }
    return code
               ? code
               : fetch_and_add(call, image, d->image, grove_gridder_device_sizes(d->gridder).image);
}

int image_device_from_pixels(const grove_call *call, const image_device *d, int polarisation,
                             const void *pixels, const int64_t step[2])
{
    const int64_t planes = grove_gridder_device_state(d->gridder).planes;
    const grove_gridder_table factors = grove_gridder_device_factors(d->gridder);
    const void *table;
    int code = grove_call_send(call, factors.at, factors.bytes, &table);

    for (int64_t k = 0; k < planes && !code; k++) {
        grove_gridder_image_state s = grove_gridder_device_image(d->gridder, k);
        const int64_t pair = pair_bytes(call);
        memcpy(s.step, step, sizeof(s.step));
        code = launch_state(call, &from_image, s.size, pixels, table, d->grid, &s);
        if (!code)
            code = image_device_transform(call, d, -1);
        s.step[0] = pair;
        s.step[1] = s.size[0] * pair;
        if (!code)
            code = launch_state(call, &fold, s.cells, d->grid, NULL,
                                plane_of(call, d, polarisation, k), &s);
    }
    return code;
}

/* The zero of u and v is in the middle. */
static grove_gridder_image_state centred(const image_device *d, int64_t plane)
{
    grove_gridder_image_state s = grove_gridder_device_image(d->gridder, plane);

    for (int axis = 0; axis < 2; axis++) {
        s.first[axis] += s.size[axis] / 2;
        s.first[axis] -= s.first[axis] > 0 ? s.size[axis] : 0;
    }
    return s;
}

int image_device_from_planes(const grove_call *call, const image_device *d, const void *planes,
                             const int64_t step[3])
{
    const int64_t count = grove_gridder_device_state(d->gridder).planes;
    int code = 0;

    for (int64_t k = 0; k < count && !code; k++) {
        grove_gridder_image_state s = centred(d, k);
        memcpy(s.step, step, sizeof(s.step));
        code = launch_state(call, &fold, s.cells, (const char *)planes + k * step[2], NULL,
                            plane_of(call, d, 0, k), &s);
    }
    return code;
}

int image_device_give_planes(const grove_call *call, const image_device *d, void *planes)
{
    const int64_t count = grove_gridder_device_state(d->gridder).planes;
    int code = 0;

    for (int64_t k = 0; k < count && !code; k++) {
        const grove_gridder_image_state s = centred(d, k);
        const int64_t cells = (int64_t)s.size[0] * s.size[1];
        code = launch_state(call, &unfold, s.size, plane_of(call, d, 0, k), NULL,
                            (char *)planes + k * cells * pair_bytes(call), &s);
    }
    return code;
}
