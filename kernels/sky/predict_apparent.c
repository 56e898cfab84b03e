/* Jones terms of the source alone, folded into its brightness: apparent fluxes. */
#include "predict_private.h"

#include <stdlib.h>
#include <string.h>

int grove_predict_apparent_pack(grove_predict_sum *p)
{
    static const int inputs[] = {GROVE_PREDICT_LEFT, GROVE_PREDICT_BRIGHTNESS, GROVE_PREDICT_RIGHT};
    const grove_args *args = p->args;
    int64_t channels = p->plan.flat ? 1 : p->channels;
    int elements = args->out.elements;
    double *to = calloc((size_t)(p->sources * channels) + 1, 8 * sizeof(double));
    grove_view *view = &p->apparent_args.in[GROVE_PREDICT_BRIGHTNESS];

    p->apparent = to;
    if (!to)
        return 0;
    for (int64_t i = 0; i < p->sources * channels; i++, to += 8) {
        grove_cplx64 m[3][4], part[4], all[4];
        for (int k = 0; k < 3; k++) {
            const char *at = at_source(p, inputs[k], i / channels);
            matrix_at(&args->in[inputs[k]],
                      at ? at + stride_of(&args->in[inputs[k]], p->freq) * (i % channels) : NULL,
                      m[k]);
        }
        grove_mat_mul_double(part, m[0], m[1]);
        grove_mat_mul_double(all, part, m[2]);
        all[1] = elements == 2 ? all[3] : all[1];
        memcpy(to, all, sizeof(all));
    }
    p->apparent_args = *args;
    *view = args->out;
    view->data = p->apparent;
    view->bytes = 8;
    memset(view->stride, 0, sizeof(view->stride));
    if (p->source >= 0)
        view->stride[p->source] = channels * 8 * (int64_t)sizeof(double);
    if (p->freq >= 0 && !p->plan.flat)
        view->stride[p->freq] = 8 * (int64_t)sizeof(double);
    p->apparent_args.in[GROVE_PREDICT_LEFT].data = NULL;
    p->apparent_args.in[GROVE_PREDICT_RIGHT].data = NULL;
    p->args = &p->apparent_args;
    return 1;
}
