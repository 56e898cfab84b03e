/* convolution_functions: beams and w as functions of the uv plane, for grid and degrid. */
#include "nodes/imaging/convolution_make.h"

#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"x", GROVE_VALUE_NUMBER,
     "Jones terms for each direction, as of sky_grid, or one for all directions: of all stations, "
     "or of each (E in place of E[p]); they may vary with time and frequency",
     .handing = GROVE_AS_COMPLEX, .shapes = GROVE_JONES},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    IMAGE_STAGE_OPTIONS,
    {"support", GROVE_INTEGER,
     "cells of the grid that a function has along each side; none: the cells of the kernel and of "
     "w at the edge of the image, 2 for a beam, and 1 where epsilon chooses the oversampling",
     .initial = "none"},
    {"oversampling", GROVE_INTEGER, "fine samples for each cell; none: as many as epsilon requires",
     .initial = "none"},
    {"samples", GROVE_CHOICE,
     "nearest: a visibility takes the nearest fine sample and plane of w; linear: a mean of the "
     "samples around it, which requires fewer of them; none: linear where oversampling is not "
     "given and the nearest of 64 samples is less exact than epsilon",
     .initial = "none", .choices = "nearest linear"},
    {"w_planes", GROVE_INTEGER,
     "functions between w = 0 and the longest baseline; none: as many as epsilon requires, or, "
     "with oversampling, as many as make their error equal to the error of the fine samples",
     .initial = "none"},
    {"stokes", GROVE_TEXT,
     "Stokes parameters of the images, of diagonal and matrix terms: letters of IQUV",
     .initial = "\"I\""},
    {"times", GROVE_INTEGER,
     "number of successive times that share the functions of the middle one, where x varies with "
     "time",
     .initial = "1"},
    {"channels", GROVE_INTEGER, "the same for channels", .initial = "1"},
    {"alike", GROVE_VALUE,
     "a number for each station, such as obs.station_diameter: stations with the same one have the "
     "same terms, and share functions; none: each has its own, where x varies with station",
     .initial = "none", .handing = GROVE_AS_DOUBLE, .shapes = GROVE_SCALAR,
     .linear = GROVE_SELECTOR},
    {0},
};

enum { TERMS, ALIKE };
enum { TIME, STATION, CHANNEL }; /* axes of the terms besides l and m */

static const char *const axis_names[] = {"time", "station", "freq"};

/* ---- check: terms ---- */

/* The raster of directions, which covers the image. */
static int find_raster(const grove_node *node, convolution_making *c)
{
    static const char *const names[] = {"l", "m"};
    grove_gridder_image raster;

    if (!grove_node_input_axis(node, TERMS, grove_axis_kind("l")))
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
                "it does not cover the image: along %s its pixels reach from %.6g to %.6g, the "
                "pixels of the image from %.6g to %.6g; use a sky_grid with a larger size or cell "
                "and the same centre",
                names[d], c->raster[d]->centre[0], c->raster[d]->centre[raster.size[d] - 1], low,
                high);
    }
    return code;
}

/* The terms vary with l, m, and times, stations and channels of the observation. */
static int check_axes(const grove_node *node, const grove_node *obs)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    const int count = grove_node_input_axes(node, TERMS, axes);

    for (int d = 0; d < count; d++) {
        bool good = !strcmp(axes[d]->name, "l") || !strcmp(axes[d]->name, "m");
        for (int k = 0; k < 3; k++)
            good = good || (!strcmp(axes[d]->name, axis_names[k]) &&
                            grove_node_axis(obs, axis_names[k]) == axes[d]);
        if (!good)
            return grove_node_fail_option(
                node, "x",
                "varies with %s; it must vary with directions l and m, as of sky_grid, and may "
                "vary with times, stations and channels of %s: give it as E, without p or q",
                axes[d]->name, grove_node_name(obs));
    }
    return 0;
}

static const grove_axis *varies(const grove_node *node, int axis)
{
    return grove_node_input_axis(node, TERMS, grove_axis_kind(axis_names[axis]));
}

/* Stations of one number of `alike`, or without one, are a group, in the order of their first ones.
 */
static int find_groups(const grove_node *node, image_mueller *m)
{
    const grove_axis *station = varies(node, STATION);
    int64_t count = 0;
    const double *number =
        grove_node_input_form(node, ALIKE) ? grove_node_input_data(node, ALIKE, &count) : NULL;

    m->groups = 1;
    if (!station)
        return 0;
    if (grove_node_input_form(node, ALIKE) && (!number || count != station->size))
        return grove_node_fail_option(node, "alike",
                                      "is not a member of the observation with a number for each "
                                      "station, such as obs.station_diameter");
    m->group = grove_alloc((size_t)station->size * sizeof(*m->group));
    m->groups = 0;
    for (int64_t k = 0; k < station->size; k++) {
        int64_t like = 0;
        while (like < k && !(number && (number[like] == number[k] ||
                                        (isnan(number[like]) && isnan(number[k])))))
            like++;
        m->group[k] = like < k ? m->group[like] : m->groups++;
    }
    return 0;
}

static int read_shared(const grove_node *node, const char *option, int axis, int64_t *cells)
{
    const int64_t given = grove_node_integer(node, option);

    if (given < 1)
        return grove_node_fail_option(node, option, "%lld is not at least 1", (long long)given);
    *cells = varies(node, axis) ? given : 0;
    return 0;
}

static int find_mueller(const grove_node *node, const grove_node *obs, convolution_making *c)
{
    const double *feed = grove_node_member_data(obs, "feed");
    const char *stokes = grove_node_text(node, "stokes");
    image_mueller *m = &c->mueller;
    int code = image_stokes_check_letters(node, stokes);

    if (code)
        return code;
    m->shape = grove_node_input_form(node, TERMS)->shape;
    m->circular = feed && *feed > 0;
    memcpy(m->stokes, stokes, strlen(stokes) + 1);
    code = read_shared(node, "times", TIME, &m->times);
    code = code ? code : read_shared(node, "channels", CHANNEL, &m->channels);
    code = code ? code : find_groups(node, m);
    if (code)
        return code;
    image_mueller_make(m, obs);
    c->functions.functions = image_mueller_functions(m);
    return 0;
}

static int check_pixels(const grove_node *node, const convolution_making *c)
{
    static const char *const names[] = {"l", "m"};

    for (int d = 0; d < 2; d++) {
        int64_t first, count = convolution_pixels(c, d, &first, NULL);
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

/* Bytes of the terms that are kept. */
static uint64_t terms_bytes(const convolution_making *c)
{
    const image_mueller *m = &c->mueller;
    int64_t first, numbers = 2 * m->shape * m->time_blocks * m->groups * m->channel_blocks;

    for (int d = 0; d < 2; d++)
        numbers *= convolution_pixels(c, d, &first, NULL);
    return (uint64_t)numbers * sizeof(double);
}

static void report(grove_node *node, const convolution_making *c)
{
    const image_mueller *m = &c->mueller;
    char many[200] = "";

    if (c->functions.functions > 1)
        snprintf(many, sizeof(many),
                 "; %lld functions: %lld blocks of times, %d x %d groups of stations, %lld blocks "
                 "of channels, %d elements of Mueller matrices that are not 0",
                 (long long)c->functions.functions, (long long)m->time_blocks, m->groups, m->groups,
                 (long long)m->channel_blocks, m->elements);
    grove_node_note(node,
                    "functions of %d x %d cells, %d fine samples for each, %lld planes of w; error "
                    "of %s %.2g, root mean square%s",
                    c->functions.support, c->functions.support, c->functions.oversampling,
                    (long long)c->functions.planes,
                    c->functions.linear ? "linear interpolation" : "the nearest ones", c->error,
                    many);
}

static int check(grove_node *node)
{
    convolution_making *c = grove_alloc(sizeof(*c));
    const grove_node *obs = grove_node_object(node, "obs");
    const grove_axis *axes[GROVE_MAX_AXES];

    *c = (convolution_making){0};
    grove_node_set_user(node, c);
    int code = image_stage_plan(node, obs, true, &c->plan);
    for (int d = 0; d < 2 && !code; d++)
        c->functions.scale[d] = (double)c->plan.grid[d] * c->plan.image.cell[d];
    code = code ? code : check_axes(node, obs);
    code = code ? code : find_raster(node, c);
    code = code ? code : find_mueller(node, obs, c);
    code = code ? code : image_functions_n(node, &c->plan.image, &c->functions.turn[2], &c->half_n);
    code = code ? code : convolution_choose(node, c);
    code = code ? code : check_pixels(node, c);
    if (code)
        return code;
    grove_node_set_output(
        node, &(grove_form){.shape = GROVE_SCALAR,
                            .complex_ = true,
                            .precision = image_precision(grove_node_number(node, "epsilon"))});
    grove_node_set_memory(node, terms_bytes(c));
    grove_node_set_scratch(node, convolution_work_bytes(c), 0);
    for (int k = 0; k < 2; k++) {
        const int count = grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;
        for (int d = 0; d < count; d++)
            grove_node_consume(node, axes[d]->kind);
    }
    report(node, c);
    return image_functions_add_axes(node, &c->plan, grove_node_bool(node, "w_terms"), &c->functions,
                                    &c->mueller);
}

static void close_node(grove_node *node)
{
    convolution_making *c = grove_node_user(node);

    if (c)
        image_mueller_free(&c->mueller);
    free(c);
}

/* ---- a run ---- */

static int begin(const grove_call *call, void **state)
{
    *state = malloc(terms_bytes(grove_node_user(call->node)));
    return *state ? 0 : grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory");
}

/* Cells of an array along an axis: the first one, how many, cells from one to the next; 0, 1, 0
 * where it does not vary. */
typedef struct {
    int64_t first, count, step;
} extent;

static extent extent_of(const grove_array *array, const char *name)
{
    const int kind = grove_axis_kind(name);
    int64_t cells = 1;

    for (int d = array->axes - 1; d >= 0; d--) {
        if (array->range[d].axis->kind == kind)
            return (extent){array->range[d].first, array->range[d].count, cells};
        cells *= array->range[d].count;
    }
    return (extent){0, 1, 0};
}

typedef struct {
    const grove_array *from;
    const convolution_making *c;
    extent axis[3], l, m;
    int64_t pixels[2], first[2]; /* along l, m */
    double *jones;
} copying;

static double number_of(const grove_array *a, int64_t at)
{
    return a->form->precision == GROVE_PRECISION_DOUBLE ? ((const double *)a->data)[at]
                                                        : (double)((const float *)a->data)[at];
}

static double direction_of(const copying *w, int d, int64_t pixel)
{
    const grove_axis *raster = w->c->raster[d];

    return raster ? raster->centre[w->first[d] + pixel] : 0;
}

/* The terms of a station, of cell `at` of the axes besides l and m. */
static int copy_terms(const grove_call *call, const copying *w, int64_t at, const char *station,
                      double *to)
{
    const int numbers = 2 * w->c->mueller.shape;

    for (int64_t y = 0; y < w->pixels[1]; y++)
        for (int64_t x = 0; x < w->pixels[0]; x++) {
            const int64_t cell = at + (w->first[1] + y) * w->m.step + (w->first[0] + x) * w->l.step;
            bool good = !(w->from->flags && w->from->flags[cell]);
            for (int k = 0; k < numbers; k++, to++) {
                *to = number_of(w->from, cell * numbers + k);
                good = good && isfinite(*to);
            }
            if (!good)
                return grove_node_fail(
                    call->node, GROVE_INVALID,
                    "the Jones term has numbers that are not finite, or "
                    "flagged, in the image, as at l = %.6g, m = %.6g%s%s; a beam "
                    "that covers the image has none",
                    direction_of(w, 0, x), direction_of(w, 1, y), *station ? " of station " : "",
                    station);
        }
    return 0;
}

/* Whether a station's terms equal its group's. */
static bool are_alike(const copying *w, int64_t at, const double *terms)
{
    const int numbers = 2 * w->c->mueller.shape;
    double difference = 0, size = 0;
    bool finite = true;

    for (int64_t y = 0; y < w->pixels[1]; y++)
        for (int64_t x = 0; x < w->pixels[0]; x++)
            for (int k = 0; k < numbers; k++, terms++) {
                const int64_t cell =
                    at + (w->first[1] + y) * w->m.step + (w->first[0] + x) * w->l.step;
                const double less = fabs(number_of(w->from, cell * numbers + k) - *terms);
                difference = fmax(difference, less);
                finite = finite && isfinite(less);
                size = fmax(size, fabs(*terms));
            }
    return finite && difference <= 1e-5 * size;
}

/* Terms of all stations, for block t of times and f of channels, which cell `at` is the middle of.
 */
static int copy_stations(const grove_call *call, const copying *w, int64_t t, int64_t f, int64_t at)
{
    const image_mueller *m = &w->c->mueller;
    const int64_t numbers = 2 * m->shape * w->pixels[0] * w->pixels[1];
    const grove_axis *stations = varies(call->node, STATION);
    int32_t groups = 0;
    int code = 0;

    for (int64_t k = 0; k < w->axis[STATION].count && !code; k++) {
        const char *station = stations && stations->labels ? stations->labels[k] : "";
        const int32_t group = m->group ? m->group[k] : 0;
        const int64_t cell = at + k * w->axis[STATION].step;
        double *to = w->jones + ((t * m->groups + group) * m->channel_blocks + f) * numbers;
        if (group < groups && !are_alike(w, cell, to))
            return grove_node_fail_option(call->node, "alike",
                                          "station %s has other terms than the first station with "
                                          "the same number; give them different numbers",
                                          station);
        if (group == groups)
            code = copy_terms(call, w, cell, station, to);
        groups += group == groups;
    }
    return code;
}

/* The middle cell of a block. */
static int64_t middle_of(const grove_axis *axis, int64_t cells, int64_t block)
{
    const int64_t end = axis && (block + 1) * cells > axis->size ? axis->size : (block + 1) * cells;

    return cells ? (block * cells + end) / 2 : 0;
}

static bool find_cell(const extent *e, const grove_axis *axis, int64_t cells, int64_t block,
                      int64_t *at)
{
    const int64_t middle = middle_of(axis, cells, block);

    *at = e->step ? (middle - e->first) * e->step : 0;
    return !e->step || (middle >= e->first && middle < e->first + e->count);
}

static int add(const grove_call *call, void *state, const grove_array *const *arrays, int count)
{
    const convolution_making *c = grove_node_user(call->node);
    const image_mueller *m = &c->mueller;
    copying w = {.from = arrays[TERMS],
                 .c = c,
                 .l = extent_of(arrays[TERMS], "l"),
                 .m = extent_of(arrays[TERMS], "m"),
                 .jones = state};
    int code = 0;

    (void)count;
    for (int k = 0; k < 3; k++)
        w.axis[k] = extent_of(arrays[TERMS], axis_names[k]);
    for (int d = 0; d < 2; d++)
        w.pixels[d] = convolution_pixels(c, d, &w.first[d], NULL);
    for (int64_t t = 0; t < m->time_blocks && !code; t++)
        for (int64_t f = 0; f < m->channel_blocks && !code; f++) {
            int64_t time, channel;
            if (find_cell(&w.axis[TIME], varies(call->node, TIME), m->times, t, &time) &&
                find_cell(&w.axis[CHANNEL], varies(call->node, CHANNEL), m->channels, f, &channel))
                code = copy_stations(call, &w, t, f, time + channel);
        }
    return code;
}

static int finish(const grove_call *call, void *state, grove_array *out)
{
    return convolution_make(call, grove_node_user(call->node), state, out->data);
}

static void end(const grove_node *node, void *state)
{
    (void)node;
    free(state);
}

static const grove_accumulator_functions functions = {
    .create = begin,
    .add = add,
    .finish = finish,
    .free = end,
};

GROVE_CLASS(convolution_functions) = {
    GROVE_CLASS_HEAD(convolution_functions),
    .doc = "Functions by which grid and degrid spread each visibility: the kernel, w, and the "
           "Jones terms of both stations of a baseline.\nFor each element of their Mueller matrix "
           "that is not 0 and each plane of w the function of the image's pixels is conj(M) exp(2 "
           "pi i w (n - n0)), n0 the middle of the range of n in the image, |E|^2 in place of M "
           "where E is a number for all stations; its K x K cells are found by least squares over "
           "the pixels, for each of the oversampled offsets, so that grid_correction divides by "
           "the same kernel as without them. A visibility takes the nearest offset and plane: an "
           "error of pi sqrt(x^2 + y^2) / (6 oversampling), x and y the size of the image over the "
           "size of the grid, and an error of w, which grove check reports; epsilon chooses only "
           "the kernel and the grid. Planes are between w = 0 and the longest baseline; those with "
           "w < 0 are gridded as their conjugates. Numbers at (v, u) (j - H) / oversampling cells, "
           "j from 0 to support x oversampling, H half of that rounded down.",
    .output_doc = "a complex number for each plane of w (w_function, wavelengths; of one function "
                  "after the other) and fine sample (fine: v and u, u fastest), without unit",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .kind = GROVE_CLASS_ACCUMULATOR,
    .check = check,
    .accumulator = &functions,
    .close = close_node,
    .example =
        "C = convolution_functions(beam_airy(sky_grid(obs, size=17, cell=20arcsec), obs, "
        "diameter=25m, freq=1.4GHz), obs, size=24, cell=10arcsec, support=6, oversampling=2, "
        "w_planes=2)",
};
