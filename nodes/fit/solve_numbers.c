/* Which parms the numbers of Jones terms are, where StEFCal may solve for them. */
#include "nodes/fit/solve.h"

#include <math.h>
#include <string.h>

/* A component as the fit numbers it; false: it is one that StEFCal does not solve for. */
static bool set_component(const solve *s, const grove_fit_component *from, solve_element *to,
                          int which)
{
    int parm = 0, member = 0;

    to->of[which].parm = -1;
    if (!from->parm)
        return true;
    while (s->parms[parm].leaf != from->parm)
        parm++;
    const grove_parm *p = s->parms[parm].parm;
    while (strcmp(p->member[member], from->member) != 0)
        member++;
    to->of[which].parm = parm;
    to->of[which].member = member;
    to->of[which].source = p->groups ? from->group : 0;
    return to->of[which].source >= 0;
}

/* The part of the number that is solved for. */
static grove_stefcal_part part_of(const solve *s, const solve_element *number)
{
    int parm = number->of[0].parm;

    return parm < 0                                              ? GROVE_STEFCAL_PHASE
           : number->of[1].parm < 0 && s->parms[parm].parts == 1 ? GROVE_STEFCAL_AMPLITUDE
                                                                 : GROVE_STEFCAL_COMPLEX;
}

/* Finds the number of an element of a group's Jones term. The values of these are compared when it
 * runs. */
static bool find_number(const grove_node *node, solve *s, int group, int element)
{
    int shape = grove_node_input_form(node, s->groups[group].left)->shape;
    int at = shape == GROVE_MATRIX ? element : shape == GROVE_DIAGONAL ? element / 3 : 0;
    solve_element *to = &s->number[group][element];
    grove_fit_number found;

    to->of[0].parm = to->of[1].parm = -1;
    if (shape != GROVE_MATRIX && element % 3)
        return true;
    return grove_node_find_number(node, s->groups[group].left, at, &found) &&
           set_component(s, &found.number, to, 0) && set_component(s, &found.phase, to, 1) &&
           (to->of[0].parm < 0 || to->of[1].parm < 0 || s->parms[to->of[0].parm].parts == 1);
}

static bool is_plain(const solve *s, const grove_parm *p)
{
    return p->station && (!p->source || p->groups) && p->time.terms == 1 && p->freq.terms == 1 &&
           isinf(p->prior_sigma) && isinf(p->bounds[0]) && isinf(p->bounds[1]) &&
           (!p->time.axis ||
            s->cut[SOLVE_TIME].segments[s->cut[SOLVE_TIME].count] == s->cut[SOLVE_TIME].count) &&
           (!p->freq.axis ||
            s->cut[SOLVE_FREQ].segments[s->cut[SOLVE_FREQ].count] == s->cut[SOLVE_FREQ].count);
}

/* How often a component occurs in the terms up to this one. */
static int count_uses(const solve *s, int last, int parm, int member, int64_t source)
{
    int uses = 0;

    for (int g = 0; g <= last; g++)
        for (int e = 0; e < SOLVE_ELEMENTS; e++)
            for (int k = 0; k < 2 && (e < 3 || s->jones != GROVE_STEFCAL_SCALAR); k++)
                uses += s->number[g][e].of[k].parm == parm &&
                        s->number[g][e].of[k].member == member &&
                        s->number[g][e].of[k].source == source;
    return uses;
}

/* Whether the numbers of a term are parms' numbers; notes which, and their kind. NULL, or why they
 * are not. */
static const char *find_jones(const grove_node *node, solve *s, int group)
{
    static const grove_stefcal_jones kinds[] = {[GROVE_SCALAR] = GROVE_STEFCAL_SCALAR,
                                                [GROVE_DIAGONAL] = GROVE_STEFCAL_DIAGONAL,
                                                [GROVE_MATRIX] = GROVE_STEFCAL_FULL};
    int left = s->groups[group].left;
    bool found = left >= 0 && left == s->groups[group].right;

    for (int e = 0; e < SOLVE_ELEMENTS && found; e++)
        found = find_number(node, s, group, e);
    if (!found)
        return "Jones terms that are the numbers of one parm each, or amplitudes times phases, the "
               "same on both sides, such as jones=diagonal or a[p] * exp(1i * b[p])";
    grove_stefcal_jones jones = kinds[grove_node_input_form(node, left)->shape];
    grove_stefcal_part part = part_of(s, &s->number[group][0]);
    if (group && jones != s->jones)
        return "Jones terms of one kind";
    s->jones = jones;
    s->part = group ? s->part : part;
    for (int e = 0; e < SOLVE_ELEMENTS; e++) {
        const solve_element *number = &s->number[group][e];
        for (int k = 0; k < 2; k++) {
            int parm = number->of[k].parm;
            if (parm >= 0 && !is_plain(s, s->parms[parm].parm))
                return "parms without bounds, priors or polynomials, whose intervals end together";
            if (parm >= 0 &&
                count_uses(s, group, parm, number->of[k].member, number->of[k].source) > 1)
                return "a parm of its own in each term";
        }
        bool none = number->of[0].parm < 0 && number->of[1].parm < 0;
        if (!none && part_of(s, number) != s->part)
            return "Jones terms of one kind";
    }
    return NULL;
}

/* Whether the terms have all numbers of the parms. */
static bool has_all(const solve *s)
{
    for (int i = 0; i < s->parm_count; i++)
        for (int m = 0; m < s->parms[i].parm->members; m++)
            for (int64_t k = 0; k < s->parms[i].sources; k++)
                if (!count_uses(s, s->direct_groups - 1, i, m, k))
                    return false;
    return true;
}

void solve_find_numbers(const grove_node *node, solve *s)
{
    s->direct_groups = s->group_count;
    if (s->group_count && s->groups[s->group_count - 1].left < 0 &&
        s->groups[s->group_count - 1].right < 0)
        s->direct_groups--;
    s->indirect = NULL;
    if (s->each[SOLVE_TIME] || s->each[SOLVE_FREQ])
        s->indirect = "Jones terms that do not vary inside an interval";
    for (int g = 0; g < s->direct_groups && !s->indirect; g++)
        s->indirect = find_jones(node, s, g);
    bool full = s->jones == GROVE_STEFCAL_FULL;
    if (!s->indirect && !has_all(s))
        s->indirect = "all groups of sources in the model";
    if (!s->indirect &&
        (full != (s->form == GROVE_COMPRESSION_FULL) || (full && s->part != GROVE_STEFCAL_COMPLEX)))
        s->indirect = "Jones terms and a model of one shape";
    s->direct = s->group_count && !s->indirect;
}
