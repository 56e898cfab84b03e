#ifndef GROVE_KERNELS_COMPRESSION_SUMS_H
#define GROVE_KERNELS_COMPRESSION_SUMS_H

/* Where the parts of finished sums begin, for m of n numbers: each item has four doubles, one for
 * each correlation. Products m_j conj(m_k) have the upper half only. */
#define GROVE_SUMS_NUMBERS       0
#define GROVE_SUMS_POWER         4
#define GROVE_SUMS_DATA(j)       (8 + 8 * (j)) /* real, imaginary */
#define GROVE_SUMS_SQUARE(n, j)  (8 + 8 * (n) + 4 * (j))
#define GROVE_SUMS_PAIR(n, j, k) (8 + 12 * (n) + 8 * ((j) * (2 * (n) - (j)-1) / 2 + (k) - (j)-1))
#define GROVE_SUMS_SIZE(n)       (8 + 8 * (n) + 4 * (n) * (n))

#endif
