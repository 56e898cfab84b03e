/* Voltage patterns of dishes that point at the phase centre. */
#define is_behind GROVE_NAME(grove_is_behind)

/* More than 90 degrees from the centre, where a pattern is zero. */
GROVE_FN int is_behind(const double lmn[3])
{
    return lmn[2] <= -1;
}

#ifdef GROVE_OPENCL /* has no j1 */
#define j1 GROVE_NAME(grove_j1)

/* The mean of cos(t - x sin t) over a full turn (DLMF 10.9.2), which equidistant points give to the
 * last digits once they are more than x. */
GROVE_FN double j1(double x)
{
    const int points = 40 + (int)x;
    double sum = 0, sine, cosine;

    for (int k = 0; k < points; k++) {
        sine = sincos(2 * GROVE_PI * k / points, &cosine);
        sum += cosine * cos(x * sine) + sine * sin(x * sine);
    }
    return sum / points;
}
#endif

/* 2 J1(x) / x with x = pi D nu sin(theta) / c: a uniformly illuminated circular aperture (Born &
 * Wolf, section 8.5.2; for voltages Thompson, Moran & Swenson, section 15.1). Inputs: lmn, freq,
 * diameter. */
GROVE_CELL(beam_airy)
{
    const double *lmn = GROVE_DOUBLES(c, 0);
    double scale = GROVE_PI * GROVE_DOUBLES(c, 2)[0] * GROVE_DOUBLES(c, 1)[0];
    double x = scale / GROVE_SPEED_OF_LIGHT * hypot(lmn[0], lmn[1]), y = x * x;
    double voltage = x < 0.01 ? 1 - y / 8 + y * y / 192 : 2 * j1(x) / x;

    GROVE_OUT_REAL(c)[0] = is_behind(lmn) ? 0 : (real)voltage;
}

/* exp(-2 ln 2 (theta / fwhm)^2), whose square, the power pattern, has that full width at half
 * maximum. Inputs: lmn, freq, diameter, fwhm; state: with diameter, fwhm = factor c / (nu D). */
GROVE_CELL(beam_gaussian)
{
    const double *lmn = GROVE_DOUBLES(c, 0), *given = GROVE_DOUBLES(c, 3);
    double theta = atan2(hypot(lmn[0], lmn[1]), 1 + lmn[2]), fwhm;

    if (given)
        fwhm = *given;
    else
        fwhm = GROVE_STATE(c, double)[0] * GROVE_SPEED_OF_LIGHT /
               (GROVE_DOUBLES(c, 1)[0] * GROVE_DOUBLES(c, 2)[0]);
    double ratio = theta / fwhm;
    GROVE_OUT_REAL(c)
    [0] = is_behind(lmn) ? 0 : (real)exp(-2 * 0.69314718055994530942 * ratio * ratio);
}
