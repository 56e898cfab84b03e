/* Values of parms: polynomials inside intervals of time and frequency. Input 0: the coefficients;
 * 3: numbers of groups of sources, or NULL. */
#ifndef GROVE_KERNELS_PARM_H
#define GROVE_KERNELS_PARM_H

#include "cell.h"

/* Where a time or a channel lies: the interval, and the place in it, from -1 to 1. */
typedef struct {
    int64_t interval;
    double x;
} grove_parm_place;

/* The node's state. Its table has the places of all times, then of all channels; 0 of them: one
 * interval. */
typedef struct {
    int32_t time_terms, freq_terms; /* of the polynomials; terms are numbered time slowest */
    int32_t interval, band, term;   /* kinds of the coefficients' axes */
    int32_t group;                  /* ... of groups of sources; -1: none */
    int64_t times, channels;
} grove_parm_state;

#endif

GROVE_CELL(parm)
{
    const grove_parm_state *own = GROVE_STATE(c, grove_parm_state);
    const grove_parm_place *places = GROVE_TABLE(c, grove_parm_place);
    const grove_parm_place nowhere = {0, 0};
    const grove_parm_place time =
        own->times ? places[grove_cell_index(c, GROVE_AXIS_TIME)] : nowhere;
    const grove_parm_place freq =
        own->channels ? places[own->times + grove_cell_index(c, GROVE_AXIS_FREQ)] : nowhere;
    const grove_view *in = &c->args->in[0];
    const int64_t group = c->in[3] ? (int64_t)GROVE_DOUBLES(c, 3)[0] : 0;
    int64_t step = 0;
    const char *at = c->in[0];
    double re = 0, im = 0, power = 1;

    for (int d = 0; d < c->args->axes; d++) {
        at += c->args->axis[d] == own->interval ? in->stride[d] * time.interval : 0;
        at += c->args->axis[d] == own->band ? in->stride[d] * freq.interval : 0;
        at += c->args->axis[d] == own->group ? in->stride[d] * group : 0;
        step = c->args->axis[d] == own->term ? in->stride[d] : step;
    }
    for (int i = 0; i < own->time_terms; i++, power *= time.x) {
        double basis = power;
        for (int j = 0; j < own->freq_terms; j++, at += step, basis *= freq.x) {
            re += basis * ((const real *)at)[0];
            im += in->complex_ ? basis * ((const real *)at)[1] : 0;
        }
    }
    GROVE_OUT_REAL(c)[0] = (real)re;
    if (c->args->out.complex_)
        GROVE_OUT_REAL(c)[1] = (real)im;
}
