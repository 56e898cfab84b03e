/* Sums, differences, products and powers of cells. A scalar means that number times the identity
 * wherever it meets a diagonal or a matrix. */
#define power_of_element GROVE_NAME(grove_power_of_element)

/* Cells of one shape, number by number. */
GROVE_CELL(add_elements)
{
    for (int e = 0; e < c->args->out.elements; e++)
        cx_put(c, e, cx_add(cx_at(c, 0, e), cx_at(c, 1, e)));
}

/* ... of complex matrices. */
GROVE_CELL(add_matrices)
{
    cplx a[4], b[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    mat_load(b, GROVE_COMPLEXES(c, 1));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx_add(a[e], b[e]);
}

GROVE_CELL(subtract_matrices)
{
    cplx a[4], b[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    mat_load(b, GROVE_COMPLEXES(c, 1));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx_sub(a[e], b[e]);
}

GROVE_CELL(subtract_elements)
{
    for (int e = 0; e < c->args->out.elements; e++)
        cx_put(c, e, cx_sub(cx_at(c, 0, e), cx_at(c, 1, e)));
}

/* Jones matrices of different shapes. */
GROVE_CELL(add_jones)
{
    cplx a[4], b[4];

    mat_at(c, 0, a);
    mat_at(c, 1, b);
    for (int e = 0; e < 4; e++)
        a[e] = cx_add(a[e], b[e]);
    mat_put(c, a);
}

GROVE_CELL(subtract_jones)
{
    cplx a[4], b[4];

    mat_at(c, 0, a);
    mat_at(c, 1, b);
    for (int e = 0; e < 4; e++)
        a[e] = cx_sub(a[e], b[e]);
    mat_put(c, a);
}

/* A scalar times anything, two diagonals. */
GROVE_CELL(multiply_elements)
{
    int a = c->args->in[0].elements > 1, b = c->args->in[1].elements > 1;

    for (int e = 0; e < c->args->out.elements; e++)
        cx_put(c, e, cx_mul(cx_at(c, 0, a ? e : 0), cx_at(c, 1, b ? e : 0)));
}

GROVE_CELL(multiply_reals)
{
    const real *x = GROVE_REALS(c, 0), *y = GROVE_REALS(c, 1);
    int a = c->args->in[0].elements > 1, b = c->args->in[1].elements > 1;

    for (int e = 0; e < c->args->out.elements; e++)
        GROVE_OUT_REAL(c)[e] = x[a ? e : 0] * y[b ? e : 0];
}

/* The matrix product. Elements off a diagonal are not multiplied: zero times a flagged element may
 * be NaN. */
GROVE_CELL(multiply_jones)
{
    int left = c->args->in[0].shape != GROVE_MATRIX, right = c->args->in[1].shape != GROVE_MATRIX;
    cplx a[4], b[4], out[4];

    mat_at(c, 0, a);
    mat_at(c, 1, b);
    if (left || right)
        for (int e = 0; e < 4; e++)
            out[e] = left ? cx_mul(a[e & 2 ? 3 : 0], b[e]) : cx_mul(a[e], b[e & 1 ? 3 : 0]);
    else
        mat_mul(out, a, b);
    mat_put(c, out);
}

/* The same for two complex matrices. */
GROVE_CELL(multiply_matrices)
{
    cplx a[4], b[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    mat_load(b, GROVE_COMPLEXES(c, 1));
    mat_mul(GROVE_OUT_COMPLEX(c), a, b);
}

/* A complex scalar times a complex matrix, and the other way round. */
GROVE_CELL(scale_from_left)
{
    const cplx a = GROVE_COMPLEXES(c, 0)[0];
    cplx b[4];

    mat_load(b, GROVE_COMPLEXES(c, 1));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx_mul(a, b[e]);
}

GROVE_CELL(scale_from_right)
{
    const cplx b = GROVE_COMPLEXES(c, 1)[0];
    cplx a[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx_mul(a[e], b);
}

/* A complex diagonal times a complex matrix, and the other way round. */
GROVE_CELL(multiply_from_left)
{
    const cplx *diagonal = GROVE_COMPLEXES(c, 0), a[2] = {diagonal[0], diagonal[1]};
    cplx *out = GROVE_OUT_COMPLEX(c), b[4];

    mat_load(b, GROVE_COMPLEXES(c, 1));
    out[0] = cx_mul(a[0], b[0]);
    out[1] = cx_mul(a[0], b[1]);
    out[2] = cx_mul(a[1], b[2]);
    out[3] = cx_mul(a[1], b[3]);
}

GROVE_CELL(multiply_from_right)
{
    const cplx *diagonal = GROVE_COMPLEXES(c, 1), b[2] = {diagonal[0], diagonal[1]};
    cplx *out = GROVE_OUT_COMPLEX(c), a[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    out[0] = cx_mul(a[0], b[0]);
    out[1] = cx_mul(a[1], b[1]);
    out[2] = cx_mul(a[2], b[0]);
    out[3] = cx_mul(a[3], b[1]);
}

/* A real diagonal times a complex matrix, and the other way round: the derivative of a diagonal
 * Jones term is one. */
GROVE_CELL(multiply_real_left)
{
    const real a[2] = {GROVE_REALS(c, 0)[0], GROVE_REALS(c, 0)[1]};
    cplx b[4];

    mat_load(b, GROVE_COMPLEXES(c, 1));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx(a[e / 2] * b[e].re, a[e / 2] * b[e].im);
}

GROVE_CELL(multiply_real_right)
{
    const real b[2] = {GROVE_REALS(c, 1)[0], GROVE_REALS(c, 1)[1]};
    cplx a[4];

    mat_load(a, GROVE_COMPLEXES(c, 0));
    for (int e = 0; e < 4; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx(a[e].re * b[e % 2], a[e].im * b[e % 2]);
}

/* Anything by a scalar. */
GROVE_CELL(divide)
{
    if (c->args->in[1].complex_) {
        cplx by = cx_inv(cx_at(c, 1, 0));
        for (int e = 0; e < c->args->out.elements; e++)
            cx_put(c, e, cx_mul(cx_at(c, 0, e), by));
        return;
    }
    real by = GROVE_REALS(c, 1)[0];
    for (int e = 0; e < c->args->out.elements; e++) {
        cplx x = cx_at(c, 0, e);
        cx_put(c, e, cx(x.re / by, x.im / by));
    }
}

GROVE_CELL(negate)
{
    for (int e = 0; e < c->args->out.elements; e++) {
        cplx x = cx_at(c, 0, e);
        cx_put(c, e, cx(-x.re, -x.im));
    }
}

/* Whole powers by repeated squaring, others by the principal logarithm. State: the exponent. */
GROVE_FN cplx power_of_element(cplx x, double exponent)
{
    double n = exponent < 0 ? -exponent : exponent;

    if (n == rint(n) && n <= 1024) {
        cplx result = cx(1, 0);
        for (int left = (int)n; left; left >>= 1) {
            if (left & 1)
                result = cx_mul(result, x);
            x = cx_mul(x, x);
        }
        return exponent < 0 ? cx_inv(result) : result;
    }
    double size = pow(grove_modulus((double)x.re, (double)x.im), exponent);
    double angle = atan2((double)x.im, (double)x.re) * exponent;
    return cx((real)(size * cos(angle)), (real)(size * sin(angle)));
}

GROVE_CELL(power_elements)
{
    double exponent = GROVE_STATE(c, double)[0];

    for (int e = 0; e < c->args->out.elements; e++) {
        if (c->args->in[0].complex_)
            cx_put(c, e, power_of_element(GROVE_COMPLEXES(c, 0)[e], exponent));
        else
            GROVE_OUT_REAL(c)[e] = (real)pow((double)GROVE_REALS(c, 0)[e], exponent);
    }
}

/* A whole power of a matrix; the class's check refuses others. */
GROVE_CELL(power_matrix)
{
    double exponent = GROVE_STATE(c, double)[0];
    cplx x[4], result[4], old[4];

    mat_at(c, 0, x);
    result[0] = result[3] = cx(1, 0);
    result[1] = result[2] = cx(0, 0);
    if (exponent < 0) {
        for (int e = 0; e < 4; e++)
            old[e] = x[e];
        mat_inv(x, old);
    }
    for (int left = (int)(exponent < 0 ? -exponent : exponent); left; left >>= 1) {
        if (left & 1) {
            for (int e = 0; e < 4; e++)
                old[e] = result[e];
            mat_mul(result, old, x);
        }
        for (int e = 0; e < 4; e++)
            old[e] = x[e];
        mat_mul(x, old, old);
    }
    mat_put(c, result);
}

/* Two real numbers to one complex. */
GROVE_CELL(complex_parts)
{
    for (int e = 0; e < c->args->out.elements; e++)
        GROVE_OUT_COMPLEX(c)[e] = cx(GROVE_REALS(c, 0)[e], GROVE_REALS(c, 1)[e]);
}
