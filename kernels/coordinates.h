/* Coordinates, always in double precision. */

GROVE_CELL(wavelength)
{
    GROVE_OUT_DOUBLE(c)[0] = GROVE_SPEED_OF_LIGHT / GROVE_DOUBLES(c, 0)[0];
}

/* Orthographic (SIN) l, m, n - 1 of `radec` about `phase_centre` (Thompson, Moran & Swenson, eq.
 * 3.1), n - 1 and m without cancellation near the centre. */
GROVE_CELL(lmn)
{
    const double *radec = GROVE_DOUBLES(c, 0), *centre = GROVE_DOUBLES(c, 1);
    double *out = GROVE_OUT_DOUBLE(c);
    double east = radec[0] - centre[0], north = radec[1] - centre[1];
    double half_east = sin(east / 2), half_north = sin(north / 2), cosine = cos(radec[1]);

    out[0] = cosine * sin(east);
    out[1] = sin(north) + 2 * cosine * sin(centre[1]) * half_east * half_east;
    out[2] = -2 * (half_north * half_north + cosine * cos(centre[1]) * half_east * half_east);
}

/* FWHM axes and position angle from the m axis through l. An angle that counts from true north at
 * the source is turned by the angle between both norths. Inputs: shape, absolute_angle, radec,
 * phase_centre. */
GROVE_CELL(shape)
{
    const double *in = GROVE_DOUBLES(c, 0), *absolute = GROVE_DOUBLES(c, 1);
    const double *radec = GROVE_DOUBLES(c, 2), *centre = GROVE_DOUBLES(c, 3);
    double *out = GROVE_OUT_DOUBLE(c), east = radec[0] - centre[0], turn = 0;

    if (*absolute != 0)
        turn = atan2(-sin(radec[1]) * sin(east),
                     sin(radec[1]) * sin(centre[1]) * cos(east) + cos(radec[1]) * cos(centre[1]));
    out[0] = in[0];
    out[1] = in[1];
    out[2] = in[2] + turn;
}
