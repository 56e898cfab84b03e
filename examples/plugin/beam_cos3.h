/* The voltage pattern of a WSRT dish, cos^3(c nu r): nu in GHz, r the distance from the pointing
 * centre in radians, c about 65 at 1.4 GHz (Popping & Braun 2008, A&A 479, 903). */
#ifndef BEAM_COS3_VOLTAGE /* this file is read once for each precision */
#define BEAM_COS3_VOLTAGE
/* Of a direction and a frequency in Hz. beam_cos3.cu calls it, too. */
GROVE_FN double beam_cos3_voltage(const double lmn[3], double freq, double scale)
{
    double r = sqrt(lmn[0] * lmn[0] + lmn[1] * lmn[1]);
    double angle = scale * freq * 1e-9 * asin(r < 1 ? r : 1);
    double cosine =
        angle < GROVE_PI / 2 ? cos(angle) : 0; /* nothing is known beyond the first null */

    return cosine * cosine * cosine;
}
#endif

#ifdef GROVE_CELL /* not in beam_cos3.cu */
/* One cell of the result: inputs 0 and 1 of this cell, and what check has kept. */
GROVE_CELL(beam_cos3)
{
    const double *lmn = GROVE_DOUBLES(c, 0), *freq = GROVE_DOUBLES(c, 1);
    double scale = GROVE_STATE(c, double)[0];

    GROVE_OUT_REAL(c)[0] = (real)beam_cos3_voltage(lmn, freq[0], scale);
}
#endif
