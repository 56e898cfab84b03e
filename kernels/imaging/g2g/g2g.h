/* From a grid to a grid: degridding, weighting and gridding at once, without visibilities (Monnier
 * et al. 2023, eq. 16 and algorithm 1). For each entry e of a compressed diagonal, with the
 * function k at its place, out += k a sum(conj(k) in): grid(W degrid(in)) by functions of the
 * nearest fine samples, but for rounding. Phases of visibilities, and conjugates of those with w <
 * 0, cancel. */
#ifndef GROVE_KERNELS_G2G_H
#define GROVE_KERNELS_G2G_H

#include "diagonal.h"

typedef struct grove_g2g grove_g2g;

/* Bytes of one. */
uint64_t grove_g2g_bytes(const grove_lattice *lattice);
/* `functions`: [function][plane][v][u] complex numbers of the plan's precision; they are copied.
 * `isa`: an instruction set that this processor has. NULL: no memory. */
grove_g2g *grove_g2g_new(const grove_lattice *lattice, const void *functions, grove_isa isa);
void grove_g2g_free(grove_g2g *g2g); /* NULL is fine */
/* Whether no function has an imaginary part. */
bool grove_g2g_are_real(const grove_lattice *lattice, const void *functions);

/* in, out: [v][u] complex numbers of the plan's precision, not the same; `out` is overwritten.
 * `entries`: in ascending order of points; the last ones may be unused, with a point of -1. The
 * same bits for any threads. 0, or -1 without memory. */
int grove_g2g_apply(const grove_g2g *g2g, const grove_diagonal_entry *entries, int64_t count,
                    const void *in, void *out, const grove_gridder_threads *threads);

/* Seconds on one core: of applying `entries` entries; of degridding and gridding `samples` samples
 * by the same functions, as bench/gridder has found. */
double grove_g2g_seconds(const grove_lattice *lattice, double entries);
double grove_g2g_seconds_of_both(const grove_lattice *lattice, double samples);

#endif
