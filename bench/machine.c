#include "machine.h"

#include "cell.h"

#include "../kernels/sky/predict_job.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double read_clock(clockid_t which)
{
    struct timespec t;

    clock_gettime(which, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench_thread_seconds(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

double bench_process_seconds(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

double bench_wall_seconds(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double bench_peak(int isa, int bytes, double min)
{
    const grove_predict_kernels *k = grove_predict_kernels_of(isa, bytes);
    double start = bench_thread_seconds(), done = 0;

    while (bench_thread_seconds() - start < min)
        done += (double)k->peak(1000000);
    return done / (bench_thread_seconds() - start);
}

double bench_phases(int isa, int bytes, double min)
{
    const grove_predict_kernels *k = grove_predict_kernels_of(isa, bytes);
    double start = bench_thread_seconds(), done = 0;

    while (bench_thread_seconds() - start < min)
        done += (double)k->phases(20000);
    return done / (bench_thread_seconds() - start);
}

double bench_mixed(int isa, int bytes, int each, double min)
{
    const grove_predict_kernels *k = grove_predict_kernels_of(isa, bytes);
    double start = bench_thread_seconds(), done = 0;

    while (bench_thread_seconds() - start < min)
        done += (double)k->mixed(1000, each);
    return done / (bench_thread_seconds() - start);
}

double bench_cache_bandwidth(int isa, int bytes, double min)
{
    const grove_predict_kernels *k = grove_predict_kernels_of(isa, bytes);
    const long found = sysconf(_SC_LEVEL2_CACHE_SIZE), cache = found > 0 ? found : 512 << 10;
    const size_t n = (size_t)cache / 6 / 64 * 64 / (size_t)bytes;
    char *a = bench_allocate(3 * n, (size_t)bytes), *b = a + n * (size_t)bytes,
         *c = b + n * (size_t)bytes;
    double start = bench_thread_seconds(), done = 0;

    while (bench_thread_seconds() - start < min)
        for (int round = 0; round < 20; round++)
            done += (double)k->stream(a, b, c, (int64_t)n);
    double rate = done / (bench_thread_seconds() - start);
    free(a);
    return rate;
}

double bench_bandwidth(void)
{
    const size_t n = 16 << 20;
    double *a = bench_allocate(n, 8), *b = bench_allocate(n, 8), *c = bench_allocate(n, 8);
    double best = 0;

    for (int round = 0; round < 5; round++) {
        double start = bench_thread_seconds();
        for (size_t i = 0; i < n; i++)
            a[i] = b[i] + 0.5 * c[i];
        double rate = 24.0 * (double)n / (bench_thread_seconds() - start);
        best = rate > best ? rate : best;
        b[round] = a[n / 2];
    }
    free(a);
    free(b);
    free(c);
    return best;
}

int bench_processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double bench_median(double *x, int count)
{
    qsort(x, (size_t)count, sizeof(*x), ascending);
    return x[count / 2];
}

void *bench_allocate(size_t count, size_t size)
{
    const size_t huge = (size_t)2 << 20, bytes = ((count + 1) * size + huge - 1) / huge * huge;
    void *memory = aligned_alloc(huge, bytes);

    /* As the library's own and NumPy's large arrays. */
    if (memory) {
        madvise(memory, bytes, MADV_HUGEPAGE);
        memset(memory, 0, bytes);
    }

    if (!memory) {
        fprintf(stderr, "grove bench: no memory\n");
        exit(1);
    }
    return memory;
}
