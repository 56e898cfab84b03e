/* The samples that degrid predicts: of one image, or of a cube plane by plane. */
#include "nodes/imaging/degrid.h"
#include "nodes/imaging/gridder_threads.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

static int64_t origin_of(const grove_args *args, int kind)
{
    const int d = grove_args_axis(args, kind);

    return d < 0 ? 0 : args->origin[d];
}

static image_numbers numbers_of(const grove_args *args, int input)
{
    const int64_t real = sizeof(double);
    const grove_view *view = &args->in[input];

    return (image_numbers){.at = view->data,
                           .time = image_axis_step(args, view, GROVE_AXIS_TIME) / real,
                           .baseline = image_axis_step(args, view, GROVE_AXIS_BASELINE) / real,
                           .freq = image_axis_step(args, view, GROVE_AXIS_FREQ) / real};
}

/* By which functions samples go. */
static int begin_use(const grove_call *call, const grove_gridder_samples *samples, image_use *use)
{
    const grove_args *args = call->args;
    const options_read *o = grove_node_user(call->node);
    const int64_t baselines = image_axis_size(args, GROVE_AXIS_BASELINE);
    const image_mueller_part part = {.first_time = origin_of(args, GROVE_AXIS_TIME),
                                     .times = samples->rows / baselines,
                                     .first_baseline = origin_of(args, GROVE_AXIS_BASELINE),
                                     .baselines = baselines,
                                     .first_channel = origin_of(args, GROVE_AXIS_FREQ),
                                     .channels = samples->channels};
    image_numbers numbers[3];

    for (int k = 0; k < 3; k++)
        numbers[k] = numbers_of(args, MUELLER + k);
    return image_use_begin(call->node, &o->mueller, o->index, &o->convolution, &part, numbers, use);
}

/* The functions or terms of samples, of all channels. */
typedef struct {
    image_use use;
    image_terms_made made;
} samples_use;

/* The same of a part: NULL: a single function, or terms of 1. */
typedef struct {
    const grove_convolution_mueller *mueller;
    const grove_idg_terms *terms;
} part_use;

static int predict_plane(const grove_call *call, degridding *d, int plane,
                         const grove_gridder_samples *samples, const part_use *use,
                         grove_gridder_outside *outside)
{
    const options_read *o = grove_node_user(call->node);
    const grove_gridder_threads threads = gridder_threads(call);
    int code = degrid_find_planes(call, d, plane);

    if (code)
        return code;
    if (o->has_functions)
        code = grove_convolution_predict(d->convolution, samples, use->mueller, &threads, outside);
    else if (o->is_idg)
        code = grove_idg_predict(d->idg, samples, image_axis_size(call->args, GROVE_AXIS_BASELINE),
                                 use->terms, &threads, outside, &d->counts);
    else
        code = grove_gridder_predict(d->gridder, samples, &threads, outside);
    return code ? GROVE_NO_MEMORY : 0;
}

/* The sets and gradients of a part's channels, or the terms; `gradient` and `channel` are to be
 * freed. 0, or GROVE_NO_MEMORY. */
static int select_channels(const image_cube_part *part, int64_t channels,
                           grove_convolution_mueller *mueller, grove_idg_terms *terms,
                           int32_t **channel, double **gradient)
{
    const int64_t count = part->samples.channels, cells = part->samples.rows * count;
    const int32_t *from = terms->numbers ? terms->channel_block : mueller->channel;

    *channel = malloc((size_t)count * sizeof(**channel));
    *gradient = mueller->gradient ? malloc((size_t)cells * 2 * sizeof(**gradient)) : NULL;
    if (!*channel || (mueller->gradient && !*gradient))
        return GROVE_NO_MEMORY;
    for (int64_t k = 0; k < count; k++)
        (*channel)[k] = from[part->channel[k]];
    for (int64_t i = 0; i < cells && mueller->gradient; i++)
        memcpy(*gradient + 2 * i,
               mueller->gradient + 2 * (i / count * channels + part->channel[i % count]),
               2 * sizeof(**gradient));
    mueller->channel = terms->channel_block = *channel;
    mueller->gradient = *gradient;
    return 0;
}

/* Adds one of a cube's planes in all channels that have some of it. */
static int add_plane(const grove_call *call, degridding *d, int plane,
                     const grove_gridder_samples *all, const samples_use *use)
{
    const options_read *o = grove_node_user(call->node);
    const int numbers = 2 * degrid_numbers(o);
    grove_convolution_mueller mueller = use->use.mueller;
    grove_idg_terms terms = use->made.terms;
    const part_use chosen = {use->use.needed ? &mueller : NULL, terms.numbers ? &terms : NULL};
    grove_gridder_outside outside = {0}; /* channels may have two planes */
    image_cube_part part;
    int32_t *channel = NULL;
    double *gradient = NULL;
    int code = image_cube_part_make(&o->cube, plane, origin_of(call->args, GROVE_AXIS_FREQ), all,
                                    numbers, call->double_precision, &part)
                   ? GROVE_NO_MEMORY
                   : 0;

    if (!code && part.samples.channels && (chosen.mueller || chosen.terms))
        code = select_channels(&part, all->channels, &mueller, &terms, &channel, &gradient);
    if (!code && part.samples.channels)
        code = predict_plane(call, d, plane, &part.samples, &chosen, &outside);
    if (!code && part.samples.channels)
        image_cube_part_add(&part, all, numbers, call->double_precision);
    image_cube_part_free(&part);
    free(channel);
    free(gradient);
    return code;
}

static int predict_planes(const grove_call *call, degridding *d,
                          const grove_gridder_samples *samples, const samples_use *use)
{
    const options_read *o = grove_node_user(call->node);
    const part_use chosen = {use->use.needed ? &use->use.mueller : NULL,
                             use->made.terms.numbers ? &use->made.terms : NULL};
    grove_gridder_outside beyond = {0}; /* of the planes: counted by image_leave_out */
    int code = 0;

    if (!o->cube.axis)
        return predict_plane(call, d, 0, samples, &chosen,
                             o->has_functions ? &d->left_out : &beyond);
    for (int plane = 0; plane < o->cube.planes && !code; plane++)
        code = add_plane(call, d, plane, samples, use);
    if (!code && o->has_functions)
        d->left_out.samples += image_convolve_outside(&o->convolution, samples);
    return code;
}

int degrid_predict_all(const grove_call *call, degridding *d, const grove_gridder_samples *samples)
{
    const options_read *o = grove_node_user(call->node);
    samples_use use = {0};
    int code = o->has_functions ? begin_use(call, samples, &use.use) : 0;

    if (code)
        return code;
    if (o->is_idg)
        code = degrid_make_terms(call, samples, &use.made);
    if (!code)
        code = predict_planes(call, d, samples, &use);
    image_use_end(&use.use);
    image_terms_free(&use.made);
    return code;
}
