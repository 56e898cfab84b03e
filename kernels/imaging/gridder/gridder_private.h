/* The state of a gridder, shared by its parts. */
#ifndef GROVE_KERNELS_GRIDDER_PRIVATE_H
#define GROVE_KERNELS_GRIDDER_PRIVATE_H

#include "gridder_hot.h"

#include <pthread.h>
#include <stdatomic.h>

/* Planes are kept in blocks of a tile, which exist where there are samples. Tiles are counted from
 * the least u and v that the bounds allow; where they fill the grid, they wrap. */
struct grove_gridder {
    grove_gridder_plan plan;
    const grove_gridder_loops *loops;
    grove_gridder_taps taps;
    size_t real;           /* bytes of a number */
    int64_t tiles[2];      /* of the grid */
    int64_t columns[2];    /* of them that are kept */
    int64_t first_tile[2]; /* the first one, counted from the zero of u or v, 0 or less */
    int64_t group, groups; /* planes in which the kernels of a group begin; groups */
    int32_t *block;        /* [plane][column v][column u], -1: none */
    void **slab;           /* of slab_blocks blocks each */
    int64_t slab_blocks;
    int64_t blocks, slabs;
    int32_t *spare; /* blocks of planes that were dropped */
    int64_t spares;
    int64_t first_plane, end_plane; /* planes that are kept */
    uint64_t limit;                 /* bytes of slabs */
    double quantum;                 /* of planes of integers; 0: of numbers */
    bool integers;                  /* the planes are, for now */
    bool expects;                   /* blocks are made by grove_gridder_expect */
    uint64_t bytes;
};

enum {
    GROVE_GRIDDER_PIECES = 256,
    GROVE_GRIDDER_BATCH = 4 /* planes that are transformed together, at most */
};

/* Numbers of a block: [polarisation][row][column][2]. */
static inline int64_t grove_gridder_block_size(const grove_gridder *g)
{
    return g->plan.bounds.polarisations * GROVE_GRIDDER_TILE * GROVE_GRIDDER_TILE * 2;
}

/* Which tiles the bounds allow: those in which kernels begin, and the next. */
void grove_gridder_find_columns(grove_gridder *g);
/* Coefficients of a kernel's taps with the room of 16 lanes, each `times` times; NULL: no memory.
 */
void *grove_gridder_make_taps(const grove_gridder_kernel *kernel, int degree, int times,
                              size_t real);
/* Bytes that making an image from planes takes, of a gridder whose columns are known. */
uint64_t grove_gridder_image_bytes(const grove_gridder *g);
/* For each pixel along axis d: 1 / transform of the kernel, and zeros for 16 more; NULL: no memory.
 */
double *grove_gridder_make_factors(const grove_gridder *g, int d);

/* For transforms along u or v: from cells that are kept to pixels of the view. 0, or -1 without
 * memory; to be freed in either case. */
int grove_gridder_fourier_make(const grove_gridder *g, int d, grove_gridder_fourier *fourier);
void grove_gridder_fourier_free(grove_gridder_fourier *fourier);
/* Room for the work of one. */
size_t grove_gridder_fourier_bytes(const grove_gridder_fourier *fourier);

/* ---- coarse images (gridder_coarse.c) ---- */

/* The pixels to which planes are transformed: coarse ones, or the image's. */
grove_gridder_image grove_gridder_view(const grove_gridder_plan *plan);
/* From coarse pixels to the image's along an axis, or the adjoint. 0, or -1 without memory; to be
 * freed in either case. */
int grove_gridder_make_resampling(const grove_gridder *g, int d, bool to_coarse,
                                  grove_gridder_resampling *resampling);
void grove_gridder_resampling_free(grove_gridder_resampling *resampling);

/* Sets the plan's transform and taps for `oversampling` pixels in a period of the largest u and v;
 * false: the grid has no room for it. */
bool grove_gridder_find_coarse(grove_gridder_plan *plan, double oversampling);

/* Entries of samples, sorted by tile and group. */
typedef struct {
    grove_gridder_entry *entry;
    int64_t *first;       /* [tiles kept][groups] and the end */
    int16_t (*starts)[2]; /* [tiles kept][groups] the first and the last plane of the group in which
                             kernels begin */
    int32_t *task;        /* tiles that have entries, by colour */
    int64_t begin[5];     /* of the tasks of each of four colours */
    double *wavenumber;   /* [channel + GROVE_GRIDDER_LANES] */
    grove_gridder_outside outside;
} grove_gridder_index;

/* ---- blocks (gridder_blocks.c) ---- */

static inline bool grove_gridder_keeps(const grove_gridder *g, int64_t plane)
{
    return plane >= g->first_plane && plane < g->end_plane;
}
/* Whether any of the planes that the kernels of a group may touch is kept. */
bool grove_gridder_keeps_group(const grove_gridder *g, int64_t group);
/* The planes in which the kernels of a tile and group begin. All of the group where bits are not to
 * depend on which samples meet: positions are counted from the first one. */
void grove_gridder_find_starts(const grove_gridder *g, const grove_gridder_index *index,
                               int64_t key, int64_t *first, int64_t *count);
/* The address of a block; NULL: there is none. */
void *grove_gridder_block(const grove_gridder *g, int64_t plane, int64_t v, int64_t u);
/* Of the planes that are kept: all blocks that samples within the bounds may touch, or the blocks
 * that the samples of an index touch. 0, or -1 without memory. */
int grove_gridder_make_all_blocks(grove_gridder *g);
int grove_gridder_make_blocks(grove_gridder *g, const grove_gridder_index *index);
/* 0, or -1 where one that the samples touch is missing. */
int grove_gridder_find_blocks(grove_gridder *g, const grove_gridder_index *index);

/* The least multiple that is at least `needed` and, divided by it, has no prime factor above 5. */
int64_t grove_gridder_transform_size(double needed, int64_t multiple);
/* The range of n - 1 over the image. */
void grove_gridder_find_n(const grove_gridder_image *image, double *low, double *high);
/* A transform of `size` elements, products of 2, 3 and 5, in numbers of `real` bytes; its factors
 * are to be freed. 0, or -1 without memory. */
int grove_gridder_part_make(grove_gridder_part *part, int64_t size, size_t real);
/* Planes of integers become numbers. */
void grove_gridder_settle(grove_gridder *g);

/* The grid's index of a row or column that is kept. */
static inline int64_t grove_gridder_grid_index(const grove_gridder *g, int d, int64_t kept)
{
    int64_t size = g->plan.grid[d], at = g->first_tile[d] * GROVE_GRIDDER_TILE + kept;

    return (at % size + size) % size;
}

/* Memory aligned to 64 bytes, for free(); much of it in huge pages, which are found and cleared
 * several times as fast. NULL: there is none. */
void *grove_gridder_room(size_t bytes);

/* Pieces of memory that threads take and give back: the kernel clears new pages, which takes longer
 * than the work in them. */
typedef struct {
    pthread_mutex_t lock;
    void *piece[GROVE_GRIDDER_PIECES];
    int count;
    size_t bytes;
} grove_gridder_pool;

void grove_gridder_pool_open(grove_gridder_pool *pool, size_t bytes);
void grove_gridder_pool_close(grove_gridder_pool *pool);
/* Aligned to 64 bytes; zero, or as it was given back; NULL: no memory. */
void *grove_gridder_pool_take(grove_gridder_pool *pool);
void grove_gridder_pool_give(grove_gridder_pool *pool, void *piece);

/* The same order for any threads. */
int grove_gridder_index_make(const grove_gridder *g, const grove_gridder_samples *samples,
                             const grove_gridder_threads *threads, grove_gridder_index *index);
void grove_gridder_index_free(grove_gridder_index *index);

#endif
