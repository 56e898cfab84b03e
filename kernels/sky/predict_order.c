/* The order of sources and rows. Where a vector has a source in each lane, neighbours in the sky
 * are put together, since their smearing is much the same. A vector of rows is skipped for a batch
 * of sources if all of them are below the cutoff in all rows, so sources and rows of similar size
 * are put together. */
#include "../common/visibility.h"
#include "predict_private.h"

#include <stdlib.h>

typedef struct {
    int64_t number;
    double size;
} item;

static int compare(const void *a, const void *b)
{
    const item *x = a, *y = b;

    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Sorts the numbers in `list` by the sizes that `measure` returns. 0: no memory. */
static int sort(const grove_predict_sum *p, int64_t *list, int64_t count,
                double (*measure)(const grove_predict_sum *p, int64_t number))
{
    item *items = calloc((size_t)count + 1, sizeof(*items));

    if (!items)
        return 0;
    for (int64_t i = 0; i < count; i++)
        items[i] = (item){list[i], measure(p, list[i])};
    qsort(items, (size_t)count, sizeof(*items), compare);
    for (int64_t i = 0; i < count; i++)
        list[i] = items[i].number;
    free(items);
    return 1;
}

static int is_gaussian(const grove_predict_sum *p, int64_t source)
{
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source);

    return shape && grove_is_gaussian(shape);
}

/* The larger axis of a Gaussian; the distance of a point from the phase centre, which smearing
 * grows with. */
static double size_of_source(const grove_predict_sum *p, int64_t source)
{
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source);
    const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, source);

    if (is_gaussian(p, source))
        return fmax(fabs(shape[0]), fabs(shape[1]));
    return lmn[0] * lmn[0] + lmn[1] * lmn[1];
}

/* The bits of both direction cosines in turn (Morton 1966): neighbours have similar numbers. */
static double place_of_source(const grove_predict_sum *p, int64_t source)
{
    enum { BITS = 22 };
    const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, source);
    uint64_t place = 0;

    for (int d = 0; d < 2; d++) {
        double x = fmin(fmax(lmn[d], -1), 1) * (1 << (BITS - 1)) + (1 << (BITS - 1));
        uint64_t cell = x >= 0 ? (uint64_t)x : 0; /* else not a number */
        for (int bit = 0; bit <= BITS; bit++)
            place |= (cell >> bit & 1) << (2 * bit + d);
    }
    return (double)place;
}

static double size_of_row(const grove_predict_sum *p, int64_t number)
{
    row r;

    find_row(p->args, number, &r);
    const double *uvw = (const double *)(const void *)r.in[GROVE_PREDICT_UVW];
    return uvw[0] * uvw[0] + uvw[1] * uvw[1];
}

int grove_predict_order_sources(grove_predict_sum *p)
{
    int64_t at = 0;

    for (int gaussian = 0; gaussian < 2; gaussian++) {
        for (int64_t i = 0; i < p->sources; i++) {
            int64_t s = p->chosen ? p->chosen[i] : i;
            if (is_gaussian(p, s) == gaussian)
                p->order[at++] = s;
        }
        if (!gaussian)
            p->job.points = at;
    }
    p->job.gaussians = at - p->job.points;
    int by_place = grove_predict_channels_bare(p);
    if (!by_place && !(p->plan.cutoff > 0))
        return 1;
    return sort(p, p->order, p->job.points, by_place ? place_of_source : size_of_source) &&
           sort(p, p->order + p->job.points, p->job.gaussians,
                by_place ? place_of_source : size_of_source);
}

int grove_predict_list_rows(grove_predict_sum *p)
{
    if (!p->row_list) {
        p->row_list = calloc((size_t)p->rows + 1, sizeof(*p->row_list));
        for (int64_t i = 0; p->row_list && i < p->rows; i++)
            p->row_list[i] = i;
    }
    return p->row_list != NULL;
}

int grove_predict_order_rows(grove_predict_sum *p)
{
    return grove_predict_list_rows(p) && sort(p, p->row_list, p->row_count, size_of_row);
}

/* Whether the channels' distance from equal spacing turns no phase, of a delay or of its change
 * within an integration, by a relevant angle. */
static int is_even(const grove_predict_sum *p, int64_t number)
{
    double length = 0;
    row r;

    find_row(p->args, number, &r);
    const double *uvw = (const double *)(const void *)r.in[GROVE_PREDICT_UVW];
    const double *rate = (const double *)(const void *)r.in[GROVE_PREDICT_RATE];
    const double *interval = (const double *)(const void *)r.in[GROVE_PREDICT_INTERVAL];
    for (int k = 0; k < 3; k++)
        length += fabs(uvw[k]) + (p->plan.smear_time ? fabs(rate[k] * *interval) : 0);
    return length * p->largest_direction * p->plan.channels.deviation <= tolerance_of(p);
}

int grove_predict_move_even(grove_predict_sum *p, int64_t *list, int64_t *count)
{
    int64_t kept = 0;

    p->even = calloc((size_t)*count + 1, sizeof(*p->even));
    if (!p->even)
        return 0;
    for (int64_t i = 0; i < *count; i++)
        if (is_even(p, list[i]))
            p->even[p->even_count++] = list[i];
        else
            list[kept++] = list[i];
    *count = kept;
    return 1;
}
