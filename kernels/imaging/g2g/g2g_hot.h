/* The hot loop, compiled for each precision and instruction set. */
#ifndef GROVE_KERNELS_G2G_HOT_H
#define GROVE_KERNELS_G2G_HOT_H

#include "g2g.h"

enum { GROVE_G2G_LANES = 8 }; /* rows of functions are whole multiples of it */

/* Entries of a tile. Buffers: rows of real parts, then of imaginary parts. */
typedef struct {
    const void *functions; /* [block][Y][real, imaginary][width]; real ones without the latter */
    bool is_real;
    int64_t width; /* the support with the room of whole vectors */
    int support;
    const grove_diagonal_entry *entries;
    int64_t count;
    double first; /* point of the tile */
    int64_t tile, blocks;
    const void *in;
    void *out;
    int64_t row, imaginary; /* numbers from row to row; to the imaginary parts */
} grove_g2g_job;

typedef void grove_g2g_loop(const grove_g2g_job *job);

extern grove_g2g_loop grove_g2g_single_portable, grove_g2g_single_avx2, grove_g2g_single_avx512,
    grove_g2g_double_portable, grove_g2g_double_avx2, grove_g2g_double_avx512;

#endif
