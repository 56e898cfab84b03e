/* Products of complex numbers and of 2x2 matrices, XX XY YX YY: written once for cell functions,
 * for the sums of predict and for hand-written CUDA kernels. The including file defines GROVE_FN,
 * the type `cplx` (re, im) and GROVE_NAME; no include guard on purpose. */
#define cx_mul     GROVE_NAME(grove_cx_mul)
#define cx_mul_add GROVE_NAME(grove_cx_mul_add)
#define mat_mul    GROVE_NAME(grove_mat_mul)

GROVE_FN cplx cx_mul(cplx a, cplx b)
{
    cplx z;
    z.re = a.re * b.re - a.im * b.im;
    z.im = a.re * b.im + a.im * b.re;
    return z;
}
/* sum + a b: rounded as the sum of both, or, with GROVE_JONES_BY_STEPS, after each of the four
 * products, which needs only fused multiply-adds where the processor has them. */
GROVE_FN cplx cx_mul_add(cplx sum, cplx a, cplx b)
{
#ifdef GROVE_JONES_BY_STEPS
    sum.re += a.re * b.re;
    sum.re -= a.im * b.im;
    sum.im += a.re * b.im;
    sum.im += a.im * b.re;
#else
    cplx z = cx_mul(a, b);
    sum.re += z.re;
    sum.im += z.im;
#endif
    return sum;
}
GROVE_FN void mat_mul(cplx out[4], const cplx a[4], const cplx b[4])
{
    out[0] = cx_mul_add(cx_mul(a[0], b[0]), a[1], b[2]);
    out[1] = cx_mul_add(cx_mul(a[0], b[1]), a[1], b[3]);
    out[2] = cx_mul_add(cx_mul(a[2], b[0]), a[3], b[2]);
    out[3] = cx_mul_add(cx_mul(a[2], b[1]), a[3], b[3]);
}
