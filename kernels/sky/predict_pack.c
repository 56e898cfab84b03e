/* Inputs that all rows share, packed once for an evaluation. */
#include "../common/visibility.h"
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

static void pack_geometry(grove_predict_sum *p)
{
    for (int64_t i = 0; i < p->sources; i++) {
        const double *lmn = doubles_at(p, GROVE_PREDICT_LMN, p->order[i]);
        for (int k = 0; k < 3; k++)
            p->direction[3 * i + k] = lmn[k] / GROVE_SPEED_OF_LIGHT;
    }
    for (int64_t i = 0; i < 3 * p->sources; i++)
        p->largest_direction = fmax(p->largest_direction, fabs(p->direction[i]));
    for (int64_t i = 0; i < p->job.gaussians; i++) {
        const double *shape = doubles_at(p, GROVE_PREDICT_SHAPE, p->order[p->job.points + i]);
        grove_find_ellipse(shape, input_of(p, GROVE_PREDICT_SHAPE)->elements, sin(shape[2]),
                           cos(shape[2]), p->ellipse + 5 * i);
    }
}

/* Frequencies and widths of the tile's channels at their place in its blocks. Places outside the
 * tile repeat its last channel. */
static void pack_channels(grove_predict_sum *p)
{
    const grove_view *freq = &p->args->in[GROVE_PREDICT_FREQ];
    const grove_view *width = &p->args->in[GROVE_PREDICT_WIDTH];

    for (int64_t k = 0; k < p->blocks * PREDICT_BLOCK; k++) {
        int64_t at = p->first_block * PREDICT_BLOCK + k - p->origin;
        at = at < 0 || at >= p->channels ? p->channels - 1 : at;
        memcpy(&p->freqs[k], (const char *)freq->data + stride_of(freq, p->freq) * at, 8);
        if (width->data)
            memcpy(&p->widths[k], (const char *)width->data + stride_of(width, p->freq) * at, 8);
    }
}

/* Is coefficient b equal to a everywhere (1), its negative (-1), neither (0)? */
static int compare(const grove_predict_sum *p, int a, int b)
{
    int equal = 1, negative = 1;
    int64_t channels = p->plan.flat ? 1 : p->channels;

    for (int64_t s = 0; s < p->sources && (equal || negative); s++)
        for (int64_t k = 0; k < channels; k++) {
            double x = a < 0 ? 0 : coefficient(p, p->order[s], k, a);
            double y = coefficient(p, p->order[s], k, b);
            equal = equal && x == y;
            negative = negative && x == -y;
        }
    return equal ? 1 : negative ? -1 : 0;
}

/* Finds which real sums are needed, each once. */
static void find_components(grove_predict_sum *p)
{
    int *from = p->component_source;

    for (int b = 0; b < 2 * p->elements; b++) {
        part_of *to = &p->coefficients[b];
        to->component = -1;
        if (compare(p, -1, b))
            continue;
        for (int c = 0; c < p->components && to->component < 0; c++) {
            int same = compare(p, from[c], b);
            if (same) {
                to->component = c;
                to->negative = same < 0;
            }
        }
        if (to->component < 0) {
            to->negative = 0;
            to->component = p->components;
            from[p->components++] = b;
        }
    }
}

static void fill_weights(grove_predict_sum *p)
{
    int64_t channels = p->plan.flat ? 1 : p->blocks * PREDICT_BLOCK;
    float *singles = p->weight;
    double *doubles = p->weight;
    int single = p->args->out.bytes == 4;

    for (int64_t i = 0; i < p->sources; i++)
        for (int64_t k = 0; k < channels; k++) {
            int64_t at = p->plan.flat ? 0 : p->first_block * PREDICT_BLOCK + k - p->origin;
            for (int c = 0; c < p->components; c++) {
                double x = at < 0 || at >= p->channels
                               ? 0
                               : coefficient(p, p->order[i], at, p->component_source[c]);
                if (single)
                    *singles++ = (float)x;
                else
                    *doubles++ = x;
            }
        }
}

static void set_job(grove_predict_sum *p)
{
    grove_predict_job *job = &p->job;

    job->direction = p->direction;
    job->ellipse = p->ellipse;
    job->weight_channel = p->plan.flat ? 0 : p->components;
    job->weight_source = p->components * (p->plan.flat ? 1 : p->blocks * (int64_t)PREDICT_BLOCK);
    job->regular = p->plan.channels.regular && p->plan.count >= recurred(p);
    job->start = p->plan.channels.first;
    job->step = p->plan.channels.step;
    job->equal_width = p->plan.equal_width;
    job->smear_time = p->plan.smear_time;
    job->reference = p->plan.reference;
    job->cutoff = p->plan.cutoff;
}

int grove_predict_pack(grove_predict_sum *p)
{
    size_t sources = (size_t)p->sources + 1, channels = (size_t)p->blocks * PREDICT_BLOCK;

    p->elements = input_of(p, GROVE_PREDICT_BRIGHTNESS)->elements;
    p->jones = p->plan.jones == GROVE_PREDICT_WITHIN || grove_predict_channels_bare(p);
    p->order = calloc(sources, sizeof(*p->order));
    p->direction = calloc(sources, 3 * sizeof(double));
    p->ellipse = calloc(sources, 5 * sizeof(double));
    p->freqs = calloc(channels, sizeof(double));
    p->widths = calloc(channels, sizeof(double));
    if (!p->order || !p->direction || !p->ellipse || !p->freqs || !p->widths)
        return 0;
    if (!grove_predict_order_sources(p))
        return 0;
    pack_geometry(p);
    pack_channels(p);
    if (p->jones && !grove_predict_jones_pack(p))
        return 0;
    if (!p->jones)
        find_components(p);
    set_job(p);
    return 1;
}

int grove_predict_pack_weights(grove_predict_sum *p)
{
    size_t sources = (size_t)p->sources + 1, channels = (size_t)p->blocks * PREDICT_BLOCK;

    if (p->jones || p->form == BY_STATIONS)
        return 1;
    p->weight = calloc(sources * (p->plan.flat ? 1 : channels),
                       ((size_t)p->components + 1) * sizeof(double));
    if (p->weight)
        fill_weights(p);
    return p->weight != NULL;
}
