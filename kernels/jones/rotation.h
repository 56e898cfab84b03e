/* Rotation of feeds. */

/* [[cos, -sin], [sin, cos]] (Smirnov 2011, A&A 527, A106, section 1.3). */
GROVE_CELL(rotation)
{
    double angle = GROVE_DOUBLES(c, 0)[0], cosine = cos(angle), sine = sin(angle);

    cx_put(c, 0, cx((real)cosine, 0));
    cx_put(c, 1, cx((real)-sine, 0));
    cx_put(c, 2, cx((real)sine, 0));
    cx_put(c, 3, cx((real)cosine, 0));
}
