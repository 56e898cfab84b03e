/* Whole fits of trees, with all that is around the sums. */
#ifndef GROVE_BENCH_FIT_RUNS_H
#define GROVE_BENCH_FIT_RUNS_H

/* Prints a table of those with `text` in their names. */
void bench_fit_runs(const char *text, int threads, int rounds);

#endif
