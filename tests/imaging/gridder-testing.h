/* Threads for gridders: the items in order, backwards, and by three threads. */
#ifndef GROVE_TESTS_GRIDDER_TESTING_H
#define GROVE_TESTS_GRIDDER_TESTING_H

#include "../kernels/imaging/gridder/gridder.h"

#include <check.h>
#include <pthread.h>

static void run_in_order(void *pool, int64_t count, void (*fn)(void *, int64_t), void *context)
{
    (void)pool;
    for (int64_t i = 0; i < count; i++)
        fn(context, i);
}

static void run_backwards(void *pool, int64_t count, void (*fn)(void *, int64_t), void *context)
{
    (void)pool;
    for (int64_t i = count - 1; i >= 0; i--)
        fn(context, i);
}

typedef struct {
    int64_t first, step, count;
    void (*fn)(void *, int64_t);
    void *context;
} share;

static void *run_share(void *context)
{
    share *s = context;

    for (int64_t i = s->first; i < s->count; i += s->step)
        s->fn(s->context, i);
    return NULL;
}

static void run_threads(void *pool, int64_t count, void (*fn)(void *, int64_t), void *context)
{
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    share shares[THREADS];

    (void)pool;
    for (int k = 0; k < THREADS; k++) {
        shares[k] = (share){k, THREADS, count, fn, context};
        ck_assert_int_eq(pthread_create(&thread[k], NULL, run_share, &shares[k]), 0);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(thread[k], NULL);
}

static const grove_gridder_threads in_order = {run_in_order, NULL},
                                   backwards = {run_backwards, NULL}, three = {run_threads, NULL};

#endif
