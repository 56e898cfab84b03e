#include "nodes/fit/solve_quantity.h"

#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- where along time or frequency ---- */

typedef struct {
    double at;
    int64_t cell;
} ordered;

static int compare(const void *a, const void *b)
{
    const ordered *x = a, *y = b;

    return x->at < y->at ? -1 : x->at > y->at;
}

static int64_t domain_of(const solve_cut *cut, int64_t cell)
{
    int64_t low = 0, high = cut->count;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(cut->first[middle] <= cell ? &low : &high) = middle;
    }
    return low;
}

static void sample(solve_places *p, const grove_parm_intervals *own, const solve_cut *cut)
{
    ordered *cells = grove_alloc((size_t)p->count * sizeof(*cells) + 1);

    for (int64_t i = 0; i < p->count; i++)
        cells[i] = (ordered){own->axis->centre[i], i};
    qsort(cells, (size_t)p->count, sizeof(*cells), compare);
    for (int64_t i = 0; i < p->count; i++) {
        p->at[i] = p->whole[i] = cells[i].at;
        p->width[i] = own->axis->width ? fabs(own->axis->width[cells[i].cell]) : 0;
        p->interval[i] = grove_parm_find(own, cells[i].cell, &p->x[i]);
        p->domain[i] = domain_of(cut, cells[i].cell);
    }
    free(cells);
}

solve_places solve_find_places(const grove_parm_intervals *own, const solve_cut *cut)
{
    solve_places p = {.varies = own->axis != NULL,
                      .count = own->terms > 1 ? own->axis->size : own->count};
    size_t count = (size_t)p.count + 1;

    p.at = grove_alloc(count * sizeof(*p.at));
    p.x = grove_alloc(count * sizeof(*p.x));
    p.width = grove_alloc(count * sizeof(*p.width));
    p.whole = grove_alloc(count * sizeof(*p.whole));
    p.interval = grove_alloc(count * sizeof(*p.interval));
    p.domain = grove_alloc(count * sizeof(*p.domain));
    if (own->terms > 1) {
        sample(&p, own, cut);
        return p;
    }
    for (int64_t i = 0; i < p.count && p.varies; i++) {
        p.at[i] = own->centre[i];
        p.width[i] = own->width[i];
        p.whole[i] = own->whole[i];
        p.interval[i] = i;
    }
    for (int64_t cell = 0; p.varies && cell < own->axis->size; cell++)
        p.domain[own->number[cell]] = domain_of(cut, cell);
    return p;
}

void solve_free_places(solve_places *p)
{
    free(p->at);
    free(p->x);
    free(p->width);
    free(p->whole);
    free(p->interval);
    free(p->domain);
}

/* ---- a parm in the table ---- */

solve_meaning solve_meaning_of(const solve_parm *own)
{
    /* DP3 and LoSoTo take amplitudes, phases and rotations along both axes, but clock and tec
     * without freq. */
    static const struct {
        const char *jones, *type;
        bool placed;
    } real[] = {{"phase", "phase", true},       {"amplitude", "amplitude", true},
                {"rotation", "rotation", true}, {"delay", "clock", false},
                {"tec", "tec", false},          {"none", "value", false}};
    const char *jones = grove_node_text(own->leaf, "jones");
    solve_meaning m = {
        .quantities = own->parts, .member = {0, 1, 2, 3}, .elements = own->parm->members};

    if (own->parts == 2) {
        m.quantity[0] = (solve_quantity){"amplitude", SOLVE_AMPLITUDE, true};
        m.quantity[1] = (solve_quantity){"phase", SOLVE_PHASE, true};
    } else {
        for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
            if (!strcmp(jones, real[i].jones))
                m.quantity[0] = (solve_quantity){real[i].type, SOLVE_REAL, real[i].placed};
    }
    if (!strcmp(jones, "leakage")) {
        m.elements = SOLVE_MAX_ELEMENTS;
        memcpy(m.member, (const int[]){SOLVE_UNITY, 0, 1, SOLVE_UNITY}, sizeof(m.member));
    }
    return m;
}

/* ---- numbers ---- */

bool solve_is_found(grove_least_squares_outcome outcome)
{
    return outcome == GROVE_LEAST_SQUARES_CONVERGED || outcome == GROVE_LEAST_SQUARES_STALLED ||
           outcome == GROVE_LEAST_SQUARES_LIMIT;
}

int64_t solve_numbers_of(const solve_written *w)
{
    return w->time.count * w->freq.count * w->stations * w->sources * w->meaning.elements;
}

/* The value at a place: the sum of its polynomials. *at: its first coefficient. */
static double complex value_at(const solve_written *w, int member, int64_t t, int64_t f,
                               int64_t station, int64_t source, int64_t *at)
{
    const grove_parm *p = w->own->parm;
    double complex sum = 0;
    double x = 1;

    *at = member * grove_parm_count(p) +
          grove_parm_index(p, source, station, w->time.interval[t], w->freq.interval[f], 0);
    for (int32_t i = 0; i < p->time.terms; i++, x *= w->time.x[t]) {
        double y = x;
        for (int32_t k = 0; k < p->freq.terms; k++, y *= w->freq.x[f]) {
            const double *number = w->run->numbers + 2 * (*at + i * p->freq.terms + k);
            sum += y * CMPLX(number[0], w->own->parts == 2 ? number[1] : 0);
        }
    }
    return sum;
}

static double part_of(double complex value, solve_part which)
{
    return which == SOLVE_REAL        ? creal(value)
           : which == SOLVE_AMPLITUDE ? cabs(value)
                                      : carg(value);
}

void solve_put_number(const solve_written *w, solve_part which, int64_t n, double *value,
                      float *weight, double *error)
{
    int64_t station = n / w->meaning.elements / w->sources % w->stations,
            source = n / w->meaning.elements % w->sources;
    int64_t cell = n / w->meaning.elements / w->sources / w->stations;
    int64_t t = cell / w->freq.count, f = cell % w->freq.count, at;
    int member = w->meaning.member[n % w->meaning.elements];
    const solve_result *result =
        &w->results->results[w->time.domain[t] * w->bands + w->freq.domain[f]];
    double complex number =
        value_at(w, member == SOLVE_UNITY ? 0 : member, t, f, station, source, &at);
    bool known = solve_is_found(result->outcome) && w->known[at];

    if (member == SOLVE_UNITY)
        number = 1;
    known = known && isfinite(creal(number)) && isfinite(cimag(number));
    *value = known ? part_of(number, which) : NAN;
    *weight = known ? 1 : 0;
    if (error)
        *error = !known                  ? NAN
                 : member == SOLVE_UNITY ? 0
                 : which == SOLVE_PHASE  ? w->run->phase_errors[at]
                                         : w->run->errors[at];
}
