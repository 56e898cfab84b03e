/* Degeneracies between parms: a factor of a station that goes from one parm to another, such as the
 * scale of gains in time against the scale of a bandpass. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <stdlib.h>
#include <string.h>

/* How a factor, 1 + epsilon or 1 + i epsilon, changes the numbers of a parm. */
typedef enum { SCALE, TURN, KINDS } kind;

/* Members of two parms, bits, that a factor of all of them goes between. */
typedef struct {
    unsigned of[2];
} members;

typedef struct {
    const solve *s;
    const solve_domain *d;
    const bool *known;
    const double *x;
    double *direction; /* [unknowns] */
    solve_is_free is_free;
    void *context;
} looking;

static bool is_jones(const solve_parm *own, const char *jones)
{
    return !strcmp(grove_node_text(own->leaf, "jones"), jones);
}

/* Whether a factor can be taken into the parm at all. */
static bool takes(const solve_parm *own, kind of)
{
    return own->parm->station &&
           (own->parts == 2 || is_jones(own, of == SCALE ? "amplitude" : "phase"));
}

/* Adds the direction in which the numbers of a station, or of all (-1), take the factor. Whether
 * there are any. */
static bool add_direction(const looking *l, int parm, unsigned of, int64_t station, kind of_kind,
                          double sign)
{
    const solve_parm *own = &l->s->parms[parm];
    bool any = false;

    for (int64_t u = l->d->base[parm]; u < l->d->base[parm + 1]; u += own->parts) {
        const solve_place at = solve_find_place(l->s, l->d, parm, u);
        if (!(of >> at.member & 1) || (station >= 0 && at.station != station) || !l->known[u])
            continue;
        any = true;
        if (own->parts == 1) {
            l->direction[u] = sign * (of_kind == SCALE ? l->x[u] : at.term == 0);
            continue;
        }
        l->direction[u] = sign * (of_kind == SCALE ? l->x[u] : -l->x[u + 1]);
        l->direction[u + 1] = sign * (of_kind == SCALE ? l->x[u + 1] : l->x[u]);
    }
    return any;
}

static bool is_direction_free(const looking *l)
{
    return l->is_free(l->context, l->x, l->x, l->direction);
}

/* How many factors go between the members of two parms. */
static int64_t count_shares(const looking *l, const int parm[2], members between)
{
    size_t bytes = (size_t)l->d->unknowns * sizeof(double);
    int64_t stations = l->s->parms[parm[0]].parm->station->size, count = 0;

    for (kind k = 0; k < KINDS; k++) {
        if (!takes(&l->s->parms[parm[0]], k) || !takes(&l->s->parms[parm[1]], k))
            continue;
        int64_t found = 0;
        for (int64_t a = 0; a < stations; a++) {
            memset(l->direction, 0, bytes);
            found += add_direction(l, parm[0], between.of[0], a, k, 1) &&
                     add_direction(l, parm[1], between.of[1], a, k, -1) && is_direction_free(l);
        }
        memset(l->direction, 0, bytes);
        add_direction(l, parm[0], between.of[0], -1, k, 1);
        count +=
            found -
            (found && is_direction_free(l)); /* a factor of all stations is reported separately */
    }
    return count;
}

/* Which members correspond: of neighbouring Jones terms. Returns how many. */
static int pair_members(int first, int second, members to[8])
{
    int count = 0;

    if (first == 1 || second == 1) {
        to[count++] = (members){{(1u << first) - 1, (1u << second) - 1}};
    } else if (first == 2 && second == 2) {
        for (unsigned m = 0; m < 2; m++)
            to[count++] = (members){{1u << m, 1u << m}};
    } else if (first + second == 6) { /* a row, or a column, of the full one */
        for (unsigned m = 0; m < 2; m++)
            for (unsigned of = 3; of <= 5; of += 2)
                to[count++] = first == 2 ? (members){{1u << m, of << (of == 3 ? 2 * m : m)}}
                                         : (members){{of << (of == 3 ? 2 * m : m), 1u << m}};
    }
    return count;
}

static void name(const solve_parm *own, unsigned of, grove_text *to)
{
    const char *between = "";

    for (int m = 0; m < own->parm->members; m++)
        if (of >> m & 1) {
            grove_text_add(to, "%s%s.%s", between, grove_node_text(own->leaf, "name"),
                           own->parm->member[m]);
            between = " with ";
        }
}

static int64_t name_pair(const looking *l, const int parm[2], grove_text *to)
{
    members between[8];
    int count = pair_members(l->s->parms[parm[0]].parm->members, l->s->parms[parm[1]].parm->members,
                             between);
    int64_t shares = 0, found = 0;

    for (int i = 0; i < count; i++) {
        /* either a row or a column: both are free where the rest is zero */
        found = count > 2 && i % 2 && found ? 0 : count_shares(l, parm, between[i]);
        if (!found)
            continue;
        grove_text_add(to, "%s", to->length ? ", " : "");
        name(&l->s->parms[parm[0]], between[i].of[0], to);
        grove_text_add(to, " and ");
        name(&l->s->parms[parm[1]], between[i].of[1], to);
        shares += found;
    }
    return shares;
}

int64_t solve_name_shares(const solve *s, const solve_domain *d, const bool *known, const double *x,
                          solve_is_free is_free, void *context, grove_text *to)
{
    looking l = {s,       d,      known, x, grove_alloc(((size_t)d->unknowns + 1) * sizeof(double)),
                 is_free, context};
    int64_t shares = 0;

    for (int second = 1; second < s->parm_count; second++) {
        int64_t found = 0;
        /* a third parm shares with all where it shares with one */
        for (int first = 0; first < second && !found; first++) {
            const int parm[2] = {first, second};
            const grove_parm *a = s->parms[first].parm, *b = s->parms[second].parm;
            if (a->station && b->station && a->station->size == b->station->size)
                found = name_pair(&l, parm, to);
        }
        shares += found;
    }
    free(l.direction);
    return shares;
}
