/* Arithmetic, elementary functions and matrices against <complex.h> in long double, and the units
 * that they take. */
#include "tests/common/testing.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TESTING_FIXTURE()

static void near_to(const char *expression, long double complex wanted)
{
    long double complex got = testing_number(&t, expression);

    ck_assert_msg(cabsl(got - wanted) <= 4e-16L * (1 + cabsl(wanted)),
                  "%s is %.17Lg%+.17Lgi, not %.17Lg%+.17Lgi", expression, creall(got), cimagl(got),
                  creall(wanted), cimagl(wanted));
}

static void faulty(const char *expression, const char *message)
{
    const char *said = testing_faults(&t, suite_text("x = %s\n", expression));

    ck_assert_msg(strstr(said, message) != NULL, "%s: %s", expression, said);
}

/* ---- elementary functions ---- */

TEST(functions_of_real_numbers)
{
    static const struct {
        const char *name;
        long double (*is)(long double);
        double from, to;
    } functions[] = {{"sin", sinl, -7, 7},     {"cos", cosl, -7, 7},     {"tan", tanl, -1.5, 1.5},
                     {"asin", asinl, -1, 1},   {"acos", acosl, -1, 1},   {"atan", atanl, -9, 9},
                     {"exp", expl, -5, 3},     {"log", logl, 0.1, 9},    {"log10", log10l, 0.1, 9},
                     {"sqrt", sqrtl, 0.01, 9}, {"abs", fabsl, -2.0, 2.0}};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        for (int k = 0; k <= 10; k++) {
            double x = functions[i].from + (functions[i].to - functions[i].from) * k / 10;
            char *text = suite_text("%s(%.17g)", functions[i].name, x);
            long double wanted = functions[i].is(x), got = creal(testing_number(&t, text));
            ck_assert_msg(fabsl(got - wanted) <= 3e-16L * (1 + fabsl(wanted)), "%s = %.17Lg", text,
                          got);
        }
}

TEST(functions_of_complex_numbers)
{
    static const struct {
        const char *name;
        long double complex (*is)(long double complex);
    } functions[] = {{"sin", csinl}, {"cos", ccosl},   {"tan", ctanl}, {"exp", cexpl},
                     {"log", clogl}, {"sqrt", csqrtl}, {"conj", conjl}};
    static const double parts[][2] = {{1, 2}, {-3, 0.5}, {-2, -1e-9}, {0.1, -4}, {-1e-9, 3}};

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
            long double complex z = CMPLXL(parts[k][0], parts[k][1]), wanted = functions[i].is(z);
            char *text =
                grove_format("%s(complex(%g, %g))", functions[i].name, parts[k][0], parts[k][1]);
            long double complex got = testing_number(&t, text);
            ck_assert_msg(cabsl(got - wanted) <= 1e-15L * cabsl(wanted), "%s", text);
            free(text);
        }
}

TEST(parts_of_complex_numbers)
{
    near_to("real(complex(3, -4))", 3);
    near_to("imag(complex(3, -4))", -4);
    near_to("imag(sqrt(2))", 0);
    near_to("abs(complex(3, -4))", 5);
    near_to("arg(complex(3, -4))", atan2l(-4, 3));
    near_to("arg(-sqrt(2))", acosl(-1));
    near_to("log10(complex(0, 100))", CMPLXL(2, acosl(-1) / 2 / logl(10)));
    near_to("sqrt(complex(-4, 0))", 2 * I);
    near_to("sinc(0)", 1);
    near_to("sinc(1e-5)", 1 - 1e-10L / 6);
    near_to("sinc(2)", sinl(2) / 2);
    near_to("norm([3, 4, 12])", 13);
    near_to("norm(constant([3, 0, 4i, 0], shape=matrix))", 5);
}

/* ---- arithmetic ---- */

TEST(arithmetic_of_scalars)
{
    near_to("sqrt(2) + complex(1, 2)", sqrtl(2) + CMPLXL(1, 2));
    near_to("sqrt(2) - complex(1, 2)", sqrtl(2) - CMPLXL(1, 2));
    near_to("sqrt(2) * complex(1, 2)", sqrtl(2) * CMPLXL(1, 2));
    near_to("sqrt(2) / complex(1, 2)", sqrtl(2) / CMPLXL(1, 2));
    near_to("complex(1, 2) / sqrt(2)", CMPLXL(1, 2) / sqrtl(2));
    near_to("-complex(1, 2)", -CMPLXL(1, 2));
    near_to("complex(1, 2)^-1", 1 / CMPLXL(1, 2));
    near_to("complex(1, 2)^5", cpowl(CMPLXL(1, 2), 5));
    near_to("complex(1, 2)^-3", cpowl(CMPLXL(1, 2), -3));
    near_to("complex(1, 2)^0.7", cpowl(CMPLXL(1, 2), 0.7L));
    near_to("sqrt(2)^-0.7", powl(2, -0.35L));
    near_to("complex(1, 2)^H", CMPLXL(1, -2));
    near_to("complex(1, 2)^T", CMPLXL(1, 2));
    near_to("trace(sqrt(2))", 2 * sqrtl(2));
    near_to("determinant(complex(1, 2))", CMPLXL(1, 2) * CMPLXL(1, 2));
}

/* a is [[1, 2i], [3, 4]], d diag(5, 6i), s 7 + 1i; the rest follows. */
static const char jones[] = "a = constant([1, 2i, 3, 4], shape=matrix)\n"
                            "d = constant([5, 6i], shape=diagonal)\n"
                            "s = complex(7, 1)\n"
                            "r = rotation(0.3rad)\n";

static void cell_is(const char *expression, const long double complex wanted[4])
{
    testing_tree(&t, suite_text("%sx = %s\n", jones, expression));
    testing_value x = testing_evaluate(&t, "x");
    const int of_diagonal[] = {0, 3}, of_matrix[] = {0, 1, 2, 3};
    const int *element = x.elements == 2 ? of_diagonal : of_matrix;
    for (int e = 0; e < x.elements; e++)
        ck_assert_msg(cabsl(x.at[e] - wanted[element[e]]) < 1e-14L, "%s, element %d", expression,
                      e);
}

TEST(arithmetic_of_matrices)
{
    const long double complex a[] = {1, 2 * I, 3, 4}, d[] = {5, 0, 0, 6 * I}, s = CMPLXL(7, 1);
    const long double complex det = 4 - 6 * I;
    long double c = cosl(0.3L), n = sinl(0.3L);

#define CELL(...) ((const long double complex[4]){__VA_ARGS__})
    cell_is("a + d", CELL(6, 2 * I, 3, 4 + 6 * I));
    cell_is("d - a", CELL(4, -2 * I, -3, 6 * I - 4));
    cell_is("a + s", CELL(1 + s, 2 * I, 3, 4 + s));
    cell_is("s - d", CELL(s - 5, 0, 0, s - 6 * I));
    cell_is("d + d", CELL(10, 0, 0, 12 * I));
    cell_is("a * d", CELL(5, 2 * I * d[3], 15, 4 * d[3]));
    cell_is("d * a", CELL(5, 10 * I, 3 * d[3], 4 * d[3]));
    cell_is("d * d", CELL(25, 0, 0, -36));
    cell_is("s * a", CELL(s, 2 * I * s, 3 * s, 4 * s));
    cell_is("a * s", CELL(s, 2 * I * s, 3 * s, 4 * s));
    cell_is("a + a^T", CELL(2, 3 + 2 * I, 3 + 2 * I, 8));
    cell_is("a - a^T", CELL(0, 2 * I - 3, 3 - 2 * I, 0));
    cell_is("a * a", CELL(1 + 6 * I, 10 * I, 15, 16 + 6 * I));
    cell_is("a * r", CELL(c + 2 * I * n, 2 * I * c - n, 3 * c + 4 * n, 4 * c - 3 * n));
    cell_is("-(-r)", CELL(c, -n, n, c));
    cell_is("r * r^T", CELL(1, 0, 0, 1));
    cell_is("a / s", CELL(a[0] / s, a[1] / s, a[2] / s, a[3] / s));
    cell_is("a^-1", CELL(4 / det, -2 * I / det, -3 / det, 1 / det));
    cell_is("a * a^-1", CELL(1, 0, 0, 1));
    cell_is("a^2", CELL(1 + 6 * I, 10 * I, 15, 16 + 6 * I));
    cell_is("a^-2 * a^3", a);
    cell_is("d^-1", CELL(1 / d[0], 0, 0, 1 / d[3]));
    cell_is("a^H", CELL(1, 3, -2 * I, 4));
    cell_is("d^H", CELL(5, 0, 0, -6 * I));
    cell_is("a^T", CELL(1, 3, 2 * I, 4));
    cell_is("scalar(trace(a))", CELL(5));
    cell_is("scalar(determinant(a))", CELL(det));
    cell_is("scalar(determinant(d))", CELL(30 * I));
    cell_is("matrix(1, s, 0, trace(d))", CELL(1, s, 0, 5 + 6 * I));
    cell_is("diagonal(1, s)", CELL(1, 0, 0, s));
    cell_is("constant(vector(1, s, 2i, 4), shape=matrix)", CELL(1, s, 2 * I, 4));
    cell_is("constant(vector(s, 3), shape=diagonal)", CELL(s, 0, 0, 3));
}

TEST(real_stays_real)
{
    testing_tree(&t, "a = sqrt(2) * sqrt(3) + 1\nb = rotation(1rad) * a\nc = complex(a, 1) * b\n"
                     "d = abs(c)\n");
    ck_assert(!testing_node(&t, "a")->form.complex_);
    ck_assert(!testing_node(&t, "b")->form.complex_);
    ck_assert(testing_node(&t, "c")->form.complex_);
    ck_assert(!testing_node(&t, "d")->form.complex_);
}

/* ---- units ---- */

TEST(units_follow)
{
    testing_tree(&t, "a = constant(3m)\nb = constant(2s)\nv = a / b\nq = a * a\nw = sqrt(q)\n"
                     "f = b^-1\nz = a + 0\nh = asin(a / w)\n");
    grove_unit v = testing_node(&t, "v")->form.unit, q = testing_node(&t, "q")->form.unit;
    ck_assert(v.m == 1 && v.s == -1);
    ck_assert(q.m == 2);
    ck_assert(testing_node(&t, "w")->form.unit.m == 1);
    ck_assert(testing_node(&t, "f")->form.unit.s == -1);
    ck_assert(testing_node(&t, "z")->form.unit.m == 1);
    ck_assert(testing_node(&t, "h")->form.unit.rad == 1);
}

TEST(wrong_units_are_told)
{
    faulty("constant(3m) + constant(2s)", "cannot add a length and a time; the units must agree");
    faulty("constant(3m) - constant(2)", "cannot subtract a length and a plain number");
    faulty("sin(constant(3m))", "'x' must be an angle or a plain number, got a length");
    faulty("exp(constant(30deg))", "'x' must be a plain number, got an angle");
    faulty("log(constant(3Hz))", "'x' must be a plain number, got a frequency");
    faulty("sqrt(constant(3m))", "its unit has no square root");
    faulty("constant(3m)^0.3", "a length has no power 0.3");
    faulty("diagonal(constant(1m), constant(1s))", "cannot put together a length and a time");
    faulty("complex(constant(1m), constant(1s))", "cannot put together a length and a time");
}

TEST(wrong_shapes_are_told)
{
    faulty("sin(rotation(1rad))",
           "'x' must be a scalar or a diagonal matrix or a vector, got a 2x2");
    faulty("constant([1, 2, 3]) * rotation(1rad)", "a vector can only be multiplied by a scalar");
    faulty("constant([1, 2, 3]) + sqrt(2)", "cannot add a vector and anything but a vector");
    faulty("sqrt(2) / rotation(1rad)", "'b' must be a scalar");
    faulty("rotation(1rad)^0.5", "only whole powers");
    faulty("asin(complex(1, 1))", "must be a real value");
    faulty("constant([1, 2, 3], shape=matrix)", "a matrix is made of 4 numbers, got 3");
    faulty("sqrt(2) / 0", "division by 0");
}

SUITE(60, setup, teardown)
