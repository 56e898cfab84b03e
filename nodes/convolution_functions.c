/* convolution_functions: beams and w as functions of the uv plane, for grid and degrid. */
#include "../kernels/convolution/convolution_fit.h"
#include "nodes/image_functions.h"

#include "base/error.h"
#include "base/memory.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OVERSAMPLING = 4096, MAX_PLANES = 1 << 16 };
#define MAX_BYTES 4e9 /* of all functions */

static const grove_input inputs[] = {
    {"x", GROVE_VALUE,
     "the Jones term of all stations, one number for each direction, as of sky_grid; or one for "
     "all directions",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_SCALAR},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_option options[] = {
    IMAGE_STAGE_OPTIONS,
    {"support", GROVE_INTEGER, "none",
     "cells of the grid that a function has along each side; none: those of the kernel, of w at "
     "the edge of the image, and 2 for a beam"},
    {"oversampling", GROVE_INTEGER, "64",
     "fine samples for each cell: a visibility takes the nearest one"},
    {"w_planes", GROVE_INTEGER, "none",
     "functions between w = 0 and the longest baseline: a visibility takes the nearest one; none: "
     "so many that this makes the error of the fine samples"},
    {0},
};

typedef struct {
    grove_gridder_plan plan; /* without w */
    grove_convolution_plan functions;
    const grove_axis *raster[2]; /* l, m of the input; NULL: the same for all directions */
    double half_n;
    double error; /* of the nearest sample and plane, relative, root mean square */
} making;

/* ---- check ---- */

/* Of the nearest fine sample: phases of 2 pi d x, with d within 1 / (2 Q) and x, cycles per cell,
 * within the image. */
static double sampling_error(const making *c)
{
    const double u = (double)c->plan.image.size[0] / (double)c->plan.grid[0],
                 v = (double)c->plan.image.size[1] / (double)c->plan.grid[1];

    return GROVE_PI * hypot(u, v) / (6 * c->functions.oversampling);
}

/* Of the nearest plane: phases of 2 pi d (n - 1), with d within half a step. */
static double plane_error(const making *c, double step)
{
    return GROVE_PI * step * c->half_n / 3;
}

/* How far w shifts the function of a pixel at the image's edge, cells. */
static double shift_of(const making *c, double longest)
{
    const grove_gridder_image *image = &c->plan.image;
    double most = 0;

    for (int corner = 0; corner < 4; corner++) {
        double at[2], square = 0;
        for (int d = 0; d < 2; d++) {
            at[d] = image->centre[d] +
                    ((corner >> d & 1) - 0.5) * (double)image->size[d] * image->cell[d];
            square += at[d] * at[d];
        }
        for (int d = 0; d < 2; d++)
            most = fmax(most, fabs(at[d]) * c->functions.scale[d]);
        most = square < 1 ? most / sqrt(fmax(1 - square, 1e-2)) : most;
    }
    return longest * most;
}

static int choose_planes(const grove_node *node, making *c, double longest)
{
    grove_convolution_plan *f = &c->functions;
    const bool with_w = grove_node_bool(node, "w_terms");
    double wanted = plane_error(c, longest) / sampling_error(c);

    if (grove_node_given(node, "w_planes")) {
        f->planes = grove_node_integer(node, "w_planes");
        if (f->planes < 1 || f->planes > MAX_PLANES)
            return grove_node_fail_option(node, "w_planes", "%lld is not from 1 to %d",
                                          (long long)f->planes, MAX_PLANES);
        if (!with_w && f->planes != 1)
            return grove_node_fail_option(node, "w_planes", "without w_terms there is one");
    } else if (!with_w || 2 * wanted <= 1) {
        f->planes = 1;
    } else if (wanted >= MAX_PLANES) {
        return grove_node_fail_option(node, "oversampling",
                                      "it takes more than %d planes of w to be as exact; smaller "
                                      "images, or a lower oversampling, need fewer",
                                      MAX_PLANES);
    } else {
        f->planes = (int64_t)ceil(wanted) + 1;
    }
    f->step_w = f->planes > 1 ? longest / (double)(f->planes - 1) : 0;
    /* a single plane has w = 0, as far from the longest as half a step of twice its length */
    c->error = hypot(sampling_error(c),
                     with_w ? plane_error(c, f->planes > 1 ? f->step_w : 2 * longest) : 0);
    return 0;
}

static int check_bytes(const grove_node *node, const making *c)
{
    const grove_convolution_plan *f = &c->functions;
    const double fine = (double)f->support * f->oversampling,
                 bytes =
                     (double)f->planes * fine * fine * (c->plan.bounds.double_precision ? 16 : 8);

    return bytes <= MAX_BYTES
               ? 0
               : grove_node_fail_option(node, "oversampling",
                                        "%lld planes of %d x %d cells with %d samples for each "
                                        "make %.3g GB, more than %.3g; a lower oversampling or "
                                        "fewer w_planes need less",
                                        (long long)f->planes, f->support, f->support,
                                        f->oversampling, bytes / 1e9, MAX_BYTES / 1e9);
}

static int choose(const grove_node *node, making *c, double longest)
{
    grove_convolution_plan *f = &c->functions;
    const int64_t oversampling = grove_node_integer(node, "oversampling");
    const bool with_w = grove_node_bool(node, "w_terms");

    if (oversampling < 1 || oversampling > MAX_OVERSAMPLING)
        return grove_node_fail_option(node, "oversampling", "%lld is not from 1 to %d",
                                      (long long)oversampling, MAX_OVERSAMPLING);
    f->oversampling = (int)oversampling;
    double support = c->plan.kernel.width + (c->raster[0] ? 2 : 0) +
                     (with_w ? ceil(2 * shift_of(c, longest)) : 0);
    if (grove_node_given(node, "support"))
        support = (double)grove_node_integer(node, "support");
    const double most =
        fmin(GROVE_CONVOLUTION_MAX_SUPPORT,
             (double)(c->plan.grid[0] < c->plan.grid[1] ? c->plan.grid[0] : c->plan.grid[1]));
    if (!(support >= 1 && support <= most))
        return grove_node_fail_option(node, "support",
                                      "%g cells are not from 1 to %g, as the grid of %lld x %lld "
                                      "cells allows; a smaller image needs fewer for w",
                                      support, most, (long long)c->plan.grid[0],
                                      (long long)c->plan.grid[1]);
    f->support = (int)support;
    int code = choose_planes(node, c, longest);
    return code ? code : check_bytes(node, c);
}

/* The raster of directions, which covers the image. */
static int find_raster(const grove_node *node, making *c)
{
    static const char *const names[] = {"l", "m"};
    const grove_axis *axes[GROVE_MAX_AXES];
    const int count = grove_node_input_axes(node, 0, axes);
    grove_gridder_image raster;

    for (int d = 0; d < count; d++)
        if (strcmp(axes[d]->name, "l") != 0 && strcmp(axes[d]->name, "m") != 0)
            return grove_node_fail_option(node, "x",
                                          "varies with %s; functions that do are not there yet: "
                                          "take a part of it, or a mean over %s",
                                          axes[d]->name, axes[d]->name);
    if (!count)
        return 0;
    int code = image_plane_of_input(node, 0, &raster);
    for (int d = 0; d < 2 && !code; d++) {
        const grove_gridder_image *image = &c->plan.image;
        const double half = 0.5 * image->cell[d],
                     low = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d],
                     high = low + (double)(image->size[d] - 1) * image->cell[d];
        c->raster[d] = grove_node_input_axis(node, 0, grove_axis_kind(names[d]));
        if (c->raster[d]->centre[0] > low + half ||
            c->raster[d]->centre[raster.size[d] - 1] < high - half)
            code = grove_node_fail_option(
                node, "x",
                "it does not cover the image: along %s its pixels reach from %.6g to %.6g, those "
                "of the image from %.6g to %.6g",
                names[d], c->raster[d]->centre[0], c->raster[d]->centre[raster.size[d] - 1], low,
                high);
    }
    return code;
}

/* Of the raster those pixels count that lie in the image, and one more on each side. */
static bool counts(const making *c, int d, double at)
{
    const grove_gridder_image *image = &c->plan.image;
    const double low = image->centre[d] - (double)(image->size[d] / 2) * image->cell[d],
                 high = low + (double)(image->size[d] - 1) * image->cell[d],
                 margin = c->raster[d] ? c->raster[d]->width[0] : 0.1 * image->cell[d];

    return at > low - margin && at < high + margin;
}

/* Pixels of the raster along l or m that count, the first of them, and their direction cosines. */
static int64_t pixels_of(const making *c, int d, int64_t *first, double *at)
{
    const grove_gridder_image *image = &c->plan.image;
    const int64_t size = c->raster[d] ? c->raster[d]->size : 4 * (int64_t)c->functions.support + 1;
    int64_t count = 0;

    for (int64_t k = 0; k < size; k++) {
        double cosine = c->raster[d] ? c->raster[d]->centre[k]
                                     : image->centre[d] +
                                           ((double)k / (double)(size - 1) - 0.5) *
                                               (double)(image->size[d] - 1) * image->cell[d] -
                                           (image->size[d] % 2 ? 0 : 0.5 * image->cell[d]);
        if (!counts(c, d, cosine))
            continue;
        if (!count)
            *first = k;
        if (at)
            at[count] = cosine;
        count++;
    }
    return count;
}

static int check_pixels(const grove_node *node, const making *c)
{
    static const char *const names[] = {"l", "m"};

    for (int d = 0; d < 2; d++) {
        int64_t first, count = pixels_of(c, d, &first, NULL);
        if (count < 2 * (int64_t)c->functions.support)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the Jones term has %lld pixels along %s in the image, but "
                                   "functions of %d cells need at least %d: make the cells of "
                                   "sky_grid smaller",
                                   (long long)count, names[d], c->functions.support,
                                   2 * c->functions.support);
    }
    return 0;
}

static uint64_t work_bytes(const making *c)
{
    const uint64_t fine = (uint64_t)c->functions.support * (uint64_t)c->functions.oversampling;
    uint64_t pixels[2];

    for (int d = 0; d < 2; d++) {
        int64_t first;
        pixels[d] = (uint64_t)pixels_of(c, d, &first, NULL);
    }
    return 16 * (fine * (pixels[0] + 2 * pixels[1] + fine) + 2 * pixels[0] * pixels[1]);
}

static int check(grove_node *node)
{
    making *c = grove_alloc(sizeof(*c));
    const grove_node *obs = grove_node_object(node, "obs");

    *c = (making){0};
    grove_node_set_user(node, c);
    int code = image_stage_plan(node, obs, true, &c->plan);
    for (int d = 0; d < 2 && !code; d++)
        c->functions.scale[d] = (double)c->plan.grid[d] * c->plan.image.cell[d];
    code = code ? code : find_raster(node, c);
    code = code ? code : image_functions_n(node, &c->plan.image, &c->functions.turn[2], &c->half_n);
    code = code ? code : choose(node, c, c->plan.bounds.max_w);
    code = code ? code : check_pixels(node, c);
    if (code)
        return code;
    grove_node_set_output(
        node, &(grove_form){.shape = GROVE_SCALAR,
                            .complex_ = true,
                            .precision = image_precision(grove_node_number(node, "epsilon"))});
    grove_node_set_scratch(node, work_bytes(c), 0);
    grove_node_consume(node, grove_axis_kind("l"));
    grove_node_consume(node, grove_axis_kind("m"));
    grove_node_note(node,
                    "functions of %d x %d cells, %d fine samples for each, %lld planes of w; error "
                    "of the nearest ones %.2g, root mean square",
                    c->functions.support, c->functions.support, c->functions.oversampling,
                    (long long)c->functions.planes, c->error);
    return image_functions_add_axes(node, &c->plan, grove_node_bool(node, "w_terms"),
                                    &c->functions);
}

static void close_node(grove_node *node)
{
    free(grove_node_user(node));
}

/* ---- functions ---- */

/* Pixels along l or m that count. */
typedef struct {
    int64_t count, first;
    double *at;          /* direction cosines */
    double complex *fit; /* as of grove_convolution_fit; along l conjugate, as products want */
} axis_work;

/* In cycles per cell of the grid, from the image's middle. */
static double cycles(const making *c, int d, double cosine)
{
    return (cosine - c->plan.image.centre[d]) / c->functions.scale[d];
}

static int fit_axis(const making *c, int d, axis_work *w)
{
    double *x = grove_alloc((size_t)w->count * sizeof(*x));

    for (int64_t k = 0; k < w->count; k++)
        x[k] = cycles(c, d, w->at[k]);
    int code = grove_convolution_fit(&c->plan.kernel, c->functions.support,
                                     c->functions.oversampling, x, w->count, (double *)w->fit);
    for (int64_t k = 0;
         k < w->count * c->functions.support * c->functions.oversampling && !d && !code; k++)
        w->fit[k] = conj(w->fit[k]);
    free(x);
    return code ? GROVE_NO_MEMORY : 0;
}

typedef struct {
    const grove_call *call;
    const making *c;
    axis_work axis[2];
    double complex *power; /* of the beam, [m][l] */
    double complex *sky, *half, *plane;
} making_work;

static double complex read_number(const making_work *w, int64_t y, int64_t x)
{
    const grove_args *args = w->call->args;
    const char *at = (const char *)args->in[0].data +
                     (w->axis[1].first + y) * image_stage_in_step(args, 0, "m") +
                     (w->axis[0].first + x) * image_stage_in_step(args, 0, "l");

    if (w->call->double_precision)
        return ((const double *)(const void *)at)[0] + I * ((const double *)(const void *)at)[1];
    return ((const float *)(const void *)at)[0] + I * ((const float *)(const void *)at)[1];
}

/* Of both stations of a baseline: |E|^2. False where it is no number. */
static bool find_power(making_work *w)
{
    bool finite = true;

    for (int64_t y = 0; y < w->axis[1].count; y++)
        for (int64_t x = 0; x < w->axis[0].count; x++) {
            double complex e = read_number(w, y, x);
            double power = creal(e) * creal(e) + cimag(e) * cimag(e);
            finite = finite && isfinite(power);
            w->power[y * w->axis[0].count + x] = power;
        }
    return finite;
}

/* Of plane k: fit_v S fit_u^T, the sky's S = |E|^2 exp(2 pi i w (n - 1 - its middle)). */
static int make_plane(making_work *w, int64_t k)
{
    const making *c = w->c;
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count,
                  fine = (int64_t)c->functions.support * c->functions.oversampling;
    const double plane = (double)k * c->functions.step_w;

    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            double n =
                grove_gridder_n_less_1(w->axis[0].at[x], w->axis[1].at[y]) - c->functions.turn[2];
            w->sky[y * columns + x] =
                w->power[y * columns + x] * cexp(2 * GROVE_PI * I * (plane * n));
        }
    int code = grove_call_product(w->call,
                                  &(grove_product){.a = w->axis[0].fit,
                                                   .b = w->sky,
                                                   .c = w->half,
                                                   .rows = fine,
                                                   .columns = rows,
                                                   .inner = columns,
                                                   .count = 1},
                                  true);
    return code ? code
                : grove_call_product(w->call,
                                     &(grove_product){.a = w->axis[1].fit,
                                                      .b = w->half,
                                                      .c = w->plane,
                                                      .rows = fine,
                                                      .columns = fine,
                                                      .inner = rows,
                                                      .count = 1},
                                     true);
}

/* How far the function at offset 0 is from what it is to be, relative, root mean square over the
 * pixels. */
static double residual(const making_work *w)
{
    const int64_t columns = w->axis[0].count, rows = w->axis[1].count;
    const int support = w->c->functions.support, oversampling = w->c->functions.oversampling;
    const int64_t fine = (int64_t)support * oversampling;
    double complex *seen[2];
    double off = 0, size = 0;

    for (int d = 0; d < 2; d++) {
        seen[d] = grove_alloc((size_t)(w->axis[d].count * support) * sizeof(**seen));
        for (int64_t k = 0; k < w->axis[d].count; k++)
            grove_convolution_see(&w->c->plan.kernel, support, oversampling,
                                  cycles(w->c, d, w->axis[d].at[k]),
                                  (double *)(seen[d] + k * support));
    }
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < columns; x++) {
            double complex sum = 0, sky = w->sky[y * columns + x];
            for (int64_t j = 0; j < support; j++)
                for (int64_t i = 0; i < support; i++)
                    sum += w->plane[j * oversampling * fine + i * oversampling] *
                           seen[1][y * support + j] * seen[0][x * support + i];
            sum -= sky;
            off += creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
            size += creal(sky) * creal(sky) + cimag(sky) * cimag(sky);
        }
    free(seen[0]);
    free(seen[1]);
    return size > 0 ? sqrt(off / size) : 0;
}

/* The part of a plane that is asked for, at `to`. */
static void put_samples(const making_work *w, char *to)
{
    const grove_args *args = w->call->args;
    const int d = grove_args_axis(args, grove_axis_kind("fine"));
    const double complex *from = w->plane + args->origin[d];

    for (int64_t i = 0; i < args->size[d]; i++, to += args->out.stride[d]) {
        const double re = creal(from[i]), im = cimag(from[i]);
        if (w->call->double_precision)
            memcpy(to, (double[]){re, im}, 2 * sizeof(double));
        else
            memcpy(to, (float[]){(float)re, (float)im}, 2 * sizeof(float));
    }
}

/* The same for each cell of axes that only other inputs of the tree have. */
static void put_plane(const making_work *w, int64_t k)
{
    const int fine = grove_axis_kind("fine"), function = grove_axis_kind("w_function");
    image_stage_others others;

    image_stage_begin(&others, w->call->args, false);
    for (int d = 0; d < others.args->axes; d++)
        if (others.args->axis[d] == fine || others.args->axis[d] == function) {
            others.cells /= others.args->size[d];
            others.other[d] = false;
        }
    while (image_stage_next(&others))
        put_samples(w, (char *)grove_view_at(&w->call->args->out, others.index, others.args->axes) +
                           k * image_stage_out_step(w->call->args, "w_function"));
}

static int take_memory(making_work *w)
{
    const making *c = w->c;
    const int64_t fine = (int64_t)c->functions.support * c->functions.oversampling,
                  rows = w->axis[1].count, pixels = w->axis[0].count * rows;
    struct {
        double complex **at;
        int64_t numbers;
    } all[] = {{&w->axis[0].fit, fine * w->axis[0].count},
               {&w->axis[1].fit, fine * rows},
               {&w->power, pixels},
               {&w->sky, pixels},
               {&w->half, fine * rows},
               {&w->plane, fine * fine}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        void *at = NULL;
        int code = grove_call_scratch(w->call, (uint64_t)all[i].numbers * sizeof(**all[i].at), &at);
        if (code)
            return code;
        *all[i].at = at;
    }
    return 0;
}

static int make_planes(making_work *w)
{
    const grove_args *args = w->call->args;
    const making *c = w->c;
    const int d = grove_args_axis(args, grove_axis_kind("w_function"));
    const int64_t first = args->origin[d], count = args->size[d];
    int code = 0;

    if (!find_power(w))
        return grove_node_fail(w->call->node, GROVE_INVALID,
                               "the Jones term has numbers that are not finite in the image; a "
                               "beam that covers the image has none");
    for (int64_t k = 0; k < count && !code; k++) {
        code = make_plane(w, first + k);
        if (!code)
            put_plane(w, k);
    }
    double off = code || first + count < c->functions.planes ? 0 : residual(w);
    if (off > c->error)
        grove_node_warn(w->call->node,
                        "a support of %d cells leaves an error of %.2g, more than the nearest "
                        "samples do (%.2g); support=%d would leave less",
                        c->functions.support, off, c->error, c->functions.support + 4);
    return code;
}

static int eval(const grove_call *call)
{
    const making *c = grove_node_user(call->node);
    making_work w = {.call = call, .c = c};

    for (int d = 0; d < 2; d++) {
        axis_work *a = &w.axis[d];
        a->count = pixels_of(c, d, &a->first, NULL);
        a->at = grove_alloc((size_t)a->count * sizeof(*a->at));
        pixels_of(c, d, &a->first, a->at);
    }
    int code = take_memory(&w);
    for (int d = 0; d < 2 && !code; d++)
        code = fit_axis(c, d, &w.axis[d]);
    code = code ? code : make_planes(&w);
    for (int d = 0; d < 2; d++)
        free(w.axis[d].at);
    return code;
}

GROVE_CLASS(convolution_functions) = {
    GROVE_CLASS_HEAD(convolution_functions),
    .doc =
        "Functions by which grid and degrid spread each visibility: the kernel, w, and the beam of "
        "both stations of a baseline.\nFor each plane of w the function of the image's pixels is "
        "|E|^2 exp(2 pi i w (n - 1)), E the Jones term, the same for all stations; its K x K cells "
        "are those of least squares over the pixels, for each of the oversampled offsets, so that "
        "grid_correction divides by the same kernel as without them. A visibility takes the "
        "nearest "
        "offset and plane: an error of pi sqrt(x^2 + y^2) / (6 oversampling), x and y the size of "
        "the image over that of the grid, and one of w, of which grove check tells; epsilon "
        "chooses "
        "the kernel and the grid alone. Planes are between w = 0 and the longest "
        "baseline; those with w < 0 are gridded as their conjugates. Numbers at (v, u) (j - H) / "
        "oversampling cells, j from 0 to support x oversampling, H half of that rounded down.",
    .output_doc = "a complex number for each plane (w_function, wavelengths) and fine sample "
                  "(fine: v and u, u fastest), without unit",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .eval = eval,
    .close = close_node,
    .example =
        "C = convolution_functions(beam_airy(sky_grid(obs, size=17, cell=20arcsec), obs, "
        "diameter=25m, freq=1.4GHz), obs, size=24, cell=10arcsec, support=6, oversampling=2, "
        "w_planes=2)",
};
