/* Instruction sets: the hot loops are compiled once for each, and the best that the processor has
 * is chosen when the program runs. */
#ifndef GROVE_KERNELS_ISA_H
#define GROVE_KERNELS_ISA_H

typedef enum { GROVE_ISA_PORTABLE, GROVE_ISA_AVX2, GROVE_ISA_AVX512, GROVE_ISAS } grove_isa;

/* "portable", "avx2" (with FMA), "avx512" (F, DQ, VL, BW). */
const char *grove_isa_name(grove_isa isa);
/* Whether this processor has it. */
int grove_isa_works(grove_isa isa);
grove_isa grove_isa_best(void);
/* What the environment variable GROVE_ISA asks for, the best without it. Returns 0; -1 for a word
 * that is none and for a set that this processor lacks, then `said` (at least 160 bytes) tells. */
int grove_isa_choose(grove_isa *isa, char *said);

#endif
