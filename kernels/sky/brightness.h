/* Brightness matrix of a source at a frequency. Inputs: stokes, reference_frequency, spectrum,
 * logarithmic, rotation_measure, rotation_reference, freq (absent: nothing varies with it), feed.
 *
 * Spectrum: I(nu) = I0 10^(a1 x + a2 x^2 + ...), x = log10(nu / nu0), where logarithmic, else
 * I0 + c1 y + c2 y^2 + ..., y = nu / nu0 - 1; Q, U and V keep their ratio to I (and their values
 * where I0 is zero). Rotation: Q + i U turns by exp(2 i RM (lambda^2 - lambda0^2)). Matrix, without
 * a factor 1/2: linear feeds [[I + Q, U + iV], [U - iV, I - Q]], circular
 * [[I + V, Q + iU], [Q - iU, I - V]] (Smirnov 2011, A&A 527, A106, section 1; Hamaker, Bregman &
 * Sault 1996). */
#include "spectrum.h"

GROVE_CELL(brightness)
{
    const double *in = GROVE_DOUBLES(c, 0), *terms = GROVE_DOUBLES(c, 2);
    const double *freq = GROVE_DOUBLES(c, 6);
    double reference = GROVE_DOUBLES(c, 1)[0], measure = GROVE_DOUBLES(c, 4)[0], s[4], matrix[8];
    int count = c->args->in[2].elements;

    for (int k = 0; k < 4; k++)
        s[k] = in[k];
    if (freq && reference > 0 && GROVE_DOUBLES(c, 3)[0] != 0) {
        double scale = exp(
            grove_spectrum_sum(terms, count, log(*freq / reference) * GROVE_LOG10_E) * GROVE_LN_10);
        for (int k = 0; k < 4; k++)
            s[k] *= scale;
    } else if (freq && reference > 0) {
        grove_add_spectrum(s, grove_spectrum_sum(terms, count, *freq / reference - 1));
    }
    if (freq && measure != 0) {
        double wavelength = GROVE_SPEED_OF_LIGHT / *freq;
        double angle = 2 * measure * (wavelength * wavelength - GROVE_DOUBLES(c, 5)[0]);
        grove_turn_stokes(s, cos(angle), sin(angle));
    }
    grove_put_brightness(matrix, s, GROVE_DOUBLES(c, 7)[0] != 0);
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx((real)matrix[2 * e], (real)matrix[2 * e + 1]);
}
