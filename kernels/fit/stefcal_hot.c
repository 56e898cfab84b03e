/* Equations of one station of a baseline from its sums, with the other station known, and
 * chi-squared. The four correlations are the lanes of a vector, or of two. About 80 operations for
 * a station in the full form with one group. */
#include "compression_simd.h"

#define INLINE       static inline __attribute__((always_inline))
#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define KERNELS      PASTE(grove_stefcal_, GROVE_ISA_SUFFIX)

#if defined(__AVX2__)
enum { LANES = 4 };
#else
enum { LANES = 2 };
#endif

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef double unaligned __attribute__((vector_size(8 * LANES), aligned(8), may_alias));

typedef int64_t integers __attribute__((vector_size(8 * LANES)));

typedef struct {
    lanes re, im;
} number;

enum { MAX_NUMBERS = 4 * 32 };

INLINE lanes load(const double *from)
{
    return *(const unaligned *)from;
}

INLINE number load_number(const double *from)
{
    return (number){load(from), load(from + 4)};
}

INLINE void add_to(double *to, lanes x)
{
    *(unaligned *)to += x;
}

/* sum + a b */
INLINE number add_product(number sum, number a, number b)
{
    sum.re += a.re * b.re;
    sum.re -= a.im * b.im;
    sum.im += a.re * b.im;
    sum.im += a.im * b.re;
    return sum;
}

/* sum + a b, b real */
INLINE number add_scaled(number sum, number a, lanes b)
{
    sum.re += a.re * b;
    sum.im += a.im * b;
    return sum;
}

/* sum + a conj(b) */
INLINE number add_conjugate(number sum, number a, number b)
{
    sum.re += a.re * b.re;
    sum.re += a.im * b.im;
    sum.im -= a.re * b.im;
    sum.im += a.im * b.re;
    return sum;
}

/* sum w m_j conj(m_k), j != k */
INLINE number product(const double *sums, int n, int j, int k)
{
    if (j < k)
        return load_number(sums + GROVE_SUMS_PAIR(n, j, k));
    number x = load_number(sums + GROVE_SUMS_PAIR(n, k, j));
    return (number){x.re, -x.im};
}

/* Unknown a belongs to group a / each. `element` is its place in m; s is the summation index of its
 * coefficient. */
INLINE int element(int a, int s, int each, int side)
{
    return each == 1 ? a : 4 * (a / 2) + (side == 'p' ? 2 * (a % 2) + s : 2 * s + a % 2);
}

/* With the unknown x of one side, V = x A m for side p and V = conj(x) A m for side q: the normal
 * equations x N = r have N = A S2 A^H, r = conj(A S1), or the conjugates. */
INLINE void add_side(const double *sums, const double *coefficient, int groups, int each, int side,
                     double *to)
{
    const int n = groups * each * each, unknowns = groups * each;
    const double sign = side == 'p' ? 1 : -1;
    double *right = to + 4 * unknowns * (unknowns + 1);

#pragma GCC unroll 2
    for (int a = 0; a < unknowns; a++) {
        number c[2], r = {{0}, {0}};
#pragma GCC unroll 2
        for (int s = 0; s < each; s++) {
            c[s] = load_number(coefficient + 8 * (each * (a / each) + s));
            r = add_product(r, c[s],
                            load_number(sums + GROVE_SUMS_DATA(element(a, s, each, side))));
        }
        add_to(right + 8 * a, r.re);
        add_to(right + 8 * a + 4, -sign * r.im);
#pragma GCC unroll 2
        for (int b = 0; b < unknowns; b++) {
            if (b < a)
                continue;
            number sum = {{0}, {0}};
#pragma GCC unroll 2
            for (int t = 0; t < each; t++) {
                number x = {{0}, {0}};
                int k = element(b, t, each, side);
#pragma GCC unroll 2
                for (int s = 0; s < each; s++) {
                    int j = element(a, s, each, side);
                    if (j == k)
                        x = add_scaled(x, c[s], load(sums + GROVE_SUMS_SQUARE(n, j)));
                    else
                        x = add_product(x, c[s], product(sums, n, j, k));
                }
                sum = add_conjugate(sum, x, load_number(coefficient + 8 * (each * (b / each) + t)));
            }
            add_to(to, sum.re);
            if (a != b)
                add_to(to + 4, sign * sum.im);
            to += 8;
        }
    }
}

static void add(const double *sums, const double *coefficient, int groups, int full, int side,
                double *to)
{
    for (int k = 0; k < 4; k += LANES, sums += LANES, coefficient += LANES, to += LANES) {
        if (full && groups == 1 && side == 'p')
            add_side(sums, coefficient, 1, 2, 'p', to);
        else if (full && groups == 1)
            add_side(sums, coefficient, 1, 2, 'q', to);
        else if (full)
            add_side(sums, coefficient, groups, 2, side, to);
        else if (groups == 1)
            add_side(sums, coefficient, 1, 1, side, to);
        else
            add_side(sums, coefficient, groups, 1, side, to);
    }
}

/* ---- chi-squared ---- */

INLINE number subtract(number a, number b)
{
    return (number){a.re - b.re, a.im - b.im};
}

/* Of Jones matrices [4][re, im]: element (i, a) as lane (i, j), L; or conj of element (j, a), R.
 * Diagonal ones have element (i, i). `k` is the first lane. */
INLINE number left_of(const double *jones, int a, int each, int k)
{
    const double *x = jones + 2 * a, *y = jones + (each == 2 ? 4 + 2 * a : 6);
#if defined(__AVX2__)
    (void)k;
    return (number){{x[0], x[0], y[0], y[0]}, {x[1], x[1], y[1], y[1]}};
#else
    x = k ? y : x;
    return (number){{x[0], x[0]}, {x[1], x[1]}};
#endif
}

INLINE number right_of(const double *jones, int a, int each)
{
    const double *x = jones + 2 * a, *y = jones + (each == 2 ? 4 + 2 * a : 6);
#if defined(__AVX2__)
    return (number){{x[0], y[0], x[0], y[0]}, {-x[1], -y[1], -x[1], -y[1]}};
#else
    return (number){{x[0], y[0]}, {-x[1], -y[1]}};
#endif
}

INLINE lanes choose(integers which, lanes x)
{
    return (lanes)(which & (integers)x);
}

/* Re(e S2 u^H) + Re(u S2 e^H) over 2, of Hermitian S2, less 2 Re(e S1). */
INLINE lanes quadratic(const double *sums, int n, const number *e, const number *u)
{
    lanes sum[4] = {{0}}; /* which a processor adds to at the same time */

#pragma GCC unroll 4
    for (int j = 0; j < n; j++) {
        number data = load_number(sums + GROVE_SUMS_DATA(j));
        sum[0] += load(sums + GROVE_SUMS_SQUARE(n, j)) * (e[j].re * u[j].re + e[j].im * u[j].im);
        sum[1] -= 2 * (e[j].re * data.re - e[j].im * data.im);
#pragma GCC unroll 4
        for (int k = 0; k < n; k++) {
            if (k <= j)
                continue;
            number pair = load_number(sums + GROVE_SUMS_PAIR(n, j, k));
            number both = add_conjugate((number){{0}, {0}}, e[j], u[k]);
            both = add_conjugate(both, u[j], e[k]);
            sum[2] += pair.re * both.re;
            sum[3] -= pair.im * both.im;
        }
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* With e = k' - k = (L' - L) (x) conj(R') + L (x) conj(R' - R) the change is e S2 (e + 2 k)^H - 2
 * Re(e S1). Without `from`, k is 0. Correlations without data do not count, for any Jones terms. */
INLINE lanes change_of(const double *sums, const double *const from[2], const double *const to[2],
                       int groups, int each, int k)
{
    const integers has = load(sums + GROVE_SUMS_NUMBERS) > 0;
    const int n = groups * each * each;
    const number zero = {{0}, {0}};
    number e[MAX_NUMBERS], u[MAX_NUMBERS];

    for (int g = 0; g < groups; g++)
#pragma GCC unroll 2
        for (int a = 0; a < each; a++)
#pragma GCC unroll 2
            for (int b = 0; b < each; b++) {
                const int at = each * (each * g + a) + b;
                number next = left_of(to[0] + 8 * g, a, each, k),
                       other = right_of(to[1] + 8 * g, b, each), before = zero, by = zero;
                if (from) {
                    before = left_of(from[0] + 8 * g, a, each, k);
                    by = right_of(from[1] + 8 * g, b, each);
                }
                number step = add_product(zero, subtract(next, before), other);
                number now = add_product(zero, before, by);
                if (from)
                    step = add_product(step, before, subtract(other, by));
                e[at].re = choose(has, step.re);
                e[at].im = choose(has, step.im);
                u[at].re = choose(has, step.re + 2 * now.re);
                u[at].im = choose(has, step.im + 2 * now.im);
            }
    return quadratic(sums, n, e, u);
}

static double change(const double *sums, const double *const from[2], const double *const to[2],
                     int groups, int full)
{
    double total[2] = {0};

    for (int k = 0; k < 4; k += LANES, sums += LANES) {
        lanes sum;
        if (full && groups == 1 && from)
            sum = change_of(sums, from, to, 1, 2, k);
        else if (full && groups == 1)
            sum = change_of(sums, 0, to, 1, 2, k);
        else if (full)
            sum = change_of(sums, from, to, groups, 2, k);
        else if (groups == 1 && from)
            sum = change_of(sums, from, to, 1, 1, k);
        else
            sum = change_of(sums, from, to, groups, 1, k);
        for (int c = 0; c < LANES; c++)
            total[c / 2] += sum[c];
    }
    return total[0] + total[1];
}

const grove_stefcal_kernels KERNELS = {add, change};
