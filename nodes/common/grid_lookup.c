#include "nodes/common/grid_lookup.h"

#include "nodes/common/grid_intervals.h"
#include "util.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void grove_lookup_begin(grove_lookup *lookup, grove_grid *grid, const char *option)
{
    int64_t step = 1;

    *lookup = (grove_lookup){.grid = grid, .option = option};
    for (int d = grid->axes - 1; d >= 0; d--) {
        lookup->step[d] = step;
        step *= grid->axis[d].size;
    }
}

void grove_lookup_free(grove_lookup *lookup)
{
    for (int d = 0; d < GROVE_MAX_AXES; d++)
        free(lookup->from[d]);
    memset(lookup->from, 0, sizeof(lookup->from));
    free(lookup->note);
    lookup->note = NULL;
}

static const char *owner_name(const grove_axis *axis)
{
    return axis->owner ? grove_node_name(axis->owner) : "the parm";
}

/* ---- numbers ---- */

/* The two knots around a number; unless they are to be interpolated, the nearest has the whole
 * weight. */
static grove_lookup_place find(const grove_knot *knots, int64_t count, double x, double close,
                               bool linear)
{
    int64_t low = 0, high = count - 1;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        *(knots[middle].at <= x ? &low : &high) = middle;
    }
    if (fabs(x - knots[low].at) <= close || count == 1)
        return (grove_lookup_place){knots[low].place, knots[low].place, 0};
    if (fabs(x - knots[high].at) <= close)
        return (grove_lookup_place){knots[high].place, knots[high].place, 0};
    double weight = (x - knots[low].at) / (knots[high].at - knots[low].at);
    if (linear && weight > 0 && weight < 1)
        return (grove_lookup_place){knots[low].place, knots[high].place, weight};
    low = weight > 0.5 ? high : low;
    return (grove_lookup_place){knots[low].place, knots[low].place, 0};
}

/* "30 d", "1 h 30 min", "200 MHz" */
static char *distance_of(bool time, double x)
{
    char text[32];

    if (time)
        return x < 2 * 86400. ? grove_strdup(grove_show_seconds(text, x))
                              : grove_format("%.*f d", x < 10 * 86400. ? 1 : 0, x / 86400);
    return x >= 1e9   ? grove_format("%.4g GHz", x / 1e9)
           : x >= 1e6 ? grove_format("%.4g MHz", x / 1e6)
                      : grove_format("%.4g kHz", x / 1e3);
}

/* ", 2020-01-31T20:00:30.0 after 2020-01-01T20:04:00.0" */
static char *dates_of(double own, double of_file, const char *beyond)
{
    char one[40], other[40];

    return grove_format(", %s %s %s", grove_show_date(one, own), beyond,
                        grove_show_date(other, of_file));
}

/* Observations of times further apart are not of one session. Numbers that are the same for all
 * times of a set, such as a bandpass, are taken over to sets of the same day. */
#define SESSION (12 * 3600.)
#define DAY     (24 * 3600.)

/* How far the cells are from the file's numbers, below them or above: of times where they are of
 * another session or day, of channels where not one is there. Otherwise 0. */
static double gap_of(const grove_lookup *t, bool time, const grove_axis *axis,
                     const grove_knot *knots, int64_t count, bool *above)
{
    double low = INFINITY, high = -INFINITY, width = 0;

    for (int64_t i = 0; i < axis->size; i++) {
        double half = axis->width ? fabs(axis->width[i]) / 2 : 0;
        low = fmin(low, axis->centre[i] - half);
        high = fmax(high, axis->centre[i] + half);
        width = fmax(width, half);
    }
    double gap = fmax(knots[0].low - high, low - knots[count - 1].high);
    *above = gap == low - knots[count - 1].high;
    if (!time && t->any_freq)
        return 0;
    double most = !time ? width : count < 2 && t->intervals ? DAY : SESSION;
    return gap > most ? gap : 0;
}

/* The treatment of cells beyond the file's knots. */
static char *outcome_of(const grove_lookup *t, const grove_node *node, bool one, bool last,
                        bool all)
{
    bool edge = grove_node_choice(node, "outside") == GROVE_LOOKUP_EDGE;

    return edge || (one && t->intervals)
               ? grove_format("its %s %s are used%s", last ? "last" : "first",
                              t->intervals ? "solutions" : "numbers", all ? "" : " there")
               : grove_format("all are flagged");
}

/* Notes cells that lie farther below the file's first knot, or above its last, than that one's
 * width. */
static void note_beyond(grove_lookup *t, const grove_node *node, const char *name,
                        const grove_axis *axis, const grove_knot *knots, int64_t count)
{
    const grove_knot *end[] = {&knots[0], &knots[count - 1]};
    bool time = !strcmp(name, "time"), above = false;
    bool edge = grove_node_choice(node, "outside") == GROVE_LOOKUP_EDGE;
    double min = INFINITY, max = -INFINITY, gap = gap_of(t, time, axis, knots, count, &above);

    for (int64_t i = 0; i < axis->size; i++) {
        min = fmin(min, axis->centre[i]);
        max = fmax(max, axis->centre[i]);
    }
    for (int last = 0; last < 2; last++) {
        double width = end[last]->high - end[last]->low,
               nearest = last ? min - end[1]->high : end[0]->low - max,
               farthest = last ? max - end[1]->high : end[0]->low - min;
        bool apart = gap > 0 && above == last, all = apart || nearest > width;
        if (!apart && (!edge || count < 2 || farthest <= width))
            continue;
        char *old = t->note, *distance = distance_of(time, all ? nearest : farthest),
             *outcome = outcome_of(t, node, count < 2, last, all);
        const char *beyond = time ? (last ? "after" : "before") : (last ? "above" : "below");
        char *dates = time && apart
                          ? dates_of(last ? min : max, last ? end[1]->high : end[0]->low, beyond)
                          : grove_strdup("");
        t->note = grove_format("%s%s%s of '%s' %s %s %s the %s of the file%s; %s", old ? old : "",
                               old ? "; " : "", time ? "times" : "channels", owner_name(axis),
                               all == last ? "begin" : "end", distance, beyond,
                               last ? "last" : "first", dates, outcome);
        free(dates);
        t->apart = t->apart || apart;
        free(outcome);
        free(distance);
        free(old);
    }
}

void grove_lookup_report(grove_node *node, const char *note, bool apart)
{
    if (apart)
        grove_node_warn(node, "%s", note);
    else
        grove_node_note(node, "%s", note);
}

static int match_numbers(grove_node *node, grove_lookup *t, int d, const grove_axis *axis)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    int outside = grove_node_choice(node, "outside");
    bool linear = grove_node_choice(node, "interpolate") == GROVE_LOOKUP_LINEAR;
    grove_knot *knots = grove_knots_new(own->number, own->width, own->size, t->intervals);
    double first = knots[0].at, last = knots[own->size - 1].at, low = first, high = last;
    int code = 0;

    if (t->intervals || !linear) {
        low = knots[0].low;
        high = knots[own->size - 1].high;
    }
    for (int64_t i = 1; i < own->size && !code; i++)
        if (knots[i].at == knots[i - 1].at)
            code = grove_node_fail_option(node, t->option, "%s %.15g is in the file twice",
                                          own->name, knots[i].at);
    for (int64_t i = 0; i < axis->size && !code; i++) {
        double x = axis->centre[i], width = axis->width ? axis->width[i] : 0;
        double close = fmax(1e-6 * fabs(width), 1e-15 * fabs(x));
        bool beyond = (x < low - close || x > high + close) && !(t->intervals && own->size == 1);
        t->from[d][i] = find(knots, own->size, x, close, linear);
        if (t->intervals && !linear) {
            int64_t place = grove_knots_interval(knots, own->size, x, fabs(width));
            t->from[d][i] = (grove_lookup_place){place, place, 0};
        }
        if (!beyond || outside == GROVE_LOOKUP_EDGE)
            continue;
        t->from[d][i].low = -1;
        t->flags = true;
        if (outside == GROVE_LOOKUP_ERROR)
            code = grove_node_fail_option(
                node, t->option,
                "%s %.15g of '%s' is outside the range of the file, from %.15g to %.15g; "
                "outside=edge takes the nearest, outside=flag flags",
                own->name, x, owner_name(axis), first, last);
    }
    if (!code)
        note_beyond(t, node, own->name, axis, knots, own->size);
    free(knots);
    return code;
}

/* ---- names ---- */

typedef struct {
    const char *name, *other;
    int64_t place;
} name_place;

static int by_name(const void *a, const void *b)
{
    const name_place *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order || !x->other ? order : strcmp(x->other, y->other);
}

/* The name of the patch that a source is of, or NULL. */
static const char *patch_of(const grove_node *sky, int64_t source)
{
    const double *patch = sky ? grove_node_member_data(sky, "patch") : NULL;
    const grove_axis *patches = sky ? grove_node_axis(sky, "patch") : NULL;

    if (!patch || !patches || !patches->labels ||
        !(patch[source] >= 0 && patch[source] < (double)patches->size))
        return NULL;
    return patches->labels[(int64_t)patch[source]];
}

/* The names of the file in order; a direction of H5parm may be a list of patches. `copy` has its
 * words. */
static name_place *sorted_names(const grove_grid_axis *own, bool lists, char ***copy, size_t *count)
{
    size_t room = (size_t)own->size;

    for (int64_t i = 0; i < own->size && lists; i++)
        for (const char *at = own->label[i]; *at; at++)
            room += *at == ',';
    name_place *names = grove_alloc((room + 1) * sizeof(*names));
    *copy = grove_alloc(((size_t)own->size + 1) * sizeof(char *));
    *count = 0;
    for (int64_t i = 0; i < own->size; i++) {
        char *next = (*copy)[i] = grove_strdup(own->label[i]);
        while (next) {
            char *word = next + (lists ? strspn(next, " ") : 0), *comma = strchr(word, ',');
            next = lists && comma ? comma + 1 : NULL;
            if (next)
                *comma = 0;
            names[(*count)++] = (name_place){word, own->other ? own->other[i] : NULL, i};
        }
    }
    qsort(names, *count, sizeof(*names), by_name);
    return names;
}

static int find_names(grove_node *node, grove_lookup *t, int d, const grove_axis *axis,
                      const grove_node *object, const name_place *names, size_t count)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    const grove_axis *stations = object ? grove_node_axis(object, "station") : NULL;
    const char *const *labels = own->other ? stations->labels : axis->labels;
    bool source = !strcmp(axis->name, "source");
    int code = 0;

    for (int64_t i = 0; i < axis->size && !code; i++) {
        name_place key = {own->other ? labels[axis->left[i]] : labels[i],
                          own->other ? labels[axis->right[i]] : NULL, 0};
        const char *patch = source ? patch_of(object, i) : NULL;
        const name_place *found = bsearch(&key, names, count, sizeof(*names), by_name);
        if (!found && patch)
            found = bsearch(&(name_place){patch, NULL, 0}, names, count, sizeof(*names), by_name);
        t->from[d][i].low = found ? found->place : -1;
        t->flags = t->flags || !found;
        if (!found && grove_node_choice(node, "outside") != GROVE_LOOKUP_FLAG)
            code = grove_node_fail_option(
                node, t->option, "it has no %s '%s%s%s' of '%s'; outside=flag flags missing ones",
                own->name, key.name, key.other ? "', '" : "", key.other ? key.other : "",
                owner_name(axis));
    }
    return code;
}

static int match_names(grove_node *node, grove_lookup *t, int d, const grove_axis *axis,
                       const grove_node *object)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    char **words;
    size_t count;
    name_place *names =
        sorted_names(own, !strcmp(own->name, "source") && t->intervals, &words, &count);
    int code = 0;

    for (size_t i = 1; i < count && !code; i++)
        if (!by_name(&names[i - 1], &names[i]))
            code = grove_node_fail_option(node, t->option, "%s '%s%s%s' is in the file twice",
                                          own->name, names[i].name, names[i].other ? "', '" : "",
                                          names[i].other ? names[i].other : "");
    if (!code)
        code = find_names(node, t, d, axis, object, names, count);
    for (int64_t i = 0; i < own->size; i++)
        free(words[i]);
    free(words);
    free(names);
    return code;
}

/* ---- axes ---- */

void grove_lookup_take(grove_lookup *t, int d, const grove_axis *axis)
{
    t->axis[d] = axis;
    free(t->from[d]);
    t->from[d] = grove_alloc((size_t)axis->size * sizeof(grove_lookup_place) + 1);
    for (int64_t i = 0; i < axis->size; i++)
        t->from[d][i] = (grove_lookup_place){i, i, 0};
}

int grove_lookup_match(grove_node *node, grove_lookup *t, int d, const grove_axis *axis,
                       const grove_node *object)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    const grove_axis *stations = object ? grove_node_axis(object, "station") : NULL;

    grove_lookup_take(t, d, axis);
    if (own->number && axis->centre)
        return match_numbers(node, t, d, axis);
    if (own->label && (own->other ? stations && stations->labels : axis->labels != NULL))
        return match_names(node, t, d, axis, object);
    if (own->size != axis->size)
        return grove_node_fail_option(node, t->option, "it has %lld cells along %s, '%s' has %lld",
                                      (long long)own->size, own->name, owner_name(axis),
                                      (long long)axis->size);
    return 0;
}

/* ---- missing numbers ---- */

/* One element of the cells along axis d that begin with `first`. */
static void fill_line(const grove_lookup *t, int d, const grove_knot *knots, int64_t first, int e)
{
    const grove_grid_column *column = t->grid->column;
    unsigned char bit = (unsigned char)(1 << e);
    int64_t before = -1;

    for (int64_t i = 0; i < t->grid->axis[d].size; i++) {
        int64_t cell = first + knots[i].place * t->step[d];
        if (column->flags[cell] & bit)
            continue;
        int64_t low = first + (before < 0 ? 0 : knots[before].place) * t->step[d];
        double a = column->numbers[low * column->elements + e],
               step = column->numbers[cell * column->elements + e] - a;
        step = t->period > 0 ? remainder(step, t->period) : step;
        for (int64_t k = before + 1; before >= 0 && k < i; k++) {
            int64_t missing = first + knots[k].place * t->step[d];
            double weight = (knots[k].at - knots[before].at) / (knots[i].at - knots[before].at);
            column->numbers[missing * column->elements + e] = a + weight * step;
            column->flags[missing] &= (unsigned char)~bit;
        }
        before = i;
    }
}

static void fill_axis(const grove_lookup *t, int d)
{
    const grove_grid_axis *own = &t->grid->axis[d];
    grove_knot *knots = grove_knots_new(own->number, own->width, own->size, true);

    for (int64_t cell = 0; cell < t->grid->cells; cell++)
        for (int e = 0; e < t->grid->column->elements && cell / t->step[d] % own->size == 0; e++)
            fill_line(t, d, knots, cell, e);
    free(knots);
}

void grove_lookup_fill(const grove_node *node, grove_lookup *t)
{
    static const char *const names[] = {"time", "freq"};

    if (!t->intervals || !t->grid->column->flags ||
        grove_node_choice(node, "interpolate") != GROVE_LOOKUP_LINEAR)
        return;
    for (int n = 0; n < 2; n++)
        for (int d = 0; d < t->grid->axes; d++)
            if (!strcmp(t->grid->axis[d].name, names[n]) && t->grid->axis[d].number)
                fill_axis(t, d);
    grove_grid_settle(t->grid, t->grid->column);
}

/* ---- numbers at a cell ---- */

/* The corners of the file's grid that a cell lies between, and their weights. */
typedef struct {
    int64_t cell[1 << GROVE_VALUE_AXES];
    double weight[1 << GROVE_VALUE_AXES];
    int next[1 << GROVE_VALUE_AXES]; /* a corner along an edge, which comes before it */
    int count;                       /* 0: nowhere */
} corners;

static void find_corners(const grove_lookup *t, const int64_t index[GROVE_MAX_AXES], corners *c)
{
    c->count = 1;
    c->cell[0] = 0;
    c->weight[0] = 1;
    for (int d = 0; d < t->grid->axes; d++) {
        const grove_lookup_place *from = &t->from[d][index[d]];
        int before = c->count;
        if (from->low < 0) {
            c->count = 0;
            return;
        }
        for (int k = 0; k < before; k++) {
            int64_t cell = c->cell[k];
            c->cell[k] = cell + from->low * t->step[d];
            if (from->weight == 0)
                continue;
            c->cell[c->count] = cell + from->high * t->step[d];
            c->next[c->count] = k;
            c->weight[c->count++] = c->weight[k] * from->weight;
            c->weight[k] *= 1 - from->weight;
        }
    }
}

static double interpolated(const grove_grid_column *column, const corners *c, int numbers, int n,
                           double period)
{
    double at[1 << GROVE_VALUE_AXES], sum = 0;

    for (int k = 0; k < c->count; k++) {
        at[k] = column->numbers[c->cell[k] * numbers + n];
        if (period > 0 && k)
            at[k] = at[c->next[k]] + remainder(at[k] - at[c->next[k]], period);
        sum += c->weight[k] * at[k];
    }
    return sum;
}

/* The corner that is nearest, the later one of two. */
static int64_t nearest_cell(const corners *c)
{
    int found = 0;

    for (int k = 1; k < c->count; k++)
        found = c->weight[k] >= c->weight[found] ? k : found;
    return c->cell[found];
}

unsigned char grove_lookup_cell(const grove_lookup *t, const grove_grid_column *column,
                                const int64_t index[GROVE_MAX_AXES], double *to)
{
    int numbers = column->elements * (column->complex_ ? 2 : 1);
    corners c;

    find_corners(t, index, &c);
    unsigned char flags = c.count ? 0 : 255;
    for (int k = 0; k < c.count && column->flags; k++)
        flags |= column->flags[c.cell[k]];
    for (int n = 0; n < numbers; n++)
        to[n] = c.count == 1 ? column->numbers[c.cell[0] * numbers + n] /* its very bits */
                             : interpolated(column, &c, numbers, n, t->period);
    if (flags && t->intervals && c.count > 1) {
        int64_t cell = nearest_cell(&c);
        for (int e = 0; e < column->elements; e++)
            if (flags >> e & 1)
                to[e] = column->numbers[cell * numbers + e];
        flags &= column->flags[cell];
    }
    return (unsigned char)(flags & ((1 << (column->elements < 8 ? column->elements : 8)) - 1));
}
