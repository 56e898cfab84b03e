/* Coordinates, always in double precision. */
#include "visibility.h"

GROVE_CELL(wavelength)
{
    GROVE_OUT_DOUBLE(c)[0] = GROVE_SPEED_OF_LIGHT / GROVE_DOUBLES(c, 0)[0];
}

/* Inputs: radec, phase_centre. */
GROVE_CELL(lmn)
{
    grove_find_lmn(GROVE_DOUBLES(c, 0), GROVE_DOUBLES(c, 1), GROVE_OUT_DOUBLE(c));
}

/* FWHM axes, position angle and the l, m, n - 1 where the plane of the axes touches the sphere: an
 * angle that counts from true north at the source is turned by that between north and the m axis
 * carried there on the shortest way; others are in the plane of l and m. Inputs: shape,
 * absolute_angle, radec, phase_centre. */
GROVE_CELL(shape)
{
    const double *in = GROVE_DOUBLES(c, 0), *absolute = GROVE_DOUBLES(c, 1);
    const double *radec = GROVE_DOUBLES(c, 2), *centre = GROVE_DOUBLES(c, 3);
    double *out = GROVE_OUT_DOUBLE(c), lmn[3] = {0, 0, 0}, turn = 0;

    if (*absolute != 0) {
        double sine = sin(radec[1]), cosine = cos(radec[1]), east = radec[0] - centre[0];
        double slope = sine * cos(east);
        grove_find_lmn(radec, centre, lmn);
        double along_n = cosine * sin(centre[1]) - slope * cos(centre[1]);
        along_n = lmn[2] > -2 ? along_n / (2 + lmn[2]) : 0;
        turn = atan2(-sine * sin(east) - lmn[0] * along_n,
                     cosine * cos(centre[1]) + slope * sin(centre[1]) - lmn[1] * along_n);
    }
    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[2] + turn;
    for (int d = 0; d < 3; d++)
        out[3 + d] = lmn[d];
}
