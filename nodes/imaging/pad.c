/* crop, pad: the middle of an image, or of a uv grid, and zeros around it. */
#include "nodes/common/form.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_stage.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INPUT                                                                                      \
    {                                                                                              \
        "x", GROVE_VALUE, "a value over m and l, or over v and u, evenly spaced",                  \
            .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR                                      \
    }
#define SIZE                                                                                       \
    {                                                                                              \
        "size", GROVE_NUMBER_LIST, "cells along each side, or [along l, along m]"                  \
    }

static const grove_port inputs[] = {INPUT, {0}};
static const grove_port options[] = {SIZE, {0}};

typedef struct {
    int kind[2];      /* of the axes along l or u, along m or v */
    int64_t first[2]; /* cell of the input, less than 0 where it is padded, of cell 0 */
    int64_t size[2];  /* of the input */
    bool changes[2];  /* else the axis stays, and the input has the cells of the result */
} window;

/* ---- check ---- */

static int read_size(const grove_node *node, const grove_axis *const axis[2], bool pads,
                     int64_t size[2])
{
    const double *number;
    const int count = grove_node_list(node, "size", &number);

    for (int d = 0; d < 2; d++) {
        double n = count == 1 || count == 2 ? number[d % count] : NAN;
        if (!(n >= 1 && n <= 1 << 20) || n != rint(n))
            return grove_node_fail_option(
                node, "size", "is one number of cells, or two: along l and along m, or u and v");
        size[d] = (int64_t)n;
        if (pads ? size[d] < axis[d]->size : size[d] > axis[d]->size)
            return grove_node_fail_option(
                node, "size", "%lld is %s than the %lld cells along %s; use %s for that",
                (long long)size[d], pads ? "less" : "more", (long long)axis[d]->size, axis[d]->name,
                pads ? "crop" : "pad");
    }
    return 0;
}

/* The cell in the middle: where the stages of images, and FITS, have 0. Along l, images count it
 * from the east, but not the transforms of a grid's planes. */
static int64_t middle(int64_t size, bool from_end)
{
    return from_end ? (size - 1) / 2 : size / 2;
}

static int add_axis(grove_node *node, const grove_axis *from, int64_t first, int64_t size)
{
    double *centre = grove_alloc((size_t)size * sizeof(*centre)),
           *width = grove_alloc((size_t)size * sizeof(*width));
    const double step = from->width ? from->width[0] : 0;
    int code = 0;

    if (!from->centre || !(step > 0))
        code = grove_node_fail(node, GROVE_SHAPE, "its axis %s has no coordinates", from->name);
    for (int64_t k = 0; k < from->size && !code; k++)
        if (!(fabs(from->centre[k] - from->centre[0] - (double)k * step) <= 1e-6 * step))
            code =
                grove_node_fail(node, GROVE_SHAPE, "its axis %s is not evenly spaced", from->name);
    for (int64_t k = 0; k < size && !code; k++) {
        int64_t at = first + k;
        centre[k] =
            at >= 0 && at < from->size ? from->centre[at] : from->centre[0] + (double)at * step;
        width[k] = step;
    }
    if (!code)
        code = grove_node_add_output_axis(
            node,
            &(grove_axis){.name = from->name, .size = size, .centre = centre, .width = width});
    free(centre);
    free(width);
    return code;
}

static int find_axes(const grove_node *node, window *w, const grove_axis *axis[2])
{
    for (int stage = 0; stage < 2; stage++) {
        for (int d = 0; d < 2; d++) {
            w->kind[d] = grove_axis_kind(image_stage_names[stage][d]);
            axis[d] = grove_node_input_axis(node, 0, w->kind[d]);
        }
        if (axis[0] && axis[1])
            return 0;
    }
    return grove_node_fail(node, GROVE_SHAPE, "it requires a value over m and l, or over v and u");
}

static int check(grove_node *node, bool pads)
{
    window *w = grove_alloc(sizeof(*w));
    const grove_axis *axis[2] = {NULL, NULL};
    int64_t size[2] = {0, 0};

    *w = (window){0};
    grove_node_set_user(node, w);
    int code = find_axes(node, w, axis);
    code = code ? code : read_size(node, axis, pads, size);
    if (code)
        return code;
    const bool planes = grove_node_input_axis(node, 0, grove_axis_kind("w_plane")) != NULL;
    for (int d = 0; d < 2; d++) {
        bool from_end = !planes && w->kind[d] == grove_axis_kind("l");
        w->size[d] = axis[d]->size;
        w->first[d] = middle(w->size[d], from_end) - middle(size[d], from_end);
        w->changes[d] = size[d] != w->size[d];
        if (w->changes[d])
            grove_node_consume(node, w->kind[d]);
    }
    grove_form form = *grove_node_input_form(node, 0);
    grove_node_set_output(node, &form);
    for (int d = 1; d >= 0 && !code; d--)
        code = !w->changes[d] ? 0 : add_axis(node, axis[d], w->first[d], size[d]);
    return code;
}

static int check_crop(grove_node *node)
{
    return check(node, false);
}

static int check_pad(grove_node *node)
{
    return check(node, true);
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

/* ---- cells ---- */

typedef struct {
    const grove_args *args;
    const window *w;
    const char *from;
    char *to;
    size_t bytes;    /* of a cell */
    int64_t in[2];   /* from one cell to the next along both axes */
    int out[2];      /* these axes of the result */
    int64_t skip[2]; /* cell of the input that is cell 0 of the result */
    int64_t size[2]; /* cells that the input has */
} copying;

static void copy_rows(void *context, int64_t first, int64_t last)
{
    const copying *c = context;
    const grove_args *args = c->args;
    const int ox = c->out[0], oy = c->out[1];

    for (int64_t y = first; y < last; y++)
        for (int64_t x = 0; x < args->size[ox]; x++) {
            int64_t from_x = x + c->skip[0], from_y = y + c->skip[1];
            char *to = c->to + y * args->out.stride[oy] + x * args->out.stride[ox];
            if (from_x >= 0 && from_y >= 0 && from_x < c->size[0] && from_y < c->size[1])
                memcpy(to, c->from + from_y * c->in[1] + from_x * c->in[0], c->bytes);
            else
                memset(to, 0, c->bytes);
        }
}

static int numbers_of(const grove_node *node)
{
    const grove_form *form = grove_node_output(node);

    return form_elements(form) * (form->complex_ ? 2 : 1);
}

static copying copying_of(const grove_call *call)
{
    copying c = {.args = call->args,
                 .w = grove_node_user(call->node),
                 .bytes = (size_t)numbers_of(call->node) *
                          (call->double_precision ? sizeof(double) : sizeof(float))};

    for (int d = 0; d < 2; d++) {
        c.out[d] = grove_args_axis(call->args, c.w->kind[d]);
        c.skip[d] = c.w->changes[d] ? call->args->origin[c.out[d]] + c.w->first[d] : 0;
        c.size[d] = c.w->changes[d] ? c.w->size[d] : call->args->size[c.out[d]];
        for (int k = 0; k < call->args->axes; k++)
            if (call->args->axis[k] == c.w->kind[d]) /* consumed axes come last */
                c.in[d] = call->args->in[0].stride[k];
    }
    return c;
}

static int eval(const grove_call *call)
{
    copying c = copying_of(call);
    image_stage_others others;

    for (image_stage_begin(&others, call->args, false); image_stage_next(&others);) {
        c.from = grove_view_at(&call->args->in[0], others.index, call->args->axes);
        c.to = grove_view_at(&call->args->out, others.index, call->args->axes);
        grove_call_parallel(call, call->args->size[c.out[1]], copy_rows, &c);
    }
    return 0;
}

static int device(const grove_call *call)
{
    const grove_args *args = call->args;
    const copying c = copying_of(call);
    grove_gridder_window w = {.numbers = numbers_of(call->node)};
    image_stage_others others;
    int code = 0;

    for (int d = 0; d < 2; d++) {
        w.size[d] = (int32_t)args->size[c.out[d]];
        w.from_size[d] = (int32_t)c.size[d];
        w.skip[d] = (int32_t)c.skip[d];
        w.from_step[d] = c.in[d];
        w.to_step[d] = args->out.stride[c.out[d]];
    }
    for (image_stage_begin(&others, args, false); !code && image_stage_next(&others);)
        code = image_launch_window(call, grove_view_at(&args->in[0], others.index, args->axes),
                                   grove_view_at(&args->out, others.index, args->axes), &w);
    return code;
}

GROVE_CLASS(crop) = {
    GROVE_CLASS_HEAD(crop),
    .doc = "The middle of an image (m, l), or of a uv grid (v, u).\nPixels keep their coordinates: "
           "for an image about the phase centre the result equals an image of that size, and its "
           "FITS file has the same pixels on the sky. The adjoint of pad. From the transforms of a "
           "grid's planes (w_plane, m, l) it keeps the cells that grid_correction needs.",
    .output_doc = "the same with fewer cells along these two axes",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check_crop,
    .eval = eval,
    .device = device,
    .close = close_node,
    .example = "middle = crop(dirty_image(obs.data, obs, size=16, cell=20arcsec), size=8)",
};

GROVE_CLASS(pad) = {
    GROVE_CLASS_HEAD(pad),
    .doc = "An image (m, l), or a uv grid (v, u), with zeros around it.\nThe cells that were there "
           "keep "
           "their coordinates, and the others go on from them. The adjoint of crop.",
    .output_doc = "the same with more cells along these two axes",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check_pad,
    .eval = eval,
    .device = device,
    .close = close_node,
    .example = "wide = pad(dirty_image(obs.data, obs, size=8, cell=20arcsec), size=16)",
};
