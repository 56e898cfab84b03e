/* fft: two-dimensional Fourier transforms over u and v, or l and m. */
#include "nodes/common/form.h"
#include "nodes/imaging/fourier.h"
#include "nodes/imaging/image_launch.h"
#include "nodes/imaging/image_stage.h"

#include "util.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE, "complex numbers over u and v, or over l and m, evenly spaced",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_ANY_SHAPE, .linear = GROVE_LINEAR},
    {0},
};
static const grove_port options[] = {
    {"sign", GROVE_INTEGER,
     "of the exponent, 1 or -1; none: 1 from u and v to l and m, -1 from l and m",
     .initial = "none"},
    {0},
};

typedef struct {
    image_stage from, to;
    int sign;
    int64_t size[2]; /* along l or u, along m or v */
} transform;

/* ---- check ---- */

static int find_axes(const grove_node *node, transform *t, const grove_axis *axis[2])
{
    for (int stage = 0; stage < 2; stage++) {
        for (int d = 0; d < 2; d++)
            axis[d] = grove_node_input_axis(node, 0, grove_axis_kind(image_stage_names[stage][d]));
        if (!axis[0] || !axis[1])
            continue;
        t->from = (image_stage)stage;
        t->to = (image_stage)!stage;
        return 0;
    }
    return grove_node_fail(node, GROVE_SHAPE, "it requires a value over u and v, or over l and m");
}

static int add_axis(grove_node *node, const char *name, const grove_axis *from)
{
    const int64_t size = from->size;
    const double step = from->width ? from->width[0] : 0, fine = 1 / ((double)size * step);
    double *centre = grove_alloc((size_t)size * sizeof(*centre));
    double *width = grove_alloc((size_t)size * sizeof(*width));
    int code = 0;

    if (!(step > 0 && isfinite(fine)))
        code = grove_node_fail(node, GROVE_SHAPE, "its axis %s has no width of cells", from->name);
    for (int64_t k = 0; k < size && !code; k++) {
        centre[k] = (double)(k - size / 2) * fine;
        width[k] = fine;
        double regular = from->centre ? from->centre[size / 2] + (double)(k - size / 2) * step : 0;
        if (from->centre && !(fabs(from->centre[k] - regular) <= 1e-6 * step))
            code =
                grove_node_fail(node, GROVE_SHAPE, "its axis %s is not evenly spaced", from->name);
    }
    if (!code)
        code = grove_node_add_output_axis(
            node, &(grove_axis){.name = name, .size = size, .centre = centre, .width = width});
    free(centre);
    free(width);
    return code;
}

static int check(grove_node *node)
{
    transform *t = grove_alloc(sizeof(*t));
    const grove_axis *axis[2] = {NULL, NULL};

    *t = (transform){0};
    grove_node_set_user(node, t);
    int code = find_axes(node, t, axis);
    if (code)
        return code;
    int64_t sign = t->from == IMAGE_STAGE_GRID ? 1 : -1;
    if (grove_node_given(node, "sign"))
        sign = grove_node_integer(node, "sign");
    if (sign != 1 && sign != -1)
        return grove_node_fail_option(node, "sign", "is 1 or -1");
    t->sign = (int)sign;
    grove_form form = *grove_node_input_form(node, 0);
    form.complex_ = true;
    form.precision = GROVE_PRECISION_RUN;
    grove_node_set_output(node, &form);
    for (int d = 0; d < 2; d++) {
        t->size[d] = axis[d]->size;
        grove_node_consume(node, axis[d]->kind);
    }
    grove_node_set_scratch(node, (uint64_t)(t->size[0] * t->size[1]) * 2 * sizeof(double), 0);
    for (int d = 1; d >= 0 && !code; d--)
        code = add_axis(node, image_stage_names[t->to][d], axis[d]);
    return code;
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

/* ---- lines ---- */

/* Lines along one direction: from one array to another, or in place. */
typedef struct {
    const char *from;
    char *to;
    int64_t size, from_step, to_step; /* along a line */
    int64_t from_next, to_next;       /* to the next line */
    size_t bytes;                     /* of a number */
    const void *plan;
    bool double_precision;
    atomic_bool failed;
} lines;

static void transform_lines(void *context, int64_t first, int64_t last)
{
    lines *l = context;
    const size_t room = ((size_t)l->size * l->bytes + 63) / 64 * 64;
    char *buffer = aligned_alloc(64, 2 * room), *done = buffer + room;

    if (!buffer) {
        l->failed = true;
        return;
    }
    for (int64_t i = first; i < last; i++) {
        /* zero is in the middle, at size / 2 */
        for (int64_t k = 0; k < l->size; k++)
            memcpy(buffer + (size_t)((k + l->size - l->size / 2) % l->size) * l->bytes,
                   l->from + i * l->from_next + k * l->from_step, l->bytes);
        grove_fourier_execute(l->plan, buffer, done, l->double_precision);
        for (int64_t k = 0; k < l->size; k++)
            memcpy(l->to + i * l->to_next + k * l->to_step,
                   done + (size_t)((k + l->size - l->size / 2) % l->size) * l->bytes, l->bytes);
    }
    free(buffer);
}

/* From `from` to the part of the result that is asked for; `plane` has room for the whole. */
static int transform_plane(const grove_call *call, const transform *t, void *const plan[2],
                           const char *from, char *plane, char *to)
{
    const grove_args *args = call->args;
    const int64_t bytes = 2 * (int64_t)(call->double_precision ? sizeof(double) : sizeof(float)),
                  row = t->size[0] * bytes;
    int axis[2];
    lines l = {.from = from,
               .to = plane,
               .size = t->size[0],
               .from_step = image_stage_in_step(args, 0, image_stage_names[t->from][0]),
               .to_step = bytes,
               .from_next = image_stage_in_step(args, 0, image_stage_names[t->from][1]),
               .to_next = row,
               .bytes = (size_t)bytes,
               .plan = plan[0],
               .double_precision = call->double_precision};

    grove_call_parallel(call, t->size[1], transform_lines, &l);
    l.from = plane;
    l.size = t->size[1];
    l.from_step = l.to_step = row;
    l.from_next = l.to_next = bytes;
    l.plan = plan[1];
    grove_call_parallel(call, t->size[0], transform_lines, &l);
    for (int d = 0; d < 2; d++)
        axis[d] = grove_args_axis(args, grove_axis_kind(image_stage_names[t->to][d]));
    for (int64_t y = 0; y < args->size[axis[1]]; y++)
        for (int64_t x = 0; x < args->size[axis[0]]; x++)
            memcpy(to + y * args->out.stride[axis[1]] + x * args->out.stride[axis[0]],
                   plane + (y + args->origin[axis[1]]) * row + (x + args->origin[axis[0]]) * bytes,
                   (size_t)bytes);
    return l.failed ? -1 : 0;
}

static int transform_all(const grove_call *call, const transform *t, void *const plan[2])
{
    const grove_args *args = call->args;
    const size_t bytes = 2 * (call->double_precision ? sizeof(double) : sizeof(float));
    const int elements = form_elements(grove_node_output(call->node));
    void *plane = NULL;
    image_stage_others others;
    int code = grove_call_scratch(call, (uint64_t)(t->size[0] * t->size[1]) * bytes, &plane);

    for (image_stage_begin(&others, args, false); !code && image_stage_next(&others);)
        for (int e = 0; e < elements && !code; e++)
            code = transform_plane(
                call, t, plan,
                (const char *)grove_view_at(&args->in[0], others.index, args->axes) +
                    (size_t)e * bytes,
                plane,
                (char *)grove_view_at(&args->out, others.index, args->axes) + (size_t)e * bytes);
    return code;
}

static int eval(const grove_call *call)
{
    const transform *t = grove_node_user(call->node);
    void *plan[2] = {NULL, NULL};
    bool good = true;

    for (int d = 0; d < 2; d++) {
        plan[d] = grove_fourier_plan(t->size[d], t->sign, call->double_precision);
        good = good && plan[d];
    }
    good = good && !transform_all(call, t, plan);
    for (int d = 0; d < 2; d++)
        grove_fourier_free(plan[d], call->double_precision);
    return good ? 0 : grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory");
}

/* ---- on a device ---- */

/* As transform_plane: zero is in the middle, at size / 2, and in a transform at 0. */
static int transform_on_device(const grove_call *call, const transform *t, const char *from,
                               void *plane, char *to)
{
    const grove_args *args = call->args;
    const int64_t bytes = 2 * (int64_t)(call->double_precision ? sizeof(double) : sizeof(float)),
                  row = t->size[0] * bytes;
    grove_gridder_window in = {.wraps = 1, .numbers = 2, .to_step = {bytes, row}}, out = in;

    for (int d = 0; d < 2; d++) {
        const int axis = grove_args_axis(args, grove_axis_kind(image_stage_names[t->to][d]));
        const int64_t size = t->size[d];
        in.size[d] = in.from_size[d] = out.from_size[d] = (int32_t)size;
        in.skip[d] = (int32_t)(size / 2);
        in.from_step[d] = image_stage_in_step(args, 0, image_stage_names[t->from][d]);
        out.size[d] = (int32_t)args->size[axis];
        out.skip[d] = (int32_t)((size - size / 2 + args->origin[axis]) % size);
        out.from_step[d] = in.to_step[d];
        out.to_step[d] = args->out.stride[axis];
    }
    int code = image_launch_window(call, from, plane, &in);
    if (!code)
        code = grove_call_transform(call,
                                    &(grove_transform){.at = plane,
                                                       .size = {t->size[1], t->size[0]},
                                                       .count = 1,
                                                       .rank = 2,
                                                       .sign = t->sign},
                                    call->double_precision);
    return code ? code : image_launch_window(call, plane, to, &out);
}

static int device(const grove_call *call)
{
    const transform *t = grove_node_user(call->node);
    const grove_args *args = call->args;
    const size_t bytes = 2 * (call->double_precision ? sizeof(double) : sizeof(float));
    const int elements = form_elements(grove_node_output(call->node));
    void *plane = NULL;
    image_stage_others others;
    int code = grove_call_scratch(call, (uint64_t)(t->size[0] * t->size[1]) * bytes, &plane);

    for (image_stage_begin(&others, args, false); !code && image_stage_next(&others);)
        for (int e = 0; e < elements && !code; e++)
            code = transform_on_device(
                call, t,
                (const char *)grove_view_at(&args->in[0], others.index, args->axes) +
                    (size_t)e * bytes,
                plane,
                (char *)grove_view_at(&args->out, others.index, args->axes) + (size_t)e * bytes);
    return code;
}

GROVE_CLASS(fft) = {
    GROVE_CLASS_HEAD(fft),
    .doc = "Fourier transform over u and v, to l and m, or the other way.\ny(l, m) = sum over u, v "
           "of x exp(+2 pi i (u l + v m)), and y(u, v) = sum over l, m of x exp(-2 pi i (u l + v "
           "m)), neither divided by the number of cells. Zero of all axes is at cell size / 2; "
           "coordinates of the input count from there, coordinates of the result are multiples of "
           "1 / (size x width).",
    .output_doc = "complex numbers over m and l, or over v and u",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .eval = eval,
    .device = device,
    .close = close_node,
    .example = "uv = fft(dirty_image(obs.data, obs, size=8, cell=20arcsec))",
};
