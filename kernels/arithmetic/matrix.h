/* Operations on one Jones matrix, and matrices made of numbers. */

GROVE_CELL(inverse)
{
    cplx in[4], out[4];

    if (c->args->out.shape == GROVE_MATRIX) {
        mat_at(c, 0, in);
        mat_inv(out, in);
        mat_put(c, out);
        return;
    }
    for (int e = 0; e < c->args->out.elements; e++) {
        if (c->args->out.complex_)
            cx_put(c, e, cx_inv(cx_at(c, 0, e)));
        else
            GROVE_OUT_REAL(c)[e] = 1 / GROVE_REALS(c, 0)[e];
    }
}

GROVE_CELL(hermitian)
{
    cplx in[4], out[4];

    mat_at(c, 0, in);
    mat_hermitian(out, in);
    mat_put(c, out);
}

GROVE_CELL(transpose)
{
    cplx m[4];

    mat_at(c, 0, m);
    cplx keep = m[1];
    m[1] = m[2];
    m[2] = keep;
    mat_put(c, m);
}

GROVE_CELL(trace)
{
    cplx m[4];

    mat_at(c, 0, m);
    cx_put(c, 0, cx_add(m[0], m[3]));
}

GROVE_CELL(determinant)
{
    cplx m[4];

    mat_at(c, 0, m);
    cx_put(c, 0, cx_sub(cx_mul(m[0], m[3]), cx_mul(m[1], m[2])));
}

/* Root of the sum of squares of all numbers of the cell (Frobenius, Euclid), without overflow. */
GROVE_CELL(norm)
{
    double square = 0, size = 0;

    for (int e = 0; e < c->args->in[0].elements; e++) {
        cplx x = cx_at(c, 0, e);
        square += (double)x.re * (double)x.re + (double)x.im * (double)x.im;
    }
    if (square > 1e-280 && square < 1e300) {
        GROVE_OUT_REAL(c)[0] = (real)sqrt(square);
        return;
    }
    for (int e = 0; e < c->args->in[0].elements; e++) {
        cplx x = cx_at(c, 0, e);
        size = hypot(size, hypot((double)x.re, (double)x.im));
    }
    GROVE_OUT_REAL(c)[0] = (real)size;
}

/* A cell from as many scalars as it has numbers. */
GROVE_CELL(assemble)
{
    for (int e = 0; e < c->args->out.elements; e++)
        cx_put(c, e, cx_at(c, e, 0));
}

/* The numbers of the input in order, regardless of its shape. */
GROVE_CELL(reshape)
{
    for (int e = 0; e < c->args->out.elements; e++)
        cx_put(c, e, cx_at(c, 0, e));
}
