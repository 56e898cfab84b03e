/* Brightness matrix of a source at a frequency. Inputs: stokes, reference_frequency, spectrum,
 * logarithmic, rotation_measure, rotation_reference, freq (absent: nothing varies with it), feed.
 *
 * Spectrum: I(nu) = I0 10^(a1 x + a2 x^2 + ...), x = log10(nu / nu0), where logarithmic, else
 * I0 + c1 y + c2 y^2 + ..., y = nu / nu0 - 1; Q, U and V keep their ratio to I (and their values
 * where I0 is zero). Rotation: Q + i U turns by exp(2 i RM (lambda^2 - lambda0^2)). Matrix, without
 * a factor 1/2: linear feeds [[I + Q, U + iV], [U - iV, I - Q]], circular
 * [[I + V, Q + iU], [Q - iU, I - V]] (Smirnov 2011, A&A 527, A106, section 1; Hamaker, Bregman &
 * Sault 1996). */
#define apply_spectrum GROVE_NAME(grove_apply_spectrum)
#define apply_rotation GROVE_NAME(grove_apply_rotation)

GROVE_FN void apply_spectrum(double stokes[4], const double *terms, int count, double ratio,
                             int logarithmic)
{
    double x = logarithmic ? log10(ratio) : ratio - 1, sum = 0, scale = 1;

    for (int k = count - 1; k >= 0; k--)
        sum = (sum + terms[k]) * x;
    if (logarithmic)
        scale = pow(10.0, sum);
    else if (stokes[0] != 0)
        scale = 1 + sum / stokes[0];
    else
        stokes[0] = sum;
    for (int k = 0; k < 4; k++)
        stokes[k] *= scale;
}

GROVE_FN void apply_rotation(double stokes[4], double measure, double reference, double freq)
{
    double wavelength = GROVE_SPEED_OF_LIGHT / freq;
    double angle = 2 * measure * (wavelength * wavelength - reference);
    double q = stokes[1] * cos(angle) - stokes[2] * sin(angle);

    stokes[2] = stokes[1] * sin(angle) + stokes[2] * cos(angle);
    stokes[1] = q;
}

GROVE_CELL(brightness)
{
    const double *in = GROVE_DOUBLES(c, 0), *spectrum = GROVE_DOUBLES(c, 2);
    const double *freq = GROVE_DOUBLES(c, 6);
    double reference = GROVE_DOUBLES(c, 1)[0], measure = GROVE_DOUBLES(c, 4)[0], s[4];
    cplx *out = GROVE_OUT_COMPLEX(c);

    for (int k = 0; k < 4; k++)
        s[k] = in[k];
    if (freq && reference > 0)
        apply_spectrum(s, spectrum, c->args->in[2].elements, *freq / reference,
                       GROVE_DOUBLES(c, 3)[0] != 0);
    if (freq && measure != 0)
        apply_rotation(s, measure, GROVE_DOUBLES(c, 5)[0], *freq);
    if (GROVE_DOUBLES(c, 7)[0] == 0) {
        out[0] = cx((real)(s[0] + s[1]), 0);
        out[1] = cx((real)s[2], (real)s[3]);
        out[2] = cx((real)s[2], (real)-s[3]);
        out[3] = cx((real)(s[0] - s[1]), 0);
    } else {
        out[0] = cx((real)(s[0] + s[3]), 0);
        out[1] = cx((real)s[1], (real)s[2]);
        out[2] = cx((real)s[1], (real)-s[2]);
        out[3] = cx((real)(s[0] - s[3]), 0);
    }
}
