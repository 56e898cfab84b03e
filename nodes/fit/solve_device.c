/* Sums on a GPU, compressed ones or normal equations: data, models, derivatives and weights stay
 * there, the sums come back. */
#include "nodes/fit/solve.h"

#include "../../kernels/fit/fit_normal.h"
#include "../../kernels/fit/fit_sums.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const grove_kernel fit_sums = {"fit_sums", NULL, NULL, "fit_sums.cu", grove_fit_sums_threads,
                                      0,          0};

static const grove_kernel fit_normal = {
    "fit_normal", NULL, NULL, "fit_normal.cu", grove_fit_normal_threads, 0, 0};

static int64_t cells_of(const solve_cut *cut)
{
    return cut->first[cut->count];
}

static int64_t stretches_of(const solve *s, int cut)
{
    return s->each[cut] ? cells_of(&s->cut[cut]) : s->cut[cut].segments[s->cut[cut].count];
}

/* ---- when the tree is built ---- */

/* The most stretches for a cell of a domain. */
static double stretches_of_cell(const solve *s, int cut)
{
    const solve_cut *own = &s->cut[cut];
    double most = s->each[cut] ? 1 : 0;

    for (int64_t i = 0; i < own->count && !s->each[cut]; i++)
        most = fmax(most, (double)(own->segments[i + 1] - own->segments[i]) /
                              (double)(own->first[i + 1] - own->first[i]));
    return most;
}

/* The table of the kernels: edges of stretches, and the channels' centres. */
static int set_table(grove_node *node, const solve *s)
{
    const grove_axis *freq = s->cut[SOLVE_FREQ].axis;
    const double *centre = freq ? freq->centre : NULL;
    int64_t times = stretches_of(s, SOLVE_TIME) + 1, bands = stretches_of(s, SOLVE_FREQ) + 1;
    size_t count = (size_t)(times + bands) + (centre ? (size_t)freq->size : 0);
    int64_t *table = grove_alloc(count * sizeof(*table)), *to = table;

    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        for (int64_t k = 0; k <= stretches_of(s, cut); k++)
            *to++ = solve_stretch_edge(s, cut, k);
    if (centre)
        memcpy(to, centre, (size_t)freq->size * sizeof(*centre));
    int code = grove_node_set_table(node, table, count * sizeof(*table));
    free(table);
    return code;
}

/* Whether the device makes sums, and doubles for each cell. The host knows the weights of robust
 * fits, and polynomials; and if normal equations are larger than their inputs, the inputs are
 * copied. */
static bool find_sums(const grove_node *node, const solve *s, double *each)
{
    int64_t size = s->group_count ? grove_compression_size(s->form, s->group_count)
                                  : grove_normal_size(s->columns);

    *each = (double)size * stretches_of_cell(s, SOLVE_TIME) * stretches_of_cell(s, SOLVE_FREQ);
    if (s->robust)
        return false;
    if (s->group_count)
        return s->group_count <= GROVE_FIT_GROUPS;
    return s->columns == s->slot_count && s->columns <= GROVE_NORMAL_COLUMNS &&
           solve_is_of_visibilities(node) && *each <= 2 * s->elements * (s->columns + 1);
}

int solve_prepare_devices(grove_node *node, solve *s)
{
    double each;

    s->on_devices = find_sums(node, s, &each);
    if (!s->on_devices)
        return 0;
    grove_node_leave_inputs(node);
    s->remote = s->group_count == 0 && solve_may_be_remote(node, s, &s->remote_bytes);
    grove_node_set_scratch(node, s->remote_bytes, (uint64_t)ceil(sizeof(double) * each));
    return set_table(node, s);
}

/* ---- in drive ---- */

bool solve_is_summed(const solve *s, int k)
{
    bool summed = k == SOLVE_DATA || k == s->weights || k == s->uvw;

    for (int g = 0; g < s->group_count; g++)
        summed = summed || k == s->groups[g].middle;
    return summed;
}

typedef struct {
    const solve_tile *tile;
    const solve_compressed *c;
} summing;

/* `uvw`: the kernel's input. */
static grove_fit_tile tile_of(const solve_tile *tile, const solve_compressed *c, int uvw)
{
    const solve *s = tile->solve;
    const grove_axis *freq = s->cut[SOLVE_FREQ].axis;
    grove_fit_tile to = {.axis = {tile->cut[SOLVE_TIME], tile->baseline, tile->cut[SOLVE_FREQ]},
                         .uvw = uvw,
                         .centred = freq && freq->centre,
                         .in_wavelengths = {s->min_in_wavelengths, s->max_in_wavelengths},
                         .limits = {s->min_baseline, s->max_baseline},
                         .baselines = c->baselines};

    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        to.stretches[cut] = c->count[cut];
    to.edges[0] = c->first[SOLVE_TIME];
    to.edges[1] = stretches_of(s, SOLVE_TIME) + 1 + c->first[SOLVE_FREQ];
    to.centres = stretches_of(s, SOLVE_TIME) + stretches_of(s, SOLVE_FREQ) + 2;
    return to;
}

static grove_fit_state state_of(const solve_tile *tile, const solve_compressed *c)
{
    const solve *s = tile->solve;
    const solve_view *data = &tile->views[SOLVE_DATA], *weights = &tile->views[s->weights];
    grove_fit_state state = {
        .tile = tile_of(tile, c, s->uvw < 0 ? 0 : GROVE_FIT_MODELS + 2 * s->group_count),
        .full = s->form == GROVE_COMPRESSION_FULL,
        .groups = s->group_count};

    state.left_out = data->elements == 1 ? 14 : data->elements == 2 ? 6 : 0;
    if (s->elements == 2 || weights->elements == 2)
        state.left_out |= 6;
    return state;
}

static int add_sums(const grove_call *call, void *context)
{
    const summing *w = context;
    grove_fit_state state = state_of(w->tile, w->c);
    grove_args args = *call->args;

    memcpy(args.state.bytes, &state, sizeof(state));
    return grove_call_launch(call, &fit_sums, &args, true);
}

int solve_compress_on_device(const grove_call *call, const solve_tile *tile, solve_compressed *c)
{
    const solve *s = tile->solve;
    summing w = {tile, c};
    grove_computation what = {
        .count = GROVE_FIT_MODELS + 2 * s->group_count + (s->uvw >= 0),
        .compute = add_sums,
        .context = &w,
        .result = c->sums,
        .bytes = (uint64_t)(c->count[SOLVE_TIME] * c->count[SOLVE_FREQ] * c->baselines * c->size) *
                 sizeof(double)};

    if (!s->on_devices || solve_divides_stretches(tile))
        return GROVE_MISSING;
    what.inputs[GROVE_FIT_DATA] = SOLVE_DATA;
    what.inputs[GROVE_FIT_FLAGS] = ~SOLVE_DATA;
    what.inputs[GROVE_FIT_WEIGHTS] = s->weights;
    if (s->uvw >= 0)
        what.inputs[what.count - 1] = s->uvw;
    for (int g = 0; g < s->group_count; g++) {
        what.inputs[GROVE_FIT_MODELS + 2 * g] = s->groups[g].middle;
        what.inputs[GROVE_FIT_MODELS + 2 * g + 1] = ~s->groups[g].middle;
    }
    return grove_call_compute(call, &what);
}

/* ---- normal equations ---- */

int solve_launch_normal(const grove_call *call, const solve_tile *tile, void *to)
{
    const solve *s = tile->solve;
    grove_normal_state state = {
        .tile = tile_of(tile, tile->sums, s->uvw < 0 ? 0 : GROVE_NORMAL_SLOTS + s->columns),
        .columns = s->columns,
        .elements = s->elements};
    grove_args args = *call->args;

    for (int e = 0; e < 4; e++) {
        state.of_model[e] = s->of_model[e];
        state.of_data[e] = s->of_data[e];
    }
    if (to)
        args.out.data = to;
    memcpy(args.state.bytes, &state, sizeof(state));
    return grove_call_launch(call, &fit_normal, &args, true);
}

static int add_normal(const grove_call *call, void *context)
{
    return solve_launch_normal(call, context, NULL);
}

uint64_t solve_find_normal(solve_tile *tile, grove_computation *to)
{
    const solve *s = tile->solve;
    solve_compressed *c = tile->sums;
    grove_computation what = {.count = GROVE_NORMAL_SLOTS + s->columns + (s->uvw >= 0)};

    solve_find_all_stretches(tile, c);
    c->baselines = tile->baseline < 0 ? 1 : tile->range[tile->baseline].count;
    c->size = grove_normal_size(s->columns);
    what.inputs[GROVE_NORMAL_MODEL] = SOLVE_MODEL;
    what.inputs[GROVE_NORMAL_MODEL_FLAGS] = ~SOLVE_MODEL;
    what.inputs[GROVE_NORMAL_DATA] = SOLVE_DATA;
    what.inputs[GROVE_NORMAL_DATA_FLAGS] = ~SOLVE_DATA;
    what.inputs[GROVE_NORMAL_WEIGHTS] = s->weights;
    what.inputs[GROVE_NORMAL_WEIGHT_FLAGS] = ~s->weights;
    for (int k = 0; k < s->slot_count; k++)
        what.inputs[GROVE_NORMAL_SLOTS + s->slots[k].first] = s->slots[k].input;
    if (s->uvw >= 0)
        what.inputs[what.count - 1] = s->uvw;
    *to = what;
    return (uint64_t)(c->count[SOLVE_TIME] * c->count[SOLVE_FREQ] * c->baselines * c->size) *
           sizeof(double);
}

/* GROVE_MISSING: it has to be done on the host. */
static int make_normal(const grove_call *call, solve_tile *tile)
{
    grove_computation what;
    uint64_t bytes = solve_find_normal(tile, &what);

    tile->sums->sums = grove_try_alloc(bytes + sizeof(double), 1);
    if (!tile->sums->sums)
        return GROVE_NO_MEMORY;
    what.compute = add_normal;
    what.context = tile;
    what.result = tile->sums->sums;
    what.bytes = bytes;
    int code = grove_call_compute(call, &what);
    if (code)
        solve_compressed_end(tile->sums);
    return code;
}

int solve_fetch(const grove_call *call, solve_tile *tile)
{
    const solve *s = tile->solve;
    bool possible = s->on_devices && !s->group_count && !solve_divides_stretches(tile);
    int code = possible ? make_normal(call, tile) : GROVE_MISSING;

    if (code != GROVE_MISSING)
        return code;
    code = 0;
    for (int k = 0; k < tile->count && !code; k++)
        if (!s->on_devices || !s->group_count || !solve_is_summed(s, k))
            code = solve_tile_fetch(call, tile, k);
    return code;
}
