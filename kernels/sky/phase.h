/* K_sp = exp(-2 pi i nu/c (u_p l + v_p m + w_p (n - 1))) (Baxter, appendix B). Inputs: lmn,
 * station_uvw, freq. */
#include "../common/visibility.h"

GROVE_CELL(phase)
{
    const double *lmn = GROVE_DOUBLES(c, 0), *uvw = GROVE_DOUBLES(c, 1);
    grove_cplx64 phasor = grove_phasor(-GROVE_DOUBLES(c, 2)[0] * grove_delay(uvw, lmn));

    GROVE_OUT_COMPLEX(c)[0] = cx((real)phasor.re, (real)phasor.im);
}
