/* Fourier transforms of single lines on the host, by FFTW: for the gridder, whose threads transform
 * rows and columns by themselves. */
#ifndef GROVE_KERNELS_FOURIER_H
#define GROVE_KERNELS_FOURIER_H

#include "gridder.h"

/* Plans are estimated, not measured: the same sizes give the same bits. Without FFTW there are no
 * plans. */
extern const grove_gridder_fft grove_fourier;

/* Whether this build has FFTW. */
bool grove_fourier_works(void);

#endif
