/* The Kaiser-Bessel gridding kernel: phi(t) = I0(beta sqrt(1 - (2 t / width)^2)) / I0(beta) for |t|
 * <= width / 2 in grid cells, 0 beyond (Kaiser & Schafer 1980). Its error is a little below the
 * error of the exponential of semicircle (Barnett, Magland & af Klinteberg 2019), and its Fourier
 * transform is known in closed form. */
#ifndef GROVE_KERNELS_GRIDDER_KERNEL_H
#define GROVE_KERNELS_GRIDDER_KERNEL_H

enum {
    GROVE_GRIDDER_MIN_WIDTH = 2,
    GROVE_GRIDDER_MAX_WIDTH = 16,
    GROVE_GRIDDER_MAX_DEGREE = 24 /* of the polynomials that compute the kernel */
};

typedef struct {
    int width; /* grid cells */
    double beta;
} grove_gridder_kernel;

double grove_gridder_kernel_value(const grove_gridder_kernel *kernel, double t);

/* The Fourier transform at x cycles per cell: the integral of phi(t) cos(2 pi x t). */
double grove_gridder_kernel_transform(const grove_gridder_kernel *kernel, double x);

/* The relative error that aliases make in an image, root mean square over the field |x| <= 1 / (2
 * oversampling), or over its outer twentieth: for samples at random places, the square root of the
 * mean of the sum over k != 0 of (transform(x + k) / transform(x))^2. */
double grove_gridder_kernel_error(const grove_gridder_kernel *kernel, double oversampling,
                                  int outer);

/* The largest relative error at any place of the field, for samples at any one place: the maximum
 * of the sum over k != 0 of |transform(x + k) / transform(x)|. */
double grove_gridder_kernel_max_error(const grove_gridder_kernel *kernel, double oversampling);

/* The kernel of this width whose larger one of both errors is least, and that error. */
double grove_gridder_kernel_choose(int width, double oversampling, grove_gridder_kernel *kernel);

/* Polynomials of the given degree for each of the `width` taps: tap k, at t = k - width / 2 + f, is
 * sum_d coefficient[d][k] s^d with s = 2 f - 1, 0 <= f <= 1; coefficient is [degree + 1][width].
 * Returns the largest error on a fine raster; the kernel's maximum is 1. */
double grove_gridder_kernel_fit(const grove_gridder_kernel *kernel, int degree,
                                double *coefficient);

/* A polynomial sum_d coefficient[d] s^d for 1 / transform(x), |x| <= max, with s = 2 (x / max)^2 -
 * 1. Returns its degree, at most GROVE_GRIDDER_MAX_DEGREE: the least one that has this relative
 * error. */
int grove_gridder_kernel_fit_inverse(const grove_gridder_kernel *kernel, double max, double error,
                                     double *coefficient);

#endif
