/* Convolution functions by least squares, along one axis of the grid. */
#ifndef GROVE_KERNELS_CONVOLUTION_FIT_H
#define GROVE_KERNELS_CONVOLUTION_FIT_H

#include "../gridder/gridder_kernel.h"
#include <stdint.h>

/* The function whose numbers are c_X at X + f cells from a visibility, X = 0 ... support - 1,
 * contributes sum over X of c_X exp(2 pi i (X + f) x) / t(x), at x cycles per cell from the middle
 * of the image and after division by the kernel's transform t. For each of `offsets` values f this
 * gives the c_X for which the sum is nearest to S(x) over `count` places x, in the sense of least
 * squares: c_X = sum over places of fit[offsets X + q][place] S(place), q the number of f. fit:
 * [support x offsets][count] complex numbers. Functions of two axes are nearest with the product of
 * both. A part of 1e-11 of the diagonal is added to the normal equations: it limits numbers that
 * the places hardly determine. 0, or -1 without memory. */
int grove_convolution_fit(const grove_gridder_kernel *kernel, int support, const double *f,
                          int offsets, const double *x, int64_t count, double *fit);
/* 1 / sinc^2, the inverse of the mean factor of linear interpolation for exp(2 pi i cycles t)
 * between whole t. */
double grove_convolution_unsmear(double cycles);
/* The offset of oversampled number q: (q - H) / oversampling, H half of support x oversampling
 * rounded down. */
double grove_convolution_offset(int support, int oversampling, int q);
/* The contribution of the numbers with q = 0 at x: [support] complex numbers, the factors of c_X in
 * the sum above. */
void grove_convolution_see(const grove_gridder_kernel *kernel, int support, int oversampling,
                           double x, double *seen);

#endif
