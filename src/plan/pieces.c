/* Classes that need not have all of their memory at a time: how much each is given. */
#include "plan/schedule.h"

#include "base/error.h"

static uint64_t parts_of(const grove_amounts *a)
{
    uint64_t sum = 0;

    for (int k = 0; k < a->piece_count; k++)
        sum += a->pieces[k];
    return sum < a->memory ? sum : a->memory;
}

static uint64_t largest_part(const grove_amounts *a)
{
    uint64_t largest = 0;

    for (int k = 0; k < a->piece_count; k++)
        largest = a->pieces[k] > largest ? a->pieces[k] : largest;
    return largest;
}

static const grove_amounts *amounts_of(const grove_schedule *s, const grove_node *node)
{
    return grove_facts_amounts(s->limits.facts, node);
}

static bool is_granted(const grove_schedule *s, const grove_node *node)
{
    const grove_plan_limits *l = &s->limits;

    return node->used && amounts_of(s, node)->piece_count &&
           !(l->on_devices && l->on_devices(l->session, node));
}

/* Of this pass, or, if it is no accumulator, of all: it keeps its parts from tile to tile. */
static bool is_in(const grove_pass *pass, const grove_node *node)
{
    for (int i = 0; i < pass->root_count; i++)
        if (pass->roots[i].node == node)
            return true;
    return !grove_node_accumulates(node);
}

static void grant_pass(grove_schedule *s, const grove_pass *pass, uint64_t room)
{
    const grove_tree *tree = s->limits.tree;
    uint64_t fixed = 0, parts = 0;

    for (size_t i = 0; i < tree->node_count; i++)
        if (is_granted(s, tree->nodes[i]) && is_in(pass, tree->nodes[i])) {
            const grove_amounts *a = amounts_of(s, tree->nodes[i]);
            parts += parts_of(a);
            fixed += a->memory - parts_of(a);
        }
    double share = parts && room > fixed ? (double)(room - fixed) / (double)parts : 0;
    for (size_t i = 0; i < tree->node_count; i++) {
        const grove_node *node = tree->nodes[i];
        if (!is_granted(s, node) || !is_in(pass, node))
            continue;
        const grove_amounts *a = amounts_of(s, node);
        uint64_t own = parts_of(a), least = largest_part(a);
        uint64_t given = (uint64_t)(share * (double)own);
        if (!grove_node_accumulates(node) && given < own)
            given = least; /* all are made for each tile: larger tiles are worth more */
        given = a->memory - own + (given > least ? given : least);
        if (given < s->grants[node->id])
            s->grants[node->id] = given;
    }
}

void grove_schedule_grant(grove_schedule *s, int eighths)
{
    const grove_tree *tree = s->limits.tree;
    const uint64_t memory = s->limits.host ? s->limits.host : s->limits.budget;

    for (size_t i = 0; i <= tree->node_count; i++)
        s->grants[i] = UINT64_MAX;
    for (int i = 0; i < s->count; i++)
        grant_pass(s, &s->passes[i], memory / 8 * (uint64_t)eighths);
    for (int i = 0; i < s->count; i++) {
        s->passes[i].walks = 1;
        for (int r = 0; r < s->passes[i].root_count; r++) {
            const grove_root *root = &s->passes[i].roots[r];
            int walks = root->kind == GROVE_ROOT_COLLECT ? grove_schedule_walks(s, root->node) : 1;
            s->passes[i].walks = walks > s->passes[i].walks ? walks : s->passes[i].walks;
        }
    }
}

/* The end of the group of parts that begins with part `first`: as many as take no more than `room`,
 * at least one. */
static int end_of_group(const uint64_t *bytes, int count, int first, uint64_t room)
{
    int end = first + 1;

    for (uint64_t sum = bytes[first]; end < count && bytes[end] <= room - sum && sum <= room; end++)
        sum += bytes[end];
    return end;
}

int grove_schedule_walks(const grove_schedule *s, const grove_node *node)
{
    const grove_amounts *a = amounts_of(s, node);
    const uint64_t given = s->grants[node->id], fixed = a->memory - parts_of(a);
    int walks = 0;

    if (given >= a->memory)
        return node->first_walks + 1;
    for (int first = 0; first < a->piece_count; walks++)
        first = end_of_group(a->pieces, a->piece_count, first, given - fixed);
    return node->first_walks + walks;
}

/* ---- the choice ---- */

static bool has_parts(const grove_plan_limits *l)
{
    for (size_t i = 0; i < l->tree->node_count; i++)
        if (grove_facts_amounts(l->facts, l->tree->nodes[i])->piece_count)
            return true;
    return false;
}

/* The cost of walks over the tiles, in bytes that are read and computed; *of_tiles: of managing
 * tiles alone. */
static double cost_of(const grove_schedule *s, double *of_tiles)
{
    const double tile = 128 << 10; /* takes as long as managing a tile */
    double sum = 0;

    *of_tiles = 0;
    for (int i = 0; i < s->count; i++) {
        const double tiles = s->passes[i].walks * (double)s->passes[i].tiles;
        *of_tiles += tiles * tile;
        sum += tiles * ((double)s->passes[i].largest + tile);
    }
    return sum;
}

static bool is_limited(const grove_schedule *s)
{
    for (size_t i = 0; i < s->limits.tree->node_count; i++)
        if (grove_schedule_walks(s, s->limits.tree->nodes[i]) >
            s->limits.tree->nodes[i]->first_walks + 1)
            return true;
    return false;
}

/* Shares the memory between tiles and the classes that can do with less: fewer walks over more
 * tiles, or more over fewer. */
int grove_schedule_new(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                       const grove_range *range, int ranges, grove_schedule **schedule,
                       uint64_t *needed)
{
    const bool parts = has_parts(limits);
    grove_plan_limits tried = *limits;
    grove_schedule *best = NULL, *made;
    double least = 0;
    int code = 0;

    for (tried.eighths = 6; tried.eighths > 0 && (!code || code == GROVE_NO_MEMORY);
         tried.eighths--) {
        code = grove_schedule_of(&tried, nodes, count, range, ranges, &made, needed);
        double of_tiles = 0, cost = code ? 0 : cost_of(made, &of_tiles);
        /* Without more walks fewer tiles may be worth some. */
        bool last = !parts || (!code && !is_limited(made) && of_tiles < 0.25 * cost);
        bool better = !code && (!best || cost < least);
        least = better ? cost : least;
        grove_schedule_free(better ? best : made);
        best = better ? made : best;
        if (last)
            break;
    }
    *schedule = best;
    if (code && code != GROVE_NO_MEMORY) {
        grove_schedule_free(best);
        *schedule = NULL;
        return code;
    }
    return best ? 0 : code;
}
