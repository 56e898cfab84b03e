/* Phase, smearing and shape of a source on a baseline, in double precision: shared by phase, point
 * and predict. */
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

/* Orthographic (SIN) l, m, n - 1 of `radec` about `centre` (Thompson, Moran & Swenson, eq. 3.1),
 * n - 1 and m without cancellation near the centre. */
GROVE_FN void grove_find_lmn(const double radec[2], const double centre[2], double lmn[3])
{
    double east = radec[0] - centre[0], north = radec[1] - centre[1];
    double half_east = sin(east / 2), half_north = sin(north / 2), cosine = cos(radec[1]);

    lmn[0] = cosine * sin(east);
    lmn[1] = sin(north) + 2 * cosine * sin(centre[1]) * half_east * half_east;
    lmn[2] = -2 * (half_north * half_north + cosine * cos(centre[1]) * half_east * half_east);
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

/* A Gaussian of FWHM shape[0], shape[1] (rad) multiplies visibilities by exp(-(extent) nu^2),
 * extent = (u a0 + v a1)^2 + (u a2 + v a3 + w a4)^2 in Hz^-2: (pi^2 / 4 ln 2) (bmaj^2 u'^2 + bmin^2
 * v'^2) / c^2, u' and v' along the axes. These lie in the plane that touches the sphere at l, m, n
 * - 1 = shape[3..5], or, of three numbers, in the plane of l and m. The angle, given by sine and
 * cosine, counts there from the axis that m becomes on the shortest way, towards the axis of l. The
 * sum of squares of both forms, along bmaj and across, is rewritten with two forms, the first one
 * without w. */
GROVE_FN void grove_find_ellipse(const double *shape, int numbers, double sine, double cosine,
                                 double a[5])
{
    const double scale = GROVE_PI / 1.66510922231539537643 / GROVE_SPEED_OF_LIGHT;
    double l = 0, m = 0, n = 1; /* and n + 1 */

    if (numbers > 3) {
        l = shape[3];
        m = shape[4];
        n = shape[5] > -2 ? 2 + shape[5] : 1;
    }
    double along = l * sine + m * cosine, across = l * cosine - m * sine;
    double major = scale * shape[0], minor = scale * shape[1];
    a[0] = major * (sine - l * along / n);
    a[1] = major * (cosine - m * along / n);
    a[2] = minor * (cosine - l * across / n);
    a[3] = -minor * (sine + m * across / n);
    a[4] = 0;
    double first = -major * along, second = -minor * across;
    if (first == 0) {
        a[4] = second;
        return;
    }
    a[4] = sqrt(first * first + second * second);
    first /= a[4];
    second /= a[4];
    for (int d = 0; d < 2; d++) {
        double x = a[d], y = a[2 + d];
        a[d] = second * x - first * y;
        a[2 + d] = first * x + second * y;
    }
}

GROVE_FN double grove_find_extent(const double uvw[3], const double a[5])
{
    double x = uvw[0] * a[0] + uvw[1] * a[1], y = uvw[0] * a[2] + uvw[1] * a[3] + uvw[2] * a[4];

    return x * x + y * y;
}

GROVE_FN double grove_gaussian(const double uvw[3], const double *shape, int numbers)
{
    double a[5];

    grove_find_ellipse(shape, numbers, sin(shape[2]), cos(shape[2]), a);
    return grove_find_extent(uvw, a);
}

GROVE_FN int grove_is_gaussian(const double *shape)
{
    return shape[0] != 0 || shape[1] != 0;
}

#endif
