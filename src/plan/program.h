/* Programs: the evaluation of one pass over tiles, as a list of steps with everything that does not
 * change from tile to tile. A program is constant while it runs. */
#ifndef GROVE_PLAN_PROGRAM_H
#define GROVE_PLAN_PROGRAM_H

#include "plan/facts.h"

/* The axes along which tiles divide the space, slowest first. */
enum { GROVE_CUT_TIME, GROVE_CUT_FREQ, GROVE_CUT_BASELINE, GROVE_CUTS };

/* A new set of sums over time, on another device or in another process, begins at multiples of this
 * number of cells of the whole axis only: see run/accumulator.h. */
enum { GROVE_ACCUMULATOR_BLOCK = 64 };

/* A block of a run's space. An axis is NULL if absent. */
typedef struct {
    const grove_axis *axis[GROVE_CUTS];
    int64_t first[GROVE_CUTS], count[GROVE_CUTS];
} grove_block;

/* The position of an evaluation: the tile, and the chunk of each loop. */
typedef struct {
    int64_t first, count;
} grove_chunk;
typedef struct {
    grove_block tile;
    grove_chunk *chunks; /* by loop */
} grove_spot;

/* The extent of a step along an axis: fixed, the current tile (`which`: of the cuts), or the
 * current chunk of a loop (`which`: the loop). */
typedef enum { GROVE_SPAN_FIXED, GROVE_SPAN_TILE, GROVE_SPAN_CHUNK } grove_span_kind;
typedef struct {
    grove_span_kind kind;
    int which;
    int64_t first, count;
} grove_span;

typedef enum {
    GROVE_STEP_DATA,     /* a constant member, without copying */
    GROVE_STEP_GIVEN,    /* the result of an earlier pass */
    GROVE_STEP_CONSTANT, /* a constant */
    GROVE_STEP_READ,     /* a member read block by block */
    GROVE_STEP_CAST,
    GROVE_STEP_SELECT,
    GROVE_STEP_REDUCE,
    GROVE_STEP_KERNEL, /* a cell function */
    GROVE_STEP_EVAL,   /* a class's eval or device */
    GROVE_STEP_ROOT    /* hands its inputs to a root of the pass: no value */
} grove_step_kind;

typedef enum {
    GROVE_KEEP_NOT,
    GROVE_KEEP_SLOT, /* by the run, as long as the tile is the same along the axes it depends on */
    GROVE_KEEP_CACHE /* in the session's cache */
} grove_keep;

typedef struct {
    grove_step_kind kind;
    grove_node *node;
    int axes;
    const grove_axis *axis[GROVE_MAX_AXES];
    grove_span span[GROVE_MAX_AXES];
    int inputs, input[GROVE_MAX_ACTION_INPUTS]; /* steps, or -1 */
    char side[GROVE_MAX_ACTION_INPUTS];
    /* The input that flags rows which users in the tree, or the reduction itself, do not read; of
     * reductions, casts and cell functions it follows the node's own inputs; -1: none. */
    int rows;
    bool rows_only;    /* nor do others: of such rows the value may hold anything, unflagged */
    bool rows_flagged; /* READ: ... but its flags, which a class looks at without their numbers */
    int loop;          /* the loop it belongs to; 0: the tile's */
    int body;          /* its own loop over chunks of its inputs (reductions and sums); 0: none */
    int root;          /* ROOT: its number */
    unsigned cut;      /* bits of the cuts that its spans depend on */
    bool flagged, double_;
    bool collects; /* ROOT: a reduction or accumulator over several tiles */
    bool follows;  /* ROOT: takes its inputs once the changes of the pass's first action to a tile
                      are final */
    bool early;    /* used by a root that does not follow */

    bool needed_again; /* by a step that may run again for the same tile: kept until the next */
    grove_keep keep;
    bool ahead;                  /* READ: on the background thread, one tile ahead */
    int *release, release_count; /* steps whose values are released after this one */
} grove_step;

typedef struct {
    int owner; /* the reduction's step */
    const grove_axis *axis;
    int64_t chunk; /* maximum number of cells at a time */
    int *steps, step_count;
    size_t capacity;
} grove_loop;

typedef struct {
    const grove_facts *facts; /* keys may change between two evaluations */
    grove_error *error;
    grove_block block;        /* the whole space */
    unsigned cuttable;        /* bits of the cuts along which tiles may divide the space */
    unsigned divided;         /* ... and do */
    int64_t tile[GROVE_CUTS]; /* maximum number of cells of a tile */
    uint64_t hoist;       /* smaller values that do not depend on the tile are taken out of loops */
    bool keep_all;        /* cache all values that fit, since they will be requested again */
    bool keep_none;       /* keep only constants and data */
    bool members_by_tile; /* a tile copies only its own part of members' data */
    bool on_host;         /* values do not lie on devices */
    /* Number of devices that divide the times, where tiles do, into contiguous shares which begin
     * at multiples of `edge`; 0 or 1: tiles may be of any device. See grove_tile_device. */
    int devices;
    int64_t edge;
    /* Number of sources that classes which sum over them take at a time at most, for any tile; 0:
     * all.
     */
    int64_t section;
    grove_domains domains[GROVE_CUTS]; /* which tiles do not divide; count 0: none */
    bool parts;   /* but along time, where a domain's tiles are walked again and again */
    bool repeats; /* ... and each may come twice in a row */
    /* By node: 1 if it depends on the changes of the pass's first action to a tile, which then sees
     * its inputs again; else -1. NULL: each tile is evaluated once. */
    signed char *depends;
    const bool *staged; /* by node: reductions that a pass of their own makes; may be NULL */
    const bool *again;  /* by node: goes to the cache, a later pass will ask for it; may be NULL */
    grove_step *steps;
    int step_count;
    size_t step_capacity;
    grove_loop *loops; /* 0: the tile's */
    int loop_count;
    size_t loop_capacity;
} grove_program;

grove_program *grove_program_new(const grove_facts *facts, grove_error *error,
                                 const grove_block *block, unsigned cuttable);
void grove_program_free(grove_program *program);

/* Adds the steps for `node` over the block; returns the number of the last one, or a code. `range`
 * restricts axes that are not cut. */
int grove_program_add(grove_program *program, grove_node *node, const grove_range *range,
                      int ranges);
/* Adds a root that reads these steps (-1: none). */
int grove_program_add_root(grove_program *program, int root, grove_node *node, const int *inputs,
                           int count);
/* Adds a root for a reduction over axes that tiles cut, or for an accumulator, which reads the
 * node's inputs. */
int grove_program_add_collector(grove_program *program, int root, grove_node *node);
/* Whether a step makes the node's value, or a part of it. */
bool grove_program_has(const grove_program *program, const grove_node *node);
/* Determines lifetimes, after the last root was added. */
void grove_program_finish(grove_program *program);
/* Determines the values to keep and to read ahead, after tiles were chosen. `budget`: bytes for
 * kept values.
 */
void grove_program_settle(grove_program *program, const int64_t tile[GROVE_CUTS], uint64_t budget);

/* The ranges of a step in the current tile and chunks. */
void grove_step_ranges(const grove_spot *spot, const grove_step *step,
                       grove_range range[GROVE_MAX_AXES]);
/* The ranges over which a reduction or accumulator reads its input k. */
int grove_step_taken_ranges(const grove_program *program, const grove_spot *spot,
                            const grove_step *step, int k, grove_range range[GROVE_MAX_AXES]);
/* Bytes of the step's value, flags included; 0 for borrowed data. */
uint64_t grove_step_bytes(const grove_program *program, const grove_spot *spot,
                          const grove_step *step);

#endif
