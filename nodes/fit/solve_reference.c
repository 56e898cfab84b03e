/* Degeneracies: phases, delays and the like that are common to all stations are not determined by
 * most data. Then the reference station's become 0. And a factor of a station may go from one parm
 * to another, such as the scale of gains in time against the scale of a bandpass. */
#include "nodes/fit/solve.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Members of a parm that change together. */
static const unsigned groups_of_one[] = {1, 0}, groups_of_two[] = {1, 2, 3, 0},
                      groups_of_four[] = {5, 10, 15, 0}; /* columns of the matrix */

static const unsigned *member_groups(int members)
{
    return members == 1 ? groups_of_one : members == 2 ? groups_of_two : groups_of_four;
}

/* Whether the sum of its values of all stations may be free. */
static bool may_shift(const solve_parm *own)
{
    static const char *const words[] = {"phase", "rotation", "delay", "tec", "none"};
    const char *jones = grove_node_text(own->leaf, "jones");

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(words[i], jones))
            return true;
    return false;
}

/* One interval of a parm in a domain, of one source: the unknowns of stations are `stride` apart,
 * unknowns of members as many stations as all sources have. */
typedef struct {
    int64_t first, stride, stations, sources;
    int members, terms, parts;
} interval;

static int64_t unknown_of(const interval *at, int member, int64_t station, int term)
{
    return at->first + (member * at->sources * at->stations + station) * at->stride +
           (int64_t)term * at->parts;
}

/* The member whose phase becomes 0 at the reference station. */
static int lead_of(const interval *at, unsigned members, int member)
{
    return members == 15 || members == 3 ? 0 : at->members == 4 ? (members == 5 ? 0 : 3) : member;
}

/* The values `to` after the change of x to the reference, or where `by` is not 0, after a change by
 * `by` at all stations. `known`: of unknowns, whether they have data. */
static void change_to(const interval *at, unsigned members, int64_t reference, double by,
                      const bool *known, const double *x, double *to, double *direction)
{
    for (int m = 0; m < at->members; m++) {
        int lead = lead_of(at, members, m);
        int64_t from = unknown_of(at, lead, reference, 0);
        double complex turn = at->parts == 2 ? CMPLX(x[from], -x[from + 1]) : 1;
        if (!(members >> m & 1))
            continue;
        turn = by != 0 ? CMPLX(cos(by), sin(by)) : cabs(turn) > 0 ? turn / cabs(turn) : 1;
        for (int64_t a = 0; a < at->stations; a++)
            for (int t = 0; t < at->terms; t++) {
                int64_t u = unknown_of(at, m, a, t);
                if (!known[u])
                    continue;
                if (at->parts == 1) {
                    to[u] = by != 0 ? x[u] + by * (t == 0)
                                    : x[u] - x[unknown_of(at, lead, reference, t)];
                    direction[u] = t == 0;
                    continue;
                }
                double complex z = CMPLX(x[u], x[u + 1]) * turn;
                to[u] = creal(z);
                to[u + 1] = by == 0 && a == reference && m == lead && t == 0 ? 0 : cimag(z);
                direction[u] = -x[u + 1];
                direction[u + 1] = x[u];
            }
    }
}

static void note_references(const interval *at, unsigned members, int64_t reference,
                            const bool *known, int64_t *references)
{
    for (int m = 0; m < at->members; m++)
        for (int64_t a = 0; a < at->stations && members >> m & 1; a++)
            for (int t = 0; t < at->terms; t++) {
                int64_t u = unknown_of(at, m, a, t);
                if (known[u])
                    references[u] =
                        unknown_of(at, lead_of(at, members, m), reference, at->parts == 1 ? t : 0);
            }
}

/* Changes x by changes of all stations that change nothing else. Returns how many such changes
 * there are, and of each the members that it changes. */
static int refer_interval(const solve_freedom *f, const interval *at, int64_t reference, double by,
                          double *x, unsigned changes[GROVE_PARM_MEMBERS])
{
    size_t n = (size_t)f->d->unknowns;
    double *to = grove_alloc((n * 2 + 1) * sizeof(*to)), *direction = to + n;
    unsigned done = 0;
    int count = 0;

    for (const unsigned *members = member_groups(at->members); *members; members++) {
        if (*members & done)
            continue;
        memcpy(to, x, n * sizeof(*to));
        memset(direction, 0, n * sizeof(*direction));
        change_to(at, *members, reference, by, f->known, x, to, direction);
        if (!f->is_free(f->context, x, to, direction))
            continue;
        memcpy(x, to, n * sizeof(*to));
        done |= *members;
        changes[count++] = *members;
    }
    free(to);
    return count;
}

/* The first interval of a parm in the domain; how many there are of each source, or 0: it has no
 * reference. */
static int64_t find_intervals(const solve *s, const solve_domain *d, int parm, interval *first)
{
    const solve_parm *own = &s->parms[parm];
    const grove_parm *p = own->parm;
    int64_t count = solve_intervals(s, d, parm, SOLVE_TIME).count *
                    solve_intervals(s, d, parm, SOLVE_FREQ).count;

    *first = (interval){.first = d->base[parm],
                        .stride = count * own->terms * own->parts,
                        .stations = p->station ? own->stations : 0,
                        .sources = own->sources,
                        .members = p->members,
                        .terms = own->terms,
                        .parts = own->parts};
    return !p->station || isfinite(p->bounds[0]) || isfinite(p->bounds[1]) ||
                   (own->parts == 1 && !may_shift(own))
               ? 0
               : count;
}

/* This station, or the next one that has data: of the first member, or where that has none, of
 * another; -1: none has. */
static int64_t reference_of(const interval *at, const bool *known, int64_t first)
{
    for (int m = 0; m < at->members; m++)
        for (int64_t i = 0; i < at->stations; i++) {
            int64_t station = (first + i) % at->stations;
            if (known[unknown_of(at, m, station, 0)])
                return station;
        }
    return -1;
}

void solve_refer(const solve_freedom *f, double *x, int64_t *references)
{
    const solve *s = f->s;
    const solve_domain *d = f->d;

    for (int i = 0; i < s->parm_count && s->reference >= 0; i++) {
        interval at;
        int64_t intervals = find_intervals(s, d, i, &at);
        unsigned changes[GROVE_PARM_MEMBERS];
        if (s->reference >= at.stations)
            continue;
        for (int64_t k = 0; k < at.sources * intervals; k++) {
            at.first = d->base[i] + k / intervals * at.stations * at.stride +
                       k % intervals * at.terms * at.parts;
            int64_t station = reference_of(&at, f->known, s->reference);
            int count = station < 0 ? 0 : refer_interval(f, &at, station, 0, x, changes);
            for (int n = 0; n < count && references; n++)
                note_references(&at, changes[n], station, f->known, references);
        }
    }
}

/* ---- in words ---- */

static void name_members(const solve_parm *own, unsigned members, const char *before,
                         grove_text *to)
{
    for (int m = 0; m < own->parm->members; m++)
        if (members >> m & 1) {
            grove_text_add(to, "%s%s.%s", before, grove_node_text(own->leaf, "name"),
                           own->parm->member[m]);
            before = " with ";
        }
}

/* Parms whose values, of complex ones phases, may change together at all stations; returns how many
 * such changes there are. */
static int64_t name_shifts(const solve_freedom *f, const double *at_x, grove_text *to)
{
    size_t bytes = (size_t)f->d->unknowns * sizeof(double);
    double *x = grove_alloc(bytes + 1);
    int64_t shifts = 0;

    for (int i = 0; i < f->s->parm_count; i++) {
        const solve_parm *own = &f->s->parms[i];
        interval at;
        int64_t intervals = find_intervals(f->s, f->d, i, &at),
                station = reference_of(&at, f->known, 0);
        if (!intervals || station < 0)
            continue;
        memcpy(x, at_x, bytes);
        unsigned changes[GROVE_PARM_MEMBERS];
        int count = refer_interval(f, &at, station, own->parts == 2 ? 1 : own->size, x, changes);
        for (int k = 0; k < count; k++)
            name_members(own, changes[k], to->length ? ", " : "", to);
        shifts += count * intervals * at.sources;
    }
    free(x);
    return shifts;
}

/* ---- factors between parms, in words ---- */

/* How a factor, 1 + epsilon or 1 + i epsilon, changes the numbers of a parm. */
typedef enum { SCALE, TURN, KINDS } kind;

/* Members of two parms, bits, that a factor of all of them goes between. */
typedef struct {
    unsigned of[2];
} members;

typedef struct {
    const solve_freedom *f;
    const double *x;
    double *direction; /* [unknowns] */
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
    const solve_parm *own = &l->f->s->parms[parm];
    bool any = false;

    for (int64_t u = l->f->d->base[parm]; u < l->f->d->base[parm + 1]; u += own->parts) {
        const solve_place at = solve_find_place(l->f->s, l->f->d, parm, u);
        if (!(of >> at.member & 1) || (station >= 0 && at.station != station) || !l->f->known[u])
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
    return l->f->is_free(l->f->context, l->x, l->x, l->direction);
}

/* How many factors go between the members of two parms. */
static int64_t count_shares(const looking *l, const int parm[2], members between)
{
    size_t bytes = (size_t)l->f->d->unknowns * sizeof(double);
    int64_t stations = l->f->s->parms[parm[0]].parm->station->size, count = 0;

    for (kind k = 0; k < KINDS; k++) {
        if (!takes(&l->f->s->parms[parm[0]], k) || !takes(&l->f->s->parms[parm[1]], k))
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

static int64_t name_pair(const looking *l, const int parm[2], grove_text *to)
{
    members between[8];
    int count = pair_members(l->f->s->parms[parm[0]].parm->members,
                             l->f->s->parms[parm[1]].parm->members, between);
    int64_t shares = 0, found = 0;

    for (int i = 0; i < count; i++) {
        /* either a row or a column: both are free where the rest is zero */
        found = count > 2 && i % 2 && found ? 0 : count_shares(l, parm, between[i]);
        if (!found)
            continue;
        name_members(&l->f->s->parms[parm[0]], between[i].of[0], to->length ? ", " : "", to);
        name_members(&l->f->s->parms[parm[1]], between[i].of[1], " and ", to);
        shares += found;
    }
    return shares;
}

/* Adds to the text the pairs of parms between which a factor of each station may go; returns how
 * many such factors there are. */
static int64_t name_shares(const solve_freedom *f, const double *x, grove_text *to)
{
    looking l = {f, x, grove_alloc(((size_t)f->d->unknowns + 1) * sizeof(double))};
    int64_t shares = 0;

    for (int second = 1; second < f->s->parm_count; second++) {
        int64_t found = 0;
        /* a third parm shares with all where it shares with one */
        for (int first = 0; first < second && !found; first++) {
            const int parm[2] = {first, second};
            const grove_parm *a = f->s->parms[first].parm, *b = f->s->parms[second].parm;
            if (a->station && b->station && a->station->size == b->station->size)
                found = name_pair(&l, parm, to);
        }
        shares += found;
    }
    free(l.direction);
    return shares;
}

char *solve_describe_free(const solve_freedom *f, const double *x, int64_t null)
{
    grove_text shifted = {0}, shared = {0}, text = {0};
    int64_t named = name_shifts(f, x, &shifted);

    if (null > named)
        named += name_shares(f, x, &shared);

    if (shifted.length && f->s->reference < 0)
        grove_text_add(&text,
                       "the data do not determine the phases, delays, TEC or rotations that all "
                       "stations have in common (reference= sets them to 0 at one station): %s",
                       shifted.at);
    if (shared.length)
        grove_text_add(
            &text,
            "%s which part of a station's factor belongs to one parm and which to another: %s",
            text.length ? "; nor" : "the data do not determine", shared.at);
    if (null > named)
        grove_text_add(&text, "%s %lld %scombination%s of a domain's unknowns",
                       text.length ? "; nor" : "the data do not determine",
                       (long long)(null - named), text.length ? "further " : "",
                       null - named == 1 ? "" : "s");
    free(shifted.at);
    free(shared.at);
    return text.at;
}

/* ---- by the null space of the normal equations ---- */

/* Whether the direction lies in it. */
static bool is_in(void *fit, const double *from, const double *to, const double *direction)
{
    (void)from, (void)to;
    return grove_least_squares_free_share(fit, direction) > 1 - 1e-6;
}

void solve_refer_fit(const solve *s, solve_domain *d, double *x, int64_t *references)
{
    size_t n = (size_t)d->unknowns;
    bool describe = d->describe && d->unknowns <= SOLVE_MAX_DESCRIBED, *known;
    int64_t null;

    if (s->reference < 0 && !describe)
        return;
    known = grove_alloc(n + 1);
    grove_least_squares_null_space(d->fit, &null);
    for (size_t j = 0; j < n; j++)
        known[j] = !grove_least_squares_has_no_data(d->fit, (int64_t)j);
    solve_leave_silent(s, d, known, NULL);
    const solve_freedom freedom = {s, d, known, is_in, d->fit};
    if (describe) {
        free(d->free_words);
        d->free_words = null ? solve_describe_free(&freedom, x, null) : NULL;
    }
    if (null)
        solve_refer(&freedom, x, references);
    free(known);
}

/* ---- standard deviations ---- */

/* Of amplitude and phase of a complex number to first order, or of each part where it is 0 or a
 * term of a polynomial. */
static void set_polar(const double *x, int64_t u, int64_t reference, bool parts,
                      grove_least_squares_sum sums[2])
{
    double square = x[u] * x[u] + x[u + 1] * x[u + 1], size = sqrt(square);

    sums[0] = (grove_least_squares_sum){{u, u + 1, u, u}, {1}};
    sums[1] = (grove_least_squares_sum){{u, u + 1, u, u}, {0, 1}};
    if (parts || !(square > 0))
        return;
    sums[0].by[0] = x[u] / size;
    sums[0].by[1] = x[u + 1] / size;
    sums[1].by[0] = reference == u ? 0 : -x[u + 1] / square;
    sums[1].by[1] = reference == u ? 0 : x[u] / square;
    if (reference < 0 || reference == u)
        return;
    square = x[reference] * x[reference] + x[reference + 1] * x[reference + 1];
    sums[1].at[2] = reference;
    sums[1].at[3] = reference + 1;
    sums[1].by[2] = square > 0 ? x[reference + 1] / square : 0;
    sums[1].by[3] = square > 0 ? -x[reference] / square : 0;
}

double *solve_find_errors(const solve *s, solve_domain *d, const int64_t *references)
{
    size_t n = (size_t)d->unknowns + 1;
    grove_least_squares_sum *sums = grove_alloc(n * sizeof(*sums));
    const double *x = grove_least_squares_best(d->fit);

    for (int i = 0; i < s->parm_count; i++) {
        for (int64_t u = d->base[i]; u < d->base[i + 1]; u += s->parms[i].parts) {
            if (s->parms[i].parts == 2)
                set_polar(x, u, references[u], s->parms[i].terms > 1, &sums[u]);
            else
                sums[u] = (grove_least_squares_sum){{u, references[u] < 0 ? u : references[u]},
                                                    {1, references[u] < 0 ? 0 : -1}};
        }
    }
    double *errors = grove_copy(grove_least_squares_errors(d->fit, sums), n * sizeof(*errors));
    free(sums);
    return errors;
}
