/* Dirty images and point-spread functions: accumulators over all visibilities. */
#include "nodes/imaging/dirty_image.h"
#include "../../kernels/imaging/gridder/gridder.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_samples.h"
#include "nodes/imaging/image_tracks.h"

#include "unstable/fit.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define COMMON_OPTIONS                                                                             \
    IMAGE_PLANE_OPTIONS,                                                                           \
    {"weights", GROVE_VALUE,                                                                       \
     "weights of the visibilities, one for each element or for all of a cell, such as from weighting; none: the set's own, or 1; visibilities with weights of 0 or less do not count",\
     .initial = "none",                                                                            \
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},                                             \
    {"epsilon", GROVE_NUMBER,                                                                      \
     "relative error of the image, root mean square, at most, from 1e-12; below 1e-5 the image is " \
     "made in double precision in any run",                                                        \
     .initial = "1e-4"},                                                                           \
    {"w_terms", GROVE_BOOL, "false: the sky counts as flat, and w as 0", .initial = "true"},       \
    {"exact", GROVE_BOOL,                                                                          \
     "true: the same bits for any tiles, memory and number of threads: the image is made in double precision, of integers, with one more pass over the data, on the CPU",\
     .initial = "false"},                                                                          \
    IMAGE_BANDS_OPTION,                                                                            \
    {"uvw", GROVE_VALUE_LENGTH, "baselines, m", .initial = "obs.uvw", .handing = GROVE_AS_DOUBLE,  \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},                               \
    {"max_uvw", GROVE_VALUE_LENGTH,                                                                \
     "the largest absolute values of u, v and w, m: visibilities beyond them are left out; not given: the values of uvw, but not more than the largest distance between antennas",\
     .initial = "max(abs(obs.uvw), over=[time, baseline])", .handing = GROVE_AS_DOUBLE,            \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR}
/* clang-format on */

static const grove_port image_inputs[] = {
    {"data", GROVE_VALUE, "visibilities; flagged ones do not count", .shapes = GROVE_JONES,
     .handing = GROVE_AS_COMPLEX},
    {"obs", GROVE_OBJECT, "the observation that they belong to", .object = "observation"},
    {0},
};
static const grove_port image_options[] = {
    COMMON_OPTIONS,
    IMAGE_CENTRE_OPTION,
    {"stokes", GROVE_TEXT, "Stokes parameters, in one pass: I, or letters of IQUV",
     .initial = "\"I\""},
    IMAGE_METHOD_OPTIONS,
    IMAGE_METHOD_OPTIONS_ALONE,
    {0},
};
static const grove_port psf_inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_port psf_options[] = {
    COMMON_OPTIONS,
    {"data", GROVE_VALUE,
     "visibilities; only their flags count; none: the visibilities of the set, if there are any",
     .initial = "none", .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX,
     .linear = GROVE_SELECTOR},
    {0},
};

/* ---- check ---- */

static bool in_data(const grove_node *node, int input)
{
    return input >= 0 && grove_node_input_form(node, input) != NULL;
}

static int check_input_axes(const grove_node *node, int input)
{
    const grove_axis *axes[GROVE_MAX_AXES];
    const grove_node *obs = grove_node_object(node, "obs");
    int count = grove_node_input_form(node, input) ? grove_node_input_axes(node, input, axes) : 0;

    for (int i = 0; i < count; i++)
        if (grove_node_axis(obs, axes[i]->name) != axes[i] || axes[i]->kind == GROVE_AXIS_STATION)
            return grove_node_fail(
                node, GROVE_SHAPE, "the %s vary with %s, which is not an axis of %s; %s",
                input == grove_node_input(node, "data")      ? "visibilities"
                : input == grove_node_input(node, "weights") ? "weights"
                                                             : "baselines",
                axes[i]->name,
                axes[i]->kind == GROVE_AXIS_STATION ? "visibilities" : "this observation",
                axes[i]->kind == GROVE_AXIS_SOURCE
                    ? "sum over sources first: sum[s](...)"
                    : "it images values of times, baselines and channels");
    return 0;
}

/* Visibilities that were averaged have other baselines than the observation. */
static int check_axes(const grove_node *node, const imager *m)
{
    static const char *const names[] = {"time", "baseline", "freq"};
    const grove_node *obs = grove_node_object(node, "obs");

    for (int k = 0; k < grove_node_inputs(node); k++) {
        int code = k == grove_node_input(node, "jones") || k == grove_node_input(node, "alike")
                       ? 0
                       : check_input_axes(node, k);
        if (code)
            return code;
    }
    for (int i = 0; i < 3; i++) {
        const grove_axis *axis = grove_node_axis(obs, names[i]);
        const char *reducer =
            m->data >= 0 && axis && !grove_node_input_axis(node, m->data, axis->kind)
                ? grove_node_input_reducer(node, m->data, axis)
                : NULL;
        if (!axis)
            return grove_node_fail(node, GROVE_SHAPE, "the observation has no axis %s", names[i]);
        if (reducer && axis->size > 1)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the visibilities no longer vary with %s, because of %s",
                                   names[i], reducer);
    }
    return 0;
}

static int check_freq(const grove_node *node, imager *m)
{
    const grove_axis *freq = grove_node_axis(grove_node_object(node, "obs"), "freq");

    for (int64_t k = 0; k < freq->size; k++)
        if (!(freq->centre[k] > 0))
            return grove_node_fail(node, GROVE_INVALID, "channel %lld has the frequency %g Hz",
                                   (long long)k, freq->centre[k]);
    return image_bands_read(node, freq, &m->bands);
}

/* Describes the differences of the plan in double precision. */
static void describe_double(const grove_gridder_plan *plan, const grove_gridder_plan *in_double,
                            char text[120])
{
    text[0] = 0;
    if (plan->planes != in_double->planes || plan->grid[0] != in_double->grid[0] ||
        plan->grid[1] != in_double->grid[1] || plan->kernel.width != in_double->kernel.width)
        snprintf(text, 120, ", in double precision %lld planes of %lld x %lld and %d x %d x %d",
                 (long long)in_double->planes, (long long)in_double->grid[0],
                 (long long)in_double->grid[1], in_double->kernel.width, in_double->kernel.width,
                 in_double->kernel_w.width);
}

static void report_method(grove_node *node, const imager *m, const grove_gridder_plan *plan,
                          const grove_gridder_plan *in_double)
{
    char bands[60] = "", other[120];

    if (m->bands.count > 1)
        snprintf(bands, sizeof(bands), " for each of %d bands", m->bands.count);
    describe_double(plan, in_double, other);
    grove_node_note(
        node,
        "method: w-stacking, %lld plane%s of %lld x %lld cells or fewer%s, kernels of %d x %d x "
        "%d%s%s%s%s",
        (long long)plan->planes, plan->planes == 1 ? "" : "s", (long long)plan->grid[0],
        (long long)plan->grid[1], bands, plan->kernel.width, plan->kernel.width,
        plan->kernel_w.width, other, m->exact ? ", integers" : "", m->why[0] ? ", " : "", m->why);
}

/* ---- memory ---- */

/* Samples that are gridded together, from 8 MiB of data: as many as tiles have, most often. */
static void find_chunk(imager *m, const grove_form *data)
{
    int64_t bytes = data ? data->shape * (data->precision == GROVE_PRECISION_DOUBLE ? 16 : 8) : 32;

    m->chunk = (8 << 20) / bytes;
}

/* Bytes of data, weights, and their entries in the index; of rows' baselines and sums. */
static uint64_t chunk_bytes(const imager *m, bool double_precision)
{
    const uint64_t real = double_precision ? sizeof(double) : sizeof(float),
                   channels = (uint64_t)(m->bands.freq->size / m->bands.count),
                   runs = channels < 8 ? channels : 8,
                   stokes = m->psf ? 1 : (uint64_t)m->stokes.count;
    const double chunk = fmin(m->samples / m->bands.count, (double)m->chunk);

    return (uint64_t)(chunk * (double)((2 * stokes + 1) * real + 64 / runs + 48 / channels));
}

typedef struct {
    grove_gridder_plan most; /* the plan with most planes */
    uint64_t *parts;         /* of all bands, one after the other */
    int count;
    uint64_t own, sum, work; /* of all bands; of the planes; of the one that takes most */
    uint64_t device;         /* of all bands */
} memory;

static void add_band(memory *all, const imager *m, int band, const grove_gridder_plan *plan,
                     const image_tracks *tracks)
{
    const int64_t first = image_bands_first(&m->bands, band);
    const uint64_t index = grove_gridder_plan_index_bytes(plan) +
                           chunk_bytes(m, plan->bounds.double_precision),
                   image = grove_gridder_plan_image_bytes(plan),
                   work = index > image ? index : image;
    const int planes = (int)plan->planes;

    all->parts = grove_realloc(all->parts, (size_t)(all->count + planes) * sizeof(*all->parts));
    image_tracks_planes(tracks, plan, m->bands.freq->centre + first,
                        image_bands_first(&m->bands, band + 1) - first, all->parts + all->count);
    for (int k = 0; k < planes; k++)
        all->sum += all->parts[all->count + k];
    all->count += planes;
    all->own += grove_gridder_plan_own_bytes(plan);
    all->device += image_device_memory(plan, true);
    all->work = work > all->work ? work : all->work;
    if (planes >= all->most.planes)
        all->most = *plan;
}

static int add_bands(memory *all, const imager *m, bool double_precision, double longest,
                     const image_tracks *tracks)
{
    const double highest = imager_highest(m);
    double largest[3];
    int code = 0;

    for (int d = 0; d < 3; d++)
        largest[d] = tracks->rows ? tracks->largest[d] / GROVE_SPEED_OF_LIGHT : longest / highest;
    for (int band = 0; band < m->bands.count && !code; band++) {
        grove_gridder_bounds bounds = imager_bounds(m, band, largest, double_precision);
        grove_gridder_plan plan;
        code = grove_gridder_plan_choose(&m->image, &bounds, m->epsilon, &plan);
        if (!code)
            add_band(all, m, band, &plan, tracks);
    }
    return code;
}

/* Of runs in one precision. */
static int report_memory(grove_node *node, imager *m, bool double_precision, double longest,
                         const image_tracks *tracks, grove_gridder_plan *most)
{
    memory all = {0};
    int code = add_bands(&all, m, double_precision, longest, tracks);

    m->needs[double_precision] = (imager_needs){all.own, all.parts, all.count};
    if (code)
        return grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", m->epsilon);
    grove_node_set_memory(node, all.own + all.sum);
    grove_node_set_pieces(node, all.parts, all.count);
    grove_node_set_scratch(node, all.work, 0);
    if (!m->exact)
        grove_node_set_device_memory(node, all.device);
    *most = all.most;
    return 0;
}

/* Memory, and a note, by the antennas' positions. */
static int estimate(grove_node *node, imager *m, double longest)
{
    const bool both = grove_node_output(node)->precision != GROVE_PRECISION_DOUBLE;
    grove_gridder_plan most[2];

    if (!(m->epsilon >= 1e-12 * (1 - 1e-9) && m->epsilon <= 1))
        return grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", m->epsilon);
    image_tracks tracks = image_tracks_of(grove_node_object(node, "obs"));
    int code = both ? report_memory(node, m, false, longest, &tracks, &most[0]) : 0;
    if (both)
        grove_node_begin_double_sizes(node);
    code = code ? code : report_memory(node, m, true, longest, &tracks, &most[1]);
    image_tracks_free(&tracks);
    if (code)
        return code;
    if (m->exact)
        grove_node_set_first_walks(node, 1);
    report_method(node, m, &most[!both], &most[1]);
    return 0;
}

static void set_output(grove_node *node, const imager *m, const grove_form *data)
{
    int count = m->psf ? 1 : m->stokes.count;
    grove_form form = {.shape = count > 1 ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = count > 1 ? count : 0,
                       .precision = m->exact ? GROVE_PRECISION_DOUBLE : image_precision(m->epsilon),
                       .flags = m->bands.count > 1}; /* bands may be empty */

    if (data && !m->psf)
        form.unit = data->unit;
    grove_node_set_output(node, &form);
}

/* By convolution functions: the stages equivalent to a call. */
static void express(const grove_node *node, imager *m)
{
    const grove_form *data = grove_node_input_form(node, m->data),
                     *jones = grove_node_input_form(node, grove_node_input(node, "jones"));
    const bool all = jones && jones->shape == GROVE_MATRIX && data->shape == GROVE_MATRIX;
    const char *stokes = grove_node_text(node, "stokes"),
               *stage = "size=size, cell=cell, centre=centre, epsilon=epsilon",
               *weights = "weights=weights, uvw=uvw, bands=bands";
    char *functions = image_method_functions(node, stokes, stage);

    m->expression =
        grove_format("grid_correction(fft(grid(data, obs, %s, %s, functions=%s)), obs, "
                     "%s, w_terms=false) / sum_of_weights(data, obs, %s, stokes=\"%s\")",
                     stage, weights, functions, stage, weights, all ? "IQUV" : stokes);
    free(functions);
}

static void express_idg(const grove_node *node, imager *m, const char *stokes)
{
    const grove_form *data = grove_node_input_form(node, m->data),
                     *beam = grove_node_input_form(node, grove_node_input(node, "jones"));
    const bool all = beam && beam->shape == GROVE_MATRIX && data->shape == GROVE_MATRIX;
    const char *stage = "size=size, cell=cell, centre=centre, epsilon=epsilon",
               *idg = "w_terms=w_terms, method=idg, subgrid=subgrid, layers=layers, "
                      "w_tiles=w_tiles",
               *jones = "jones=jones, times=times, channels=channels",
               *weights = "weights=weights, uvw=uvw, bands=bands";

    m->expression = grove_format("grid_correction(fft(grid(data, obs, %s, %s, %s, %s, "
                                 "stokes=\"%s\")), obs, %s, %s) / "
                                 "sum_of_weights(data, obs, %s, stokes=\"%s\")",
                                 stage, weights, idg, jones, stokes, stage, idg, weights,
                                 all ? "IQUV" : stokes);
}

static int choose_method(grove_node *node, imager *m)
{
    const grove_node *obs = grove_node_object(node, "obs");
    const image_tracks tracks = image_tracks_of(obs);
    image_method method = {.image = m->image,
                           .baseline = image_longest_baseline(obs),
                           .stokes = grove_node_text(node, "stokes"),
                           .samples = m->samples,
                           .bands = m->bands.count,
                           .only = m->exact                              ? "exact"
                                   : grove_node_written(node, "max_uvw") ? "max_uvw"
                                                                         : NULL};
    image_method_kind kind;

    for (int d = 0; d < 3; d++)
        method.longest[d] = tracks.rows
                                ? tracks.largest[d] * imager_highest(m) / GROVE_SPEED_OF_LIGHT
                                : method.baseline;
    image_tracks_free((image_tracks *)&tracks);
    int code = image_method_choose(node, &method, &kind, m->why);
    if (!code && kind == IMAGE_AW)
        express(node, m);
    if (!code && kind == IMAGE_IDG)
        express_idg(node, m, method.stokes);
    return code;
}

static int check(grove_node *node, bool psf)
{
    imager *m = grove_alloc(sizeof(*m));
    const grove_node *obs = grove_node_object(node, "obs");
    const double *feed = grove_node_member_data(obs, "feed");

    *m = (imager){.data = grove_node_input(node, "data"),
                  .weights = grove_node_input(node, "weights"),
                  .uvw = grove_node_input(node, "uvw"),
                  .max_uvw = grove_node_input(node, "max_uvw"),
                  .missing = -1,
                  .psf = psf,
                  .without_w = !grove_node_bool(node, "w_terms"),
                  .exact = grove_node_bool(node, "exact"),
                  .epsilon = grove_node_number(node, "epsilon")};
    grove_node_set_user(node, m);
    if (psf && !in_data(node, m->data))
        m->data = grove_node_add_member_input(node, m->uvw, "data");
    const grove_form *form = m->data >= 0 ? grove_node_input_form(node, m->data) : NULL;
    int code = check_axes(node, m);
    if (!code)
        code = check_freq(node, m);
    if (!code && !psf)
        code = image_stokes_read(node, form, feed && *feed > 0, &m->stokes);
    if (!code && psf && form)
        m->stokes =
            (image_stokes){.elements = form->shape, .used = form->shape == GROVE_MATRIX ? 9 : 3};
    if (!code && psf && form)
        grove_node_use_flags_only(node, m->data);
    if (!code)
        code = image_samples_find_weights(node, m->data >= 0 ? m->data : m->uvw, m->stokes.elements,
                                          &m->weights);
    if (!code)
        code = image_plane_find_longest(node, &m->max_uvw);
    m->missing = code ? -1 : image_samples_find_missing(node, m->data);
    const double longest = image_longest_baseline(obs);
    if (longest > 0 && !grove_node_written(node, "max_uvw"))
        m->longest = longest;
    if (!code)
        code = image_plane_read(node, obs, longest, !psf, &m->image);
    if (code)
        return code;
    image_samples_consume_axes(node);
    set_output(node, m, form);
    m->samples = (double)grove_node_axis(obs, "time")->size *
                 (double)grove_node_axis(obs, "baseline")->size * (double)m->bands.freq->size;
    find_chunk(m, form);
    code = psf ? 0 : choose_method(node, m);
    if (m->expression)
        grove_node_set_memory(node, 1);
    if (code || m->expression)
        return code;
    code = estimate(node, m, longest);
    code = code ? code : image_plane_add_axes(node, &m->image);
    return code ? code : image_bands_add_axis(node, &m->bands);
}

static int check_image(grove_node *node)
{
    return check(node, false);
}

static int check_psf(grove_node *node)
{
    return check(node, true);
}

static void close_node(grove_node *node)
{
    imager *m = grove_node_user(node);

    if (m) {
        free(m->needs[0].parts);
        free(m->needs[1].parts);
        free(m->expression);
    }
    free(m);
}

static const char *expression(const grove_node *node)
{
    return ((const imager *)grove_node_user(node))->expression;
}

static const grove_accumulator_functions functions = {
    .create = imager_begin,
    .add = imager_add,
    .finish = imager_finish,
    .free = imager_end,
    .device_add = imager_add_on_device,
    .device_merge = imager_merge_device,
    .walk = imager_walk,
};

#define IMAGER                                                                                     \
    .group = "images", .kind = GROVE_CLASS_ACCUMULATOR, .accumulator = &functions,                 \
    .close = close_node

GROVE_CLASS(dirty_image) = {
    GROVE_CLASS_HEAD(dirty_image),
    .doc = "Dirty image of weighted visibilities.\nImproved w-stacking (Ye, Gull, Tan & Nikolic "
           "2022; Arras et al. 2021), divided by the sum of the weights: a point source shows its "
           "flux density. Nothing is divided by n.",
    .output_doc =
        "a real number per pixel (m, l), in the unit of the data (per beam); with several "
        "Stokes parameters a vector; with bands along freq, too",
    .inputs = image_inputs,
    .options = image_options,
    .check = check_image,
    .expression = expression,
    IMAGER,
    .example = "dirty = dirty_image(obs.data, obs, size=512, cell=2arcsec)",
};

GROVE_CLASS(psf_image) = {
    GROVE_CLASS_HEAD(psf_image),
    .doc = "Point-spread function: the dirty image of a source of 1 Jy at the image's centre.",
    .output_doc = "a real number per pixel (m, l); 1 at the centre; with bands along freq, too",
    .inputs = psf_inputs,
    .options = psf_options,
    .check = check_psf,
    IMAGER,
    .example = "psf = psf_image(obs, size=512, cell=2arcsec)",
};
