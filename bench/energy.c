#include "energy.h"

#include "base/energy.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static grove_energy *opened(void)
{
    static grove_energy *energy;

    if (!energy)
        energy = grove_energy_open(NULL, 0); /* for the rest of the program */
    return energy;
}

double bench_joules(void)
{
    double joules[GROVE_ENERGY_KINDS];

    grove_energy_read(opened(), joules);
    return grove_energy_has(opened(), GROVE_ENERGY_PROCESSOR) ||
                   grove_energy_has(opened(), GROVE_ENERGY_PLATFORM)
               ? grove_energy_total(opened(), joules)
               : NAN;
}

char *bench_per_joule(char *buf, double count, double joules)
{
    if (joules > 0)
        return grove_show_count(buf, count / joules);
    strcpy(buf, "-");
    return buf;
}

void bench_energy_note(void)
{
    char *missing = grove_energy_missing(opened());

    for (const char *at = missing, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        printf("\nEnergy is not measured: %.*s\n", (int)(end - at), at);
    }
    free(missing);
}
