/* Schedules: passes over tiles, so that each node has what it needs.
 *
 * A reduction over an axis that tiles cut is known only after all tiles. It is made by a pass of
 * its own, before the pass of what reads it: a node's stage is the number of such passes below it.
 * All actions of one stage share a pass where their axes allow it, in the order of the file. */
#ifndef GROVE_PLAN_SCHEDULE_H
#define GROVE_PLAN_SCHEDULE_H

#include "plan/program.h"
#include "run/accumulator.h"
#include "run/state.h"

typedef enum {
    GROVE_ROOT_ACTION,
    GROVE_ROOT_COLLECT, /* a reduction: the result is for later passes */
    GROVE_ROOT_STORE    /* the value of a node is wanted */
} grove_root_kind;

typedef struct {
    grove_root_kind kind;
    grove_node *node;
    int stage;
    unsigned follows;               /* bits of the cuts that it has axes for */
    int step;                       /* of the program */
    grove_accumulator *accumulator; /* COLLECT: so far */
    grove_value *stored;
} grove_root;

typedef struct {
    grove_program *program;
    grove_root *roots;
    int root_count;
    int64_t tile[GROVE_CUTS];
    int64_t tiles;
    uint64_t peak;    /* bytes of values at most */
    uint64_t largest; /* bytes of the largest value of a tile */
} grove_pass;

typedef struct {
    grove_session *session;
    grove_pass *passes;
    int count;
    bool *staged;          /* by node */
    grove_value **results; /* by node: of staged reductions, once known */
    grove_root *roots;     /* all, by stage */
    int root_count;
    size_t root_capacity;
    uint64_t result_bytes;
    bool sections;     /* classes that sum over sources do so in parts */
    bool reduces_time; /* something reduces time: in one tile that needs no pass of its own */
    bool stores;
    bool written; /* actions have got something */
} grove_schedule;

/* For actions, or for the value of one node over some ranges; with tiles as the memory allows. */
int grove_schedule_new(grove_session *session, grove_node *const *nodes, size_t count,
                       const grove_range *range, int ranges, grove_schedule **schedule);
void grove_schedule_free(grove_schedule *schedule);

/* tiles.c: chooses tiles, sections and chunks of a pass whose program is finished; false when even
 * the smallest, or those that are asked for, do not fit; `peak` then says what they need. */
bool grove_tiles_choose(const grove_schedule *schedule, grove_pass *pass);
/* footprint.c: bytes of values at most with these tiles, all included. */
uint64_t grove_pass_footprint(const grove_schedule *schedule, const grove_pass *pass,
                              const int64_t tile[GROVE_CUTS], uint64_t chunk_bytes,
                              uint64_t *largest);

/* What a block of memory takes: as device/cpu.c rounds, small ones to powers of two, large ones to
 * pages; or device/cuda/pool.c, in larger steps. */
uint64_t grove_block_bytes(uint64_t bytes, bool cuda);

/* pipeline.c: runs the passes. GROVE_AGAIN: nothing was written yet, and devices have less memory
 * than the schedule was made for. */
int grove_schedule_run(grove_schedule *schedule);

#endif
