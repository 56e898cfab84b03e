/* The run of dirty images and point-spread functions on the host. */
#include "../../kernels/imaging/gridder/gridder.h"
#include "nodes/imaging/dirty_image.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_plane.h"
#include "nodes/imaging/image_samples.h"

#include "unstable/keep.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int imager_begin(const grove_call *call, void **state)
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

/* ---- plans, and the planes of a walk ---- */

grove_gridder_bounds imager_bounds(const imager *m, int band, const double largest[3],
                                   bool double_precision)
{
    const double highest = image_bands_highest(&m->bands, band);

    return (grove_gridder_bounds){.max_u = largest[0] * highest,
                                  .max_v = largest[1] * highest,
                                  .max_w = largest[2] * highest,
                                  .samples = fmax(m->samples / m->bands.count, 1),
                                  .polarisations = m->psf ? 1 : m->stokes.count,
                                  .without_w = m->without_w,
                                  .exact = m->exact,
                                  .double_precision = double_precision};
}

double imager_highest(const imager *m)
{
    double highest = 0;

    for (int band = 0; band < m->bands.count; band++)
        highest = fmax(highest, image_bands_highest(&m->bands, band));
    return highest;
}

static int highest_band(const imager *m)
{
    int last = m->bands.count - 1;

    return image_bands_highest(&m->bands, 0) > image_bands_highest(&m->bands, last) ? 0 : last;
}

/* The largest |u|, |v| and |w| that count, wavelengths at 1 Hz. */
static void find_largest(const imager *m, const double *max_uvw, double largest[3])
{
    for (int k = 0; k < 3; k++) {
        largest[k] = max_uvw[k] * (1 + 1e-9) / GROVE_SPEED_OF_LIGHT;
        if (m->longest > 0)
            largest[k] = fmin(largest[k], m->longest / imager_highest(m));
    }
}

void imager_longest(const imager *m, int band, const double *max_uvw, double longest[3])
{
    find_largest(m, max_uvw, longest);
    for (int k = 0; k < 3; k++)
        longest[k] *= image_bands_highest(&m->bands, band);
}

int imager_plan(const grove_call *call, const imager *m, int band, const double *max_uvw,
                image_state *state)
{
    double largest[3];

    find_largest(m, max_uvw, largest);
    grove_gridder_bounds bounds = imager_bounds(m, band, largest, call->double_precision);

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

/* The expected memory of a plane of a band; if the baselines are not as expected, the planes that
 * there are share the expected memory. */
static uint64_t part_of(const imager *m, const imager_needs *needs, const image_state *state,
                        int band, int64_t plane)
{
    int64_t before = 0, all = 0;

    for (int k = 0; k < m->bands.count; k++) {
        before += k < band ? state[k].plan.planes : 0;
        all += state[k].plan.planes;
    }
    return needs->parts[all == needs->part_count ? before + plane
                                                 : (before + plane) * needs->part_count / all];
}

/* As many planes as fit, of one band after the other; at least one. */
static void plan_walk(const grove_call *call, const imager *m, image_state *state)
{
    const imager_needs *needs = &m->needs[call->double_precision];
    const uint64_t room = call->memory > needs->fixed ? call->memory - needs->fixed : 0;
    uint64_t sum = 0;
    bool full = false;

    for (int band = 0; band < m->bands.count; band++) {
        image_state *b = &state[band];
        b->limit = 0;
        for (b->end = b->first; b->end < b->plan.planes && !full; b->end++) {
            uint64_t part = part_of(m, needs, state, band, b->end);
            full = sum && (sum > room || part > room - sum);
            if (full)
                break;
            sum += part;
            b->limit += part;
        }
    }
    /* Bands share the rest. A sixteenth more is within the reported memory, and saves a walk where
     * the baselines are a little longer than expected. */
    for (int band = 0; band < m->bands.count; band++)
        state[band].limit = room >= UINT64_MAX / 2 ? UINT64_MAX
                                                   : (uint64_t)(1.0625 * (double)state[band].limit /
                                                                (double)(sum ? sum : 1) *
                                                                (double)(room > sum ? room : sum));
}

static int open_all(const grove_call *call, const imager *m, const double *max_uvw,
                    image_state *state)
{
    int code = 0;

    for (int band = 0; band < m->bands.count && !code; band++)
        code = imager_plan(call, m, band, max_uvw, &state[band]);
    if (!code)
        plan_walk(call, m, state);
    return code;
}

static int open_gridder(const grove_call *call, bool exact, image_state *state)
{
    grove_isa isa;
    char message[200];

    if (grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    state->gridder = grove_gridder_new(&state->plan, isa);
    if (!state->gridder)
        return imager_no_memory(call);
    if (exact)
        grove_gridder_set_exact(state->gridder, state->sizes.largest,
                                image_sum_value(&state->sizes.size));
    grove_gridder_set_window(state->gridder, state->first, state->end, state->limit);
    return 0;
}

/* ---- samples ---- */

static int add_times(const grove_call *call, image_state *state, const image_part *part,
                     int64_t first, int64_t count)
{
    const bool exact = ((const imager *)grove_node_user(call->node))->exact;
    grove_gridder_threads threads = gridder_threads(call);
    grove_gridder_outside outside = {0};
    image_samples s;
    int code = 0;

    if (image_samples_make(call, part, first, count, call->double_precision, &s))
        return imager_no_memory(call);
    if (exact && !state->sized)
        image_sizes_add(&state->sizes, &s, part->as_ones ? 1 : part->stokes.count);
    else
        code = grove_gridder_add(state->gridder, &s.samples, &threads, &outside);
    if (state->first == 0 && !(exact && state->sized)) { /* later walks see the same samples */
        state->weight_sum += s.weight_sum;
        state->not_finite += s.not_finite;
        state->outside += s.outside;
    }
    if (state->first == 0) {
        state->weight_sum -= outside.weight;
        state->outside += outside.samples;
    }
    image_samples_free(&s);
    return code ? imager_no_memory(call) : 0;
}

static const grove_array *array_of(const grove_array *const *inputs, int k)
{
    return k >= 0 && inputs[k]->data ? inputs[k] : NULL;
}

static int add_band(const grove_call *call, int band, const double *max_uvw, image_state *state,
                    image_part *part)
{
    const imager *m = grove_node_user(call->node);
    int code = 0;

    imager_longest(m, band, max_uvw, part->longest);
    part->first_channel = image_bands_first(&m->bands, band);
    part->channels = image_bands_first(&m->bands, band + 1) - part->first_channel;
    image_extent e = image_part_extent(part);
    const bool sizes = m->exact && !state->sized;
    if (e.channels < 1 || (state->first == state->end && !sizes))
        return 0; /* none in this tile, or in this walk */
    if (!state->gridder && !sizes)
        code = open_gridder(call, m->exact, state);
    for (int64_t first = 0, times; first < e.times && !code; first += times) {
        times = image_part_times(part, &e, first, m->chunk);
        code = add_times(call, state, part, first, times);
    }
    return code;
}

int imager_add(const grove_call *call, void *own, const grove_array *const *inputs, int count)
{
    const imager *m = grove_node_user(call->node);
    image_state *state = own;
    image_part part = {.data = array_of(inputs, m->data),
                       .weights = array_of(inputs, m->weights),
                       .uvw = inputs[m->uvw],
                       .missing = array_of(inputs, m->missing),
                       .freq = m->bands.freq,
                       .stokes = m->stokes,
                       .as_ones = m->psf};
    const double *max_uvw = inputs[m->max_uvw]->data;
    int code = state->plan.planes ? 0 : open_all(call, m, max_uvw, state);

    (void)count;
    for (int band = 0; band < m->bands.count && !code; band++)
        code = add_band(call, band, max_uvw, &state[band], &part);
    return code;
}

/* ---- the result ---- */

/* The planes of a band, added to its image. */
static int add_planes(const grove_call *call, image_state *state, grove_array *out, int64_t at)
{
    grove_gridder_threads threads = gridder_threads(call);
    const int64_t real = call->double_precision ? sizeof(double) : sizeof(float);
    const int64_t *size = state->plan.image.size;
    int code = 0;

    for (int k = 0; k < out->elements && !code && state->weight_sum > 0; k++) {
        const grove_gridder_pixels pixels = {(char *)out->data + (at * out->elements + k) * real,
                                             out->elements, size[0] * out->elements};
        if (grove_gridder_to_image(state->gridder, k, &pixels, &threads))
            code = imager_no_memory(call);
    }
    state->first =
        state->weight_sum > 0 ? grove_gridder_window_end(state->gridder) : state->plan.planes;
    grove_gridder_free(state->gridder);
    state->gridder = NULL;
    return code;
}

/* After the first walk of an exact image: whether there are samples. */
static bool take_sizes(const imager *m, image_state *state)
{
    bool any = false;

    for (int band = 0; band < m->bands.count; band++) {
        state[band].weight_sum = image_sum_value(&state[band].sizes.weight);
        state[band].sized = true;
        any = any || state[band].weight_sum > 0;
    }
    return any;
}

int imager_walk(const grove_call *call, void *own, grove_array *out, bool *again)
{
    const imager *m = grove_node_user(call->node);
    image_state *state = own;
    const int64_t cells = out->cells / m->bands.count; /* freq is the slowest axis */
    int code = 0;

    if (m->exact && !state->sized) {
        *again = take_sizes(m, state);
        return 0;
    }
    for (int band = 0; band < m->bands.count && !code; band++) {
        if (state[band].gridder)
            code = add_planes(call, &state[band], out, band * cells);
        else if (state[band].first < state[band].end)
            state[band].first = state[band].plan.planes; /* it has no samples */
        *again = *again || state[band].first < state[band].plan.planes;
    }
    plan_walk(call, m, state);
    return code;
}

/* Divides by the sum of weights, after the images of devices are added. */
static void complete(const image_state *state, const void *from_devices, int stokes,
                     grove_array *out, int64_t at, int64_t cells)
{
    const double scale = 1 / state->weight_sum;

    for (int64_t k = 0; k < cells; k++) {
        int64_t to = (at + k) * out->elements + stokes;
        if (out->form->precision == GROVE_PRECISION_DOUBLE)
            ((double *)out->data)[to] =
                (((double *)out->data)[to] +
                 (from_devices ? ((const double *)from_devices)[stokes * cells + k] : 0)) *
                scale;
        else
            ((float *)out->data)[to] =
                (float)((((float *)out->data)[to] +
                         (from_devices ? ((const float *)from_devices)[stokes * cells + k] : 0)) *
                        scale);
    }
}

static const char *limit_of(const imager *m)
{
    return m->longest > 0 ? "the largest distance between antennas" : "max_uvw";
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
                        "%s, and are left out",
                        (long long)outside, limit_of(m));
}

static void finish_band(const image_state *state, grove_array *out, int64_t at, int64_t cells)
{
    if (!(state->weight_sum > 0))
        memset(out->flags + at, 0xff, (size_t)cells);
    for (int k = 0; k < out->elements && state->weight_sum > 0; k++)
        complete(state, state->from_devices, k, out, at, cells);
}

int imager_finish(const grove_call *call, void *own, grove_array *out)
{
    const imager *m = grove_node_user(call->node);
    image_state *state = own;
    const int64_t cells = out->cells / m->bands.count;
    int64_t outside = 0;
    double sum = 0;

    for (int band = 0; band < m->bands.count; band++) {
        sum += state[band].weight_sum;
        outside += state[band].outside;
    }
    if (!(sum > 0))
        return image_samples_none(call->node, outside, limit_of(m));
    warn_of_samples(call->node, m, state);
    if (out->flags)
        memset(out->flags, 0, (size_t)out->cells);
    for (int band = 0; band < m->bands.count; band++)
        finish_band(&state[band], out, band * cells, cells);
    return 0;
}

void imager_end(const grove_node *node, void *own)
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
