/* Fourier transforms of single lines on the host, by FFTW: for nodes whose threads transform rows
 * and columns by themselves. */
#ifndef GROVE_KERNELS_FOURIER_H
#define GROVE_KERNELS_FOURIER_H

#include <stdbool.h>
#include <stdint.h>

/* One-dimensional transforms to_j = sum_k from_k exp(2 pi i sign j k / size) of complex numbers,
 * aligned to 64 bytes; `from` stays as it is. Any thread may execute. */
typedef struct {
    /* A plan for this size and sign (+1, -1); NULL: no memory, or no library. */
    void *(*plan)(void *library, int64_t size, int sign, bool double_precision);
    void (*execute)(void *library, const void *plan, const void *from, void *to,
                    bool double_precision);
    void (*free)(void *library, void *plan, bool double_precision);
    void *library;
} grove_fourier_lines;

/* Plans are estimated, not measured: the same sizes give the same bits. Without FFTW there are no
 * plans. */
extern const grove_fourier_lines grove_fourier;

/* Whether this build has FFTW. */
bool grove_fourier_works(void);

#endif
