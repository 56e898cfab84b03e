/* Visibilities of an image: the adjoint of dirty_image. */
#include "nodes/imaging/predict_image.h"
#include "../../kernels/imaging/gridder/gridder.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_tracks.h"

#include "unstable/fit.h"
#include "unstable/hash.h"
#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const grove_port inputs[] = {
    {"image", GROVE_VALUE,
     "flux densities of the pixels (m, l), maybe of a cube (freq, m, l): a number for each, Stokes "
     "I, "
     "or a vector",
     .own_axes = true, .handing = GROVE_AS_REAL, .shapes = GROVE_SCALAR | GROVE_VECTOR,
     .linear = GROVE_REAL_LINEAR},
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port options[] = {
    {"stokes", GROVE_TEXT,
     "Stokes parameters of the image, such as IQUV; none: as many of IQUV as the image has",
     .initial = "none"},
    IMAGE_INTERPOLATE_OPTION,
    {"epsilon", GROVE_NUMBER,
     "relative error of the visibilities, root mean square, at most, from 1e-12; below 1e-5 they "
     "are made in double precision in any run",
     .initial = "1e-4"},
    {"w_terms", GROVE_BOOL, "false: the sky counts as flat, and w as 0", .initial = "true"},
    {"exact", GROVE_BOOL,
     "true: the same bits for any tiles, memory and number of threads: in double precision, plane "
     "by plane, on the CPU; this takes several times as long",
     .initial = "false"},
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},
    {"max_uvw", GROVE_VALUE_LENGTH,
     "the largest absolute values of u, v and w of all visibilities, m; not given: the values of "
     "uvw, but not more than the largest distance between antennas",
     .initial = "max(abs(obs.uvw), over=[time, baseline])", .handing = GROVE_AS_DOUBLE,
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},
    {"freq", GROVE_VALUE_FREQUENCY, "frequencies, Hz", .initial = "obs.freq",
     .handing = GROVE_AS_DOUBLE, .linear = GROVE_SELECTOR},
    IMAGE_METHOD_OPTIONS,
    IMAGE_METHOD_OPTIONS_ALONE,
    {0},
};

/* ---- check ---- */

static int check_numbers(const grove_node *node, predictor *p)
{
    const grove_axis *freq = grove_node_input_axis(node, PREDICTION_FREQ, GROVE_AXIS_FREQ);
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, PREDICTION_IMAGE, axes);

    p->cube.axis = grove_node_input_axis(node, PREDICTION_IMAGE, GROVE_AXIS_FREQ);
    for (int k = 0; k < count; k++)
        if (axes[k]->kind != p->kind[0] && axes[k]->kind != p->kind[1] && axes[k] != p->cube.axis)
            return grove_node_fail(
                node, GROVE_SHAPE,
                "the image varies with %s, too; it must vary only with l, m and maybe freq",
                axes[k]->name);
    p->cube.planes = p->cube.axis ? (int)p->cube.axis->size : 1;
    p->cube.same = p->cube.axis && p->cube.axis == freq;
    p->cube.linear = !strcmp(grove_node_text(node, "interpolate"), "linear");
    if (p->cube.axis && !p->cube.same && !p->cube.axis->centre)
        return grove_node_fail(node, GROVE_SHAPE, "the cube has no frequencies");
    if (!freq || !freq->centre)
        return grove_node_fail_option(node, "freq", "does not vary with the channels");
    for (int64_t k = 0; k < freq->size; k++)
        p->highest = fmax(p->highest, freq->centre[k]);
    if (!(p->epsilon >= 1e-12 * (1 - 1e-9) && p->epsilon <= 1))
        return grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", p->epsilon);
    return 0;
}

/* One image may have some of its planes of w at a time. */
static void set_pieces(grove_node *node, const grove_gridder_plan *plan)
{
    const uint64_t each = grove_gridder_plan_planes_bytes(plan) / (uint64_t)plan->planes;
    uint64_t *parts = grove_alloc((size_t)plan->planes * sizeof(*parts));

    for (int64_t k = 0; k < plan->planes; k++)
        parts[k] = each;
    grove_node_set_pieces(node, parts, (int)plan->planes);
    free(parts);
}

/* Of runs in one precision. 0, or -1: there is no plan. */
static int set_memory(grove_node *node, predictor *p, bool double_precision,
                      const image_tracks *tracks, grove_gridder_plan *plan)
{
    double longest = image_longest_baseline(grove_node_object(node, "obs"));
    const double per_metre = p->highest / GROVE_SPEED_OF_LIGHT;
    grove_gridder_bounds bounds = {.max_u = tracks->rows ? tracks->largest[0] * per_metre : longest,
                                   .max_v = tracks->rows ? tracks->largest[1] * per_metre : longest,
                                   .max_w = tracks->rows ? tracks->largest[2] * per_metre : longest,
                                   .samples = 1e6,
                                   .polarisations = p->stokes.count,
                                   .without_w = p->without_w,
                                   .double_precision = double_precision};

    if (grove_gridder_plan_choose(&p->image, &bounds, p->epsilon, plan))
        return -1;
    grove_gridder_plan by_plane = *plan;
    by_plane.bounds.exact = p->exact;
    const uint64_t planes = grove_gridder_plan_planes_bytes(plan),
                   own = grove_gridder_plan_own_bytes(plan),
                   fixed = own + grove_gridder_plan_index_bytes(plan) +
                           grove_gridder_plan_image_bytes(&by_plane);
    p->fixed[double_precision] = fixed;
    grove_node_set_memory(node, fixed + (uint64_t)p->cube.planes * planes +
                                    (uint64_t)(p->cube.planes - 1) * own);
    if (!p->cube.axis)
        set_pieces(node, plan);
    if (!p->exact)
        grove_node_set_device_memory(node, image_device_memory(plan, true) +
                                               (uint64_t)(p->cube.planes - 1) *
                                                   image_device_planes_memory(plan));
    return 0;
}

static void estimate(grove_node *node, predictor *p)
{
    const bool both = grove_node_output(node)->precision != GROVE_PRECISION_DOUBLE;
    image_tracks tracks = image_tracks_of(grove_node_object(node, "obs"));
    grove_gridder_plan in_double, single;
    int code = both ? set_memory(node, p, false, &tracks, &single) : 0;

    if (both)
        grove_node_begin_double_sizes(node);
    code = set_memory(node, p, true, &tracks, &in_double) || code;
    image_tracks_free(&tracks);
    if (code)
        return;
    const grove_gridder_plan plan = both ? single : in_double;
    grove_node_set_scratch(node, 0, 24 + (p->cube.axis ? 32 : 16) * (uint64_t)p->stokes.count);
    grove_node_note(node, "method: w-stacking, %lld plane%s of %lld x %lld cells or fewer%s%s",
                    (long long)plan.planes, plan.planes == 1 ? "" : "s", (long long)plan.grid[0],
                    (long long)plan.grid[1], p->why[0] ? ", " : "", p->why);
}

static int check(grove_node *node)
{
    predictor *p = grove_alloc(sizeof(*p));
    const grove_form *image = grove_node_input_form(node, PREDICTION_IMAGE);
    const grove_node *obs = grove_node_object(node, "obs");
    const double *feed = grove_node_member_data(obs, "feed");
    grove_form form = {.shape = GROVE_MATRIX,
                       .complex_ = true,
                       .precision = grove_node_bool(node, "exact")
                                        ? GROVE_PRECISION_DOUBLE
                                        : image_precision(grove_node_number(node, "epsilon")),
                       .unit = image->unit};
    int elements = image->shape == GROVE_VECTOR ? image->vector : 1;

    *p = (predictor){.epsilon = grove_node_number(node, "epsilon"),
                     .without_w = !grove_node_bool(node, "w_terms"),
                     .exact = grove_node_bool(node, "exact"),
                     .kind = {grove_axis_kind("l"), grove_axis_kind("m")}};
    grove_node_set_user(node, p);
    int code = image_plane_of_input(node, PREDICTION_IMAGE, &p->image);
    if (!code)
        code = check_numbers(node, p);
    if (!code)
        code = image_stokes_expand(node, elements, feed && *feed > 0, &p->stokes);
    if (code)
        return code;
    p->max_uvw = PREDICTION_MAX_UVW;
    code = image_plane_find_longest(node, &p->max_uvw);
    if (code)
        return code;
    p->max_freq =
        grove_node_written(node, "freq") ? grove_node_add_input(node, "max_freq", "max(freq)") : -1;
    if (p->max_freq >= 0)
        grove_node_set_handing(node, p->max_freq, GROVE_AS_DOUBLE);
    if (!grove_node_written(node, "max_uvw"))
        p->longest = image_longest_baseline(obs);
    for (int d = 0; d < 2; d++)
        grove_node_consume(node, p->kind[d]);
    if (p->cube.axis && !p->cube.same)
        grove_node_consume_axis(node, p->cube.axis);
    grove_node_set_output(node, &form);
    code = predictor_choose_method(node, p);
    if (!code && !p->expression)
        estimate(node, p);
    return code;
}

static void close_node(grove_node *node)
{
    predictor *p = grove_node_user(node);

    if (p)
        free(p->expression);
    free(p);
}

static const char *expression(const grove_node *node)
{
    return ((const predictor *)grove_node_user(node))->expression;
}

static int start(const grove_node *node, void **run)
{
    prediction *made = grove_alloc(sizeof(*made));

    *made = (prediction){.plane_count = ((const predictor *)grove_node_user(node))->cube.planes};
    made->planes = grove_alloc((size_t)made->plane_count * sizeof(*made->planes));
    memset(made->planes, 0, (size_t)made->plane_count * sizeof(*made->planes));
    pthread_mutex_init(&made->lock, NULL);
    *run = made;
    return 0;
}

static void stop(const grove_node *node, void *run)
{
    prediction *p = run;
    const predictor *setup = grove_node_user(node);

    if (p->outside.samples)
        grove_node_warn(node,
                        "%lld visibilities have baselines that are not numbers, or longer than "
                        "%s; they are 0",
                        (long long)p->outside.samples,
                        setup->longest > 0 ? "the largest distance between antennas" : "max_uvw");
    prediction_free_devices(p);
    for (int k = 0; k < p->plane_count; k++)
        grove_gridder_free(p->planes[k].gridder);
    free(p->planes);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* ---- the image's planes ---- */

int64_t predictor_plane_offset(const grove_call *call, const predictor *p, int plane)
{
    const grove_args *args = call->args;
    int64_t step = 0;

    for (int d = 0; d < args->axes && p->cube.axis; d++)
        if (args->axis[d] == GROVE_AXIS_FREQ)
            step = args->in[PREDICTION_IMAGE].stride[d];
    int d = grove_args_axis(args, GROVE_AXIS_FREQ);
    return (plane - (p->cube.same ? args->origin[d] : 0)) * step;
}

double predictor_highest(const predictor *p, const double *max_freq)
{
    return p->max_freq < 0 ? p->highest : fmax(p->highest, *(const double *)max_freq);
}

void predictor_longest(const predictor *p, const double *max_uvw, double highest, double longest[3])
{
    for (int k = 0; k < 3; k++) {
        longest[k] = max_uvw[k] * (1 + 1e-9) * highest / GROVE_SPEED_OF_LIGHT;
        if (p->longest > 0)
            longest[k] = fmin(longest[k], p->longest * highest / p->highest);
    }
}

int predictor_plan(const grove_call *call, const predictor *p, double highest,
                   const double *max_uvw, grove_gridder_plan *plan)
{
    double longest[3];
    predictor_longest(p, max_uvw, highest, longest);
    grove_gridder_bounds bounds = {.max_u = longest[0],
                                   .max_v = longest[1],
                                   .max_w = longest[2],
                                   .samples = 1e6,
                                   .polarisations = p->stokes.count,
                                   .without_w = p->without_w,
                                   .double_precision = call->double_precision};

    if (!isfinite(bounds.max_u + bounds.max_v + bounds.max_w))
        return grove_node_fail(call->node, GROVE_INVALID,
                               "the largest baseline, or frequency, is not a number");
    if (grove_gridder_plan_choose(&p->image, &bounds, p->epsilon, plan))
        return grove_node_fail_option(call->node, "epsilon",
                                      "%g cannot be reached in %s precision%s", p->epsilon,
                                      call->double_precision ? "double" : "single",
                                      call->double_precision ? "" : "; use --precision double");
    return 0;
}

static int make_gridder(const grove_call *call, const predictor *p, const prediction *run,
                        transformed *to)
{
    grove_isa isa;
    char message[200];
    int code = predictor_plan(call, p, run->highest, call->args->in[p->max_uvw].data, &to->plan);

    if (code)
        return code;
    if (grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    grove_gridder_free(to->gridder);
    to->gridder = grove_gridder_new(&to->plan, isa);
    to->first = to->end = 0;
    if (to->gridder && p->exact)
        grove_gridder_set_exact(to->gridder, 1, 1);
    return to->gridder ? 0 : GROVE_NO_MEMORY;
}

/* A gridder for the image, or a plane of a cube, unless it is the gridder requested last. */
static int find_gridder(const grove_call *call, const predictor *p, const prediction *run,
                        const char *pixels, transformed *to)
{
    grove_hash hash =
        grove_hash_add(image_plane_hash(call, PREDICTION_IMAGE, pixels, &p->image, p->stokes.count),
                       call->args->in[p->max_uvw].data, 3 * sizeof(double));

    hash = grove_hash_number(hash, run->highest);
    if (to->gridder && grove_hash_equal(hash, to->hash))
        return 0;
    to->hash = hash;
    return make_gridder(call, p, run, to);
}

/* Where the planes of w end that there is room for, from `first` on: all of a cube. */
static int64_t find_end(const grove_call *call, const predictor *p, const transformed *to,
                        int64_t first)
{
    const uint64_t fixed = p->fixed[call->double_precision];
    const uint64_t room = call->memory > fixed ? call->memory - fixed : 0,
                   each = grove_gridder_plan_planes_bytes(&to->plan) / (uint64_t)to->plan.planes,
                   left = (uint64_t)(to->plan.planes - first),
                   fit = each && !p->cube.axis ? room / each : left;

    return first + (int64_t)(fit < 1 ? 1 : fit > left ? left : fit);
}

/* Whether no other call has more visibilities of the observation. */
static bool has_all(const grove_call *call)
{
    static const struct {
        int kind;
        const char *name;
    } axes[] = {
        {GROVE_AXIS_TIME, "time"}, {GROVE_AXIS_BASELINE, "baseline"}, {GROVE_AXIS_FREQ, "freq"}};
    const grove_node *obs = grove_node_object(call->node, "obs");

    for (int k = 0; k < 3; k++) {
        const grove_axis *axis = grove_node_axis(obs, axes[k].name);
        if (axis && image_axis_size(call->args, axes[k].kind) < axis->size)
            return false;
    }
    return true;
}

/* Planes of w from `first` on, made of the image unless they are there: where these samples are
 * all, only as much of them as they take. */
static int find_planes(const grove_call *call, const predictor *p, const char *image,
                       const grove_gridder_samples *samples, transformed *to, int64_t first)
{
    const int64_t real = call->double_precision ? sizeof(double) : sizeof(float),
                  end = find_end(call, p, to, first);
    const grove_view *view = &call->args->in[PREDICTION_IMAGE];
    grove_gridder_threads threads = gridder_threads(call);
    const bool all = !p->exact && has_all(call);

    if (!all && to->first == first && to->end == end)
        return 0;
    grove_gridder_set_window(to->gridder, first, end, UINT64_MAX);
    int code = all && grove_gridder_expect(to->gridder, samples, &threads) ? GROVE_NO_MEMORY : 0;
    for (int k = 0; k < p->stokes.count && !code; k++) {
        const grove_gridder_pixels pixels = {(char *)(uintptr_t)image + k * real,
                                             image_axis_step(call->args, view, p->kind[0]) / real,
                                             image_axis_step(call->args, view, p->kind[1]) / real};
        if (grove_gridder_from_image(to->gridder, k, &pixels, &threads))
            code = GROVE_NO_MEMORY;
    }
    to->first = first;
    to->end = code ? first : end;
    return code;
}

/* Adds the visibilities of an image, or of a plane of a cube. */
static int predict_image(const grove_call *call, const predictor *p, prediction *run, int plane,
                         const grove_gridder_samples *samples)
{
    const grove_gridder_threads threads = gridder_threads(call);
    const char *pixels = (const char *)call->args->in[PREDICTION_IMAGE].data +
                         predictor_plane_offset(call, p, plane);
    transformed *to = &run->planes[plane];
    int code = find_gridder(call, p, run, pixels, to);

    for (int64_t first = 0; !code && first < to->plan.planes; first = to->end) {
        grove_gridder_outside outside = {0}; /* image_leave_out counts them */
        code = find_planes(call, p, pixels, samples, to, first);
        if (!code && grove_gridder_predict(to->gridder, samples, &threads, &outside))
            code = GROVE_NO_MEMORY;
    }
    return code;
}

/* ---- visibilities ---- */

/* The part of a plane in all channels that have some of it. `all` [row][channel][stokes] */
static int add_plane(const grove_call *call, const predictor *p, prediction *run, int plane,
                     const grove_gridder_samples *all)
{
    const int d = grove_args_axis(call->args, GROVE_AXIS_FREQ), numbers = 2 * p->stokes.count;
    image_cube_part part;
    int code = image_cube_part_make(&p->cube, plane, d < 0 ? 0 : call->args->origin[d], all,
                                    numbers, call->double_precision, &part)
                   ? GROVE_NO_MEMORY
                   : 0;

    if (!code && part.samples.channels) {
        code = predict_image(call, p, run, plane, &part.samples);
        if (!code)
            image_cube_part_add(&part, all, numbers, call->double_precision);
    }
    image_cube_part_free(&part);
    return code;
}

static int predict_planes(const grove_call *call, const predictor *p, prediction *run,
                          const grove_gridder_samples *samples)
{
    int code = p->cube.axis ? 0 : predict_image(call, p, run, 0, samples);

    for (int plane = 0; plane < p->cube.planes && p->cube.axis && !code; plane++)
        code = add_plane(call, p, run, plane, samples);
    return code;
}

static int predict(const grove_call *call, const predictor *p, prediction *run)
{
    const grove_args *args = call->args;
    const int64_t times = image_axis_size(args, GROVE_AXIS_TIME),
                  baselines = image_axis_size(args, GROVE_AXIS_BASELINE),
                  channels = image_axis_size(args, GROVE_AXIS_FREQ), rows = times * baselines;
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    const int64_t freq_step = image_axis_step(args, &args->in[PREDICTION_FREQ], GROVE_AXIS_FREQ);
    double *uvw = image_copy_uvw(args, &args->in[PREDICTION_UVW]),
           *freq = image_copy_freq(args, args->in[PREDICTION_FREQ].data, freq_step), longest[3];
    void *data = calloc((size_t)(rows * channels * p->stokes.count), 2 * real);
    int code = uvw && freq && data ? 0 : GROVE_NO_MEMORY;

    grove_gridder_samples samples = {
        .rows = rows, .channels = channels, .uvw = uvw, .freq = freq, .data = data};
    run->highest = predictor_highest(p, p->max_freq < 0 ? NULL : args->in[p->max_freq].data);
    if (!code)
        code = predict_planes(call, p, run, &samples);
    predictor_longest(p, args->in[p->max_uvw].data, run->highest, longest);
    if (!code)
        run->outside.samples +=
            image_leave_out(&samples, longest, (size_t)p->stokes.count * 2 * real);
    if (!code)
        image_stokes_give(call, &p->stokes, data);
    free(uvw);
    free(freq);
    free(data);
    return code;
}

static int eval(const grove_call *call)
{
    const predictor *p = grove_node_user(call->node);
    prediction *run = call->run;

    pthread_mutex_lock(&run->lock);
    int code = predict(call, p, run);
    pthread_mutex_unlock(&run->lock);
    return code == GROVE_NO_MEMORY
               ? grove_node_fail(call->node, code, "not enough memory for the image's grid")
               : code;
}

GROVE_CLASS(predict_image) = {
    GROVE_CLASS_HEAD(predict_image),
    .doc = "Visibilities of an image: sum over pixels of B exp(-2 pi i nu/c (u l + v m + w (n - "
           "1))).\nImproved w-stacking, the adjoint of dirty_image. Pixels count as point sources: "
           "there is no factor 1/n. Smearing is not included. A cube (freq, m, l) has an image for "
           "each channel of obs, or at other frequencies, of which a channel uses the nearest or a "
           "linear interpolation; all such planes are kept in memory together.",
    .output_doc = "a complex matrix per time, baseline and channel, in the unit of the image",
    .group = "images",
    .inputs = inputs,
    .options = options,
    .check = check,
    .expression = expression,
    .eval = eval,
    .device = prediction_on_device,
    .start = start,
    .stop = stop,
    .close = close_node,
    .example = "V[p,q] = predict_image(dirty_image(obs.data, obs, size=64, cell=20arcsec), obs)",
};
