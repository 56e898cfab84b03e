/* The threads of a call, as the gridder wants them. */
#ifndef GROVE_NODES_GRIDDER_THREADS_H
#define GROVE_NODES_GRIDDER_THREADS_H

#include "../kernels/gridder/gridder.h"
#include "plugin.h"

typedef struct {
    void (*fn)(void *context, int64_t i);
    void *context;
} gridder_items;

static inline void gridder_run_items(void *context, int64_t first, int64_t last)
{
    const gridder_items *items = context;

    for (int64_t i = first; i < last; i++)
        items->fn(items->context, i);
}

static inline void gridder_run(void *pool, int64_t count, void (*fn)(void *, int64_t),
                               void *context)
{
    gridder_items items = {fn, context};

    grove_call_parallel(pool, count, gridder_run_items, &items);
}

static inline grove_gridder_threads gridder_threads(const grove_call *call)
{
    return (grove_gridder_threads){gridder_run, (void *)(uintptr_t)call};
}

#endif
