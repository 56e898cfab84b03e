/* x exp(-|x|^2 / 4): neither linear nor holomorphic. */
GROVE_CELL(solve_saturate)
{
    const cplx *x = GROVE_COMPLEXES(c, 0);
    double re = (double)x->re, im = (double)x->im, factor = exp(-(re * re + im * im) / 4);

    GROVE_OUT_COMPLEX(c)[0] = cx((real)(factor * re), (real)(factor * im));
}
