#include "isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *grove_isa_name(grove_isa isa)
{
    static const char *const names[GROVE_ISAS] = {"portable", "avx2", "avx512"};

    return names[isa];
}

int grove_isa_works(grove_isa isa)
{
#if defined(__x86_64__)
    if (isa == GROVE_ISA_AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (isa == GROVE_ISA_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("fma");
#endif
    return isa == GROVE_ISA_PORTABLE;
}

grove_isa grove_isa_best(void)
{
    return grove_isa_works(GROVE_ISA_AVX512) ? GROVE_ISA_AVX512
           : grove_isa_works(GROVE_ISA_AVX2) ? GROVE_ISA_AVX2
                                             : GROVE_ISA_PORTABLE;
}

int grove_isa_choose(grove_isa *isa, char *message)
{
    const char *word = getenv("GROVE_ISA");

    *isa = grove_isa_best();
    if (!word || !*word)
        return 0;
    for (int k = 0; k < GROVE_ISAS; k++)
        if (!strcmp(word, grove_isa_name((grove_isa)k))) {
            *isa = (grove_isa)k;
            if (grove_isa_works(*isa))
                return 0;
            snprintf(message, 160,
                     "GROVE_ISA asks for %s, which this processor does not have; it has %s", word,
                     grove_isa_name(grove_isa_best()));
            return -1;
        }
    snprintf(message, 160, "GROVE_ISA is '%.40s'; it takes avx512, avx2 or portable", word);
    return -1;
}

grove_isa grove_isa_usable(void)
{
    char message[160];
    grove_isa isa;

    return grove_isa_choose(&isa, message) ? grove_isa_best() : isa;
}
