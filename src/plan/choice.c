/* Chooses a schedule: the axes that tiles cut, and other measures that make a run fit the
 * memory. */
#include "plan/rows.h"
#include "plan/schedule.h"

#include "base/memory.h"
#include "graph/skip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SECTIONS = GROVE_CUTS + 1 }; /* measures if memory is short, in order */

static unsigned forced(const grove_plan_limits *limits)
{
    unsigned cuts = 0;

    for (int k = 0; k < GROVE_CUTS; k++)
        cuts |= limits->tile[k] ? 1u << k : 0;
    return cuts;
}

static bool choose_tiles(grove_schedule *s, uint64_t *needed)
{
    bool fits = true;

    for (int i = 0; i < s->count; i++) {
        fits = grove_tiles_choose(s, &s->passes[i]) && fits;
        if (s->passes[i].peak > *needed)
            *needed = s->passes[i].peak;
    }
    return fits;
}

/* Whether an action has tiles evaluated again that hold several domains. */
static bool repeats_domains(const grove_schedule *s)
{
    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < GROVE_CUTS; k++)
            if (s->passes[i].program->depends && s->passes[i].program->domains[k].count > 1)
                return true;
    return false;
}

/* One tile: for small runs, and when a whole value is requested. */
static bool is_well_whole(const grove_schedule *s)
{
    uint64_t largest = 0;

    if (repeats_domains(s))
        return false;

    for (int i = 0; i < s->count; i++)
        if (s->passes[i].largest > largest)
            largest = s->passes[i].largest;
    return s->stores || largest <= (uint64_t)8 << 20;
}

static double bytes_of(const grove_node *node)
{
    double bytes = (double)grove_form_bytes(&node->form, false);

    for (int d = 0; d < node->axis_count; d++)
        bytes *= (double)node->axes[d]->size;
    return bytes;
}

/* Whether passes repeat more than a small part of other passes' work; coordinates of data are a
 * small part. */
static bool makes_much_again(const grove_schedule *s)
{
    enum { LITTLE = 16 };
    bool *seen = grove_alloc((s->limits.tree->node_count + 1) * sizeof(*seen));
    double all = 0, again = 0;

    for (int i = 0; i < s->count; i++)
        for (int k = 0; k < s->passes[i].program->step_count; k++) {
            const grove_step *step = &s->passes[i].program->steps[k];
            if (step->kind < GROVE_STEP_READ || step->kind == GROVE_STEP_ROOT)
                continue;
            double bytes = bytes_of(step->node);
            bool known = seen[step->node->id];
            /* sums over sources take longer than their bytes suggest */
            again += !known ? 0 : step->loop || step->kind == GROVE_STEP_EVAL ? INFINITY : bytes;
            all += bytes;
            seen[step->node->id] = true;
        }
    free(seen);
    return again * LITTLE > all;
}

/* Whether cutting along time makes more than one pass walk through many tiles, and much of it
 * again. Then computing as much at once as fits the memory is faster. */
static bool repeats(const grove_schedule *s)
{
    int many = 0;

    for (int i = 0; i < s->count; i++)
        many += s->passes[i].tiles > 1;
    return s->reduces_time && many > 1 && !repeats_domains(s) && makes_much_again(s);
}

/* A schedule, whether it fits, and the bytes needed. Where actions that follow others take too much
 * memory, they have passes of their own. */
static int try_schedule(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                        const grove_range *range, int ranges, unsigned cuts, bool sections,
                        grove_schedule **schedule, bool *fits, uint64_t *needed)
{
    bool may_follow = !limits->parts, again = true;
    int code = 0;

    while (again) {
        grove_schedule_free(*schedule);
        *schedule = NULL;
        *needed = 0;
        code = grove_schedule_make(limits, nodes, count, range, ranges, cuts, sections, may_follow,
                                   schedule);
        *fits = !code && choose_tiles(*schedule, needed);
        again = !code && !*fits && (*schedule)->follows;
        may_follow = false;
    }
    return code;
}

/* Whether the outputs of all actions are stored baseline by baseline. */
static bool are_by_baseline(grove_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *order = grove_node_property(nodes[i], "order");
        if (!order || strcmp(order, "baseline") != 0)
            return false;
    }
    return count > 0;
}

static bool has_axis(const grove_step *step, int kind)
{
    for (int d = 0; d < step->axes; d++)
        if (step->axis[d]->kind == kind)
            return true;
    return false;
}

/* Whether tiles along baselines compute nothing twice: values that vary with time, such as gains of
 * stations, would be whole in each of them. All times of a baseline must not be far more than
 * caches hold. */
static bool suits_baselines(const grove_schedule *s)
{
    for (int i = 0; i < s->count; i++) {
        const grove_pass *pass = &s->passes[i];
        const grove_program *p = pass->program;
        if (pass->largest > (uint64_t)64 << 20)
            return false;
        for (int k = 0; k < p->step_count; k++)
            if (has_axis(&p->steps[k], GROVE_AXIS_TIME) &&
                !has_axis(&p->steps[k], GROVE_AXIS_BASELINE))
                return false;
        for (int k = 0; k < pass->root_count; k++)
            if (pass->roots[k].kind != GROVE_ROOT_ACTION ||
                grove_node_drives(pass->roots[k].node) ||
                grove_node_accumulates(pass->roots[k].node))
                return false;
    }
    return true;
}

/* The schedule with axes cut up to `level`: 0 is one tile; the last also sums over sources in
 * sections. */
static int try_level(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                     const grove_range *range, int ranges, unsigned level,
                     grove_schedule **schedule, bool *fits, uint64_t *needed)
{
    unsigned force = forced(limits);

    unsigned cuts = force ? force : (1u << (level < SECTIONS ? level : GROVE_CUTS)) - 1;
    int code = try_schedule(limits, nodes, count, range, ranges, cuts, level == SECTIONS, schedule,
                            fits, needed);
    *fits = *fits && !(*schedule)->stale;
    if (code) {
        grove_schedule_free(*schedule);
        *schedule = NULL;
    }
    return code;
}

static int fail_stale(const grove_plan_limits *limits, grove_schedule **schedule)
{
    const grove_node *action = (*schedule)->stale_for, *value = (*schedule)->stale;
    int code = grove_fail_at(limits->error, &action->place, GROVE_INVALID,
                             "%s: '%s' depends on fitted parms, but is known only after the last "
                             "tile; leave it out, or %s",
                             action->class_->name, value->name,
                             grove_node_accumulates(value)
                                 ? "make it without accumulators such as grid: g2g(..., "
                                   "method=g2g) gives the same as grid(degrid(...))"
                                 : "allow more memory, so that there is only one tile");

    grove_schedule_free(*schedule);
    *schedule = NULL;
    return code;
}

/* Whether an action can take domains in parts. */
static bool has_parts(grove_node *const *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nodes[i]->in_parts)
            return true;
    return false;
}

/* The same with domains in parts. */
static int try_parts(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                     const grove_range *range, int ranges, uint64_t undivided,
                     grove_schedule **schedule, uint64_t *needed)
{
    grove_plan_limits parts = *limits;
    bool fits = false;
    int code = 0;

    parts.parts = true;
    for (unsigned level = 1; level <= SECTIONS && !fits && !code; level++) {
        grove_schedule_free(*schedule);
        *schedule = NULL;
        code = try_level(&parts, nodes, count, range, ranges, level, schedule, &fits, needed);
    }
    if (!code && (fits || forced(limits))) {
        (*schedule)->undivided = undivided;
        return 0;
    }
    grove_schedule_free(*schedule);
    *schedule = NULL;
    return code ? code : GROVE_NO_MEMORY;
}

/* Whether domains have values with mostly missing rows, and may be taken in parts that are read
 * once. Parts stay in caches: of 16 offsets of time compressed fits took 0.61 and 0.76 s for 0.62
 * and 0.84, and 73 MiB for 503. Data that are read again in each iteration may take twice as
 * long. */
static bool suits_parts(const grove_schedule *s)
{
    for (int i = 0; i < s->count; i++) {
        const grove_pass *pass = &s->passes[i];
        if (pass->largest > GROVE_MUCH_OF_GAPS && grove_program_has_gaps(pass->program) &&
            pass->roots[0].node->in_parts && pass->roots[0].node->once_memory)
            return true;
    }
    return false;
}

/* A schedule with such domains in parts, in place of one in which they are whole, if it fits. */
static void prefer_parts(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                         const grove_range *range, int ranges, grove_schedule **schedule,
                         uint64_t *needed)
{
    grove_schedule *parts = NULL;
    uint64_t bytes;

    if (!suits_parts(*schedule) || !has_parts(nodes, count) ||
        try_parts(limits, nodes, count, range, ranges, 0, &parts, &bytes))
        return;
    bool once = true;
    for (int i = 0; i < parts->count; i++)
        once = once && (!parts->passes[i].program->parts || parts->passes[i].once);
    grove_schedule_free(once ? *schedule : parts);
    if (once) {
        *schedule = parts;
        *needed = bytes;
    }
}

int grove_schedule_of(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                      const grove_range *range, int ranges, grove_schedule **schedule,
                      uint64_t *needed)
{
    bool fits, whole;

    *schedule = NULL;
    int code = try_level(limits, nodes, count, range, ranges, 0, schedule, &fits, needed);
    if (!code && (*schedule)->stale)
        return fail_stale(limits, schedule);
    whole = fits;
    if (!code && !fits && forced(limits) && has_parts(nodes, count))
        return try_parts(limits, nodes, count, range, ranges, *needed, schedule, needed);
    if (!code && !fits && forced(limits) && limits->devices)
        return try_level(limits, nodes, count, range, ranges, SECTIONS, schedule, &fits, needed);
    if (code || forced(limits) || (whole && is_well_whole(*schedule)))
        return code;
    if (!limits->devices && are_by_baseline(nodes, count)) {
        code = try_schedule(limits, nodes, count, range, ranges, 1u << GROVE_CUT_BASELINE, false,
                            schedule, &fits, needed);
        if (!code && fits && !(*schedule)->stale && suits_baselines(*schedule))
            return 0;
    }
    for (unsigned level = 1; level <= SECTIONS; level++) {
        code = try_level(limits, nodes, count, range, ranges, level, schedule, &fits, needed);
        if (!code && (*schedule)->stale)
            return whole
                       ? try_level(limits, nodes, count, range, ranges, 0, schedule, &fits, needed)
                       : fail_stale(limits, schedule);
        if (!code && fits && !(whole && repeats(*schedule))) {
            prefer_parts(limits, nodes, count, range, ranges, schedule, needed);
            return 0;
        }
        if (code)
            return code;
        if (fits)
            return try_level(limits, nodes, count, range, ranges, 0, schedule, &fits, needed);
    }
    if (has_parts(nodes, count))
        return try_parts(limits, nodes, count, range, ranges, *needed, schedule, needed);
    grove_schedule_free(*schedule);
    *schedule = NULL;
    return GROVE_NO_MEMORY;
}
