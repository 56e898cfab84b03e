/* Complex numbers and 2x2 matrices for cell functions, in the current precision. Included by
 * kernel.h, twice: no include guard on purpose. Matrices are XX XY YX YY; a diagonal has two
 * elements. */
#define cx            GROVE_NAME(grove_cx)
#define cx_add        GROVE_NAME(grove_cx_add)
#define cx_sub        GROVE_NAME(grove_cx_sub)
#define cx_conj       GROVE_NAME(grove_cx_conj)
#define cx_inv        GROVE_NAME(grove_cx_inv)
#define mat_load      GROVE_NAME(grove_mat_load)
#define mat_hermitian GROVE_NAME(grove_mat_hermitian)
#define mat_inv       GROVE_NAME(grove_mat_inv)
#define cx_at         GROVE_NAME(grove_cx_at)
#define cx_put        GROVE_NAME(grove_cx_put)
#define mat_at        GROVE_NAME(grove_mat_at)
#define mat_put       GROVE_NAME(grove_mat_put)

#include "cell_jones.h"

GROVE_FN cplx cx(real re, real im)
{
    cplx z;
    z.re = re;
    z.im = im;
    return z;
}
GROVE_FN cplx cx_add(cplx a, cplx b)
{
    return cx(a.re + b.re, a.im + b.im);
}
GROVE_FN cplx cx_sub(cplx a, cplx b)
{
    return cx(a.re - b.re, a.im - b.im);
}
GROVE_FN cplx cx_conj(cplx a)
{
    return cx(a.re, -a.im);
}
/* Smith's division: no overflow where the result is representable. */
GROVE_FN cplx cx_inv(cplx a)
{
    real x = a.re < 0 ? -a.re : a.re, y = a.im < 0 ? -a.im : a.im;
    if (x >= y) {
        real r = a.im / a.re, d = a.re + a.im * r;
        return cx(1 / d, -r / d);
    }
    real r = a.re / a.im, d = a.re * r + a.im;
    return cx(r / d, -1 / d);
}
/* A complex matrix; the compiler need not load it again after writing to the output. */
GROVE_FN void mat_load(cplx out[4], const cplx *from)
{
    out[0] = from[0];
    out[1] = from[1];
    out[2] = from[2];
    out[3] = from[3];
}
GROVE_FN void mat_hermitian(cplx out[4], const cplx a[4])
{
    out[0] = cx_conj(a[0]);
    out[1] = cx_conj(a[2]);
    out[2] = cx_conj(a[1]);
    out[3] = cx_conj(a[3]);
}
GROVE_FN void mat_inv(cplx out[4], const cplx a[4])
{
    cplx by = cx_inv(cx_sub(cx_mul(a[0], a[3]), cx_mul(a[1], a[2])));
    out[0] = cx_mul(a[3], by);
    out[1] = cx_mul(cx(-a[1].re, -a[1].im), by);
    out[2] = cx_mul(cx(-a[2].re, -a[2].im), by);
    out[3] = cx_mul(a[0], by);
}
/* Element e of input k, real or complex. */
GROVE_FN cplx cx_at(const grove_cell *c, int k, int e)
{
    if (c->args->in[k].complex_)
        return GROVE_COMPLEXES(c, k)[e];
    return cx(GROVE_REALS(c, k)[e], 0);
}
/* Stores element e of the output; a real output takes the real part. */
GROVE_FN void cx_put(const grove_cell *c, int e, cplx z)
{
    if (c->args->out.complex_)
        GROVE_OUT_COMPLEX(c)[e] = z;
    else
        GROVE_OUT_REAL(c)[e] = z.re;
}
/* Input k as a full matrix: scalar, diagonal or matrix, real or complex. */
GROVE_FN void mat_at(const grove_cell *c, int k, cplx out[4])
{
    int shape = c->args->in[k].shape;
    out[0] = cx_at(c, k, 0);
    out[1] = shape == GROVE_MATRIX ? cx_at(c, k, 1) : cx(0, 0);
    out[2] = shape == GROVE_MATRIX ? cx_at(c, k, 2) : cx(0, 0);
    out[3] = shape == GROVE_MATRIX     ? cx_at(c, k, 3)
             : shape == GROVE_DIAGONAL ? cx_at(c, k, 1)
                                       : out[0];
}
/* Stores those elements of a full matrix that the output's shape has. */
GROVE_FN void mat_put(const grove_cell *c, const cplx m[4])
{
    int shape = c->args->out.shape;
    cx_put(c, 0, m[0]);
    if (shape == GROVE_DIAGONAL)
        cx_put(c, 1, m[3]);
    for (int e = 1; shape == GROVE_MATRIX && e < 4; e++)
        cx_put(c, e, m[e]);
}
