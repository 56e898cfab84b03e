/* The threads of a call, as the gridder needs them. */
#ifndef GROVE_NODES_GRIDDER_THREADS_H
#define GROVE_NODES_GRIDDER_THREADS_H

#include "../../kernels/imaging/gridder/gridder.h"
#include "plugin.h"
#include "unstable/threads.h"

static inline void gridder_run(void *pool, int64_t count, void (*fn)(void *, int64_t),
                               void *context)
{
    grove_items items = {fn, context};

    grove_call_parallel(pool, count, grove_run_items, &items);
}

static inline grove_gridder_threads gridder_threads(const grove_call *call)
{
    return (grove_gridder_threads){gridder_run, (void *)(uintptr_t)call};
}

#endif
