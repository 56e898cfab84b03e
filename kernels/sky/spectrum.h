/* Spectra, rotations and brightness matrices, which kernels/sky/brightness.h defines. */
#ifndef GROVE_KERNELS_SPECTRUM_H
#define GROVE_KERNELS_SPECTRUM_H

#include "cell.h"

#define GROVE_LOG10_E 0.43429448190325182765
#define GROVE_LN_10   2.30258509299404568402
#define GROVE_LOG2_10 3.32192809488736234787

/* t1 x + t2 x^2 + ... */
GROVE_FN double grove_spectrum_sum(const double *terms, int count, double x)
{
    double sum = 0;

    for (int k = count - 1; k >= 0; k--)
        sum = (sum + terms[k]) * x;
    return sum;
}

/* Adds the sum of the terms of an ordinary spectrum. */
GROVE_FN void grove_add_spectrum(double stokes[4], double sum)
{
    if (stokes[0] == 0) {
        stokes[0] = sum;
        return;
    }
    double scale = 1 + sum / stokes[0];
    for (int k = 0; k < 4; k++)
        stokes[k] *= scale;
}

/* Q + i U times cosine + i sine. */
GROVE_FN void grove_turn_stokes(double stokes[4], double cosine, double sine)
{
    double q = stokes[1] * cosine - stokes[2] * sine;

    stokes[2] = stokes[1] * sine + stokes[2] * cosine;
    stokes[1] = q;
}

/* The matrix: real and imaginary parts of XX, XY, YX, YY, or of RR, RL, LR, LL. */
GROVE_FN void grove_put_brightness(double matrix[8], const double s[4], int circular)
{
    const double first = circular ? s[3] : s[1], second = circular ? s[1] : s[2],
                 third = circular ? s[2] : s[3];

    matrix[0] = s[0] + first;
    matrix[1] = matrix[7] = 0;
    matrix[2] = matrix[4] = second;
    matrix[3] = third;
    matrix[5] = -third;
    matrix[6] = s[0] - first;
}

#endif
