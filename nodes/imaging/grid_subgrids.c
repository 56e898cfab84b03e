/* Gridding of grid by image-domain gridding. */
#include "nodes/imaging/grid.h"
#include "nodes/imaging/gridder_threads.h"
#include "nodes/imaging/image_method.h"
#include "nodes/imaging/image_stage.h"
#include "nodes/imaging/image_subgrids.h"
#include "nodes/imaging/image_w_tiles.h"

#include "util.h"

int grid_choose_plan(grove_node *node, const grove_node *obs, gridding *g)
{
    g->is_idg = image_method_is_idg(node);
    if (!g->is_idg)
        return image_stage_plan(node, obs, g->functions >= 0, &g->plan);
    if (g->exact)
        return grove_node_fail_option(node, "exact", "requires method=w_stack");
    int code = image_stage_plan_idg(node, obs, &g->idg);
    if (code)
        return code;
    image_w_tiles_count(obs, &g->idg);
    g->plan = g->idg.grid;
    return image_terms_check(node, &g->plan.image, &g->terms);
}

void grid_prepare_subgrids(grove_node *node, const grove_node *obs, gridding *g)
{
    g->idg.bands = g->bands.count;
    image_subgrids_report(node, obs, &g->idg, &g->terms, g->bands.count);
}

static grove_idg_plan plan_of(const grove_call *call)
{
    grove_idg_plan plan = ((const gridding *)grove_node_user(call->node))->idg;

    plan.grid.bounds.double_precision = call->double_precision;
    return plan;
}

int grid_open_subgrids(const grove_call *call, grove_isa isa, gridded *to)
{
    const grove_idg_plan plan = plan_of(call);

    to->idg = grove_idg_new(&plan, isa);
    return to->idg ? 0 : grid_no_memory(call);
}

/* Of all times and channels. */
static int64_t size_of(const grove_node *node, const char *axis)
{
    const grove_axis *of = grove_node_axis(grove_node_object(node, "obs"), axis);

    return of ? of->size : 1;
}

uint64_t grid_subgrids_bytes(const grove_node *node, const gridding *g)
{
    return grove_idg_bytes(&g->idg) +
           image_terms_bytes(&g->terms, &g->idg, size_of(node, "time"), size_of(node, "freq"), 1);
}

uint64_t grid_subgrids_device_bytes(const grove_node *node, const gridding *g)
{
    const uint64_t terms = image_terms_device_bytes(&g->terms, &g->idg, size_of(node, "time"),
                                                    size_of(node, "freq"), g->bands.count);

    return image_subgrids_device_memory(&g->idg, terms, true);
}

int grid_add_subgrids(const grove_call *call, gridded *to, const image_samples *s,
                      const grove_array *const *arrays, const image_mueller_part *part, int band)
{
    const gridding *g = grove_node_user(call->node);
    const grove_gridder_threads threads = gridder_threads(call);
    const image_terms_part cells = {
        part->first_time, part->times, part->first_baseline, part->baselines, part->first_channel,
        part->channels,   NULL};
    const grove_idg_plan plan = plan_of(call);
    grove_gridder_outside outside = {0};
    image_terms_made made = {0};
    int code = 0;

    if (g->terms.input >= 0) {
        image_terms_numbers from = image_terms_of_array(arrays[g->terms.input], &cells);
        code = image_terms_make(call, &g->terms, &plan, &from, &cells, &made);
    }
    grove_idg_choose_band(to->idg, band);
    if (!code &&
        grove_idg_add(to->idg, &s->samples, part->baselines,
                      g->terms.input >= 0 ? &made.terms : NULL, &threads, &outside, &to->counts))
        code = grid_no_memory(call);
    image_terms_free(&made);
    return code;
}

int grid_fold_subgrids(const grove_call *call, const gridded *from)
{
    const int bands = ((const gridding *)grove_node_user(call->node))->bands.count;
    const grove_gridder_threads threads = gridder_threads(call);
    int code = 0;

    for (int band = 0; band < bands && from->idg && !code; band++) {
        grove_idg_choose_band(from->idg, band);
        code = grove_idg_fold(from->idg, &threads) ? grid_no_memory(call) : 0;
    }
    return code;
}

void grid_give_subgrids(const grove_call *call, const gridded *from, grove_array *out)
{
    const int bands = ((const gridding *)grove_node_user(call->node))->bands.count;
    const int64_t cells = out->cells / bands, number = call->double_precision ? 16 : 8;

    for (int band = 0; band < bands; band++) {
        grove_idg_choose_band(from->idg, band);
        image_subgrids_to_cells(grove_idg_planes(from->idg),
                                (char *)out->data + band * cells * out->elements * number,
                                out->elements, cells, call->double_precision);
    }
}

void grid_report_subgrids(const grove_call *call, const gridded *from)
{
    const gridding *g = grove_node_user(call->node);

    if (from->counts.subgrids)
        grove_log(GROVE_LOG_NOTE, "%s: %lld subgrids, %.3g visibilities in each",
                  grove_node_name(call->node), (long long)from->counts.subgrids,
                  (double)from->counts.visibilities / (double)from->counts.subgrids);
    image_subgrids_warn_beyond(call->node, &g->idg, from->beyond, "and are left out");
}

/* ---- on a device ---- */

int grid_add_subgrids_on_device(const grove_call *call, gridded *to, const image_device_inputs *in)
{
    const gridding *g = grove_node_user(call->node);
    const grove_idg_plan plan = plan_of(call);

    return image_subgrids_device_add(call, &plan, &g->terms, &g->bands, in, &to->subgrids,
                                     &to->counts);
}

int grid_merge_subgrids(const grove_call *call, const gridded *from, gridded *to)
{
    const grove_idg_plan plan = plan_of(call);
    grove_isa isa;
    char message[200];
    int code = 0;

    if (!to->idg && grove_isa_choose(&isa, message))
        return grove_node_fail(call->node, GROVE_INVALID, "%s", message);
    if (!to->idg)
        code = grid_open_subgrids(call, isa, to);
    if (!code)
        code = image_subgrids_device_fetch(call, &plan, &from->subgrids, to->idg);
    to->counts.subgrids += from->counts.subgrids;
    to->counts.visibilities += from->counts.visibilities;
    return code;
}

int grid_give_subgrids_on_device(const grove_call *call, const gridded *from)
{
    const grove_idg_plan plan = plan_of(call);

    return image_subgrids_device_give(call, &plan, &from->subgrids);
}
