/* Command lines of benchmarks. */
#ifndef GROVE_BENCH_OPTIONS_H
#define GROVE_BENCH_OPTIONS_H

typedef struct {
    const char *name, *argument, *help;
    enum { BENCH_TEXT, BENCH_COUNT, BENCH_SECONDS, BENCH_NUMBER, BENCH_FLAG } kind;
    void *to; /* const char *, int (at least 1), double (above 0), bool */
    int max;  /* of a count; 0: any */
} bench_option;

/* Parses `count` words into the options' variables (the last option has no name). --help prints
 * `usage` and the options and ends the program; an unknown word ends it with 2. */
void bench_read(const bench_option *options, const char *usage, int count, char **words);

#endif
