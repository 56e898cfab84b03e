/* Functions of one number, applied to each number. They are computed in double and rounded once. */

/* x + i y is the number given; the expressions are its function's value for a real number, and real
 * and imaginary part for a complex one. */
#define GROVE_ELEMENTARY(name, of_real, of_re, of_im)                                              \
    GROVE_CELL(elementary_##name)                                                                  \
    {                                                                                              \
        for (int e = 0; e < c->args->out.elements; e++) {                                          \
            if (c->args->in[0].complex_) {                                                         \
                double x = (double)GROVE_COMPLEXES(c, 0)[e].re;                                    \
                double y = (double)GROVE_COMPLEXES(c, 0)[e].im;                                    \
                double re = of_re, im = of_im;                                                     \
                (void)x;                                                                           \
                (void)y;                                                                           \
                cx_put(c, e, cx((real)re, (real)im));                                              \
            } else {                                                                               \
                double x = (double)GROVE_REALS(c, 0)[e];                                           \
                (void)x;                                                                           \
                cx_put(c, e, cx((real)(of_real), 0));                                              \
            }                                                                                      \
        }                                                                                          \
    }

#define complex_root GROVE_NAME(grove_complex_root)
#define sine_over    GROVE_NAME(grove_sine_over)

/* One part of the principal square root, without cancellation. */
GROVE_FN double complex_root(double x, double y, int imaginary)
{
    double big = sqrt((grove_modulus(x, y) + (x < 0 ? -x : x)) / 2);
    double small = big > 0 ? y / (2 * big) : 0;

    if (x >= 0)
        return imaginary ? small : big;
    return imaginary ? (y < 0 ? -big : big) : (small < 0 ? -small : small);
}

GROVE_FN double sine_over(double x)
{
    return x * x < 1e-8 ? 1 - x * x / 6 : sin(x) / x;
}

GROVE_ELEMENTARY(conj, x, x, -y)
GROVE_ELEMENTARY(real_part, x, x, 0)
GROVE_ELEMENTARY(imag, 0, y, 0)
GROVE_ELEMENTARY(abs, fabs(x), grove_modulus(x, y), 0)
GROVE_ELEMENTARY(arg, atan2(0.0, x), atan2(y, x), 0)
GROVE_ELEMENTARY(sqrt, sqrt(x), complex_root(x, y, 0), complex_root(x, y, 1))
GROVE_ELEMENTARY(exp, exp(x), exp(x) * cos(y), exp(x) * sin(y))
GROVE_ELEMENTARY(log, log(x), log(grove_modulus(x, y)), atan2(y, x))
GROVE_ELEMENTARY(log10, log10(x), log10(grove_modulus(x, y)), atan2(y, x) / 2.302585092994045684)
GROVE_ELEMENTARY(sin, sin(x), sin(x) * cosh(y), cos(x) * sinh(y))
GROVE_ELEMENTARY(cos, cos(x), cos(x) * cosh(y), -sin(x) * sinh(y))
GROVE_ELEMENTARY(tan, tan(x), sin(x) * cos(x) / (cos(x) * cos(x) + sinh(y) * sinh(y)),
                 sinh(y) * cosh(y) / (cos(x) * cos(x) + sinh(y) * sinh(y)))
GROVE_ELEMENTARY(asin, asin(x), 0, 0)
GROVE_ELEMENTARY(acos, acos(x), 0, 0)
GROVE_ELEMENTARY(atan, atan(x), 0, 0)
GROVE_ELEMENTARY(sinc, sine_over(x), 0, 0)
