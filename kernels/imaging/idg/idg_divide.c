/* Which visibilities share a subgrid: for each baseline groups of channels, and of times as long as
 * they fit (Veenboer 2021, section 4.3). */
#include "idg_hot.h"

#include <math.h>
#include <stdlib.h>

static const double speed_of_light = 299792458.0;

typedef struct {
    const grove_idg_plan *plan;
    const grove_gridder_samples *samples;
    int64_t baselines;
    const grove_idg_terms *terms; /* NULL: 1 */
    double *wavenumber, highest, scale[2];
    grove_idg_subgrid *subgrid;
    int64_t count, room;
    grove_gridder_outside *outside;
} dividing;

/* The span of some visibilities: u and v, cells; w, wavelengths. */
typedef struct {
    double low[3], high[3];
} span;

static double weight_of(const dividing *d, int64_t i)
{
    const grove_gridder_samples *s = d->samples;

    if (!s->weight)
        return 1;
    return d->plan->grid.bounds.double_precision ? ((const double *)s->weight)[i]
                                                 : (double)((const float *)s->weight)[i];
}

/* The sign of w in a row that counts; 0: none of it does. */
static int sign_of(dividing *d, int64_t row)
{
    const double *uvw = d->samples->uvw + 3 * row, highest = d->highest;
    const int64_t channels = d->samples->channels;
    bool any = !d->samples->weight;

    for (int64_t c = 0; c < channels && !any; c++)
        any = weight_of(d, row * channels + c) != 0;
    if (!any)
        return 0;
    const grove_gridder_bounds *b = &d->plan->grid.bounds;
    if (isfinite(uvw[0]) && isfinite(uvw[1]) && isfinite(uvw[2]) &&
        fmax(fabs(uvw[0]), fabs(uvw[1])) * highest * fmax(d->scale[0], d->scale[1]) < 1e9 &&
        (b->without_w || fabs(uvw[2]) * highest <= b->max_w * (1 + 1e-6)))
        return uvw[2] < 0 ? -1 : 1;
    for (int64_t c = 0; c < channels; c++) {
        const double weight = weight_of(d, row * channels + c);
        d->outside->samples += weight != 0;
        d->outside->weight += weight;
    }
    return 0;
}

/* With the ends of channels [first, last) of a row. */
static span extended(const dividing *d, span s, int64_t row, int64_t first, int64_t last, int sign)
{
    const double *uvw = d->samples->uvw + 3 * row;

    for (int k = 0; k < 3; k++)
        for (int end = 0; end < 2; end++) {
            const double at = sign * uvw[k] * d->wavenumber[end ? last - 1 : first] *
                              (k < 2                            ? d->scale[k]
                               : d->plan->grid.bounds.without_w ? 0
                                                                : 1);
            s.low[k] = at < s.low[k] ? at : s.low[k];
            s.high[k] = at > s.high[k] ? at : s.high[k];
        }
    return s;
}

static span empty(void)
{
    return (span){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
}

/* A middle is a whole cell, up to half a cell from the middle of the span. */
static bool fits(const dividing *d, const span *s)
{
    const double room = 2 * d->plan->reach - 1, room_w = 2 * d->plan->reach_w;

    return s->high[0] - s->low[0] <= room && s->high[1] - s->low[1] <= room &&
           s->high[2] - s->low[2] <= room_w;
}

static void find_terms(const dividing *d, grove_idg_subgrid *g)
{
    const grove_idg_terms *t = d->terms;
    const int64_t baseline = g->row % d->baselines,
                  numbers = t ? t->elements * d->plan->side * 2 * grove_idg_line(d->plan) : 0;

    for (int k = 0; k < 2 && t; k++) {
        const int64_t station = k ? t->right[baseline] : t->left[baseline];
        g->term[k] =
            ((t->time_block[g->row / d->baselines] * t->stations + station) * t->channel_blocks +
             t->channel_block[g->first]) *
            numbers;
    }
}

/* The cell of the grid, which repeats itself, in which a subgrid begins. */
static int32_t start_of(const grove_idg_plan *p, int32_t cell, int d)
{
    const int64_t size = p->grid.grid[d], at = (cell - p->side / 2 + size / 2) % size;

    return (int32_t)(at < 0 ? at + size : at);
}

static int append(dividing *d, grove_idg_subgrid g, const span *s)
{
    const grove_idg_plan *p = d->plan;

    if (d->count == d->room) {
        const int64_t room = d->room ? 2 * d->room : 1024;
        grove_idg_subgrid *more = realloc(d->subgrid, (size_t)room * sizeof(*more));
        if (!more)
            return -1;
        d->subgrid = more;
        d->room = room;
    }
    for (int k = 0; k < 2; k++) {
        g.cell[k] = (int32_t)rint((s->low[k] + s->high[k]) / 2);
        g.start[k] = start_of(d->plan, g.cell[k], k);
    }
    g.w = (s->low[2] + s->high[2]) / 2;
    if (p->layers > 1) {
        const double layer = rint((g.w - p->first_w) / p->step_w);
        g.layer = (int32_t)fmin(fmax(layer, 0), (double)(p->layers - 1));
    }
    g.plane = p->tile ? 0 : g.layer;
    find_terms(d, &g);
    d->subgrid[d->count++] = g;
    return 0;
}

/* Channels [first, last) of `times` rows from `row` on, of one sign: as many times as fit, then the
 * next. Of a single channel any time fits. */
static int divide_times(dividing *d, int64_t row, int32_t times, int32_t first, int32_t last,
                        int sign)
{
    grove_idg_subgrid g = {.row = row, .first = first, .channels = last - first, .sign = sign};
    span held = empty();
    int code = 0;

    for (int32_t t = 0; t < times && !code; t++) {
        const int64_t at = row + t * d->baselines;
        const span next = extended(d, held, at, first, last, sign);
        if (g.times && !fits(d, &next)) {
            code = append(d, g, &held);
            g.row = at;
            g.times = 0;
            held = extended(d, empty(), at, first, last, sign);
        } else {
            held = next;
        }
        g.times++;
    }
    return code ? code : append(d, g, &held);
}

/* How many of channels [first, last) of a run of rows take half the room. */
static int32_t channels_of(const dividing *d, int64_t row, int32_t times, int32_t first,
                           int32_t last, int sign)
{
    const grove_idg_plan *p = d->plan;
    double parts = 1;

    for (int32_t t = 0; t < times; t++) {
        const span s = extended(d, empty(), row + t * d->baselines, first, last, sign);
        for (int k = 0; k < 2; k++)
            parts = fmax(parts, (s.high[k] - s.low[k]) / (p->reach - 0.5));
        if (s.high[2] > s.low[2])
            parts = fmax(parts, (s.high[2] - s.low[2]) / p->reach_w);
    }
    const double each = floor((double)(last - first) / ceil(parts));
    return (int32_t)(each >= 1 ? each : 1);
}

/* Channels of one block of terms. */
static int divide_channels(dividing *d, int64_t row, int32_t times, int32_t first, int32_t last,
                           int sign)
{
    const int32_t all = last - first, most = channels_of(d, row, times, first, last, sign),
                  groups = (all + most - 1) / most;
    int code = 0;

    for (int32_t k = 0; k < groups && !code; k++)
        code = divide_times(d, row, times, first + (int32_t)((int64_t)all * k / groups),
                            first + (int32_t)((int64_t)all * (k + 1) / groups), sign);
    return code;
}

static int divide_run(dividing *d, int64_t row, int32_t times, int sign)
{
    const int32_t channels = (int32_t)d->samples->channels;
    const int32_t *block = d->terms ? d->terms->channel_block : NULL;
    int code = 0;

    for (int32_t first = 0, last; first < channels && !code; first = last) {
        for (last = first + 1; last < channels && (!block || block[last] == block[first]);)
            last++;
        code = divide_channels(d, row, times, first, last, sign);
    }
    return code;
}

static int divide_baseline(dividing *d, int64_t baseline)
{
    const int64_t times = d->samples->rows / d->baselines;
    int64_t first = 0;
    int sign = 0, code = 0;

    for (int64_t t = 0; t <= times && !code; t++) {
        const int next = t < times ? sign_of(d, t * d->baselines + baseline) : 0;
        const bool same = !d->terms || t == 0 || t == times ||
                          d->terms->time_block[t] == d->terms->time_block[t - 1];
        if (next == sign && same && t < times)
            continue;
        if (sign)
            code = divide_run(d, first * d->baselines + baseline, (int32_t)(t - first), sign);
        first = t;
        sign = next;
    }
    return code;
}

int grove_idg_divide(const grove_idg_plan *plan, const grove_gridder_samples *samples,
                     int64_t baselines, const grove_idg_terms *terms, grove_idg_subgrid **subgrids,
                     int64_t *count, grove_gridder_outside *outside)
{
    dividing d = {.plan = plan,
                  .samples = samples,
                  .baselines = baselines,
                  .terms = terms,
                  .wavenumber = malloc((size_t)samples->channels * sizeof(double) + 1),
                  .outside = outside};
    int code = d.wavenumber ? 0 : -1;

    for (int k = 0; k < 2; k++)
        d.scale[k] = (double)plan->grid.grid[k] * plan->grid.image.cell[k];
    for (int64_t k = 0; k < samples->channels && !code; k++) {
        d.wavenumber[k] = samples->freq[k] / speed_of_light;
        d.highest = fmax(d.highest, d.wavenumber[k]);
    }
    for (int64_t b = 0; b < baselines && samples->channels && !code; b++)
        code = divide_baseline(&d, b);
    free(d.wavenumber);
    *subgrids = d.subgrid;
    *count = d.count;
    return code;
}

bool grove_idg_are_even(const double *wavenumber, int64_t count)
{
    const double step =
        count > 1 ? (wavenumber[count - 1] - wavenumber[0]) / (double)(count - 1) : 0;

    for (int64_t k = 0; k < count; k++)
        if (fabs(wavenumber[k] - wavenumber[0] - (double)k * step) > 1e-13 * fabs(wavenumber[k]))
            return false;
    return true;
}
