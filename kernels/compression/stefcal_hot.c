/* What a baseline's sums say of one of its stations, the other being known. The four correlations
 * are the lanes of a vector, or of two. About 80 operations in the full form with one group. */
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

typedef struct {
    lanes re, im;
} number;

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

/* sum + a conj(b) */
INLINE number add_conjugate(number sum, number a, number b)
{
    sum.re += a.re * b.re;
    sum.re += a.im * b.im;
    sum.im -= a.re * b.im;
    sum.im += a.im * b.re;
    return sum;
}

/* sum w m_j conj(m_k) */
INLINE number product(const double *sums, int n, int j, int k)
{
    if (j == k)
        return (number){load(sums + GROVE_SUMS_SQUARE(n, j)), (lanes){0}};
    if (j < k)
        return load_number(sums + GROVE_SUMS_PAIR(n, j, k));
    number x = load_number(sums + GROVE_SUMS_PAIR(n, k, j));
    return (number){x.re, -x.im};
}

/* Unknown a belongs to group a / each. It stands at the element of m that `element` tells, s being
 * the index that its coefficient sums over. */
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

    for (int a = 0; a < unknowns; a++) {
        number c[2], r = {{0}, {0}};
        for (int s = 0; s < each; s++) {
            c[s] = load_number(coefficient + 8 * (each * (a / each) + s));
            r = add_product(r, c[s],
                            load_number(sums + GROVE_SUMS_DATA(element(a, s, each, side))));
        }
        add_to(right + 8 * a, r.re);
        add_to(right + 8 * a + 4, -sign * r.im);
        for (int b = a; b < unknowns; b++, to += 8) {
            number sum = {{0}, {0}};
            for (int t = 0; t < each; t++) {
                number x = {{0}, {0}};
                int k = element(b, t, each, side);
                for (int s = 0; s < each; s++)
                    x = add_product(x, c[s], product(sums, n, element(a, s, each, side), k));
                sum = add_conjugate(sum, x, load_number(coefficient + 8 * (each * (b / each) + t)));
            }
            add_to(to, sum.re);
            if (a != b)
                add_to(to + 4, sign * sum.im);
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

const grove_stefcal_kernels KERNELS = {add};
