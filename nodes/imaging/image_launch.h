/* Launches of the stages of images on devices: kernels of gridder_image.cu over a number of
 * items. */
#ifndef GROVE_NODES_IMAGE_LAUNCH_H
#define GROVE_NODES_IMAGE_LAUNCH_H

#include "../../kernels/imaging/gridder/gridder_cuda.h"
#include "base/error.h"
#include "plugin.h"

#include <string.h>

#define IMAGE_LAUNCH_SOURCE "gridder_image.cu"

/* One dimension of `rows` times `row` items, with an input, a table (NULL: none) and a state, which
 * begins with the divisor for a row. GROVE_MISSING for 2^31 items and more: see divide() there. */
static inline int image_launch(const grove_call *call, const grove_kernel *kernel, int64_t rows,
                               int64_t row, const void *from, const void *table, void *to,
                               const void *state, size_t bytes)
{
    const grove_gridder_divisor divisor = grove_gridder_divide_by((int32_t)row);
    grove_args args = {.axes = 1, .inputs = GROVE_GRIDDER_IMAGE_INPUTS, .size = {rows * row}};

    if (rows * row > INT32_MAX)
        return GROVE_MISSING;
    args.in[GROVE_GRIDDER_FROM].data = (void *)(uintptr_t)from;
    args.in[GROVE_GRIDDER_TABLE].data = (void *)(uintptr_t)table;
    args.out.data = to;
    memcpy(args.state.bytes, state, bytes);
    memcpy(args.state.bytes, &divisor, sizeof(divisor));
    return grove_call_launch(call, kernel, &args, call->double_precision);
}

/* Over `items` items. */
static inline int image_launch_items(const grove_call *call, const grove_kernel *kernel,
                                     int64_t items, const void *from, const void *table, void *to,
                                     const void *state, size_t bytes)
{
    grove_args args = {.axes = 1, .inputs = GROVE_GRIDDER_IMAGE_INPUTS, .size = {items}};

    args.in[GROVE_GRIDDER_FROM].data = (void *)(uintptr_t)from;
    args.in[GROVE_GRIDDER_TABLE].data = (void *)(uintptr_t)table;
    args.out.data = to;
    memcpy(args.state.bytes, state, bytes);
    return grove_call_launch(call, kernel, &args, call->double_precision);
}

/* Cells of one array to another. */
static inline int image_launch_window(const grove_call *call, const void *from, void *to,
                                      const grove_gridder_window *w)
{
    static const grove_kernel window = {
        "gridder_window", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 0, 0};

    return image_launch(call, &window, w->size[1], w->size[0], from, NULL, to, w, sizeof(*w));
}

#endif
