/* The walk through the tiles of a program: which steps a tile needs, the order in which values are
 * made, and which values are kept, read ahead, held until written, and released. * run/ walks with
 * numbers, memory.c with sizes: both supply the type of values and the way to make them. */
#ifndef GROVE_PLAN_WALK_H
#define GROVE_PLAN_WALK_H

#include "plan/tile.h"

typedef struct grove_walk grove_walk;

/* The operations on values. Those from `find` on may be NULL. A non-zero code ends the walk. */
typedef struct {
    void *(*ref)(grove_walk *walk, void *value); /* never NULL */
    void (*unref)(grove_walk *walk, void *value);
    /* Makes a step's value from its inputs' values; NULL when there is nothing to count. A root
     * passes its inputs on and has no value. */
    int (*make)(grove_walk *walk, int step, void **value);
    /* Storage for a value that is read ahead, over the step's ranges at walk->spot. */
    int (*prepare)(grove_walk *walk, int step, void **value);
    /* A reference to the cached value of a step, or NULL. */
    void *(*find)(grove_walk *walk, int step);
    void (*hit)(grove_walk *walk, int step); /* the step's value was found */
    /* Compares a found value with the recomputed one: see `checks`. */
    int (*check)(grove_walk *walk, int step, void *found, void *made);
    int (*written)(
        grove_walk *walk);          /* waits until the values that this flight holds are written */
    void (*read)(grove_walk *walk); /* begins to read into prepared storage, in slots' `next` */
    int (*was_read)(grove_walk *walk);
} grove_walk_work;

/* State of each step. */
typedef struct {
    bool needed, asked; /* asked: to be read ahead */
    bool idle;          /* not needed in this walk over the tiles */
    void *value, *kept, *found;
    void *ready, *next; /* read ahead: for this tile and the next one */
    int64_t kept_first[GROVE_CUTS];
    grove_hash kept_key;
} grove_walk_slot;

/* Tiles between computing and the end of writing: each flight holds the values still to be written.
 */
typedef struct {
    void **values;
    size_t count, capacity;
} grove_flight;

struct grove_walk {
    const grove_program *program;
    const grove_walk_work *work;
    void *context;
    grove_spot spot;
    grove_walk_slot *slots; /* by step */
    grove_flight *flights;
    int flight_count;
    int64_t number; /* of the tile */
    bool following; /* the roots that follow are made, not the others */
    bool serial;    /* no reading ahead, and a tile is written before the next one begins */
    bool checks;    /* found values are recomputed and compared */
    /* Of domains in parts: inputs of the action that are not needed in this domain any more. */
    bool left_out[GROVE_MAX_ACTION_INPUTS];
};

grove_walk *grove_walk_new(const grove_program *program, const grove_walk_work *work, void *context,
                           int flights, bool serial);
void grove_walk_free(grove_walk *walk);

/* Whether a root is given the tiles: all are, until grove_walk_give changes that. */
void grove_walk_give(grove_walk *walk, int root_step, bool given);
bool grove_walk_gives(const grove_walk *walk, int root_step);
/* Prepares and starts reading ahead for the tile. */
int grove_walk_read_ahead(grove_walk *walk, const grove_tile *tile);
/* Moves to a tile: releases values that its flight held, waits for values read ahead for it, and
 * starts reading for the next tile (NULL: there is none). */
int grove_walk_begin(grove_walk *walk, const grove_tile *tile, const grove_tile *next);
/* Makes the values that the tile needs, in order, and releases them after their last use. */
int grove_walk_evaluate(grove_walk *walk);
/* The same once more for the present tile, after the content of leaves has changed. Values held for
 * writing are released. */
int grove_walk_again(grove_walk *walk);
/* Then, once the content is final, the same for the roots that follow. */
int grove_walk_follow(grove_walk *walk);
/* Ends the tile. */
void grove_walk_end(grove_walk *walk);

/* For `make`: a loop over chunks of the step's inputs, from cell `first` on: makes the steps in it;
 * then, after their use, releases them. */
int grove_walk_body(grove_walk *walk, int step, int64_t first);
void grove_walk_end_body(grove_walk *walk, int step);
/* The value read ahead for the step, or NULL; ownership passes to the caller. */
void *grove_walk_take_ready(grove_walk *walk, int step);
/* Holds a value until the current tile is written; takes ownership of the reference. */
void grove_walk_hold(grove_walk *walk, void *value);

/* Releases everything that flight number `k` holds. */
void grove_walk_drop_flight(grove_walk *walk, int k);
/* After an error: releases everything except kept values. */
void grove_walk_drop(grove_walk *walk);
/* Releases kept values: all, or (when tiles become smaller) the ones that depend on the tile. */
void grove_walk_forget(grove_walk *walk, bool all);

#endif
