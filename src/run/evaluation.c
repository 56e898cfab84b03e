#include "graph/target.h"
#include "run/devices.h"
#include "run/phase.h"
#include "run/pipeline.h"
#include "run/usage.h"

#include "base/memory.h"
#include "base/sized.h"
#include "base/text.h"
#include "device/tuned.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- plans ---- */

static const grove_amounts *amounts_of(const grove_session *session, const grove_node *node)
{
    return grove_facts_amounts(session->facts, node);
}

static bool on_devices(const void *context, const grove_node *node)
{
    const grove_session *session = context;

    return session->device_count && !session->host_only &&
           amounts_of(session, node)->device_memory && grove_devices_can_keep(session, node);
}

static grove_plan_limits limits_of(const grove_session *session)
{
    const grove_session_options *o = &session->options;

    return (grove_plan_limits){
        .tree = session->tree,
        .facts = session->facts,
        .error = session->error,
        .budget = session->budget,
        .host = session->device_count && !session->host_only ? session->memory : 0,
        .threads = grove_threads_count(session->host->threads),
        .tile = {o->tile_times, o->tile_channels, o->tile_baselines},
        .flights = grove_devices_tiles_in_flight(session),
        .devices = session->device_count,
        .serial = o->serial,
        .members_by_tile = session->members_by_tile,
        .cache_off = o->cache_off,
        .block_rule = session->device->budget.rule,
        .on_devices = on_devices,
        .session = session,
        .reduction_bytes = grove_accumulator_bytes,
    };
}

/* The minimum memory of an action besides its values. */
static uint64_t least_memory(const grove_session *session, const grove_node *node)
{
    return node->in_parts ? node->part_memory : amounts_of(session, node)->memory;
}

/* The action that takes most memory besides its values, if that matters. */
static const grove_node *largest_drive(const grove_session *session, grove_node *const *nodes,
                                       size_t count, uint64_t needed)
{
    const grove_node *largest = NULL;

    for (size_t i = 0; i < count; i++)
        if (grove_node_drives(nodes[i]) && least_memory(session, nodes[i]) > needed / 8 &&
            (!largest || least_memory(session, nodes[i]) > least_memory(session, largest)))
            largest = nodes[i];
    return largest;
}

/* An action whose domains come in parts, which are cut along time alone. */
static const grove_node *find_in_parts(grove_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i]->in_parts)
            return nodes[i];
    return NULL;
}

/* Rounded up to a number that grove_show_bytes shows, so that the limit that is shown is enough. */
static double round_up(double bytes)
{
    double unit = 1;

    while (bytes >= 1024 * unit)
        unit *= 1024;
    const double step = unit > 1 && bytes < 100 * unit ? unit / 10 : unit;
    return ceil((bytes + 1) / step) * step;
}

static int fail_memory(const grove_session *session, grove_node *const *nodes, size_t count,
                       uint64_t needed)
{
    const grove_node *drive = largest_drive(session, nodes, count, needed),
                     *parts = find_in_parts(nodes, count);
    char needed_text[32], available_text[32], part[32];

    grove_show_bytes(needed_text, round_up((double)needed / 0.9)); /* see plan/tiling.c */
    grove_show_bytes(available_text, (double)session->memory);
    if (!drive && parts)
        return grove_fail_at(session->error, &parts->place, GROVE_NO_MEMORY,
                             "memory: the smallest tile needs a limit of %s, but %s are allowed; "
                             "solution domains of %s are divided along time only, so that tiles "
                             "have all channels: allow more, or fit fewer channels at a time",
                             needed_text, available_text, grove_node_shown(parts));
    if (!drive)
        return grove_fail(
            session->error, GROVE_NO_MEMORY,
            "memory: the smallest tile needs a limit of %s, but %s are allowed; allow more",
            needed_text, available_text);
    return grove_fail_at(
        session->error, &drive->place, GROVE_NO_MEMORY,
        "memory: the smallest tile needs a limit of %s, but %s are allowed; it "
        "includes %s that %s needs in addition to values; allow more%s%s",
        needed_text, available_text, grove_show_bytes(part, (double)least_memory(session, drive)),
        grove_node_shown(drive), drive->advice ? "; " : "", drive->advice ? drive->advice : "");
}

/* A limit that is enough, as bytes of a tile: with a larger limit classes may get more memory, so
 * that the smallest tile needs more than with a smaller limit. */
static uint64_t find_enough(const grove_session *session, grove_node *const *nodes, size_t count,
                            const grove_range *range, int ranges, uint64_t needed)
{
    grove_plan_limits limits = limits_of(session);
    int code = GROVE_NO_MEMORY;

    for (int k = 0; k < 20 && code == GROVE_NO_MEMORY; k++) {
        grove_schedule *schedule = NULL;
        uint64_t more = 0;
        limits.budget = (uint64_t)round_up((double)needed / 0.9);
        code = grove_schedule_new(&limits, nodes, count, range, ranges, &schedule, &more);
        grove_schedule_free(schedule);
        if (code == GROVE_NO_MEMORY)
            needed = more > needed ? more : needed + needed / 16;
    }
    return needed;
}

int grove_session_schedule(grove_session *session, grove_node *const *nodes, size_t count,
                           const grove_range *range, int ranges, grove_schedule **schedule)
{
    grove_plan_limits limits = limits_of(session);
    char needed_text[32], available_text[32];
    uint64_t needed;
    int code = grove_schedule_new(&limits, nodes, count, range, ranges, schedule, &needed);

    if (code != GROVE_NO_MEMORY)
        return code;
    if (session->budget >= session->memory)
        return fail_memory(session, nodes, count,
                           find_enough(session, nodes, count, range, ranges, needed));
    grove_log(GROVE_LOG_WARNING,
              "%s: the smallest tile needs %s, but %s are free; the cpu computes the rest",
              session->device->name, grove_show_bytes(needed_text, (double)needed),
              grove_show_bytes(available_text, 0.9 * (double)session->budget));
    session->fallen_back = session->host_only = true;
    session->budget = session->memory;
    return grove_session_schedule(session, nodes, count, range, ranges, schedule);
}

int grove_session_plan(grove_session *session, grove_plan *plan)
{
    const grove_tree *tree = session->tree;
    grove_plan own = GROVE_PLAN();
    grove_schedule *schedule = NULL;
    int code = grove_sized_give(plan, &own, sizeof(own), "grove_plan", session->error);

    if (!code)
        code =
            grove_session_schedule(session, tree->actions, tree->action_count, NULL, 0, &schedule);
    if (!code) {
        grove_schedule_forecast(schedule, &own);
        char *host = grove_tuned_kept(session->host),
             *device = session->device_count ? grove_tuned_kept(session->devices[0]) : NULL;
        free(session->tuned);
        own.tuned = session->tuned = grove_format("%s%s", host, device ? device : "");
        free(host);
        free(device);
        code = grove_sized_give(plan, &own, sizeof(own), "grove_plan", session->error);
    }
    grove_schedule_free(schedule);
    return code;
}

char *grove_session_outputs(grove_session *session)
{
    return grove_tree_describe_targets(session->tree, session->error);
}

/* ---- evaluations ---- */

static void drop_plan(grove_evaluation *e)
{
    for (int i = 0; e->schedule && i < e->schedule->count; i++)
        grove_pipeline_free(e->lines[i]);
    for (size_t i = 0; i < e->session->tree->node_count; i++) {
        grove_value_unref(e->results[i]);
        e->results[i] = NULL;
    }
    free(e->lines);
    e->lines = NULL;
    grove_schedule_free(e->schedule);
    e->schedule = NULL;
}

static int plan(grove_evaluation *e)
{
    int code = grove_session_schedule(e->session, e->nodes, e->node_count, e->range, e->ranges,
                                      &e->schedule);

    if (code)
        return code;
    memcpy(e->session->grants, e->schedule->grants,
           e->session->tree->node_count * sizeof(*e->schedule->grants));
    e->lines = grove_alloc(((size_t)e->schedule->count + 1) * sizeof(*e->lines));
    for (int i = 0; i < e->schedule->count; i++)
        e->lines[i] = grove_pipeline_new(e, &e->schedule->passes[i]);
    return 0;
}

int grove_evaluation_new(grove_session *session, grove_node *const *nodes, size_t count,
                         const grove_range *range, int ranges, grove_evaluation **evaluation)
{
    grove_evaluation *e = grove_alloc(sizeof(*e));
    size_t all = session->tree->node_count + 1;

    e->session = session;
    e->nodes = nodes;
    e->node_count = count;
    e->ranges = ranges < GROVE_MAX_AXES ? ranges : GROVE_MAX_AXES;
    if (e->ranges)
        memcpy(e->range, range, (size_t)e->ranges * sizeof(*range));
    e->results = grove_alloc(all * sizeof(grove_value *));
    e->results_keys = grove_alloc(all * sizeof(grove_hash));
    int code = plan(e);
    *evaluation = code ? NULL : e;
    if (code)
        grove_evaluation_free(e);
    return code;
}

void grove_evaluation_free(grove_evaluation *e)
{
    if (!e)
        return;
    drop_plan(e);
    free(e->results);
    free(e->results_keys);
    free(e);
}

/* Whether an earlier run has already made everything that the pass is for, from the same content.
 */
static bool is_known(const grove_evaluation *e, const grove_pass *pass)
{
    for (int i = 0; i < pass->root_count; i++) {
        int id = pass->roots[i].node->id;
        if (pass->roots[i].kind != GROVE_ROOT_COLLECT || !e->results[id] ||
            !grove_hash_equal(e->results_keys[id], e->session->facts[id].key))
            return false;
    }
    return true;
}

/* Of the whole result of a reduction, by its content. */
static grove_hash key_of_result(const grove_session *session, const grove_node *node)
{
    grove_range range[GROVE_MAX_AXES];

    for (int d = 0; d < node->axis_count; d++)
        range[d] = (grove_range){node->axes[d], 0, node->axes[d]->size};
    return grove_cache_key(session->facts[node->id].key, range, node->axis_count);
}

/* Whether the cache has everything that the pass is for: results of an earlier evaluation. */
static bool recall(grove_evaluation *e, const grove_pass *pass)
{
    bool all = true;

    for (int i = 0; i < pass->root_count && all; i++)
        all = pass->roots[i].kind == GROVE_ROOT_COLLECT;
    for (int i = 0; i < pass->root_count && all; i++) {
        const grove_node *node = pass->roots[i].node;
        grove_value *found = grove_cache_find(e->session->cache, key_of_result(e->session, node));
        if (found) {
            grove_value_unref(e->results[node->id]);
            e->results[node->id] = found;
            e->results_keys[node->id] = e->session->facts[node->id].key;
        }
        all = found != NULL;
    }
    return all;
}

/* Keeps the results of the pass for later evaluations. */
static void remember(const grove_evaluation *e, const grove_pass *pass, double seconds)
{
    for (int i = 0; i < pass->root_count; i++) {
        const grove_node *node = pass->roots[i].node;
        if (pass->roots[i].kind == GROVE_ROOT_COLLECT && e->results[node->id])
            grove_cache_put(e->session->cache, key_of_result(e->session, node),
                            e->session->facts[node->id].key, e->results[node->id], seconds);
    }
}

/* After the last pass of a stage its actions give leaves new content. Then there is no way back. */
static int end_stage(grove_evaluation *e, int pass)
{
    const grove_schedule *s = e->schedule;
    int stage = s->passes[pass].roots[0].stage, code = 0;

    if (pass + 1 < s->count && s->passes[pass + 1].roots[0].stage == stage)
        return 0;
    for (int i = 0; i < s->root_count && !code; i++)
        if (s->roots[i].stage == stage && grove_node_renews_any(s->roots[i].node)) {
            e->written = true;
            code = grove_phase_renew(e->session, s->roots[i].node);
        }
    return code;
}

static int run_passes(grove_evaluation *e)
{
    double visibilities = 0;
    int code = 0;

    e->written = false;
    for (int i = 0; i < e->schedule->count && !code; i++) {
        const grove_pass *pass = &e->schedule->passes[i];
        if (e->session->checks || (!is_known(e, pass) && !recall(e, pass))) {
            const double began = grove_now();
            code = grove_pipeline_run(e->lines[i]);
            if (!code)
                remember(e, pass, grove_now() - began);
            if (e->schedule->count > 1) /* kept values of a pass take memory of others */
                grove_walk_forget(e->lines[i]->run.walk, true);
            if (e->schedule->count > 1 && !e->session->device_count)
                grove_device_trim(e->session->host); /* of sizes that others do not use */
        }
        if (!code)
            code = end_stage(e, i);
        visibilities += grove_schedule_visibilities(e->schedule, i);
    }
    e->session->counters.visibilities += code ? 0 : visibilities;
    return code;
}

static void count(grove_session *session, double began)
{
    grove_cache_counters cache = grove_cache_count(session->cache);
    grove_counters *c = &session->counters;

    grove_usage_wait(session);
    c->seconds += grove_now() - began;
    c->evictions = cache.evictions;
    c->cached_bytes = cache.bytes;
    c->peak_bytes = session->host->budget.peak;
    grove_usage_count(session);
}

static void take_value(const grove_evaluation *e, grove_value **value)
{
    for (int i = 0; i < e->schedule->count; i++)
        for (int r = 0; r < e->schedule->passes[i].root_count; r++)
            if (e->schedule->passes[i].roots[r].kind == GROVE_ROOT_STORE) {
                grove_value **stored = &e->lines[i]->gathered[r].stored;
                *value = *stored;
                *stored = NULL;
            }
}

int grove_evaluation_run(grove_evaluation *e, grove_value **value)
{
    grove_session *session = e->session;
    int code = GROVE_AGAIN;

    session->has_failed = false;
    while (code == GROVE_AGAIN) {
        double began = grove_now();
        code = run_passes(e);
        count(session, began);
        if (code != GROVE_AGAIN)
            break;
        drop_plan(e);
        grove_devices_halve_budget(session);
        int planned = plan(e);
        if (planned)
            return planned;
    }
    if (value)
        *value = NULL;
    if (!code && value)
        take_value(e, value);
    return code;
}
