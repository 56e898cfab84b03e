#include "gridder_kernel.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* I0, by its power series: all terms are positive. */
static double bessel_i0(double x)
{
    double quarter = x * x / 4, term = 1, sum = 1;

    for (int k = 1; term > 1e-18 * sum; k++) {
        term *= quarter / ((double)k * k);
        sum += term;
    }
    return sum;
}

double grove_gridder_kernel_value(const grove_gridder_kernel *kernel, double t)
{
    double x = 2 * t / kernel->width, rest = 1 - x * x;

    /* Rounding may lead a little beyond the edge. */
    if (rest < -1e-9)
        return 0;
    return bessel_i0(kernel->beta * sqrt(fmax(rest, 0))) / bessel_i0(kernel->beta);
}

/* sinh(sqrt(y)) / sqrt(y), continued as sin(sqrt(-y)) / sqrt(-y) for y < 0. */
static double sinhc(double y)
{
    if (fabs(y) < 1e-6)
        return 1 + y / 6;
    double root = sqrt(fabs(y));
    return (y > 0 ? sinh(root) : sin(root)) / root;
}

double grove_gridder_kernel_transform(const grove_gridder_kernel *kernel, double x)
{
    double a = pi * kernel->width * x;

    return kernel->width * sinhc(kernel->beta * kernel->beta - a * a) / bessel_i0(kernel->beta);
}

/* The same without the constant factor. */
static double shape_of_transform(const grove_gridder_kernel *kernel, double x)
{
    double a = pi * kernel->width * x;

    return sinhc(kernel->beta * kernel->beta - a * a);
}

double grove_gridder_kernel_error(const grove_gridder_kernel *kernel, double oversampling,
                                  int outer)
{
    enum { POINTS = 8, ALIASES = 3 };
    double edge = 0.5 / oversampling, start = outer ? 0.95 * edge : 0, sum = 0;

    for (int i = 0; i < POINTS; i++) {
        double x = start + (edge - start) * (i + 0.5) / POINTS;
        double here = shape_of_transform(kernel, x), aliases = 0;
        for (int k = 1; k <= ALIASES; k++) {
            double above = shape_of_transform(kernel, x + k) / here;
            double below = shape_of_transform(kernel, x - k) / here;
            aliases += above * above + below * below;
        }
        sum += aliases;
    }
    return sqrt(sum / POINTS);
}

double grove_gridder_kernel_max_error(const grove_gridder_kernel *kernel, double oversampling)
{
    enum { POINTS = 64, ALIASES = 3 };
    double worst = 0;

    for (int i = 0; i <= POINTS; i++) {
        double x = 0.5 / oversampling * i / POINTS, here = shape_of_transform(kernel, x), sum = 0;
        for (int k = 1; k <= ALIASES; k++)
            sum += fabs(shape_of_transform(kernel, x + k) / here) +
                   fabs(shape_of_transform(kernel, x - k) / here);
        worst = fmax(worst, sum);
    }
    return worst;
}

static double larger_error(const grove_gridder_kernel *kernel, double oversampling)
{
    return fmax(grove_gridder_kernel_error(kernel, oversampling, 0),
                grove_gridder_kernel_error(kernel, oversampling, 1));
}

double grove_gridder_kernel_choose(int width, double oversampling, grove_gridder_kernel *kernel)
{
    /* Beta lies a little below the value for which the main lobe of the transform ends where the
       first alias of the field begins. Golden sections. */
    const double golden = 0.61803398874989485;
    double limit = pi * width * (1 - 0.5 / oversampling), low = 0.6 * limit, high = 1.02 * limit;
    double error[2];
    grove_gridder_kernel at[2] = {{width, high - golden * (high - low)},
                                  {width, low + golden * (high - low)}};

    for (int i = 0; i < 2; i++)
        error[i] = larger_error(&at[i], oversampling);
    while (high - low > 0.005 * limit) {
        int better = error[1] < error[0];
        if (better) {
            low = at[0].beta;
            at[0] = at[1];
            error[0] = error[1];
            at[1].beta = low + golden * (high - low);
        } else {
            high = at[1].beta;
            at[1] = at[0];
            error[1] = error[0];
            at[0].beta = high - golden * (high - low);
        }
        error[better] = larger_error(&at[better], oversampling);
    }
    int best = error[1] < error[0];
    *kernel = at[best];
    return error[best];
}

/* Chebyshev interpolation of a function of s, |s| <= 1, as powers of s. */
static void interpolate(double (*function)(const void *context, double s), const void *context,
                        int degree, double *coefficient)
{
    enum { MAX = GROVE_GRIDDER_MAX_DEGREE + 1 };
    long double value[MAX], power[MAX] = {0}, before[MAX + 1] = {1}, now[MAX + 1] = {0, 1};
    const int n = degree + 1;

    for (int i = 0; i < n; i++)
        value[i] = function(context, cos(pi * (i + 0.5) / n));
    /* T(j + 1) = 2 s T(j) - T(j - 1) */
    for (int j = 0; j < n; j++) {
        const long double *t = j ? now : before;
        long double chebyshev = 0;
        for (int i = 0; i < n; i++)
            chebyshev += value[i] * cos(j * pi * (i + 0.5) / n);
        for (int d = 0; d <= j; d++)
            power[d] += chebyshev * (j ? 2 : 1) / n * t[d];
        for (int d = j + 1; j && d >= 0; d--) {
            long double next = (d ? 2 * now[d - 1] : 0) - before[d];
            before[d] = now[d];
            now[d] = next;
        }
    }
    for (int d = 0; d < n; d++)
        coefficient[d] = (double)power[d];
}

static double polynomial_at(const double *coefficient, int degree, double s)
{
    double sum = 0;

    for (int d = degree; d >= 0; d--)
        sum = sum * s + coefficient[d];
    return sum;
}

typedef struct {
    const grove_gridder_kernel *kernel;
    double start; /* of a tap */
    double max;
} fitted;

static double tap_at(const void *context, double s)
{
    const fitted *f = context;

    return grove_gridder_kernel_value(f->kernel, f->start + (s + 1) / 2);
}

double grove_gridder_kernel_fit(const grove_gridder_kernel *kernel, int degree, double *coefficient)
{
    double one[GROVE_GRIDDER_MAX_DEGREE + 1], worst = 0;

    for (int k = 0; k < kernel->width; k++) {
        fitted f = {.kernel = kernel, .start = k - 0.5 * kernel->width};
        interpolate(tap_at, &f, degree, one);
        for (int d = 0; d <= degree; d++)
            coefficient[d * kernel->width + k] = one[d];
        for (int i = 0; i <= 32; i++)
            worst = fmax(worst,
                         fabs(polynomial_at(one, degree, i / 16.0 - 1) - tap_at(&f, i / 16.0 - 1)));
    }
    return worst;
}

static double inverse_at(const void *context, double s)
{
    const fitted *f = context;

    return 1 / grove_gridder_kernel_transform(f->kernel, f->max * sqrt(fmax(s + 1, 0) / 2));
}

int grove_gridder_kernel_fit_inverse(const grove_gridder_kernel *kernel, double max, double error,
                                     double *coefficient)
{
    fitted f = {.kernel = kernel, .max = max};

    for (int degree = 2;; degree += 2) {
        double worst = 0;
        interpolate(inverse_at, &f, degree, coefficient);
        for (int i = 0; i <= 32; i++) {
            double s = i / 16.0 - 1;
            worst =
                fmax(worst, fabs(polynomial_at(coefficient, degree, s) / inverse_at(&f, s) - 1));
        }
        if (worst <= error || degree + 2 > GROVE_GRIDDER_MAX_DEGREE)
            return degree;
    }
}
