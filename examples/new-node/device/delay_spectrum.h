/* Copies numbers along one axis, before the transform and after it. */
#ifndef DELAY_SPECTRUM_STEP /* this file is read once for each precision */
#define DELAY_SPECTRUM_STEP
typedef struct {
    int64_t shift, length; /* along the last axis number k is read at k + shift, modulo length */
    double scale;
    int64_t window; /* not 0: a Hann window over the channels */
} delay_spectrum_step;
#endif

GROVE_CELL(delay_spectrum)
{
    const delay_spectrum_step *step = GROVE_STATE(c, delay_spectrum_step);
    int last = c->args->axes - 1;
    int64_t index[GROVE_MAX_AXES];
    double weight = step->scale;

    for (int d = 0; d < last; d++)
        index[d] = c->index[d];
    index[last] = (c->index[last] + step->shift) % step->length;
    if (step->window)
        weight *=
            0.5 - 0.5 * cos(2 * GROVE_PI * ((double)index[last] + 0.5) / (double)step->length);
    const cplx *x = (const cplx *)(const void *)grove_view_at(&c->args->in[0], index, last + 1);
    GROVE_OUT_COMPLEX(c)->re = (real)(weight * (double)x->re);
    GROVE_OUT_COMPLEX(c)->im = (real)(weight * (double)x->im);
}
