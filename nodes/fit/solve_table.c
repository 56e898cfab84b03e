/* The solution table of a fit: all its parms, as amplitudes, phases and the like. */
#include "nodes/fit/solve_table.h"

#include "nodes/common/grid.h"
#include "nodes/common/solution_table.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The middles of intervals; of polynomials the cells of the data, in ascending order. */
typedef struct {
    bool varies;
    int64_t count;
    double *at, *x; /* [count] the coordinate, and the place in its interval, from -1 to 1 */
    double *width;  /* [count] of the interval, or the cell; NULL: not known */
    double *whole;  /* [count] the coordinate; a short last interval has a whole one's */
    int64_t *interval, *domain;
} places;

typedef enum { REAL, AMPLITUDE, PHASE } part;

typedef struct {
    const char *type; /* of the soltab */
    part part;        /* of the parm's numbers */
    bool placed; /* it has axes of time and freq even where the parm does not vary along them */
} quantity;

enum { MAX_QUANTITIES = 2, MAX_ELEMENTS = 4, UNITY = -1 };

typedef struct {
    quantity quantity[MAX_QUANTITIES];
    int quantities;
    int member[MAX_ELEMENTS]; /* of each element; UNITY: it is 1 */
    int elements;             /* 1: there is no axis pol */
} meaning;

/* A parm that is written. */
typedef struct {
    const solve_parm *own;
    const grove_parm_run *run;
    const unsigned char *known;
    const solve_results *results;
    int64_t bands; /* domains along frequency */
    meaning meaning;
    places time, freq;
    int64_t stations, sources;
    char **station, **source; /* their names; NULL: there is no such axis */
} written;

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

static void sample(places *p, const grove_parm_intervals *own, const solve_cut *cut)
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

static places find_places(const grove_parm_intervals *own, const solve_cut *cut)
{
    places p = {.varies = own->axis != NULL,
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

static void free_places(places *p)
{
    free(p->at);
    free(p->x);
    free(p->width);
    free(p->whole);
    free(p->interval);
    free(p->domain);
}

/* ---- a parm in the table ---- */

static meaning meaning_of(const solve_parm *own)
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
    meaning m = {.quantities = own->parts, .member = {0, 1, 2, 3}, .elements = own->parm->members};

    if (own->parts == 2) {
        m.quantity[0] = (quantity){"amplitude", AMPLITUDE, true};
        m.quantity[1] = (quantity){"phase", PHASE, true};
    } else {
        for (size_t i = 0; i < sizeof(real) / sizeof(real[0]); i++)
            if (!strcmp(jones, real[i].jones))
                m.quantity[0] = (quantity){real[i].type, REAL, real[i].placed};
    }
    if (!strcmp(jones, "leakage")) {
        m.elements = MAX_ELEMENTS;
        memcpy(m.member, (const int[]){UNITY, 0, 1, UNITY}, sizeof(m.member));
    }
    return m;
}

/* ---- numbers ---- */

static int64_t numbers_of(const written *w)
{
    return w->time.count * w->freq.count * w->stations * w->sources * w->meaning.elements;
}

/* The value at a place: the sum of its polynomials. *at: its first coefficient. */
static double complex value_at(const written *w, int member, int64_t t, int64_t f, int64_t station,
                               int64_t source, int64_t *at)
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

static double part_of(double complex value, part which)
{
    return which == REAL ? creal(value) : which == AMPLITUDE ? cabs(value) : carg(value);
}

/* Number n of a soltab, [time][freq][ant][dir][pol]; `error` may be NULL. */
static void put_number(const written *w, part which, int64_t n, double *value, float *weight,
                       double *error)
{
    int64_t station = n / w->meaning.elements / w->sources % w->stations,
            source = n / w->meaning.elements % w->sources;
    int64_t cell = n / w->meaning.elements / w->sources / w->stations;
    int64_t t = cell / w->freq.count, f = cell % w->freq.count, at;
    int member = w->meaning.member[n % w->meaning.elements];
    const solve_result *result =
        &w->results->results[w->time.domain[t] * w->bands + w->freq.domain[f]];
    double complex number = value_at(w, member == UNITY ? 0 : member, t, f, station, source, &at);
    bool known = solve_is_found(result->outcome) && w->known[at];

    if (member == UNITY)
        number = 1;
    known = known && isfinite(creal(number)) && isfinite(cimag(number));
    *value = known ? part_of(number, which) : NAN;
    *weight = known ? 1 : 0;
    if (error)
        *error = !known            ? NAN
                 : member == UNITY ? 0
                 : which == PHASE  ? w->run->phase_errors[at]
                                   : w->run->errors[at];
}

/* ---- names and directions ---- */

/* A copy, with brackets as lists of sources have them in these files. */
static char **names_of(const grove_axis *axis, bool brackets)
{
    char **names = axis ? grove_alloc(((size_t)axis->size + 1) * sizeof(*names)) : NULL;

    for (int64_t i = 0; axis && i < axis->size; i++) {
        const char *label = axis->labels ? axis->labels[i] : NULL;
        char *name = label ? grove_strdup(label) : grove_format("%lld", (long long)i);
        names[i] = brackets ? grove_format("[%s]", name) : grove_strdup(name);
        free(name);
    }
    return names;
}

static void free_names(char **names, int64_t count)
{
    for (int64_t i = 0; names && i < count; i++)
        free(names[i]);
    free(names);
}

static const grove_axis *directions_of(const grove_parm *p)
{
    return p->groups ? p->groups : p->source;
}

/* Of a group the middle of its sources. */
static void find_direction(const grove_parm *p, const double *radec, int64_t which, double to[2])
{
    double sum[3] = {0};

    for (int64_t i = 0; radec && i < p->source->size; i++) {
        const double *at = radec + 2 * i;
        if (p->groups ? p->group[i] != (double)which : i != which)
            continue;
        sum[0] += cos(at[1]) * cos(at[0]);
        sum[1] += cos(at[1]) * sin(at[0]);
        sum[2] += sin(at[1]);
    }
    to[0] = atan2(sum[1], sum[0]);
    to[1] = atan2(sum[2], hypot(sum[0], sum[1]));
}

static const grove_node *observation_of(const solve *s)
{
    for (int i = 0; i < s->parm_count; i++)
        if (grove_node_object(s->parms[i].leaf, "obs"))
            return grove_node_object(s->parms[i].leaf, "obs");
    return NULL;
}

/* ---- the table ---- */

enum { UNIT_BYTES = 48 };

typedef struct {
    const solve *s;
    const grove_node *obs; /* NULL: none */
    bool circular;
    grove_solution_axis whole[SOLVE_CUTS]; /* one interval; size 0: there is no such axis */
    double middle[SOLVE_CUTS], width[SOLVE_CUTS];
    written *parms;
    grove_soltab *soltabs;
    int count;
    char **antennas, **sources;
    int64_t source_count;
    double *directions;
    const char *outcomes[SOLVE_OUTCOMES];
    char (*units)[UNIT_BYTES]; /* [parms] */
    grove_solution_table table;
} building;

static grove_solution_axis axis_of(const building *b, int cut, const places *p, bool placed)
{
    grove_solution_axis axis = b->whole[cut];

    if (!p->varies)
        axis.size = placed ? axis.size : 0;
    else
        axis = (grove_solution_axis){axis.name, p->count, p->whole, NULL, p->width, p->at};
    return axis;
}

static void set_axes(const building *b, const written *w, bool placed, grove_soltab *t)
{
    static const char *const pols[2][2][4] = {{{"XX", "YY"}, {"RR", "LL"}},
                                              {{"XX", "XY", "YX", "YY"}, {"RR", "RL", "LR", "LL"}}};
    int elements = w->meaning.elements;
    const grove_solution_axis axes[] = {
        axis_of(b, SOLVE_TIME, &w->time, placed),
        axis_of(b, SOLVE_FREQ, &w->freq, placed),
        {"ant", w->station ? w->stations : 0, NULL, (const char *const *)w->station, NULL},
        {"dir", w->source ? w->sources : 0, NULL, (const char *const *)w->source, NULL},
        {"pol", elements > 1 ? elements : 0, NULL, pols[elements == 4][b->circular], NULL}};

    for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++)
        if (axes[i].size)
            t->axis[t->axes++] = axes[i];
    if (!t->axes) /* LoSoTo needs one */
        t->axis[t->axes++] = (grove_solution_axis){"time", 1, &b->middle[SOLVE_TIME], NULL,
                                                   b->whole[SOLVE_TIME].width};
}

/* How the fit of each domain ended, at each time and frequency of the soltab. */
static int add_domains(const written *w, grove_soltab *t)
{
    size_t cells = (size_t)(w->time.count * w->freq.count);
    double *chi2 = grove_try_alloc(cells, sizeof(*chi2));
    int64_t *freedom = grove_try_alloc(cells, sizeof(*freedom));
    int32_t *iterations = grove_try_alloc(cells, sizeof(*iterations)),
            *outcome = grove_try_alloc(cells, sizeof(*outcome));

    t->chi2 = chi2;
    t->freedom = freedom;
    t->iterations = iterations;
    t->outcome = outcome;
    if (!chi2 || !freedom || !iterations || !outcome)
        return GROVE_NO_MEMORY;
    for (int64_t i = 0; i < (int64_t)cells; i++) {
        int64_t time = w->time.domain[i / w->freq.count], freq = w->freq.domain[i % w->freq.count];
        const solve_result *result = &w->results->results[time * w->bands + freq];
        bool found = solve_is_found(result->outcome);
        chi2[i] = found ? result->chi2 : NAN;
        freedom[i] = found ? result->freedom : 0;
        iterations[i] = result->iterations;
        outcome[i] = (int32_t)result->outcome;
    }
    return 0;
}

static int add_soltab(building *b, const written *w, const quantity *q)
{
    grove_soltab *t = &b->soltabs[b->count++];
    int64_t numbers = numbers_of(w);
    /* deviations of the terms of polynomials are none of their sum */
    bool errors = b->s->errors && w->own->terms == 1;
    double *value = grove_try_alloc((size_t)numbers, sizeof(*value)),
           *error = errors ? grove_try_alloc((size_t)numbers, sizeof(*error)) : NULL;
    float *weight = grove_try_alloc((size_t)numbers, sizeof(*weight));

    *t = (grove_soltab){
        .type = q->type,
        .parm = grove_node_property(w->own->leaf, "name"),
        .jones = grove_node_text(w->own->leaf, "jones"),
        .unit = b->units[w - b->parms][0] && q->part != PHASE ? b->units[w - b->parms] : NULL,
        .value = value,
        .weight = weight,
        .error = error};
    set_axes(b, w, q->placed, t);
    if (!value || !weight || (errors && !error))
        return GROVE_NO_MEMORY;
    for (int64_t n = 0; n < numbers; n++)
        put_number(w, q->part, n, value + n, weight + n, error ? error + n : NULL);
    return add_domains(w, t);
}

/* Adds the sources of a parm that no parm before it has. */
static void add_sources(building *b, const written *w)
{
    const grove_parm *p = w->own->parm;
    const grove_node *sky = p->source ? grove_node_object(w->own->leaf, "sky") : NULL;
    const double *radec = sky ? grove_node_member_data(sky, "radec") : NULL;

    for (int64_t i = 0; w->source && i < w->sources; i++) {
        int64_t k = 0;
        while (k < b->source_count && strcmp(b->sources[k], w->source[i]) != 0)
            k++;
        if (k < b->source_count)
            continue;
        size_t count = (size_t)b->source_count + 1;
        b->sources = grove_realloc(b->sources, count * sizeof(*b->sources));
        b->directions = grove_realloc(b->directions, count * 2 * sizeof(*b->directions));
        b->sources[b->source_count] = grove_strdup(w->source[i]);
        find_direction(p, radec, i, b->directions + 2 * b->source_count++);
    }
}

/* Without directions there is one, of the whole field. */
static void add_places(building *b)
{
    const grove_axis *stations = b->obs ? grove_node_axis(b->obs, "station") : NULL;
    const double *centre = b->obs ? grove_node_member_data(b->obs, "phase_centre") : NULL,
                 *position = b->obs ? grove_node_member_data(b->obs, "position") : NULL;

    if (!b->source_count && centre) {
        b->sources = grove_alloc(sizeof(*b->sources));
        b->sources[b->source_count++] = grove_strdup("POINTING");
        b->directions = grove_copy(centre, 2 * sizeof(*centre));
    }
    if (stations && position) {
        b->antennas = names_of(stations, false);
        b->table.antennas = stations->size;
    }
    b->table.antenna = (const char *const *)b->antennas;
    b->table.position = position;
    b->table.sources = b->source_count;
    b->table.source = (const char *const *)b->sources;
    b->table.direction = b->directions;
}

/* Numbers have any unit; other quantities have the layout's. */
static void find_unit(const grove_node *leaf, char *text)
{
    double number[2];

    grove_unit_show(text, grove_node_quantity(leaf, "init", number));
}

/* From the first edge of the data, or else of the observation, to the last one. */
static void find_whole(building *b, int cut)
{
    static const char *const names[SOLVE_CUTS] = {"time", "freq"};
    const grove_axis *axis = b->s->cut[cut].axis;
    double low = INFINITY, high = -INFINITY;

    axis = axis || !b->obs ? axis : grove_node_axis(b->obs, names[cut]);
    for (int64_t i = 0; axis && axis->centre && i < axis->size; i++) {
        double half = axis->width ? fabs(axis->width[i]) / 2 : 0;
        low = fmin(low, axis->centre[i] - half);
        high = fmax(high, axis->centre[i] + half);
    }
    b->whole[cut] = (grove_solution_axis){.name = names[cut]};
    if (!(low <= high))
        return;
    b->middle[cut] = low + (high - low) / 2;
    b->width[cut] = high - low;
    b->whole[cut].size = 1;
    b->whole[cut].number = &b->middle[cut];
    b->whole[cut].width = high > low ? &b->width[cut] : NULL;
}

static void begin(building *b, const solve *s, grove_parm_run *const *runs, const solve_results *r)
{
    b->s = s;
    b->obs = observation_of(s);
    const double *feed = b->obs ? grove_node_member_data(b->obs, "feed") : NULL;
    b->circular = feed && *feed > 0;
    for (int cut = 0; cut < SOLVE_CUTS; cut++)
        find_whole(b, cut);
    b->parms = grove_alloc((size_t)s->parm_count * sizeof(*b->parms));
    b->units = grove_alloc((size_t)s->parm_count * sizeof(*b->units));
    b->soltabs = grove_alloc((size_t)s->parm_count * MAX_QUANTITIES * sizeof(*b->soltabs));
    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        b->parms[i] = (written){.own = &s->parms[i],
                                .run = runs[i],
                                .known = r->known[i],
                                .results = r,
                                .bands = s->cut[SOLVE_FREQ].count,
                                .meaning = meaning_of(&s->parms[i]),
                                .time = find_places(&p->time, &s->cut[SOLVE_TIME]),
                                .freq = find_places(&p->freq, &s->cut[SOLVE_FREQ]),
                                .stations = s->parms[i].stations,
                                .sources = s->parms[i].sources,
                                .station = names_of(p->station, false),
                                .source = names_of(directions_of(p), true)};
        if (!strcmp(grove_node_text(s->parms[i].leaf, "jones"), "none"))
            find_unit(s->parms[i].leaf, b->units[i]);
        add_sources(b, &b->parms[i]);
    }
    add_places(b);
    for (int k = 0; k < SOLVE_OUTCOMES; k++)
        b->outcomes[k] = grove_least_squares_words((grove_least_squares_outcome)k);
    b->table.outcome = b->outcomes;
    b->table.outcomes = SOLVE_OUTCOMES;
    b->table.soltab = b->soltabs;
}

static void end(building *b)
{
    for (int i = 0; i < b->count; i++) {
        const grove_soltab *t = &b->soltabs[i];
        const void *const arrays[] = {t->value,   t->weight,     t->error,  t->chi2,
                                      t->freedom, t->iterations, t->outcome};
        for (size_t k = 0; k < sizeof(arrays) / sizeof(arrays[0]); k++)
            free((void *)(uintptr_t)arrays[k]);
    }
    for (int i = 0; i < b->s->parm_count; i++) {
        free_places(&b->parms[i].time);
        free_places(&b->parms[i].freq);
        free_names(b->parms[i].station, b->parms[i].stations);
        free_names(b->parms[i].source, b->parms[i].sources);
    }
    free_names(b->antennas, b->table.antennas);
    free_names(b->sources, b->source_count);
    free(b->directions);
    free(b->units);
    free(b->soltabs);
    free(b->parms);
}

char *solve_table_bytes(const grove_node *node, const solve *s, grove_parm_run *const *runs,
                        const solve_results *r, size_t *length)
{
    grove_error *error = grove_error_new();
    building b = {.s = s};
    char *bytes = NULL;
    int code = 0;

    begin(&b, s, runs, r);
    for (int i = 0; i < s->parm_count && !code; i++)
        for (int k = 0; k < b.parms[i].meaning.quantities && !code; k++)
            code = add_soltab(&b, &b.parms[i], &b.parms[i].meaning.quantity[k]);
    b.table.soltabs = b.count;
    b.table.history = grove_node_history(node);
    if (!code)
        bytes = grove_solution_table_bytes(&b.table, length, error);
    if (!bytes)
        grove_node_fail_option(node, "to", "%s: %s", grove_node_text(node, "to"),
                               code ? "no memory for its numbers" : grove_error_message(error, 0));
    grove_error_free(error);
    end(&b);
    return bytes;
}

/* ---- checks ---- */

/* All numbers of the file. */
static double bytes_of(const solve *s)
{
    double bytes = 1e5;

    for (int i = 0; i < s->parm_count; i++) {
        const grove_parm *p = s->parms[i].parm;
        const grove_parm_intervals *cuts[] = {&p->time, &p->freq};
        meaning m = meaning_of(&s->parms[i]);
        double numbers = m.quantities * (double)m.elements * (double)s->parms[i].sources *
                         (double)s->parms[i].stations;
        for (int cut = 0; cut < SOLVE_CUTS; cut++)
            numbers *= (double)(cuts[cut]->terms > 1 ? cuts[cut]->axis->size : cuts[cut]->count);
        bytes += numbers * (s->errors ? 20 : 12);
    }
    return bytes;
}

int solve_table_check(grove_node *node, const solve *s)
{
    const char *path = grove_node_text(node, "to");
    grove_error *error = grove_error_new();
    int code = 0;

    if (!grove_node_given(node, "to")) {
        grove_error_free(error);
        return 0;
    }
    if (!grove_grid_is_hdf5(path))
        code = grove_node_fail_option(node, "to", "'%s': the name ends in .h5 or .hdf5", path);
    else if (grove_solution_table_ready(error))
        code = grove_node_fail_option(node, "to", "%s", grove_error_message(error, 0));
    grove_error_free(error);
    if (code)
        return code;
    double bytes = bytes_of(s);
    return grove_node_set_target(node,
                                 &(grove_target){.path = path,
                                                 .overwrite = grove_node_bool(node, "overwrite"),
                                                 .bytes = (uint64_t)fmin(bytes, 9e18)});
}
