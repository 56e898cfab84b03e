/* Instruction sets. The hot loops are compiled once for each; the best that the processor has is
 * chosen at run time. */
#ifndef GROVE_KERNELS_ISA_H
#define GROVE_KERNELS_ISA_H

typedef enum { GROVE_ISA_PORTABLE, GROVE_ISA_AVX2, GROVE_ISA_AVX512, GROVE_ISAS } grove_isa;

/* "portable", "avx2" (with FMA), "avx512" (F, DQ, VL, BW). */
const char *grove_isa_name(grove_isa isa);
/* Whether this processor has the instruction set. */
int grove_isa_works(grove_isa isa);
grove_isa grove_isa_best(void);
/* The instruction set that the environment variable GROVE_ISA names; without it the best. Returns
 * 0, or -1 for an unknown word and for a set that this processor does not have, with a message in
 * `message` (at least 160 bytes). */
int grove_isa_choose(grove_isa *isa, char *message);
/* The same; the best where it fails. */
grove_isa grove_isa_usable(void);

#endif
