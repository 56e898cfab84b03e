/* Complex numbers and 2x2 matrices for cell functions, in the current precision. Included by
 * kernel.h, twice: no include guard on purpose. Matrices are XX XY YX YY; a diagonal has two
 * elements. */
#define cx            GROVE_NAME(grove_cx)
#define cx_add        GROVE_NAME(grove_cx_add)
#define cx_sub        GROVE_NAME(grove_cx_sub)
#define cx_mul        GROVE_NAME(grove_cx_mul)
#define cx_conj       GROVE_NAME(grove_cx_conj)
#define cx_inv        GROVE_NAME(grove_cx_inv)
#define cx_polar      GROVE_NAME(grove_cx_polar)
#define mat_mul       GROVE_NAME(grove_mat_mul)
#define mat_hermitian GROVE_NAME(grove_mat_hermitian)
#define mat_load      GROVE_NAME(grove_mat_load)

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
GROVE_FN cplx cx_mul(cplx a, cplx b)
{
    return cx(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
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
/* exp(2 pi i turns); the phase is reduced in double. */
GROVE_FN cplx cx_polar(double turns)
{
    double angle = 2 * GROVE_PI * (turns - rint(turns));
    return cx((real)cos(angle), (real)sin(angle));
}
GROVE_FN void mat_mul(cplx out[4], const cplx a[4], const cplx b[4])
{
    out[0] = cx_add(cx_mul(a[0], b[0]), cx_mul(a[1], b[2]));
    out[1] = cx_add(cx_mul(a[0], b[1]), cx_mul(a[1], b[3]));
    out[2] = cx_add(cx_mul(a[2], b[0]), cx_mul(a[3], b[2]));
    out[3] = cx_add(cx_mul(a[2], b[1]), cx_mul(a[3], b[3]));
}
GROVE_FN void mat_hermitian(cplx out[4], const cplx a[4])
{
    out[0] = cx_conj(a[0]);
    out[1] = cx_conj(a[2]);
    out[2] = cx_conj(a[1]);
    out[3] = cx_conj(a[3]);
}
/* A complex scalar, diagonal or matrix cell as a full matrix. */
GROVE_FN void mat_load(cplx out[4], const cplx *in, int shape)
{
    out[0] = in[0];
    out[1] = shape == GROVE_MATRIX ? in[1] : cx(0, 0);
    out[2] = shape == GROVE_MATRIX ? in[2] : cx(0, 0);
    out[3] = shape == GROVE_MATRIX ? in[3] : in[shape == GROVE_DIAGONAL ? 1 : 0];
}
