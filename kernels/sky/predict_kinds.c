/* Splits the sky by kinds of sources: points from Gaussians where a form can have the former
 * only, unpolarised sources, which need one real sum, from others, which need up to four. */
#include "../common/visibility.h"
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

enum { WORTH = GROVE_PREDICT_SPLIT, KINDS = 4, POLARISED = 1, GAUSSIAN = 2 };

/* Whether the brightness is not the same real number on the diagonal and zero off it, in any
 * channel. */
static int is_polarised(const grove_predict_sum *p, int64_t source)
{
    const grove_view *view = input_of(p, GROVE_PREDICT_BRIGHTNESS);
    int64_t channels = p->plan.flat ? 1 : p->channels;

    for (int64_t k = 0; k < channels; k++) {
        grove_cplx64 m[4];
        matrix_at(view,
                  at_source(p, GROVE_PREDICT_BRIGHTNESS, source) + stride_of(view, p->freq) * k, m);
        if (m[0].re != m[3].re || m[0].im != 0 || m[3].im != 0 || m[1].re != 0 || m[1].im != 0 ||
            m[2].re != 0 || m[2].im != 0)
            return 1;
    }
    return 0;
}

static int is_gaussian(const grove_predict_sum *p, int64_t source)
{
    const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, source);

    return shape && grove_is_gaussian(shape);
}

/* Whether fewer elements of the brightness make fewer sums: not between Jones matrices. */
static int elements_matter(const grove_predict_sum *p)
{
    return p->plan.jones != GROVE_PREDICT_WITHIN ||
           (input_of(p, GROVE_PREDICT_LEFT)->shape != GROVE_MATRIX &&
            input_of(p, GROVE_PREDICT_RIGHT)->shape != GROVE_MATRIX);
}

/* The kinds that are summed separately: bits. */
static int find_kinds(const grove_predict_sum *p, unsigned char *kind)
{
    int64_t plain = 0, points = 0;
    int separate = 0;

    for (int64_t s = 0; s < p->sources; s++) {
        kind[s] = (unsigned char)((is_polarised(p, s) ? POLARISED : 0) |
                                  (is_gaussian(p, s) ? GAUSSIAN : 0));
        plain += !(kind[s] & POLARISED);
        points += !(kind[s] & GAUSSIAN);
    }
    if (plain >= WORTH && plain < p->sources && elements_matter(p))
        separate |= POLARISED;
    if (points >= WORTH && points < p->sources &&
        (p->plan.way == GROVE_PREDICT_STATION ? grove_predict_station_fits(p)
                                              : grove_predict_shares_matrices(p)))
        separate |= GAUSSIAN;
    return separate;
}

/* Gives `to` the sources of a kind, as many as `count`. */
static int choose(grove_predict_sum *to, const unsigned char *kind, int64_t sources, int separate,
                  int which, int64_t count)
{
    to->chosen = calloc((size_t)count + 1, sizeof(*to->chosen));
    if (!to->chosen)
        return 0;
    to->sources = 0;
    for (int64_t s = 0; s < sources; s++)
        if ((kind[s] & separate) == which)
            to->chosen[to->sources++] = s;
    return 1;
}

static int split_by(grove_predict_sum *p, const unsigned char *kind, int separate)
{
    int64_t count[KINDS] = {0}, sources = p->sources;
    grove_predict_sum *last = NULL, whole = *p;

    for (int64_t s = 0; s < sources; s++)
        count[kind[s] & separate]++;
    for (int which = 0; which < KINDS; which++) {
        if (!count[which])
            continue;
        grove_predict_sum *to = last ? calloc(1, sizeof(*to)) : p;
        if (!to)
            return 0;
        if (last) {
            *to = whole;
            to->apparent = NULL; /* the first one's */
            to->args = p->args;
            to->adds = 1;
            last->next = to;
        }
        last = to;
        if (!choose(to, kind, sources, separate, which, count[which]))
            return 0;
    }
    return 1;
}

int grove_predict_split(grove_predict_sum *p)
{
    unsigned char *kind = calloc((size_t)p->sources + 1, 1);
    int good = kind != NULL;

    if (good && p->sources > WORTH) {
        int separate = find_kinds(p, kind);
        good = !separate || split_by(p, kind, separate);
    }
    free(kind);
    return good;
}
