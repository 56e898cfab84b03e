/* Prediction of degrid by image-domain gridding. */
#include "nodes/common/form.h"
#include "nodes/imaging/degrid.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_subgrids.h"
#include "nodes/imaging/image_w_tiles.h"

#include "util.h"

static int64_t origin_of(const grove_args *args, int kind)
{
    const int d = grove_args_axis(args, kind);

    return d < 0 ? 0 : args->origin[d];
}

int degrid_choose_plan(grove_node *node, options_read *o)
{
    const grove_node *obs = grove_node_object(node, "obs");

    o->is_idg = image_method_is_idg(node);
    if (!o->is_idg)
        return image_stage_plan(node, obs, o->has_functions, &o->plan);
    int code = image_stage_plan_idg(node, obs, &o->idg);
    if (code)
        return code;
    image_w_tiles_count(obs, &o->idg);
    o->plan = o->idg.grid;
    o->times = grove_node_axis(obs, "time") ? grove_node_axis(obs, "time")->size : 1;
    o->channels = grove_node_axis(obs, "freq") ? grove_node_axis(obs, "freq")->size : 1;
    const double *feed = grove_node_member_data(obs, "feed");
    code = image_terms_check(node, &o->plan.image, &o->terms);
    if (!code)
        code = image_subgrids_of_planes(node, form_elements(grove_node_input_form(node, PLANES)),
                                        feed && *feed > 0, &o->terms, &o->idg.mix);
    return code;
}

/* Channels between two planes of a cube have a share of both: a plane has the channels on both
 * sides. */
void degrid_describe_subgrids(grove_node *node, const options_read *o)
{
    const int planes = o->cube.planes;

    image_subgrids_report(node, grove_node_object(node, "obs"), &o->idg, &o->terms,
                          o->cube.linear && !o->cube.same ? (planes + 1) / 2 : planes);
}

uint64_t degrid_subgrids_bytes(const options_read *o)
{
    return grove_idg_bytes(&o->idg) +
           image_terms_bytes(&o->terms, &o->idg, o->times, o->channels, 1);
}

/* The host has planes of one frequency at a time, a device w-tiles of several. */
static grove_idg_plan plan_of_device(const options_read *o)
{
    grove_idg_plan plan = o->idg;

    plan.bands = o->cube.planes;
    return plan;
}

uint64_t degrid_subgrids_device_bytes(const options_read *o)
{
    const grove_idg_plan plan = plan_of_device(o);

    return image_subgrids_device_memory(
        &plan, image_terms_device_bytes(&o->terms, &plan, o->times, o->channels, 1), plan.tile);
}

int degrid_make_terms(const grove_call *call, const grove_gridder_samples *samples,
                      image_terms_made *made)
{
    const grove_args *args = call->args;
    const options_read *o = grove_node_user(call->node);
    const int64_t baselines = image_axis_size(args, GROVE_AXIS_BASELINE);
    const image_terms_part part = {origin_of(args, GROVE_AXIS_TIME),     samples->rows / baselines,
                                   origin_of(args, GROVE_AXIS_BASELINE), baselines,
                                   origin_of(args, GROVE_AXIS_FREQ),     samples->channels};
    grove_idg_plan plan = o->idg;

    *made = (image_terms_made){0};
    if (o->terms.input < 0)
        return 0;
    plan.grid.bounds.double_precision = call->double_precision;
    const image_terms_numbers from =
        image_terms_of_view(args, o->terms.input, call->double_precision);
    return image_terms_make(call, &o->terms, &plan, &from, &part, made);
}

/* The host makes w-tiles of the planes. */
static int find_planes_of_host(const grove_call *call, void *context, int plane, grove_idg **found)
{
    degridding *d = context;
    grove_args args = *call->args;
    grove_call host = *call;
    const void *at = NULL;
    const int code = grove_call_host(call, PLANES, &at);

    args.in[PLANES].data = (void *)(uintptr_t)at;
    host.args = &args;
    if (code)
        return code;
    const int failed = degrid_find_planes(&host, d, plane);
    *found = d->idg;
    return failed == GROVE_NO_MEMORY
               ? grove_node_fail(call->node, failed, "not enough memory for the planes")
               : failed;
}

int degrid_predict_subgrids_on_device(const grove_call *call, degridding *d,
                                      const image_device_inputs *in)
{
    const options_read *o = grove_node_user(call->node);
    const degrid_given g = degrid_planes(call, 0);
    void *devices = d->subgrids;
    image_subgrids_device *at =
        image_device_of(&devices, &d->subgrids_count, call->device, sizeof(*at));
    grove_idg_plan plan = plan_of_device(o);
    const image_subgrids_planes planes = {
        .cube = &o->cube,
        .at = g.from,
        .step = {g.step[0], g.step[1], g.step[2],
                 o->cube.axis ? image_stage_in_step(call->args, PLANES, "freq") : 0},
        .find = find_planes_of_host,
        .context = d};

    d->subgrids = devices;
    plan.grid.bounds.double_precision = call->double_precision;
    return image_subgrids_device_predict(call, &plan, &o->terms, in, &planes, at, &d->counts,
                                         &d->outside, &d->beyond);
}

void degrid_report_subgrids(const grove_node *node, const degridding *d)
{
    const options_read *o = grove_node_user(node);

    if (d->counts.subgrids)
        grove_log(GROVE_LOG_NOTE, "%s: %lld subgrids, %.3g visibilities in each",
                  grove_node_name(node), (long long)d->counts.subgrids,
                  (double)d->counts.visibilities / (double)d->counts.subgrids);
    image_subgrids_warn_beyond(node, &o->idg, d->beyond, "and are 0");
}
