/* The compressed diagonal of g2g: an accumulator over all visibilities. */
#include "nodes/imaging/g2g.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_samples.h"

#include "facts.h"
#include "unstable/fit.h"
#include "util.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 20 }; /* samples that are added together */

const char *const g2g_axes[2] = {"g2g_functions", "g2g_entry"};

typedef struct {
    grove_lattice lattice;
    image_mueller mueller;
    int32_t *index; /* of functions; NULL: there is one */
    const grove_axis *freq;
    double longest[3];
    int data, weights, uvw, missing;
    int used; /* elements of the visibilities */
    int64_t room;
    g2g_size estimate;
} diagonal;

/* ---- functions ---- */

int g2g_make_lattice(const grove_node *node, const grove_convolution_plan *functions,
                     grove_lattice *lattice)
{
    return grove_lattice_make(functions, lattice)
               ? 0
               : grove_node_fail_option(node, "oversampling",
                                        "%d fine samples of %lld planes for each of %lld x %lld "
                                        "cells are more points than can be numbered, 2^53",
                                        functions->oversampling, (long long)functions->planes,
                                        (long long)functions->grid[0],
                                        (long long)functions->grid[1]);
}

int g2g_read_functions(const grove_node *node, int input, const grove_gridder_plan *plan,
                       grove_lattice *lattice, image_mueller *mueller)
{
    grove_convolution_plan functions = {0};
    int code = image_functions_check(node, input, plan, &functions, mueller);

    if (code)
        return code;
    if (grove_node_input_form(node, input)->flags)
        return grove_node_fail_option(node, "functions",
                                      "have flagged numbers; all of them must be finite");
    if (functions.linear)
        return grove_node_fail_option(
            node, "functions",
            "are interpolated linearly, so that a visibility uses a mean of several; functions of "
            "convolution_functions(..., samples=nearest) have one for each point");
    if (mueller->shape > 1 || functions.functions != image_mueller_functions(mueller))
        return grove_node_fail_option(node, "functions",
                                      "are of Jones matrices, or their use is not known; functions "
                                      "of numbers are for one image");
    functions.visibilities = functions.images = 1;
    return g2g_make_lattice(node, &functions, lattice);
}

char *g2g_label(const grove_node *node, const grove_gridder_plan *plan,
                const grove_lattice *lattice)
{
    const grove_convolution_plan *f = &lattice->plan;
    char *stage = image_stage_label(node, plan),
         *label = grove_format("%s support=%d oversampling=%d w_planes=%lld step_w=%.9g "
                               "functions=%lld",
                               stage, f->support, f->oversampling, (long long)f->planes, f->step_w,
                               (long long)f->functions);

    free(stage);
    return label;
}

/* ---- check ---- */

static int check_axes(const grove_node *node, const grove_node *obs, int functions)
{
    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        const int count = k != functions && grove_node_input_form(node, k)
                              ? grove_node_input_axes(node, k, axes)
                              : 0;
        for (int i = 0; i < count; i++)
            if (grove_node_axis(obs, axes[i]->name) != axes[i] ||
                axes[i]->kind == GROVE_AXIS_STATION)
                return grove_node_fail(node, GROVE_SHAPE,
                                       "%s varies with %s; it may vary with times, baselines and "
                                       "channels of the observation",
                                       grove_node_input_name(node, k), axes[i]->name);
    }
    return 0;
}

/* Weights, flags, and which elements of the visibilities count. */
static int find_visibilities(grove_node *node, const grove_node *obs, diagonal *d)
{
    d->freq = grove_node_axis(obs, "freq");
    if (!d->freq || !d->freq->centre)
        return grove_node_fail(node, GROVE_SHAPE, "the observation has no channels");
    if (!grove_node_input_form(node, d->data))
        d->data = grove_node_add_member_input(node, d->uvw, "data");
    if (!grove_node_input_form(node, d->weights))
        d->weights = grove_node_add_member_input(node, d->uvw, "weight");
    const grove_form *data = d->data >= 0 ? grove_node_input_form(node, d->data) : NULL,
                     *weights = d->weights >= 0 ? grove_node_input_form(node, d->weights) : NULL,
                     *form = data ? data : weights;
    if (data && weights && weights->shape != GROVE_SCALAR && weights->shape != data->shape)
        return grove_node_fail_option(node, "weights",
                                      "they must be numbers, or of the shape of the visibilities");
    d->used = !form ? 1 : form->shape == GROVE_MATRIX ? 9 : form->shape == GROVE_DIAGONAL ? 3 : 1;
    return 0;
}

/* As many entries as are estimated, and some more: baselines may differ from the antennas'
 * baselines.
 */
static int find_room(const grove_node *node, const grove_node *obs, diagonal *d)
{
    const g2g_size size = g2g_predict(obs, &d->lattice, d->longest);
    double all = 1;

    d->estimate = size;

    for (int k = 0; k < 3; k++) {
        const grove_axis *axis = grove_node_axis(obs, k == 0   ? "time"
                                                      : k == 1 ? "baseline"
                                                               : "freq");
        all *= axis ? (double)axis->size : 1;
    }
    all = ceil(all * grove_node_observation(obs)->rows_share);
    d->room = (int64_t)fmin(d->lattice.plan.functions > 1 ? all : 1.05 * size.entries + 4096, all);
    if (!grove_node_given(node, "entries"))
        return 0;
    d->room = grove_node_integer(node, "entries");
    return d->room > 0 ? 0
                       : grove_node_fail_option(node, "entries", "%lld is not at least 1",
                                                (long long)d->room);
}

static int add_axes(grove_node *node, const grove_gridder_plan *plan, const diagonal *d)
{
    char *label = g2g_label(node, plan, &d->lattice);
    const char *const labels[1] = {label};
    int code = grove_node_add_output_axis(
        node, &(grove_axis){.name = g2g_axes[0], .size = 1, .labels = labels});

    free(label);
    return code ? code
                : grove_node_add_output_axis(node,
                                             &(grove_axis){.name = g2g_axes[1], .size = d->room});
}

int g2g_diagonal_check(grove_node *node)
{
    diagonal *d = grove_alloc(sizeof(*d));
    const grove_node *obs = grove_node_object(node, "obs");
    const int functions = grove_node_input(node, "functions");
    grove_gridder_plan plan;

    *d = (diagonal){.data = grove_node_input(node, "data"),
                    .weights = grove_node_input(node, "weights"),
                    .uvw = grove_node_input(node, "uvw")};
    grove_node_set_user(node, d);
    if (!grove_node_input_form(node, functions))
        return grove_node_fail_option(
            node, "functions",
            "must be given, as from convolution_functions(..., samples=nearest)");
    int code = image_stage_plan(node, obs, true, &plan);
    code = code ? code : g2g_read_functions(node, functions, &plan, &d->lattice, &d->mueller);
    code = code ? code : image_stage_longest(node, obs, d->longest);
    code = code ? code : find_visibilities(node, obs, d);
    d->missing = code ? -1 : image_samples_find_missing(node, d->data);
    code = code ? code : check_axes(node, obs, functions);
    code = code ? code : find_room(node, obs, d);
    if (code)
        return code;
    d->index = image_mueller_index(&d->mueller, 1);
    d->lattice.plan.double_precision = true; /* of weights */
    grove_node_drop_input(node, functions);
    image_samples_consume_axes(node);
    grove_node_set_output(
        node,
        &(grove_form){.shape = GROVE_VECTOR, .vector = 2, .precision = GROVE_PRECISION_DOUBLE});
    grove_node_set_memory(node, grove_diagonal_bytes(d->room) + grove_diagonal_add_bytes(CHUNK) +
                                    CHUNK * 4 * sizeof(double));
    return add_axes(node, &plan, d);
}

void g2g_diagonal_close(grove_node *node)
{
    diagonal *d = grove_node_user(node);

    if (d) {
        image_mueller_free(&d->mueller);
        free(d->index);
    }
    free(d);
}

/* ---- a run ---- */

typedef struct {
    grove_diagonal *sums;
    grove_gridder_outside left_out;
    int64_t outside;
} summing;

static int no_memory(const grove_call *call)
{
    return grove_node_fail(call->node, GROVE_NO_MEMORY, "not enough memory for the diagonal");
}

int g2g_diagonal_new(const grove_call *call, void **state)
{
    const diagonal *d = grove_node_user(call->node);
    summing *s = grove_alloc(sizeof(*s));

    *s = (summing){.sums = grove_diagonal_new(&d->lattice, 0)};
    *state = s;
    return s->sums ? 0 : no_memory(call);
}

void g2g_diagonal_free(const grove_node *node, void *state)
{
    summing *s = state;

    (void)node;
    if (s)
        grove_diagonal_free(s->sums);
    free(s);
}

static int64_t first_of(const grove_array *array, int kind)
{
    for (int d = 0; d < array->axes; d++)
        if (array->range[d].axis->kind == kind)
            return array->range[d].first;
    return 0;
}

/* Samples of some times; `part`: the cells of the observation that they are. */
static int add_samples(const grove_call *call, const diagonal *d, const image_samples *samples,
                       const image_mueller_part *part, summing *to)
{
    const grove_gridder_threads threads = gridder_threads(call);
    const image_numbers none[3] = {{0}};
    image_use use;
    int code =
        image_use_begin(call->node, &d->mueller, d->index, &d->lattice.plan, part, none, &use);

    if (code)
        return code;
    image_use_keep_rows(&use, samples->list, samples->samples.rows, samples->samples.channels);
    code = grove_diagonal_add(to->sums, &samples->samples, use.needed ? &use.mueller : NULL,
                              &threads, &to->left_out);
    image_use_end(&use);
    return code;
}

int g2g_diagonal_add(const grove_call *call, void *state, const grove_array *const *arrays,
                     int count)
{
    const diagonal *d = grove_node_user(call->node);
    const image_part part = {
        .data = d->data >= 0 && arrays[d->data] && arrays[d->data]->data ? arrays[d->data] : NULL,
        .weights = d->weights >= 0 && arrays[d->weights] && arrays[d->weights]->data
                       ? arrays[d->weights]
                       : NULL,
        .uvw = arrays[d->uvw],
        .missing = d->missing >= 0 ? arrays[d->missing] : NULL,
        .freq = d->freq,
        .channels = d->freq->size,
        .stokes.used = d->used,
        .longest = {d->longest[0], d->longest[1], d->longest[2]},
        .as_ones = true};
    const image_extent e = image_part_extent(&part);
    summing *to = state;
    int code = 0;

    (void)count;
    for (int64_t first = 0, times; first < e.times && e.channels > 0 && !code; first += times) {
        times = image_part_times(&part, &e, first, CHUNK);
        const image_mueller_part cells = {.first_time = first_of(part.uvw, GROVE_AXIS_TIME) + first,
                                          .times = times,
                                          .first_baseline = first_of(part.uvw, GROVE_AXIS_BASELINE),
                                          .baselines = e.baselines,
                                          .first_channel = e.first_channel,
                                          .channels = e.channels};
        image_samples s;
        if (image_samples_make(call, &part, first, times, true, &s))
            return no_memory(call);
        to->outside += s.outside;
        code = add_samples(call, d, &s, &cells, to);
        image_samples_free(&s);
    }
    return code ? no_memory(call) : 0;
}

/* Reports the number of entries, and the estimate. */
static void report(const grove_call *call, const grove_diagonal *sums)
{
    const diagonal *d = grove_node_user(call->node);
    const double entries = (double)grove_diagonal_count(sums),
                 samples = (double)grove_diagonal_samples(sums);
    char estimate[60] = "";

    if (d->estimate.known)
        snprintf(estimate, sizeof(estimate), "; the estimate was %.4g (%.3g %%)",
                 d->estimate.entries, 100 * d->estimate.entries / d->estimate.samples);
    grove_log(GROVE_LOG_NOTE, "%s: the diagonal has %.4g entries for %.4g visibilities (%.3g %%)%s",
              grove_node_name(call->node), entries, samples, 100 * entries / samples, estimate);
}

int g2g_diagonal_finish(const grove_call *call, void *state, grove_array *out)
{
    const grove_gridder_threads threads = gridder_threads(call);
    const summing *s = state;
    const int64_t entries = grove_diagonal_count(s->sums);
    grove_diagonal_entry *to = out->data;

    if (entries > out->cells)
        return grove_node_fail_option(call->node, "entries",
                                      "there are %lld entries, but room for only %lld, as "
                                      "estimated from the antennas; entries=%lld is enough",
                                      (long long)entries, (long long)out->cells,
                                      (long long)entries);
    if (!entries)
        return image_samples_none(call->node, s->outside, image_stage_limit(call->node));
    image_functions_warn_outside(call->node, &s->left_out, "and do not count");
    report(call, s->sums);
    grove_diagonal_write(s->sums, &threads, to);
    for (int64_t k = entries; k < out->cells; k++)
        to[k] = (grove_diagonal_entry){-1, 0};
    return 0;
}
