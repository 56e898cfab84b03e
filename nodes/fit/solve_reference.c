/* Degeneracies: phases, delays and the like that are common to all stations are not determined by
 * most data. Then the reference station's become 0. */
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
static int refer_interval(const interval *at, int64_t unknowns, int64_t reference, double by,
                          const bool *known, double *x, solve_is_free is_free, void *context,
                          unsigned changes[GROVE_PARM_MEMBERS])
{
    double *to = grove_alloc(((size_t)unknowns * 2 + 1) * sizeof(*to)), *direction = to + unknowns;
    unsigned done = 0;
    int count = 0;

    for (const unsigned *members = member_groups(at->members); *members; members++) {
        if (*members & done)
            continue;
        memcpy(to, x, (size_t)unknowns * sizeof(*to));
        memset(direction, 0, (size_t)unknowns * sizeof(*direction));
        change_to(at, *members, reference, by, known, x, to, direction);
        if (!is_free(context, x, to, direction))
            continue;
        memcpy(x, to, (size_t)unknowns * sizeof(*to));
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

void solve_refer(const solve *s, const solve_domain *d, const bool *known, double *x,
                 solve_is_free is_free, void *context, int64_t *references)
{
    for (int i = 0; i < s->parm_count && s->reference >= 0; i++) {
        interval at;
        int64_t intervals = find_intervals(s, d, i, &at);
        unsigned changes[GROVE_PARM_MEMBERS];
        if (s->reference >= at.stations)
            continue;
        for (int64_t k = 0; k < at.sources * intervals; k++) {
            at.first = d->base[i] + k / intervals * at.stations * at.stride +
                       k % intervals * at.terms * at.parts;
            int64_t station = reference_of(&at, known, s->reference);
            int count = station < 0 ? 0
                                    : refer_interval(&at, d->unknowns, station, 0, known, x,
                                                     is_free, context, changes);
            for (int n = 0; n < count && references; n++)
                note_references(&at, changes[n], station, known, references);
        }
    }
}

/* ---- in words ---- */

static void name_members(const solve_parm *own, unsigned members, grove_text *to)
{
    const char *between = to->length ? ", " : "";

    for (int m = 0; m < own->parm->members; m++)
        if (members >> m & 1) {
            grove_text_add(to, "%s%s.%s", between, grove_node_text(own->leaf, "name"),
                           own->parm->member[m]);
            between = " with ";
        }
}

/* Parms whose values, of complex ones phases, may change together at all stations; returns how many
 * such changes there are. */
static int64_t name_shifts(const solve *s, const solve_domain *d, const bool *known,
                           const double *at_x, solve_is_free is_free, void *context, grove_text *to)
{
    size_t bytes = (size_t)d->unknowns * sizeof(double);
    double *x = grove_alloc(bytes + 1);
    int64_t shifts = 0;

    for (int i = 0; i < s->parm_count; i++) {
        const solve_parm *own = &s->parms[i];
        interval at;
        int64_t intervals = find_intervals(s, d, i, &at), station = reference_of(&at, known, 0);
        if (!intervals || station < 0)
            continue;
        memcpy(x, at_x, bytes);
        unsigned changes[GROVE_PARM_MEMBERS];
        int count = refer_interval(&at, d->unknowns, station, own->parts == 2 ? 1 : own->size,
                                   known, x, is_free, context, changes);
        for (int k = 0; k < count; k++)
            name_members(own, changes[k], to);
        shifts += count * intervals * at.sources;
    }
    free(x);
    return shifts;
}

char *solve_describe_free(const solve *s, const solve_domain *d, const bool *known, const double *x,
                          int64_t null, solve_is_free is_free, void *context)
{
    grove_text shifted = {0}, shared = {0}, text = {0};
    int64_t named = name_shifts(s, d, known, x, is_free, context, &shifted);

    if (null > named)
        named += solve_name_shares(s, d, known, x, is_free, context, &shared);

    if (shifted.length && s->reference < 0)
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
    if (describe) {
        free(d->free_words);
        d->free_words = null ? solve_describe_free(s, d, known, x, null, is_in, d->fit) : NULL;
    }
    if (null)
        solve_refer(s, d, known, x, is_in, d->fit, references);
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
    double *errors = grove_copy(grove_least_squares_errors_of(d->fit, sums), n * sizeof(*errors));
    free(sums);
    return errors;
}
