/* Programs: what a pass over the tiles evaluates, as a list of steps in which all is settled that
 * does not change from tile to tile. Nothing of a program changes while it runs. */
#ifndef GROVE_PLAN_PROGRAM_H
#define GROVE_PLAN_PROGRAM_H

#include "plan/facts.h"

/* Tiles divide these, the first slowest. */
enum { GROVE_CUT_TIME, GROVE_CUT_FREQ, GROVE_CUT_BASELINE, GROVE_CUTS };

/* A part of a run's space. An axis is NULL where there is none. */
typedef struct {
    const grove_axis *axis[GROVE_CUTS];
    int64_t first[GROVE_CUTS], count[GROVE_CUTS];
} grove_block;

/* Where an evaluation is: the tile, and the chunk of each loop. */
typedef struct {
    int64_t first, count;
} grove_chunk;
typedef struct {
    grove_block tile;
    grove_chunk *chunks; /* by loop */
} grove_spot;

/* How far a step goes along an axis: always the same part, the current tile (`which` of the cuts),
 * or the current chunk of a loop (`which` loop). */
typedef enum { GROVE_SPAN_FIXED, GROVE_SPAN_TILE, GROVE_SPAN_CHUNK } grove_span_kind;
typedef struct {
    grove_span_kind kind;
    int which;
    int64_t first, count;
} grove_span;

typedef enum {
    GROVE_STEP_DATA,     /* a constant member: its data as they are */
    GROVE_STEP_GIVEN,    /* a result of an earlier pass */
    GROVE_STEP_CONSTANT, /* a number */
    GROVE_STEP_READ,     /* a member that is read block by block */
    GROVE_STEP_CAST,
    GROVE_STEP_SELECT,
    GROVE_STEP_REDUCE,
    GROVE_STEP_KERNEL, /* a cell function */
    GROVE_STEP_EVAL,   /* a class's eval or device */
    GROVE_STEP_ROOT    /* hands its inputs to a root of the pass: no value */
} grove_step_kind;

typedef enum {
    GROVE_KEEP_NOT,
    GROVE_KEEP_SLOT, /* by the run, while the tile is the same along the axes it depends on */
    GROVE_KEEP_CACHE /* in the session's cache */
} grove_keep;

typedef struct {
    grove_step_kind kind;
    grove_node *node;
    int axes;
    const grove_axis *axis[GROVE_MAX_AXES];
    grove_span span[GROVE_MAX_AXES];
    int inputs, input[GROVE_MAX_INPUTS]; /* steps, or -1 */
    char side[GROVE_MAX_INPUTS];
    int loop;     /* in whose list it stands; 0: that of the tile */
    int body;     /* the loop over chunks of its inputs: of reductions and sums; 0: none */
    int root;     /* ROOT: which */
    unsigned cut; /* bits of the cuts that its spans follow */
    bool flagged, double_;
    bool collects; /* ROOT: a reduction or accumulator that goes on from tile to tile */

    grove_keep keep;
    bool ahead;                  /* READ: on the background thread, one tile ahead */
    int *release, release_count; /* steps whose values nobody wants after this one */
} grove_step;

typedef struct {
    int owner; /* the reduction's step */
    const grove_axis *axis;
    int64_t chunk; /* at most so many cells at a time */
    int *steps, step_count;
    size_t capacity;
} grove_loop;

typedef struct {
    const grove_facts *facts; /* their keys may change between two evaluations */
    grove_error *error;
    grove_block block;        /* all of it */
    unsigned cuttable;        /* bits of the cuts that tiles may divide */
    unsigned divided;         /* ... and do */
    int64_t tile[GROVE_CUTS]; /* cells of a tile at most */
    uint64_t hoist; /* what does not depend on the tile and is smaller is taken out of loops */
    bool keep_all;  /* cache whatever fits: the same will be asked again */
    bool keep_none; /* nothing but constants and data */
    bool parted;    /* of members' data a tile takes its own part only */
    /* Classes that sum over sources do so for at most so many at a time, whatever the tile; 0: all.
     */
    int64_t section;
    const bool *staged; /* by node: reductions that a pass of their own makes; may be NULL */
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

/* Adds the steps for `node` over the block, and returns the last one's number, or a code. `range`
 * restricts axes that are not cut. */
int grove_program_add(grove_program *program, grove_node *node, const grove_range *range,
                      int ranges);
/* Adds a root that takes these steps (-1: none). */
int grove_program_add_root(grove_program *program, int root, grove_node *node, const int *inputs,
                           int count);
/* Adds a root that takes the inputs of a reduction over axes that tiles cut, or an accumulator. */
int grove_program_add_collector(grove_program *program, int root, grove_node *node);
/* After the last root: lifetimes. */
void grove_program_finish(grove_program *program);
/* After the tiles are chosen: what is kept, what is read ahead. `budget`: bytes for kept values. */
void grove_program_settle(grove_program *program, const int64_t tile[GROVE_CUTS], uint64_t budget);

/* The ranges of a step in a tile and its chunks. */
void grove_step_ranges(const grove_spot *spot, const grove_step *step,
                       grove_range range[GROVE_MAX_AXES]);
/* The ranges over which a reduction or accumulator takes its input k there. */
int grove_step_taken_ranges(const grove_program *program, const grove_spot *spot,
                            const grove_step *step, int k, grove_range range[GROVE_MAX_AXES]);
/* Bytes of its value there, flags included; 0 for what is borrowed. */
uint64_t grove_step_bytes(const grove_program *program, const grove_spot *spot,
                          const grove_step *step);

#endif
