/* The voltage pattern of a WSRT dish, cos^3(c nu r): nu in GHz, r the distance from the pointing
 * centre in radians, c about 65 at 1.4 GHz (Popping & Braun 2008, A&A 479, 903). */
GROVE_CELL(beam_cos3)
{
    const double *lmn = GROVE_DOUBLES(c, 0), *freq = GROVE_DOUBLES(c, 1);
    double scale = GROVE_STATE(c, double)[0], r = sqrt(lmn[0] * lmn[0] + lmn[1] * lmn[1]);
    double angle = scale * freq[0] * 1e-9 * asin(r < 1 ? r : 1);
    double cosine =
        angle < GROVE_PI / 2 ? cos(angle) : 0; /* nothing is known beyond the first null */

    GROVE_OUT_REAL(c)[0] = (real)(cosine * cosine * cosine);
}
