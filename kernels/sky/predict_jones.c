/* Jones terms inside the sum, packed, and around it. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

static const grove_view *side_of(const grove_predict_sum *p, int side)
{
    return &p->args->in[side ? GROVE_PREDICT_RIGHT : GROVE_PREDICT_LEFT];
}

/* Brightness as matrices, in the kernel's precision; zero outside the tile. 0: no memory. */
static int pack_brightness(grove_predict_sum *p)
{
    const grove_view *view = &p->args->in[GROVE_PREDICT_BRIGHTNESS];
    int64_t channels = p->plan.flat ? 1 : p->blocks * PREDICT_BLOCK;
    int64_t before = p->plan.flat ? 0 : p->first_block * PREDICT_BLOCK - p->origin;
    int single = p->args->out.bytes == 4;
    float *singles;
    double *doubles;

    p->weight = calloc((size_t)(p->sources * channels) + 1, 8 * (single ? 4 : 8));
    if (!p->weight)
        return 0;
    for (int64_t i = 0; i < p->sources; i++)
        for (int64_t k = 0; k < channels; k++) {
            int64_t at = before + k, to = 8 * (i * channels + k);
            grove_cplx64 m[4];
            if (at < 0 || at >= p->channels)
                continue;
            matrix_at(view,
                      at_source(p, GROVE_PREDICT_BRIGHTNESS, p->order[i]) +
                          stride_of(view, p->freq) * at,
                      m);
            singles = (float *)p->weight + to;
            doubles = (double *)p->weight + to;
            for (int e = 0; e < 4; e++)
                if (single) {
                    singles[2 * e] = (float)m[e].re;
                    singles[2 * e + 1] = (float)m[e].im;
                } else {
                    doubles[2 * e] = m[e].re;
                    doubles[2 * e + 1] = m[e].im;
                }
        }
    return 1;
}

/* Whether element a of the brightness equals element b, or zero (b negative), everywhere. */
static int same_element(const grove_predict_sum *p, int a, int b)
{
    int64_t count = p->sources * (p->plan.flat ? 1 : p->blocks * PREDICT_BLOCK);
    const float *singles = p->weight;
    const double *doubles = p->weight;

    for (int64_t i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            int64_t x = 8 * i + 2 * a + k, y = 8 * i + 2 * b + k;
            double is = p->args->out.bytes == 4 ? (double)singles[x] : doubles[x];
            double other = b < 0 ? 0 : p->args->out.bytes == 4 ? (double)singles[y] : doubles[y];
            if (is != other)
                return 0;
        }
    return 1;
}

/* Elements of the output that are summed: with diagonal Jones terms none whose brightness is zero,
 * with scalars none twice. */
static void find_elements(grove_predict_sum *p)
{
    grove_predict_jones *job = &p->terms;
    int elements = p->args->out.elements;
    int scalar = job->side[0].numbers <= 2 && job->side[1].numbers <= 2;

    for (int k = 0; k < elements; k++) {
        int e = elements == 2 ? 3 * k : k, found = -1;
        for (int c = 0; c < job->sum.components && scalar && found < 0; c++)
            found = same_element(p, e, job->element[c]) ? c : -1;
        p->output_elements[k] = (part_of){found, 0};
        if (found >= 0 || (job->diagonal && same_element(p, e, -1)))
            continue;
        p->output_elements[k].component = job->sum.components;
        job->element[job->sum.components++] = e;
    }
}

int grove_predict_jones_pack(grove_predict_sum *p)
{
    grove_predict_jones *job = &p->terms;

    if (!pack_brightness(p))
        return 0;
    for (int side = 0; side < 2; side++) {
        const grove_view *view = side_of(p, side);
        grove_predict_jones_side *to = &job->side[side];
        if (!view->data)
            continue;
        to->numbers = 2 * view->elements;
        to->bytes = view->bytes;
        to->source = stride_of(view, p->source);
        to->channel = stride_of(view, p->freq);
    }
    job->order = p->order;
    job->diagonal = job->side[0].numbers <= 4 && job->side[1].numbers <= 4;
    job->varies = job->side[0].channel || job->side[1].channel;
    find_elements(p);
    p->components = 8; /* numbers of a weight */
    return 1;
}

void grove_predict_jones_around(const grove_predict_sum *p, const row *r, int64_t channel,
                                grove_cplx64 v[4])
{
    const grove_view *left = &p->args->in[GROVE_PREDICT_LEFT];
    const grove_view *right = &p->args->in[GROVE_PREDICT_RIGHT];
    const char *at_left = r->in[GROVE_PREDICT_LEFT], *at_right = r->in[GROVE_PREDICT_RIGHT];
    grove_cplx64 l[4], m[4] = {v[0], {0, 0}, {0, 0}, v[p->elements - 1]}, x[4], y[4];

    if (p->elements == 4)
        memcpy(m, v, sizeof(m));
    matrix_at(left, at_left ? at_left + stride_of(left, p->freq) * channel : NULL, l);
    grove_mat_mul_double(x, l, m);
    matrix_at(right, at_right ? at_right + stride_of(right, p->freq) * channel : NULL, l);
    grove_mat_mul_double(y, x, l);
    memcpy(v, y, sizeof(y));
    if (p->args->out.elements == 2)
        v[1] = y[3];
}
