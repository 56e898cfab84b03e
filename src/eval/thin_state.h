/* What the parts of eval/ share: the session's inside. */
#ifndef GROVE_EVAL_STATE_H
#define GROVE_EVAL_STATE_H

#include "base/log.h"
#include "base/threads.h"
#include "eval/session.h"

#include <pthread.h>

/* The part of some axes that an evaluation is restricted to; axes not in it are whole. */
enum { GROVE_MAX_CUTS = 6 };
typedef struct {
    int count;
    grove_range range[GROVE_MAX_CUTS];
} grove_block;

/* What is known of a node once per session. */
typedef struct {
    const grove_axis **depends; /* axes that the value or anything below it varies along */
    int depend_count;
    int stage;      /* passes that must have run before it can be evaluated */
    int readers;    /* edges that read it in the present pass */
    bool in_pass;   /* evaluated in the present pass */
    bool whole_run; /* a reduction over time, freq or baseline: made by a pass of its own */
    uint64_t calls, hits, misses, bytes;
    double seconds;
    struct grove_fold *fold; /* whole_run: the sum so far, or the finished value's source */
    grove_value *finished;   /* whole_run: after its pass */
} grove_node_state;

typedef struct grove_table grove_table;   /* values by key */
typedef struct grove_tracer grove_tracer; /* the trace file */
typedef struct grove_pipeline grove_pipeline;

struct grove_session {
    grove_tree *tree;
    grove_error *error; /* borrowed */
    grove_session_options options;
    grove_device *device;
    grove_node_state *nodes; /* by node id */
    grove_table *table;
    grove_tracer *tracer;
    grove_pipeline *pipeline; /* while a run lasts */
    pthread_mutex_t io_lock;  /* classes with serial I/O take turns */
    uint64_t budget;          /* bytes for values */
    int64_t cut[3];           /* tile sizes along time, baseline, freq; 0: whole */
    grove_counters counters;
    grove_plan plan;
    int chunk_depth;
};

/* depend.c */
void grove_session_analyse(grove_session *session);
bool grove_node_depends(const grove_session *session, const grove_node *node,
                        const grove_axis *axis);
void grove_session_mark_pass(grove_session *session, grove_node *const *roots, size_t count);

/* blocks */
grove_range grove_block_range(const grove_block *block, const grove_axis *axis);
bool grove_block_restrict(grove_block *block, grove_range range); /* replaces or adds */

/* table.c: values by key, those worth keeping under a byte budget. */
grove_table *grove_table_new(uint64_t budget);
void grove_table_free(grove_table *table);
grove_value *grove_table_find(grove_table *table, grove_hash key); /* a reference, or NULL */
/* Keeps a reference: to the end of the tile, or (kept) as long as the budget allows. reads: how
 * often it will be found before it can go; 0: not known. */
void grove_table_add(grove_table *table, grove_hash key, grove_value *value, bool kept, int reads,
                     double seconds);
void grove_table_end_tile(grove_table *table);
void grove_table_clear(grove_table *table);
uint64_t grove_table_evictions(const grove_table *table);
uint64_t grove_table_bytes(const grove_table *table);

/* evaluate.c */
int grove_evaluate(grove_session *session, grove_node *node, const grove_block *block,
                   grove_value **value);
grove_hash grove_value_key(const grove_session *session, const grove_node *node,
                           const grove_block *block);
/* The ranges of the node's own axes under a block. */
int grove_node_ranges(const grove_node *node, const grove_block *block, grove_range *ranges);
bool grove_node_is_double(const grove_session *session, const grove_node *node);

/* compute.c */
int grove_compute_class(grove_session *session, grove_node *node, const grove_block *block,
                        grove_value **value);
int grove_compute_member(grove_session *session, grove_node *node, const grove_block *block,
                         grove_value **value);
int grove_compute_constant(grove_session *session, grove_node *node, grove_value **value);
int grove_compute_cast(grove_session *session, grove_node *node, const grove_block *block,
                       grove_value **value);
int grove_compute_select(grove_session *session, grove_node *node, const grove_block *block,
                         grove_value **value);
grove_value *grove_value_for(grove_session *session, const grove_node *node,
                             const grove_block *block, bool flags);

/* flags.c: flags of a class node's value from those of its inputs. */
int grove_combine_flags(grove_session *session, const grove_node *node, grove_value *const *inputs,
                        const grove_range *space, int axes, grove_value *value);

/* reduce.c: reductions over axes that are not cut, a source axis in chunks. */
int grove_compute_reduction(grove_session *session, grove_node *node, const grove_block *block,
                            grove_value **value);
/* fold.c: reductions over axes that are cut, tile after tile. */
int grove_fold_tile(grove_session *session, grove_node *node, const grove_block *tile);
int grove_fold_finish(grove_session *session, grove_node *node);
void grove_fold_free(grove_session *session, grove_node *node);

/* plan.c */
int grove_plan_tiles(grove_session *session);
int64_t grove_plan_chunk(const grove_session *session, const grove_node *reduction,
                         const grove_block *block, const grove_axis *source);
/* Number of tiles and tile k: time slowest, then baseline, then freq. */
int64_t grove_tile_count(const grove_session *session);
void grove_tile_block(const grove_session *session, int64_t k, grove_block *block);
/* The axis of a kind (time 0, baseline 1, freq 2) that tiles cut; the first observation's. */
const grove_axis *grove_cut_axis(const grove_session *session, int which);

/* pipeline.c */
grove_pipeline *grove_pipeline_new(grove_session *session);
void grove_pipeline_free(grove_pipeline *pipeline);
int grove_pipeline_prefetch(grove_pipeline *pipeline, const grove_block *tile);
int grove_pipeline_collect(grove_pipeline *pipeline); /* what was read ahead goes into the table */
int grove_pipeline_write(grove_pipeline *pipeline, grove_node *action, const grove_block *tile,
                         grove_value **values);
int grove_pipeline_drain(grove_pipeline *pipeline);

/* trace.c */
grove_tracer *grove_tracer_new(const char *path);
int grove_tracer_finish(grove_tracer *tracer, grove_error *error);
void grove_tracer_free(grove_tracer *tracer);
void grove_trace(grove_session *session, const char *what, const grove_node *node,
                 const grove_block *block, double began, double seconds, uint64_t bytes);

/* dump.c */
void grove_dump_inputs(grove_session *session, const grove_node *node, grove_value *const *inputs);

#endif
