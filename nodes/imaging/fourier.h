/* Fourier transforms of single lines on the host, by FFTW: for nodes whose threads transform single
 * rows and columns. */
#ifndef GROVE_NODES_FOURIER_H
#define GROVE_NODES_FOURIER_H

#include <stdbool.h>
#include <stdint.h>

/* A plan for to_j = sum_k from_k exp(2 pi i sign j k / size) of complex numbers, sign +1 or -1;
 * NULL: no memory. It is estimated, not measured: the same sizes give the same bits. */
void *grove_fourier_plan(int64_t size, int sign, bool double_precision);
/* Any thread may call it; both lines are aligned to 64 bytes, and `from` is unchanged. */
void grove_fourier_execute(const void *plan, const void *from, void *to, bool double_precision);
void grove_fourier_free(void *plan, bool double_precision); /* NULL is fine */

#endif
