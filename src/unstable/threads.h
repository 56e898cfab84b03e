/* One pool of worker threads per process. */
#ifndef GROVE_UNSTABLE_THREADS_H
#define GROVE_UNSTABLE_THREADS_H

#include <stdint.h>

typedef struct grove_threads grove_threads;

/* A pool that uses `count` threads in all, including the caller's (0: one per processor available
 * to this process). NULL, without a message, when threads cannot be started. */
grove_threads *grove_threads_new(int count);
void grove_threads_free(grove_threads *threads);
int grove_threads_count(const grove_threads *threads); /* 1 for NULL */

/* Calls fn(context, first, last) for consecutive pieces of [0, count), each of at most `grain`
 * items (0: chosen), on all threads; returns when all are done. The pieces may depend on the number
 * of threads: fn must give the same result for any. A call from inside fn, or with threads == NULL,
 * runs in the calling thread. */
void grove_parallel(grove_threads *threads, int64_t count, int64_t grain,
                    void (*fn)(void *context, int64_t first, int64_t last), void *context);

/* The same, item by item, with the pool as void *: fn(context, i). */
typedef struct {
    void (*fn)(void *context, int64_t i);
    void *context;
} grove_items;

static inline void grove_run_items(void *items, int64_t first, int64_t last)
{
    const grove_items *all = (const grove_items *)items;

    for (int64_t i = first; i < last; i++)
        all->fn(all->context, i);
}

static inline void grove_parallel_items(void *threads, int64_t count,
                                        void (*fn)(void *context, int64_t i), void *context)
{
    grove_items items = {fn, context};

    grove_parallel((grove_threads *)threads, count, 0, grove_run_items, &items);
}

/* A background thread that runs jobs in order (reading ahead, writing behind). */
typedef struct grove_worker grove_worker;
grove_worker *grove_worker_new(const char *name);
void grove_worker_free(grove_worker *worker); /* waits for queued jobs */
/* Queues fn(context); returns a ticket (1, 2, ...). */
int64_t grove_worker_queue(grove_worker *worker, void (*fn)(void *context), void *context);
void grove_worker_wait(grove_worker *worker, int64_t ticket); /* waits until that job is done */

/* Monotonic wall time in seconds. */
double grove_now(void);

#endif
