/* Clocks, limits of the machine, and medians for benchmarks. */
#ifndef GROVE_BENCH_MACHINE_H
#define GROVE_BENCH_MACHINE_H

#include <stddef.h>

/* Seconds of this thread on its core, and of the whole process on all cores. */
double bench_thread_seconds(void);
double bench_process_seconds(void);
double bench_wall_seconds(void);

/* Multiply-adds per second of one core with these instructions (grove_isa) on numbers of so many
 * bytes, measured for `min` seconds. */
double bench_peak(int isa, int bytes, double min);
/* Pairs of sine and cosine per second, and multiply-adds per second with `each` of them for a pair.
 */
double bench_phases(int isa, int bytes, double min);
double bench_mixed(int isa, int bytes, int each, double min);
/* Bytes per second of one core that reads two arrays and writes a third, which take half of its
 * second cache. */
double bench_cache_bandwidth(int isa, int bytes, double min);
/* Bytes per second of one core that reads two arrays and writes a third, all larger than the
 * caches. */
double bench_bandwidth(void);

int bench_processors(void);                /* processors available to this process */
double bench_median(double *x, int count); /* sorts x */

/* Zeroed memory, or the program ends. */
void *bench_allocate(size_t count, size_t size);

#endif
