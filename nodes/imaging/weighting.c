/* Weights of visibilities for images: natural, uniform, Briggs (1995), tapered. */
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/uv_density.h"

#include "unstable/fit.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NATURAL, UNIFORM, BRIGGS };
enum { WEIGHTS, DATA, UVW, FREQ };

static const grove_port inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    {"kind", GROVE_CHOICE,
     "natural: the weights unchanged; uniform: divided by their sum in the cell of the plane of u "
     "and v; briggs: between the two, by robust",
     .initial = "briggs", .choices = "natural uniform briggs"},
    {"robust", GROVE_NUMBER, "for briggs, from -2, nearly uniform, to 2, nearly natural",
     .initial = "0"},
    {"taper", GROVE_ANGLE,
     "full width at half maximum of a Gaussian that images are smoothed with, rad",
     .initial = "none"},
    {"size", GROVE_NUMBER_LIST,
     "pixels of the image, along each side, or [along l, along m]: their field gives the size of "
     "cells; must be given except for natural weights",
     .initial = "none"},
    {"cell", GROVE_NUMBER_LIST, "angle of a pixel, rad, as of dirty_image", .initial = "none"},
    {"weights", GROVE_VALUE,
     "the weights to start from, one for each element or for all of a cell; none: the set's own, "
     "or "
     "1",
     .initial = "none", .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},
    {"data", GROVE_VALUE,
     "visibilities; flagged ones do not count in the sums; none: the visibilities of the set, if "
     "there are any",
     .initial = "none", .shapes = GROVE_JONES, .handing = GROVE_AS_FLAGS, .linear = GROVE_SELECTOR},
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    {"exact", GROVE_BOOL,
     "true: with uniform and briggs the same bits for any tiles, with one more pass over the "
     "weights",
     .initial = "false"},
    {0},
};

typedef struct {
    int kind, density; /* the input of the density, -1: none */
    double robust, taper;
    uv_density_cells cells;
} weighting;

/* The density's call, with the options given here. */
static int add_density(grove_node *node, weighting *w, const grove_gridder_image *image)
{
    char text[400];
    int length =
        snprintf(text, sizeof(text),
                 "uv_density(obs, size=[%lld, %lld], cell=[%.17grad, %.17grad], uvw=uvw%s%s%s)",
                 (long long)image->size[0], (long long)image->size[1], image->cell[0],
                 image->cell[1], grove_node_input_form(node, WEIGHTS) ? ", weights=weights" : "",
                 grove_node_input_form(node, DATA) ? ", data=data" : "",
                 grove_node_bool(node, "exact") ? ", exact=true" : "");

    if (length >= (int)sizeof(text))
        return GROVE_INVALID;
    w->cells = uv_density_cells_of(image);
    w->density = grove_node_add_input(node, "density", text);
    return w->density < 0 ? GROVE_INVALID : 0;
}

static int find_density(grove_node *node, weighting *w)
{
    const grove_node *obs = grove_node_object(node, "obs");
    grove_gridder_image image;

    if (w->kind == NATURAL)
        return 0;
    if (!grove_node_given(node, "size"))
        return grove_node_fail_option(node, "size",
                                      "must be given: uniform and briggs count the visibilities in "
                                      "cells of the width 1 / (size cell)");
    int code = image_plane_read(node, obs, image_longest_baseline(obs), false, &image);
    return code ? code : add_density(node, w, &image);
}

/* Without weights of its own the set's, or 1. */
static int find_weights(grove_node *node, grove_form *form)
{
    int own = grove_node_input_form(node, WEIGHTS)
                  ? WEIGHTS
                  : grove_node_add_member_input(node, UVW, "weight");

    if (own >= 0) {
        form->shape = grove_node_input_form(node, own)->shape;
        form->unit = grove_node_input_form(node, own)->unit;
    }
    return own;
}

/* Where the numbers of the weights are. */
typedef struct {
    weighting w;
    int weights;
} state;

static int check(grove_node *node)
{
    state s = {
        .w = {.kind = grove_node_choice(node, "kind"),
              .density = -1,
              .robust = grove_node_number(node, "robust"),
              .taper = grove_node_given(node, "taper") ? grove_node_number(node, "taper") : 0}};
    grove_form form = {.shape = GROVE_SCALAR};

    if (!(fabs(s.w.robust) <= 10))
        return grove_node_fail_option(node, "robust", "%g is not from -10 to 10", s.w.robust);
    if (!(s.w.taper >= 0))
        return grove_node_fail_option(node, "taper", "%g is negative", s.w.taper);
    int code = find_density(node, &s.w);
    if (code)
        return code;
    if (grove_node_input_form(node, DATA))
        grove_node_drop_input(node, DATA);
    s.weights = find_weights(node, &form);
    grove_node_set_state(node, &s, sizeof(s));
    if (s.w.density >= 0) {
        grove_node_consume(node, grove_axis_kind("u"));
        grove_node_consume(node, grove_axis_kind("v"));
    }
    grove_node_set_output(node, &form);
    return 0;
}

/* ---- a tile ---- */

typedef struct {
    const grove_call *call;
    state state;
    double f2; /* of briggs */
    /* Numbers of axes, -1: it is not there. Rows go along freq; u and v are the density's. */
    int freq, u, v;
    int64_t rows, channels;
} tile;

static double number_at(const grove_view *view, int64_t offset)
{
    const void *at = (const char *)view->data + offset;

    return view->bytes == sizeof(double) ? *(const double *)at : *(const float *)at;
}

static double density_at(const tile *t, int64_t cell)
{
    const grove_args *args = t->call->args;
    const grove_view *view = &args->in[t->state.w.density];
    int64_t columns = t->state.w.cells.columns;

    return number_at(view,
                     cell / columns * view->stride[t->v] + cell % columns * view->stride[t->u]);
}

/* Briggs: 1 / (1 + W f^2), f^2 = (5 10^-robust)^2 / (sum W^2 / sum w), W the sums in cells. */
static double find_f2(const tile *t)
{
    const int64_t cells = t->state.w.cells.rows * t->state.w.cells.columns;
    double sum = 0, sum_of_squares = 0, f = 5 * pow(10, -t->state.w.robust);

    for (int64_t k = 0; k < cells; k++) {
        double density = density_at(t, k);
        sum += density;
        sum_of_squares += density * density;
    }
    return sum_of_squares > 0 ? f * f * sum / sum_of_squares : 0;
}

static double factor_of(const tile *t, const double *uvw, double freq)
{
    const weighting *w = &t->state.w;
    double factor = 1;

    if (w->density >= 0) {
        int64_t cell = uv_density_cell(&w->cells, uvw, freq);
        double density = cell >= 0 ? density_at(t, cell) : 0;
        if (!(density > 0)) /* beyond the cells, or without weight */
            factor = 0;
        else
            factor = w->kind == UNIFORM ? 1 / density : 1 / (1 + density * t->f2);
    }
    if (w->taper > 0) {
        double k = freq / GROVE_SPEED_OF_LIGHT, r2 = (uvw[0] * uvw[0] + uvw[1] * uvw[1]) * k * k;
        factor *= exp(-GROVE_PI * GROVE_PI / (4 * log(2)) * w->taper * w->taper * r2);
    }
    return isfinite(factor) ? factor : 0;
}

static void weigh(const tile *t, const double *uvw, const double *freq, const char *in, char *out)
{
    const double factor = factor_of(t, uvw, *freq);

    for (int e = 0; e < t->call->args->out.elements; e++)
        if (t->call->double_precision)
            ((double *)(void *)out)[e] = factor * (in ? ((const double *)(const void *)in)[e] : 1);
        else
            ((float *)(void *)out)[e] =
                (float)(factor * (in ? (double)((const float *)(const void *)in)[e] : 1));
}

static void weigh_rows(void *context, int64_t first, int64_t last)
{
    const tile *t = context;
    const grove_args *args = t->call->args;
    const grove_view *views[] = {&args->in[UVW], &args->in[FREQ],
                                 t->state.weights >= 0 ? &args->in[t->state.weights] : NULL,
                                 &args->out};

    for (int64_t row = first; row < last; row++) {
        int64_t index[GROVE_MAX_AXES] = {0}, rest = row;
        char *at[4];
        for (int d = args->axes - 1; d >= 0; d--)
            if (d != t->freq && d != t->u && d != t->v) {
                index[d] = rest % args->size[d];
                rest /= args->size[d];
            }
        for (int k = 0; k < 4; k++)
            at[k] = views[k] ? grove_view_at(views[k], index, args->axes) : NULL;
        for (int64_t f = 0; f < t->channels; f++) {
            weigh(t, (const double *)(const void *)at[0], (const double *)(const void *)at[1],
                  at[2], at[3]);
            for (int k = 0; k < 4 && t->freq >= 0; k++)
                at[k] += at[k] ? views[k]->stride[t->freq] : 0;
        }
    }
}

static int eval(const grove_call *call)
{
    const grove_args *args = call->args;
    tile t = {.call = call,
              .freq = grove_args_axis(args, GROVE_AXIS_FREQ),
              .u = grove_args_axis(args, grove_axis_kind("u")),
              .v = grove_args_axis(args, grove_axis_kind("v")),
              .rows = 1};

    memcpy(&t.state, args->state.bytes, sizeof(t.state));
    t.channels = t.freq >= 0 ? args->size[t.freq] : 1;
    for (int d = 0; d < args->axes; d++)
        t.rows *= d == t.freq || d == t.u || d == t.v ? 1 : args->size[d];
    if (t.state.w.kind == BRIGGS)
        t.f2 = find_f2(&t);
    grove_call_parallel(call, t.rows, weigh_rows, &t);
    return 0;
}

GROVE_CLASS(weighting) = {
    GROVE_CLASS_HEAD(weighting),
    .doc =
        "Weights of visibilities for an image: natural, uniform or Briggs', with a taper.\nCells "
        "and sums are as of uv_density. Briggs: w / (1 + W f^2) with f^2 = (5 10^-robust)^2 / (sum "
        "W^2 / sum w), W being the sum of the weights in the visibility's cell (Briggs 1995).",
    .output_doc =
        "weights per time, baseline and channel, a number for each that the set's weights "
        "have",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .eval = eval,
    .example = "W = weighting(obs, kind=briggs, robust=0, size=512, cell=2arcsec)",
};
