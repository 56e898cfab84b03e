#include "nodes/imaging/image_samples.h"
#include "nodes/imaging/image_plane.h"

#include "unstable/fit.h"
#include "unstable/keep.h"
#include "util.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arrays ---- */

typedef struct {
    int64_t time, baseline, freq; /* cells from one to the next; 0: it does not vary */
    int64_t first_channel;        /* of the array */
} steps;

static const grove_range *range_of(const grove_array *array, int kind, int64_t *step)
{
    const grove_range *found = NULL;
    int64_t cells = 1;

    *step = 0;
    for (int d = array->axes - 1; d >= 0; d--) {
        if (array->range[d].axis->kind == kind) {
            *step = cells;
            found = &array->range[d];
        }
        cells *= array->range[d].count;
    }
    return found;
}

static steps steps_of(const grove_array *array)
{
    steps s = {0};

    if (!array)
        return s;
    range_of(array, GROVE_AXIS_TIME, &s.time);
    range_of(array, GROVE_AXIS_BASELINE, &s.baseline);
    const grove_range *freq = range_of(array, GROVE_AXIS_FREQ, &s.freq);
    s.first_channel = freq ? freq->first : 0;
    return s;
}

image_extent image_part_extent(const image_part *part)
{
    const grove_array *arrays[] = {part->data, part->weights, part->uvw};
    image_extent e = {1, 1, 0, part->freq->size};

    for (int k = 0; k < 3; k++) {
        int64_t step;
        if (!arrays[k])
            continue;
        const grove_range *time = range_of(arrays[k], GROVE_AXIS_TIME, &step);
        const grove_range *baseline = range_of(arrays[k], GROVE_AXIS_BASELINE, &step);
        const grove_range *freq = range_of(arrays[k], GROVE_AXIS_FREQ, &step);
        e.times = time ? time->count : e.times;
        e.baselines = baseline ? baseline->count : e.baselines;
        e.first_channel = freq ? freq->first : e.first_channel;
        e.channels = freq ? freq->count : e.channels;
    }
    int64_t end = e.first_channel + e.channels, last = part->first_channel + part->channels;
    e.first_channel = e.first_channel < part->first_channel ? part->first_channel : e.first_channel;
    e.channels = (end < last ? end : last) - e.first_channel;
    return e;
}

/* Whether a row of the part is missing. */
static bool is_missing(const image_part *part, const steps *missing, int64_t time, int64_t baseline)
{
    return part->missing && part->missing->flags &&
           part->missing->flags[time * missing->time + baseline * missing->baseline];
}

int64_t image_part_times(const image_part *part, const image_extent *e, int64_t first,
                         int64_t samples)
{
    const steps missing = steps_of(part->missing);
    int64_t rows = e->channels > 0 ? samples / e->channels : 0, times = 0;

    while (first + times < e->times) {
        int64_t present = 0;
        for (int64_t b = 0; b < e->baselines; b++)
            present += part->all_rows || !is_missing(part, &missing, first + times, b);
        if (times && present > rows)
            break;
        rows -= present;
        times++;
    }
    return times;
}

/* ---- samples ---- */

typedef struct {
    const image_part *part;
    image_extent extent;
    int64_t first;
    bool double_precision;
    image_samples *to;
    steps data, weights, uvw, missing;
    double *sum;         /* [row] of weights */
    int64_t *not_finite; /* [row] */
    int64_t *outside;    /* [row] */
    int64_t *beyond;     /* [row] */
} work;

/* Whether u and v are within the limits. */
static bool is_only_w(const double uvw[3], double freq, const double longest[3])
{
    return image_is_within(uvw, freq, (double[]){longest[0], longest[1], INFINITY});
}

static double read_number(const grove_array *array, int64_t at)
{
    return array->form->precision == GROVE_PRECISION_DOUBLE ? ((const double *)array->data)[at]
                                                            : ((const float *)array->data)[at];
}

/* The weight of a sample whose Stokes parameters are half the sum, or difference, of two elements:
 * twice the harmonic mean of all used ones. 0 where one has none, or is flagged. */
static double weight_of(const work *w, int64_t data, int64_t weights)
{
    const image_part *p = w->part;
    int used = p->stokes.used, count = 0;
    double sum = 0;

    if (p->data && p->data->flags && p->data->flags[data] & used)
        return 0;
    if (!p->weights)
        return 1;
    int elements = p->weights->elements, flags = p->weights->flags ? p->weights->flags[weights] : 0;
    for (int k = 0; k < elements; k++) {
        if (elements > 1 && !(used >> k & 1))
            continue;
        double each = read_number(p->weights, weights * elements + k);
        if (!(each > 0) || isinf(each) || flags >> k & 1)
            return 0;
        sum += 1 / each;
        count++;
    }
    return count ? (elements > 1 ? 2 : 1) * count / sum : 0;
}

/* Stokes parameters of a sample; false where they are no numbers. */
static bool mix(const work *w, int64_t data, double stokes[IMAGE_MAX_STOKES][2])
{
    const image_stokes *s = &w->part->stokes;
    bool finite = true;

    for (int i = 0; i < s->count; i++) {
        stokes[i][0] = stokes[i][1] = 0;
        for (int k = 0; k < s->elements; k++) {
            const double *factor = s->factor[i][k];
            if (factor[0] == 0 && factor[1] == 0)
                continue;
            int64_t at = 2 * (data * s->elements + k);
            double re = read_number(w->part->data, at), im = read_number(w->part->data, at + 1);
            stokes[i][0] += factor[0] * re - factor[1] * im;
            stokes[i][1] += factor[0] * im + factor[1] * re;
        }
        finite = finite && isfinite(stokes[i][0]) && isfinite(stokes[i][1]);
    }
    return finite;
}

static void put(void *at, int64_t k, double x, bool double_precision)
{
    if (double_precision)
        ((double *)at)[k] = x;
    else
        ((float *)at)[k] = (float)x;
}

static int64_t cell_of(const steps *s, int64_t time, int64_t baseline, int64_t channel)
{
    return time * s->time + baseline * s->baseline + (channel - s->first_channel) * s->freq;
}

/* A row that the part is missing. */
static void blank_row(work *w, int64_t row, int count)
{
    const int64_t first = row * w->extent.channels;

    memset(w->to->uvw + 3 * row, 0, 3 * sizeof(double));
    for (int64_t at = first; at < first + w->extent.channels; at++) {
        put(w->to->weight, at, 0, w->double_precision);
        for (int i = 0; i < 2 * count; i++)
            put(w->to->data, 2 * count * at + i, 0, w->double_precision);
    }
}

static void make_row(work *w, int64_t row)
{
    const int64_t cell = w->to->list ? w->to->list[row] : row;
    const int64_t t = w->first + cell / w->extent.baselines, b = cell % w->extent.baselines;
    const int count = w->part->as_ones ? 1 : w->part->stokes.count;
    const int64_t uvw = 3 * (t * w->uvw.time + b * w->uvw.baseline);

    if (!w->to->list && is_missing(w->part, &w->missing, t, b)) {
        blank_row(w, row, count);
        return;
    }
    memcpy(w->to->uvw + 3 * row, (const double *)w->part->uvw->data + uvw, 3 * sizeof(double));
    for (int64_t f = 0; f < w->extent.channels; f++) {
        int64_t data = cell_of(&w->data, t, b, w->extent.first_channel + f);
        int64_t weights = cell_of(&w->weights, t, b, w->extent.first_channel + f);
        double stokes[IMAGE_MAX_STOKES][2] = {{1, 0}}, weight = weight_of(w, data, weights);
        const double freq = w->part->freq->centre[w->extent.first_channel + f];
        if (weight > 0 && w->part->longest[0] > 0 &&
            !image_is_within(w->to->uvw + 3 * row, freq, w->part->longest)) {
            w->outside[row]++;
            w->beyond[row] += is_only_w(w->to->uvw + 3 * row, freq, w->part->longest);
            weight = 0;
        }
        if (weight > 0 && !w->part->as_ones && !mix(w, data, stokes)) {
            w->not_finite[row]++;
            weight = 0;
        }
        int64_t at = row * w->extent.channels + f;
        put(w->to->weight, at, weight, w->double_precision);
        w->sum[row] += weight;
        for (int i = 0; i < 2 * count; i++)
            put(w->to->data, 2 * count * at + i, weight > 0 ? stokes[i / 2][i % 2] : 0,
                w->double_precision);
    }
}

static void make_rows(void *context, int64_t first, int64_t last)
{
    for (int64_t row = first; row < last; row++)
        make_row(context, row);
}

/* Lists the rows that are there, unless all are taken; how many are. -1: no memory. */
static int64_t list_rows(work *w, int64_t count)
{
    const int64_t baselines = w->extent.baselines, cells = count * baselines;
    int64_t rows = 0;

    if (!w->part->missing || w->part->all_rows)
        return cells;
    int64_t *list = w->to->list = malloc((size_t)cells * sizeof(*list) + 1);
    for (int64_t i = 0; list && i < cells; i++)
        if (!is_missing(w->part, &w->missing, w->first + i / baselines, i % baselines))
            list[rows++] = i;
    return list ? rows : -1;
}

int image_samples_make(const grove_call *call, const image_part *part, int64_t first, int64_t count,
                       bool double_precision, image_samples *s)
{
    const image_extent e = image_part_extent(part);
    work w = {.part = part,
              .extent = e,
              .first = first,
              .double_precision = double_precision,
              .to = s,
              .data = steps_of(part->data),
              .weights = steps_of(part->weights),
              .uvw = steps_of(part->uvw),
              .missing = steps_of(part->missing)};
    *s = (image_samples){0};
    const int64_t rows = list_rows(&w, count);
    const size_t real = double_precision ? sizeof(double) : sizeof(float),
                 samples = (size_t)(rows * e.channels);

    if (rows < 0)
        return -1;
    s->uvw = malloc((size_t)rows * 3 * sizeof(double) + 1);
    s->data = malloc(samples * 2 * real * (size_t)(part->as_ones ? 1 : part->stokes.count) + 1);
    s->weight = malloc(samples * real + 1);
    w.sum = calloc((size_t)rows + 1, sizeof(*w.sum));
    w.not_finite = calloc((size_t)rows + 1, sizeof(*w.not_finite));
    w.outside = calloc((size_t)rows + 1, sizeof(*w.outside));
    w.beyond = calloc((size_t)rows + 1, sizeof(*w.beyond));
    bool made = s->uvw && s->data && s->weight && w.sum && w.not_finite && w.outside && w.beyond;
    if (made) {
        grove_call_parallel(call, rows, make_rows, &w);
        s->samples = (grove_gridder_samples){.rows = rows,
                                             .channels = e.channels,
                                             .uvw = s->uvw,
                                             .freq = part->freq->centre + e.first_channel,
                                             .data = s->data,
                                             .weight = s->weight};
    }
    for (int64_t row = 0; row < rows && made; row++) {
        s->weight_sum += w.sum[row];
        s->not_finite += w.not_finite[row];
        s->outside += w.outside[row];
        s->beyond += w.beyond[row];
    }
    free(w.sum);
    free(w.not_finite);
    free(w.outside);
    free(w.beyond);
    if (!made)
        image_samples_free(s);
    return made ? 0 : -1;
}

void image_samples_free(image_samples *s)
{
    free(s->uvw);
    free(s->data);
    free(s->weight);
    free(s->list);
    *s = (image_samples){0};
}

void image_sizes_add(image_sizes *sizes, const image_samples *s, int stokes)
{
    const double *weight = s->weight, *data = s->data;

    for (int64_t k = 0; k < s->samples.rows * s->samples.channels; k++) {
        double size = 0;
        if (!(weight[k] > 0))
            continue;
        for (int i = 0; i < stokes; i++)
            size = fmax(size, hypot(data[2 * (k * stokes + i)], data[2 * (k * stokes + i) + 1]));
        size = fmin(weight[k] * size, DBL_MAX);
        image_sum_add(&sizes->weight, weight[k]);
        image_sum_add(&sizes->size, size);
        sizes->largest = fmax(sizes->largest, size);
    }
}

/* ---- shared by the classes that make samples ---- */

int image_samples_find_missing(grove_node *node, int k)
{
    const int missing =
        k >= 0 && grove_node_input_form(node, k) ? grove_node_add_rows_input(node, k) : -1;

    if (missing >= 0)
        grove_node_use_flags_only(node, missing);
    return missing;
}

int image_samples_find_weights(grove_node *node, int like, int elements, int *weights)
{
    const bool given = *weights >= 0 && grove_node_input_form(node, *weights) != NULL;

    if (!given)
        *weights = grove_node_add_member_input(node, like, "weight");
    const grove_form *form = *weights < 0 ? NULL : grove_node_input_form(node, *weights);
    if (!form || form->shape == GROVE_SCALAR || form->shape == elements)
        return 0;
    if (given)
        return grove_node_fail_option(node, "weights",
                                      "they must be numbers, or of the shape of the visibilities");
    grove_node_drop_input(node, *weights);
    *weights = -1;
    return 0;
}

void image_samples_consume_axes(grove_node *node)
{
    for (int k = 0; k < grove_node_inputs(node); k++) {
        const grove_axis *axes[GROVE_MAX_AXES];
        int count = grove_node_input_form(node, k) ? grove_node_input_axes(node, k, axes) : 0;
        for (int i = 0; i < count; i++)
            grove_node_consume(node, axes[i]->kind);
    }
}

int image_samples_none(const grove_node *node, int64_t outside, const char *limit)
{
    if (outside)
        return grove_node_fail(
            node, GROVE_INVALID,
            "there is nothing to image: the baselines of %lld visibilities are not numbers, or "
            "longer than %s, and no others are left; a larger max_uvw includes longer ones",
            (long long)outside, limit);
    return grove_node_fail(node, GROVE_INVALID,
                           "there is nothing to image: all visibilities are flagged, have no "
                           "weight, or are not numbers");
}

void image_samples_warn_not_finite(const grove_node *node, int64_t not_finite)
{
    if (not_finite)
        grove_node_warn(node, "%lld visibilities are not numbers, and left out",
                        (long long)not_finite);
}
