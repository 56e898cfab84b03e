/* Schedules: passes over tiles, so that each node has its inputs.
 *
 * A reduction over an axis that tiles cut, and any accumulator, is known only after all tiles. It
 * is made by a pass of its own, before the pass of its users: a node's stage is the number of such
 * passes below it. All actions of one stage share a pass where their axes allow it, in the order of
 * the file.
 *
 * An action may give a leaf new content. It comes in a stage after all actions before it, and takes
 * effect at the end of that stage: nodes that depend on the leaf, for later actions, are made in
 * stages after that. Actions of the next stage that need only a tile's cells of it share the pass
 * of an action with a drive, if memory allows: they follow it in each tile. */
#ifndef GROVE_PLAN_SCHEDULE_H
#define GROVE_PLAN_SCHEDULE_H

#include "grove.h"

#include "device/budget.h"
#include "plan/program.h"

/* The limits that a plan must observe. */
typedef struct {
    const grove_tree *tree;
    const grove_facts *facts;
    grove_error *error;       /* for faults of Grove's own */
    uint64_t budget;          /* bytes for the values of a pass */
    uint64_t host;            /* ... for states on the host, besides states on devices; 0: within */
    int threads;              /* of the host */
    int64_t tile[GROVE_CUTS]; /* cells of a tile, where they are given; 0: chosen */
    int eighths;              /* of the memory, for classes that can do with less */
    int flights;              /* tiles under way, from computing to writing */
    int devices;              /* on which values lie; 0: on the host */
    bool serial;              /* no reading ahead, no writing behind */
    bool members_by_tile;     /* a tile copies only its own part of members' data */
    bool cache_off;           /* nothing is kept but constants and data */
    bool parts;               /* tiles may divide domains: see grove_node_set_parts */
    grove_block_rule block_rule; /* how the allocator rounds */
    /* Bytes that a reduction takes besides its input at most: see grove_accumulator_bytes. */
    /* Whether devices keep the memory of a class (unstable/keep.h); NULL: no. */
    bool (*on_devices)(const void *session, const grove_node *node);
    const void *session;
    uint64_t (*reduction_bytes)(const grove_node *node, const grove_range *space, int axes,
                                const grove_block *block, unsigned divided, bool counted,
                                bool chunks);
} grove_plan_limits;

typedef enum {
    GROVE_ROOT_ACTION,
    GROVE_ROOT_COLLECT, /* a reduction or accumulator: its result is used by later passes */
    GROVE_ROOT_STORE    /* the value of a node is requested */
} grove_root_kind;

typedef struct {
    grove_root_kind kind;
    grove_node *node;
    int stage;
    bool placed;      /* in a pass */
    unsigned follows; /* bits of the cuts that it has axes for */
    int step;         /* of the program */
} grove_root;

typedef struct {
    grove_program *program;
    grove_root *roots;
    int root_count;
    int64_t tiles;
    uint64_t peak;    /* maximum of bytes of values, but for pages of gaps: see plan/rows.h */
    uint64_t largest; /* bytes of the largest value of a tile, with gaps */
    bool once;        /* of domains in parts: all is read once only */
    int walks;        /* through the tiles */
} grove_pass;

typedef struct {
    grove_plan_limits limits;
    grove_pass *passes;
    int count;
    bool *staged;     /* by node */
    bool *again;      /* by node: needed by a later pass, after a leaf got new content, with the old
                         content */
    uint64_t *grants; /* by node: bytes that a class may take at a time, if it can do with less */
    grove_root *roots; /* all; actions in their order */
    int root_count;
    size_t root_capacity;
    uint64_t result_bytes;
    bool sections;     /* classes that sum over sources do so in sections */
    bool keeps_again;  /* there are such values, and they fit the cache */
    bool may_follow;   /* actions may follow others in their passes */
    bool follows;      /* ... and some do */
    bool reduces_time; /* something reduces time: one tile avoids a separate pass */
    bool stores;
    uint64_t undivided; /* where domains are in parts: bytes with which they would not be */
    const grove_node *stale, *stale_for; /* a value that an action would not see change; NULL */
} grove_schedule;

/* The schedule for actions, or for the value of one node over some ranges, with tiles as memory
 * allows. GROVE_NO_MEMORY, without a message: the smallest tile needs `needed` bytes, more than
 * available. */
int grove_schedule_new(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                       const grove_range *range, int ranges, grove_schedule **schedule,
                       uint64_t *needed);
void grove_schedule_free(grove_schedule *schedule);
/* A schedule with these axes cut, without tiles; also after an error. */
int grove_schedule_make(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                        const grove_range *range, int ranges, unsigned cuttable, bool sections,
                        bool may_follow, grove_schedule **schedule);
/* The same with limits->eighths of the memory for classes that can do with less. */
int grove_schedule_of(const grove_plan_limits *limits, grove_node *const *nodes, size_t count,
                      const grove_range *range, int ranges, grove_schedule **schedule,
                      uint64_t *needed);

/* forecast.c: the expected cost of a run. */
void grove_schedule_forecast(const grove_schedule *schedule, grove_plan *plan);
/* Times, baselines and channels of a pass that no pass before it has; 0 where it has no baselines.
 */
double grove_schedule_visibilities(const grove_schedule *schedule, int pass);

/* pieces.c: classes that can do their work a part at a time get this number of eighths of the
 * memory, or their minimum. */
void grove_schedule_grant(grove_schedule *schedule, int eighths);
/* How often a node of a pass gets all tiles, or makes its parts for each tile. */
int grove_schedule_walks(const grove_schedule *schedule, const grove_node *node);

/* memory.c: how many states of an accumulator that threads may add to there are: as many as
 * threads, and in an eighth of the memory. */
int grove_plan_states(const grove_plan_limits *limits, const grove_node *node);
/* Bytes of the states of a pass, and of classes that can do with less. */
uint64_t grove_pass_states(const grove_schedule *schedule, const grove_pass *pass);

/* tiling.c: chooses tiles, sections and chunks of a pass whose program is finished; false when even
 * the smallest, or the requested ones, do not fit; `peak` is then the memory that they need. */
bool grove_tiles_choose(const grove_schedule *schedule, grove_pass *pass);
/* memory.c: peak bytes of values with these tiles, everything included. */
uint64_t grove_pass_footprint(const grove_schedule *schedule, const grove_pass *pass,
                              const int64_t tile[GROVE_CUTS], uint64_t chunk_bytes,
                              uint64_t *largest);

#endif
