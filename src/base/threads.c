#include "unstable/threads.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

double grove_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the pool ---- */

enum { SPINS = 2000 }; /* microseconds of spinning before a thread sleeps */

struct grove_threads {
    int count;
    pthread_t *workers;
    pthread_mutex_t busy; /* held by the caller of a parallel section */
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    atomic_uint generation; /* incremented for every parallel section */
    atomic_int running;     /* workers that have not finished the section */
    bool quit;
    /* the section */
    void (*fn)(void *, int64_t, int64_t);
    void *context;
    grove_error_scope *scope; /* the error scope of the caller */
    int64_t length, grain;
    atomic_int_least64_t next;
};

static _Thread_local bool inside;

static void take_pieces(grove_threads *threads)
{
    inside = true;
    for (;;) {
        int64_t first = atomic_fetch_add(&threads->next, threads->grain);
        if (first >= threads->length)
            break;
        int64_t last = first + threads->grain;
        threads->fn(threads->context, first, last < threads->length ? last : threads->length);
    }
    inside = false;
}

static unsigned wait_for_section(grove_threads *threads, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        unsigned now = atomic_load(&threads->generation);
        if (now != seen)
            return now;
    }
    pthread_mutex_lock(&threads->lock);
    while (atomic_load(&threads->generation) == seen)
        pthread_cond_wait(&threads->start, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
    return atomic_load(&threads->generation);
}

static void *work(void *context)
{
    grove_threads *threads = context;
    unsigned seen = 0;

    for (;;) {
        seen = wait_for_section(threads, seen);
        if (threads->quit)
            return NULL;
        grove_error_enter(threads->scope);
        take_pieces(threads);
        grove_error_enter(NULL);
        if (atomic_fetch_sub(&threads->running, 1) == 1) {
            pthread_mutex_lock(&threads->lock);
            pthread_cond_signal(&threads->done);
            pthread_mutex_unlock(&threads->lock);
        }
    }
}

static int processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set))
        return 1;
    return CPU_COUNT(&set);
}

grove_threads *grove_threads_new(int count)
{
    grove_threads *threads = grove_alloc(sizeof(*threads));

    if (count <= 0)
        count = processors();
    pthread_mutex_init(&threads->busy, NULL);
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->start, NULL);
    pthread_cond_init(&threads->done, NULL);
    threads->workers = grove_alloc((size_t)count * sizeof(pthread_t));
    threads->count = 1;
    for (int i = 1; i < count; i++) {
        if (pthread_create(&threads->workers[i], NULL, work, threads))
            break;
        threads->count++;
    }
    return threads;
}

static void begin_section(grove_threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    atomic_store(&threads->running, threads->count - 1);
    atomic_fetch_add(&threads->generation, 1);
    pthread_cond_broadcast(&threads->start);
    pthread_mutex_unlock(&threads->lock);
}

void grove_threads_free(grove_threads *threads)
{
    if (!threads)
        return;
    threads->quit = true;
    begin_section(threads);
    for (int i = 1; i < threads->count; i++)
        pthread_join(threads->workers[i], NULL);
    pthread_mutex_destroy(&threads->busy);
    pthread_mutex_destroy(&threads->lock);
    pthread_cond_destroy(&threads->start);
    pthread_cond_destroy(&threads->done);
    free(threads->workers);
    free(threads);
}

int grove_threads_count(const grove_threads *threads)
{
    return threads ? threads->count : 1;
}

static void wait_for_workers(grove_threads *threads)
{
    for (int i = 0; i < SPINS; i++)
        if (!atomic_load(&threads->running))
            return;
    pthread_mutex_lock(&threads->lock);
    while (atomic_load(&threads->running))
        pthread_cond_wait(&threads->done, &threads->lock);
    pthread_mutex_unlock(&threads->lock);
}

void grove_parallel(grove_threads *threads, int64_t count, int64_t grain,
                    void (*fn)(void *context, int64_t first, int64_t last), void *context)
{
    if (count <= 0)
        return;
    if (!threads || threads->count == 1 || inside || (grain > 0 && count <= grain)) {
        fn(context, 0, count);
        return;
    }
    pthread_mutex_lock(&threads->busy); /* one section at a time */
    if (grain <= 0)
        grain = (count + 4 * threads->count - 1) / (4 * threads->count);
    threads->fn = fn;
    threads->context = context;
    threads->scope = grove_error_current();
    threads->length = count;
    threads->grain = grain;
    atomic_store(&threads->next, 0);
    begin_section(threads);
    take_pieces(threads);
    wait_for_workers(threads);
    pthread_mutex_unlock(&threads->busy);
}

/* ---- background workers ---- */

typedef struct job {
    struct job *next;
    void (*fn)(void *);
    void *context;
} job;

struct grove_worker {
    pthread_t thread;
    bool started, quit;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    job *first, **last;
    int64_t queued, done;
};

static void *serve(void *context)
{
    grove_worker *worker = context;

    pthread_mutex_lock(&worker->lock);
    for (;;) {
        while (!worker->first && !worker->quit)
            pthread_cond_wait(&worker->changed, &worker->lock);
        job *next = worker->first;
        if (!next)
            break;
        worker->first = next->next;
        if (!worker->first)
            worker->last = &worker->first;
        pthread_mutex_unlock(&worker->lock);
        next->fn(next->context);
        free(next);
        pthread_mutex_lock(&worker->lock);
        worker->done++;
        pthread_cond_broadcast(&worker->changed);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

grove_worker *grove_worker_new(const char *name)
{
    grove_worker *worker = grove_alloc(sizeof(*worker));

    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    worker->last = &worker->first;
    worker->started = !pthread_create(&worker->thread, NULL, serve, worker);
    if (worker->started && name)
        pthread_setname_np(worker->thread, name);
    return worker;
}

void grove_worker_free(grove_worker *worker)
{
    if (!worker)
        return;
    pthread_mutex_lock(&worker->lock);
    worker->quit = true;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    if (worker->started)
        pthread_join(worker->thread, NULL);
    pthread_mutex_destroy(&worker->lock);
    pthread_cond_destroy(&worker->changed);
    free(worker);
}

int64_t grove_worker_queue(grove_worker *worker, void (*fn)(void *context), void *context)
{
    int64_t ticket;

    if (!worker->started) { /* no thread could be started: run the job in this one */
        fn(context);
        worker->done++;
        return ++worker->queued;
    }
    job *new = grove_alloc(sizeof(*new));
    new->fn = fn;
    new->context = context;
    pthread_mutex_lock(&worker->lock);
    *worker->last = new;
    worker->last = &new->next;
    ticket = ++worker->queued;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
    return ticket;
}

void grove_worker_wait(grove_worker *worker, int64_t ticket)
{
    pthread_mutex_lock(&worker->lock);
    while (worker->done < ticket)
        pthread_cond_wait(&worker->changed, &worker->lock);
    pthread_mutex_unlock(&worker->lock);
}
