/* Dirty images and point-spread functions: accumulators over all visibilities. */
#include "nodes/dirty_image.h"
#include "nodes/fourier.h"
#include "nodes/gridder_threads.h"
#include "nodes/image_plane.h"
#include "nodes/image_samples.h"

#include "base/error.h"
#include "base/memory.h"
#include "fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 21 }; /* samples that are gridded together */

/* clang-format off */
#define COMMON_OPTIONS                                                                             \
    IMAGE_PLANE_OPTIONS,                                                                           \
    {"weights", GROVE_VALUE, "none",                                                               \
     "weights of the visibilities, one for each element or for all of a cell, such as those of "   \
     "weighting; none: the set's own, or 1; visibilities with weights of 0 or less do not count",  \
     .shapes = GROVE_JONES, .handing = GROVE_AS_REAL},                                             \
    {"epsilon", GROVE_NUMBER, "1e-4",                                                              \
     "relative error of the image, root mean square, at most, from 1e-12; below 1e-5 the image is " \
     "made in double precision in any run"},                                                       \
    {"w_terms", GROVE_BOOL, "true", "false: the sky counts as flat, and w as 0"},                  \
    IMAGE_BANDS_OPTION,                                                                            \
    {"uvw", GROVE_VALUE_LENGTH, "obs.uvw", "baselines, m", .handing = GROVE_AS_DOUBLE,             \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR},                               \
    {"max_uvw", GROVE_VALUE_LENGTH, "max(abs(obs.uvw), over=[time, baseline])",                    \
     "the largest absolute values of u, v and w of all visibilities, m", .handing = GROVE_AS_DOUBLE,            \
     .shapes = GROVE_VECTOR, .vector = 3, .linear = GROVE_SELECTOR}
/* clang-format on */

static const grove_input image_inputs[] = {
    {"data", GROVE_VALUE, "visibilities; flagged ones do not count", .shapes = GROVE_JONES,
     .handing = GROVE_AS_COMPLEX},
    {"obs", GROVE_OBJECT, "the observation that they belong to", .object = "observation"},
    {0},
};
static const grove_option image_options[] = {
    COMMON_OPTIONS,
    IMAGE_CENTRE_OPTION,
    {"stokes", GROVE_TEXT, "\"I\"", "Stokes parameters, in one pass: I, or letters of IQUV"},
    {0},
};
static const grove_input psf_inputs[] = {
    {"obs", GROVE_OBJECT, "the observation", .object = "observation"},
    {0},
};
static const grove_option psf_options[] = {
    COMMON_OPTIONS,
    {"data", GROVE_VALUE, "none",
     "visibilities, of which only the flags count; none: those of the set, if there are some",
     .shapes = GROVE_JONES, .handing = GROVE_AS_COMPLEX, .linear = GROVE_SELECTOR},
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
                    : "it images those of times, baselines and channels");
    return 0;
}

/* Visibilities that were averaged have other baselines than the observation. */
static int check_axes(const grove_node *node, const imager *m)
{
    static const char *const names[] = {"time", "baseline", "freq"};
    const grove_node *obs = grove_node_object(node, "obs");

    for (int k = 0; k < grove_node_inputs(node); k++) {
        int code = check_input_axes(node, k);
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
                                   "the visibilities do not vary with %s any more, because of %s",
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

/* Bounds of a band's samples, by the largest |u|, |v| and |w| of all channels, in wavelengths at
 * 1 Hz. */
static grove_gridder_bounds bounds_of(const imager *m, int band, const double largest[3],
                                      bool double_precision)
{
    const double highest = image_bands_highest(&m->bands, band);

    return (grove_gridder_bounds){.max_u = largest[0] * highest,
                                  .max_v = largest[1] * highest,
                                  .max_w = largest[2] * highest,
                                  .samples = fmax(m->samples / m->bands.count, 1),
                                  .polarisations = m->psf ? 1 : m->stokes.count,
                                  .without_w = m->without_w,
                                  .double_precision = double_precision};
}

static void tell_method(grove_node *node, const imager *m, const grove_gridder_plan *plan)
{
    char bands[60] = "";

    if (m->bands.count > 1)
        snprintf(bands, sizeof(bands), " for each of %d bands", m->bands.count);
    grove_node_note(
        node,
        "method: w-stacking, %lld plane%s of %lld x %lld cells or fewer%s, kernels of %d x %d x %d",
        (long long)plan->planes, plan->planes == 1 ? "" : "s", (long long)plan->grid[0],
        (long long)plan->grid[1], bands, plan->kernel.width, plan->kernel.width,
        plan->kernel_w.width);
}

/* Memory, and a note, by the antennas' positions: baselines cannot be longer. */
static int estimate(grove_node *node, const imager *m, double longest)
{
    bool double_precision = grove_node_output(node)->precision == GROVE_PRECISION_DOUBLE;
    double highest = 0;
    grove_gridder_plan plan, most = {0};
    uint64_t planes = 0, work = 0;

    if (!(m->epsilon >= 1e-12 * (1 - 1e-9) && m->epsilon <= 1))
        return grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1", m->epsilon);
    for (int band = 0; band < m->bands.count; band++)
        highest = fmax(highest, image_bands_highest(&m->bands, band));
    const double largest[3] = {longest / highest, longest / highest, longest / highest};
    for (int band = 0; band < m->bands.count; band++) {
        grove_gridder_bounds bounds = bounds_of(m, band, largest, double_precision);
        if (grove_gridder_plan_choose(&m->image, &bounds, m->epsilon, &plan)) {
            double_precision = bounds.double_precision = true;
            if (grove_gridder_plan_choose(&m->image, &bounds, m->epsilon, &plan))
                return grove_node_fail_option(node, "epsilon", "%g is not from 1e-12 to 1",
                                              m->epsilon);
        }
        uint64_t kept = grove_gridder_plan_planes_bytes(&plan);
        planes += kept;
        work = grove_gridder_plan_bytes(&plan) - kept;
        if (plan.planes >= most.planes)
            most = plan;
    }
    /* Samples: data, weight, what the index has of them; of rows baselines and sums. */
    uint64_t real = double_precision ? sizeof(double) : sizeof(float);
    uint64_t channels = (uint64_t)(m->bands.freq->size / m->bands.count),
             runs = channels < 8 ? channels : 8;
    double chunk = fmin(m->samples / m->bands.count, CHUNK);
    int64_t polarisations = m->psf ? 1 : m->stokes.count;
    grove_node_set_memory(node, planes + work +
                                    (uint64_t)(chunk * (double)(2 * real * (uint64_t)polarisations +
                                                                real + 64 / runs + 48 / channels)));
    if (m->bands.count == 1)
        grove_node_set_device_memory(node, grove_gridder_device_memory(&plan));
    tell_method(node, m, &most);
    return 0;
}

static void set_output(grove_node *node, const imager *m, const grove_form *data)
{
    int count = m->psf ? 1 : m->stokes.count;
    grove_form form = {.shape = count > 1 ? GROVE_VECTOR : GROVE_SCALAR,
                       .vector = count > 1 ? count : 0,
                       .precision = image_precision(m->epsilon),
                       .flags = m->bands.count > 1}; /* bands may be empty */

    if (data && !m->psf)
        form.unit = data->unit;
    grove_node_set_output(node, &form);
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
                  .psf = psf,
                  .without_w = !grove_node_bool(node, "w_terms"),
                  .epsilon = grove_node_number(node, "epsilon")};
    grove_node_set_user(node, m);
    if (!grove_fourier_works())
        return grove_node_fail(node, GROVE_MISSING,
                               "images need FFTW, which this build has not; on Debian install "
                               "libfftw3-dev and build Grove again");
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
    if (!code)
        code = image_samples_find_weights(node, m->data >= 0 ? m->data : m->uvw, m->stokes.elements,
                                          &m->weights);
    double longest = image_longest_baseline(obs);
    if (!code)
        code = image_plane_read(node, obs, longest, !psf, &m->image);
    if (code)
        return code;
    image_samples_consume_axes(node);
    set_output(node, m, form);
    m->samples = (double)grove_node_axis(obs, "time")->size *
                 (double)grove_node_axis(obs, "baseline")->size * (double)m->bands.freq->size;
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
    free(grove_node_user(node));
}

/* ---- a run ---- */

static int begin(const grove_call *call, void **state)
{
    const imager *m = grove_node_user(call->node);
    const size_t bytes = (size_t)m->bands.count * sizeof(image_state);

    *state = grove_alloc(bytes);
    memset(*state, 0, bytes);
    return 0;
}

int imager_no_memory(const grove_call *call)
{
    return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for the image's grid");
}

static int highest_band(const imager *m)
{
    int last = m->bands.count - 1;

    return image_bands_highest(&m->bands, 0) > image_bands_highest(&m->bands, last) ? 0 : last;
}

int imager_plan(const grove_call *call, const imager *m, int band, const double *max_uvw,
                image_state *state)
{
    const double largest[3] = {max_uvw[0] / GROVE_SPEED_OF_LIGHT, max_uvw[1] / GROVE_SPEED_OF_LIGHT,
                               max_uvw[2] / GROVE_SPEED_OF_LIGHT};
    grove_gridder_bounds bounds = bounds_of(m, band, largest, call->double_precision);

    if (!isfinite(bounds.max_u + bounds.max_v + bounds.max_w))
        return grove_node_fail(call->node, GROVE_INVALID, "the largest baseline is not a number");
    if (grove_gridder_plan_choose(&m->image, &bounds, m->epsilon, &state->plan))
        return grove_node_fail_option(call->node, "epsilon",
                                      "%g cannot be reached in %s precision%s", m->epsilon,
                                      call->double_precision ? "double" : "single",
                                      call->double_precision ? "" : "; use --precision double");
    if (band == highest_band(m))
        image_plane_check_cells(call->node, bounds.max_u, bounds.max_v, &m->image);
    return 0;
}

static int open_gridder(const grove_call *call, const imager *m, int band, const double *max_uvw,
                        image_state *state)
{
    grove_isa isa;
    char said[200];
    int code = imager_plan(call, m, band, max_uvw, state);

    if (code)
        return code;
    if (grove_isa_choose(&isa, said))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", said);
    state->gridder = grove_gridder_new(&state->plan, isa);
    return state->gridder ? 0 : imager_no_memory(call);
}

static int add_times(const grove_call *call, image_state *state, const image_part *part,
                     int64_t first, int64_t count)
{
    grove_gridder_threads threads = gridder_threads(call);
    image_samples s;

    if (image_samples_make(call, part, first, count, call->double_precision, &s))
        return imager_no_memory(call);
    grove_gridder_outside outside = {0};
    int code = grove_gridder_add(state->gridder, &s.samples, &threads, &outside);
    state->weight_sum += s.weight_sum - outside.weight;
    state->not_finite += s.not_finite;
    state->outside += outside.samples;
    image_samples_free(&s);
    return code ? imager_no_memory(call) : 0;
}

static const grove_array *array_of(const grove_array *const *inputs, int k)
{
    return k >= 0 && inputs[k]->data ? inputs[k] : NULL;
}

static int add_band(const grove_call *call, int band, image_state *state, image_part *part,
                    const double *max_uvw)
{
    const imager *m = grove_node_user(call->node);
    int code = 0;

    part->first_channel = image_bands_first(&m->bands, band);
    part->channels = image_bands_first(&m->bands, band + 1) - part->first_channel;
    image_extent e = image_part_extent(part);
    if (e.channels < 1)
        return 0; /* none in this tile */
    int64_t times = CHUNK / (e.baselines * e.channels);
    times = times < 1 ? 1 : times;
    if (!state->gridder)
        code = open_gridder(call, m, band, max_uvw, state);
    for (int64_t first = 0; first < e.times && !code; first += times)
        code =
            add_times(call, state, part, first, e.times - first < times ? e.times - first : times);
    return code;
}

static int add(const grove_call *call, void *own, const grove_array *const *inputs, int count)
{
    const imager *m = grove_node_user(call->node);
    image_state *state = own;
    image_part part = {.data = array_of(inputs, m->data),
                       .weights = array_of(inputs, m->weights),
                       .uvw = inputs[m->uvw],
                       .freq = m->bands.freq,
                       .stokes = m->stokes,
                       .as_ones = m->psf};
    int code = 0;

    (void)count;
    for (int band = 0; band < m->bands.count && !code; band++)
        code = add_band(call, band, &state[band], &part, inputs[m->max_uvw]->data);
    return code;
}

/* ---- the result ---- */

/* Adds pixels of one Stokes parameter; the image is a band of `out` from cell `at` on. */
static void add_pixels(const image_state *state, int stokes, const void *image, grove_array *out,
                       int64_t at, int64_t cells)
{
    const double scale = 1 / state->weight_sum;

    for (int64_t k = 0; k < cells; k++)
        if (out->form->precision == GROVE_PRECISION_DOUBLE)
            ((double *)out->data)[(at + k) * out->elements + stokes] +=
                ((const double *)image)[k] * scale;
        else
            ((float *)out->data)[(at + k) * out->elements + stokes] +=
                (float)(((const float *)image)[k] * scale);
}

static void warn_of_samples(const grove_node *node, const imager *m, const image_state *state)
{
    int64_t not_finite = 0, outside = 0;

    for (int band = 0; band < m->bands.count; band++) {
        not_finite += state[band].not_finite;
        outside += state[band].outside;
        if (!(state[band].weight_sum > 0))
            grove_node_warn(node,
                            "the band of channels %lld to %lld has no visibilities: its pixels "
                            "are flagged",
                            (long long)image_bands_first(&m->bands, band),
                            (long long)image_bands_first(&m->bands, band + 1) - 1);
    }
    image_samples_warn_not_finite(node, not_finite);
    if (outside)
        grove_node_warn(node,
                        "%lld visibilities have baselines that are not numbers, or longer than "
                        "max_uvw, and are left out",
                        (long long)outside);
}

static int finish_band(const grove_call *call, image_state *state, void *image, grove_array *out,
                       int64_t at, int64_t cells)
{
    grove_gridder_threads threads = gridder_threads(call);
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    int code = 0;

    if (!(state->weight_sum > 0)) {
        memset(out->flags + at, 0xff, (size_t)cells);
        return 0;
    }
    for (int k = 0; k < out->elements && !code; k++) {
        if (state->gridder &&
            grove_gridder_to_image(state->gridder, k, image, &grove_fourier, &threads))
            code = imager_no_memory(call);
        else if (state->gridder)
            add_pixels(state, k, image, out, at, cells);
        if (!code && state->from_devices)
            add_pixels(state, k, (char *)state->from_devices + (size_t)(k * cells) * real, out, at,
                       cells);
    }
    return code;
}

static int finish(const grove_call *call, void *own, grove_array *out)
{
    const imager *m = grove_node_user(call->node);
    image_state *state = own;
    size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    const int64_t cells = out->cells / m->bands.count; /* freq is the slowest axis */
    double sum = 0;
    int code = 0;

    for (int band = 0; band < m->bands.count; band++)
        sum += state[band].weight_sum;
    if (!(sum > 0))
        return image_samples_none(call->node);
    warn_of_samples(call->node, m, state);
    void *image = malloc((size_t)cells * real);
    if (!image)
        return imager_no_memory(call);
    if (out->flags)
        memset(out->flags, 0, (size_t)out->cells);
    for (int band = 0; band < m->bands.count && !code; band++)
        code = finish_band(call, &state[band], image, out, band * cells, cells);
    free(image);
    return code;
}

static void end(const grove_node *node, void *own)
{
    const imager *m = grove_node_user(node);
    image_state *state = own;

    for (int band = 0; band < m->bands.count; band++) {
        grove_gridder_free(state[band].gridder);
        image_device_free(&state[band].device);
        free(state[band].from_devices);
    }
    free(state);
}

#define IMAGER                                                                                     \
    .group = "images", .kind = GROVE_CLASS_ACCUMULATOR, .accumulate_new = begin,                   \
    .accumulate_add = add, .accumulate_finish = finish, .accumulate_free = end,                    \
    .accumulate_device_add = imager_add_on_device, .accumulate_device_merge = imager_merge_device, \
    .close = close_node

GROVE_CLASS(dirty_image) = {
    GROVE_CLASS_HEAD(dirty_image),
    .doc =
        "Image of visibilities, as they are weighted, not cleaned.\nImproved w-stacking (Ye, "
        "Gull, Tan & Nikolic 2022; Arras et al. 2021), divided by the sum of the weights: a point "
        "source shows its flux density. Nothing is divided by n.",
    .output_doc =
        "a real number per pixel (m, l), in the unit of the data (per beam); with several "
        "Stokes parameters a vector; with bands along freq, too",
    .inputs = image_inputs,
    .options = image_options,
    .check = check_image,
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
