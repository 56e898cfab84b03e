/* Convolution functions by least squares, along one axis of the grid. */
#ifndef GROVE_KERNELS_CONVOLUTION_FIT_H
#define GROVE_KERNELS_CONVOLUTION_FIT_H

#include "../gridder/gridder_kernel.h"
#include <stdint.h>

/* The function whose numbers are c_X at X + f cells from a visibility, X = 0 ... support - 1, makes
 * of it, at x cycles per cell from the middle of the image and after division by the kernel's
 * transform t, sum over X of c_X exp(2 pi i (X + f) x) / t(x). For each of `offsets` values f this
 * gives the c_X for which that is nearest to S(x) over `count` places x, in the sense of least
 * squares: c_X = sum over places of fit[offsets X + q][place] S(place), q the number of f. fit:
 * [support x offsets][count] complex numbers. Functions of two axes are nearest with the product of
 * both. A part of 1e-11 of the diagonal is added to the normal equations: it keeps down what the
 * places hardly see. 0, or -1 without memory. */
int grove_convolution_fit(const grove_gridder_kernel *kernel, int support, const double *f,
                          int offsets, const double *x, int64_t count, double *fit);
/* What linear interpolation takes off exp(2 pi i cycles t) between whole t, in the mean. */
double grove_convolution_unsmear(double cycles);
/* The offset of oversampled number q: (q - H) / oversampling, H half of support x oversampling
 * rounded down. */
double grove_convolution_offset(int support, int oversampling, int q);
/* What the numbers with q = 0 make at x: [support] complex numbers, the factors of c_X in the sum
 * above. */
void grove_convolution_see(const grove_gridder_kernel *kernel, int support, int oversampling,
                           double x, double *seen);

#endif
