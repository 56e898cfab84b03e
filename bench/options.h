/* The command lines of benchmarks. */
#ifndef GROVE_BENCH_OPTIONS_H
#define GROVE_BENCH_OPTIONS_H

typedef struct {
    const char *name, *argument, *help;
    enum { BENCH_TEXT, BENCH_COUNT, BENCH_SECONDS } kind;
    void *to; /* const char *, int (at least 1), double (above 0) */
    int max;  /* of a count; 0: any */
} bench_option;

/* Reads `count` words into where the options (the last has no name) point; --help prints them with
 * `usage` before and ends the program, and so does a word that is none of them, with 2. */
void bench_read(const bench_option *options, const char *usage, int count, char **words);

#endif
