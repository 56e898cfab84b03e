/* Convolution functions by least squares, along one axis of the grid. */
#ifndef GROVE_KERNELS_CONVOLUTION_FIT_H
#define GROVE_KERNELS_CONVOLUTION_FIT_H

#include "../gridder/gridder_kernel.h"
#include <stdbool.h>
#include <stdint.h>

/* The function whose numbers are c_X at X + f cells from a visibility, X = 0 ... support - 1, makes
 * of it, at x cycles per cell from the middle of the image and after division by the kernel's
 * transform t, sum over X of c_X exp(2 pi i (X + f) x) / t(x). For each f = (q - H) / oversampling,
 * H half of support x oversampling rounded down, q = 0 ... oversampling - 1, this gives the c_X for
 * which that is nearest to S(x) over `count` places x, in the sense of least squares: c_X = sum
 * over places of fit[oversampling X + q][place] S(place). fit: [support x oversampling][count]
 * complex numbers. `linear`: for interpolation between samples, q = -1 ... oversampling - 1 with
 * fit[(oversampling + 1) X + q + 1], and so that the mean over all places between two samples is
 * right. Functions of two axes are nearest with the product of both. A part of 1e-11 of
 * the diagonal is added to the normal equations: it keeps down what the places hardly see. 0, or -1
 * without memory. */
int grove_convolution_fit(const grove_gridder_kernel *kernel, int support, int oversampling,
                          bool linear, const double *x, int64_t count, double *fit);
/* What linear interpolation takes off exp(2 pi i cycles t) between whole t, in the mean. */
double grove_convolution_unsmear(double cycles);
/* What the numbers with q = 0 make at x: [support] complex numbers, the factors of c_X in the sum
 * above. */
void grove_convolution_see(const grove_gridder_kernel *kernel, int support, int oversampling,
                           double x, double *seen);

#endif
