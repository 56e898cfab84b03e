/* Phase, smearing and shape of a source on a baseline, in double precision: what phase, point and
 * predict share. */
#ifndef GROVE_KERNELS_VISIBILITY_H
#define GROVE_KERNELS_VISIBILITY_H

#include "cell.h"

/* Geometric delay in s of direction lmn (l, m, n - 1) on coordinates uvw in m; with the rates of
 * the coordinates, the rate of the delay. Exactly zero at the phase centre and on the zero
 * baseline. */
GROVE_FN double grove_delay(const double uvw[3], const double lmn[3])
{
    return (uvw[0] * lmn[0] + uvw[1] * lmn[1] + uvw[2] * lmn[2]) / GROVE_SPEED_OF_LIGHT;
}

/* Cosine and sine of 2 pi turns; whole turns are removed first. */
GROVE_FN grove_cplx64 grove_phasor(double turns)
{
    double angle = 2 * GROVE_PI * (turns - rint(turns));
    grove_cplx64 z;
    z.re = cos(angle);
    z.im = sin(angle);
    return z;
}

/* sin x / x for |x| up to 1/2, to the last bit. */
GROVE_FN double grove_sinc_near(double x)
{
    double y = x * x;
    double series = -1.0 / 39916800.0 + y * (1.0 / 6227020800.0);
    series = 1.0 / 362880.0 + y * series;
    series = -1.0 / 5040.0 + y * series;
    series = 1.0 / 120.0 + y * series;
    series = -1.0 / 6.0 + y * series;
    return 1 + y * series;
}

GROVE_FN int grove_sinc_is_near(double x)
{
    return x < 0.5 && x > -0.5;
}

/* sin x / x for any x. */
GROVE_FN double grove_sinc(double x)
{
    return grove_sinc_is_near(x) ? grove_sinc_near(x) : sin(x) / x;
}

/* The mean of exp(i phi) over a cell in which phi grows linearly by `turns` turns is the value at
 * the cell's centre times the sinc of half the growth (Baxter, appendix B.4). */
GROVE_FN double grove_smear(double turns)
{
    return grove_sinc(GROVE_PI * turns);
}

/* A Gaussian of FWHM shape[0], shape[1] (rad) and position angle shape[2] multiplies visibilities
 * by exp(-(result) nu^2), in Hz^-2: (pi^2 / 4 ln 2) (bmaj^2 u'^2 + bmin^2 v'^2) / c^2, u' along
 * bmaj. */
GROVE_FN double grove_gaussian(const double uvw[3], const double shape[3])
{
    double sine = sin(shape[2]), cosine = cos(shape[2]);
    double major = shape[0] * (uvw[0] * sine + uvw[1] * cosine) / GROVE_SPEED_OF_LIGHT;
    double minor = shape[1] * (uvw[0] * cosine - uvw[1] * sine) / GROVE_SPEED_OF_LIGHT;

    return GROVE_PI * GROVE_PI / (4 * 0.69314718055994530942) * (major * major + minor * minor);
}

GROVE_FN int grove_is_gaussian(const double shape[3])
{
    return shape[0] != 0 || shape[1] != 0;
}

#endif
