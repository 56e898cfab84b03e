/* Solution domains and their unknowns. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BATCH = 8, BATCH_BYTES = 16 << 20, BATCH_MATRICES = 256 << 20 };

static const char *const cut_names[SOLVE_CUTS] = {"time", "freq"};

static const grove_parm_intervals *along(const grove_parm *p, int cut)
{
    return cut == SOLVE_TIME ? &p->time : &p->freq;
}

/* The number of parms that have an interval's edge at the cell. A parm that does not vary has one
 * interval.
 */
static int edges_at(const solve *s, int cut, int64_t cell)
{
    int edges = 0;

    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm_intervals *own = along(s->parms[i].parm, cut);
        edges += !cell || (own->axis && own->number[cell] != own->number[cell - 1]);
    }
    return edges;
}

static int find_axis(grove_node *node, solve *s, int cut)
{
    int kind = grove_axis_kind(cut_names[cut]);
    const grove_axis *axis = grove_node_input_axis(node, SOLVE_DATA, kind);
    const grove_axis *of_model = grove_node_input_axis(node, SOLVE_MODEL, kind);

    if (axis && of_model && axis != of_model)
        return grove_node_fail(node, GROVE_SHAPE, "model and data have different %s axes",
                               cut_names[cut]);
    s->cut[cut].axis = axis ? axis : of_model;
    for (int i = 0; i < s->parm_count; i++) {
        const grove_axis *own = along(s->parms[i].parm, cut)->axis;
        if (own && !s->cut[cut].axis)
            return grove_node_fail(
                node, GROVE_SHAPE,
                "the parm '%s' varies with %s, neither the model nor the data do",
                grove_node_property(s->parms[i].leaf, "name"), cut_names[cut]);
        if (own && own != s->cut[cut].axis)
            return grove_node_fail(node, GROVE_SHAPE,
                                   "the parm '%s' varies with the %s of another observation",
                                   grove_node_property(s->parms[i].leaf, "name"), cut_names[cut]);
    }
    return 0;
}

/* Whether cells of an interval do not follow each other: channels in no order. */
static bool is_scattered(const solve *s, int cut, int64_t cells)
{
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm_intervals *own = along(s->parms[i].parm, cut);
        bool rises = false, falls = false;
        for (int64_t k = 1; own->axis && k < cells; k++) {
            rises = rises || own->number[k] > own->number[k - 1];
            falls = falls || own->number[k] < own->number[k - 1];
        }
        if (rises && falls)
            return true;
    }
    return false;
}

static void divide(solve *s, int cut)
{
    solve_cut *own = &s->cut[cut];
    int64_t cells = own->axis ? own->axis->size : 1, segments = 0;
    size_t room = (size_t)cells + 2;

    own->scattered = own->axis && is_scattered(s, cut, cells);

    own->first = grove_alloc(room * sizeof(int64_t));
    own->segments = grove_alloc(room * sizeof(int64_t));
    own->edge = grove_alloc(room * sizeof(int64_t));
    for (int64_t i = 0; i < cells; i++) {
        int edges = edges_at(s, cut, i);
        if (!edges)
            continue;
        if (!i || (edges == s->parm_count && !own->scattered)) {
            own->first[own->count] = i;
            own->segments[own->count++] = segments;
        }
        own->edge[segments++] = i;
    }
    own->first[own->count] = own->edge[segments] = cells;
    own->segments[own->count] = segments;
}

/* Bytes of the matrices of the first domains along time, if all their unknowns are solved for
 * together. */
static double matrices_of(const solve *s)
{
    double bytes = 0;

    for (int64_t f = 0; f < s->cut[SOLVE_FREQ].count; f++) {
        solve_domain d;
        solve_domain_begin(s, &d, 0, f);
        bytes += grove_least_squares_bytes(&d.unknowns, 1);
        solve_domain_end(&d);
    }
    return bytes;
}

/* As many domains along time as start together where nobody says how many. */
static int64_t usual_batch(const grove_node *node, const solve *s)
{
    const solve_cut *time = &s->cut[SOLVE_TIME];
    const grove_axis *axes[GROVE_MAX_AXES];
    int count = grove_node_input_axes(node, SOLVE_DATA, axes);
    const grove_form *form = grove_node_input_form(node, SOLVE_DATA);
    double bytes = 2 * sizeof(float) * (double)form->shape / (double)time->count;

    for (int i = 0; i < count; i++)
        bytes *= (double)axes[i]->size;
    double batch = fmin(BATCH_BYTES / bytes, BATCH_MATRICES / matrices_of(s));
    return batch >= MAX_BATCH ? MAX_BATCH : batch >= 1 ? (int64_t)batch : 1;
}

/* Tiles hold whole batches of domains along time, and whole domains along frequency. */
static int set_domains(grove_node *node, const solve *s, int cut)
{
    const solve_cut *own = &s->cut[cut];
    int64_t each = cut == SOLVE_TIME ? s->batch : 1, count = (own->count + each - 1) / each;
    int64_t *first = grove_alloc((size_t)count * sizeof(*first));

    for (int64_t i = 0; i < count; i++)
        first[i] = own->first[i * each];
    int code = own->axis ? grove_node_set_domains(node, cut_names[cut], first, count) : 0;
    free(first);
    return code;
}

/* Of a significant change, regardless of the start value. */
static double usual_size(const grove_node *parm)
{
    const char *jones = grove_node_text(parm, "jones");

    return !strcmp(jones, "delay") ? 1e-9 : !strcmp(jones, "tec") ? 0.01 : 1;
}

/* Whether two parms have the same intervals. */
static bool are_alike(const grove_parm *a, const grove_parm *b)
{
    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        const grove_parm_intervals *one = along(a, cut), *other = along(b, cut);
        if (one->axis != other->axis ||
            (one->axis && memcmp(one->number, other->number,
                                 (size_t)one->axis->size * sizeof(*one->number)) != 0))
            return false;
    }
    return true;
}

/* Parms of equal intervals take their steps together. */
static void find_subsets(solve *s)
{
    for (int i = 0; i < s->parm_count; i++) {
        int other = 0;
        while (!are_alike(s->parms[other].parm, s->parms[i].parm))
            other++;
        s->parms[i].subset = other < i ? s->parms[other].subset : s->subsets++;
    }
}

int solve_find_domains(grove_node *node, solve *s)
{
    const grove_node *const *leaves;
    static const int64_t whole = 0;
    int code = 0;

    s->parm_count = grove_node_parms(node, &leaves);
    s->parms = grove_alloc((size_t)s->parm_count * sizeof(*s->parms));
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = grove_node_user(leaves[i]);
        s->parms[i] = (solve_parm){.leaf = leaves[i],
                                   .parm = p,
                                   .parts = p->complex_ ? 2 : 1,
                                   .terms = p->time.terms * p->freq.terms,
                                   .sources = p->groups   ? p->groups->size
                                              : p->source ? p->source->size
                                                          : 1,
                                   .stations = p->station ? p->station->size : 1,
                                   .size = fmax(p->step, usual_size(leaves[i]))};
    }
    find_subsets(s);
    for (int cut = 0; cut < SOLVE_CUTS && !code; cut++) {
        code = find_axis(node, s, cut);
        if (code)
            break;
        divide(s, cut);
    }
    if (!code && !s->batch)
        s->batch = usual_batch(node, s);
    for (int cut = 0; cut < SOLVE_CUTS && !code; cut++)
        code = set_domains(node, s, cut);
    if (!code && grove_node_input_axis(node, SOLVE_MODEL, GROVE_AXIS_BASELINE))
        code = grove_node_set_domains(node, "baseline", &whole, 1);
    return code;
}

static grove_part conjugate(grove_part part)
{
    return part == GROVE_PART_BOTH             ? GROVE_PART_BOTH_CONJUGATE
           : part == GROVE_PART_BOTH_CONJUGATE ? GROVE_PART_BOTH
                                               : part;
}

/* The derivative as the model has it: at the right of a group it is conjugated. */
static void add_slot(solve *s, const grove_fit_slot *from, int group, char side)
{
    solve_slot *slot = &s->slots[s->slot_count++];

    *slot = (solve_slot){.group = group,
                         .side = side,
                         .axis = from->axis,
                         .index = from->index,
                         .part = side == 'q' && s->group_count ? conjugate(from->part) : from->part,
                         .input = from->input};
    while (s->parms[slot->parm].leaf != from->parm)
        slot->parm++;
    while (strcmp(s->parms[slot->parm].parm->member[slot->member], from->member) != 0)
        slot->member++;
    slot->terms = s->parms[slot->parm].terms;
    slot->parts = slot->part == GROVE_PART_BOTH || slot->part == GROVE_PART_BOTH_CONJUGATE ? 2 : 1;
    slot->first = s->columns;
    s->columns += slot->terms;
    s->inputs = slot->input + 1 > s->inputs ? slot->input + 1 : s->inputs;
}

void solve_find_slots(const grove_node *node, solve *s)
{
    const grove_fit_slot *slots;
    int count = grove_node_slots(node, &slots), groups = s->group_count;

    s->slots = grove_alloc((size_t)(count * (groups ? 2 * groups : 1) + 1) * sizeof(*s->slots));
    for (int k = 0; k < count && !groups; k++)
        add_slot(s, &slots[k], 0, slots[k].side);
    for (int g = 0; g < groups; g++)
        for (int k = 0; k < count; k++) {
            if (slots[k].differentiated == s->groups[g].left)
                add_slot(s, &slots[k], g, 'p');
            if (slots[k].differentiated == s->groups[g].right)
                add_slot(s, &slots[k], g, 'q');
        }
}

void solve_free(solve *s)
{
    if (!s)
        return;
    for (int cut = 0; cut < SOLVE_CUTS; cut++) {
        free(s->cut[cut].first);
        free(s->cut[cut].segments);
        free(s->cut[cut].edge);
    }
    free(s->parms);
    free(s->slots);
    free(s);
}

/* ---- unknowns ---- */

solve_span solve_intervals(const solve *s, const solve_domain *d, int parm, int cut)
{
    const grove_parm_intervals *own = along(s->parms[parm].parm, cut);
    const int64_t *first = &s->cut[cut].first[d->number[cut]];

    if (!own->axis)
        return (solve_span){0, 1};
    if (s->cut[cut].scattered)
        return (solve_span){0, own->count};
    int32_t a = own->number[first[0]], b = own->number[first[1] - 1];
    return (solve_span){a < b ? a : b, (a < b ? b - a : a - b) + 1};
}

void solve_domain_begin(const solve *s, solve_domain *d, int64_t time, int64_t freq)
{
    *d = (solve_domain){.number = {time, freq}};
    d->base = grove_alloc(((size_t)s->parm_count + 1) * sizeof(*d->base));
    for (int i = 0; i < s->parm_count; i++) {
        const solve_parm *own = &s->parms[i];
        d->base[i + 1] = d->base[i] + own->parm->members * own->sources * own->stations *
                                          solve_intervals(s, d, i, SOLVE_TIME).count *
                                          solve_intervals(s, d, i, SOLVE_FREQ).count * own->terms *
                                          own->parts;
    }
    d->unknowns = d->base[s->parm_count];
}

/* Takes the last of several places, numbered together. */
static int64_t take(int64_t *n, int64_t count)
{
    int64_t last = *n % count;

    *n /= count;
    return last;
}

solve_place solve_find_place(const solve *s, const solve_domain *d, int parm, int64_t unknown)
{
    const solve_parm *own = &s->parms[parm];
    const solve_span time = solve_intervals(s, d, parm, SOLVE_TIME),
                     freq = solve_intervals(s, d, parm, SOLVE_FREQ);
    int64_t n = unknown - d->base[parm];
    solve_place at = {.part = take(&n, own->parts)};

    at.term = take(&n, own->terms);
    at.number = n % (time.count * freq.count);
    at.interval[SOLVE_FREQ] = freq.first + take(&n, freq.count);
    at.interval[SOLVE_TIME] = time.first + take(&n, time.count);
    at.station = take(&n, own->stations);
    at.source = take(&n, own->sources);
    at.member = n;
    return at;
}

void solve_find_range(const solve_cut *cut, int64_t first, int64_t end, int64_t range[2])
{
    range[0] = 0;
    while (cut->first[range[0] + 1] <= first)
        range[0]++;
    range[1] = range[0];
    while (range[1] < cut->count && cut->first[range[1]] < end)
        range[1]++;
}

bool solve_has_starts(const solve *s)
{
    for (int i = 0; i < s->parm_count; i++)
        if (s->parms[i].parm->start)
            return true;
    return false;
}

void solve_domain_end(solve_domain *d)
{
    grove_least_squares_free(d->fit);
    free(d->base);
    free(d->known);
    free(d->free_words);
    free(d->jones);
    free(d->best);
    free(d->median);
    free(d->weighing);
    free(d->before);
    free(d->of_baseline);
    free(d->data_kind);
    free(d->start);
}

typedef enum { GET, PUT, GET_ERRORS, PUT_ERRORS } direction;

/* The coefficient of an unknown, [member][grove_parm_index]. */
static int64_t coefficient_of(const solve *s, const solve_domain *d, int parm, int64_t unknown)
{
    const grove_parm *p = s->parms[parm].parm;
    const solve_place at = solve_find_place(s, d, parm, unknown);

    return at.member * grove_parm_count(p) + grove_parm_index(p, at.source, at.station,
                                                              at.interval[SOLVE_TIME],
                                                              at.interval[SOLVE_FREQ], at.term);
}

static void copy_errors(grove_parm_run *run, int64_t at, double *x, int parts, bool get)
{
    *(get ? &x[0] : &run->errors[at]) = get ? run->errors[at] : x[0];
    if (parts == 2)
        *(get ? &x[1] : &run->phase_errors[at]) = get ? run->phase_errors[at] : x[1];
}

/* Copies between the unknowns of the domain and the parms' coefficients. */
static void copy(const solve *s, const solve_domain *d, grove_parm_run *const *runs, double *all,
                 direction way)
{
    for (int i = 0; i < s->parm_count; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u += s->parms[i].parts) {
            int64_t at = coefficient_of(s, d, i, u);
            size_t bytes = (size_t)s->parms[i].parts * sizeof(*all);
            if (way == GET)
                memcpy(all + u, runs[i]->numbers + 2 * at, bytes);
            else if (way == PUT)
                memcpy(runs[i]->numbers + 2 * at, all + u, bytes);
            else
                copy_errors(runs[i], at, all + u, s->parms[i].parts, way == GET_ERRORS);
        }
}

void solve_get(const solve *s, const solve_domain *d, grove_parm_run *const *runs, double *x)
{
    copy(s, d, runs, x, GET);
}

void solve_put(const solve *s, const solve_domain *d, grove_parm_run *const *runs, const double *x)
{
    copy(s, d, runs, (double *)(uintptr_t)x, PUT);
}

void solve_get_errors(const solve *s, const solve_domain *d, grove_parm_run *const *runs, double *x)
{
    copy(s, d, runs, x, GET_ERRORS);
}

void solve_put_errors(const solve *s, const solve_domain *d, grove_parm_run *const *runs,
                      const double *errors)
{
    copy(s, d, runs, (double *)(uintptr_t)errors, PUT_ERRORS);
}

bool solve_is_found(grove_least_squares_outcome outcome)
{
    return outcome == GROVE_LEAST_SQUARES_CONVERGED || outcome == GROVE_LEAST_SQUARES_STALLED ||
           outcome == GROVE_LEAST_SQUARES_LIMIT;
}

static bool is_solved(const solve_domain *d, int64_t unknown)
{
    return solve_is_found(d->outcome) && (!d->known || d->known[unknown]);
}

void solve_put_known(const solve *s, const solve_domain *d, unsigned char *const *known)
{
    for (int i = 0; i < s->parm_count; i++)
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u += s->parms[i].parts)
            known[i][coefficient_of(s, d, i, u)] = is_solved(d, u);
}

int64_t solve_list_unsolved(const solve *s, const solve_domain *d, int parm, int64_t *at)
{
    int64_t count = 0;

    for (int64_t u = d->base[parm]; u < d->base[parm + 1]; u += s->parms[parm].parts)
        if (!is_solved(d, u)) {
            if (at)
                at[count] = coefficient_of(s, d, parm, u);
            count++;
        }
    return count;
}
