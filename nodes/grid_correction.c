/* grid_correction: between the transforms of the planes of a grid and an image. */
#include "nodes/image_stage.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_input inputs[] = {
    {"x", GROVE_VALUE,
     "the transforms of planes (w_plane, m, l), as of fft(grid(...)), or an image (m, l)",
     .handing = GROVE_AS_COMPLEX},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_option options[] = {IMAGE_STAGE_OPTIONS, {0}};

typedef struct {
    grove_gridder_plan plan;
    bool expands; /* an image to planes */
} correction;

/* ---- check ---- */

static int check_image(const grove_node *node, const grove_gridder_plan *plan)
{
    grove_gridder_image image;
    int code = image_plane_of_input(node, 0, &image);

    for (int d = 0; d < 2 && !code; d++)
        if (image.size[d] != plan->image.size[d] ||
            fabs(image.cell[d] - plan->image.cell[d]) > 1e-6 * image.cell[d] ||
            fabs(image.centre[d] - plan->image.centre[d]) > 1e-3 * image.cell[d])
            code = grove_node_fail(node, GROVE_SHAPE,
                                   "the image's pixels are not those of the options size, cell "
                                   "and centre");
    return code;
}

static int check(grove_node *node)
{
    correction *c = grove_alloc(sizeof(*c));
    const grove_form *in = grove_node_input_form(node, 0);
    const int w_plane = grove_axis_kind("w_plane");

    *c = (correction){0};
    grove_node_set_user(node, c);
    int code = image_stage_plan(node, grove_node_object(node, "obs"), &c->plan);
    if (code)
        return code;
    c->expands = !grove_node_input_axis(node, 0, w_plane);
    code = c->expands ? check_image(node, &c->plan)
                      : image_stage_check(node, 0, &c->plan, IMAGE_STAGE_SKY);
    if (!code && in->shape != GROVE_SCALAR)
        code = grove_node_fail(node, GROVE_SHAPE, "it takes one number for each pixel");
    if (code)
        return code;
    grove_form form = {.shape = GROVE_SCALAR, .complex_ = c->expands, .unit = in->unit};
    grove_node_set_output(node, &form);
    grove_node_consume(node, w_plane);
    for (int d = 0; d < 2; d++)
        grove_node_consume(node, grove_axis_kind(image_stage_names[IMAGE_STAGE_SKY][d]));
    return c->expands ? image_stage_add_axes(node, &c->plan, IMAGE_STAGE_SKY)
                      : image_plane_add_axes(node, &c->plan.image);
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

/* ---- pixels ---- */

typedef struct {
    const grove_call *call;
    const correction *c;
    double *factor[2];     /* 1 / transform of the kernel, for each pixel along l and along m */
    int64_t in[3], out[3]; /* bytes along l, m, w_plane */
} pixels;

static double get(const pixels *p, const char *at, int k)
{
    return p->call->double_precision ? ((const double *)(const void *)at)[k]
                                     : (double)((const float *)(const void *)at)[k];
}

static void put(const pixels *p, char *at, int k, double x)
{
    if (p->call->double_precision)
        ((double *)(void *)at)[k] = x;
    else
        ((float *)(void *)at)[k] = (float)x;
}

static void do_pixel(const pixels *p, int64_t x, int64_t y)
{
    const grove_gridder_plan *plan = &p->c->plan;
    const grove_gridder_image *image = &plan->image;
    const double l = image->centre[0] + (double)(x - image->size[0] / 2) * image->cell[0],
                 m = image->centre[1] + (double)(y - image->size[1] / 2) * image->cell[1],
                 n = plan->bounds.without_w ? 0 : grove_gridder_n_less_1(l, m) - plan->middle_n;
    /* the same pixel of the grid */
    const int64_t gx = x + plan->grid[0] / 2 - image->size[0] / 2,
                  gy = y + plan->grid[1] / 2 - image->size[1] / 2;
    const char *from = (const char *)p->call->args->in[0].data;
    char *to = (char *)p->call->args->out.data;
    double factor = p->factor[0][x] * p->factor[1][y], sum = 0;

    if (plan->kernel_w.width > 1)
        factor /= grove_gridder_kernel_transform(&plan->kernel_w, n * plan->step_w);
    from += p->c->expands ? y * p->in[1] + x * p->in[0] : gy * p->in[1] + gx * p->in[0];
    to += p->c->expands ? gy * p->out[1] + gx * p->out[0] : y * p->out[1] + x * p->out[0];
    for (int64_t k = 0; k < plan->planes; k++) {
        double w = plan->bounds.without_w ? 0 : plan->first_w + (double)k * plan->step_w;
        double turns = w * n, phase = 2 * GROVE_PI * (turns - rint(turns));
        const double cosine = cos(phase), sine = sin(phase);
        if (p->c->expands) {
            double pixel = factor * get(p, from, 0);
            put(p, to + k * p->out[2], 0, pixel * cosine);
            put(p, to + k * p->out[2], 1, -pixel * sine);
        } else {
            sum += get(p, from + k * p->in[2], 0) * cosine - get(p, from + k * p->in[2], 1) * sine;
        }
    }
    if (!p->c->expands)
        put(p, to, 0, factor * sum);
}

static void do_rows(void *context, int64_t first, int64_t last)
{
    const pixels *p = context;

    for (int64_t y = first; y < last; y++)
        for (int64_t x = 0; x < p->c->plan.image.size[0]; x++)
            do_pixel(p, x, y);
}

static int eval(const grove_call *call)
{
    const correction *c = grove_node_user(call->node);
    const grove_gridder_plan *plan = &c->plan;
    const char *const names[] = {"l", "m", "w_plane"};
    pixels p = {.call = call, .c = c};

    for (int d = 0; d < 3; d++) {
        p.in[d] = image_stage_in_step(call->args, 0, names[d]);
        p.out[d] = image_stage_out_step(call->args, names[d]);
    }
    for (int d = 0; d < 2; d++) {
        p.factor[d] = grove_alloc((size_t)plan->image.size[d] * sizeof(double));
        for (int64_t k = 0; k < plan->image.size[d]; k++)
            p.factor[d][k] = 1 / grove_gridder_kernel_transform(
                                     &plan->kernel,
                                     (double)(k - plan->image.size[d] / 2) / (double)plan->grid[d]);
    }
    if (c->expands) {
        const size_t bytes = 2 * (call->double_precision ? sizeof(double) : sizeof(float));
        memset(call->args->out.data, 0,
               (size_t)(plan->planes * plan->grid[0] * plan->grid[1]) * bytes);
    }
    grove_call_parallel(call, plan->image.size[1], do_rows, &p);
    free(p.factor[0]);
    free(p.factor[1]);
    return 0;
}

GROVE_CLASS(grid_correction) = {
    GROVE_CLASS_HEAD(grid_correction),
    .doc = "The stage between transforms of planes and an image, in either direction.\nPlanes "
           "(w_plane, m, l) are cut to the pixels of the image, multiplied by exp(+2 pi i w (n - "
           "1)), added up, and divided by the kernel's transform in u, v and w: their real part is "
           "the image. An image (m, l) becomes such planes by the adjoint, with zeros around it. "
           "The options are those of grid.",
    .output_doc = "a real image (m, l), or complex planes (w_plane, m, l)",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .eval = eval,
    .close = close_node,
    .example = "image = grid_correction(fft(grid(obs.data, obs, size=64, cell=4arcsec)), obs, "
               "size=64, cell=4arcsec)",
};
