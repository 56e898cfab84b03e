/* A number, times that which the table has for time and channel: for tests. */

#ifndef LOOKUP_COUNT
#define LOOKUP_COUNT 50000
#endif

GROVE_CELL(lookup)
{
    const double *table = GROVE_TABLE(c, double);
    const cplx *x = GROVE_COMPLEXES(c, 0);
    cplx *out = GROVE_OUT_COMPLEX(c);
    real factor = (real)table[(grove_cell_index(c, GROVE_AXIS_TIME) * 7001 +
                               grove_cell_index(c, GROVE_AXIS_FREQ) * 1237) %
                              LOOKUP_COUNT];

    out[0].re = x[0].re * factor;
    out[0].im = x[0].im * factor;
}
