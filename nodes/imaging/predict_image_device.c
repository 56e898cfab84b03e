/* Predicting from an image, or a cube, on a device. */
#include "nodes/imaging/predict_image.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

static prediction_device *find_device(const predictor *p, prediction *run, int k)
{
    const size_t planes = (size_t)p->cube.planes;

    void *devices = run->devices;
    prediction_device *d = image_device_of(&devices, &run->device_count, k, sizeof(*d));

    run->devices = devices;
    if (!d->planes) {
        d->planes = grove_alloc(planes * sizeof(*d->planes));
        d->image_hash = grove_alloc(planes * sizeof(*d->image_hash));
        memset(d->planes, 0, planes * sizeof(*d->planes));
        memset(d->image_hash, 0, planes * sizeof(*d->image_hash));
    }
    return d;
}

void prediction_free_devices(prediction *run)
{
    for (int k = 0; k < run->device_count; k++) {
        image_device_free(&run->devices[k].device);
        free(run->devices[k].planes);
        free(run->devices[k].image_hash);
    }
    free(run->devices);
}

/* A plan by the largest baselines and the highest frequency. All images have the same. */
static int open_device(const grove_call *call, const predictor *p, const prediction *run,
                       const void *max_uvw, prediction_device *d)
{
    const grove_hash hash = grove_hash_number(
        grove_hash_add(grove_hash_start(), max_uvw, 3 * sizeof(double)), run->highest);
    const size_t planes = (size_t)p->cube.planes;
    grove_gridder_plan plan;

    if (d->device.open && grove_hash_equal(hash, d->plan_hash))
        return 0;
    int code = predictor_plan(call, p, run->highest, max_uvw, &plan);
    if (code)
        return code;
    image_device_renew(&d->device, &plan);
    if (!d->device.gridder) {
        memset(d->planes, 0, planes * sizeof(*d->planes));
        memset(d->image_hash, 0, planes * sizeof(*d->image_hash));
    }
    code = image_device_open(call, &plan, true, &d->device);
    d->planes[0] = d->device.planes;
    d->plan_hash = code ? (grove_hash){0} : hash;
    return code;
}

/* The planes of w of one image are made anew unless they are there: the host's copy of the pixels,
 * the first at `pixels`, says whether they are. */
static int find_planes(const grove_call *call, const predictor *p, const char *pixels, int plane,
                       prediction_device *d)
{
    const size_t real = call->double_precision ? sizeof(double) : sizeof(float);
    const grove_view *view = &call->args->in[PREDICTION_IMAGE];
    const int64_t step[2] = {image_axis_step(call->args, view, p->kind[0]),
                             image_axis_step(call->args, view, p->kind[1])};
    const int64_t offset = predictor_plane_offset(call, p, plane);
    const grove_hash hash =
        image_plane_hash(call, PREDICTION_IMAGE, pixels + offset, &p->image, p->stokes.count);

    if (d->planes[plane] && grove_hash_equal(hash, d->image_hash[plane]))
        return 0;
    int code = image_device_take_planes(call, &d->device, &d->planes[plane]);
    image_device one = d->device;
    one.planes = d->planes[plane];
    for (int k = 0; k < p->stokes.count && !code; k++)
        code = image_device_from_pixels(call, &one, k,
                                        (const char *)view->data + offset + (size_t)k * real, step);
    d->image_hash[plane] = code ? (grove_hash){0} : hash;
    return code;
}

/* The images that the channels of the call have some of, and their planes. `share`:
 * [plane][channel]
 */
static int find_parts(const grove_call *call, const predictor *p, const double *freq,
                      const void *pixels, prediction_device *d, double *share,
                      image_device_part *parts, int *count)
{
    const int axis = grove_args_axis(call->args, GROVE_AXIS_FREQ);
    const int64_t channels = image_axis_size(call->args, GROVE_AXIS_FREQ),
                  first = axis < 0 ? 0 : call->args->origin[axis];
    int code = 0;

    *count = 0;
    for (int plane = 0; plane < p->cube.planes && !code; plane++) {
        double *own = p->cube.axis ? share + plane * channels : NULL;
        if (own && !image_cube_shares(&p->cube, plane, first, freq, channels, own))
            continue;
        code = find_planes(call, p, pixels, plane, d);
        parts[(*count)++] = (image_device_part){d->planes[plane], own};
    }
    return code;
}

static int predict(const grove_call *call, const predictor *p, const double *freq,
                   const double *longest, const void *pixels, prediction *run)
{
    const size_t planes = (size_t)p->cube.planes,
                 channels = (size_t)image_axis_size(call->args, GROVE_AXIS_FREQ);
    prediction_device *d = &run->devices[call->device];
    const image_device_inputs in = {
        .data = -1,
        .weights = -1,
        .uvw = PREDICTION_UVW,
        .freq = grove_node_input_axis(call->node, PREDICTION_FREQ, GROVE_AXIS_FREQ),
        .centres = freq,
        .longest = longest,
        .stokes = &p->stokes};
    image_device_part *parts = malloc(planes * sizeof(*parts));
    double *share = malloc(planes * channels * sizeof(*share));
    int count, code = parts && share ? 0 : GROVE_MISSING;

    if (!code)
        code = find_parts(call, p, freq, pixels, d, share, parts, &count);
    if (!code)
        code = image_device_predict(call, &d->device, &in, parts, count, &run->outside.samples);
    free(parts);
    free(share);
    return code;
}

static int predict_call(const grove_call *call, const predictor *p, prediction *run)
{
    const grove_args *args = call->args;
    const int64_t step = image_axis_step(args, &args->in[PREDICTION_FREQ], GROVE_AXIS_FREQ);
    const void *freqs = NULL, *pixels = NULL, *max_uvw = NULL, *max_freq = NULL;
    double longest[3];
    int code = grove_call_host(call, PREDICTION_FREQ, &freqs);

    if (!code)
        code = grove_call_host(call, PREDICTION_IMAGE, &pixels);
    if (!code)
        code = grove_call_host(call, p->max_uvw, &max_uvw);
    if (!code && p->max_freq >= 0)
        code = grove_call_host(call, p->max_freq, &max_freq);
    if (code)
        return code;
    run->highest = predictor_highest(p, max_freq);
    predictor_longest(p, max_uvw, run->highest, longest);
    code = open_device(call, p, run, max_uvw, find_device(p, run, call->device));
    double *freq = code ? NULL : image_copy_freq(args, freqs, step);
    if (!code)
        code = freq ? predict(call, p, freq, longest, pixels, run) : GROVE_MISSING;
    free(freq);
    return code;
}

int prediction_on_device(const grove_call *call)
{
    prediction *run = call->run;

    if (((const predictor *)grove_node_user(call->node))->exact)
        return GROVE_MISSING;
    pthread_mutex_lock(&run->lock);
    int code = predict_call(call, grove_node_user(call->node), run);
    pthread_mutex_unlock(&run->lock);
    return code;
}
