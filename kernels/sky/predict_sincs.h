/* Products of two sincs, for smearing in time and over channels. */
#ifndef GROVE_KERNELS_PREDICT_SINCS_H
#define GROVE_KERNELS_PREDICT_SINCS_H

#include "../simd/vector.h"

enum { MOST_SINCS = 32 }; /* at once */

/* Whether any bit is set. */
INLINE int any_of(integers x)
{
    typedef uint64_t words __attribute__((vector_size(VECTOR_BYTES)));
    words w = (words)x;
    uint64_t any = 0;

    for (int i = 0; i < VECTOR_BYTES / 8; i++)
        any |= w[i];
    return any != 0;
}

/* Degrees of polynomials in x^2 for sin(pi x) / (pi x), and up to which |x| they hold; beyond the
 * last the sine is divided. In single precision they are fitted to the least largest error, with
 * their rounding below 2e-7, up to 1.9 below 7e-7; in double they are Chebyshev's. */
enum { SINC_LEVELS = 5, SINC_FAR = SINC_LEVELS, SINC_NEAR = 2, SINC_MOST = 12 };
#if GROVE_REAL_SINGLE
#define SINC_DEGREES 2, 3, 4, 6, 8
static const real sinc_powers[SINC_LEVELS][SINC_MOST] = {
    {0.8085350394248962f, -1.6449220180511475f},
    {-0.18787962198257446f, 0.8116467595100403f, -1.6449331045150757f},
    {0.024808725342154503f, -0.19048403203487396f, 0.8117212653160095f, -1.6449335813522339f},
    {0.00012692490417975932f, -0.002318887272849679f, 0.02613072283565998f, -0.19074635207653046f,
     0.8117415904998779f, -1.644934058189392f},
    {1.582888131679283e-07f, -6.388388101186138e-06f, 0.00014639648725278676f,
     -0.002341939602047205f, 0.026142893359065056f, -0.19074852764606476f, 0.8117413520812988f,
     -1.6449339389801025f}};
#else
#define SINC_DEGREES 4, 5, 7, 9, 12
static const real sinc_powers[SINC_LEVELS][SINC_MOST] = {
    {0.026091132377965812, -0.1907513953511275, 0.81174242424586201, -1.6449340668478341},
    {-0.0023248010488719261, 0.026146776810251612, -0.19075180210379085, 0.81174242512486705,
     -1.6449340668480439},
    {-6.7662653306056053e-6, 0.00014835992604242947, -0.0023460697876106156, 0.026147846873647107,
     -0.19075182408433554, 0.81174242528278738, -1.644934066848225},
    {-6.5982067147953922e-9, 2.5187012472151105e-7, -6.9746679434797024e-6, 0.00014842811379725147,
     -0.0023460808102964848, 0.02614784777568491, -0.19075182411816258, 0.81174242528321249,
     -1.6449340668482256},
    {4.0564121677996971e-14, -3.2173886695556392e-12, 1.7095977909675236e-10,
     -7.3023510676040249e-9, 2.5311640922105039e-7, -6.9758656065105518e-6, 0.00014842878500425554,
     -0.0023460810303788898, 0.026147847815758466, -0.19075182412171802, 0.81174242528332593,
     -1.6449340668482261}};
#endif
static const double sinc_ranges[SINC_LEVELS] = {0.11, 0.24, 0.49, 0.98, 1.9};

/* The first level that holds up to |x| <= most. */
INLINE int sinc_level(double most)
{
    int level = 0;

    while (level < SINC_LEVELS && !(most <= sinc_ranges[level]))
        level++;
    return level;
}

/* A polynomial of t with these coefficients, of highest power first, and 1. */
INLINE vec sinc_of_powers(vec t, const real *powers, int degree)
{
    vec s = t * powers[0] + powers[1];

#pragma GCC unroll 16
    for (int k = 2; k < degree; k++)
        s = s * t + powers[k];
    return s * t + R(1.0);
}

/* sin(pi x) / (pi x) from t = x^2 <= 1/4. */
INLINE vec sinc_near(vec t)
{
    static const int degree[] = {SINC_DEGREES};

    return sinc_of_powers(t, sinc_powers[SINC_NEAR], degree[SINC_NEAR]);
}

/* |x|, and never zero: 1e-15 more changes no sinc. */
INLINE vec size_of_turns(vec x)
{
    integers sign = (integers)splat(R(-0.0));

    return (vec)((integers)x & ~sign) + R(1e-15);
}

/* Of any arguments. */
INLINE vec far_sincs(vec x, vec y)
{
    vec a = size_of_turns(x), b = size_of_turns(y);
    vec sines = sine_of_half_turns(a) * sine_of_half_turns(b);

    return sines / (a * b * R(9.869604401089358)); /* one division for both */
}

/* Of |x|, |y| <= 1/2: without roundings and divisions. */
INLINE vec near_sincs(vec x, vec y)
{
    return sinc_near(x * x) * sinc_near(y * y);
}

/* The lanes with others. */
INLINE integers are_far(vec x, vec y)
{
    return (x * x > R(0.25)) | (y * y > R(0.25));
}

/* Both sincs' product of some arguments, in place of x. The result of a lane depends on that lane
 * alone. */
INLINE void sincs_of(vec *x, const vec *y, int count)
{
    int far[MOST_SINCS], some = 0;
    vec kept[MOST_SINCS];

    for (int i = 0; i < count; i++) {
        kept[some] = x[i];
        far[some] = i;
        some += any_of(are_far(x[i], y[i]));
        x[i] = near_sincs(x[i], y[i]);
    }
    for (int k = 0; k < some; k++) {
        int i = far[k];
        integers mask = are_far(kept[k], y[i]);
        x[i] = (vec)(((integers)far_sincs(kept[k], y[i]) & mask) | ((integers)x[i] & ~mask));
    }
}

/* sin(pi x) / (pi x), |x| within the level, which is a constant. */
INLINE vec sinc_within(vec x, int level)
{
    static const int degree[] = {SINC_DEGREES};

    if (level < SINC_LEVELS)
        return sinc_of_powers(x * x, sinc_powers[level], degree[level]);
    vec size = size_of_turns(x);
    return sine_of_half_turns(size) / (size * R(3.141592653589793238));
}

#endif
