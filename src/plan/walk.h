/* The walk through the tiles of a program: which steps a tile needs, in what order their values
 * are made, which are kept, read ahead, held until they are written, and released.
 *
 * run/ walks with numbers, memory.c with sizes: what a value is, and how it is made, are theirs. */
#ifndef GROVE_PLAN_WALK_H
#define GROVE_PLAN_WALK_H

#include "plan/tile.h"

typedef struct grove_walk grove_walk;

/* What is done with values. Those from `find` on may be NULL. Codes end the walk. */
typedef struct {
    void *(*ref)(grove_walk *walk, void *value); /* never NULL */
    void (*unref)(grove_walk *walk, void *value);
    /* A step's value from those of its inputs, NULL where nothing is to be counted; a root hands
     * its inputs on and has none. */
    int (*make)(grove_walk *walk, int step, void **value);
    /* Room for what is read ahead, over the step's ranges at walk->spot. */
    int (*prepare)(grove_walk *walk, int step, void **value);
    /* A reference to the value of a step kept for the cache, or NULL. */
    void *(*find)(grove_walk *walk, int step);
    void (*hit)(grove_walk *walk, int step); /* the step's value was found */
    /* Compares a value that was found with that made again: see `checks`. */
    int (*check)(grove_walk *walk, int step, void *found, void *made);
    int (*written)(grove_walk *walk); /* waits until what this flight holds is written */
    void (*read)(grove_walk *walk);   /* begins to fill what was prepared, in slots' `next` */
    int (*was_read)(grove_walk *walk);
} grove_walk_work;

/* Of each step. */
typedef struct {
    bool needed;
    void *value, *kept, *found;
    void *ready, *next; /* read ahead: for this tile and the next */
    int64_t kept_first[GROVE_CUTS];
    grove_hash kept_key;
} grove_walk_slot;

/* Tiles are under way until they are written: each flight holds what is still to be. */
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
    bool serial;    /* nothing is read ahead, and a tile is written before the next begins */
    bool checks;    /* what is found is made all the same, and compared */
};

grove_walk *grove_walk_new(const grove_program *program, const grove_walk_work *work, void *context,
                           int flights, bool serial);
void grove_walk_free(grove_walk *walk);

/* Prepares, and begins to read, what the tile's steps may read ahead. */
int grove_walk_read_ahead(grove_walk *walk, const grove_tile *tile);
/* To a tile: what its flight held is released; what was read ahead for it is there, and that for
 * the next (NULL: there is none) is read. */
int grove_walk_begin(grove_walk *walk, const grove_tile *tile, const grove_tile *next);
/* Makes what the tile needs, in order, and releases what is not used any more. */
int grove_walk_evaluate(grove_walk *walk);
/* The tile is done. */
void grove_walk_end(grove_walk *walk);

/* For `make`. A loop over chunks of the step's inputs, from cell `first` on: its steps are made;
 * then, when they were used, released. */
int grove_walk_body(grove_walk *walk, int step, int64_t first);
void grove_walk_end_body(grove_walk *walk, int step);
/* What was read ahead for the step, or NULL; the caller's. */
void *grove_walk_take_ready(grove_walk *walk, int step);
/* Holds a value until the present tile is written; takes over the reference. */
void grove_walk_hold(grove_walk *walk, void *value);

/* Releases all that flight number `k` holds. */
void grove_walk_drop_flight(grove_walk *walk, int k);
/* After an error: releases everything but what is kept. */
void grove_walk_drop(grove_walk *walk);
/* Releases what is kept: all, or (the tiles are smaller now) what depends on the tile. */
void grove_walk_forget(grove_walk *walk, bool all);

#endif
