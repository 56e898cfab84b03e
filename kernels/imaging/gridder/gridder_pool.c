/* Memory that is used again. */
#include "gridder_private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void *grove_gridder_room(size_t bytes)
{
    const size_t huge = (size_t)2 << 20, align = bytes < 2 * huge ? 64 : huge;
    void *made = aligned_alloc(align, (bytes + align - 1) / align * align);

    if (made && align == huge)
        madvise(made, bytes, MADV_HUGEPAGE);
    return made;
}

void grove_gridder_pool_open(grove_gridder_pool *pool, size_t bytes)
{
    *pool = (grove_gridder_pool){.bytes = (bytes + 127) / 64 * 64};
    pthread_mutex_init(&pool->lock, NULL);
}

void grove_gridder_pool_close(grove_gridder_pool *pool)
{
    while (pool->count)
        free(pool->piece[--pool->count]);
    pthread_mutex_destroy(&pool->lock);
}

void *grove_gridder_pool_take(grove_gridder_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    void *piece = pool->count ? pool->piece[--pool->count] : NULL;
    pthread_mutex_unlock(&pool->lock);
    if (piece)
        return piece;
    piece = grove_gridder_room(pool->bytes);
    if (piece)
        memset(piece, 0, pool->bytes);
    return piece;
}

void grove_gridder_pool_give(grove_gridder_pool *pool, void *piece)
{
    pthread_mutex_lock(&pool->lock);
    bool kept = pool->count < GROVE_GRIDDER_PIECES;
    if (kept)
        pool->piece[pool->count++] = piece;
    pthread_mutex_unlock(&pool->lock);
    if (!kept)
        free(piece);
}
