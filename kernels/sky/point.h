/* One source on one baseline in one time and channel. Inputs: brightness, lmn, shape, uvw, freq,
 * uvw_rate, interval, channel_width; the last three only with smearing. */
#include "../common/visibility.h"

GROVE_CELL(point)
{
    const double *lmn = GROVE_DOUBLES(c, 1), *shape = GROVE_DOUBLES(c, 2);
    const double *uvw = GROVE_DOUBLES(c, 3), *freq = GROVE_DOUBLES(c, 4);
    const double *rate = GROVE_DOUBLES(c, 5), *interval = GROVE_DOUBLES(c, 6);
    const double *width = GROVE_DOUBLES(c, 7);
    double delay = grove_delay(uvw, lmn), factor = 1;
    grove_cplx64 phasor = grove_phasor(-*freq * delay);

    if (shape && grove_is_gaussian(shape))
        factor *= exp(-grove_gaussian(uvw, shape, c->args->in[2].elements) * *freq * *freq);
    if (rate)
        factor *= grove_smear(*freq * grove_delay(rate, lmn) * *interval);
    if (width)
        factor *= grove_smear(*width * delay);
    cplx phase = cx((real)(factor * phasor.re), (real)(factor * phasor.im));
    for (int e = 0; e < c->args->out.elements; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx_mul(phase, GROVE_COMPLEXES(c, 0)[e]);
}
