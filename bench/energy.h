/* What the machine has taken while something was measured. Counters are of whole processors: other
 * programs and idle cores are in them. */
#ifndef GROVE_BENCH_ENERGY_H
#define GROVE_BENCH_ENERGY_H

/* Joules of processors and memory since the first call; NAN where they cannot be read. */
double bench_joules(void);
/* "4.56M" things for each joule, "-" where joules are not known; returns buf (32 bytes). */
char *bench_per_joule(char *buf, double count, double joules);
/* Prints what cannot be read, and why, if anything. */
void bench_energy_note(void);

#endif
