/* grid_correction: between the transforms of the planes of a grid and an image. */
#include "../../kernels/imaging/gridder/gridder_device.h"
#include "nodes/common/form.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_stage.h"

#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE,
     "the transforms of planes (w_plane, m, l), as of fft(grid(...)), or an image (m, l)",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR | GROVE_VECTOR},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    IMAGE_STAGE_OPTIONS,
    {"pad", GROVE_BOOL,
     "of an image: with zeros around it; false: planes of its pixels alone, for pad",
     .initial = "true"},
    {"method", GROVE_CHOICE,
     "w_stack: planes of grid and degrid, also with functions; idg: planes of method=idg",
     .initial = "w_stack", .choices = "w_stack idg"},
    IMAGE_STAGE_IDG_OPTIONS,
    {0},
};

typedef struct {
    grove_gridder_plan plan;
    int64_t grid[2]; /* cells of the planes: the plan's, or the image's */
    bool expands;    /* an image to planes */
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
            code = grove_node_fail(
                node, GROVE_SHAPE,
                "the image's pixels do not match the options size, cell and centre");
    return code;
}

/* Planes have the size of the grid, or are cut to the image. */
static void choose_grid(grove_node *node, correction *c, grove_gridder_plan *planes)
{
    bool cut = !grove_node_bool(node, "pad");

    if (!c->expands) {
        cut = true;
        for (int d = 0; d < 2; d++) {
            const grove_axis *axis = grove_node_input_axis(
                node, 0, grove_axis_kind(image_stage_names[IMAGE_STAGE_SKY][d]));
            cut = cut && axis && axis->size == c->plan.image.size[d];
        }
    } else if (cut) {
        grove_node_note(node, "planes to be padded to %lld x %lld cells",
                        (long long)c->plan.grid[0], (long long)c->plan.grid[1]);
    }
    for (int d = 0; d < 2; d++)
        planes->grid[d] = c->grid[d] = cut ? c->plan.image.size[d] : c->plan.grid[d];
}

static int choose_plan(const grove_node *node, grove_gridder_plan *plan)
{
    const grove_node *obs = grove_node_object(node, "obs");
    grove_idg_plan idg = {0};
    int code;

    if (grove_node_choice(node, "method") == 0) {
        const char *only = grove_node_given(node, "subgrid")         ? "subgrid"
                           : grove_node_given(node, "layers")        ? "layers"
                           : grove_node_choice(node, "w_tiles") != 0 ? "w_tiles"
                                                                     : NULL;
        return only ? grove_node_fail_option(node, only, "requires method=idg")
                    : image_stage_plan(node, obs, false, plan);
    }
    code = image_stage_plan_idg(node, obs, &idg);
    *plan = idg.grid;
    return code;
}

static int check(grove_node *node)
{
    correction *c = grove_alloc(sizeof(*c));
    const grove_form *in = grove_node_input_form(node, 0);
    const int w_plane = grove_axis_kind("w_plane");

    *c = (correction){0};
    grove_node_set_user(node, c);
    int code = choose_plan(node, &c->plan);
    if (code)
        return code;
    c->expands = !grove_node_input_axis(node, 0, w_plane);
    grove_gridder_plan planes = c->plan;
    choose_grid(node, c, &planes);
    code = c->expands ? check_image(node, &c->plan)
                      : image_stage_check(node, 0, &planes, IMAGE_STAGE_SKY);
    if (code)
        return code;
    grove_form form = {
        .shape = in->shape, .vector = in->vector, .complex_ = c->expands, .unit = in->unit};
    grove_node_set_output(node, &form);
    grove_node_consume(node, w_plane);
    for (int d = 0; d < 2; d++)
        grove_node_consume(node, grove_axis_kind(image_stage_names[IMAGE_STAGE_SKY][d]));
    return c->expands ? image_stage_add_axes(node, &planes, IMAGE_STAGE_SKY)
                      : image_plane_add_axes(node, &c->plan.image);
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

/* ---- pixels ---- */

/* Of the result, the cells that are asked for along an axis. */
typedef struct {
    int64_t step, first, count;
} part;

typedef struct {
    const grove_call *call;
    const correction *c;
    double *factor[2]; /* 1 / transform of the kernel, for each pixel along l and along m */
    const char *from;
    char *to;
    int64_t in[3]; /* bytes along l, m, w_plane */
    part out[3];
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

/* The number that pixel (x, y) of the image is multiplied by, 0 beyond the horizon, and n - 1
 * there. */
static double factor_of(const pixels *p, int64_t x, int64_t y, double *n)
{
    const grove_gridder_plan *plan = &p->c->plan;
    const grove_gridder_image *image = &plan->image;
    const double l = image->centre[0] + (double)(x - image->size[0] / 2) * image->cell[0],
                 m = image->centre[1] + (double)(y - image->size[1] / 2) * image->cell[1],
                 factor = p->factor[0][x] * p->factor[1][y];

    *n = 0;
    if (l * l + m * m >= 1)
        return 0;
    *n = plan->bounds.without_w ? 0 : grove_gridder_n_less_1(l, m) - plan->middle_n;
    return plan->kernel_w.width > 1
               ? factor / grove_gridder_kernel_transform(&plan->kernel_w, *n * plan->step_w)
               : factor;
}

/* exp(2 pi i w (n - 1)) of a plane. */
static void find_phasor(const grove_gridder_plan *plan, int64_t k, double n, double phasor[2])
{
    double w = plan->bounds.without_w ? 0 : plan->first_w + (double)k * plan->step_w;
    double turns = w * n, phase = 2 * GROVE_PI * (turns - rint(turns));

    phasor[0] = cos(phase);
    phasor[1] = sin(phase);
}

/* Where pixel 0 of the image is in the planes, along l or m. */
static int64_t margin(const correction *c, int d)
{
    return c->grid[d] / 2 - c->plan.image.size[d] / 2;
}

static void sum_pixel(const pixels *p, int64_t x, int64_t y, char *to)
{
    const grove_gridder_plan *plan = &p->c->plan;
    const char *from =
        p->from + (y + margin(p->c, 1)) * p->in[1] + (x + margin(p->c, 0)) * p->in[0];
    double n, phasor[2], sum = 0, factor = factor_of(p, x, y, &n);

    for (int64_t k = 0; k < plan->planes; k++, from += p->in[2]) {
        find_phasor(plan, k, n, phasor);
        sum += get(p, from, 0) * phasor[0] - get(p, from, 1) * phasor[1];
    }
    put(p, to, 0, factor * sum);
}

static void expand_pixel(const pixels *p, int64_t gx, int64_t gy, char *to)
{
    const grove_gridder_plan *plan = &p->c->plan;
    const int64_t x = gx - margin(p->c, 0), y = gy - margin(p->c, 1);
    const bool within = x >= 0 && y >= 0 && x < plan->image.size[0] && y < plan->image.size[1];
    const part *planes = &p->out[2];
    double n = 0, phasor[2], pixel = 0;

    if (within)
        pixel = factor_of(p, x, y, &n) * get(p, p->from + y * p->in[1] + x * p->in[0], 0);
    for (int64_t k = 0; k < planes->count; k++, to += planes->step) {
        find_phasor(plan, planes->first + k, n, phasor);
        put(p, to, 0, within ? pixel * phasor[0] : 0);
        put(p, to, 1, within ? -pixel * phasor[1] : 0);
    }
}

static void do_rows(void *context, int64_t first, int64_t last)
{
    const pixels *p = context;

    for (int64_t y = first; y < last; y++)
        for (int64_t x = 0; x < p->out[0].count; x++) {
            char *to = p->to + y * p->out[1].step + x * p->out[0].step;
            if (p->c->expands)
                expand_pixel(p, p->out[0].first + x, p->out[1].first + y, to);
            else
                sum_pixel(p, p->out[0].first + x, p->out[1].first + y, to);
        }
}

static part part_of(const grove_args *args, const char *name)
{
    int d = grove_args_axis(args, grove_axis_kind(name));

    return d < 0 ? (part){0, 0, 1} : (part){args->out.stride[d], args->origin[d], args->size[d]};
}

static int eval(const grove_call *call)
{
    static const char *const names[] = {"l", "m", "w_plane"};
    const correction *c = grove_node_user(call->node);
    const grove_gridder_plan *plan = &c->plan;
    const int elements = form_elements(grove_node_output(call->node));
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    image_stage_others others;
    pixels p = {.call = call, .c = c};

    for (int d = 0; d < 3; d++) {
        p.in[d] = image_stage_in_step(call->args, 0, names[d]);
        p.out[d] = part_of(call->args, names[d]);
    }
    for (int d = 0; d < 2; d++) {
        p.factor[d] = grove_alloc((size_t)plan->image.size[d] * sizeof(double));
        for (int64_t k = 0; k < plan->image.size[d]; k++)
            p.factor[d][k] = 1 / grove_gridder_kernel_transform(
                                     &plan->kernel,
                                     (double)(k - plan->image.size[d] / 2) / (double)plan->grid[d]);
    }
    for (image_stage_begin(&others, call->args, true); image_stage_next(&others);) {
        const char *from = grove_view_at(&call->args->in[0], others.index, call->args->axes);
        char *to = grove_view_at(&call->args->out, others.index, call->args->axes);
        for (int e = 0; e < elements; e++) {
            p.from = from + 2 * (size_t)e * real;
            p.to = to + (c->expands ? 2u : 1u) * (size_t)e * real;
            grove_call_parallel(call, p.out[1].count, do_rows, &p);
        }
    }
    free(p.factor[0]);
    free(p.factor[1]);
    return 0;
}

/* ---- on a device ---- */

/* Bytes along l, m, w_plane; false: these axes have parts only, or other steps than the kernels
 * write. */
static bool find_steps(const grove_call *call, const correction *c, int64_t in[3], int64_t out[3])
{
    static const char *const names[] = {"l", "m", "w_plane"};
    const int64_t *size = c->expands ? c->grid : c->plan.image.size,
                  number =
                      (call->double_precision ? (int64_t)sizeof(double) : (int64_t)sizeof(float)) *
                      (c->expands ? 2 : 1);
    bool whole = true;

    for (int d = 0; d < 3; d++) {
        const part p = part_of(call->args, names[d]);
        const int64_t cells = d < 2 ? size[d] : c->plan.planes;
        in[d] = image_stage_in_step(call->args, 0, names[d]);
        out[d] = p.step;
        whole = whole && p.first == 0 && p.count == cells;
    }
    return whole && (size[0] == 1 || out[0] == number) &&
           (size[1] == 1 || out[1] == size[0] * number);
}

/* Planes to an image, or an image to planes, one after the other. */
static int do_planes(const grove_call *call, const correction *c,
                     const grove_gridder_device *gridder, const void *factors, const char *from,
                     char *to)
{
    static const grove_kernel
        to_image = {"gridder_to_image", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 0, 0},
        from_image = {"gridder_from_image", NULL, NULL, IMAGE_LAUNCH_SOURCE, NULL, 0, 0};
    const int64_t *size = c->expands ? c->grid : c->plan.image.size;
    int64_t in[3], out[3];
    int code = find_steps(call, c, in, out) ? 0 : GROVE_MISSING;

    for (int64_t k = 0; k < c->plan.planes && !code; k++) {
        grove_gridder_image_state s = grove_gridder_device_image(gridder, k);
        for (int d = 0; d < 2; d++) {
            s.size[d] = (int32_t)c->grid[d];
            s.middle[d] = (int32_t)(c->grid[d] / 2);
            s.step[d] = in[d];
        }
        code = image_launch(call, c->expands ? &from_image : &to_image, size[1], size[0],
                            from + (c->expands ? 0 : k * in[2]), factors,
                            to + (c->expands ? k * out[2] : 0), &s, sizeof(s));
    }
    return code;
}

static int device(const grove_call *call)
{
    const correction *c = grove_node_user(call->node);
    grove_gridder_plan plan = c->plan;
    image_stage_others others;
    const void *at = NULL;

    if (form_elements(grove_node_output(call->node)) > 1 ||
        grove_node_choice(call->node, "method") == 1)
        return GROVE_MISSING;
    plan.bounds.double_precision = call->double_precision;
    grove_gridder_device *gridder = grove_gridder_device_new(&plan);
    if (!gridder)
        return GROVE_MISSING;
    const grove_gridder_table factors = grove_gridder_device_factors(gridder);
    int code = grove_call_send(call, factors.at, factors.bytes, &at);
    for (image_stage_begin(&others, call->args, true); !code && image_stage_next(&others);)
        code = do_planes(call, c, gridder, at,
                         grove_view_at(&call->args->in[0], others.index, call->args->axes),
                         grove_view_at(&call->args->out, others.index, call->args->axes));
    grove_gridder_device_free(gridder);
    return code;
}

GROVE_CLASS(grid_correction) = {
    GROVE_CLASS_HEAD(grid_correction),
    .doc = "The stage between transforms of planes and an image, in either direction.\nPlanes "
           "(w_plane, m, l) are cut to the pixels of the image, if crop has not done that, "
           "multiplied by exp(+2 pi i w (n - 1)), added up, and divided by the kernel's transform "
           "in u, v and w: their real part is the image, of each element of a vector such as "
           "Stokes parameters. An image (m, l) becomes such planes by the adjoint, with zeros "
           "around it. The options are the same as for grid.",
    .output_doc = "a real image (m, l), or complex planes (w_plane, m, l), of as many elements",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .eval = eval,
    .device = device,
    .close = close_node,
    .example = "total = grid_correction(fft(grid(obs.data, obs, size=8, cell=20arcsec, "
               "w_terms=false)), obs, size=8, cell=20arcsec, w_terms=false)",
};
