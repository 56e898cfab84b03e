/* Start values of parms from solution tables. */
#include "nodes/fit/parm.h"
#include "nodes/fit/solution_parts.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND(name) (1u << GROVE_SOLUTION_##name)

/* For each line in the table of kinds: which tables it is of, and how many polarisations they may
 * have; `first`: the member x is that element of four. */
static const struct {
    unsigned tables;
    int elements, first;
} sources[] = {
    {KIND(VALUE), 1, 0},
    {KIND(AMPLITUDE) | KIND(PHASE), 1, 0},
    {KIND(AMPLITUDE) | KIND(PHASE), 2, 0},
    {KIND(AMPLITUDE) | KIND(PHASE), 4, 0},
    {KIND(PHASE), 2, 0},
    {KIND(AMPLITUDE), 2, 0},
    {KIND(ROTATION), 1, 0},
    {KIND(AMPLITUDE) | KIND(PHASE), 4, 1},
    {KIND(CLOCK), 2, 0},
    {KIND(TEC), 1, 0},
};
enum { NUMBER = 0 };

/* The axes of the parm, in the words of a table. */
typedef struct {
    grove_node *node;
    const grove_parm *parm;
    grove_axis time, freq, source, station; /* size 1 where it does not vary */
    double middle[2], width[2];             /* of time and freq, where it does not vary */
} places;

/* ---- where ---- */

/* Of a parm that does not vary along it, all the observation is one interval. */
static grove_axis intervals_of(places *p, const char *name, int n, const grove_parm_intervals *own)
{
    const grove_node *obs = grove_node_object(p->node, "obs");
    const grove_axis *axis = obs ? grove_node_axis(obs, name) : NULL;
    double low = INFINITY, high = -INFINITY;

    if (own->axis)
        return (grove_axis){.name = name,
                            .size = own->count,
                            .centre = own->centre,
                            .width = own->width,
                            .owner = obs};
    for (int64_t i = 0; axis && axis->centre && i < axis->size; i++) {
        double half = axis->width ? fabs(axis->width[i]) / 2 : 0;
        low = fmin(low, axis->centre[i] - half);
        high = fmax(high, axis->centre[i] + half);
    }
    if (!(low <= high))
        return (grove_axis){.name = name, .size = 1};
    p->middle[n] = low + (high - low) / 2;
    p->width[n] = high - low;
    return (grove_axis){
        .name = name, .size = 1, .centre = &p->middle[n], .width = &p->width[n], .owner = obs};
}

static void find_places(places *p, grove_node *node, const grove_parm *parm)
{
    p->node = node;
    p->parm = parm;
    p->time = intervals_of(p, "time", 0, &parm->time);
    p->freq = intervals_of(p, "freq", 1, &parm->freq);
    p->source = p->station = (grove_axis){.size = 1};
    if (parm->station)
        p->station = *parm->station;
    if (parm->groups)
        p->source = *parm->groups;
    else if (parm->source)
        p->source = *parm->source;
    p->station.name = "station";
    p->source.name = "source";
}

static int match(places *p, grove_solution_part *part, int d)
{
    const grove_grid_axis *own = &part->grid->axis[d];
    const char *name = own->name;
    grove_axis *axis = !strcmp(name, "time")      ? &p->time
                       : !strcmp(name, "freq")    ? &p->freq
                       : !strcmp(name, "station") ? &p->station
                       : !strcmp(name, "source")  ? &p->source
                                                  : NULL;
    bool named = axis == &p->station || axis == &p->source;
    bool varies = axis && (named ? axis->labels != NULL : axis->centre != NULL);
    const grove_node *object = grove_node_object(p->node, axis == &p->source ? "sky" : "obs");

    if (axis && !varies && own->size == 1) {
        grove_lookup_take(&part->lookup, d, axis); /* holds for all */
        return 0;
    }
    if (!axis || !varies)
        return grove_node_fail_option(
            p->node, "from", "%s: it varies along %s, but the parm does not", part->name, name);
    if (named ? !own->label : !own->number)
        return grove_node_fail_option(p->node, "from",
                                      "%s: it does not say which %s its numbers belong to",
                                      part->name, name);
    /* names of groups are names of patches already */
    return grove_lookup_match(p->node, &part->lookup, d, axis,
                              axis == &p->source && p->parm->groups ? NULL : object);
}

/* ---- tables and members ---- */

static int check_parts(const grove_node *node, const grove_parm *parm,
                       const grove_solution_parts *parts)
{
    int expected = sources[parm->kind].elements, first = sources[parm->kind].first;

    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++) {
        const grove_grid *grid = parts->part[k].grid;
        const char *name = parts->part[k].name;
        if (!grid)
            continue;
        if (grid->column->elements > expected || (first && grid->column->elements != expected))
            return grove_node_fail_option(
                node, "from", "%s: it has %d polarisation%s; jones=%s takes %s%d", name,
                grid->column->elements, grid->column->elements == 1 ? "" : "s",
                grove_node_text(node, "jones"), first || expected == 1 ? "" : "up to ", expected);
    }
    return 0;
}

/* The element of a part that belongs to a member; -1: none. */
static int element_of(const grove_parm *parm, int elements, int m)
{
    if (sources[parm->kind].first)
        return m + sources[parm->kind].first;
    if (elements == 4 || parm->members == 1)
        return m;
    if (parm->members == GROVE_PARM_MEMBERS) { /* off the diagonal there is nothing */
        if (m == 1 || m == 2)
            return -1;
        m = m == 3;
    }
    return elements == 1 ? 0 : m;
}

/* The number of a part for a member; false: the table has none. */
static bool number_of(const places *p, const grove_solution_part *part, const int64_t at[4], int m,
                      double *number)
{
    int64_t index[GROVE_MAX_AXES];
    double all[4];
    int e = element_of(p->parm, part->grid->column->elements, m);

    for (int d = 0; d < part->grid->axes; d++) {
        const grove_axis *axis = part->lookup.axis[d];
        index[d] = axis == &p->source    ? at[0]
                   : axis == &p->station ? at[1]
                   : axis == &p->time    ? at[2]
                                         : at[3];
    }
    if (e < 0)
        return false;
    unsigned char flags = grove_lookup_cell(&part->lookup, part->grid->column, index, all);

    *number = all[e];
    return !(flags >> e & 1);
}

/* A coefficient: of amplitude and phase a complex number, else the number itself. */
static int put_number(const places *p, const grove_solution_parts *parts, const int64_t at[4],
                      int m, double *to)
{
    const grove_solution_part *a = &parts->part[GROVE_SOLUTION_AMPLITUDE],
                              *f = &parts->part[GROVE_SOLUTION_PHASE];
    double number = 1, phase = 0;

    if (p->parm->complex_) {
        if ((a->grid && !number_of(p, a, at, m, &number)) ||
            (f->grid && !number_of(p, f, at, m, &phase)))
            return 0;
        to[0] = number * cos(phase);
        to[1] = number * sin(phase);
        return 0;
    }
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        if (parts->part[k].grid && !number_of(p, &parts->part[k], at, m, &number))
            return 0;
    if (number < p->parm->bounds[0] || number > p->parm->bounds[1])
        return grove_node_fail_option(p->node, "bounds",
                                      "the start value %g in the file is not between %g and %g",
                                      number, p->parm->bounds[0], p->parm->bounds[1]);
    to[0] = number;
    return 0;
}

static int fill(const places *p, grove_parm *parm, const grove_solution_parts *parts)
{
    int64_t count = grove_parm_count(parm), terms = parm->time.terms * parm->freq.terms, at[4];
    int code = 0;

    parm->start = grove_alloc((size_t)(parm->members * count) * 2 * sizeof(double) + 1);
    for (int m = 0; m < parm->members; m++)
        for (int64_t i = 0; i < count; i += terms)
            memcpy(parm->start + 2 * (m * count + i), parm->init[m], sizeof(parm->init[m]));
    for (int m = 0; m < parm->members; m++)
        for (at[0] = 0; at[0] < p->source.size; at[0]++)
            for (at[1] = 0; at[1] < p->station.size; at[1]++)
                for (at[2] = 0; at[2] < parm->time.count; at[2]++)
                    for (at[3] = 0; at[3] < parm->freq.count && !code; at[3]++) {
                        int64_t i = grove_parm_index(parm, at[0], at[1], at[2], at[3], 0);
                        code = put_number(p, parts, at, m, parm->start + 2 * (m * count + i));
                    }
    return code;
}

int grove_parm_start(grove_node *node, grove_parm *parm, grove_unit unit)
{
    grove_solution_request request = {.option = "from",
                                      .set = "",
                                      .tables = grove_node_text(node, "table"),
                                      .tables_option = "table",
                                      .parm = grove_node_text(node, "name"),
                                      .unit = unit,
                                      .kinds = sources[parm->kind].tables};
    grove_solution_parts parts = {0};
    places p = {0};

    if (!grove_node_given(node, "from"))
        return 0;
    if (parm->kind == NUMBER && parm->complex_)
        request.kinds = KIND(AMPLITUDE) | KIND(PHASE);
    if (grove_node_bool(node, "fixed") && parm->time.terms * parm->freq.terms > 1)
        return grove_node_fail_option(node, "degree",
                                      "a polynomial that is fixed cannot be taken from a table; "
                                      "solutions(...) interpolates one");
    int code = grove_solution_parts_read(node, &request, &parts);
    grove_node_add_identity(node, grove_node_text(node, "from"));
    code = code
               ? code
               : grove_solution_parts_check(node, &request, &parts, grove_node_object(node, "obs"));
    code = code ? code : check_parts(node, parm, &parts);
    find_places(&p, node, parm);
    for (int k = 0; k < GROVE_SOLUTION_KINDS; k++)
        for (int d = 0; parts.part[k].grid && d < parts.part[k].grid->axes && !code; d++)
            code = match(&p, &parts.part[k], d);
    if (!code)
        grove_solution_parts_complete(node, &parts, NULL);
    code = code ? code : fill(&p, parm, &parts);
    grove_solution_parts_free(&parts);
    return code;
}
